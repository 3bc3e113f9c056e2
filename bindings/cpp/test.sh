#!/usr/bin/env bash
# Installs the library into a fresh prefix and tests the C++ header from there: as C++17 and C++20 with every warning
# an error, found by CMake and by pkg-config, shared and static, under valgrind, with servers of its own; all scenarios;
# what must not compile; the programs of docs/cpp.md. The last line is `N passed, N failed`.
set -euo pipefail
cd "$(dirname "$0")/../.."
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}
for name in $(compgen -e | grep '^FENCEHOLD_' || true); do unset "$name"; done
work=$CARGO_TARGET_DIR/cpp-test
prefix=$work/prefix
rm -rf "$work"
mkdir -p "$work"
source ffi/tests/counting.sh
units='.*test cases: .*\| *([0-9]+) passed *\| *([0-9]+) failed.*'

export FENCEHOLD=$CARGO_TARGET_DIR/debug/fencehold    # for tests/serve.hpp
check 'the command builds' cargo build --quiet -p fencehold-cli
bash ffi/install.sh "$prefix" >"$work/install.log" 2>&1 || { tail -n 60 "$work/install.log"; bad 'ffi/install.sh'; }
if ((failed == 0)); then
    mv "$prefix" "$prefix-moved"    # what was installed must not know where it was
    prefix=$prefix-moved
    export LD_LIBRARY_PATH=$prefix/lib PKG_CONFIG_PATH=$prefix/lib/pkgconfig

    # --- CMake
    check 'CMake finds fencehold::fencehold' \
        cmake -S bindings/cpp -B "$work/build" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_BUILD_TYPE=Debug
    check 'the tests build without a warning' cmake --build "$work/build" --parallel 2
    counts 'C++17' "$units" "$work/build/units17"
    counts 'C++20' "$units" "$work/build/units20"
    counts 'scenarios' "$lines" "$work/build/scenarios"
    check 'valgrind finds nothing' valgrind --quiet --error-exitcode=9 --leak-check=full \
        --show-leak-kinds=definite --errors-for-leak-kinds=definite "$work/build/units17" --test-case-exclude='*fork*,*background*'

    # --- pkg-config; and the documentation
    programs docs/cpp.md cpp
    read -ra shared < <(pkg-config --cflags --libs fencehold)
    read -ra static < <(pkg-config --cflags --libs --static fencehold | sed "s|-lfencehold|$prefix/lib/libfencehold.a|")
    warnings=(-Wall -Wextra -Wpedantic -Werror)
    programs=0
    for program in "$work"/doc*.cpp; do
        programs=$((programs + 1))
        name=$(basename "$program" .cpp)
        standard=17
        if grep -q '{\.ttl' "$program"; then standard=20; fi
        check "docs/cpp.md, program ${name#doc} builds" \
            g++ "-std=c++$standard" "${warnings[@]}" "$program" -o "${program%.cpp}" "${shared[@]}" -pthread
        check "docs/cpp.md, program ${name#doc} runs" env HOME="$work" "${program%.cpp}"
    done
    if ((programs == 0)); then bad 'docs/cpp.md has no program'; fi
    check 'a program links the static library' \
        g++ -std=c++17 "${warnings[@]}" "$work/doc1.cpp" -o "$work/static" "${static[@]}"
    check 'a static program runs without the shared one' env -u LD_LIBRARY_PATH HOME="$work" "$work/static"
    check 'bench/keep_alive.cpp builds' \
        g++ -std=c++17 -O2 "${warnings[@]}" bench/keep_alive.cpp -o "$work/keep_alive" "${shared[@]}"

    # --- what must not compile
    compile() { g++ -std=c++17 "${warnings[@]}" -I"$prefix/include" -fsyntax-only -DCASE="$1" bindings/cpp/tests/refused.cc; }
    check 'what is around the refused cases compiles' compile 0
    cases=$(grep -c '^#elif CASE' bindings/cpp/tests/refused.cc)
    for ((case = 1; case <= cases; case++)); do
        what=$(sed -n "s|^#elif CASE == $case *// ||p" bindings/cpp/tests/refused.cc)
        if compile "$case" >/dev/null 2>&1; then bad "it compiles: $what"; else ok "does not compile: $what"; fi
    done
fi

echo "$passed passed, $failed failed"
((failed == 0))
