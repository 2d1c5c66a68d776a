"""Who shares memory with whom on the tape, held against NumPy's own answer."""

import gc
import weakref
from typing import Any

import making
import numpy as np
import pytest
from duals import push, tangent

import dispatch
from dispatch import Tag, custom_op, grad, ops, vmap
from dispatch.errors import ArgumentError, DispatchError, GradientError
from dispatch.operators.functional_variant import instead
from dispatch.operators.views import look_of, shares_memory

leaf, said = making.leaf, making.said
A = np.arange(6.0).reshape(2, 3)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x[1:],
        lambda x: x[0],
        lambda x: x[[0, 1]],
        lambda x: x[0, 0],
        lambda x: np.reshape(x, (3, 2)),
        lambda x: np.reshape(x.T, (6,)),
        lambda x: np.transpose(x),
        lambda x: np.squeeze(x),
        lambda x: np.ravel(x),
        lambda x: np.expand_dims(x, 0),
        lambda x: np.broadcast_to(x, (4, 2, 3)),
        lambda x: np.real(x),
        lambda x: ops.np.astype(x, np.float64),
        lambda x: ops.np.astype(x, np.float32),
        lambda x: x.copy(),
        lambda x: x * 1,
        lambda x: np.sin(x),
    ],
)
def test_views_are_known_and_copies_are_not(f):
    x = leaf(A)
    y = f(x)
    shared = np.shares_memory(x.value, y.value)
    assert (shares_memory(x), shares_memory(y)) == (shared, shared)
    del y
    assert not shares_memory(x)


def test_a_family_is_counted_through_views_that_are_gone():
    x = leaf(A)
    y = x[1:]
    z = y[0]
    assert shares_memory(x)
    del y
    assert shares_memory(x)
    assert shares_memory(z)


@pytest.mark.parametrize("held", [True, False])
def test_what_may_be_written_does_not_depend_on_who_else_holds_the_base(held):
    @custom_op("viewtests::flat_", mutates_args=("x",), schema="(Tensor(a!) x) -> Tensor(a!)", tags=Tag.inplace_view)
    def flat_(x):
        x.shape = (x.size,)
        return x

    flat_.register_autograd(lambda ctx, g: g.reshape(A.shape))
    base = leaf(A) * 1
    view = base[:]
    if not held:
        del base
        gc.collect()
    with pytest.raises(DispatchError, match="shares memory with another tracked value"):
        flat_(view)


def test_lists_of_views():
    op = making.recorded("(Tensor(a)[] xs) -> Tensor(a)[]", lambda xs: [x[1:] for x in xs], lambda ctx, gs: [None])
    x, y = leaf(A), leaf(A)
    u, v = op([x, y])
    assert all(map(shares_memory, (x, y, u, v)))
    del u
    assert [shares_memory(z) for z in (x, y, v)] == [False, True, True]


def test_views_in_several_layers_are_those_of_the_arrays_under_them():
    def inner(t):
        assert not shares_memory(t)
        y = np.reshape(t.T, (6,))  # a copy
        assert not shares_memory(t)
        z = np.reshape(t, (6,))
        assert shares_memory(t)
        return np.sum(y * z)

    grad(inner)(leaf(A))
    vmap(grad(inner))(np.stack([A, A]))
    grad(lambda x: np.sum(vmap(lambda x: np.sum(x[0] * x[1]))(x)))(A)


def test_views_that_are_gone_are_forgotten():
    x = leaf(A) * 1
    for _ in range(1000):
        assert x[1:].shape == (1, 3)
    assert len(x.family.views) < 20
    held = [x[1:] for _ in range(100)]
    x *= 2
    assert all(np.array_equal(dispatch.detach(y), 2 * A[1:]) for y in held)


def test_a_view_keeps_what_it_is_of_and_nothing_is_left_in_a_circle():
    gc.disable()
    try:
        x = leaf(A) * 1
        y = x[1:]
        z = y[0]
        seen = [weakref.ref(value) for value in (x, y, z)]
        z *= 2
        del x, y
        assert all(value() is not None for value in seen)
        del z
        assert [value() for value in seen] == [None, None, None]
    finally:
        gc.enable()


def test_a_view_whose_base_is_gone_stands_alone_once_it_is_written():
    x = np.reshape(leaf(A) * 1, (3, 2))
    assert x.family.of.shape == (2, 3)
    x *= 2
    assert x.family is None


