from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, Dict, Generic, Optional, Tuple, TypeVar

if TYPE_CHECKING:
    from ._errors import Error

T = TypeVar("T")


@dataclass(frozen=True)
class Holder:
    """Who holds a permit. What the store does not know is None; times are in UTC."""

    slot: int
    token: int
    owner: Optional[str] = None
    label: Optional[str] = None
    since: Optional[datetime] = None
    renewed_at: Optional[datetime] = None
    expires_at: Optional[datetime] = None


@dataclass(frozen=True)
class Waiter:
    """Who waits in line; position 1 is next."""

    position: int
    owner: str
    label: Optional[str] = None
    since: Optional[datetime] = None


@dataclass(frozen=True)
class LockInfo:
    """A lock as the store sees it."""

    name: str
    held: bool
    holders: Tuple[Holder, ...]
    waiters: Tuple[Waiter, ...]


@dataclass(frozen=True)
class Refusal:
    """Why an acquire was refused: ``held`` ``contended`` ``timed_out`` ``held_here`` ``owner_in_use``."""

    reason: str
    holders: Tuple[Holder, ...]
    waiting: int


@dataclass(frozen=True)
class RunResult(Generic[T]):
    """What ``run`` answers; true if the lock was had."""

    acquired: bool
    value: Optional[T] = None
    refusal: Optional[Refusal] = None

    def __bool__(self) -> bool:
        return self.acquired


@dataclass(frozen=True)
class CommitResult:
    """What ``commit`` answers; true if all of the step was done.

    ``results`` has one element for each acknowledgement, item, operation and timer. A step of which
    nothing was done has a ``reason``; ``precondition`` says which operation on rows was in the way.
    """

    success: bool
    reason: Optional[str]
    results: Tuple[Dict[str, Any], ...]
    precondition: Optional[Dict[str, Any]] = None
    error: Optional[Error] = field(default=None, compare=False, repr=False)

    def __bool__(self) -> bool:
        return self.success

    def or_raise(self) -> CommitResult:
        """The result itself, or LostError if a guarded lock was lost, or what fits the reason."""
        if self.success:
            return self
        from ._errors import InvalidError

        raise self.error or InvalidError(f"the step was refused: {self.reason}", reason=self.reason)


@dataclass(frozen=True)
class ValueRow:
    """A row: ``value`` is what JSON can say; ``version`` rises with every write on the whole store."""

    key: str
    value: Any
    version: int


@dataclass(frozen=True)
class ValuePage:
    """Rows by key, and the key to go on after if there are more."""

    rows: Tuple[ValueRow, ...]
    next_after: Optional[str] = None


@dataclass(frozen=True)
class Written:
    """What became of a write or a check; true if it was done.

    ``version`` and ``value`` are the row's after a write, the removed row's after a delete. If it was
    not done, nothing was changed: ``reason`` says why (``exists`` ``absent`` ``version`` ``limit``
    ``type``), and the two are those of the row in the way, version 0 if there is none.
    """

    applied: bool
    version: int
    value: Any = None
    reason: Optional[str] = None

    def __bool__(self) -> bool:
        return self.applied


for _value in (Holder, Waiter, LockInfo, Refusal, RunResult, CommitResult, ValueRow, ValuePage, Written):
    _value.__module__ = "fencehold"
del _value
