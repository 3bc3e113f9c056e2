"""The handle, plain and asyncio: what Python adds to the scenarios."""

from __future__ import annotations

import asyncio
import datetime
import gc
import logging
import threading
import time
import weakref
from typing import Any

import pytest

import fencehold
from conftest import Flavour, until


class Ouch(Exception):
    pass


async def test_a_with_statement_takes_the_lock_and_gives_it_back(api: Flavour, url: str) -> None:
    client, other = api.Client(url), api.Client(url)
    async with api.scope(client.lock("n", ttl="30s")) as lock:
        assert lock.held and lock.locked() and not lock.lost and not lock.at_risk
        assert lock.fence == lock.token > 0 and lock.slot == 0
        stranger = other.lock("n", ttl="30s")
        assert await api.do(stranger.acquire()) is False
        assert stranger.refusal is not None and stranger.refusal.reason == "held"
        assert stranger.refusal.holders[0].owner == lock.owner
    assert not lock.held and lock.lost_reason is None
    assert await api.do(stranger.acquire()) is True
    assert await api.do(stranger.release()) is True
    assert await api.do(stranger.release()) is False


async def test_a_with_statement_raises_instead_of_entering(api: Flavour, url: str) -> None:
    client = api.Client(url)
    holder = await api.do(client.acquire("n", ttl="30s", label="billing"))
    with pytest.raises(fencehold.HeldError) as held:
        async with api.scope(client.lock("n", ttl="30s")):
            pytest.fail("entered")
    error = held.value
    assert not isinstance(error, fencehold.TimedOutError)
    assert (error.kind, error.lock, error.retry) == ("held", "n", "later")
    assert error.refusal is not None and error.refusal.holders[0].label == "billing"
    assert "billing" in str(error) and holder.owner in str(error)
    with pytest.raises(TimeoutError) as over:
        async with api.scope(client.acquire("n", ttl="30s", wait="50ms")):
            pytest.fail("entered")
    assert isinstance(over.value, fencehold.TimedOutError)
    assert isinstance(over.value, fencehold.HeldError) and over.value.kind == "timed_out"
    await api.do(holder.release())


async def test_acquire_of_the_client_is_entered_as_it_is(api: Flavour, url: str) -> None:
    client = api.Client(url)
    lock = await api.do(client.acquire("n", ttl="30s"))
    fence = lock.fence
    async with api.scope(lock) as entered:
        assert entered is lock and lock.fence == fence
    assert not lock.held
    async with api.scope(lock):
        assert lock.held and lock.fence > fence
    async with api.scope(client.acquire("n", ttl="30s", wait="1s")) as lock:
        assert lock.held
    assert not lock.held


async def test_a_handle_that_holds_is_refused_a_second_with(api: Flavour, url: str) -> None:
    lock = api.Client(url).lock("n", ttl="30s")
    async with api.scope(lock):
        with pytest.raises(fencehold.HeldError) as held:
            async with api.scope(lock):
                pytest.fail("entered")
        assert held.value.refusal is not None and held.value.refusal.reason == "held_here"
        assert lock.held
    assert not lock.held


async def test_a_reentrant_handle_nests(api: Flavour, url: str) -> None:
    lock = api.Client(url).lock("n", ttl="30s", reentrant=True)
    async with api.scope(lock):
        fence = lock.fence
        async with api.scope(lock):
            assert lock.fence == fence
        assert lock.held and lock.fence == fence
    assert not lock.held


async def test_the_error_of_the_body_comes_first_with_ours_attached(api: Flavour) -> None:
    client = api.Client("memory:?clock=manual")
    lock = client.lock("n", ttl="2s", background=False)
    with pytest.raises(Ouch) as raised:
        async with api.scope(lock):
            client.advance("3s")
            raise Ouch("the body")
    ours = raised.value.__context__
    assert isinstance(ours, fencehold.LostError)
    if hasattr(raised.value, "__notes__"):
        assert str(ours) in raised.value.__notes__[0]
    first = KeyError("first")
    with pytest.raises(Ouch) as raised:
        async with api.scope(lock):
            client.advance("3s")
            try:
                raise first
            except KeyError:
                raise Ouch from None
    assert raised.value.__context__ is first
    assert isinstance(first.__context__, fencehold.LostError)


