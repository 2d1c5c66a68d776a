"""`make_fx`: a function of arrays as a graph."""

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import numpy as np

from .containers import items_of, mapped, rebuilt
from .core import ModeGuard, Tensor, device_of, wrap
from .errors import TracingError
from .fake import FakeTensorMode
from .graph import Graph, Node
from .layer import parameter_names
from .tracing import TRACE, Trace, TracedTensor, metadata, opened

MODES = ("real", "fake", "symbolic")


def make_fx(f: Callable[..., Any], tracing_mode: str = "real") -> Callable[..., Graph]:
    """A function that records what `f` does with its arguments.

    Parameters
    ----------
    f : callable
    tracing_mode : {"real", "fake", "symbolic"}
        What `f` computes with: the arrays it is given; their shapes and dtypes alone; or sizes that stand for any.

    Returns
    -------
    callable
        Takes the arguments of `f`, by position, and returns a `Graph`.

    Raises
    ------
    TracingError
        If the mode is none of these, or `f` asks a traced value for its data.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> graph = dispatch.make_fx(lambda x: x * np.sin(x))(np.ones(3))
    >>> graph.nodes
    [x, sin, multiply]
    >>> graph(np.array([0.0, 1.0]))
    array([0.        , 0.84147098])
    """
    if tracing_mode not in MODES:
        raise TracingError(f"make_fx: tracing_mode is 'real', 'fake' or 'symbolic', and was given as {tracing_mode!r}.")

    def traced(*args: Any) -> Graph:
        graph = Graph()
        fakes = None if tracing_mode == "real" else FakeTensorMode()
        trace = Trace(graph) if fakes is None else Trace(graph, fakes.from_array)
        names = parameter_names(f) or ()

        def entered(x: Any, name: str) -> tuple[Any, Any]:
            """An argument as `f` gets it, and as the graph has it."""
            if (items := items_of(x)) is not None:
                keys = list(x) if isinstance(x, dict) else range(len(items))
                pairs = [entered(item, f"{name}_{key}") for key, item in zip(keys, items, strict=True)]
                return rebuilt(x, [value for value, _ in pairs]), rebuilt(x, [node for _, node in pairs])
            if type(x) in (float, complex):
                x = np.asarray(x)
            elif device_of(x) is None and not isinstance(x, Tensor):
                return x, x
            node = graph.placeholder(name, metadata(x))
            return wrap(TracedTensor, trace.lift(x), trace.level, node), node

        below = nullcontext() if fakes is None else fakes  # operators without arrays make fakes too
        with below, opened(trace) as level, ModeGuard(TRACE, trace, level):
            pairs = [entered(x, names[i] if i < len(names) else f"x{i}") for i, x in enumerate(args)]
            graph.inputs = tuple([node for _, node in pairs])
            out = f(*[value for value, _ in pairs])
            graph.outputs = mapped(lambda x: _left(x, trace), out)
        return graph

    return traced


def _left(x: Any, trace: Trace) -> Any:
    """A result as the graph has it."""
    node: Any = trace.taken(x)[1]
    return node if type(node) is Node else x
