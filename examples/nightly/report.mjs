// The nightly report in Node. usage: report.mjs DATABASE [SECONDS] [LIFETIME_MS]
import { execFile } from 'node:child_process'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { Client } from 'fencehold'

const WHO = 'node'
const PAGES = 6
const [database, seconds = '0', lifetimeMs = '30000'] = process.argv.slice(2)
const run = promisify(execFile)

// Node 20 has no SQLite of its own, so this goes through the command sqlite3; values are numbers and constants of ours.
async function sql(statement) {
  const { stdout } = await run('sqlite3', ['-bail', '-cmd', '.timeout 10000', database, statement])
  return stdout.trim()
}
const tell = (fence, event) => sql(`INSERT INTO account (who, fence, event) VALUES ('${WHO}', ${fence}, '${event}')`)

async function writeReport(lock) {
  const fence = lock.fence
  await tell(fence, 'acquired')
  for (let page = 0; page < PAGES; page++) {
    if (!lock.keepAlive()) return tell(fence, 'lost')
    await pause(20) // the work; a real one passes lock.signal to what it awaits, so that it ends early
    const changed = await sql(
      `UPDATE report SET body = '${WHO} page ${page}', fence = ${fence} ` +
        `WHERE id = 'nightly' AND fence <= ${fence}; SELECT changes()`,
    )
    if (changed !== '1') return tell(fence, 'refused')
  }
  return tell(fence, 'releasing')
}

const client = new Client()
const lock = client.lock('reports/nightly', { ttl: `${lifetimeMs}ms`, wait: '1s', fair: true, label: WHO })
const end = performance.now() + Number(seconds) * 1000
do {
  if (await lock.acquire()) {
    await writeReport(lock)
    await lock.release()
  }
} while (performance.now() < end)
await client.close()
