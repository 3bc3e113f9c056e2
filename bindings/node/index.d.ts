/// <reference lib="esnext.disposable" />

/** A length of time as text with a unit: `500ms`, `30s`, `1h30m` (ms s m h d). A bare number is refused. */
export type Duration = string
/** How long to queue for a lock: a duration, `0` for one try, or `'forever'`. */
export type Wait = Duration | 0 | 'forever'
/**
 * Why a lease ended under its holder: the store said so (`renew`), a guarded step was refused (`guard`), no renewal
 * got through in time (`expired`), or this is a child of the holder's process (`forked`).
 */
export type LostReason = 'renew' | 'guard' | 'expired' | 'forked'

/** How a handle takes and keeps its lock. */
export interface LockOptions {
  /** How long the lease outlives its last renewal: 100 ms to 24 h, rounded up to the store's step. Required. */
  ttl: Duration
  /** How long `acquire()` waits for its turn when it is not told; default `0`, one try. */
  wait?: Wait
  /** The holder's id, unique per holder. Leave it out to have one minted; for people there is `label`. */
  owner?: string
  /** Take up the hold that another process with the same `owner` handed on; default false. */
  resume?: boolean
  /** What people see beside the owner; default the client's. */
  label?: string
  /** Wait in line, first come first served; default false. */
  fair?: boolean
  /** Let an acquire through a handle that holds count instead of being refused; default false. */
  reentrant?: boolean
  /** Renew on a thread of the library, whatever the event loop does; default true. If false, `keepAlive()` starts renewals. */
  background?: boolean
  /** What happens to the lease when this process dies: others take over at once where the store sees it (default), or it runs out. */
  crash?: 'takeover' | 'expire'
}

/** How a client reaches its store. Each option is also `FENCEHOLD_<NAME>` in the environment. */
export interface ClientOptions {
  authToken?: string
  authTokenFile?: string
  user?: string
  password?: string
  passwordFile?: string
  caFile?: string
  certFile?: string
  keyFile?: string
  /** How long one request may take: default `5s`, and at most a quarter of the ttl. */
  requestTimeout?: Duration
  /** What people see beside the owners of this client's handles; default the program's name. */
  label?: string
}

/** How one acquire waits. */
export interface WaitOptions {
  /** How long to wait for our turn; default the handle's own. */
  wait?: Wait
  /** Ends the wait: the promise rejects with `signal.reason`, nothing is held and no place in line is kept. */
  signal?: AbortSignal
}

/** What `run` answers: the body's value, or who has the lock instead. */
export type RunResult<T> = { acquired: true; value: T } | { acquired: false; value?: undefined; refusal: Refusal }

/**
 * A connection to a store. Opening it parses the URL and does no I/O.
 *
 * ```js
 * const client = new Client('file:/var/lib/fencehold')
 * await using lock = await client.acquire('reports/nightly', { ttl: '30s', wait: '5s' })
 * await write(rows, { fence: lock.fence, signal: lock.signal })
 * ```
 *
 * What is still held when the process ends is given back, if the store answers in time.
 */
