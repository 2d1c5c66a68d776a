"""The backends of `compile`, by name: each makes a function from a graph. And the modes, which choose one."""

import importlib.util
import os
import shutil
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ...core.source import levels_out
from ...core.wrong_calls import check_takes, clear, may_take
from ...errors import DefinitionError, PerformanceWarning, UnsupportedError, check_word, did_you_mean, how_many, kind_of, shown
from ...graph import Graph, Metadata, Node, nodes_in
from ...graph.subgraph import Subgraph
from ...operators.functional_variant import origin_of
from ..lowering import in_place, program
from .composites import opened
from .partition import Part, divided, joined, refusal
from .verification import Verified

Backend = Callable[[Graph, list[Metadata]], Callable[..., Any]]
MODES = ("exact", "fast")
MOST_NAMED = 6  # operators of a piece in a line of `explain`
MOST_SHARED = 1_000  # calls of a part that a second engine compiles too; of many more JAX takes minutes


class Registered(NamedTuple):
    """A backend, and the function that says which calls it takes."""

    name: str
    make: Backend
    claims: Callable[[Node], bool]

    def program(
        self, graph: Graph, metadata: list[Metadata], chooses: bool = False, rivals: "Sequence[Registered]" = ()
    ) -> Callable[..., Any]:
        """Return the program of a graph: the backend runs what it claims, verified on the first call, the replay the rest.

        If it `chooses`, the backend runs only what it runs faster than the replay, and than the rivals that take the part.
        """
        if any(node.op is not None and node.op.schema.namespace != "np" and origin_of(node.op) for node in graph.nodes):
            return replay(graph, metadata)  # it writes, and may raise then: what it has written is to be seen
        graph, parts, pieces = opened(graph, self.claims), [], []
        for part in divided(graph, self.claims):
            replayed = replay(part.graph, [])
            piece = Piece(part, self, replayed)
            if part.engine:
                given = [node.value for node in nodes_in(part.graph.inputs)]
                others = {x.name: x.make(part.graph, given) for x in rivals if x.takes(part.graph)}
                piece.engine = Verified(self.name, part.graph, self.make(part.graph, given), replayed, chooses, others)
            parts.append((part, [replayed] if piece.engine is None else piece.engine.run))
            pieces.append(piece)
        done: Any = joined(graph, parts)
        done.pieces = pieces
        return done  # type: ignore[no-any-return]

    def takes(self, graph: Graph) -> bool:
        """Return whether the backend takes a whole graph as a rival, which is to cost little beside the first."""
        calls = [node for node in graph.nodes if node.kind == "call"]
        return len(calls) <= MOST_SHARED and all(map(self.claims, calls))


class Piece:
    """A part of a graph that a backend has divided: what replays it, and the engine beside, if it takes the part."""

    def __init__(self, part: Part, backend: Registered, replayed: Callable[..., Any]) -> None:
        self.part, self.backend, self.replayed = part, backend, replayed
        self.engine: Verified | None = None

    def said(self) -> list[str]:
        """Return lines that say how many nodes run where; of those that the engine does not take, which and why."""
        nodes = [node for node in self.part.graph.nodes if node.kind == "call"]
        if self.engine is not None:
            return [f"{how_many(len(nodes), 'call')}, {_few(nodes)}: {self.engine.said}"]
        why: dict[str, list[Node]] = {}
        for node in nodes:
            why.setdefault(refusal(node, self.backend.claims), []).append(node)
        return [f"{how_many(len(x), 'call')}, {_few(x)}: replayed, for {self.backend.name!r} {y}" for y, x in why.items()]


def _few(nodes: list[Node]) -> str:
    names = list(dict.fromkeys([node.op.name for node in nodes if node.op is not None]))
    return ", ".join(names[:MOST_NAMED]) + (f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else "")


def pieces_of(run: Any) -> list[Piece]:
    """Return the pieces of what a backend has made of a graph; none where all of it is replayed."""
    found: list[Piece] = getattr(run, "pieces", [])
    return found


_backends: dict[str, Registered] = {}


