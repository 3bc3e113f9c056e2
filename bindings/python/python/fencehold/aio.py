"""The same names for asyncio. What may wait is a coroutine; see ``fencehold`` for what each one does.

Calls that the store decides at once never leave the event loop; each other one has a thread of its
own, never one of the default executor. Cancelling the task ends any wait with nothing held and no
place in line kept; a release that was begun is finished first.

>>> import asyncio
>>> from fencehold import aio
>>> async def main():
...     async with aio.Client("memory:") as client:
...         async with client.acquire("reports/nightly", ttl="30s", wait="5s") as lock:
...             return lock.keep_alive()
>>> asyncio.run(main())
True
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import weakref
from typing import (
    Any,
    Awaitable,
    Callable,
    Dict,
    Generator,
    List,
    Optional,
    Sequence,
    TypeVar,
)

from . import (
    Cancel,
    CancelledError,
    CommitResult,
    Duration,
    Error,
    Expiry,
    ForbiddenError,
    ForkedError,
    HeldError,
    Holder,
    InDoubtError,
    InternalError,
    InvalidError,
    LockInfo,
    LostError,
    LostReason,
    NotHeldError,
    RateLimitedError,
    Refusal,
    RunResult,
    StoreError,
    TimedOutError,
    UnauthorizedError,
    UnreachableError,
    UnsupportedError,
    ValuePage,
    ValueRow,
    Wait,
    Waiter,
    Written,
    _native,
)
from ._rows import value_json
from ._transaction import Step
from ._types import Crash

__all__ = [
    "AcquireContext",
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
]

T = TypeVar("T")
_GIVEN_BEFORE: Any = ...
"""The handle's own wait: what an acquire without one takes."""
Start = Callable[[asyncio.AbstractEventLoop, Callable[[Any, Any], None]], object]

_logger = logging.getLogger("fencehold")


async def _call(
    start: Start, *, cancel: Optional[Cancel] = None, finish: bool = False, takes: Optional[Lock] = None
) -> Any:
    """Runs a call on a thread of its own and waits for what it delivers.

    When the task is cancelled, the call is ended by `cancel`, or waited for if it is to `finish`.
    `takes` says that the answer is a hold of that lock, which is given back when the task goes on
    without it.
    """
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[Any] = loop.create_future()
    abandoned = False

    def deliver(value: Any, error: Optional[BaseException]) -> None:
        if abandoned or answer.done():
            if takes is not None and value:
                _native.give_back(takes, value)
        elif error is None:
            answer.set_result(value)
        else:
            answer.set_exception(error)

    start(loop, deliver)
    cancelled: Optional[asyncio.CancelledError] = None
    try:
        while not answer.done():
            try:
                await asyncio.wait([answer])
            except asyncio.CancelledError as error:
                if cancel is None and not finish:
                    raise
                cancelled = error
                if cancel is not None:
                    cancel.trigger()
    except BaseException:
        # Nobody will look at the answer: the task was cancelled, or the coroutine itself was ended.
        abandoned = True
        if cancel is not None:
            cancel.trigger()
        raise
    if cancelled is not None:
        if answer.exception() is None and takes is not None and answer.result():
            # The grant came at the same moment.
            with contextlib.suppress(Error, asyncio.CancelledError):
                await takes._leave(answer.result())
        raise cancelled
    return answer.result()


