#!/usr/bin/env bash
# Builds the add-on, packs the package, installs the tarball into a fresh folder and runs the tests from there.
# The last line is `N passed, N failed`.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$root/target}
export FENCEHOLD_SCENARIOS=$root/tests/scenarios
cd "$here"

[ -x node_modules/.bin/tsc ] || npm ci --silent --no-audit --no-fund
FENCEHOLD_PROFILE=${FENCEHOLD_PROFILE:-dev} bash build.sh
cargo build --quiet -p fencehold-cli
export FENCEHOLD_TEST_COMMAND=$CARGO_TARGET_DIR/debug/fencehold

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
npm pack --silent --pack-destination "$work" >/dev/null
mkdir "$work/user"
cd "$work/user"
echo '{ "private": true }' >package.json
npm install --silent --no-audit --no-fund --offline "$work"/fencehold-*.tgz
cp -r "$here/test" .
node test/page.mjs test "$root/docs/node.md" "$here/README.md" "$here/index.d.ts"
mkdir -p node_modules/@types
ln -s "$here/node_modules/@types/node" node_modules/@types/node
ln -s "$here/node_modules/undici-types" node_modules/undici-types

passed=0
failed=0
# Node 20 has Symbol.asyncDispose, but not yet the words for it: in the blocks of the pages they are compiled away.
for project in test/types/tsconfig.json test/types/pages.json; do
    if "$here/node_modules/.bin/tsc" --project $project; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
done

code=0
node --test --test-reporter=tap test/*.test.mjs >"$work/tap" 2>&1 || code=$?
grep -vE '^ *(---|\.\.\.|duration_ms|type:)|^ *# (Subtest|tests|suites|pass|fail|cancelled|skipped|todo|duration)' "$work/tap" | grep -vE '^ +(ok|1\.\.)' || true
count() { sed -nE "s/^# $1 ([0-9]+)$/\1/p" "$work/tap" | tail -n 1; }
passed=$((passed + $(count pass)))
failed=$((failed + $(count fail) + $(count cancelled)))
skipped=$(($(count skipped) + $(count todo)))
# A skip is a test that did not run, and green never means that; but some scenarios no server can play.
sed -n 's/^.*# SKIP //p' "$work/tap" | sort | uniq -c | sed 's/^ */skipped: /'
skipped=$((skipped - $(grep -c '# SKIP on a server: ' "$work/tap" || true)))
if [ "$skipped" -ne 0 ]; then echo "$skipped skipped"; failed=$((failed + skipped)); fi
if [ "$code" -ne 0 ] && [ "$failed" -eq 0 ]; then failed=1; fi
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
