from __future__ import annotations

import json
from typing import Any, List, Optional, Sequence, cast

from . import _native
from ._errors import InvalidError
from ._json import dumps
from ._types import Expiry
from ._values import ValuePage, ValueRow, Written


def value_json(value: Any) -> str:
    """A value of a row as JSON."""
    try:
        return dumps(value)
    except (TypeError, ValueError) as fault:
        raise InvalidError(f"a value is no JSON: {fault} (kv_bad_request)", reason="kv_bad_request") from fault


def value_row(key: str, value: str, version: int) -> ValueRow:
    """Makes a row from its value's JSON."""
    return ValueRow(key, json.loads(value), version)


def written(reason: Optional[str], version: int, value: str) -> Written:
    """Makes the answer of a write from its value's JSON."""
    return Written(reason is None, version, json.loads(value), reason)


class Kv(_native.KvBase):
    """The rows of users in one namespace: values up to 64 KiB with versions, expiry and conditions.

    Made by ``Client.kv()``. A value is what JSON can say. Every write needs a ``ttl``: a duration, which
    is rounded up to whole seconds, or ``"forever"``. A precondition that was lost is an answer: a false
    ``Written``. UnsupportedError: the store keeps locks only. InvalidError has a ``kv_…`` reason.
    InDoubtError: the write was sent and no answer came; it is never sent again by itself.

    >>> rows = Client("memory:").kv("reports")
    >>> first = rows.put("2026-11", {"state": "new"}, ttl="forever")
    >>> bool(rows.put_if_absent("2026-11", {}, ttl="1h"))
    False
    >>> rows.put("2026-11", {"state": "sent"}, ttl="90d", expect=first.version).applied
    True
    >>> rows.get("2026-11").value["state"]
    'sent'
    """

    __slots__ = ()

    def get(self, key: str) -> Optional[ValueRow]:
        """The row at ``key``, or None."""
        return cast(Optional[ValueRow], self._get(key))

    def get_many(self, keys: Sequence[str]) -> List[ValueRow]:
        """Those of the rows at ``keys``, at most 1024, that are there."""
        return cast(List[ValueRow], self._get_many(keys))

    def get_prefix(self, prefix: str, *, limit: int = 1000, after: Optional[str] = None) -> ValuePage:
        """Up to ``limit`` (1000) rows whose keys begin with ``prefix`` and come behind ``after``, by key."""
        return cast(ValuePage, self._get_prefix(prefix, limit, after))

    def put(self, key: str, value: Any, *, ttl: Expiry, expect: Optional[int] = None) -> Written:
        """Writes a row, whatever was there; with ``expect`` only over a row of that version."""
        return cast(Written, self._put(key, value_json(value), ttl, expect))

    def put_if_absent(self, key: str, value: Any, *, ttl: Expiry) -> Written:
        """Writes a row if there is none."""
        return cast(Written, self._put_if_absent(key, value_json(value), ttl))

    def delete(self, key: str, *, expect: Optional[int] = None) -> Written:
        """Removes a row; with ``expect`` only one of that version."""
        return cast(Written, self._delete(key, expect))

    def incr(self, key: str, delta: int = 1, *, ttl: Expiry) -> Written:
        """Adds to the number in a row, which is made if there is none; ``ttl`` is for that one."""
        return cast(Written, self._incr(key, delta, ttl))

    def check(self, key: str, expect: int) -> Written:
        """Whether a row has the version ``expect``; 0: is not there."""
        return cast(Written, self._check(key, expect))


Kv.__module__ = "fencehold"