@clear
def register_backend(name: str, fn: Backend | None = None, *, claims: Callable[[Node], bool] | None = None) -> Any:
    """Register a function that makes a program of a graph, for `compile(f, backend=name)`. It is also a decorator.

    Parameters
    ----------
    name : str
    fn : callable
        `fn(graph, metadata)` gets a graph, and the shape, dtype and strides of each input. It returns a function that takes
        the arrays of the inputs by position, and returns the outputs of the graph, a list or tuple of arrays of NumPy. The
        graph writes to nothing, draws nothing and returns no views: such calls run outside of it.
    claims : callable, optional
        `claims(node)` says whether the backend takes a call. The others run between its graphs. It gets all by default.

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
    if fn is not None and not may_take(fn, 2):
        raise DefinitionError("register_backend: a backend is called as fn(graph, metadata). Take both.")
    if claims is not None and not callable(claims):
        raise DefinitionError(f"register_backend: claims is a function of a node, and {kind_of(claims)} was given.")
    if fn is not None:
        check_takes("register_backend: fn", fn, ("graph", "metadata"))
    if claims is not None:
        check_takes("register_backend: claims", claims, ("node",))
    if fn is None:
        return lambda made: register_backend(name, made, claims=claims)
    known = _backends.get(name)
    if name == REPLAY or (known is not None and _place(known.make) != _place(fn)):
        module = __name__ if known is None else known.make.__module__
        raise DefinitionError(f"there is a backend {name!r} already, of {module}. Give this one another name.")
    _backends[name] = Registered(name, fn, claims or _everything)
    return fn


def _place(fn: Backend) -> tuple[str, str]:
    return fn.__module__, fn.__qualname__


def _everything(node: Node) -> bool:
    return True


def list_backends() -> list[str]:
    """Return the names of all backends."""
    return sorted([REPLAY, *_backends])


def find_backend(backend: str | Backend) -> Backend:
    """Return the program maker of a backend, by its name or by its function."""
    if isinstance(backend, str) and backend == REPLAY:
        return replay
    if callable(backend):
        check_takes("compile: backend", backend, ("graph", "metadata"))
        return Registered(getattr(backend, "__name__", "of a function"), backend, _everything).program
    asked: object = backend
    if not isinstance(asked, str):
        given = shown(asked)
        raise DefinitionError(f"compile: backend is a name, 'torch' say, or a function of a graph, and was given {given}.")
    if backend not in _backends:
        names = ", ".join(list_backends())
        close = did_you_mean(backend, (REPLAY, *_backends))
        if backend == "inductor":
            close = " The backend 'torch' hands the graph to torch.compile, whose own is 'inductor'."
        raise DefinitionError(f"there is no backend {backend!r}. Backends: {names}.{close}")
    return _backends[backend].program


def backend_of(mode: str | None, backend: str | Backend | None) -> Backend:
    """Return what makes programs for `compile(mode=..., backend=...)`; raise where the two contradict each other."""
    if mode is not None:
        check_word(mode, "compile: mode", MODES, DefinitionError)
    if backend is None:
        return fastest if mode == "fast" else replay
    if mode == "fast" and isinstance(backend, str) and backend == REPLAY:
        raise UnsupportedError("compile: the backend 'replay' is what mode='exact' is. Leave one of the two out.")
    if mode == "exact" and backend != REPLAY:
        said = repr(backend) if isinstance(backend, str) else kind_of(backend)
        raise UnsupportedError(
            f"compile: mode='exact' gives the bits of the function, by replay, and the backend {said} has its own roundings. "
            "Leave one of the two out."
        )
    return find_backend(backend)


def replay(graph: Graph, metadata: list[Metadata]) -> Callable[..., Any]:
    """Return a program that calls every operator again, and writes in place where no value that is used later changes."""
    return program(in_place(graph))


def fastest(graph: Graph, metadata: list[Metadata]) -> Callable[..., Any]:
    """Return the program of the engines that `mode="fast"` chooses from: torch with a C++ compiler, JAX, and the replay.

    Parts are timed on the first call, and each is run by what runs it fastest: nobody has named the engine. A graph with a
    loop goes to JAX where that is there: it has loops, and torch has none.
    """
    has_loop = any(type(x) is Subgraph for node in graph.nodes for x in node.args)
    jax = [_backends["jax"]] if _is_there("jax") else []
    if _is_there("torch") and not (has_loop and jax) and shutil.which(os.environ.get("CXX", "g++")):
        return _backends["torch"].program(graph, metadata, chooses=True, rivals=jax)
    if jax:
        return jax[0].program(graph, metadata, chooses=True)
    warnings.warn(
        "compile(mode='fast') found no engine, and calls are replayed as with mode='exact'. Install torch and a C++ compiler, "
        "or JAX: pip install 'npdispatch[torch]'.",
        PerformanceWarning,
        stacklevel=levels_out(),
    )
    return replay(graph, metadata)


def _is_there(name: str) -> bool:
    """Whether a module is installed; it is not imported."""
    try:
        return importlib.util.find_spec(name) is not None
    except ValueError:  # None in sys.modules: the import of it fails
        return False


REPLAY = "replay"
