"""A kernel's exception comes out of a compiled program as itself."""

import gc

import numpy as np
import pytest

import dispatch
from dispatch import Tag

pytestmark = pytest.mark.jax
jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402

from dispatch.interop import jax_errors  # noqa: E402
from dispatch.interop.jax import export  # noqa: E402

X = np.array([1.0, 2.0, 3.0], "f4")


class Broken(ValueError):  # noqa: N818
    def __init__(self, x):
        super().__init__(f"cannot do {x}")
        self.x = x


@dispatch.custom_op("jax_tests::breaks", mutates_args=(), tags=Tag.pointwise)
def breaks(x: np.ndarray) -> np.ndarray:
    if np.any(x < 0):
        raise Broken("negative numbers")
    return np.sqrt(x)


breaks.register_fake(np.empty_like)
breaks.register_vmap("broadcast_all")


@breaks.register_autograd(setup_context=lambda ctx, inputs, output: ctx.save_for_backward(output))
def _(ctx, g):
    if np.any(ctx.saved_tensors[0] == 0):
        raise Broken("zeros")
    return g / (2 * ctx.saved_tensors[0])


def loss(x):
    return export(breaks)(x).sum()


@pytest.mark.parametrize(
    ("call", "what"),
    [
        (export(breaks), "negative numbers"),
        (jax.jit(export(breaks)), "negative numbers"),
        (jax.jit(lambda x: export(breaks)(x @ jnp.eye(3) - 1) * 2), "negative numbers"),
        (jax.vmap(export(breaks)), "negative numbers"),
        (jax.jit(jax.vmap(export(breaks))), "negative numbers"),
        (jax.grad(loss), "negative numbers"),
        (jax.jit(jax.grad(lambda x: loss(x * 0))), "zeros"),
        (jax.grad(lambda x: loss(x * 0)), "zeros"),
        (jax.jit(lambda x: jax.lax.fori_loop(0, 3, lambda i, x: export(breaks)(x - 1), x)), "negative numbers"),
    ],
)
def test_a_kernel_s_exception_comes_out_as_itself(call, what):
    with pytest.raises(Broken, match=f"cannot do {what}") as caught:
        jax.block_until_ready(call(jnp.full(3, -1.0)))
    assert caught.value.x == what


def test_jax_s_own_errors_stay_jax_s():
    def failing(x):
        raise ValueError("of another")

    shape = jax.ShapeDtypeStruct((3,), np.dtype("f4"))
    with pytest.raises(Broken):
        jax.block_until_ready(jax.jit(export(breaks))(-X))
    with pytest.raises(jax.errors.JaxRuntimeError, match="ValueError: of another"):
        jax.block_until_ready(jax.jit(lambda x: jax.pure_callback(failing, shape, x))(X))
    assert str(jax.errors.JaxRuntimeError("[kernel failure 999999]")) == "[kernel failure 999999]"


def test_few_exceptions_are_kept_that_nobody_asked_for():
    for i in range(3 * jax_errors.KEPT):
        jax_errors.sent(ValueError(i))
    assert len(jax_errors._on_their_way) == jax_errors.KEPT
    jax_errors._on_their_way.clear()


def test_an_exception_that_came_out_is_kept_by_nobody():
    class Marked(Exception):  # noqa: N818
        pass

    @dispatch.custom_op("jax_tests::marks", mutates_args=())
    def marks(x: np.ndarray) -> np.ndarray:
        raise Marked

    marks.register_fake(np.empty_like)
    with pytest.raises(Marked):
        jax.block_until_ready(jax.jit(export(marks))(X))
    gc.collect()
    assert not [x for x in jax_errors._on_their_way.values() if isinstance(x, Marked)]
