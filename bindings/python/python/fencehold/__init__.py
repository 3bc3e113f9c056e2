"""Leases with fencing tokens: locks and semaphores that cross processes, machines and languages.

>>> import fencehold
>>> client = fencehold.Client("memory:")
>>> with client.acquire("reports/nightly", ttl="30s", wait="5s") as lock:
...     lock.keep_alive() and lock.fence > 0
True

Whatever the lock protects should remember the highest ``lock.fence`` it has seen and refuse a lower
one: a lease can end while its holder still works, and only that keeps two of them apart.

``fencehold.aio`` has the same names for asyncio. The library logs to the logger ``fencehold``.
"""

from __future__ import annotations

import atexit as _atexit
import os as _os

from . import _native
from ._errors import (
    CancelledError,
    Error,
    ForbiddenError,
    ForkedError,
    HeldError,
    InDoubtError,
    InternalError,
    InvalidError,
    LostError,
    NotHeldError,
    RateLimitedError,
    StoreError,
    TimedOutError,
    UnauthorizedError,
    UnreachableError,
    UnsupportedError,
)
from ._native import Cancel, Client, Lock
from ._rows import Kv
from ._transaction import Transaction
from ._types import Duration, Expiry, LostReason, Wait
from ._values import (
    CommitResult,
    Holder,
    LockInfo,
    Refusal,
    RunResult,
    ValuePage,
    ValueRow,
    Waiter,
    Written,
)

__version__ = _native.VERSION

__all__ = [
    "Cancel",
    "CancelledError",
    "Client",
    "CommitResult",
    "Duration",
    "Error",
    "Expiry",
    "ForbiddenError",
    "ForkedError",
    "HeldError",
    "Holder",
    "InDoubtError",
    "InternalError",
    "InvalidError",
    "Kv",
    "Lock",
    "LockInfo",
    "LostError",
    "LostReason",
    "NotHeldError",
    "RateLimitedError",
    "Refusal",
    "RunResult",
    "StoreError",
    "TimedOutError",
    "Transaction",
    "UnauthorizedError",
    "UnreachableError",
    "UnsupportedError",
    "ValuePage",
    "ValueRow",
    "Wait",
    "Waiter",
    "Written",
    "__version__",
]

# Holds that are still there at exit are given back, and threads of ours stay out of an interpreter
# that is going away.
_atexit.register(_native._at_exit)
if hasattr(_os, "register_at_fork"):
    _os.register_at_fork(after_in_child=_native._after_fork_in_child)