export class Client implements AsyncDisposable {
  /**
   * @param url such as `file:/var/lib/fencehold` or `memory:`; left out: `FENCEHOLD_URL`, else the one line of `/etc/fencehold/url`
   * @throws {InvalidError} `locks_no_store` when none is named, `locks_bad_url`, or an option that can never work
   */
  constructor(url?: string, options?: ClientOptions)
  /** The store, without credentials. */
  readonly store: string
  /**
   * Makes a handle: one owner of at most one permit. Sends nothing.
   *
   * @param name 1 to 256 bytes of UTF-8 without control characters or `#`
   * @throws {InvalidError} `locks_bad_name`, `locks_bad_ttl`, `locks_bad_wait`, `locks_bad_owner`, `locks_bad_label`
   */
  lock(name: string, options: LockOptions): Lock
  /** Makes a handle on one of `permits` permits; otherwise as `lock`. */
  semaphore(name: string, permits: number, options: LockOptions): Lock
  /**
   * Takes the lock, for `await using`.
   *
   * @throws {HeldError} somebody else holds it; `TimedOutError` when the wait was over
   * @throws {UnreachableError} the store could not be asked; nothing was done
   * @throws {InDoubtError} no answer came: it may be held until `until`
   */
  acquire(name: string, options: LockOptions & { signal?: AbortSignal }): Promise<Lock>
  /** Who holds `name`, by slot. */
  holders(name: string): Promise<Holder[]>
  /** What the store knows about `name`. */
  show(name: string): Promise<LockInfo>
  /** The locks whose names begin with `prefix`, by name. */
  list(prefix?: string, options?: { limit?: number; after?: string }): Promise<LockInfo[]>
  /** Ends somebody's hold; false if it was not there any more. They find out at their next renewal. */
  forceRelease(name: string, id: { token: bigint; slot?: number } | { owner: string; slot?: number }): Promise<boolean>
  /** Begins a step that is done as a whole or not at all. */
  transaction(): Transaction
  /** The rows of users in `namespace`: 1 to 64 of a-z, 0-9, `.`, `_` and `-`. */
  kv(namespace: string): Kv
  /** Asks the store for a sign of life. */
  ping(): Promise<void>
  /**
   * Ends all waits and gives back all holds, in 3 seconds at most; later calls answer `client_closed`.
   *
   * @throws {InDoubtError} naming the holds that could not be given back; they end by themselves
   */
  close(): Promise<void>
  /** The same as `close()`. */
  [Symbol.asyncDispose](): Promise<void>
  /** Moves the clock of a `memory:?clock=manual` store. */
  advance(duration: Duration): void
}

/**
 * A handle on one lock or permit. Any number of tasks may call it at any time; none of its functions blocks the event loop.
 *
 * Keep it referenced while it is held: a held handle that nothing refers to is given back, with a process warning.
 */
export class Lock implements AsyncDisposable {
  private constructor()
  /**
   * Takes the lock. true: held. false: the store said no, see `refusal`. A store out of reach is ridden out for the
   * length of the wait and then raised: never false. A pending acquire keeps the process alive, a held lease does not.
   *
   * @throws {UnreachableError} nothing was done, safe to call again
   * @throws {InDoubtError} it may be held until `until`; acquire again through this handle
   */
  acquire(options?: WaitOptions): Promise<boolean>
  /** Lets the next in line go first and queues again behind it. */
  stepAside(options?: WaitOptions): Promise<boolean>
  /**
   * Runs `fn` while the lock is held and gives back that hold; without the lock `fn` is not called.
   *
   * If `fn` fails, its error is thrown, with ours as its `cause` or in its `errors` if leaving failed too.
   *
   * @throws {LostError} the lease ended before `fn` did; `lateByMs` tells by how much, `value` is what `fn` answered
   * @throws {InDoubtError} the work is done, but it is not known whether the lock is given back; `value` is there
   */
  run<T>(fn: (lock: Lock) => T | PromiseLike<T>, options?: WaitOptions): Promise<RunResult<T>>
  /**
   * true while held. false: lost, stop now; `lastError` tells why. Costs what asking the time costs, sends nothing
   * itself and never throws. Bound to its handle: it may be passed on by itself.
   */
  keepAlive(): boolean
  /**
   * Gives the lock back. false: there was nothing to give back. `held` is false and renewal has stopped in any case.
   *
   * @throws {UnreachableError} @throws {InDoubtError} it ends by itself at `until`; may be called again
   */
  release(): Promise<boolean>
  /** Calls `fn` once for each hold that is lost, on the event loop, at once if it already is. Returns its removal. */
  onLost(fn: (reason: LostReason) => void): () => void
  /** Gives back the hold that the scope took. @throws {LostError} the lease ended before the scope did */
  [Symbol.asyncDispose](): Promise<void>
  /** On `memory:` only: loses the hold, to rehearse it. */
  lose(reason: LostReason): void
  /** One per hold: aborted by its loss, silent on release. Read while not held: an already aborted one. */
  readonly signal: AbortSignal
  readonly held: boolean
  /** true from the first renewal that could not be asked until one succeeds or the lease is lost. */
  readonly atRisk: boolean
  readonly lost: boolean
  readonly lostReason: LostReason | null
  /** Why the last acquire answered false. */
  readonly refusal: Refusal | null
  /** What went wrong last: the cause of a loss, of a risk, or of a release that failed. */
  readonly lastError: FenceholdError | null
  /** The last answer's number; moves with each renewal. @throws {NotHeldError} when nothing was held yet */
  readonly token: bigint
  /**
   * This hold's number: the same for the whole hold, above all earlier holders', below all later ones'. What rows,
   * headers and children get. Readable while held or lost. @throws {NotHeldError} when nothing was held yet
   */
  readonly fence: bigint
  /** Which permit of a semaphore; 0 for a lock. @throws {NotHeldError} */
  readonly slot: number
  /** Our place in line; 1 is next, 0 is none. */
  readonly position: number
  readonly name: string
  readonly owner: string
  /** The lifetime that the store grants, in milliseconds. */
  readonly ttlMs: number
  /** How long the lease lasts without another renewal, in milliseconds; 0 when not held. */
  readonly remainingMs: number
}

