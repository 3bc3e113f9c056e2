"""Fork, the end of the interpreter, and what is left behind."""

from __future__ import annotations

import os
import signal
import sys
import time
from typing import Any

import pytest

import fencehold
from conftest import child, run_child

FORK = """
import os, sys, time, warnings, fencehold
warnings.simplefilter("ignore", DeprecationWarning)
client = fencehold.Client(sys.argv[1])
lock = client.acquire("n", ttl="30s")
told = []
lock.on_lost(told.append)
children = []
for number in range(4):
    child = os.fork()
    if child == 0:
        try:
            assert not lock.held and not lock.keep_alive(), "held in a child"
            assert lock.lost_reason == "forked", lock.lost_reason
            assert lock.release() is False
            began = time.monotonic()
            own = (client if number % 2 else fencehold.Client(sys.argv[1])).lock("child", ttl="30s")
            assert own.acquire(wait="5s")
            assert own.fence > 0 and own.keep_alive()
            time.sleep(0.05)
            assert own.release()
            try:
                fencehold.Client(sys.argv[1]).acquire("n", ttl="30s")
            except fencehold.HeldError:
                pass
            else:
                raise AssertionError("taken from the parent")
            os._exit(0)
        except BaseException:
            import traceback
            traceback.print_exc()
            os._exit(1)
    children.append(child)
assert [os.waitpid(child, 0)[1] for child in children] == [0, 0, 0, 0]
assert lock.held and lock.keep_alive() and not told
assert lock.release()
print("fine")
"""


def test_a_child_holds_nothing_and_hangs_nowhere(tmp_path: Any) -> None:
    assert run_child(FORK, f"file:{tmp_path}/store") == "fine\n"


def test_a_pool_of_forked_workers(tmp_path: Any) -> None:
    out = run_child(
        """
import multiprocessing, sys, warnings, fencehold
warnings.simplefilter("ignore", DeprecationWarning)
client = fencehold.Client(sys.argv[1])
with client.acquire("n", ttl="30s"):
    pass
def work(number):
    with client.acquire("n", ttl="30s", wait="20s") as lock:
        return lock.fence
def fail(number):
    client.acquire("busy", ttl="30s")
context = multiprocessing.get_context("fork")
with context.Pool(4) as pool:
    fences = pool.map(work, range(40), chunksize=1)
    assert len(set(fences)) == 40
    with client.acquire("busy", ttl="30s"):
        try:
            pool.map(fail, [1])
        except fencehold.HeldError as error:
            print(error.lock, error.refusal.reason)
""",
        f"file:{tmp_path}/store",
    )
    assert out == "busy held\n"


def test_a_hold_at_exit_is_given_back(tmp_path: Any) -> None:
    url = f"file:{tmp_path}/store"
    out = run_child(
        """
import sys, fencehold
lock = fencehold.Client(sys.argv[1]).lock("n", ttl="30s", crash="expire")
assert lock.acquire()
lock.on_lost(print)
print("end")
""",
        url,
    )
    assert out == "end\n"
    assert fencehold.Client(url).acquire("n", ttl="30s").release()


def test_an_exit_while_threads_wait_does_not_hang(tmp_path: Any) -> None:
    began = time.monotonic()
    run_child(
        """
import sys, threading, time, fencehold
client = fencehold.Client(sys.argv[1])
lock = client.acquire("n", ttl="200ms")
for form in range(3):
    threading.Thread(target=client.lock("n", ttl="30s").acquire, kwargs={"wait": "forever"}, daemon=True).start()
lost = fencehold.Client("memory:").acquire("m", ttl="30s")
def slow(reason):
    time.sleep(0.3)
lost.on_lost(slow)
time.sleep(0.2)
lost.lose("renew")
""",
        f"file:{tmp_path}/store",
    )
    assert time.monotonic() - began < 10


