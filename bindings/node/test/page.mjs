// Makes tests of the code blocks of the documentation page, so that what it shows is what works.
import { readFileSync } from 'node:fs'

const page = readFileSync(process.argv[2], 'utf8')
const blocks = [...page.matchAll(/```js\n([\s\S]*?)```/g)].map(([, code]) => code)
if (blocks.length === 0) throw new Error('the page shows no code')
console.log("import assert from 'node:assert/strict'")
console.log("import { test } from 'node:test'")
console.log("import { script } from './support.mjs'")
blocks.forEach((code, index) => {
  // What a reader has around the block: rows to write, somewhere to write them, and a store.
  const around = `
    const written = []
    const rows = [{ n: 1 }, { n: 2 }]
    const write = async (row, { fence }) => { written.push([row, fence]) }
    const report = async () => 'report'
    const step = async () => false
    const shutdown = new AbortController()
  `
  const [imports, rest] = [/^import .*$/gm, code.replace(/^import .*$/gm, '')]
  const source = [...(code.match(imports) ?? []), around, rest].join('\n')
    .replaceAll('file:/var/lib/fencehold', 'memory:')
    // Node 20 has Symbol.asyncDispose, but not yet the words for it.
    .replace(/await using (\w+) = (await .*)$/gm, 'const $1 = $2; setImmediate(() => $1[Symbol.asyncDispose]())')
  console.log(`test('the page, block ${index + 1}', async () => {
  const ended = await script(${JSON.stringify(source)}).done
  assert.equal(ended.code, 0, ended.stderr)
})`)
})
