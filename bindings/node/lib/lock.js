'use strict'

const calls = require('./calls.js')
const native = require('./native.js')
const { attach, makeError } = require('./errors.js')
const { makeRefusal } = require('./values.js')

/** Proves that a Lock is made by its client. */
const key = Symbol('fencehold')
/** A signal or a keepAlive function that somebody keeps also keeps its handle, so that it stays true. */
const keeps = new WeakMap()

const collected = new FinalizationRegistry(({ id, name, store }) => {
  calls.forget(id)
  if (!native.discard(id)) return
  process.emitWarning(`lock "${name}" on ${store}: nothing refers to it any more while it is held, so it was ` +
    'given back. Keep the Lock for as long as the work lasts, and release it', { code: 'FENCEHOLD_DROPPED' })
})

calls.setOnLoss((lock, reason) => lock[lossOf](reason))
const lossOf = Symbol('fencehold.loss')

function waitOptions (options) {
  const signal = calls.signalOf(options, 'locks_bad_wait', "{ wait: '10s' }")
  return { wait: options?.wait, signal }
}

class Lock {
  #id
  #client
  #name
  #owner
  /** The hold that leaving an `await using` scope gives back; null: the latest. */
  #scope = null
  #watching = false
  /** Loss handlers with the last hold that each was called for. */
  #handlers = new Set()
  #controller = null
  #controllerEpoch = 0

