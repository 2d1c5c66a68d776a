"""TestCustomOpAPI, batching rules: every spelling of a registration, and what rules are checked for."""

import numpy as np
import pytest
from making import loop, said

import dispatch
from dispatch import custom_op, register_vmap
from dispatch.errors import ArgumentError, BatchingError, DefinitionError
from dispatch.library import Library

X = np.arange(6.0).reshape(2, 3) + 1
Array = np.ndarray


def cube_sum(ns, name="cube_sum"):
    """The sum of an item's cubes; the rule counts its calls."""
    op = custom_op(f"{ns}::{name}", lambda x: (x**3).sum(), mutates_args=(), schema="(Tensor x) -> Tensor")
    calls = []

    def rule(info, in_dims, x):
        calls.append((info.batch_size, in_dims))
        x = np.moveaxis(x, in_dims[0], 0)
        return (x**3).reshape(info.batch_size, -1).sum(axis=1), 0

    return op, rule, calls


def expected(x, dim=0):
    return loop(lambda item: (item**3).sum(), (dim,), x)


@pytest.mark.parametrize("spelling", ["function", "name", "function as decorator", "name as decorator", "method", "method as decorator"])
def test_library_register_vmap(spelling, ns):
    """A batching rule is registered by function, for the operator or its name, or by method, as a call or as a decorator.

    Also: library_register_vmap_op_decorator
    """
    op, rule, calls = cube_sum(ns)
    register = {
        "function": lambda *rule: register_vmap(op, *rule),
        "name": lambda *rule: register_vmap(f"{ns}::cube_sum", *rule),
        "method": op.register_vmap,
    }[spelling.partition(" ")[0]]
    assert (register()(rule) if "decorator" in spelling else register(rule)) is rule
    assert np.array_equal(dispatch.vmap(op)(X), expected(X))
    assert np.array_equal(dispatch.vmap(op, in_dims=1)(X), expected(X, 1))
    assert calls == [(2, (0,)), (3, (1,))]
    calls.clear()
    assert np.array_equal(dispatch.vmap(dispatch.vmap(op))(np.stack([X, X])), [expected(X)] * 2)
    assert calls == [(2, (0,))]  # inside the rule the other level batches what it calls


def test_library_register_vmap_library_decorator(ns):
    """A rule that is registered through a library goes with it, and the loop is back."""
    op, rule, calls = cube_sum(ns)
    with Library(ns, "FRAGMENT") as lib:
        register_vmap(op, lib=lib)(rule)
        assert np.array_equal(dispatch.vmap(op)(X), expected(X))
        assert len(calls) == 1
    assert np.array_equal(dispatch.vmap(op)(X), expected(X))
    assert len(calls) == 1


def test_library_register_vmap_register_multiple_times(ns, lib, ops):
    """A rule registered after another takes its place, by the method, and by the function for an operator of a library.

    Also: library_register_vmap_register_multiple_times_2
    """
    op, rule, calls = cube_sum(ns)
    op.register_vmap(lambda info, in_dims, x: (np.zeros(info.batch_size), 0))
    assert np.array_equal(dispatch.vmap(op)(X), np.zeros(2))
    op.register_vmap(rule)
    assert np.array_equal(dispatch.vmap(op)(X), expected(X))
    assert len(calls) == 1
    lib.define("foo(Tensor x) -> Tensor")
    lib.impl("foo", lambda x: x * 1, "CPU")
    register_vmap(ops.foo, lambda info, in_dims, x: (x * 0, in_dims[0]), lib=lib)
    assert np.array_equal(dispatch.vmap(ops.foo)(X), 0 * X)
    register_vmap(ops.foo, lambda info, in_dims, x: (x * 3, in_dims[0]), lib=lib)
    assert np.array_equal(dispatch.vmap(ops.foo)(X), 3 * X)


