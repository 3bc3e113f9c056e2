// Steps in JavaScript's terms. What a store does with one is tested with the store.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { InvalidError, LostError, NotHeldError } from 'fencehold'
import { memory, script, until } from './support.mjs'

const put = (key, value) => ({ op: 'put', ns: 'tests', key, value, forever: true })
const get = (key) => ({ op: 'get', ns: 'tests', key })

test('what cannot be part of a step is refused at once', async (t) => {
  const client = memory(t)
  const lock = client.lock('n', { ttl: '10s' })
  const step = client.transaction()
  assert.throws(() => step.guard(lock), { code: 'FENCEHOLD_NOT_HELD', lock: 'n', store: client.store })
  await lock.acquire()
  assert.throws(() => memory(t).transaction().guard(lock), { code: 'FENCEHOLD_INVALID', reason: 'bad_guard' })
  assert.throws(() => step.guard({}), InvalidError)
  assert.throws(() => step.queue('q').push([{}]), { reason: 'bad_request', store: client.store })
  assert.throws(() => step.queue('q').push([{ data: 1, priority: 2 }]), { reason: 'bad_request' })
  assert.throws(() => step.queue(7), InvalidError)
  const circular = {}
  circular.self = circular
  for (const bad of [[circular], [{ n: 2n ** 64n }], [null], ['text'], {}, undefined]) {
    assert.throws(() => step.kv(bad), InvalidError, String(bad))
  }
  await assert.rejects(client.transaction().commit(), { code: 'FENCEHOLD_INVALID', reason: 'bad_request' })
  await assert.rejects(step.commit(null), InvalidError)
})

test('a guarded step is done while the lock is held, and answers what it did', async (t) => {
  const client = memory(t)
  const lock = await client.acquire('n', { ttl: '10s' })
  const value = { fence: 9007199254740993n, least: -(2n ** 63n), n: 7, text: '12n', ['__proto__']: { a: 1 }, none: null, list: [true, 1.5] }
  const step = client.transaction().guard(lock)
  const done = await step.kv([put('a', value)]).commit()
  assert.equal(done.success, true)
  assert.equal(done.reason, null)
  assert.equal(done.results.length, 1)
  assert.equal(done.orThrow(), done)
  await assert.rejects(step.commit(), { code: 'FENCEHOLD_INVALID', reason: 'bad_request' })
  assert.throws(() => step.kv([put('a', 1)]), InvalidError)

  const read = await client.transaction().guard(lock).kv([get('a')]).commit()
  const [{ value: back, version }] = read.results
  assert.deepEqual(Object.entries(back).sort(), Object.entries(value).sort())
  assert.equal(Object.getPrototypeOf(back), Object.prototype)
  assert.ok(version > 0)
})

test('a step whose row is not as expected answers which one, and does nothing', async (t) => {
  const client = memory(t)
  await client.transaction().kv([put('a', 1)]).commit()
  const refused = await client.transaction()
    .kv([put('b', 1), { ...put('a', 2), op: 'putIfAbsent', required: true }])
    .commit()
  assert.equal(refused.success, false)
  assert.equal(refused.reason, 'kv_precondition')
  assert.equal(refused.precondition.failedIndex, 1)
  assert.throws(() => refused.orThrow(), { code: 'FENCEHOLD_INVALID', reason: 'kv_precondition', store: client.store })
  const { results: [b] } = await client.transaction().kv([get('b')]).commit()
  assert.equal(b.value ?? null, null)
})

test('a guard that somebody else took loses the lock and stops the step', async (t) => {
  const client = memory(t)
  const lock = await client.acquire('n', { ttl: '60s' })
  const reasons = []
  lock.onLost((reason) => reasons.push(reason))
  const { signal } = lock
  assert.equal(await client.forceRelease('n', { owner: lock.owner }), true)
  const refused = await client.transaction().guard(lock).kv([put('late', 1)]).commit()
  assert.equal(refused.success, false)
  assert.throws(() => refused.orThrow(), LostError)
  assert.equal(lock.held, false)
  assert.equal(lock.lostReason, 'guard')
  await until(() => reasons.length > 0 && signal.aborted)
  assert.deepEqual(reasons, ['guard'])
  assert.ok(signal.reason instanceof LostError)
  assert.throws(() => client.transaction().guard(lock), NotHeldError)
})

test('an abort before the step is sent keeps it from being sent', async (t) => {
  const client = memory(t)
  const step = client.transaction().kv([put('a', 1)])
  await assert.rejects(step.commit({ signal: AbortSignal.abort('before') }), (reason) => reason === 'before')
  const { results: [a] } = await client.transaction().kv([get('a')]).commit({ signal: AbortSignal.timeout(60_000) })
  assert.equal(a.value ?? null, null)
  assert.equal((await step.commit()).success, true)
})

test('steps that are dropped unsent keep nothing', async () => {
  const ended = await script(`
    import { createRequire } from 'node:module'
    import { Client } from 'fencehold'
    const native = createRequire(import.meta.url)(${JSON.stringify('./node_modules/fencehold/lib/native.js')})
    const client = new Client('memory:')
    let forgotten = 0
    const { forgetStep } = native
    native.forgetStep = (id) => { forgotten++; forgetStep(id) }
    for (let n = 0; n < 100; n++) client.transaction().kv([{ n }])
    for (let n = 0; n < 400 && forgotten < 90; n++) {
      globalThis.gc()
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
    console.log(forgotten >= 90)`, { args: ['--expose-gc'] }).done
  assert.equal(ended.stdout, 'true\n', ended.stderr)
})
