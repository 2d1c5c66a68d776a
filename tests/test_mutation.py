"""Laws of operators that write: what a program of them computes and what it is differentiated to, against the same program on
plain arrays, finite differences, their functional forms, and torch."""

import random

import making
import numpy as np
import pytest

import dispatch
from dispatch import Tag, custom_op, grad, no_grad, ops, tensor, value_and_grad, vmap
from dispatch.autograd import gradcheck
from dispatch.errors import DefinitionError, GradientError, SchemaError
from dispatch.operators.registry import known
from dispatch.testing import opcheck

leaf = making.leaf
A, B = np.array([0.5, 1.0, 2.0]), np.array([1.5, -1.0, 0.25])


@custom_op("mutationtests::mul_", mutates_args=("x",), tags=Tag.inplace, functional=True)
def mul_(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    np.multiply(x, y, out=x)
    return x


mul_.register_autograd(
    lambda ctx, g: (g * ctx.saved_tensors[1], g * ctx.saved_tensors[0]),
    setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
)


@custom_op("mutationtests::add_", mutates_args=("x",), tags=Tag.inplace)
def add_(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    x += y
    return x


add_.register_autograd(lambda ctx, g: (g, g))


@custom_op("mutationtests::exp_", mutates_args=("x",))
def exp_(x: np.ndarray) -> None:
    np.exp(x, out=x)


def _keep_output(ctx, inputs, output):
    ctx.y = output


exp_.register_autograd(lambda ctx, g: g * ctx.y, setup_context=_keep_output)


@custom_op("mutationtests::rotate", mutates_args=("outs",))
def rotate(x: np.ndarray, y: np.ndarray, outs: list[np.ndarray]) -> int:
    """Writes x + y + outs[0] and x * y into two arrays, and returns how many."""
    outs[0] += x + y
    outs[1][...] = x * y
    return len(outs)


def _rotated(ctx, _, gs):
    x, y = ctx.saved_tensors
    return gs[0] + gs[1] * y, gs[0] + gs[1] * x, [gs[0], None]


rotate.register_fake(lambda x, y, outs: len(outs))
rotate.register_autograd(_rotated, setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs[:2]))


@custom_op("mutationtests::square", mutates_args=("out",), tags=Tag.out)
def square(x: np.ndarray, *, out: np.ndarray) -> np.ndarray:
    return np.multiply(x, x, out=out)


square.register_autograd(
    lambda ctx, g: (2 * g * ctx.saved_tensors[0], None),
    setup_context=lambda ctx, inputs, output: ctx.save_for_backward(inputs[0]),
)

# -- programs --------------------------------------------------------------------------------------------------------------


def program(seed, length=8):
    """A function of two arrays that computes and writes at random; it runs on plain arrays and on tracked ones."""
    choices = random.Random(seed)
    steps = [(choices.randrange(9), *(choices.randrange(100) for _ in range(3))) for _ in range(length)]

    def run(x, y):
        values = [x * y, x + 2 * y]  # both depend on both: a write of a tracked value to a constant is refused
        for step, *picks in steps:
            i, j, k = (n % len(values) for n in picks)
            a, b = values[i], values[j]
            if step == 0:
                values.append(a * b)
            elif step == 1:
                values.append(np.sin(a) + b)
            elif step == 2:
                values.append(np.tanh(a))
            elif step == 3 and i != j:
                assert add_(a, b) is a
            elif step == 4 and i != j:
                assert mul_(a, b) is a
            elif step == 5:
                values[i] = np.tanh(a)
                assert exp_(values[i]) is None
            elif step == 6 and i != j:
                square(np.tanh(a), out=b)
            elif step == 7 and k not in (i, j) and i != j:
                rotate(np.tanh(values[k]), np.sin(values[k]), [a, b])
        return sum(np.sum(np.tanh(value)) for value in values)

    return run


@pytest.mark.parametrize("seed", range(40))
def test_programs_that_write_have_the_gradients_of_finite_differences(seed):
    run = program(seed)
    gradcheck(run, (leaf(A), leaf(B)))
    value, gradients = value_and_grad(run, (0, 1))(A, B)
    assert np.isclose(value, run(A, B))
    x, y = leaf(A), leaf(B)
    run(x, y).backward()
    for given, gradient in zip((x, y), gradients, strict=True):
        np.testing.assert_allclose(0.0 if given.grad is None else given.grad, gradient)


@pytest.mark.parametrize("seed", range(0, 40, 3))
def test_transforms_of_programs_that_write(seed):
    run = program(seed, length=6)
    gradcheck(lambda x, y: np.sum(np.sin(grad(run)(x, y))), (leaf(A), leaf(B)))
    x, y = np.stack([A, B, A]), np.stack([B, A, A])
    np.testing.assert_allclose(vmap(run)(x + 0, y + 0), making.loop(run, (0, 0), x, y))
    np.testing.assert_allclose(vmap(grad(run))(x, y), making.loop(grad(run), (0, 0), x, y))


@pytest.mark.parametrize("seed", range(0, 40, 3))
def test_a_backward_that_is_recorded_through_writes(seed):
    run = program(seed, length=6)
    x, y = leaf(A), leaf(B)
    run(x, y).backward(create_graph=True)
    first, x.grad = x.grad, None
    if first is not None:
        np.sum(np.sin(first)).backward()
    expected = grad(lambda x: np.sum(np.sin(grad(run)(x, B))))(A)
    np.testing.assert_allclose(0.0 if x.grad is None else x.grad, expected)


@pytest.mark.parametrize("op", [mul_, mul_.functional, add_, add_.functional])
def test_opcheck_passes_on_both(op):
    report = opcheck(op, (leaf(A), leaf(B)))
    assert set(report.values()) == {"SUCCESS"}


def test_opcheck_passes_on_lists_and_templates():
    assert set(opcheck(rotate, (leaf(A), leaf(B), [leaf(A), leaf(B)])).values()) == {"SUCCESS"}
    assert set(opcheck(rotate.functional, (leaf(A), leaf(B), [leaf(A), leaf(B)])).values()) == {"SUCCESS"}
    assert set(opcheck(square, (leaf(A),), {"out": B}).values()) == {"SUCCESS"}
    assert set(opcheck(exp_, (leaf(A),)).values()) == {"SUCCESS"}


# -- what was computed before a write keeps its gradient -------------------------------------------------------------------


def test_values_saved_before_a_write_are_the_old_ones():
    for before in (lambda y: y * y, np.exp, lambda y: mul_.functional(y, y), lambda y: np.einsum("i,i->i", y, y) if 0 else y**3):

        def f(x, before=before):
            y = x * 2
            z = before(y)
            mul_(y, y)
            exp_(y)
            return np.sum(z) + np.sum(y)

        gradcheck(f, (leaf(A),))


@pytest.mark.torch
def test_where_torch_refuses():
    import torch

    x = torch.tensor(A, requires_grad=True)
    y = x * 2
    z = y * y
    y.mul_(y)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        (z.sum() + y.sum()).backward()


def test_a_leaf_written_under_no_grad_keeps_what_was_saved_of_it():
    x = leaf(A)
    y = mul_.functional(x, x)
    with no_grad():
        add_(x, np.ones(3))
    np.sum(y).backward()
    assert np.array_equal(x.grad, 2 * A)
    assert np.array_equal(dispatch.detach(x), A + 1)


def test_an_attribute_of_the_context_is_the_old_value_too():
    op = making.recorded(
        "(Tensor x) -> Tensor", lambda x: x * x, lambda ctx, g: 2 * g * ctx.x, lambda ctx, inputs, output: setattr(ctx, "x", inputs[0])
    )
    x = leaf(A)
    y = x * 1
    z = op(y)
    mul_(y, B)
    (np.sum(z) + np.sum(y)).backward()
    assert np.array_equal(x.grad, 2 * A + B)


def test_a_value_of_an_outer_transform_written_inside_an_inner_one():
    def f(x):
        y = x * 2

        def inner(t):
            z = np.sum(t * y * y)
            mul_(y, y)
            return z + np.sum(t * y)

        return np.sum(grad(inner)(np.ones(3)) ** 2)

    def plain(x):
        return np.sum((2 * (x * 2) ** 2) ** 2)

    np.testing.assert_allclose(grad(f)(A), grad(plain)(A))
    np.testing.assert_allclose(grad(lambda x: np.sum(grad(lambda t: np.sum(mul_(t * 1, t)))(x * x) ** 2))(A), 16 * A**3)


def test_a_backward_rule_may_write_to_its_own_arrays():
    def backward(ctx, g):
        made = g * 1.0
        mul_(made, ctx.saved_tensors[0])
        add_(made, made * 0.0)
        return made

    op = making.recorded(
        "(Tensor x) -> Tensor", lambda x: x**2 / 2, backward, lambda ctx, inputs, output: ctx.save_for_backward(inputs[0])
    )
    gradcheck(lambda x: np.sum(op(x)), (leaf(A),))
    np.testing.assert_allclose(grad(lambda x: np.sum(grad(lambda t: np.sum(op(t) * t))(x)))(A), 3 * A)


# -- torch's rules ---------------------------------------------------------------------------------------------------------


@pytest.mark.torch
def test_versions_leaves_and_no_grad_are_torchs():
    import torch

    def theirs():
        x = torch.tensor(A, requires_grad=True)
        y = x * 1
        seen = [x._version, y._version]
        try:
            x.mul_(2.0)
        except RuntimeError:
            seen.append("refused")
        y.mul_(torch.tensor(B)).add_(x)
        seen += [y._version, y.is_leaf, y.requires_grad]
        with torch.no_grad():
            x.mul_(2.0)
            y.add_(1.0)
        seen += [x._version, x.is_leaf, x.requires_grad, y._version, y.is_leaf]
        y.sum().backward()
        return seen, x.grad.numpy(), x.detach().numpy(), y.detach().numpy()

    def ours():
        x = leaf(A)
        y = x * 1
        seen = [x.version, y.version]
        try:
            mul_(x, np.full(3, 2.0))
        except GradientError:
            seen.append("refused")
        add_(mul_(y, B), x)
        seen += [y.version, y.is_leaf, y.requires_grad]
        with no_grad():
            mul_(x, np.full(3, 2.0))
            add_(y, np.ones(3))
        seen += [x.version, x.is_leaf, x.requires_grad, y.version, y.is_leaf]
        np.sum(y).backward()
        return seen, x.grad, dispatch.detach(x), dispatch.detach(y)

    (seen, *arrays), (expected, *others) = ours(), theirs()
    assert seen == expected
    for mine, other in zip(arrays, others, strict=True):
        np.testing.assert_allclose(mine, other)


def test_a_version_counts_calls():
    x = leaf(A)
    y, z = x * 1, x * 2
    rotate(x, x, [y, z])
    assert (y.version, z.version, x.version) == (1, 1, 0)
    exp_(y)
    assert y.version == 2
    with no_grad():
        rotate(A, A, [x, y])
    assert (x.version, y.version) == (1, 3)
    assert tensor(A, requires_grad=True).version == 0


# -- definitions -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("signature", "tags", "message"),
    [
        # the rules of torch_library.md 1.9; each alone and in words in tests/schema/test_tags.py
        ("(Tensor x) -> Tensor", Tag.out, "Tag.out asks for a keyword-only argument that is written"),
        ("(Tensor x, Tensor(a!) out) -> Tensor(a!)", Tag.out, "what is written is keyword-only: put '*' before 'out'"),
        ("(Tensor x, *, Tensor(a!)[] out) -> Tensor(a!)[]", Tag.out, "what is written is a plain Tensor; 'out' is a Tensor[]"),
        ("(Tensor x, *, Tensor(a!)? out) -> Tensor(a!)", Tag.out, "what is written is a plain Tensor; 'out' is a Tensor?"),
        ("(Tensor x, *, Tensor(a!) u, Tensor(b!) v) -> Tensor(a!)", Tag.out, "one return for each written argument: 2, not 1"),
        ("(Tensor x, *, Tensor(a!) u) -> Tensor(a)", Tag.out, "what is written, in order: 'u' as Tensor(a!)"),
        ("(Tensor x, *, Tensor(a!) u, Tensor(b!) v) -> (Tensor(b!), Tensor(a!))", Tag.out, "in order: 'u' as Tensor(a!)"),
        ("(*, Tensor(a!) x) -> Tensor(a!)", Tag.inplace, "asks for a first argument given by position"),
        ("(Tensor x) -> Tensor", Tag.inplace, "asks that the first argument, 'x', is written: mutates_args=('x',)"),
        ("(Tensor(a!)[] x) -> Tensor(a!)[]", Tag.inplace, "the first argument is a plain Tensor; 'x' is a Tensor[]"),
        ("(Tensor(a!) x) -> (Tensor(a!), Tensor)", Tag.inplace, "asks for exactly one return, the Tensor 'x'"),
        ("(Tensor(a!) x) -> int", Tag.inplace, "asks for exactly one return, the Tensor 'x'"),
        ("(Tensor(a!) x) -> Tensor(a)", Tag.inplace, "asks that the return is 'x' itself: write it as Tensor(a!)"),
        ("(Tensor(a!) x, Tensor(b!) y) -> Tensor(b!)", Tag.inplace, "nothing but 'x' is written; 'y' is too"),
        ("(Tensor(a!) x) -> Tensor(b!)", Tag.inplace, "no argument is in the alias set 'b' before the call"),
        ("(Tensor(a) x) -> Tensor(a!)", (), "the return is written as 'a!', and no argument is. Write Tensor(a)."),
    ],
)  # fmt: skip
def test_a_tag_that_the_schema_does_not_bear_out_defines_nothing(signature, tags, message):
    names = [word.strip("(") for word in signature.partition("->")[0].replace(",", " ").replace(")", " ").split()]
    parameters = ", ".join(word for word in names if word in ("x", "y", "u", "v", "out", "*"))
    kernel = eval(f"lambda {parameters}: None")
    with pytest.raises((DefinitionError, SchemaError)) as caught:
        custom_op("mutationtests::no", kernel, mutates_args="unknown", schema=signature, tags=tags)
    assert message in str(caught.value)
    assert known("mutationtests::no") is None


