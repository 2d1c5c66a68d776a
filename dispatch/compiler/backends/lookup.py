"""The backends of `compile`, by name: each makes a function from a graph."""

from collections.abc import Callable
from typing import Any

from ...errors import DefinitionError, did_you_mean, kind_of
from ...graph import Graph, Metadata, reinplace
from ..lowering import program

Backend = Callable[[Graph, list[Metadata]], Callable[..., Any]]
_backends: dict[str, Backend] = {}


def register_backend(name: str, fn: Backend | None = None) -> Any:
    """Register a function that makes a program of a graph, for `compile(f, backend=name)`. It is also a decorator.

    Parameters
    ----------
    name : str
    fn : callable
        `fn(graph, metadata)` gets a graph, and the shape, dtype and strides of each input. It returns a function that takes
        the arrays of the inputs by position, and returns the outputs of the graph. It may change the graph.

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
    if not isinstance(name, str):
        raise DefinitionError(f"register_backend takes the backend's name first, a text, and was given {kind_of(name)}.")
    if fn is not None and not callable(fn):
        raise DefinitionError(f"a backend is a function of a graph and its inputs' metadata, and {kind_of(fn)} was given.")
    if fn is None:
        return lambda made: register_backend(name, made)
    known = _backends.get(name)
    if known is not None and (known.__module__, known.__qualname__) != (fn.__module__, fn.__qualname__):
        raise DefinitionError(f"there is a backend {name!r} already, of {known.__module__}. Give this one another name.")
    _backends[name] = fn
    return fn


def list_backends() -> list[str]:
    """Return the names of all backends."""
    return sorted(_backends)


def find_backend(backend: str | Backend) -> Backend:
    """Return the backend of a name; a function is returned itself."""
    if callable(backend):
        return backend
    if backend not in _backends:
        names = ", ".join(list_backends())
        raise DefinitionError(f"there is no backend {backend!r}. Backends: {names}.{did_you_mean(backend, _backends)}")
    return _backends[backend]


def replay(graph: Graph, metadata: list[Metadata]) -> Callable[..., Any]:
    """Return a program that calls every operator again, and writes in place where no value that is used later changes."""
    return program(reinplace(graph))


register_backend("replay", replay)
