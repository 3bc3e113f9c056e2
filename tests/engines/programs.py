"""Programs that contend for a lock: ours and those of the engines' own clients."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from cluster import Cluster, Etcd, wait_for

FENCEHOLD = os.environ["FENCEHOLD"]

# A holder writes its name when it enters and when it leaves, and stays until its file is gone.
BODY = 'echo "in $0" >>"$1"; while [ -e "$2" ]; do sleep 0.02; done; echo "out $0" >>"$1"'

KAZOO = """
import sys, time
from pathlib import Path
from kazoo.client import KazooClient
hosts, path, name, log, gate, timeout, patterns = sys.argv[1:8]
client = KazooClient(hosts, timeout=float(timeout))
client.start()
lock = client.Lock(path, name, extra_lock_patterns=[patterns] if patterns else [])
lock.acquire()
with open(log, "a") as out:
    print("in", name, file=out)
while Path(gate).exists():
    time.sleep(0.02)
with open(log, "a") as out:
    print("out", name, file=out)
lock.release()
client.stop()
"""


class Contender:
    """A program that takes the lock, writes so, and gives it back when it is told to."""

    def __init__(self, folder: Path, name: str, command: Callable[[str, str, str], list[str]]) -> None:
        self.name = name
        self.log = folder / "log"
        self.gate = folder / f"gate-{name}"
        self.gate.touch()
        self.process = subprocess.Popen(
            command(name, str(self.log), str(self.gate)),
            env={**os.environ, "ETCDCTL_API": "3"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )

    def is_in(self) -> bool:
        return self.log.exists() and f"in {self.name}" in self.log.read_text().splitlines()

    def enters(self, limit: float = 30) -> None:
        wait_for(f"{self.name} to enter", self.is_in, limit)

    def stays_out(self) -> None:
        time.sleep(0.7)
        assert not self.is_in(), f"{self.name} entered"

    def leave(self) -> None:
        self.gate.unlink()

    def done(self) -> None:
        self.leave()
        assert self.process.wait(30) == 0, f"{self.name} failed"

    def kill(self) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


def ours(url: str, lock: str, ttl: str = "4s") -> Callable[[str, str, str], list[str]]:
    def command(name: str, log: str, gate: str) -> list[str]:
        return [
            FENCEHOLD,
            "run",
            lock,
            "--store",
            url,
            "--ttl",
            ttl,
            "--wait",
            "forever",
            "--owner",
            name,
            "--",
            "sh",
            "-c",
            BODY,
            name,
            log,
            gate,
        ]

    return command


def etcdctl(cluster: Etcd, lock: str, ttl: int = 4) -> Callable[[str, str, str], list[str]]:
    def command(name: str, log: str, gate: str) -> list[str]:
        return [
            "etcdctl",
            "--endpoints",
            ",".join(cluster.places),
            "lock",
            "--ttl",
            str(ttl),
            "--",
            lock,
            "sh",
            "-c",
            BODY,
            name,
            log,
            gate,
        ]

    return command


def kazoo(hosts: str, path: str, patterns: str = "", timeout: float = 4) -> Callable[[str, str, str], list[str]]:
    def command(name: str, log: str, gate: str) -> list[str]:
        return [sys.executable, "-c", KAZOO, hosts, path, name, log, gate, str(timeout), patterns]

    return command


def waiting(cluster: Cluster, lock: str) -> int:
    """How many wait for the lock, as our command shows it."""
    said = subprocess.run(
        [FENCEHOLD, "show", lock, "--store", cluster.url, "--json"], capture_output=True, text=True, check=False
    )
    return int(json.loads(said.stdout)["waiting"]) if said.returncode in (0, 1) else -1


def try_once(cluster: Cluster, lock: str) -> int:
    """The exit code of one try of ours."""
    said = subprocess.run(
        [FENCEHOLD, "run", lock, "--store", cluster.url, "--ttl", "4s", "--", "true"], capture_output=True, check=False
    )
    return said.returncode


def check_log(log: Path, names: list[str]) -> None:
    """Everybody was in, alone and in this order; who was killed has no end."""
    lines = log.read_text().splitlines()
    assert [line[3:] for line in lines if line.startswith("in ")] == names, lines
    inside = None
    for line in lines:
        verb, name = line.split(" ", 1)
        if verb == "out":
            assert inside == name, lines
        inside = name if verb == "in" else None
