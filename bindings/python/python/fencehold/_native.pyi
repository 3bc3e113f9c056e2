"""The native module. Its ``Client``, ``Lock`` and ``Cancel`` are those of ``fencehold``."""

from asyncio import AbstractEventLoop
from datetime import timedelta
from os import PathLike
from typing import Any, Callable, List, Optional, Sequence, TypeVar, Union, final

from typing_extensions import Self

from ._errors import Error
from ._rows import Kv
from ._transaction import Transaction
from ._types import Crash, Duration, Expiry, LostReason, Wait
from ._values import CommitResult, Holder, LockInfo, Refusal, RunResult

_T = TypeVar("_T")
_Path = Union[str, PathLike[str]]
_Deliver = Callable[[Any, Any], None]

VERSION: str

class ClientBase:
    """What ``fencehold.Client`` and ``fencehold.aio.Client`` share."""

    def __new__(
        cls,
        url: Optional[str] = None,
        *,
        auth_token: Optional[str] = None,
        auth_token_file: Optional[_Path] = None,
        user: Optional[str] = None,
        password: Optional[str] = None,
        password_file: Optional[_Path] = None,
        ca_file: Optional[_Path] = None,
        cert_file: Optional[_Path] = None,
        key_file: Optional[_Path] = None,
        request_timeout: Duration = ...,
        label: Optional[str] = None,
    ) -> Self: ...
    @property
    def store(self) -> str:
        """The URL of the store, without credentials."""

    def advance(self, by: Duration) -> None:
        """Moves the clock of a ``memory:?clock=manual`` store on; on others raises UnsupportedError.

        For tests: a lease of 30 s ends after ``advance("30s")``, without waiting.
        """

    def _handle(
        self,
        name: str,
        permits: Optional[int],
        *,
        ttl: Duration,
        wait: Wait = ...,
        owner: Optional[str] = None,
        resume: bool = False,
        label: Optional[str] = None,
        fair: bool = False,
        reentrant: bool = False,
        background: bool = True,
        crash: str = "takeover",
    ) -> _Handle: ...

@final
class _Handle: ...

class LockBase:
    """What ``fencehold.Lock`` and ``fencehold.aio.Lock`` share."""

    def __new__(cls, handle: _Handle) -> Self: ...
    def keep_alive(self) -> bool:
        """Tells whether the lock is still held, and keeps it so. Call it between the steps of the work.

        True: go on. False: lost or not held; stop now, somebody else may be working. Never raises;
        ``last_error`` keeps the cause. While no renewal is due this costs about as much as asking
        for the time. A background handle renews by itself and sends nothing from here. With
        ``background=False`` a call after a third of the lifetime makes one renewal, which takes at
        most a fifth of the lifetime (``fencehold.aio`` starts it and does not wait).
        """

    def on_lost(self, handler: Callable[[LostReason], object]) -> Callable[[], None]:
        """Calls ``handler(reason)`` once a hold when it is lost; returns a function that removes it.

        A background handle calls it on the thread ``fencehold``, one with ``background=False`` in
        the call that found out, ``fencehold.aio`` on the event loop. A handler added after the loss
        is called at once. It stays for the next hold. One that raises is logged to the logger
        ``fencehold``. A release is no loss.
        """

    def locked(self) -> bool:
        """The same as ``held``: the word of ``threading.Lock``."""

    def lose(self, reason: LostReason) -> None:
        """Loses the hold for ``reason``, to rehearse it. On ``memory:`` only, else UnsupportedError."""

    @property
    def held(self) -> bool:
        """Whether the lease is held and its deadline, by a clock that counts suspended time, is ahead."""

    @property
    def at_risk(self) -> bool:
        """Whether a renewal could not be asked and none succeeded since; ``last_error`` says why."""

    @property
    def lost(self) -> bool:
        """Whether the last hold was lost. A release is no loss."""

    @property
    def lost_reason(self) -> Optional[LostReason]:
        """Why the last hold was lost; None while held, given back or never held."""

    @property
    def refusal(self) -> Optional[Refusal]:
        """Who has the lock, as the last acquire that answered False was told; else None."""

    @property
    def last_error(self) -> Optional[Error]:
        """What went wrong last: the cause of a loss, of ``at_risk`` or of a failed release; else None."""

    @property
    def token(self) -> int:
        """The last answer's token, 1 to 2**63-1. It moves with each renewal; for guards and releases.

        Raises NotHeldError when the handle has not held anything yet, or gave it back.
        """

    @property
    def fence(self) -> int:
        """This grant's first token, the same for the whole hold: what rows, headers and children get.

        Above all tokens of earlier holders and below all of later ones. Readable while held and
        after a loss, so that what it fences can refuse a late write; else raises NotHeldError.
        """

    @property
    def slot(self) -> int:
        """Which permit of a semaphore is held; 0 for a lock. Raises NotHeldError as ``token`` does."""

    @property
    def position(self) -> int:
        """The place in line of a waiting fair acquire, 1 is next; 0: not in line."""

    @property
    def name(self) -> str:
        """The name of the lock."""

    @property
    def owner(self) -> str:
        """Who this handle is to the store: ``host:pid:random`` unless it was chosen."""

    @property
    def ttl(self) -> timedelta:
        """The lifetime that the store grants: what was asked for, rounded up to the store's step."""

    @property
    def remaining(self) -> timedelta:
        """How much of the lease is left without a renewal; zero when it is not held."""