class Lock(_native.LockBase):
    """One owner's handle on a lock; made by ``Client.lock()``; ``async with`` acquires it."""

    __slots__ = ("_loop", "_scopes")

    _loop: asyncio.AbstractEventLoop
    _scopes: Dict[Any, List[int]]

    async def _take(self, wait: Wait, start: Callable[..., None]) -> int:
        """The hold that a waiting call took; 0 if it was refused without an error."""
        cancel = Cancel()
        return int(await _call(lambda *reply: start(self, cancel, *reply, wait), cancel=cancel, takes=self))

    async def _acquire_or_raise(self, wait: Wait = _GIVEN_BEFORE) -> int:
        self._loop = asyncio.get_running_loop()
        # Refused at once is 0: asking again makes the error that tells who holds it.
        return _native.acquire_at_once(self, wait) or await self._take(wait, _native.start_acquire)

    async def acquire(self, *, wait: Wait = _GIVEN_BEFORE) -> bool:
        """Takes the lock. True: held. False: somebody else has it; ``refusal`` tells who and why."""
        self._loop = asyncio.get_running_loop()
        taken = _native.acquire_at_once(self, wait)
        if taken is not None:
            return taken != 0
        try:
            await self._take(wait, _native.start_acquire)
        except HeldError as error:
            if error.refusal is None:
                raise
            return False
        return True

    async def step_aside(self, *, wait: Wait = _GIVEN_BEFORE) -> bool:
        """Gives the lock to whoever is in line and takes it again behind them, as a new hold."""
        self._loop = asyncio.get_running_loop()
        return await self._take(wait, _native.start_step_aside) != 0

    async def run(self, fn: Callable[[], Awaitable[T]], *, wait: Wait = _GIVEN_BEFORE) -> RunResult[T]:
        """Awaits ``fn()`` with the lock held and gives it back. Without the lock ``fn`` is not called."""
        try:
            epoch = await self._acquire_or_raise(wait)
        except HeldError as error:
            if error.refusal is None:
                raise
            return RunResult(False, None, error.refusal)
        try:
            value = await fn()
        except BaseException as error:
            await self._leave_after(epoch, error)
            raise
        try:
            await self._leave(epoch)
        except Error as error:
            error.value = value
            raise
        return RunResult(True, value)

    async def release(self) -> bool:
        """Gives the lock back. True: done. False: there was nothing to give back."""
        released = _native.release_at_once(self)
        if released is not None:
            return released
        return bool(await _call(lambda *reply: _native.start_release(self, *reply), finish=True))

    async def _leave(self, epoch: int) -> None:
        if not _native.leave_at_once(self, epoch):
            await _call(lambda *reply: _native.start_leave(self, epoch, *reply), finish=True)

    async def _leave_after(self, epoch: int, body: BaseException) -> None:
        try:
            await self._leave(epoch)
        except Error as error:
            _native.attach(body, error)

    async def wait_lost(self, timeout: Optional[float] = None) -> Optional[LostReason]:
        """Waits until the hold is lost, for at most ``timeout``; returns why, or None if it was not."""
        cancel = Cancel()
        reason: Optional[LostReason] = await _call(
            lambda *reply: _native.start_wait_lost(self, timeout, cancel, *reply), cancel=cancel
        )
        return reason

    def on_lost(self, handler: Callable[[LostReason], object]) -> Callable[[], None]:
        """Calls ``handler(reason)`` on the event loop, once a hold; returns a function that removes it."""
        if not callable(handler):
            raise TypeError("on_lost() needs a callable")
        with contextlib.suppress(RuntimeError):
            self._loop = asyncio.get_running_loop()
        return super().on_lost(_OnLoop(self, handler))

    async def __aenter__(self) -> Lock:
        epoch = _native.take_over(self) or await self._acquire_or_raise()
        if not hasattr(self, "_scopes"):
            self._scopes = {}
        self._scopes.setdefault(asyncio.current_task(), []).append(epoch)
        return self

    async def __aexit__(self, kind: object, error: Optional[BaseException], traceback: object) -> None:
        scopes = self._scopes
        task: Any = asyncio.current_task()
        if task not in scopes:
            task = next(iter(scopes))
        epoch = scopes[task].pop()
        if not scopes[task]:
            del scopes[task]
        if error is None:
            await self._leave(epoch)
        else:
            await self._leave_after(epoch, error)


