# Sourced by demo.sh and by the tests of the examples, after tests/built.sh: the report in every language.
programs=(c cpp php python node rust shell)

build_programs() {
    build_all 'sh python js php cpp c' || return 1
    nightly=$CARGO_TARGET_DIR/built/nightly
    mkdir -p "$nightly"
    compile_c examples/nightly/report.c "$nightly/report-c" -lsqlite3 &&
        compile_cpp examples/nightly/report.cpp "$nightly/report-cpp" -lsqlite3 &&
        cargo build --quiet -p nightly-report
}

# contender NAME: that program as demo.py wants it.
contender() { echo "$1=$(program "$1") {db} {seconds} {lifetime}"; }

# program NAME: the command line of that program, without arguments.
program() {
    case $1 in
        c | cpp) echo "$nightly/report-$1" ;;
        php) echo "$php_command $PWD/examples/nightly/report.php" ;;
        python) echo "$FENCEHOLD_PYTHON $PWD/examples/nightly/report.py" ;;
        node) echo "$node_command $(node_file "$PWD/examples/nightly/report.mjs")" ;;
        rust) echo "$CARGO_TARGET_DIR/debug/nightly-report" ;;
        shell) echo "$PWD/examples/nightly/report.sh" ;;
    esac
}
