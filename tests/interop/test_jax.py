"""Operators called with arrays of JAX: type in, type out; and what `export` and `wrap` are given."""

import subprocess
import sys

import numpy as np
import pytest

import dispatch
from dispatch.errors import ArgumentError, ConversionError

pytestmark = pytest.mark.jax
jax = pytest.importorskip("jax")

import custom_op_db as db  # noqa: E402  after JAX is known to be here
import jax.numpy as jnp  # noqa: E402

from dispatch.interop.jax import export  # noqa: E402

X = np.array([1.0, 2.0, 3.0], "f4")


def test_inside_of_a_trace_an_operator_says_that_the_exported_one_works():
    cube = db.numpy_cube
    for f in (jax.jit(cube), jax.grad(lambda x: cube(x)[0].sum()), jax.vmap(cube)):
        with pytest.raises(ConversionError, match=r"JAX traces.*numpy_cube_jax = dispatch\.interop\.jax\.export\(numpy_cube\)"):
            f(jnp.ones(3))


def test_what_cannot_be_exported_says_so():
    with pytest.raises(ArgumentError, match="export takes an operator, and was given a function"):
        export(lambda x: x)


def test_an_array_of_numpy_beside_one_of_jax_is_a_constant():
    out = db.numpy_mul(jnp.asarray(X), X)
    assert isinstance(out, jax.Array)
    assert np.array_equal(out, X * X)


@pytest.mark.torch
def test_arrays_of_two_frameworks_are_refused():
    torch = pytest.importorskip("torch")
    with pytest.raises(dispatch.errors.DeviceMismatchError, match="these are two kinds"):
        db.numpy_mul(jnp.asarray(X), torch.ones(3))


def test_what_is_no_array_of_jax_is_told_by_the_operator_itself():
    with pytest.raises(ArgumentError, match="argument 'x' is Tensor, and was given"):
        db.numpy_cube(jax.ShapeDtypeStruct((3,), np.dtype("f4")))


def test_a_function_has_the_signature_and_the_words_of_its_operator():
    import inspect

    call = export(db.numpy_nms)
    assert inspect.signature(call) == inspect.signature(db.numpy_nms)
    assert call.__name__ == "numpy_nms"
    assert call.__doc__.startswith("The boxes, (x1, y1, x2, y2) each")
    assert repr(call) == "<db::numpy_nms exported to JAX>"
    with pytest.raises(ArgumentError, match=r"'boxes', .* must be given"):
        call()


def test_without_jax_the_extra_is_named():
    program = (
        "import sys; sys.modules['jax'] = None\n"
        "import dispatch\n"
        "try:\n    import dispatch.interop.jax\nexcept ImportError as error:\n    print(error)"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert "dispatch.interop.jax needs jax, which is not installed." in said
    assert "pip install 'npdispatch[jax]'" in said
