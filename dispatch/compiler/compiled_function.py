"""`compile`: traces a function once for each kind of call, and runs the graph in later calls."""

import warnings
from collections.abc import Callable
from functools import partial, update_wrapper
from types import MethodType
from typing import Any

import numpy as np

from ..core.source import levels_out, raised_at
from ..errors import PerformanceWarning, UnsupportedError
from ..graph import nodes_in
from .backends.lookup import Backend, backend_of, replay
from .cache import LIMIT, ByFloats, ByGuards, Entry
from .cache_key import Signature, can_write, changed, signed, watched_by_mode
from .capture import FunctionGraph, capture_graph
from .dynamic_shapes import dynamic_program, fits, open_key, shapes_of
from .lowering import program


class Compiled:
    """A compiled function, as `compile` returns it.

    Attributes
    ----------
    entries : list of Entry
        The traces, oldest first.
    """

    def __init__(self, f: Callable[..., Any], fullgraph: bool, dynamic: bool, backend: Backend) -> None:
        self._f, self._fullgraph, self._dynamic, self._backend = f, fullgraph, dynamic, backend
        self._cache: dict[Any, Entry | ByFloats | ByGuards] = {}
        self._traces = 0
        self._warned = False
        update_wrapper(self, f, updated=())

    @property
    def entries(self) -> list[Entry]:
        found: list[Entry] = []
        for entry in self._cache.values():
            by_floats = entry.entries.values() if isinstance(entry, ByFloats) else ()
            found += [entry] if isinstance(entry, Entry) else by_floats or list(entry.entries)
        return found

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        if watched_by_mode():
            return self._f(*args, **keywords)
        signature = signed(args, keywords)
        entry = self._find(signature)
        if entry is None:
            if self._traces >= LIMIT and not self._fullgraph:
                self._warn(
                    f"it was traced {LIMIT} times, for as many kinds of calls or states of what it refers to, and no more are "
                    "compiled. Pass what changes from call to call as arguments, as arrays, in a few shapes."
                )
                return self._f(*args, **keywords)
            self._traces += 1
            traced = None
            try:
                traced = capture_graph(self._f, args, keywords, signature, self._dynamic)
            except Exception as error:
                if self._fullgraph:
                    raise
                reason = said(error)
            if traced is not None:
                entry = self._made(signature, traced)
            else:
                out = self._f(*args, **keywords)  # where this raises too, it is what the function does, and nothing is kept
                self._keep(signature, Entry(None, None, reason))
                self._warn(reason)
                return out
        entry.hits += 1
        traced, run = entry.traced, entry.run
        if traced is None or run is None:
            return self._f(*args, **keywords)
        values = inputs_of(traced, signature)
        if entry.written and not can_write(entry.written, [*values, *traced.live]):
            return self._f(*args, **keywords)
        return run(*values, *traced.live)

    def _find(self, signature: Signature) -> Entry | None:
        """Return the entry for a call, or None if there is none or a value that the function refers to has changed."""
        found = self._cache.get(self._key(signature))
        entry: Entry | None
        if isinstance(found, ByGuards):
            entry = next((entry for entry in found.entries if _fits(entry, signature)), None)
        else:
            entry = found.entries.get(signature.bits) if isinstance(found, ByFloats) else found
        if entry is None or (entry.traced is not None and changed(entry.traced.watched) >= 0):
            return None
        return entry

    def _key(self, signature: Signature) -> tuple[Any, ...]:
        key: tuple[Any, ...] = open_key(signature) if self._dynamic else signature.key
        return key

    def _made(self, signature: Signature, traced: FunctionGraph) -> Entry:
        metadata = [x.value for x in nodes_in(traced.graph.inputs)]
        # a value of a transform goes through the operators; a write may meet an array that cannot hold it
        backend = self._backend if not signature.wrapped else lambda graph, metadata: program(graph)
        run = dynamic_program(traced.graph) if traced.graph.symbols else backend(traced.graph, metadata)
        entry = Entry(traced, run)
        self._keep(signature, entry)
        return entry

    def _keep(self, signature: Signature, entry: Entry) -> None:
        key = self._key(signature)
        found = self._cache.get(key)
        if self._dynamic:
            by_guards = found if isinstance(found, ByGuards) else ByGuards([])
            if entry.traced is None:
                entry.bits, entry.shapes = signature.bits, shapes_of(signature)
            elif not entry.traced.floats:
                entry.bits = signature.bits
            by_guards.entries.insert(0, entry)
            self._cache[key] = by_guards
        elif signature.floats and entry.traced is not None and not entry.traced.floats:
            by_floats = found if isinstance(found, ByFloats) else ByFloats({})
            by_floats.entries[signature.bits] = entry
            self._cache[key] = by_floats
        else:
            self._cache[key] = entry

    def _warn(self, reason: str) -> None:
        """Warn once why calls run the function itself."""
        if not self._warned:
            self._warned = True
            warnings.warn(f"compile: {self._name} runs as it is: {reason}", PerformanceWarning, stacklevel=levels_out())

    @property
    def _name(self) -> str:
        return str(getattr(self._f, "__qualname__", None) or repr(self._f))

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def explain(self, *args: Any, **keywords: Any) -> "Explained":
        """Report for which calls there are graphs, for which there are none, and why.

        Parameters
        ----------
        *args, **keywords
            A call to trace first, if there is no trace of it yet. It is not run.

        Returns
        -------
        Explained
            Prints as text: kinds of calls, guards, graphs.
        """
        note = ""
        if args or keywords:
            signature = signed(args, keywords)
            if self._find(signature) is None:
                self._traces += 1
                try:
                    self._made(signature, capture_graph(self._f, args, keywords, signature, self._dynamic))
                except Exception as error:
                    note = said(error)
        return Explained(self._name, self._traces, self._cache, note)

    def __repr__(self) -> str:
        return f"<compiled {self._name}, {len(self.entries)} entries>"


