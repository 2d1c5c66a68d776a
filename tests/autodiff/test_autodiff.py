"""Transforms of functions: gradients."""

import numpy as np
import pytest

import dispatch
from dispatch import grad, value_and_grad, vmap
from dispatch.core import Tensor
from dispatch.errors import GradientError

A = np.array([0.5, 1.0, 2.0])


def f(x, y):
    return np.sum(np.sin(x) * y)


def said(call):
    with pytest.raises(GradientError) as caught:
        call()
    return str(caught.value)


def test_value_and_gradient_are_those_of_the_function():
    value, gradient = value_and_grad(f)(A, A)
    assert value == f(A, A)
    assert np.array_equal(gradient, np.cos(A) * A)
    assert np.array_equal(grad(f)(A, A), gradient)


@pytest.mark.parametrize("argnums", [0, 1, -1, -2, (0,), (0, 1), (1, 0), (-1, 0), ()])
def test_any_of_the_arguments_by_position(argnums):
    both = {0: np.cos(A) * A, 1: np.sin(A)}
    found = grad(f, argnums)(A, A)
    if isinstance(argnums, int):
        assert np.array_equal(found, both[argnums % 2])
    else:
        assert isinstance(found, tuple)
        assert all(np.array_equal(g, both[n % 2]) for g, n in zip(found, argnums, strict=True))


def test_keywords_are_handed_on_as_they_are():
    assert np.array_equal(grad(f)(A, y=A), np.cos(A) * A)
    assert np.array_equal(grad(lambda x, *, y: f(x, y))(A, y=A), np.cos(A) * A)


def test_what_comes_beside_the_value():
    seen = {}

    def g(x):
        y = np.sin(x)
        seen["inside"] = y
        return np.sum(y), {"y": y, "both": [y, (x, "text")], "n": 3}

    gradient, aux = grad(g, has_aux=True)(A)
    (value, again), second = value_and_grad(g, has_aux=True)(A)
    assert value == np.sum(np.sin(A))
    for found in (aux, again):
        assert np.array_equal(found["y"], np.sin(A))
        assert np.array_equal(found["both"][1][0], A)
        assert (found["both"][1][1], found["n"]) == ("text", 3)
        assert not isinstance(found["y"], Tensor)
    assert np.array_equal(gradient, np.cos(A))
    assert np.array_equal(second, gradient)


def test_the_function_keeps_its_name():
    def named(x):
        """What it says."""
        return np.sum(x)

    for transform in (grad, value_and_grad):
        assert (transform(named).__name__, transform(named).__doc__) == ("named", "What it says.")


def test_type_in_is_type_out():
    for dtype in ("f4", "f8", "c8", "c16"):
        x = A.astype(dtype)
        gradient = grad(lambda x: np.sum(np.real(x * np.conjugate(x))))(x)
        assert (type(gradient), gradient.dtype, gradient.shape) == (np.ndarray, np.dtype(dtype), A.shape)
    for number in (2.0, np.float64(2.0), np.array(2.0)):
        value, gradient = value_and_grad(lambda x: x * x)(number)
        assert value == gradient == 4.0
        assert (type(gradient), gradient.shape, gradient.dtype) == (np.ndarray, (), np.dtype("f8"))
    assert grad(lambda x: x * x)(np.float32(3)).dtype == "f4"


def test_an_argument_on_which_the_value_does_not_depend_has_gradient_zero():
    for constant in (lambda x: np.sum(A), lambda x: 3.0, lambda x: np.float64(3), lambda x: np.sum(np.sign(x))):
        gradient = grad(constant)(A.astype("f4"))
        assert np.array_equal(gradient, np.zeros(3))
        assert gradient.dtype == "f4"


def test_the_gradient_is_a_new_array_that_can_be_written_to():
    for g in (lambda x: np.sum(x), lambda x: np.sum(x * A), lambda x: x[0] * 1.0):
        gradient = grad(g)(A)
        gradient[:] = 7.0
        assert not np.shares_memory(gradient, A)
    scalar = grad(lambda x: x)(2.0)
    scalar[...] = 7.0
    assert grad(lambda x: x)(2.0) == 1.0
    first, second = grad(lambda x, y: np.sum(x + y), (0, 1))(A, A)
    assert not np.shares_memory(first, second)


def test_a_derivative_without_axes_is_an_array_in_graphs_and_programs_too():
    slope = lambda x: dispatch.jvp(np.prod, (x * np.ones(2),), (np.ones(2),))[1]
    for g in (grad(lambda x: np.sum(x * A)), grad(lambda x: np.sum(np.broadcast_to(x, (3,)))), slope):
        for mode in ("real", "fake", "symbolic"):
            made = dispatch.make_fx(g, mode)(np.array(2.0))(np.array(2.0))
            made[...] = 7.0
        compiled = dispatch.compile(g, fullgraph=True)(np.array(2.0))
        assert type(compiled) is type(g(np.array(2.0))) is np.ndarray


def test_the_callers_array_is_as_it_was():
    x = A.copy()
    grad(lambda x: np.sum(np.sin(x)))(x)
    assert x.flags.writeable
    large = np.ones(100_000)
    grad(lambda x: np.sum(np.sin(x)))(large)
    assert large.flags.writeable


