"""Arrays between JAX and an operator: nothing is narrowed, shared where it could change, or taken for something else."""

import numpy as np
import pytest

import dispatch
from dispatch.errors import ArgumentError, UnsupportedError

pytestmark = pytest.mark.jax
jax = pytest.importorskip("jax")

import custom_op_db as db  # noqa: E402  after JAX is known to be here
import jax.numpy as jnp  # noqa: E402

from dispatch.interop.jax import export  # noqa: E402
from dispatch.interop.jax_values import Call, Place  # noqa: E402

X = np.array([1.0, 2.0, 3.0])


@pytest.fixture(autouse=True)
def _with_float64():
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


@pytest.mark.parametrize("dtype", ["f8", "i8", "u8", "c16"])
def test_with_64_bits_off_nothing_is_narrowed(dtype):
    jax.config.update("jax_enable_x64", False)
    x, narrow = np.ones(3, dtype), {"f": "float32", "i": "int32", "u": "uint32", "c": "complex64"}[dtype[0]]
    line = rf"argument 'x' is {x.dtype}, and JAX makes {narrow} of it.*jax\.config\.update\(\"jax_enable_x64\", True\).*x\.astype\(np\.{narrow}\)"
    for call in (export(db.numpy_mul), db.numpy_mul):
        with pytest.raises(UnsupportedError, match=line):
            call(x, jnp.ones(3))
    with pytest.raises(UnsupportedError, match=line):
        jax.jit(lambda y: export(db.numpy_mul)(x, y))(jnp.ones(3))
    assert export(db.numpy_mul)(x.astype(narrow), jnp.ones(3, narrow)).dtype == narrow


def test_with_64_bits_off_an_operator_that_says_float64_is_refused():
    jax.config.update("jax_enable_x64", False)

    @dispatch.custom_op("jax_tests::widened", mutates_args=())
    def widened(x: np.ndarray) -> np.ndarray:
        return x.astype(np.float64)

    widened.register_fake(lambda x: np.empty_like(x, dtype=np.float64))
    with pytest.raises(UnsupportedError, match=r"widened: its shape rule says float64, and JAX makes float32 of it"):
        jax.jit(export(widened))(jnp.ones(3))
    with pytest.raises(UnsupportedError, match=r"widened returned float64, and JAX makes float32 of it"):
        export(widened)(jnp.ones(3))


def test_what_jax_has_no_dtype_for_is_refused():
    masked = np.ma.masked_array(X, [True, False, False])
    with pytest.raises(ArgumentError, match=r"argument 'x' is a MaskedArray, which JAX would take for its data alone"):
        export(db.numpy_mul)(masked, jnp.ones(3))
    with pytest.raises(UnsupportedError, match=r"JAX has no dtype for >f8\. Write x\.astype"):
        export(db.numpy_mul)(X.astype(">f8"), jnp.ones(3))
    with pytest.raises(UnsupportedError, match=r"which NumPy has not\. If it is a key, write jax\.random\.key_data"):
        jax.jit(export(db.numpy_mul))(jax.random.key(0), jnp.ones(3))


def test_a_result_that_the_kernel_keeps_and_writes_to_again_does_not_change():
    kept = np.zeros(1000)

    @dispatch.custom_op("jax_tests::kept", mutates_args=())
    def keeps(x: np.ndarray) -> np.ndarray:
        kept[:] = x
        return kept

    keeps.register_fake(np.empty_like)
    for f in (export(keeps), jax.jit(export(keeps)), keeps):
        first = f(jnp.ones(1000))
        f(jnp.zeros(1000))
        assert np.all(np.asarray(first) == 1)


def test_a_call_shares_the_memory_of_an_array_that_is_there():
    given = []
    op = dispatch.custom_op("jax_tests::sees", lambda x: given.append(x) or x + 1, mutates_args=(), schema="(Tensor x) -> Tensor")
    x = jnp.ones(1000)
    op(x)
    assert np.shares_memory(given[0], np.asarray(x))
    assert not given[0].flags.writeable


def test_calls_are_equal_where_their_arguments_are_of_one_type_and_value():
    add = dispatch.ops.np.add
    made = lambda *values: Call(add, (Place(0), *values))
    assert made(1.0) == made(1.0)
    assert hash(made([1, {"a": "b"}])) == hash(made([1, {"a": "b"}]))
    assert made(float("nan")) == made(float("nan"))
    one = object()
    different = [1, 1.0, True, 0.0, -0.0, [1], (1,), {"a": 1}, {"b": 1}, np.dtype("f4"), Place(1), one, [one], slice(0, 1)]
    for i, x in enumerate(different):
        assert [made(x) == made(y) for y in different] == [i == j for j in range(len(different))]
