"""What keep_alive() costs beside asking for the time and beside a native call that does nothing.

Run it with an installed release build: python bench/keep_alive.py
"""

from __future__ import annotations

import gc
import statistics
import time
import timeit
from typing import Dict, List

import fencehold
from fencehold import _native, aio

ROUNDS = 30
CALLS = 300_000


def main() -> None:
    client = fencehold.Client("memory:")
    lock = client.acquire("bench", ttl="1h")
    checkpoint = client.acquire("checkpoint", ttl="1h", background=False)
    other = aio.Lock(aio.Client("memory:")._handle("aio", None, ttl="1h"))
    _native.acquire_at_once(other, 0)
    statements = {
        "time.monotonic()": "monotonic()",
        "an empty native call": "empty()",
        "lock.keep_alive()": "lock.keep_alive()",
        "lock.keep_alive(), background=False": "checkpoint.keep_alive()",
        "aio lock.keep_alive()": "other.keep_alive()",
        "the bound method": "bound()",
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
    # Rounds take turns, so that a busy moment of the machine falls on all of them.
    found: Dict[str, List[float]] = {name: [] for name in timers}
    for _ in range(ROUNDS):
        for name, timer in timers.items():
            found[name].append(timer.timeit(CALLS) / CALLS * 1e9)
    clock = statistics.median(found["time.monotonic()"])
    for name, rounds in found.items():
        middle = statistics.median(rounds)
        print(f"{name:40} {middle:7.1f} ns   {middle / clock:5.2f} times time.monotonic()")
    assert lock.held and checkpoint.held and other.held
    lock.release()
    checkpoint.release()
    _native.release_at_once(other)


if __name__ == "__main__":
    main()