MISUSE = [
    (lambda: grad(np.sum)(np.arange(3)), "grad by argument 0 was asked for, which is an array of dtype int64: only floating-point and complex values have a derivative. Cast it: x.astype(float)."),
    (lambda: grad(np.sum)(A > 1), "grad by argument 0 was asked for, which is an array of dtype bool: only floating-point and complex values have a derivative. Cast it: x.astype(float)."),
    (lambda: grad(np.sum)(2), "grad by argument 0 was asked for, which is an int. Give an array of floating-point numbers; an integer has no derivative, write 2.0 for 2."),
    (lambda: grad(np.sum)("x"), "grad by argument 0 was asked for, which is a str. Give arrays, in lists, tuples, dicts, named tuples or dataclasses where there are several."),
    (lambda: grad(f, 1)(A, None), "grad by argument 1 was asked for, which is None. Give arrays, in lists, tuples, dicts, named tuples or dataclasses where there are several."),
    (lambda: grad(f, 2)(A, A), "grad by argument 2 was asked for, and 2 arguments were given by position. The first is 0."),
    (lambda: grad(f, -3)(A, A), "grad by argument -3 was asked for, and 2 arguments were given by position."),
    (lambda: grad(f)(x=A, y=A), "grad by argument 0 was asked for, and 0 arguments were given by position. Name it: grad(f, argnums='x')."),
    (lambda: grad(f, "z")(A, A), "grad by argument 'z' was asked for, and the function has no such argument: it takes x, y."),
    (lambda: grad(f, "y")(A), "grad by argument 'y' was asked for, which was not given and has no default."),
    (lambda: grad(lambda: 1.0, "y")(), "grad by argument 'y' was asked for, and the function has no such argument: it takes none."),
    (lambda: grad(f, "x")(2, A), "grad by argument 0 was asked for, which is an int. Give an array of floating-point numbers; an integer has no derivative, write 2.0 for 2."),
    (lambda: grad(f, "y")(A, y=2), "grad by argument 'y' was asked for, which is an int. Give an array of floating-point numbers; an integer has no derivative, write 2.0 for 2."),
    (lambda: grad(f, (0, "x"))(A, A), "grad by an argument was asked for twice: argnums=(0, 'x'). Name each once."),
    (lambda: grad(f, 1.0), "grad: argnums is a float. It says which arguments: the position of one, its name, or a tuple of these. The arguments themselves go into the second call: grad(f)(x)."),
    (lambda: grad(f, [0, 1]), "grad: argnums is a list. It says which arguments: the position of one, its name, or a tuple of these. Write argnums=(0, 1)."),
    (lambda: grad(f, (0, None)), "grad: argnums is a tuple with None in it. It says which arguments: the position of one, its name, or a tuple of these. The arguments themselves go into the second call: grad(f)(x)."),
    (lambda: grad(f, (0, 0))(A, A), "grad by an argument was asked for twice: argnums=(0, 0). Name each once."),
    (lambda: grad(f, (0, -2))(A, A), "grad by an argument was asked for twice: argnums=(0, -2). Name each once."),
    (lambda: grad(np.sin)(A), "grad is of a function that returns one number, and this one returned shape (3,). Sum the result."),
    (lambda: grad(lambda x: None)(A), "grad is of a function that returns one number, and this one returned None. Add the return statement."),
    (lambda: grad(lambda x: (x, x))(A), "grad is of a function that returns one number, and this one returned a tuple. Return the number alone, or (number, aux) with has_aux=True."),
    (lambda: grad(lambda x: np.sum(x) * 1j)(A), "grad is of a function that returns a real number, and this one returned a complex one. Take .real; the derivative of a holomorphic f is jvp(f, (z,), (np.ones_like(z),))[1]."),
    *[(lambda f=f: grad(f)(1.5), f"grad is of a function that returns a floating-point number, and this one returned {what}, which has no gradient. Return what it was computed from, or it beside the result, (result, aux), with has_aux=True.")
      for f, what in [(lambda x: 3, "one of int64"), (lambda x: x > 1, "one of bool"), (lambda x: np.array(3, object), "one of object"),
                      (lambda x: np.round(x).astype(int), "one of int64")]],
    (lambda: grad(np.sum, has_aux=True)(A), "has_aux=True says that the function returns a pair (value, aux), and it returned an array of shape (). Return both, or leave has_aux= out."),
]  # fmt: skip


@pytest.mark.parametrize(("call", "message"), MISUSE)
def test_what_has_no_gradient(call, message):
    assert said(call) == message


