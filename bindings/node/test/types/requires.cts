// The same names for require().
import fencehold = require('fencehold')

const client: fencehold.Client = new fencehold.Client('memory:')
const lock: fencehold.Lock = client.semaphore('n', 3, { ttl: '30s', background: false })
const reason: fencehold.LostReason | null = lock.lostReason
export = reason
