// Middleware for node:http, Connect and Express: a request that writes carries `Fence: NUMBER`, and a stale one is refused.
//
// Copy it. It is for a resource that one process serves, since Node has no lock on files: where several processes write
// the same resource, let the handler put `request.fence` into the SQL fence of its own transaction.

import { createHash } from 'node:crypto'
import { open, readFile, rename } from 'node:fs/promises'
import { join } from 'node:path'

const SAFE = new Set(['GET', 'HEAD', 'OPTIONS'])

/** Somebody with a higher fence was here; `highest` is theirs. */
export class Stale extends Error {
  constructor(fence, highest) {
    super(`fence ${fence} is stale: ${highest} was accepted`)
    Object.assign(this, { fence, highest })
  }
}

/** The fences of the resources of this process, kept in a folder. */
export class Fences {
  #folder
  #last = new Map() // the end of the last turn of each resource

  constructor(folder) {
    this.#folder = folder
  }

  /**
   * Runs `body` if no higher fence was accepted, one body of a resource at a time.
   *
   * The number is on the disk before the body runs, so that a crash in between refuses too much and never too little.
   */
  async fenced(resource, fence, body) {
    const turn = (this.#last.get(resource) ?? Promise.resolve()).then(() => this.#enter(resource, fence, body))
    const end = turn.then(() => {}, () => {})
    this.#last.set(resource, end)
    try {
      return await turn
    } finally {
      if (this.#last.get(resource) === end) this.#last.delete(resource)
    }
  }

  async #enter(resource, fence, body) {
    const path = join(this.#folder, createHash('sha256').update(resource).digest('hex'))
    const highest = await readFile(path, 'ascii').then((text) => BigInt(text.trim()), (error) => {
      if (error.code === 'ENOENT') return 0n
      throw error
    })
    if (fence < highest) throw new Stale(fence, highest)
    if (fence > highest) {
      const file = await open(`${path}.new`, 'w')
      try {
        await file.writeFile(`${fence}\n`)
        await file.sync()
      } finally {
        await file.close()
      }
      await rename(`${path}.new`, path)
    }
    return body()
  }
}

/**
 * The middleware: `(request, response, next)`. The next turn of a resource begins when the answer was sent.
 * `resourceOf` tells from a request what it writes, or null for what is not fenced.
 */
export function fenceRequests(fences, resourceOf = (request) => new URL(request.url, 'http://localhost').pathname) {
  return async (request, response, next) => {
    const resource = SAFE.has(request.method) ? null : resourceOf(request)
    if (resource === null) return next()
    const header = request.headers.fence
    if (header === undefined) return refuse(response, 428, { error: 'fence_required' })
    if (!/^[1-9][0-9]{0,18}$/.test(header) || BigInt(header) >= 2n ** 63n) return refuse(response, 400, { error: 'bad_fence' })
    request.fence = BigInt(header)
    try {
      await fences.fenced(resource, request.fence, () => new Promise((done) => {
        response.once('close', done)
        next()
      }))
    } catch (error) {
      if (error instanceof Stale) refuse(response, 412, { error: 'stale_fence', highest: String(error.highest) })
      else if (!response.headersSent) refuse(response, 500, { error: 'fence_unknown' })
    }
  }
}

function refuse(response, status, body) {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}
