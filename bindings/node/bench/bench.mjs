// What the package costs beside what Node itself costs, in one run. After `npm run build`:
// node bench/bench.mjs [--json]: with --json one object a line: { bench, row, ns, peer, ratio, target }.
import { mkdtempSync, rmSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const require = createRequire(import.meta.url)
const { Client } = require('../index.js')
const native = require('../lib/native.js')
const json = process.argv.includes('--json')

/** Nanoseconds of one call of each loop: the median of rounds that take turns. */
async function measure (loops, calls, rounds) {
  const times = Object.fromEntries(Object.keys(loops).map((name) => [name, []]))
  for (let round = 0; round < rounds; round++) {
    for (const [name, loop] of Object.entries(loops)) {
      const begun = process.hrtime.bigint()
      if (!await loop(calls)) throw new Error(`${name} said no`)
      times[name].push(Number(process.hrtime.bigint() - begun) / calls)
    }
  }
  return Object.fromEntries(Object.entries(times).map(([name, all]) => [name, all.sort((a, b) => a - b)[all.length >> 1]]))
}

function report (bench, times, peer, targets = {}) {
  for (const [row, time] of Object.entries(times)) {
    const [ns, ratio] = [Number(time.toFixed(1)), Number((time / times[peer]).toFixed(2))]
    const target = targets[row] ?? null
    if (json) console.log(JSON.stringify({ bench: `node ${bench}`, row, ns, peer, ratio, target }))
    else {
      const aim = target === null ? '' : `  target ${target}`
      console.log(`${row.padEnd(34)} ${ns.toFixed(1).padStart(10)} ns  ${ratio.toFixed(2).padStart(7)} x ${peer}${aim}`)
    }
  }
}

const client = new Client('memory:')
const lock = await client.acquire('bench', { ttl: '24h' })
const checkpoint = await client.acquire('checkpoint', { ttl: '24h', background: false })
const { keepAlive } = lock
const idle = native.idle()

// One loop for each, so that none is compiled for the sake of another.
const clock = await measure({
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
report('keepAlive', clock, 'performance.now()',
  { 'lock.keepAlive()': 1.2, 'keepAlive()': 1.2, 'keepAlive(), background: false': 1.2 })
await client.close()

const folder = mkdtempSync(join(tmpdir(), 'fencehold-bench-'))
const stores = { 'memory:': new Client('memory:'), 'file:': new Client(`file:${folder}`) }
const loops = {
  'a resolved promise': async (calls) => { for (let n = 0; n < calls; n++) await undefined; return true },
  "fs.promises.stat('/')": async (calls) => { for (let n = 0; n < calls; n++) await stat('/'); return true }
}
for (const [name, store] of Object.entries(stores)) {
  const one = store.lock('bench', { ttl: '30s' })
  loops[`acquire + release on ${name}`] = async (calls) => {
    let all = true
    for (let n = 0; n < calls; n++) all = await one.acquire() && await one.release() && all
    return all
  }
  loops[`run on ${name}`] = async (calls) => {
    let all = true
    for (let n = 0; n < calls; n++) all = (await one.run(() => true)).acquired && all
    return all
  }
  loops[`ping of ${name}`] = async (calls) => { for (let n = 0; n < calls; n++) await store.ping(); return true }
}
report('pairs', await measure(loops, 2000, 9), "fs.promises.stat('/')")
for (const store of Object.values(stores)) await store.close()
rmSync(folder, { recursive: true })
