#!/usr/bin/env bash
# The command as a user has it: installed by cargo, in an environment of its own, with completions and a manual page.
# What it does under load, under signals and when it is killed is tested by cargo (cli/tests).
set -uo pipefail
cd "$(dirname "$0")/.."
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
passed=0
failed=0

check() {   # check WHAT COMMAND…
    local what=$1
    shift
    if "$@" >"$work/log" 2>&1; then
        passed=$((passed + 1))
        echo "ok   $what"
    else
        failed=$((failed + 1))
        echo "FAIL $what"
        tail -n 30 "$work/log"
    fi
}

fencehold() { env -i PATH="$work/bin:/usr/bin:/bin" HOME="$work" FENCEHOLD_URL="file:$work/store" fencehold "$@"; }

install() { cargo install --quiet --locked --debug --force --no-track --path cli --root "$work"; }
needs_libc_only() {
    local needed
    needed=$(LC_ALL=C readelf -d "$work/bin/fencehold" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p') && [[ -n $needed ]] &&
        ! grep -vE '^(libc|libm|libdl|libpthread|libgcc_s|ld-linux-[a-z0-9-]+)\.so\.[0-9]+$' <<<"$needed"
}
runs() { [[ $(fencehold run n -- sh -c 'echo "$FENCEHOLD_NAME $((FENCEHOLD_FENCE > 0))"') == 'n 1' ]]; }
keeps_the_terminal() { [[ $(echo typed | fencehold run n -- cat) == typed ]]; }
one_at_a_time() {   # twenty at once add one to a number that nothing else protects
    local n=0
    echo 0 >"$work/number"
    while ((n++ < 20)); do
        fencehold run n --wait 60s --fair -- sh -c 'read -r n <"$0"; sleep 0.01; echo $((n + 1)) >"$0"' "$work/number" &
    done
    wait
    [[ $(<"$work/number") == 20 ]]
}
leaves_nothing() { [[ $(fencehold ls) == "no locks on file:$work/store" ]]; }
doctor() { fencehold doctor | grep -q 'all readable' && fencehold doctor --json | grep -q '"ok":true'; }
doctor_sees_damage() {
    fencehold --store "file:$work/bad" run n -- true && head -c 65536 /dev/urandom >"$work/bad/leases"
    local said code
    said=$(fencehold --store "file:$work/bad" doctor)
    code=$?
    echo "$code: $said"
    ((code == 73)) && grep -q FAIL <<<"$said"
}
completes() {   # completes PREFIX WORD…: what bash offers for the last word
    bash -c 'source <(fencehold completions bash)
        words=("$@"); COMP_WORDS=(fencehold "${words[@]}"); COMP_CWORD=${#words[@]}
        _fencehold fencehold "${words[-1]}" "${COMP_WORDS[COMP_CWORD - 1]}"; printf "%s\n" "${COMPREPLY[@]}"' - "$@"
}
bash_completes() {
    local PATH=$work/bin:$PATH
    [[ $(completes ru) == run && $(completes run --he) == *--held-code* ]]
}
manual() {
    fencehold man >"$work/fencehold.1" && [[ $(wc -l <"$work/fencehold.1") -gt 100 ]] &&
        [[ -z $(groff -man -Tutf8 -ww -z "$work/fencehold.1" 2>&1) ]]
}

check 'installs' install
check 'needs no library but the C library' needs_libc_only
check 'runs a command in an empty environment' runs
check 'leaves standard input and output to the command' keeps_the_terminal
check 'twenty at once run one after the other' one_at_a_time
check 'leaves nothing held' leaves_nothing
check 'doctor finds a good store good' doctor
check 'doctor says what is damaged' doctor_sees_damage
check 'bash completes commands and options' bash_completes
check 'the manual page has no errors' manual

echo "$passed passed, $failed failed"
((failed == 0))
