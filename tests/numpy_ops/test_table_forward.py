"""Forward mode over every row of `dispatch.ops.np`: the tangent is that of finite differences and of the gradient, at every
dtype that has one, in batches, and whichever of the two rules it is derived from.
"""

from functools import partial
from typing import Any

import numpy as np
import pytest
from duals import push, slope, tangent
from samples import DTYPES, cases, maker

import dispatch
from dispatch import vmap
from dispatch.autodiff.rules import transpose
from dispatch.core import OpOverload
from dispatch.core.array_memory import inexact_layout
from dispatch.core.pytree import leaves, mapped
from dispatch.errors import NoRuleError
from dispatch.layers.autograd.layer import layer as tape
from dispatch.layers.jvp.layer import layer as forward
from tests.numpy_ops.test_table import (
    batches,
    differentiable,
    every_dtype,
    gradients,
    is_array,
    is_arrays,
    loop,
    quiet,
    replaced,
    run,
    run_with,
    taking_arrays,
    with_gradient,
)

pytestmark = pytest.mark.filterwarnings("ignore:Degrees of freedom|Mean of empty:RuntimeWarning")  # NumPy's own, of nothing
smooth = pytest.mark.parametrize("dtype", [DTYPES["float64"], DTYPES["complex128"]], ids=str)


def like(x: Any, seed: int = 5) -> Any:
    """A tangent of the shape and dtype of an array, or one for each in a list."""
    random = np.random.default_rng(seed)

    def one(x: Any) -> Any:
        made = random.standard_normal(x.shape) + (1j * random.standard_normal(x.shape) if x.dtype.kind == "c" else 0)
        return np.asarray(made, x.dtype)

    return mapped(one, x)


@with_gradient
@smooth
@quiet
def test_the_tangent_is_that_of_finite_differences(op: OpOverload, dtype: Any) -> None:
    for x, f in gradients(op, dtype):
        t = like(x)
        found = tangent(f, x, t)
        np.testing.assert_allclose(0.0 if found is None else found, slope(f, x, t), rtol=1e-6, atol=1e-7)


@with_gradient
@smooth
@quiet
def test_the_tangent_is_that_of_the_gradient(op: OpOverload, dtype: Any) -> None:
    """The dot-product test: what the gradient says of a direction."""
    for x, f in gradients(op, dtype):
        if x.size == 0:  # the mean of nothing
            continue
        t = like(x)
        found = tangent(f, x, t)
        expected = np.sum(np.real(np.conj(dispatch.grad(f)(x)) * t))
        np.testing.assert_allclose(0.0 if found is None else found, expected, rtol=1e-12, atol=1e-12)


@with_gradient
@every_dtype
@quiet
def test_a_tangent_has_the_shape_and_dtype_of_its_output(op: OpOverload, dtype: Any) -> None:
    for case in cases(op, maker(dtype)):
        for at in differentiable(case):
            try:
                expected = run(op, case)
            except (TypeError, ValueError):
                continue
            value, found = push(lambda x, at=at, case=case: run(op, replaced(case, at, x)), (case[at],), (like(case[at]),))
            for out, plain, t in zip(leaves(value), leaves(expected), leaves(found), strict=True):
                np.testing.assert_allclose(out, plain, rtol=1e-5 if out.dtype.itemsize % 8 else 1e-13)  # products are added up in another order
                assert t is None or inexact_layout(t) == inexact_layout(out) == inexact_layout(plain)


@with_gradient
@smooth
@quiet
def test_the_tangent_of_a_tangent_is_that_of_the_second_gradient(op: OpOverload, dtype: Any) -> None:
    for x, f in gradients(op, dtype):
        if x.size == 0:
            continue
        t, u = like(x), like(x, 6)

        def along(x: Any, f: Any = f, t: Any = t) -> Any:
            found = tangent(f, x, t)
            return np.sum(x * 0).real if found is None else found

        found = tangent(along, x, u)
        expected = np.sum(np.real(np.conj(dispatch.grad(along)(x)) * u))
        np.testing.assert_allclose(0.0 if found is None else found, expected, rtol=1e-10, atol=1e-10)


@taking_arrays
@quiet
def test_the_tangent_of_each_item_is_the_loop_over_tangents(op: OpOverload) -> None:
    for args, dims, size in batches(op, np.dtype("f8"), 2):
        for at in differentiable(args):
            if not is_array(args[at]):
                continue

            def moved(*args: Any, at: int = at) -> Any:
                x = args[at]
                _, t = push(lambda x: run(op, replaced(args, at, x)), (x,), (x * 0.5 + 1.0,))
                return mapped(lambda x: np.sum(x) * 0.0 if x is None else x, t if type(t) is not tuple else list(t))

            try:
                expected = loop(moved, args, dims, size)
            except (TypeError, ValueError, NoRuleError):
                continue
            found = vmap(moved, dims)(*args)
            for made, looped in zip(leaves(found), leaves(expected), strict=True):
                np.testing.assert_allclose(made, looped, rtol=1e-6, atol=1e-9)


# -- derived ---------------------------------------------------------------------------------------------------------------


def inputs_of(case: Any, at: int) -> Any:
    return case[at] if is_arrays(case[at]) else np.asarray(case[at])


