#!/usr/bin/env bash
# `make demo`: builds the programs and lets them contend. usage: demo.sh [SECONDS]
set -euo pipefail
cd "$(dirname "$0")/../.."
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}
source tests/built.sh
source examples/nightly/programs.sh
build_programs

folder=$(mktemp -d "${TMPDIR:-/tmp}/fencehold-demo.XXXXXX")
trap 'rm -rf "$folder"' EXIT
commands=()
for who in "${programs[@]}"; do
    commands+=("$(contender "$who")")
done
PATH=$(dirname "$FENCEHOLD"):$PATH python3 examples/nightly/demo.py "$folder" "${1:-8}" "${commands[@]}"
