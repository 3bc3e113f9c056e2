"""Rows of users: small values with versions, expiry and conditions, on every store that keeps them."""

from __future__ import annotations

import asyncio
import dataclasses
import pickle
import threading
import time
from datetime import timedelta
from typing import Any

import pytest

import fencehold
from conftest import Flavour, until


async def test_rows_are_written_read_and_removed(api: Flavour, any_url: str) -> None:
    client = api.Client(any_url)
    rows = client.kv("reports")
    assert rows.namespace == "reports" and "reports" in repr(rows)
    assert await api.do(rows.get("k")) is None
    value = {"text": "\u00e9\0", "big": 2**63, "small": -(2**63), "list": [1.5, None, True], "": {}}
    first = await api.do(rows.put("k", value, ttl="forever"))
    assert isinstance(first, fencehold.Written)
    assert first and first.applied and first.reason is None and first.version > 0 and first.value == value
    assert await api.do(rows.get("k")) == fencehold.ValueRow("k", value, first.version)
    second = await api.do(rows.put("k", [], ttl=timedelta(hours=1), expect=first.version))
    assert second and second.version > first.version
    removed = await api.do(rows.delete("k", expect=second.version))
    assert removed and removed.version == second.version and removed.value == []
    assert await api.do(rows.get("k")) is None
    assert await api.do(client.kv("others").get("k")) is None
    await api.do(client.close())


async def test_a_lost_precondition_is_an_answer(api: Flavour, any_url: str) -> None:
    client = api.Client(any_url)
    rows = client.kv("reports")
    first = await api.do(rows.put_if_absent("k", "one", ttl="1h"))
    assert first
    lost = [
        (await api.do(rows.put_if_absent("k", "two", ttl="1h")), "exists"),
        (await api.do(rows.put("k", "two", ttl="1h", expect=first.version + 1)), "version"),
        (await api.do(rows.delete("k", expect=first.version + 1)), "version"),
        (await api.do(rows.incr("k", ttl="1h")), "type"),
        (await api.do(rows.check("k", 0)), "exists"),
    ]
    for answer, reason in lost:
        assert not answer and not answer.applied, reason
        assert (answer.reason, answer.version) == (reason, first.version)
    gone = await api.do(rows.put("none", 1, ttl="1h", expect=7))
    assert not gone and gone.version == 0 and gone.reason == "absent"
    assert not await api.do(rows.delete("none"))
    assert not await api.do(rows.check("none", 7))
    assert await api.do(rows.check("none", 0)) and await api.do(rows.check("k", first.version))
    assert (await api.do(rows.get("k"))).value == "one"
    await api.do(client.close())


async def test_numbers_are_counted(api: Flavour, any_url: str) -> None:
    client = api.Client(any_url)
    rows = client.kv("counts")
    assert (await api.do(rows.incr("n", ttl="1h"))).value == 1
    assert (await api.do(rows.incr("n", 41, ttl="forever"))).value == 42
    assert (await api.do(rows.incr("n", -50, ttl="forever"))).value == -8
    await api.do(client.close())


async def test_many_rows_come_at_once_and_in_pages(api: Flavour, any_url: str) -> None:
    client = api.Client(any_url)
    rows = client.kv("pages")
    for number in range(5):
        assert await api.do(rows.put(f"a/{number}", number, ttl="1h"))
    assert await api.do(rows.put("b", None, ttl="1h"))
    found = await api.do(rows.get_many(["a/3", "none", "b", "a/1"]))
    assert sorted((row.key, row.value) for row in found) == [("a/1", 1), ("a/3", 3), ("b", None)]
    page = await api.do(rows.get_prefix("a/", limit=2))
    keys = [row.key for row in page.rows]
    while page.next_after is not None:
        page = await api.do(rows.get_prefix("a/", limit=2, after=page.next_after))
        keys += [row.key for row in page.rows]
    assert isinstance(page, fencehold.ValuePage) and keys == [f"a/{number}" for number in range(5)]
    assert (await api.do(rows.get_prefix("none"))).rows == ()
    await api.do(client.close())


async def test_a_row_ends(api: Flavour) -> None:
    client = api.Client("memory:?clock=manual")
    rows = client.kv("short")
    assert await api.do(rows.put("k", 1, ttl="1500ms"))
    client.advance("1900ms")
    assert await api.do(rows.get("k"))
    client.advance("200ms")
    assert await api.do(rows.get("k")) is None


async def test_a_guarded_step_and_rows_see_each_other(api: Flavour, any_url: str) -> None:
    client = api.Client(any_url)
    rows = client.kv("work")
    lock = await api.do(client.acquire("n", ttl="30s"))
    before = await api.do(rows.put("k", {"rows": 1}, ttl="forever"))
    put = {"op": "put", "ns": "work", "key": "k", "value": {"rows": 2}, "forever": True, "expect": before.version}
    assert await api.do(client.transaction().guard(lock).kv([{**put, "required": True}]).commit())
    now = await api.do(rows.get("k"))
    assert now.value == {"rows": 2} and now.version > before.version
    refused = await api.do(client.transaction().guard(lock).kv([{**put, "required": True}]).commit())
    assert not refused and refused.precondition["version"] == now.version
    assert await api.do(api.Client(any_url).force_release("n", token=lock.token))
    late = {"op": "put", "ns": "work", "key": "k", "value": "late", "forever": True}
    assert not await api.do(client.transaction().guard(lock).kv([late]).commit())
    assert lock.lost_reason == "guard"
    assert (await api.do(rows.get("k"))) == now
    await api.do(client.close())


