"""The language of dimension names: what a hint says of an array's axes, and what the names of one call are bound to."""

import re
from typing import Annotated, Any, Literal, NewType

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dispatch.errors import SchemaError
from dispatch.schema.dimensions import (
    Bindings,
    Each,
    Places,
    dtype_of_array,
    integers_of,
    is_array_hint,
    read_array,
    tree_of,
)  # fmt: skip
from dispatch.schema.dtype_hints import unaliased
from tests.making import F64, INT, SHAPED, Dtypes, F, said


def read(text):
    return read_array(SHAPED[np.ndarray, text])


def bound(*pairs, **integers):
    """The bindings of `text, shape` pairs, and what does not fit."""
    found = Bindings()
    for i, (text, shape) in enumerate(pairs):
        found.bind(read(text), shape, "xyz"[i])
    found.finish(integers)
    return found


def test_a_hint_is_known_by_its_attributes():
    assert is_array_hint(F64[np.ndarray, "n"])
    for other in (np.ndarray, F64, "n", None, list[int]):
        assert not is_array_hint(other)
        assert dtype_of_array(other) is None


def test_dtypes_are_those_that_the_hint_names():
    assert dtype_of_array(F64[np.ndarray, "n"]) == np.float64
    assert read_array(F64[np.ndarray, "n"]).classes == {np.float64}
    assert read_array(F[np.ndarray, "n"]).classes == {np.float16, np.float32, np.float64}
    assert dtype_of_array(F[np.ndarray, "n"]) is None
    assert read("n").classes is None
    assert read_array(Dtypes("Mine", re.compile("u?int"))[np.ndarray, ""]).classes == {
        c for c in np.sctypeDict.values() if "int" in c.__name__ and c.__module__ == "numpy"  # JAX adds its own
    }
    text = F64[np.ndarray, "n"]
    text.dtypes = "float32"
    assert dtype_of_array(text) == np.float32


def test_a_hint_prints_as_it_is_written():
    assert repr(read_array(F64[np.ndarray, " m  n+1 "])) == 'Float64[np.ndarray, "m n+1"]'


@pytest.mark.parametrize("text", ["", "n", "m n", "3 n", "rows=3 n", "... n", "*batch n", "_ n", "_rows", "#n *#b", "n+1 {k}"])
def test_every_form_is_understood(text):
    assert [d.text for d in read(text).dimensions] == text.split()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("?n", "'?n' asks for the place in a tree, and an operator's arguments are none. Leave the '?' out."),
        ("#_", "'#_' is no dimension. An axis of any size is written '_'."),
        ("_4", "'_4' is no dimension. An axis of any size is written '_'."),
        ("*4", "'*4' is no dimension. Any number of axes is written '...' or '*name'."),
        ("#", "'#' is no dimension. Any number of axes is written '...' or '*name'."),
        ("n+", "'n+' is no dimension: a name, a size, or arithmetic like n+1, without spaces."),
        ("... *b", '"... *b" has two entries that stand for any number of axes. Write one.'),
    ],
)
def test_what_is_no_dimension_is_refused(text, message):
    assert said(lambda: read(text), SchemaError) == message


def test_arrays_of_another_library_are_refused():
    assert said(lambda: read_array(F64[list, "m n"]), SchemaError) == 'An array here is np.ndarray: Float64[np.ndarray, "m n"].'
    assert read_array(F64[Any, "n"]).dtype == np.float64


def test_a_kind_that_numpy_lacks_is_refused():
    message = said(lambda: read_array(Dtypes("BFloat16", "bfloat16")[np.ndarray, "n"]), SchemaError)
    assert message == "NumPy has no dtype of the kind BFloat16."


def test_a_name_is_one_size():
    assert str(bound(("m n", (2, 3)), ("n", (3,)))) == "m=2 (x), n=3 (x)"
    found = bound(("m n", (2, 3)), ("n", (4,)))
    assert found.faults == ["'y' of shape (4,) does not fit Shaped[np.ndarray, \"n\"]: n is 4, and 3 in 'x'."]


def test_the_number_of_axes_is_held():
    assert bound(("m n", (2,))).faults == [
        "'x' of shape (2,) does not fit Shaped[np.ndarray, \"m n\"]: 1 axis, where the hint has 2."
    ]
    assert bound(("m ... n", (2,))).faults == [
        "'x' of shape (2,) does not fit Shaped[np.ndarray, \"m ... n\"]: 1 axis, where the hint has at least 2."
    ]
    assert bound(("m ... n", (2, 3))).faults == []


def test_a_size_is_held():
    assert bound(("3 rows=2", (3, 2))).faults == []
    assert bound(("3 rows=2", (3, 5))).faults == [
        "'x' of shape (3, 5) does not fit Shaped[np.ndarray, \"3 rows=2\"]: rows=2 is 5."
    ]


