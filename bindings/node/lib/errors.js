'use strict'
// One class for each kind of error, all of them FenceholdError.

const { makeRefusal } = require('./values.js')

class FenceholdError extends Error {
  constructor (description) {
    super(description.message, description.cause ? { cause: description.cause } : undefined)
    this.code = `FENCEHOLD_${description.kind.toUpperCase()}`
    this.kind = description.kind
    this.reason = description.reason
    this.lock = description.lock ?? null
    this.store = description.store ?? ''
    this.retry = description.retry
  }
}

class HeldError extends FenceholdError {
  constructor (description) {
    super(description)
    this.refusal = description.refusal ? makeRefusal(description.refusal) : null
  }
}

class LostError extends FenceholdError {
  constructor (description) {
    super(description)
    this.lateByMs = description.lateByMs ?? null
    this.value = undefined
  }
}

class InDoubtError extends FenceholdError {
  constructor (description) {
    super(description)
    this.until = typeof description.until === 'number' ? new Date(description.until) : null
    this.value = undefined
  }
}

class TimedOutError extends HeldError {}
class NotHeldError extends FenceholdError {}
class CancelledError extends FenceholdError {}
class UnreachableError extends FenceholdError {}
class InvalidError extends FenceholdError {}
class UnauthorizedError extends FenceholdError {}
class ForbiddenError extends FenceholdError {}
class RateLimitedError extends FenceholdError {}
class UnsupportedError extends FenceholdError {}
class StoreError extends FenceholdError {}
class ForkedError extends FenceholdError {}
class InternalError extends FenceholdError {}

const classes = {
  held: HeldError,
  timed_out: TimedOutError,
  lost: LostError,
  not_held: NotHeldError,
  cancelled: CancelledError,
  unreachable: UnreachableError,
  in_doubt: InDoubtError,
  invalid: InvalidError,
  unauthorized: UnauthorizedError,
  forbidden: ForbiddenError,
  rate_limited: RateLimitedError,
  unsupported: UnsupportedError,
  store: StoreError,
  forked: ForkedError,
  internal: InternalError
}

for (const errorClass of [FenceholdError, ...Object.values(classes)]) {
  Object.defineProperty(errorClass.prototype, 'name', { value: errorClass.name, configurable: true, writable: true })
}

/** The error that the add-on describes; of a kind that is newer than this file, a plain FenceholdError. */
function makeError (description) {
  const cause = description.cause ? makeError(description.cause) : undefined
  const errorClass = Object.hasOwn(classes, description.kind) ? classes[description.kind] : FenceholdError
  return new errorClass({ ...description, cause })
}

/** A refusal of what the caller passed. */
function invalid (reason, message) {
  return makeError({ kind: 'invalid', reason, message, retry: 'never' })
}

/** Puts `ours` on an error of the caller's own, which goes first; true if there was a place for it. */
function attach (theirs, ours) {
  if (theirs === null || typeof theirs !== 'object' || !Object.isExtensible(theirs)) return false
  if (!Object.hasOwn(theirs, 'cause')) {
    Object.defineProperty(theirs, 'cause', { value: ours, configurable: true, writable: true, enumerable: false })
    return true
  }
  if (!Object.hasOwn(theirs, 'errors')) {
    Object.defineProperty(theirs, 'errors', { value: [ours], configurable: true, writable: true, enumerable: false })
    return true
  }
  if (!Array.isArray(theirs.errors) || !Object.isExtensible(theirs.errors)) return false
  theirs.errors.push(ours)
  return true
}

module.exports = {
  FenceholdError,
  HeldError,
  TimedOutError,
  LostError,
  NotHeldError,
  CancelledError,
  UnreachableError,
  InDoubtError,
  InvalidError,
  UnauthorizedError,
  ForbiddenError,
  RateLimitedError,
  UnsupportedError,
  StoreError,
  ForkedError,
  InternalError,
  classes,
  makeError,
  invalid,
  attach
}
