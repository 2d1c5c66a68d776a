"""vjp and jvp: products with the Jacobian from either side."""

import threading

import numpy as np
import pytest
from making import define, said

import dispatch
from dispatch import Tensor, grad, jvp, vjp, vmap
from dispatch.core import Level, Reopened
from dispatch.errors import EscapedValueError, GradientError

A = np.array([0.5, 1.0, 2.0])
G = np.array([1.0, -2.0, 0.5])


def keep_attribute(ctx, inputs, output):
    (ctx.x,) = inputs


def square_op(**rules):
    return define("(Tensor x) -> Tensor", lambda x: x * x, **rules)


# -- vjp -----------------------------------------------------------------------------------------------------------------------


def test_value_and_pullback():
    out, pullback = vjp(lambda x, y: x * y, A, G)
    assert np.array_equal(out, A * G)
    found = pullback(G)
    assert isinstance(found, tuple)
    assert np.array_equal(found[0], G * G)
    assert np.array_equal(found[1], A * G)
    assert isinstance(vjp(np.sin, A)[1](G), tuple)  # of one, as torch.func's


def test_a_pullback_may_be_called_again_and_the_function_runs_once():
    ran = []
    op = square_op(autograd=lambda ctx, g: ran.append("back") or 2 * ctx.x * g, setup=keep_attribute)
    _, pullback = vjp(lambda x: ran.append("forward") or op(x), A)
    for g in (G, A, G):
        assert np.array_equal(pullback(g)[0], 2 * A * g)
    assert ran == ["forward", "back", "back", "back"]


def test_what_comes_out_belongs_to_the_caller():
    x = A.copy()
    out, pullback = vjp(lambda x: np.exp(x), x)
    expected = np.exp(A) * G
    out[:] = 0  # exp's rule reads its output: not this copy of it
    x[:] = 0  # nor the argument
    assert np.array_equal(pullback(G)[0], expected)
    same, pullback = vjp(lambda x: x, A)
    found = pullback(G)[0]
    for array in (same, found):
        array[:] = 7.0
    assert A[0] == 0.5
    assert G[0] == 1.0
    left, right = vjp(lambda x, y: x + y, A, G)[1](G)
    assert not np.shares_memory(left, right)


def test_the_callers_large_array_can_be_written_to_again_when_the_pullback_is_gone():
    large = np.ones(100_000)
    _, pullback = vjp(np.sin, large)
    with pytest.raises(ValueError, match="read-only"):
        large[0] = 2.0
    del pullback
    large[0] = 2.0


def test_zeros_where_nothing_depends():
    x = A.astype("f4")
    for f in (lambda x, y: y, lambda x, y: np.ones(3), lambda x, y: 3.0, lambda x, y: None):
        out, pullback = vjp(f, x, A)
        found = pullback(None if out is None else np.ones(np.shape(out)))[0]
        assert found.dtype == "f4"
        assert np.array_equal(found, np.zeros(3))
        found[:] = 1.0
    assert np.array_equal(vjp(np.sin, A)[1](None)[0], np.zeros(3))
    assert vjp(lambda: A)[1](G) == ()


def test_aux():
    out, pullback, aux = vjp(lambda x: (x * x, {"twice": 2 * x, "n": 3}), A, has_aux=True)
    assert np.array_equal(out, A * A)
    assert np.array_equal(pullback(G)[0], 2 * A * G)
    assert type(aux["twice"]) is np.ndarray
    assert (aux["twice"].tolist(), aux["n"]) == ((2 * A).tolist(), 3)


def test_cotangents_are_cast_where_nothing_is_lost():
    _, pullback = vjp(lambda x: np.sum(x * x), A)
    assert np.array_equal(pullback(2)[0], 4 * A)
    assert np.array_equal(pullback(np.float32(2))[0], 4 * A)
    assert pullback(2.0)[0].dtype == "f8"
    assert np.array_equal(vjp(lambda x: x, A.astype("f4"))[1](G)[0], G.astype("f4"))
    assert np.array_equal(vjp(lambda x: x * 1j, A)[1](G)[0], np.zeros(3))


CT = "vjp: the cotangent"


