'use strict'

/** Whether this is a Linux with musl instead of glibc. */
function usesMusl () {
  const report = process.report.getReport()
  return !(typeof report === 'string' ? JSON.parse(report) : report).header.glibcVersionRuntime
}

/** The name of the add-on's file for this machine, as napi-rs names them. */
module.exports = function artefact () {
  const { platform, arch } = process
  const suffix = platform === 'linux' ? (usesMusl() ? '-musl' : '-gnu') : platform === 'win32' ? '-msvc' : ''
  return `fencehold.${platform}-${arch}${suffix}.node`
}
