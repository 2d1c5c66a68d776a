"""In-place operators on the tape: what is refused and in which words, which array is written to, what a write leaves behind."""

import gc
import weakref

import making
import numpy as np
import pytest

import dispatch
from dispatch import Tag, custom_op, grad, no_grad, vmap
from dispatch.core import DispatchKey
from dispatch.errors import GradientError, NoRuleError
from dispatch.layers.autograd import CONSTANT, pullbacks
from dispatch.layers.autograd.layer import layer
from dispatch.layers.autograd.saved_tensors import COPIED_BYTES

A, B = np.array([0.5, 1.0, 2.0]), np.array([1.5, -1.0, 0.25])
leaf = making.leaf
INPLACE = "(Tensor(a!) x, Tensor y) -> Tensor(a!)"


def said(call, error=GradientError):
    return making.said(call, error)


def added(x, y):
    x += y
    return x


def passing(ctx, g):
    return g, g


add_ = making.recorded(INPLACE, added, passing)


# -- what is refused -------------------------------------------------------------------------------------------------------


def test_a_leaf():
    x = leaf()
    for write in (lambda: add_(x, B), lambda: add_(x, x), lambda: grad(lambda x: np.sum(add_(x, B)))(A)):
        assert said(write) == (
            f"{add_.name}: argument 'x' is a leaf that requires a gradient, and a write would take away what that is the gradient "
            f"of. Write `x = {add_.schema.name}.functional(x, y)`; or write to it under dispatch.no_grad(), as a step of an "
            "optimizer does."
        )
    assert (x.version, x.is_leaf) == (0, True)
    assert np.array_equal(dispatch.detach(x), A)


def test_a_plain_array_that_tracked_values_would_be_written_to():
    out = A + 0
    assert said(lambda: add_(out, leaf())) == (
        f"{add_.name}: argument 'x' is an ndarray of shape (3,) and dtype float64, and tracked values would be written to it: "
        f"their gradient would be lost in silence. Write `x = {add_.schema.name}.functional(x, y)`; or pass dispatch.detach(...) "
        "of the values, where constants are meant."
    )
    assert np.array_equal(out, A)
    assert np.array_equal(add_(out, dispatch.detach(leaf())), 2 * A)


def test_a_value_of_an_outer_transform_that_inner_ones_would_be_written_to():
    def f(x):
        y = x * 2
        return np.sum(grad(lambda t: np.sum(add_(y, t)))(A))

    text = said(lambda: grad(f)(A))
    assert f"{add_.name}: argument 'x' is a TrackedTensor of shape (3,) and dtype float64 of grad (level " in text
    assert ", and tracked values of grad (level " in text


def test_the_line_to_write_names_the_form_and_what_it_returns():
    @custom_op("writtentests::both", mutates_args=("out", "rest"), functional=True)
    def both(x: np.ndarray, rest: list[np.ndarray], *, out: np.ndarray) -> int: ...

    assert "Write `result, rest, out = both_functional(x, rest, out=out)`;" in said(lambda: both(leaf(), [A + 0], out=A + 0))


@pytest.mark.parametrize(
    "view", [lambda x: x[1:], lambda x: np.reshape(x, (1, 3)), lambda x: np.transpose(x), lambda x: x[0:1][0:1]]
)
def test_a_view_of_a_leaf(view):
    x = leaf()
    y = view(x)
    assert said(lambda: add_(y, y)) == (
        f"{add_.name}: argument 'x' is a view of a leaf that requires a gradient, and a write would take away what that is the "
        f"gradient of. Write `x = {add_.schema.name}.functional(x, y)`; or write to it under dispatch.no_grad(), as a step of an "
        "optimizer does."
    )
    with no_grad():
        add_(y, y)
    expected = A.copy()
    expected[...] = A
    seen = view(expected)
    seen += seen
    assert (x.is_leaf, x.version, y.version) == (True, 1, 1)
    assert np.array_equal(dispatch.detach(x), expected)
    assert np.array_equal(dispatch.detach(y), seen)


def test_views_of_a_leaf_that_is_written_under_no_grad():
    x = leaf()
    y = x[1:]
    z = y * y
    with no_grad():
        add_(x, B)
    assert np.array_equal(dispatch.detach(y), (A + B)[1:])
    np.sum(z).backward()
    assert np.array_equal(x.grad, [0, 2 * A[1], 2 * A[2]])