def test_arguments_by_name():
    g = lambda x, /, y=2.0, *rest, z: np.sum(x * y) * z
    assert grad(g, "x")(A, z=1.0).tolist() == [2.0] * 3
    assert grad(g, "y")(A, z=1.0) == A.sum()  # the default
    assert grad(g, "y")(A, 3.0, z=1.0) == A.sum()
    assert grad(g, "y")(A, y=3.0, z=1.0) == A.sum()
    by_z, by_y = grad(g, ("z", "y"))(A, 3.0, z=2.0)
    assert (by_z, by_y) == (3 * A.sum(), 2 * A.sum())
    assert grad(lambda **named: named["a"] ** 2, "a")(a=3.0) == 6.0
    assert grad(grad(lambda x, y: x * y * y, "y"), "y")(3.0, y=1.0) == 6.0  # the name is handed through
    assert grad(lambda x, y: x * y, np.int64(1))(2.0, 3.0) == 2.0


def test_a_function_in_c_that_says_nothing_of_its_arguments():
    silent = type("silent", (), {"__call__": staticmethod(max), "__name__": "silent"})()
    assert said(lambda: grad(silent, "x")(A)) == (
        "grad by argument 'x' was asked for, and the function has no such argument: it takes *args."
    )


# -- nesting ---------------------------------------------------------------------------------------------------------------


def test_gradients_of_gradients():
    g = lambda x: np.sin(x) * x
    derivatives = [lambda x: np.cos(x) * x + np.sin(x), lambda x: 2 * np.cos(x) - x * np.sin(x), lambda x: -3 * np.sin(x) - x * np.cos(x)]
    h = g
    for derivative in derivatives:
        h = grad(h)
        assert np.isclose(h(0.7), derivative(0.7))


def test_perturbations_are_not_confused():
    # the derivative of x * d/dy (x + y): 1, and 2 where the two levels are taken for one
    assert grad(lambda x: x * grad(lambda y: x + y)(1.0))(1.0) == 1.0
    assert grad(lambda x: x * grad(lambda y: x * y)(2.0))(3.0) == 6.0
    assert grad(lambda x: grad(lambda y: grad(lambda z: x * y * z)(1.0) * y)(2.0))(3.0) == 4.0


def test_gradients_of_batches_and_batches_of_gradients():
    x, y = np.random.default_rng(0).normal(size=(2, 4, 3))
    each = np.cos(x) * y
    assert np.allclose(vmap(grad(f))(x, y), each)
    assert np.allclose(grad(lambda x: np.sum(vmap(f)(x, y)))(x), each)
    assert np.allclose(vmap(grad(f), in_dims=(1, None), out_dims=1)(x.T, y[0]), (np.cos(x) * y[0]).T)
    second = vmap(vmap(grad(grad(lambda x: np.sin(x) * x))))(x)
    assert np.allclose(second, 2 * np.cos(x) - x * np.sin(x))
    assert np.allclose(grad(lambda w: np.sum(vmap(lambda a: grad(lambda b: np.sum(np.sin(b) * w))(a))(x)))(y[0]), np.cos(x).sum(0))


def test_closures_over_outer_values():
    weights = dispatch.tensor(A, requires_grad=True)
    inner = grad(lambda x: np.sum(x * x * weights))(A)
    np.sum(inner).backward()
    assert np.array_equal(weights.grad, 2 * A)
    assert np.array_equal(vmap(lambda s: grad(lambda x: np.sum(x * s))(A))(A), np.repeat(A, 3).reshape(3, 3))


@pytest.mark.torch
def test_second_order_is_torchs():
    import torch

    def program(lib, x):
        return lib.sum(lib.exp(lib.sin(x)) * lib.tanh(x) / (1.0 + x * x))

    x = np.linspace(0.1, 1.0, 4)
    ours = grad(lambda x: np.sum(grad(lambda x: program(np, x))(x) ** 2))(x)
    theirs = torch.func.grad(lambda x: (torch.func.grad(lambda x: program(torch, x))(x) ** 2).sum())(torch.tensor(x))
    assert np.allclose(ours, theirs.numpy())


TRANSFORMS = {
    "grad": lambda f: dispatch.grad(f)(A),
    "value_and_grad": lambda f: value_and_grad(f)(A),
    "vjp": lambda f: dispatch.vjp(f, A),
    "jvp": lambda f: dispatch.jvp(f, (A,), (A,)),
    "jacrev": lambda f: dispatch.jacrev(f)(A),
    "jacfwd": lambda f: dispatch.jacfwd(f)(A),
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_a_result_that_was_taken_out_as_a_number_is_said(name):
    def at_most_one(x):
        return np.sum(x) if x[0].item() < 1 else 1.0

    said = (
        f"{name}: the function returned a plain number, and x.item() or x.tolist() in it gave plain numbers, which every derivative "
        "takes for constants: that of the result is zero. Return the array: x.sum() for x.sum().item()."
    )
    numbers = (lambda x: np.sum(x * x).item(), lambda x: sum((x * x).tolist()))
    numpys = (lambda x: np.sum((x * x).tolist()), lambda x: np.float32(np.sum(x).item()), lambda x: np.sin(np.sum(x).item()))
    for f in numbers + numpys:
        with pytest.warns(RuntimeWarning) as caught:
            TRANSFORMS[name](f)
        assert [str(warning.message) for warning in caught] == [said]
        assert caught[0].filename == __file__
    for f in (at_most_one, lambda x: 1.0, lambda x: np.sum(x) * x[0].item()):  # warnings are errors here
        TRANSFORMS[name](f)
