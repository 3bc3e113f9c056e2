#!/usr/bin/env bash
# The server as a user has it: the installed command, curl, openssl. What the routes answer is tested by cargo
# (server/tests). The last line is `N passed, N failed`.
set -uo pipefail
cd "$(dirname "$0")/.."
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-$PWD/target}
work=$(mktemp -d)
server=
stop() { [[ -z $server ]] || { kill "$server" 2>/dev/null; wait "$server" 2>/dev/null; server=; }; }
trap 'stop; rm -rf "$work"' EXIT
passed=0
failed=0

check() {   # check WHAT COMMAND…
    local what=$1
    shift
    if "$@" >"$work/log" 2>&1; then
        passed=$((passed + 1))
        echo "ok   $what"
        grep '^     ' "$work/log"
    else
        failed=$((failed + 1))
        echo "FAIL $what"
        tail -n 30 "$work/log" "$work/serve.log" 2>/dev/null
    fi
}

serve() {   # serve OPTION…: starts it on a free port; its address is in $url
    stop
    : >"$work/serve.log"
    "$work/bin/fencehold" serve --data "$work/data" --listen 127.0.0.1:0 "$@" 2>"$work/serve.log" &
    server=$!
    for _ in $(seq 200); do
        url=$(sed -n 's/.*serving \(http[^ ]*\) from.*/\1/p' "$work/serve.log")
        [[ -z $url ]] || return 0
        kill -0 "$server" 2>/dev/null || return 1
        sleep 0.05
    done
    return 1
}
call() { curl -sS --max-time 30 -H 'Content-Type: application/json' "$@"; }
acquire() { call "$url/api/v1/locks" -d "[{\"op\":\"acquire\",\"name\":\"$1\",\"owner\":\"$2\",\"ttlSeconds\":60}]"; }
token_of() { sed -n 's/.*"token":\([0-9]*\).*/\1/p'; }

