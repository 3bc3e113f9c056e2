# Sourced by docs/test.sh, examples/test.sh and `make demo`: builds what the named languages need and says how to use it.
# Expects CARGO_TARGET_DIR and the root of the tree as working directory.

# build_all LANGUAGES: sh python js php cpp c rust; others are ignored. After it:
#   $FENCEHOLD            the command              $FENCEHOLD_PYTHON     a Python that has the package
#   run_node FILE ARG…    run_php FILE ARG…        compile_c / compile_cpp SOURCE PROGRAM FLAG…
build_all() {
    built_root=$PWD
    built=$CARGO_TARGET_DIR/built
    mkdir -p "$built"
    local language
    for language in $1; do
        case $language in
            sh) build_once command build_command ;;
            python) build_once python build_python ;;
            js) build_once node build_node ;;
            php) build_once library build_library && build_once php build_php ;;
            c | cpp) build_once library build_library ;;
        esac || return 1
    done
}

# Builds once per run of the calling script, with the output shown only when it fails.
build_once() {
    [[ " ${built_parts-} " != *" $1 "* ]] || return 0
    echo "building: $1" >&2
    if ! "$2" >"$built/$1.log" 2>&1; then
        echo "building for $1 failed:" >&2
        tail -n 40 "$built/$1.log" >&2
        return 1
    fi
    built_parts="${built_parts-} $1"
}

FENCEHOLD=$CARGO_TARGET_DIR/debug/fencehold
build_command() { cargo build --quiet -p fencehold-cli; }

build_library() { bash ffi/install.sh "$built/prefix"; }

FENCEHOLD_PYTHON=$CARGO_TARGET_DIR/built/python/bin/python
build_python() {
    [[ -x $FENCEHOLD_PYTHON ]] || python3 -m venv "$built/python"
    rm -rf "$built/wheels"
    target/tools-venv/bin/maturin build --quiet --manifest-path bindings/python/Cargo.toml --out "$built/wheels" &&
        "$FENCEHOLD_PYTHON" -m pip install --quiet --disable-pip-version-check --force-reinstall "$built"/wheels/*.whl
}

compile_c() {
    local source=$1 program=$2
    shift 2
    cc -std=c11 -Wall -Wextra -Werror -I"$built/prefix/include" "$source" -o "$program" \
        -L"$built/prefix/lib" -Wl,-rpath,"$built/prefix/lib" -lfencehold "$@"
}

compile_cpp() {
    local source=$1 program=$2
    shift 2
    c++ -std=c++17 -Wall -Wextra -Werror -I"$built/prefix/include" "$source" -o "$program" \
        -L"$built/prefix/lib" -Wl,-rpath,"$built/prefix/lib" -lfencehold "$@"
}

php_command="php -d extension=$CARGO_TARGET_DIR/built/php/modules/fencehold.so"
build_php() {
    rm -rf "$built/php"
    cp -r bindings/php "$built/php"
    (cd "$built/php" && phpize && ./configure --quiet --with-fencehold="$built/prefix" && make --quiet)
}
run_php() { $php_command "$@"; }

# Node finds a package from where the importing file is, so a program runs from a copy beside the package.
node_command=node
build_node() {
    FENCEHOLD_PROFILE=dev bash bindings/node/build.sh
    rm -rf "$built/node"
    mkdir -p "$built/node"
    npm --prefix bindings/node pack --silent --pack-destination "$built/node" ./bindings/node >/dev/null &&
        echo '{ "private": true }' >"$built/node/package.json" &&
        (cd "$built/node" && npm install --silent --no-audit --no-fund --offline ./fencehold-*.tgz)
}
node_file() {
    cp "$1" "$built/node/"
    echo "$built/node/$(basename "$1")"
}
run_node() {
    local file
    file=$(node_file "$1")
    shift
    "$node_command" "$file" "$@"
}
