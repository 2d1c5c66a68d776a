"""Rows replayed by their plain forms, and all of NumPy's functions replayed: what eager gives, with no warning of their own."""

import warnings

import numpy as np
import pytest
from samples import cases, maker

from dispatch import make_fx, ops
from dispatch.compiler import program
from dispatch.core.pytree import leaves, mapped
from dispatch.errors import DispatchError
from dispatch.graph.operator_facts import PLAIN_RULES, kernel_of
from dispatch.graph.plain_calls import plain_call
from dispatch.layers.functionalize import functionalize
from dispatch.numpy_ops.plain_forms import RULES
from tests.numpy_ops.numpy_calls import calls_of
from tests.numpy_ops.test_numpy_calls import TABLE

LAYOUTS = {"C": lambda x: x, "F": np.asfortranarray, "backwards": lambda x: np.flip(np.flip(x).copy())}


def copied(x):
    return mapped(lambda leaf: leaf.copy(order="K") if isinstance(leaf, np.ndarray) else leaf, x)


def looks(x, arrays):
    """What is seen of a result: types, bits, layouts, and which of some arrays it shares memory with."""
    return [
        (type(leaf), leaf.dtype, leaf.shape, leaf.strides, leaf.flags.writeable, leaf.tobytes(), [np.may_share_memory(leaf, a) for a in arrays])
        if isinstance(leaf, (np.ndarray, np.generic)) else leaf
        for leaf in leaves(x)
    ]  # fmt: skip


def ran(f, args):
    """What a function gives of some arguments, and the warnings that it gives."""
    with warnings.catch_warnings(record=True) as given, np.errstate(all="warn"):
        warnings.simplefilter("always")
        out = f(*args)
        arrays = [x for x in leaves(args) if isinstance(x, np.ndarray)]
        return looks(out, arrays), looks(arrays, []), {(w.category, str(w.message)) for w in given}


def bits(look):
    """The dtype, shape and bits of a result, for which a truth or a number of Python's is NumPy's."""
    if type(look) is not tuple:
        look = looks(np.asarray(look), [])[0]
    return look[1], look[2], look[5]


def test_every_rule_is_attached_to_its_row():
    for name in RULES:
        op = getattr(ops.np, name)
        kernel, rule_of = PLAIN_RULES[op.name]
        assert (kernel is kernel_of(op), rule_of(name)) == (True, RULES[name])


@pytest.mark.parametrize("name", RULES)
def test_a_row_replayed_is_its_kernel(name):
    op, plain = getattr(ops.np, name), 0
    for kind in ("f8", "f4", "i8", "c16"):
        listed = [(np.arange(6.0).reshape(2, 3), (slice(None), 1), 2.0, [])] if name == "setitem_" else cases(op, maker(kind))
        axis = next((i for i, a in enumerate(op.schema.arguments) if a.name == "axis" and str(a.type) == "int?"), None)
        flat = [] if axis is None else [(*case[:axis], None) for case in listed[:3] if len(case) >= axis]
        for case in (*listed, *flat):
            for layout in LAYOUTS.values() if kind == "f8" else [LAYOUTS["C"]]:
                args = mapped(lambda x, layout=layout: layout(x.copy()) if isinstance(x, np.ndarray) else x, case)
                given = [x for x in leaves(args) if isinstance(x, np.ndarray)]

                def f(*arrays, args=args):
                    rest = iter(arrays)
                    return op.whole(*mapped(lambda leaf: next(rest) if isinstance(leaf, np.ndarray) else leaf, args))

                try:
                    expected = ran(f, copied(given))
                    graph = make_fx(f, "fake")(*copied(given))
                except (TypeError, ValueError, DispatchError):  # NumPy does not take this, or its shape depends on data
                    continue
                found = [plain_call(node) for node in graph.nodes if node.op is op]
                plain += any(x is not None and x[1] is not x[0] for x in found)
                assert ran(program(graph), copied(given)) == expected, case
    assert plain or name in ("linalg_norm", "linalg_det", "linalg_multi_dot", "nonzero", "bincount", "inner", "vdot", "outer", "roll", "diff", "where", "concatenate")


@pytest.mark.parametrize(("name", "function", "ours"), TABLE, ids=[name for name, *_ in TABLE])
def test_a_function_replayed_gives_what_it_gives_and_no_warning_of_its_own(name, function, ours):
    done = 0
    for call in calls_of(name, function, False):
        if call.layout != "C" or call.dtype not in ("f8", "i8") or call.flags:
            continue
        args, keywords, _ = call.arguments()
        arrays = [i for i, x in enumerate(args) if isinstance(x, np.ndarray)]
        if not arrays or done == 3:
            continue

        def f(*given, args=args, arrays=arrays, keywords=keywords):
            return function(*[given[arrays.index(i)] if i in arrays else x for i, x in enumerate(args)], **keywords)

        given = [args[i] for i in arrays]
        try:
            expected = ran(f, copied(given))
            graph = make_fx(functionalize(f), "fake")(*copied(given))
        except Exception:  # NumPy does not take this, or there is no graph of it
            continue
        if graph.symbols:
            continue
        done += 1
        out, _, given_warnings = ran(program(graph), copied(given))
        assert given_warnings <= expected[2], call
        assert [bits(x) for x in out] == [bits(x) for x in expected[0]], call
