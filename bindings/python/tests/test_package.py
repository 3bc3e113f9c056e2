"""What pip installs."""

from __future__ import annotations

import importlib.metadata
from pathlib import Path

import fencehold
from conftest import SOURCE


def test_the_installed_package_is_the_one_under_test() -> None:
    assert not Path(fencehold.__file__).is_relative_to(SOURCE / "bindings")


def test_the_metadata() -> None:
    about = importlib.metadata.metadata("fencehold")
    assert about["Version"] == fencehold.__version__
    assert about["License-Expression"] == "Apache-2.0"
    assert about["Requires-Python"] == ">=3.9"
    assert about.get_all("License-File") == ["LICENSE"]
    assert importlib.metadata.requires("fencehold") is None
    links = dict(link.split(", ") for link in about.get_all("Project-URL") or [])
    assert set(links) == {"Changelog", "Documentation", "Issues", "Repository"}
    classifiers = about.get_all("Classifier") or []
    assert "Typing :: Typed" in classifiers and "Programming Language :: Python :: 3.9" in classifiers
    assert "import fencehold" in (importlib.metadata.distribution("fencehold").read_text("METADATA") or "")


def test_the_files() -> None:
    files = importlib.metadata.files("fencehold") or []
    names = {file.name for file in files if file.parts[0] == "fencehold" and not file.name.endswith(".pyc")}
    assert names == {
        "__init__.py", "_errors.py", "_json.py", "_native.abi3.so", "_native.pyi", "_rows.py", "_transaction.py",
        "_types.py", "_values.py", "aio.py", "py.typed",
    }  # fmt: skip
