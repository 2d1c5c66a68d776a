"""Hints about dtypes, over every dtype that NumPy names."""

from typing import Any, TypeVar, Union, get_args

import numpy as np
import numpy.typing as npt
import pytest

from dispatch.schema.dtype_hints import dtype_of, is_dtype_like, is_numpys_own, unaliased

T = TypeVar("T", bound=np.generic)
SIZED = sorted({cls for cls in np.sctypeDict.values() if np.dtype(cls).itemsize and cls is not np.void}, key=str)
ABSTRACT = [np.generic, np.number, np.inexact, np.floating, np.complexfloating, np.integer, np.unsignedinteger, Any, T]


@pytest.mark.parametrize("cls", [cls for cls in SIZED if cls not in (np.datetime64, np.timedelta64)])
def test_the_dtype_of_a_class_that_names_one(cls):
    assert dtype_of(get_args(unaliased(npt.NDArray[cls]))) == np.dtype(cls)


@pytest.mark.parametrize("cls", [*ABSTRACT, np.str_, np.bytes_, np.void, np.datetime64, np.timedelta64])
def test_what_names_no_dtype_asks_for_none(cls):
    assert dtype_of(get_args(unaliased(npt.NDArray[cls]))) is None


def test_an_array_without_a_dtype_asks_for_none():
    assert dtype_of(()) is None
    assert dtype_of((Any,)) is None


@pytest.mark.parametrize(
    ("hint", "like"),
    [
        (npt.DTypeLike, True),
        (Union[np.dtype, type, str], True),  # noqa: UP007
        (np.dtype | str, True),
        (str | type, False),
        (np.dtype | int, False),
        (npt.ArrayLike, False),
    ],
)
def test_what_is_like_a_dtype(hint, like):
    members = [member for member in get_args(unaliased(hint)) if member is not type(None)]
    assert is_dtype_like(members) is like


def test_numpys_own_hints():
    assert any(map(is_numpys_own, get_args(unaliased(npt.ArrayLike))))
    assert not any(map(is_numpys_own, (np.ndarray, np.dtype, int, Any, T, 3)))
