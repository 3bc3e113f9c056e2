"""What `threading.Lock` promises, asked of ours."""

from __future__ import annotations

import fcntl
import threading
import time
from pathlib import Path
from typing import Any, Callable, Iterator

import pytest

import fencehold


class Counter:
    """A thread that comes every 10 ms, if it can."""

    def __init__(self) -> None:
        self._gaps: list[float] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._count)
        self._thread.start()

    def _count(self) -> None:
        before = time.monotonic()
        while not self._stop.is_set():
            time.sleep(0.01)
            now = time.monotonic()
            self._gaps.append(now - before)
            before = now

    def longest_gap(self) -> float:
        self._stop.set()
        self._thread.join()
        assert len(self._gaps) > 20
        return max(self._gaps)


@pytest.fixture()
def client() -> Iterator[fencehold.Client]:
    with fencehold.Client("memory:") as client:
        yield client


def together(count: int, work: Callable[[], None]) -> None:
    """Runs `work` in threads to its end and raises what it raised."""
    failed: list[BaseException] = []

    def guarded() -> None:
        try:
            work()
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=guarded) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive(), "it hangs"
    if failed:
        raise failed[0]


def test_a_new_lock_is_free(client: fencehold.Client) -> None:
    lock = client.lock("n", ttl="30s")
    assert not lock.locked()
    assert lock.acquire() and lock.locked()
    assert lock.release() and not lock.locked()


def test_a_try_does_not_wait(client: fencehold.Client) -> None:
    lock = client.lock("n", ttl="30s")
    lock.acquire()
    answers: list[bool] = []
    together(1, lambda: answers.append(client.lock("n", ttl="30s").acquire(False)))
    assert answers == [False]
    lock.release()


def test_another_thread_may_release(client: fencehold.Client) -> None:
    lock = client.lock("n", ttl="30s")
    lock.acquire()
    together(1, lambda: assert_true(lock.release()))
    assert lock.acquire()
    lock.release()


def assert_true(value: bool) -> None:
    assert value


def test_contention_of_one_shared_handle(client: fencehold.Client) -> None:
    lock = client.lock("n", ttl="30s", wait="forever")
    inside = 0

    def work() -> None:
        nonlocal inside
        for _ in range(50):
            with lock:
                inside += 1
                assert inside == 1
                inside -= 1

    together(5, work)
    assert not lock.held


def test_contention_of_handles(client: fencehold.Client) -> None:
    inside = 0

    def work() -> None:
        nonlocal inside
        lock = client.lock("n", ttl="30s", wait="forever")
        for _ in range(50):
            with lock:
                inside += 1
                assert inside == 1
                inside -= 1

    together(5, work)


def test_a_timeout_is_about_as_long_as_asked(client: fencehold.Client) -> None:
    holder = client.acquire("n", ttl="30s")
    began = time.monotonic()
    assert not client.lock("n", ttl="30s").acquire(timeout=0.3)
    assert 0.29 < time.monotonic() - began < 1.5
    holder.release()


def test_it_is_given_back_when_the_body_raises(client: fencehold.Client) -> None:
    lock = client.lock("n", ttl="30s")
    with pytest.raises(TypeError), lock:
        raise TypeError
    assert not lock.locked()


def test_a_condition_works_on_it(client: fencehold.Client) -> None:
    lock: Any = client.lock("n", ttl="30s", wait="forever")
    condition = threading.Condition(lock)
    got: list[int] = []

    def consumer() -> None:
        with condition:
            assert condition.wait_for(lambda: got, timeout=20)

    thread = threading.Thread(target=consumer)
    thread.start()
    time.sleep(0.05)
    with condition:
        got.append(1)
        condition.notify_all()
    thread.join(20)
    assert not thread.is_alive()


def test_a_waiting_thread_does_not_hold_up_the_others(client: fencehold.Client) -> None:
    """S76: the interpreter's lock is free during a wait, and a release elsewhere ends it."""
    holder = client.acquire("n", ttl="30s")
    waiter = client.lock("n", ttl="30s")
    counter = Counter()
    thread = threading.Thread(target=lambda: assert_true(waiter.acquire(wait="30s")))
    thread.start()
    time.sleep(1)
    holder.release()
    began = time.monotonic()
    thread.join(20)
    assert time.monotonic() - began < 2 and waiter.held
    assert counter.longest_gap() < 0.5
    waiter.release()


def test_a_store_that_stands_still_does_not_hold_up_the_others(tmp_path: Path) -> None:
    """S76: each call waits for a store that somebody keeps for 0.7 s, again and again."""
    client = fencehold.Client(f"file:{tmp_path}/store")
    lock = client.lock("n", ttl="4s", background=False)
    assert lock.acquire() and lock.release()
    stop = threading.Event()
    kept = threading.Event()

    def keep_the_store() -> None:
        with open(tmp_path / "store" / "lock", "rb") as file:
            while not stop.is_set():
                fcntl.flock(file, fcntl.LOCK_EX)
                kept.set()
                time.sleep(0.7)
                fcntl.flock(file, fcntl.LOCK_UN)
                time.sleep(0.02)

    keeper = threading.Thread(target=keep_the_store)
    keeper.start()
    kept.wait()
    counter = Counter()
    began = time.monotonic()
    try:
        assert lock.acquire(wait="20s")
        waited = time.monotonic() - began
        time.sleep(1.5)
        assert lock.keep_alive()
        assert client.holders("n")[0].owner == lock.owner
        lock.release()
        client.ping()
        client.close()
    finally:
        gap = counter.longest_gap()
        stop.set()
        keeper.join()
    assert waited > 0.5, "the store was free"
    assert gap < 0.5


def test_a_cancel_ends_every_wait_and_only_those_it_was_given_to(client: fencehold.Client) -> None:
    holder = client.acquire("n", ttl="30s")
    cancel = fencehold.Cancel()
    ended: list[float] = []

    def wait() -> None:
        with pytest.raises(fencehold.CancelledError):
            client.lock("n", ttl="30s").acquire(wait="forever", cancel=cancel)
        ended.append(time.monotonic())

    other = threading.Thread(target=lambda: assert_true(client.lock("n", ttl="30s").acquire(wait="30s")))
    other.start()
    triggered: list[float] = []

    def trigger() -> None:
        time.sleep(0.3)
        triggered.append(time.monotonic())
        cancel.trigger()

    stopper = threading.Thread(target=trigger)
    stopper.start()
    together(12, wait)
    stopper.join()
    assert len(ended) == 12 and max(ended) - triggered[0] < 1
    assert other.is_alive()
    with pytest.raises(fencehold.CancelledError):
        client.acquire("n", ttl="30s", wait="1s", cancel=cancel)
    holder.release()
    other.join(10)
    assert not other.is_alive()
