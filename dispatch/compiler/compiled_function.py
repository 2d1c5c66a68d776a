"""`compile`: traces a function once for each kind of call, and runs the graph in later calls.

It has more than 350 lines because `compile` has a whole docstring, and a call that is new meets all that may become of it.
"""

import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from functools import partial, update_wrapper
from threading import RLock
from types import MethodType
from typing import Any, ClassVar, overload

import numpy as np

from ..core.collector import collector_paused
from ..core.program import Program
from ..core.source import levels_out, raised_at
from ..core.wrong_attributes import Attributes
from ..core.wrong_calls import clear
from ..dispatcher.rule_parameters import parameter_names
from ..errors import (
    DefinitionError,
    PerformanceWarning,
    TracingError,
    UnsupportedError,
    check_flag,
    check_function,
    check_word,
    did_you_mean,
    how_many,
    kind_of,
    shown,
)
from ..graph import nodes_in
from .backends.lookup import Backend, backend_of, pieces_of, replay
from .cache import LIMIT, Entry, agree
from .capture import Captured, FunctionGraph, Options, Walked, capture_graph, walked
from .conditions import Caller, Conditions, can_write, watched_by_mode
from .dynamic_shapes import dynamic_program, fits, open_layout
from .entry_files import EntryFiles, Key, entry_text, head_of, key_of
from .error_states import has_blocks, put_back, undoing
from .explained import Explained, described
from .fingerprint import Unkeyed
from .generators import drawing, generators_in
from .given import Given, argument_names, slot_of
from .lowering import program
from .pickled import found_again, found_by_name
from .reached import loud
from .stores import storing

FEW = 4  # threads of a run by default: more would wait for memory, or for processors that a container has not
KEEPING = RLock()  # while a trace becomes an entry
SHARED = "an array that it writes to is read-only, or shares memory with another that it is given or refers to"


