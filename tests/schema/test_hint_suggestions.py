"""The nearest hint: whatever it says has a schema type itself."""

import collections
import collections.abc
import ctypes
import datetime as dt
import pathlib
import typing
from typing import NamedTuple, TypedDict, TypeVar

import numpy as np
import numpy.typing as npt
import pytest

from dispatch.schema.hint_suggestions import ALLOWED, nearest, show
from dispatch.schema.hints import HintReader


class Options(TypedDict):
    x: np.ndarray


class Empty(NamedTuple):
    pass


A = TypeVar("A", bound=np.ndarray)
T = TypeVar("T")

TABLE = [
    (list, "list[np.ndarray], or list[int] for numbers"),
    (collections.deque[np.ndarray], "list[np.ndarray]"),
    (collections.abc.Iterator[np.ndarray], "list[np.ndarray]"),
    (collections.abc.MutableSequence, "list[np.ndarray]"),
    (typing.Collection[int], "list[np.ndarray]"),
    (tuple, "tuple[np.ndarray, ...], or tuple[int, ...] for numbers"),
    (collections.OrderedDict[str, int], "dict[str, np.ndarray]"),
    (collections.defaultdict, "dict[str, np.ndarray]"),
    (collections.abc.MutableMapping[str, int], "dict[str, np.ndarray]"),
    (set[int], "list[int]"),
    (slice, "tuple[int, int, int]"),
    (object, "typing.Any"),
    (any, "typing.Any"),
    (callable, "typing.Callable"),
    (np.asarray, "np.ndarray"),
    (type("jaxlib._jax.Array", (), {}), "np.ndarray"),  # as JAX calls its own
    (type("Generator", (), {"__module__": "torch._C"}), "np.random.Generator"),  # torch's
    (collections.abc.Generator[int, None, None], "typing.Any, or register_opaque_type(Generator)"),
    (bytearray, "np.ndarray"),
    (np.float32, "float, or numpy.typing.NDArray[np.float32] for an array"),
    (np.int8, "int, or numpy.typing.NDArray[np.int8] for an array"),
    (np.dtype(np.float32), "numpy.typing.NDArray[np.float32]"),
    (pathlib.Path, "str"),
    (A, "np.ndarray"),
    (T, "typing.Any"),
    (Options, "dict[str, np.ndarray], or a dataclass in place of Options"),
    (Empty, "a typing.NamedTuple in place of Empty, whose fields have hints"),
    (dt.date, "typing.Any, or register_opaque_type(date)"),
    (42, "int"),
]


@pytest.mark.parametrize(("hint", "meant"), TABLE, ids=[show(hint) for hint, _ in TABLE])
def test_the_nearest(hint, meant):
    assert nearest(hint) == meant


@pytest.mark.parametrize("meant", sorted({meant.split(", or ")[0] for _, meant in TABLE if not meant.startswith("a ")}))
def test_what_it_says_has_a_schema_type(meant):
    scope = {"np": np, "numpy": np, "typing": typing}
    assert str(HintReader("ns::op", None).argument("x", eval(meant, scope)))


def test_what_is_allowed_has_a_schema_type():
    for word in ALLOWED.split(", ")[:11]:
        assert str(HintReader("ns::op", None).argument("x", eval(word.strip(), {"np": np, "typing": typing, "numbers": __import__("numbers")})))


@pytest.mark.parametrize(
    ("hint", "text"),
    [
        (int, "int"), ("a.b", "a.b"), (pathlib.Path, f"{pathlib.Path.__module__}.Path"),
        (npt.NDArray, "NDArray"), (npt.NDArray[np.float32], "NDArray[numpy.float32]"), (npt.NDArray["f65"], "NDArray['f65']"),  # in every NumPy
    ],
)
def test_a_hint_is_shown_as_it_is_written(hint, text):
    assert show(hint) == text


def test_a_pointer_of_ctypes_is_an_array():
    assert nearest(ctypes.POINTER(ctypes.c_double)) == nearest(np.ctypeslib.ndpointer(np.float64)) == "np.ndarray"
