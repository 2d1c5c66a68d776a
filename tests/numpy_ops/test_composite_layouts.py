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
