"""A result lies in memory as NumPy's does, under every layer."""

from contextlib import suppress
from functools import partial
from itertools import count
from typing import Any

import numpy as np
import pytest
from samples import cases, maker
from turns import in_turn

import dispatch
from dispatch import ops, vmap
from dispatch.core import Tensor
from dispatch.core.pytree import arrays, mapped_arrays
from dispatch.numpy_ops.composite_layouts import item_layout

ROWS = {op.schema.name: op for op in ops.np}


def _lying(x: Any, order: Any) -> Any:
    return np.asarray(x, order=order) if isinstance(x, np.ndarray) else [_lying(y, order) for y in x] if isinstance(x, list) else x


def _stacked(x: Any, order: str) -> Any:
    return np.stack([x, x]) if order == "C" else np.stack([x.T, x.T]).transpose(0, *range(x.ndim, 0, -1))


def _interleaved(x: Any, order: str) -> Any:
    """A batch whose items lie between each other in memory, as those of `in_dims=-1` do."""
    batch = np.empty((*x.shape, 2) if order == "C" else (*x.shape[::-1], 2))
    batch = np.moveaxis(batch, -1, 0) if order == "C" else np.moveaxis(batch, -1, 0).transpose(0, *range(x.ndim, 0, -1))
    batch[...] = x
    return batch


@pytest.mark.parametrize(
    ("layer", "order"),
    [*((layer, order) for layer in ("vmap", "jvp", "tape") for order in "CF"), ("vmap, items between each other", "F")],
)
def test_what_a_layer_gives_lies_in_memory_as_numpys_result_does(layer: str, order: Any) -> None:
    """Of it np.ravel makes a view or a copy as of NumPy's, and a write shows or does not."""
    tried = 0
    for op in ROWS.values():
        for args in [] if op.schema.is_mutable else cases(op, maker("f8")):
            args = _lying(args, order) if isinstance(args, list) else tuple(_lying(x, order) for x in args)
            given = [x for x in arrays(args) if _is_differentiated(x)]
            call = partial(_called, op, args)
            try:
                batches = [_stacked(x, order) if layer == "vmap" else _interleaved(x, order) for x in given]
                given = [x[0] for x in batches] if "between" in layer else given
                expected = call(*given)
                if "vmap" in layer:
                    found = [x[0] for x in dispatch.vmap(call)(*batches)]
                elif layer == "jvp":
                    found = dispatch.jvp(lambda *xs, call=call: (xs[0], call(*xs)), tuple(given), tuple(given), has_aux=True)[2]
                else:
                    found = dispatch.vjp(lambda *xs, call=call: (xs[0] * 1.0, call(*xs)), *given, has_aux=True)[2]
            except Exception:  # nothing to map or to differentiate, or refused: test_table.py says what is
                continue
            for x, y in zip(found, expected, strict=True):
                if np.ndim(y) < 2 or not y.size or not y.flags.writeable or any(np.may_share_memory(y, z) for z in given):
                    continue
                tried += 1
                assert (x.flags.c_contiguous, x.flags.f_contiguous) == (y.flags.c_contiguous, y.flags.f_contiguous), (op.name, args)
    assert tried > 150


def _called(op: Any, args: Any, *xs: Any) -> list[Any]:
    rest, count = iter(xs), op.arguments.positional
    placed = mapped_arrays(lambda x: next(rest) if _is_differentiated(x) else x, args)
    return arrays(op(*placed[:count], **dict(zip(op.arguments.keyword_names, placed[count:], strict=False))))


def _is_differentiated(x: Any) -> bool:
    return isinstance(x, np.ndarray) and x.dtype == np.float64 and x.ndim > 1