def test_a_custom_view_and_lists_of_views_are_followed():
    op = making.recorded("(Tensor(a)[] xs, int k) -> Tensor(a)[]", lambda xs, k: [x[k:] for x in xs], lambda ctx, gs: [None, None])
    op.register_autograd(
        lambda ctx, gs: ([np.concatenate([np.zeros((1, 3)), g]) for g in gs], None),
    )
    x, y = leaf(A), leaf(A + 1)
    u, v = x * 1, y * 2
    seen, other = op([u, v], 1)
    seen *= 3
    other += seen
    u[1, 0] = 0.0
    (np.sum(u * v) + np.sum(seen * other)).backward()

    def plain(x, y):
        u, v = x * 1, y * 2
        seen, other = u[1:], v[1:]
        seen *= 3
        other += seen
        u[1, 0] = 0.0
        return np.sum(u * v) + np.sum(seen * other)

    h = 1e-6
    for given, slope in ((0, x.grad), (1, y.grad)):
        for at in np.ndindex(2, 3):
            step = [np.zeros((2, 3)), np.zeros((2, 3))]
            step[given][at] = h
            difference = plain(A + step[0], A + 1 + step[1]) - plain(A - step[0], A + 1 - step[1])
            assert np.isclose(slope[at], difference / (2 * h), atol=1e-5)


def test_versions_of_views():
    x = leaf(A) * 1
    x *= 2
    y = x[1:]
    assert (x.version, y.version) == (1, 1)
    y *= 2
    x *= 2
    assert (x.version, y.version) == (3, 3)


def test_a_look_says_by_what():
    x = leaf(A) * 1
    y = x.T
    assert repr(look_of(y.family, y.rank)) == "<view by np::transpose>"


def test_what_is_written_and_viewed():
    def kernel(x):
        x *= 2
        return x[1:]

    op = making.recorded("(Tensor(a!) x) -> Tensor(a)", kernel, lambda ctx, g, h: h * 2)
    x = leaf(A) * 1
    y = op(x)
    assert shares_memory(x)
    assert np.shares_memory(x.value, y.value)
    assert np.array_equal(dispatch.detach(y), 2 * A[1:])


READ_ONLY = {
    "diagonal": lambda x: x.diagonal(),
    "broadcast_to": lambda x: np.broadcast_to(x, (2, 2, 2)),
    "a view of it": lambda x: np.broadcast_to(x[0], (2, 2))[0],
}
READ_ONLY_WRITES = {
    "add.at": lambda v: np.add.at(v, [0, 0], 1.0),  # which NumPy lets through some read-only views
    "multiply.at": lambda v: np.multiply.at(v, 0, 2.0),
    "copyto": lambda v: np.copyto(v, 2.0),
    "item": lambda v: v.__setitem__(0, 2.0),
    "augmented": lambda v: v.__iadd__(1.0),
    "out": lambda v: np.sin(v, out=v),
}


@pytest.mark.parametrize("write", READ_ONLY_WRITES)
@pytest.mark.parametrize("view", READ_ONLY)
def test_a_write_to_a_view_that_is_read_only_is_refused_in_every_layer_by_one_error(view, write):
    def f(x):
        x = x * 1.0
        v = READ_ONLY[view](x)
        READ_ONLY_WRITES[write](v)
        return v

    x = np.arange(4.0).reshape(2, 2)
    for run in (lambda: dispatch.vjp(f, x), lambda: dispatch.jvp(f, (x,), (x,)), lambda: vmap(f)(x[None]), lambda: dispatch.functionalize(f)(x), lambda: dispatch.make_fx(f, "fake")(x)(x)):
        with pytest.raises(ArgumentError, match="read-only"):
            run()
    if view == "diagonal":
        assert making.said(lambda: dispatch.vjp(f, x), ArgumentError) == (
            "a write was asked of a view of shape (2,) that np::diagonal made of an array of shape (2, 2), and that view is read-only. "
            "Write to the array itself, or to a copy, y = np.array(view)."
        )


