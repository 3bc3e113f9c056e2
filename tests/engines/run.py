"""Our locks beside the engines' own clients, on real clusters, under faults. Ends with `N passed, N failed`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable
from functools import partial
from pathlib import Path

import database
from cluster import Cluster, Etcd, Postgres, ZooKeeper, wait_for
from programs import FENCEHOLD, Contender, check_log, etcdctl, kazoo, ours, try_once, waiting

HELD = 75


def both_ways(cluster: Cluster, theirs: Callable[..., object], mine: Callable[..., object], lock: str) -> None:
    """Each excludes the other, in the order of arrival."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        first = Contender(folder, "theirs-1", theirs)
        first.enters()
        assert try_once(cluster, lock) == HELD, "we entered although they hold it"
        second = Contender(folder, "ours-2", mine)
        wait_for("our waiter", lambda: waiting(cluster, lock) == 1)
        third = Contender(folder, "theirs-3", theirs)
        wait_for("their waiter", lambda: waiting(cluster, lock) == 2)
        fourth = Contender(folder, "ours-4", mine)
        wait_for("our second waiter", lambda: waiting(cluster, lock) == 3)
        for holder, following in [(first, second), (second, third), (third, fourth)]:
            following.stays_out()
            holder.leave()
            following.enters()
        fourth.leave()
        for contender in (first, second, third, fourth):
            assert contender.process.wait(30) == 0, contender.name
        check_log(folder / "log", ["theirs-1", "ours-2", "theirs-3", "ours-4"])
        assert try_once(cluster, lock) == 0, "something was left behind"


def killed_holders(cluster: Cluster, theirs: Callable[..., object], mine: Callable[..., object], lock: str) -> None:
    """A killed holder of either kind is replaced when its lease has ended, and not before it could."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for kind, holding, following in [("a", theirs, mine), ("b", mine, theirs)]:
            holder = Contender(folder, f"{kind}-dies", holding)
            holder.enters()
            waiter = Contender(folder, f"{kind}-follows", following)
            wait_for("the waiter", lambda: waiting(cluster, lock) == 1)
            holder.kill()
            waiter.enters(40)
            waiter.done()
        check_log(folder / "log", ["a-dies", "a-follows", "b-dies", "b-follows"])


def under_faults(cluster: Cluster, fault: Callable[[Cluster], None], lock: str) -> None:
    """Programs take turns while servers fail: never two at once by fence, and every one of them goes on."""
    with tempfile.TemporaryDirectory() as name:
        log = Path(name) / "log"
        body = 'echo "in $FENCEHOLD_FENCE" >>"$0"; sleep 0.01; echo "out $FENCEHOLD_FENCE" >>"$0"'
        stop = threading.Event()
        codes: list[int] = []

        def work() -> None:
            while not stop.is_set():
                said = subprocess.run(
                    [
                        FENCEHOLD,
                        "run",
                        lock,
                        "--store",
                        cluster.url,
                        "--ttl",
                        "6s",
                        "--wait",
                        "20s",
                        "--",
                        "sh",
                        "-c",
                        body,
                        str(log),
                    ],
                    capture_output=True,
                    check=False,
                )
                codes.append(said.returncode)

        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        wait_for("the first turns", lambda: log.exists() and log.read_text().count("out ") > 3)
        fault(cluster)
        after = log.read_text().count("out ")
        wait_for("turns after the fault", lambda: log.read_text().count("out ") > after + 5)
        stop.set()
        for thread in threads:
            thread.join()
        fences, inside = [], None
        for line in log.read_text().splitlines():
            verb, fence = line.split()
            if verb == "in":
                fences.append(int(fence))
                assert inside is None or int(fence) > inside, "an earlier fence after a later one"
                inside = int(fence)
        assert fences == sorted(set(fences)), "fences have to rise"
        # A turn may be lost to a fault; most are not.
        assert codes.count(0) >= len(fences) * 0.7, codes


def kill_leader(cluster: Cluster) -> None:
    at = cluster.leader()  # type: ignore[attr-defined]
    cluster.nodes[at].stop()
    time.sleep(3)
    cluster.nodes[at].start()
    cluster.wait()


def pause_a_node(cluster: Cluster) -> None:
    cluster.nodes[0].signal(signal.SIGSTOP)
    time.sleep(3)
    cluster.nodes[0].signal(signal.SIGCONT)
    cluster.wait()


def restart_all(cluster: Cluster) -> None:
    for node in cluster.nodes:
        node.stop()
    for node in cluster.nodes:
        node.start()
    cluster.wait()


def conformance(cluster: Cluster) -> tuple[int, int]:
    """The suite that every store has to pass."""
    kind = cluster.url.split(":")[0]
    said = subprocess.run(
        ["cargo", "test", "--quiet", "-p", "fencehold", "--test", "conformance", "--", f"on {kind}:"],
        env={**os.environ, "FENCEHOLD_CONFORMANCE": cluster.url},
        capture_output=True,
        text=True,
        check=False,
    )
    lines = [line for line in said.stdout.splitlines() if line.startswith("test ") and f" on {kind}: ... " in line]
    passed = sum(line.endswith("... ok") for line in lines)
    failed = len(lines) - passed
    if failed or not passed:
        print("\n".join((said.stdout + said.stderr).splitlines()[-80:]))
    return passed, max(failed, int(passed == 0))


def main() -> int:
    passed = failed = 0

    def case(title: str, body: Callable[[], None]) -> None:
        nonlocal passed, failed
        try:
            body()
        except (AssertionError, OSError, ValueError, subprocess.SubprocessError):
            failed += 1
            print(f"FAIL {title}")
            traceback.print_exc(file=sys.stdout)
        else:
            passed += 1
            print(f"ok   {title}")
        sys.stdout.flush()

    for engine in (Postgres, Etcd, ZooKeeper):
        with engine() as cluster:
            kind = engine.__name__
            if isinstance(cluster, Postgres):
                for title, body in database.cases(cluster):
                    case(f"{kind}: {title}", body)
            more = conformance(cluster)
            print(f"     {kind}, conformance: {more[0]} passed, {more[1]} failed")
            passed, failed = passed + more[0], failed + more[1]
            peers: list[tuple[str, Callable[..., object], str]] = []
            if isinstance(cluster, Etcd):
                peers = [("etcdctl lock", etcdctl(cluster, "jobs/nightly"), cluster.url)]
            elif isinstance(cluster, ZooKeeper):
                path = "/locks/jobs/nightly"
                peers = [
                    ("kazoo's lock", kazoo(cluster.hosts, path), cluster.url),
                    (
                        "kazoo's lock, our nodes named as Curator's",
                        kazoo(cluster.hosts, path, "-lock-"),
                        cluster.url + "?layout=curator",
                    ),
                ]
            for title, theirs, url in peers:
                parts = (cluster, theirs, ours(url, "jobs/nightly"), "jobs/nightly")
                case(f"{kind}: {title} and ours exclude each other", partial(both_ways, *parts))
                case(f"{kind}: {title} and ours replace killed holders", partial(killed_holders, *parts))
            faults: list[tuple[str, Callable[..., None]]] = [
                ("its leader is killed", kill_leader),
                ("a node stands still", pause_a_node),
                ("all of it restarts", restart_all),
            ]
            if isinstance(cluster, Postgres):
                faults = [("it restarts", restart_all), ("its connections are ended", database.end_connections)]
            for title, fault in faults:
                name = f"faults-{fault.__name__}"
                case(f"{kind}: turns go on when {title}", partial(under_faults, cluster, fault, name))
    print(f"{passed} passed, {failed} failed")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
