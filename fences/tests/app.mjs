// The handler behind the middleware of Node: one line a request, badly if two come at once.

import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'

import { Fences, fenceRequests } from '../node/fence.mjs'

const log = process.env.FENCES_LOG
const resourceOf = (request) => (request.url.startsWith('/reports/') ? request.url : null)
const check = fenceRequests(new Fences(process.env.FENCES_FOLDER), resourceOf)

createServer((request, response) => check(request, response, async () => {
  if (request.method === 'POST' && request.fence) {
    const text = existsSync(log) ? readFileSync(log, 'utf8') : ''
    await pause(2)
    writeFileSync(log, `${text}${request.fence}\n`)
  }
  response.end('done')
})).listen(Number(process.argv[2]), '127.0.0.1')
