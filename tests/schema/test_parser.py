"""Reading piece by piece: types, aliases and literals, and the mark below the place."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_schemas import types

from dispatch.errors import SchemaError
from dispatch.schema.parser import Reader
from dispatch.schema.types import TENSOR, Alias, ListOf


def read(text):
    return Reader(text, "ns::op")


@given(types, st.sampled_from(["", "(a)", "(a!)", "(a! -> *)"]))
def test_types_read_back(kind, alias):
    alias = alias if kind.has_tensor else ""
    found, info = read(kind.spell(alias)).type()
    assert found == kind
    assert str(info or "") == alias


def test_spaces_are_free_inside_a_type():
    found, info = read(" Tensor ( a | b ! -> * ) [ ] ").type()
    assert found == ListOf(TENSOR)
    assert info == Alias(frozenset("ab"), frozenset("*"), True)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3", 3),
        ("-3", -3),
        ("+3", 3),
        ("1.", 1.0),
        (".5", 0.5),
        ("1e-8", 1e-8),
        ("inf", math.inf),
        ("-inf", -math.inf),
        ("2j", 2j),
        ("-1.5e3+2j", -1500 + 2j),
        ("1-infj", complex(1, -math.inf)),
        ("True", True),
        ("None", None),
        ("float32", np.dtype("f4")),
        ("long", np.dtype("long")),
        ("[]", []),
        ("[1, [2.0, None], ()]", [1, [2.0, None], ()]),
        ("(1,)", (1,)),
        ("'a\"b'", 'a"b'),
        ('"tab\\t\\u20ac"', "tab\t€"),
        ("b'\\x00'", b"\x00"),
    ],
)
def test_literals(text, value):
    found = read(text).literal()
    assert found == value
    assert type(found) is type(value)


def test_the_literal_nan():
    assert math.isnan(read("nan").literal())


@given(st.complex_numbers() | st.floats() | st.integers() | st.text() | st.binary())
def test_what_python_prints_is_read(value):
    text = repr(value).strip("()") if isinstance(value, complex) else repr(value)
    assert repr(read(text).literal()) == repr(value)


@pytest.mark.parametrize("text", ["Tensor(a!) x, ?", "Tensor\n(a!)\tx, ?"])
def test_the_mark_stands_below_the_place(text):
    reader = read(text)
    reader.type()
    reader.word("a name")
    reader.expect(",")
    with pytest.raises(SchemaError) as caught:
        reader.type()
    message, line, mark = str(caught.value).splitlines()
    assert message == "ns::op: expected a type."
    assert line[mark.index("^")] == "?"


def test_a_fault_found_while_building_is_shown_at_its_place():
    reader = read("int[0]")
    with pytest.raises(SchemaError, match=r"ns::op: int\[0\]: a fixed length is at least 1.*\n  int\[0\]\n  \^"):
        reader.type()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("true", "'true' is written as in Python: True, False, None"),
        ("cuda", "'cuda' is no default. A string needs quotes; a dtype is one of NumPy's names"),
        ("1_000", "'1_000' is no default"),
        ("0x10", "'0x10' is no default"),
        ("[1; 2]", "expected ',' or ']', found ';'"),
        ("[1", "expected ',' or ']', found the end"),
        ("'a\nb'", "expected a default"),
        ("'\\N{nobody}'", "this string has an escape that Python does not know"),
    ],
)
def test_refused_literals(text, message):
    with pytest.raises(SchemaError) as caught:
        read(text).literal()
    assert message in str(caught.value)