def test_what_a_write_cannot_be_followed_into():
    def kernel(x):
        x *= 2
        return x[1:]

    op = making.recorded("(Tensor(a!) x) -> Tensor(a)", kernel, lambda ctx, g, h: h * 2)
    x = leaf() * 1
    y = op(x)
    words = "an operator that changes a shape has no views, and a view that an operator made while it wrote is made only once."
    assert said(lambda: add_(x, B)) == (
        f"{add_.name}: argument 'x' shares memory with another tracked value, and the write cannot be followed into it: {words} "
        f"Write before the view is taken or after it is gone, or write `x = {add_.schema.name}.functional(x, y)`."
    )
    with no_grad():
        assert words in said(lambda: add_(x, B))
    del y
    add_(x, B)
    assert np.array_equal(dispatch.detach(x), 2 * A + B)


def test_two_written_views_that_overlap():
    op = making.recorded("(Tensor(a!) x, Tensor(b!) y) -> ()", lambda x, y: None, lambda ctx, g, h: (g, h))
    x = leaf() * 1
    u, v, w = x[:2], x[1:], x[2:]
    assert op(u, w) is None
    for write in (lambda: op(u, v), lambda: op(x, w), lambda: op(v, x)):
        assert said(write) == (
            f"{op.name}: two arrays that are written share memory, argument 'x' among them. Give each its own, or write "
            f"`x, y = {op.schema.name}.functional(x, y)`."
        ).replace("'x'", "'y'")
        with no_grad():
            assert "two arrays that are written share memory" in said(write)


def test_one_value_written_twice():
    op = making.define("(Tensor(a!) x, Tensor(b!)[] ys) -> ()", lambda x, ys: None)
    x = leaf() * 1
    assert said(lambda: op(x, [leaf() * 1, x])) == (
        f"{op.name}: two arrays that are written share memory, argument 'x' among them. Give each its own, or "
        f"write `x, ys = {op.schema.name}.functional(x, ys)`."
    )
    with no_grad():
        op(x, [x])
    assert x.version == 1


def test_a_dict():
    op = making.define("(Dict(str, Tensor(a!)) xs) -> ()", lambda xs: None)
    assert said(lambda: op({"a": leaf() * 1})) == (
        f"{op.name}: argument 'xs' is a dict that holds a tracked value, and is written. The tape follows writes to arrays and to "
        "lists of arrays: pass a list."
    )


def test_another_shape_under_no_grad():
    def flatten(x):
        x.resize((x.size,), refcheck=False)
        return x

    op = custom_op(
        "writtentests::flatten_", flatten, mutates_args=("x",), schema="(Tensor(a!) x) -> Tensor(a!)", tags=Tag.inplace_view
    )
    op.register_autograd(lambda ctx, g: np.reshape(g, ctx.shape), setup_context=lambda ctx, inputs, output: setattr(ctx, "shape", inputs[0].shape))
    x = leaf(np.ones((2, 3)))
    y = x * np.arange(6.0).reshape(2, 3)
    assert op(y).shape == y.shape == (6,)
    np.sum(y * y).backward()
    assert np.array_equal(x.grad, 2 * np.arange(6.0).reshape(2, 3) ** 2)
    with no_grad():
        assert said(lambda: op(x)) == (
            "writtentests::flatten_ changes the shape of argument 'x' under no_grad, where a tracked value keeps its place on the "
            "tape, and so its shape. Write to a copy: dispatch.detach(x).copy()."
        )
    assert x.shape == (2, 3)


# -- which array is written to ---------------------------------------------------------------------------------------------


LARGE = np.ones(COPIED_BYTES)


def address(x):
    return x.value.__array_interface__["data"][0]


def test_a_large_array_that_nobody_else_holds_is_written_to_itself():
    x = leaf(LARGE) * 1
    where = address(x)
    assert address(add_(x, LARGE)) == where
    assert not x.value.flags.writeable
    w = leaf(LARGE)
    where = address(w)
    with no_grad():
        add_(w, w)
    assert address(w) == where
    assert not w.value.flags.writeable
    assert np.array_equal(w.value, 2 * LARGE)


def test_a_small_one_is_copied():
    x = leaf() * 1
    where = address(x)
    add_(x, B)
    assert address(x) != where


@pytest.mark.parametrize(
    "hold",
    [
        lambda x: dispatch.detach(x),
        lambda x: x.value,
        lambda x: memoryview(x.value),
        lambda x: x * x,
        lambda x: making.recorded("(Tensor x) -> Tensor", lambda x: x + 1, lambda ctx, g: g, lambda ctx, i, o: ctx.save_for_backward(i[0]))(x),
    ],
)  # fmt: skip
def test_an_array_that_somebody_holds_is_copied(hold):
    for x in (leaf(LARGE) * 1, leaf(LARGE)):
        held = hold(x)
        where = address(x)
        with no_grad() if x.is_leaf else dispatch.enable_grad():
            add_(x, LARGE)
        assert address(x) != where
        assert not x.value.flags.writeable
    del held


