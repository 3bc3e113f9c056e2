#!/usr/bin/env bash
# For developers: the published clients of Queen brokers, and their own tests, against our server. They are downloaded
# into the target folder. Not part of `make test`: it needs the registries and several minutes for its first build.
#
# usage: server/published.sh [rust] [python]
set -uo pipefail
cd "$(dirname "$0")/.."
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}
version=2.7.0
work=$CARGO_TARGET_DIR/published
mkdir -p "$work"
passed=0
failed=0

cargo build --quiet --locked -p fencehold-cli || exit 1
data=$(mktemp -d)
"$CARGO_TARGET_DIR/debug/fencehold" serve --data "$data" --listen 127.0.0.1:0 2>"$work/server.log" &
server=$!
trap 'kill $server; wait $server; rm -rf "$data"' EXIT
for _ in $(seq 100); do
    url=$(sed -n 's/.*serving \(http[^ ]*\) from.*/\1/p' "$work/server.log")
    [[ -n $url ]] && break
    sleep 0.1
done
[[ -n $url ]] || { cat "$work/server.log"; exit 1; }
echo "our server: $url"

rust() {
    local crate=$work/queen-mq-$version.crate log=$work/rust.log
    [[ -s $crate ]] || curl -fsSL -o "$crate" "https://static.crates.io/crates/queen-mq/queen-mq-$version.crate" || return 1
    tar -xzf "$crate" -C "$work" || return 1
    (cd "$work/queen-mq-$version" && CARGO_TARGET_DIR=$work/build QUEEN_TEST_URL=$url QUEEN_TEST_STRICT=1 \
        cargo test --quiet --locked --test locks --test kv_timers) 2>&1 | tee "$log"
    local code=${PIPESTATUS[0]}
    passed=$((passed + $(grep -oE '[0-9]+ passed' "$log" | awk '{ n += $1 } END { print n + 0 }')))
    return "$code"
}

python() {
    [[ -x $work/venv/bin/python ]] || python3 -m venv "$work/venv" || return 1
    "$work/venv/bin/pip" install --quiet queen-mq || return 1
    local log=$work/python.log
    "$work/venv/bin/python" server/tests/published.py "$url" 2>&1 | tee "$log"
    local code=${PIPESTATUS[0]}
    passed=$((passed + $(grep -c '^ok' "$log")))
    return "$code"
}

(($# > 0)) || set -- rust python
for client in "$@"; do
    "$client" || failed=$((failed + 1))
done
echo "$passed passed, $failed failed"
((failed == 0))
