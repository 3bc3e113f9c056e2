#!/usr/bin/env bash
# Installs the library into a fresh prefix and tests the C interface from there: what it exports, the C tests as C11 and
# as C++17 with every warning an error, under valgrind and with the sanitizers; all scenarios, on servers
# too; the programs of docs/c.md. The last line is `N passed, N failed`.
set -euo pipefail
cd "$(dirname "$0")/.."
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}
for name in $(compgen -e | grep '^FENCEHOLD_' || true); do unset "$name"; done
work=$CARGO_TARGET_DIR/ffi-test
prefix=$work/prefix
rm -rf "$work"
mkdir -p "$work"
source ffi/tests/counting.sh

export FENCEHOLD=$CARGO_TARGET_DIR/debug/fencehold    # for tests/serve.hpp
check 'the command builds' cargo build --quiet -p fencehold-cli
bash ffi/install.sh "$prefix" >"$work/install.log" 2>&1 || { tail -n 60 "$work/install.log"; bad 'ffi/install.sh'; }
if ((failed == 0)); then
    mv "$prefix" "$prefix-moved"    # what was installed must not know where it was
    prefix=$prefix-moved
    export LD_LIBRARY_PATH=$prefix/lib PKG_CONFIG_PATH=$prefix/lib/pkgconfig
    library=$(readlink -f "$prefix/lib/libfencehold.so")

    # --- what is exported
    functions() { gcc -E "$prefix/include/fencehold.h" | grep -oE '\bfh_[a-z_]+ *\(' | tr -d ' (' | sort -u; }
    shared_symbols() { nm --dynamic --defined-only "$library" | awk '{ print $NF }' | sort; }
    static_symbols() { nm --extern-only --defined-only "$prefix/lib/libfencehold.a" | awk 'NF == 3 { print $3 }' | sort; }
    functions >"$work/declared"
    check 'the shared library exports what the header declares and nothing else' diff "$work/declared" <(shared_symbols)
    check 'so does the static library' diff "$work/declared" <(static_symbols)
    check 'there is a C test of every function' diff "$work/declared" \
        <(grep -rhoE '\bfh_[a-z_]+' ffi/tests/c | sort -u | comm -12 - "$work/declared")
    check 'the shared library has its soname' bash -c "readelf -d '$library' | grep -q 'soname: \[libfencehold\.so\.[0-9]*\]'"
    check 'the soname is a link to it' test "$(readlink -f "$prefix"/lib/libfencehold.so.[0-9])" = "$library"
    check 'it is stripped' bash -c "! readelf -S '$library' | grep -qE '\.(symtab|debug_info)'"
    check 'nothing that is installed knows where it was' bash -c "! grep -rlF '$work/prefix/' '$prefix'"

    # --- the C tests
    read -ra shared < <(pkg-config --cflags --libs fencehold)
    read -ra static < <(pkg-config --cflags --libs --static fencehold | sed "s|-lfencehold|$prefix/lib/libfencehold.a|")
    warnings=(-Wall -Wextra -Wpedantic -Werror)
    c11=(gcc -std=c11 -D_GNU_SOURCE -g "${warnings[@]}" -Wstrict-prototypes -pthread)
    tests=(ffi/tests/c/*.c)
    sanitize=(-fsanitize=address,undefined -fno-sanitize-recover=all)
    check 'they build as C11' "${c11[@]}" "${tests[@]}" -o "$work/c11" "${shared[@]}"
    check 'they build as C++17' g++ -x c++ -std=c++17 "${warnings[@]}" -pthread "${tests[@]}" -o "$work/cpp17" "${shared[@]}"
    check 'they build with the sanitizers' "${c11[@]}" "${sanitize[@]}" "${tests[@]}" -o "$work/sanitized" "${shared[@]}"
    check 'they build with the static library' "${c11[@]}" "${tests[@]}" -o "$work/static" "${static[@]}"
    counts 'C11' "$lines" "$work/c11"
    counts 'C++17' "$lines" "$work/cpp17"
    # Leaks are valgrind's: the sanitizer's own search needs ptrace, which containers may forbid. Forks are not for its
    # memory allocator, whose locks a child may find taken for ever.
    counts 'address and undefined behaviour sanitizers' "$lines" env ASAN_OPTIONS=detect_leaks=0 "$work/sanitized" \
        arguments names options error lock scope cancel callback info step kv log random
    counts 'static library' "$lines" env -u LD_LIBRARY_PATH "$work/static" arguments lock error
    memcheck=(valgrind --quiet --error-exitcode=9 --child-silent-after-fork=yes)
    leaks=(--leak-check=full --show-leak-kinds=definite,indirect --errors-for-leak-kinds=definite,indirect)
    counts 'valgrind' "$lines" "${memcheck[@]}" "${leaks[@]}" "$work/c11" \
        arguments names options error lock scope cancel callback info step kv random
    # A child keeps what its parent's threads had, and a folder that vanished is kept for those who still use it.
    counts 'valgrind, where something stays for the life of the process' "$lines" "${memcheck[@]}" "$work/c11" fork log
    printf '%s\n' 'int mdb_env_open(void);' 'int mdb_env_open(void) { return 7; }' >"$work/lmdb.c"
    check 'a program with its own LMDB links the static library' \
        "${c11[@]}" "$work/lmdb.c" "${tests[@]}" -o "$work/own" "${static[@]}"
    counts 'such a program' "$lines" env -u LD_LIBRARY_PATH "$work/own" lock fork

    # --- scenarios
    check 'the scenario runner builds' g++ -std=c++17 "${warnings[@]}" -pthread ffi/tests/scenarios/main.cpp \
        -o "$work/scenarios" "${shared[@]}"
    counts 'scenarios' "$lines" "$work/scenarios" tests/scenarios
    played() { "$work/scenarios" "$1" | tail -n 1; }
    mkdir "$work/none" "$work/broken"
    echo '{ "schema": 1, "scenario": "s", "store": "memory:", "steps": [ { "do": "fly" } ] }' >"$work/broken/a.json"
    echo '{ "schema": 2, "scenario": "s", "store": "memory:", "steps": [] }' >"$work/broken/b.json"
    echo '{ "schema": 1, "scenario": "s", "store": "memory:", "steps": [ { "do": "ping", "colour": 1 } ] }' >"$work/broken/c.json"
    check 'no scenario is a failure' grep -q '^0 passed, 1 failed$' <(played "$work/none")
    check 'so is one that cannot be played' grep -q '^0 passed, 6 failed$' <(played "$work/broken")

    # --- the documentation and the measurement
    programs docs/c.md c
    found=0
    for program in "$work"/doc*.c; do
        found=$((found + 1))
        check "docs/c.md, program $found builds" gcc -std=c11 "${warnings[@]}" "$program" -o "${program%.c}" "${shared[@]}" -pthread
        check "docs/c.md, program $found runs" env HOME="$work" timeout 60 "${program%.c}"
    done
    if ((found == 0)); then bad 'docs/c.md has no program'; fi
    check 'bench/keep_alive.c builds' gcc -std=c11 -O2 "${warnings[@]}" bench/keep_alive.c -o "$work/keep_alive" "${shared[@]}"
    check 'bench/keep_alive.c measures' grep -q '"ratio": [0-9]' <("$work/keep_alive" --json 3)
fi

echo "$passed passed, $failed failed"
((failed == 0))