def test_an_array_that_the_rule_may_read_is_copied():
    op = making.recorded(INPLACE, added, passing, lambda ctx, inputs, output: None)
    x = leaf(LARGE) * 1
    where = address(x)
    op(x, LARGE)
    assert address(x) != where


def test_scalars_and_views_of_no_other_value():
    x = leaf() * 1
    y = np.sum(x)
    add_(y, np.float64(2.0))
    y.backward()
    assert float(y.value) == A.sum() + 2
    z = np.ravel(leaf() * 1)
    add_(z, B)
    assert np.array_equal(dispatch.detach(z), A + B)


def test_an_operator_that_raises_midway():
    def half(x, y):
        x[0] = 7
        raise ValueError("halfway")

    op = making.recorded(INPLACE, half, passing)
    x = leaf(LARGE) * 1
    with pytest.raises(ValueError, match="halfway"):
        op(x, LARGE)
    assert x.version == 0
    assert not x.value.flags.writeable
    assert said(lambda: np.sum(x).backward()) == (
        f"backward reaches a value that {op.name} was writing to when it raised, and which may be written in part. Compute it anew."
    )
    for z in (leaf(LARGE), leaf()):
        y = z * 1
        held = y.value if y.size > 3 else None
        with pytest.raises(ValueError, match="halfway"):
            op(y, z)
        np.sum(y).backward()
        assert np.array_equal(z.grad, np.ones(z.shape))
        assert y.value[0] != 7
        assert held is None or held is y.value
        with no_grad(), pytest.raises(ValueError, match="halfway"):
            op(z, y)
        assert not z.value.flags.writeable


# -- rules -----------------------------------------------------------------------------------------------------------------


def test_no_rule_gives_a_node_that_raises():
    op = making.define(INPLACE, added)
    x = leaf()
    for y in (op(x * 1, B), op.functional(x, B)):
        assert said(lambda y=y: np.sum(y).backward(), NoRuleError) == (
            f"a gradient was asked of {op.name}, which has no derivative. Add one: {op.schema.name}.register_autograd(backward, "
            "setup_context=...); or write dispatch.detach(...) around the call to make it a constant."
        )


def test_the_rule_is_one_for_both_and_may_come_and_go():
    op = making.define(INPLACE, added)

    def slope(write):
        x = leaf()
        np.sum(write(x * 1, B)).backward()
        return x.grad[0]

    for factor in (2.0, 3.0):
        rule = layer.rule(lambda ctx, g, factor=factor: (g * factor, g))
        registration = op.register(layer, rule)
        assert slope(op) == slope(op.functional) == factor
    op.unregister(registration)
    assert slope(op) == slope(op.functional) == 2.0
    op.functional.register_autograd(lambda ctx, g: (g * 5, g))
    assert (slope(op), slope(op.functional)) == (2.0, 5.0)


def test_pullbacks_and_no_derivative():
    row = making.define(INPLACE, lambda x, y: np.multiply(x, y, out=x))
    row.register(layer, pullbacks(x=lambda g, y: g * y, y=lambda g, x: g * x))
    x = leaf()
    y = x * 1
    np.sum(row(y, y)).backward()
    assert np.array_equal(x.grad, 2 * A)
    for make in (lambda op: op.register(layer, CONSTANT), lambda op: op.register(layer, pullbacks(y=lambda g: g))):
        clear = making.define(INPLACE, lambda x, y: np.multiply(x, 0, out=x))
        make(clear)
        x = leaf()
        y = x * 1
        assert clear(y, B) is y
        assert (y.version, y.is_leaf) == (1, False)
        (np.sum(y) + np.sum(x)).backward()
        assert np.array_equal(x.grad, np.ones(3))
        assert np.array_equal(dispatch.detach(y), np.zeros(3))


def test_an_output_marked_as_without_a_gradient():
    op = making.recorded(INPLACE, added, passing, lambda ctx, inputs, output: ctx.mark_non_differentiable(output))
    x = leaf()
    y = x * 1
    op(y, B)
    (np.sum(y) + np.sum(x)).backward()
    assert np.array_equal(x.grad, np.ones(3))


