"""A kernel in Cython: tridiagonal systems, and a function in Cython that calls the kernel of an operator.

`cimport dispatch` has the type of a loop in C, `capsule`, which makes of such a function what `cfunc=` takes, and
`loop`, which makes a function of `op.cfunc` again.

Run this page with `python docs/gallery/cython_kernel.py`; it needs Cython and a C compiler.
"""

# mypy: allow-untyped-defs, allow-untyped-calls, disable-error-code="no-any-return, import-untyped, import-not-found"

import importlib.util
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import dispatch
from dispatch import custom_op
from dispatch.testing import opcheck

# %% The code
#
# A tridiagonal matrix has a lower, a middle and an upper diagonal. Thomas' algorithm eliminates downwards and
# substitutes upwards; `x` takes what has been eliminated, and memory on the heap the rest. The steps of an array
# are bytes, and the last ones go from element to element of an item. `cdivision=True` divides as C does: a loop
# cannot raise, so that the ZeroDivisionError that Cython would make of a singular system would be printed and lost.

CODE = """
# distutils: include_dirs = INCLUDE
# cython: language_level=3, cdivision=True
cimport dispatch
from libc.stdlib cimport free, malloc
from libc.string cimport memset
from numpy cimport npy_intp

cdef inline double *at(char *place, npy_intp bytes) noexcept nogil:
    return <double *>(place + bytes)

cdef void thomas(char **args, const npy_intp *dimensions, const npy_intp *steps, void *data) noexcept nogil:
    cdef npy_intp k, i, n = dimensions[1]
    cdef npy_intp s_low = steps[5], s_mid = steps[6], s_up = steps[7], s_b = steps[8], s_x = steps[9]
    cdef char *low
    cdef char *mid
    cdef char *up
    cdef char *b
    cdef char *x
    cdef double pivot
    cdef double *c = <double *>malloc((n + 1) * sizeof(double))
    for k in range(dimensions[0]):
        low, mid, up = args[0] + k * steps[0], args[1] + k * steps[1], args[2] + k * steps[2]
        b, x = args[3] + k * steps[3], args[4] + k * steps[4]
        for i in range(n):
            pivot = at(mid, i * s_mid)[0]
            at(x, i * s_x)[0] = at(b, i * s_b)[0]
            if i:
                pivot -= at(low, i * s_low)[0] * c[i - 1]
                at(x, i * s_x)[0] -= at(low, i * s_low)[0] * at(x, (i - 1) * s_x)[0]
            at(x, i * s_x)[0] /= pivot
            c[i] = at(up, i * s_up)[0] / pivot
        for i in range(n - 2, -1, -1):
            at(x, i * s_x)[0] -= c[i] * at(x, (i + 1) * s_x)[0]
    free(c)

loop = dispatch.capsule(thomas)

def solve_one(op, double[::1] low, double[::1] mid, double[::1] up, double[::1] b):
    # One system, by the kernel of an operator: no call of Python on the way.
    cdef dispatch.Loop function = dispatch.loop(op.cfunc["dddd->d"])
    cdef npy_intp dimensions[2]
    cdef npy_intp steps[10]
    cdef char *args[5]
    cdef int i
    out = b.copy()
    cdef double[::1] x = out
    dimensions[0], dimensions[1] = 1, b.shape[0]
    args[0], args[1], args[2] = <char *>&low[0], <char *>&mid[0], <char *>&up[0]
    args[3], args[4] = <char *>&b[0], <char *>&x[0]
    for i in range(10):
        steps[i] = sizeof(double)
    with nogil:
        function(args, dimensions, steps, NULL)
    return out
"""


def compiled(code):
    """Compile a module of Cython in a folder of its own, by the command `cythonize`, and import it."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "tridiagonal.pyx"
        source.write_text(code.lstrip().replace("INCLUDE", np.get_include()))
        roots = [str(Path(dispatch.__file__).parents[1]), *sys.path]  # where `cimport dispatch` looks
        command = f"import sys; sys.path[:0] = {roots}; from Cython.Build.Cythonize import main; main()"
        done = subprocess.run(
            [sys.executable, "-c", command, "-i", source.name], cwd=folder, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        (file,) = Path(folder).glob("tridiagonal.*.so")
        spec = importlib.util.spec_from_file_location("tridiagonal", file)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return module


tridiagonal = compiled(CODE)

# %% The operator
#
# The function that is decorated is the reference. `low[0]` and `up[-1]` are not part of the matrix.


def matrix(low, mid, up):
    return np.diag(mid) + np.diag(low[1:], -1) + np.diag(up[:-1], 1)


@custom_op("cython_kernel::tridiagonal", mutates_args=(), signature="(n),(n),(n),(n)->(n)")
def solve(low: np.ndarray, mid: np.ndarray, up: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Solve a tridiagonal system."""
    return np.linalg.solve(matrix(low, mid, up), b)


solve.register_kernel("cpu", cfunc={"dddd->d": tridiagonal.loop}, workers=2)
print(solve.kernels)

# %% Its gradient
#
# The gradient by `b` solves the transposed system, whose diagonals are these, shifted by one.


@solve.register_autograd(setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs[:3], output))
def _(ctx, g):
    low, mid, up, x = ctx.saved_tensors
    zero = np.zeros_like(low[..., :1])
    below, above = np.concatenate([zero, up[..., :-1]], axis=-1), np.concatenate([low[..., 1:], zero], axis=-1)
    by_b = solve(below, mid, above, g)
    before, after = np.concatenate([zero, x[..., :-1]], axis=-1), np.concatenate([x[..., 1:], zero], axis=-1)
    return -by_b * before, -by_b * x, -by_b * after, by_b


rng = np.random.default_rng(0)
low, mid, up, b = (rng.random((1000, 8)) for _ in range(4))
mid = mid + 3
x = solve(low, mid, up, b)
assert np.allclose(x[7], solve.__wrapped__(low[7], mid[7], up[7], b[7]))
assert np.allclose(tridiagonal.solve_one(solve, low[7], mid[7], up[7], b[7]), x[7])

few = [dispatch.tensor(a[:3], requires_grad=True) for a in (low, mid, up, b)]
print(opcheck(solve, tuple(few)))
