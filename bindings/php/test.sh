#!/usr/bin/env bash
# Builds the extension as its users do, with every warning an error, installs it into a fresh folder and tests it from
# there: the .phpt files, some of them under valgrind too, all scenarios, and whether fencehold_arginfo.h is what the
# stub makes. The last line is `N passed, N failed`.
set -euo pipefail
cd "$(dirname "$0")/../.."
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}
for name in $(compgen -e | grep '^FENCEHOLD_' || true); do unset "$name"; done
work=$CARGO_TARGET_DIR/php-test
prefix=$work/prefix
rm -rf "$work"
mkdir -p "$work"
passed=0
failed=0

ok() { passed=$((passed + 1)); echo "ok   $1"; }
bad() { failed=$((failed + 1)); echo "FAIL $1"; }
check() {   # check NAME COMMAND…: one test; its output is shown when it fails
    local name=$1
    shift
    if "$@" >"$work/log" 2>&1; then ok "$name"; else bad "$name"; tail -n 60 "$work/log"; fi
}
finish() { echo "$passed passed, $failed failed"; ((failed == 0)); exit; }

# --- build and install
build() {   # build FOLDER CONFIGURE-ARGUMENT…
    mkdir "$1"
    cp bindings/php/*.[ch] bindings/php/config.m4 "$1"
    (
        cd "$1"
        shift
        phpize && ./configure "$@" && make CFLAGS='-g -O2 -Werror' && make install INSTALL_ROOT="$PWD/root"
    )
}
export FENCEHOLD=$CARGO_TARGET_DIR/debug/fencehold    # for the tests that need a server
check 'the command builds' cargo build --quiet -p fencehold-cli
check 'ffi/install.sh' bash ffi/install.sh "$prefix"
check 'builds with --with-fencehold=PREFIX and no warning' build "$work/build" --with-fencehold="$prefix"
extension=$work/build/root$(php-config --extension-dir)/fencehold.so
check 'what was installed loads' php -n -d extension="$extension" --ri fencehold
((failed == 0)) || finish
unpathed() {
    PKG_CONFIG_PATH=$prefix/lib/pkgconfig build "$work/packaged" &&
        php -n -d extension="$work/packaged/modules/fencehold.so" --ri fencehold
}
check 'builds with what pkg-config finds' unpathed
stays() { readelf --dynamic "$prefix/lib/libfencehold.so" | grep -q NODELETE; }
check 'the library stays loaded when PHP unloads its modules' stays
lost() { ! build "$work/lost" --with-fencehold="$work/nowhere" >"$work/lost.log" 2>&1 && grep -q 'install.sh' "$work/lost.log"; }
check 'says what is missing without the library' lost

# --- arginfo: the generator looks for the parser beside itself, and by its real path: so it is copied
generate() {
    local made=$work/arginfo scripts version
    scripts=$(php-config --prefix)/lib/php/$(php-config --phpapi)/build
    version=$(sed -nE 's/^ *\$version = "([0-9.]+)";.*/\1/p' "$scripts/gen_stub.php" | head -n 1)
    mkdir -p "$made/PHP-Parser-$version/lib"
    ln -s /usr/share/php/PhpParser "$made/PHP-Parser-$version/lib/PhpParser"
    cp "$scripts/gen_stub.php" bindings/php/fencehold.stub.php "$made"
    php "$made/gen_stub.php" -f "$made/fencehold.stub.php"
    if [[ ${1-} == --bless ]]; then cp "$made/fencehold_arginfo.h" bindings/php; fi
    # A generator of another PHP writes other lines of the same meaning: then the stub's hash has to do.
    local lines='1,$p'
    [[ $(php -r 'echo PHP_VERSION;') == 8.2.* ]] || lines='/Stub hash/p'
    diff <(sed -n "$lines" "$made/fencehold_arginfo.h") <(sed -n "$lines" bindings/php/fencehold_arginfo.h)
}
if [[ ${BLESS-} == 1 ]]; then
    check 'fencehold_arginfo.h is made again' generate --bless
else
    check 'fencehold_arginfo.h is what the stub makes (BLESS=1 makes it again)' generate
fi

# --- .phpt
run_tests() {   # run_tests NAME ARGUMENT…: adds the counts; what is skipped did not run and counts as failed
    local name=$1 all good
    shift
    php -n "$work/build/run-tests.php" -q -n -d extension="$extension" -d opcache.enable_cli=0 --show-diff -j3 "$@" \
        >"$work/phpt.log" 2>&1 || true
    all=$(sed -nE 's/^Number of tests : +([0-9]+) .*/\1/p' "$work/phpt.log")
    good=$(sed -nE 's/^Tests passed +: +([0-9]+) .*/\1/p' "$work/phpt.log")
    if [[ -z $all || $all == 0 ]]; then
        bad "$name"
        tail -n 40 "$work/phpt.log"
        return
    fi
    passed=$((passed + good))
    failed=$((failed + all - good))
    echo "     $name: $good passed, $((all - good)) failed"
    ((all == good)) || grep -vE '^(PASS|=+$)' "$work/phpt.log" | tail -n 150
}
export NO_INTERACTION=1 TEST_TIMEOUT=60
run_tests '.phpt' bindings/php/tests
# Machine code that PCRE makes looks wrong to valgrind, and what is unloaded has no names in its report.
mapfile -t chosen < <(sed 's|.*|bindings/php/tests/&.phpt|' bindings/php/tests/valgrind.txt)
export ZEND_DONT_UNLOAD_MODULES=1
export VALGRIND_OPTS='--leak-check=full --show-leak-kinds=definite --errors-for-leak-kinds=definite'
run_tests '.phpt under valgrind' -m -d pcre.jit=0 "${chosen[@]}"
unset ZEND_DONT_UNLOAD_MODULES VALGRIND_OPTS

# --- the benchmark measures; what it measures is judged elsewhere
measures() {
    php -n -d extension="$extension" bench/keep_alive.php --json >"$work/bench.json" &&
        php -r '$b = json_decode(file_get_contents($argv[1]), true); exit($b["ratio"] > 0 && $b["empty_ns"] < $b["clock_ns"] ? 0 : 1);' \
            "$work/bench.json"
}
check 'bench/keep_alive.php measures' measures

# --- scenarios
scenarios() { php -n -d extension="$extension" bindings/php/tests/scenarios.php; }
scenarios >"$work/scenarios.log" 2>&1 || true
if [[ $(tail -n 1 "$work/scenarios.log") =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed$ ]]; then
    passed=$((passed + BASH_REMATCH[1]))
    failed=$((failed + BASH_REMATCH[2]))
    echo "     scenarios: $(tail -n 1 "$work/scenarios.log")"
    grep -vE '^(ok|skipped) ' "$work/scenarios.log" | head -n 60
else
    bad scenarios
    tail -n 40 "$work/scenarios.log"
fi
finish
