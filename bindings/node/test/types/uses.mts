// Compiled with --strict and never run: what a caller may and may not write.
import {
  Client, FenceholdError, HeldError, InDoubtError, Lock, LostError, TimedOutError,
  type CommitResult, type Duration, type Holder, type Kv, type LockInfo, type LockOptions, type LostReason, type Refusal,
  type RunResult, type Transaction, type ValuePage, type ValueRow, type Wait, type Written
} from 'fencehold'

const client: Client = new Client('memory:', { requestTimeout: '5s', label: 'types' })
const options: LockOptions = { ttl: '30s', wait: '5s', fair: true, crash: 'expire' }
const wait: Wait[] = [0, 'forever', '10s']
const duration: Duration = '1h30m'

// @ts-expect-error a lifetime is required
client.lock('n', {})
// @ts-expect-error a bare number has no unit
client.lock('n', { ttl: 30 })
// @ts-expect-error null is no wait
client.lock('n', { ttl: '30s', wait: null })
// @ts-expect-error a lock is made by its client
new Lock()

export async function uses (signal: AbortSignal): Promise<void> {
  await using scoped = client
  await using lock = await client.acquire('n', { ...options, signal })
  const fence: bigint = lock.fence
  const aborted: boolean = lock.signal.aborted
  const { keepAlive } = lock
  while (keepAlive()) break
  const remove: () => void = lock.onLost((reason: LostReason) => { void reason })
  remove()
  // @ts-expect-error read-only
  lock.fence = 1n

  const result: RunResult<number> = await lock.run(async (held: Lock) => held.slot, { wait: '1s', signal })
  if (result.acquired) {
    const value: number = result.value
    void value
  } else {
    const refusal: Refusal = result.refusal
    void refusal.holders[0]?.expiresAt?.getTime()
  }

  const yes: boolean = await lock.acquire({ wait: wait[0] })
  const again: boolean = await lock.stepAside()
  const released: boolean = await lock.release()
  const holders: Holder[] = await client.holders('n')
  const infos: LockInfo[] = await client.list('', { limit: 10, after: 'a' })
  await client.forceRelease('n', { token: 1n })
  await client.forceRelease('n', { owner: 'o', slot: 1 })
  // @ts-expect-error a token is a bigint
  await client.forceRelease('n', { token: 1 })

  const step: Transaction = client.transaction().guard(lock).queue('q').push([{ data: { n: 1n } }])
  const done: CommitResult = await step.commit({ signal })
  done.orThrow()
  const rows: Kv = client.kv('reports')
  const written: Written = await rows.put('k', { n: 1n }, { ttl: 'forever', expect: 1 })
  const row: ValueRow | null = await rows.get('k')
  const page: ValuePage = await rows.getPrefix('k', { limit: 10 })
  const counted: bigint = (await rows.incr('n', 1, { ttl: duration })).version
  // @ts-expect-error a write says how long
  await rows.put('k', 1)
  // @ts-expect-error a bare number has no unit
  await rows.putIfAbsent('k', 1, { ttl: 30 })
  // @ts-expect-error read-only
  written.version = 1n
  void [row?.value, page.nextAfter, counted, await rows.check('k', written.version), await rows.delete('k')]
  client.advance(duration)
  void [fence, aborted, yes, again, released, holders, infos, scoped]
}

export function explain (error: unknown): string {
  if (error instanceof TimedOutError || error instanceof HeldError) return error.refusal?.reason ?? ''
  if (error instanceof LostError) return `${error.lateByMs} ${String(error.value)}`
  if (error instanceof InDoubtError) return error.until?.toISOString() ?? ''
  if (error instanceof FenceholdError) return `${error.code} ${error.kind} ${error.reason} ${error.lock} ${error.store} ${error.retry}`
  throw error
}
