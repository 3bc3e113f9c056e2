#!/usr/bin/env bash
# The page of held locks in a real, headless Chromium. Screenshots go to target/page-screenshots. The last line is
# `N passed, N failed`.
set -uo pipefail
cd "$(dirname "$0")/../.."
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}
shots=$CARGO_TARGET_DIR/page-screenshots
work=$CARGO_TARGET_DIR/page-test
rm -rf "$shots" "$work"
mkdir -p "$shots" "$work"
fail() { echo "FAIL $1"; echo '0 passed, 1 failed'; exit 1; }

browser=$(command -v chromium || command -v google-chrome) || fail 'no chromium; run tools/setup'
cargo build --quiet --locked -p fencehold-cli || fail 'cargo build'
cp server/page/test/* "$work/"
npm --prefix "$work" ci --silent --no-audit --no-fund || fail 'npm ci'
timeout 400 node "$work/page.mjs" "$CARGO_TARGET_DIR/debug/fencehold" "$browser" "$shots" || [[ $? == 1 ]] || fail 'the tests were not done in time'
