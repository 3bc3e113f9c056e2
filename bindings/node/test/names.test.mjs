// What the declarations promise is there, and nothing else.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import * as fencehold from 'fencehold'
import { memory, packageFile } from './support.mjs'

const declarations = readFileSync(packageFile('index.d.ts'), 'utf8')

/** The names of the members that the body of a class or interface declares. */
function declared (kind, name) {
  const [, body] = new RegExp(`^export ${kind} ${name}\\b[^{]*{\\n([\\s\\S]*?)^}`, 'm').exec(declarations)
  const member = /^ {2}(?:readonly )?(?:\[(Symbol\.asyncDispose)\]|(\w+))(?=[<(:?])/gm
  return [...body.matchAll(member)].map(([, symbol, word]) => symbol ?? word).sort()
}

/** The names of the members that an object of a class has. */
function present (object) {
  const names = [Object.getPrototypeOf(object), object].flatMap((owner) => Reflect.ownKeys(owner))
  const words = names.map((name) => (name === Symbol.asyncDispose ? 'Symbol.asyncDispose' : name))
  // Other symbols are ours alone.
  return [...new Set(words)].filter((name) => typeof name === 'string').sort()
}

test('every exported class is declared, and the other way round', () => {
  const names = [...declarations.matchAll(/^export class (\w+)/gm)].map(([, name]) => name).sort()
  assert.deepEqual(names, Object.keys(fencehold).filter((name) => name !== 'default').sort())
})

test('the members of clients, locks and steps are the declared ones', async (t) => {
  const client = memory(t)
  const lock = await client.acquire('n', { ttl: '10s' })
  assert.deepEqual(present(client), declared('class', 'Client'))
  // Nobody but us may call it.
  assert.deepEqual(present(lock).filter((name) => name !== 'constructor'), declared('class', 'Lock'))
  const step = client.transaction()
  assert.deepEqual(present(step).filter((name) => name !== 'constructor'), declared('interface', 'Transaction'))
  assert.deepEqual(present(client.kv('n')).filter((name) => name !== 'constructor'), declared('interface', 'Kv'))
  const done = await step.kv([{ op: 'get', ns: 'n', key: 'k' }]).commit()
  assert.deepEqual(present(done).filter((name) => name !== 'constructor'), declared('interface', 'CommitResult'))
})

test('the version of the add-on is the package\'s', async () => {
  const { createRequire } = await import('node:module')
  const require = createRequire(import.meta.url)
  assert.equal(require(packageFile('lib/native.js')).version(), require('fencehold/package.json').version)
})
