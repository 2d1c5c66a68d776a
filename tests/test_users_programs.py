"""The programs of the threads that users of other systems wrote, in plain NumPy: what was asked there holds here.

Each test is named after its thread: hips is HIPS/autograd, jax is google/jax, pt is pytorch/pytorch, tj and tc are
tesseract-jax and tesseract-core. The programs are written anew, of the size and shape of those in the thread.
"""

from collections.abc import Callable
from typing import Any

import making
import numpy as np
import pytest
from duals import tangent

import dispatch
from dispatch import Residual, custom_op, grad, hessian, jacfwd, jacrev, jvp, value_and_grad, vjp, vmap
from dispatch.autograd import gradcheck
from dispatch.errors import ConversionError, GradientError, NoRuleError, UnsupportedError

leaf, said = making.leaf, making.said
A, B = np.array([0.5, 1.0, 2.0]), np.array([1.5, -1.0, 0.25])
BLOCK = "o write it into an array, make that of a tracked one: np.zeros_like(x, shape=...)."
STACKED = "make that of a tracked one: np.zeros_like(x, shape=...), or np.stack the pieces."

# -- 6. ordinary NumPy code --------------------------------------------------------------------------------------------------

Make = Callable[..., Any]
Program = Callable[[Any, Make], Any]


def of_kind(x: Any) -> Make:
    """`np.zeros`, of the kind of a value."""
    return lambda shape: np.zeros_like(x, shape=shape)


def filled_holds(program: Program, *arguments: Any) -> None:
    """A program that fills an array has the derivatives that it should, where the array is of the kind of what is written."""

    def f(x: Any) -> Any:
        return program(x, of_kind(x))

    def weighed(x: Any) -> Any:
        return np.sum(np.sin(f(x)))

    for x in arguments:
        assert np.array_equal(f(x), program(x, np.zeros))
        gradcheck(weighed, (leaf(x),))
        gradcheck(lambda x: np.sum(np.sin(grad(weighed)(x))), (leaf(x),))
        assert np.allclose(jacrev(f)(x), jacfwd(f)(x))
        t = np.cos(x)
        assert np.allclose(tangent(weighed, x, t), np.sum(grad(weighed)(x) * t))
        xs = np.stack([x, x * 0.5 + 0.25])
        assert np.allclose(vmap(f)(xs), [f(x) for x in xs])
        assert np.allclose(vmap(grad(weighed))(xs), [grad(weighed)(x) for x in xs])
        assert np.allclose(grad(lambda xs: np.sum(np.sin(vmap(f)(xs))))(xs), [grad(weighed)(x) for x in xs])


def zeros_refused(program: Program, x: Any, words: str = STACKED) -> None:
    """With an array of `np.zeros` the same program says what to write instead."""
    for run in (lambda: program(leaf(x), np.zeros), lambda: grad(lambda x: np.sum(program(x, np.zeros)))(x)):
        assert said(run, ConversionError).endswith(words)


def test_hips_58() -> None:
    def block(a: Any, zeros: Make) -> Any:
        b = zeros((4, 4))
        b[:2, :2] = a
        return b.sum()

    x = np.random.default_rng(0).normal(size=(2, 2))
    assert np.array_equal(grad(lambda a: block(a, of_kind(a)))(x), np.ones((2, 2)))
    filled_holds(block, x)
    zeros_refused(block, x, BLOCK)


def test_hips_375() -> None:
    def f(b: Any, zeros: Make) -> Any:
        c = zeros(2)
        c[0] = b[0] * b[0]
        c[1] = b[1] * b[0] + b[2]
        return c

    assert np.array_equal(jacrev(lambda b: f(b, of_kind(b)))(np.array([1.0, 2.0, 2.0])), [[2, 0, 0], [2, 1, 1]])
    filled_holds(f, A, B)
    zeros_refused(f, A)


def test_hips_375_where_each_element_needs_the_one_before() -> None:
    def f(x: Any, zeros: Make) -> Any:
        y = zeros(3)
        for i in range(3):
            y[i] = np.sin(x[i]) * (y[i - 1] if i else 1.0)
        return y * y

    filled_holds(f, A)
    zeros_refused(f, A)


def test_hips_177() -> None:
    """Two functions that are one; the one that fills an array had no gradient."""

    def at_once(param: Any) -> Any:
        return np.sum(np.sum(param * param[0], axis=1), axis=0)

    def one_by_one(param: Any, zeros: Make) -> Any:
        res = zeros(5)
        for m in range(5):
            res[m] = np.sum(param[m] * param[0])
        return np.sum(res)

    eta = np.random.default_rng(0).normal(size=(5, 3))
    assert np.allclose(grad(lambda p: one_by_one(p, of_kind(p)))(eta), grad(at_once)(eta))
    filled_holds(one_by_one, eta)
    zeros_refused(one_by_one, eta)


