"""What is particular to asyncio."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from pathlib import Path
from typing import Any, Iterator

import pytest

import fencehold
from conftest import until
from fencehold import aio


@pytest.fixture()
def no_executor(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    def refuse(*arguments: Any, **options: Any) -> None:
        raise AssertionError("the default executor is not ours to sit on")

    monkeypatch.setattr(asyncio.BaseEventLoop, "run_in_executor", refuse)
    yield


async def test_what_is_decided_at_once_never_leaves_the_loop(no_executor: None, url: str) -> None:
    lock = aio.Client(url).lock("n", ttl="30s")
    turns = 0

    async def spin() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    spinner = asyncio.ensure_future(spin())
    seen = []
    for _ in range(50):
        before = turns
        assert await lock.acquire() is True
        assert await lock.acquire() is False
        assert await lock.release() is True
        async with lock:
            pass
        seen.append(turns - before)
        await asyncio.sleep(0)
    # A thread that the machine takes away for a millisecond leaves the answer to another one.
    assert seen.count(0) > 25, seen
    spinner.cancel()


async def test_a_store_is_opened_off_the_loop(no_executor: None, tmp_path: Path) -> None:
    """It makes a folder and waits for the disk."""
    lock = aio.Client(f"file:{tmp_path}/store").lock("n", ttl="30s")
    taking = asyncio.ensure_future(lock.acquire())
    await asyncio.sleep(0)
    assert not taking.done(), "the first step of the task did all of it"
    assert await taking is True
    assert await lock.release() is True


async def test_waiting_calls_leave_the_executor_and_the_loop_alone(no_executor: None, url: str) -> None:
    client = aio.Client(url)
    holder = await client.acquire("n", ttl="30s")
    waits = [asyncio.ensure_future(client.lock("n", ttl="30s").acquire(wait="30s")) for _ in range(20)]
    await asyncio.sleep(0.2)
    began = time.monotonic()
    await asyncio.sleep(0.01)
    assert time.monotonic() - began < 0.5
    assert await holder.release()
    await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    assert sum(wait.done() for wait in waits) == 1
    for wait in waits:
        wait.cancel()
    await asyncio.gather(*waits, return_exceptions=True)


async def test_a_time_limit_ends_the_wait_with_nothing_held(url: str) -> None:
    client = aio.Client(url)
    holder = await client.acquire("n", ttl="60s", fair=True)
    waiter = client.lock("n", ttl="60s", fair=True)
    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(waiter.acquire(wait="forever"), 0.2)
    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(client.acquire("n", ttl="60s", wait="forever", fair=True), 0.2)
    assert (await client.show("n")).waiters == ()
    assert await holder.release()
    other = client.lock("n", ttl="60s", fair=True)
    assert await other.acquire(wait="1s")
    assert not waiter.held
    await other.release()


async def test_five_hundred_cancellations_leave_nothing_behind(url: str) -> None:
    client = aio.Client(url)
    holder = client.lock("n", ttl="60s")
    chance = random.Random(78)
    threads = threading.active_count()
    for _ in range(500):
        await holder.acquire(wait="5s")
        waiter = client.lock("n", ttl="60s")
        task = asyncio.ensure_future(waiter.acquire(wait="forever"))
        await asyncio.sleep(chance.random() * 0.002)
        if chance.random() < 0.5:
            await holder.release()
            await asyncio.sleep(chance.random() * 0.0005)
        task.cancel()
        try:
            taken = await task
        except asyncio.CancelledError:
            taken = False
        assert waiter.held is taken
        if taken:
            await waiter.release()
        await holder.release()
    info = await client.show("n")
    assert not info.held and info.waiters == ()
    assert len(asyncio.all_tasks()) <= 2 and threading.active_count() <= threads + 1


async def test_the_scope_form_cancelled_in_its_body_gives_the_lock_back(url: str) -> None:
    client = aio.Client(url)
    entered = asyncio.Event()

    async def work() -> None:
        async with client.acquire("n", ttl="60s"):
            entered.set()
            await asyncio.sleep(60)

    task = asyncio.ensure_future(work())
    await entered.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await client.lock("n", ttl="60s").acquire(wait="1s")
    await client.close()


async def test_a_coroutine_that_is_closed_takes_nothing(url: str) -> None:
    client = aio.Client(url)
    holder = await client.acquire("n", ttl="60s")
    wait = client.lock("n", ttl="60s").acquire(wait="forever")
    wait.send(None)
    await asyncio.sleep(0.05)
    wait.close()
    assert await holder.release()
    other = client.lock("n", ttl="60s")
    assert await other.acquire(wait="2s")
    await other.release()


async def test_acquire_is_awaited_or_entered(url: str) -> None:
    client = aio.Client(url)
    lock = await client.acquire("n", ttl="30s")
    assert isinstance(lock, aio.Lock) and isinstance(client.acquire("n", ttl="30s"), aio.AcquireContext)
    with pytest.raises(fencehold.HeldError):
        await client.acquire("n", ttl="30s")
    with pytest.raises(fencehold.TimedOutError):
        async with client.acquire("n", ttl="30s", wait="50ms"):
            pytest.fail("entered")
    await lock.release()
    async with client.acquire("n", ttl="30s") as lock:
        assert lock.held
    assert not lock.held
    lock = await asyncio.wait_for(client.acquire("n", ttl="30s"), 5)
    await lock.release()


async def test_tasks_share_a_handle(url: str) -> None:
    lock = aio.Client(url).lock("n", ttl="30s", wait="30s")
    inside = 0

    async def work() -> None:
        nonlocal inside
        for _ in range(20):
            async with lock:
                inside += 1
                assert inside == 1
                await asyncio.sleep(0)
                inside -= 1

    await asyncio.gather(*(work() for _ in range(5)))


async def test_a_loss_handler_runs_on_the_loop_that_used_the_lock() -> None:
    lock = aio.Client("memory:").lock("n", ttl="30s")
    told: list[Any] = []

    def handler(reason: str) -> None:
        told.append((reason, asyncio.get_running_loop()))

    await asyncio.to_thread(lock.on_lost, handler)
    await lock.acquire()
    await asyncio.to_thread(lock.lose, "renew")
    await until(lambda: told)
    assert told == [("renew", asyncio.get_running_loop())]


async def test_keep_alive_starts_a_renewal_and_does_not_wait_for_it(url: str) -> None:
    lock = aio.Client(url).lock("n", ttl="600ms", background=False)
    await lock.acquire()
    token = lock.token
    await asyncio.sleep(0.3)
    assert lock.keep_alive() is True
    await until(lambda: lock.token > token)
    assert lock.held
    await lock.release()


def test_one_client_serves_several_loops(url: str) -> None:
    client = aio.Client(url)
    lock = client.lock("n", ttl="30s")

    async def once() -> None:
        assert await lock.acquire(wait="1s")
        assert await client.holders("n")
        assert await lock.release()

    for _ in range(3):
        asyncio.run(once())


async def test_a_cancelled_wait_for_a_loss(url: str) -> None:
    lock = await aio.Client(url).acquire("n", ttl="30s")
    with pytest.raises(asyncio.TimeoutError):
        await asyncio.wait_for(lock.wait_lost(), 0.1)
    assert lock.held and await lock.release()
