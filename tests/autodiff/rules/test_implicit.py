"""Operators that solve an equation: closed forms to the third derivative, users' solves, complex values, and batches of both."""

import making
import numpy as np
import pytest

import dispatch
from dispatch import eval_shape, grad, jacrev, make_fx, vmap
from dispatch.autodiff.rules.implicit import pulled_back, pushed_forward
from dispatch.errors import DefinitionError, GradientError

said, define = making.said, making.define
A = np.array([0.5, 1.0, 2.0])
MATRIX = np.array([[3.0, 0.5, -0.2], [0.1, 2.0, 0.7], [0.3, -0.4, 4.0]])


def root(solve=None):
    """y**2 == x, by Newton's method in plain code."""
    op = define("(Tensor x) -> Tensor", lambda x: np.sqrt(x))
    op.register_autograd(implicit=(lambda y, x: y * y - x, solve))
    return op


SOLVES = {"dense": None, "of a diagonal": lambda F, b: b / F(np.ones_like(b))}


@pytest.mark.parametrize("solve", SOLVES.values(), ids=SOLVES)
def test_three_derivatives_of_a_closed_form(solve):
    op = root(solve)
    first = grad(lambda x: np.sum(op(x)))
    second = grad(lambda x: np.sum(first(x)))
    third = grad(lambda x: np.sum(second(x)))
    assert np.allclose(first(A), 0.5 * A**-0.5)
    assert np.allclose(second(A), -0.25 * A**-1.5)
    assert np.allclose(third(A), 0.375 * A**-2.5)
    ones = np.ones(3)
    assert np.allclose(pushed_forward(second, [A], [ones]), 0.375 * A**-2.5)
    assert np.allclose(pushed_forward(lambda x: pushed_forward(op, [x], [ones]), [A], [ones]), -0.25 * A**-1.5)


@pytest.mark.parametrize("solve", SOLVES.values(), ids=SOLVES)
@pytest.mark.parametrize("mode", ["real", "fake", "symbolic"])
def test_a_graph_has_the_solve_as_one_call(mode, solve):
    op = root(solve)
    op.register_fake(lambda x: np.empty_like(x))
    first = grad(lambda x: np.sum(op(x)))
    graph = make_fx(first, mode)(A)
    assert [node.name for node in graph.nodes].count("linear_solve") == 1
    assert np.allclose(graph(A + 1), 0.5 * (A + 1) ** -0.5)
    second = make_fx(jacrev(first), mode)(A)
    assert np.allclose(second(A + 1), np.diag(-0.25 * (A + 1) ** -1.5))
    assert eval_shape(jacrev(first), A).shape == (3, 3)
    assert np.allclose(dispatch.compile(first)(A), first(A))


def test_the_transposed_system_is_solved_for_a_gradient():
    asked = []

    def solve(F, b):
        columns = np.stack([F(e) for e in np.eye(3)], axis=1)
        asked.append(columns)
        return np.linalg.solve(columns, b)

    op = define("(Tensor A, Tensor b) -> Tensor", np.linalg.solve)
    op.register_autograd(implicit=(lambda y, A, b: A @ y - b, solve))
    assert np.allclose(pulled_back(lambda b: op(MATRIX, b), [A], A)[0], np.linalg.solve(MATRIX.T, A))
    assert np.allclose(pushed_forward(lambda b: op(MATRIX, b), [A], [A]), np.linalg.solve(MATRIX, A))
    assert np.allclose(asked, [MATRIX.T, MATRIX])


def test_a_solve_that_raises_says_how_it_is_called():
    op = root(lambda y, x: y * y - x)  # a residual in its place
    with pytest.raises(TypeError) as caught:
        grad(lambda x: np.sum(op(x)))(A)
    assert caught.value.__notes__[0] == (
        f"{op.name}: the solve of implicit=(residual, solve) is called as solve(A, b), with A a function, v -> A v."
    )