async def test_a_body_that_outlived_its_lease_is_told(api: Flavour) -> None:
    client = api.Client("memory:?clock=manual")
    lock = client.lock("n", ttl="2s", background=False)
    with pytest.raises(fencehold.LostError) as lost:
        async with api.scope(lock):
            client.advance("3s")
    error = lost.value
    assert (error.kind, error.retry, error.lock) == ("lost", "check_first", "n")
    assert error.late_by is not None
    assert datetime.timedelta(seconds=0.8) < error.late_by < datetime.timedelta(seconds=1.3)
    assert lock.lost_reason == "expired" and lock.lost

    async def body() -> int:
        client.advance("3s")
        return 42

    with pytest.raises(fencehold.LostError) as lost:
        await api.do(lock.run(api.body(body)))
    assert lost.value.value == 42


async def test_a_scope_gives_back_only_its_own_hold(api: Flavour, url: str) -> None:
    lock = api.Client(url).lock("n", ttl="30s")
    async with api.scope(lock):
        assert await api.do(lock.release())
        assert await api.do(lock.acquire())
    assert lock.held
    await api.do(lock.release())


async def test_run_calls_the_body_only_with_the_lock(api: Flavour, url: str) -> None:
    client = api.Client(url)
    lock = client.lock("n", ttl="30s")

    async def body() -> str:
        assert lock.held
        return "done"

    async def never() -> str:
        pytest.fail("called")

    result = await api.do(lock.run(api.body(body)))
    assert result and result.acquired and result.value == "done" and result.refusal is None
    assert not lock.held
    async with api.scope(lock):
        result = await api.do(client.lock("n", ttl="30s").run(api.body(never)))
        assert not result and not result.acquired and result.value is None
        assert result.refusal is not None and result.refusal.reason == "held"
        result = await api.do(client.lock("n", ttl="30s").run(api.body(never), wait="50ms"))
        assert result.refusal is not None and result.refusal.reason == "timed_out"

    async def fails() -> None:
        raise Ouch

    with pytest.raises(Ouch):
        await api.do(lock.run(api.body(fails)))
    assert not lock.held


async def test_a_wait_ends_when_the_lock_is_given_back(api: Flavour, url: str) -> None:
    client, other = api.Client(url), api.Client(url)
    holder = await api.do(client.acquire("n", ttl="30s"))
    waiter = other.lock("n", ttl="30s")
    waiting = api.start(lambda: waiter.acquire(wait="10s"))
    await asyncio.sleep(0.2)
    assert not waiting.done()  # type: ignore[attr-defined]
    began = time.monotonic()
    assert await api.do(holder.release())
    assert await waiting is True
    assert time.monotonic() - began < 1
    assert waiter.fence > holder_fence(holder)
    await api.do(waiter.release())


def holder_fence(lock: Any) -> int:
    try:
        return int(lock.fence)
    except fencehold.NotHeldError:
        return 0


async def test_five_hundred_turns_of_two(api: Flavour, url: str) -> None:
    client = api.Client(url)
    count = 0

    async def turns() -> None:
        nonlocal count
        lock = client.lock("n", ttl="30s", wait="30s")
        for _ in range(100):
            async with api.scope(lock):
                seen = count
                await asyncio.sleep(0)
                count = seen + 1

    if api.is_aio:
        await asyncio.gather(turns(), turns())
    else:
        await asyncio.gather(*(asyncio.to_thread(asyncio.run, turns()) for _ in range(2)))
    assert count == 200


async def test_a_loss_is_told_once_and_the_handler_stays(api: Flavour) -> None:
    client = api.Client("memory:")
    lock = client.lock("n", ttl="30s")
    told: list[tuple[str, str]] = []
    remove = lock.on_lost(lambda reason: told.append((reason, threading.current_thread().name)))
    assert await api.do(lock.acquire())
    lock.lose("renew")
    await until(lambda: told)
    assert not lock.keep_alive() and lock.lost_reason == "renew" and lock.fence > 0
    assert lock.last_error.kind == "lost"
    assert await api.do(lock.acquire())
    lock.lose("guard")
    await until(lambda: len(told) == 2)
    assert [reason for reason, _ in told] == ["renew", "guard"]
    if api.is_aio:
        assert {thread for _, thread in told} == {threading.current_thread().name}
    late: list[str] = []
    lock.on_lost(late.append)
    await until(lambda: late == ["guard"])
    remove()
    assert await api.do(lock.acquire())
    lock.lose("expired")
    await until(lambda: late == ["guard", "expired"])
    assert len(told) == 2


