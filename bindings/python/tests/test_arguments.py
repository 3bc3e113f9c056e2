"""What is taken and what is refused, with the reason ids of every language."""

from __future__ import annotations

import datetime
import decimal
import math
from pathlib import Path
from typing import Any, Callable

import pytest

import fencehold
from conftest import Flavour

BAD = [
    None,
    True,
    False,
    math.nan,
    math.inf,
    -1,
    -0.5,
    "30",
    "",
    "soon",
    "-1s",
    "\ud800",
    b"30s",
    [],
    object(),
]
BAD += [datetime.timedelta(seconds=-1), 10**400, decimal.Decimal(30)]


@pytest.mark.parametrize("ttl", [*BAD, 0, 0.05, "99ms", "25h", "forever", datetime.timedelta(days=2)], ids=repr)
def test_lifetimes_refused(api: Flavour, ttl: Any) -> None:
    client = api.Client("memory:")
    makes: list[Callable[[], Any]] = [
        lambda: client.lock("n", ttl=ttl),
        lambda: client.semaphore("n", 2, ttl=ttl),
        lambda: client.acquire("n", ttl=ttl),
    ]
    for make in makes:
        with pytest.raises(fencehold.InvalidError) as refused:
            make()
        assert refused.value.reason == "locks_bad_ttl" and refused.value.retry == "never"
        assert "locks_bad_ttl" in str(refused.value)


@pytest.mark.parametrize(
    ("ttl", "seconds"),
    [
        ("30s", 30),
        ("1h30m", 5400),
        (30, 30),
        (0.5, 0.5),
        (datetime.timedelta(minutes=2), 120),
        ("500ms", 0.5),
    ],
    ids=repr,
)
def test_lifetimes_taken(api: Flavour, ttl: Any, seconds: float) -> None:
    assert api.Client("memory:").lock("n", ttl=ttl).ttl.total_seconds() == seconds


@pytest.mark.parametrize("wait", BAD, ids=repr)
async def test_waits_refused(api: Flavour, wait: Any) -> None:
    client = api.Client("memory:")
    lock = client.lock("n", ttl="30s")
    calls: list[Callable[[], Any]] = [
        lambda: client.lock("n", ttl="30s", wait=wait),
        lambda: lock.acquire(wait=wait),
        lambda: lock.step_aside(wait=wait),
        lambda: lock.run(lambda: None, wait=wait),
    ]
    for call in calls:
        with pytest.raises(fencehold.InvalidError) as refused:
            await api.do(call())
        assert refused.value.reason == "locks_bad_wait"
    assert not lock.held


@pytest.mark.parametrize("wait", [0, 0.2, "200ms", "forever", datetime.timedelta(0), 0.0, ...], ids=repr)
async def test_waits_taken(api: Flavour, wait: Any) -> None:
    lock = api.Client("memory:").lock("n", ttl="30s", wait=wait)
    assert await api.do(lock.acquire(wait=wait))
    await api.do(lock.release())


def test_names_refused(api: Flavour) -> None:
    client = api.Client("memory:")
    for name in ("", "a#b", "a\nb", "a\0b", "\ud800", "x" * 257, "é" * 129):
        with pytest.raises(fencehold.InvalidError) as refused:
            client.lock(name, ttl="30s")
        assert refused.value.reason == "locks_bad_name", name
    for other in (None, 1, b"n"):
        with pytest.raises(TypeError):
            client.lock(other, ttl="30s")
    assert client.lock("é" * 128, ttl="30s").name == "é" * 128


def test_other_options_refused(api: Flavour) -> None:
    client = api.Client("memory:")
    for options, reason in (
        ({"owner": ""}, "locks_bad_owner"),
        ({"owner": "\udfff"}, "locks_bad_owner"),
        ({"label": "a\nb"}, "locks_bad_label"),
        ({"label": "\ud800"}, "locks_bad_label"),
        ({"crash": "burn"}, "locks_bad_option"),
    ):
        with pytest.raises(fencehold.InvalidError) as refused:
            client.lock("n", ttl="30s", **options)
        assert refused.value.reason == reason
    for permits in (0, -1, 2**40):
        with pytest.raises(fencehold.InvalidError):
            client.semaphore("n", permits, ttl="30s")
    for other in (None, True, "2", 1.5):
        with pytest.raises(TypeError):
            client.semaphore("n", other, ttl="30s")
    with pytest.raises(TypeError):
        client.lock("n")
    with pytest.raises(TypeError):
        client.lock("n", "30s")
    with pytest.raises(TypeError):
        client.lock("n", ttl="30s", timeout=3)
    with pytest.raises(TypeError):
        client.lock("n", ttl="30s", fair="yes")


def test_clients_refused(api: Flavour, tmp_path: Path) -> None:
    for url, reason in (
        (None, "locks_no_store"),
        ("", "locks_bad_url"),
        ("nightly", "locks_bad_url"),
        ("memory:?colour=red", "locks_bad_url"),
        ("\ud800", "locks_bad_url"),
    ):
        with pytest.raises(fencehold.InvalidError) as refused:
            api.Client(url)
        assert refused.value.reason == reason
    with pytest.raises(fencehold.InvalidError):
        api.Client("memory:", request_timeout=True)
    with pytest.raises(TypeError):
        api.Client("memory:", "30s")
    api.Client("memory:", request_timeout="2s", label="x", ca_file=tmp_path / "ca.pem", user="u", password="p")


def test_a_url_from_the_environment(api: Flavour, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FENCEHOLD_URL", "memory:from-the-environment")
    assert api.Client().store == "memory:from-the-environment"


def test_acquire_takes_what_a_threading_lock_takes() -> None:
    client = fencehold.Client("memory:")
    lock = client.lock("n", ttl="30s")
    stranger = client.lock("n", ttl="30s")
    assert lock.acquire(True)
    assert not stranger.acquire(False)
    assert not stranger.acquire(blocking=False)
    assert not stranger.acquire(True, 0.05)
    assert not stranger.acquire(timeout=0.05)
    assert not stranger.acquire(blocking=False, timeout=-1)
    for arguments, words in (
        ({"blocking": False, "timeout": 1}, "non-blocking"),
        ({"timeout": -2}, "non-negative"),
        ({"timeout": 1, "wait": "1s"}, "together"),
        ({"timeout": None}, "None"),
        ({"timeout": "1s"}, "number"),
        ({"timeout": math.nan}, "non-negative"),
    ):
        with pytest.raises(ValueError, match=words) as refused:
            stranger.acquire(**arguments)
        assert isinstance(refused.value, fencehold.InvalidError)
    lock.release()
    assert stranger.acquire(True, -1)
    stranger.release()
