"""Dtypes and arrays as text: what comes back is the same to the bit, and laid out alike."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays_of
from making import said

from dispatch.errors import GraphError
from dispatch.graph import Metadata
from dispatch.graph.array_literals import (
    Unwritable,
    array_of,
    data_of,
    described,
    dtype_of,
    dtype_text,
    metadata_of,
    raw_bytes,
    scalar_of,
)

DTYPES = [
    "bool", "int8", "uint64", ">i4", "float16", "float32", ">f8", "float64", "longdouble", "complex64", "<c16", "U3", ">U2", "S5",
    "M8[ns]", "m8[D]", "V4", [("a", "<f8"), ("b", ">i2", (2,))], {"names": ["a"], "formats": ["i4"], "itemsize": 12},
]  # fmt: skip


@pytest.mark.parametrize("kind", DTYPES, ids=str)
def test_a_dtype_is_read_again(kind):
    dtype = np.dtype(kind)
    assert dtype_of(dtype_text(dtype)) == dtype
    assert dtype_text(np.dtype("float64")) == "float64"


@pytest.mark.parametrize("dtype", [np.dtype([("a", "O")]), np.dtypes.StringDType(), np.dtype("f8", metadata={"a": 1})], ids=str)
def test_a_dtype_without_a_text_is_refused(dtype):
    with pytest.raises(Unwritable, match=r"^an? \w*DType\w*$"):
        dtype_text(dtype)


def elements(array):
    """The bytes of an array without those between fields, which belong to nobody."""
    return [elements(array[name]) for name in array.dtype.names] if array.dtype.names else raw_bytes(array)


@given(arrays_of.arrays(st.sampled_from([kind for kind in DTYPES if kind != "V4"]).map(np.dtype), arrays_of.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3)),
       st.permutations(range(3)), st.booleans())  # fmt: skip
def test_an_array_is_the_same_to_the_bit_and_laid_out_alike(array, order, backwards):
    array = array.transpose([axis for axis in order if axis < array.ndim])
    array = array[::-1] if backwards and array.ndim else array
    found = array_of(*data_of(array))
    assert (found.dtype, found.shape, elements(found)) == (array.dtype, array.shape, elements(array))
    assert found.flags.writeable
    if array.size and not backwards:
        longer = [i for i, n in enumerate(array.shape) if n > 1]  # strides of length-1 axes do not count
        dense = array.copy(order="K")
        assert [found.strides[i] for i in longer] == [dense.strides[i] for i in longer]


def test_numbers_that_are_not_finite_are_exact():
    array = np.array([np.nan, -np.inf, -0.0, 5e-324])
    assert raw_bytes(array_of(*data_of(array))) == raw_bytes(array)
    assert str(scalar_of("float32", np.float32(-0.0).tobytes().hex())) == "-0.0"
    assert scalar_of("U0", "") == np.str_("")


def test_metadata_leaves_out_what_is_usual():
    kind = np.dtype("float64")
    plain = Metadata((2, 3), kind, (24, 8), "cpu")
    assert described(plain) == ("float64", (2, 3))
    assert described(plain._replace(strides=(8, 16))) == ("float64", (2, 3), (8, 16))
    assert described(plain._replace(device="cuda")) == ("float64", (2, 3), None, "cuda")
    for x in (plain, plain._replace(strides=(8, 16)), plain._replace(device="cuda"), Metadata((), kind, (), "cpu")):
        assert metadata_of(*described(x)) == x


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: array_of("float64", (2,), "AAAA"), "3 bytes are no array of dtype float64 and shape (2,)"),
        (lambda: array_of("O", (1,), ""), "an array of dtype object and shape (1,) cannot be read"),
        (lambda: array_of("float64", (-1,), ""), "an array of dtype float64 and shape (-1,) cannot be read"),
        (lambda: array_of("float64", [1], ""), "an array of dtype float64 and shape [1] cannot be read"),
        (lambda: array_of("float64", (0, 2), "", (0, 0)), "(0, 0) are no axes of the shape (0, 2)"),
        (lambda: array_of("float64", (10**30,), "AAAA"), f"3 bytes are no array of dtype float64 and shape ({10**30},)"),
        (lambda: scalar_of("float64", "00"), "1 bytes are no scalar of dtype float64"),
        (lambda: metadata_of("float64", (2,), (8, 8)), "a shape and its strides are tuples of one length, and a device is text"),
    ],
)  # fmt: skip
def test_what_is_no_array_is_refused(call, words):
    assert said(call, GraphError) == words
