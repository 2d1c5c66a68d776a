"""TestPythonRegistration: libraries that define operators and put kernels in the place of others."""

import numpy as np
import pytest
from making import leaf, said

import dispatch
from dispatch.errors import AliasError, DefinitionError, LibraryError, OperatorNotFoundError
from dispatch.library import Library, get_kernel

X = np.array([0.5, 1.0, 2.0])


def test_call_boxed(ns):
    """A kernel that stands in for another calls that by the handle it took before, with the key first.

    Adapted: the handle is get_kernel's; the set of keys, which torch passes on, is the one key at which the call runs.
    """
    seen = []
    before = get_kernel("np::sin", "CPU")

    def counting(key, x):
        seen.append(key)
        return before.call_boxed(key, x)

    with Library("np", "IMPL") as lib:
        lib.impl("sin", counting, "CPU", with_keyset=True)
        assert np.array_equal(dispatch.ops.np.sin(X), np.sin(X))
    assert np.array_equal(dispatch.ops.np.sin(X), np.sin(X))
    assert seen == [dispatch.DispatchKey.CPU]


def test_override_aten_ops_with_multiple_libraries():
    """Kernels of several libraries lie on one another: the newest runs, and what goes uncovers what it covered, in any order.

    Adapted: operators of the package's own namespace, np, stand for aten's.
    """
    first, second = Library("np", "IMPL"), Library("np", "IMPL")
    try:
        first.impl("multiply", lambda x, y: np.add(x, y), "CPU")
        assert np.array_equal(dispatch.ops.np.multiply(X, X), 2 * X)
        second.impl("multiply", lambda x, y: np.subtract(x, y), "CPU")
        assert np.array_equal(dispatch.ops.np.multiply(X, X), 0 * X)
        second.impl("cos", lambda x: x * 7, "CPU")
        first.destroy()
        assert np.array_equal(dispatch.ops.np.multiply(X, X), 0 * X)
        assert np.array_equal(dispatch.ops.np.cos(X), 7 * X)
    finally:
        first.destroy()
        second.destroy()
    assert np.array_equal(dispatch.ops.np.multiply(X, X), X * X)
    assert np.array_equal(dispatch.ops.np.cos(X), np.cos(X))


def test_error_if_fn_not_callable():
    """A kernel is a function."""
    with Library("np", "IMPL") as lib:
        assert said(lambda: lib.impl("sin", [], "CPU"), DefinitionError) == (
            "np::sin: a kernel is a function, and a list was given. Write lib.impl('sin', kernel, 'CPU'), or "
            "@library.impl(lib, 'sin', 'CPU') above the kernel."
        )


def test_override_cpu_sum():
    """A kernel in place of NumPy's own runs as long as its library, and gradients go on above it."""
    ran = []

    def total(x, *rest, **options):
        ran.append(x.shape)
        return np.asarray(x.size * 1.0)

    x = leaf(X)
    with Library("np", "IMPL") as lib:
        lib.impl("sum", total, "CPU")
        assert dispatch.ops.np.sum(X) == 3.0
        out = dispatch.ops.np.sum(x)
        assert float(out.value) == 3.0
        out.backward()
    assert ran == [(3,), (3,)]
    assert np.array_equal(x.grad, np.ones(3))
    assert dispatch.ops.np.sum(X) == X.sum()


def test_extend_library_with_dispatch_key_arg(ns, ops):
    """The key of a library is that of its kernels, which need not name it; another key is refused."""
    with Library(ns, "FRAGMENT") as definitions, Library(ns, "IMPL", "CPU") as kernels:
        definitions.define("foo(Tensor x) -> Tensor")
        kernels.impl("foo", lambda x: x + 1)
        assert np.array_equal(ops.foo(X), X + 1)
        kernels.impl(f"{ns}::foo", lambda x: x + 2, "cpu")
        assert np.array_equal(ops.foo(X), X + 2)
        for key in ("Autograd", "CUDA", "CompositeExplicit"):
            message = said(lambda key=key: kernels.impl("foo", lambda x: x, key), LibraryError)
            assert message == (
                f"Library({ns!r}, 'IMPL', 'CPU') registers at CPU, and {key} was given. Use Library({ns!r}, 'IMPL'), which has no "
                "key of its own."
            )
        assert np.array_equal(ops.foo(X), X + 2)
    assert said(lambda: Library(ns, "IMPL", "nothing"), DefinitionError).startswith(
        "there is no dispatch key 'nothing'. Keys: "
    )


