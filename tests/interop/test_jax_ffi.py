"""Operators whose kernel in JAX is an XLA FFI handler, in C."""

import ctypes
import datetime as dt
import shutil
import subprocess
import threading

import numpy as np
import pytest

import dispatch
from dispatch.errors import ArgumentError, UnsupportedError

pytestmark = pytest.mark.jax
jax = pytest.importorskip("jax")

import jax.numpy as jnp  # noqa: E402

from dispatch.interop.jax import export  # noqa: E402
from dispatch.interop.jax_ffi import attributes  # noqa: E402
from dispatch.interop.jax_values import taken_apart  # noqa: E402

X = np.array([1.0, 2.0, 3.0], np.float32)
PROGRAM = r"""
#include "xla/ffi/api/c_api.h"
#include <string.h>

XLA_FFI_Error* scaled(XLA_FFI_CallFrame* frame) {
  if (frame->extension_start && frame->extension_start->type == XLA_FFI_Extension_Metadata) {
    XLA_FFI_Metadata* said = ((XLA_FFI_Metadata_Extension*)frame->extension_start)->metadata;
    said->api_version.major_version = XLA_FFI_API_MAJOR;
    said->api_version.minor_version = XLA_FFI_API_MINOR;
    return NULL;
  }
  XLA_FFI_Buffer *x = frame->args.args[0], *y = frame->rets.rets[0];
  double by = 0;
  int64_t n = 0, size = 1;
  for (int64_t i = 0; i < frame->attrs.size; i++) {
    XLA_FFI_Scalar* given = frame->attrs.attrs[i];
    if (*frame->attrs.names[i]->ptr == 'b' && given->dtype == XLA_FFI_DataType_F64) by = *(double*)given->value;
    if (*frame->attrs.names[i]->ptr == 'n' && given->dtype == XLA_FFI_DataType_S64) n = *(int64_t*)given->value;
  }
  for (int64_t i = 0; i < x->rank; i++) size *= x->dims[i];
  for (int64_t i = 0; i < size; i++) ((float*)y->data)[i] = (float)(by * ((float*)x->data)[i] + n);
  return NULL;
}
"""

calls = []


@dispatch.custom_op("jax_ffi_tests::scaled", mutates_args=())
def scaled(x: np.ndarray, by: float, n: int, more: float | None = None) -> np.ndarray:
    calls.append(threading.get_ident())
    return (by * x + n).astype(x.dtype)


@scaled.register_fake
def _(x, by, n, more):
    return np.empty_like(x)


@scaled.register_autograd(setup_context=lambda ctx, inputs, output: setattr(ctx, "by", inputs[1]))
def _(ctx, g):
    return g * np.float32(ctx.by), None, None, None


@pytest.fixture(scope="module")
def handler(tmp_path_factory):
    compiler = shutil.which("cc") or shutil.which("gcc")
    if compiler is None:
        pytest.skip("no C compiler")
    folder = tmp_path_factory.mktemp("ffi")
    (folder / "scaled.c").write_text(PROGRAM)
    library = folder / "scaled.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-I", jax.ffi.include_dir(), str(folder / "scaled.c"), "-o", str(library)], check=True)
    return jax.ffi.pycapsule(ctypes.CDLL(str(library)).scaled)


def test_a_handler_runs_in_place_of_the_kernel_and_derivatives_are_the_operator_s(handler):
    assert np.array_equal(export(scaled)(X, 0.5, 3), 0.5 * X + 3)
    f = export(scaled, ffi_target=handler)
    calls.clear()
    for call in (f, jax.jit(f, static_argnums=(1, 2)), export(scaled)):
        out = call(jnp.asarray(X), 0.5, 3)
        assert isinstance(out, jax.Array)
        assert np.array_equal(out, 0.5 * X + 3)
    assert not calls
    value, grad = jax.jit(jax.value_and_grad(lambda x: f(x, 0.5, 3).sum()))(X)
    assert (value, grad.tolist()) == (12.0, [0.5, 0.5, 0.5])
    assert jax.grad(lambda x: f(x, 0.5, 3).sum())(X).tolist() == [0.5, 0.5, 0.5]
    assert not calls
    assert np.array_equal(jax.vmap(lambda x: f(x, 0.5, 3))(np.stack([X, X])), [0.5 * X + 3] * 2)
    assert calls  # a batch is the operator's own
    assert np.array_equal(scaled(X, 0.5, 3), 0.5 * X + 3)


@pytest.mark.parametrize(("wrong", "said"), [(lambda: 1, "a function"), (dt.datetime_CAPI, r"a capsule of b'datetime\.datetime_CAPI'")])
def test_what_is_no_handler_is_refused(wrong, said):
    with pytest.raises(ArgumentError, match=rf"takes a capsule of an XLA FFI handler.*was given {said}.*jax\.ffi\.pycapsule"):
        export(scaled, ffi_target=wrong)
    with pytest.raises(ArgumentError, match="takes a capsule of an XLA FFI handler"):
        export(scaled, ffi_target={"execute": wrong})


def test_what_is_no_array_goes_as_attributes_or_is_refused():
    @dispatch.custom_op("jax_ffi_tests::typed", mutates_args=())
    def typed(x: np.ndarray, dtype: np.dtype, flags: list[int], word: str, on: bool) -> np.ndarray:
        return x.copy()

    typed.register_fake(lambda x, dtype, flags, word, on: np.empty_like(x))
    with pytest.raises(UnsupportedError, match=r"argument 'dtype' is .*, and an FFI handler takes arrays, numbers, texts and lists"):
        attributes(taken_apart(typed, (X, np.dtype("f4"), [1], "w", True))[0])
    call = taken_apart(scaled, (X, 0.5, 3, None))[0]
    found = attributes(call)
    assert {name: type(x) for name, x in found.items()} == {"by": np.float64, "n": np.int64}