@pytest.mark.parametrize(("f", "given", "message"), [
    (lambda x: {"a": x}, {"b": A}, f"{CT} is a dict with 'b', and the result is a dict with 'a'. Give one of the same structure, None for what is zero."),
    (lambda x: {"a": x}, {}, f"{CT} is a dict with no keys, and the result is a dict with 'a'. Give one of the same structure, None for what is zero."),
    (lambda x: {"a": x}, A, f"{CT} is an array of shape (3,), and the result is a dict with 'a'. Give one of the same structure, None for what is zero."),
    (lambda x: [x, (x, x)], [A, (A,)], f"{CT}[1] is a tuple of 1, and the result[1] is a tuple of 2. Give one of the same structure, None for what is zero."),
    (lambda x: {"a": x}, {"a": [A]}, f"{CT}['a'] is a list of 1, and the result['a'] an array of shape (3,). Give an array."),
    (lambda x: {"a": x}, {"a": A[:2]}, f"{CT}['a'] has shape (2,), and the result['a'] has shape (3,). Make them equal."),
    (lambda x: x, 1.0, f"{CT} has shape (), and the result has shape (3,). Make them equal."),
    (lambda x: x, A * 1j, f"{CT} has dtype complex128, and the result has dtype float64. Cast it: x.astype(...)."),
    (lambda x: np.sum(x), 1j, f"{CT} has dtype complex128, and the result has dtype float64. Cast it: x.astype(...)."),
    (lambda x: [x, None], [A, A], f"{CT}[1] was given, and the result[1] is None, which has no derivative. Give None for it, or make it floating-point: 2.0 for 2, x.astype(float)."),
    (lambda x: x, "G", f"{CT} is a str, and the result an array of shape (3,). Give an array."),
])  # fmt: skip
def test_cotangents_that_do_not_fit(f, given, message):
    pullback = vjp(f, A)[1]
    assert said(lambda: pullback(given), GradientError) == message


@pytest.mark.parametrize(("out", "what"), [
    (3, "result is an int"),
    ({"n": np.arange(3)}, "result['n'] is an array of dtype int64"),
    ([A, "text"], "result[1] is a str"),
])  # fmt: skip
def test_results_without_a_derivative(out, what):
    for name, transform in (
        ("vjp", lambda f: vjp(f, A)),
        ("jacrev", lambda f: dispatch.jacrev(f)(A)),
        ("jacfwd", lambda f: dispatch.jacfwd(f)(A)),
        ("hessian", lambda f: dispatch.hessian(f)(A)),
    ):
        assert said(lambda t=transform: t(lambda x: out), GradientError) == (
            f"{name} is of a function that returns arrays of floating-point numbers, and {what}. Return it beside the result, "
            "(result, aux), with has_aux=True."
        )


def test_misuse_of_primals():
    assert said(lambda: vjp(np.sin, 2), GradientError) == (
        "vjp by argument 0 was asked for, which is an int. Give an array of floating-point numbers; an integer has no "
        "derivative, write 2.0 for 2."
    )
    assert said(lambda: vjp(np.multiply, A, np.arange(3)), GradientError) == (
        "vjp by argument 1 was asked for, which is an array of dtype int64: only floating-point and complex values have a "
        "derivative. Cast it: x.astype(float)."
    )
    assert said(lambda: vjp(np.sin, A, has_aux=True), GradientError) == (
        "has_aux=True says that the function returns a pair (value, aux), and it returned an array of shape (3,). Return both, or leave has_aux= out."
    )


# -- pullbacks of pullbacks, in batches, in other transforms -------------------------------------------------------------------

RULES = pytest.mark.parametrize("op", [
    np.square,
    square_op(autograd=lambda ctx, g: 2 * ctx.x * g, setup=keep_attribute),
    square_op(jvp=lambda tangents, output, x: 2 * x * tangents[0]),
])  # fmt: skip


@RULES
def test_a_pullback_is_a_function_like_any_other(op):
    _, pullback = vjp(op, A)
    assert np.array_equal(vmap(lambda g: pullback(g)[0])(np.eye(3)), 2 * np.diag(A))
    assert np.allclose(grad(lambda g: np.sum(pullback(g)[0] * A))(G), 2 * A * A)
    assert np.allclose(jvp(lambda g: pullback(g)[0], (G,), (A,))[1], 2 * A * A)
    assert np.allclose(vjp(lambda g: pullback(g)[0], G)[1](A)[0], 2 * A * A)


@RULES
def test_a_pullback_inside_another_transform_is_differentiated_in_both(op):
    def f(x, g):
        return np.sum(vjp(op, x)[1](g)[0] * A)  # 2 x g A

    assert np.allclose(grad(f, 0)(A, G), 2 * G * A)
    assert np.allclose(grad(f, 1)(A, G), 2 * A * A)
    assert np.allclose(jvp(f, (A, G), (G, A))[1], np.sum(2 * A * (G * G + A * A)))
    assert np.allclose(vmap(f)(np.stack([A, G]), np.stack([G, A])), [f(A, G), f(G, A)])


