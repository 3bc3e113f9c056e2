#!/usr/bin/env bash
# Measures what docs/benchmarks.md reports, with its peers in the same run, prints the table and writes the page.
# What cannot be built here is listed as missing.
#
# usage: bench/run.sh [--quick] [--no-page]
set -uo pipefail
cd "$(dirname "$0")/.."
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}
built=$CARGO_TARGET_DIR/bench
release=$CARGO_TARGET_DIR/release
mkdir -p "$built"
missing=()

build() {   # build WHAT COMMAND…
    local what=$1
    shift
    echo "building: $what" >&2
    if ! "$@" >"$built/$what.log" 2>&1; then
        missing+=(--missing "$what: $(grep -vE '^[[:space:]]*$' "$built/$what.log" | tail -n 1)")
        return 1
    fi
}

python_package() {
    [[ -x $built/python/bin/python ]] || python3 -m venv "$built/python" || return 1
    rm -rf "$built/wheels"
    target/tools-venv/bin/maturin build --release --quiet --manifest-path bindings/python/Cargo.toml --out "$built/wheels" &&
        "$built/python/bin/python" -m pip install --quiet --disable-pip-version-check --force-reinstall \
            "$built"/wheels/*.whl filelock diskcache
}
compile() {   # compile COMPILER SOURCE PROGRAM FLAG…
    local compiler=$1 source=$2 program=$3
    shift 3
    $compiler -O2 -I"$built/prefix/include" "$source" -o "$built/$program" -L"$built/prefix/lib" \
        -Wl,-rpath,"$built/prefix/lib" "$@"
}
php_extension() {
    rm -rf "$built/php"
    cp -r bindings/php "$built/php"
    (cd "$built/php" && phpize && ./configure --quiet --with-fencehold="$built/prefix" && make --quiet)
}

build bench cargo build --quiet --release -p fencehold-bench || { tail -n 30 "$built/bench.log" >&2; exit 1; }
build command cargo build --quiet --release -p fencehold-cli
if build library bash ffi/install.sh "$built/prefix"; then
    build c compile 'cc -std=c11' bench/keep_alive.c keep_alive_c -lfencehold
    build cpp compile 'c++ -std=c++17' bench/keep_alive.cpp keep_alive_cpp -lfencehold
    build php php_extension
fi
build sqlite compile 'cc -std=c11' bench/sqlite.c sqlite -lsqlite3
build python python_package
build node bash bindings/node/build.sh

python3 bench/collect.py --built "$built" --release "$release" "${missing[@]}" "$@"