def test_unknown_means_every_array_and_is_taken_with_a_schema():
    def f(x: np.ndarray, n: int, ys: list[np.ndarray], z: np.ndarray | None = None) -> None: ...

    op = custom_op("mutationtests::any", f, mutates_args="unknown")
    assert op.schema.mutable_arguments == ("x", "ys", "z")
    schema = "(Tensor x, int n, Tensor(a!)[] ys, Tensor? z=None) -> ()"
    assert custom_op("mutationtests::some", f, mutates_args="unknown", schema=schema).schema.mutable_arguments == ("ys",)


def test_optional_and_listed_arrays_are_written():
    def fill(x, u, vs):
        for v in (u, *vs):
            if v is not None:
                v[...] = x

    op = making.define("(Tensor x, Tensor(a!)? u, Tensor(b!)[] vs) -> ()", fill)
    u, vs = np.zeros(3), [np.zeros(3), np.zeros(3)]
    assert op(A, u, vs) is None
    assert all(np.array_equal(v, A) for v in (u, *vs))
    assert op(B, None, ()) is None
    x = leaf(A)
    us = [x * 0, x * 0]
    op.register_autograd(lambda ctx, g, gs: (sum(gs) + (0 if g is None else g), None, [None, None]), setup_context=lambda ctx, inputs, output: ctx.set_materialize_grads(False))
    op(x, None, us)
    (np.sum(us[0]) + 2 * np.sum(us[1])).backward()
    assert np.array_equal(x.grad, [3, 3, 3])


