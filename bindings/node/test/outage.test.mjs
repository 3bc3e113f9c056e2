// A store that does not answer: somebody else stands still with its file lock.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { test } from 'node:test'
import { Client, UnreachableError } from 'fencehold'
import { folder, script, until } from './support.mjs'

/** Takes the store at `path` out of reach; the answer puts it back. */
async function outage (t, path) {
  const child = spawn('bash', ['-c', 'exec 9<"$0"; flock 9; echo away; exec sleep 60', join(path, 'lock')],
    { stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = new Promise((resolve) => child.on('close', resolve))
  t.after(() => child.kill('SIGKILL'))
  await new Promise((resolve, reject) => {
    child.stdout.once('data', resolve)
    child.once('error', reject)
    child.once('close', () => reject(new Error('flock ended')))
  })
  return async () => {
    child.kill('SIGKILL')
    await ended
  }
}

test('no call blocks the event loop while the store does not answer', { timeout: 60_000 }, async (t) => {
  const path = folder(t)
  const client = new Client(`file:${path}`, { requestTimeout: '2s' })
  const held = await client.acquire('held', { ttl: '60s' })
  const left = await client.acquire('left', { ttl: '60s' })
  const idle = client.lock('idle', { ttl: '60s' })
  const waiting = client.lock('held', { ttl: '60s' })
  const back = await outage(t, path)
  const times = {}
  const timed = (what, call) => {
    const begun = performance.now()
    const answer = call()
    times[what] = performance.now() - begun
    return answer
  }
  const pending = {
    acquire: timed('acquire', () => idle.acquire()),
    run: timed('run', () => client.lock('run', { ttl: '60s' }).run(() => assert.fail('called'))),
    take: timed('client.acquire', () => client.acquire('taken', { ttl: '60s' })),
    show: timed('show', () => client.show('held')),
    holders: timed('holders', () => client.holders('held')),
    list: timed('list', () => client.list()),
    release: timed('release', () => left.release())
  }
  const wait = timed('a wait', () => waiting.acquire({ wait: '30s' }))
  assert.equal(timed('keepAlive', () => held.keepAlive()), true)
  for (const what of ['held', 'atRisk', 'lost', 'lostReason', 'refusal', 'lastError', 'token', 'fence', 'slot', 'position',
    'remainingMs', 'ttlMs', 'signal']) {
    timed(what, () => held[what])
    timed(`${what} while acquiring`, () => { try { return idle[what] } catch {} })
  }
  timed('onLost', () => held.onLost(() => {}))
  timed('a new handle', () => client.lock('other', { ttl: '60s' }))
  timed('a new client', () => new Client(`file:${path}`))
  for (const [what, time] of Object.entries(times)) assert.ok(time < 500, `${what} took ${time} ms`)
  assert.equal(left.held, false)

  const answers = await Promise.allSettled(Object.values(pending))
  answers.forEach(({ status, reason }, index) => {
    const what = Object.keys(pending)[index]
    assert.equal(status, 'rejected', what)
    assert.ok(['FENCEHOLD_UNREACHABLE', 'FENCEHOLD_IN_DOUBT'].includes(reason.code), `${what}: ${reason.code}`)
  })
  await back()
  // The wait rode it out, and what failed can be done again.
  await held.release()
  assert.equal(await wait, true)
  assert.equal(await idle.acquire({ wait: '10s' }), true)
  await left.release()
  assert.equal((await client.show('left')).held, false)
  await client.close()
})

test('an abort ends a wait for a store that does not answer', { timeout: 60_000 }, async (t) => {
  const path = folder(t)
  const client = new Client(`file:${path}`)
  await client.ping()
  const back = await outage(t, path)
  const begun = performance.now()
  const lock = client.lock('n', { ttl: '60s' })
  await assert.rejects(lock.acquire({ wait: 'forever', signal: AbortSignal.timeout(100) }), { name: 'TimeoutError' })
  assert.ok(performance.now() - begun < 8000)
  await back()
  assert.equal((await client.show('n')).held, false)
  await client.close()
})

test('leases that no renewal reaches are lost, told of once each, and the process lives on', { timeout: 60_000 }, async (t) => {
  const path = folder(t)
  const holder = script(`
    import { Client } from 'fencehold'
    const client = new Client(process.env.STORE)
    const locks = []
    for (const name of ['a', 'b', 'c']) locks.push(await client.acquire(name, { ttl: '2s' }))
    const aborts = [0, 0, 0]
    const calls = [0, 0, 0]
    const risky = [false, false, false]
    locks.forEach((lock, n) => {
      lock.signal.addEventListener('abort', () => { aborts[n]++ })
      lock.onLost((reason) => { if (reason === 'expired') calls[n]++ })
    })
    console.log('held')
    while (locks.some((lock) => lock.keepAlive())) {
      locks.forEach((lock, n) => { risky[n] ||= lock.atRisk })
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
    await new Promise((resolve) => setTimeout(resolve, 200))
    console.log(aborts.join(), calls.join(), risky.join())
    console.log(locks.map((lock) => lock.lost && !lock.held && lock.lastError.kind).join())`,
  { env: { STORE: `file:${path}` } })
  await until(() => holder.stdout === 'held\n' || holder.child.exitCode !== null, 'the holder')
  const back = await outage(t, path)
  // In time for the end of the process, which gives back what it may still have.
  await until(() => holder.stdout.includes('lost'), 'the losses')
  await back()
  const ended = await holder.done
  assert.equal(ended.code, 0, ended.stderr)
  assert.equal(ended.stdout, 'held\n1,1,1 1,1,1 true,true,true\nlost,lost,lost\n')
  assert.equal(ended.stderr, '')
})

test('a store that never answered is an error of its own', { timeout: 60_000 }, async (t) => {
  const path = folder(t)
  const client = new Client(`file:${path}`, { requestTimeout: '300ms' })
  await client.ping()
  const back = await outage(t, path)
  await assert.rejects(client.acquire('n', { ttl: '60s' }), (error) => {
    assert.ok(error instanceof UnreachableError)
    assert.equal(error.store, client.store)
    assert.equal(error.lock, 'n')
    return true
  })
  await back()
  await client.close()
})
