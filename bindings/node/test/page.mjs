// Makes tests of the code blocks of pages, so that what they show is what works.
// usage: page.mjs FOLDER PAGE…: writes FOLDER/page.test.mjs, which runs what tsc makes of FOLDER/pages/page-N.mts.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'

const [folder, ...pages] = process.argv.slice(2)
mkdirSync(join(folder, 'pages'))

// What a reader has around a block: rows to write, somewhere to write them, a store, a handle.
const around = [
  ['rows', 'const rows: object[] = [{ n: 1 }, { n: 2 }]'],
  ['write', `const write = async (_rows: object, how: { fence: bigint, signal?: AbortSignal }): Promise<void> => {
    if (how.fence <= 0n || how.signal?.aborted) throw new Error('written without a lock')
  }`],
  ['report', "const report = async (): Promise<string> => 'report'"],
  ['step', 'const step = async (_signal: AbortSignal): Promise<boolean> => false'],
  ['shutdown', 'const shutdown = new AbortController()'],
  ['signal', 'const { signal } = new AbortController()'],
  ['client', "const client = new Client('file:/var/lib/fencehold')"],
  ['lock', "const lock = await client.acquire('around', { ttl: '30s' })"]
]

const uses = (name, code) => new RegExp(`(?<![.\\w])${name}(?!\\w|:)`).test(code)
const declares = (name, code) => new RegExp(`(const|using|let|function) (\\{ )?${name}\\b|\\(${name}\\) =>`).test(code)

function program (code) {
  const imports = code.match(/^import .*$/gm) ?? []
  let rest = code.replace(/^import .*$/gm, '')
  for (const [name, line] of around.toReversed()) {
    if (uses(name, rest) && !declares(name, rest)) rest = `${line}\n${rest}`
  }
  if (!imports.some((line) => /\bClient\b/.test(line)) && uses('Client', rest)) imports.push("import { Client } from 'fencehold'")
  return [...imports, rest, 'export {}', ''].join('\n').replaceAll("'file:/var/lib/fencehold'", "process.env['STORE']!")
}

const tests = []
for (const page of pages) {
  // A block in a comment of a declaration has a star before each line.
  const text = readFileSync(page, 'utf8').replace(/^ \* ?/gm, '')
  const blocks = [...text.matchAll(/^```(?:js|ts)\n([\s\S]*?)^```/gm)]
  if (blocks.length === 0) throw new Error(`${page} shows no code`)
  blocks.forEach(([, code], index) => {
    const source = program(code)
    const name = `page-${tests.length + 1}`
    writeFileSync(join(folder, 'pages', `${name}.mts`), source)
    tests.push(`test('${basename(page)}, block ${index + 1}', async (t) => {
  const source = readFileSync(new URL('pages/${name}.mjs', import.meta.url), 'utf8')
  const ended = await script(source, { env: { STORE: \`file:\${folder(t)}\` } }).done
  assert.equal(ended.code, 0, ended.stderr)
  assert.equal(ended.stderr.replace(/^lost: \\w+ .*\\n/gm, ''), '')
})
`)
  })
}
writeFileSync(join(folder, 'page.test.mjs'), `import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { folder, script } from './support.mjs'

${tests.join('\n')}`)
