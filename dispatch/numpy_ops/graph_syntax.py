"""Prints indexing rows in the code of a graph as `x[1:]` and `x[0] = value`; imported when the first is printed."""

from typing import Any

from ..graph.codegen import Code
from ..graph.metadata import Metadata
from ..graph.node import Node
from ..operators.views import ARRAY
from .index_parsing import placed


def _subscript(code: Code, x: Any, index: Any, arrays: Any) -> str | None:
    """Return `x[index]`, or None where the row means something else: it takes a 0-d array in an index as a number."""
    if type(x) is not Node or type(x.value) is not Metadata or type(arrays) not in (list, tuple):
        return None
    if not all(type(i) is Node and type(i.value) is Metadata and len(i.value.shape) for i in arrays):
        return None
    index = placed(index, arrays)
    items = index if type(index) is tuple and index else (index,)
    if any(i is ARRAY for i in items):
        return None
    return f"{code.spell(x)}[{', '.join(_item(code, i) for i in items)}]"


def _item(code: Code, i: Any) -> str:
    if type(i) is not slice:
        return code.spell(i)
    start, stop, step = ("" if part is None else code.spell(part) for part in (i.start, i.stop, i.step))
    return f"{start}:{stop}" + (f":{step}" if step else "")


def spell_getitem(code: Code, node: Node) -> str | None:
    """Print `x[index]`."""
    found = _subscript(code, *node.args)
    return found and f"= {found}"


def spell_setitem(code: Code, node: Node) -> str | None:
    """Print `x[index] = value`."""
    x, index, value, arrays = node.args
    found = _subscript(code, x, index, arrays)
    return found and f"{found} = {code.spell(value)}"