def test_register_vmap_kwargonly_low_level(lib, ops):
    """Keyword-only arguments, arrays among them, reach the rule by keyword, and come last in `in_dims`.

    Beyond: torch refuses arrays that are keyword-only.
    """
    seen = []
    lib.define("foo(Tensor x, *, Tensor y, float n) -> Tensor")
    lib.impl("foo", lambda x, *, y, n: x * y * n, "CPU")

    def rule(info, in_dims, x, *, y, n):
        seen.append((in_dims, n))
        x, y = (a if d is None else np.moveaxis(a, d, 0) for a, d in zip((x, y), in_dims, strict=False))
        return ops.foo(x, y=y, n=n), 0

    register_vmap(ops.foo, rule, lib=lib)
    assert np.array_equal(dispatch.vmap(lambda y: ops.foo(X[0], y=y, n=2.0))(X), X[0] * X * 2)
    assert np.array_equal(dispatch.vmap(lambda x, y: ops.foo(x, y=y, n=2.0), in_dims=(0, 1))(X, X.T), X * X * 2)
    assert seen == [((None, 0, None), 2.0), ((0, 1, None), 2.0)]


def test_register_vmap_defaults(ns):
    """Defaults are filled in before a rule sees them, and `in_dims` has an entry for every argument.

    Beyond: torch leaves out what equals its default, so that `in_dims` changes its length from call to call.
    """
    seen = []

    @custom_op(f"{ns}::foo", mutates_args=())
    def foo(w: Array, x: int = 2, *, y: int = 3, z: Array | None = None) -> Array:
        return w * x * y

    @foo.register_vmap
    def _(info, in_dims, w, x, *, y, z):
        seen.append((in_dims, x, y, z))
        return foo(w, x, y=y, z=z), in_dims[0]

    assert np.array_equal(dispatch.vmap(foo)(X), 6 * X)
    assert np.array_equal(dispatch.vmap(lambda w: foo(w, 2, y=5))(X), 10 * X)
    assert seen == [((0, None, None, None), 2, 3, None), ((0, None, None, None), 2, 5, None)]


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (lambda x: x, "its vmap rule returned an ndarray. Return (output, out_dims)."),
        (lambda x: None, "its vmap rule returned None. Return (output, out_dims)."),
        (lambda x: (x, 5), "its vmap rule says the batch, 2 items, is axis 5 of an output of shape (2, 3)."),
        (lambda x: (x[:1], 0), "its vmap rule says the batch, 2 items, is axis 0 of an output of shape (1, 3)."),
        (lambda x: ((x, x), 0), "its vmap rule returned a tuple of length 2 for its outputs"),
    ],
)
def test_register_vmap_wrong_results(returned, message, ns):
    """What a rule returns is held against the schema and the size of the batch.

    Beyond: in torch a batch of the wrong size passes, and gives a wrong shape in silence.
    """
    op = custom_op(f"{ns}::copy", lambda x: x * 1, mutates_args=(), schema="(Tensor x) -> Tensor")
    op.register_vmap(lambda info, in_dims, x: returned(x))
    assert said(lambda: dispatch.vmap(op)(X), BatchingError).startswith(f"{ns}::copy: {message}")


def test_register_vmap_error_cases(ns):
    """What is no function, has other parameters than the operator, or is for no operator is refused when it is registered."""
    op, _, _ = cube_sum(ns)
    assert said(lambda: op.register_vmap(5), DefinitionError) == (
        f"{ns}::cube_sum: a vmap rule is a function, and an int was given."
    )
    assert said(lambda: op.register_vmap(lambda info, in_dims, y, z: (y, 0)), DefinitionError) == (
        f"{ns}::cube_sum: the vmap rule takes (y, z), and the operator (x). Rules bind by parameter name: give the rule the "
        "operator's own names, in its order."
    )
    assert said(lambda: register_vmap(5, lambda info, in_dims, x: (x, 0)), ArgumentError) == (
        "an operator or its name, 'ns::name', is asked for, and an int was given."
    )
