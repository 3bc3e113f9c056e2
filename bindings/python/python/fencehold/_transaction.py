from __future__ import annotations

from typing import Any, Dict, Generic, List, Mapping, NoReturn, Sequence, TypeVar

from . import _native
from ._errors import InvalidError, NotHeldError, UnsupportedError
from ._values import CommitResult

Self = TypeVar("Self", bound="Step")

_ITEM = frozenset(("data", "partition", "transactionId", "traceId"))


class Queue(Generic[Self]):
    """A queue that a step pushes to."""

    __slots__ = ("_name", "_step")

    def __init__(self, step: Self, name: str) -> None:
        self._step = step
        self._name = name

    def push(self, items: Sequence[Mapping[str, Any]]) -> Self:
        """Adds items ``{data, partition?, transactionId?, traceId?}``; returns the step."""
        for item in items:
            if "data" not in item or not _ITEM.issuperset(item):
                raise InvalidError(
                    f"an item for queue {self._name!r} is {{data, partition?, transactionId?, traceId?}}, "
                    f"not one with {sorted(item)} (locks_bad_item)",
                    reason="locks_bad_item",
                    store=self._step._client.store,
                )
        self._step._add("push", [{"queue": self._name, **item} for item in items])
        return self._step


class Step:
    """What the plain and the asyncio Transaction share."""

    __slots__ = ("_client", "_guards", "_parts")

    def __init__(self, client: _native.ClientBase) -> None:
        self._client = client
        self._guards: List[_native.LockBase] = []
        self._parts: List[Dict[str, Any]] = []

    def _add(self, part: str, members: Sequence[Mapping[str, Any]]) -> None:
        self._parts.append({part: [dict(member) for member in members]})

    def guard(self: Self, lock: _native.LockBase) -> Self:
        """Lets the step happen only if ``lock`` is still held.

        Raises NotHeldError when it is not held now, InvalidError when another client made it.
        """
        store = self._client.store
        if not self._client._made(lock):
            raise InvalidError(
                f'step on {store}: lock "{lock.name}" was made by another client (locks_bad_guard). '
                "Make the handle with the client that makes the step",
                reason="locks_bad_guard",
                lock=lock.name,
                store=store,
            )
        if not lock.held:
            why = f" (lost: {lock.lost_reason})" if lock.lost else ""
            raise NotHeldError(
                f'step on {store}: lock "{lock.name}" is not held{why}, so nothing was sent. '
                "Acquire it and do the step again",
                lock=lock.name,
                store=store,
            )
        self._guards.append(lock)
        return self

    def queue(self: Self, name: str) -> Queue[Self]:
        """The queue to push to."""
        return Queue(self, name)

    def ack(self: Self, acks: Sequence[Mapping[str, Any]]) -> Self:
        """Adds the JSON objects of ``ack`` as the wire has them."""
        self._add("ack", acks)
        return self

    def kv(self: Self, operations: Sequence[Mapping[str, Any]]) -> Self:
        """Adds the JSON objects of ``kv`` as the wire has them."""
        self._add("kv", operations)
        return self

    def timers(self: Self, operations: Sequence[Mapping[str, Any]]) -> Self:
        """Adds the JSON objects of ``timers`` as the wire has them."""
        self._add("timers", operations)
        return self

    def _refuse(self) -> NoReturn:
        store = self._client.store
        raise UnsupportedError(
            f"step on {store}: this store cannot commit steps, so nothing was sent. Send lock.fence "
            "along with each write and let what you write to refuse a lower one",
            store=store,
        )


class Transaction(Step):
    """A step that is done as a whole, and only if its guarded locks are still held."""

    __slots__ = ()

    def commit(self) -> CommitResult:
        """Does the step. Raises UnsupportedError: the stores of this version cannot commit steps."""
        self._refuse()


Transaction.__module__ = "fencehold"
