"""The tape as a whole: gradients of programs against finite differences and against torch."""

import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dispatch
from dispatch import custom_op, grad, vmap
from dispatch.errors import NoRuleError

A = np.array([0.5, 1.0, 2.0])


def numeric(f, x, eps=1e-6):
    """The gradient by central differences; of a complex argument torch's, whose real part moves with the real part of x."""
    found = np.zeros_like(x)
    for i in np.ndindex(x.shape):
        for direction in (1.0, 1j) if x.dtype.kind == "c" else (1.0,):
            step = np.zeros_like(x)
            step[i] = eps * direction
            found[i] += direction * (f(x + step) - f(x - step)) / (2 * eps)
    return found


def backward_of(f, *args):
    leaves = [dispatch.tensor(x, requires_grad=True) for x in args]
    f(*leaves).backward()
    return [leaf.grad for leaf in leaves]


# -- an operator of a user -------------------------------------------------------------------------------------------------


@custom_op("tapetests::cube", mutates_args=())
def cube(x: np.ndarray) -> np.ndarray:
    return x**3


cube.register_autograd(
    lambda ctx, g: g * 3 * ctx.saved_tensors[0] ** 2,
    setup_context=lambda ctx, inputs, output: ctx.save_for_backward(inputs[0]),
)


@custom_op("tapetests::blend", mutates_args=())
def blend(x: np.ndarray, y: np.ndarray, weight: float = 0.5) -> np.ndarray:
    return weight * x * x + (1 - weight) * np.sin(y)


def blend_backward(ctx, g):
    x, y = ctx.saved_tensors
    return g * 2 * ctx.weight * x, g * (1 - ctx.weight) * np.cos(y), None


def blend_setup(ctx, inputs, output):
    ctx.save_for_backward(*inputs[:2])
    ctx.weight = inputs[2]


blend.register_autograd(blend_backward, setup_context=blend_setup)


@custom_op("tapetests::split", mutates_args=())
def split(x: np.ndarray) -> tuple[np.ndarray, list[np.ndarray], np.ndarray]:
    return x * 2, [x[:1] + 0.0, np.exp(x)], np.argsort(x)


def split_backward(ctx, twice, pieces, order):
    first, exps = pieces
    return 2 * twice + exps * np.exp(ctx.saved_tensors[0]) + np.concatenate([first, np.zeros(2)])


split.register_autograd(split_backward, setup_context=lambda ctx, inputs, output: ctx.save_for_backward(inputs[0]))


@custom_op("tapetests::total", mutates_args=())
def total(xs: list[np.ndarray], weights: list[float]) -> np.ndarray:
    return sum(x * w for x, w in zip(xs, weights, strict=True))


def total_backward(ctx, g):
    return [g * w for w in ctx.weights], None


def total_setup(ctx, inputs, output):
    ctx.weights = inputs[1]


total.register_autograd(total_backward, setup_context=total_setup)

PROGRAMS = {
    "cube": lambda x: np.sum(cube(x)),
    "cube of cube": lambda x: np.sum(cube(cube(x) / 4)),
    "blend": lambda x: np.sum(blend(x, np.tanh(x), 0.25)),
    "blend with one constant": lambda x: np.sum(blend(A, x)),
    "outputs and lists of outputs": lambda x: np.sum(split(x)[0] * split(x)[1][1]) + split(x)[1][0][0] * 3,
    "one output of several": lambda x: np.sum(split(x)[1][1]),
    "an integer output as an index": lambda x: x[int(split(x)[2][0])] * 2.0,
    "lists": lambda x: np.sum(total([x, A, x * x], [1.0, 2.0, 3.0]) ** 2),
    "rows": lambda x: np.sum(np.where(x > 0.9, np.exp(x), np.sqrt(x)) @ np.stack([x, x * 2, x - 1])),
    "broadcasting": lambda x: np.sum((np.reshape(x, (3, 1)) - x) ** 2 * x[0]),
    "closure": lambda x: np.sum(vmap(lambda a: a * np.sum(x))(x)),
}


@pytest.mark.parametrize("f", PROGRAMS.values(), ids=PROGRAMS)
def test_the_gradient_is_the_numeric_one(f):
    wanted = numeric(f, A)
    assert np.allclose(grad(f)(A), wanted, rtol=1e-6, atol=1e-8)
    assert np.array_equal(backward_of(f, A)[0], grad(f)(A))


