"""Defining operators: what is taken, what is refused, and that a refused definition leaves nothing behind."""

import functools
from typing import Any

import numpy as np
import pytest

import dispatch
from dispatch import OpOverload, Tag, custom_op, ops
from dispatch.errors import DefinitionError, HintError, OperatorNotFoundError, SchemaError

A = np.arange(3.0)


def double(x: np.ndarray) -> np.ndarray:
    """Twice an array."""
    return x * 2


def refused(error, *args, **options):
    with pytest.raises(error) as caught:
        custom_op(*args, **options)
    return str(caught.value)


# -- what is taken ---------------------------------------------------------------------------------------------------------


def test_a_decorator_and_a_function_are_the_same():
    decorated = custom_op("registrationtests::decorated", mutates_args=())(double)
    called = custom_op("registrationtests::called", double, mutates_args=())
    for op in (decorated, called):
        assert isinstance(op, OpOverload)
        assert np.array_equal(op(A), double(A))
        assert op.__wrapped__ is double
        assert (op.__name__, op.__qualname__, op.__doc__, op.__module__) == ("double", "double", "Twice an array.", __name__)
        assert str(op.schema).endswith("(Tensor x) -> Tensor")


def test_a_function_that_is_no_plain_function():
    class Kernel:
        def __call__(self, x: np.ndarray) -> np.ndarray:
            return x * 3

        def method(self, x: np.ndarray) -> np.ndarray:
            return x * 4

    assert np.array_equal(custom_op("registrationtests::object", Kernel(), mutates_args=())(A), A * 3)
    assert np.array_equal(custom_op("registrationtests::method", Kernel().method, mutates_args=())(A), A * 4)

    @functools.wraps(double)
    def wrapper(*args, **keywords):
        return double(*args, **keywords) + 1

    assert np.array_equal(custom_op("registrationtests::wrapped", wrapper, mutates_args=())(A), A * 2 + 1)
    ufunc = custom_op("registrationtests::ufunc", np.hypot, mutates_args=(), schema="(Tensor x, Tensor y) -> Tensor")
    assert np.array_equal(ufunc(A, A), np.hypot(A, A))


# -- what is refused -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["plain", "two::many::colons", "::name", "ns::", "a b::c", "ns::na-me", "1ns::f"])
def test_a_name_that_is_none(name):
    said = refused((SchemaError, DefinitionError), name, double, mutates_args=())
    assert "cannot name" in said or "'namespace::name'" in said


def test_a_kernel_that_is_no_function():
    said = refused(DefinitionError, "registrationtests::no", 3, mutates_args=(), schema="(Tensor x) -> Tensor")
    assert said == "registrationtests::no: a kernel is a function, and an int was given."


WRONG = [
    ("plain", double, {}),
    ("registrationtests::nothing", lambda x: x, {}),
    ("registrationtests::nothing", double, {"schema": "(Tensor y) -> Tensor"}),
    ("registrationtests::nothing", double, {"schema": "(Tensor x -> Tensor"}),
    ("registrationtests::nothing", double, {"schema": "(Tensor(a!) x) -> Tensor"}),
    ("registrationtests::nothing", double, {"tags": Tag.inplace}),
    ("registrationtests::nothing", double, {"device_types": "gpu"}),
    ("registrationtests::nothing", double, {"mutates_args": ("q",)}),
    ("registrationtests::nothing", 3, {"schema": "(Tensor x) -> Tensor"}),
]


@pytest.mark.parametrize(("name", "function", "options"), WRONG)
def test_a_definition_that_is_refused_leaves_nothing_behind(name, function, options):
    with pytest.raises((DefinitionError, SchemaError, HintError)):
        custom_op(name, function, **{"mutates_args": (), **options})
    with pytest.raises(OperatorNotFoundError):
        ops.registrationtests.nothing


# -- defaults that can be written to ---------------------------------------------------------------------------------------

LIST = [9]
WRITTEN = []  # what the kernel found in its defaults, call by call


@custom_op("customoptests::forgetful", mutates_args=())
def forgetful(
    x: np.ndarray,
    sizes: list[int] = [1, 2],  # noqa: B006
    nested: list[list[int]] = [[1], []],  # noqa: B006
    options: dict[str, list[int]] = {"a": [3]},  # noqa: B006
    pair: tuple[int, list[int]] = (1, [2]),
    anything: Any = [{"b": 1}],  # noqa: B006
    *,
    fixed: tuple[int, ...] = (1, 2),
    last: list[str] = [],  # noqa: B006
) -> np.ndarray:
    WRITTEN.append(repr((sizes + LIST, nested, options, pair, anything, fixed, last)))
    sizes.append(5)
    nested[0].append(5)
    options["a"].append(5)
    options["c"] = []
    pair[1].clear()
    anything[0]["b"] = 5
    last.append("written")
    return x * 1.0


forgetful.register_fake(lambda x, *rest, fixed, last: np.empty(x.shape))
forgetful.register_autograd(lambda ctx, g: (g, *[None] * 7))
forgetful.register_vmap("sequential")
OWN = "([1, 2, 9], [[1], []], {'a': [3]}, (1, [2]), [{'b': 1}], (1, 2), [])"


def in_blocks(block):
    def way(x):
        with block():
            return forgetful(x)

    return way


WAYS = {
    "plain": forgetful,
    "by keyword": lambda x: forgetful(x=x),
    "some given": lambda x: forgetful(x, fixed=(1, 2)),
    "grad": dispatch.grad(lambda x: np.sum(forgetful(x))),
    "jvp": lambda x: dispatch.jvp(forgetful, (x,), (x,)),
    "vmap": dispatch.vmap(forgetful),
    "vmap of grad": dispatch.vmap(dispatch.grad(forgetful)),
    "make_fx": dispatch.make_fx(lambda x: forgetful(forgetful(x)))(np.ones(3)),
    "compile": dispatch.compile(lambda x: forgetful(forgetful(x))),
    "functionalize": dispatch.functionalize(forgetful),
    "export": dispatch.export(lambda x: forgetful(x), (np.ones(3),)),
    "validate": in_blocks(lambda: dispatch.validate("full")),
    "redispatch": lambda x: forgetful.redispatch(dispatch.DispatchKey.VMAP, x),
}


@pytest.mark.parametrize("way", WAYS)
def test_a_list_default_reaches_the_kernel_as_a_list_fresh_each_call(way):
    WRITTEN.clear()
    for _ in range(3):
        WAYS[way](np.ones(3))
    assert len(WRITTEN) >= 3
    assert set(WRITTEN) == {OWN}
    assert str(forgetful.schema) == (
        'customoptests::forgetful(Tensor x, int[] sizes=[1, 2], int[][] nested=[[1], []], Dict(str, int[]) options={"a": [3]}, '
        '(int, int[]) pair=(1, [2]), Any anything=[{"b": 1}], *, int[] fixed=[1, 2], str[] last=[]) -> Tensor'
    )


def test_a_list_default_of_a_schema_s_text_is_a_list_too():
    found = []
    op = custom_op(
        "customoptests::text",
        lambda x, sizes=[1, 2]: found.append(sizes) or sizes.append(3),
        mutates_args=(),
        schema="(Tensor x, int[] sizes=[1, 2]) -> ()",
    )
    op(np.ones(2))
    op(np.ones(2))
    assert found == [[1, 2, 3], [1, 2, 3]]
    assert found[0] is not found[1]
