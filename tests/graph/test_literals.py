"""Values as text: what is written is read as the same, and nothing is run."""

import collections
import dataclasses
import enum
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from making import said

from dispatch import make_fx, ops
from dispatch.core.pytree import register_record
from dispatch.errors import GraphError
from dispatch.graph import Metadata, Node, Opaque, register_value
from dispatch.graph.array_literals import Unwritable
from dispatch.graph.literals import BY_CLASS, BY_WORD, Reader, Writer, find_class, is_known, is_open
from dispatch.operators.views import ARRAY, Look

Point = collections.namedtuple("Point", "x y")


class Colour(enum.Enum):
    RED = 1
    BLACK = 2


class Both(enum.Flag):
    A = 1
    B = 2


@dataclasses.dataclass(frozen=True)
class Pair:
    x: object
    y: object = dataclasses.field(default=2, init=False)

    def __post_init__(self):
        raise AssertionError  # a record is put together without it


class Metaphor:
    class Inner(enum.Enum):
        A = 1


register_record(Pair)
PAIR = object.__new__(Pair)
object.__setattr__(PAIR, "x", 1)
object.__setattr__(PAIR, "y", [2])
X = Node("placeholder", "x", None, (), None)


def again(x):
    writer = Writer()
    text = writer.spell(x)
    return Reader({"x": X}, writer.operators).value(text)


ATOMS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.complex_numbers(allow_nan=False) | st.binary()
    | st.text(st.characters(exclude_categories=())) | st.builds(slice, st.integers() | st.none(), st.none(), st.integers())
    | st.sampled_from([..., np.dtype(">f4"), np.float32, float, Colour.RED, Metaphor.Inner.A, ARRAY, X, ops.np.sin, Opaque("a.B")])
    | st.sampled_from([np.float32(0.1), np.int8(-3), np.str_("é"), np.datetime64("2020-01-01"), np.bool_(True), np.complex64(1j)])
)  # fmt: skip
VALUES = st.recursive(
    ATOMS,
    lambda inner: st.lists(inner, max_size=3)
    | st.lists(inner, max_size=3).map(tuple)
    | st.builds(Point, inner, inner)
    | st.dictionaries(st.text(max_size=2) | st.integers(), inner, max_size=3),
    max_leaves=8,
)


@given(VALUES)
def test_a_value_is_read_as_what_was_written(x):
    found = again(x)
    assert type(found) is type(x)
    assert found == x
    assert Writer().spell(found) == Writer().spell(x)


@pytest.mark.parametrize("x", [math.nan, math.inf, -math.inf, -0.0, complex(math.nan, -0.0), 1 << 20_000, -(2**70), True, 1, 1.0, np.float64(1)], ids=lambda x: type(x).__name__)
def test_numbers_are_exact(x):
    found = again(x)
    assert type(found) is type(x)
    assert (found == x) == (x == x)  # noqa: PLR0124  nan is not itself
    assert (str(found) == str(x)) if isinstance(x, (float, complex)) else found == x


def test_records_are_put_together_without_their_init():
    found = again([PAIR])[0]
    assert (type(found), found.x, found.y) == (Pair, 1, [2])


def test_a_look_is_an_operator_and_its_arguments():
    look = Look(ops.np.getitem, (None, (slice(1, None), np.array([0, 1])), []))
    found = again(look)
    assert (found.op, found.place, found.part, found.number) == (ops.np.getitem, 0, -1, 0)
    np.testing.assert_array_equal(found.at(np.arange(6).reshape(3, 2)), [[2, 3], [4, 5]])


def local():
    class Hidden(enum.Enum):
        A = 1

    return Hidden.A


