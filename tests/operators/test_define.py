"""`define` and `impl` in both their forms are one code: what either registers, the other sees."""

import itertools

import numpy as np
import pytest
from making import said

import dispatch
from dispatch.core import DispatchKey
from dispatch.errors import DefinitionError, NoKernelError, OperatorNotFoundError, SchemaError
from dispatch.library import Library, define, impl

X = np.ones(2)
numbers = itertools.count()


@pytest.fixture
def ns():
    """A namespace nobody has."""
    return f"defining{next(numbers)}"


def test_what_is_given_to_a_library_goes_with_it(ns):
    lib = Library(ns, "FRAGMENT")
    define(f"{ns}::f", "(Tensor x) -> Tensor", lib=lib)
    impl(f"{ns}::f", "cpu", lambda x: x + 1, lib=lib)
    assert getattr(dispatch.ops, ns).f(X)[0] == 2
    define(f"{ns}::g", "(Tensor x) -> Tensor")
    other = Library(ns, "IMPL")
    impl(f"{ns}::g", ["cpu", "cuda"], lambda x: x + 2, lib=other)
    assert getattr(dispatch.ops, ns).g(X)[0] == 3
    lib.destroy()
    other.destroy()
    with pytest.raises(OperatorNotFoundError, match=f"{ns}::f is gone: the library that defined it"):
        getattr(dispatch.ops, ns).f
    with pytest.raises(NoKernelError, match=f"{ns}::g has no kernel"):
        getattr(dispatch.ops, ns).g(X)


def test_each_device_of_a_list_keeps_its_own_kernel(ns):
    define(f"{ns}::f", "(Tensor x) -> Tensor")
    impl(f"{ns}::f", ["cpu", "cuda"], lambda x: x + 1)
    impl(f"{ns}::f", "cuda", lambda x: x + 2)
    op = getattr(dispatch.ops, ns).f
    assert op(X)[0] == 2
    assert op.at(DispatchKey.CUDA)(X)[0] == 3


def test_impl_waits_for_the_definition(ns):
    impl(f"{ns}::f", "cpu", lambda x: x + 1)
    define(f"{ns}::f", "(Tensor x) -> Tensor")
    assert getattr(dispatch.ops, ns).f(X)[0] == 2


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: define("a::b::c", "(Tensor x) -> Tensor"), SchemaError, "does not name an operator"),
        (lambda: impl(3, "cpu", np.sin), DefinitionError, "impl asks for an operator, its name 'ns::name' or a Library"),
        (lambda: impl("d::f", [], np.sin), DefinitionError, "impl names no device. Write 'default'"),
        (lambda: impl("f", "cpu", np.sin), SchemaError, "does not name an operator"),
    ],
)
def test_what_is_refused(call, error, message):
    assert message in said(call, error)


def test_a_schema_with_a_name_is_refused_beside_a_library(ns):
    with Library(ns, "FRAGMENT") as lib:
        message = said(lambda: define(f"{ns}::f", "f(Tensor x) -> Tensor", lib=lib), DefinitionError)
        assert message == f"{ns}::f: the schema begins with '(': the name is given already."