@with_gradient
@smooth
@quiet
def test_a_tangent_derived_from_the_gradient_is_that_of_the_rule(op: OpOverload, dtype: Any) -> None:
    derived = transpose.jvp_from_vjp(op)
    if derived is None:  # a composite, which runs its parts
        assert op.table.source(tape.key).layer is None
        return
    kernel = derived.make()
    for case in cases(op, maker(dtype)):
        for at in differentiable(case):
            try:
                run(op, case)
            except (TypeError, ValueError):
                continue
            if is_array(case[at]) and case[at].size == 0:  # the mean of nothing
                continue
            x, t = inputs_of(case, at), like(inputs_of(case, at))
            value, found = push(lambda x, at=at, case=case: kernel(*replaced(case, at, x)), (x,), (t,))
            plain, expected = push(lambda x, at=at, case=case: run(op, replaced(case, at, x)), (x,), (t,))
            for got, want in zip(leaves((value, found)), leaves((plain, expected)), strict=True):
                zero = 0.0  # None is one, too
                np.testing.assert_allclose(zero if got is None else got, zero if want is None else want, rtol=1e-10, atol=1e-10)


@with_gradient
@smooth
@quiet
def test_a_gradient_derived_from_the_tangent_is_that_of_the_rule(op: OpOverload, dtype: Any) -> None:
    derived = transpose.vjp_from_jvp(op)
    if derived is None:
        assert op.table.source(forward.key) is None or op.table.source(forward.key).layer is None
        return
    kernel = derived.make()
    for case in cases(op, maker(dtype)):
        for at in differentiable(case):
            if not is_array(case[at]):
                continue
            try:
                run(op, case)
            except (TypeError, ValueError):
                continue

            def total(x: Any, call: Any, case: Any = case, at: int = at) -> Any:
                out = [y for y in leaves(call(*replaced(case, at, x))) if inexact_layout(y) is not None]
                return sum(np.sum(np.real(y * y)) for y in out) if out else np.sum(np.real(x)) * 0.0

            left_out = [argument.default for argument in op.schema.arguments[len(case) :]]  # a call fills them in before it comes here
            found = dispatch.grad(partial(total, call=lambda *args, rest=left_out: kernel(*args, *rest)))(case[at])
            expected = dispatch.grad(partial(total, call=partial(run_with, op)))(case[at])
            np.testing.assert_allclose(found, expected, rtol=1e-10, atol=1e-10)


def test_a_list_in_which_some_items_have_no_tangent() -> None:
    """Numbers and arrays of integers among floating-point ones; they promote nothing."""
    x = np.array([0.5, 1.0], np.float32)

    def f(x: Any) -> Any:
        rows = np.stack([x * x, np.arange(2, dtype=np.int8)])
        numbers = np.stack([x[0] * x[1], 1.0, 2])
        return np.concatenate([rows.reshape(-1), x[1:] * 3, np.array([True])]), numbers

    out, moved = dispatch.jvp(f, (x,), (x,))
    for value, t, jacobian in zip(out, moved, dispatch.jacrev(f)(x), strict=True):
        assert value.dtype == t.dtype
        assert np.allclose(t, jacobian @ x)
    assert np.array_equal(dispatch.jvp(lambda x: np.einsum("i,i->", x, np.arange(2)), (x,), (x,))[1], x[1])


@pytest.mark.parametrize("x", [np.array(3.5), np.array([[3.5, -1.0]])], ids=["a number", "two of one each"])
def test_the_deviation_of_one_number_is_constant_in_every_order(x):
    def f(x):
        return np.sum(np.std(x, axis=0 if x.ndim else None))

    for second in (dispatch.hessian(f), dispatch.jacfwd(dispatch.jacfwd(f)), dispatch.jacrev(dispatch.jacrev(f))):
        assert not np.any(second(x))


CLOSED = {
    "var": (np.var, {}), "var of an axis": (np.var, {"axis": 0, "ddof": 1}), "std": (np.std, {"axis": 1, "keepdims": True}),
    "norm": (np.linalg.norm, {}), "norm of rows": (np.linalg.norm, {"axis": 1}), "vector_norm": (np.linalg.vector_norm, {"axis": 0}),
    "matrix_norm": (np.linalg.matrix_norm, {}), "dot": (lambda x: np.dot(x, np.ones((3, 2))), {}),
    "einsum": (lambda x: np.einsum("ij,jk->ik", x, np.ones((3, 2))), {}), "einsum of both": (lambda x: np.einsum("ij,kj->ik", x, x), {}),
}  # fmt: skip


@pytest.mark.parametrize("kind", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("name", CLOSED)
def test_the_closed_rules_of_both_modes_fit_each_other(name: str, kind: str) -> None:
    function, options = CLOSED[name]
    x = (np.arange(6.0).reshape(2, 3) ** 2 - 3 + (1j * np.arange(6).reshape(2, 3) if kind[0] == "c" else 0)).astype(kind)
    t, f = like(x), partial(function, **options)
    out, found = dispatch.jvp(f, (x,), (t,))
    assert np.array_equal(out, f(x))
    assert (out.dtype, out.shape) == (found.dtype, found.shape)
    g = like(out)
    (pulled,) = dispatch.vjp(f, x)[1](g)
    assert np.isclose(np.vdot(g, found).real, np.vdot(pulled, t).real, rtol=1e-4)