@pytest.mark.parametrize("f", PROGRAMS.values(), ids=PROGRAMS)
def test_second_and_third_order_are_numeric_ones_of_the_order_below(f):
    direction = np.array([1.0, -2.0, 0.5])
    first = lambda x: np.sum(grad(f)(x) * direction)
    assert np.allclose(grad(first)(A), numeric(first, A), rtol=1e-5, atol=1e-6)
    second = lambda x: np.sum(grad(first)(x) * direction)
    assert np.allclose(grad(second)(A), numeric(second, A), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("f", PROGRAMS.values(), ids=PROGRAMS)
def test_second_order_by_create_graph_is_that_of_nested_transforms(f):
    x = dispatch.tensor(A, requires_grad=True)
    f(x).backward(create_graph=True)
    first, x.grad = x.grad, None
    assert np.array_equal(dispatch.detach(first), grad(f)(A))
    if isinstance(first, dispatch.Tensor):
        np.sum(first).backward()
        assert np.allclose(x.grad, grad(lambda x: np.sum(grad(f)(x)))(A))


BATCHED = {name: f for name, f in PROGRAMS.items() if name != "an integer output as an index"}  # each item has its own


@pytest.mark.parametrize("f", BATCHED.values(), ids=BATCHED)
def test_batches_of_gradients_are_the_gradients_of_the_items(f):
    batch = A + np.random.default_rng(0).uniform(0, 0.1, size=(4, 3))
    assert np.allclose(vmap(grad(f))(batch), np.stack([grad(f)(x) for x in batch]))
    assert np.allclose(grad(lambda x: np.sum(vmap(f)(x)))(batch), np.stack([grad(f)(x) for x in batch]))


# -- dtypes and shapes -----------------------------------------------------------------------------------------------------


def test_float32_stays_float32():
    x = A.astype("f4")
    for f in PROGRAMS.values():
        (gradient,) = backward_of(f, x)
        assert (gradient.dtype, gradient.shape) == (np.dtype("f4"), (3,))


def test_gradients_have_the_shape_and_dtype_of_their_inputs():
    x, y = A.astype("f4"), np.ones((2, 1))
    first, second = backward_of(lambda x, y: np.sum(x * y), x, y)
    assert (first.dtype, first.shape) == (np.dtype("f4"), (3,))
    assert (second.dtype, second.shape) == (np.dtype("f8"), (2, 1))
    assert np.array_equal(first, [2, 2, 2])
    assert np.array_equal(second, [[3.5], [3.5]])

    @custom_op("tapetests::summed", mutates_args=())
    def summed(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return x + y

    summed.register_autograd(lambda ctx, g: (g, g))  # the tape sums what broadcasting repeated
    first, second = backward_of(lambda x, y: np.sum(summed(x, y)), x, y)
    assert (first.dtype, first.tolist()) == (np.dtype("f4"), [2, 2, 2])
    assert (second.dtype, second.tolist()) == (np.dtype("f8"), [[3], [3]])


def test_a_backward_may_return_numbers_and_0d_arrays():
    @custom_op("tapetests::counted", mutates_args=())
    def counted(x: np.ndarray) -> np.ndarray:
        return np.asarray(x.sum())

    counted.register_autograd(lambda ctx, g: float(g))
    assert np.array_equal(backward_of(lambda x: counted(x) * 3.0, np.array(2.0))[0], 3.0)


def test_complex_gradients_are_torchs():
    z = A + 1j * A[::-1]
    for f in (
        lambda z: np.sum(np.real(z * z * np.conjugate(z))),
        lambda z: np.sum(np.abs(z) ** 2),
        lambda z: np.sum(np.real(np.exp(z * (1 + 2j)))),
        lambda z: np.sum(np.imag(np.sin(z))),
    ):
        assert np.allclose(grad(f)(z), numeric(f, z), rtol=1e-6)
    real = grad(lambda x: np.sum(np.real(x * (1 + 2j))))(A)  # a complex gradient of a real argument: its real part
    assert (real.dtype, real.tolist()) == (np.dtype("f8"), [1.0, 1.0, 1.0])


@pytest.mark.torch
def test_gradients_are_torchs():
    import torch

    x, y = np.random.default_rng(1).normal(size=(2, 3, 3))
    programs = [
        lambda lib, x, y: lib.sum(lib.matmul(x, y) * lib.sin(x)),
        lambda lib, x, y: lib.sum(lib.where(x > 0, x * y, lib.exp(y))),
        lambda lib, x, y: lib.sum(lib.reshape(lib.concatenate([x, y]), (2, 9))[0] ** 3),
        lambda lib, x, y: lib.sum(lib.tanh(x[:, 0] @ y) * lib.abs(x)),
        lambda lib, x, y: lib.mean(lib.stack([x, y]) / (2.0 + x * x)),
    ]
    for program in programs:
        found = backward_of(lambda x, y: program(np, x, y), x, y)  # noqa: B023
        theirs = [torch.tensor(a, requires_grad=True) for a in (x, y)]
        program(torch, *theirs).backward()
        for ours, tensor in zip(found, theirs, strict=True):
            assert np.allclose(0.0 if ours is None else ours, 0.0 if tensor.grad is None else tensor.grad.numpy())


# -- random programs -------------------------------------------------------------------------------------------------------

STEPS = {
    "sin": lambda x, y: (np.sin(x), y),
    "swap": lambda x, y: (y, x),
    "multiply": lambda x, y: (x * y, x),
    "divide": lambda x, y: (x / (2.0 + y * y), y),
    "subtract": lambda x, y: (x - 0.5 * y, y),
    "cube": lambda x, y: (np.tanh(cube(x)), y),
    "blend": lambda x, y: (blend(x, y), x),
    "sum": lambda x, y: (x - np.mean(x), y),
    "reverse": lambda x, y: (x[::-1], y),
}


@given(st.lists(st.sampled_from(sorted(STEPS)), max_size=6))
def test_a_random_program_has_its_numeric_gradient(names):
    def f(x, y):
        for name in names:
            x, y = STEPS[name](x, y)
        return np.sum(x) + np.sum(y * y)

    x, y = A / 2, A[::-1] / 3
    found = grad(f, (0, 1))(x, y)
    assert np.allclose(found[0], numeric(lambda x: f(x, y), x), rtol=1e-5, atol=1e-7)
    assert np.allclose(found[1], numeric(lambda y: f(x, y), y), rtol=1e-5, atol=1e-7)


# -- what has no gradient --------------------------------------------------------------------------------------------------


def test_an_operator_without_a_rule_raises_when_its_gradient_is_asked_for():
    @custom_op("tapetests::ruleless", mutates_args=())
    def ruleless(x: np.ndarray) -> np.ndarray:
        return x + 1

    x = dispatch.tensor(A, requires_grad=True)
    y = ruleless(x)
    assert y.requires_grad
    with pytest.raises(NoRuleError) as caught:
        np.sum(y).backward()
    assert str(caught.value) == (
        "a gradient was asked of tapetests::ruleless, which has no derivative. Add one: "
        "ruleless.register_autograd(backward, setup_context=...); or write dispatch.detach(...) around the call to make it "
        "a constant."
    )
    np.sum(dispatch.detach(ruleless(x)) * x).backward()
    assert np.array_equal(x.grad, A + 1)


# -- threads ---------------------------------------------------------------------------------------------------------------


def test_tapes_of_threads_do_not_meet():
    start, found = threading.Barrier(4), [None] * 4
    shared = dispatch.tensor(A, requires_grad=True)

    def work(i):
        start.wait()
        for _ in range(50):
            x = dispatch.tensor(A * (i + 1), requires_grad=True)
            with dispatch.no_grad() if i % 2 else dispatch.enable_grad():
                y = np.sum(cube(x) * shared)
            if not i % 2:
                y.backward(retain_graph=True)
                found[i] = x.grad
            else:
                found[i] = y

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for i in range(4):
        if i % 2:
            assert found[i] == np.sum((A * (i + 1)) ** 3 * A)
        else:
            assert np.allclose(found[i], 3 * (A * (i + 1)) ** 2 * A)


def test_a_backward_in_another_thread_than_the_forward():
    x = dispatch.tensor(A, requires_grad=True)
    y = np.sum(np.sin(x))
    thread = threading.Thread(target=y.backward)
    thread.start()
    thread.join()
    assert np.array_equal(x.grad, np.cos(A))
