'use strict'
// Finds the add-on built for this machine and gives it the two functions that it calls.

const artefact = require('./artefact.js')
const { makeError } = require('./errors.js')
const calls = require('./calls.js')

function load () {
  const file = artefact()
  try {
    return require(`../${file}`)
  } catch (cause) {
    throw new Error(`fencehold: ${file} could not be loaded. It is the part built for this machine; ` +
      'install a package that has it, or build it: npm run build', { cause })
  }
}

const native = load()
native.init(calls.dispatch, makeError)

module.exports = native