class _OnLoop:
    """Calls a loss handler on the event loop, from whatever thread found out."""

    __slots__ = ("_handler", "_lock")

    def __init__(self, lock: Lock, handler: Callable[[LostReason], object]) -> None:
        # Weak, so that a dropped lock goes at once and not when cycles are collected.
        self._lock = weakref.ref(lock)
        self._handler = handler

    def __call__(self, reason: LostReason) -> None:
        loop: Optional[asyncio.AbstractEventLoop] = getattr(self._lock(), "_loop", None)
        if loop is None or loop.is_closed():
            _logger.error("no event loop to call the loss handler %r on", self._handler)
            return
        loop.call_soon_threadsafe(self._run, reason)

    def _run(self, reason: LostReason) -> None:
        try:
            self._handler(reason)
        except Exception as error:
            _logger.error("a loss handler failed: %r", self._handler, exc_info=error)

    def __repr__(self) -> str:
        return repr(self._handler)


class AcquireContext(Awaitable[Lock]):
    """What ``Client.acquire()`` returns: ``await`` it for the held lock, or use it in ``async with``."""

    __slots__ = ("_held", "_lock")

    def __init__(self, lock: Lock) -> None:
        self._lock = lock
        self._held: Optional[Lock] = None

    async def _acquire(self) -> Lock:
        _native.mark_taken(self._lock, await self._lock._acquire_or_raise())
        return self._lock

    def __await__(self) -> Generator[Any, None, Lock]:
        return self._acquire().__await__()

    async def __aenter__(self) -> Lock:
        return await self._lock.__aenter__()

    async def __aexit__(self, kind: object, error: Optional[BaseException], traceback: object) -> None:
        await self._lock.__aexit__(kind, error, traceback)


class Transaction(Step):
    """A step that is done as a whole, and only if its guarded locks are still held."""

    __slots__ = ()

    async def commit(self) -> CommitResult:
        """Does all of it or nothing; once begun, it is finished before a cancelled task ends."""
        result: CommitResult = await _call(lambda *reply: _native.start_commit(self, *reply), finish=True)
        return result


class Kv(_native.KvBase):
    """The rows of users in one namespace, as ``fencehold.Kv``.

    A write that was begun is finished before a cancelled task ends.
    """

    __slots__ = ()

    async def get(self, key: str) -> Optional[ValueRow]:
        """The row at ``key``, or None."""
        found: Optional[ValueRow] = await _call(lambda *reply: self._get(key, *reply))
        return found

    async def get_many(self, keys: Sequence[str]) -> List[ValueRow]:
        """Those of the rows at ``keys``, at most 1024, that are there."""
        found: List[ValueRow] = await _call(lambda *reply: self._get_many(keys, *reply))
        return found

    async def get_prefix(self, prefix: str, *, limit: int = 1000, after: Optional[str] = None) -> ValuePage:
        """Up to ``limit`` (1000) rows whose keys begin with ``prefix`` and come behind ``after``, by key."""
        found: ValuePage = await _call(lambda *reply: self._get_prefix(prefix, limit, after, *reply))
        return found

    async def put(self, key: str, value: Any, *, ttl: Expiry, expect: Optional[int] = None) -> Written:
        """Writes a row, whatever was there; with ``expect`` only over a row of that version."""
        text = value_json(value)
        return await self._write(lambda *reply: self._put(key, text, ttl, expect, *reply))

    async def put_if_absent(self, key: str, value: Any, *, ttl: Expiry) -> Written:
        """Writes a row if there is none."""
        text = value_json(value)
        return await self._write(lambda *reply: self._put_if_absent(key, text, ttl, *reply))

    async def delete(self, key: str, *, expect: Optional[int] = None) -> Written:
        """Removes a row; with ``expect`` only one of that version."""
        return await self._write(lambda *reply: self._delete(key, expect, *reply))

    async def incr(self, key: str, delta: int = 1, *, ttl: Expiry) -> Written:
        """Adds to the number in a row, which is made if there is none; ``ttl`` is for that one."""
        return await self._write(lambda *reply: self._incr(key, delta, ttl, *reply))

    async def check(self, key: str, expect: int) -> Written:
        """Whether a row has the version ``expect``; 0: is not there."""
        found: Written = await _call(lambda *reply: self._check(key, expect, *reply))
        return found

    async def _write(self, start: Callable[..., object]) -> Written:
        done: Written = await _call(start, finish=True)
        return done