@pytest.mark.parametrize("solve", SOLVES.values(), ids=SOLVES)
def test_a_solve_gets_plain_arrays_under_every_transform(solve):
    def plain(F, b):
        assert type(b) is np.ndarray
        assert type(F(b)) is np.ndarray
        return SOLVES["of a diagonal"](F, b)

    op = root(None if solve is None else plain)
    xs = np.stack([A, 2 * A])
    f = grad(lambda x: np.sum(np.sin(op(x))))
    slope = lambda x: np.cos(np.sqrt(x)) * 0.5 / np.sqrt(x)
    curve = lambda x: -np.sin(np.sqrt(x)) / (4 * x) - np.cos(np.sqrt(x)) / (4 * x**1.5)
    assert np.allclose(vmap(f)(xs), slope(xs))
    assert np.allclose(grad(lambda xs: np.sum(vmap(f)(xs)))(xs), curve(xs))
    assert np.allclose(vmap(grad(lambda x: np.sum(f(x))))(xs), curve(xs))
    assert np.allclose(vmap(lambda x, t: pushed_forward(f, [x], [t]))(xs, xs), curve(xs) * xs)


@pytest.mark.parametrize("solve", SOLVES.values(), ids=SOLVES)
def test_batches_of_cotangents_are_differentiable(solve):
    """One system, many right-hand sides, and the derivative of those in the system."""
    op = root(solve)
    rows = lambda x: vmap(lambda g: pulled_back(op, [x], g)[0])(np.eye(3))
    assert np.allclose(rows(A), np.diag(0.5 * A**-0.5))
    assert np.allclose(grad(lambda x: np.sum(rows(x) * MATRIX))(A), np.diag(MATRIX) * -0.25 * A**-1.5)
    assert np.allclose(pushed_forward(rows, [A], [A]), np.diag(-0.25 * A**-0.5))
    twice = vmap(vmap(lambda g: pulled_back(op, [A], g)[0]))(np.stack([np.eye(3), MATRIX]))
    assert np.allclose(twice, np.stack([np.eye(3), MATRIX]) * 0.5 * A**-0.5)


def test_no_right_hand_sides():
    assert vmap(lambda g: pulled_back(root(), [A], g)[0])(np.zeros((0, 3))).shape == (0, 3)
    op = root()
    op.register_fake(lambda x: x)
    assert vmap(grad(lambda x: np.sum(op(x))))(np.zeros((0, 3))).shape == (0, 3)


def test_complex_values():
    z = A + 1j * A[::-1]
    op = root()
    assert np.allclose(pushed_forward(op, [z], [z]), 0.5 * np.sqrt(z))
    assert np.allclose(grad(lambda z: np.sum(np.real(op(z))))(z), np.conjugate(0.5 / np.sqrt(z)))


def test_other_arguments_go_along():
    op = define(
        "(Tensor x, int n, Tensor[] more, Tensor? none) -> (Tensor, Residual)",
        lambda x, n, more, none: (x ** (1 / n) + more[0], "kept"),
    )

    def residual(y, x, n, more, none):
        assert none is None
        return (y - more[0]) ** n - x

    op.register_autograd(implicit=residual)
    f = lambda x, m: np.sum(op(x, 3, [m, np.arange(3)], None))
    gx, gm = grad(f, (0, 1))(A, A)
    assert np.allclose(gx, A ** (-2 / 3) / 3)
    assert np.allclose(gm, 1)
    assert np.allclose(pushed_forward(f, [A, A], [A, A]), np.sum(A ** (1 / 3) / 3 + A))


def test_an_argument_that_the_equation_does_not_read():
    op = define("(Tensor x, Tensor y) -> Tensor", lambda x, y: np.sqrt(x))
    op.register_autograd(implicit=lambda out, x, y: out * out - x)
    assert np.array_equal(grad(lambda y: np.sum(op(A, y)))(A), np.zeros(3))
    assert np.array_equal(pushed_forward(lambda y: op(A, y), [A], [A]), np.zeros(3))


def test_a_singular_system_raises_and_says_where():
    op = define("(Tensor x) -> Tensor", lambda x: x * 1)
    op.register_autograd(implicit=lambda y, x: 0 * y - 0 * x)
    with pytest.raises(np.linalg.LinAlgError) as caught:
        grad(lambda x: np.sum(op(x)))(A)
    assert f"in the backward of {op.name}" in caught.value.__notes__