def test_what_forward_mode_cannot_follow():
    def both(x, y):
        x += 1
        y += 1

    def wide(x):
        x *= 2
        return x[1:]

    pair = making.recorded("(Tensor(a!) x, Tensor(b!) y) -> ()", both, lambda ctx, g, h: (g, h))
    def backward(ctx, g, h):
        return 2 * (h + np.concatenate([np.zeros((1, 3)), g]))

    one = making.recorded("(Tensor(a!) x) -> Tensor(a)", wide, backward)

    def overlapping(x):
        y = x * 1
        pair(y[:1], y[1:])
        for u, v, name in ((y, y[1:], "y"), (y[:2], y[1:], "y"), (y, y, "x")):
            assert said(lambda u=u, v=v: pair(u, v), GradientError) == (
                f"{pair.name}: two arrays that are written share memory, argument {name!r} among them. Give each its own, or "
                f"write {instead(pair)}."
            )
        return y

    np.testing.assert_array_equal(tangent(overlapping, A, A), A)

    def viewed(x):
        y = x * 1
        view = one(y)
        assert said(lambda: one(y), GradientError) == (
            f"{one.name}: argument 'x' shares memory with another value with a tangent, and the write cannot be followed into it: "
            "an operator that changes a shape has no views, and a view that an operator made while it wrote is made only once. "
            f"Write before the view is taken or after it is gone, or write {instead(one)}."
        )
        return y, view

    values, tangents = push(viewed, (A,), (A,))
    np.testing.assert_array_equal(values[0], tangents[0])
    np.testing.assert_array_equal(values[1], values[0][1:])


NUMBERS: dict[str, Any] = {
    "an ellipsis": lambda n: n[...],
    "a copy of an ellipsis": lambda n: n[...].copy("K"),
    "an empty index": lambda n: n[()],
    "a copy": lambda n: n.copy(),
    "a shape": lambda n: n.reshape(()),
    "a transpose": lambda n: np.transpose(n),
    "a dtype": lambda n: n.astype("f4"),
    "its own dtype": lambda n: n.astype(float),
    "its own dtype of an ellipsis": lambda n: n[...].astype(float),
    "a dtype of an ellipsis": lambda n: n[...].astype("f4"),
    "an element": lambda n: n.ravel()[0],
    "an element's view": lambda n: n.ravel()[0, ...],
    "np.copy": lambda n: np.copy(n),
    "median": lambda n: np.median(n, keepdims=True),
    "median of an ellipsis": lambda n: np.median(n[...], keepdims=True),
    "einsum of an ellipsis": lambda n: np.einsum("->", n[...]),
}


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("layer", ["vmap", "jvp", "tape", "fake", "symbolic", "functionalize"])
def test_what_is_made_of_a_number_is_a_number_or_memory_as_in_numpy(name: str, layer: str) -> None:
    def f(x: Any) -> Any:
        y = NUMBERS[name](np.add.reduce(x, axis=None))
        z = y[...]  # of an array its memory, of a number an array of its own
        z[...] = 7.0
        return y + 0, y.copy()

    x = np.arange(3.0)
    expected = f(x)
    runs: dict[str, Any] = {
        "vmap": lambda: [y[1] for y in dispatch.vmap(f)(np.stack([x, x]))],
        "jvp": lambda: dispatch.jvp(f, (x,), (x,))[0],
        "tape": lambda: dispatch.vjp(f, x)[0],
        "functionalize": lambda: dispatch.functionalize(f)(x),
    }
    found = runs[layer]() if layer in runs else dispatch.make_fx(f, layer)(x)(x)
    np.testing.assert_array_equal(found, expected)
    if layer not in ("jvp", "tape"):  # which return arrays
        assert layer == "vmap" or [type(y) for y in found] == [type(y) for y in expected]


def test_a_write_through_a_view_of_a_number_is_kept_in_every_order_of_the_transforms():
    """The gradient of an array without axes is a number in a batch; a view of a copy of it was another copy, and took the write."""

    def f(x):
        y = np.copy(x)
        y[None] *= y
        return np.sum(np.sin(y))

    x = np.array(0.453)
    true = 2 * np.cos(x * x) - 4 * x * x * np.sin(x * x)
    assert np.allclose([dispatch.hessian(f)(x), grad(grad(f))(x)], true, rtol=1e-14)
    assert np.allclose(vmap(lambda t: dispatch.jvp(grad(f), (x,), (t,))[1])(np.array([1.0, 2.0])), [true, 2 * true], rtol=1e-14)
