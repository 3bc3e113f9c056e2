"""What the calls of the package cost, beside what one would use instead, in one run.

Run it with an installed release build: python bench/bench.py [--json]. Of filelock and diskcache
those are measured that are installed.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import math
import os
import statistics
import tempfile
import threading
import time
import timeit
from pathlib import Path
from typing import Any, Callable, Dict, List

import fencehold
from fencehold import aio

Row = Dict[str, Any]
now = time.perf_counter_ns


def row(what: str, samples: List[float], each: int = 1) -> Row:
    """A line of the result; `samples` are nanoseconds of one call, `each` calls stand behind one."""
    samples = sorted(samples)
    mean = statistics.fmean(samples)
    return {
        "what": what,
        "count": len(samples) * each,
        "perSecond": 1e9 / mean,
        "medianNs": samples[len(samples) // 2],
        "p99Ns": samples[len(samples) * 99 // 100],
    }


def tiny(scale: float) -> List[Row]:
    """Calls that cost about as much as asking for the time; rounds take turns, so that a busy
    moment of the machine falls on all of them."""
    calls = 100_000
    client = fencehold.Client("memory:")
    lock = client.acquire("bench", ttl="1h")
    checkpoint = client.acquire("checkpoint", ttl="1h", background=False)

    async def awaited() -> aio.Lock:
        return await aio.Client("memory:").acquire("aio", ttl="1h")

    other = asyncio.run(awaited())
    statements = {
        "time.monotonic()": "monotonic()",
        "an empty native call": "empty()",
        "lock.keep_alive()": "lock.keep_alive()",
        "lock.keep_alive(), background=False": "checkpoint.keep_alive()",
        "aio lock.keep_alive()": "other.keep_alive()",
        "keep_alive as a bound method": "bound()",
    }
    names = {
        "monotonic": time.monotonic,
        "empty": gc.isenabled,
        "lock": lock,
        "checkpoint": checkpoint,
        "other": other,
        "bound": lock.keep_alive,
    }
    timers = {name: timeit.Timer(statement, globals=names) for name, statement in statements.items()}
    found: Dict[str, List[float]] = {name: [] for name in timers}
    for _ in range(max(3, int(60 * scale))):
        for name, timer in timers.items():
            found[name].append(timer.timeit(calls) / calls * 1e9)
    assert lock.held and checkpoint.held and other.held
    lock.release()
    checkpoint.release()
    asyncio.run(other.release())
    rows = [row(name, samples, calls) for name, samples in found.items()]
    for one in rows[2:]:
        against(one, rows[0], "at most 1.2 times as long")
    return rows


def against(one: Row, peer: Row, target: str) -> None:
    """Notes how the row compares with its peer."""
    one["peer"] = peer["what"]
    one["timesPeer"] = one["medianNs"] / peer["medianNs"]
    one["target"] = target


def timed(pair: Callable[[], Any], seconds: float) -> List[float]:
    samples: List[float] = []
    end = now() + int(seconds * 1e9)
    while True:
        before = now()
        pair()
        after = now()
        samples.append(after - before)
        if after > end:
            return samples


async def timed_aio(lock: aio.Lock, seconds: float) -> List[float]:
    threads = len(os.listdir("/proc/self/task"))
    samples: List[float] = []
    end = now() + int(seconds * 1e9)
    while True:
        before = now()
        if not (await lock.acquire() and await lock.release()):
            raise SystemExit("not acquired")
        after = now()
        samples.append(after - before)
        if after > end:
            break
    assert len(os.listdir("/proc/self/task")) <= threads, "an uncontended call took a thread"
    return samples


def pairs(scale: float, folder: Path) -> List[Row]:
    """acquire + release of a free lock."""
    rows: List[Row] = []
    seconds = 2 * scale

    def measure(what: str, acquire: Callable[[], Any], release: Callable[[], Any]) -> None:
        def pair() -> None:
            acquire()
            release()

        pair()
        rows.append(row(what, timed(pair, seconds)))

    plain = threading.Lock()
    measure("threading.Lock", plain.acquire, plain.release)
    for url in ("memory:", f"file:{folder}/store"):
        name = url.split(":")[0] + ":"
        # The keeper's thread renews what outlives a third of its lifetime; it has to be there before.
        lock = fencehold.Client(url).lock("n", ttl="30s")
        measure(name, lock.acquire, lock.release)
        checkpoint = fencehold.Client(url).lock("c", ttl="30s", background=False)
        measure(name + ", background=False", checkpoint.acquire, checkpoint.release)

        async def awaited(url: str) -> List[float]:
            lock = aio.Client(url).lock("a", ttl="30s")
            await lock.acquire()
            await lock.release()
            return await timed_aio(lock, seconds)

        rows.append(row(f"{name} aio", asyncio.run(awaited(url))))
    peers: List[tuple[Row, float]] = []
    try:
        import filelock
    except ImportError:
        pass
    else:
        peer = filelock.FileLock(str(folder / "filelock"))
        measure("filelock", peer.acquire, peer.release)
        peers.append((rows[-1], 10))
    try:
        import diskcache
    except ImportError:
        pass
    else:
        cache_lock = diskcache.Lock(diskcache.Cache(str(folder / "diskcache")), "n", expire=30)
        measure("diskcache.Lock", cache_lock.acquire, cache_lock.release)
        peers.append((rows[-1], 3))
    for one in [one for one in rows if one["what"].startswith("file:")]:
        one["rateOfPeers"] = {peer["what"]: one["perSecond"] / peer["perSecond"] for peer, _ in peers}
        one["target"] = ", ".join(f"{times} times {peer['what']}" for peer, times in peers)
    for one in rows:
        one["what"] = f"acquire + release: {one['what']}"
    return rows


def show(one: Row) -> str:
    text = f"{one['what']:50} {one['medianNs']:10.0f} ns {one['p99Ns']:10.0f} ns {one['perSecond']:12.0f} /s"
    if "timesPeer" in one:
        text += f"   {one['timesPeer']:.2f} times {one['peer']}"
    for peer, times in one.get("rateOfPeers", {}).items():
        text += f"   {times:.1f} times {peer}"
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", action="store_true", help="one JSON object instead of a table")
    parser.add_argument("--scale", type=float, default=1.0, help="how long to measure, 1 is about 20 s")
    parser.add_argument("--folder", help="where the file: store and its peers are (default: a temporary folder)")
    asked = parser.parse_args()
    assert math.isfinite(asked.scale) and asked.scale > 0
    with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
        rows = tiny(asked.scale) + pairs(asked.scale, Path(folder))
    if asked.json:
        print(json.dumps({"language": "python", "version": fencehold.__version__, "rows": rows}))
        return
    print(f"{'':50} {'median':>13} {'p99':>13} {'rate':>15}")
    for one in rows:
        print(show(one))


if __name__ == "__main__":
    main()
