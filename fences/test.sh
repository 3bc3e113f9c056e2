#!/usr/bin/env bash
# The fences for what lies outside the store, on real databases, files and servers: a PostgreSQL and a MariaDB of this
# run's own, on loopback ports, as a user without rights. The last line is `N passed, N failed`.
set -uo pipefail
cd "$(dirname "$0")/.."
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}
venv=$CARGO_TARGET_DIR/fences-venv
work=$(mktemp -d)
pids=()
finish() {
    local pid
    for pid in "${pids[@]}"; do kill -TERM "$pid" 2>/dev/null; done
    for pid in "${pids[@]}"; do wait "$pid" 2>/dev/null; done
    rm -rf "$work"
}
trap finish EXIT
fail() { echo "FAIL $1"; tail -n 30 "$work"/*.log 2>/dev/null; echo '0 passed, 1 failed'; exit 1; }
free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }
# Neither database serves root.
as=()
if [[ $(id -u) == 0 ]]; then as=(setpriv --reuid=nobody --regid=nogroup --clear-groups env "HOME=$work/databases"); fi

[[ -x $venv/bin/python ]] || python3 -m venv "$venv" || fail 'venv'
"$venv/bin/python" -c 'import psycopg, pymysql, uvicorn' 2>/dev/null ||
    "$venv/bin/python" -m pip install --quiet --disable-pip-version-check 'psycopg[binary]<4' 'pymysql<2' 'uvicorn<1' || fail 'pip install'

mkdir "$work/databases" "$work/tests"
chmod 711 "$work"
[[ $(id -u) != 0 ]] || chown nobody:nogroup "$work/databases"
cd "$work/databases" || exit 1

binaries=$(find /usr/lib/postgresql/*/bin /usr/bin -maxdepth 1 -name initdb -printf '%h\n' 2>/dev/null | sort -V | tail -n 1)
[[ -n $binaries ]] || fail 'no PostgreSQL; run tools/setup'
postgresql=$(free_port)
"${as[@]}" "$binaries/initdb" -D "$work/databases/pg" -U fences -A trust -E UTF8 --no-sync >"$work/initdb.log" 2>&1 || fail initdb
"${as[@]}" "$binaries/postgres" -D "$work/databases/pg" -p "$postgresql" -h 127.0.0.1 -k "$work/databases" -F \
    >"$work/postgres.log" 2>&1 &
pids+=($!)

maria=$(command -v mariadbd || command -v mysqld || echo /usr/sbin/mariadbd)
[[ -x $maria ]] || fail 'no MariaDB; run tools/setup'
mariadb=$(free_port)
"${as[@]}" mariadb-install-db --no-defaults --datadir="$work/databases/maria" --auth-root-authentication-method=normal \
    --skip-test-db >"$work/install-db.log" 2>&1 || fail mariadb-install-db
"${as[@]}" "$maria" --no-defaults --datadir="$work/databases/maria" --port="$mariadb" --bind-address=127.0.0.1 \
    --socket="$work/databases/maria.sock" --pid-file="$work/databases/maria.pid" --innodb-flush-log-at-trx-commit=0 >"$work/mariadb.log" 2>&1 &
pids+=($!)
for _ in $(seq 300); do
    "$binaries/pg_isready" -q -h 127.0.0.1 -p "$postgresql" && break
    sleep 0.1
done
ready=
for _ in $(seq 300); do
    mariadb --no-defaults -h 127.0.0.1 -P "$mariadb" -u root -e 'CREATE DATABASE fences; CREATE USER fences@"%";
        GRANT ALL ON fences.* TO fences@"%"' >"$work/mariadb-client.log" 2>&1 && ready=yes && break
    sleep 0.1
done
[[ -n $ready ]] || fail 'MariaDB does not answer'
cd "$OLDPWD" || exit 1

PYTHONDONTWRITEBYTECODE=1 timeout 400 "$venv/bin/python" fences/tests/all.py "$work/tests" "$postgresql" "$mariadb"
code=$?
((code <= 1)) || fail "the tests did not end in order: $code"
exit "$code"
