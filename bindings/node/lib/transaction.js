'use strict'

const calls = require('./calls.js')
const native = require('./native.js')
const { invalid, makeError } = require('./errors.js')
const { stringify } = require('./json.js')
const { idOf, isLock } = require('./lock.js')

const bad = (message) => invalid('bad_request', `${message} (bad_request)`)
const forgotten = new FinalizationRegistry((id) => native.forgetStep(id))

/** An array as JSON; refused here, so that the mistake shows where it was made. */
function listed (what, items) {
  if (!Array.isArray(items)) throw bad(`${what} takes an array of objects`)
  try {
    return stringify(items)
  } catch (cause) {
    throw Object.assign(bad(`${what} was given what JSON cannot say`), { cause })
  }
}

class CommitResult {
  #error

  constructor ({ error, ...members }) {
    Object.assign(this, members)
    this.#error = error
    Object.freeze(this)
  }

  orThrow () {
    if (this.#error !== null) throw makeError(this.#error)
    return this
  }
}

class Transaction {
  #client
  #clientId
  #id
  /** Referenced until the answer is there, so that no guard is given back for want of a reference. */
  #guards = []

  constructor (client, clientId) {
    this.#client = client
    this.#clientId = clientId
    this.#id = native.step()
    forgotten.register(this, this.#id)
  }

  guard (lock) {
    if (!isLock(lock)) throw bad('guard takes a Lock')
    native.stepGuard(this.#id, this.#clientId, idOf(lock))
    this.#guards.push(lock)
    return this
  }

  queue (name) {
    if (typeof name !== 'string') throw bad('queue takes a name')
    return { push: (items) => this.#add('push', items, name) }
  }

  ack (acks) {
    return this.#add('ack', acks)
  }

  kv (operations) {
    return this.#add('kv', operations)
  }

  timers (operations) {
    return this.#add('timers', operations)
  }

  async commit (options) {
    calls.signalOf(options, 'bad_request', '{ signal }')?.throwIfAborted()
    // What was sent is not called back: its answer tells what became of it, and comes within the request timeout.
    const answer = await calls.settled(native, native.stepCommit(this.#id, this.#clientId))
    this.#guards.length = 0
    return new CommitResult(answer)
  }

  #add (what, items, queue) {
    native.stepAdd(this.#id, this.#clientId, what, listed(what, items), queue)
    return this
  }
}

module.exports = { Transaction }
