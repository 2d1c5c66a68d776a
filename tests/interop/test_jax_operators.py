"""Operators in JAX: one law for eager calls, compiled ones, gradients of any order, tangents and batches.

The oracle of values is the operator on arrays, bit by bit, and of derivatives the operator's own transforms.
"""

import pickle
import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
import pytest

import dispatch
from dispatch.core.pytree import leaves, mapped
from dispatch.errors import (
    ArgumentError,
    ConversionError,
    DataDependentError,
    NoRuleError,
    OutputError,
    UnsupportedError,
)

pytestmark = [pytest.mark.jax, pytest.mark.filterwarnings("ignore::DeprecationWarning")]
jax = pytest.importorskip("jax")

import custom_op_db as db  # noqa: E402  after JAX is known to be here
import jax.numpy as jnp  # noqa: E402

from dispatch.interop.jax import export  # noqa: E402

X = np.array([1.0, 2.0, 3.0])


@pytest.fixture(autouse=True)
def _with_float64():
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


# -- operators of every kind -------------------------------------------------------------------------------------------------


@dispatch.custom_op("jax_tests::apply", mutates_args=(), signature="(m,n),(n)->(m)")
def apply(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    return a @ x


@apply.register_autograd(setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs))
def _(ctx, g):
    a, x = ctx.saved_tensors
    return g[..., :, None] * x[..., None, :], np.sum(np.swapaxes(a, -1, -2) * g[..., None, :], -1)


@dataclass
class Pair:
    w: np.ndarray
    b: np.ndarray
    power: int = 2


@dispatch.custom_op("jax_tests::affine", mutates_args=())
def affine(
    p: Pair,
    xs: Sequence[np.ndarray],
    c: np.ndarray | float,
    mode: Literal["up", "down"] = "up",
    *,
    more: np.ndarray | None = None,
) -> dict[str, np.ndarray]:
    y = sum(p.w * x**p.power for x in xs) * c + p.b
    return {"y": y if mode == "up" else -y, "z": p.w * 1.0 if more is None else p.w * more}


@affine.register_fake
def _(p, xs, c, mode, *, more):
    return {"y": np.empty_like(p.w), "z": np.empty_like(p.w)}


@affine.register_autograd(setup_context=lambda ctx, inputs, output: setattr(ctx, "given", inputs))
def _(ctx, g):
    p, xs, c, mode, more = ctx.given
    gy, gz = g["y"] if mode == "up" else -g["y"], g["z"]
    w = gy * sum(x**p.power for x in xs) * c + (gz if more is None else gz * more)
    of_xs = [gy * c * p.w * p.power * x ** (p.power - 1) for x in xs]
    of_c = None if isinstance(c, float) else gy * sum(p.w * x**p.power for x in xs)
    return {"w": w, "b": gy}, of_xs, of_c, None, None if more is None else gz * p.w


@dispatch.custom_op("jax_tests::turn", mutates_args=())
def turn(z: np.ndarray, w: np.ndarray) -> np.ndarray:
    return z * np.conj(w) + z**2


@turn.register_fake
def _(z, w):
    return np.empty_like(z)


@turn.register_autograd(setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs))
def _(ctx, g):
    z, w = ctx.saved_tensors
    return g * w + g * np.conj(2 * z), np.conj(g) * z


R = np.random.default_rng(0)
MORE = [
    (apply, (R.normal(size=(4, 3)), R.normal(size=3)), {}),
    (apply, (R.normal(size=(5, 4, 3)), R.normal(size=(5, 3))), {}),
    (affine, (Pair(X, 2 * X), [X, X + 1], 2.5), {}),
    (affine, (Pair(X, 2 * X, 3), [X], 0.5 * X, "down"), {"more": X**2}),
    (dispatch.ops.np.arctan2, (X, X + 1), {}),
]
CASES = [(e.op, e.samples[0].args, e.samples[0].kwargs) for e in db.ENTRIES if e.differentiable] + MORE
IDS = [f"{op.schema.name}-{number}" for number, (op, *_) in enumerate(CASES)]