def test_a_write_through_the_ravel_of_a_product_of_matrices_shows_under_vmap() -> None:
    def f(x: Any) -> Any:
        y = np.linalg.multi_dot([x, x.T, x])
        y.ravel()[0] = 1
        return y

    x = np.array([3, 1, 1, 3, 3, 5], np.uint8).reshape(2, 3)
    np.testing.assert_array_equal(vmap(f)(np.stack([x, x + 1])), [f(x), f(x + 1)])
    np.testing.assert_array_equal(dispatch.vjp(f, x * 1.0)[0], f(x * 1.0))


LAID_OUT = {
    "C": np.arange(24.0).reshape(2, 3, 4), "F": np.asfortranarray(np.arange(24.0).reshape(2, 3, 4)), "turned": np.arange(24.0).reshape(2, 3, 4).transpose(1, 2, 0),
    "backwards": np.arange(6.0).reshape(2, 3)[:, ::-1], "matrix": np.asfortranarray(np.arange(6.0).reshape(2, 3)), "vector": np.arange(4.0),
}  # fmt: skip


@pytest.mark.parametrize("x", LAID_OUT.values(), ids=LAID_OUT)
@pytest.mark.parametrize("obj", [0, -1, slice(0, 1), slice(None, None, 2), [0], [0, 1], np.array([1]), [], [True, False]], ids=str)
def test_what_is_left_of_a_deletion_lies_in_memory_as_numpys_does(obj: Any, x: Any) -> None:
    for axis in (None, *range(x.ndim)):
        f = lambda x, axis=axis: np.delete(x, obj, axis)
        try:
            expected = f(x)
        except ValueError:
            with pytest.raises(ValueError, match="delete"):
                dispatch.jvp(f, (x,), (x,))
            continue
        for found in (dispatch.jvp(f, (x,), (x,))[0], dispatch.vjp(f, x)[0], dispatch.make_fx(f, "fake")(x)(x)):
            assert np.array_equal(found, expected)
            assert found.flags.c_contiguous == expected.flags.c_contiguous
            assert found.flags.f_contiguous == expected.flags.f_contiguous
        traced = dispatch.make_fx(lambda x, f=f: np.ravel(f(x)), "fake")(x)
        assert np.array_equal(traced(x), np.ravel(expected))


def test_arrays_of_no_axes_that_are_broadcast_together_can_be_written_to() -> None:
    def f(x: Any) -> Any:
        y = np.broadcast_arrays(x, x)[0]
        y[()] = 5.0
        z = np.broadcast_arrays(x * 2, x)[0]
        z += 1
        return x, y, z

    for run in (f, dispatch.functionalize(f), lambda x: dispatch.make_fx(f, "fake")(x)(x), dispatch.compile(f)):
        assert list(map(float, run(np.array(1.0)))) == [5.0, 5.0, 11.0]
    assert list(map(float, dispatch.jvp(lambda x: f(ops.np.copy(x)), (np.array(1.0),), (np.array(1.0),))[0])) == [5.0, 5.0, 11.0]


@pytest.mark.parametrize("function", [np.split, np.array_split, np.vsplit, np.hsplit])
def test_an_array_is_split_in_as_many_parts_as_one_of_its_sizes(function: Any) -> None:
    f = lambda x: function(x, x.shape[1] if function is np.hsplit else x.shape[0])
    x = np.arange(6.0).reshape(3, 2)
    graph = dispatch.make_fx(f, "symbolic")(x)
    assert all(map(np.array_equal, graph(x), f(x)))
    with pytest.raises(dispatch.errors.GraphError, match=r"the graph holds where s[01] == [23]"):
        graph(np.ones((4, 4)))


class _SeenError(Exception):
    """What was to be seen has been seen, and no derivative is needed."""


