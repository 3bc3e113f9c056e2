from __future__ import annotations

import pickle
from datetime import datetime, timedelta
from typing import Any, Dict, Optional, Tuple, Type

from ._values import Refusal


class Error(Exception):
    """Catches everything that the library raises.

    ``kind`` and ``reason`` are stable ids for programs, the text is for people. ``lock`` and
    ``store`` say what it is about. ``retry`` says whether the call may be made again: ``now``,
    ``later``, ``check_first`` (look at what was done) or ``never``. Some kinds fill ``until``,
    ``late_by``, ``refusal`` and ``value``. Errors pickle; a ``value`` that can't be pickled stays behind.
    """

    kind: str = "internal"
    reason: str
    lock: Optional[str]
    store: Optional[str]
    retry: str
    until: Optional[datetime]
    late_by: Optional[timedelta]
    refusal: Optional[Refusal]
    value: Any
    _retry: str = "never"

    def __init__(
        self,
        message: str = "",
        *,
        reason: Optional[str] = None,
        lock: Optional[str] = None,
        store: Optional[str] = None,
        retry: Optional[str] = None,
        until: Optional[datetime] = None,
        late_by: Optional[timedelta] = None,
        refusal: Optional[Refusal] = None,
        value: Any = None,
    ) -> None:
        super().__init__(message)
        self.reason = self.kind if reason is None else reason
        self.lock = lock
        self.store = store
        self.retry = self._retry if retry is None else retry
        self.until = until
        self.late_by = late_by
        self.refusal = refusal
        self.value = value

    def __reduce__(self) -> Tuple[Any, ...]:
        state = dict(self.__dict__)
        if self.value is not None:
            # A result that cannot travel must not keep the error from travelling.
            try:
                pickle.dumps(self.value)
            except Exception:
                state["value"] = None
        return type(self), (str(self),), state


class HeldError(Error):
    """Somebody else holds the lock; ``refusal`` tells who. Try later, or pass ``wait``."""

    kind: str = "held"
    _retry: str = "later"


class TimedOutError(HeldError, TimeoutError):
    """The wait was over and somebody else still holds the lock; our place in line was given up."""

    kind: str = "timed_out"


class LostError(Error):
    """The lease ended before the work did, by ``late_by``. ``value`` is what the body of ``run`` returned.

    Somebody else may have worked since: what was fenced is safe, check the rest.
    """

    kind: str = "lost"
    _retry: str = "check_first"


class NotHeldError(Error):
    """The handle holds nothing."""

    kind: str = "not_held"
    _retry: str = "now"


class CancelledError(Error):
    """The wait was ended by a Cancel. Nothing is held and no place in line kept."""

    kind: str = "cancelled"
    _retry: str = "now"


class UnreachableError(Error):
    """The store could not be asked. Nothing was done; the call may be made again."""

    kind: str = "unreachable"
    _retry: str = "later"


class InDoubtError(Error):
    """No answer came: it may have been done, and the lock may be held until ``until``.

    After an acquire: acquire again through the same handle, which recognises its own grant. After a
    release: the work is done, do not run it again for this. ``value`` is what the body of ``run`` returned.
    """

    kind: str = "in_doubt"
    _retry: str = "check_first"


class InvalidError(Error, ValueError):
    """Something that can never work was passed; ``reason`` says what, such as ``locks_bad_ttl``."""

    kind: str = "invalid"


class UnauthorizedError(Error):
    """The store wants credentials, or other ones."""

    kind: str = "unauthorized"


class ForbiddenError(Error):
    """The credentials, or this user's rights, do not allow it."""

    kind: str = "forbidden"


class RateLimitedError(Error):
    """The store asks for fewer calls."""

    kind: str = "rate_limited"
    _retry: str = "later"


class UnsupportedError(Error):
    """This store or this version cannot do it."""

    kind: str = "unsupported"


class StoreError(Error):
    """The store cannot: it is full, damaged, read-only or of a newer format."""

    kind: str = "store"


class ForkedError(Error):
    """The handle belongs to the parent of this process. Make one here with ``client.lock()``."""

    kind: str = "forked"


class InternalError(Error):
    """A fault of the library. Please report it."""

    kind: str = "internal"


BY_KIND: Dict[str, Type[Error]] = {
    error.kind: error
    for error in (
        HeldError,
        TimedOutError,
        LostError,
        NotHeldError,
        CancelledError,
        UnreachableError,
        InDoubtError,
        InvalidError,
        UnauthorizedError,
        ForbiddenError,
        RateLimitedError,
        UnsupportedError,
        StoreError,
        ForkedError,
        InternalError,
    )
}

for _error in (Error, *BY_KIND.values()):
    _error.__module__ = "fencehold"
del _error