class Taken:
    """A call of an operator as a function of its floating-point arrays, for any caller."""

    def __init__(self, op, args, keywords):
        self.op, self.given = op, [list(args), keywords]
        self.arrays = [x for x in leaves(self.given) if isinstance(x, np.ndarray) and x.dtype.kind == "f"]

    def __call__(self, call, *arrays):
        rest = iter(arrays)
        is_moving = lambda x: isinstance(x, np.ndarray) and x.dtype.kind == "f"
        args, keywords = mapped(lambda x: next(rest) if is_moving(x) else x, self.given)
        return call(*args, **keywords)

    def floats(self, call):
        """The tuple of floating-point results."""
        is_float = lambda x: hasattr(x, "dtype") and x.dtype.kind == "f"
        return lambda *arrays: tuple(x for x in leaves(self(call, *arrays)) if is_float(x))

    def squares(self, call):
        """A number that depends on all results, not linearly."""
        return lambda *arrays: sum((x * x).sum() for x in self.floats(call)(*arrays))


def same(found, wanted):
    for x, y in zip(leaves(found), leaves(wanted), strict=True):
        if isinstance(y, (np.ndarray, np.generic)):
            assert isinstance(x, jax.Array)
            assert (x.dtype, x.shape) == (y.dtype, y.shape)
            assert np.asarray(x).tobytes() == np.asarray(y, order="C").tobytes()
        else:
            assert (type(x), x) == (type(y), y)


def close(found, wanted):
    for x, y in zip(leaves(list(found)), leaves(list(wanted)), strict=True):
        np.testing.assert_allclose(np.asarray(x), np.asarray(y), rtol=1e-12, atol=1e-12)
        assert x.dtype == y.dtype


@pytest.mark.parametrize(("op", "args", "keywords"), CASES, ids=IDS)
def test_values_are_bit_equal_and_shapes_and_dtypes_those_of_the_shape_rule(op, args, keywords):
    taken, call = Taken(op, args, keywords), export(op)
    wanted = taken(op, *taken.arrays)
    arrays = [jnp.asarray(x) for x in taken.arrays]
    same(taken(call, *arrays), wanted)
    same(taken(op, *arrays), wanted)
    is_array = lambda x: isinstance(x, (jax.Array, np.ndarray))
    out = [x for x in leaves(wanted) if isinstance(x, (np.ndarray, np.generic))]
    flat = lambda *given: [x for x in leaves(taken(call, *given)) if is_array(x)]
    same(jax.jit(flat)(*arrays), out)
    shapes = jax.eval_shape(flat, *arrays)
    assert [(x.shape, x.dtype) for x in shapes] == [(x.shape, x.dtype) for x in out]


@pytest.mark.parametrize(("op", "args", "keywords"), CASES, ids=IDS)
def test_gradients_tangents_and_batches_are_those_of_the_operator_s_own_transforms(op, args, keywords):
    taken, call = Taken(op, args, keywords), export(op)
    every, arrays = tuple(range(len(taken.arrays))), [jnp.asarray(x) for x in taken.arrays]
    ours, theirs = taken.squares(op), taken.squares(call)
    wanted = dispatch.grad(ours, every)(*taken.arrays)
    close(jax.grad(theirs, every)(*arrays), wanted)
    moves, batches = [R.normal(size=x.shape) for x in taken.arrays], [np.stack([x, 2 * x, x + 1]) for x in taken.arrays]
    sum_of_batch = lambda *batches: jax.vmap(theirs)(*batches).sum()

    @jax.jit  # once, since a compilation takes longer than all the rest
    def compiled(arrays, moves, batches):
        moved = jax.jvp(taken.floats(call), tuple(arrays), tuple(moves))[1]
        return jax.grad(theirs, every)(*arrays), moved, jax.vmap(jax.grad(theirs, every))(*batches), jax.grad(sum_of_batch, every)(*batches)

    grads, moved, of_items, of_batch = compiled(arrays, moves, batches)
    close(grads, wanted)
    close(moved, dispatch.jvp(taken.floats(op), tuple(taken.arrays), tuple(moves))[1])
    items = [dispatch.grad(ours, every)(*item) for item in zip(*batches, strict=True)]
    close(of_items, [np.stack(x) for x in zip(*items, strict=True)])
    close(of_batch, of_items)


@pytest.mark.parametrize(("op", "args", "keywords"), CASES, ids=IDS)
def test_a_gradient_of_a_gradient_is_that_of_the_operator_s_own_transforms(op, args, keywords):
    taken, call = Taken(op, args, keywords), export(op)
    every, arrays = tuple(range(len(taken.arrays))), [jnp.asarray(x) for x in taken.arrays]

    def twice(grad, f):
        return grad(lambda *arrays: sum((x * x).sum() for x in grad(f, every)(*arrays)), every)

    wanted = twice(dispatch.grad, taken.squares(op))(*taken.arrays)
    close(jax.jit(twice(jax.grad, taken.squares(call)))(*arrays), wanted)


