#!/usr/bin/env bash
# The whole test run: lint, cargo's tests, then the script of every part. It goes on after a failure, prints a summary
# and ends with one line `N passed, N failed`. Parts may be named: tests/run.sh lint cargo bindings/php
set -uo pipefail
cd "$(dirname "$0")/.."
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}
logs=$CARGO_TARGET_DIR/test-logs
part_limit=${FENCEHOLD_PART_LIMIT:-900}    # seconds: a part that hangs fails, and the others still run
mkdir -p "$logs"

total_passed=0
total_failed=0
summary=()

account() {   # account PART PASSED FAILED SECONDS REMARK
    total_passed=$((total_passed + $2))
    total_failed=$((total_failed + $3))
    summary+=("$(printf '%-18s %5d passed %5d failed %5d s  %s' "$1" "$2" "$3" "$4" "$5")")
}

run_logged() {   # run_logged LOG COMMAND…: shows the output too, answers the command's exit code
    local log=$1
    shift
    timeout --kill-after=10 "$part_limit" "$@" </dev/null 2>&1 | tee "$log"
    return "${PIPESTATUS[0]}"
}

# A script's counts are on its last line. No such line, or a non-zero exit with nothing failed, is one failure more.
script_part() {   # script_part PART SCRIPT
    local part=$1 log code began=$SECONDS passed=0 failed=0 remark=''
    log=$logs/${part//\//-}.log
    printf '\n== %s\n' "$part"
    run_logged "$log" bash "$2"
    code=$?
    if [[ $(tail -n 1 "$log") =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed$ ]]; then
        passed=${BASH_REMATCH[1]}
        failed=${BASH_REMATCH[2]}
    else
        failed=1
        remark='no last line with counts'
    fi
    if ((code == 124 || code == 137)); then remark="not done after $part_limit s"; fi
    if ((code != 0 && failed == 0)); then
        failed=1
        remark=${remark:-"exit code $code"}
    fi
    if ((passed + failed == 0)); then
        failed=1
        remark='ran nothing'
    fi
    account "$part" "$passed" "$failed" $((SECONDS - began)) "$remark"
}

cargo_part() {
    local log=$logs/cargo.log code began=$SECONDS counts passed failed ignored remark=''
    printf '\n== cargo\n'
    run_logged "$log" cargo test --workspace --no-fail-fast
    code=$?
    counts=$(sed -nE 's/^test result: .* ([0-9]+) passed; ([0-9]+) failed; ([0-9]+) ignored.*/\1 \2 \3/p' "$log" |
        awk '{ p += $1; f += $2; i += $3 } END { print p + 0, f + 0, i + 0 }')
    read -r passed failed ignored <<<"$counts"
    ((ignored == 0)) || remark="$ignored ignored"
    if ((code != 0 && failed == 0)); then
        failed=1
        remark="exit code $code"
    fi
    account cargo "$passed" "$failed" $((SECONDS - began)) "$remark"
}

# Every script named test.sh outside build folders is a part, so that none can be left out.
all_parts() {
    echo lint
    echo cargo
    git ls-files --cached --others --exclude-standard -- '*test.sh' | grep -E '(^|/)test\.sh$' | sed 's|/test\.sh$||' |
        awk '{ order = /^ffi/ ? 1 : /^bindings\/cpp/ ? 2 : /^bindings/ ? 3 : /^cli/ ? 4 : 5; print order, $0 }' |
        sort -k1,1n -k2 | cut -d' ' -f2
}

if (($# > 0)); then parts=("$@"); else mapfile -t parts < <(all_parts); fi
for part in "${parts[@]}"; do
    case $part in
        lint) script_part lint tests/lint.sh ;;
        cargo) cargo_part ;;
        *) script_part "$part" "$part/test.sh" ;;
    esac
done

printf '\n== summary, %d s in all\n' "$SECONDS"
printf '%s\n' "${summary[@]}"
echo "$total_passed passed, $total_failed failed"
((total_failed == 0))
