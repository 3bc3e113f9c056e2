// Rows of users on every store that keeps them.
import assert from 'node:assert/strict'
import { createServer } from 'node:net'
import { test } from 'node:test'
import { Client, InvalidError } from 'fencehold'
import { folder, fresh, memory, script, server } from './support.mjs'

const places = {
  'memory:': () => `memory:${fresh('store')}`,
  'file:': (t) => `file:${folder(t)}`,
  'http:': (t) => server(t)
}

function onEach (name, body) {
  for (const [place, url] of Object.entries(places)) {
    test(`${place} ${name}`, async (t) => {
      const where = await url(t)
      const client = new Client(where)
      try {
        await body(client, client.kv('reports'), where)
      } finally {
        await client.close()
      }
    })
  }
}

onEach('rows are written, read and removed', async (client, rows) => {
  assert.equal(rows.namespace, 'reports')
  assert.equal(await rows.get('k'), null)
  const value = { text: 'é\0', big: 2n ** 63n, small: -(2n ** 63n), list: [1.5, null, true], '': {}, ['__proto__']: 1 }
  const first = await rows.put('k', value, { ttl: 'forever' })
  assert.equal(first.applied, true)
  assert.equal(first.reason, null)
  assert.equal(typeof first.version, 'bigint')
  const row = await rows.get('k')
  assert.deepEqual([row.key, row.version], ['k', first.version])
  assert.deepEqual(Object.entries(row.value).sort(), Object.entries(value).sort())
  assert.ok(Object.isFrozen(row) && Object.isFrozen(first))
  const second = await rows.put('k', [], { ttl: '1h', expect: first.version })
  assert.ok(second.applied && second.version > first.version)
  const removed = await rows.delete('k', { expect: Number(second.version) })
  assert.deepEqual({ ...removed }, { applied: true, version: second.version, value: [], reason: null })
  assert.equal(await rows.get('k'), null)
  assert.equal(await client.kv('others').get('k'), null)
})

onEach('a lost precondition is an answer', async (_client, rows) => {
  const first = await rows.putIfAbsent('k', 'one', { ttl: '1h' })
  assert.ok(first.applied)
  const other = first.version + 1n
  const lost = [
    ['exists', await rows.putIfAbsent('k', 'two', { ttl: '1h' })],
    ['version', await rows.put('k', 'two', { ttl: '1h', expect: other })],
    ['version', await rows.delete('k', { expect: other })],
    ['type', await rows.incr('k', 1, { ttl: '1h' })],
    ['exists', await rows.check('k', 0)]
  ]
  for (const [reason, answer] of lost) {
    assert.deepEqual([answer.applied, answer.reason, answer.version], [false, reason, first.version])
  }
  const none = await rows.put('none', 1, { ttl: '1h', expect: 7 })
  assert.deepEqual([none.applied, none.reason, none.version], [false, 'absent', 0n])
  assert.equal((await rows.delete('none')).applied, false)
  assert.equal((await rows.check('none', 7)).applied, false)
  assert.ok((await rows.check('none', 0)).applied && (await rows.check('k', first.version)).applied)
  assert.equal((await rows.get('k')).value, 'one')
})

onEach('numbers are counted, many rows come at once and in pages', async (_client, rows) => {
  assert.equal((await rows.incr('n', 1, { ttl: '1h' })).value, 1)
  assert.equal((await rows.incr('n', 41n, { ttl: 'forever' })).value, 42)
  assert.equal((await rows.incr('n', -50, { ttl: 'forever' })).value, -8)
  for (let n = 0; n < 5; n++) assert.ok((await rows.put(`a/${n}`, n, { ttl: '1h' })).applied)
  const many = await rows.getMany(['a/3', 'none', 'n', 'a/1'])
  assert.deepEqual(many.map(({ key, value }) => [key, value]).sort(), [['a/1', 1], ['a/3', 3], ['n', -8]])
  let page = await rows.getPrefix('a/', { limit: 2 })
  const keys = page.rows.map(({ key }) => key)
  while (page.nextAfter !== null) {
    page = await rows.getPrefix('a/', { limit: 2, after: page.nextAfter })
    keys.push(...page.rows.map(({ key }) => key))
  }
  assert.deepEqual(keys, ['a/0', 'a/1', 'a/2', 'a/3', 'a/4'])
  assert.deepEqual((await rows.getPrefix('none')).rows, [])
})

