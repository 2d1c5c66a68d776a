"""A result lies in memory as NumPy's does, under every layer."""

from functools import partial
from typing import Any

import numpy as np
import pytest
from samples import cases, maker

import dispatch
from dispatch import ops, vmap
from dispatch.core.pytree import arrays, mapped_arrays

ROWS = {op.schema.name: op for op in ops.np}


def _lying(x: Any, order: Any) -> Any:
    return np.asarray(x, order=order) if isinstance(x, np.ndarray) else [_lying(y, order) for y in x] if isinstance(x, list) else x


def _stacked(x: Any, order: str) -> Any:
    return np.stack([x, x]) if order == "C" else np.stack([x.T, x.T]).transpose(0, *range(x.ndim, 0, -1))


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("layer", ["vmap", "jvp", "tape"])
def test_what_a_layer_gives_lies_in_memory_as_numpys_result_does(layer: str, order: Any) -> None:
    """Of it np.ravel makes a view or a copy as of NumPy's, and a write shows or does not."""
    tried = 0
    for op in ROWS.values():
        for args in [] if op.schema.is_mutable else cases(op, maker("f8")):
            args = _lying(args, order) if isinstance(args, list) else tuple(_lying(x, order) for x in args)
            given = [x for x in arrays(args) if _is_differentiated(x)]
            call = partial(_called, op, args)
            try:
                expected = call(*given)
                if layer == "vmap":
                    found = [x[0] for x in dispatch.vmap(call)(*[_stacked(x, order) for x in given])]
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
