// What the package costs beside what one would use instead, in one run. After `npm run build`:
// node bench/bench.mjs [--json]: with --json one object. proper-lockfile is measured if it can be found.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const require = createRequire(import.meta.url)
const { Client } = require('../index.js')
const native = require('../lib/native.js')
const now = () => Number(process.hrtime.bigint())

/** A line of the result; `samples` are nanoseconds of one call, `each` calls stand behind one of them. */
function row (what, samples, each = 1) {
  samples.sort((a, b) => a - b)
  const mean = samples.reduce((sum, one) => sum + one, 0) / samples.length
  return {
    what,
    count: samples.length * each,
    perSecond: 1e9 / mean,
    medianNs: samples[samples.length >> 1],
    p99Ns: samples[Math.floor(samples.length * 0.99)]
  }
}

/** Notes how a row compares with its peer. */
function against (one, peer, target) {
  Object.assign(one, { peer: peer.what, timesPeer: one.medianNs / peer.medianNs, target })
}

/** Calls that cost about as much as asking for the time; rounds take turns, so that a busy moment falls on all. */
function tiny (loops, calls, rounds) {
  const found = Object.fromEntries(Object.keys(loops).map((name) => [name, []]))
  for (let round = 0; round < rounds; round++) {
    for (const [name, loop] of Object.entries(loops)) {
      const begun = now()
      if (!loop(calls)) throw new Error(`${name} said no`)
      found[name].push((now() - begun) / calls)
    }
  }
  return Object.entries(found).map(([name, samples]) => row(name, samples, calls))
}

/** Calls that are timed one by one; what they need a thread for does not count as inline. */
async function timed (what, call, count) {
  const samples = []
  for (let n = 0; n < count / 10; n++) await call()
  for (let n = 0; n < count; n++) {
    const begun = now()
    if (await call() === false) throw new Error(`${what} said no`)
    samples.push(now() - begun)
  }
  return row(what, samples)
}

const client = new Client('memory:')
const lock = await client.acquire('bench', { ttl: '24h' })
const checkpoint = await client.acquire('checkpoint', { ttl: '24h', background: false })
const { keepAlive } = lock
const idle = native.idle()

// One loop for each, so that none is compiled for the sake of another.
const rows = tiny({
  'performance.now()': (calls) => { let sum = 0; for (let n = 0; n < calls; n++) sum += performance.now(); return sum },
  'process.hrtime.bigint()': (calls) => { let sum = 0n; for (let n = 0; n < calls; n++) sum += process.hrtime.bigint(); return sum },
  'empty native call': (calls) => { let all = true; for (let n = 0; n < calls; n++) all = idle() && all; return all },
  'lock.keepAlive()': (calls) => { let all = true; for (let n = 0; n < calls; n++) all = lock.keepAlive() && all; return all },
  'keepAlive()': (calls) => { let all = true; for (let n = 0; n < calls; n++) all = keepAlive() && all; return all },
  'keepAlive(), background: false': (calls) => {
    let all = true
    for (let n = 0; n < calls; n++) all = checkpoint.keepAlive() && all
    return all
  }
}, 300_000, 31)
for (const one of rows.slice(3)) against(one, rows[0], 'at most 1.2 times as long')
await client.close()

const folder = mkdtempSync(join(tmpdir(), 'fencehold-bench-'))
rows.push(await timed("fs.promises.stat('/')", () => stat('/'), 5000))
const pairs = []
for (const url of ['memory:', `file:${folder}/store`]) {
  const name = url.slice(0, url.indexOf(':') + 1)
  const store = new Client(url)
  const one = store.lock('n', { ttl: '30s' })
  pairs.push(await timed(`acquire + release: ${name}`, async () => await one.acquire() && one.release(), 20_000))
  pairs.push(await timed(`run: ${name}`, async () => (await one.run(() => true)).acquired, 20_000))
  rows.push(await timed(`ping: ${name}`, () => store.ping(), 5000))
  await store.close()
}
rows.push(...pairs)
try {
  const lockfile = require('proper-lockfile')
  writeFileSync(join(folder, 'file'), '')
  const pair = async () => { const release = await lockfile.lock(join(folder, 'file')); await release() }
  const peer = await timed('acquire + release: proper-lockfile', pair, 2000)
  rows.push(peer)
  for (const one of pairs) against(one, peer, 'none')
} catch (error) {
  if (error.code !== 'MODULE_NOT_FOUND') throw error
}
rmSync(folder, { recursive: true })

if (process.argv.includes('--json')) {
  console.log(JSON.stringify({ language: 'node', version: native.version(), rows }))
} else {
  for (const one of rows) {
    const beside = 'peer' in one ? `   ${one.timesPeer.toFixed(3)} times ${one.peer}` : ''
    const times = [one.medianNs, one.p99Ns].map((time) => `${time.toFixed(one.medianNs < 1000 ? 1 : 0).padStart(9)} ns`)
    console.log(`${one.what.padEnd(38)} ${times.join(' ')} ${one.perSecond.toFixed(0).padStart(11)} /s${beside}`)
  }
}
