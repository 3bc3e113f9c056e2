#!/usr/bin/env bash
# The conformance suite on a store over HTTP: `fencehold serve`, with a folder and a port of its own. On memory: and
# file: cargo's own tests run it.
set -uo pipefail
cd "$(dirname "$0")/.."
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}
work=$(mktemp -d)
server=
stop() {
    if [[ -n $server ]]; then kill "$server" && wait "$server"; fi 2>/dev/null
    rm -rf "$work"
}
trap stop EXIT
give_up() {
    echo "$1"
    [[ ! -s $work/log ]] || cat "$work/log"
    echo '0 passed, 1 failed'
    exit 1
}

cargo build --quiet -p fencehold-cli || give_up 'the command could not be built'
"$CARGO_TARGET_DIR/debug/fencehold" serve --listen 127.0.0.1:0 --data "$work/data" >"$work/log" 2>&1 &
server=$!
url=
for _ in $(seq 300); do
    url=$(grep -oE 'http://127\.0\.0\.1:[0-9]+' "$work/log" | head -n 1)
    [[ -z $url ]] || break
    sleep 0.1
done
[[ -n $url ]] || give_up 'the server did not start'

FENCEHOLD_CONFORMANCE=$url RUST_BACKTRACE=0 cargo test --quiet -p fencehold --test conformance -- 'on http:' >"$work/out" 2>&1
code=$?
cat "$work/out"
read -r passed failed < <(sed -nE 's/^test result: .* ([0-9]+) passed; ([0-9]+) failed;.*/\1 \2/p' "$work/out")
passed=${passed:-0}
failed=${failed:-0}
if ((code != 0 && failed == 0)) || ((passed == 0)); then failed=1; fi
echo "$passed passed, $failed failed"
((failed == 0))
