'use strict'

const { invalid, makeError } = require('./errors.js')
const { stringify } = require('./json.js')
const { clientOf, isLock } = require('./lock.js')

const bad = (message) => invalid('locks_bad_request', `${message} (locks_bad_request)`)

/** An array of plain objects as JSON; refused here, so that the mistake shows where it was made. */
function listed (what, items) {
  if (!Array.isArray(items) || items.some((item) => item === null || typeof item !== 'object' || Array.isArray(item))) {
    throw bad(`${what} takes an array of objects`)
  }
  try {
    return stringify(items)
  } catch (cause) {
    throw Object.assign(bad(`${what} was given what JSON cannot say`), { cause })
  }
}

class Transaction {
  #client
  #guards = []
  #operations = []

  constructor (client) {
    this.#client = client
  }

  guard (lock) {
    if (!isLock(lock)) throw bad('guard takes a Lock')
    const { store } = this.#client
    if (clientOf(lock) !== this.#client) {
      throw makeError({
        kind: 'invalid',
        reason: 'locks_bad_request',
        message: `step on ${store}: lock "${lock.name}" belongs to another client (locks_bad_request)`,
        lock: lock.name,
        store,
        retry: 'never'
      })
    }
    if (!lock.held) {
      const why = lock.lost ? ` (lost: ${lock.lostReason})` : ''
      throw makeError({
        kind: 'not_held',
        reason: 'not_held',
        message: `step on ${store}: lock "${lock.name}" is not held${why}, so nothing was sent. Acquire it and do the step again`,
        lock: lock.name,
        store,
        retry: 'now'
      })
    }
    this.#guards.push(lock)
    return this
  }

  queue (name) {
    if (typeof name !== 'string') throw bad('queue takes a name')
    return {
      push: (items) => {
        const json = listed('push', items)
        if (items.some((item) => item.data === undefined)) throw bad('each item of push needs data')
        this.#operations.push({ push: name, json })
        return this
      }
    }
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

  async commit (options = {}) {
    options?.signal?.throwIfAborted()
    const { store } = this.#client
    // No store of this version keeps queues; nothing was sent, so nothing is in doubt.
    throw makeError({
      kind: 'unsupported',
      reason: 'unsupported',
      message: `step on ${store}: this store has no queues to step through, so nothing was sent. ` +
        'Send lock.fence along with the write instead and refuse a lower one',
      store,
      retry: 'never'
    })
  }

  #add (what, items) {
    this.#operations.push({ [what]: listed(what, items) })
    return this
  }
}

module.exports = { Transaction }
