'use strict'
// What a store tells about a lock: frozen objects with dates, which print as the JSON of every language.

const date = (millis) => (millis === null ? null : new Date(millis))

class Holder {
  constructor (raw) {
    this.slot = raw.slot
    this.token = raw.token
    this.owner = raw.owner
    this.label = raw.label
    this.since = date(raw.since)
    this.renewedAt = date(raw.renewedAt)
    this.expiresAt = date(raw.expiresAt)
    Object.freeze(this)
  }

  toJSON () {
    const { slot, token, owner, label, since, renewedAt, expiresAt } = this
    const expiresInMs = expiresAt === null ? null : Math.max(0, expiresAt.getTime() - Date.now())
    return { slot, token: token.toString(), owner, label, since, renewedAt, expiresAt, expiresInMs }
  }
}

const makeHolders = (all) => Object.freeze(all.map((raw) => new Holder(raw)))

class LockInfo {
  constructor (raw) {
    this.name = raw.name
    this.held = raw.held
    this.holders = makeHolders(raw.holders)
    this.waiters = Object.freeze(raw.waiters.map((waiter) => Object.freeze({ ...waiter, since: date(waiter.since) })))
    Object.freeze(this)
  }

  toJSON () {
    const { name, held, holders, waiters } = this
    return { name, held, waiting: waiters.length, holders, waiters }
  }
}

function makeRefusal (raw) {
  return Object.freeze({ reason: raw.reason, holders: makeHolders(raw.holders), waiting: raw.waiting })
}

module.exports = { LockInfo, makeHolders, makeRefusal }