class Compiled(Attributes, Caller):
    """A compiled function, as `compile` returns it.

    Attributes
    ----------
    entries : list of Entry
        The traces, oldest first.
    """

    _elsewhere: ClassVar[dict[str, str]] = {
        "graph": "dispatch.make_fx(f)(x), a graph", "code": "dispatch.make_fx(f)(x).code", "lower": "dispatch.export(f, (x,))",
        "grad": "dispatch.grad(f)(x)", "vmap": "dispatch.vmap(f)(x)", "export": "dispatch.export(f, (x,))",
        "save": "dispatch.export(f, (x,)).save(path)",
    }  # fmt: skip
    _listed = False
    _no_block = "a call, f(x)"

    def __init__(
        self, f: Callable[..., Any], options: Options, fullgraph: bool, backend: Backend, verify: int, settings: dict[str, Any]
    ) -> None:
        self._f, self._options, self._fullgraph, self._backend, self._verify = f, options, fullgraph, backend, verify
        self._settings = settings  # what `compile` was given
        self._workers = settings["workers"] or processors()
        self._files = EntryFiles(settings["cache_dir"])
        self._traces = 0
        self._warned = False
        self._reasons: dict[str, int] = {}  # of the calls that no entry counts
        self.entries: list[Entry] = []
        self.is_simple = not options.dynamic and not verify
        update_wrapper(self, f, updated=())
        self.known = frozenset(vars(self)) | {"known"}  # what else is in its dict is the user's

    def call_anew(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Run a call of a new kind, or any call of a function that is dynamic or is verified."""
        if watched_by_mode():
            return self._f(*args, **keywords)
        for entry in [x for x in self.entries if x.doubted] if self.is_simple else self.entries:
            values = self._inputs(entry, args, keywords)
            if values is not None:
                entry.hits += 1
                return self._run(entry, values, args, keywords)
        with collector_paused():  # from the walk to the program: between them it would look through all that was made so far
            made = self._traced(args, keywords)
        if made is None:
            return self._f(*args, **keywords)
        if made.run is None:
            out = self._f(*args, **keywords)  # where this raises too, it is what the function does, and nothing is kept
            made = self._kept(made, args, keywords)
            made.hits += 1
            self._warn(made.reason)
            return out
        made = self._kept(made, args, keywords)
        values = made.conditions.inputs(args, keywords)
        if values is None:  # another thread has changed what the function refers to
            return self._f(*args, **keywords)
        made.hits += 1
        return self._run(made, values, args, keywords)

    def _inputs(self, entry: Entry, args: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[Any, ...] | None:
        """Return what an entry takes of a call; None where the call is none of its kind."""
        values = entry.conditions.inputs(args, keywords)
        if values is None or not self._options.dynamic or entry.traced is None or fits(entry.traced.graph, values):
            return values
        return None

    def _kept(self, made: Entry, args: tuple[Any, ...], keywords: dict[str, Any]) -> Entry:
        """Return the entry of a call: the one that was made, or the one that another thread has made meanwhile."""
        with KEEPING:
            for entry in self.entries:
                if (entry.run is None) == (made.run is None) and self._inputs(entry, args, keywords) is not None:
                    self._traces -= 1
                    return entry
            self.entries.append(made)
            return made

    def _run(self, entry: Entry, values: tuple[Any, ...], args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Run the graph of an entry, or the function where the graph does not stand for this call."""
        run = entry.run
        if run is None or (entry.written and not can_write(entry.written, values + entry.beside)):
            return self.call_instead(entry, args, keywords, False)
        if entry.doubted or entry.hits <= self._verify:
            return self._verified(entry, run, values, args, keywords)
        if not entry.repeatable:
            return run(*values)
        with suppress(Exception):
            return run(*values)
        return self.call_instead(entry, args, keywords, True)

    def call_instead(self, entry: Entry, args: tuple[Any, ...], keywords: dict[str, Any], raised: bool) -> Any:
        """Run the function itself, in place of a graph that raised, that is not there, or that would write to shared memory."""
        if raised:  # nothing has happened yet: the function says what does, and may catch it
            entry.falls_back("an operator raised")
        elif entry.run is not None:
            self._warn(entry.falls_back(SHARED) + ". Pass a copy.")
        elif self._fullgraph:
            raise TracingError(entry.reason)
        return self._f(*args, **keywords)

    def _verified(
        self, entry: Entry, run: Callable[..., Any], values: tuple[Any, ...], args: tuple[Any, ...], keywords: dict[str, Any]
    ) -> Any:
        """Run the function, and hold the graph, which runs on copies, against it."""
        if entry.doubted and entry.traced is not None and self._backend is not replay:  # an engine is held against the replay
            run = put_back(entry.traced.graph, replay(entry.traced.graph, []))
        places, written = ((), ()) if entry.traced is None else (entry.traced.stores, entry.traced.written)
        if places:  # the function itself stores
            run = getattr(run, "without_stores", run)
        copies = [x.copy("K") if type(x) is np.ndarray else x for x in values]
        raised: Exception | None = None
        out = None
        bits = [] if entry.traced is None else [rng.bit_generator for rng in generators_in(entry.traced.graph)]
        before = [x.state for x in bits]
        try:
            out = self._f(*args, **keywords)
        except Exception as error:
            raised = error
        after = [x.state for x in bits]  # each draws the same numbers again
        for x, state in zip(bits, before, strict=True):
            x.state = state
        try:
            with unheard() if raised is None else nullcontext():
                made = run(*copies)
            expected = (out, [place.get() for place in places]) if places else out
            same = agree(made, expected) and raised is None and all(agree(copies[i], values[i]) for i in written)
            same = same and agree([x.state for x in bits], after)
        except Exception:
            same = raised is not None
        for x, state in zip(bits, after, strict=True):
            x.state = state
        if not same:
            entry.run, entry.reason = None, "its graph does not give what it gives"
            if self._fullgraph:
                raise TracingError(f"{entry.reason}, to the bit.") from raised
            self._warn(entry.reason + ", to the bit.")
        if raised is not None:
            raise raised
        entry.doubted = False
        return out

    def _traced(self, args: tuple[Any, ...], keywords: dict[str, Any], note: bool = True) -> Entry | None:
        """Trace a call of a new kind; None where the function itself has to run."""
        if self._traces >= LIMIT:
            reason = (
                f"it was traced {LIMIT} times, for as many kinds of calls or states of what it refers to, and no more are "
                "compiled. Pass what changes from call to call as arguments, as arrays, in a few shapes."
            )
            if self._fullgraph:
                raise TracingError(reason)
            self._reasons[reason] = self._reasons.get(reason, 0) + 1
            self._warn(reason)
            return None
        self._traces += 1
        try:
            call = walked(self._f, args, keywords, self._options)
            key, unkept = self._key(call)
            loaded = None if key is None else self._loaded(call, key)
            if loaded is not None:
                return loaded
            known = len(call.reached.guards)
            graph = capture_graph(call, self._options)
            if key is not None and len(call.reached.guards) != known:  # so that another walk does not compare it
                key, unkept = None, f"its trace has asked for {call.reached.guards[-1].path}, which is not there"
            if graph.stores:
                key, unkept = None, f"it stores {graph.stores[0].path} in what it refers to, which is of this process"
        except Exception as error:
            if self._fullgraph or not note:
                raise
            return refused(self._f, args, keywords, self._options, said(error))
        made = self._made(graph, described(args, keywords, self._options.dynamic))
        made.unkept = unkept
        if key is not None:
            try:
                made.key, made.head = key, head_of(call, key, graph, made.call)
                if self._files.folder is not None:
                    made.unkept = self._files.keep(key, entry_text(made.head, graph.graph))
            except Unkeyed as error:
                made.key, made.unkept = None, str(error)
        return made

    def _key(self, call: Walked) -> tuple[Key | None, str]:
        """Return what a call is found by in other processes; None where it cannot be, and why."""
        try:
            return key_of(call, self._options), ""
        except Unkeyed as error:
            return None, str(error)
        except Exception as error:  # what a repr of the user's raises, say: there is a trace all the same
            return None, f"{type(error).__name__}: {error}"

    def _loaded(self, call: Walked, key: Key) -> Entry | None:
        """Return the entry that another process has left for a call; None where there is none."""
        found = self._files.find(call, key, self._options) if self._files else None
        if found is None:
            return None
        with suppress(Exception):  # whatever is wrong with it: the function is traced
            made = self._made(*found[:2])
            made.key, made.place, made.head = key, found[2], head_of(call, key, *found[:2])
            return made
        return None

    def _made(self, traced: FunctionGraph, call: str) -> Entry:
        metadata = [x.value for x in nodes_in(traced.graph.inputs)]
        # a value of a transform goes through the operators; a write may meet an array that cannot hold it
        backend = self._backend if not traced.wrapped else lambda graph, metadata: program(graph)
        if loud(np) != (False,) or has_blocks(traced.graph) or traced.stores or generators_in(traced.graph):
            # an engine would neither raise nor call for floating-point errors, and its first run is held against the replay
            backend = backend if traced.wrapped else replay
        run = dynamic_program(traced.graph) if traced.graph.symbols else backend(traced.graph, metadata)
        for replayed in (run, *[piece.replayed for piece in pieces_of(run)]):
            if type(replayed) is Program:
                replayed.workers = self._workers
        run = put_back(traced.graph, drawing(traced.graph, run))
        if traced.repeatable:
            run = undoing(traced.graph, traced.written, run)
        return Entry(call, traced.conditions, traced, storing(run, traced.stores))

    def _warn(self, reason: str) -> None:
        """Warn once why calls run the function itself."""
        if not self._warned:
            self._warned = True
            warnings.warn(f"compile: {self._name} runs as it is: {reason}", PerformanceWarning, stacklevel=levels_out())

    @property
    def _name(self) -> str:
        return str(getattr(self._f, "__qualname__", None) or repr(self._f))

    def bring(self, brought: dict[str, list[str]]) -> None:
        """Take the entries of a pickle; each is looked at when a call of its kind comes."""
        for key, texts in brought.items():
            known = self._files.brought.setdefault(key, [])
            known += [text for text in texts if text not in known]

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
            Prints as text: kinds of calls, guards, graphs, and every reason why the function ran as it is.
        """
        note = ""
        if (args or keywords) and all(entry.conditions.inputs(args, keywords) is None for entry in self.entries):
            try:
                made = self._traced(args, keywords, note=False)
                self.entries += [] if made is None else [made]
            except Exception as error:
                note = said(error)
        in_files = self._files.folder is not None
        return Explained(self._name, self._traces, list(self.entries), self._reasons, note, in_files=in_files)

    def __reduce__(self) -> Any:
        brought: dict[str, list[str]] = {}
        for entry in self.entries:
            if entry.key is not None and entry.traced is not None:
                with suppress(Unkeyed):  # what cannot go along is traced again
                    brought.setdefault(entry.key.name, []).append(entry_text(entry.head, entry.traced.graph))
        name = str(getattr(self._f, "__module__", "")), str(getattr(self._f, "__qualname__", ""))
        if found_by_name(*name) is self:
            return found_again, (*name, brought)
        return _made_again, (self._f, self._settings, brought)

    def __repr__(self) -> str:
        return f"<compiled {self._name}, {how_many(len(self.entries), 'entry')}>"


def _made_again(f: Any, settings: dict[str, Any], brought: dict[str, list[str]]) -> Any:
    """Return a function compiled again, with the entries of a pickle."""
    made = compile(f, **settings)
    made.bring(brought)
    return made


def processors() -> int:
    """Return how many threads a run may have that nobody has given a number for."""
    there = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    asked = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0].strip()  # a list is of nested loops, the first is the outer
    return max(1, min(there, FEW, int(asked) if asked.isdecimal() else FEW))


@contextmanager
def unheard() -> Iterator[None]:
    """Give no warning a second time in a `with` block, and call nobody for a floating-point error."""
    asked: Any = {kind: what if what == "raise" else "ignore" for kind, what in np.geterr().items()}
    with warnings.catch_warnings(), np.errstate(**asked):
        warnings.simplefilter("ignore")
        yield


def refused(f: Any, args: tuple[Any, ...], keywords: dict[str, Any], options: Options, reason: str) -> Entry:
    """Return the entry of calls that run the function as it is."""
    given = Given(args, keywords, argument_names(f, args, keywords), options.static)
    slots = [slot_of(x) for x in given.values]
    return Entry(
        described(args, keywords), Conditions(slots, tuple(keywords), given.parts, [], {}, loose=True), None, None, reason
    )


def said(error: Exception) -> str:
    """Return the message of an exception, with the line of user code that it went through last."""
    line = raised_at(error)
    try:
        text = str(error) or type(error).__name__
    except Exception as why:  # what stands for an object in the trace has no text
        text = f"{type(error).__name__}: {why}"
    if line is None or line.place in text:
        return text
    return f"{line}: {text}"


@overload
def compile(  # noqa: A001  torch's name
    f: Callable[..., Any],
    *,
    fullgraph: bool = False,
    dynamic: bool = False,
    mode: str | None = None,
    backend: str | Backend | None = None,
    static_argnames: str | Iterable[str] = (),
    captured: Captured = "inputs",
    verify: int = 0,
    cache_dir: str | os.PathLike[str] | None = None,
    workers: int | None = None,
) -> Any: ...
@overload
def compile(  # noqa: A001  torch's name
    f: None = None,
    *,
    fullgraph: bool = False,
    dynamic: bool = False,
    mode: str | None = None,
    backend: str | Backend | None = None,
    static_argnames: str | Iterable[str] = (),
    captured: Captured = "inputs",
    verify: int = 0,
    cache_dir: str | os.PathLike[str] | None = None,
    workers: int | None = None,
) -> Callable[[Callable[..., Any]], Any]: ...
@clear
def compile(  # noqa: A001  torch's name
    f: Callable[..., Any] | None = None,
    *,
    fullgraph: bool = False,
    dynamic: bool = False,
    mode: str | None = None,
    backend: str | Backend | None = None,
    static_argnames: str | Iterable[str] = (),
    captured: Captured = "inputs",
    verify: int = 0,
    cache_dir: str | os.PathLike[str] | None = None,
    workers: int | None = None,
) -> Any:
    """Return a function that does what `f` does, and traces `f` only once for each kind of call. It is also a decorator.

    Two calls are of one kind if their arguments have the same nesting, their arrays the same dtypes, shapes and strides, and
    their other arguments the same values. A Python float may differ, unless `f` does more with it than hand it to operators.
    Arrays that `f` refers to, in closures, globals and attributes, may be written to, or replaced by others of the same
    layout; everything else that its code can reach by name is compared at each call, and a difference means a new trace.
    Results, and what is written to arguments, are those of `f` to the bit.

    Parameters
    ----------
    f : callable
        Takes arrays, also in containers.
    fullgraph : bool
        Whether to raise if `f` cannot be traced. By default `f` itself runs then, with one warning that says why.
    dynamic : bool
        Whether sizes are symbols. Then one graph serves all lengths for which its guards hold, but for 0 and 1, which have
        graphs of their own. Only `mode="exact"` can do it, and it may need the extra `symbolic`.
    mode : {"exact", "fast"}, optional
        `"exact"`, the default, calls the operators again. `"fast"` hands what an engine computes as NumPy does to that engine:
        to torch's compiler, else to JAX. Its results are held to those of NumPy on the first call, to 1e-9 of the largest
        number of an array (1e-4 in single precision), and where they differ the calls are replayed, with a warning. So are
        those that the replay runs faster on that call, without a warning.
    backend : str or callable, optional
        The engine for `mode="fast"`, which it implies: the name of a registered backend, or a function like those that
        `register_backend` takes.
    static_argnames : str or iterable of str
        Parameters whose floats are no inputs: each value is a kind of call.
    captured : {"inputs", "compared", "constant"}
        What the arrays are that `f` refers to: inputs of the graph; constants whose bytes are compared at each call; or
        constants that nothing compares, with all else that `f` refers to, as in `jax.jit`: whoever changes them changes
        nothing.
    verify : int
        How many calls of each kind run `f` beside the graph, and compare them to the bit. If they differ, `f` runs from
        then on, with a warning.
    cache_dir : str or path, optional
        A folder in which traces are kept, for other processes and for later ones: a call whose code, and all that it rests on,
        is the same there is not traced. docs/compile.md says what is kept.
    workers : int, optional
        How many threads may share consecutive ufuncs that take more than some tenths of a millisecond, where calls are
        replayed; the results are the same to the bit. By default as many as there are processors for this process, at most
        four and at most the environment's OMP_NUM_THREADS. 1 is none beside the caller's.

    Returns
    -------
    callable
        With the signature and the name of `f`, and a method `explain(*args)`, which says for which calls there are graphs.

    Raises
    ------
    DefinitionError
        If there is no such mode or backend, or an option is none of these.
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
    <compiled f, 1 entry>
    """
    if f is None:
        return partial(
            compile,
            fullgraph=fullgraph,
            dynamic=dynamic,
            mode=mode,
            backend=backend,
            static_argnames=static_argnames,
            captured=captured,
            verify=verify,
            cache_dir=cache_dir,
            workers=workers,
        )
    check_function(f, "compile")
    found = backend_of(mode, backend)
    if check_flag(dynamic, "compile: dynamic") and found is not replay:
        asked = f"the backend {backend!r}" if backend else "an engine"
        raise UnsupportedError(
            f"compile(dynamic=True) was asked of {asked}, and open sizes are run by mode='exact'. Leave one of the two out."
        )
    check_flag(fullgraph, "compile: fullgraph")
    if type(verify) is not int or verify < 0:
        given = verify if type(verify) is int else kind_of(verify)
        raise DefinitionError(f"compile: verify is a number of calls, 0 for none, and was given as {given}.")
    check_word(captured, "compile: captured", ("inputs", "compared", "constant"), DefinitionError)
    if not (cache_dir is None or isinstance(cache_dir, (str, os.PathLike))):
        raise DefinitionError(f"compile: cache_dir is the path of a folder, and {kind_of(cache_dir)} was given.")
    if cache_dir is not None and os.path.exists(cache_dir) and not os.path.isdir(cache_dir):
        raise DefinitionError(f"compile: cache_dir is the path of a folder, and {os.fspath(cache_dir)!r} is a file.")
    names: Any = static_argnames
    if not isinstance(names, Iterable):
        given = kind_of(static_argnames)
        raise DefinitionError(f"compile: static_argnames has names of arguments, 'n' say, and {given} was given.")
    if workers is not None and (type(workers) is not int or workers < 1):
        raise DefinitionError(f"compile: workers is a number of threads, 1 or more, and was given as {shown(workers)}.")
    static = frozenset([static_argnames] if isinstance(static_argnames, str) else static_argnames)
    _check_static(f, static)
    options = Options(dynamic, static, captured, open_layout if dynamic else None, found is not replay)
    settings = {
        "fullgraph": fullgraph, "dynamic": dynamic, "mode": mode, "backend": backend, "static_argnames": tuple(sorted(static)),
        "captured": captured, "verify": verify, "cache_dir": None if cache_dir is None else os.fspath(cache_dir),
        "workers": workers,
    }  # fmt: skip
    return Compiled(f, options, fullgraph, found, verify, settings)


def _check_static(f: Callable[..., Any], static: frozenset[str]) -> None:
    """Refuse a name of an argument that the function has not: it would be static in silence, and change nothing."""
    names = (parameter_names(f) if static else None) or ()
    unknown = sorted(str(name) for name in static if name not in names) if names else []
    if unknown:
        raise DefinitionError(
            f"compile: static_argnames names {unknown[0]!r}, and the function takes {', '.join(names)}."
            f"{did_you_mean(unknown[0], names)}"
        )
