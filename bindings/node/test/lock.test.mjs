// What a handle does in JavaScript's terms. What a lease does is in the scenarios.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { Client, FenceholdError, HeldError, InvalidError, Lock, LostError, NotHeldError, TimedOutError } from 'fencehold'
import { folder, fresh, memory, until } from './support.mjs'

test('durations are text with a unit, and nothing else', async (t) => {
  const client = memory(t)
  for (const ttl of [30, 0, -1, NaN, Infinity, 30n, null, true, false, undefined, '30', '-1s', '', {}, [], Symbol('30s')]) {
    assert.throws(() => client.lock('n', { ttl }), { code: 'FENCEHOLD_INVALID', reason: 'locks_bad_ttl', lock: 'n' }, String(ttl))
  }
  assert.throws(() => client.lock('nightly', { ttl: 30 }), {
    message: 'lock "nightly": ttl 30 has no unit (locks_bad_ttl). Write \'30s\'; a lifetime is 100 ms to 24 h'
  })
  assert.throws(() => client.lock('n'), { reason: 'locks_bad_ttl' })
  const lock = client.lock('n', { ttl: '1s' })
  for (const wait of [5, -1, NaN, 1n, null, true, false, '5', '-1s', '', 'soon', {}]) {
    await assert.rejects(lock.acquire({ wait }), { code: 'FENCEHOLD_INVALID', reason: 'locks_bad_wait' }, String(wait))
    assert.throws(() => client.lock('n', { ttl: '1s', wait }), { reason: 'locks_bad_wait' })
  }
  await assert.rejects(lock.acquire(null), { reason: 'locks_bad_wait' })
  assert.equal(await lock.acquire({ wait: 0 }), true)
})

test('ill-formed text and other shapes are refused, never replaced', (t) => {
  const client = memory(t)
  for (const name of ['a\ud800', '', 'a#b', 'a\0b', 'x'.repeat(257), 5, null, undefined]) {
    assert.throws(() => client.lock(name, { ttl: '1s' }), { reason: 'locks_bad_name' })
  }
  assert.throws(() => client.lock('n', { ttl: '1s', label: '\udc00' }), { reason: 'locks_bad_label' })
  assert.throws(() => client.lock('n', { ttl: '1s', owner: null }), { reason: 'locks_bad_owner' })
  assert.throws(() => client.lock('n', { ttl: '1s', fair: 1 }), InvalidError)
  assert.throws(() => client.lock('n', { ttl: '1s', crash: 'ignore' }), InvalidError)
  for (const permits of [0, -1, 1.5, NaN, '2', null, undefined]) {
    assert.throws(() => client.semaphore('n', permits, { ttl: '1s' }), InvalidError, String(permits))
  }
  assert.throws(() => new Client(''), { reason: 'locks_bad_url' })
  assert.throws(() => new Client('memory:', { label: 7 }), { reason: 'locks_bad_label' })
  assert.throws(() => new Client('memory:', { requestTimeout: 5 }), InvalidError)
  assert.throws(() => new Lock(), TypeError)
})

