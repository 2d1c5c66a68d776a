"""One trace of each row with symbolic sizes is right at three other shapes, bit for bit."""

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from samples import cases, maker

from dispatch import Graph, make_fx
from dispatch.core import OpOverload
from dispatch.errors import DataDependentError
from tests.compiler.test_trace_function_rows import TRACED, same, split
from tests.numpy_ops.test_table import describe, run

FLOAT = np.dtype("f8")
STEPS = (1, 2, 5, 0, 3)


def fill(x: Any, shape: tuple[int, ...], op: OpOverload) -> Any:
    """An array like `x` of another shape: its own elements again, so that indices stay indices; matrices stay regular."""
    made = np.resize(x, shape).astype(x.dtype)
    if op.schema.name == "put_back" and x.dtype.kind == "i":
        return np.broadcast_to(np.arange(shape[-1]), shape).copy()  # each place once
    if op.schema.name.startswith("linalg") and len(shape) > 1 and shape[-1] == shape[-2] and x.dtype.kind in "fc":
        made = made @ np.swapaxes(made, -1, -2).conj() + np.eye(shape[-1], dtype=x.dtype) * np.arange(2, shape[-1] + 2)
    return made


def others(graph: Graph, arrays: list[Any], op: OpOverload) -> Iterator[list[Any]]:
    """Arguments of other shapes that the guards of a graph let through."""
    names = [name for name, (node, _) in graph.symbols.items() if node.kind == "placeholder"]
    hints = {name: arrays[graph.nodes.index(node)].shape[axis] for name, (node, axis) in graph.symbols.items() if name in names}
    for start in STEPS if names else ():
        for alone in (None, *names) if len(names) > 1 else (None,):
            # all sizes grow, each by another number; or one alone
            sizes = {
                name: n + (STEPS[(STEPS.index(start) + i) % 5] if alone is None else start * (name == alone))
                for i, (name, n) in enumerate(hints.items())
            }
            if sizes == hints:
                continue
            shapes = [
                tuple([n if type(n) is int else n.evaluate(sizes) for n in node.value.shape])
                for node in graph.find_nodes(kind="placeholder")
            ]
            made = [fill(x, shape, op) for x, shape in zip(arrays, shapes, strict=True)]
            if graph.holds(*made):
                yield made


FIXED = {"broadcast_to", "full", "settled", "poly_from_roots"}  # the shape is an argument
ORDERED = {"einsum", "linalg_multi_dot"}  # products of several arrays, in the order that is best for the sizes of the trace


@pytest.mark.parametrize("op", TRACED.values(), ids=TRACED)
def test_one_trace_is_right_at_other_shapes(op: OpOverload) -> None:
    found = 0
    open_sizes = False
    for case in cases(op, maker(FLOAT)):
        arrays, with_arrays = split(case)
        with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
            try:
                expected = run(op, case)
            except Exception:
                continue
            graph = make_fx(lambda *values: run(op, with_arrays(*values)), "symbolic")(*arrays)  # noqa: B023
            same(graph(*arrays), expected, describe(case))
            open_sizes |= bool(graph.symbols)
            for made in others(graph, arrays, op):
                try:
                    expected = run(op, with_arrays(*made))
                except (np.linalg.LinAlgError, IndexError, ValueError, DataDependentError):
                    continue
                if op.schema.name in ORDERED:
                    np.testing.assert_allclose(graph(*made), expected, rtol=1e-13)
                else:
                    same(graph(*made), expected, f"{describe(case)}; {describe(made)}")
                found += 1
    if op.schema.name in FIXED:
        assert not found
    else:
        assert found >= 3 or not open_sizes
