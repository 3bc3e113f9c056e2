#!/usr/bin/env bash
# The stores on real engines: PostgreSQL, and three nodes of etcd and of ZooKeeper, from this system's packages, with
# etcd's own command, kazoo and users' transactions beside ours, and with nodes that fail. The last line is `N passed, N failed`.
set -euo pipefail
cd "$(dirname "$0")/../.."
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}
for name in $(compgen -e | grep '^FENCEHOLD_' || true); do unset "$name"; done
venv=$CARGO_TARGET_DIR/engines-venv
if ! "$venv/bin/python" -c 'import kazoo, psycopg' 2>/dev/null; then
    python3 -m venv "$venv"
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check 'kazoo>=2.10,<3' \
        'psycopg[binary]>=3.1,<4'
fi
cargo build --quiet -p fencehold-cli
FENCEHOLD=$CARGO_TARGET_DIR/debug/fencehold exec "$venv/bin/python" tests/engines/run.py
