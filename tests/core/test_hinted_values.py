"""Values are held to hints: what a type checker takes fits, and what it refuses does not."""

import os
import pathlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TextIO, TypeVar

import numpy as np
import pytest

import dispatch
from dispatch import library
from dispatch.core.hinted_values import fits, hints_of, title, unsuited, words
from dispatch.errors import ArgumentError

T = TypeVar("T")
CASES = [  # a hint, what is said of it, values that fit, and values that do not
    (bool, "True or False", [True, np.True_], [1, None, "True", np.ones(1)]),
    (int, "an int", [3, np.int64(3), True], [3.0, "3", None, np.ones(1)]),
    (float, "a number", [3, 2.5, np.float32(1)], ["3", None, np.ones(2), 1j]),
    (complex, "a number", [3, 1j, np.complex64(1)], ["3", None]),
    (str, "a str", ["x"], [b"x", 3, None]),
    (None, "None", [None], [0, ""]),
    (str | None, "a str or None", ["x", None], [3]),
    (int | str | None, "an int, a str or None", [3, "x", None], [[]]),
    (Callable[[int], int], "a function", [abs, int], [3, None]),
    (Sequence[str], "a list of strs", [["a"], ("a",), {"a"}], ["a", b"a", [3], None, {}, iter("a")]),
    (str | Sequence[str], "a str or a list of these", ["a", ["a"]], [3, [3]]),
    (Iterable[str], "a list of strs", [["a"], iter("a")], ["a", 3]),
    (tuple[Any, ...], "a tuple", [(), (1,), [1]], [np.ones(2), "x", None]),
    (tuple[str, ...], "a tuple of strs", [("a",)], [(3,)]),
    (dict[str, int], "a dict", [{}], [[], None]),
    (Mapping[str, int], "a dict", [{}], [[], None]),
    (os.PathLike[str], "a path", [pathlib.Path()], ["x", 3]),
    (TextIO, "an open file", [open(os.devnull)], ["x", 3]),  # noqa: SIM115
    (Literal["a", "b"], "'a' or 'b'", ["a"], ["c", 3, None]),
    (library.Tag, "a Tag, Tag.pointwise say", [library.Tag.pointwise], ["pointwise"]),
    (dispatch.OpOverload, "an operator", [dispatch.ops.np.sin], [np.sin]),
    (Any, "a value", [3, None, "x"], []),
    (T, "a value", [3, None, "x"], []),
]


@pytest.mark.parametrize(("hint", "said", "right", "wrong"), CASES, ids=[str(case[0]) for case in CASES])
def test_what_a_hint_says_is_taken_and_nothing_else(hint, said, right, wrong):
    assert [fits(value, hint) for value in right] == [True] * len(right)
    assert [fits(value, hint) for value in wrong] == [False] * len(wrong)
    if wrong:
        assert words(hint) == said


def scale(x: float, /, names: Sequence[str] = (), *more: int, mode: Literal["exact", "fast"] = "exact", **named: int) -> None: ...


@pytest.mark.parametrize(
    ("args", "keywords", "said"),
    [
        ((1.0,), {}, None),
        ((), {}, None),  # another matter
        (("a",), {}, "scale: x is a number, and was given 'a'."),
        ((1.0, [3]), {}, "scale: names is a list of strs, and was given a list with an int in it."),
        ((1.0, (), 1, 2.5), {}, "scale: more is an int, and was given 2.5."),
        ((1.0,), {"mode": "fst"}, "scale: mode is 'exact' or 'fast', and was given 'fst'. Did you mean 'fast'?"),
        ((1.0,), {"mode": None}, "scale: mode is 'exact' or 'fast', and was given None."),
        ((1.0,), {"other": "x"}, "scale: named is an int, and was given 'x'."),
    ],
)
def test_the_first_argument_that_does_not_fit_is_named(args, keywords, said):
    found = unsuited(scale, args, keywords)
    assert (found is None and said is None) or (isinstance(found, ArgumentError) and str(found) == said)


def test_only_those_that_are_asked_of_are_looked_at():
    assert unsuited(scale, ("a", [3]), {}, ("names",)).args[0].startswith("scale: names")
    assert unsuited(scale, ("a",), {}, ("names",)) is None


def test_a_default_fits_whatever_its_hint_says():
    def f(x: int = None): ...  # noqa: RUF013  as users write it

    assert unsuited(f, (None,), {}) is None


def test_a_hint_that_cannot_be_read_says_nothing():
    def f(x: "NowhereToBeFound", y: "int"): ...  # noqa: F821

    assert hints_of(f) == {"y": int}
    assert unsuited(f, (3, "a"), {}).args[0] == "f: y is an int, and was given 'a'."


def test_a_constructor_is_called_by_its_class():
    assert title(library.Library.__init__) == "Library"
    assert title(library.Library.define) == "define"
