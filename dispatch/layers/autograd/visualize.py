"""Lists the nodes of a tape, counts the bytes that they keep, and draws them."""

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from ...core import Tensor
from ...core.array_memory import Hold
from ...core.lazy import LazyFunction
from ...core.pytree import items_of
from .saved_tensors import Kept

dot_text = LazyFunction(__package__, "...graph.visualize", "dot_text")


def nodes_from(starts: Iterable[Any]) -> Iterator[Any]:
    """Return the nodes and leaves that the starts were computed from, and the starts themselves, each once."""
    seen: set[int] = set()
    waiting = list(starts)[::-1]
    while waiting:
        node = waiting.pop()
        if id(node) not in seen:
            seen.add(id(node))
            yield node
            waiting += [before for before, _ in reversed(node.next_functions) if before is not None]


def kept_bytes(nodes: Iterable[Any]) -> int:
    """Return how many bytes of arrays the nodes keep. Memory that several share counts once."""
    found: dict[int, int] = {}
    for node in nodes:
        waiting = list(node.all_kept()) if hasattr(node, "all_kept") else []
        while waiting:
            x = waiting.pop()
            items = items_of(x)
            if items is not None:
                waiting += items
            elif isinstance(x, np.ndarray):
                while isinstance(x.base, (np.ndarray, Hold)):
                    x = x.base.array if type(x.base) is Hold else x.base
                found[id(x)] = x.nbytes
            elif isinstance(x, (Tensor, Kept)):
                waiting.append(x.value)
    return sum(found.values())


def dot(start: Any) -> str:
    """Return the tape as DOT text, with an arrow for each value, from what made it to what read it."""
    nodes = list(nodes_from([start]))
    names = {id(node): f"n{i}" for i, node in enumerate(nodes)}
    arrows: list[tuple[str, str, str]] = []
    for node in nodes:
        for before, number in node.next_functions:
            if before is not None:
                which = str(number) if len(getattr(before, "layouts", ())) > 1 else ""
                arrows.append((names[id(before)], names[id(node)], which))
    return str(dot_text([(names[id(node)], node.label()) for node in nodes], arrows))


def layouts_of(x: Any) -> str:
    """Return the shapes and dtypes of a node's outputs as text: `(3,) float64`."""
    layouts = getattr(x, "layouts", ()) or [getattr(x, "layout", None)]
    return ", ".join("-" if layout is None else f"{layout[0]} {layout[1]}" for layout in layouts)