def test_jax_s_own_check_of_gradients_passes_in_both_modes_and_two_orders():
    from jax.test_util import check_grads

    cube = export(db.numpy_cube)
    check_grads(lambda x: cube(x)[0] * cube(x)[1], (X,), order=2)
    f = lambda x: (cube(x)[0] * x).sum()
    for outer in (jax.jacfwd, jax.jacrev):
        for inner in (jax.jacfwd, jax.jacrev):
            np.testing.assert_allclose(jax.jit(outer(inner(f)))(X), np.diag(12 * X**2), rtol=1e-12)


def test_complex_gradients_are_jax_s():
    z, w = X + 1j, X - 0.5j

    def derivatives(turn):
        loss = lambda z, w: (turn(z, w).real + abs(turn(z, w) ** 2)).sum()
        moved = jax.jvp(turn, (z, w), (z * (1 - 1j), w * 2j))[1]
        return *jax.grad(loss, (0, 1))(z, w), moved, jax.jacrev(turn, holomorphic=True)(z, w)

    by_jax = lambda z, w: z * jnp.conj(w) + z**2
    for found, wanted in zip(jax.jit(lambda: derivatives(export(turn)))(), jax.jit(lambda: derivatives(by_jax))(), strict=True):
        np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_a_vmap_is_one_call_by_the_operator_s_own_rule():
    calls = []

    @dispatch.custom_op("jax_tests::counted", mutates_args=())
    def counted(x: np.ndarray) -> np.ndarray:
        calls.append(x.shape)
        return np.sin(x)

    counted.register_fake(np.empty_like)
    counted.register_vmap(lambda info, in_dims, x: (counted(x), in_dims[0]))
    for f in (jax.vmap(export(counted), 1), jax.jit(jax.vmap(export(counted), 1))):
        calls.clear()
        assert (f(jnp.ones((3, 5))).shape, calls) == ((5, 3), [(3, 5)])


def test_the_kernel_of_a_gradient_runs_once_by_the_rule_and_not_again():
    calls = []

    @dispatch.custom_op("jax_tests::expensive", mutates_args=())
    def expensive(x: np.ndarray, n: int) -> tuple[np.ndarray, list[np.ndarray], int]:
        calls.append(x)
        return x**n, [x ** (n - 1)], n

    expensive.register_fake(lambda x, n: (np.empty_like(x), [np.empty_like(x)], n))

    @expensive.register_autograd(setup_context=lambda ctx, inputs, output: ctx.save_for_backward(output[1][0]))
    def _(ctx, g, more, _):
        return 3 * g * ctx.saved_tensors[0]

    def loss(x):
        return (export(expensive)(x, 3)[0] ** 2).sum()

    for f in (jax.value_and_grad(loss), jax.jit(jax.value_and_grad(loss)), jax.jit(lambda x: jax.jvp(loss, (x,), (jnp.ones(3),)))):
        calls.clear()
        value, moved = f(X)
        np.testing.assert_allclose(value, np.sum(X**6))
        np.testing.assert_allclose(np.sum(moved), np.sum(6 * X**5))
        assert len(calls) == 1


def test_a_gradient_that_reads_no_result_runs_no_kernel_in_a_program_that_reads_none():
    calls = []
    op = dispatch.custom_op("jax_tests::unread", lambda x: calls.append(x) or np.sin(x), mutates_args=(), schema="(Tensor x) -> Tensor")
    op.register_fake(np.empty_like)
    op.register_autograd(lambda ctx, g: g * np.cos(ctx.saved_tensors[0]), setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs))
    grad = jax.jit(jax.grad(lambda x: export(op)(x).sum()))
    np.testing.assert_allclose(grad(X), np.cos(X))
    assert not calls
    np.testing.assert_allclose(jax.jit(jax.grad(lambda x: (export(op)(x) ** 2).sum()))(X), np.sin(2 * X))
    assert len(calls) == 1
    np.testing.assert_allclose(jax.jit(jax.grad(lambda x: grad(x).sum()))(X), -np.sin(X))