async def test_a_handler_that_fails_is_logged(api: Flavour, caplog: pytest.LogCaptureFixture) -> None:
    lock = api.Client("memory:").lock("n", ttl="30s")

    def fails(reason: str) -> None:
        raise Ouch(reason)

    told: list[str] = []
    lock.on_lost(fails)
    lock.on_lost(told.append)
    assert await api.do(lock.acquire())
    with caplog.at_level(logging.ERROR, logger="fencehold"):
        lock.lose("renew")
        await until(lambda: told == ["renew"] and caplog.records)
    assert caplog.records[0].exc_info is not None
    assert isinstance(caplog.records[0].exc_info[1], Ouch)


async def test_waiting_for_a_loss(api: Flavour) -> None:
    lock = api.Client("memory:").lock("n", ttl="30s")
    assert await api.do(lock.acquire())
    began = time.monotonic()
    assert await api.do(lock.wait_lost(0.1)) is None
    assert 0.09 < time.monotonic() - began < 2
    waiting = api.start(lock.wait_lost)
    await asyncio.sleep(0.05)
    lock.lose("renew")
    assert await asyncio.wait_for(waiting, 5) == "renew"
    assert await api.do(lock.wait_lost()) == "renew"


async def test_stepping_aside_lets_a_waiter_go_first(api: Flavour, url: str) -> None:
    client, other = api.Client(url), api.Client(url)
    lock = client.lock("n", ttl="30s", fair=True)
    waiter = other.lock("n", ttl="30s", fair=True)
    assert await api.do(lock.acquire())
    waiting = api.start(lambda: waiter.acquire(wait="10s"))
    info = await api.do(client.show("n"))
    while not info.waiters:
        await asyncio.sleep(0.01)
        info = await api.do(client.show("n"))
    assert info.held and info.waiters[0].owner == waiter.owner and info.waiters[0].position == 1
    aside = api.start(lambda: lock.step_aside(wait="10s"))
    assert await waiting is True
    assert await api.do(waiter.release()) is True
    assert await aside is True
    assert lock.held
    await api.do(lock.release())


async def looks(api: Flavour, client: Any, lock: Any, before: datetime.datetime) -> None:
    (holder,) = await api.do(client.holders("reports/a"))
    assert (holder.slot, holder.token, holder.owner) == (0, lock.token, lock.owner)
    assert holder.label == "billing"
    assert holder.since.tzinfo is not None
    assert abs((holder.since - before).total_seconds()) < 5
    assert 20 < (holder.expires_at - before).total_seconds() < 40
    info = await api.do(client.show("reports/a"))
    assert info.held and info.waiters == () and [one.owner for one in info.holders] == [lock.owner]
    assert [one.name for one in await api.do(client.list())] == ["reports/a"]
    assert await api.do(client.list("other")) == []
    assert await api.do(client.list("", limit=1, after="reports/a")) == []
    with pytest.raises(AttributeError):
        holder.slot = 1
    assert await api.do(client.force_release("reports/a", token=lock.token + 1)) is False
    assert await api.do(client.force_release("reports/a", token=-1)) is False
    assert await api.do(client.force_release("reports/a", owner=lock.owner)) is True
    with pytest.raises(TypeError):
        await api.do(client.force_release("reports/a"))
    assert await api.do(client.holders("reports/a")) == []
    assert await api.do(lock.release()) is False


async def test_what_the_store_knows(api: Flavour, url: str) -> None:
    client = api.Client(url, label="billing")
    before = datetime.datetime.now(datetime.timezone.utc)
    lock = client.lock("reports/a", ttl="30s")
    with pytest.raises(fencehold.LostError) as left:
        async with api.scope(lock):
            await looks(api, client, lock, before)
    assert left.value.lock == "reports/a" and lock.lost_reason == "renew"
    assert client.store.split("?")[0] == url
    await api.do(client.ping())


