"""JAX functions as operators: values, gradients of any order, tangents, batches and shapes are JAX's own."""

import pickle

import numpy as np
import pytest

import dispatch
from dispatch.errors import DefinitionError, OutputError, PerformanceWarning, UnsupportedError

pytestmark = pytest.mark.jax
jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402

from dispatch.interop.jax import export, wrap  # noqa: E402

RNG = np.random.default_rng(0)
X = RNG.normal(size=3)
W = {"a": RNG.normal(size=(3, 4)), "b": RNG.normal(size=4)}


@pytest.fixture(autouse=True)
def _with_float64():
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


def plain(x, a, b):
    return jnp.tanh(x @ a + b)


NETS = [wrap(plain, "jax_functions::net"), wrap(jax.jit(plain), "jax_functions::jitted")]


def loss_of(net):
    return lambda x: (net(x, W["a"], W["b"]) ** 2).sum()


BY_JAX = loss_of(plain)


@pytest.mark.parametrize("net", NETS, ids=["plain", "jitted"])
def test_values_gradients_of_any_order_tangents_batches_and_shapes(net):
    loss, args = loss_of(net), (X, W["a"], W["b"])
    out = net(*args)
    assert type(out) is np.ndarray
    assert out.flags.writeable
    np.testing.assert_array_equal(out, (plain if net is NETS[0] else jax.jit(plain))(*map(jnp.asarray, args)))
    np.testing.assert_allclose(dispatch.grad(loss)(X), jax.grad(BY_JAX)(X), rtol=1e-12)
    np.testing.assert_allclose(dispatch.hessian(loss)(X), jax.hessian(BY_JAX)(X), rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(dispatch.jvp(net, args, args)[1], jax.jvp(plain, args, args)[1], rtol=1e-12)
    np.testing.assert_allclose(dispatch.jvp(dispatch.grad(loss), (X,), (X,))[1], jax.hessian(BY_JAX)(X) @ X, rtol=1e-12)
    batch = RNG.normal(size=(3, 5))
    np.testing.assert_allclose(dispatch.vmap(dispatch.grad(loss), 1)(batch), jax.vmap(jax.grad(BY_JAX), 1)(batch), rtol=1e-12)
    fake = dispatch.eval_shape(net, np.empty((7, 3)), *args[1:])
    assert (fake.shape, fake.dtype) == ((7, 4), np.float64)
    graph = dispatch.make_fx(dispatch.grad(loss))(X)
    np.testing.assert_allclose(graph(2 * X), jax.grad(BY_JAX)(2 * X), rtol=1e-12)
    assert pickle.loads(pickle.dumps(net)) is net


def test_third_derivatives_and_the_tape():
    third = dispatch.jacrev(dispatch.jacrev(dispatch.grad(loss_of(NETS[1]))))(X)
    np.testing.assert_allclose(third, jax.jacrev(jax.hessian(BY_JAX))(X), rtol=1e-10, atol=1e-13)
    x = dispatch.tensor(X, requires_grad=True)
    loss_of(NETS[1])(x).backward()
    np.testing.assert_allclose(x.grad, jax.grad(BY_JAX)(X), rtol=1e-12)


def test_complex_gradients_are_this_package_s():
    op, z = wrap(lambda z, w: z**2 * jnp.conj(w)), X + 1j
    by_numpy = lambda z, w: z**2 * np.conj(w)
    gradients = lambda f: dispatch.grad(lambda z, w: np.sum(np.abs(f(z, w)) ** 2), (0, 1))(z, 2 * z)
    for found, wanted in zip(gradients(op), gradients(by_numpy), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_containers_numbers_and_several_results():
    def fn(p, x, power, *, scale):
        return {"y": p["w"] * x**power * scale, "n": (x > 0).sum()}

    op = wrap(fn, schema="(Dict(str, Tensor) p, Tensor x, int power, *, float scale) -> Dict(str, Tensor)")
    out = op({"w": X}, X, 2, scale=0.5)
    np.testing.assert_allclose(out["y"], X**3 / 2)
    assert out["n"] == np.sum(X > 0)
    found = dispatch.grad(lambda p, x: np.sum(op(p, x, 3, scale=2.0)["y"]), (0, 1))({"w": X}, X)
    np.testing.assert_allclose(found[0]["w"], 2 * X**3)
    np.testing.assert_allclose(found[1], 6 * X * X**2)


def test_what_is_exported_and_what_is_called_with_arrays_of_jax_is_the_function_itself():
    net, given = NETS[0], (jnp.asarray(X), W["a"], W["b"])
    assert isinstance(net(*given), jax.Array)
    np.testing.assert_allclose(jax.jit(jax.grad(loss_of(export(net))))(X), jax.grad(BY_JAX)(X), rtol=1e-12)
    np.testing.assert_allclose(jax.grad(loss_of(net))(X), jax.grad(BY_JAX)(X), rtol=1e-12)
    assert "callback" not in str(jax.make_jaxpr(export(net))(*given))


def test_inside_of_a_callback_jax_is_not_called():
    inner = wrap(jax.jit(jnp.sin), "jax_functions::sin", schema="(Tensor x) -> Tensor")
    outer = dispatch.custom_op("jax_functions::outer", lambda x: inner(x) + 1, mutates_args=(), schema="(Tensor x) -> Tensor")
    outer.register_fake(np.empty_like)
    np.testing.assert_allclose(export(outer)(X), np.sin(X) + 1)
    with pytest.raises(UnsupportedError, match="sin_flat runs a JAX function, and was called inside of a callback"):
        jax.block_until_ready(jax.jit(export(outer))(X))


def test_with_64_bits_off_nothing_is_narrowed():
    jax.config.update("jax_enable_x64", False)
    op = wrap(lambda x: x * 2, schema="(Tensor x) -> Tensor")
    for call in (op, lambda x: dispatch.eval_shape(op, x)):
        with pytest.raises(UnsupportedError, match=r"was given float64, and JAX makes float32 of it.*x\.astype\(np\.float32\)"):
            call(X)
    assert op(X.astype("f4")).dtype == np.float32


@pytest.mark.parametrize("make", [lambda: X[::-1], lambda: np.broadcast_to(2.0, (3,)), lambda: np.float64(1.5), lambda: np.empty((0, 3))])
def test_arrays_of_every_layout_go_in(make):
    x = make()
    np.testing.assert_array_equal(wrap(lambda x: x * 2)(x), x * 2)


def test_a_result_is_neither_an_argument_nor_a_constant_of_the_function():
    x, constant = np.ones(3), jnp.ones(3)
    wrap(lambda x: x)(x)[:] = 7.0
    wrap(lambda x: constant, schema="(Tensor x) -> Tensor")(x)[:] = 7.0
    assert (x.tolist(), constant.tolist()) == ([1, 1, 1], [1, 1, 1])


def test_an_exception_comes_out_as_itself_and_what_cannot_be_wrapped_says_so():
    def failing(x):
        raise ZeroDivisionError("inside of JAX")

    with pytest.raises(ZeroDivisionError, match="inside of JAX"):
        wrap(failing)(X)
    with pytest.raises(DefinitionError, match="wrap takes a JAX function, and was given an int"):
        wrap(3)
    with pytest.raises(DefinitionError, match=r"in which not every parameter is one tensor\. Give schema='\(Tensor x\) -> Tensor'"):
        wrap(lambda *xs: xs[0])
    with pytest.raises(DefinitionError, match="wrap makes operators that write to nothing"):
        wrap(lambda x: None, schema="(Tensor(a!) x) -> ()")
    with pytest.raises(OutputError, match="returned"):
        wrap(lambda x: "text", schema="(Tensor x) -> Tensor")(X)


def test_a_function_of_jax_in_what_is_compiled_is_told():
    with pytest.warns(PerformanceWarning) as caught:
        dispatch.compile(lambda x: jnp.sin(x))(np.ones(3))
    assert str(caught[0].message).endswith(
        "runs as it is: it calls a function of JAX. Write NumPy's in its place, or dispatch.interop.jax.wrap(f)."
    )
