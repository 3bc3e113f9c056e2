"""What the tests share: both flavours of the package behind one face, and tests that are coroutines."""

from __future__ import annotations

import asyncio
import inspect
import itertools
import os
import shutil
import subprocess
import sys
import threading
import types
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, AsyncIterator, Awaitable, Callable, Iterator

import pytest

import fencehold
import fencehold.aio

SOURCE = Path(__file__).resolve().parents[3]
COMMAND = os.environ.get("FENCEHOLD_TEST_COMMAND", "fencehold")
"""The built command, for servers."""
_numbers = itertools.count()


class Flavour:
    """The plain or the asyncio package; `do` and `scope` hide the difference."""

    def __init__(self, name: str, module: types.ModuleType) -> None:
        self.name = name
        self.is_aio = name == "aio"
        self.Client: Any = module.Client
        self.Transaction: Any = module.Transaction

    async def do(self, call: Any) -> Any:
        """The answer of a call that is a coroutine in one flavour only."""
        return await call if inspect.isawaitable(call) else call

    def start(self, call: Callable[[], Any]) -> Awaitable[Any]:
        """Begins a call that waits, beside the test."""
        if self.is_aio:
            return asyncio.ensure_future(self.do(call()))
        return asyncio.ensure_future(asyncio.to_thread(call))

    @asynccontextmanager
    async def scope(self, manager: Any) -> AsyncIterator[Any]:
        """`with` or `async with`."""
        if self.is_aio:
            async with manager as entered:
                yield entered
        else:
            with manager as entered:
                yield entered

    def body(self, call: Callable[[], Awaitable[Any]]) -> Callable[[], Any]:
        """A body for `run`, from a coroutine function."""
        if self.is_aio:
            return call

        def plain() -> Any:
            answer: list[Any] = []
            failed: list[BaseException] = []

            def elsewhere() -> None:
                try:
                    answer.append(asyncio.run(call()))  # type: ignore[arg-type]
                except BaseException as error:
                    failed.append(error)

            thread = threading.Thread(target=elsewhere)
            thread.start()
            thread.join()
            if failed:
                raise failed[0]
            return answer[0]

        return plain


@pytest.fixture(params=["sync", "aio"])
def api(request: pytest.FixtureRequest) -> Flavour:
    return Flavour(request.param, fencehold.aio if request.param == "aio" else fencehold)


@pytest.fixture(params=["memory", "file"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A fresh store that several clients share."""
    return fresh(request.param + ":", tmp_path)


@contextmanager
def server(folder: Path) -> Iterator[str]:
    """A server of ours on a free port; its URL. Ended by its process id."""
    command = [COMMAND, "serve", "--data", str(folder / f"server-{next(_numbers)}"), "--listen", "127.0.0.1:0"]
    with open(folder / "server.log", "wb") as log, subprocess.Popen(command, stderr=subprocess.PIPE) as process:
        assert process.stderr is not None
        line = process.stderr.readline().decode()
        copy = threading.Thread(target=shutil.copyfileobj, args=(process.stderr, log))
        copy.start()
        try:
            yield next((word for word in line.split() if word.startswith("http://")), line)
        finally:
            process.terminate()
            process.wait(30)
            copy.join()


@pytest.fixture(params=["memory", "file", "http"])
def any_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A fresh store, also on a server."""
    if request.param == "http":
        with server(tmp_path) as url:
            yield url
    else:
        yield fresh(request.param + ":", tmp_path)


def fresh(url: str, folder: Path) -> str:
    kind, _, query = url.partition("?")
    number = next(_numbers)
    place = {"memory:": f"memory:test-{os.getpid()}-{number}", "file:": f"file:{folder}/store-{number}"}[kind]
    return place + ("?" + query if query else "")


async def until(condition: Callable[[], Any], limit: float = 10.0) -> None:
    """Waits until something is so."""
    loop = asyncio.get_running_loop()
    end = loop.time() + limit
    while not condition():
        assert loop.time() < end, "it did not come about"
        await asyncio.sleep(0.005)


def child(program: str, *arguments: str, **options: Any) -> subprocess.Popen[str]:
    """Starts another Python that runs `program`."""
    return subprocess.Popen(
        [sys.executable, "-c", program, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def run_child(program: str, *arguments: str, limit: float = 30.0) -> str:
    """Runs `program` in another Python to its good end; what it printed."""
    process = child(program, *arguments)
    try:
        out, err = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        raise AssertionError(f"it hangs\n{out}\n{err}") from None
    assert process.returncode == 0, f"{process.returncode}\n{out}\n{err}"
    return out


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in [name for name in os.environ if name.startswith("FENCEHOLD_")]:
        monkeypatch.delenv(name)
    yield


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = pyfuncitem._fixtureinfo.argnames
    asyncio.run(asyncio.wait_for(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}), 120))
    return True
