"""Defaults: what each type takes, what it refuses, and the text."""

import fractions
import math
from enum import Enum, Flag, IntEnum

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_schemas import DTYPES, defaults, types

from dispatch.errors import SchemaError
from dispatch.schema.defaults import accept, spell
from dispatch.schema.parser import Reader
from dispatch.schema.types import (
    ANY,
    BOOL,
    BYTES,
    CALLABLE,
    COMPLEX,
    DEVICE,
    FLOAT,
    INT,
    RESIDUAL,
    SCALAR,
    SCALAR_TYPE,
    STR,
    TENSOR,
    ClassType,
    DictOf,
    ListOf,
    LiteralOf,
    OptionalOf,
    TupleOf,
)


class Colour(str, Enum):  # noqa: UP042  str() of the older spelling is not the value
    RED = "red"


class Three(IntEnum):
    THREE = 3


class Access(Flag):
    READ = 1
    WRITE = 2


@given(st.data())
def test_a_default_reads_back_with_the_same_text(data):
    kind = data.draw(types.filter(lambda kind: not defaults(kind).is_empty))
    kept = accept(kind, data.draw(defaults(kind)))
    text = spell(kind, kept)
    again = accept(kind, Reader(text, "ns::op").literal())
    assert spell(kind, again) == text


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_dtype_reads_back_as_itself(dtype):
    assert np.dtype(Reader(spell(SCALAR_TYPE, dtype), "ns::op").literal()) == dtype


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        (INT, np.int8(3), "3"),
        (INT, Three.THREE, "3"),
        (FLOAT, 2, "2"),
        (FLOAT, np.float64(0.1), "0.1"),
        (FLOAT, -math.inf, "-inf"),
        (FLOAT, -0.0, "-0.0"),
        (FLOAT, np.longdouble(0.5), "0.5"),
        (COMPLEX, complex(-0.0, 2), "-0+2j"),
        (COMPLEX, complex(math.nan, -math.inf), "nan-infj"),
        (COMPLEX, 1.5, "1.5"),
        (BOOL, np.True_, "True"),
        (STR, 'a"b\\\n\u20ac\ud800', '"a\\"b\\\\\\n\\u20ac\\ud800"'),
        (STR, Colour.RED, '"red"'),
        (DEVICE, "cpu", '"cpu"'),
        (SCALAR, True, "True"),
        (SCALAR_TYPE, np.float32, "float32"),
        (SCALAR_TYPE, float, "float64"),
        (SCALAR_TYPE, ">i2", '">i2"'),
        (ListOf(INT), [1, 2], "[1, 2]"),
        (ListOf(INT), range(2), "[0, 1]"),
        (ListOf(INT, 2), 3, "3"),
        (ListOf(OptionalOf(TENSOR)), [None, None], "[None, None]"),
        (TupleOf((INT, STR)), (1, "a"), '(1, "a")'),
        (OptionalOf(TENSOR), None, "None"),
        (ANY, [1, (None, "a")], '[1, (None, "a")]'),
        (ANY, ((), (1,)), "((), (1,))"),
        (ListOf(INT), (1, 2), "[1, 2]"),
        (ANY, {"a": [1]}, '{"a": [1]}'),
        (ANY, object(), "..."),
        (ANY, [1, object()], "..."),
        (ANY, np.timedelta64(1, "s"), "..."),
        (ANY, Three.THREE, f"{__name__}.Three.THREE"),
        (DictOf(STR, FLOAT), {"a": 1, 'b"': 0.5}, '{"a": 1, "b\\"": 0.5}'),
        (DictOf(STR, TENSOR), {}, "{}"),
        (LiteralOf(("a", 1)), 1, "1"),
        (CALLABLE, len, "..."),
        (ListOf(CALLABLE), [len], "..."),
        (DictOf(STR, CALLABLE), {"a": len}, "..."),
        (TupleOf((INT, CALLABLE)), (1, len), "..."),
        (ClassType("fractions.Fraction"), fractions.Fraction(1, 2), "..."),
        (ClassType(f"{__name__}.Colour"), Colour.RED, f"{__name__}.Colour.RED"),
        (ClassType(f"{__name__}.Access"), Access.READ | Access.WRITE, f"{__name__}.Access.READ|{__name__}.Access.WRITE"),
        (ClassType(f"{__name__}.Access"), Access(0), "..."),
    ],
)
def test_the_text(kind, value, text):
    assert spell(kind, accept(kind, value)) == text