def test_a_computed_size_is_held_whatever_comes_first():
    assert bound(("n+1", (4,)), ("n", (3,))).faults == []
    assert bound(("n+1", (3,)), ("n", (3,))).faults == [
        "'x' of shape (3,) does not fit Shaped[np.ndarray, \"n+1\"]: n+1 is 3, and comes to 4."
    ]
    assert bound(("n/2", (1,)), ("n", (3,))).faults
    assert bound(("min(m,n)", (2,)), ("m n", (5, 2))).faults == []
    assert bound(("#n+1", (1,)), ("n", (3,))).faults == []


def test_an_integer_argument_is_apart_from_an_axis_of_its_name():
    assert bound(("{n}+n", (7,)), ("n", (3,)), n=4).faults == []
    assert bound(("{n}+n", (6,)), ("n", (3,)), n=4).faults == [
        "'x' of shape (6,) does not fit Shaped[np.ndarray, \"{n}+n\"]: {n}+n is 6, and comes to 7."
    ]
    assert integers_of(read("{n}+{k} m")) == {"n", "k"}


def test_batches_are_equal_or_broadcast():
    assert str(bound(("*b n", (2, 5, 3)), ("*b", (2, 5)))) == "n=3 (x), *b=(2, 5) (x)"
    assert bound(("*b n", (2, 3)), ("*b", (4,))).faults == [
        "'y' of shape (4,) does not fit Shaped[np.ndarray, \"*b\"]: *b is (4,), and (2,) in 'x'."
    ]
    assert str(bound(("*#b", (2, 1)), ("*#b", (5,)))) == "*b=(2, 5) (x)"


def test_a_name_that_only_broadcasts_is_one():
    assert str(bound(("#n", (1,)), ("#n", (1,)))) == "n=1 (x)"
    assert str(bound(("#n", (1,)), ("#n", (3,)))) == "n=3 (y)"


def test_nothing_bound_says_so():
    assert str(Bindings()) == "none"


def test_the_shape_of_a_hint_is_what_its_names_are_bound_to():
    found = bound(("*b m n", (7, 2, 3)))
    assert found.shape(read("n *b m+1 4 {k}"), {"k": 9}) == (3, 7, 3, 4, 9)
    for unknown in ("q", "*q", "...", "_", "q+1", "n-9", "n/2"):
        assert found.shape(read(unknown), {}) is None


def test_a_copy_is_added_to_alone():
    found = bound(("*b n", (2, 3)))
    more = found.copy()
    more.bind(read("*b k"), (5, 4), "out")
    assert "k" not in found.sizes
    assert not found.faults
    assert more.faults == ["'out' of shape (5, 4) does not fit Shaped[np.ndarray, \"*b k\"]: *b is (5,), and (2,) in 'x'."]


def test_a_tree_says_where_the_arrays_of_a_hint_are():
    n, m = F64[np.ndarray, "n"], INT[np.ndarray, "m"]
    evaluated = {"n": n}.get

    def shown(hint):
        return repr(tree_of(hint, lambda hint: evaluated(hint) if isinstance(hint, str) else hint))

    a, b = map(repr, map(read_array, (n, m)))
    assert shown("n") == shown(n) == shown(n | None) == shown(Annotated[n, "C"]) == a
    assert (
        shown(list["n"])
        == shown(tuple["n", ...])
        == shown(dict[str, n])
        == shown(list[n] | None)
        == repr(Each(0)).replace("0", a)
    )
    assert shown(tuple[n, int, m]) == repr(Places((0, None, 1))).replace("0", a).replace("1", b)
    assert shown(np.ndarray) == shown(tuple[int, str]) == shown(list[int]) == shown(tuple[()]) == "None"


FLOATS = np.dtype[np.float64]
Meters = NewType("Meters", int)


@pytest.mark.parametrize(
    ("shape", "same", "written"),
    [
        (tuple[int, int], "_ _", "int, int"), (tuple[int, Literal[3]], "_ 3", "int, Literal[3]"), (tuple[()], "", "()"),
        (tuple[Meters], "_", "int"), (tuple[Literal[1, 3]], "_", "int"),
        (tuple[int, ...], None, ""), (tuple[Any, ...], None, ""), (tuple[Any], None, ""), (tuple, None, ""), (Any, None, ""),
        (tuple[str], None, ""),
    ],
)  # fmt: skip
def test_a_shape_in_numpys_own_hint_is_read_as_the_axes_of_a_text(shape, same, written):
    hint = tree_of(np.ndarray[shape, FLOATS], lambda hint: hint)
    assert (hint is None) is (same is None)
    if hint is not None:
        assert hint.dimensions == tuple(d._replace(text=d.text) for d in read(same).dimensions)
        assert hint.rank == (None if "3" in same else len(hint.dimensions))
        assert repr(hint) == f"np.ndarray[tuple[{written}], ...]"