KINDS: dict[str, Any] = {
    "C": lambda x: np.copy(x, "C"),
    "F": lambda x: np.copy(x, "F"),
    "turned": lambda x: np.moveaxis(np.copy(np.moveaxis(x, -1, 0), "C"), 0, -1),
    "backwards": lambda x: np.copy(x[..., ::-1], "F")[..., ::-1],
    "gaps": lambda x: np.repeat(np.copy(x.T, "C"), 2, axis=-1)[..., ::2].T,
}
NESTS: dict[str, Any] = {
    "grad(grad)": lambda f, xs, n: dispatch.grad(lambda *ys: dispatch.grad(f, n)(*ys)[0].sum(), n)(*xs),
    "jvp(grad)": lambda f, xs, n: dispatch.jvp(dispatch.grad(f, n), tuple(xs), tuple(xs)),
    "grad(jvp)": lambda f, xs, n: dispatch.grad(lambda *ys: dispatch.jvp(f, ys, ys)[1], n)(*xs),
    "vmap(grad)": lambda f, xs, n: dispatch.vmap(dispatch.grad(f, n))(*[ops.np.clone(np.broadcast_to(x, (2, *x.shape))) for x in xs]),
    "hessian": lambda f, xs, n: dispatch.hessian(f, n)(*xs),
}  # fmt: skip


@pytest.mark.parametrize("nest", NESTS)
def test_values_lie_in_memory_as_numpys_do_under_nested_layers_before_and_after_a_write(nest: str) -> None:
    """Every row: the strides are NumPy's, and a write through a flat view of the value shows in it or does not."""
    tried, wrong, turn = 0, {}, count(list(NESTS).index(nest))
    for op in ROWS.values():
        for case in [] if op.schema.is_mutable or op is ops.np.empty_like else cases(op, maker("f8")):
            if not any(_is_differentiated(x) and x.size for x in arrays(case)):
                continue
            for kind, lying in in_turn(KINDS.items(), next(turn), 2):
                args = mapped_arrays(lambda x, lying=lying: lying(x) if _is_differentiated(x) and x.size else x, case)
                given = [x for x in arrays(args) if _is_differentiated(x)]
                expected, found = [], []
                for seen, run in (expected, lambda f, xs, n: f(*xs)), (found, NESTS[nest]):
                    with suppress(Exception):  # refused, by NumPy or by a layer: test_table.py says what is
                        run(partial(_written, op, args, seen), given, tuple(range(len(given))))
                for x, y in zip(found, expected, strict=False):  # a layer may refuse a write that NumPy lets pass
                    tried += 1
                    same = np.allclose(x[2], y[2], rtol=1e-7, atol=1e-12, equal_nan=True)
                    if x[:2] != y[:2] or not same:
                        wrong.setdefault(op.name, (kind, x, y, args))
    wrong.pop("np::imag", None)  # of real numbers it is zeros that nobody can write to; those of a batch lie in C order
    assert not wrong
    assert tried > 1000


def _written(op: Any, args: Any, seen: list[Any], *xs: Any) -> None:
    """Note how a result lies in memory and what it is: as it is made, and after a write through each of two flat views."""
    made = [x for x in _called(op, args, *[ops.np.clone(x) for x in xs]) if len(getattr(x, "shape", ())) > 1 and x.size]
    seen.extend(map(_memory, made))
    for x in made:
        if x.dtype == np.float64:
            x.reshape(-1)[::2] += 1
            seen.append(_memory(x))
            x.ravel()[1:] = 0.5
            seen.append(_memory(x))
    raise _SeenError


def _memory(x: Any) -> tuple[Any, Any, Any]:
    layout = item_layout(x)
    strides = tuple([step for step, n in zip(layout.strides, layout.shape, strict=True) if n > 1])  # others mean nothing
    return layout.shape, strides, _numbers(x)


def _numbers(x: Any) -> Any:
    """Return a copy of the array below the wrappers, of the first item of a batch."""
    if not isinstance(x, Tensor):
        return np.array(x)
    return _numbers(x.value) if getattr(x, "dim", None) is None else np.take(_numbers(x.value), 0, x.dim)


