"""The examples in the texts are run."""

from __future__ import annotations

import ast
import doctest
import re
from pathlib import Path
from typing import Any

import pytest

import fencehold
from conftest import SOURCE
from fencehold import aio

STUB = Path(fencehold.__file__).parent / "_native.pyi"
PAGE = SOURCE / "docs" / "python.md"


def texts() -> list[Any]:
    found: list[tuple[str, str | None]] = [
        ("fencehold", fencehold.__doc__),
        ("fencehold.aio", aio.__doc__),
        ("Kv", fencehold.Kv.__doc__),
    ]
    for node in ast.walk(ast.parse(STUB.read_text(encoding="utf-8"))):
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            found.append((node.name, ast.get_docstring(node)))
    return [pytest.param(name, text, id=name) for name, text in found if text and ">>>" in text]


@pytest.mark.parametrize(("name", "text"), texts())
def test_an_example_of_the_stubs(name: str, text: str) -> None:
    example = doctest.DocTestParser().get_doctest(text, dict(vars(fencehold)), name, str(STUB), 0)
    runner = doctest.DocTestRunner()
    runner.run(example)
    assert runner.summarize().failed == 0


def blocks() -> list[Any]:
    text = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    found = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    return [pytest.param(block, id=str(number)) for number, block in enumerate(found)]


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.parametrize("block", blocks())
def test_a_block_of_the_page(block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FENCEHOLD_URL", f"file:{tmp_path}/store")
    monkeypatch.chdir(tmp_path)
    said: list[Any] = []
    # Not the real one: a loss handler prints on a thread, and CPython crashes there while capturing swaps sys.stdout.
    names = {"__name__": "__main__", "print": lambda *words: said.append(words)}
    exec(compile(block, str(PAGE), "exec"), names)


def test_the_page_has_examples() -> None:
    assert len(blocks()) > 3