def test_numpys_own_hints_of_several_shapes_leave_the_axes_open():
    one, two = np.ndarray[tuple[int], FLOATS], np.ndarray[tuple[int, int], FLOATS]
    assert tree_of(one | two, lambda hint: hint).rank == -1
    assert repr(tree_of(one | None, lambda hint: hint)) == "np.ndarray[tuple[int], ...]"
    either = tree_of(one | np.ndarray[tuple[int], np.dtype[np.float32]], lambda hint: hint)
    assert (either.rank, either.classes) == (1, {np.float32, np.float64})
    assert tree_of(np.ndarray | one, lambda hint: hint) is not None  # of which the first says nothing


@pytest.mark.parametrize(
    ("hint", "kinds", "written"),
    [
        (npt.NDArray[np.floating], "efdg", "NDArray[np.floating]"), (npt.NDArray[np.floating[Any]], "efdg", "NDArray[np.floating]"),
        (npt.NDArray[np.integer], np.typecodes["AllInteger"], "NDArray[np.integer]"),
        (npt.NDArray[np.complexfloating], "FDG", "NDArray[np.complexfloating]"),
        (npt.NDArray[np.float32 | np.float64], "fd", "NDArray[np.float32 | np.float64]"),
        (npt.NDArray[np.float32] | npt.NDArray[np.float64], "fd", "NDArray[np.float32] | NDArray[np.float64]"),
        (np.ndarray[tuple[int], np.dtype[np.floating]], "efdg", "np.ndarray[tuple[int], np.dtype[np.floating]]"),
    ],
)  # fmt: skip
def test_a_kind_of_dtypes_in_numpys_own_hint_is_every_dtype_of_the_kind(hint, kinds, written):
    found = tree_of(hint, unaliased)
    every = np.typecodes["All"]
    assert {char for char in every if np.dtype(char).type in found.classes} - {"m"} == set(kinds)  # np.timedelta64 is an np.integer
    assert repr(found) == written


@pytest.mark.parametrize("hint", [npt.NDArray[np.float64], npt.NDArray[Any], npt.NDArray[np.generic], npt.NDArray, np.ndarray])
def test_numpys_own_hint_of_one_dtype_is_the_cores_and_one_of_any_says_nothing(hint):
    assert tree_of(hint, unaliased) is None


def test_hints_that_are_merged_keep_what_they_agree_in():
    one, two = np.ndarray[tuple[int], FLOATS], np.ndarray[tuple[int, int], np.dtype[np.float32]]
    assert tree_of(one | npt.NDArray[Any], unaliased) is None
    assert tree_of(npt.NDArray[Any] | one | two, unaliased) is None


def test_alternatives_have_the_same_dimensions():
    either = tree_of(F64[np.ndarray, "n"] | INT[np.ndarray, "n"], lambda hint: hint)
    assert repr(either) == 'Float64 | Int[np.ndarray, "n"]'
    assert either.classes == {np.float64, np.int8, np.int16, np.int32, np.int64}
    assert tree_of(F64[np.ndarray, "n"] | SHAPED[np.ndarray, "n"], lambda hint: hint).classes is None
    message = "Two ways to write the dimensions of one array: write the same in both, or '...'."
    for other in (F64[np.ndarray, "m"], list[F64[np.ndarray, "n"]]):
        assert said(lambda other=other: tree_of(F64[np.ndarray, "n"] | other, lambda hint: hint), SchemaError) == message


WORDS = st.sampled_from(["m", "n", "2", "_", "#m", "#n", "#2", "rows=3"])
MANY = st.sampled_from(["...", "*b", "*#b"])
SHAPES = st.lists(st.integers(1, 3), max_size=4).map(tuple)


@st.composite
def texts(draw):
    words = draw(st.lists(WORDS, max_size=3))
    if draw(st.booleans()):
        words.insert(draw(st.integers(0, len(words))), draw(MANY))
    return " ".join(words)


@given(st.lists(st.tuples(texts(), SHAPES), min_size=1, max_size=3))
@settings(max_examples=300, deadline=None)
def test_what_fits_is_what_fits_for_jaxtyping(pairs):
    jaxtyping = pytest.importorskip("jaxtyping")
    with jaxtyping.jaxtyped("context"):
        fits = all([isinstance(np.zeros(shape), jaxtyping.Float[np.ndarray, text]) for text, shape in pairs])
    assert (not bound(*pairs).faults) == fits
