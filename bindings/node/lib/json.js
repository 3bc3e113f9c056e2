'use strict'

const { randomUUID } = require('node:crypto')

/** No store keeps integers beyond 64 bits, and one that is rounded on its way is worse than none. */
function checked (integer) {
  if (integer < -(2n ** 63n) || integer >= 2n ** 64n) throw new RangeError(`${integer} does not fit into 64 bits`)
  return integer
}

/**
 * JSON in which a bigint is an integer: a token or an id stays exact on its way.
 *
 * JSON.stringify has no way to write one, so it writes a marked text, which no data can contain.
 */
function stringify (value) {
  const mark = `bigint:${randomUUID()}:`
  const text = JSON.stringify(value, (_key, member) => (typeof member === 'bigint' ? `${mark}${checked(member)}` : member))
  return text?.replace(new RegExp(`"${mark}(-?[0-9]+)"`, 'g'), '$1')
}

module.exports = { stringify }
