// keepAlive() beside performance.now() and an empty native call, in one run: the target is a ratio of 1.2.
// node bench/keep_alive.mjs, after `npm run build`.
import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)
const { Client } = require('../index.js')
const native = require('../lib/native.js')

const calls = 2_000_000
const client = new Client('memory:')
const lock = client.lock('bench', { ttl: '24h' })
if (!await lock.acquire()) throw new Error('not acquired')
const { keepAlive } = lock
const idle = native.idle()

// One loop for each, so that none is compiled for the sake of another.
const loops = {
  'performance.now()': () => { let sum = 0; for (let n = 0; n < calls; n++) sum += performance.now(); return sum },
  'empty native call': () => { let all = true; for (let n = 0; n < calls; n++) all = idle() && all; return all },
  'keepAlive()': () => { let all = true; for (let n = 0; n < calls; n++) all = keepAlive() && all; return all },
  'lock.keepAlive()': () => { let all = true; for (let n = 0; n < calls; n++) all = lock.keepAlive() && all; return all }
}
const best = Object.fromEntries(Object.keys(loops).map((name) => [name, Infinity]))
for (let round = 0; round < 9; round++) {
  for (const [name, loop] of Object.entries(loops)) {
    const begun = process.hrtime.bigint()
    if (!loop()) throw new Error(`${name} said no`)
    best[name] = Math.min(best[name], Number(process.hrtime.bigint() - begun) / calls)
  }
}
const clock = best['performance.now()']
for (const [name, time] of Object.entries(best)) {
  console.log(`${name.padEnd(20)} ${time.toFixed(1).padStart(7)} ns  ${(time / clock).toFixed(2)} x performance.now()`)
}
await lock.release()
await client.close()
