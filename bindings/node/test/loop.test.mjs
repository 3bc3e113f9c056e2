// What waits must not do to the rest of the process, and how they end.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { Client } from 'fencehold'
import { folder, fresh, memory, script, until } from './support.mjs'

/** The median time that reading a small file takes. */
async function reading () {
  const times = []
  for (let n = 0; n < 40; n++) {
    const begun = performance.now()
    await readFile(new URL(import.meta.url))
    times.push(performance.now() - begun)
  }
  return times.sort((a, b) => a - b)[20]
}

/** The 90th percentile of the event loop's delay while `work` runs. */
async function delay (work) {
  const histogram = monitorEventLoopDelay({ resolution: 2 })
  histogram.enable()
  await work()
  histogram.disable()
  return histogram.percentile(90) / 1e6
}

test('a hundred waiters starve neither fs nor the event loop', async (t) => {
  for (const url of [`memory:${fresh()}`, `file:${folder(t)}`]) {
    const client = new Client(url)
    const idle = await reading()
    const idleDelay = await delay(() => pause(300))
    const lock = await client.acquire('n', { ttl: '30s' })
    const waits = Array.from({ length: 100 }, () => client.lock('n', { ttl: '30s' }).acquire({ wait: '3s' }))
    await pause(20)
    const busy = await reading()
    const busyDelay = await delay(() => pause(300))
    // Waits on Node's pool would let a read take until one of them ends: some 3000 ms.
    assert.ok(busy < idle * 20 + 20, `reading took ${idle} ms without waits and ${busy} ms with them`)
    assert.ok(busyDelay < idleDelay * 10 + 10, `the loop was late by ${idleDelay} ms without waits, ${busyDelay} ms with them`)
    await lock.release()
    const answers = await Promise.all(waits)
    assert.equal(answers.filter(Boolean).length, 1)
    await client.close()
  }
})

test('waits that are over leave no threads behind', async (t) => {
  const ended = await script(`
    import { readdirSync } from 'node:fs'
    import { Client } from 'fencehold'
    const threads = () => readdirSync('/proc/self/task').length
    const client = new Client(process.env.STORE)
    const lock = await client.acquire('n', { ttl: '60s' })
    const before = threads()
    const waits = Array.from({ length: 50 }, () => client.lock('n', { ttl: '60s' }).acquire({ wait: '300ms' }))
    const during = threads()
    await Promise.all(waits)
    for (let n = 0; n < 1000 && threads() > before + 4; n++) await new Promise((resolve) => setTimeout(resolve, 5))
    console.log(during >= before + 40, threads() <= before + 4)
    await client.close()`, { env: { STORE: `file:${folder(t)}` } }).done
  assert.equal(ended.stdout, 'true true\n', ended.stderr)
})

test('an uncontended acquire and release need no turn of the event loop', async (t) => {
  const client = memory(t)
  const lock = client.lock('n', { ttl: '10s' })
  let turned = false
  setImmediate(() => { turned = true })
  assert.equal(await lock.acquire(), true)
  assert.equal(await lock.release(), true)
  assert.equal((await client.lock('n', { ttl: '10s' }).run(() => 1)).value, 1)
  assert.equal(turned, false)
})

test('the first call of a store, which has to make its folder, does not block the event loop', async (t) => {
  const client = new Client(`file:${folder(t)}/made`)
  let turned = false
  setImmediate(() => { turned = true })
  const lock = client.lock('n', { ttl: '10s' })
  assert.equal(await lock.acquire(), true)
  assert.equal(turned, true)
  // From then on there is nothing to wait for.
  turned = false
  setImmediate(() => { turned = true })
  assert.equal(await lock.release(), true)
  assert.equal(await lock.acquire(), true)
  assert.equal(turned, false)
  await client.close()
})

test('a handle that waits can be asked and can acquire again without blocking', async (t) => {
  const client = memory(t)
  const holder = await client.acquire('n', { ttl: '10s' })
  const lock = client.lock('n', { ttl: '10s' })
  const first = lock.acquire({ wait: '10s' })
  await pause(20)
  const begun = performance.now()
  assert.equal(lock.held, false)
  assert.equal(lock.keepAlive(), false)
  assert.equal(lock.signal.aborted, true)
  assert.equal(lock.lost, false)
  const second = lock.acquire({ wait: '300ms' })
  const third = lock.release()
  assert.ok(performance.now() - begun < 150, 'blocked the event loop')
  await Promise.allSettled([second, third])
  await holder.release()
  await first
})

test('an abort rejects with its reason, and leaves nothing held and no place in line', async (t) => {
  for (const [url, fair] of [[`memory:${fresh()}`, false], [`memory:${fresh()}`, true], [`file:${folder(t)}`, true]]) {
    const client = new Client(url)
    const holder = await client.acquire('n', { ttl: '30s', fair })
    const controller = new AbortController()
    const aborted = client.lock('n', { ttl: '30s', fair })
    const wait = aborted.acquire({ wait: 'forever', signal: controller.signal })
    if (fair) await until(async () => (await client.show('n')).waiters.length === 1, 'the place in line')
    else await pause(30)
    const behind = client.lock('n', { ttl: '30s', fair }).acquire({ wait: '20s' })
    const reason = new Error('enough')
    controller.abort(reason)
    await assert.rejects(wait, (error) => error === reason)
    assert.equal(aborted.held, false)
    await until(async () => (await client.show('n')).waiters.every((waiter) => waiter.owner !== aborted.owner), 'leaving the line')
    await holder.release()
    assert.equal(await behind, true)
    await client.close()
  }
})

test('aborts at random moments leave nothing held', async (t) => {
  const clients = [memory(t), new Client(`file:${folder(t)}`)]
  for (let n = 0; n < 300; n++) {
    const client = clients[n % 2]
    const holder = client.lock('n', { ttl: '30s' })
    assert.equal(await holder.acquire(), true, `round ${n}`)
    const controller = new AbortController()
    const fair = n % 4 < 2
    const wait = client.acquire('n', { ttl: '30s', wait: 'forever', fair, signal: controller.signal })
    setTimeout(() => controller.abort(), Math.random() * 3)
    setTimeout(() => holder.release(), Math.random() * 3)
    await wait.then((lock) => lock.release(), (error) => assert.equal(error.name, 'AbortError'))
    await until(() => !holder.held)
  }
  for (const client of clients) {
    assert.deepEqual(await client.holders('n'), [])
    assert.deepEqual((await client.show('n')).waiters, [])
  }
  await clients[1].close()
})

test('a signal that is aborted already keeps the lock from being asked for', async (t) => {
  const client = memory(t)
  const signal = AbortSignal.abort('before')
  const lock = client.lock('n', { ttl: '1s' })
  await assert.rejects(lock.acquire({ signal }), (reason) => reason === 'before')
  await assert.rejects(lock.run(() => assert.fail('called'), { signal }), (reason) => reason === 'before')
  await assert.rejects(client.acquire('n', { ttl: '1s', signal }), (reason) => reason === 'before')
  assert.equal(await lock.acquire({ signal: AbortSignal.timeout(60_000) }), true)
  await assert.rejects(lock.acquire({ signal: {} }), TypeError)
})
