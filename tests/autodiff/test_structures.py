"""Containers of arrays as arguments and results of transforms: what goes in and comes out has the structure it had."""

from collections import namedtuple
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from making import said

from dispatch import Tensor, grad, hessian, jacfwd, jacrev, jvp, value_and_grad, vjp, vmap
from dispatch.core.pytree import leaves, mapped
from dispatch.errors import GradientError

A = np.array([0.5, 1.0, 2.0])
B = np.array([3.0, -1.0, 0.25])
Pair = namedtuple("Pair", "x y")


@dataclass
class Layer:
    w: Any
    b: Any = 1.0
    name: str = "layer"


@dataclass(frozen=True, slots=True)
class Frozen:
    w: Any
    inner: Any = None


def total(p):
    """A function of any container: each array by itself, and their sums multiplied."""
    found = 1.0
    for i, x in enumerate(leaves(p)):
        if isinstance(x, (Tensor, np.ndarray, float)):
            found = found * np.sum(np.sin(x) + i)
    return found


CONTAINERS = [
    [A, B],
    (A, 2.0),
    {"b": A, "a": B},
    Pair(A, [B, 3.0]),
    Layer(A),
    Frozen(A, Frozen(B)),
    {"layers": [Layer(A, B), Layer(B, 2.0)], "rest": (Pair(A, B), {"c": 1.5})},
    [[], A, {}],
    [np.float64(2.0), np.array(3.0), A.astype("f4")],
]


@pytest.mark.parametrize("p", CONTAINERS, ids=lambda p: type(p).__name__)
def test_a_gradient_has_the_structure_of_its_argument(p):
    value, gradient = value_and_grad(total)(p)
    assert type(gradient) is type(p)
    assert np.isclose(value, total(p))
    flat = list(leaves(p))
    for i, (x, g) in enumerate(zip(flat, leaves(gradient), strict=True)):
        if x is None or isinstance(x, str):
            assert g is None
            continue

        def one(y, i=i):
            numbers = iter(range(len(flat)))
            return total(mapped(lambda old: y if next(numbers) == i else old, p))

        x = np.asarray(x)
        assert (type(g), g.shape, g.dtype) == (np.ndarray, x.shape, x.dtype)
        assert g.flags.writeable
        assert np.allclose(g, grad(one)(x))


def test_what_is_no_number_goes_along():
    seen = []

    def f(p):
        seen.append((p["name"], p["none"], p["flag"], p["call"]))
        return np.sum(p["x"])

    assert [*grad(f)({"x": A, "name": "n", "none": None, "flag": True, "call": len}).values()][1:] == [None] * 4
    assert seen == [("n", None, True, len)]


def test_writing_to_the_container_inside_the_function_leaves_the_callers_as_it_is():
    def f(p):
        p["x"] = p["x"] * 2
        p["new"] = 1
        return np.sum(p["x"])

    p = {"x": A}
    assert grad(f)(p)["x"].tolist() == [2.0] * 3
    assert list(p) == ["x"]
    assert p["x"] is A


def test_keys_and_fields_keep_their_order_and_their_class():
    assert list(grad(total)({"z": A, "a": A})) == ["z", "a"]
    assert isinstance(grad(total)(Pair(A, B)), Pair)
    assert grad(total)(Layer(A)).name is None


def test_a_class_is_no_container():
    assert grad(lambda p: np.sum(p["x"]))({"x": A, "class": Layer})["class"] is None


def test_a_dataclass_without_numbers_goes_along():
    @dataclass
    class Options:
        mode: str = "fast"

    assert grad(lambda p: np.sum(p[0]))([A, Options()])[1] is None


@pytest.mark.parametrize(("p", "message"), [
    ({"n": 3, "x": A}, "['n'] of it is an int, which has no derivative. Write 2.0 for 2, or give it as another argument."),
    (Pair(A, [2.0, np.arange(3)]), ".y[1] of it is an array of dtype int64, which has no derivative. Cast it, x.astype(float), or give it as another argument."),
    ([A > 1], "[0] of it is an array of dtype bool, which has no derivative. Cast it, x.astype(float), or give it as another argument."),
    ([np.int64(3)], "[0] of it is an array of dtype int64, which has no derivative. Cast it, x.astype(float), or give it as another argument."),
    (Layer(A, 1), ".b of it is an int, which has no derivative. Write 2.0 for 2, or give it as another argument."),
])  # fmt: skip
def test_an_integer_in_a_container_is_named_by_its_path(p, message):
    for name, transform in (("grad", grad), ("jacrev", jacrev), ("jacfwd", jacfwd), ("hessian", hessian)):
        assert said(lambda t=transform: t(total)(p), GradientError) == f"{name} by argument 0 was asked for, and {message}"
    assert said(lambda: vjp(total, p), GradientError) == f"vjp by argument 0 was asked for, and {message}"
    assert said(lambda: grad(lambda p: total(p), "p")(p=p), GradientError) == f"grad by argument 'p' was asked for, and {message}"