def inputs_of(traced: FunctionGraph, signature: Signature) -> list[Any]:
    """Return the arguments of the graph for a call: the arrays, and the floats if they are inputs."""
    values: list[Any] = signature.values
    return [x for x in values if type(x) is not float] if signature.floats and not traced.floats else values


def _fits(entry: Entry, signature: Signature) -> bool:
    """Whether an entry with symbolic sizes is right for a call: its guards hold and its floats are those of the call."""
    if entry.traced is None:
        return bool(entry.bits == signature.bits and entry.shapes == shapes_of(signature))
    if entry.bits is not None and entry.bits != signature.bits:
        return False
    traced = entry.traced
    return fits(traced.graph, [*inputs_of(traced, signature), *traced.live])


def said(error: Exception) -> str:
    """Return the message of an exception, with the line of user code that it went through last."""
    line = raised_at(error)
    text = str(error) or type(error).__name__
    if line is None or line.place in text:
        return text
    return f"{line}: {text}"


def compile(  # noqa: A001  torch's name
    f: Callable[..., Any] | None = None,
    *,
    fullgraph: bool = False,
    dynamic: bool = False,
    mode: str | None = None,
    backend: str | Backend | None = None,
) -> Any:
    """Return a function that does what `f` does, and traces `f` only once for each kind of call. It is also a decorator.

    Two calls are of one kind if their arguments have the same structure, their arrays the same shapes, dtypes and strides, and
    their other arguments the same values. A Python float may differ, unless `f` does more with it than arithmetic. If a
    variable that `f` refers to changes, the next call traces again. Results, and what is written to arguments, are those of
    `f` to the bit.

    Parameters
    ----------
    f : callable
        Takes arrays, also in containers. Printing and other side effects happen in the call that traces, and in no later one.
    fullgraph : bool
        Whether to raise if `f` cannot be traced. By default `f` itself runs then, with one warning.
    dynamic : bool
        Whether sizes are symbols. Then one graph serves all lengths for which its guards hold, but for 0 and 1, which have
        graphs of their own. Only `mode="exact"` can do it, and it may need the extra `symbolic`.
    mode : {"exact", "fast"}, optional
        `"exact"`, the default, calls the operators again. `"fast"` hands what an engine computes as NumPy does to that engine:
        to torch's compiler, else to JAX. Its results are held to those of NumPy on the first call, to 1e-9 of the largest
        number of an array (1e-4 in single precision), and where they differ the calls are replayed, with a warning.
    backend : str or callable, optional
        The engine for `mode="fast"`, which it implies: the name of a registered backend, or a function like those that
        `register_backend` takes.

    Returns
    -------
    callable
        With the signature and the name of `f`, and a method `explain(*args)`, which says for which calls there are graphs.

    Raises
    ------
    DefinitionError
        If there is no such mode or backend.
    UnsupportedError
        If a backend is named beside `mode="exact"`, or an engine is asked for symbolic sizes.
    TracingError
        From a call, with `fullgraph`, if `f` cannot be traced.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> @dispatch.compile
    ... def f(x, y):
    ...     return np.sin(x) * y + 1.0
    >>> f(np.zeros(3), np.ones(3))
    array([1., 1., 1.])
    >>> f
    <compiled f, 1 entries>
    """
    if f is None:
        return partial(compile, fullgraph=fullgraph, dynamic=dynamic, mode=mode, backend=backend)
    found = backend_of(mode, backend)
    if dynamic and found is not replay:
        asked = f"the backend {backend!r}" if backend else "an engine"
        raise UnsupportedError(
            f"compile(dynamic=True) was asked of {asked}, and open sizes are run by mode='exact'. Leave one of the two out."
        )
    return Compiled(f, fullgraph, dynamic, found)