@RULES
def test_a_function_closed_over_an_outer_value(op):
    f = lambda x: np.sum(vjp(lambda y: op(y) * x, A)[1](x)[0])  # 2 A x²
    assert np.allclose(grad(f)(G), 4 * A * G)


def test_an_outer_value_goes_through():
    f = lambda x: np.sum(vjp(lambda y: (x, x), A)[0][0]) + np.sum(jvp(lambda y: x * x, (A,), (G,))[0])
    assert np.allclose(grad(f)(G), 1 + 2 * G)


def test_a_pullback_beyond_the_transform_that_its_function_is_closed_over():
    kept = []
    grad(lambda x: kept.append(vjp(lambda y: y * x, A)[1]) or np.sum(x))(G)
    with pytest.raises(EscapedValueError, match=r"of grad .* is used after that transform has ended"):
        kept[0](G)


def test_a_value_that_escaped_stays_closed_between_pullbacks_and_after_an_exception():
    seen = []
    op = square_op(autograd=lambda ctx, g: 2 * ctx.x * g, setup=keep_attribute)
    _, pullback = vjp(lambda x: seen.append(x) or op(x), A)
    for _ in range(2):
        with pytest.raises(EscapedValueError, match=r"a TrackedTensor of vjp \(level \d+\) is used after that transform"):
            np.sin(seen[0])
        pullback(G)
    _, failing = vjp(square_op(autograd=lambda ctx, g: 1 / 0), A)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            failing(G)
    with pytest.raises(EscapedValueError, match=r"a TrackedTensor of vjp"):
        vjp(lambda x: seen[0], A)
    with pytest.raises(EscapedValueError, match=r"a TrackedTensor of vjp"):
        vjp(lambda x: (x, seen[0]), A, has_aux=True)
    with pytest.raises(EscapedValueError, match=r"a TrackedTensor of vjp"):
        jvp(lambda x: seen[0], (A,), (A,))


def test_a_level_is_open_while_any_pullback_runs():
    with Level("vjp") as level:
        pass
    assert repr(Reopened(level)) == f"{level!r}, opened again"
    with Reopened(level):
        with Reopened(level):
            assert level.open
        assert level.open
    assert not level.open


def test_pullbacks_in_threads():
    op = square_op(autograd=lambda ctx, g: 2 * ctx.x * g, setup=keep_attribute)
    _, pullback = vjp(op, A)
    barrier, found = threading.Barrier(4), []

    def work(k):
        barrier.wait()
        found.extend(np.array_equal(pullback(k * G)[0], 2 * A * k * G) for _ in range(50))

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [True] * 200


# -- jvp ---------------------------------------------------------------------------------------------------------------------


def test_value_and_tangent():
    out, tangent = jvp(lambda x, y: x * y, (A, G), (G, A))
    assert np.array_equal(out, A * G)
    assert np.array_equal(tangent, G * G + A * A)
    assert jvp(lambda x: x * x, [3.0], [2]) == (9.0, 12.0)
    out, tangent, aux = jvp(lambda x: (x * x, [2 * x, "text"]), (A,), (G,), has_aux=True)
    assert np.array_equal(tangent, 2 * A * G)
    assert np.array_equal(aux[0], 2 * A)
    assert type(aux[0]) is np.ndarray


def test_tangents_that_come_out_belong_to_the_caller():
    for f in (lambda x: x, lambda x: x[:], lambda x: x * 1.0, lambda x: np.reshape(x, (3, 1))):
        x, t = A.copy(), G.copy()
        for array in jvp(f, (x,), (t,)):
            assert type(array) is np.ndarray
            array[...] = 7.0
        assert np.array_equal(x, A)
        assert np.array_equal(t, G)
        assert x.flags.writeable
        assert t.flags.writeable


def test_what_does_not_move():
    f = lambda x, p: {"x": x * p["s"], "n": p["n"] + 1, "name": "out", "constant": 3.0, "array": A, "i": np.arange(2)}
    out, tangent = jvp(f, (A, {"s": 2.0, "n": 3}), (G, {"s": None, "n": None}))
    assert np.array_equal(tangent["x"], 2 * G)
    assert tangent["n"] is tangent["name"] is tangent["i"] is None
    assert tangent["constant"] == 0.0
    assert np.array_equal(tangent["array"], np.zeros(3))
    assert out["n"] == 4
    assert np.array_equal(jvp(f, (A, {"s": 2.0, "n": 3}), (None, None))[1]["x"], np.zeros(3))


