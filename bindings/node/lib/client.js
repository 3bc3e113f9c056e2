'use strict'

const calls = require('./calls.js')
const native = require('./native.js')
const { invalid } = require('./errors.js')
const { makeLock, takeLock } = require('./lock.js')
const { Kv } = require('./rows.js')
const { Transaction } = require('./transaction.js')
const { LockInfo, makeHolders } = require('./values.js')

const forgotten = new FinalizationRegistry((id) => native.forgetClient(id))
let exitHooked = false

/** What is still held when the process ends is given back then, if the store answers in time. */
function hookExit () {
  if (exitHooked) return
  exitHooked = true
  process.once('exit', () => native.closeAll())
}

function optionsObject (options, reason, example) {
  if (options === null || typeof options !== 'object') {
    throw invalid(reason, `options must be an object such as ${example} (${reason})`)
  }
  return options
}

class Client {
  #id
  #store

  constructor (url, options = {}) {
    const o = optionsObject(options, 'locks_bad_option', "{ requestTimeout: '5s' }")
    this.#id = native.open(url, o.authToken, o.authTokenFile, o.user, o.password, o.passwordFile, o.caFile, o.certFile,
      o.keyFile, o.label, o.requestTimeout)
    this.#store = native.store(this.#id)
    forgotten.register(this, this.#id)
    hookExit()
  }

  get store () { return this.#store }

  lock (name, options) {
    return this.#make(name, undefined, options)
  }

  semaphore (name, permits, options) {
    // Left out, it would make a lock.
    return this.#make(name, permits ?? null, options)
  }

  async acquire (name, options) {
    const lock = this.lock(name, options)
    return await takeLock(lock, options.signal)
  }

  async holders (name) {
    return makeHolders(await calls.settled(native, native.holders(this.#id, name)))
  }

  async show (name) {
    return new LockInfo(await calls.settled(native, native.show(this.#id, name)))
  }

  async list (prefix, options = {}) {
    const { limit, after } = optionsObject(options, 'locks_bad_limit', '{ limit: 100 }')
    const all = await calls.settled(native, native.list(this.#id, prefix, limit, after))
    return all.map((raw) => new LockInfo(raw))
  }

  async forceRelease (name, id) {
    const { slot, token, owner } = optionsObject(id, 'locks_bad_token', '{ token } or { owner }')
    return await calls.settled(native, native.forceRelease(this.#id, name, slot, token, owner))
  }

  transaction () {
    return new Transaction(this, this.#id)
  }

  kv (namespace) {
    return new Kv(this, this.#id, namespace)
  }

  async ping () {
    await calls.settled(native, native.ping(this.#id))
  }

  async close () {
    await calls.settled(native, native.close(this.#id))
  }

  async [Symbol.asyncDispose] () {
    await this.close()
  }

  advance (duration) {
    native.advance(this.#id, duration)
  }

  #make (name, permits, options) {
    const o = optionsObject(options ?? null, 'locks_bad_ttl', "{ ttl: '30s' }; a lifetime is required")
    return makeLock(this, native.lock(this.#id, name, permits, o.ttl, o.wait, o.owner, o.resume, o.label, o.fair,
      o.reentrant, o.background, o.crash))
  }
}

module.exports = { Client }
