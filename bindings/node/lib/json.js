'use strict'

const { randomUUID } = require('node:crypto')

/**
 * JSON in which a bigint is an integer: a token or an id stays exact on its way.
 *
 * JSON.stringify has no way to write one, so it writes a marked text, which no data can contain.
 */
function stringify (value) {
  const mark = `bigint:${randomUUID()}:`
  const text = JSON.stringify(value, (_key, member) => (typeof member === 'bigint' ? `${mark}${member}` : member))
  return text?.replace(new RegExp(`"${mark}(-?[0-9]+)"`, 'g'), '$1')
}

module.exports = { stringify }