def test_arguments_that_overlap_are_the_kernels_business():
    x = np.arange(4.0)
    assert add_(x[1:], x[:-1]) is not None
    expected = np.arange(4.0)
    expected[1:] += expected[:-1]
    assert np.array_equal(x, expected)
    y = A + 0
    assert np.array_equal(add_(y, y), 2 * A)
    z = leaf(A) * 1
    assert np.array_equal(dispatch.detach(add_(z, z)), 2 * A)


def test_fake_arguments_come_back_themselves():
    with dispatch.FakeTensorMode() as mode:
        x, y = mode.from_array(A), mode.from_array(B)
        assert add_(x, y) is x
        assert square(x, out=y) is y
        assert exp_(x) is None
        z = ops.np.multiply(tensor(x, requires_grad=True), y)
        assert add_(z, y) is z
        assert z.version == 1
    with dispatch.FakeTensorMode(), pytest.raises(dispatch.errors.FakeTensorError) as caught:
        exp_(A + 0)
    assert str(caught.value) == (
        "mutationtests::exp_ was given a real array of shape (3,) and dtype float64 under a FakeTensorMode. "
        "Make a fake of it first, mode.from_array(a), or let the mode do that: FakeTensorMode(allow_non_fake_inputs=True)."
    )


def test_a_fake_rule_of_what_is_returned_gives_the_argument():
    op = making.define("(Tensor(a!) x) -> Tensor(a!)", lambda x: x, fake=lambda x: np.empty_like(x))
    with dispatch.FakeTensorMode() as mode, pytest.raises(dispatch.errors.FakeTensorError) as caught:
        op(mode.from_array(A))
    assert str(caught.value) == (
        f"{op.name}: its fake rule returned another array as output 0, and the schema says that it is argument 'x' itself. "
        "Return x."
    )
    op.register_fake(lambda x: x)
    with dispatch.FakeTensorMode() as mode:
        x = mode.from_array(A)
        assert op(x) is x


