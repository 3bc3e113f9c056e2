'use strict'
// Rows of users: frozen answers, and JSON for what is kept.

const calls = require('./calls.js')
const native = require('./native.js')
const { invalid } = require('./errors.js')
const { stringify } = require('./json.js')

const bad = (message) => invalid('kv_bad_request', `${message} (kv_bad_request)`)

/** A value as JSON; refused here, so that the mistake shows where it was made. */
function valueJson (what, value) {
  let text
  try {
    text = stringify(value)
  } catch (cause) {
    throw Object.assign(bad(`${what} is nothing that JSON can say`), { cause })
  }
  if (text === undefined) throw bad(`${what} is nothing that JSON can say`)
  return text
}

function optionsObject (options, example) {
  if (options === null || typeof options !== 'object') throw bad(`options must be an object such as ${example}`)
  return options
}

const writeOptions = (options) => optionsObject(options ?? {}, "{ ttl: '1h' }")
const makeRow = (raw) => (raw === null ? null : Object.freeze(raw))
const makeRows = (all) => Object.freeze(all.map(makeRow))

class Kv {
  /** Referenced, so that the client is not forgotten while its rows are used. */
  #client
  #clientId
  #namespace

  constructor (client, clientId, namespace) {
    if (typeof namespace !== 'string') {
      throw invalid('kv_bad_namespace', 'the namespace must be a string (kv_bad_namespace)')
    }
    this.#client = client
    this.#clientId = clientId
    this.#namespace = namespace
  }

  get namespace () { return this.#namespace }

  async get (key) {
    return makeRow(await this.#ask(native.kvGet, key))
  }

  async getMany (keys) {
    return makeRows(await this.#ask(native.kvGetMany, valueJson('keys', keys)))
  }

  async getPrefix (prefix, options = {}) {
    const { limit, after } = optionsObject(options, '{ limit: 100 }')
    const { rows, nextAfter } = await this.#ask(native.kvGetPrefix, prefix, limit, after)
    return Object.freeze({ rows: makeRows(rows), nextAfter })
  }

  async put (key, value, options) {
    const { ttl, expect } = writeOptions(options)
    return Object.freeze(await this.#ask(native.kvPut, key, valueJson('the value', value), ttl, expect))
  }

  async putIfAbsent (key, value, options) {
    const { ttl } = writeOptions(options)
    return Object.freeze(await this.#ask(native.kvPutIfAbsent, key, valueJson('the value', value), ttl))
  }

  async delete (key, options = {}) {
    const { expect } = optionsObject(options, '{ expect: row.version }')
    return Object.freeze(await this.#ask(native.kvDelete, key, expect))
  }

  async incr (key, delta, options) {
    const { ttl } = writeOptions(options)
    return Object.freeze(await this.#ask(native.kvIncr, key, valueJson('delta', delta), ttl))
  }

  async check (key, expect) {
    return Object.freeze(await this.#ask(native.kvCheck, key, expect))
  }

  async #ask (call, ...args) {
    return await calls.settled(native, call(this.#clientId, this.#namespace, ...args))
  }
}

module.exports = { Kv }
