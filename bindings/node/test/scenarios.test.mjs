// Plays every scenario that all languages share. No rule of leases is in here: it calls and compares.
import assert from 'node:assert/strict'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { Client, FenceholdError } from 'fencehold'
import { fresh, scenarios, server } from './support.mjs'

for (const name of Object.keys(process.env)) {
  if (name.startsWith('FENCEHOLD_') && !['FENCEHOLD_SCENARIOS', 'FENCEHOLD_TEST_COMMAND'].includes(name)) delete process.env[name]
}

class BodyFailed extends Error {}

const stepKeys = new Set(['do', 'lock', 'client', 'client_options', 'name', 'ttl', 'permits', 'handle_wait', 'owner', 'resume',
  'label', 'fair', 'reentrant', 'crash', 'wait', 'body', 'body_fails', 'reason', 'by', 'slot', 'token', 'token_of', 'owner_of',
  'prefix', 'limit', 'after', 'url', 'expect', 'expect_error', 'held', 'lost', 'lost_calls', 'refusal', 'last_error',
  'readable', 'fence_above', 'fence_is', 'token_above', 'token_is', 'ttl_ms', 'remaining_ms', 'name_is',
  'position'])
const errorKeys = new Set(['kind', 'reason', 'retry', 'late', 'refusal', 'mentions'])

function known (object, keys) {
  for (const key of Object.keys(object)) assert.ok(keys.has(key), `unknown key ${key}`)
}

const pause = (millis) => new Promise((resolve) => setTimeout(resolve, millis))

/** Milliseconds of a duration that the library has accepted. */
function millis (text) {
  const units = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }
  return [...text.matchAll(/([0-9]+)(ms|s|m|h|d)/g)].reduce((sum, [, count, unit]) => sum + count * units[unit], 0)
}

class Stage {
  clients = new Map()
  handles = new Map()
  seen = new Map()

  constructor (url, manual) {
    this.url = url
    this.manual = manual
    // Lifetimes on a server are whole seconds.
    this.leastTtl = url.startsWith('http:') ? 1000 : 1
  }

  client (step) {
    const id = step.client ?? 'a'
    if (!this.clients.has(id)) this.clients.set(id, new Client(this.url, step.client_options ?? {}))
    return this.clients.get(id)
  }

  options (step) {
    const options = { ttl: step.ttl, background: false }
    for (const key of ['owner', 'resume', 'label', 'fair', 'reentrant', 'crash']) {
      if (key in step) options[key] = step[key]
    }
    if ('handle_wait' in step) options.wait = step.handle_wait
    return options
  }

  keep (id, lock) {
    const lost = []
    lock.onLost((reason) => lost.push(reason))
    this.handles.set(id, { lock, lost })
  }

  handle (id) {
    const handle = this.handles.get(id)
    assert.ok(handle, `no handle ${id}`)
    return handle
  }