@final
class Client(ClientBase):
    """One store. Threads share a client; making one opens nothing and sends nothing.

    ``url`` is ``file:/var/lib/fencehold``, ``memory:`` or another store's. Without one:
    ``FENCEHOLD_URL``, else the one line of ``/etc/fencehold/url``; none is ever guessed. Each option
    can also come from the environment as ``FENCEHOLD_<NAME>``. ``request_timeout`` bounds one
    request (5 s, and at most a quarter of the lifetime); ``label`` is what refusals show to people.

    Raises InvalidError for a URL or an option that can't be understood (``locks_bad_url``,
    ``locks_no_store``).

    As a context manager it closes itself. After a fork the child's client opens anew.

    >>> with Client("memory:") as client:
    ...     lock = client.lock("reports/nightly", ttl="30s")
    ...     lock.acquire()
    True
    """

    def __new__(
        cls,
        url: Optional[str] = None,
        *,
        auth_token: Optional[str] = None,
        auth_token_file: Optional[_Path] = None,
        user: Optional[str] = None,
        password: Optional[str] = None,
        password_file: Optional[_Path] = None,
        ca_file: Optional[_Path] = None,
        cert_file: Optional[_Path] = None,
        key_file: Optional[_Path] = None,
        request_timeout: Duration = ...,
        label: Optional[str] = None,
    ) -> Client: ...
    def lock(
        self,
        name: str,
        *,
        ttl: Duration,
        wait: Wait = ...,
        owner: Optional[str] = None,
        resume: bool = False,
        label: Optional[str] = None,
        fair: bool = False,
        reentrant: bool = False,
        background: bool = True,
        crash: Crash = "takeover",
    ) -> Lock:
        """Makes a handle on the lock ``name``: one owner. Nothing is sent.

        ``name``: 1 to 256 bytes of UTF-8, no control character, no ``#``. ``ttl``: how long the
        lease outlives its last renewal, 100 ms to 24 h. ``wait``: how long an acquire waits for its
        turn unless it says otherwise; 0, the default, is one try. ``background``: a thread of ours
        renews; False: ``keep_alive()`` does. ``fair``: first come, first served. ``reentrant``: an
        acquire through a handle that holds counts instead of being refused. ``crash``: whether
        others may take over at once when this process dies (``"takeover"``) or only after the
        lifetime (``"expire"``). ``owner``: an identity of your own, unique per holder; ``resume``
        takes up the hold that it already has. ``label``: for people.

        Raises InvalidError (``locks_bad_name``, ``locks_bad_ttl``, ``locks_bad_wait``, …).
        """

    def semaphore(
        self,
        name: str,
        permits: int,
        *,
        ttl: Duration,
        wait: Wait = ...,
        owner: Optional[str] = None,
        resume: bool = False,
        label: Optional[str] = None,
        fair: bool = False,
        reentrant: bool = False,
        background: bool = True,
        crash: Crash = "takeover",
    ) -> Lock:
        """Makes a handle on one of ``permits`` permits; everything else is as in ``lock()``."""

    def acquire(
        self,
        name: str,
        *,
        ttl: Duration,
        wait: Wait = ...,
        owner: Optional[str] = None,
        resume: bool = False,
        label: Optional[str] = None,
        fair: bool = False,
        reentrant: bool = False,
        background: bool = True,
        crash: Crash = "takeover",
        cancel: Optional[Cancel] = None,
    ) -> Lock:
        """Takes the lock, or raises: the form for ``with``.

        Raises HeldError when somebody else has it, TimedOutError when ``wait`` was over (both carry
        ``refusal``), UnreachableError when the store could not be asked, InDoubtError when no answer
        came, CancelledError when ``cancel`` was triggered. Nothing is held then, except after
        InDoubtError, where it may be held until ``until``.

        >>> client = Client("memory:")
        >>> with client.acquire("reports/nightly", ttl="30s", wait="5s") as lock:
        ...     lock.keep_alive()
        True
        """

    def holders(self, name: str) -> List[Holder]:
        """Who holds the lock now, by slot. Takes and changes nothing."""

    def show(self, name: str) -> LockInfo:
        """What the store knows about the lock: its holders and who waits in line."""

    def list(self, prefix: str = "", *, limit: int = 1000, after: str = "") -> List[LockInfo]:
        """The locks that are held or waited for whose name begins with ``prefix``, by name.

        At most ``limit`` (1000) of them, those behind the name ``after``.
        """

    def force_release(
        self, name: str, *, token: Optional[int] = None, owner: Optional[str] = None, slot: int = 0
    ) -> bool:
        """Ends somebody's hold, named by its token or its owner. False: no such hold, nothing changed.

        Its holder finds out at its next renewal. For operators: the holder may still be working.
        """

    def transaction(self) -> Transaction:
        """A step that is done only if its locks are still held."""

    def kv(self, namespace: str) -> Kv:
        """The rows of users in ``namespace``: 1 to 64 of a-z, 0-9, ``.``, ``_`` and ``-``."""

    def ping(self) -> None:
        """Asks the store whether it answers; raises UnreachableError and the like if it does not."""

    def close(self) -> None:
        """Ends all waits and gives all holds back, within 3 s; later calls raise ``client_closed``.

        Raises InDoubtError naming the locks that could not be given back; they end by themselves.
        """

    def __enter__(self) -> Client: ...
    def __exit__(self, _kind: object, error: object, _traceback: object) -> None: ...

