#!/usr/bin/env bash
# Builds the source distribution, from it the wheel, installs that into a fresh environment and runs the tests from
# outside the tree.
# FENCEHOLD_TEST_PYTHON: which Python to test with (default python3).
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$root/target}
mkdir -p "$CARGO_TARGET_DIR"
python=${FENCEHOLD_TEST_PYTHON:-python3}
work=$CARGO_TARGET_DIR/python
tools=$root/target/tools-venv
[ -x "$tools/bin/maturin" ] || tools=$work/tools
export PIP_DISABLE_PIP_VERSION_CHECK=1

if [ ! -x "$tools/bin/maturin" ]; then
    rm -rf "$tools"
    "$python" -m venv "$tools"
    "$tools/bin/pip" install --quiet 'maturin>=1.9,<2'
fi
rm -rf "$work/wheels" "$work/source" "$work/fresh" "$work/outside" "$work/result.xml"
mkdir -p "$work/source"
# Servers to test with; built beside the rest.
cargo build --quiet --manifest-path "$root/Cargo.toml" -p fencehold-cli &
command=$!
export FENCEHOLD_TEST_COMMAND=$CARGO_TARGET_DIR/debug/fencehold
"$tools/bin/maturin" sdist --manifest-path "$here/Cargo.toml" --out "$work/source"
tar -xzmf "$work"/source/*.tar.gz -C "$work/source" --strip-components=1
# In a target folder of its own: cargo takes two copies of a workspace for one.
CARGO_TARGET_DIR=$work/target "$tools/bin/maturin" build --quiet --profile dev \
    --manifest-path "$work/source/bindings/python/Cargo.toml" --out "$work/wheels"

"$python" -m venv "$work/fresh"
"$work/fresh/bin/pip" install --quiet "$work"/wheels/*.whl 'pytest>=8,<10' 'mypy>=1.11,<3' 'ruff>=0.6,<0.18' 'pyright<2'
wait "$command"
mkdir -p "$work/outside"
cd "$work/outside"
status=0
"$work/fresh/bin/python" -X faulthandler -m pytest -c "$here/pyproject.toml" --rootdir "$here" -p no:cacheprovider \
    -rs -o junit_family=xunit1 --junitxml "$work/result.xml" "$here/tests" "$@" || status=$?
"$work/fresh/bin/python" - "$work/result.xml" <<'COUNT'
import os
import sys
import xml.etree.ElementTree as tree

if not os.path.exists(sys.argv[1]):
    sys.exit(print("the tests did not come to their end\n0 passed, 1 failed"))
suites = tree.parse(sys.argv[1]).getroot().iter("testsuite")
total = {key: 0 for key in ("tests", "failures", "errors", "skipped")}
for suite in suites:
    for key in total:
        total[key] += int(suite.get(key, 0))
failed = total["failures"] + total["errors"]
if total["skipped"]:
    print(f"{total['skipped']} skipped")
print(f"{total['tests'] - failed - total['skipped']} passed, {failed} failed")
COUNT
exit "$status"