class Client(_native.ClientBase):
    """One store, as ``fencehold.Client``; ``async with`` closes it."""

    __slots__ = ()

    def lock(
        self,
        name: str,
        *,
        ttl: Duration,
        wait: Wait = 0,
        owner: Optional[str] = None,
        resume: bool = False,
        label: Optional[str] = None,
        fair: bool = False,
        reentrant: bool = False,
        background: bool = True,
        crash: Crash = "takeover",
    ) -> Lock:
        """Makes a handle on the lock ``name``, options as in ``fencehold``. Nothing is sent."""
        return Lock(
            self._handle(
                name,
                None,
                ttl=ttl,
                wait=wait,
                owner=owner,
                resume=resume,
                label=label,
                fair=fair,
                reentrant=reentrant,
                background=background,
                crash=crash,
            )
        )

    def semaphore(
        self,
        name: str,
        permits: int,
        *,
        ttl: Duration,
        wait: Wait = 0,
        owner: Optional[str] = None,
        resume: bool = False,
        label: Optional[str] = None,
        fair: bool = False,
        reentrant: bool = False,
        background: bool = True,
        crash: Crash = "takeover",
    ) -> Lock:
        """Makes a handle on one of ``permits`` permits."""
        if permits is None:
            raise TypeError("permits must be an int")
        return Lock(
            self._handle(
                name,
                permits,
                ttl=ttl,
                wait=wait,
                owner=owner,
                resume=resume,
                label=label,
                fair=fair,
                reentrant=reentrant,
                background=background,
                crash=crash,
            )
        )

    def acquire(
        self,
        name: str,
        *,
        ttl: Duration,
        wait: Wait = 0,
        owner: Optional[str] = None,
        resume: bool = False,
        label: Optional[str] = None,
        fair: bool = False,
        reentrant: bool = False,
        background: bool = True,
        crash: Crash = "takeover",
    ) -> AcquireContext:
        """Takes the lock when awaited or entered, or raises HeldError or TimedOutError."""
        return AcquireContext(
            self.lock(
                name,
                ttl=ttl,
                wait=wait,
                owner=owner,
                resume=resume,
                label=label,
                fair=fair,
                reentrant=reentrant,
                background=background,
                crash=crash,
            )
        )

    async def holders(self, name: str) -> List[Holder]:
        """Who holds the lock now, by slot."""
        found: List[Holder] = await _call(lambda *reply: _native.start_holders(self, name, *reply))
        return found

    async def show(self, name: str) -> LockInfo:
        """What the store knows about the lock."""
        found: LockInfo = await _call(lambda *reply: _native.start_show(self, name, *reply))
        return found

    async def list(self, prefix: str = "", *, limit: int = 1000, after: str = "") -> List[LockInfo]:
        """The locks that are held or waited for whose name begins with ``prefix``, by name."""
        found: List[LockInfo] = await _call(lambda *reply: _native.start_list(self, prefix, limit, after, *reply))
        return found

    async def force_release(
        self, name: str, *, token: Optional[int] = None, owner: Optional[str] = None, slot: int = 0
    ) -> bool:
        """Ends somebody's hold, named by its token or its owner. False: nothing changed."""
        return bool(await _call(lambda *reply: _native.start_force_release(self, name, token, owner, slot, *reply)))

    def transaction(self) -> Transaction:
        """A step that is done only if its locks are still held."""
        return Transaction(self)

    def kv(self, namespace: str) -> Kv:
        """The rows of users in ``namespace``."""
        return Kv(self, namespace)

    async def ping(self) -> None:
        """Asks the store whether it answers."""
        await _call(lambda *reply: _native.start_ping(self, *reply))

    async def close(self) -> None:
        """Ends all waits and gives all holds back, within 3 s."""
        await _call(lambda *reply: _native.start_close(self, *reply), finish=True)

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(self, kind: object, error: Optional[BaseException], traceback: object) -> None:
        try:
            await self.close()
        except Error as ours:
            if error is None:
                raise
            _native.attach(error, ours)