  async perform (step) {
    const wait = 'wait' in step ? { wait: step.wait } : undefined
    if ('ttl' in step && step.do !== 'take') {
      const client = this.client(step)
      this.keep(step.lock, 'permits' in step
        ? client.semaphore(step.name, step.permits, this.options(step))
        : client.lock(step.name, this.options(step)))
    }
    const lock = () => this.handle(step.lock).lock
    switch (step.do) {
      case 'new': return lock() && undefined
      case 'check': return undefined
      case 'open':
        this.clients.set(step.client ?? 'a', new Client(step.url ?? undefined, step.client_options ?? {}))
        return undefined
      case 'acquire': return await lock().acquire(wait)
      case 'step_aside': return await lock().stepAside(wait)
      case 'take': {
        const options = this.options(step)
        if ('wait' in step) options.wait = step.wait
        this.keep(step.lock, await this.client(step).acquire(step.name, options))
        return undefined
      }
      case 'keep_alive': return lock().keepAlive()
      case 'release': return await lock().release()
      case 'run': {
        const result = await lock().run(async () => {
          for (const inner of step.body ?? []) await this.step(inner)
          if (step.body_fails) throw new BodyFailed()
          return 'done'
        }, wait)
        assert.equal(result.value, result.acquired ? 'done' : undefined)
        return result.acquired
      }
      case 'lose': return lock().lose(step.reason)
      case 'let_expire': {
        const { ttlMs } = lock()
        if (this.manual) this.client(step).advance(`${ttlMs}ms`)
        else await pause(ttlMs + 100)
        return undefined
      }
      case 'advance': return this.client(step).advance(step.by)
      case 'force_release': {
        const id = { slot: step.slot ?? 0 }
        if ('token' in step) id.token = BigInt(step.token)
        if ('token_of' in step) id.token = this.handle(step.token_of).lock.token
        if ('owner_of' in step) id.owner = this.handle(step.owner_of).lock.owner
        return await this.client(step).forceRelease(step.name, id)
      }
      case 'holders': {
        const holders = await this.client(step).holders(step.name)
        const ids = this.idsOf(holders)
        holders.forEach((holder, index) => {
          const handle = this.handles.get(ids[index])?.lock
          if (handle?.held) assert.equal(holder.token, handle.token)
        })
        return ids
      }
      case 'list': {
        const all = await this.client(step).list(step.prefix, { limit: step.limit, after: step.after })
        return all.map((info) => info.name)
      }
      case 'ping': return await this.client(step).ping()
      case 'close': return await this.client(step).close()
      default: assert.fail(`unknown step ${step.do}`)
    }
  }

  idsOf (holders) {
    return holders.map((holder) => {
      for (const [id, { lock }] of this.handles) if (lock.owner === holder.owner) return id
      return holder.owner
    })
  }

  checkError (error, expected) {
    if (expected === undefined) throw error
    known(expected, errorKeys)
    if (expected.kind === 'body') return assert.ok(error instanceof BodyFailed, error)
    assert.ok(error instanceof FenceholdError, error)
    assert.equal(error.kind, expected.kind, error.message)
    if ('reason' in expected) assert.equal(error.reason, expected.reason, error.message)
    if ('retry' in expected) assert.equal(error.retry, expected.retry)
    if (expected.late) assert.ok(error.lateByMs > 0, `late by ${error.lateByMs}`)
    if ('refusal' in expected) assert.equal(error.refusal.reason, expected.refusal)
    for (const word of expected.mentions ?? []) assert.ok(error.message.includes(word), `${error.message} / ${word}`)
  }

  compare (step, before) {
    const { lock, lost } = this.handle(step.lock)
    const checks = {
      held: () => assert.equal(lock.held, step.held),
      lost: () => { assert.equal(lock.lostReason, step.lost); assert.equal(lock.lost, step.lost !== null) },
      lost_calls: () => assert.deepEqual(lost, step.lost_calls),
      refusal: () => {
        if (step.refusal === null) return assert.equal(lock.refusal, null)
        assert.equal(lock.refusal?.reason, step.refusal.reason)
        if ('holders' in step.refusal) assert.deepEqual(this.idsOf(lock.refusal.holders), step.refusal.holders)
      },
      last_error: () => assert.equal(lock.lastError?.kind ?? null, step.last_error),
      readable: () => {
        for (const what of ['token', 'fence', 'slot']) {
          if (step.readable) assert.ok(lock[what] >= 0)
          else assert.throws(() => lock[what], { code: 'FENCEHOLD_NOT_HELD' })
        }
      },
      fence_above: () => assert.ok(lock.fence > before.get(step.fence_above).fence),
      fence_is: () => assert.equal(lock.fence, before.get(step.fence_is).fence),
      token_above: () => assert.ok(lock.token > before.get(step.token_above).token),
      token_is: () => assert.equal(lock.token, before.get(step.token_is).token),
      ttl_ms: () => assert.equal(lock.ttlMs, Math.ceil(step.ttl_ms / this.leastTtl) * this.leastTtl),
      remaining_ms: () => {
        const [low, high] = step.remaining_ms
        assert.ok(lock.remainingMs >= low && lock.remainingMs <= high, `remaining ${lock.remainingMs}`)
      },
      name_is: () => assert.equal(lock.name, step.name_is),
      position: () => assert.equal(lock.position, step.position)
    }
    for (const [key, check] of Object.entries(checks)) if (key in step) check()
    // For steps that make the handle these two are what it is made with; force_release's slot is an argument.
    if ('slot' in step && step.do !== 'force_release') assert.equal(lock.slot, step.slot)
    if ('owner' in step) assert.equal(lock.owner, step.owner)
  }

