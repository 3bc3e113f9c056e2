// How a process with leases lives and ends; each test has one of its own.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Client } from 'fencehold'
import { folder, fresh, script, until } from './support.mjs'

const open = "import { Client } from 'fencehold'; const client = new Client(process.env.STORE);"

test('a process ends whether it closed, released or still holds, and what it held is free', async (t) => {
  const store = `file:${folder(t)}`
  const bodies = {
    closes: "const lock = await client.acquire('n', { ttl: '60s' }); await client.close();",
    releases: "const lock = await client.acquire('n', { ttl: '60s' }); await lock.release();",
    holds: "globalThis.lock = await client.acquire('n', { ttl: '60s' }); globalThis.signal = lock.signal; lock.onLost(() => {});",
    'exits while it waits': "globalThis.lock = await client.acquire('n', { ttl: '60s' }); console.log('end');" +
      "client.lock('n', { ttl: '60s' }).acquire({ wait: 'forever' }); client.ping(); setTimeout(() => process.exit(0), 50);",
    exits: "globalThis.lock = await client.acquire('n', { ttl: '60s' }); console.log('end'); process.exit(0);"
  }
  for (const [what, body] of Object.entries(bodies)) {
    const ended = await script(`${open} ${body} console.log('end')`, { env: { STORE: store } }).done
    assert.equal(ended.code, 0, `${what}: ${ended.stderr}`)
    assert.ok(ended.afterEndMs < 1500, `${what} took ${ended.afterEndMs} ms`)
    assert.equal(ended.stderr, '', what)
    const client = new Client(store)
    const lock = client.lock('n', { ttl: '1s' })
    assert.equal(await lock.acquire({ wait: '5s' }), true, what)
    await client.close()
  }
})

test('a pending acquire keeps the process alive until it settles', async () => {
  const ended = await script(`${open}
    const lock = await client.acquire('n', { ttl: '60s' })
    client.lock('n', { ttl: '60s' }).acquire({ wait: '400ms' }).then((held) => console.log('answer', held))
    globalThis.lock = lock`, { env: { STORE: `memory:${fresh()}` } }).done
  assert.equal(ended.code, 0, ended.stderr)
  assert.equal(ended.stdout, 'answer false\n')
})

test('a loss reaches a process that listens to nothing as a lost handle and one abort', async () => {
  const ended = await script(`${open}
    const locks = []
    for (const name of ['a', 'b', 'c']) locks.push(await client.acquire(name, { ttl: '5s' }))
    let aborts = 0
    for (const lock of locks) lock.signal.addEventListener('abort', () => { aborts++ })
    for (const lock of locks) lock.lose('expired')
    while (aborts < 3) await new Promise((resolve) => setTimeout(resolve, 5))
    await new Promise((resolve) => setTimeout(resolve, 50))
    console.log(aborts, locks.map((lock) => lock.lost && !lock.held && !lock.keepAlive()).join())`,
  { env: { STORE: `memory:${fresh()}` } }).done
  assert.equal(ended.code, 0, ended.stderr)
  assert.equal(ended.stdout, '3 true,true,true\n')
  assert.equal(ended.stderr, '')
})

test('renewal goes on while the event loop stands still', async (t) => {
  const store = `file:${folder(t)}`
  const holder = script(`${open}
    globalThis.lock = await client.acquire('n', { ttl: '1s' })
    console.log('held')
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 3000)
    console.log(lock.held, lock.keepAlive())
    await lock.release()`, { env: { STORE: store } })
  await until(() => holder.stdout !== '' || holder.child.exitCode !== null, 'the holder')
  const client = new Client(store)
  t.after(() => client.close())
  const lock = client.lock('n', { ttl: '1s' })
  assert.equal(await lock.acquire({ wait: '2s' }), false)
  const ended = await holder.done
  assert.equal(ended.stdout, 'held\ntrue true\n', ended.stderr)
})

test('a loss while the event loop stands still is seen by the first call after it, and told once', async (t) => {
  const store = `file:${folder(t)}`
  const holder = script(`${open}
    const lock = await client.acquire('n', { ttl: '600ms' })
    const told = []
    lock.onLost((reason) => told.push(reason))
    lock.signal.addEventListener('abort', () => told.push('abort'))
    console.log('held')
    await new Promise((resolve) => setTimeout(resolve, 50))
    const still = new Int32Array(new SharedArrayBuffer(4))
    while (lock.remainingMs > 0) Atomics.wait(still, 0, 0, 50)
    console.log(lock.held, lock.keepAlive(), lock.lostReason, told.length)
    await new Promise((resolve) => setTimeout(resolve, 100))
    console.log(told.sort().join())`, { env: { STORE: store } })
  await until(() => holder.stdout !== '' || holder.child.exitCode !== null, 'the holder')
  const client = new Client(store)
  t.after(() => client.close())
  const [{ owner }] = await client.holders('n')
  assert.equal(await client.forceRelease('n', { owner }), true)
  const ended = await holder.done
  assert.equal(ended.stdout, 'held\nfalse false renew 0\nabort,renew\n', ended.stderr)
  assert.equal(ended.stderr, '')
})

test('without background renewal a loop that stands still loses the lock, and knows it at once', async (t) => {
  const store = `file:${folder(t)}`
  const holder = script(`${open}
    globalThis.lock = await client.acquire('n', { ttl: '500ms', background: false })
    console.log('held')
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1500)
    console.log(lock.held, lock.keepAlive(), lock.lostReason)`, { env: { STORE: store } })
  await until(() => holder.stdout !== '' || holder.child.exitCode !== null, 'the holder')
  const client = new Client(store)
  t.after(() => client.close())
  const lock = client.lock('n', { ttl: '10s' })
  assert.equal(await lock.acquire({ wait: '10s' }), true)
  const ended = await holder.done
  assert.equal(ended.stdout, 'held\nfalse false expired\n', ended.stderr)
})