@pytest.mark.parametrize("copied", [np.copy, lambda x: x * 1.0, lambda x: np.pad(x, (1, 0), mode="edge"), ops.np.clone])
@pytest.mark.parametrize("lying", KINDS.values(), ids=KINDS)
def test_second_derivatives_through_writes_to_flat_views_are_differences_of_first_ones(lying: Any, copied: Any) -> None:
    def f(x: Any) -> Any:
        v = np.moveaxis(copied(x), 0, -1)
        v.reshape(-1)[::2] *= np.sum(np.sin(x))
        v.ravel()[1::3] = 0.5
        return np.sum(np.sin(v[:, 1:]) * v.std()) * np.sum(np.cos(x))

    x, t = [lying(np.random.default_rng(i).normal(size=(3, 2))) for i in range(2)]
    clone, h = ops.np.clone, 1e-5
    above, below = [dispatch.grad(f)(moved) for moved in (_moved(x, h * t), _moved(x, -h * t))]
    wanted = (above - below) / (2 * h)
    first = dispatch.grad(f)(x)
    assert np.allclose(np.sum(first * t), (f(_moved(x, h * t)) - f(_moved(x, -h * t))) / (2 * h), rtol=1e-6, atol=1e-8)
    assert np.allclose(np.tensordot(t, dispatch.hessian(f)(x), 2), wanted, rtol=1e-6, atol=1e-7)
    assert np.allclose(dispatch.grad(lambda x: np.sum(dispatch.grad(f)(x) * t))(x), wanted, rtol=1e-6, atol=1e-7)
    assert np.allclose(dispatch.jvp(dispatch.grad(f), (x,), (t,))[1], wanted, rtol=1e-6, atol=1e-7)
    assert np.allclose(dispatch.vmap(dispatch.grad(f))(clone(np.broadcast_to(x, (2, *x.shape))))[1], first)
    rows = dispatch.vmap(dispatch.hessian(f))(clone(np.broadcast_to(x, (2, *x.shape))))[1]
    assert np.allclose(rows, dispatch.hessian(f)(x))


def _moved(x: Any, step: Any) -> Any:
    """Return another point, which lies in memory as `x` does."""
    made = ops.np.clone(x)
    made += step
    return made


@pytest.mark.parametrize("lying", KINDS.values(), ids=KINDS)
def test_what_differs_from_item_to_item_is_written_to_a_view_of_what_does_not(lying: Any) -> None:
    """The array below gets a batch's axis, and keeps the strides of an item."""
    x, b, seen = lying(np.random.default_rng(0).normal(size=(3, 2))), np.array([2.0, 3.0]), []

    def f(x: Any, b: Any) -> Any:
        v = ops.np.clone(x).T
        w = v.reshape(-1)
        w[:2] = b * np.sum(x)
        seen.append(_memory(v)[:2])
        v.ravel()[1::3] *= b
        return np.sum(np.sin(v) * x.T)

    f(ops.np.clone(x), b[0])
    found = dispatch.vmap(lambda b: dispatch.grad(f)(x, b))(b)
    assert np.allclose(found, [dispatch.grad(f)(x, b[0]), dispatch.grad(f)(x, b[1])])
    assert len(set(seen)) == 1


def _layouts(shape: tuple[int, ...]) -> dict[str, Any]:
    """Arrays of one shape that lie in memory in many ways; those of one number along an axis cannot be written to."""
    x = np.arange(1.0, 1 + np.prod(shape)).reshape(shape) * 0.75 - 2
    wide = np.zeros((*shape[:-1], 2 * shape[-1]))[..., ::2]
    turned = np.empty((shape[1], shape[0], *shape[2:])).swapaxes(0, 1)
    for y in (wide, turned):
        y[...] = x
    return {
        "C": x, "F": np.asfortranarray(x), "turned": turned, "gaps": wide, "backwards": np.asfortranarray(x)[::-1], "F with gaps": wide.copy("F")[..., ::-1],
        "repeated": np.broadcast_to(x[:1].copy(), shape), "repeated items": np.broadcast_to(x[..., :1].copy(), shape),
    }  # fmt: skip