def test_a_jacobian_nests_the_arguments_structure_in_that_of_the_result():
    def f(p):
        return {"product": p["a"] * p["b"], "rest": [np.sum(p["b"]), None]}

    p = {"a": A, "b": 2.0, "name": "n"}
    for jac in (jacrev(f)(p), jacfwd(f)(p)):
        assert [*jac] == ["product", "rest"]
        assert np.array_equal(jac["product"]["a"], 2 * np.eye(3))
        assert np.array_equal(jac["product"]["b"], A)
        assert jac["product"]["name"] is jac["rest"][1] is jac["rest"][0]["name"] is None
        assert jac["rest"][0]["a"].tolist() == [0.0] * 3
        assert jac["rest"][0]["b"] == 1.0


def test_several_arguments_are_a_tuple_in_place_of_each_array_of_the_result():
    f = lambda x, p: (x * p["s"], np.sum(x))
    for jac in (jacrev, jacfwd):
        (by_x, by_p), (sum_by_x, sum_by_p) = jac(f, argnums=(0, "p"))(A, {"s": 2.0})
        assert np.array_equal(by_x, 2 * np.eye(3))
        assert np.array_equal(by_p["s"], A)
        assert sum_by_x.tolist() == [1.0] * 3
        assert sum_by_p["s"] == 0.0
        assert isinstance(jac(f, argnums=(1,))(A, {"s": 2.0})[0], tuple)


def test_hessians_of_containers():
    h = hessian(lambda p: np.sum(p.x**2 * p.y))(Pair(A, 2.0))
    assert isinstance(h, Pair)
    assert isinstance(h.x, Pair)
    assert np.array_equal(h.x.x, 4 * np.eye(3))
    assert np.array_equal(h.x.y, 2 * A)
    assert np.array_equal(h.y.x, 2 * A)
    assert h.y.y == 0.0


def test_pullbacks_and_pushforwards_of_containers():
    f = lambda p, s: Pair(p["a"] * s, [p["b"]])
    p, t = {"a": A, "b": B}, {"b": np.ones(3), "a": B}
    out, pullback = vjp(f, p, 2.0)
    assert isinstance(out, Pair)
    by_p, by_s = pullback(Pair(B, [A]))
    assert [*by_p] == ["a", "b"]
    assert np.array_equal(by_p["a"], 2 * B)
    assert np.array_equal(by_p["b"], A)
    assert np.isclose(by_s, np.sum(A * B))
    value, tangent = jvp(f, (p, 2.0), (t, 3.0))
    assert isinstance(tangent, Pair)
    assert np.array_equal(value.x, 2 * A)
    assert np.array_equal(tangent.x, 2 * B + 3 * A)
    assert np.array_equal(tangent.y[0], np.ones(3))


def test_a_gradient_of_a_container_in_a_batch_and_in_a_gradient():
    batch = {"a": np.stack([A, B]), "b": np.stack([B, A])}
    found = vmap(grad(total))(batch)
    for i in range(2):
        one = grad(total)({"a": batch["a"][i], "b": batch["b"][i]})
        assert all(np.allclose(found[key][i], one[key]) for key in "ab")
    second = grad(lambda p: np.sum(grad(total)(p)["a"] ** 2))({"a": A, "b": B})
    slope = (np.sum(grad(total)({"a": A, "b": B + 1e-6})["a"] ** 2) - np.sum(grad(total)({"a": A, "b": B - 1e-6})["a"] ** 2)) / 2e-6
    assert np.isclose(np.sum(second["b"]), slope, rtol=1e-6)


@pytest.mark.jax
def test_structures_are_jaxs():
    import jax

    f = lambda lib, p: {"o": [p["a"] * p["b"][0]], "q": (lib.sum(p["a"]),)}
    p = {"a": A, "b": [2.0, (B,)]}
    with jax.enable_x64(True):
        for ours, theirs in ((jacrev, jax.jacrev), (jacfwd, jax.jacfwd), (hessian, jax.hessian)):
            got, expected = ours(lambda p: f(np, p))(p), theirs(lambda p: f(jax.numpy, p))(p)
            assert jax.tree.structure(got) == jax.tree.structure(expected)
            assert all(np.allclose(x, y) for x, y in zip(jax.tree.leaves(got), jax.tree.leaves(expected), strict=True))


def test_a_dataclass_inside_a_dataclass_is_opened_by_every_transform():
    @dataclass
    class Inner:
        x: Any
        name: str

    @dataclass
    class Outer:
        inner: Inner
        rest: list[Any]

    @dataclass
    class Inner2(Inner): ...

    @dataclass
    class Outer2(Outer): ...

    def f(o):
        return np.sum(o.inner.x**2)

    a = np.arange(6.0).reshape(2, 3)
    assert np.array_equal(grad(f)(Outer(Inner(a, "a"), ["b"])).inner.x, 2 * a)
    found = vmap(lambda o: Outer2(Inner2(o.inner.x * 2, o.inner.name), o.rest))(Outer2(Inner2(a, "a"), []))
    assert np.array_equal(found.inner.x, 2 * a)
    assert found.inner.name == "a"
