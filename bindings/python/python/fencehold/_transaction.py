from __future__ import annotations

import json
from typing import Any, Generic, Mapping, Optional, Sequence, TypeVar

from . import _native
from ._errors import Error, InvalidError
from ._json import dumps
from ._values import CommitResult

Self = TypeVar("Self", bound="Step")


def _json(members: Sequence[Mapping[str, Any]]) -> str:
    try:
        return dumps([dict(member) for member in members])
    except (TypeError, ValueError) as fault:
        raise InvalidError(f"a part of a step is no JSON: {fault} (bad_request)", reason="bad_request") from fault


def commit_result(text: str, error: Optional[Error]) -> CommitResult:
    """Makes the answer of a commit from its JSON."""
    found = json.loads(text)
    return CommitResult(found["success"], found["reason"], tuple(found["results"]), found.get("precondition"), error)


class Queue(Generic[Self]):
    """A queue that a step pushes to."""

    __slots__ = ("_name", "_step")

    def __init__(self, step: Self, name: str) -> None:
        self._step = step
        self._name = name

    def push(self, items: Sequence[Mapping[str, Any]]) -> Self:
        """Adds items ``{data, partition?, transactionId?, traceId?}``; returns the step."""
        self._step._push(self._name, _json(items))
        return self._step


class Step(_native.StepBase):
    """What the plain and the asyncio Transaction share."""

    __slots__ = ()

    def guard(self: Self, lock: _native.LockBase) -> Self:
        """Lets the step happen only if ``lock`` is still held then.

        Raises NotHeldError when it is not held now, InvalidError when another client made it.
        """
        self._guard(lock)
        return self

    def queue(self: Self, name: str) -> Queue[Self]:
        """The queue to push to."""
        return Queue(self, name)

    def ack(self: Self, acks: Sequence[Mapping[str, Any]]) -> Self:
        """Adds the JSON objects of ``ack`` as the wire has them."""
        self._ack(_json(acks))
        return self

    def kv(self: Self, operations: Sequence[Mapping[str, Any]]) -> Self:
        """Adds operations on rows: the JSON objects of ``kv`` as the wire has them."""
        self._kv(_json(operations))
        return self

    def timers(self: Self, operations: Sequence[Mapping[str, Any]]) -> Self:
        """Adds the JSON objects of ``timers`` as the wire has them."""
        self._timers(_json(operations))
        return self


class Transaction(Step):
    """A step that is done as a whole or not at all, and only if its guarded locks are still held.

    Several parts of one kind add up; what the store cannot do is refused by ``commit``.
    """

    __slots__ = ()

    def commit(self) -> CommitResult:
        """Does all of it or nothing. A lost guard or precondition is an answer: see ``or_raise``.

        NotHeldError: a guarded lock is not held, and nothing was sent. InDoubtError: no answer came;
        it is never sent again by itself.
        """
        return self._commit()


Transaction.__module__ = "fencehold"