def test_a_jacobian_runs_the_kernel_once_at_most_in_each_mode():
    calls = []

    @dispatch.custom_op("jax_tests::slow", mutates_args=())
    def slow(x: np.ndarray) -> np.ndarray:
        calls.append(x.shape)
        return x**3

    slow.register_fake(np.empty_like)
    slow.register_autograd(lambda ctx, g: 3 * g * ctx.saved_tensors[0] ** 2, setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs))
    for jacobian in (jax.jacrev, jax.jacfwd):
        for f in (jacobian(export(slow)), jax.jit(jacobian(export(slow)))):
            calls.clear()
            np.testing.assert_allclose(f(X), np.diag(3 * X**2))
            assert calls in ([], [(3,)])


def test_batches_of_tangents_inside_of_batches_and_of_gradients():
    cube = export(db.numpy_cube)
    moved = lambda x, t: jax.jvp(lambda x: cube(x)[0], (x,), (t,))[1]
    wanted = lambda x, t: jax.jvp(lambda x: x**3, (x,), (t,))[1]
    xs, ts = R.normal(size=(2, 3)), R.normal(size=(4, 3))
    nests = (
        lambda f: jax.vmap(jax.vmap(f, (None, 0)), (0, None))(xs, ts),
        lambda f: jax.vmap(jax.vmap(f, (None, 0)), (None, 0))(X, np.stack([ts, 2 * ts])),
        lambda f: jax.vmap(jax.vmap(f, (None, 0)), (0, 0))(xs, np.stack([ts, 2 * ts])),
        lambda f: jax.grad(lambda x, ts: (jax.vmap(f, (None, 0))(x, ts) ** 2).sum(), (0, 1))(X, ts),
        lambda f: jax.linear_transpose(lambda ts: jax.vmap(lambda t: f(X, t))(ts), ts)(ts),
        lambda f: jax.jacfwd(jax.jacfwd(lambda x: f(x, X)))(X),
        lambda f: jax.jacrev(jax.jacfwd(jax.jacfwd(lambda x: f(x, X))))(X),
    )
    every = lambda f: [nest(f) for nest in nests]
    close(jax.tree.leaves(jax.jit(lambda: every(moved))()), jax.tree.leaves(jax.jit(lambda: every(wanted))()))


# -- what a call may not be --------------------------------------------------------------------------------------------------


def test_an_operator_that_writes_says_which_form_does_not():
    @dispatch.custom_op("jax_tests::scale_", mutates_args=("x",))
    def scale_(x: np.ndarray, by: float) -> None:
        x *= by

    with pytest.raises(UnsupportedError, match=r"scale_ cannot be exported to JAX: it writes.*export\(scale_\.functional\)"):
        export(scale_)
    with pytest.raises(UnsupportedError, match=r"scale_ writes to its arguments.*scale_\.functional\(\.\.\.\)"):
        scale_(jnp.ones(3), 2.0)
    same(jax.tree.leaves(export(scale_.functional)(jnp.asarray(X), 2.0)), [2 * X])


def test_a_shape_that_depends_on_data_is_known_outside_of_a_trace_alone():
    find = export(db.numpy_nonzero)
    same(find(jnp.asarray(X - 1)), db.numpy_nonzero(X - 1))
    same(jax.vmap(find)(jnp.ones((2, 3))), np.stack([db.numpy_nonzero(np.ones(3))] * 2))
    with pytest.raises(DataDependentError, match=r"numpy_nonzero: the shape of its result, \(.*, 1\), depends on data.*outside of jax\.jit"):
        jax.jit(find)(jnp.ones(3))


def test_a_missing_shape_rule_and_a_wrong_one_are_named():
    define = lambda name, f, fake: dispatch.custom_op(f"jax_tests::{name}", f, mutates_args=(), schema="(Tensor x) -> Tensor")
    bare = define("bare", lambda x: x + 1, None)
    same(export(bare)(jnp.asarray(X)), X + 1)
    with pytest.raises(NoRuleError, match=r"bare was called inside of a trace of JAX and has no shape rule.*@bare\.register_fake"):
        jax.jit(export(bare))(X)
    wrong = define("wrong", lambda x: np.ones(2), None)
    wrong.register_fake(np.empty_like)
    with pytest.raises(OutputError, match=r"shape rule says float64\[3\], and its kernel returned float64\[2\]"):
        jax.block_until_ready(jax.jit(export(wrong))(X))


