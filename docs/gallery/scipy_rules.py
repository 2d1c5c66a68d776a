"""Three functions of SciPy, with the rules that one writes first: a sparse solve, a Gaussian filter, an ODE solver.

Each backward below calls SciPy on what it is given. In an ordinary gradient that is arrays. Under `vmap`, in a
Jacobian or in a graph it is values of that transform, of which SciPy asks the NumPy array. A rule that does so is
from then on called as one operator: item by item in a batch, one call in a graph. Nothing has to be rewritten.

Run this page with `python docs/gallery/scipy_rules.py`; it needs SciPy.
"""

# mypy: allow-untyped-defs, allow-untyped-calls, disable-error-code="no-any-return, import-untyped, import-not-found"

from typing import Any

import numpy as np
from scipy.integrate import solve_ivp
from scipy.ndimage import gaussian_filter
from scipy.sparse import coo_array
from scipy.sparse.linalg import spsolve

import dispatch
from dispatch import custom_op

random = np.random.default_rng(0)

# %% A sparse solve
#
# The matrix is given by its entries and their places. With x = A⁻¹ b and the gradient g that comes in, the
# gradient of b is w = A⁻ᵀ g, and that of the entry at (i, j) is -w[i] x[j].


def matrix(data, rows, columns, n):
    return coo_array((data, (rows, columns)), shape=(n, n)).tocsc()