def test_gradients_come_one_for_each_output_of_the_functional_form():
    seen = []

    def backward(ctx, *grads):
        seen.append([None if g is None else type(g).__name__ for g in grads])
        return grads[0] + grads[1], grads[1], [g * 2 for g in grads[2]]

    def setup(ctx, inputs, output):
        assert [np.array_equal(dispatch.detach(x), A) for x in inputs[:2]] == [True, True]
        assert np.array_equal(dispatch.detach(output[1]), 2 * A)

    def kernel(x, out, outs):
        out += x
        for y in outs:
            y *= 2
        return x.copy()

    op = making.recorded("(Tensor x, Tensor(a!) out, Tensor(b!)[] outs) -> Tensor", kernel, backward, setup)
    x, z = leaf(), leaf()
    out, outs = z * 1, [z * 1]
    made = op(x, out, outs)
    (np.sum(made) + np.sum(out) + np.sum(outs[0])).backward()
    assert seen == [["ndarray", "ndarray", "list"]]
    assert np.array_equal(x.grad, [2, 2, 2])
    assert np.array_equal(z.grad, [3, 3, 3])


def test_integers_are_written_through():
    def split(x, whole, part):
        whole[...] = np.floor(x)
        part[...] = x - whole

    op = making.recorded("(Tensor x, Tensor(a!) whole, Tensor(b!) part) -> ()", split, lambda ctx, g, h: (h, None, None))
    x, whole = leaf([1.5, 2.25]), np.zeros(2, int)
    part = leaf([0.0, 0.0]) * 1
    op(x, whole, part)
    np.sum(part).backward()
    assert whole.tolist() == [1, 2]
    assert np.array_equal(x.grad, np.ones(2))
    x, y = np.stack([A, B]), np.zeros((2, 3), int)
    assert np.array_equal(vmap(grad(lambda x, y: (op(x, y, z := x * 0), np.sum(z))[1]))(x, y), np.ones((2, 3)))
    assert np.array_equal(y, np.floor(x))


def test_constants_among_several_layers():
    x = np.stack([A, B])

    def f(x, b):
        y = b * 1.0  # of the batch, and no tracked value
        return np.sum(add_(x * 2, y))

    assert np.array_equal(vmap(grad(f))(x, x), np.full((2, 3), 2.0))
    assert np.array_equal(vmap(grad(f), in_dims=(None, 0))(A, x), np.full((2, 3), 2.0))
    assert np.array_equal(grad(lambda x: np.sum(vmap(lambda x: add_(x * 1, x) * x)(x)))(x), 4 * x)


def test_under_no_grad_every_value_is_a_constant():
    out, w = A + 0, leaf()
    with no_grad():
        assert add_(out, w) is out
        assert np.array_equal(out, 2 * A)
    y = w * 1
    made = y.grad_fn
    with no_grad():
        add_(y, B)
    assert y.grad_fn is made
    np.sum(y).backward()
    assert np.array_equal(w.grad, np.ones(3))
    assert np.array_equal(dispatch.detach(y), A + B)


def test_a_kernel_made_of_operators_records_itself():
    op = making.define(
        "(Tensor(a!) x, Tensor y) -> Tensor(a!)", lambda x, y: add_(add_(x, y), y), key=DispatchKey.CompositeImplicit
    )
    x = leaf()
    for y in (op(x * 1, x), op.functional(x, x)):
        x.grad = None
        np.sum(y).backward()
        assert np.array_equal(x.grad, [3, 3, 3])


def test_what_a_write_leaves_is_freed():
    x = leaf()
    y = x * 1
    node = weakref.ref(y.grad_fn)
    gc.disable()
    try:
        for _ in range(3):
            add_(y, y)
        written = weakref.ref(y.grad_fn)
        assert node() is not None
        del y
        assert (node(), written()) == (None, None)
    finally:
        gc.enable()


def test_a_loop_of_writes_is_a_chain():
    x = leaf()
    y = x * 1
    for _ in range(5000):
        add_(y, B)
    np.sum(y).backward()
    assert y.version == 5000
    assert np.array_equal(x.grad, np.ones(3))


@pytest.mark.parametrize("buffer", [[1.0, 2.0, 3.0], [0.0], []])
def test_an_optional_written_argument_may_be_tracked(buffer):
    @custom_op("inplace_tape::optional", mutates_args=("buffer",))
    def optional(x: np.ndarray, buffer: np.ndarray | None = None) -> np.ndarray:
        if buffer is not None:
            buffer += x
        return 2 * x

    optional.register_autograd(lambda ctx, g, h: (2 * g + (0 if h is None else h), h))
    x, y = np.full(len(buffer), 2.0), np.array(buffer)

    def f(x, y):
        total = y * 1
        return np.sum(optional(x, total) * 5 + total * 3)

    got = grad(f, argnums=(0, 1))(x, y)
    assert np.array_equal(got[0], np.full_like(x, 13.0))
    assert np.array_equal(got[1], np.full_like(x, 3.0))
    assert np.array_equal(grad(lambda x: np.sum(optional(x)))(x), np.full_like(x, 2.0))