@pytest.mark.parametrize(
    ("x", "words"),
    [
        (object(), "an object"),
        (np.random.default_rng(0), "a Generator"),
        (len, "a builtin_function_or_method"),
        ({1}, "a set"),
        (collections.OrderedDict(), "an OrderedDict"),
        (np.matrix, "a type"),
        (Both.A | Both.B, "a Both"),
        (local(), "a Hidden, a class that cannot be found by its name"),
        (np.array([None]), "an ndarray of Python objects"),
    ],
)
def test_anything_else_is_refused(x, words):
    with pytest.raises(Unwritable) as caught:
        Writer().spell([x])
    assert str(caught.value) == words
    assert Writer(opaque=lambda y: f"<{type(y).__name__}>").spell([x]) == f"[<{type(x).__name__}>]"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("y", "no node before it is named 'y'"),
        ("system('ls')", "there is no word 'system'"),
        ("x.y", "'x.y' is no value"),
        ("1 + 1", "'1 + 1' is no value"),
        ("f'{x}'", '"f\'{x}\'" is no value'),
        ("-'a'", "\"-'a'\" is no value"),
        ("{**{}}", "'{**{}}' is no value"),
        ("[*x]", "'*x' is no value"),
        ("slice(start=1)", "'slice(start=1)' is no value"),
        ("float('1')", "float('1') is written as a number"),
        ("type('Node')", "'Node' is no type of numbers or text"),
        ("op('np::sin')", "no line before it is about the operator np::sin"),
        ("enum('nowhere.C', 'A')", "the class nowhere.C is not known. Import its module first"),
        ("enum('builtins.int', 'real')", "builtins.int is no enumeration"),
        ("enum('enum.EnumType', 'A')", "enum.EnumType is no enumeration"),
        (f"enum('{__name__}.Colour', 'BLUE')", f"{__name__}.Colour has no member 'BLUE'"),
        (f"record('{__name__}.Point', 1)", f"{__name__}.Point has 2 fields, and 1 are written"),
        (f"record('{__name__}.Pair', 1)", f"{__name__}.Pair is no record of 1 fields"),
        ("record('builtins.tuple', 1)", "builtins.tuple is no record of 1 fields"),
        ("record('subprocess.Popen', 'ls')", "subprocess.Popen is no record of 1 fields"),
        ("look(1, 0, 0, 0, ())", "a look is an operator, three numbers, and a tuple of arguments"),
    ],
)
def test_what_is_no_value_is_refused(text, words):
    assert said(lambda: Reader({"x": X}).value(text), GraphError) == words


def test_classes_are_found_where_no_code_runs(monkeypatch):
    import sys
    import types

    module = types.ModuleType("lazy_module")
    module.__getattr__ = lambda name: pytest.fail("a module's __getattr__ was run")
    monkeypatch.setitem(sys.modules, "lazy_module", module)
    assert said(lambda: find_class("lazy_module.C"), GraphError) == "the class lazy_module.C is not known. Import its module first"
    assert find_class(f"{__name__}.Metaphor.Inner") is Metaphor.Inner


def test_a_class_has_one_word_of_its_own():
    class Own:
        pass

    words = "register_value(test_a_class_has_one_word_of_its_own.<locals>.Own): "
    assert said(lambda: register_value(Own, "slice", tuple, Own), GraphError) == (
        f"{words}'slice' is the word of another class. Give it a word of its own."
    )
    assert said(lambda: register_value(Own, "enum", tuple, Own), GraphError) == (
        f"{words}'enum' is the word of another class. Give it a word of its own."
    )
    assert said(lambda: register_value(Own, "a b", tuple, Own), GraphError) == (
        f"{words}'a b' is no name. Give it a word of its own."
    )
    try:
        register_value(Own, "own_words", lambda x: (), Own)
        register_value(Own, "own_words", lambda x: (1,), lambda n: n)
        assert Reader().value(Writer().spell(Own())) == 1
    finally:
        del BY_CLASS[Own], BY_WORD["own_words"]


def test_what_is_known_never_changes():
    known = [1, 1.0, "a", None, ..., np.dtype("f4"), np.float32(1), Colour.RED, np.float64, ops.np.sin, slice(1), ARRAY]
    assert all(map(is_known, known))
    assert not any(map(is_known, [object(), Opaque("a.B"), len, Fraction(1), Colour]))
    assert not any(map(is_open, known))


def test_metadata_is_written_as_what_it_is():
    value = make_fx(np.sin)(np.zeros((2, 3)).T).nodes[0].value
    assert type(value) is Metadata
    assert Writer().spell(value) == "array('float64', (3, 2), (8, 24))"
    assert again(value) == value