  constructor (secret, client, id) {
    if (secret !== key) throw new TypeError('a Lock is made by client.lock(), client.semaphore() or client.acquire()')
    this.#id = id
    this.#client = client
    this.#name = native.name(id)
    this.#owner = native.owner(id)
    const keepAlive = native.keepAlive(id)
    Object.defineProperty(this, 'keepAlive', { value: keepAlive, enumerable: false })
    keeps.set(keepAlive, this)
    collected.register(this, { id, name: this.#name, store: client.store })
  }

  async acquire (options) {
    return typeof await this.#acquire(options, false) === 'number'
  }

  async stepAside (options) {
    const { wait, signal } = waitOptions(options)
    signal?.throwIfAborted()
    const answer = await this.#settled(native.stepAside(this.#id, wait), signal)
    return typeof answer === 'number'
  }

  async run (fn, options) {
    if (typeof fn !== 'function') throw new TypeError('run needs a function')
    const epoch = await this.#acquire(options, false)
    if (typeof epoch !== 'number') return { acquired: false, value: undefined, refusal: makeRefusal(epoch) }
    let value
    try {
      value = await fn(this)
    } catch (theirs) {
      try {
        await this.#leave(epoch)
      } catch (ours) {
        if (!attach(theirs, ours)) process.emitWarning(ours)
      }
      throw theirs
    }
    try {
      await this.#leave(epoch)
    } catch (error) {
      if ('value' in error) error.value = value
      throw error
    }
    return { acquired: true, value }
  }

  async release () {
    const answer = native.release(this.#id)
    return typeof answer === 'number' ? await calls.settled(native, answer) : answer
  }

  onLost (fn) {
    if (typeof fn !== 'function') throw new TypeError('onLost needs a function')
    const reason = native.lostReason(this.#id)
    const epoch = native.epoch(this.#id)
    // Losses of earlier holds are not this handler's, even if the event loop has yet to hear of them.
    const handler = { fn, told: reason !== null || native.held(this.#id) ? epoch - 1 : epoch }
    this.#handlers.add(handler)
    this.#watch()
    if (reason !== null) queueMicrotask(() => this.#tell(epoch, reason))
    return () => { this.#handlers.delete(handler) }
  }

  async [Symbol.asyncDispose] () {
    const epoch = this.#scope ?? native.epoch(this.#id)
    if (epoch > 0) await this.#leave(epoch)
  }

  lose (reason) {
    native.lose(this.#id, reason)
  }

  get signal () {
    const epoch = native.epoch(this.#id)
    if (native.held(this.#id) && this.#controllerEpoch !== epoch) {
      this.#controller = new AbortController()
      this.#controllerEpoch = epoch
      keeps.set(this.#controller.signal, this)
      this.#watch()
    }
    const reason = native.lostReason(this.#id)
    if (reason !== null) this.#tell(epoch, reason)
    if (this.#controllerEpoch === epoch && this.#controller !== null && (native.held(this.#id) || reason !== null)) {
      return this.#controller.signal
    }
    return AbortSignal.abort(reason === null ? this.#notHeld() : this.#loss(reason))
  }

  get held () { return native.held(this.#id) }
  get atRisk () { return native.atRisk(this.#id) }
  get lost () { return native.lostReason(this.#id) !== null }
  get lostReason () { return native.lostReason(this.#id) }

  get refusal () {
    const raw = native.refusal(this.#id)
    return raw === null ? null : makeRefusal(raw)
  }

  get lastError () {
    const raw = native.lastError(this.#id)
    return raw === null ? null : makeError(raw)
  }

  get token () { return native.token(this.#id) }
  get fence () { return native.fence(this.#id) }
  get slot () { return native.slot(this.#id) }
  get position () { return native.position(this.#id) }
  get name () { return this.#name }
  get owner () { return this.#owner }
  get ttlMs () { return native.ttlMs(this.#id) }
  get remainingMs () { return native.remainingMs(this.#id) }

  /** The number of the hold, or a refusal as the add-on describes it. */
  async #acquire (options, raise) {
    const { wait, signal } = waitOptions(options)
    signal?.throwIfAborted()
    // A loss that the event loop has not told yet belongs to the hold before this one.
    const reason = native.lostReason(this.#id)
    if (reason !== null) this.#tell(native.epoch(this.#id), reason)
    const answer = native.acquire(this.#id, wait, raise)
    return answer === true ? native.epoch(this.#id) : await this.#settled(answer, signal)
  }

  #settled (answer, signal) {
    if (typeof answer !== 'number') return answer
    const undo = (epoch) => calls.settled(native, native.releaseEpoch(this.#id, epoch))
    return calls.settled(native, answer, signal, undo)
  }

  async #leave (epoch) {
    const answer = native.leave(this.#id, epoch)
    if (answer !== undefined) await calls.settled(native, answer)
  }

  #watch () {
    if (this.#watching) return
    this.#watching = true
    calls.watch(this.#id, this)
    native.watch(this.#id)
  }

  /** Tells the handlers and the signal of the hold `epoch` that it is lost; each of them once. */
  #tell (epoch, reason) {
    if (this.#controller !== null && this.#controllerEpoch <= epoch && !this.#controller.signal.aborted) {
      this.#guarded(() => this.#controller.abort(this.#loss(reason)))
    }
    for (const handler of [...this.#handlers]) {
      if (handler.told >= epoch) continue
      handler.told = epoch
      this.#guarded(() => handler.fn(reason))
    }
  }

  /** A handler that fails must not end the process: it is not the caller's code that runs it. */
  #guarded (fn) {
    const report = (cause) => {
      const detail = cause instanceof Error ? cause.stack ?? cause.message : String(cause)
      process.emitWarning(`lock "${this.#name}" on ${this.#client.store}: a loss handler failed`,
        { code: 'FENCEHOLD_HANDLER', detail })
    }
    try {
      const answer = fn()
      if (typeof answer?.then === 'function') answer.then(undefined, report)
    } catch (cause) {
      report(cause)
    }
  }

  /** What a signal is aborted with. */
  #loss (reason) {
    const cause = this.lastError
    if (cause?.kind === 'lost') return cause
    return makeError({
      kind: 'lost',
      reason,
      message: cause?.message ?? `lock "${this.#name}" on ${this.#client.store}: lost (${reason})`,
      lock: this.#name,
      store: this.#client.store,
      retry: 'check_first'
    })
  }

  #notHeld () {
    return makeError({
      kind: 'not_held',
      reason: 'not_held',
      message: `lock "${this.#name}" on ${this.#client.store}: it is not held`,
      lock: this.#name,
      store: this.#client.store,
      retry: 'now'
    })
  }

  /** Called on the event loop for every loss that the add-on tells of. */
  [lossOf] (reason) {
    const epoch = native.epoch(this.#id)
    // If the handle is not lost now, or for another reason, it was acquired again meanwhile: the loss was the hold before.
    this.#tell(native.lostReason(this.#id) === reason ? epoch : epoch - 1, reason)
  }

  static make (client, id) {
    return new Lock(key, client, id)
  }

  /** For client.acquire: takes the lock or raises, and remembers which hold the scope is for. */
  static async take (lock, signal) {
    lock.#scope = await lock.#acquire({ signal }, true)
    return lock
  }

  static idOf (lock) {
    return lock.#id
  }

  static isLock (value) {
    return typeof value === 'object' && value !== null && #id in value
  }
}

const { make, take, idOf, isLock } = Lock
for (const name of ['make', 'take', 'idOf', 'isLock']) delete Lock[name]

module.exports = { Lock, makeLock: make, takeLock: take, idOf, isLock }
