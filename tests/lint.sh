#!/usr/bin/env bash
# Every formatter and linter of the project. A check that does not apply to what is here yet is not run; one that
# cannot run fails. The last line is `N passed, N failed`.
set -uo pipefail
cd "$(dirname "$0")/.."
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}
tools=$PWD/target/tools-venv/bin
passed=0
failed=0

check() {   # check NAME COMMAND…
    local name=$1 log
    shift
    log=$(mktemp)
    if "$@" >"$log" 2>&1; then
        passed=$((passed + 1))
        echo "ok   $name"
    else
        failed=$((failed + 1))
        echo "FAIL $name: $*"
        tail -n 60 "$log"
    fi
    rm -f "$log"
}

files() { git ls-files --cached --others --exclude-standard -- "$@"; }
each() {   # each COMMAND… FILE: once per file of standard input, all of them
    local file bad=0
    while read -r file; do "$@" "$file" || bad=1; done
    return $bad
}
php_syntax() { files '*.php' | each php -l; }
shell_syntax() {
    files '*.sh' tools/setup .ci/run | each bash -n
}

check rustfmt cargo fmt --all --check
check clippy cargo clippy --workspace --all-targets --quiet -- -D warnings
check 'shell syntax' shell_syntax

# include/fencehold.h and the arginfo of the PHP extension are generated; their own tests compare them.
mapfile -t c_files < <(files '*.c' '*.h' '*.cpp' '*.hpp' | grep -vE '^include/fencehold\.h$|_arginfo\.h$|/config\.h$')
if ((${#c_files[@]})); then
    check clang-format clang-format --dry-run -Werror "${c_files[@]}"
    check cppcheck cppcheck --quiet --error-exitcode=1 --inline-suppr --std=c11 --std=c++17 -Iinclude \
        --enable=warning,portability --suppress=missingInclude --suppress=unknownMacro \
        --suppress=nullPointer:ffi/tests/* "${c_files[@]}"
fi

if [[ -n $(files '*.py' '*.pyi') ]]; then
    mapfile -t python_files < <(files '*.py' '*.pyi')
    check ruff "$tools/ruff" check --quiet --no-cache --line-length 120 "${python_files[@]}"
    check 'ruff format' "$tools/ruff" format --check --quiet --no-cache --line-length 120 "${python_files[@]}"
fi
if [[ -d bindings/python/python/fencehold ]]; then
    check mypy "$tools/mypy" --strict --cache-dir "$CARGO_TARGET_DIR/mypy" bindings/python/python/fencehold
fi

if [[ -n $(files '*.php') ]]; then
    mapfile -t php_files < <(files '*.php')
    check 'php -l' php_syntax
    check phpcs phpcs --standard=tests/phpcs.xml --runtime-set ignore_warnings_on_exit 1 -n "${php_files[@]}"
fi

if [[ -f bindings/node/package.json ]]; then
    [[ -d bindings/node/node_modules ]] || check 'npm ci' npm --prefix bindings/node ci --silent --no-audit --no-fund
    check 'node lint' npm --prefix bindings/node run --silent lint
fi

echo "$passed passed, $failed failed"
((failed == 0))
