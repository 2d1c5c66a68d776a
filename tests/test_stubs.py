"""The stubs of the compiled modules: each says what is there, and every example in a docstring runs."""

import doctest
import importlib
import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCES = sorted((ROOT / "dispatch").rglob("*.pyx"))
MODULES = [".".join(source.relative_to(ROOT).with_suffix("").parts) for source in SOURCES]


def test_there_are_compiled_modules():
    assert "dispatch.core.overload" in MODULES


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: source.stem)
def test_every_compiled_module_has_its_declarations_and_its_stub(source):
    assert source.with_suffix(".pxd").exists()
    assert source.with_suffix(".pyi").exists()


def test_every_stub_has_its_module():
    stubs = (ROOT / "dispatch").rglob("*.pyi")
    assert [stub.name for stub in stubs if not stub.with_suffix(".pyx").exists()] == []


@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="mypy is not installed (extra `lint`)")
def test_the_stubs_agree_with_what_was_compiled():
    options = ["--mypy-config-file", "pyproject.toml", "--allowlist", "tests/stubtest_allowlist.txt"]
    command = [sys.executable, "-m", "mypy.stubtest", *options, *MODULES]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


# What each line reveals, or, after `error:`, how it is wrong. ndarray stands for NumPy's own long name of it.
USE = """
import numpy as np
from dispatch import OpOverload, Residual, Tensor, custom_op, tensor

@custom_op("typing::scale", mutates_args=())
def scale(x: np.ndarray, factor: float = 2.0) -> np.ndarray:
    return x * factor

@custom_op("typing::halved", mutates_args=())
def halved(x: np.ndarray) -> tuple[np.ndarray, Residual]:
    return x / 2, {"kept": 2}

@scale.register_fake
def fake(x: np.ndarray, factor: float) -> np.ndarray:
    return np.empty_like(x)

def use(a: np.ndarray, t: Tensor, op: OpOverload) -> None:
    reveal_type(scale)                #: OpOverload[[x: ndarray, factor: float =], ndarray]
    reveal_type(scale(a, factor=3))   #: ndarray
    reveal_type(scale(t))             #: Any
    reveal_type(scale.default)        #: OpOverload[[x: ndarray, factor: float =], ndarray]
    reveal_type(scale.__wrapped__)    #: def (x: ndarray, factor: float =) -> ndarray
    reveal_type(fake)                 #: def (x: ndarray, factor: float) -> ndarray
    reveal_type(halved(a))            #: ndarray
    reveal_type(op(1, "two"))         #: Any
    reveal_type((t + 1).sum(axis=0))  #: Tensor
    reveal_type(2 @ t.T)              #: Tensor
    scale(1)                          #: error: No overload variant
    scale(a, faktor=3.0)              #: error: No overload variant
    scale.register_fakee              #: error: has no attribute "register_fakee"
    t.sum(axes=0)                     #: error: Unexpected keyword argument "axes"
"""


@pytest.mark.skipif(importlib.util.find_spec("mypy") is None, reason="mypy is not installed (extra `lint`)")
def test_type_checkers_see_the_parameters_of_the_decorated_function(tmp_path):
    (tmp_path / "use.py").write_text(USE)
    command = [sys.executable, "-m", "mypy", "--strict", "--no-pretty", str(tmp_path / "use.py")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    said = re.sub(r"numpy\.ndarray\[(?:[^][]|\[[^][]*\])*\]", "ndarray", done.stdout)
    said = re.sub(r"dispatch\.core\.\w+\.|note: Revealed type is ", "", said).replace('"', "")
    found = dict(re.findall(r"use\.py:(\d+): (?!note)(.*)", said)[::-1])  # the first of a line
    expected = {
        str(i): line.partition("#: ")[2].replace('"', "") for i, line in enumerate(USE.splitlines(), 1) if "#: " in line
    }
    assert found.keys() == expected.keys(), done.stdout
    for line, text in expected.items():
        assert text.removeprefix("error: ") in found[line] if text.startswith("error: ") else text == found[line]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_compiled_module_run(name):
    # pytest collects the examples of Python files only; Cython lists those of a .pyx in `__test__`.
    result = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    assert result.failed == 0
