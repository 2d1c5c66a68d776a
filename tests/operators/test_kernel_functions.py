"""What cannot be a kernel is refused where it is decorated, with the line to write; nothing is defined."""

import functools
import inspect

import numpy as np
import pytest

import dispatch
from dispatch import custom_op
from dispatch.errors import DefinitionError
from dispatch.operators.kernel_functions import check_kernel


class Model:
    def __init__(self, scale=2.0):
        self.scale = scale

    def predict(self, x: np.ndarray) -> np.ndarray:
        return x * self.scale

    @classmethod
    def made(cls, x: np.ndarray) -> np.ndarray:
        return x


async def waits(x: np.ndarray) -> np.ndarray:
    return x


async def yields_async(x: np.ndarray) -> np.ndarray:
    yield x


def yields(x: np.ndarray) -> np.ndarray:
    yield x


ASYNC = "is async: a call of it returns no arrays. Make the operator of a plain function, and await what it needs before the call."
REFUSED = {
    "method": (
        Model.predict,
        ("Model.predict takes self: it is a method, and an operator is a function of arrays and plain values. Write a function beside the "
        "class, and call it in the method with what it needs: predict(x, self.scale)."),
    ),
    "class": (
        Model,
        ("Model is a class, and a call of it makes an object. Write a function that returns arrays: "
        "def op(x: np.ndarray) -> np.ndarray: return Model(...).method(x)."),
    ),
    "ufunc": (np.sin, 'np.sin is a ufunc: NumPy knows its types, and no hints are needed. Write from_ufunc(np.sin, "firstday::op").'),
    "coroutine": (waits, f"waits {ASYNC}"),
    "asynchronous generator": (yields_async, f"yields_async {ASYNC}"),
    "partial of a coroutine": (functools.partial(waits), f"waits {ASYNC}"),
    "generator": (
        yields,
        ("yields yields: a call of it returns a generator, and no arrays. Return them all: a list[np.ndarray], or one array, "
        "np.stack(parts)."),
    ),
    "staticmethod": (
        staticmethod(lambda x: x),
        "a staticmethod was given, which is an attribute of a class. An operator is a function: put @staticmethod above @custom_op.",
    ),
    "classmethod": (
        vars(Model)["made"],
        "a classmethod was given, which is an attribute of a class. An operator is a function: write a function beside the class.",
    ),
    "property": (property(lambda x: x), "a property was given, which is an attribute of a class. An operator is a function: write one of what it reads."),
    "array": (np.ones(2), "a kernel is a function, and an ndarray was given."),
}


@pytest.mark.parametrize(("fn", "said"), REFUSED.values(), ids=REFUSED)
def test_what_is_no_function_of_arrays_is_refused_with_what_to_write(fn, said):
    with pytest.raises(DefinitionError) as caught:
        custom_op("firstday::op", fn, mutates_args=())
    assert str(caught.value) == f"firstday::op: {said}"
    assert caught.value.operator == "firstday::op"
    with pytest.raises(dispatch.errors.OperatorNotFoundError):
        dispatch.ops.firstday.op


def test_a_ufunc_and_a_class_may_be_kernels_of_a_schema_that_is_written():
    check_kernel("firstday::sine", np.sin, inferred=False)
    check_kernel("firstday::bound", Model().predict, inferred=True)
    check_kernel("firstday::made", Model.made, inferred=True)


def test_the_decorator_without_its_name_says_how_it_is_written():
    said = (
        "custom_op takes the operator's name first, and was given a function. Write it as "
        '@custom_op("mylib::scale", mutates_args=()) above the function.'
    )

    def scale(x: np.ndarray) -> np.ndarray:
        return x

    for call in (lambda: custom_op(scale), lambda: custom_op(scale, mutates_args=())):
        with pytest.raises(DefinitionError) as caught:
            call()
        assert str(caught.value) == said


def test_what_is_written_to_must_be_said():
    said = (
        "firstday::scale: mutates_args= is missing, the names of the arguments that the function writes to. Write mutates_args=() if it "
        "writes to none."
    )
    with pytest.raises(TypeError) as caught:
        custom_op("firstday::scale", lambda x: x)
    assert str(caught.value) == said
    assert inspect.signature(custom_op).parameters["mutates_args"].default is inspect.Parameter.empty


RETURNED = {
    "a list": (lambda x: [1.0, 2.0], "a list of length 2", " Return np.asarray(result)."),
    "a number": (lambda x: 1.0, "a float", " Return np.asarray(result)."),
    "nothing": (
        lambda x: None,
        "None",
        " Add the return statement; or, if it writes its result into an argument, name that in mutates_args, -> None.",
    ),
    "an object": (lambda x: object(), "an object", " builtins.object is no array type that is known here."),
}


@pytest.mark.parametrize(("kernel", "what", "advice"), RETURNED.values(), ids=RETURNED)
def test_a_kernel_that_returns_no_array_is_told_what_to_return(kernel, what, advice):
    name = f"firstday::returns_{len(what)}_{len(advice)}"
    op = custom_op(name, kernel, mutates_args=(), schema="(Tensor x) -> Tensor")
    with pytest.raises(dispatch.errors.OutputError) as caught:
        op(np.ones(2))
    assert str(caught.value).endswith(f"returned {what}, and its schema says Tensor.{advice}")


def test_the_verbs_of_an_operator_are_listed_and_documented():
    op = custom_op("firstday::listed", lambda x: x + 1, mutates_args=(), schema="(Tensor x) -> Tensor")
    verbs = [name for name in dir(op) if name.startswith("register_")]
    assert {"register_autograd", "register_fake", "register_jvp", "register_kernel", "register_vmap"} <= set(verbs)
    for name in verbs:
        verb = getattr(op, name)
        assert verb.__doc__.strip()
        assert inspect.signature(verb).parameters
    assert {"explain", "kernels", "name", "schema", "tags"} <= set(dir(op))
    assert {"definition", "hooks", "table", "whole"}.isdisjoint(dir(op))