onEach('a guarded step and rows see each other', async (client, rows, url) => {
  const lock = await client.acquire('n', { ttl: '30s' })
  const before = await rows.put('k', { rows: 1 }, { ttl: 'forever' })
  const put = { op: 'put', ns: 'reports', key: 'k', value: { rows: 2 }, forever: true, expect: before.version, required: true }
  assert.equal((await client.transaction().guard(lock).kv([put]).commit()).success, true)
  const now = await rows.get('k')
  assert.deepEqual(now.value, { rows: 2 })
  const refused = await client.transaction().guard(lock).kv([put]).commit()
  assert.equal(refused.success, false)
  assert.equal(BigInt(refused.precondition.version), now.version)
  const other = new Client(url)
  assert.equal(await other.forceRelease('n', { token: lock.token }), true)
  await other.close()
  const late = { op: 'put', ns: 'reports', key: 'k', value: 'late', forever: true }
  assert.equal((await client.transaction().guard(lock).kv([late]).commit()).success, false)
  assert.equal(lock.lostReason, 'guard')
  assert.deepEqual(await rows.get('k'), now)
})

onEach('what cannot be is refused', async (client, rows) => {
  const circular = {}
  circular.self = circular
  const bad = [
    ['kv_bad_ttl', () => rows.put('k', 1, { ttl: 'soon' })],
    ['kv_bad_ttl', () => rows.put('k', 1, { ttl: 30 })],
    ['kv_bad_ttl', () => rows.put('k', 1, { ttl: null })],
    ['kv_bad_ttl', () => rows.put('k', 1)],
    ['kv_bad_ttl', () => rows.putIfAbsent('k', 1, { ttl: '0s' })],
    ['kv_bad_expect', () => rows.put('k', 1, { ttl: '1h', expect: -1 })],
    ['kv_bad_expect', () => rows.put('k', 1, { ttl: '1h', expect: 1.5 })],
    ['kv_bad_expect', () => rows.put('k', 1, { ttl: '1h', expect: null })],
    ['kv_bad_expect', () => rows.check('k')],
    ['kv_bad_expect', () => rows.check('k', 2n ** 64n)],
    ['kv_bad_request', () => rows.put('k', undefined, { ttl: '1h' })],
    ['kv_bad_request', () => rows.put('k', circular, { ttl: '1h' })],
    ['kv_bad_request', () => rows.put('k', 2n ** 64n, { ttl: '1h' })],
    ['kv_bad_request', () => rows.incr('k', 1.5, { ttl: '1h' })],
    ['kv_bad_request', () => rows.incr('k', 2n ** 63n, { ttl: '1h' })],
    ['kv_bad_request', () => rows.delete('k', null)],
    ['kv_bad_key', () => rows.get('\ud800')],
    ['kv_bad_key', () => rows.get(7)],
    ['kv_bad_key', () => rows.getMany('k')],
    ['kv_prefix_required', () => rows.getPrefix('')],
    ['kv_value_too_large', () => rows.put('k', 'x'.repeat(70_000), { ttl: '1h' })],
    ['kv_bad_namespace', () => client.kv('No Such').get('k')]
  ]
  for (const [reason, call] of bad) {
    await assert.rejects(call(), (error) => error instanceof InvalidError && error.reason === reason, `${reason} ${call}`)
  }
  assert.throws(() => client.kv(), { reason: 'kv_bad_namespace' })
  assert.equal(await rows.get('k'), null)
})

test('a row ends', async (t) => {
  const client = memory(t, '?clock=manual')
  const rows = client.kv('short')
  await rows.put('k', 1, { ttl: '1500ms' })
  client.advance('1900ms')
  assert.equal((await rows.get('k')).value, 1)
  client.advance('200ms')
  assert.equal(await rows.get('k'), null)
})

test('a store that keeps locks only has no rows', async () => {
  for (const other of ['etcd', 'zookeeper']) {
    const client = new Client(`${other}://127.0.0.1:1`)
    await assert.rejects(client.kv('n').get('k'), { code: 'FENCEHOLD_UNSUPPORTED' })
    await client.close()
  }
})

test('the event loop turns while a server stands still, and a closed client asks nothing', async (t) => {
  const still = createServer((socket) => socket.on('error', () => {}))
  await new Promise((resolve) => still.listen(0, '127.0.0.1', resolve))
  t.after(() => still.close())
  const client = new Client(`http://127.0.0.1:${still.address().port}`, { requestTimeout: '1s' })
  let turns = 0
  const ticking = setInterval(() => turns++, 5)
  await assert.rejects(client.kv('n').get('k'), { code: 'FENCEHOLD_UNREACHABLE' })
  clearInterval(ticking)
  assert.ok(turns > 10, `${turns} turns`)
  await client.close()
  await assert.rejects(client.kv('n').get('k'), { reason: 'client_closed' })
})

test('rows keep their client', async () => {
  const ended = await script(`
    import { Client } from 'fencehold'
    const rows = new Client('memory:').kv('n')
    await rows.put('k', 1, { ttl: '1h' })
    for (let n = 0; n < 20; n++) {
      globalThis.gc()
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
    console.log((await rows.get('k')).value)`, { args: ['--expose-gc'] }).done
  assert.equal(ended.stdout, '1\n', ended.stderr)
})