async def test_what_cannot_be_is_refused(api: Flavour, any_url: str) -> None:
    client = api.Client(any_url)
    rows = client.kv("reports")
    loop: list[Any] = []
    loop.append(loop)
    bad: list[tuple[str, Any]] = [
        ("kv_bad_ttl", lambda: rows.put("k", 1, ttl="soon")),
        ("kv_bad_ttl", lambda: rows.put("k", 1, ttl=None)),
        ("kv_bad_ttl", lambda: rows.put("k", 1, ttl=True)),
        ("kv_bad_ttl", lambda: rows.put("k", 1, ttl=-1)),
        ("kv_bad_ttl", lambda: rows.put_if_absent("k", 1, ttl=0)),
        ("kv_bad_expect", lambda: rows.put("k", 1, ttl="1h", expect=-1)),
        ("kv_bad_expect", lambda: rows.check("k", 2**64)),
        ("kv_bad_request", lambda: rows.put("k", {1}, ttl="1h")),
        ("kv_bad_request", lambda: rows.put("k", float("nan"), ttl="1h")),
        ("kv_bad_request", lambda: rows.put("k", 2**64, ttl="1h")),
        ("kv_bad_request", lambda: rows.put("k", loop, ttl="1h")),
        ("kv_bad_request", lambda: rows.incr("k", 2**63, ttl="1h")),
        ("kv_bad_key", lambda: rows.get("\ud800")),
        ("kv_prefix_required", lambda: rows.get_prefix("")),
        ("kv_value_too_large", lambda: rows.put("k", "x" * 70_000, ttl="1h")),
        ("kv_bad_namespace", lambda: client.kv("No Such").get("k")),
        ("kv_bad_namespace", lambda: client.kv("\ud800")),
    ]
    for reason, call in bad:
        with pytest.raises(fencehold.InvalidError) as refused:
            await api.do(call())
        assert refused.value.reason == reason, refused.value
    types: list[Any] = [
        lambda: rows.put("k", 1),
        lambda: rows.put("k", 1, ttl="1h", expect="1"),
        lambda: rows.put("k", 1, ttl="1h", expect=True),
        lambda: rows.incr("k", 1.5, ttl="1h"),
        lambda: rows.get(b"k"),
        lambda: rows.get_many("k"),
        lambda: client.kv(None),
    ]
    for call in types:
        with pytest.raises(TypeError):
            await api.do(call())
    assert await api.do(rows.get("k")) is None
    await api.do(client.close())
    with pytest.raises(fencehold.InvalidError) as closed:
        await api.do(rows.get("k"))
    assert closed.value.reason == "client_closed"


async def test_a_store_that_cannot_be_asked(api: Flavour) -> None:
    client = api.Client("http://127.0.0.1:1", request_timeout="300ms")
    with pytest.raises(fencehold.UnreachableError) as gone:
        await api.do(client.kv("n").put("k", 1, ttl="1h"))
    assert gone.value.store == "http://127.0.0.1:1" and gone.value.retry == "later"


@pytest.mark.parametrize("other", ["etcd", "zookeeper"])
async def test_a_store_that_keeps_locks_only(api: Flavour, other: str) -> None:
    client = api.Client(f"{other}://127.0.0.1:1")
    with pytest.raises(fencehold.UnsupportedError):
        await api.do(client.kv("n").get("k"))


def test_answers_are_values() -> None:
    rows = fencehold.Client("memory:").kv("n")
    done = rows.put("k", 1, ttl="1h")
    found = rows.get_prefix("k")
    values: list[Any] = [done, found, found.rows[0]]
    for value in values:
        assert pickle.loads(pickle.dumps(value)) == value
        with pytest.raises(dataclasses.FrozenInstanceError):
            value.version = 7


class StandsStill:
    """A server that takes a call and does not answer it."""

    def __enter__(self) -> str:
        import socket

        self.socket = socket.create_server(("127.0.0.1", 0))
        return f"http://127.0.0.1:{self.socket.getsockname()[1]}"

    def __exit__(self, *_: object) -> None:
        self.socket.close()


def test_other_threads_run_meanwhile() -> None:
    with StandsStill() as url:
        rows = fencehold.Client(url, request_timeout="2s").kv("n")
        ended: list[str] = []

        def ask() -> None:
            try:
                rows.get("k")
            except fencehold.Error as error:
                ended.append(error.kind)

        thread = threading.Thread(target=ask)
        thread.start()
        turns, start = 0, time.monotonic()
        while thread.is_alive() and time.monotonic() < start + 60:
            turns += 1
            time.sleep(0.005)
        thread.join()
    assert ended and turns > 20


async def test_the_event_loop_runs_meanwhile_and_a_write_is_finished() -> None:
    with StandsStill() as url:
        rows = fencehold.aio.Client(url, request_timeout="1s").kv("n")
        write = asyncio.ensure_future(rows.put("k", 1, ttl="1h"))
        await asyncio.sleep(0.1)
        write.cancel()
        await asyncio.sleep(0.1)
        assert not write.done()
        await until(write.done, 60)
        assert write.cancelled()
        read = asyncio.ensure_future(rows.get("k"))
        await asyncio.sleep(0.1)
        read.cancel()
        await asyncio.sleep(0.1)
        assert read.cancelled()