@pytest.mark.parametrize(("gives", "got"), [(lambda y: np.sum(y), "of shape ()"), (lambda y: "text", "a str")])
def test_a_residual_of_another_shape(gives, got):
    op = define("(Tensor x) -> Tensor", lambda x: x * 1)
    op.register_autograd(implicit=lambda y, x: gives(y))
    for ask in (lambda: grad(lambda x: np.sum(op(x)))(A), lambda: pushed_forward(op, [A], [A])):
        assert said(ask, GradientError) == (
            f"{op.name}: its residual gave {got}, and the output has shape (3,). A residual is one equation for each element of "
            "the output."
        )


def test_a_solution_of_another_shape():
    op = root(lambda F, b: b.sum())
    assert said(lambda: grad(lambda x: np.sum(op(x)))(A), GradientError) == (
        f"{op.name}: the solve of its implicit= returned () as the shape of a solution, and the right-hand side has (3,). Return "
        "x with A(x) == b, both of the output's shape."
    )


@pytest.mark.parametrize(
    ("text", "given", "message"),
    [
        ("(Tensor x) -> (Tensor, Tensor)", lambda y, x: y, " is for operators that return one array, the solution of one equation. Give a backward; or stack the outputs."),
        ("(Tensor x) -> Tensor", 3, ": the residual of implicit= is a function, and an int was given."),
        ("(Tensor x) -> Tensor", (lambda y, x: y, 3), ": the solve of implicit= is a function, and an int was given."),
        ("(Tensor x) -> Tensor", lambda y, z, w: y, ": the residual takes (z, w), and the operator (x). Rules bind by parameter name: give the rule the operator's own names, in its order."),
    ],
)  # fmt: skip
def test_what_does_not_fit(text, given, message):
    op = define(text, lambda x: x)
    who = f"{op.name}: implicit=" if message.startswith(" ") else op.name
    assert said(lambda: op.register_autograd(implicit=given), DefinitionError) == who + message


@pytest.mark.parametrize("residual", [lambda y, a: y**2 - a, lambda y, a: a - y, lambda y, a: y**3 + a, lambda y, a: y - a])
def test_a_residual_that_the_output_does_not_solve_is_refused_at_each_derivative(residual):
    op = define("(Tensor a) -> Tensor", np.cbrt)
    op.register_autograd(implicit=residual)
    x = np.array([8.0, 27.0])
    for run in 2 * (lambda: grad(lambda a: np.sum(op(a)))(x), lambda: dispatch.jvp(op, (x,), (np.ones(2),))):
        message = said(run, GradientError)
        assert message.startswith(f"{op.name}: the residual of implicit= is ")
        assert message.endswith(
            " elsewhere. It is the equation that the output solves, 0 at the output: lambda y, a: y**3 - a for y = np.cbrt(a)."
        )


@pytest.mark.parametrize("digits", [2, 4, 16])
def test_one_that_it_solves_in_some_digits_is_taken(digits):
    op = define("(Tensor a) -> Tensor", lambda a: np.cbrt(a) * (1 + 10.0**-digits))
    op.register_autograd(implicit=lambda y, a: y**3 - a)
    x = np.array([8.0, 27.0])
    assert np.allclose(grad(lambda a: np.sum(op(a)))(x), np.cbrt(x) / (3 * x), rtol=10.0 ** (1 - digits))


def test_a_residual_that_refuses_what_is_no_output_is_not_asked_further():
    def residual(y, a):
        if np.any(np.asarray(y.value if hasattr(y, "value") else y) > 4):
            raise ValueError("beyond what it was made for")
        return y**3 - a

    op = define("(Tensor a) -> Tensor", np.cbrt)
    op.register_autograd(implicit=residual)
    x = np.array([8.0, 27.0])
    assert np.allclose(grad(lambda a: np.sum(op(a)))(x), np.cbrt(x) / (3 * x))