SHAPES = [(2, 3), (2, 3, 2), (1, 3, 2)]
OF_ONE: dict[str, Any] = {
    "repeat by counts": lambda x: np.repeat(x, np.arange(x.shape[0]), axis=0), "repeat": lambda x: np.repeat(x, 2, -1), "tile": lambda x: np.tile(x, 2),
    "insert": lambda x: np.insert(x, 0, 1, 0), "delete": lambda x: np.delete(x, 0, -1), "pad": lambda x: np.pad(x, 1), "roll": lambda x: np.roll(x, 1, 0),
    "round": lambda x: np.round(x, 1), "round to ones": np.round, "nan_to_num": np.nan_to_num, "nancumsum": lambda x: np.nancumsum(x, 0), "nancumprod": lambda x: np.nancumprod(x, -1),
    "polyval": lambda x: np.polyval([1.0, 2.0], x), "copy A": lambda x: np.copy(x, "A"), "copy": np.copy, "astype": lambda x: x.astype(np.float32), "sort": lambda x: np.sort(x, 0),
    "cumsum": lambda x: np.cumsum(x, 0), "gradient": lambda x: np.gradient(x, axis=-1), "diff": lambda x: np.diff(x, axis=-1), "zeros_like": np.zeros_like, "unwrap": lambda x: np.unwrap(x, axis=0),
    "take": lambda x: np.take(x, [0, 0], axis=-1), "rows": lambda x: x[[0, 0]], "sum": lambda x: x.sum(0), "median": lambda x: np.median(x, 0), "fft": lambda x: np.fft.fft(x, axis=0),
    "clip": lambda x: np.clip(x, 0, 1), "sin, cast": lambda x: np.sin(x, dtype=np.float32), "power, cast": lambda x: np.power(x, 2.0, dtype=np.float32), "modf": lambda x: np.modf(x)[0], "einsum": lambda x: np.einsum("i...->...i", x) + 0, "stack": lambda x: np.stack([x, x], -1), "concatenate": lambda x: np.concatenate([x, x], 0),
}  # fmt: skip
OF_TWO: dict[str, Any] = {
    "add": np.add, "where": lambda x, y: np.where(x > y, x, y), "concatenate": lambda x, y: np.concatenate([x, y], 0), "stack": lambda x, y: np.stack([x, y]), "clip": lambda x, y: np.clip(x, y, 1.0),
    "choose": lambda x, y: np.choose(np.zeros(x.shape, int), [x, y]), "maximum, cast": lambda x, y: np.maximum(x, y, dtype=np.float32), "isclose": np.isclose,
}  # fmt: skip


def _order(x: Any) -> list[int]:
    """The axes longer than 1 as they lie in memory, the one with the largest steps first."""
    return sorted([i for i, n in enumerate(x.shape) if n > 1], key=lambda i: -abs(x.strides[i]))