test('an acquire that is refused answers false and says who has it', async (t) => {
  const client = memory(t)
  const [a, b] = [client.lock('n', { ttl: '10s', label: 'first' }), client.lock('n', { ttl: '10s' })]
  assert.equal(b.refusal, null)
  assert.equal(await a.acquire(), true)
  assert.equal(await b.acquire(), false)
  assert.equal(b.refusal.reason, 'held')
  const [holder] = b.refusal.holders
  assert.equal(holder.owner, a.owner)
  assert.equal(holder.label, 'first')
  assert.equal(holder.token, a.token)
  assert.ok(holder.since instanceof Date && Math.abs(holder.since - Date.now()) < 60_000)
  const json = JSON.parse(JSON.stringify(holder))
  assert.equal(json.token, String(a.token))
  assert.match(json.expiresAt, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  assert.ok(json.expiresInMs > 0 && json.expiresInMs <= 10_000)
  assert.throws(() => { holder.token = 1n }, TypeError)
  assert.equal(await b.acquire({ wait: '50ms' }), false)
  assert.equal(b.refusal.reason, 'timed_out')
})

test('tokens are bigints, and unreadable before the first hold', async (t) => {
  const client = memory(t)
  const lock = client.lock('n', { ttl: '10s' })
  for (const what of ['token', 'fence', 'slot']) assert.throws(() => lock[what], NotHeldError)
  assert.equal(await lock.acquire(), true)
  assert.equal(typeof lock.fence, 'bigint')
  assert.ok(lock.fence > 0n && lock.token >= lock.fence)
  assert.equal(lock.slot, 0)
  assert.equal(lock.ttlMs, 10_000)
  assert.ok(lock.remainingMs > 0 && lock.remainingMs <= 10_000)
  assert.equal(await lock.release(), true)
  assert.equal(await lock.release(), false)
  assert.equal(lock.held, false)
})

test('client.acquire raises instead of answering', async (t) => {
  const client = memory(t)
  const lock = await client.acquire('n', { ttl: '10s' })
  assert.ok(lock instanceof Lock && lock.held)
  await assert.rejects(client.acquire('n', { ttl: '10s' }), (error) => {
    assert.ok(error instanceof HeldError && !(error instanceof TimedOutError))
    assert.equal(error.code, 'FENCEHOLD_HELD')
    assert.equal(error.lock, 'n')
    assert.equal(error.store, client.store)
    assert.equal(error.retry, 'later')
    assert.equal(error.refusal.holders[0].owner, lock.owner)
    assert.match(error.stack, /lock\.test\.mjs/)
    return true
  })
  await assert.rejects(client.acquire('n', { ttl: '10s', wait: '20ms' }), TimedOutError)
})

test('a waiter gets the lock that is given back', async (t) => {
  for (const url of [`memory:${fresh()}`, `file:${folder(t)}`]) {
    const client = new Client(url)
    const lock = await client.acquire('n', { ttl: '10s' })
    const { fence } = lock
    const next = client.acquire('n', { ttl: '10s', wait: 'forever' })
    await pause(20)
    await lock.release()
    assert.throws(() => lock.fence, NotHeldError)
    const second = await next
    assert.ok(second.fence > fence)
    await client.close()
    assert.equal(second.held, false)
  }
})

test('run gives the value, or the refusal without calling the body', async (t) => {
  const client = memory(t)
  const lock = client.lock('n', { ttl: '10s' })
  const result = await lock.run(async (held) => {
    assert.equal(held, lock)
    assert.equal(lock.held, true)
    const other = await client.lock('n', { ttl: '10s' }).run(() => assert.fail('called'))
    assert.equal(other.acquired, false)
    assert.equal(other.value, undefined)
    assert.equal(other.refusal.reason, 'held')
    return 42
  })
  assert.deepEqual(result, { acquired: true, value: 42 })
  assert.equal(lock.held, false)
  await assert.rejects(lock.run('not a function'), TypeError)
})

test('run that outlives its lease says so and carries the value', async (t) => {
  const client = memory(t)
  const lock = client.lock('n', { ttl: '10s' })
  await assert.rejects(lock.run(async () => { lock.lose('renew'); await pause(5); return 'result' }), (error) => {
    assert.ok(error instanceof LostError)
    assert.equal(error.value, 'result')
    assert.ok(error.lateByMs > 0, String(error.lateByMs))
    return true
  })
  const theirs = new Error('the body')
  await assert.rejects(lock.run(() => { lock.lose('guard'); throw theirs }), (error) => {
    assert.equal(error, theirs)
    assert.ok(error.cause instanceof LostError)
    return true
  })
})

test('leaving a scope gives back the hold that it took, and no later one', async (t) => {
  const client = memory(t)
  const lock = await client.acquire('n', { ttl: '10s' })
  await lock[Symbol.asyncDispose]()
  assert.equal(lock.held, false)
  assert.equal(await lock.acquire(), true)
  await lock[Symbol.asyncDispose]()
  assert.equal(lock.held, true)
  await lock.release()

  const lost = await client.acquire('n', { ttl: '10s' })
  lost.lose('renew')
  await assert.rejects(lost[Symbol.asyncDispose](), LostError)

  const plain = client.lock('n', { ttl: '10s' })
  await plain[Symbol.asyncDispose]()
  assert.equal(await plain.acquire(), true)
  await plain[Symbol.asyncDispose]()
  assert.equal(plain.held, false)
})

test('each loss handler runs once a hold, late ones at once, and a failing one ends nothing', async (t) => {
  const client = memory(t)
  const lock = client.lock('n', { ttl: '10s' })
  const seen = []
  const warned = once(process, 'warning')
  lock.onLost(() => { throw new Error('handler') })
  lock.onLost((reason) => { assert.equal(lock.held, false); seen.push(`a ${reason}`) })
  const remove = lock.onLost((reason) => seen.push(`b ${reason}`))
  await lock.acquire()
  lock.lose('renew')
  assert.equal(lock.lostReason, 'renew')
  await until(() => seen.length === 2)
  lock.onLost((reason) => seen.push(`late ${reason}`))
  await until(() => seen.length === 3)
  assert.deepEqual(seen, ['a renew', 'b renew', 'late renew'])
  const [warning] = await warned
  assert.equal(warning.code, 'FENCEHOLD_HANDLER')
  assert.match(warning.detail, /handler/)

  remove()
  seen.length = 0
  await lock.acquire()
  await lock.release()
  await lock.acquire()
  lock.lose('guard')
  await until(() => seen.length === 2)
  await pause(20)
  assert.deepEqual(seen, ['a guard', 'late guard'])
})

test('the signal is one per hold, aborted by loss, silent on release', async (t) => {
  const client = memory(t)
  const lock = client.lock('n', { ttl: '10s' })
  assert.equal(lock.signal.aborted, true)
  assert.ok(lock.signal.reason instanceof NotHeldError)

  await lock.acquire()
  const first = lock.signal
  assert.equal(lock.signal, first)
  assert.equal(first.aborted, false)
  await lock.release()
  assert.equal(lock.signal.aborted, true)
  await pause(20)
  assert.equal(first.aborted, false)

  await lock.acquire()
  const second = lock.signal
  assert.notEqual(second, first)
  let fired = 0
  second.addEventListener('abort', () => fired++)
  lock.lose('expired')
  await until(() => second.aborted)
  await pause(20)
  assert.equal(fired, 1)
  assert.equal(first.aborted, false)
  assert.equal(lock.signal, second)
  assert.ok(second.reason instanceof FenceholdError)
  assert.equal(second.reason.kind, 'lost')

  await lock.acquire()
  assert.equal(lock.signal.aborted, false)
  await lock.release()
})

test('keepAlive is bound to its handle', async (t) => {
  const client = memory(t)
  const lock = client.lock('n', { ttl: '10s' })
  const { keepAlive } = lock
  assert.equal(keepAlive(), false)
  await lock.acquire()
  assert.equal(keepAlive(), true)
  assert.throws(() => { 'use strict'; lock.keepAlive = () => true }, TypeError)
  lock.lose('renew')
  assert.equal(keepAlive(), false)
  assert.equal(lock.lastError.kind, 'lost')
})

test('a handle without background renewal renews when keepAlive is called', async (t) => {
  const client = memory(t, '?clock=manual')
  const lock = client.lock('n', { ttl: '9s', background: false })
  await lock.acquire()
  const { token, fence } = lock
  client.advance('4s')
  await until(() => { assert.equal(lock.keepAlive(), true); return lock.token > token })
  assert.equal(lock.fence, fence)
  client.advance('10s')
  assert.equal(lock.keepAlive(), false)
})

test('tasks that share a client exclude each other', async (t) => {
  for (const url of [`memory:${fresh()}`, `file:${folder(t)}`]) {
    const client = new Client(url)
    const shared = client.lock('n', { ttl: '30s', wait: 'forever' })
    let counter = 0
    const count = async (lock) => {
      for (let n = 0; n < 100; n++) {
        await lock.run(async () => {
          const read = counter
          await null
          counter = read + 1
        })
      }
    }
    // Two tasks through one handle, and two with handles of their own.
    await Promise.all([shared, shared, client.lock('n', { ttl: '30s', wait: 'forever' }),
      client.lock('n', { ttl: '30s', wait: 'forever', fair: true })].map(count))
    assert.equal(counter, 400)
    await client.close()
  }
})

test('a semaphore has its permits and no more', async (t) => {
  const client = memory(t)
  const locks = [1, 2, 3].map(() => client.semaphore('s', 2, { ttl: '10s' }))
  assert.deepEqual(await Promise.all(locks.map((lock) => lock.acquire())), [true, true, false])
  assert.deepEqual([locks[0].slot, locks[1].slot].sort(), [0, 1])
  assert.equal((await client.holders('s')).length, 2)
})

test('the store can be looked at, and a hold ended by force', async (t) => {
  const client = memory(t)
  await client.ping()
  const lock = await client.acquire('a/1', { ttl: '10s' })
  await client.acquire('b/1', { ttl: '10s' }).then((other) => other.release())
  assert.deepEqual((await client.list('a/')).map((info) => info.name), ['a/1'])
  const info = await client.show('a/1')
  assert.equal(info.held, true)
  assert.equal(JSON.parse(JSON.stringify(info)).waiting, 0)
  await assert.rejects(client.forceRelease('a/1', { token: 5 }), InvalidError)
  await assert.rejects(client.forceRelease('a/1', {}), InvalidError)
  assert.equal(await client.forceRelease('a/1', { token: lock.token + 1000n }), false)
  assert.equal(await client.forceRelease('a/1', { owner: lock.owner }), true)
  assert.deepEqual(await client.holders('a/1'), [])
})

test('a closed client says so, and gave back what it held', async () => {
  const url = `memory:${fresh('store')}`
  const [client, other] = [new Client(url), new Client(url)]
  const lock = await client.acquire('n', { ttl: '10s' })
  const waiting = other.acquire('n', { ttl: '10s', wait: 'forever' })
  await client[Symbol.asyncDispose]()
  assert.equal(lock.held, false)
  assert.equal((await waiting).held, true)
  await assert.rejects(client.ping(), { reason: 'client_closed', retry: 'never' })
  await other.close()
})

test('close ends the waits of its client', async () => {
  const url = `memory:${fresh('store')}`
  const [client, other] = [new Client(url), new Client(url)]
  await other.acquire('n', { ttl: '10s' }).then((lock) => { other.kept = lock })
  const waiting = assert.rejects(client.lock('n', { ttl: '10s' }).acquire({ wait: 'forever' }), FenceholdError)
  await pause(20)
  await client.close()
  await waiting
  await other.close()
})

test('a loss that the event loop hears of late is not taken for that of the next hold', async (t) => {
  const lock = memory(t).lock('n', { ttl: '30s' })
  const reasons = []
  await lock.acquire()
  lock.onLost((reason) => reasons.push(reason))
  lock.lose('renew')
  await lock.acquire() // decided at once: the event loop has not turned
  lock.lose('expired')
  await until(() => reasons.length >= 2)
  assert.deepEqual(reasons, ['renew', 'expired'])
})
