#!/usr/bin/env bash
# The nightly report in the shell. usage: report.sh DATABASE [SECONDS] [LIFETIME_MS]
# It starts itself under `fencehold run`, which holds the lock, renews it, and ends the script before the lease can end.
# The script then finds the fence in its environment; every write carries it.
set -eu
who=shell
database=$1

if [ -z "${FENCEHOLD_FENCE-}" ]; then
    end=$((SECONDS + ${2:-0}))
    while :; do
        fencehold run reports/nightly --ttl "${3:-30000}ms" --wait 1s --fair --held-code 0 --label "$who" -- "$0" "$database"
        [ $SECONDS -lt $end ] || exit 0
    done
fi

sql() { sqlite3 -bail -cmd '.timeout 10000' "$database" "$1"; }
tell() { sql "INSERT INTO account (who, fence, event) VALUES ('$who', $FENCEHOLD_FENCE, '$1')"; }

tell acquired
for page in 0 1 2 3 4 5; do
    sleep 0.02 # the work
    changed=$(sql "UPDATE report SET body = '$who page $page', fence = $FENCEHOLD_FENCE
                   WHERE id = 'nightly' AND fence <= $FENCEHOLD_FENCE; SELECT changes()")
    if [ "$changed" != 1 ]; then
        tell refused
        exit 0
    fi
done
tell releasing
