"""What a new user writes wrong on the first day, and what is said of it: each message to the letter.

The cases are in `first_day/*.txt`: a title, the lines that a user wrote, and after `>` the exception. A message says what was asked,
what is so and what to write; it names no inside of the package, and its traceback shows the user's line and one of the package where
an operator is defined or a rule registered. `...` stands for a list that other tests make longer.
"""

import dataclasses
import enum
import functools
import re
import traceback
import typing
import warnings
from pathlib import Path

import numpy as np
import pytest

import dispatch
from dispatch import autograd, custom_op, library, testing
from dispatch.errors import DispatchError

FOLDER = Path(__file__).parent / "first_day"
PACKAGE = str(Path(dispatch.__file__).parent)
INSIDES = re.compile(r"0x[0-9a-f]{6}|<function|<lambda>\(|object at|vectorcall|KernelTable|NoneType|/dispatch/|\.pyx|<locals>")
IMPORTED = re.compile(r"^\s*(?:import|from) (\w+)", re.MULTILINE)
ALONE = {"definitions"}  # the files in whose tracebacks one line of the package stands
MOST_LINES = 6
FLOAT64 = np.dtype(float)


def cases():
    """Each case: its file, title, code, the exception's class, and the message."""
    for file in sorted(FOLDER.glob("*.txt")):
        for text in re.split(r"^# ", file.read_text(), flags=re.MULTILINE)[1:]:
            title, _, rest = text.partition("\n")
            code, _, said = rest.partition("\n> ")
            kind, _, message = said.rstrip().replace("\n> ", "\n").partition(": ")
            yield pytest.param(file.stem, code, kind, message, id=f"{file.stem}: {title}")


def scale(x: np.ndarray, factor: float = 2.0) -> np.ndarray:
    return x * factor


def add(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return x + y


def zero_(x: np.ndarray) -> None:
    x[...] = 0


def many(x, n=1, s="a", b=False, l=[1], t=None, ls=[], dt=FLOAT64, c=1j):  # noqa: B006  as a user writes it
    return x + n


MANY = "(Tensor x, int n=1, str s='a', bool b=False, int[] l=[1], Tensor? t=None, Tensor[] ls=[], ScalarType dt=float64, complex c=1j) -> Tensor"


def names():
    """What the lines of a user may say: the package, an array `x`, and operators of its own."""
    op, full = (custom_op(f"day1::{name}", scale, mutates_args=()) for name in ("scale", "full"))
    full.register_fake(lambda x, factor: np.empty_like(x))
    full.register_autograd(lambda ctx, g: (g * ctx.f, None), setup_context=lambda ctx, inputs, output: setattr(ctx, "f", inputs[1]))
    return {
        "__name__": "day_one", "np": np, "dispatch": dispatch, "library": library, "autograd": autograd, "testing": testing,
        "ops": dispatch.ops, "custom_op": custom_op, "typing": typing, "functools": functools, "dataclasses": dataclasses,
        "enum": enum, "tensor": dispatch.tensor, "grad": dispatch.grad, "vmap": dispatch.vmap, "NS": "day1", "x": np.arange(1.0, 4.0),
        "op": op, "full": full, "add": custom_op("day1::add", add, mutates_args=()),
        "zero_": custom_op("day1::zero_", zero_, mutates_args=("x",)),
        "many": custom_op("day1::many", many, mutates_args=(), schema=MANY),
    }  # fmt: skip


@pytest.mark.parametrize(("file", "code", "kind", "message"), list(cases()))
def test_a_wrong_use_is_refused_with_the_line_to_write(file, code, kind, message, tmp_path, monkeypatch):
    for module in IMPORTED.findall(code):  # pandas and its kin come with no extra that the suite needs
        pytest.importorskip(module)
    monkeypatch.chdir(tmp_path)
    scope = names()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        with pytest.raises(Exception) as caught:
            exec(compile(code, "<case>", "exec"), scope)
    error = caught.value
    assert type(error).__name__ == kind
    said = str(error)
    before, cut, _ = message.partition(" ...")
    assert said.startswith(before) if cut else said == message
    assert not INSIDES.search(before)
    assert isinstance(error, (DispatchError, AttributeError, AssertionError, TypeError))
    assert len(said.splitlines()) <= MOST_LINES
    shown = "".join(traceback.format_exception(error))
    assert "During handling of the above exception" not in shown
    if file in ALONE:
        assert sum(frame.filename.startswith(PACKAGE) for frame in traceback.extract_tb(error.__traceback__)) <= 1


def test_there_are_enough_cases_and_no_two_alike():
    found = [(param.values[0], param.values[1]) for param in cases()]
    assert len(found) == len(set(found)) >= 400
