"""Every kind of hint that has a schema type: the text, values that fit and values that do not, a default and its text.

The laws over it are in test_hint_table.py; a new type is one row here.
"""
# ruff: noqa: UP007, UP045  the older spelling is read too

import enum
import math
import numbers
from dataclasses import dataclass, field
from typing import Any, Callable, Literal, NamedTuple, Optional, Union  # noqa: UP035

import numpy as np
import numpy.typing as npt

from dispatch import SymInt
from dispatch.schema.opaque_types import register_opaque_type
from dispatch.schema.schema import MISSING


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


class Access(enum.Flag):
    READ = 1
    WRITE = 2


@register_opaque_type
class Handle:
    """What a C library gives out."""


class Child(Handle):
    pass


@dataclass
class Config:
    """No array in it: one value, passed by reference."""

    tol: float = 1e-6
    names: set[str] = field(default_factory=set)


class Size(NamedTuple):
    rows: int
    columns: int


@dataclass
class State:
    position: np.ndarray
    velocity: np.ndarray | None = None
    steps: int = 1
    note: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Layer:
    weights: npt.NDArray[np.float64]
    bias: npt.NDArray[np.float64]
    name: str = "dense"


class Factors(NamedTuple):
    q: np.ndarray
    r: np.ndarray
    rank: int = 2


@dataclass
class Model:
    layers: list[Layer]
    named: dict[str, np.ndarray]
    factors: "Factors | None" = None
    made: np.ndarray | None = field(init=False)


@dataclass
class Heir(State):
    """A subclass, whose fields no hint names."""


@dataclass
class Row:
    hint: Any
    text: str
    fits: list[Any]
    refused: list[Any]
    default: Any = MISSING
    default_text: str = ""


def a(*values: float) -> np.ndarray:
    return np.array(values or (0.5, 1.0, 2.0))


