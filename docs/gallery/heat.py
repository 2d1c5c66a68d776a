"""A C kernel: one step of the heat equation, called by ctypes and differentiated a hundred steps deep.

The C code is compiled here, by the machine's own compiler. It is handed bare pointers, so everything NumPy
knows about an array, its order, dtype and strides, has to be settled before the call. The operator does that in
one place, and what is built on it, a hundred steps and their gradient, never meets a pointer again.

Run this page with `python docs/gallery/heat.py`; it needs a C compiler, `cc` or what the variable CC names.
"""

# mypy: allow-untyped-defs, allow-untyped-calls, disable-error-code="no-any-return, import-untyped, import-not-found"

import ctypes
import os
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import dispatch
from dispatch import custom_op

# %% The kernel, and its adjoint
#
# A plate, hot here and cold there, on a grid. In one explicit step every cell inside moves towards the mean of
# its four neighbours; the border is held at its temperature. The step is linear in the field, so it has a matrix,
# which nobody ever writes down. Its gradient needs the transposed matrix, and that is a second loop: where the
# step gathers from neighbours, the adjoint scatters to them. Because of the border the matrix is not symmetric,
# and the one cannot stand for the other.

C_CODE = r"""
void step(const double *u, double *out, long fields, long rows, long columns, double rate)
{
    for (long f = 0; f < fields; f++, u += rows * columns, out += rows * columns)
        for (long i = 0; i < rows; i++)
            for (long j = 0; j < columns; j++) {
                long k = i * columns + j;
                out[k] = u[k];
                if (i > 0 && i < rows - 1 && j > 0 && j < columns - 1)
                    out[k] += rate * (u[k - columns] + u[k + columns] + u[k - 1] + u[k + 1] - 4 * u[k]);
            }
}

void step_adjoint(const double *g, double *out, long fields, long rows, long columns, double rate)
{
    for (long f = 0; f < fields; f++, g += rows * columns, out += rows * columns) {
        for (long k = 0; k < rows * columns; k++)
            out[k] = g[k];
        for (long i = 1; i < rows - 1; i++)
            for (long j = 1; j < columns - 1; j++) {
                long k = i * columns + j;
                double flow = rate * g[k];
                out[k] -= 4 * flow;
                out[k - columns] += flow;
                out[k + columns] += flow;
                out[k - 1] += flow;
                out[k + 1] += flow;
            }
    }
}
"""


def compiled(source):
    """Compile C code into a shared library and load it."""
    with tempfile.TemporaryDirectory() as folder:
        code, library = Path(folder) / "heat.c", Path(folder) / "heat.so"
        code.write_text(source)
        compiler = os.environ.get("CC", "cc").split()
        subprocess.run([*compiler, "-O2", "-shared", "-fPIC", "-o", str(library), str(code)], check=True)
        return ctypes.CDLL(str(library))  # stays loaded when the file is gone


heat = compiled(C_CODE)
for function in (heat.step, heat.step_adjoint):
    pointer = ctypes.POINTER(ctypes.c_double)
    function.argtypes = [pointer, pointer, ctypes.c_long, ctypes.c_long, ctypes.c_long, ctypes.c_double]
    function.restype = None

# %% From arrays to pointers
#
# The hint `NDArray[np.float64]` on the operators below refuses every other dtype, and a foreign byte order, with
# a message; nothing is cast behind the caller's back. What remains is order and alignment: `np.require` passes a
# C-ordered array on as it is, and copies a Fortran-ordered, strided or unaligned one. A read-only array is fine,
# for C only reads it.


def through_c(function, u, rate):
    u = np.require(u, requirements=["C", "ALIGNED"])
    if u.ndim < 2:
        raise ValueError(f"a field has rows and columns, and this array {u.ndim} axes")
    out = np.empty(u.shape)
    rows, columns = u.shape[-2:]
    fields = u.size // (rows * columns) if u.size else 0
    function(u.ctypes.data_as(pointer), out.ctypes.data_as(pointer), fields, rows, columns, rate)
    return out


