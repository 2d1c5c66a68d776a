"""Backends of `compile`: what makes something to call of a graph."""

from collections.abc import Callable
from typing import Any

from ...errors import DefinitionError, did_you_mean
from ...graph import Graph, Metadata, reinplace
from ..lowering import program

Backend = Callable[[Graph, list[Metadata]], Callable[..., Any]]
_backends: dict[str, Backend] = {}


def register_backend(name: str, fn: Backend | None = None) -> Any:
    """Let `compile(f, backend=name)` run graphs by what `fn` makes of them; also a decorator.

    Parameters
    ----------
    name : str
    fn : callable
        Given a graph and the metadata of its inputs, it returns a function of the arrays that those inputs stand for, one
        after the other, which returns what the graph does. The graph is its own, to read and to change.

    Returns
    -------
    callable
        `fn`.

    Raises
    ------
    DefinitionError
        If another backend has the name.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> @dispatch.register_backend("counted")
    ... def counted(graph, metadata):
    ...     print(len(graph.nodes), "nodes,", metadata[0].shape)
    ...     return graph
    >>> dispatch.compile(np.sin, backend="counted")(np.zeros(2))
    2 nodes, (2,)
    array([0., 0.])
    """
    if fn is None:
        return lambda made: register_backend(name, made)
    known = _backends.get(name)
    if known is not None and (known.__module__, known.__qualname__) != (fn.__module__, fn.__qualname__):
        raise DefinitionError(f"there is a backend {name!r} already, of {known.__module__}. Give this one another name.")
    _backends[name] = fn
    return fn


def list_backends() -> list[str]:
    """The names of the backends there are."""
    return sorted(_backends)


def find_backend(backend: str | Backend) -> Backend:
    """The backend of a name; a function is one itself."""
    if callable(backend):
        return backend
    if backend not in _backends:
        names = ", ".join(list_backends())
        raise DefinitionError(f"there is no backend {backend!r}. Backends: {names}.{did_you_mean(backend, _backends)}")
    return _backends[backend]


def replay(graph: Graph, metadata: list[Metadata]) -> Callable[..., Any]:
    """The compiled replay: every operator is called again, and writes where nobody can tell."""
    return program(reinplace(graph))


register_backend("replay", replay)