  /** Loss handlers run on the event loop, which hears of a loss from a thread: lets it run until it has. */
  async losses (step) {
    await pause(1)
    const end = performance.now() + 5000
    const told = () => this.handles.get(step.lock)?.lost.length ?? 0
    while ('lost_calls' in step && told() < step.lost_calls.length && performance.now() < end) await pause(5)
  }

  async step (step) {
    known(step, stepKeys)
    const before = new Map(this.seen)
    // A renewal that keepAlive starts is not awaited: its effects may take a moment.
    const end = performance.now() + (step.do === 'keep_alive' ? 5000 : 0)
    for (;;) {
      try {
        let answer
        let failed = false
        try {
          answer = await this.perform(step)
        } catch (error) {
          if (error instanceof assert.AssertionError) throw error
          failed = true
          this.checkError(error, step.expect_error)
        }
        if (!failed && step.expect_error) assert.fail(`answered ${answer} instead of ${step.expect_error.kind}`)
        if ('expect' in step) assert.deepEqual(answer, step.expect)
        await this.losses(step)
        if (step.lock !== undefined && this.handles.has(step.lock)) this.compare(step, before)
        break
      } catch (error) {
        if (performance.now() >= end) {
          error.message = `${JSON.stringify(step).slice(0, 300)}: ${error.message}`
          throw error
        }
        await pause(10)
      }
    }
    if (step.lock !== undefined && this.handles.has(step.lock)) {
      const { lock } = this.handle(step.lock)
      try {
        this.seen.set(step.lock, { token: lock.token, fence: lock.fence })
      } catch (error) {
        assert.equal(error.code, 'FENCEHOLD_NOT_HELD')
      }
    }
  }
}

async function storeFor (url, t) {
  if (url === 'http:') return await server(t)
  const [, scheme, query] = /^(memory:|file:)(\?.*)?$/.exec(url) ?? assert.fail(`unknown store ${url}`)
  if (scheme === 'memory:') return `memory:${fresh('scenario')}${query ?? ''}`
  const path = mkdtempSync(join(tmpdir(), 'fencehold-scenario-'))
  t.after(() => rmSync(path, { recursive: true, force: true }))
  return `file:${path}${query ?? ''}`
}

const actions = (steps) => steps.flatMap((step) => [step.do, ...actions(step.body ?? [])])

/** What a scenario that was written for `memory:` alone needs and no server has; false: nothing. */
function whyNotOnAServer (scenario) {
  if ([scenario.store].flat().includes('file:')) return false
  const does = actions(scenario.steps)
  if (does.includes('advance')) return 'on a server: it moves the clock, which memory:?clock=manual alone can do'
  return does.includes('lose') && 'on a server: it rehearses a loss, which memory: alone can do'
}

const files = readdirSync(scenarios).filter((name) => name.endsWith('.json') && name !== 'errors.json')
assert.ok(files.length > 0, 'no scenarios')
const planned = []
const played = []
for (const file of files) {
  const scenario = JSON.parse(readFileSync(join(scenarios, file), 'utf8'))
  known(scenario, new Set(['schema', 'scenario', 'store', 'steps']))
  assert.equal(scenario.schema, 1, file)
  for (const url of [scenario.store, 'http:'].flat()) {
    const skip = url === 'http:' && whyNotOnAServer(scenario)
    if (!skip) planned.push(`${file} on ${url}`)
    test(`${file} on ${url}: ${scenario.scenario}`, { timeout: 60_000, skip }, async (t) => {
      played.push(`${file} on ${url}`)
      const stage = new Stage(await storeFor(url, t), url.includes('clock=manual'))
      try {
        for (const step of scenario.steps) await stage.step(step)
      } finally {
        for (const client of stage.clients.values()) await client.close()
      }
    })
  }
}

test('no scenario was left out', () => assert.deepEqual(played, planned))
