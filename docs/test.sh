#!/usr/bin/env bash
# Runs every code block of README.md, CONTRIBUTING.md and the pages here against what was built from this tree. A block in
# a language that is not known fails. The page of one language is tested with that language's binding, and must be.
set -uo pipefail
cd "$(dirname "$0")/.."
root=$PWD
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$root/target}
work=$CARGO_TARGET_DIR/docs-test
rm -rf "$work"
mkdir -p "$work/blocks" "$work/rust/src/bin"
passed=0
failed=0

result() {   # result CODE WHAT LOG
    if (($1 == 0)); then
        passed=$((passed + 1))
        echo "ok   $2"
    else
        failed=$((failed + 1))
        echo "FAIL $2"
        tail -n 30 "$3"
    fi
}

shopt -s nullglob
pages=()
for page in README.md CONTRIBUTING.md docs/*.md; do
    language=$(basename "$page" .md)
    if [[ -d bindings/$language || $language == c ]]; then
        grep -rqs --exclude-dir=node_modules -e "$page" -e "$language\.md" "bindings/$language" ffi
        result $? "$page is read by a test of its language" /dev/null
    else
        pages+=("$page")
    fi
done

# The table of errors is the shared one.
python3 - >"$work/errors.log" 2>&1 <<'PYTHON'
import json, re
rows = dict(re.findall(r"^\| `(\w+)` \|.*\| (\w+(?: \w+)?) \| \d+ \|$", open("docs/operations.md").read(), re.M))
codes = dict(re.findall(r"^\| `(\w+)` \|.*\| (\d+) \|$", open("docs/operations.md").read(), re.M))
table = json.load(open("tests/scenarios/errors.json"))["errors"]
assert codes == {row["kind"]: str(row["exit"]) for row in table}, codes
assert {k: v.replace(" ", "_") for k, v in rows.items()} == {row["kind"]: row["retry"] for row in table}, rows
PYTHON
result $? 'docs/operations.md lists every kind of error with its retry and exit code' "$work/errors.log"

# A block of `text` is something to look at, such as the form of a URL.
python3 docs/blocks.py "$work/blocks" "${pages[@]}" >"$work/all" || exit 1
grep -v '^text ' "$work/all" >"$work/list"
source tests/built.sh
build_all "$(cut -d' ' -f1 "$work/list" | sort -u | tr '\n' ' ')" || { echo '0 passed, 1 failed'; exit 1; }

export FENCES=$root/fences PYTHONDONTWRITEBYTECODE=1

cat >"$work/rust/Cargo.toml" <<TOML
[package]
name = "docs-blocks"
version = "0.0.0"
edition = "2024"
[dependencies]
fencehold = { path = "$root/core" }
[workspace]
TOML
cp Cargo.lock "$work/rust/"

# The stores and the ports of the text, made this run's own: runs at the same time must not meet.
mkdir "$work/stores"
sed -i "s|/tmp/fencehold-|$work/stores/|g" "$work"/blocks/*
for port in $(grep -ohE '(localhost|127\.0\.0\.1|0\.0\.0\.0):66[0-9]{2}' "$work"/blocks/*.sh | grep -o '66..$' | sort -u); do
    free=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    sed -i "s|:$port\b|:$free|g" "$work"/blocks/*.sh
done
while read -r language file source; do
    log=$work/$(basename "$file").log
    name=$(basename "${file%.*}")
    (
        set -e
        mkdir -p "$work/in/$name"
        cd "$work/in/$name"
        case $language in
            sh)
                # The two commands of the README that are this very run are looked up instead.
                if grep -q '^make ' "$file"; then
                    grep -oE '^make [a-z]+' "$file" | while read -r _ target; do grep -q "^$target:" "$root/Makefile"; done
                else
                    PATH=$(dirname "$FENCEHOLD"):$PATH timeout 120 bash -euo pipefail -c \
                        'trap "kill \$(jobs -p) 2>/dev/null || true" EXIT; source "$1"' - "$file"
                fi
                ;;
            python) "$FENCEHOLD_PYTHON" -W error "$file" ;;
            js) run_node "$file" ;;
            php) run_php "$file" ;;
            cpp) compile_cpp "$file" block && ./block ;;
            c) compile_c "$file" block && ./block ;;
            rust)
                cp "$file" "$work/rust/src/bin/$name.rs"
                cargo run --quiet --manifest-path "$work/rust/Cargo.toml" --bin "$name"
                ;;
            sql) sqlite3 -bail :memory: ".param init" ".param set :body 'x'" ".param set :fence 7" ".read $file" ;;
            *) echo "no way to run a block in '$language'" && exit 1 ;;
        esac
    ) >"$log" 2>&1 </dev/null
    result $? "$source $language" "$log"
done <"$work/list"

echo "$passed passed, $failed failed"
((failed == 0))
