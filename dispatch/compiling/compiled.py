"""`compile`: a function that is traced once for each kind of call, and replayed."""

import warnings
from collections.abc import Callable
from functools import partial, update_wrapper
from types import MethodType
from typing import Any

from ..errors import PerformanceWarning, UnsupportedError
from ..graph import nodes_in
from ..where import levels_out, raised_at
from .backends import Backend, find_backend
from .entries import LIMIT, ByFloats, Entry
from .explained import Explained
from .keys import Signature, can_write, changed, signed, watched_by_mode
from .lowering import program
from .recording import Recording, recorded


class Compiled:
    """A compiled function; what `compile` returns.

    Attributes
    ----------
    entries : list of Entry
        What was traced, oldest first.
    """

    def __init__(self, f: Callable[..., Any], fullgraph: bool, backend: Backend) -> None:
        self._f, self._fullgraph, self._backend = f, fullgraph, backend
        self._cache: dict[Any, Entry | ByFloats] = {}
        self._traces = 0
        self._warned = False
        update_wrapper(self, f, updated=())

    @property
    def entries(self) -> list[Entry]:
        found: list[Entry] = []
        for entry in self._cache.values():
            found += entry.entries.values() if type(entry) is ByFloats else [entry]  # type: ignore[list-item]
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
            recording = None
            try:
                recording = recorded(self._f, args, keywords, signature)
            except Exception as error:
                if self._fullgraph:
                    raise
                reason = said(error)
            if recording is not None:
                entry = self._made(signature, recording)
            else:
                out = self._f(*args, **keywords)  # where this raises too, it is what the function does, and nothing is kept
                self._keep(signature, Entry(None, None, reason))
                self._warn(reason)
                return out
        entry.hits += 1
        recording, run = entry.recording, entry.run
        if recording is None or run is None:
            return self._f(*args, **keywords)
        values = signature.values
        if signature.floats and not recording.floats:
            values = [x for x in values if type(x) is not float]
        if entry.written and not can_write(entry.written, [*values, *recording.live]):
            return self._f(*args, **keywords)
        return run(*values, *recording.live)

    def _find(self, signature: Signature) -> Entry | None:
        """What is known of such calls, if it still holds."""
        found = self._cache.get(signature.key)
        entry = found.entries.get(signature.bits) if isinstance(found, ByFloats) else found
        if entry is None or (entry.recording is not None and changed(entry.recording.watched) >= 0):
            return None
        return entry

    def _made(self, signature: Signature, recording: Recording) -> Entry:
        metadata = [x.value for x in nodes_in(recording.graph.inputs)]
        # a value of a transform goes through the operators; a write may meet an array that cannot hold it
        backend = self._backend if not signature.wrapped else lambda graph, metadata: program(graph)
        entry = Entry(recording, backend(recording.graph, metadata))
        self._keep(signature, entry)
        return entry

    def _keep(self, signature: Signature, entry: Entry) -> None:
        if signature.floats and entry.recording is not None and not entry.recording.floats:
            found = self._cache.get(signature.key)
            by_floats = found if type(found) is ByFloats else ByFloats({})
            by_floats.entries[signature.bits] = entry
            self._cache[signature.key] = by_floats
        else:
            self._cache[signature.key] = entry

    def _warn(self, reason: str) -> None:
        """Say once why calls run as they are."""
        if not self._warned:
            self._warned = True
            warnings.warn(f"compile: {self._name} runs as it is: {reason}", PerformanceWarning, stacklevel=levels_out())

    @property
    def _name(self) -> str:
        return str(getattr(self._f, "__qualname__", None) or repr(self._f))

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def explain(self, *args: Any, **keywords: Any) -> Explained:
        """What was compiled and for which calls, what was not, and why.

        Parameters
        ----------
        *args, **keywords
            A call that is traced first, if that has not been done; it is not run.

        Returns
        -------
        Explained
            Prints as text: guards, cache, graph.
        """
        note = ""
        if args or keywords:
            signature = signed(args, keywords)
            if self._find(signature) is None:
                self._traces += 1
                try:
                    self._made(signature, recorded(self._f, args, keywords, signature))
                except Exception as error:
                    note = said(error)
        return Explained(self._name, self._traces, self._cache, note)

    def __repr__(self) -> str:
        return f"<compiled {self._name}, {len(self.entries)} entries>"


def said(error: Exception) -> str:
    """What kept a function from being traced, and the line of its code."""
    line = raised_at(error)
    text = str(error) or type(error).__name__
    if line is None or line.place in text:
        return text
    return f"{line.place}, in {line.function}: {line.text}: {text}"


def compile(  # noqa: A001  torch's name
    f: Callable[..., Any] | None = None, *, fullgraph: bool = False, dynamic: bool = False, backend: str | Backend = "replay"
) -> Any:
    """A function that does what `f` does: traced once for each kind of call, and replayed; also a decorator.

    A kind of call is how the arguments are nested, the shapes, dtypes and strides of arrays, and the values of what is no
    array; a Python float is an input, unless what `f` does depends on it otherwise than by computing with it. What `f`
    refers to is watched. Results are those of `f` to the bit, and so is what it writes to its arguments.

    Parameters
    ----------
    f : callable
        Of arrays, in containers too. What it does beside computing, printing say, is done while it is traced and not again.
    fullgraph : bool
        Raise where `f` cannot be traced; else it runs as it is, with one warning.
    dynamic : bool
        torch's name for sizes that are symbols; refused, since each shape is traced for itself.
    backend : str or callable
        What runs the graph: see `register_backend`.

    Returns
    -------
    callable
        With `f`'s signature and name, and `explain(*args)`.

    Raises
    ------
    DefinitionError
        If there is no such backend.
    UnsupportedError
        If `dynamic` is true.
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
        return partial(compile, fullgraph=fullgraph, dynamic=dynamic, backend=backend)
    if dynamic:
        raise UnsupportedError(
            "compile(dynamic=True) asks for one graph for many shapes, and each shape is traced for itself. Leave dynamic out, "
            f"and pass arrays of {LIMIT} shapes at most."
        )
    return Compiled(f, fullgraph, find_backend(backend))