def _batch(x: Any, how: str) -> Any:
    """A batch of two items like `x`, each with the layout of `x`, or one that is that but for gaps."""
    if how == "apart":
        memory = np.zeros((2, 4 * x.size + 8))
        start = sum(-s * (n - 1) for s, n in zip(x.strides, x.shape, strict=True) if s < 0)
        batch = np.ndarray((2, *x.shape), x.dtype, memory, start, (memory.strides[0], *x.strides))
    else:
        start = sum(-2 * s * (n - 1) for s, n in zip(x.strides, x.shape, strict=True) if s < 0)
        batch = np.ndarray((2, *x.shape), x.dtype, np.zeros(8 * x.size + 8), start, (8, *[2 * s for s in x.strides]))
    for item in batch:
        item[tuple([slice(None, None if s else 1) for s in x.strides])] = x[tuple([slice(None, None if s else 1) for s in x.strides])]
    return batch


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_results_of_arrays_that_lie_in_any_way_lie_as_numpys_do(shape: tuple[int, ...]) -> None:
    """The axes in the same order in memory, under shape rules, functionalize and vmap; and what is written to the ravel shows where it shows in NumPy."""

    def written(f: Any, *xs: Any) -> tuple[Any, Any]:
        y = f(*xs)
        order = _order(y)
        y.reshape(-1)[::2] = 1
        return y, order

    laid = _layouts(shape)
    cases = [(f, (x,)) for f in OF_ONE.values() for x in laid.values()] + [(f, (x, y)) for f in OF_TWO.values() for x in laid.values() for y in laid.values()]
    for k, (f, xs) in enumerate(cases):
        for how in ("apart", "between", "") if len(xs) == 1 else (("apart", "between", "")[k % 3],):
            orders: list[list[int]] = []

            def run(*xs: Any, f: Any = f, orders: Any = orders) -> Any:
                y, order = written(f, *xs)
                orders.append(order)
                return y

            batches = [_batch(x, how) for x in xs] if how else []
            expected, order = written(f, *([x[1] for x in batches] or xs))
            found = dispatch.vmap(run)(*batches)[1] if how else dispatch.functionalize(run)(*xs)
            assert np.array_equal(found, expected), (k, how)
            if expected.size > 1:
                dispatch.eval_shape(run, *([x[1] for x in batches] or xs))
                assert orders == [order, order], (k, how)


@pytest.mark.parametrize("dim", [0, 1, 2])
@pytest.mark.parametrize("f", [lambda x: x + 1, lambda x: np.modf(x)[0], lambda x: np.cumsum(x, 0), lambda x: np.array_split(x * 2, 2)[0]], ids=["add", "modf", "cumsum", "array_split"])
def test_what_is_written_to_the_ravel_of_an_item_shows_wherever_the_batch_is(f: Any, dim: int) -> None:
    def written(x: Any) -> Any:
        y = f(x)
        y.ravel()[...] = 7
        return y

    x = np.arange(24.0).reshape(2, 4, 3)
    expected = np.stack([written(item) for item in np.moveaxis(x, dim, 0)])
    mapped = vmap(written, in_dims=dim)
    for found in (
        mapped(x), dispatch.jvp(mapped, (x,), (x,))[0], dispatch.vjp(mapped, x)[0], dispatch.functionalize(mapped)(x), dispatch.compile(mapped)(x),
        dispatch.make_fx(mapped, "fake")(x)(x), dispatch.make_fx(mapped, "symbolic")(x)(x), vmap(lambda x: dispatch.jvp(written, (x,), (x,))[0], in_dims=dim)(x),
        vmap(lambda x: dispatch.vjp(written, x)[0], in_dims=dim)(x), vmap(dispatch.functionalize(written), in_dims=dim)(x),
    ):  # fmt: skip
        np.testing.assert_array_equal(found, expected)
    twice = vmap(vmap(written, in_dims=dim), in_dims=dim)(np.stack([x, x + 1], dim))
    np.testing.assert_array_equal(twice, [expected, np.stack([written(item) for item in np.moveaxis(x + 1, dim, 0)])])


def test_what_numpy_computes_of_swapped_bytes_has_the_machines_order_in_a_fake_too() -> None:
    functions = [
        np.cumsum, np.cumprod, np.nancumsum, np.nancumprod, np.tril, np.triu, np.sinc, np.sum, np.prod, np.sort, np.diff, np.exp, np.add.accumulate,
        lambda x: np.cumsum(x, 1), lambda x: np.triu(x[0]), lambda x: x * 2, np.mean, np.var, np.flip, np.transpose,
    ]  # fmt: skip
    for dtype in (">f8", ">i4", ">c8", ">f2"):
        x = np.arange(6).reshape(2, 3).astype(dtype)
        for f in functions:
            assert dispatch.eval_shape(f, x).dtype == f(x).dtype, (f, dtype)