@pytest.mark.parametrize(("primals", "tangents", "message"), [
    (A, (A,), "jvp: primals is an ndarray. Give a tuple with one for each argument of the function."),
    ((A,), {"x": A}, "jvp: tangents is a dict. Give a tuple with one for each argument of the function."),
    ((A, A), (A,), "jvp: tangents is a tuple of 1, and primals is a tuple of 2. Give one of the same structure, None for what is zero."),
    ((A,), ([A],), "jvp: tangents[0] is a list of 1, and primals[0] an array of shape (3,). Give an array."),
    (({"a": A},), (A,), "jvp: tangents[0] is an array of shape (3,), and primals[0] is a dict with 'a'. Give one of the same structure, None for what is zero."),
    (({"a": A},), ({"a": np.ones(2)},), "jvp: tangents[0]['a'] has shape (2,), and primals[0]['a'] has shape (3,). Make them equal."),
    ((A,), (A * 1j,), "jvp: tangents[0] has dtype complex128, and primals[0] has dtype float64. Cast it: x.astype(...)."),
    ((3,), (1.0,), "jvp: tangents[0] was given, and primals[0] is an int, which has no derivative. Give None for it, or make it floating-point: 2.0 for 2, x.astype(float)."),
    ((np.arange(3),), (A,), "jvp: tangents[0] was given, and primals[0] is an array of dtype int64, which has no derivative. Give None for it, or make it floating-point: 2.0 for 2, x.astype(float)."),
])  # fmt: skip
def test_tangents_that_do_not_fit(primals, tangents, message):
    assert said(lambda: jvp(lambda *args: args[0], primals, tangents), GradientError) == message


def test_perturbations_are_not_confused():
    d = lambda f: lambda x: jvp(f, (x,), (1.0,))[1]
    assert d(lambda x: x * d(lambda y: x + y)(1.0))(1.0) == 1.0
    assert d(lambda x: x * grad(lambda y: x + y)(1.0))(1.0) == 1.0
    assert grad(lambda x: x * d(lambda y: x + y)(1.0))(1.0) == 1.0
    assert d(lambda x: x * d(lambda y: x * y)(2.0))(3.0) == 6.0
    assert d(lambda x: x * vjp(lambda y: x * y, 2.0)[1](1.0)[0])(3.0) == 6.0


def test_in_a_batch_and_in_each_other():
    x, t = np.stack([A, G]), np.stack([G, A])
    each = lambda x, t: jvp(np.sin, (x,), (t,))[1]
    assert np.allclose(vmap(each)(x, t), np.cos(x) * t)
    assert np.allclose(vmap(each, in_dims=(None, 0))(A, t), np.cos(A) * t)
    assert np.allclose(jvp(vmap(np.sin), (x,), (t,))[1], np.cos(x) * t)
    assert np.allclose(jvp(lambda x: jvp(np.sin, (x,), (G,))[1], (A,), (G,))[1], -np.sin(A) * G * G)
    out = jvp(lambda x: isinstance(each(x, G), Tensor) and each(x, G), (A,), (G,))[0]
    assert np.allclose(out, np.cos(A) * G)


# -- complex numbers -----------------------------------------------------------------------------------------------------------

Z, W = np.array([1 + 2j, -0.5 + 1j]), np.array([0.3 - 1j, 2j])
COMPLEX = [
    lambda lib, z, w: z * w,
    lambda lib, z, w: lib.exp(z) / w,
    lambda lib, z, w: lib.conj(z) * w * z if hasattr(lib, "conj") else lib.conjugate(z) * w * z,
    lambda lib, z, w: lib.sin(z) + lib.sqrt(w),
    lambda lib, z, w: (z * w).real + (z * w).imag,
]


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:.*torch.jit.*:DeprecationWarning")
@pytest.mark.parametrize("f", COMPLEX)
def test_products_of_complex_functions_are_torchs(f):
    import torch

    z, w = torch.tensor(Z), torch.tensor(W)
    out, pullback = vjp(lambda z, w: f(np, z, w), Z, W)
    expected, back = torch.func.vjp(lambda z, w: f(torch, z, w), z, w)
    assert np.allclose(out, expected.resolve_conj().numpy())
    g = G[:2] if out.dtype.kind == "f" else Z * W
    for got, want in zip(pullback(g), back(torch.tensor(g)), strict=True):
        assert np.allclose(got, want.resolve_conj().numpy())
    tangent = jvp(lambda z, w: f(np, z, w), (Z, W), (W, Z))[1]
    assert np.allclose(tangent, torch.func.jvp(lambda z, w: f(torch, z, w), (z, w), (w, z))[1].resolve_conj().numpy())