@custom_op("scipy_rules::solve", mutates_args=())
def solve(data: np.ndarray, rows: np.ndarray, columns: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The solution of A x = b, where A[rows[k], columns[k]] = data[k]."""
    return np.asarray(spsolve(matrix(data, rows, columns, len(b)), b))


@solve.register_fake
def _(data, rows, columns, b):
    return np.empty_like(b)


def keep_system(ctx, inputs, output):
    data, ctx.rows, ctx.columns, _ = inputs
    ctx.save_for_backward(data, output)


@solve.register_autograd(setup_context=keep_system)
def _(ctx, g):
    data, x = ctx.saved_tensors
    w = np.asarray(spsolve(matrix(data, ctx.rows, ctx.columns, len(x)).T.tocsc(), g))
    return -w[ctx.rows] * np.asarray(x)[ctx.columns], None, None, w


# A chain of springs, each with its own stiffness: three diagonals of entries.

n = 6
rows = np.concatenate([np.arange(n), np.arange(n - 1), np.arange(1, n)])
columns = np.concatenate([np.arange(n), np.arange(1, n), np.arange(n - 1)])
data = np.concatenate([np.full(n, 4.0), np.full(n - 1, -1.0), np.full(n - 1, -1.5)])
b = random.normal(size=n)


def stretch(data, b):
    return (solve(data, rows, columns, b) ** 2).sum()


for_data, for_b = dispatch.grad(stretch, argnums=(0, 1))(data, b)

# A batch of right-hand sides, and the whole Jacobian, which is the inverse of the matrix.

loads = random.normal(size=(4, n))
batch = dispatch.vmap(dispatch.grad(stretch, argnums=(0, 1)), in_dims=(None, 0))(data, loads)
loop = [dispatch.grad(stretch, argnums=(0, 1))(data, load) for load in loads]
assert all(np.allclose(x, np.stack(y), rtol=1e-12) for x, y in zip(batch, zip(*loop, strict=True), strict=True))

inverse = dispatch.jacrev(lambda b: solve(data, rows, columns, b))(b)
assert np.allclose(inverse @ matrix(data, rows, columns, n).toarray(), np.eye(n))

# What has been seen of the rule:

print(solve.kernels)

# %% A Gaussian filter
#
# It is linear and, with zeros beyond the border, its own transpose: the gradient that comes in is filtered too.
# Here it is known beforehand that the rule calls SciPy, and `opaque=True` says so: it is never tried first.


@custom_op("scipy_rules::blur", mutates_args=())
def blur(image: np.ndarray, sigma: float) -> np.ndarray:
    """An image seen without its glasses."""
    return gaussian_filter(image, sigma, mode="constant")


@blur.register_fake
def _(image, sigma):
    return np.empty(image.shape, image.dtype)


def keep_sigma(ctx, inputs, output):
    ctx.sigma = inputs[1]


@blur.register_autograd(setup_context=keep_sigma, opaque=True)
def _(ctx, g):
    return gaussian_filter(g, ctx.sigma, mode="constant"), None


def sharpness(image):
    return (blur(image, 1.5) ** 2).mean()


image = random.normal(size=(8, 9))
images = np.stack([image, 2 * image, image[::-1]])
slopes = dispatch.vmap(dispatch.grad(sharpness))(images)
assert np.allclose(slopes, [dispatch.grad(sharpness)(x) for x in images], rtol=1e-12)

# In a graph the rule is one call.

graph = dispatch.make_fx(dispatch.grad(sharpness))(image)
print([node.name for node in graph.nodes if node.op is not None])
assert np.allclose(graph(2 * image), dispatch.grad(sharpness)(2 * image), rtol=1e-12)

# The next derivative asks for the derivative of that call, and there is none. The error names the operator that it
# may be given to: `blur.backward_rule`. Its arguments are `rest`, in which `sigma` is kept, the gradients that
# came in, the arrays that setup_context kept, a residual, and the number of leading axes.

try:
    dispatch.hessian(sharpness)(image)
except dispatch.errors.NoRuleError as error:
    print(error)


def keep_nothing(ctx, inputs, output):
    ctx.count = len(inputs[2])


@blur.backward_rule.register_autograd(setup_context=keep_nothing)
def _(ctx, grads):
    return None, [blur(g, 1.5) for g in grads], [None] * ctx.count, None, None


small = image[:3, :4]
matrix_of_blur = dispatch.jacrev(lambda x: blur(x, 1.5))(small).reshape(12, 12)
assert np.allclose(dispatch.hessian(sharpness)(small).reshape(12, 12), matrix_of_blur.T @ matrix_of_blur / 6, atol=1e-15)

# %% The adjoint of an ODE
#
# The gradient of the state at the end, with respect to where it began and to the parameters, is the solution of
# another equation, backward in time (Pontryagin et al., 1962; Chen et al., "Neural Ordinary Differential Equations",
# 2018, appendix B). The state is integrated back along with it.

EXACT: dict[str, Any] = {"rtol": 1e-10, "atol": 1e-12}


def velocity(t, y, p):
    """Predators and their prey, by Lotka (1925) and Volterra (1926)."""
    return np.array([p[0] * y[0] - p[1] * y[0] * y[1], -p[2] * y[1] + p[1] * y[0] * y[1]])


def adjoint(t, state, p):
    y, a = state[:2], state[2:4]
    by_y = np.array([[p[0] - p[1] * y[1], -p[1] * y[0]], [p[1] * y[1], -p[2] + p[1] * y[0]]])
    by_p = np.array([[y[0], -y[0] * y[1], 0.0], [0.0, y[0] * y[1], -y[1]]])
    return np.concatenate([velocity(t, y, p), -a @ by_y, -a @ by_p])


@custom_op("scipy_rules::flow", mutates_args=())
def flow(y: np.ndarray, p: np.ndarray, end: float) -> np.ndarray:
    """Where the state is at the end."""
    return solve_ivp(velocity, (0.0, end), y, args=(p,), **EXACT).y[:, -1]


@flow.register_fake
def _(y, p, end):
    return np.empty_like(y)


def keep_path(ctx, inputs, output):
    ctx.end = inputs[2]
    ctx.save_for_backward(output, inputs[1])


@flow.register_autograd(setup_context=keep_path)
def _(ctx, g):
    y, p = ctx.saved_tensors
    back = solve_ivp(adjoint, (ctx.end, 0.0), np.concatenate([y, g, np.zeros(3)]), args=(p,), **EXACT).y[:, -1]
    return back[2:4], back[4:], None


y0, p = np.array([1.0, 0.7]), np.array([0.9, 0.6, 1.1])
backward = dispatch.jacrev(flow, argnums=(0, 1))(y0, p, 2.0)
forward = dispatch.jacfwd(flow, argnums=(0, 1))(y0, p, 2.0)
step = 1e-6 * np.eye(3)
measured = np.stack([(flow(y0, p + h, 2.0) - flow(y0, p - h, 2.0)) / 2e-6 for h in step], axis=-1)
assert np.allclose(backward[1], measured, rtol=1e-6)
assert all(np.allclose(x, y, rtol=1e-8) for x, y in zip(backward, forward, strict=True))

starts = np.stack([y0, y0[::-1], 1.1 * y0])
of_each = dispatch.vmap(dispatch.jacrev(flow), in_dims=(0, None, None))(starts, p, 2.0)
assert np.allclose(of_each, [dispatch.jacrev(flow)(y, p, 2.0) for y in starts], rtol=1e-12)
print(np.array2string(backward[1], precision=4))
