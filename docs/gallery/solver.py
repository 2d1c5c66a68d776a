"""A solver: the factorisation is the expensive part, and it is done once.

`solve(a, b)` is a black box that factorises a matrix and solves with the factors. Its gradient solves with the
transposed matrix, for which the same factors serve. A `Residual` carries them from the forward to the backward:
it is a last output that the caller never sees and the layers hand on untouched.

Run this page with `python docs/gallery/solver.py`; it needs SciPy.
"""

# mypy: allow-untyped-defs, allow-untyped-calls, disable-error-code="no-any-return, import-untyped, import-not-found"

from collections import Counter

import numpy as np
from scipy.linalg import lu_factor, lu_solve

import dispatch
from dispatch import Residual, custom_op

calls: Counter[str] = Counter()  # what is this page's claim, so it is counted

# %% The black box
#
# A matrix stands for one system, or a stack of matrices for one system each. The right-hand sides may have more
# axes than the stack: then each matrix solves all those under it. So `a` has shape (*stack, n, n) and `b`
# (*stack, *more, n).


def factorise(a):
    """Pivots and factors of each matrix of a stack."""
    calls["factorisations"] += a[..., 0, 0].size
    factors = [lu_factor(matrix) for matrix in a.reshape(-1, *a.shape[-2:])]
    if any(not np.diagonal(lu).all() for lu, _ in factors):
        raise np.linalg.LinAlgError("a matrix is singular")
    return factors


def solve_with(factors, b, *, transposed):
    """Solve with factors that are there already."""
    calls["solves"] += 1
    columns = b.reshape(len(factors), -1, b.shape[-1])
    x = [lu_solve(pair, rhs.T, trans=transposed).T for pair, rhs in zip(factors, columns, strict=True)]
    return np.array(x).reshape(b.shape)


# %% The operators
#
# The second one takes the residual back. It is what the gradient is made of: an operator, so that the gradient
# has a gradient. `a` goes along for the sake of its derivative; the kernel does not look at it.


@custom_op("lu::solve", mutates_args=())
def solve(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, Residual]:
    """The solution x of a x = b."""
    calls["solve"] += 1
    factors = factorise(a)
    return solve_with(factors, b, transposed=False), factors


@custom_op("lu::solve_again", mutates_args=())
def solve_again(factors: Residual, a: np.ndarray, b: np.ndarray, *, transposed: bool) -> np.ndarray:
    """The same, or with the transposed matrix, with factors that a solve of `a` kept."""
    return solve_with(factors, b, transposed=transposed)


print(solve)
print(solve_again)


@solve.register_fake
def _(a, b):
    return np.empty(b.shape, np.result_type(a.dtype, b.dtype))


@solve_again.register_fake
def _(factors, a, b, *, transposed):
    return np.empty(b.shape, np.result_type(a.dtype, b.dtype))


# %% Gradients
#
# With x = a⁻¹ b and the gradient g that comes in, the gradient of b is w = a⁻ᵀ g, and that of a is -w xᵀ, summed
# over the right-hand sides that share the matrix.


def shared(a, w, x):
    """The sum of w xᵀ over all right-hand sides of each matrix."""
    rows = (*a.shape[:-2], -1, a.shape[-1])
    return np.swapaxes(w.reshape(rows), -1, -2) @ x.reshape(rows)


def keep(ctx, inputs, output):
    ctx.save_for_backward(inputs[0], output)  # ctx.residual is there of its own


@solve.register_autograd(setup_context=keep)
def _(ctx, g):
    a, x = ctx.saved_tensors
    w = solve_again(ctx.residual, a, g, transposed=True)
    return -shared(a, w, x), w


def keep_again(ctx, inputs, output):
    ctx.factors, a, _, ctx.transposed = inputs
    ctx.save_for_backward(a, output)


@solve_again.register_autograd(setup_context=keep_again)
def _(ctx, g):
    a, x = ctx.saved_tensors
    w = solve_again(ctx.factors, a, g, transposed=not ctx.transposed)
    return None, -shared(a, x, w) if ctx.transposed else -shared(a, w, x), w, None


# %% Batches
#
# One matrix and a batch of right-hand sides: the batch goes under the matrix, which is factorised once. A batch
# of matrices: it goes in front of both. Either way the operator is called once. `solve.whole` is the operator as
# layers call it: the residual comes back too, and since it is no array, there is no batch axis in it.


def in_place(in_dims, a, b, size):
    """The operands with the batch where it belongs, and the axis it has in the solution."""
    if in_dims[0] is None:
        axis = a.ndim - 2
        return a, np.moveaxis(b, in_dims[1], axis), axis
    b = np.broadcast_to(b, (size, *b.shape)) if in_dims[1] is None else np.moveaxis(b, in_dims[1], 0)
    return np.moveaxis(a, in_dims[0], 0), b, 0


@solve.register_vmap
def _(info, in_dims, a, b):
    a, b, axis = in_place(in_dims, a, b, info.batch_size)
    return solve.whole(a, b), (axis, None)


@solve_again.register_vmap
def _(info, in_dims, factors, a, b, *, transposed):
    a, b, axis = in_place(in_dims[1:3], a, b, info.batch_size)
    return solve_again(factors, a, b, transposed=transposed), axis


# %% It is what NumPy computes

random = np.random.default_rng(0)
a, b = random.normal(size=(4, 4)) + 4 * np.eye(4), random.normal(size=4)
assert np.allclose(solve(a, b), np.linalg.solve(a, b), rtol=1e-12)
tracked = dispatch.tensor(a, requires_grad=True), dispatch.tensor(b, requires_grad=True)
print(dispatch.testing.opcheck(solve, tracked))

# First and second order against finite differences, for every element of both operands.

assert dispatch.testing.gradcheck(solve, tracked)
assert dispatch.testing.gradgradcheck(solve, tracked)

# %% How often was there a factorisation?


def work(f, *args):
    """Run a function and say what it cost."""
    calls.clear()
    result = f(*args)
    print(f"{f.__name__:24} {calls['factorisations']} factorised, {calls['solves']} solves")
    return result


def energy(a, b):
    return (solve(a, b) ** 2).sum()


def gradient(a, b):
    return dispatch.grad(energy, argnums=(0, 1))(a, b)


def slope_of_gradient(a, b):
    return dispatch.grad(lambda a: (dispatch.grad(energy)(a, b) ** 2).sum())(a)


def five_right_hand_sides(a, b):
    return dispatch.vmap(gradient, in_dims=(None, 0))(a, b)


def three_matrices(a, b):
    return dispatch.vmap(solve)(a, b)


many = random.normal(size=(5, 4))
matrices, sides = random.normal(size=(3, 4, 4)) + 4 * np.eye(4), random.normal(size=(3, 4))

for_a, for_b = work(gradient, a, b)
assert calls["factorisations"] == 1
work(slope_of_gradient, a, b)
assert calls["factorisations"] == 1
for_a, for_b = work(five_right_hand_sides, a, many)
assert calls["factorisations"] == 1
assert np.allclose(for_b, [gradient(a, side)[1] for side in many], rtol=1e-12)
assert np.allclose(work(three_matrices, matrices, sides), np.linalg.solve(matrices, sides[..., None])[..., 0])