# -- views of what is laid out otherwise -----------------------------------------------------------------------------------------

TAKEN = {
    "reshape": lambda x: np.reshape(x, (-1,)), "row": lambda x: np.reshape(x, (1, -1)), "ravel": np.ravel, "axis": lambda x: x[:, None],
    "merged": lambda x: np.reshape(x, (x.shape[0], -1))[1:], "expanded": lambda x: np.reshape(x, (*x.shape, 1)),
}  # fmt: skip
LOOKED_AT = {
    "itself": lambda x: x, "turned": lambda x: x.T, "swapped": lambda x: np.swapaxes(x, 0, -1), "backwards": lambda x: x[::-1].T,
    "moved": lambda x: np.moveaxis(x, 0, -1),
}  # fmt: skip


@pytest.mark.parametrize("looked", LOOKED_AT)
@pytest.mark.parametrize("taken", TAKEN)
@pytest.mark.parametrize("shape", [(3, 3), (2, 3), (2, 3, 2)], ids=str)
def test_a_write_through_a_view_has_its_derivative_however_gradients_are_laid_out(shape, taken, looked):
    def f(x):
        x = dispatch.ops.np.copy(x, "C")
        view, other = TAKEN[taken](x), LOOKED_AT[looked](x)
        view *= 2
        view += view * view
        return np.sum(np.sin(other) * weights)

    x = np.linspace(-1.0, 1.5, int(np.prod(shape))).reshape(shape)
    weights = np.cos(np.arange(x.size)).reshape(LOOKED_AT[looked](x).shape)
    steps = np.eye(x.size).reshape(-1, *shape) * 1e-6
    expected = np.array([(f(x + h) - f(x - h)) / 2e-6 for h in steps]).reshape(shape)
    given = {"C": x, "F": np.asfortranarray(x), "strided": np.repeat(x, 2, -1)[..., ::2]}
    for layout, y in given.items():
        assert np.allclose(dispatch.grad(f)(y), expected, atol=1e-6), layout
        assert np.allclose(dispatch.vmap(dispatch.grad(f))(np.stack([y, y]))[1], expected, atol=1e-6), layout
        for direction in (np.ones(shape), np.asfortranarray(np.arange(x.size).reshape(shape) * 0.5)):
            assert np.isclose(dispatch.jvp(f, (y,), (direction,))[1], np.sum(expected * direction), atol=1e-5), layout