@final
class Lock(LockBase):
    """One owner's handle on a lock or on one permit of a semaphore; made by ``Client.lock()``.

    Any thread may call any of its functions at any time. As a context manager it acquires (or
    raises HeldError, TimedOutError), enters as itself and gives back only the hold it took. When
    the body raised, that error goes on with ours attached as its context and as a note. Else
    leaving raises LostError, with ``late_by``, if the lease ended before the body did, or the error
    of the release. Dropping a handle that holds gives the lock back with a ResourceWarning.
    """

    def acquire(
        self,
        blocking: Optional[bool] = None,
        timeout: float = ...,
        *,
        wait: Wait = ...,
        cancel: Optional[Cancel] = None,
    ) -> bool:
        """Takes the lock. True: held. False: somebody else has it; ``refusal`` tells who and why.

        Without arguments it waits as long as the handle's ``wait``, by default not at all.
        ``blocking`` and ``timeout`` mean what they mean for ``threading.Lock``. Ctrl-C, and
        ``cancel``, end the wait with nothing held and no place in line kept.

        Raises UnreachableError when the store stayed out of reach for the length of the wait;
        InDoubtError when no answer came: acquire again through this handle, it recognises its own
        grant; CancelledError; InvalidError for a wait that can't be understood.
        """

    def step_aside(self, *, wait: Wait = ..., cancel: Optional[Cancel] = None) -> bool:
        """Gives the lock to whoever is in line and takes it again behind them, as a new hold.

        True: held again, with a higher fence. False: the wait was over first; nothing is held.
        """

    def run(self, fn: Callable[[], _T], *, wait: Wait = ..., cancel: Optional[Cancel] = None) -> RunResult[_T]:
        """Calls ``fn()`` with the lock held and gives it back. Without the lock ``fn`` is not called.

        The answer is true if the lock was had: then ``value`` is what ``fn`` returned, else
        ``refusal`` tells who has it. When ``fn`` raises, that error goes on. LostError and the
        errors of the release carry what ``fn`` returned as ``value``.

        >>> Client("memory:").lock("reports/nightly", ttl="30s").run(lambda: 42).value
        42
        """

    def release(self) -> bool:
        """Gives the lock back. True: done. False: there was nothing to give back (idle or lost).

        Takes at most 2 s. From the call on nothing renews and ``held`` is False. Raises
        UnreachableError or InDoubtError (``until`` when it may stay held); then it may be called
        again, and otherwise the lease ends by itself.
        """

    def wait_lost(self, timeout: Optional[Duration] = None) -> Optional[LostReason]:
        """Waits until the hold is lost, for at most ``timeout``; returns why, or None if it was not."""

    def __enter__(self) -> Lock: ...
    def __exit__(self, _kind: object, error: object, _traceback: object) -> None: ...

class StepBase:
    """What ``fencehold.Transaction`` and ``fencehold.aio.Transaction`` share."""

    def __new__(cls, client: ClientBase) -> Self: ...
    def _guard(self, lock: LockBase) -> None: ...
    def _push(self, queue: str, items: str) -> None: ...
    def _ack(self, acks: str) -> None: ...
    def _kv(self, operations: str) -> None: ...
    def _timers(self, operations: str) -> None: ...
    def _commit(self) -> CommitResult: ...

