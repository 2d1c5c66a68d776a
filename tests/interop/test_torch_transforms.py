"""torch.func's transforms in their corners, and torch's own checks, of exported operators of every kind."""

import numpy as np
import pytest

pytestmark = [
    pytest.mark.torch,
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore:Attempted to insert a get_attr Node"),  # of torch.func.linearize, on itself
]
torch = pytest.importorskip("torch")

import custom_op_db as db  # noqa: E402  after torch is known to be here
from border_operators import cube as cube_op  # noqa: E402
from conformance_operators import CASES  # noqa: E402

from dispatch.core.overload import bound  # noqa: E402
from dispatch.core.pytree import leaves  # noqa: E402
from dispatch.interop.torch import export  # noqa: E402
from dispatch.interop.torch_operators import exported  # noqa: E402

torch.manual_seed(0)
X, Y = torch.rand(3, 4, dtype=torch.float64), torch.rand(3, 4, dtype=torch.float64)
V = X[0]
mul, cube, cat = export(db.numpy_mul), export(cube_op), export(db.numpy_cat)
vmap, func = torch.vmap, torch.func


def diagonal(x):
    return torch.diag_embed(x)


def dual(f, x):
    with torch.autograd.forward_ad.dual_level():
        return torch.autograd.forward_ad.unpack_dual(f(torch.autograd.forward_ad.make_dual(x, x))).tangent


total = lambda x: cube(x).sum()
CORNERS = {  # what is computed, and what it is
    "in_dims=1, out_dims=1": (lambda: vmap(mul, in_dims=1, out_dims=1)(X, Y), X * Y),
    "in_dims=-1, out_dims=-1": (lambda: vmap(mul, in_dims=-1, out_dims=-1)(X, Y), X * Y),
    "in_dims=(0, None)": (lambda: vmap(mul, in_dims=(0, None))(X, V), X * V),
    "in_dims=(None, 1)": (lambda: vmap(mul, in_dims=(None, 1))(X[:, 0], Y), (X[:, :1] * Y).T),
    "in_dims in a dict": (lambda: vmap(lambda d: mul(d["a"], d["b"]), in_dims=({"a": 0, "b": None},))({"a": X, "b": V}), X * V),
    "nested": (lambda: vmap(vmap(mul, in_dims=(0, None)), in_dims=(None, 0))(V, Y[0]), V[None] * Y[0][:, None]),
    "chunk_size": (lambda: vmap(mul, chunk_size=2)(X, Y), X * Y),
    "randomness": (lambda: vmap(mul, randomness="different")(X, Y), X * Y),
    "a batch of none": (lambda: vmap(mul)(X[:0], Y[:0]), X[:0]),
    "a batch of one": (lambda: vmap(mul)(X[:1], Y[:1]), (X * Y)[:1]),
    "a list": (lambda: vmap(lambda a, b: cat([a, b], 0))(X, Y), torch.cat([X, Y], 1)),
    "a list, of which a part": (lambda: vmap(lambda a: cat([a, V], 0))(X), torch.cat([X, V.expand(3, 4)], 1)),
    "constants inside": (lambda: vmap(lambda a: mul(V, V) + a)(X), V * V + X),
    "vmap of grad": (lambda: vmap(func.grad(total))(X), 3 * X**2),
    "vmap of grad, axis 1": (lambda: vmap(func.grad(total), in_dims=1, out_dims=1)(X), 3 * X**2),
    "grad of vmap": (lambda: func.grad(lambda x: vmap(cube)(x).sum())(X), 3 * X**2),
    "grad three times": (lambda: func.grad(func.grad(func.grad(cube)))(X[0, 0]), torch.tensor(6.0, dtype=torch.float64)),
    "jacrev": (lambda: func.jacrev(cube)(V), diagonal(3 * V**2)),
    "jacrev, chunk_size": (lambda: func.jacrev(cube, chunk_size=2)(V), diagonal(3 * V**2)),
    "jacfwd": (lambda: func.jacfwd(cube, randomness="same")(V), diagonal(3 * V**2)),
    "hessian": (lambda: func.hessian(total)(V), diagonal(6 * V)),
    "jacrev of jacrev": (lambda: func.jacrev(func.jacrev(total))(V), diagonal(6 * V)),
    "jacfwd of jacfwd": (lambda: func.jacfwd(func.jacfwd(total))(V), diagonal(6 * V)),
    "jacrev of jacfwd": (lambda: func.jacrev(func.jacfwd(total))(V), diagonal(6 * V)),
    "vmap of jacrev": (lambda: vmap(func.jacrev(cube))(X), diagonal(3 * X**2)),
    "vmap of hessian": (lambda: vmap(func.hessian(total))(X), diagonal(6 * X)),
    "linearize": (lambda: func.linearize(cube, V)[1](V), 3 * V**3),
    "vjp": (lambda: func.vjp(cube, V)[1](V)[0], 3 * V**3),
    "forward mode": (lambda: dual(cube, V), 3 * V**3),
    "autograd.functional.jacobian": (lambda: torch.autograd.functional.jacobian(cube, V), diagonal(3 * V**2)),
    "autograd.functional.hessian": (lambda: torch.autograd.functional.hessian(total, V), diagonal(6 * V)),
    "jit.trace": (lambda: torch.jit.trace(lambda x: cube(x), (V,))(Y[0]), Y[0] ** 3),
}


@pytest.mark.parametrize("corner", CORNERS)
def test_a_transform_in_a_corner(corner):
    compute, expected = CORNERS[corner]
    torch.testing.assert_close(compute(), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_torch_s_own_checks_pass_of_every_kind_of_operator(case):
    call = case.calls[0]
    floats = [torch.from_numpy(x.copy()).requires_grad_(case.differentiable) for x in call.floats]
    integers = call.with_integers(lambda x: torch.from_numpy(x.copy()))
    args = bound(case.op, integers.with_floats(floats), dict(call.keywords))
    positional, keywords = exported(case.op).plan.split(exported(case.op).plan.theirs(args))
    assert set(torch.library.opcheck(export(case.op).op, tuple(positional), keywords).values()) == {"SUCCESS"}


@pytest.mark.parametrize("case", [case for case in CASES if case.differentiable], ids=lambda case: case.name)
def test_torch_s_gradcheck_passes_in_both_modes_and_orders(case):
    call, op = case.calls[0], export(case.op)
    integers = call.with_integers(lambda x: torch.from_numpy(x.copy()))
    floats = [torch.from_numpy(x.copy()).requires_grad_() for x in call.floats]

    def function(*given):
        out = op(*integers.with_floats(given), **call.keywords)
        return tuple([x for x in leaves(out) if isinstance(x, torch.Tensor) and x.is_floating_point()])

    assert torch.autograd.gradcheck(function, floats, check_forward_ad=True, check_batched_grad=False, fast_mode=True)
    assert torch.autograd.gradgradcheck(function, floats, fast_mode=True)


def test_what_torch_cannot_do_with_functions_in_python_torch_says():
    with pytest.raises(RuntimeError, match="Batching rule not implemented"):
        torch.autograd.functional.jacobian(cube, V, vectorize=True)
    with pytest.raises(RuntimeError, match="Functionalize rule"):
        func.functionalize(cube)(V)
    np.testing.assert_array_equal(vmap(cube)(X), X**3)  # and nothing of it is left behind