# %% The operators
#
# Leading axes are fields side by side. That costs one loop in C, and makes the batching rule one line.


@custom_op("heat::step", mutates_args=())
def step(u: NDArray[np.float64], rate: float = 0.2) -> NDArray[np.float64]:
    """One explicit step; stable for a rate up to 1/4."""
    return through_c(heat.step, u, rate)


@custom_op("heat::step_adjoint", mutates_args=())
def step_adjoint(u: NDArray[np.float64], rate: float = 0.2) -> NDArray[np.float64]:
    """The transposed step."""
    return through_c(heat.step_adjoint, u, rate)


def keep_rate(ctx, inputs, output):
    ctx.rate = inputs[1]


def complete(op, adjoint):
    """The rules of one of the two operators; the other is its adjoint, so that gradients of every order are there."""
    op.register_fake(lambda u, rate: np.empty(u.shape))
    op.register_autograd(lambda ctx, g: (adjoint(g, ctx.rate), None), setup_context=keep_rate)
    op.register_vmap(lambda info, in_dims, u, rate: (op(np.moveaxis(u, in_dims[0], 0), rate), 0))


complete(step, step_adjoint)
complete(step_adjoint, step)
print(step)

# %% Is that the adjoint?
#
# The matrix of a step, for once: a batch of unit fields through `vmap`, which is one call of the C function.

ROWS, COLUMNS, RATE = 7, 9, 0.02
units = np.eye(ROWS * COLUMNS).reshape(-1, ROWS, COLUMNS)
matrix = dispatch.vmap(step, in_dims=(0, None))(units, RATE).reshape(len(units), -1).T
transposed = dispatch.vmap(step_adjoint, in_dims=(0, None))(units, RATE).reshape(len(units), -1).T
assert np.array_equal(transposed, matrix.T)
assert not np.array_equal(matrix, matrix.T)

field = np.random.default_rng(0).normal(size=(ROWS, COLUMNS))
print(dispatch.testing.opcheck(step, (dispatch.tensor(field, requires_grad=True), 0.2)))

# %% A hundred steps
#
# How far is the field after a hundred steps from a target, and how does that depend on the field we began with?


def after(u, steps=100):
    for _ in range(steps):
        u = step(u, RATE)
    return u


target = np.outer(np.sin(np.linspace(0, np.pi, ROWS)), np.sin(np.linspace(0, np.pi, COLUMNS)))


def misfit(u):
    return ((after(u) - target) ** 2).sum() / 2


gradient = dispatch.grad(misfit)(field)

# By the chain rule it is the transposed matrix, a hundred times, on what is left of the misfit at the end.

hundredth = np.linalg.matrix_power(matrix, 100)
expected = hundredth.T @ (hundredth @ field.ravel() - target.ravel())
print(f"from the transposed matrix the gradient differs by {np.abs(gradient.ravel() - expected).max():.0e}")
assert np.allclose(gradient.ravel(), expected, rtol=1e-12, atol=1e-14)

# And every derivative of the field after a hundred steps, against central differences.

assert dispatch.testing.gradcheck(after, (dispatch.tensor(field, requires_grad=True),))

# %% A use
#
# With the gradient at hand, the field that leads to the target is a matter of descending. The misfit is
# quadratic, so the best length of each step downhill is known.

u = np.zeros((ROWS, COLUMNS))
u[0] = u[-1] = u[:, 0] = u[:, -1] = 0.5  # a border that is wrong, too
begin = misfit(u)
for _ in range(30):
    downhill = -dispatch.grad(misfit)(u)
    change = after(downhill)
    u = u + downhill * (downhill**2).sum() / (change**2).sum()
print(f"misfit {begin:.3f}, and after 30 steps downhill {misfit(u):.0e}")
assert misfit(u) < 1e-2 * begin