test('a process that was stopped for longer than its lease says lost', async (t) => {
  const store = `file:${folder(t)}`
  const holder = script(`${open}
    let aborts = 0
    globalThis.lock = await client.acquire('n', { ttl: '500ms' })
    lock.signal.addEventListener('abort', () => { aborts++ })
    console.log('held')
    while (lock.keepAlive()) await new Promise((resolve) => setTimeout(resolve, 5))
    await new Promise((resolve) => setTimeout(resolve, 100))
    console.log(lock.held, lock.lost, aborts)`, { env: { STORE: store } })
  await until(() => holder.stdout !== '' || holder.child.exitCode !== null, 'the holder')
  holder.child.kill('SIGSTOP')
  const client = new Client(store)
  t.after(() => client.close())
  const lock = client.lock('n', { ttl: '5s' })
  assert.equal(await lock.acquire({ wait: '10s' }), true)
  holder.child.kill('SIGCONT')
  const ended = await holder.done
  assert.equal(ended.stdout, 'held\nfalse true 1\n', ended.stderr)
  assert.equal(ended.stderr, '')
  assert.equal(lock.held, true)
})

test('signals are handled during a wait, and change neither its length nor its end', async (t) => {
  const store = `file:${folder(t)}`
  const holder = new Client(store)
  const lock = await holder.acquire('n', { ttl: '60s' })
  const waiter = script(`${open}
    let handled = 0
    for (const name of ['SIGCHLD', 'SIGWINCH', 'SIGUSR2']) process.on(name, () => { handled++ })
    console.log('waits')
    const begun = performance.now()
    const first = await client.lock('n', { ttl: '60s' }).acquire({ wait: '1500ms' })
    const took = performance.now() - begun
    const during = handled
    console.log('again')
    const second = await client.lock('n', { ttl: '60s' }).acquire({ wait: '20s' })
    console.log(first, took >= 1450 && took < 6000, during > 20, second)`, { env: { STORE: store } })
  const signalled = setInterval(() => {
    for (const name of ['SIGCHLD', 'SIGWINCH', 'SIGUSR2']) if (waiter.stdout !== '') waiter.child.kill(name)
  }, 15)
  await until(() => waiter.stdout.includes('again') || waiter.child.exitCode !== null, 'the second wait')
  await lock.release()
  const ended = await waiter.done
  clearInterval(signalled)
  assert.equal(ended.stdout, 'waits\nagain\nfalse true true true\n', ended.stderr)
  await holder.close()
})

test('a handle that is dropped while it holds is given back, with a warning', async () => {
  const ended = await script(`${open}
    const other = client.lock('n', { ttl: '60s' })
    let warning
    process.on('warning', (one) => { warning = one })
    await (async () => { await client.acquire('n', { ttl: '60s' }) })()
    for (let n = 0; n < 400 && !warning; n++) {
      globalThis.gc()
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
    console.log(warning?.code, await other.acquire({ wait: '5s' }))`,
  { env: { STORE: `memory:${fresh()}` }, args: ['--expose-gc', '--no-warnings'] }).done
  assert.equal(ended.code, 0, ended.stderr)
  assert.equal(ended.stdout, 'FENCEHOLD_DROPPED true\n')
})

test('whoever keeps the signal or keepAlive keeps the handle', async () => {
  const ended = await script(`${open}
    const [signal, keepAlive] = await (async () => {
      const [a, b] = [await client.acquire('a', { ttl: '60s' }), await client.acquire('b', { ttl: '60s' })]
      return [a.signal, b.keepAlive]
    })()
    for (let n = 0; n < 50; n++) {
      globalThis.gc()
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
    console.log(signal.aborted, keepAlive(), (await client.list()).filter((info) => info.held).length)`,
  { env: { STORE: `memory:${fresh()}` }, args: ['--expose-gc'] }).done
  assert.equal(ended.code, 0, ended.stderr)
  assert.equal(ended.stdout, 'false true 2\n')
})

test('worker threads exclude each other, and one that is ended gives back what it held', async (t) => {
  const ended = await script(`${open}
    import { Worker } from 'node:worker_threads'
    import { once } from 'node:events'
    const start = (body) => new Worker("const { Client } = require('fencehold'); const { parentPort } = require('node:worker_threads');" +
      "const client = new Client(process.env.STORE); (async () => {" + body + "})()", { eval: true, execArgv: [] })
    const counting = "let n = 0; const lock = client.lock('n', { ttl: '10s', wait: 'forever' });" +
      "for (let i = 0; i < 50; i++) await lock.run(async () => { n++ }); parentPort.postMessage(n); await client.close()"
    const counts = await Promise.all([1, 2, 3].map(() => once(start(counting), 'message')))
    console.log(counts.flat().join())
    const holder = start("globalThis.lock = await client.acquire('n', { ttl: '60s' });" +
      "parentPort.postMessage('held'); setInterval(() => {}, 1000)")
    await once(holder, 'message')
    const waiting = start("client.acquire('n', { ttl: '60s', wait: 'forever' }); parentPort.postMessage('waits')")
    await once(waiting, 'message')
    await new Promise((resolve) => setTimeout(resolve, 50))
    await waiting.terminate()
    await holder.terminate()
    console.log(await client.lock('n', { ttl: '1s' }).acquire({ wait: '5s' }))`,
  { env: { STORE: `file:${folder(t)}` } }).done
  assert.equal(ended.code, 0, ended.stderr)
  assert.equal(ended.stdout, '50,50,50\ntrue\n')
})
