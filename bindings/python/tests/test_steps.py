"""Steps: all or nothing, and only while the guarded locks are held."""

from __future__ import annotations

import asyncio
import pickle
from typing import Any

import pytest

import fencehold
from conftest import Flavour


def put(key: str, value: Any) -> dict[str, Any]:
    return {"op": "put", "ns": "work", "key": key, "value": value, "forever": True}


GET = {"op": "get", "ns": "work", "key": "k"}
FREE = {"op": "delete", "ns": "queen-locks", "key": "n#0"}
"""What an operator does who takes the lock away behind its holder's back."""


async def test_a_guarded_step_is_done(api: Flavour, url: str) -> None:
    client = api.Client(url)
    lock = await api.do(client.acquire("n", ttl="30s"))
    step = client.transaction()
    assert isinstance(step, api.Transaction) and isinstance(step, type(client.transaction()))
    assert step.guard(lock) is step and step.kv([put("k", {"big": 2**63, "text": "\u00e9"})]) is step
    done = await api.do(step.kv([GET]).commit())
    assert isinstance(done, fencehold.CommitResult)
    assert done and done.success and done.reason is None and done.error is None
    assert done.or_raise() is done and len(done.results) == 2
    assert done.results[1]["value"] == {"big": 2**63, "text": "\u00e9"}
    assert lock.keep_alive()
    await api.do(lock.release())


async def test_a_lost_guard_stops_the_step_and_loses_the_lock(api: Flavour, url: str) -> None:
    client = api.Client(url)
    lock = await api.do(client.acquire("n", ttl="30s"))
    told: list[str] = []
    lock.on_lost(told.append)
    assert await api.do(client.transaction().kv([FREE]).commit())
    refused = await api.do(client.transaction().guard(lock).kv([put("k", 1)]).commit())
    assert not refused and not refused.success
    with pytest.raises(fencehold.LostError) as lost:
        refused.or_raise()
    assert lost.value is refused.error
    assert (lost.value.reason, lost.value.lock) == ("guard", "n")
    assert lock.lost_reason == "guard" and not lock.keep_alive()
    for _ in range(500):
        if told:
            break
        await asyncio.sleep(0.01)
    assert told == ["guard"]
    assert (await api.do(client.transaction().kv([GET]).commit())).results[0]["found"] is False
    assert pickle.loads(pickle.dumps(refused)) == refused
    with pytest.raises(fencehold.NotHeldError):
        client.transaction().guard(lock)


async def test_a_lost_precondition_is_an_answer(api: Flavour, url: str) -> None:
    client = api.Client(url)
    check = {"op": "check", "ns": "work", "key": "other", "expect": 7, "required": True}
    refused = await api.do(client.transaction().kv([put("k", 1), check]).commit())
    assert not refused and refused.reason == "kv_precondition"
    assert refused.precondition["failedIndex"] == 1
    with pytest.raises(fencehold.InvalidError) as error:
        refused.or_raise()
    assert error.value.reason == "kv_precondition"


async def test_a_renewal_between_does_no_harm(api: Flavour) -> None:
    client = api.Client("memory:?clock=manual")
    lock = await api.do(client.acquire("n", ttl="30s"))
    step = client.transaction().guard(lock).kv([put("k", 1)])
    token = lock.token
    client.advance("15s")
    assert lock.token > token
    assert await api.do(step.commit())
    await api.do(lock.release())
    with pytest.raises(fencehold.NotHeldError) as error:
        await api.do(step.commit())
    assert error.value.lock == "n"


async def test_what_no_step_can_have_is_refused(api: Flavour, url: str) -> None:
    client = api.Client(url)
    lock = client.lock("n", ttl="30s")
    with pytest.raises(fencehold.NotHeldError) as error:
        client.transaction().guard(lock)
    assert error.value.lock == "n"
    assert await api.do(lock.acquire())
    with pytest.raises(fencehold.InvalidError) as foreign:
        api.Client(url).transaction().guard(lock)
    assert foreign.value.reason == "bad_guard"
    step = client.transaction()
    assert step.queue("mail").push([{"data": {"to": 1}, "partition": "p"}]) is step
    assert step.ack([{"transactionId": "1"}]).timers([{}]) is step
    loop: list[Any] = []
    loop.append(loop)
    bad_items: list[Any] = [{"dta": 1}, {}, {"data": {1}}, {"data": float("nan")}, {"data": 2**64}, {"data": loop}]
    for item in bad_items:
        with pytest.raises(fencehold.InvalidError) as bad:
            client.transaction().queue("mail").push([item])
        assert bad.value.reason == "bad_request"
    with pytest.raises(fencehold.InvalidError):
        client.transaction().queue("mail").push([{"data": "\ud800"}])
    with pytest.raises(fencehold.InvalidError):
        client.transaction().queue("").push([{"data": 1}])
    with pytest.raises(TypeError):
        client.transaction().guard("n")
    with pytest.raises(fencehold.InvalidError):
        await api.do(client.transaction().commit())
    await api.do(lock.release())


async def test_a_closed_client_commits_nothing(api: Flavour, url: str) -> None:
    client = api.Client(url)
    step = client.transaction().kv([put("k", 1)])
    await api.do(client.close())
    with pytest.raises(fencehold.InvalidError) as closed:
        await api.do(step.commit())
    assert closed.value.reason == "client_closed"
