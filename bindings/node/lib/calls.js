'use strict'
// The calls that a thread of the add-on works on, and the losses it tells of.

const { invalid, makeError } = require('./errors.js')

/** @type {Map<number, { resolve: Function, reject: Function, signal?: AbortSignal, onAbort?: () => void, undo?: Function }>} */
const pending = new Map()
/** @type {Map<number, WeakRef<object>>} handles that want to hear of losses, by their number */
const watched = new Map()
/** Called with a watched handle and the reason of its loss. */
let onLoss = () => {}

/** The AbortSignal of a caller's options, if there is one. */
function signalOf (options, reason, example) {
  if (options === undefined) return undefined
  if (options === null || typeof options !== 'object') {
    throw invalid(reason, `options must be an object such as ${example} (${reason})`)
  }
  const { signal } = options
  if (signal !== undefined && !(signal instanceof AbortSignal)) {
    throw new TypeError('options.signal must be an AbortSignal')
  }
  return signal
}

/** Called by the add-on on the event loop. */
function dispatch (what, id, error, value) {
  if (what === 'lost') {
    const lock = watched.get(id)?.deref()
    if (lock) onLoss(lock, value)
    return
  }
  const call = pending.get(id)
  if (!call) return
  pending.delete(id)
  call.signal?.removeEventListener('abort', call.onAbort)
  if (!call.signal?.aborted) {
    if (error) call.reject(makeError(error))
    else call.resolve(value)
    return
  }
  // Aborted, but the answer came first: what it took is given back before the caller hears of the abort.
  const abort = () => call.reject(call.signal.reason)
  if (typeof value === 'number') call.undo(value).then(abort, abort)
  else abort()
}

/**
 * The answer of the call `id`. An abort of `signal` cancels it, gives back by `undo` what it took
 * all the same, and rejects with the signal's reason.
 */
async function settled (native, id, signal, undo) {
  try {
    return await new Promise((resolve, reject) => {
      const onAbort = signal && (() => native.cancel(id))
      pending.set(id, { resolve, reject, signal, onAbort, undo })
      signal?.addEventListener('abort', onAbort, { once: true })
    })
  } catch (error) {
    // The error was made by the event loop; its stack should say who waited.
    if (error instanceof Error && error !== signal?.reason) Error.captureStackTrace(error)
    throw error
  }
}

function watch (id, lock) {
  watched.set(id, new WeakRef(lock))
}

function forget (id) {
  watched.delete(id)
}

function setOnLoss (handler) {
  onLoss = handler
}

module.exports = { dispatch, settled, signalOf, watch, forget, setOnLoss }