def test_hips_515() -> None:
    """A camera's matrix made of its parameters, by np.array of a nested list, and by writes into an array."""

    def projected(params: Any, matrix: Any) -> Any:
        k = matrix(params)
        return np.linalg.inv(k) @ np.array([0.5, 0.25, 1.0])

    def listed(p: Any) -> Any:
        return np.array([[p[0], p[1], 0.5], [0.0, p[2], 1.0], [0.0, 0.0, 1.0]])

    def like(p: Any) -> Any:
        return np.array([[p[0], p[1], 0.5], [0.0, p[2], 1.0], [0.0, 0.0, 1.0]], like=p)

    def written(p: Any, zeros: Make) -> Any:
        k = zeros((3, 3))
        k[0, :2], k[0, 2] = p[:2], 0.5
        k[1, 1:] = [p[2], 1.0]
        k[2, 2] = 1.0
        return k

    filled_holds(lambda p, zeros: projected(p, lambda p: written(p, zeros)), A)
    gradient = grad(lambda p: np.sum(projected(p, lambda p: written(p, of_kind(p)))))(A)
    assert np.allclose(grad(lambda p: np.sum(projected(p, like)))(A), gradient)
    text = said(lambda: grad(lambda p: np.sum(projected(p, listed)))(A), ConversionError)
    assert "dispatch.numpy.array([x, y]) for np.array([x, y])" in text


def test_hips_556() -> None:
    """A matrix of its entries, one assignment for two of them."""

    def symmetric(x: Any, zeros: Make) -> Any:
        m = zeros((3, 3))
        for i in range(3):
            for j in range(i + 1):
                m[i, j] = m[j, i] = x[i] * x[j] + x[j]
        return m @ m

    filled_holds(symmetric, A)
    zeros_refused(symmetric, A)


def test_hips_559() -> None:
    """The states of an integrator, row by row, each made of the one before."""

    def stepped(x: Any, zeros: Make) -> Any:
        states = zeros((5, 3))
        states[0] = x
        for k in range(4):
            states[k + 1, :] = states[k] + 0.1 * np.sin(states[k][::-1])
        return states[-1] * states[2]

    filled_holds(stepped, A)
    zeros_refused(stepped, A, BLOCK)


def filter_in_place(x: Any) -> Any:
    """The magnitude of a filter with two poles, its response divided in place: complex, of a real argument."""
    z = np.exp(1j * np.linspace(0, 3, 10))
    pole = np.exp(1j * x - 0.1)
    h = z + 1.0
    h /= (z - pole) * (z - np.conj(pole))
    return np.mean(np.abs(h))


def filter_of_values(x: Any) -> Any:
    z = np.exp(1j * np.linspace(0, 3, 10))
    pole = np.exp(1j * x - 0.1)
    h = (z + 1.0) / ((z - pole) * (z - np.conj(pole)))
    return np.mean(np.abs(h))


def test_hips_77() -> None:
    """`h /= tracked` on a plain array raises and says `h = h / tracked`, which gives the thread's numbers."""
    assert "Write a = a / x;" in said(lambda: grad(filter_in_place)(0.1), UnsupportedError)
    value, slope = value_and_grad(filter_of_values)(0.1)
    assert np.allclose((value, slope), (13.965532859262613, -107.22571311244289))  # of the thread
    assert np.allclose(filter_in_place(0.1), value)
    assert np.allclose(jvp(filter_of_values, (0.1,), (1.0,)), (value, slope))
    step = 1e-5
    slopes = [grad(filter_of_values)(0.1 + sign * step) for sign in (1, -1)]
    assert np.allclose(grad(grad(filter_of_values))(0.1), (slopes[0] - slopes[1]) / (2 * step))
    xs = np.array([0.1, 0.2])
    assert np.allclose(vmap(grad(filter_of_values))(xs), [grad(filter_of_values)(x) for x in xs])


def test_hips_77_of_a_tracked_array() -> None:
    def scaled(x: Any) -> Any:
        y = np.ones_like(x)
        y *= x
        y *= 2
        y -= x
        return np.sum(y**3)

    assert np.allclose(grad(scaled)(A), 3 * A**2)
    gradcheck(scaled, (leaf(A),))


