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


for _value in (Holder, Waiter, LockInfo, Refusal, RunResult, CommitResult):
    _value.__module__ = "fencehold"
del _value