# -- what a compiled function says of itself --------------------------------------------------------------------------------


class Explained:
    """The cache of a compiled function, printed as text."""

    def __init__(self, name: str, traces: int, cache: dict[Any, Any], note: str) -> None:
        self.name, self.traces, self.cache, self.note = name, traces, cache, note

    def __repr__(self) -> str:
        lines = [f"{self.name}: traced {self.traces} times, {LIMIT} at most"]
        for key, found in self.cache.items():
            if type(found) is ByGuards:
                entries = [(entry.bits, entry) for entry in found.entries]
            else:
                entries = list(found.entries.items()) if type(found) is ByFloats else [(None, found)]
            for bits, entry in entries:
                lines.append(f"\ncalls of {', '.join(described(key))}")
                if bits is not None:
                    lines.append(f"    whose floats are {', '.join(str(x[0]) if type(x) is tuple else x for x in bits)}")
                lines.append(f"    found {entry.hits} times")
                if entry.traced is None:
                    lines.append(f"    run as they are: {entry.reason}")
                else:
                    watched = sorted({str(name) for _, name, _ in entry.traced.watched if type(name) is str})
                    lines += [f"    as long as these stay what they are: {', '.join(watched)}"] if watched else []
                    lines += [f"    where {guard}" for guard in entry.traced.graph.guards]
                    lines += [f"    {line}" for line in str(entry.traced.graph).splitlines()]
        if self.note:
            lines.append(f"\nthat call would run as it is: {self.note}")
        return "\n".join(lines)


def described(key: tuple[Any, ...]) -> list[str]:
    """Return the parts of a key as phrases: arrays as `float64[3, 2]`, other values as they are."""
    found, rest = [], list(key)
    while rest:
        part = rest.pop(0)
        if part is float:
            found.append("a float")
        elif isinstance(part, type) and rest:
            value = rest.pop(0)
            if isinstance(value, np.dtype) and rest:
                shape = rest.pop(0)
                if isinstance(shape, bytes):
                    numbers = np.frombuffer(shape, np.intp)
                    shape = tuple(numbers[: len(numbers) // 2].tolist())
                elif len(shape) == 3 and type(shape[0]) is tuple:  # of an open key
                    shape = ["*" if n == 2 else n for n in shape[0]]
                found.append(f"{value}{list(shape)}" + ("" if part is np.ndarray else f" ({part.__name__})"))
            elif part in (list, tuple, dict):
                found.append(f"a {part.__name__} of {len(value) if part is dict else value}")
            else:
                found.append(repr(value))
        else:
            found.append(repr(part))
    return found
