"""`define` and `impl` in both their forms are one code: what either registers, the other sees."""

import itertools

import numpy as np
import pytest
from making import said

import dispatch
from dispatch.core import DispatchKey
from dispatch.errors import DefinitionError, LibraryError, NoKernelError, OperatorNotFoundError, SchemaError
from dispatch.library import Library, Tag, define, impl, impl_abstract

X = np.ones(2)
numbers = itertools.count()


@pytest.fixture
def ns():
    """A namespace nobody has."""
    return f"defining{next(numbers)}"


def test_define_and_impl_by_name(ns):
    assert define(f"{ns}::f", "(Tensor x) -> Tensor") is None

    @impl(f"{ns}::f", "cpu")
    def kernel(x):
        return x + 1

    assert kernel(1) == 2
    assert getattr(dispatch.ops, ns).f(X)[0] == 2


def test_spacing_is_free_and_tags_are_kept(ns):
    define(f"{ns}::f", "( Tensor  x )->Tensor", tags=Tag.pointwise)
    assert str(getattr(dispatch.ops, ns).f.schema) == f"{ns}::f(Tensor x) -> Tensor"
    assert getattr(dispatch.ops, ns).f.tags == (Tag.pointwise,)


def test_define_with_a_library_decorates_the_composite_of_that_overload(ns):
    with Library(ns, "DEF") as lib:

        @define(lib, "f.twice(Tensor x) -> Tensor")
        def f(x):
            return x * 2

        assert f(1) == 2
        assert np.array_equal(getattr(dispatch.ops, ns).f(X), 2 * X)
        assert getattr(dispatch.ops, ns).f.schema.overload == "twice"
        assert np.array_equal(dispatch.grad(lambda x: getattr(dispatch.ops, ns).f(x).sum())(X), 2 * X)


def test_impl_with_a_library_returns_the_function(ns):
    with Library(ns, "DEF") as lib:
        lib.define("f(Tensor x) -> Tensor")

        @impl(lib, "f", DispatchKey.CPU)
        def f(x):
            return x + 1

        assert f(1) == 2
        assert getattr(dispatch.ops, ns).f(X)[0] == 2


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
    with pytest.raises(OperatorNotFoundError, match=f"there is no operator {ns}::f"):
        getattr(dispatch.ops, ns).f
    with pytest.raises(NoKernelError, match=f"{ns}::g has no kernel"):
        getattr(dispatch.ops, ns).g(X)


@pytest.mark.parametrize("types", ["cpu", "CPU", "default", ("cpu", "cuda"), "CompositeImplicitAutograd", DispatchKey.CPU])
def test_types_are_devices_keys_or_default(ns, types):
    define(f"{ns}::f", "(Tensor x) -> Tensor")
    impl(f"{ns}::f", types, lambda x: x + 1)
    assert getattr(dispatch.ops, ns).f(X)[0] == 2


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
        (lambda: define("nonamespace", "(Tensor x) -> Tensor"), SchemaError, "does not name an operator"),
        (lambda: define("a::b::c", "(Tensor x) -> Tensor"), SchemaError, "does not name an operator"),
        (lambda: define(3, "(Tensor x) -> Tensor"), DefinitionError, "define asks for the name 'ns::name' or a Library"),
        (lambda: define("d::f", "f(Tensor x) -> Tensor"), SchemaError, "the name is given already"),
        (lambda: define("np::mine", "(Tensor x) -> Tensor"), LibraryError, "the namespace 'np' is this package's own"),
        (lambda: impl(3, "cpu", np.sin), DefinitionError, "impl asks for the name 'ns::name' or a Library"),
        (lambda: impl("d::f", [], np.sin), DefinitionError, "impl names no device. Write 'default'"),
        (lambda: impl("d::f", "gpu", np.sin), DefinitionError, "'gpu' is no device (cpu, cuda, dask"),
        (lambda: impl("d::f", "gpu", np.sin), DefinitionError, "and there is no dispatch key 'gpu'. Keys: CPU, CUDA"),
        (lambda: impl("f", "cpu", np.sin), SchemaError, "does not name an operator"),
    ],
)
def test_what_is_refused(call, error, message):
    assert message in said(call, error)


def test_a_schema_with_a_name_is_refused_beside_a_library(ns):
    with Library(ns, "FRAGMENT") as lib:
        message = said(lambda: define(f"{ns}::f", "f(Tensor x) -> Tensor", lib=lib), DefinitionError)
        assert message == f"{ns}::f: the schema begins with '(': the name is given already."


def test_impl_abstract_is_the_old_name_of_register_fake(ns):
    define(f"{ns}::f", "(Tensor x) -> Tensor")
    with pytest.warns(FutureWarning, match=r"impl_abstract is the old name of register_fake\. Write register_fake\."):
        impl_abstract(f"{ns}::f", lambda x: np.empty(3))
    with dispatch.FakeTensorMode() as mode:
        assert getattr(dispatch.ops, ns).f(mode.from_array(X)).shape == (3,)
