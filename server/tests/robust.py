"""What a server has to bear: malformed requests, peers that do not read, and a crowd that waits.

usage: robust.py URL PID malformed|slow|waiting
"""

import contextlib
import json
import pathlib
import random
import resource
import socket
import sys
import time
import urllib.parse
import urllib.request

url, pid = sys.argv[1], int(sys.argv[2])
place = urllib.parse.urlsplit(url)
MALFORMED = 10_000
WAITING = 2_000
SLOW = 50
LIMIT = 60.0  # for anything; a machine may be busy with other things


def call(path, body):
    headers = {"Content-Type": "application/json"}
    request = urllib.request.Request(url + path, data=json.dumps(body).encode(), headers=headers)
    with urllib.request.urlopen(request, timeout=LIMIT) as answer:
        return json.load(answer)["results"][0]


def acquire(name, owner, **more):
    return call("/api/v1/locks", [{"op": "acquire", "name": name, "owner": owner, "ttlSeconds": 60, **more}])


def release(name, token):
    return call("/api/v1/locks", [{"op": "release", "name": name, "token": token}])


def memory():
    status = pathlib.Path(f"/proc/{pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) // 1024


def connect():
    peer = socket.create_connection((place.hostname, place.port), timeout=LIMIT)
    peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return peer


def request(body, length=None, kind="application/json", path="/api/v1/locks"):
    head = f"POST {path} HTTP/1.1\r\nHost: {place.netloc}\r\nContent-Type: {kind}\r\n"
    return head.encode() + f"Content-Length: {len(body) if length is None else length}\r\n\r\n".encode() + body


def seldom(count):
    """How long a lock is taken and given back, at the worst of some."""
    worst = 0.0
    for number in range(count):
        began = time.monotonic()
        grant = acquire(f"seldom-{number}", "a")
        assert grant["acquired"] and release(f"seldom-{number}", grant["token"])["released"], grant
        worst = max(worst, time.monotonic() - began)
    return worst


def malformed():
    """Broken JSON on connections that live, and broken HTTP on those that end. Nothing of it is a grant or a 5xx."""
    rest = random.Random(7)
    before = memory()
    whole = b'[{"op":"acquire","name":"m","owner":"o","ttlSeconds":60}]'
    peer, seen = connect(), {}
    for number in range(MALFORMED):
        body = bytearray(whole)
        for _ in range(rest.randint(1, 6)):
            body[rest.randrange(len(body))] = rest.randrange(256)
        peer.sendall(request(bytes(body) if rest.random() < 0.7 else whole[: rest.randrange(len(whole))]))
        answer = b""
        while b"\r\n\r\n" not in answer:
            part = peer.recv(65536)
            assert part, "the connection was cut for a bad body"
            answer += part
        head, _, text = answer.partition(b"\r\n\r\n")
        length = int(head.lower().split(b"content-length:")[1].split()[0])
        while len(text) < length:
            text += peer.recv(65536)
        status = int(head.split()[1])
        seen[status] = seen.get(status, 0) + 1
        if number % 20 == 0:
            with connect() as bad:
                bad.sendall(bytes(rest.randrange(256) for _ in range(rest.randrange(1, 400))) + b"\r\n\r\n")
                with contextlib.suppress(OSError):  # it may have been cut already, which is right
                    bad.shutdown(socket.SHUT_WR)
                    while bad.recv(65536):
                        pass
    assert set(seen) <= {200, 400} and seen[400] > MALFORMED * 0.8, seen
    assert memory() - before < 64, f"{before} MB became {memory()} MB"
    print(f"     {seen}, {before} to {memory()} MB, then {seldom(50) * 1000:.0f} ms at worst")


def slow():
    """Peers that ask for much and read nothing, and peers that send a byte now and then, hold nobody up."""
    value = "x" * 60_000
    for number in range(200):
        call("/api/v1/kv", [{"op": "put", "ns": "big", "key": f"k{number}", "value": value, "forever": True}])
    before, peers = memory(), []
    body = json.dumps({"namespace": "big", "limit": 1000}).encode()
    for number in range(SLOW):
        peer = connect()
        if number % 2:
            peer.sendall(request(body, path="/api/v1/resources/kv/list"))
        else:
            peer.sendall(request(b"[", length=1000))
        peers.append(peer)
    time.sleep(0.5)
    alone = seldom(50)
    grown = memory() - before
    for peer in peers:
        peer.close()
    assert alone < LIMIT / 2, f"{alone} s beside slow peers"
    # An answer of 4 MB each for those that do not read it, and what making it left behind.
    assert grown < SLOW / 2 * 28, f"{grown} MB for {SLOW} slow peers"
    print(f"     {grown} MB for {SLOW} slow peers, {alone * 1000:.0f} ms at worst beside them")


def waiting():
    """Many connections wait for some locks; others go on, and every release is the next one's grant."""
    names = [f"crowded-{number}" for number in range(20)]
    tokens, before = {name: acquire(name, "first")["token"] for name in names}, memory()
    peers = [connect() for _ in range(WAITING)]
    for number, peer in enumerate(peers):
        name = names[number % len(names)]
        asked = [{"op": "acquire", "name": name, "owner": f"w{number}", "ttlSeconds": 60, "waitMs": 25000}]
        peer.sendall(request(json.dumps(asked).encode()))
    began = time.monotonic()
    polling = 0
    while polling < WAITING and time.monotonic() - began < LIMIT:
        with urllib.request.urlopen(f"{url}/metrics", timeout=LIMIT) as answer:
            polling = int(answer.read().decode().split("\nfencehold_polling ")[1].split()[0])
    assert polling == WAITING, polling
    came = time.monotonic() - began
    grown, beside = memory() - before, seldom(5)
    assert beside < LIMIT / 2, f"{beside} s beside {WAITING} that wait"
    worst = 0.0
    for name, token in list(tokens.items())[:5]:
        first = call("/api/v1/locks", [{"op": "get", "name": name}])["waiting"][0]["owner"]
        began = time.monotonic()
        assert release(name, token)["released"]
        while not (found := call("/api/v1/locks", [{"op": "get", "name": name}])["holders"]):
            assert time.monotonic() - began < LIMIT, "nobody was called"
        worst = max(worst, time.monotonic() - began)
        assert found[0]["token"] > token and found[0]["owner"] == first, (found, first)
    for peer in peers:
        peer.close()
    assert grown < WAITING * 0.1, f"{grown} MB for {WAITING} that wait"
    times = f"{came:.1f} s until all did, {beside * 1000:.0f} ms beside them, a hand-over in {worst * 1000:.0f} ms"
    print(f"     {grown} MB for {WAITING} that wait, {times}")


soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 4096), hard))
{"malformed": malformed, "slow": slow, "waiting": waiting}[sys.argv[3]]()
