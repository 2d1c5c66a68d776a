"""The Python face of the compiled rooms: every stub says what is there, and every example in a docstring runs."""

import doctest
import importlib
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = sorted((ROOT / "dispatch" / "core").glob("*.pyx"))
MODULES = [f"dispatch.core.{source.stem}" for source in SOURCES]


def test_there_are_compiled_rooms():
    assert "dispatch.core.overload" in MODULES


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.stem)
def test_every_compiled_room_has_its_promise_and_its_stub(source):
    assert source.with_suffix(".pxd").exists()
    assert source.with_suffix(".pyi").exists()


def test_every_stub_has_its_room():
    stubs = (ROOT / "dispatch").rglob("*.pyi")
    assert [stub.name for stub in stubs if not stub.with_suffix(".pyx").exists()] == []


@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="mypy is not installed (extra `lint`)")
def test_the_stubs_agree_with_what_was_compiled():
    options = ["--mypy-config-file", "pyproject.toml", "--allowlist", "tests/stubtest_allowlist.txt"]
    command = [sys.executable, "-m", "mypy.stubtest", *options, *MODULES]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_compiled_room_run(name):
    # pytest collects the examples of Python files only; Cython lists those of a .pyx in `__test__`.
    result = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    assert result.failed == 0