/** Who holds a permit. What a store does not know is null. */
export interface Holder { slot: number; token: bigint; owner: string | null; label: string | null; since: Date | null; renewedAt: Date | null; expiresAt: Date | null; toJSON(): object }
/** A lock as its store sees it; waiters in the order of their turn. */
export interface LockInfo { name: string; held: boolean; holders: Holder[]; waiters: { position: number; owner: string; label: string | null; since: Date | null }[] }
/** Why an acquire answered false, who holds the lock and how many wait. */
export interface Refusal { reason: 'held' | 'contended' | 'timed_out' | 'held_here' | 'owner_in_use'; holders: Holder[]; waiting: number }
/** A message to push. A bigint in `data` is written as a JSON integer. */
export interface Item { data: unknown; partition?: string; transactionId?: string; traceId?: string }
/**
 * What became of a step: all of it was done, or nothing of it was. `results` has one object for each part but the
 * guards, with a bigint for every integer above 2^53; `precondition` says which operation on rows lost.
 */
export interface CommitResult {
  readonly success: boolean
  readonly reason: string | null
  readonly results: object[]
  readonly precondition: { failedIndex: number; kvReason: string; version: number | bigint; value: unknown } | null
  /** @throws {LostError} a guarded lock is not ours any more; `InvalidError` with the store's reason for any other refusal */
  orThrow(): this
}

/** Every error of ours. `code` is `FENCEHOLD_` and the kind in capitals: programs look at it, people at the message. */
export class FenceholdError extends Error {
  protected constructor()
  code: string
  kind: string
  reason: string
  lock: string | null
  store: string
  /** Whether the same call may be made again. */
  retry: 'now' | 'later' | 'check_first' | 'never'
}
/** Somebody else holds the lock. */
export class HeldError extends FenceholdError { protected constructor(); refusal: Refusal | null }
/** The wait was over and somebody else still holds the lock. */
export class TimedOutError extends HeldError { protected constructor() }
/** The lease ended before the work did. */
export class LostError extends FenceholdError { protected constructor(); lateByMs: number | null; value: unknown }
/** The handle holds nothing. */
export class NotHeldError extends FenceholdError { protected constructor() }
/** The wait was given up. */
export class CancelledError extends FenceholdError { protected constructor() }
/** The store could not be asked; nothing was done. */
export class UnreachableError extends FenceholdError { protected constructor() }
/** The request was sent and no answer came: it may be in force until `until`. */
export class InDoubtError extends FenceholdError { protected constructor(); until: Date | null; value: unknown }
/** Something was passed that can never work. */
export class InvalidError extends FenceholdError { protected constructor() }
/** The store wants credentials. */
export class UnauthorizedError extends FenceholdError { protected constructor() }
/** The credentials do not allow it. */
export class ForbiddenError extends FenceholdError { protected constructor() }
/** The store asks for fewer calls. */
export class RateLimitedError extends FenceholdError { protected constructor() }
/** This store or this version cannot do it. */
export class UnsupportedError extends FenceholdError { protected constructor() }
/** The store cannot: full, damaged, read-only or of a newer format. */
export class StoreError extends FenceholdError { protected constructor() }
/** The handle belongs to the parent of this process. */
export class ForkedError extends FenceholdError { protected constructor() }
/** A fault of this library. */
export class InternalError extends FenceholdError { protected constructor() }

