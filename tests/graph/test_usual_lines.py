"""The lines of which most graph files consist: read as Python's parser reads them, or left to it."""

import numpy as np
import pytest

from dispatch import make_fx, ops
from dispatch.graph.literals import Reader
from dispatch.graph.node import key_of
from dispatch.graph.usual_lines import items, usual_call

USUAL = [
    "", "x,", "x, y", "1, -2, 0, -0", "1.5, -1e-05, 1e+16", "'a', ''", "None, True, False", "[], [x], [x, [y]]", "(), (x,), (x, (1, 2))",
    "slice(1, None, None), x", "[slice(None, None, None), 3]", "dtype('float64')", "array('float64', (2, 3))", "[x, ], y,",
    "...", "x, ..., [..., y]", "look(op('np::getitem'), 0, -1, 0, (None, slice(1, None, None), [x]))", "(op('np::sin'),)", "slice(x, (1, 2), [])",
    "dtype('float64',), place()",
]  # fmt: skip
UNUSUAL = [
    "x y", "(x)", "x,,", ",", "[,]", "(x]", "[x", "x]", "z", "01", "1_0", "0x1F", "1.", ".5", "b'a'", "'a' 'b'", '"a"', "'\\n'", "x.y", "x[1]", "{'a': x}",
    "nan", "f(", "1j", "--1", "+1", "lambda: x", "[x for y in x]", "*x", "x=1", "op('np::cos')", "(x, (y))", "....", "....x", "x...",
    "f((x, y))", "op(('np::sin', x))", "look(op('np::sin'), 0, [x])", "x((1, 2))", "slice((1, 2), [)", "slice(1]", "slice((1, 2),, 1)",
]  # fmt: skip


@pytest.mark.parametrize("text", USUAL + UNUSUAL)
def test_items_are_read_as_python_reads_them_or_left_to_it(text):
    nodes = dict(zip("xy", make_fx(np.sin)(np.ones(2)).nodes, strict=True))
    reader = Reader(nodes, {op.name: op for op in (ops.np.getitem, ops.np.sin)})
    found = items(text, reader)
    if text in UNUSUAL:
        assert found is None
    elif "array(" not in text and "dtype(" not in text:
        assert found is not None
    if found is not None:
        assert key_of(found, repr) == key_of(list(reader.value(f"[{text}]")), repr)


@pytest.mark.parametrize("text", [
    "s = call('np::sin', (x), array('float64', (3,)))", "if = call('np::sin', (x,), array('float64', (3,)))", "s = item(x, -1, array('float64', (3,)))",
    "s = call('np::sin', (x,), array('float64', (3,)));", "s = placeholder(array('float64', (3,)))", "x.y = call('np::sin', (x,), array('float64', (3,)))",
    "s = call('np::sin', (x,), [array('float64', (3,))])", "s = call(x, (x,), array('float64', (3,)))", "s = call('np::sin', (x,), array('float64', (3,))) + 1",
])  # fmt: skip
def test_other_lines_are_left_to_the_parser(text):
    assert usual_call(text, Reader(dict(zip("xy", make_fx(np.sin)(np.ones(2)).nodes, strict=True)))) is None


def test_a_layout_is_read_once():
    x, y = make_fx(np.sin)(np.ones(2)).nodes
    reader = Reader({"x": x, "y": y})
    (name, word, first), (_, _, second) = [usual_call(f"{n} = call('np::sin', (x, [y]), array('float64', (2,)))", reader) for n in "st"]
    assert (name, word, first()) == ("s", "call", ["np::sin", (x, [y]), x.value])
    assert first()[2] is second()[2]
    assert first()[1][1] is not second()[1][1]
