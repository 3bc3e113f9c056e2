"""The stubs, the types and the style."""

from __future__ import annotations

import ast
import inspect
import os
import subprocess
import sys
from pathlib import Path

import fencehold
from fencehold import _native, aio

PACKAGE = Path(fencehold.__file__).parent
HERE = Path(__file__).parent


def run(*arguments: str, cwd: Path = HERE) -> None:
    path = str(Path(sys.executable).parent) + os.pathsep + os.environ["PATH"]
    environment = {**os.environ, "PATH": path, "VIRTUAL_ENV": sys.prefix, "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"}
    command = [sys.executable, "-m", *arguments]
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_stubs_tell_the_truth(tmp_path: Path) -> None:
    # Aliases of literals, and the list of names that the binding layer adds to a native module.
    allowed = tmp_path / "allowed"
    allowed.write_text("fencehold\\._native\\.__all__\nfencehold\\._types\\.(Crash|LostReason)\n")
    run("mypy.stubtest", "fencehold", "--allowlist", str(allowed), "--ignore-disjoint-bases", cwd=tmp_path)


def test_the_stubs_document_everything_public() -> None:
    tree = ast.parse((PACKAGE / "_native.pyi").read_text(encoding="utf-8"))
    classes = {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
    for name in ("ClientBase", "Client", "LockBase", "Lock", "KvBase", "Cancel"):
        functions = {node.name: node for node in classes[name].body if isinstance(node, ast.FunctionDef)}
        for member in vars(getattr(_native, name)):
            if not member.startswith("_"):
                assert member in functions, f"{name}.{member} is not in the stub"
                assert ast.get_docstring(functions[member]), f"{name}.{member} has no text"
        for member in functions:
            assert hasattr(getattr(_native, name), member), f"{name}.{member} is not in the module"
    for module in (fencehold, aio):
        for name in module.__all__:
            item = getattr(module, name)
            assert not inspect.isclass(item) or item.__doc__, name


def test_names_are_where_they_are_looked_for() -> None:
    assert (PACKAGE / "py.typed").exists()
    shared = {"Cancel", "__version__"}
    assert set(fencehold.__all__) - shared == set(aio.__all__) - {"AcquireContext"}
    for name in fencehold.__all__:
        item = getattr(fencehold, name)
        if inspect.isclass(item):
            assert item.__module__ == "fencehold", name
    for name in ("Client", "Lock", "Kv"):
        plain, other = getattr(fencehold, name), getattr(aio, name)
        names = {member for member in dir(plain) if not member.startswith("_")}
        assert names == {member for member in dir(other) if not member.startswith("_")}


def test_mypy_is_content(tmp_path: Path) -> None:
    (tmp_path / "use.py").write_text(USE)
    run("mypy", "--strict", ".", str(tmp_path / "use.py"), "--cache-dir", str(tmp_path / "cache"), cwd=HERE)


def test_pyright_is_content(tmp_path: Path) -> None:
    (tmp_path / "use.py").write_text(USE)
    (tmp_path / "pyrightconfig.json").write_text('{"typeCheckingMode": "strict", "pythonVersion": "3.9"}')
    run("pyright", "--pythonpath", sys.executable, cwd=tmp_path)
    run("pyright", "--verifytypes", "fencehold", "--ignoreexternal", cwd=tmp_path)


def test_ruff_is_content() -> None:
    config = HERE.parent / "pyproject.toml"
    for folder in (HERE, HERE.parent / "python", HERE.parent / "bench"):
        if folder.exists():
            run("ruff", "check", "--no-cache", "--config", str(config), str(folder))
            run("ruff", "format", "--no-cache", "--check", "--config", str(config), str(folder))


def test_the_version_is_the_crates() -> None:
    assert fencehold.__version__ == _native.VERSION and os.path.exists(PACKAGE / "_native.pyi")


USE = '''
"""A program of a user, for the type checker."""

from datetime import timedelta
from pathlib import Path
from typing import Optional

import fencehold
from fencehold import aio


def plain() -> Optional[int]:
    with fencehold.Client("memory:", request_timeout=2, ca_file=Path("ca.pem"), label="x") as client:
        lock: fencehold.Lock = client.lock("n", ttl="30s", wait="forever", crash="expire")
        taken: bool = lock.acquire(False) or lock.acquire(True, 1.5)
        taken = taken or lock.acquire(wait=timedelta(seconds=1))
        if taken and lock.refusal is None:
            lock.on_lost(lambda reason: print(reason.upper()))
        with client.acquire("m", ttl=30, wait=0.5, cancel=fencehold.Cancel()) as other:
            fence: int = other.fence
            print(fence, other.remaining.total_seconds())
        holders = [holder.owner for holder in client.holders("n")]
        names = [info.name for info in client.list("n", limit=3)]
        print(holders, names)
        result = lock.run(lambda: 42, wait="1s")
        step = client.transaction().guard(lock)
        step.queue("q").push([{"data": 1}]).ack([]).kv([]).timers([])
        committed: fencehold.CommitResult = step.commit().or_raise()
        print(committed.success)
        return result.value


async def awaited() -> bool:
    async with aio.Client("memory:") as client:
        lock: aio.Lock = await client.acquire("n", ttl="30s")
        async with client.acquire("m", ttl="30s", wait="5s") as other:
            print(other.keep_alive())

        async def body() -> str:
            return "done"

        value: Optional[str] = (await lock.run(body)).value
        print(value, await lock.wait_lost(1.0), await client.holders("n"))
        committed: fencehold.CommitResult = await client.transaction().guard(lock).commit()
        return await lock.release() and committed.success


def errors(error: fencehold.Error) -> str:
    if isinstance(error, fencehold.HeldError) and error.refusal:
        return error.refusal.reason
    return error.kind + error.reason + (error.lock or "") + (error.store or "") + error.retry
'''
