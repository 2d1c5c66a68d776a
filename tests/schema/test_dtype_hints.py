"""Hints about dtypes, over every dtype that NumPy names; the dtype of a hint holds for results as for arguments."""

import itertools
from typing import Any, TypeVar, Union, get_args

import numpy as np
import numpy.typing as npt
import pytest
from making import said

import dispatch
from dispatch import custom_op
from dispatch.errors import BatchingError, FakeTensorError, OpCheckError, OutputError
from dispatch.library import opcheck
from dispatch.schema.dtype_hints import dtype_of, is_dtype_like, is_numpys_own, unaliased

T = TypeVar("T", bound=np.generic)
SIZED = sorted({cls for cls in np.sctypeDict.values() if cls.__module__ == "numpy" and np.dtype(cls).itemsize and cls is not np.void}, key=str)
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


# -- results ---------------------------------------------------------------------------------------------------------------

numbers = itertools.count()
F8 = npt.NDArray[np.float64]
X = np.arange(6.0).reshape(3, 2)
# The hint of a result, and what makes it of an array of that dtype and of another array.
RESULTS = {
    "plain": (F8, lambda one, other: other),
    "optional": (F8 | None, lambda one, other: other),
    "list": (list[F8], lambda one, other: [one, other]),
    "pair": (tuple[F8, F8], lambda one, other: (one, other)),
    "second": (tuple[np.ndarray, F8], lambda one, other: (one.astype("i1"), other)),
    "dict": (dict[str, F8], lambda one, other: {"one": one, "other": other}),
    "list of optional": (list[F8 | None], lambda one, other: [None, other]),
}
WRONG = ["f4", "i8", "c16", "?", ">f8"]


def returning(hint, make):
    """An operator whose result has a hint."""

    def kernel(x: np.ndarray):
        return make(x)

    kernel.__annotations__["return"] = hint
    return custom_op(f"dtyperesults::op{next(numbers)}", kernel, mutates_args=())


def call(op, x):
    return op(x)


def validated(op, x):
    with dispatch.validate("full"):
        return op(x)


def by_keyword(op, x):
    return op(x=x)


def redispatched(op, x):
    return op.redispatch(dispatch.DispatchKey.VMAP, x)


def looped(op, x):
    op.register_vmap("sequential")
    return dispatch.vmap(lambda x: (op(x), x)[1])(x)


def tracked(op, x):
    op.register_autograd(lambda ctx, *g: None)
    return op(dispatch.tensor(x, requires_grad=True))


@pytest.mark.parametrize("dtype", WRONG)
@pytest.mark.parametrize("way", [call, validated, by_keyword, redispatched, looped, tracked])
@pytest.mark.parametrize("name", RESULTS)
def test_a_result_of_another_dtype_than_its_hint_says_is_refused(name, way, dtype):
    hint, make = RESULTS[name]
    way(returning(hint, lambda x: make(x * 1.0, x * 2.0)), X)  # the dtype it asks for passes
    op = returning(hint, lambda x: make(x * 1.0, x.astype(dtype)))
    message = said(lambda: way(op, X), OutputError)
    assert message.startswith(f"{op.name}: the kernel test_dtype_hints.py:")
    assert message.endswith(" Nothing is cast behind your back: write astype('float64') there, or hint np.ndarray.")
    assert f"of float64.{f' One in it is of {np.dtype(dtype)}.' if isinstance(make(X, X), (dict, list)) else ''} " in message


@pytest.mark.parametrize("name", RESULTS)
def test_a_shape_rule_is_held_to_the_dtype_of_the_hint(name):
    hint, make = RESULTS[name]
    op = returning(hint, lambda x: make(x * 1.0, x * 2.0))

    def ask(rule):
        op.register_fake(rule)
        with dispatch.FakeTensorMode() as mode:
            return op(mode.from_array(X))

    ask(lambda x: make(np.empty(x.shape), np.empty(x.shape)))
    for rule in (lambda x: make(np.empty(x.shape), np.empty(x.shape, "f4")), lambda x: make(x * 1.0, x.astype("f4"))):
        message = said(lambda rule=rule: ask(rule), FakeTensorError)
        assert "its fake rule returned " in message
        assert "write astype('float64') there, or hint np.ndarray." in message


@pytest.mark.parametrize("name", ["plain", "pair", "list", "second"])
def test_a_batching_rule_is_held_to_the_dtype_of_the_hint(name):
    hint, make = RESULTS[name]
    op = returning(hint, lambda x: make(x * 1.0, x * 2.0))
    op.register_vmap(lambda info, in_dims, x: (make(x * 1.0, x * 2.0), 0))
    dispatch.vmap(op)(X)
    op.register_vmap(lambda info, in_dims, x: (make(x * 1.0, x.astype("f4")), 0))
    message = said(lambda: dispatch.vmap(op)(X), BatchingError)
    assert message.endswith("write astype('float64') there, or hint np.ndarray.")


def test_opcheck_finds_a_result_of_another_dtype_than_its_hint_says():
    message = said(lambda: opcheck(returning(F8, lambda x: x.astype("f4")), (X,)), OpCheckError)
    assert "dtype float32, and its schema says Tensor of float64." in message
    op = returning(F8, lambda x: x * 1.0)
    op.register_fake(lambda x: np.empty_like(x))
    opcheck(op, (X,))


def test_numpy_scalars_and_what_is_written_in_place_are_held_to_it_too():
    assert returning(F8, lambda x: x.sum())(X) == 15.0
    assert "a NumPy scalar of dtype float32" in said(lambda: returning(F8, lambda x: np.float32(1))(X), OutputError)

    @custom_op("dtyperesults::in_place", mutates_args=("x",), tags=dispatch.Tag.inplace)
    def in_place(x: np.ndarray) -> F8:
        return x

    y = X.copy()
    assert in_place(y) is y
    assert "dtype float32, and its schema says Tensor of float64." in said(lambda: in_place(X.astype("f4")), OutputError)


def test_the_items_of_a_signature_are_held_to_it_too():
    @custom_op("dtyperesults::items", mutates_args=(), signature="(n)->()")
    def items(x: np.ndarray) -> F8:
        return np.float32(x.sum())

    assert "dtype float32, and its schema says Tensor of float64." in said(lambda: items(X), OutputError)