def test_a_number_that_depends_on_data_is_refused():
    @dispatch.custom_op("jax_tests::number", mutates_args=())
    def number(x: np.ndarray) -> tuple[np.ndarray, int]:
        return x + 1, int(x[0])

    number.register_fake(lambda x: (np.empty_like(x), 1))
    assert jax.jit(lambda x: export(number)(x)[0])(X)[0] == 2
    with pytest.raises(OutputError, match=r"kernel returned .*5.*and its shape rule says .*1.*must not depend on data"):
        jax.block_until_ready(jax.jit(lambda x: export(number)(x)[0])(X + 4))


def test_a_value_of_this_package_and_a_traced_number_are_refused():
    with pytest.raises(ConversionError, match=r"argument 'y' of the function that JAX calls is a TrackedTensor"):
        export(db.numpy_mul)(jnp.ones(3), dispatch.tensor(X, requires_grad=True))
    with pytest.raises(ConversionError, match=r"TrackedTensor and a jaxlib\..*Array"):
        db.numpy_mul(dispatch.tensor(X, requires_grad=True), jnp.ones(3))
    with pytest.raises(ArgumentError, match=r"argument 'dim' is int, and was given an array of JAX.*outside of the trace.*static_argnames='dim'"):
        jax.jit(export(db.numpy_sort))(jnp.ones(3), 0)
    sort = jax.jit(export(db.numpy_sort), static_argnames="dim")
    same(sort(jnp.asarray(X[::-1]), dim=0), db.numpy_sort(X[::-1], 0))


# -- faults --------------------------------------------------------------------------------------------------------------------


def test_inputs_that_are_not_contiguous_read_only_or_of_no_axes():
    mul = export(db.numpy_mul)
    frozen = X.copy()
    frozen.flags.writeable = False
    for x in (X[::-1], np.arange(12.0).reshape(3, 4).T[1], frozen, np.float64(2.5), np.array(2.5), np.empty(0), np.asfortranarray(np.ones((2, 3)))):
        for f in (mul, jax.jit(mul)):
            same(f(x, x), db.numpy_mul(x, x))
        close([jax.grad(lambda x: mul(x, x).sum())(x)], [np.asarray(2 * x)])


def test_eight_threads_at_once_with_arrays_that_jax_would_copy_in_its_own_threads():
    mul, found = export(db.numpy_mul), []
    compiled = jax.jit(jax.value_and_grad(lambda x: mul(mul(x, x), x @ x).sum()))

    def work(i):
        x = jnp.full((600, 600), i / 8)
        for _ in range(2):
            value, grad = compiled(x)
            found.append((i, float(value), float(jax.grad(lambda x: mul(x, x).sum())(x)[0, 0]), grad.shape))

    threads = [threading.Thread(target=work, args=(i,), daemon=True) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(found) == 16
    for i, value, slope, _ in found:
        np.testing.assert_allclose([value, slope], [600**3 * (i / 8) ** 4, i / 4], rtol=1e-10)


def test_an_exported_operator_is_pickled_by_name_and_runs_in_processes_forked_and_spawned(tmp_path):
    assert pickle.loads(pickle.dumps(export(db.numpy_cube))) is export(db.numpy_cube)
    program = """
import multiprocessing, sys
sys.path[:0] = [".", "tests"]
import numpy as np
import custom_op_db as db
from dispatch.interop.jax import export

def work(queue, call):
    import jax
    queue.put(float(jax.jit(lambda x: call(x)[0].sum())(np.float32(2))))

if __name__ == "__main__":
    for way in ("fork", "spawn"):
        context = multiprocessing.get_context(way)
        queue = context.Queue()
        process = context.Process(target=work, args=(queue, export(db.numpy_cube)))
        process.start()
        print(queue.get(timeout=60))
        process.join()
"""
    page = tmp_path / "page.py"
    page.write_text(program)
    found = subprocess.run(  # noqa: PLW1510
        [sys.executable, str(page)], capture_output=True, text=True, cwd=Path(__file__).parents[2], timeout=120
    )
    assert found.stdout == "8.0\n8.0\n", found.stderr


def test_defining_an_operator_anew_is_seen_by_what_was_exported():
    define = lambda f: dispatch.custom_op("jax_tests::again", f, mutates_args=(), schema="(Tensor x) -> Tensor")
    first = export(define(lambda x: 2 * x))
    assert first(X)[0] == 2
    second = export(define(lambda x: 3 * x))
    assert (first(X)[0], second(X)[0]) == (3, 3)
