"""Every row of the NumPy tables in a graph: saved, printed, reduced, it gives what it gives; what it shares is in its schema."""

import numpy as np
import pytest
from samples import cases, maker

from dispatch import Graph, make_fx, ops
from dispatch.core import OpOverload
from dispatch.core.pytree import leaves, mapped
from dispatch.graph import apply, common_subexpressions, constant_folding, dead_code, nodes_in

ROWS = sorted((op for op in ops.np if not op.name.startswith("np::empty")), key=lambda op: op.name)
WRITES = [(np.arange(3.0), 0, 2.0, []), (np.eye(3), (slice(None), 1), np.arange(3.0), [])]


def copied(x):
    return mapped(lambda leaf: leaf.copy(order="K") if isinstance(leaf, np.ndarray) else leaf, x)


def with_arrays(case, arrays):
    """A case with other arrays in place of its own."""
    rest = iter(arrays)
    return mapped(lambda arg: next(rest) if isinstance(arg, np.ndarray) else arg, case)


def bits(x):
    return [(leaf.dtype, leaf.shape, leaf.tobytes()) if hasattr(leaf, "tobytes") else leaf for leaf in leaves(x)]


def fitting(op):
    """The cases of a row that NumPy takes."""
    for case in WRITES if op.schema.is_mutable else [case for kind in ("f8", "i8") for case in cases(op, maker(kind))]:
        try:
            op.whole(*copied(case))
        except (ValueError, TypeError, RuntimeWarning, DeprecationWarning):  # NumPy 2.0 warns of nonzero without an axis
            continue
        yield case


@pytest.mark.parametrize("op", ROWS, ids=lambda op: op.name)
def test_a_row_in_a_graph(op: OpOverload):
    for number, case in enumerate(fitting(op)):
        arrays = [arg for arg in leaves(case) if isinstance(arg, np.ndarray)]

        def f(*given, case=case):
            return op.whole(*with_arrays(case, given)), list(given)

        graph = make_fx(f)(*copied(arrays))
        expected = bits(f(*copied(arrays)))
        assert bits(Graph.loads(graph.dumps())(*copied(arrays))) == expected
        scope = graph.scope
        exec(graph.code, scope)
        assert bits(scope["f"](*copied(arrays))) == expected
        smaller = apply(graph, common_subexpressions, constant_folding, dead_code)
        assert len(smaller.nodes) <= len(graph.nodes)
        assert bits(smaller(*copied(arrays))) == expected
        captured = apply(make_fx(lambda f=f, arrays=arrays: f(*copied(arrays))[0])(), constant_folding)
        assert bits(captured()) == bits(f(*copied(arrays))[0]), number


@pytest.mark.parametrize("op", ROWS, ids=lambda op: op.name)
def test_what_a_row_shares_with_its_arguments_is_in_its_schema(op: OpOverload):
    for case in fitting(op):
        args = copied(case)
        out = [x for x in leaves(op.whole(*args)) if isinstance(x, np.ndarray)]
        for argument, value in zip(op.schema.arguments, args, strict=False):  # a case may leave out arguments with defaults
            shared = any(np.may_share_memory(x, y) for x in out for y in leaves(value) if isinstance(y, np.ndarray))
            assert not shared or (argument.alias is not None and any(r.alias is not None for r in op.schema.returns))


def test_values_that_rows_take_are_read_again():
    graph = make_fx(lambda x, i: x[:, i] + x[..., None, 0])(np.eye(3), np.array([0, 1, 2]))
    assert "x[:, i]" in graph.code
    assert "place()" in graph.dumps()
    assert [node.name for node in nodes_in(Graph.loads(graph.dumps()).nodes[2].args)] == ["x", "i"]
