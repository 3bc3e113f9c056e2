'use strict'

const { Client } = require('./lib/client.js')
const { Lock } = require('./lib/lock.js')
const { classes, makeError, invalid, attach, ...errors } = require('./lib/errors.js')

module.exports = { Client, Lock, ...errors }
