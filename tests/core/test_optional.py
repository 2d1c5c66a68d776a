"""Laws of extras.require: it is a plain import where the library is there, and an answer where it is not."""

import ast
import json
import re
import sys
import tomllib
from pathlib import Path

import pytest

from dispatch.core.optional import require
from dispatch.errors import MissingExtraError

ROOT = Path(__file__).parents[2]
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]


def test_an_installed_library_is_returned_as_import_would():
    assert require("json", "cli") is json
    assert require("importlib.metadata", "cli") is sys.modules["importlib.metadata"]


def test_a_missing_library_names_who_needs_it_what_and_the_command():
    message = (
        "dispatch.symbolic needs no_such_library, which is not installed.\n"
        "Install it with: pip install 'npdispatch[symbolic]'"
    )
    with pytest.raises(MissingExtraError, match=f"^{re.escape(message)}$"):
        require("no_such_library.part", "symbolic")


def test_the_caller_may_say_what_it_was_doing():
    with pytest.raises(MissingExtraError, match=r"^dispatch\.interop\.torch needs no_such_library, which"):
        require("no_such_library", "torch", needed_by="dispatch.interop.torch")


def test_a_missing_extra_is_an_import_error():
    with pytest.raises(ImportError):
        require("no_such_library", "symbolic")


def test_a_library_that_is_there_but_broken_keeps_its_own_error(tmp_path, monkeypatch):
    (tmp_path / "broken_library.py").write_text("import what_it_needs")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="what_it_needs") as caught:
        require("broken_library", "symbolic")
    assert not isinstance(caught.value, MissingExtraError)


def test_every_extra_asked_for_is_one_that_can_be_installed():
    asked = [
        (path.name, call.args[1].value)
        for path in sorted((ROOT / "dispatch").rglob("*.py"))
        for call in ast.walk(ast.parse(path.read_text()))
        if isinstance(call, ast.Call) and getattr(call.func, "id", getattr(call.func, "attr", "")) == "require"
        if len(call.args) > 1 and isinstance(call.args[1], ast.Constant)
    ]
    assert [(name, extra) for name, extra in asked if extra not in EXTRAS] == []
