// The rules that no formatter is needed for: every file parses, lines are short, and nothing trails.
import { execFileSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, extname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const here = dirname(fileURLToPath(import.meta.url))
const faults = []
for (const folder of ['.', 'lib', 'test', 'test/types', 'bench']) {
  for (const name of readdirSync(join(here, folder))) {
    if (!['.js', '.mjs', '.ts', '.mts', '.cts'].includes(extname(name))) continue
    const file = join(here, folder, name)
    if (['.js', '.mjs'].includes(extname(name))) execFileSync(process.execPath, ['--check', file], { stdio: 'inherit' })
    const text = readFileSync(file, 'utf8')
    text.split('\n').forEach((line, index) => {
      const where = `${folder}/${name}:${index + 1}`
      if (/\s$/.test(line)) faults.push(`${where}: white space at the end`)
      if (/\t/.test(line)) faults.push(`${where}: a tab`)
      // Declarations that are one line in the contract stay one line.
      if (line.length > 140 && extname(name) !== '.ts') faults.push(`${where}: ${line.length} characters`)
    })
    if (!text.endsWith('\n') || text.endsWith('\n\n')) faults.push(`${folder}/${name}: must end with one newline`)
  }
}
for (const fault of faults) console.error(fault)
process.exitCode = faults.length === 0 ? 0 : 1