install() { cargo install --quiet --locked --debug --force --no-track --path cli --root "$work"; }
grants() { [[ $(acquire n a) == *'"acquired":true'* && $(acquire n b) == *'"acquired":false'* ]]; }
survives_kills() {
    local highest=0 token
    for round in $(seq 5); do
        serve || return 1
        token=$(acquire "kill-$round" a | token_of)
        ((token > highest)) || { echo "$token after $highest"; return 1; }
        highest=$token
        kill -9 "$server"
        wait "$server" 2>/dev/null
    done
    serve || return 1
    for round in $(seq 5); do
        [[ $(acquire "kill-$round" b) == *'"owner":"a"'* ]] || return 1
    done
}
one_server_a_folder() {
    local said
    said=$("$work/bin/fencehold" serve --data "$work/data" --listen 127.0.0.1:0 2>&1)
    local code=$?
    echo "$code: $said"
    ((code == 73)) && [[ $said == *"process $server"* ]]
}
is_no_host_store() {
    "$work/bin/fencehold" --store "file:$work/host" run n -- true || return 1
    "$work/bin/fencehold" serve --data "$work/host" --listen 127.0.0.1:0
    [[ $? == 73 ]] || return 1
    "$work/bin/fencehold" --store "file:$work/data" run n -- true
    [[ $? == 73 ]]
}
wants_tokens() {
    "$work/bin/fencehold" serve --data "$work/other" --listen 0.0.0.0:0
    [[ $? == 64 ]]
}
speaks_tls() {
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout "$work/key.pem" \
        -out "$work/$1.pem" -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost,IP:127.0.0.1 || return 1
    cp "$work/$1.pem" "$work/cert.pem"
}
answers_tls() { [[ $(call --cacert "$work/$1.pem" "$url/health") == *healthy* ]]; }
reads_again() {
    speaks_tls second && kill -HUP "$server" || return 1
    for _ in $(seq 100); do
        answers_tls second 2>/dev/null && return 0
        sleep 0.05
    done
    return 1
}
run_over_http() {
    [[ $("$work/bin/fencehold" --store "$url" run job -- sh -c 'echo "$FENCEHOLD_NAME"') == job ]]
}
keeps_room_for_renewals() {   # a full disk, played by a limit on the size of files
    local body status token
    stop
    rm -rf "$work/data"
    : >"$work/serve.log"
    (trap '' XFSZ; ulimit -f 9000; exec "$work/bin/fencehold" serve --data "$work/data" --listen 127.0.0.1:0) \
        2>"$work/serve.log" &
    server=$!
    for _ in $(seq 200); do
        url=$(sed -n 's/.*serving \(http[^ ]*\) from.*/\1/p' "$work/serve.log")
        [[ -z $url ]] || break
        sleep 0.05
    done
    token=$(acquire full a | token_of)
    for n in $(seq 400); do
        body="[{\"op\":\"put\",\"ns\":\"n\",\"key\":\"k$n\",\"value\":\"$(printf '%060000d' 0)\",\"forever\":true}]"
        status=$(call -o /dev/null -w '%{http_code}' "$url/api/v1/kv" -d @- <<<"$body")
        [[ $status == 507 ]] && break
        [[ $status == 200 ]] || { echo "put $n: $status"; return 1; }
    done
    echo "full after $n: $status"
    [[ $status == 507 ]] || return 1
    for _ in $(seq 50); do
        token=$(call "$url/api/v1/locks" \
            -d "[{\"op\":\"renew\",\"name\":\"full\",\"token\":$token,\"ttlSeconds\":60}]" | token_of)
        [[ -n $token ]] || return 1
    done
    [[ $(call "$url/api/v1/locks" -d "[{\"op\":\"release\",\"name\":\"full\",\"token\":$token}]") == *'"released":true'* ]]
}
bears() {   # bears WHAT: see server/tests/robust.py
    python3 server/tests/robust.py "$url" "$server" "$1" || return 1
    kill -0 "$server" && [[ $(call "$url/health") == *healthy* ]]
}
# A proxy that cuts every request after 2 s without traffic: who waits in a fair line keeps the place through the cuts.
behind_nginx() {
    local port nginx code first second order=$work/order
    port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
    cat >"$work/nginx.conf" <<CONF
daemon off; pid $work/nginx.pid; error_log $work/nginx.log;
events { worker_connections 256; }
http {
    access_log $work/access.log; client_body_temp_path $work/nginx-body; proxy_temp_path $work/nginx-proxy;
    fastcgi_temp_path $work/nginx-a; uwsgi_temp_path $work/nginx-b; scgi_temp_path $work/nginx-c;
    server { listen 127.0.0.1:$port; location / { proxy_pass $url; proxy_read_timeout 2s; } }
}
CONF
    chmod 711 "$work"
    nginx -c "$work/nginx.conf" 2>>"$work/serve.log" &
    nginx=$!
    for _ in $(seq 100); do curl -fs "http://127.0.0.1:$port/health" >/dev/null && break; sleep 0.05; done
    rm -f "$order"
    local token by=("$work/bin/fencehold" --store "http://127.0.0.1:$port" run cut --ttl 20s --fair --wait 100s)
    token=$(call "$url/api/v1/locks" -d '[{"op":"acquire","name":"cut","owner":"holder","ttlSeconds":90}]' | token_of)
    "${by[@]}" -- sh -c "date +%s.%N >'$work/got'; echo first >>'$order'" &
    first=$!
    sleep 1
    "${by[@]}" -- sh -c "echo second >>'$order'" &
    second=$!
    sleep 8
    date +%s.%N >"$work/gave"
    [[ $(call "$url/api/v1/locks" -d "[{\"op\":\"release\",\"name\":\"cut\",\"token\":$token}]") == *'"released":true'* ]] || code=1
    wait "$first" || code=1
    wait "$second" || code=1
    kill "$nginx"
    wait "$nginx"
    echo "cuts: $(grep -c ' 504 ' "$work/access.log"), granted after $(<"$work/gave") at $(<"$work/got")"
    [[ -z ${code-} && $(tr '\n' ' ' <"$order") == 'first second ' ]] && (($(grep -c ' 504 ' "$work/access.log") >= 2)) &&
        awk -v gave="$(<"$work/gave")" -v got="$(<"$work/got")" 'BEGIN { exit !(got - gave < 5) }'
}
# The folder of a stopped server is its backup. What was granted since is forgotten then, but no token comes again.
restores() {
    local old new
    stop
    rm -rf "$work/data" "$work/backup"
    serve && acquire kept a >/dev/null || return 1
    stop
    cp -a "$work/data" "$work/backup"
    serve || return 1
    for _ in $(seq 300); do old=$(acquire "after-$_" a | token_of); done
    stop
    rm -rf "$work/data"
    cp -a "$work/backup" "$work/data"
    serve || return 1
    [[ $(acquire kept b) == *'"acquired":false'* ]] || return 1
    new=$(acquire after-1 b | token_of)
    echo "$old, and after the restore $new"
    ((new > old))
}
ends_when_told() {
    kill -TERM "$server"
    wait "$server"
    local code=$?
    server=
    ((code == 0))
}

check 'cargo install' install
check 'it serves' serve
check 'one holder at a time, over curl' grants
check 'a command runs under a lock of it' run_over_http
check 'ten thousand malformed requests' bears malformed
check 'peers that do not read' bears slow
check 'two thousand that wait' bears waiting
check 'a fair place is kept behind a proxy that cuts' behind_nginx
check 'one server a folder' one_server_a_folder
check 'it ends when told to' ends_when_told
check 'what was granted survives kills, and tokens rise' survives_kills
check 'a restored backup gives no token twice' restores
stop
check 'a folder of a host is refused, and ours by a host' is_no_host_store
check 'without tokens it stays on this machine' wants_tokens
check 'certificates are made' speaks_tls first
check 'it serves over TLS' serve --tls-cert "$work/cert.pem" --tls-key "$work/key.pem"
check 'curl trusts it' answers_tls first
check 'SIGHUP reads the certificate again' reads_again

check 'a full disk refuses rows, and renewals and releases go on' keeps_room_for_renewals

echo "$passed passed, $failed failed"
((failed == 0))