@pytest.mark.parametrize("kind", ["memory:busy", "file:"])
def test_an_exit_while_threads_are_busy(tmp_path: Any, kind: str) -> None:
    """Threads come back from the store, and handlers are called, while the interpreter goes away."""
    program = """
import sys, threading, time, fencehold
client = fencehold.Client(sys.argv[1])
threading.excepthook = lambda args: None
def busy(number):
    lock = client.lock(f"n{number % 2}", ttl="1s", wait="forever")
    other = fencehold.Client("memory:other").lock(f"m{number}", ttl="300ms")
    other.on_lost(lambda reason: time.sleep(0.001))
    while True:
        with lock:
            lock.keep_alive()
        other.acquire()
        other.lose("renew")
        client.holders("n0")
        lock.wait_lost(0.001)
for number in range(6):
    threading.Thread(target=busy, args=(number,), daemon=True).start()
held = fencehold.Client(sys.argv[1]).acquire("held", ttl="30s")
time.sleep(float(sys.argv[2]))
"""
    url = kind + (f"{tmp_path}/store" if kind == "file:" else "")
    for turn in range(5):
        run_child(program, url, str(0.05 + turn / 50))


def test_threads_that_are_no_daemons_finish_their_work(tmp_path: Any) -> None:
    out = run_child(
        """
import sys, threading, time, fencehold
client = fencehold.Client(sys.argv[1])
lock = client.acquire("n", ttl="30s")
def work():
    with client.acquire("n", ttl="30s", wait="20s"):
        time.sleep(0.2)
        print("worked")
threading.Thread(target=work).start()
threading.Timer(0.3, lock.release).start()
""",
        f"file:{tmp_path}/store",
    )
    assert out == "worked\n"


INNER = """
try:
    import fencehold
except ImportError as error:
    print("refused" if "subinterpreter" in str(error) else error, flush=True)
"""


def test_a_subinterpreter_is_told_that_it_cannot() -> None:
    out = run_child(
        """
import sys
try:
    import _interpreters as interpreters
except ImportError:
    import _xxsubinterpreters as interpreters
import fencehold
other = interpreters.create()
interpreters.run_string(other, sys.argv[1])
interpreters.destroy(other)
assert fencehold.Client("memory:").acquire("n", ttl="30s").held
""",
        INNER,
    )
    assert out == "refused\n"


def test_an_asyncio_program_that_just_ends(tmp_path: Any) -> None:
    run_child(
        """
import asyncio, sys
from fencehold import aio
async def main():
    client = aio.Client(sys.argv[1])
    lock = await client.acquire("n", ttl="30s")
    asyncio.ensure_future(client.lock("n", ttl="30s").acquire(wait="forever"))
    await asyncio.sleep(0.1)
asyncio.run(main())
""",
        f"file:{tmp_path}/store",
    )


@pytest.mark.parametrize("background", [True, False])
def test_a_killed_holder_is_replaced(tmp_path: Any, background: bool) -> None:
    url = f"file:{tmp_path}/store"
    process = child(
        """
import sys, time, fencehold
lock = fencehold.Client(sys.argv[1]).acquire("n", ttl="2s", background=sys.argv[2] == "True")
print(lock.fence, flush=True)
time.sleep(60)
""",
        url,
        str(background),
    )
    assert process.stdout is not None
    fence = int(process.stdout.readline())
    waiter = fencehold.Client(url).lock("n", ttl="30s")
    assert not waiter.acquire()
    process.send_signal(signal.SIGKILL)
    began = time.monotonic()
    assert waiter.acquire(wait="10s")
    assert time.monotonic() - began < 3 and waiter.fence > fence
    waiter.release()
    process.wait()
    process.communicate()


def test_a_warning_that_is_an_error_does_no_harm() -> None:
    out = run_child(
        """
import sys, warnings, fencehold
warnings.simplefilter("error")
seen = []
sys.unraisablehook = lambda args: seen.append(args.exc_type)
client = fencehold.Client("memory:")
lock = client.acquire("n", ttl="30s")
try:
    raise KeyError("kept")
except KeyError as error:
    del lock
    assert str(error) == "'kept'"
assert seen == [ResourceWarning], seen
assert client.acquire("n", ttl="30s").release()
"""
    )
    assert out == ""


def test_the_parent_is_named_as_the_owner() -> None:
    lock = fencehold.Client("memory:").lock("n", ttl="30s")
    assert lock.owner.split(":")[-2] == str(os.getpid()) and sys.version_info >= (3, 9)
