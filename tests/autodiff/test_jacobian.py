"""Jacobians and Hessians: against finite differences, torch and JAX; how often the function runs; what nests."""

import numpy as np
import pytest
from making import define, said

import dispatch
from dispatch import Tag, custom_op, grad, hessian, jacfwd, jacrev, jvp, value_and_grad, vjp, vmap
from dispatch.core.pytree import leaves
from dispatch.dispatcher.layer import CONSTANT
from dispatch.errors import BatchingError, EscapedValueError, GradientError
from dispatch.layers.fake import FakeTensor

A = np.array([0.5, 1.0, 2.0])
G = np.array([1.0, -2.0, 0.5])
BOTH = pytest.mark.parametrize("jac", [jacrev, jacfwd])


def matrix(x):
    return np.sin(x)[:, None] * np.cos(x)[None, :]


def differences(f, x, step=1e-6):
    """The Jacobian of a function of an array, by central differences."""
    columns = []
    for i in range(x.size):
        t = np.zeros(x.size)
        t[i] = step
        t = t.reshape(x.shape)
        columns.append((np.asarray(f(x + t)) - np.asarray(f(x - t))) / (2 * step))
    return np.stack(columns, -1).reshape(np.shape(f(x)) + x.shape)


FUNCTIONS = [
    (np.sin, A),
    (np.sum, A),
    (matrix, A),
    (lambda x: x[:, None] * x, A),
    (lambda x: np.sum(x * x, axis=0), A.reshape(3, 1) * G),
    (lambda x: x * x, np.array(3.0)),
    (lambda x: np.concatenate([x, x[:1] * x[1:2]]), A),
    (lambda x: np.stack([x[0], np.exp(x[1])]), A),
    (lambda x: np.sum(x) * np.ones((2, 2)), A),
]