@pytest.mark.parametrize("value", [2, np.float64(0.5), 0.5])
def test_a_value_is_kept_as_it_was_written(value):
    assert accept(FLOAT, value) is value


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        (INT, True, "a default of type bool does not fit int."),
        (INT, np.True_, "a default of type bool does not fit int."),
        (INT, 1.0, "a default of type float does not fit int."),
        (INT, np.timedelta64(1, "s"), "a default of type timedelta64 does not fit int."),
        (SCALAR, np.timedelta64(1, "s"), "a default of type timedelta64 does not fit Scalar."),
        (FLOAT, True, "a default of type bool does not fit float."),
        (FLOAT, "1", "a default of type str does not fit float."),
        (FLOAT, np.zeros(()), "a default of type ndarray does not fit float."),
        (COMPLEX, False, "a default of type bool does not fit complex."),
        (BOOL, 1, "a default of type int does not fit bool."),
        (STR, b"x", "a default of type bytes does not fit str."),
        (BYTES, "x", "a default of type str does not fit bytes."),
        (STR, None, "a default of None does not fit str. Write str? for a value that may be left out."),
        (SCALAR_TYPE, "quux", "a default of type str does not fit ScalarType. No single dtype has this name. Write np.float64, say."),
        (SCALAR_TYPE, object(), "a default of type object does not fit ScalarType."),
        (SCALAR_TYPE, np.dtype([("a", "f4")]), "a default of type dtype does not fit ScalarType."),
        (SCALAR_TYPE, np.zeros(3), "a default of type ndarray does not fit ScalarType."),
        (
            TENSOR,
            np.zeros(3),
            "a default of type ndarray does not fit Tensor: the default of a Tensor can only be None.",
        ),
        (ListOf(TENSOR), [1], "a default of type int does not fit Tensor: the default of a Tensor can only be None."),
        (ListOf(INT), "ab", "a default of type str does not fit int[]."),
        (ListOf(INT, 2), [1, 2, 3], "a default of type list of length 3 does not fit int[2]."),
        (ListOf(FLOAT, 2), 1.0, "a default of type float does not fit float[2]."),
        (TupleOf((INT, INT)), (1,), "a default of type tuple of length 1 does not fit (int, int)."),
        (ANY, np.zeros(3), "a default of type ndarray does not fit Any."),
        (ANY, [np.zeros(3)], "a default of type ndarray does not fit Any."),
        (DictOf(STR, INT), {"x": 1.0}, "a default of type float does not fit int."),
        (DictOf(STR, INT), {1: 1}, "a default of type int does not fit str."),
        (DictOf(STR, INT), [], "a default of type list of length 0 does not fit Dict(str, int)."),
        (DictOf(STR, TENSOR), {"x": np.zeros(3)}, "a default of type ndarray does not fit Tensor: the default of a Tensor can"),
        (CALLABLE, 3, "a default of type int does not fit Callable."),
        (RESIDUAL, 1, "a default of type int does not fit Residual."),
        (LiteralOf(("a", 1)), "b", "a default of type str is none of the choices of Literal['a', 1]."),
        (LiteralOf(("a", 1)), True, "a default of type bool is none of the choices of Literal['a', 1]."),
        (LiteralOf(("a",)), None, "a default of None does not fit Literal['a']. Write Literal['a']? for a value that"),
        (ClassType("a.B"), 1, "the class a.B is not known. Import its module, or register_opaque_type it."),
        (ClassType("fractions.Fraction"), 1, "a default of type int does not fit fractions.Fraction."),
    ],
)
def test_refused(kind, value, message):
    with pytest.raises(SchemaError) as caught:
        accept(kind, value)
    assert message in str(caught.value)
