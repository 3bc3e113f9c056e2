#!/usr/bin/env bash
# The nightly report in every language, each on its own, and then all of them at once: `make demo`.
set -uo pipefail
cd "$(dirname "$0")/.."
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}
source tests/built.sh
source examples/nightly/programs.sh
passed=0
failed=0

result() {   # result CODE WHAT LOG
    if (($1 == 0)); then
        passed=$((passed + 1))
        echo "ok   $2"
    else
        failed=$((failed + 1))
        echo "FAIL $2"
        tail -n 40 "$3"
    fi
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
build_programs >"$work/build.log" 2>&1
code=$?
result $code 'every program builds' "$work/build.log"
if ((code != 0)); then
    echo "$passed passed, $failed failed"
    exit 1
fi

export FENCEHOLD_URL=file:$work/store
PATH=$(dirname "$FENCEHOLD"):$PATH
for who in "${programs[@]}"; do
    db=$work/$who.db
    log=$work/$who.log
    sqlite3 -bail "$db" ".read examples/nightly/schema.sql" >"$log" 2>&1
    # shellcheck disable=SC2046  # a command and its arguments, without blanks in them
    timeout 60 $(program "$who") "$db" >>"$log" 2>&1 &&
        [[ $(sqlite3 "$db" "SELECT group_concat(event) FROM (SELECT event FROM account WHERE who = '$who' ORDER BY seq)") == \
            acquired,wrote,wrote,wrote,wrote,wrote,wrote,releasing ]]
    code=$?
    sqlite3 "$db" 'SELECT * FROM account' >>"$log" 2>&1
    result $code "$who writes its report under one fence" "$log"
done

target/tools-venv/bin/pytest -q -p no:cacheprovider examples/nightly >"$work/judge.log" 2>&1
result $? 'the judge of the demo sees what is wrong' "$work/judge.log"

export built_parts
bash examples/nightly/demo.sh 4 >"$work/demo.log" 2>&1
code=$?
cat "$work/demo.log"
result $code 'demo: no two at once, no stale write landed' "$work/demo.log"

# A contender of a lock that does not hold what it promises: it gets its turn, and the next fence, while somebody else
# still has his; and it writes once more with a fence of yesterday, past the condition that should refuse that.
cat >"$work/broken.sh" <<'BROKEN'
sql() { sqlite3 -bail -cmd '.timeout 10000' "$1" "$2"; }
for _ in 1 2 3 4; do
    sleep 0.4
    sql "$1" "BEGIN IMMEDIATE;
        INSERT INTO account (who, fence, event) SELECT 'broken', fence + 1, 'acquired' FROM report;
        UPDATE report SET body = 'broken page', fence = fence + 1;
        INSERT INTO account (who, fence, event) SELECT 'broken', fence, 'releasing' FROM report;
        COMMIT"
done
sql "$1" "UPDATE report SET body = 'broken page', fence = 7"
BROKEN
broken_demo() {
    local who commands=()
    for who in "${programs[@]:1:3}"; do commands+=("$(contender "$who")"); done
    commands+=("broken=bash $work/broken.sh {db}")
    mkdir "$work/broken"
    ! python3 examples/nightly/demo.py "$work/broken" 4 "${commands[@]}" >"$work/broken.log" 2>&1 &&
        grep -q '^WRONG: broken .* before its lifetime was over$\|^WRONG: broken held from' "$work/broken.log" &&
        grep -q '^WRONG: .* a stale write of broken landed' "$work/broken.log"
}
broken_demo
result $? 'the demo fails on a lock that two can hold, and on a stale write that lands' "$work/broken.log"

echo "$passed passed, $failed failed"
((failed == 0))