@BOTH
@pytest.mark.parametrize(("f", "x"), FUNCTIONS)
def test_a_jacobian_is_that_of_finite_differences(jac, f, x):
    found = jac(f)(x)
    assert (type(found), found.dtype) == (np.ndarray, x.dtype)
    np.testing.assert_allclose(found, differences(f, x), rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(hessian(f)(x), differences(jac(f), x), rtol=1e-8, atol=1e-8)


@BOTH
def test_what_comes_out_belongs_to_the_caller(jac):
    for f in (lambda x: x, lambda x: x * A, lambda x: x[:1], lambda x: np.ones(3), lambda x: np.sum(x)):
        x = A.copy()
        found = jac(f)(x)
        found[...] = 7.0
        assert np.array_equal(x, A)
    by_x, by_y = jac(lambda x, y: x + y, (0, 1))(A, G)
    by_x[...] = 7.0
    assert np.array_equal(by_y, np.eye(3))
    first, second = jac(lambda x: (x, x))(A)
    first[...] = 7.0
    assert np.array_equal(second, np.eye(3))


@BOTH
def test_zeros_where_nothing_depends(jac):
    x = A.astype("f4")
    for f, shape in ((lambda x: np.ones(2), (2, 3)), (lambda x: 3.0, (3,)), (lambda x: np.sum(A), (3,))):
        found = jac(f)(x)
        assert found.shape == shape
        assert not found.any()
    assert jac(lambda x: None)(A) is None
    by_x, by_y = jac(lambda x, y: x * 2, (0, 1))(A, np.ones((2, 2)))
    assert np.array_equal(by_x, 2 * np.eye(3))
    assert np.array_equal(by_y, np.zeros((3, 2, 2)))
    assert np.array_equal(hessian(np.sum)(A), np.zeros((3, 3)))
    assert np.array_equal(hessian(lambda x: 3.0)(A), np.zeros((3, 3)))


@BOTH
def test_empty_arrays(jac):
    assert jac(lambda x: x * 2)(np.zeros((0, 2))).shape == (0, 2, 0, 2)
    assert np.array_equal(jac(lambda x: np.sum(x) * np.ones(2))(np.zeros(0)), np.zeros((2, 0)))
    assert jac(lambda x: x[:0])(A).shape == (0, 3)
    assert jac(lambda p: p["x"])({"x": A, "none": None})["none"] is None
    assert jac(lambda x: x, ())(A) == ()


@BOTH
def test_aux(jac):
    found, aux = jac(lambda x: (x * x, {"y": 2 * x, "n": "text"}), has_aux=True)(A)
    assert np.array_equal(found, np.diag(2 * A))
    assert type(aux["y"]) is np.ndarray
    assert (aux["y"].tolist(), aux["n"]) == ((2 * A).tolist(), "text")
    assert said(lambda: jac(np.sin, has_aux=True)(A), GradientError) == (
        "has_aux=True says that the function returns a pair (value, aux), and it returned an array of shape (3,). Return both, or leave has_aux= out."
    )


@BOTH
def test_keywords_and_names(jac):
    f = lambda x, *, y=2.0: x * y
    assert np.array_equal(jac(f)(A, y=3.0), 3 * np.eye(3))
    assert np.array_equal(jac(f, "y")(A), A)
    assert np.array_equal(jac(f, ("y", 0))(A, y=3.0)[1], 3 * np.eye(3))
    assert jac(f).__name__ == f.__name__


def test_the_function_runs_once():
    ran = []

    @custom_op("jacobiantests::three", mutates_args=())
    def three(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        ran.append("kernel")
        return x * x, x * 2, np.sin(x)

    three.register_autograd(
        lambda ctx, a, b, c: 2 * ctx.saved_tensors[0] * a + 2 * b + np.cos(ctx.saved_tensors[0]) * c,
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
    )
    calls = {
        "value_and_grad": lambda: value_and_grad(lambda x: sum(np.sum(y) for y in three(x)))(A),
        "jacrev": lambda: jacrev(three)(A),
        "jacrev in chunks": lambda: jacrev(three, chunk_size=2)(A),
        "jacrev one by one": lambda: jacrev(three, chunk_size=1)(A),
        "jacfwd": lambda: jacfwd(three)(A),
        "hessian": lambda: hessian(three)(A),
        "vjp": lambda: vjp(three, A)[1]((A, A, A)),
        "jvp": lambda: jvp(three, (A,), (A,)),
    }
    for name, call in calls.items():
        ran.clear()
        call()
        assert ran == ["kernel"], name


@pytest.mark.parametrize("chunk_size", [None, 1, 2, 4, 9, np.int64(5), 100])
def test_chunks_change_nothing(chunk_size):
    f = lambda x: {"a": matrix(x), "b": np.sum(x)}
    whole, found = jacrev(f)(A), jacrev(f, chunk_size=chunk_size)(A)
    for key in "ab":
        assert np.allclose(found[key], whole[key], rtol=1e-14)
        found[key][...] = 1.0


def test_chunk_size_is_how_many_rows_a_backward_takes():
    taken = []
    op = define(
        "(Tensor x) -> Tensor",
        lambda x: 2 * x,
        autograd=lambda ctx, g: taken.append(getattr(getattr(g, "value", g), "shape", None)) or 2 * g,
    )
    for chunk_size, shapes in ((None, [(3, 3)]), (2, [(2, 3), (1, 3)]), (1, [(3,)] * 3)):
        taken.clear()
        assert np.array_equal(jacrev(op, chunk_size=chunk_size)(A), 2 * np.eye(3))
        assert taken == shapes


@pytest.mark.parametrize(("given", "what"), [(0, "0"), (-1, "-1"), (1.5, "a float"), ("all", "a str")])
def test_chunk_sizes_that_are_none(given, what):
    assert said(lambda: jacrev(np.sin, chunk_size=given), GradientError) == (
        f"jacrev: chunk_size is {what}. It is the number of rows in one batch, 1 or more; None for all."
    )


def opaque(ctx, g):
    kernel = np.frompyfunc(lambda x: 2 * x, 1, 1)
    if not isinstance(g, np.ndarray):
        raise TypeError("a kernel takes arrays")
    return kernel(g).astype(float)


def test_a_backward_that_takes_plain_arrays_alone():
    op = define("(Tensor x) -> Tensor", lambda x: 2 * x, autograd=opaque)
    with pytest.raises(TypeError, match="a kernel takes arrays") as caught:
        jacrev(op)(A)
    assert caught.value.__notes__[-1] == (
        "a Jacobian pulls its rows back in one batch: jacrev(f, chunk_size=1) pulls back one at a time"
    )
    assert np.array_equal(jacrev(op, chunk_size=1)(A), 2 * np.eye(3))


@BOTH
def test_jacobians_nest(jac):
    f = lambda x: np.stack([np.sin(x[0]) * x[1], x[2] ** 3, x[0] * x[1] * x[2]])
    second = differences(jac(f), A)
    for other in (jacrev, jacfwd):
        np.testing.assert_allclose(other(jac(f))(A), second, atol=1e-8)
        third = differences(other(jac(f)), A)
        np.testing.assert_allclose(jacrev(other(jac(f)))(A), third, atol=1e-8)
    norm = lambda x: np.sum(jac(f)(x) ** 2)
    np.testing.assert_allclose(grad(norm)(A), differences(norm, A), atol=1e-7)
    np.testing.assert_allclose(jvp(jac(f), (A,), (G,))[1], second @ G, atol=1e-7)
    np.testing.assert_allclose(vjp(jac(f), A)[1](np.ones((3, 3)))[0], second.sum((0, 1)), atol=1e-7)
    batch = np.stack([A, G])
    np.testing.assert_allclose(vmap(jac(f))(batch), [jac(f)(A), jac(f)(G)])
    np.testing.assert_allclose(vmap(hessian(f))(batch), [hessian(f)(A), hessian(f)(G)])
    np.testing.assert_allclose(jac(vmap(f))(batch)[1, :, 1], jac(f)(G))
    np.testing.assert_allclose(vmap(jac(lambda x: f(x) * G), in_dims=1, out_dims=2)(batch.T)[..., 0], G[:, None] * jac(f)(A))


def test_a_jacobian_of_a_tracked_value_is_tracked():
    x = dispatch.tensor(A, requires_grad=True)
    np.sum(jacrev(lambda x: x**3)(x)).backward()
    np.testing.assert_allclose(x.grad, 6 * A)
    x = dispatch.tensor(A, requires_grad=True)
    np.sum(jacfwd(lambda x: x**3)(x)).backward()
    np.testing.assert_allclose(x.grad, 6 * A)


# -- complex numbers: what has one meaning is there, what has two raises -------------------------------------------------------

Z = np.array([1 + 2j, -0.5 + 1j])


def test_complex_results_forward_and_complex_arguments_in_reverse():
    f = lambda x: np.exp(1j * x) * x
    np.testing.assert_allclose(jacfwd(f)(A), np.diag((1 + 1j * A) * np.exp(1j * A)))
    g = lambda z: np.stack([np.sum((z * z).real), np.sum((z * z).imag)])
    rows = jacrev(g)(Z)
    assert rows.dtype == "c16"
    np.testing.assert_allclose(rows, np.stack([grad(lambda z: g(z)[0])(Z), grad(lambda z: g(z)[1])(Z)]))
    np.testing.assert_allclose(rows[0], 2 * np.conjugate(Z))


def test_complex_numbers_that_would_have_two_derivatives():
    message = (
        "jacrev is of a function that returns real numbers, and result['z'] is complex, whose real and imaginary part have a "
        "gradient each. Return these, y.real and y.imag; of real arguments take jacfwd."
    )
    assert said(lambda: jacrev(lambda x: {"z": x * 1j})(A), GradientError) == message
    for name, transform in (("jacfwd", jacfwd), ("hessian", hessian)):
        assert said(lambda t=transform: t(lambda z: np.sum((z * z).real))(Z), GradientError) == (
            f"{name} by argument 0 was asked for, which is complex: there is a derivative by its real part and one by its "
            "imaginary part. Make the function one of these two, or take jvp, or jacrev of a real result."
        )
    assert "hessian is of a function that returns real numbers" in said(lambda: hessian(lambda x: x * 1j)(A), GradientError)


# -- what goes through to vmap -----------------------------------------------------------------------------------------------


def test_randomness_is_vmaps():
    random = np.random.default_rng(0)

    @custom_op("jacobiantests::noise", mutates_args=(), tags=Tag.random)
    def noise(x: np.ndarray) -> np.ndarray:
        return random.normal(size=x.shape)

    noise.register_autograd(CONSTANT)
    f = lambda x: x * noise(x)
    with pytest.raises(BatchingError, match="draws from a random generator"):
        jacfwd(f)(A)
    same = jacfwd(f, randomness="different")(A)
    assert np.array_equal(same, np.diag(np.diag(same)))
    assert np.all(np.diag(same) != 0)
    with pytest.raises(EscapedValueError, match=r"a BatchedTensor of vmap .* is used after that transform has ended"):
        jacfwd(lambda x: (x, noise(x)), has_aux=True, randomness="different")(A)  # a draw for each column: which is aux?
    assert "randomness is 'error', 'same' or 'different'" in said(lambda: jacfwd(f, randomness="any")(A), BatchingError)


@pytest.mark.parametrize("chunk_size", [None, 1, 2])
def test_jacobians_of_fakes_are_fakes_of_the_same_layout(chunk_size):
    a, b = np.linspace(0.5, 1, 6).reshape(2, 3), np.ones(3, np.float32)

    def f(x, y):
        return {"product": x @ y, "sum": np.sum(np.sin(y))}

    def scalar(x, y):
        return np.sum(np.sin(x) * y)

    makers = (
        lambda: dispatch.jacrev(f, (0, 1), chunk_size=chunk_size),
        lambda: dispatch.jacfwd(f, (0, 1)),
        lambda: dispatch.hessian(scalar, (0, 1)),
        lambda: dispatch.jacrev(dispatch.grad(scalar, (0, 1)), (0, 1)),
        lambda: dispatch.vmap(dispatch.jacrev(lambda x, y: np.sin(x) * y), (0, None)),
    )
    for make in makers:
        expected = list(leaves(make()(a, b)))
        with dispatch.FakeTensorMode() as mode:
            found = list(leaves(make()(mode.from_array(a), mode.from_array(b))))
        assert all(type(x) is FakeTensor for x in found)
        assert [(x.shape, x.dtype) for x in found] == [(x.shape, x.dtype) for x in expected]