def test_create_new_library(ns, ops):
    """A namespace has one owner, which defines; kernels come through it or through others.

    Beyond: define returns the name with the overload, which impl takes; the owner's module may make it again.
    """
    with Library(ns, "DEF") as owner:
        assert owner.define("sum(Tensor x) -> Tensor") == "sum"
        assert owner.define("sum.two(Tensor x, Tensor y) -> Tensor") == "sum.two"
        owner.impl("sum", lambda x: x.sum(), "CPU")
        with Library(ns, "IMPL") as other:
            other.impl("sum.two", lambda x, y: x.sum() + y.sum(), "CPU")
            assert ops.sum(X) == X.sum()
            assert ops.sum(X, X) == 2 * X.sum()
        refused = Library(ns, "IMPL")
        assert said(lambda: refused.define("more(Tensor x) -> Tensor"), LibraryError) == (
            f"Library({ns!r}, 'IMPL', '') cannot define an operator: it registers only. Use 'DEF' or 'FRAGMENT'."
        )
    with pytest.raises(OperatorNotFoundError):
        ops.sum(X)


def test_create_new_library_fragment_no_existing(ns, ops):
    """A fragment defines where nobody owns the namespace, and what it defined is gone with it.

    Differs: aliases of library operators
    """
    with Library(ns, "FRAGMENT") as fragment:
        fragment.define("sum(Tensor x) -> Tensor")
        fragment.impl("sum", lambda x: x.sum(), "CPU")
        assert ops.sum(X) == X.sum()
        held = ops.sum
        fragment.define("same(Tensor x) -> Tensor")
        fragment.impl("same", lambda *args: args[0], "CPU")
        assert "returned its input 'x' itself" in said(lambda: ops.same(X), AliasError)
    assert said(lambda: held(X), OperatorNotFoundError).startswith(f"{ns}::sum is gone: the library that defined it (")
    with pytest.raises(OperatorNotFoundError):
        ops.sum(X)


def test_create_new_library_fragment_with_existing(ns, ops):
    """Fragments add to a namespace that has an owner, and go by themselves.

    Differs: aliases of library operators
    """
    with Library(ns, "DEF") as owner:
        owner.define("one(Tensor x) -> Tensor")
        owner.impl("one", lambda x: x + 1, "CPU")
        with Library(ns, "FRAGMENT") as first, Library(ns, "FRAGMENT") as second:
            first.define("two(Tensor x) -> Tensor")
            second.impl("two", lambda x: x + 2, "CPU")
            assert [ops.one(X)[0], ops.two(X)[0]] == [X[0] + 1, X[0] + 2]
            second.define("same(Tensor x) -> Tensor")
            first.impl("same", lambda *args: args[0][:], "CPU")
            assert "returned a view of its input 'x'" in said(lambda: ops.same(X), AliasError)
        assert ops.one(X)[0] == X[0] + 1
        with pytest.raises(OperatorNotFoundError):
            ops.two(X)


def test_error_for_unsupported_ns_or_kind(ns):
    """A library is of one of three kinds, and nobody defines in a namespace of the package's own."""
    assert said(lambda: Library(ns, "BLA"), LibraryError) == (
        "a library is of kind 'DEF', 'IMPL', 'FRAGMENT', and 'BLA' was given."
    )
    for kind in ("DEF", "FRAGMENT"):
        assert said(lambda kind=kind: Library("prim", kind), LibraryError) == (
            "the namespace 'prim' is this package's own. Take another, or 'IMPL' for kernels in it."
        )
    assert Library("prim", "IMPL").kind == "IMPL"
