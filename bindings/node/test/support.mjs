// What the tests share. They run from a folder where the packed package is installed.
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { Client } from 'fencehold'

const installed = dirname(createRequire(import.meta.url).resolve('fencehold/package.json'))

/** A file of the installed package. */
export const packageFile = (name) => join(installed, name)
/** The folder of the scenarios that every language plays. */
export const scenarios = process.env.FENCEHOLD_SCENARIOS
const command = process.env.FENCEHOLD_TEST_COMMAND
if (!command) throw new Error('FENCEHOLD_TEST_COMMAND must name the built command')
if (!scenarios) throw new Error('FENCEHOLD_SCENARIOS must name the folder of the scenarios')

let last = 0
/** A name that no other test uses. */
export const fresh = (what = 'lock') => `${what}-${process.pid}-${++last}`

/** A client on a new memory store, closed when the test ends. */
export function memory (t, suffix = '') {
  const client = new Client(`memory:${fresh('store')}${suffix}`)
  t.after(() => client.close())
  return client
}

/** A folder that is removed when the test ends. */
export function folder (t) {
  const path = mkdtempSync(join(tmpdir(), 'fencehold-node-'))
  t.after(() => rmSync(path, { recursive: true, force: true }))
  return path
}

/** A server of ours on a free port; its URL. Ended by its process id when the test ends. */
export async function server (t) {
  const path = folder(t)
  const child = spawn(command, ['serve', '--data', join(path, 'data'), '--listen', '127.0.0.1:0'],
    { stdio: ['ignore', 'ignore', 'pipe'] })
  const ended = new Promise((resolve) => child.once('close', resolve).once('error', resolve))
  t.after(async () => {
    child.kill()
    await ended
  })
  return await new Promise((resolve, reject) => {
    let said = ''
    child.stderr.setEncoding('utf8').on('data', (text) => {
      said += text
      const url = /http:\/\/\S+(?= )/.exec(said)
      if (url) resolve(url[0])
    })
    ended.then(() => reject(new Error(`no server: ${said}`)))
  })
}

/** Waits for `condition`, for 10 seconds at most. */
export async function until (condition, what = 'the condition') {
  const end = performance.now() + 10_000
  while (!await condition()) {
    if (performance.now() > end) throw new Error(`${what} did not come true in 10 s`)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}

/** Runs `source` as a module in a process of its own; what it printed, how it ended and how long it took after 'end'. */
export function script (source, { env = {}, args = [] } = {}) {
  const child = spawn(process.execPath, [...args, '--input-type=module', '--eval', source],
    { cwd: process.cwd(), env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] })
  const result = { stdout: '', stderr: '', child }
  let ended
  child.stdout.setEncoding('utf8').on('data', (text) => {
    result.stdout += text
    if (result.stdout.includes('end\n')) ended ??= performance.now()
  })
  child.stderr.setEncoding('utf8').on('data', (text) => { result.stderr += text })
  const killer = setTimeout(() => child.kill('SIGKILL'), 30_000)
  result.done = new Promise((resolve) => child.on('close', (code, signal) => {
    clearTimeout(killer)
    resolve({ ...result, code, signal, afterEndMs: ended === undefined ? NaN : performance.now() - ended })
  }))
  return result
}