class KvBase:
    """What ``fencehold.Kv`` and ``fencehold.aio.Kv`` share. With an event loop the answer is delivered there."""

    def __new__(cls, client: ClientBase, namespace: str) -> Self: ...
    @property
    def namespace(self) -> str:
        """The namespace."""

    def _get(
        self, key: str, event_loop: Optional[AbstractEventLoop] = None, deliver: Optional[_Deliver] = None
    ) -> Any: ...
    def _get_many(
        self, keys: Sequence[str], event_loop: Optional[AbstractEventLoop] = None, deliver: Optional[_Deliver] = None
    ) -> Any: ...
    def _get_prefix(
        self,
        prefix: str,
        limit: int,
        after: Optional[str],
        event_loop: Optional[AbstractEventLoop] = None,
        deliver: Optional[_Deliver] = None,
    ) -> Any: ...
    def _put(
        self,
        key: str,
        value: str,
        ttl: Expiry,
        expect: Optional[int],
        event_loop: Optional[AbstractEventLoop] = None,
        deliver: Optional[_Deliver] = None,
    ) -> Any: ...
    def _put_if_absent(
        self,
        key: str,
        value: str,
        ttl: Expiry,
        event_loop: Optional[AbstractEventLoop] = None,
        deliver: Optional[_Deliver] = None,
    ) -> Any: ...
    def _delete(
        self,
        key: str,
        expect: Optional[int],
        event_loop: Optional[AbstractEventLoop] = None,
        deliver: Optional[_Deliver] = None,
    ) -> Any: ...
    def _incr(
        self,
        key: str,
        delta: int,
        ttl: Expiry,
        event_loop: Optional[AbstractEventLoop] = None,
        deliver: Optional[_Deliver] = None,
    ) -> Any: ...
    def _check(
        self, key: str, expect: int, event_loop: Optional[AbstractEventLoop] = None, deliver: Optional[_Deliver] = None
    ) -> Any: ...

@final
class Cancel:
    """Ends waits from another thread or from a signal handler. Triggering is final."""

    def __new__(cls) -> Cancel: ...
    def trigger(self) -> None:
        """Ends every wait that was given this object, now and later, with CancelledError."""

    @property
    def triggered(self) -> bool:
        """Whether it was triggered."""

def _at_exit() -> None: ...
def _after_fork_in_child() -> None: ...
def acquire_at_once(lock: LockBase, wait: Wait) -> Optional[int]: ...
def start_acquire(
    lock: LockBase, cancel: Cancel, event_loop: AbstractEventLoop, deliver: _Deliver, wait: Wait
) -> None: ...
def start_step_aside(
    lock: LockBase, cancel: Cancel, event_loop: AbstractEventLoop, deliver: _Deliver, wait: Wait
) -> None: ...
def release_at_once(lock: LockBase) -> Optional[bool]: ...
def start_release(lock: LockBase, event_loop: AbstractEventLoop, deliver: _Deliver) -> None: ...
def give_back(lock: LockBase, epoch: int) -> None: ...
def leave_at_once(lock: LockBase, epoch: int) -> bool: ...
def start_leave(lock: LockBase, epoch: int, event_loop: AbstractEventLoop, deliver: _Deliver) -> None: ...
def start_wait_lost(
    lock: LockBase,
    timeout: Optional[Duration],
    cancel: Cancel,
    event_loop: AbstractEventLoop,
    deliver: _Deliver,
) -> None: ...
def take_over(lock: LockBase) -> int: ...
def mark_taken(lock: LockBase, epoch: int) -> None: ...
def attach(body: BaseException, ours: BaseException) -> None: ...
def start_holders(client: ClientBase, name: str, event_loop: AbstractEventLoop, deliver: _Deliver) -> None: ...
def start_show(client: ClientBase, name: str, event_loop: AbstractEventLoop, deliver: _Deliver) -> None: ...
def start_list(
    client: ClientBase,
    prefix: str,
    limit: int,
    after: str,
    event_loop: AbstractEventLoop,
    deliver: _Deliver,
) -> None: ...
def start_force_release(
    client: ClientBase,
    name: str,
    token: Optional[int],
    owner: Optional[str],
    slot: int,
    event_loop: AbstractEventLoop,
    deliver: _Deliver,
) -> None: ...
def start_ping(client: ClientBase, event_loop: AbstractEventLoop, deliver: _Deliver) -> None: ...
def start_close(client: ClientBase, event_loop: AbstractEventLoop, deliver: _Deliver) -> None: ...
def start_commit(step: StepBase, event_loop: AbstractEventLoop, deliver: _Deliver) -> None: ...
