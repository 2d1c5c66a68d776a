"""One solver in C, called from NumPy, PyTorch, JAX, Dask and xarray.

Twelve lines of C solve a tridiagonal system. They are wrapped once, as an operator with a gradient. The same
operator is then called with a torch tensor, a JAX array, a Dask array and a DataArray, and each gets back what it
gave; inside of torch.compile and jax.jit what `export` returns is called. Every framework's own gradient goes
through, and all of them are equal.

Run this page with `python docs/gallery/one_solver.py`; it needs a C compiler, `cc` or what the variable CC names,
and torch, jax, dask and xarray. A cell whose framework is not there says so, and the others run.
"""

# mypy: allow-untyped-defs, allow-untyped-calls, disable-error-code="no-any-return, import-untyped, import-not-found"

import ctypes
import os
import subprocess
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import dispatch
from dispatch import custom_op

# %% The solver
#
# A rod is heated along its length, and loses heat to the air: -u'' + q u = f. On a grid that is a matrix with
# d = 2 + h² q on the diagonal and -1 beside it. Thomas's algorithm goes down the rod once and up again. The
# function is the inner loop of a ufunc, in NumPy's own signature, so that nothing of Python is in it: it runs
# without the interpreter's lock, for as many rods as there are.

C_CODE = r"""
#include <stddef.h>
#define AT(p, i, step) (*(double *)((p) + (i) * (step)))
void thomas(char **args, const ptrdiff_t *sizes, const ptrdiff_t *steps, void *data)
{
    ptrdiff_t n = sizes[1];
    for (ptrdiff_t k = 0; k < sizes[0]; k++) {
        char *d = args[0] + k * steps[0], *f = args[1] + k * steps[1], *u = args[2] + k * steps[2];
        double pivots[n];
        for (ptrdiff_t i = 0; i < n; i++) {
            pivots[i] = AT(d, i, steps[3]) - (i ? 1 / pivots[i - 1] : 0);
            AT(u, i, steps[5]) = AT(f, i, steps[4]) + (i ? AT(u, i - 1, steps[5]) / pivots[i - 1] : 0);
        }
        for (ptrdiff_t i = n - 1; i >= 0; i--)
            AT(u, i, steps[5]) = (AT(u, i, steps[5]) + (i < n - 1 ? AT(u, i + 1, steps[5]) : 0)) / pivots[i];
    }
}
"""


def compiled(source):
    """Compile C code into a shared library and load it."""
    with tempfile.TemporaryDirectory() as folder:
        code, library = Path(folder) / "thomas.c", Path(folder) / "thomas.so"
        code.write_text(source)
        compiler = os.environ.get("CC", "cc").split()
        subprocess.run([*compiler, "-O2", "-shared", "-fPIC", "-o", str(library), str(code)], check=True)
        return ctypes.CDLL(str(library))  # stays loaded when the file is gone


thomas = compiled(C_CODE).thomas
thomas.restype, thomas.argtypes = None, [ctypes.c_void_p] * 4

# %% The operator
#
# `signature=` says what it does to one rod, and with it what comes out, how batches run, and how Dask's chunks and
# xarray's dimensions go. What is decorated is the same in NumPy, for devices that have no C.


@custom_op("rod::solve", mutates_args=(), signature="(n),(n)->(n)")
def solve(d: NDArray[np.float64], f: NDArray[np.float64]) -> NDArray[np.float64]:
    """The temperature of a rod with diagonal d under the heating f."""
    beside = np.diag(np.full(len(d) - 1, -1.0), 1)
    return np.asarray(np.linalg.solve(np.diag(d) + beside + beside.T, f), np.float64)


solve.register_kernel("cpu", cfunc=thomas)

# The matrix is symmetric, so the gradient solves with it again: of f it is w = A⁻¹ g, and of d it is -w u.


@solve.register_autograd(setup_context=lambda ctx, inputs, output: ctx.save_for_backward(inputs[0], output))
def _(ctx, g):
    d, u = ctx.saved_tensors
    w = solve(d, g)
    return -w * u, w


random = np.random.default_rng(0)
d, f = 2.0 + random.random((6, 50)), random.normal(size=(6, 50))  # six rods


