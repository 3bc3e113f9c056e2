"""Errors: the table of kinds that every language maps, and that they travel."""

from __future__ import annotations

import copy
import datetime
import json
import pickle
from typing import Any

import pytest

import fencehold
from conftest import SOURCE, Flavour

TABLE = json.loads((SOURCE / "tests" / "scenarios" / "errors.json").read_text(encoding="utf-8"))["errors"]


@pytest.mark.parametrize("row", TABLE, ids=lambda row: str(row["kind"]))
def test_each_kind_is_a_class(row: dict[str, Any]) -> None:
    kind = getattr(fencehold, row["python"])
    assert issubclass(kind, fencehold.Error) and kind is not fencehold.Error
    assert row["python"] in fencehold.__all__
    error = kind("text", lock="n", store="memory:")
    assert (error.kind, error.reason, error.retry) == (row["kind"], row["kind"], row["retry"])
    assert (error.lock, error.store, str(error)) == ("n", "memory:", "text")
    assert (error.until, error.late_by, error.refusal, error.value) == (None, None, None, None)


def test_the_table_is_complete() -> None:
    from fencehold import _errors

    assert {row["kind"] for row in TABLE} == set(_errors.BY_KIND)
    assert issubclass(fencehold.TimedOutError, fencehold.HeldError)
    assert issubclass(fencehold.TimedOutError, TimeoutError)
    assert issubclass(fencehold.InvalidError, ValueError)


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("row", TABLE, ids=lambda row: str(row["kind"]))
def test_errors_pickle(row: dict[str, Any], protocol: int) -> None:
    holder = fencehold.Holder(0, 2**62, "o", "l", datetime.datetime.now(datetime.timezone.utc))
    error = getattr(fencehold, row["python"])(
        "text",
        reason="because",
        lock="n",
        store="memory:",
        retry="now",
        until=datetime.datetime.now(datetime.timezone.utc),
        late_by=datetime.timedelta(seconds=1),
        refusal=fencehold.Refusal("held", (holder,), 3),
        value=[1, 2],
    )
    for twin in (pickle.loads(pickle.dumps(error, protocol)), copy.copy(error)):
        assert type(twin) is type(error) and str(twin) == "text" and twin.args == error.args
        assert twin.__dict__ == error.__dict__


def test_a_value_that_cannot_travel_stays_behind() -> None:
    error = fencehold.LostError("late", value=lambda: None)
    assert pickle.loads(pickle.dumps(error)).value is None
    assert error.value is not None


async def test_an_error_of_the_library_pickles(api: Flavour) -> None:
    client = api.Client("memory:")
    holder = await api.do(client.acquire("n", ttl="30s"))
    with pytest.raises(fencehold.TimedOutError) as raised:
        await api.do(client.acquire("n", ttl="30s", wait="20ms"))
    twin = pickle.loads(pickle.dumps(raised.value))
    assert twin.refusal == raised.value.refusal and str(twin) == str(raised.value)
    assert twin.refusal.holders[0].owner == holder.owner
    for value in (fencehold.RunResult(True, 3), fencehold.CommitResult(True, None, ())):
        assert pickle.loads(pickle.dumps(value)) == value
    await api.do(holder.release())


def test_a_commit_result_raises_when_told_to() -> None:
    done = fencehold.CommitResult(True, None, ({},))
    assert done and done.or_raise() is done
    refused = fencehold.CommitResult(False, "duplicate", ())
    assert not refused
    with pytest.raises(fencehold.InvalidError) as raised:
        refused.or_raise()
    assert raised.value.reason == "duplicate"