def test_hips_423() -> None:
    """A linear function by np.dot: with NumPy itself imported, its Jacobian there was zeros and a warning."""
    matrix = np.arange(9.0).reshape(3, 3)
    x = np.arange(3.0)
    for f in (lambda x: np.dot(matrix, x), lambda x: matrix.dot(x) if isinstance(x, np.ndarray) else matrix @ x, lambda x: matrix @ x):
        for jacobian in (jacrev, jacfwd):
            assert np.array_equal(jacobian(f)(x), matrix)
        assert np.array_equal(grad(lambda x, f=f: np.sum(f(x)))(x), matrix.sum(0))
        assert np.array_equal(hessian(lambda x, f=f: np.dot(x, f(x)))(x), matrix + matrix.T)


def test_a_right_hand_side_as_solvers_want_it() -> None:
    def derivative(x: Any, zeros: Make) -> Any:
        dx = zeros(3)
        dx[:] = [x[1], -x[0], x[0] * x[1]]
        return dx * x

    filled_holds(derivative, A)


# -- 7. forward and backward together ----------------------------------------------------------------------------------------


def derived(op: Any, x: Any, key: str) -> tuple[str, str]:
    """What runs at a key, by the listing and by `explain`."""
    listed = next(what for name, what, _ in op.kernels.rows if name == key)
    return listed, op.explain(x).steps[0].runs


def test_jax_3996_a_backward_alone() -> None:
    op = making.recorded(
        "(Tensor x) -> Tensor",
        lambda x: np.sin(x) * x[::-1],
        lambda ctx, g: g * np.cos(ctx.x) * ctx.x[::-1] + (g * np.sin(ctx.x))[::-1],
        lambda ctx, inputs, output: setattr(ctx, "x", inputs[0]),
    )

    def oracle(x: Any) -> Any:
        return np.sin(x) * x[::-1]

    assert np.allclose(jvp(op, (A,), (B,)), jvp(oracle, (A,), (B,)))
    assert np.allclose(jacfwd(op)(A), jacrev(oracle)(A))
    assert np.allclose(hessian(lambda x: np.sum(np.sin(op(x))))(A), hessian(lambda x: np.sum(np.sin(oracle(x))))(A))
    seen = []
    jvp(lambda x: seen.append(derived(op, x, "JVP")) or x, (A,), (B,))
    assert seen == [("derived from the autograd rule", "derived from the autograd rule")]


def test_jax_3996_a_jvp_alone() -> None:
    op = making.define(
        "(Tensor x) -> Tensor",
        lambda x: np.sin(x) * x[::-1],
        jvp=lambda tangents, output, x: tangents[0] * np.cos(x) * x[::-1] + np.sin(x) * tangents[0][::-1],
    )

    def oracle(x: Any) -> Any:
        return np.sin(x) * x[::-1]

    assert np.allclose(grad(lambda x: np.sum(B * op(x)))(A), grad(lambda x: np.sum(B * oracle(x)))(A))
    assert np.allclose(jacrev(op)(A), jacrev(oracle)(A))
    assert np.allclose(vjp(op, A)[1](B)[0], vjp(oracle, A)[1](B)[0])
    assert np.allclose(hessian(lambda x: np.sum(np.sin(op(x))))(A), hessian(lambda x: np.sum(np.sin(oracle(x))))(A))
    assert derived(op, leaf(A), "AUTOGRAD") == ("derived from the jvp rule", "derived from the jvp rule")


def test_jax_3996_both() -> None:
    """The identity of the thread, whose two rules say who was asked."""
    asked: list[str] = []
    op = making.define(
        "(Tensor x) -> Tensor",
        np.copy,
        autograd=lambda ctx, g: asked.append("backward") or g,
        jvp=lambda tangents, output, x: asked.append("jvp") or tangents[0],
    )
    assert jacfwd(op)(1.0) == 1.0
    assert asked == ["jvp"]
    assert jacrev(op)(1.0) == 1.0
    assert asked == ["jvp", "backward"]


# -- 8. vmap -----------------------------------------------------------------------------------------------------------------

METHODS = ["sequential", "expand_dims", "broadcast_all", "broadcast"]