/**
 * A step: changes that a store makes as a whole or not at all, and only while the guarded locks are still ours.
 *
 * ```js
 * const done = await client.transaction()
 *   .guard(lock)
 *   .kv([{ op: 'put', ns: 'reports', key: 'last', value: { rows: 7 }, forever: true }])
 *   .commit()
 * done.orThrow()
 * ```
 */
export interface Transaction {
  /**
   * The step is refused unless this lock is still ours then; its token is read when the step is sent.
   *
   * @throws {NotHeldError} it is not held; nothing was sent
   * @throws {InvalidError} `bad_guard` for another client's lock
   */
  guard(lock: Lock): this
  /** Names the queue to push to. */
  queue(name: string): { push(items: Item[]): Transaction }
  /** Acknowledges messages; the objects are the wire's. */
  ack(acks: object[]): this
  /** Reads, writes and checks rows; the objects are the wire's. */
  kv(ops: object[]): this
  /** Sets and cancels timers; the objects are the wire's. */
  timers(ops: object[]): this
  /**
   * Does the step, once: the same step is never sent again. A refusal is an answer.
   *
   * @param options.signal an abort before the step is sent rejects; after it the answer is waited for, which says what became of it
   * @throws {NotHeldError} a guard is not held any more; nothing was sent
   * @throws {InDoubtError} it was sent and no answer came: look before doing it again
   * @throws {UnsupportedError} the store has nothing of the kind
   */
  commit(options?: { signal?: AbortSignal }): Promise<CommitResult>
}

/** How long a row lives: text with a unit, rounded up to whole seconds, or `'forever'`. */
export type Expiry = Duration | 'forever'
/** A row. An integer in `value` that a number cannot say exactly is a bigint. */
export interface ValueRow {
  readonly key: string
  readonly value: unknown
  /** Rises with every write on the whole store. */
  readonly version: bigint
}
/** Rows by key, and the key to go on after if there are more. */
export interface ValuePage { readonly rows: readonly ValueRow[]; readonly nextAfter: string | null }
/**
 * What became of a write or a check. `version` and `value` are the row's after a write, the removed row's after a delete.
 * If it was not `applied`, nothing was changed: they are those of the row in the way, version 0n if there is none.
 */
export interface Written {
  readonly applied: boolean
  readonly version: bigint
  readonly value: unknown
  readonly reason: 'exists' | 'absent' | 'version' | 'limit' | 'type' | null
}
/**
 * The rows of users in one namespace: values that JSON can say, up to 64 KiB, with versions, expiry and conditions.
 *
 * ```js
 * const rows = client.kv('reports')
 * const first = await rows.put('2026-11', { state: 'new' }, { ttl: '90d' })
 * const sent = await rows.put('2026-11', { state: 'sent' }, { ttl: '90d', expect: first.version })
 * if (!sent.applied) console.log(`somebody else wrote ${JSON.stringify(sent.value)}`)
 * ```
 *
 * A lost precondition is an answer. Every function may reject with `UnsupportedError` (the store keeps locks only),
 * `InvalidError` (a `kv_…` reason), `UnreachableError`, and a write with `InDoubtError`: it is never sent again by itself.
 */
export interface Kv {
  readonly namespace: string
  /** The row at `key`, or null. */
  get(key: string): Promise<ValueRow | null>
  /** Those of the rows at `keys`, at most 1024, that are there. */
  getMany(keys: readonly string[]): Promise<readonly ValueRow[]>
  /** Up to `limit` (1000) rows whose keys begin with `prefix` and come behind `after`, by key. */
  getPrefix(prefix: string, options?: { limit?: number; after?: string }): Promise<ValuePage>
  /** Writes a row, whatever was there; with `expect` only over a row of that version. */
  put(key: string, value: unknown, options: { ttl: Expiry; expect?: bigint | number }): Promise<Written>
  /** Writes a row if there is none. */
  putIfAbsent(key: string, value: unknown, options: { ttl: Expiry }): Promise<Written>
  /** Removes a row; with `expect` only one of that version. */
  delete(key: string, options?: { expect?: bigint | number }): Promise<Written>
  /** Adds `delta`, an integer, to the number in a row, which is made if there is none; `ttl` is for that one. */
  incr(key: string, delta: bigint | number, options: { ttl: Expiry }): Promise<Written>
  /** Whether a row has the version `expect`; 0: is not there. */
  check(key: string, expect: bigint | number): Promise<Written>
}