async def test_a_semaphore_has_its_permits(api: Flavour, url: str) -> None:
    client = api.Client(url)
    permits = [client.semaphore("s", 2, ttl="30s") for _ in range(3)]
    assert [await api.do(permit.acquire()) for permit in permits] == [True, True, False]
    assert sorted(permit.slot for permit in permits[:2]) == [0, 1]
    for permit in permits:
        await api.do(permit.release())


async def test_a_closed_client_says_so(api: Flavour, url: str) -> None:
    client = api.Client(url)
    lock = client.lock("n", ttl="30s")
    async with api.scope(client):
        assert await api.do(lock.acquire())
    assert not lock.held
    with pytest.raises(fencehold.InvalidError) as closed:
        await api.do(lock.acquire())
    assert closed.value.reason == "client_closed" and isinstance(closed.value, ValueError)
    assert await api.do(api.Client(url).lock("n", ttl="30s").acquire())
    await api.do(client.close())


async def test_close_ends_waits(api: Flavour, url: str) -> None:
    client, other = api.Client(url), api.Client(url)
    holder = await api.do(client.acquire("n", ttl="30s"))
    waiter = other.lock("n", ttl="30s")
    waiting = api.start(lambda: waiter.acquire(wait="forever"))
    await asyncio.sleep(0.1)
    await api.do(other.close())
    with pytest.raises(fencehold.Error) as ended:
        await asyncio.wait_for(waiting, 5)
    assert ended.value.reason == "client_closed" or ended.value.kind == "cancelled"
    await api.do(holder.release())


async def test_a_dropped_lock_is_given_back_with_a_warning(api: Flavour, url: str) -> None:
    client = api.Client(url)
    lock = client.lock("n", ttl="30s")
    assert await api.do(lock.acquire())
    lock.on_lost(lambda reason: None)
    gone = weakref.ref(lock)
    with pytest.warns(ResourceWarning, match='lock "n"'):
        del lock
        gc.collect()
    assert gone() is None
    assert await api.do(client.lock("n", ttl="30s").acquire(wait="2s"))


async def test_a_handler_that_knows_its_lock_keeps_nothing_alive(api: Flavour) -> None:
    client = api.Client("memory:")
    lock = client.lock("n", ttl="30s")
    lock.on_lost(lambda reason, lock=lock: lock.name)
    gone = weakref.ref(lock)
    del lock
    gc.collect()
    assert gone() is None


async def test_a_background_handle_outlives_its_lifetime(api: Flavour, url: str) -> None:
    async with api.scope(api.Client(url).lock("n", ttl="300ms")) as lock:
        fence = lock.fence
        await asyncio.sleep(1)
        assert lock.held and lock.keep_alive() and lock.token > fence and lock.fence == fence


async def test_a_checkpoint_handle_lives_by_its_calls(api: Flavour, url: str) -> None:
    lock = api.Client(url).lock("n", ttl="400ms", background=False)
    assert await api.do(lock.acquire())
    token = lock.token
    for _ in range(20):
        await asyncio.sleep(0.05)
        assert lock.keep_alive() is True
    assert lock.held and lock.token > token and lock.fence == token
    await asyncio.sleep(0.5)
    assert lock.keep_alive() is False and lock.lost_reason == "expired"


async def test_how_objects_show_themselves(api: Flavour) -> None:
    client = api.Client("memory:")
    lock = client.lock("n", ttl="30s", owner="deploy", wait="1s")
    module = "fencehold.aio" if api.is_aio else "fencehold"
    assert repr(client).startswith(f"<{module}.Client of memory:")
    assert repr(lock).startswith(f'<{module}.Lock "n" on memory:') and "not held" in repr(lock)
    assert await api.do(lock.acquire())
    assert f"held, fence {lock.fence}" in repr(lock)
    assert (lock.name, lock.owner, lock.position) == ("n", "deploy", 0)
    assert lock.ttl == datetime.timedelta(seconds=30)
    assert datetime.timedelta(seconds=20) < lock.remaining <= datetime.timedelta(seconds=30)
    lock.lose("renew")
    assert "lost: renew" in repr(lock)
    with pytest.raises(TypeError):
        type(lock)()