@pytest.mark.parametrize(
    ("method", "shapes"),
    [
        ("sequential", [((), (), ())] * 20),
        ("expand_dims", [((4, 1), (1, 5), (1, 1))]),
        ("broadcast_all", [((4, 5), (4, 5), (4, 5))]),
        ("broadcast", [((4, 5), (4, 5), ())]),
    ],
)
@pytest.mark.parametrize("swapped", [False, True])
def test_jax_23624(method: str, shapes: list[Any], swapped: bool) -> None:
    """Two maps of a callback: x is mapped by one, y by the other, z by none. Each method has one documented shape."""
    seen = []

    def kernel(x: Any, y: Any, z: Any) -> Any:
        seen.append((np.shape(x), np.shape(y), np.shape(z)))
        return x + y + z

    op = making.batched("(Tensor x, Tensor y, Tensor z) -> Tensor", kernel, method)
    x, y, z = np.arange(4.0), np.arange(5.0), np.array(1.0)
    f = vmap(vmap(op, in_dims=(None, 0, None)), in_dims=(0, None, None))
    if swapped:
        f = vmap(vmap(op, in_dims=(0, None, None)), in_dims=(None, 0, None), out_dims=1)
        shapes = [tuple([tuple(np.array(s)[[1, 0]]) if len(s) == 2 else s for s in call]) for call in shapes]
    assert np.array_equal(f(x, y, z), x[:, None] + y + z)
    assert seen == shapes


@pytest.mark.parametrize("method", METHODS)
def test_jax_17187(method: str) -> None:
    """matmul mapped twice, with an argument of the outer map alone: the inner one gave it no axis, and the batches did not broadcast."""
    op = making.batched("(Tensor a, Tensor b) -> Tensor", np.matmul, method)
    random = np.random.default_rng(0)
    a, b = random.normal(size=(8, 4, 2, 5)), random.normal(size=(8, 5, 2))
    found = vmap(vmap(op, in_dims=(0, None)))(a, b)
    assert found.shape == (8, 4, 2, 2)
    assert np.allclose(found, a @ b[:, None])
    assert np.allclose(vmap(op, in_dims=(1, None))(a[0].swapaxes(0, 1), b[0]), a[0] @ b[0])


@pytest.mark.parametrize("method", METHODS)
def test_jax_19978(method: str) -> None:
    """An axis that is not the first."""
    op = making.batched("(Tensor x) -> Tensor", lambda x: x * 1, method)
    s = np.arange(24.0).reshape(2, 3, 4)
    assert np.array_equal(vmap(op, in_dims=1, out_dims=1)(s), s)


# -- 11. no wrong number in silence ------------------------------------------------------------------------------------------


@custom_op("users::square", mutates_args=())
def square(x: np.ndarray) -> tuple[np.ndarray, Residual]:
    """What its forward made on the way is kept for its backward, as `ctx.foo` in the thread."""
    middle = x * 2
    return middle**2, middle


@square.register_autograd
def _(ctx: Any, g: Any) -> Any:
    return 2 * 2 * ctx.residual * g


ASKED = {
    "grad of grad": lambda op: grad(lambda x: np.sum(grad(lambda x: np.sum(op(x)))(x)))(A),
    "create_graph": lambda op: twice_by_create_graph(op),
    "hessian": lambda op: hessian(lambda x: np.sum(op(x)))(A),
    "jacrev of grad": lambda op: jacrev(grad(lambda x: np.sum(op(x))))(A),
    "jvp of grad": lambda op: jvp(grad(lambda x: np.sum(op(x))), (A,), (B,)),
}


def twice_by_create_graph(op: Any) -> Any:
    x = leaf(A)
    (first,) = dispatch.autograd.grad(np.sum(op(x)), x, create_graph=True)
    return dispatch.autograd.grad(np.sum(first), x)[0]


@pytest.mark.parametrize("second", ASKED.values(), ids=ASKED)
def test_pt_58509(second: Any) -> None:
    gradcheck(square, (leaf(A),))
    assert said(lambda: second(square), GradientError).startswith("a second derivative was asked of users::square")


@pytest.mark.parametrize("second", ASKED.values(), ids=ASKED)
@pytest.mark.parametrize("keep", [dispatch.detach, lambda x: x.detach(), lambda x: np.stack([v.item() for v in x])])
def test_pt_58509_on_ctx(second: Any, keep: Any) -> None:
    op = making.recorded(
        "(Tensor x) -> Tensor",
        lambda x: (x * 2) ** 2,
        lambda ctx, g: 2 * 2 * ctx.foo * g,
        lambda ctx, inputs, output: setattr(ctx, "foo", keep(inputs[0]) * 2),
    )
    assert np.allclose(grad(lambda x: np.sum(op(x)))(A), 8 * A)
    with pytest.raises(GradientError, match=r"second derivative|once-differentiable|differentiated once"):
        second(op)


