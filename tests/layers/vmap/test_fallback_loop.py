"""The loop and its warning, rules that go by a name, and operators that write."""

import warnings
from itertools import pairwise
from pathlib import Path
from typing import Any

import making
import numpy as np
import pytest

import dispatch
from dispatch import custom_op, grad, vmap
from dispatch.core import DispatchKey
from dispatch.errors import BatchingError, DefinitionError, PerformanceWarning

A = np.arange(12.0).reshape(3, 4) + 1
Array = np.ndarray


def said(call, error=BatchingError):
    return making.said(call, error)


@pytest.fixture
def listed():
    """The performance warnings of a test, which the suite turns off."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always", PerformanceWarning)
        yield found


# -- the warning -----------------------------------------------------------------------------------------------------------


def test_the_loop_warns_once_for_each_operator_at_the_users_line(listed):
    op = making.batched("(Tensor x, float n=2.0) -> Tensor", lambda x, n: x * n)
    other = making.batched("(Tensor x) -> Tensor", lambda x: x * 3)
    for _ in range(2):
        vmap(op)(A)
        vmap(lambda x: other(op(x)))(A)
        vmap(vmap(op))(np.stack([A, A]))
    assert [(w.category, Path(w.filename).name) for w in listed] == [(PerformanceWarning, "test_fallback_loop.py")] * 2
    name = op.schema.name
    assert str(listed[0].message) == (
        f"{op.name} has no vmap rule, and runs once for each of 3 items. If its kernel takes arrays with one more axis in "
        f"front, write {name}.register_vmap('broadcast_all'); else a rule, @{name}.register_vmap, `def _(info, in_dims, x, n)` that "
        f"returns (output, out_dims). To keep the loop, without this warning: {name}.register_vmap('sequential')."
    )


def test_nothing_warns_where_a_loop_costs_nothing_or_is_asked_for(listed):
    op = making.batched("(Tensor x) -> Tensor", lambda x: x * 2, fake=lambda x: np.empty_like(x))
    vmap(op)(A[:1])
    vmap(op)(A[:0])
    asked = making.batched("(Tensor x) -> Tensor", lambda x: x * 2, "sequential")
    ruled = making.batched("(Tensor x) -> Tensor", lambda x: x * 2, "broadcast_all")
    for f in (asked, ruled, asked.functional, np.sin):
        assert np.array_equal(vmap(f)(A), f(A))
    dispatch.testing.opcheck(making.batched("(Tensor x) -> Tensor", lambda x: x * 2, fake=lambda x: np.empty_like(x)), (A,))
    assert listed == []


def test_the_warning_may_be_an_error_and_leaves_nothing_behind():
    op = making.batched("(Tensor x) -> Tensor", lambda x: x * 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error", PerformanceWarning)
        with pytest.raises(PerformanceWarning, match="has no vmap rule"):
            vmap(op)(A)
        assert np.array_equal(vmap(op)(A), A * 2)


# -- rules that go by a name -----------------------------------------------------------------------------------------------

METHODS = ["sequential", "expand_dims", "broadcast_all", "broadcast"]


def add(method, shapes):
    def kernel(x, y, z):
        shapes.append((np.shape(x), np.shape(y), np.shape(z)))
        return x + y + z

    return making.batched("(Tensor x, Tensor y, Tensor z) -> Tensor", kernel, method)


@pytest.mark.parametrize("method", METHODS)
def test_methods_under_derivatives_lists_and_several_outputs(method):
    op = making.define(
        "(Tensor[] xs, Tensor? y, float n) -> (Tensor, Tensor[])",
        lambda xs, y, n: (xs[0] * n + (0 if y is None else y), [xs[1] * 2]),
        vmap=method,
    )
    if method in {"sequential", "broadcast_all"}:  # the others leave it to the kernel to see that an output has the batch
        first, (second,) = vmap(lambda x: op([x, A[0]], None, 3.0))(A)
        assert np.array_equal(first, 3 * A)
        assert np.array_equal(second, np.stack([A[0] * 2] * 3))
    first, (second,) = vmap(lambda x, y: op([x, y], y, 3.0), in_dims=(0, 1))(A, A.T)
    assert np.array_equal(first, 4 * A)
    assert np.array_equal(second, 2 * A)
    cube = making.define("(Tensor x) -> Tensor", lambda x: x**3, vmap=method, autograd=lambda ctx, g: g * 3 * ctx.saved_tensors[0] ** 2, setup=lambda ctx, inputs, output: ctx.save_for_backward(inputs[0]))
    for f in (vmap(grad(lambda x: np.sum(cube(x)))), grad(lambda x: np.sum(vmap(cube)(x)))):
        assert np.allclose(f(A), 3 * A**2)
    nested = vmap(lambda s: grad(lambda x: np.sum(vmap(lambda y: cube(y * s))(x)))(A))(np.array([1.0, 2.0]))
    assert np.allclose(nested, [3 * A**2, 24 * A**2])


def test_three_levels_of_broadcast():
    seen = []
    op = add("broadcast", seen)
    x, y, z = np.arange(2.0), np.arange(3.0), np.arange(4.0)
    found = vmap(lambda a: vmap(lambda b: vmap(lambda c: op(a, b, c))(z))(y))(x)
    assert np.array_equal(found, x[:, None, None] + y[:, None] + z)
    assert seen == [((2, 3, 4),) * 3]


@pytest.mark.parametrize("method", ["expand_dims", "broadcast_all", "broadcast"])
def test_methods_with_a_residual_and_with_what_is_written(method):
    op = making.define("(Tensor x) -> (Tensor, Residual)", lambda x: (x * 2, "kept"), vmap=method)
    assert np.array_equal(vmap(op)(A), A * 2)
    fill = making.define("(Tensor x, Tensor(a!) out) -> Tensor(a!)", lambda x, out: np.copyto(out, x) or out, vmap=method)
    out = np.zeros((4, 3))
    assert np.array_equal(vmap(fill, in_dims=(0, 1))(A, out), A)
    assert np.array_equal(out, A.T)
    assert "argument 'out' is written, and is one array for a whole batch" in said(lambda: vmap(lambda x: fill(x, A[0] * 1))(A))
    plain = making.define("(Tensor x, Tensor(a!) out) -> ()", lambda x, out: np.copyto(out, x), vmap=method)
    vmap(plain, in_dims=(0, 1), out_dims=None)(2 * A, out)
    assert np.array_equal(out, 2 * A.T)


def test_a_name_that_is_none_and_one_that_does_not_fit():
    op = making.batched("(Tensor x) -> Tensor", lambda x: x)
    assert said(lambda: op.register_vmap("sequental"), DefinitionError) == (
        f"{op.name}: there is no vmap rule named 'sequental'. Did you mean 'sequential'? There are sequential, expand_dims, "
        "broadcast_all, broadcast; any other rule is a function."
    )
    number = making.batched("(Tensor x) -> (Tensor, float)", lambda x: (x * 1, 1.0))
    assert said(lambda: number.register_vmap("broadcast_all"), DefinitionError) == (
        f"{number.name} returns float, of which one call for all items gives one, and not one for each. "
        "Write a rule, or register_vmap('sequential'), which loops."
    )
    number.register_vmap("sequential")
    assert np.array_equal(vmap(number)(A)[1], np.ones(3))


def test_names_by_every_door_and_in_listings():
    op = making.batched("(Tensor x) -> Tensor", lambda x: x * 2)
    assert op.register_vmap("broadcast_all") == "broadcast_all"
    assert "vmap rule            'broadcast_all'" in str(op.kernels)
    assert dispatch.register_vmap(op, "expand_dims") == "expand_dims"
    assert np.array_equal(vmap(op)(A), A * 2)


# -- operators that write --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ruled", [False, True])
def test_a_functional_form_runs_by_the_rule_of_its_origin_on_copies(ruled, listed):
    calls = []

    def kernel(x, y):
        calls.append(x.shape)
        x += y
        return x

    def rule(info, in_dims, x, y):
        x = np.moveaxis(x, in_dims[0], 0)
        x += y if in_dims[1] is None else np.moveaxis(y, in_dims[1], 0)
        calls.append(x.shape)
        return x, 0

    op = making.define("(Tensor(a!) x, Tensor y) -> Tensor(a!)", kernel, vmap=rule if ruled else None)
    before = A.copy()
    assert np.array_equal(vmap(op.functional)(A, A), 2 * A)
    assert np.array_equal(vmap(op.functional, in_dims=(None, 1))(A[:, 0], A), A.T + A[:, 0])
    assert np.array_equal(vmap(op.functional, in_dims=(1, None))(A, A[:, 0]), A.T + A[:, 0])
    assert np.array_equal(A, before)
    assert calls == ([(3, 4), (4, 3), (4, 3)] if ruled else [(4,)] * 3 + [(3,)] * 8)
    assert len(listed) == (0 if ruled else 1)


def test_a_rule_of_the_origin_may_come_and_go():
    op = making.define("(Tensor(a!) x) -> ()", lambda x: np.copyto(x, -x))
    form = op.functional
    assert np.array_equal(vmap(form)(A), -A)
    op.register_vmap(lambda info, in_dims, x: (np.copyto(x, 7.0), None))
    assert np.array_equal(vmap(form)(A), np.full(A.shape, 7.0))
    op.unregister(op.table.source(DispatchKey.VMAP))
    assert np.array_equal(vmap(form)(A), -A)


def test_one_array_for_all_items_is_refused_where_a_batched_value_would_be_written_to_it():
    op = making.define("(Tensor(a!) x, Tensor y) -> ()", lambda x, y: np.copyto(x, y))
    shared = np.zeros(4)
    assert said(lambda: vmap(lambda y: op(shared, y))(A)) == (
        f"{op.name}: argument 'x' is written, and is one array for a whole batch, so that each item would overwrite what the one "
        f"before wrote. Map x too, or call {op.schema.name}.functional, which returns what each writes."
    )
    assert np.array_equal(shared, np.zeros(4))
    vmap(lambda y: op(shared, A[0]) or y)(A)  # nothing of the batch: written once
    assert np.array_equal(shared, A[0])


def test_gradients_of_a_loop_that_writes():
    """Each item is written through its own view of a tracked value."""

    @custom_op("test_vmap_loop::square_", mutates_args=("x",))
    def square_(x: Array) -> None:
        x *= x

    square_.register_autograd(
        lambda ctx, g: 2 * g * ctx.x, setup_context=lambda ctx, inputs, output: setattr(ctx, "x", inputs[0].copy())
    )

    def f(x):
        y = x * 1
        square_(y)
        return np.sum(y)

    assert np.allclose(vmap(f)(A), (A**2).sum(1))
    assert np.allclose(vmap(grad(f))(A), 2 * A)


def test_pairs_of_writes_in_one_batch():
    """A loop writes in the order of the items."""
    order: list[Any] = []
    op = making.define("(Tensor(a!) x) -> ()", lambda x: order.append(x[0]) or np.copyto(x, -x), vmap="sequential")
    x = A.copy()
    vmap(op, out_dims=None)(x)
    assert np.array_equal(x, -A)
    assert all(a < b for a, b in pairwise(order))


@pytest.mark.parametrize("shape", [(3,), (2, 3)])
@pytest.mark.parametrize("boxed", [False, True])
def test_an_item_that_is_one_number_is_written_to_in_the_array(shape, boxed):
    def add(x, y):
        for one in x if boxed else [x]:
            np.add(one, y, out=one)

    schema = f"(Tensor(a!){'[]' if boxed else ''} x, Tensor y) -> ()"
    op = custom_op("loops::add_number", add, mutates_args=("x",), schema=schema)
    op.register_vmap("sequential")
    x = np.zeros(shape)
    mapped = op
    for _ in shape:
        mapped = dispatch.vmap(mapped, out_dims=None)
    mapped([x] if boxed else x, np.arange(x.size).reshape(shape))
    assert np.array_equal(x, np.arange(x.size).reshape(shape))
