"""Derivatives from one source, whatever its form: gradients, tangents, second derivatives and batches of each agree."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import making
import numpy as np
import pytest

import dispatch
from dispatch import custom_op, grad, library, value_and_grad, vmap
from dispatch.autodiff.rules.implicit import pulled_back, pushed_forward
from dispatch.errors import DefinitionError, GradientError

said = making.said
RNG = np.random.default_rng(0)
V = np.array([0.4, 1.1, 1.9])
MATRIX = np.array([[3.0, 0.5, -0.2], [0.1, 2.0, 0.7], [0.3, -0.4, 4.0]])
ECCENTRICITY = np.array([0.1, 0.2, 0.3])

_numbers = itertools.count()


@dataclass
class Case:
    """An operator of plain code with its derivative in one form, and how often its kernel was called."""

    text: str
    kernel: Callable[..., Any]
    sources: dict[str, Any]
    args: tuple[Any, ...]
    backward: Any = None
    twice: bool = True
    calls: list[int] = field(default_factory=list)

    def make(self) -> Any:
        calls: list[int] = []

        def counted(*args: Any) -> Any:
            assert all(type(x) is np.ndarray for x in args if hasattr(x, "shape"))
            calls.append(1)
            return self.kernel(*args)

        op = making.define(self.text, counted)
        back = () if self.backward is None else (self.backward,)
        op.register_autograd(*back, **self.sources)
        self.calls = calls
        return op


def outer(x, y):
    return np.outer(np.sin(x), y)


def outer_jacobian(x, y):
    rows = np.reshape(np.cos(x), (3, 1, 1)) * np.reshape(y, (1, 2, 1)) * np.reshape(np.eye(3), (3, 1, 3))
    columns = np.reshape(np.sin(x), (3, 1, 1)) * np.reshape(np.eye(2), (1, 2, 2))
    return rows, columns


def kepler(M, e):
    E = M.copy()
    for _ in range(60):
        E = E - (E - e * np.sin(E) - M) / (1 - e * np.cos(E))
    return E


def matrix_product_back(ctx, g):
    A, x = ctx.saved_tensors
    return np.reshape(g, (-1, 1)) * x, A.T @ g


two = (V, np.array([0.3, -0.8]))
CASES = {
    "elementwise": Case("(Tensor x) -> Tensor", lambda x: x**3, {"elementwise": lambda x: 3 * x**2}, (V,)),
    "elementwise of out": Case("(Tensor x) -> Tensor", np.exp, {"elementwise": lambda out: out}, (V,)),
    "elementwise, broadcast": Case(
        "(Tensor y, Tensor x) -> Tensor",
        np.arctan2,
        {"elementwise": (lambda x, y: x / (x * x + y * y), lambda x, y: -y / (x * x + y * y))},
        (V, np.array([[0.5], [0.7]])),
    ),
    "elementwise by name, a number": Case(
        "(Tensor x, Tensor y, float c) -> Tensor",
        lambda x, y, c: x * y + 2 * x + c,
        {"elementwise": {"y": lambda x: x, "x": lambda y: y + 2}},
        (V, V + 1, 3.0),
    ),
    "linear": Case("(Tensor x) -> Tensor", lambda x: MATRIX[:2] @ x, {"linear": True}, (V,)),
    "linear, jointly": Case("(Tensor x, Tensor y) -> Tensor", lambda x, y: 2 * x[:2] - y, {"linear": True}, two),
    "linear, several outputs": Case(
        "(Tensor x, Tensor y) -> (Tensor, Tensor)", lambda x, y: (x[::-1] * 2, x[:2] - y), {"linear": ["x", "y"]}, two
    ),
    "linear, with its transpose": Case(
        "(Tensor A, Tensor x) -> Tensor",
        lambda A, x: A @ x,
        {"linear": "x", "setup_context": lambda ctx, inputs, output: ctx.save_for_backward(*inputs)},
        (MATRIX[:2], V),
        backward=matrix_product_back,
    ),
    "jacobian": Case("(Tensor x) -> Tensor", lambda x: np.sin(x).sum() * x, {
        "jacobian": lambda x: np.sum(np.sin(x)) * np.eye(3) + np.reshape(x, (3, 1)) * np.cos(x)
    }, (V,)),
    "jacobian, to a number": Case("(Tensor x) -> Tensor", lambda x: np.sum(x**3), {"jacobian": lambda x: 3 * x**2}, (V,)),
    "jacobians": Case("(Tensor x, Tensor y) -> Tensor", outer, {"jacobian": outer_jacobian}, two),
    "implicit, dense": Case(
        "(Tensor M, Tensor e) -> Tensor", kepler, {"implicit": lambda E, M, e: E - e * np.sin(E) - M}, (V, ECCENTRICITY)
    ),
    "implicit, a solve": Case(
        "(Tensor M, Tensor e) -> Tensor",
        kepler,
        {"implicit": (lambda E, M, e: E - e * np.sin(E) - M, lambda A, b: b / A(np.ones_like(b)))},
        (V, ECCENTRICITY),
    ),
    "implicit, a linear system": Case(
        "(Tensor A, Tensor b) -> Tensor", np.linalg.solve, {"implicit": (lambda y, A, b: A @ y - b, None)}, (MATRIX, V)
    ),
    "finite differences": Case("(Tensor x, Tensor y) -> Tensor", outer, {"finite_difference": True}, two, twice=False),
    "finite differences, a step": Case("(Tensor x) -> Tensor", np.sin, {"finite_difference": 1e-5}, (V,), twice=False),
}  # fmt: skip
EVERY = pytest.mark.parametrize("case", CASES.values(), ids=CASES)
TWICE = pytest.mark.parametrize("case", [c for c in CASES.values() if c.twice], ids=[n for n, c in CASES.items() if c.twice])


def floating(case):
    return [i for i, x in enumerate(case.args) if isinstance(x, np.ndarray)]


def reading(case, op, i):
    """A function of one argument that sees every output through a curve."""

    def f(x):
        found = op(*[x if j == i else y for j, y in enumerate(case.args)])
        return sum((np.sum(np.sin(y)) for y in (found if isinstance(found, tuple) else (found,))), np.zeros(()))

    return f


def differences(f, x, h=1e-5):
    out = np.zeros((*np.shape(f(x)), *x.shape))
    for k in np.ndindex(x.shape):
        step = np.zeros(x.shape)
        step[k] = h
        out[(..., *k)] = (f(x + step) - f(x - step)) / (2 * h)
    return out


@EVERY
def test_gradients_are_those_of_differences(case):
    op = case.make()
    for i in floating(case):
        f = reading(case, op, i)
        assert np.allclose(grad(f)(case.args[i]), differences(f, case.args[i]), atol=1e-7)


@EVERY
def test_tangents_are_those_of_gradients(case):
    op = case.make()
    for i in floating(case):
        f, x = reading(case, op, i), case.args[i]
        t = RNG.standard_normal(x.shape)
        assert np.allclose(pushed_forward(f, [x], [t]), np.sum(grad(f)(x) * t), atol=1e-7)


@EVERY
def test_all_arguments_at_once(case):
    op, at = case.make(), floating(case)
    values = [case.args[i] for i in at]

    def f(*xs):
        given = dict(zip(at, xs, strict=True))
        found = op(*[given.get(j, y) for j, y in enumerate(case.args)])
        return sum((np.sum(np.sin(y)) for y in (found if isinstance(found, tuple) else (found,))), np.zeros(()))

    tangents = [RNG.standard_normal(x.shape) for x in values]
    grads = grad(f, tuple(range(len(at))))(*values)
    assert np.allclose(
        pushed_forward(f, values, tangents), sum(np.sum(g * t) for g, t in zip(grads, tangents, strict=True)), atol=1e-7
    )


@TWICE
def test_second_derivatives_nest_in_any_order(case):
    def check(f, x, t):
        wanted = np.tensordot(t, differences(grad(f), x), x.ndim)
        assert np.allclose(grad(lambda x: np.sum(grad(f)(x) * t))(x), wanted, atol=1e-6)
        assert np.allclose(pushed_forward(grad(f), [x], [t]), wanted, atol=1e-6)
        assert np.allclose(grad(lambda x: pushed_forward(f, [x], [t]))(x), wanted, atol=1e-6)
        curved = pushed_forward(lambda x: pushed_forward(f, [x], [t]), [x], [t])
        assert np.allclose(curved, np.sum(wanted * t), atol=1e-6)

    op = case.make()
    for i in floating(case):
        check(reading(case, op, i), case.args[i], RNG.standard_normal(case.args[i].shape))


@TWICE
def test_a_leaf_that_is_differentiated_twice(case):
    op = case.make()
    i = floating(case)[0]
    f, x = reading(case, op, i), making.leaf(case.args[i])
    f(x).backward(create_graph=True)
    first, x.grad = x.grad, None
    np.sum(first * 2).backward()
    assert np.allclose(x.grad, 2 * np.sum(differences(grad(f), case.args[i]), axis=tuple(range(x.ndim))), atol=1e-6)


@EVERY
def test_batches_of_gradients_and_gradients_of_batches_are_loops(case):
    op, i = case.make(), floating(case)[0]
    f = reading(case, op, i)
    xs = np.stack([case.args[i], case.args[i] * 1.1])
    wanted = np.stack([grad(f)(x) for x in xs])
    assert np.allclose(vmap(grad(f))(xs), wanted, atol=1e-9)
    assert np.allclose(grad(lambda xs: np.sum(vmap(f)(xs)))(xs), wanted, atol=1e-9)
    ts = RNG.standard_normal(xs.shape)
    pushed = vmap(lambda x, t: pushed_forward(f, [x], [t]))(xs, ts)
    assert np.allclose(pushed, np.sum(wanted * ts, axis=tuple(range(1, xs.ndim))), atol=1e-7)


@EVERY
def test_a_batch_of_cotangents_is_the_jacobian(case):
    op, i = case.make(), floating(case)[0]

    def f(x):
        found = op(*[x if j == i else y for j, y in enumerate(case.args)])
        return found[0] if isinstance(found, tuple) else found

    x = case.args[i]
    shape = f(x).shape
    units = np.eye(int(np.prod(shape))).reshape(-1, *shape)
    rows = vmap(lambda g: pulled_back(f, [x], g)[0])(units)
    assert np.allclose(rows.reshape(*shape, *x.shape), differences(f, x), atol=1e-7)


@pytest.mark.parametrize("name", [n for n in CASES if not n.startswith(("finite", "linear"))])
def test_the_forward_runs_once_for_value_and_gradient_and_for_every_row(name):
    case = CASES[name]
    op, i = case.make(), floating(case)[0]
    value_and_grad(reading(case, op, i))(case.args[i])
    asked = name.startswith("elementwise") and all(a.type.has_tensor or a.has_default for a in op.schema.arguments)
    assert len(case.calls) == (3 if asked else 1)  # at the first derivative it is held to what it says
    case.calls.clear()
    value_and_grad(reading(case, op, i))(case.args[i])
    assert len(case.calls) == 1
    out = op(*case.args)
    case.calls.clear()
    units = np.eye(out.size).reshape(-1, *out.shape)
    vmap(lambda g: pulled_back(lambda x: op(*[x if j == i else y for j, y in enumerate(case.args)]), [case.args[i]], g)[0])(
        units
    )
    assert len(case.calls) == 1


def test_finite_differences_call_the_kernel_twice_an_element_and_a_tangent_takes_two_calls():
    case = CASES["finite differences"]
    op = case.make()
    grad(reading(case, op, 0))(V)
    assert len(case.calls) == 1 + 2 * V.size
    case.calls.clear()
    pushed_forward(reading(case, op, 0), [V], [V])
    assert len(case.calls) == 1 + 2
    case.calls.clear()
    vmap(lambda g: pulled_back(lambda x: op(x, case.args[1]), [V], g)[0])(np.ones((5, 3, 2)))
    assert len(case.calls) == 1 + 2 * V.size  # whatever the number of cotangents


@pytest.mark.parametrize("name", ["finite differences", "finite differences, a step"])
@pytest.mark.parametrize(
    "twice",
    [
        lambda f, x: grad(lambda x: np.sum(grad(f)(x)))(x),
        lambda f, x: pushed_forward(grad(f), [x], [x]),
        lambda f, x: grad(lambda x: pushed_forward(f, [x], [np.ones(3)]))(x),
        lambda f, x: pushed_forward(lambda x: pushed_forward(f, [x], [np.ones(3)]), [x], [x]),
    ],
    ids=["reverse over reverse", "forward over reverse", "reverse over forward", "forward over forward"],
)
def test_finite_differences_once(name, twice):
    case = CASES[name]
    op = case.make()
    assert said(lambda: twice(reading(case, op, 0), V), GradientError) == (
        f"a second derivative was asked of {op.name}, whose derivative is made of finite differences: differences of those would "
        "be noise. Give it a backward, a jacobian or a jvp rule for second derivatives."
    )


# -- which source ----------------------------------------------------------------------------------------------------------


def cube():
    return making.define("(Tensor x) -> Tensor", lambda x: x**3)


def test_one_source():
    op = cube()
    message = (
        f"{op.name}: register_autograd takes one source of the derivative, and got {{}}. Keep one; a backward may stand beside "
        "linear= alone, as its transpose."
    )
    both = {"jacobian": lambda x: x}
    wanted = message.format("backward and jacobian=")
    assert said(lambda: op.register_autograd(lambda ctx, g: g, **both), DefinitionError) == wanted
    assert said(lambda: library.register_autograd(op, lambda ctx, g: g, **both), DefinitionError) == wanted
    wanted = message.format("elementwise= and linear=")
    assert said(lambda: op.register_autograd(elementwise=1.0, linear=True), DefinitionError) == wanted
    wanted = message.format("linear= and elementwise=")
    assert said(lambda: library.register_autograd(op, elementwise=1.0, linear=True), DefinitionError) == wanted
    assert all(r.layer is None for r in op.table.all())


def test_a_keyword_that_is_none():
    op = cube()
    assert said(lambda: op.register_autograd(jacobain=lambda x: x), DefinitionError) == (
        f"{op.name}: register_autograd has no keyword 'jacobain'. Did you mean 'jacobian'? Sources of a derivative: backward, "
        "elementwise=, finite_difference=, implicit=, jacobian=, linear=. Beside a backward stands setup_context=."
    )


@pytest.mark.parametrize(("name", "value"), [("setup_context", lambda ctx, inputs, output: None), ("batched", True)])
def test_what_goes_along_with_a_backward(name, value):
    op = cube()
    assert said(lambda: op.register_autograd(elementwise=1.0, **{name: value}), DefinitionError) == (
        f"{op.name}: {name}= goes with a backward, and elementwise= was given without one. Leave it out."
    )


@pytest.mark.parametrize(
    ("text", "what"), [("(Tensor(a!) x) -> ()", "writes to its arguments"), ("(Tensor x) -> ()", "returns nothing")]
)
@pytest.mark.parametrize("given", [{"elementwise": 1.0}, {"linear": True}, {"finite_difference": True}])
def test_operators_without_results_of_their_own(text, what, given):
    op = making.define(text, lambda x: None)
    assert said(lambda: op.register_autograd(**given), DefinitionError) == (
        f"{op.name} {what}, and {next(iter(given))}= is for operators that return arrays alone. Give a backward."
    )


def test_a_form_comes_and_goes_with_a_library():
    @custom_op("forms_lib::cube", mutates_args=())
    def op(x: np.ndarray) -> np.ndarray:
        return x**3

    lib = library.Library("forms_lib", "FRAGMENT")
    library.register_autograd("forms_lib::cube", elementwise=lambda x: 3 * x**2, lib=lib)
    assert np.allclose(grad(lambda x: np.sum(op(x)))(V), 3 * V**2)
    assert np.allclose(pushed_forward(op, [V], [V]), 3 * V**3)
    lib.destroy()
    for ask in (lambda: grad(lambda x: np.sum(op(x)))(V), lambda: pushed_forward(op, [V], [V])):
        with pytest.raises(dispatch.errors.NoRuleError):
            ask()


def test_the_newest_source_counts_in_both_directions():
    op = cube()
    for factor in (2.0, 5.0):
        op.register_autograd(elementwise=factor)
        assert np.allclose(grad(lambda x: np.sum(op(x)))(V), factor)
        assert np.allclose(pushed_forward(op, [V], [V]), factor * V)
    op.register_autograd(lambda ctx, g: 7 * g)
    assert np.allclose(pushed_forward(op, [V], [V]), 7 * V)


def test_listings_say_where_it_was_written():
    op = cube()
    op.register_autograd(elementwise=lambda x: 3 * x**2)
    grad(lambda x: np.sum(op(x)))(V)
    assert "AUTOGRAD" in repr(op.kernels)
    assert "test_rules.py" in repr(op.kernels)