def test_pt_18619() -> None:
    """An output kept for the backward: there a second evaluation of the second derivative failed."""
    op = making.recorded(
        "(Tensor x) -> Tensor",
        lambda x: x**2,
        lambda ctx, g: g * 2 * ctx.saved_tensors[1] / ctx.saved_tensors[0],
        lambda ctx, inputs, output: ctx.save_for_backward(*inputs, output),
    )
    x = leaf(2.0)
    y = op(x)
    for _ in range(2):
        (first,) = dispatch.autograd.grad(y, x, create_graph=True)
        assert dispatch.detach(first) == 4
        assert dispatch.autograd.grad(first, x, retain_graph=True)[0] == 2
    assert grad(grad(grad(lambda x: op(x) * x)))(2.0) == 6


def test_pt_122198() -> None:
    """A backward made of operators has the Hessian of its function, and one of a library's code raises: neither gives zeros."""

    def cube(backward: Any) -> Any:
        return making.recorded(
            "(Tensor x) -> Tensor", lambda x: x**3, backward, lambda ctx, inputs, output: ctx.save_for_backward(*inputs)
        )

    made = cube(lambda ctx, g: g * 3 * ctx.saved_tensors[0] ** 2)
    assert np.allclose(hessian(lambda x: np.sum(made(x)))(A), np.diag(6 * A))
    opaque = cube(lambda ctx, g: np.asarray(g) * 3 * np.asarray(ctx.saved_tensors[0]) ** 2)
    assert np.allclose(grad(lambda x: np.sum(opaque(x)))(A), 3 * A**2)
    for second in ASKED.values():
        with pytest.raises((GradientError, ConversionError, NoRuleError), match="asked of"):
            second(opaque)


# -- 12. one solve -----------------------------------------------------------------------------------------------------------


class Solver:
    """A solver of a library: it counts what it does, and its factorisation is no array."""

    def __init__(self) -> None:
        self.factorised = self.solved = 0

    def factorise(self, a: Any) -> "Factor":
        self.factorised += 1
        return Factor(self, np.linalg.inv(a))


class Factor:
    def __init__(self, owner: Solver, inverse: Any) -> None:
        self.owner, self.inverse = owner, inverse

    def solve(self, b: Any) -> Any:
        self.owner.solved += 1
        return self.inverse @ b


def test_tj_27() -> None:
    """The value is needed in the loss and in its gradient, and the factorisation in both: one forward, one factorisation."""
    solver = Solver()

    def kernel(a: Any, b: Any) -> Any:
        factor = solver.factorise(a)
        return factor.solve(b), factor

    def backward(ctx: Any, g: Any) -> Any:
        w = pulled(ctx.residual, g)
        return -np.outer(w, *ctx.saved_tensors), w

    pulled = making.made("(Residual factor, Tensor g) -> Tensor", lambda factor, g: factor.inverse.T @ g)
    op = making.recorded(
        "(Tensor a, Tensor b) -> (Tensor, Residual)",
        kernel,
        backward,
        lambda ctx, inputs, output: ctx.save_for_backward(output),
    )
    a = np.random.default_rng(0).normal(size=(3, 3)) + 3 * np.eye(3)
    value, (da, db) = value_and_grad(lambda a, b: np.sum(op(a, b) ** 2), (0, 1))(a, B)
    assert (solver.factorised, solver.solved) == (1, 1)
    x = np.linalg.solve(a, B)
    assert np.allclose(value, np.sum(x**2))
    oracle = grad(lambda a, b: np.sum(np.linalg.solve(a, b) ** 2), (0, 1))(a, B)
    assert np.allclose(da, oracle[0])
    assert np.allclose(db, oracle[1])
    pullback = vjp(op, a, B)[1]
    for g in np.eye(3):
        pullback(g)
    assert solver.factorised == 2


@pytest.mark.parametrize("batched", [False, True])
def test_tc_244(batched: bool) -> None:
    """The Jacobian of an operator with n outputs, which was one forward for each of them; the pullbacks too may come as one."""
    runs: list[str] = []
    pulls: list[Any] = []
    matrix = np.random.default_rng(0).normal(size=(5, 3))

    def backward(ctx: Any, g: Any) -> Any:
        pulls.append(np.shape(g))
        return g * ctx.residual @ matrix

    op = making.made("(Tensor x) -> (Tensor, Residual)", lambda x: runs.append("forward") or (np.sin(matrix @ x), np.cos(matrix @ x)))
    op.register_autograd(backward, batched=batched)
    assert np.allclose(jacrev(op)(A), np.cos(matrix @ A)[:, None] * matrix)
    assert runs == ["forward"]
    assert pulls == [(5, 5)] if batched else len(pulls) <= 5
    value, gradient = value_and_grad(lambda x: np.sum(op(x)))(A)
    assert runs == ["forward"] * 2
    assert np.allclose(value, np.sum(np.sin(matrix @ A)))
    assert np.allclose(gradient, np.cos(matrix @ A) @ matrix)
