# Sourced by test scripts: counts of passed and failed tests. Needs $work, a folder for logs.
passed=0
failed=0

ok() { passed=$((passed + 1)); echo "ok   $1"; }
bad() { failed=$((failed + 1)); echo "FAIL $1"; }
check() {   # check NAME COMMAND…: one test; its output is shown when it fails
    local name=$1
    shift
    if "$@" >"$work/log" 2>&1; then ok "$name"; else bad "$name"; tail -n 60 "$work/log"; fi
}
counts() {   # counts NAME PATTERN COMMAND…: adds the two numbers that sed's PATTERN takes from the output
    local name=$1 pattern=$2 numbers code=0
    shift 2
    "$@" >"$work/log" 2>&1 || code=$?
    numbers=$(sed -nE "s/$pattern/\1 \2/p" "$work/log" | tail -n 1)
    if [[ -z $numbers || (${numbers##* } == 0 && $code != 0) ]]; then
        bad "$name (exit code $code)"
        tail -n 60 "$work/log"
        return
    fi
    passed=$((passed + ${numbers%% *}))
    failed=$((failed + ${numbers##* }))
    echo "     $name: ${numbers%% *} passed, ${numbers##* } failed"
    grep -E '^[0-9]+ skipped' "$work/log" | sed 's/^/     /' || true
    if ((code != 0)); then grep -vE '^ok ' "$work/log" | tail -n 100; fi
}
lines='^([0-9]+) passed, ([0-9]+) failed$'

# programs PAGE LANGUAGE: each block of that language with a main() becomes $work/docN.LANGUAGE
programs() {
    awk -v out="$work/doc" -v language="$2" '
        $0 == "```" language { number++; file = out number "." language; code = ""; next }
        /^```$/ && file { if (code ~ /int main/) print code > file; close(file); file = ""; next }
        file { code = code $0 "\n" }' "$1"
}