HERE = __name__
TABLE = [
    # arrays
    Row(np.ndarray, "Tensor", [a(), np.float64(2), np.zeros((0, 2), np.int8)], [None, 1.0, [1.0], "x"]),
    Row(Optional[np.ndarray], "Tensor?", [a(), None], [1.0, [None]], None, "None"),
    Row(npt.NDArray[np.float64], "Tensor", [a()], [a().astype("f4"), a().astype(">f8"), 1.0]),
    Row(np.ndarray | float, "Tensor", [a(), 2.0, 3], [None, "x", [1.0]]),
    Row(list[np.ndarray], "Tensor[]", [[a(), a(1.0)], (a(),), []], [a(), None, [1.0], [None]], (), "[]"),
    Row(list[np.ndarray] | None, "Tensor[]?", [[a()], None], [a(), [None]], None, "None"),
    Row(list[np.ndarray | None], "Tensor?[]", [[a(), None], [None]], [None, [1.0]], (None,), "[None]"),
    Row(list[list[np.ndarray]], "Tensor[][]", [[[a()], []], [(a(), a())]], [[a()], a()], [[]], "[[]]"),
    Row(tuple[np.ndarray, ...], "Tensor[]", [(a(), a())], [a()]),
    Row(tuple[np.ndarray, np.ndarray], "Tensor[2]", [(a(), a()), [a(), a()]], [(a(),), (a(), 1.0)]),
    Row(tuple[np.ndarray, int], "(Tensor, int)", [(a(), 2)], [(a(), 2.5), (a(),), [a(), 2]]),
    Row(dict[str, np.ndarray], "Dict(str, Tensor)", [{"x": a(), "y": a()}, {}], [{"x": 1.0}, {1: a()}, [a()], a()], {}, "{}"),
    Row(dict[str, list[np.ndarray]], "Dict(str, Tensor[])", [{"x": [a(), a()]}], [{"x": a()}]),
    Row(dict[int, np.ndarray | None] | None, "Dict(int, Tensor?)?", [{1: a(), 2: None}, None], [{"1": a()}], None, "None"),
    # one of several
    Row(np.ndarray | list[np.ndarray], "Union(Tensor, Tensor[])", [a(), [a(), a(1.0)], (a(),)], [None, 1.0, [1.0], "x"], [], "[]"),
    Row(np.ndarray | float | list[np.ndarray] | None, "Union(Tensor, Tensor[])?", [a(), 2.0, [a()], None], ["x", {}], None, "None"),
    Row(np.ndarray | str, "Union(Tensor, str)", [a(), "x"], [b"x", 1.0], "x", '"x"'),
    Row(list[np.ndarray | str], "Union(Tensor, str)[]", [[a(), "x"]], [a(), [1.0]], ["x"], '["x"]'),
    Row(State | np.ndarray, f"Union({HERE}.State, Tensor)", [State(a()), a()], [State(1.0), 1.0]),
    Row(dict[str, np.ndarray] | tuple[np.ndarray, int], "Union(Dict(str, Tensor), (Tensor, int))", [{"x": a()}, (a(), 1)], [(a(),)]),
    Row(float | list[float], "Union(float, float[])", [1.0, 2, [1.0, 2], ()], [True, "x", ["x"], a(), None], [0.5, 1], "[0.5, 1]"),
    Row(Union[str, int], "Union(str, int)", ["x", 3, np.int8(3)], [1.5, True, None], 3, "3"),
    Row(float | str, "Union(float, str)", [1.5, 1, "x"], [1j, b"x"], "x", '"x"'),
    Row(int | list[int], "Union(int, int[])", [1, [1, 2], range(2)], [1.5, [1.5]], [1], "[1]"),
    Row(Optional[Union[float, str]], "Union(float, str)?", [1.5, "x", None], [b"x"], None, "None"),
    Row(int | float | str, "Union(Scalar, str)", [1, 1.5, "x"], [None, a()], "x", '"x"'),
    Row(int | tuple[int, int] | str, "Union(int[2], str)", [1, (1, 2), "x"], [1.5, (1,)], (1, 2), "[1, 2]"),
    Row(Literal["a", "b"] | float, "Union(float, Literal['a', 'b'])", ["a", 1.5], ["c", None], "a", '"a"'),
    Row(Literal["a", 1] | str | float, "Union(str, Scalar)", ["c", 1, 1.5], [None]),
    Row(Callable | str, "Union(Callable, str)", [len, "x"], [3, None], len, "..."),
    Row(SymInt, "int", [1], [1.5]),
    # records
    Row(State, f"{HERE}.State", [State(a()), State(a(), a(), 3, {"x"})], [State(1.0), State(a(), steps=1.5), Heir(a()), a(), None]),
    Row(State | None, f"{HERE}.State?", [State(a()), None], [State(None)], None, "None"),
    Row(Layer, f"{HERE}.Layer", [Layer(a(), a(1.0))], [Layer(a(), a().astype("f4")), Layer(a(), a(), b"x"), State(a())]),
    Row(Factors, f"{HERE}.Factors", [Factors(a(), a())], [Factors(a(), None), (a(), a(), 2), Factors(a(), a(), 2.5)]),
    Row(list[Factors], f"{HERE}.Factors[]", [[Factors(a(), a())], []], [Factors(a(), a()), [a()]], [], "[]"),
    Row(dict[str, State], f"Dict(str, {HERE}.State)", [{"s": State(a())}], [{"s": a()}, State(a())]),
    Row(Model, f"{HERE}.Model", [Model([Layer(a(), a())], {"x": a()}), Model([], {}, Factors(a(), a()))],
        [Model([a()], {}), Model([], {1: a()}), Model([], {}, (a(), a(), 2))]),
    # words
    Row(int, "int", [1, np.int8(1), -(2**70)], [True, 1.0, "1", None, a()], np.int8(3), "3"),
    Row(float, "float", [1.0, 1, np.float32(1)], [True, 1j, "1", a()], -math.inf, "-inf"),
    Row(complex, "complex", [1j, 1.0, np.complex64(1)], [True, "1"], 2j, "2j"),
    Row(bool, "bool", [True, np.False_], [1, 0.0, None], True, "True"),
    Row(str, "str", ["x", ""], [b"x", 1, None], 'say "x"\n', '"say \\"x\\"\\n"'),
    Row(bytes, "bytes", [b"x"], ["x", bytearray(b"x")], b"\x00'", 'b"\\x00\'"'),
    Row(numbers.Number, "Scalar", [1, 1.5, 2j, True, np.int8(1)], ["1", None, a()], 1, "1"),
    Row(np.dtype, "ScalarType", [np.dtype("f4"), np.float32, float, "<i2"], ["x", 3, dict], np.float32, "float32"),
    Row(Any, "Any", [None, 3, object(), [a()]], [], [1, {"x": (None,)}], '[1, {"x": (None,)}]'),
    Row(Callable, "Callable", [len, lambda: 0, Handle], [3, None, "len"], len, "..."),
    Row(Callable[[int], int] | None, "Callable?", [len, None], [3], None, "None"),
    # choices
    Row(Literal["same", "valid"], "Literal['same', 'valid']", ["same", "valid"], ["full", b"same", 1, None, np.str_("same")],
        "same", '"same"'),
    Row(Literal[1, 2, None], "Literal[1, 2]?", [1, 2, None], [3, 1.0, True, np.int64(1)], 2, "2"),
    Row(Literal["it's", b"x", True, -3], "Literal[\"it's\", b'x', True, -3]", ["it's", b"x", True, -3], ["x", 1, False], True, "True"),
    Row(list[Literal["a", "b"]], "Literal['a', 'b'][]", [["a", "b"], ()], ["a", ["c"]], ["a"], '["a"]'),
    Row(Colour, f"{HERE}.Colour", [Colour.RED], [1, "RED", None, Access.READ], Colour.BLUE, f"{HERE}.Colour.BLUE"),
    Row(Colour | None, f"{HERE}.Colour?", [Colour.RED, None], [1], Colour.RED, f"{HERE}.Colour.RED"),
    Row(list[Colour], f"{HERE}.Colour[]", [[Colour.RED]], [[1]], [Colour.RED], f"[{HERE}.Colour.RED]"),
    Row(Access, f"{HERE}.Access", [Access.READ, Access(0)], [1], Access.READ | Access.WRITE,
        f"{HERE}.Access.READ|{HERE}.Access.WRITE"),
    # classes without arrays
    Row(Handle, f"{HERE}.Handle", [Handle(), Child()], [3, None, Handle], Handle(), "..."),
    Row(list[Handle], f"{HERE}.Handle[]", [[Handle()]], [Handle(), [3]], [Handle()], "..."),
    Row(np.random.Generator | None, "Generator?", [np.random.default_rng(0), None], [3, np.random.RandomState(0)], None, "None"),
    Row(np.random.Generator, "Generator", [np.random.default_rng(0)], [None, np.random.default_rng], np.random.default_rng(0), "..."),
    Row(Config, f"{HERE}.Config", [Config(), Config(0.1, {"x"})], [3, None, 1e-6], Config(), "..."),
    Row(Size, f"{HERE}.Size", [Size(1, 2)], [(1, 2), None], Size(1, 2), "..."),
    # lists of words
    Row(list[int], "int[]", [[1], (), range(3)], [1, [1.0], "1"], range(2), "[0, 1]"),
    Row(list[int] | None, "int[]?", [[1], None], [1], None, "None"),
    Row(list[int | None], "int?[]", [[1, None]], [[1.0]], [1, None], "[1, None]"),
    Row(tuple[int, int], "int[2]", [(1, 2), [1, 2], 3], [(1,), 1.0], (1, 2), "[1, 2]"),
    Row(list[str], "str[]", [["x"]], ["x", [b"x"]], ["x"], '["x"]'),
    Row(list[np.dtype], "ScalarType[]", [[np.float32, "i2"]], [np.float32, [3]], [np.float32], "[float32]"),
    Row(list[bool], "bool[]", [[True]], [[1]], [True], "[True]"),
    Row(list[complex], "complex[]", [[1j, 2]], [["1j"]], [1j], "[1j]"),
    Row(list[list[int]], "int[][]", [[[1], []]], [[1]], [[1], []], "[[1], []]"),
    Row(list[tuple[int, str]], "(int, str)[]", [[(1, "x")]], [[(1, 2)]], [(1, "x")], '[(1, "x")]'),
    Row(dict[str, float], "Dict(str, float)", [{"x": 1.0}, {}], [{"x": "y"}, {1: 1.0}], {"x": 0.5}, '{"x": 0.5}'),
    Row(dict[int, list[str]], "Dict(int, str[])", [{1: ["x"]}], [{1: "x"}], {1: ["x"], 2: []}, '{1: ["x"], 2: []}'),
]  # fmt: skip
