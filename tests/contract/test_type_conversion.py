"""TestTypeConversion: tuples in hints, which torch has no type for and suggests a list in place of."""

import numbers

import numpy as np
import pytest
from making import said

from dispatch import infer_schema
from dispatch.errors import HintError

SUPPORTED = {
    int: "int", float: "float", bool: "bool", str: "str", np.ndarray: "Tensor", np.dtype: "ScalarType", numbers.Number: "Scalar",
}  # fmt: skip


def parameter(hint):
    """The type of a parameter of a hint."""

    def function(y) -> None: ...

    function.__annotations__["y"] = hint
    return infer_schema(function, mutates_args=()).removeprefix("(").removesuffix(" y) -> ()")


def test_simple_tuple():
    """A bare tuple says nothing of its items, and is refused with the hint of a list."""
    for bare in (tuple, tuple[()]):
        message = said(lambda bare=bare: parameter(bare), HintError)
        assert message.startswith("inferred::function: parameter 'y' has the hint tuple")
        assert "which has no schema type.\nThe nearest hint that has one: tuple[np.ndarray, ...], or tuple[int, ...] for numbers." in message


@pytest.mark.parametrize("hint", SUPPORTED)
def test_supported_types(hint):
    """A tuple of one type is a list of it, of as many items.

    Differs: more hints
    """
    assert parameter(tuple[hint, hint, hint]) == f"{SUPPORTED[hint]}[3]"
    assert parameter(tuple[hint]) == f"{SUPPORTED[hint]}[1]"


@pytest.mark.parametrize("hint", SUPPORTED)
def test_optional(hint):
    """A tuple of a type, and of it or None, is a tuple of the two; one of any length is a list.

    Differs: more hints
    """
    name = SUPPORTED[hint]
    assert parameter(tuple[hint, hint | None]) == f"({name}, {name}?)"
    assert parameter(tuple[hint, hint, hint | None]) == f"({name}, {name}, {name}?)"
    assert parameter(tuple[hint | None, hint | None]) == f"{name}?[2]"
    assert parameter(tuple[hint, ...]) == f"{name}[]"


def test_mixed_types():
    """A tuple of several types is a tuple of them.

    Differs: more hints
    """
    assert parameter(tuple[int, float]) == "(int, float)"
    assert parameter(tuple[int, float, str]) == "(int, float, str)"
    assert parameter(tuple[np.ndarray, tuple[int, int]]) == "(Tensor, int[2])"