def energy(d, f):
    """What is differentiated below, by each framework with its own functions: a number, of any kind of array."""
    u = solve(d, f)
    return (u * u).sum()


u, gradient = solve(d, f), dispatch.grad(energy)(d, f)
assert np.allclose(u, [solve.__wrapped__(*rod) for rod in zip(d, f, strict=True)], rtol=1e-12)
print(dispatch.testing.opcheck(solve, (dispatch.tensor(d[:2, :5], requires_grad=True), f[:2, :5])))
shown: list[str] = []


def same(framework, value, slope):
    """The values of a framework are NumPy's to the last bit, and its gradient is ours."""
    assert np.asarray(value).tobytes() == u.tobytes()
    assert np.allclose(np.asarray(slope), gradient, rtol=1e-12, atol=1e-14)
    shown.append(framework)
    print(f"{framework:10} {type(value).__module__}.{type(value).__qualname__}")


def here(*packages):
    """Whether the framework of a cell is installed."""
    missing = [package for package in packages if find_spec(package) is None]
    if missing:
        print(f"{packages[0]} is left out: {', '.join(missing)} not installed")
    return not missing


# %% NumPy

same("numpy", u, gradient)

# %% PyTorch
#
# A tensor goes in and a tensor comes out, in the same memory, and torch's tape records the call. What `export`
# returns goes through torch.compile and torch.func as well.

if here("torch"):
    import torch

    x, y = torch.tensor(d, requires_grad=True), torch.tensor(f)
    energy(x, y).backward()
    same("torch", solve(x, y).detach(), x.grad)

    torch_solve = dispatch.interop.torch.export(solve)

    def torch_energy(d, f):
        return (torch_solve(d, f) ** 2).sum()

    compiled_energy = torch.compile(torch_energy, fullgraph=True, backend="aot_eager")
    assert x.grad is not None
    assert torch.allclose(torch.autograd.grad(compiled_energy(x, y), x)[0], x.grad, rtol=1e-12)
    assert torch.allclose(torch.vmap(torch.func.grad(torch_energy))(x.detach(), y), x.grad, rtol=1e-12)

# %% JAX
#
# Arrays of JAX work as they are. Inside of its transforms the exported function does, with gradients of any order.

if here("jax"):
    import jax

    with jax.enable_x64(True):
        jax_solve = dispatch.interop.jax.export(solve)

        def jax_energy(d, f):
            return (jax_solve(d, f) ** 2).sum()

        on_x, on_y = jax.numpy.asarray(d), jax.numpy.asarray(f)
        same("jax", solve(on_x, on_y), jax.jit(jax.grad(jax_energy))(on_x, on_y))
        rods = jax.vmap(jax.grad(jax_energy))(on_x, on_y)
        assert np.allclose(rods, gradient, rtol=1e-12)
        twice = jax.grad(lambda d: (jax.grad(jax_energy)(d, on_y) ** 2).sum())(on_x)
        ours = dispatch.grad(lambda d: (dispatch.grad(energy)(d, f) ** 2).sum())(d)
        assert np.allclose(twice, ours, rtol=1e-10)

# %% Dask
#
# Two rods in each chunk. Nothing runs before `compute`; then each chunk is one call of the function in C, in a
# thread, or in a process of a cluster, which finds the operator by its name. The gradient is lazy too.

if here("dask"):
    import dask.array as da

    chunks: Any = (2, 50)
    lazy_d, lazy_f = da.from_array(d, chunks), da.from_array(f, chunks)
    lazy: Any = solve(lazy_d, lazy_f)
    slope = dispatch.grad(energy)(lazy_d, lazy_f)
    print(lazy)
    same("dask", lazy.compute(), slope.compute())

# %% xarray
#
# The dimension that the signature names is found by its name, wherever it stands; the coordinates stay.

if here("xarray"):
    import xarray

    diagonal = xarray.DataArray(d, dims=("rod", "n"), coords={"rod": list("abcdef")})
    heating = xarray.DataArray(f, dims=("rod", "n"), coords={"rod": list("abcdef")})
    temperature = solve(diagonal, heating)
    print(temperature.sel(rod="c").max())
    same("xarray", temperature, dispatch.grad(energy)(diagonal, heating))

print(f"one solver, the same bits and the same gradient in {', '.join(shown)}")
