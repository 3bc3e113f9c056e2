// The table of kinds, mapped row by row, and what an error of ours looks like.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { test } from 'node:test'
import * as fencehold from 'fencehold'
import { scenarios, packageFile } from './support.mjs'

const require = createRequire(import.meta.url)
const { classes, makeError, attach } = require(packageFile('lib/errors.js'))

test('every kind of the table has its code, its retry and its class', () => {
  const { errors } = JSON.parse(readFileSync(`${scenarios}/errors.json`, 'utf8'))
  assert.ok(errors.length >= 15)
  for (const row of errors) {
    const error = makeError({ kind: row.kind, reason: 'r', message: 'm', retry: row.retry })
    assert.equal(error.code, row.node)
    assert.equal(error.kind, row.kind)
    assert.equal(error.retry, row.retry)
    assert.ok(error instanceof fencehold.FenceholdError, row.kind)
    assert.equal(error.constructor, fencehold[row.python === 'StoreError' ? 'StoreError' : row.python], row.kind)
    assert.equal(error.name, row.python)
  }
  assert.deepEqual(Object.keys(classes).sort(), errors.map((row) => row.kind).sort())
})

test('a wait that was over is a held', () => {
  assert.ok(makeError({ kind: 'timed_out', reason: 'timed_out', message: 'm', retry: 'later' }) instanceof fencehold.HeldError)
})

test('a kind of a newer library is still an error of ours', () => {
  const error = makeError({ kind: 'sunk', reason: 'sunk', message: 'm', retry: 'never' })
  assert.ok(error instanceof fencehold.FenceholdError)
  assert.equal(error.code, 'FENCEHOLD_SUNK')
})

test('ESM and CJS give the same classes, and no more than the ESM entry names', () => {
  const required = require('fencehold')
  for (const name of Object.keys(required)) assert.equal(fencehold[name], required[name], name)
  assert.deepEqual(Object.keys(fencehold).sort(), Object.keys(required).sort())
})

test('our error finds a place on an error of the caller, or none', () => {
  const ours = new Error('ours')
  const bare = new Error('bare')
  assert.ok(attach(bare, ours))
  assert.equal(bare.cause, ours)
  const caused = new Error('caused', { cause: 1 })
  assert.ok(attach(caused, ours))
  assert.equal(caused.cause, 1)
  assert.deepEqual(caused.errors, [ours])
  assert.equal(attach('text', ours), false)
  assert.equal(attach(Object.freeze({}), ours), false)
})

test('a bigint in data is a JSON integer', () => {
  const { stringify } = require(packageFile('lib/json.js'))
  assert.equal(stringify([{ data: { fence: 9007199254740993n, n: -1n, text: '12n' } }]),
    '[{"data":{"fence":9007199254740993,"n":-1,"text":"12n"}}]')
})
