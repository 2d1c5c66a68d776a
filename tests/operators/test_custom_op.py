"""Defining operators: what is taken, what is refused, and that a refused definition leaves nothing behind."""

import functools

import numpy as np
import pytest

from dispatch import DispatchKey, OpOverload, Tag, custom_op, ops
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


def test_a_schema_in_place_of_hints():
    op = custom_op("registrationtests::written", lambda x, n=2: x * n, mutates_args=(), schema="(Tensor x, int n=2) -> Tensor")
    assert np.array_equal(op(A), A * 2)
    assert str(op.schema) == "registrationtests::written(Tensor x, int n=2) -> Tensor"
    ufunc = custom_op("registrationtests::ufunc", np.hypot, mutates_args=(), schema="(Tensor x, Tensor y) -> Tensor")
    assert np.array_equal(ufunc(A, A), np.hypot(A, A))


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


def test_devices():
    both = custom_op("registrationtests::both", double, mutates_args=(), device_types=("cpu", "cuda"))
    cpu = custom_op("registrationtests::cpu", double, mutates_args=(), device_types="cpu")
    anywhere = custom_op("registrationtests::anywhere", double, mutates_args=())
    assert {r.key for r in both.table.all()} == {DispatchKey.CPU, DispatchKey.CUDA}
    assert {r.key for r in cpu.table.all()} == {DispatchKey.CPU}
    assert {r.key for r in anywhere.table.all()} == {DispatchKey.CompositeExplicit}


def test_arguments_that_are_written():
    @custom_op("registrationtests::fill", mutates_args=("out",))
    def fill(x: np.ndarray, out: np.ndarray) -> None:
        out[...] = x

    out = np.zeros(3)
    assert fill(A, out) is None
    assert np.array_equal(out, A)
    assert str(fill.schema) == "registrationtests::fill(Tensor x, Tensor(a1!) out) -> ()"

    unknown = custom_op("registrationtests::unknown", lambda x: None, mutates_args="unknown", schema="(Tensor(a!) x) -> ()")
    assert unknown.schema.mutable_arguments == ("x",)


def test_tags_are_kept_in_one_order():
    op = custom_op("registrationtests::tagged", double, mutates_args=(), tags=[Tag.reduction, Tag.pointwise, Tag.pointwise])
    assert op.tags == (Tag.pointwise, Tag.reduction)
    assert custom_op("registrationtests::one_tag", double, mutates_args=(), tags=Tag.core).tags == (Tag.core,)


def test_an_overload():
    custom_op("registrationtests::half", lambda x: x / 2, mutates_args=(), schema="(Tensor x) -> Tensor")
    custom_op("registrationtests::half.number", lambda x: x / 2, mutates_args=(), schema="(float x) -> float")
    assert ops.registrationtests.half(3.0) == 1.5
    assert np.array_equal(ops.registrationtests.half(A), A / 2)


# -- what is refused -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["plain", "two::many::colons", "::name", "ns::", "a b::c", "ns::na-me", "1ns::f"])
def test_a_name_that_is_none(name):
    said = refused((SchemaError, DefinitionError), name, double, mutates_args=())
    assert "cannot name" in said or "'namespace::name'" in said


def test_the_schema_is_held_against_the_function():
    said = refused(DefinitionError, "registrationtests::no", double, mutates_args=(), schema="(Tensor y) -> Tensor")
    assert said.startswith("registrationtests::no: argument 1 is 'y' in the schema and 'x' in the function.")
    assert said.endswith("Make them the same.")
    said = refused(DefinitionError, "registrationtests::no", double, mutates_args=(), schema="(Tensor x, int n) -> Tensor")
    assert said.startswith("registrationtests::no: the schema's 'n' is not in the function.")


@pytest.mark.parametrize(
    ("schema", "mutates", "message"),
    [
        ("(Tensor x) -> Tensor", ("x",), "mutates_args names ['x'], and the schema writes to nothing. Make the two say the same."),
        ("(Tensor(a!) x) -> ()", (), "mutates_args names nothing, and the schema writes to ['x']. Make the two say the same."),
        ("(Tensor(a!) x) -> ()", ("y",), "mutates_args names ['y'], and the schema writes to ['x']. Make the two say the same."),
        ("(Tensor(a!) x) -> ()", "x", "mutates_args is the text 'x'. Write a tuple of names: ('x',)."),
    ],
)
def test_the_schema_is_held_against_mutates_args(schema, mutates, message):
    said = refused(DefinitionError, "registrationtests::no", lambda x: None, mutates_args=mutates, schema=schema)
    assert said == f"registrationtests::no: {message}"


def test_tags_are_held_against_the_schema():
    said = refused(DefinitionError, "registrationtests::no", double, mutates_args=(), tags=Tag.inplace)
    assert "Tag.inplace asks that the first argument, 'x', is written" in said
    said = refused(DefinitionError, "registrationtests::no", double, mutates_args=(), tags=Tag.inplace, schema="(Tensor x) -> Tensor")
    assert "Tag.inplace asks that the first argument, 'x', is written" in said
    said = refused(DefinitionError, "registrationtests::no", double, mutates_args=(), tags="pointwise")
    assert said == "registrationtests::no: 'pointwise' is no Tag. Write Tag.pointwise."


def test_devices_that_are_none():
    said = refused(DefinitionError, "registrationtests::no", double, mutates_args=(), device_types=[])
    assert said == "device_types names no device. Leave it out for a kernel that computes on any."
    said = refused(DefinitionError, "registrationtests::no", double, mutates_args=(), device_types="gpu")
    assert said.startswith("there is no device 'gpu'. Devices: cpu, cuda, dask")


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


def test_somebody_elses_operator_is_not_redefined():
    said = refused(DefinitionError, "np::sin", double, mutates_args=())
    assert said.startswith("np::sin is defined already, by dispatch.operators.prims (np::sin); ")
    assert said.endswith("defines it again. Take another name or another namespace.")
    assert ops.np.sin(0.0) == 0.0
