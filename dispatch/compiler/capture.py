"""Traces a function for one kind of call: once, on a copy of what it can reach, with traced values in place of arrays.

It has more than 350 lines because what a trace must not have done is asked of it in one place, after it was made.
"""

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from math import prod
from typing import Any, Literal, NamedTuple

import numpy as np

from ..core import Tensor, active_mode
from ..core.pytree import items_of, leaves
from ..errors import PerformanceWarning, RedefinitionWarning, TracingError, kind_of, listening
from ..graph import AliasAnalysis, Graph, Metadata, Node, nodes_in
from ..graph.body import Body
from ..graph.passes import MOST_BYTES, change, drop_dead, fold, merge_alike
from ..layers.functionalize import functionalize
from ..layers.opaque_rules import called_as_one
from ..layers.trace import SEEN_BY_NUMPY, TRACE, TracedNumber
from ..operators.rule_operators import owner_of, runs_as_ours
from ..operators.views import overlaps_itself
from ..schema.tags import Tag
from .conditions import BYTES, CELL, DICT, ITEM, READ, Conditions
from .copies import Copies, Held, check_heard, makes
from .error_states import has_blocks, told_to_raise
from .given import Given, argument_names, placeholders, slot_of, with_own_floats
from .lowering import is_repeatable
from .python_bools import METHODS, check_python_bools, python_bool
from .reached import At, Guard, Reached, loud, of_time, raising
from .registered import Rules, check_kernels, operators_in
from .stores import Place
from .trace_function import traced_once

Captured = Literal["inputs", "compared", "constant"]
# Warnings that a graph may leave out.
QUIET = (PerformanceWarning, RedefinitionWarning, DeprecationWarning, PendingDeprecationWarning, FutureWarning)
CLEAR = frozenset({Node, int, float, bool, str, complex, type(None), type(Ellipsis), np.dtype})  # what holds no array
OF_ARRAYS_ALONE = {name for name in set(dir(np.ndarray)) - set(dir(np.float64)) if name[0] != "_"}  # dot, partition ...
COMPLEX = frozenset("add subtract multiply divide true_divide power equal not_equal".split())  # what Python's computes
MOST_COMPARED = 1 << 16  # bytes of captured arrays that are compared where Python decides by their data, 5 us


class FunctionGraph(NamedTuple):
    """The trace of a function for one kind of call.

    `conditions` says of a call whether the graph stands for it, and gives the inputs of the graph then: the arrays, given and
    captured, and the floats. By name, `places` has what is compared, `captured` the inputs that are no arguments, `fixed` the
    floats whose values the graph holds. `written` has the numbers of the inputs that the graph writes to, `beside` the arrays
    whose elements it holds, if it writes. A graph is `repeatable` if nothing has happened where it raises. `wrapped` is whether
    values of transforms were given. `decided` has the numbers of the fixed floats, `as_inputs` is whether captured arrays and
    floats are inputs, and `quiet` whether it leaves out calls of which NumPy could be told to raise. `doubted` is whether it
    has to be held against the function first: the code may catch an exception, and one that a traced value raises, and an array
    does not, would be nobody's to see; or it may write a text, and that of an iterator say has its address.
    `integers` has those that it refers to, by name: each value is another trace. `stores` has the places where a run puts the
    second of its results, a list, which the function stores in what it refers to, and `unread` those of them whose values
    before do not matter, by the id of what holds them. `held` has the arrays that kernels may write to, so that no input may be
    one.
    """

    graph: Graph
    conditions: Conditions
    places: list[str]
    captured: list[str]
    fixed: list[str]
    written: tuple[int, ...]
    beside: tuple[np.ndarray, ...]
    repeatable: bool
    wrapped: bool
    decided: tuple[int, ...]
    as_inputs: bool
    quiet: bool
    doubted: bool
    integers: dict[str, int]
    held: tuple[np.ndarray, ...] = ()
    stores: tuple[Place, ...] = ()
    unread: frozenset[At] = frozenset()


class Options(NamedTuple):
    """How a function is to be traced."""

    dynamic: bool = False
    static: frozenset[str] = frozenset()
    captured: Captured = "inputs"
    layout: Callable[[Any], Any] | None = None  # of an array whose lengths are open: what must be as it was
    engine: bool = False  # whether an engine is to run it, which reports no floating-point errors
    made: bool = False  # whether arrays that the code makes, by np.zeros say, are traced values: it may write one to them


class Walked(NamedTuple):
    """A call of a function: its arguments, taken apart, and what they, it and the rules of operators reach; nothing has run."""

    f: Callable[..., Any]
    args: tuple[Any, ...]
    keywords: dict[str, Any]
    given: Given
    reached: Reached
    rules: Rules

    def captured(self) -> list[np.ndarray]:
        """Return the arrays that the function refers to and is not given."""
        known = set(map(id, self.given.values))
        return [x for x in self.reached.arrays.values() if id(x) not in known]

    def inputs(self, as_inputs: bool) -> tuple[list[Any], list[str]]:
        """Return the inputs of a graph, and how they are called; what is captured is among them or is constant."""
        values, paths = list(self.given.values), list(self.given.paths)
        for x in [*self.captured(), *self.reached.floats.values()] if as_inputs else ():
            values.append(x)
            paths.append(self.reached.where[id(x)])
        return values, paths


def walked(
    f: Callable[..., Any],
    args: tuple[Any, ...],
    keywords: dict[str, Any],
    options: Options,
    unread: frozenset[At] = frozenset(),
    changing: frozenset[At] = frozenset(),
) -> Walked:
    """Take a call apart, and find what it can reach; raise where something cannot be compared."""
    as_given = args, keywords
    args, keywords = with_own_floats((args, keywords))
    names = argument_names(f, args, keywords)
    given = Given(args, keywords, names, options.static)
    if given.refused:
        raise TracingError(f"{given.refused}.")
    also: frozenset[str] = frozenset()
    while True:
        known: dict[str, Any] = {"texts": given.texts, "unread": unread, "changing": changing, "also": also}
        reached = Reached(f, *given.roots, classes=given.classes, **known)
        rules = Rules(reached, given.wrapped)
        if rules.names <= reached.names:
            break
        also |= rules.names - reached.names
    times = reached.of_time.union(*[of_time(x.dtype) for x in given.values if hasattr(x, "dtype")])
    if {"now", "M"} <= times:
        raise TracingError(
            "it has the text 'now' or 'today', by which NumPy reads the clock where it makes a time. Pass np.datetime64('now')."
        )
    strange = reached.asked() & OF_ARRAYS_ALONE
    if strange and any(isinstance(x, np.generic) for x in given.values):
        raise TracingError(f"it names .{min(strange)}, of arrays alone, and is given a number. Pass an array.")
    for x in given.values:
        reached.floats.pop(id(x), None)  # one object, that may be two another time
    for x in leaves((args, keywords)):
        if type(x) is complex:  # it reads the float that stands behind it unseen
            reached.decides, reached.floats = True, {}
        if isinstance(x, np.generic):
            reached.arrays.pop(id(x), None)
    if reached.tells_apart:
        args, keywords = as_given
        given = Given(args, keywords, argument_names(f, args, keywords), options.static, floats=False, exact=True)
        if given.refused:  # one container in two places: `with_own_floats` has made two
            raise TracingError(f"{given.refused}.")
    elif reached.decides:
        given = Given(args, keywords, names, options.static, floats=False)
    if given.containers & reached.seen.keys():
        raise TracingError("a container that it is given is one that it refers to, too. Pass a copy.")
    return Walked(f, args, keywords, given, reached, rules)


def capture_graph(call: Walked, options: Options) -> FunctionGraph:
    """Trace a function for calls like this one, without running a kernel; raise if a graph cannot stand for them."""
    reached = call.reached
    if options.captured != "inputs" or call.given.wrapped:
        return _traced(call, options)
    try:
        found = _traced(call, options)
    except Exception as error:
        for other in _other_ways(call, options):
            with suppress(Exception):  # the first says it better
                return _traced(call, other)
        raise error from None
    changing = frozenset(place.at for place in found.stores if isinstance(place.get(), np.number))
    if found.unread or changing:  # else each value would be another kind of call
        with suppress(Exception):
            again = walked(call.f, call.args, call.keywords, options, unread=found.unread, changing=changing)
            return _traced(again, options)
    if found.graph.symbols and not options.dynamic and _may_be_compared(reached):  # a captured mask, say
        with suppress(Exception):
            return _traced(call, options._replace(captured="compared"))
    return found


def _other_ways(call: Walked, options: Options) -> Iterator[Options]:
    """Yield the other ways to trace a call that could not be: by what the code makes, and by what it captures."""
    for made in (True, False) if makes(call.reached) else (False,):
        if made:
            yield options._replace(made=True)
        if _may_be_compared(call.reached):
            yield options._replace(captured="compared", made=made)


def _may_be_compared(reached: Reached) -> bool:
    return bool(reached.arrays) and sum(x.nbytes for x in reached.arrays.values()) <= MOST_COMPARED


def _traced(call: Walked, options: Options) -> FunctionGraph:
    """Return one trace."""
    reached, given = call.reached, call.given
    if reached.catches and given.wrapped:
        raise TracingError("it may catch exceptions, and a trace with values of a transform cannot be held against it.")
    as_inputs = options.captured == "inputs" and not given.wrapped
    values, paths = call.inputs(as_inputs)
    captured = call.captured()
    held = Held([] if as_inputs else captured)
    if held.standing and "resize" in reached.names:
        raise TracingError("it may resize an array that it refers to, which its memory decides. Pass it as an argument.")
    arrays = [i for i, x in enumerate(values) if type(x) is not float]
    floats = [i for i, x in enumerate(values) if type(x) is float]
    words = placeholders(paths)
    numbers: dict[int, TracedNumber] = {}
    nodes: dict[int, Node] = {}
    places: list[Place] = []
    unread: set[At] = set()

    def run(*traced: Any) -> Any:
        standing: dict[int, Any] = dict(held.standing)
        for i, x in zip(arrays, traced, strict=True):
            standing[id(values[i])] = x
        guard = active_mode(TRACE)
        assert guard is not None
        # What would take it for another value unseen.
        if not (reached.asks_bool or reached.tells_apart or call.rules.any or reached.names & METHODS):
            guard.mode.python_bool = python_bool
        for i in floats:
            number = TracedNumber(values[i])
            numbers[i] = number
            nodes[i] = guard.mode.graph.placeholder(words[i], Metadata((), np.dtype(float), (), "cpu"))
            guard.mode.objects[id(number)] = values[i], nodes[i]
            standing[id(values[i])] = number
        copies = Copies(reached, standing, guard.mode, made=options.made)
        with warned_of(raised_on_the_way), warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            out = copies.call(call.f, call.args, call.keywords)
        for warning in heard:
            if issubclass(warning.category, QUIET):
                warnings.warn_explicit(warning.message, warning.category, warning.filename, warning.lineno)
            else:
                raise TracingError(
                    f"it gives a {warning.category.__name__} where it computes without inputs, each time that it runs: "
                    f"{str(warning.message).rstrip('.')}."
                )
        kept = copies.stores(as_inputs)
        _check_stored([x for _, x in kept], {x.level for x in traced if isinstance(x, Tensor)})
        places[:] = [place for place, _ in kept]
        unread.update(copies.unread(places))
        own = [x for x in leaves(out) if type(x) is np.ndarray]
        if options.captured == "compared" and any(np.may_share_memory(x, y) for x in own for y in held.standing.values()):
            raise TracingError("it returns an array that it refers to, by whose data it decides. Return a copy.")
        return (copies.back(out), [x for _, x in kept]) if kept else copies.back(out)

    stand_ins = [np.empty(x.shape, x.dtype) if isinstance(x, Tensor) else x for x in (values[i] for i in arrays)]
    raised_on_the_way: list[str] = []
    with listening() as made, called_as_one(call.rules.as_one):
        mode = "symbolic" if options.dynamic else "fake"
        graph = traced_once(functionalize(run), tuple(stand_ins), mode, [words[i] for i in arrays])
    check_heard(made, reached)
    if raised_on_the_way:
        raise TracingError(f"NumPy reports {raised_on_the_way[0]} where it computes without inputs, each time that it runs.")
    held.check()
    inner = dict(zip(arrays, graph.inputs, strict=True)) | nodes
    graph.inputs = tuple([inner[i] for i in range(len(values))])
    unseen = _check(graph)
    quiet = False
    if not given.wrapped:  # else a gradient would be summed in another order
        quiet = _make_smaller(graph, options)
    decided = tuple([i for i in floats if numbers[i].used or unseen or not SEEN_BY_NUMPY])
    return _with_stores(bound(call, graph, decided, as_inputs, quiet, options), places, unread, reached)


def _with_stores(traced: FunctionGraph, places: list[Place], unread: set[At], reached: Reached) -> FunctionGraph:
    does_more = places or traced.written or {op.schema.namespace for op in operators_in(traced.graph)} - {"np"}
    if does_more and id(np.piecewise) in reached.seen:
        raise TracingError(
            "it uses np.piecewise, which calls a function only where an element is for it, and a graph always, beside what is "
            "more than a result: a store, a write, a draw, an operator of yours. Write np.where(condition, x, y)."
        )
    if (places or reached.catches) and not traced.repeatable:
        does, only = (f"stores {places[0].path}", "stores at its end") if places else ("may catch an exception", "catches none")
        raise TracingError(
            f"it {does}, and a write to an array or a custom operator comes before what may raise: a graph {only}."
        )
    return traced._replace(stores=tuple(places), unread=frozenset(unread))


def _check_stored(values: list[Any], levels: set[Any]) -> None:
    """Raise for a value of a transform that the function stores, which outlives the transform."""
    for x in leaves(values):
        if isinstance(x, Tensor) and x.level not in levels:
            raise TracingError(
                f"it stores a {type(x).__name__} of {x.level!r} in what it refers to. Return it, or store x.data."
            )


def bound(
    call: Walked, graph: Graph, decided: tuple[int, ...], as_inputs: bool, quiet: bool, options: Options
) -> FunctionGraph:
    """Return a graph with the conditions under which it stands for a call: the graph of this call, or one like it."""
    reached, given = call.reached, call.given
    check_kernels(graph)
    values, paths = call.inputs(as_inputs)
    slots = [slot_of(x, i in decided, options.layout) for i, x in enumerate(values)]
    slot_numbers = {id(x): i for i, x in enumerate(values)}
    guards = [] if options.captured == "constant" else list(reached.guards)
    if quiet or (options.engine and not given.wrapped and loud(np) == (False,)):
        asked = raising if quiet and not told_to_raise() else loud  # where a filter raises, no unused call was left out
        guards.append(Guard(READ, np, asked, (False,), "np.geterr()"))
    if not as_inputs and options.captured != "constant":
        guards += [Guard(BYTES, x, (x.dtype, x.shape, x.strides), x.tobytes(), "an array") for x in call.captured()]
    aliases = AliasAnalysis(graph, apart=True)
    written = tuple([i for i, x in enumerate(nodes_in(graph.inputs)) if aliases.is_written(x)])
    for i in written:
        if type(values[i]) is np.ndarray and overlaps_itself(values[i]):
            raise TracingError(f"it writes to {paths[i]}, whose elements share memory with one another.")
    of_rules, read = call.rules.guards(reached.tells_apart) if options.captured != "constant" else ([], [])
    if any(np.may_share_memory(values[i], x) for i in written for x in read if type(values[i]) is np.ndarray):
        raise TracingError(
            "it writes to an array to which the rule of an operator refers. Pass it to the operator as an argument."
        )
    guards += of_rules
    conditions = Conditions(slots, tuple(call.keywords), given.parts, guards, slot_numbers, exact=reached.tells_apart)
    doubted = reached.catches or (reached.writes and not given.wrapped)
    for op in operators_in(graph) if doubted else ():
        if id(owner_of(op)) in call.rules.doing_more:
            raise TracingError(
                f"it may catch an exception or write a text, so its first call is held against the graph, and a kernel of "
                f"{op.name} may do more than return something: it would run twice."
            )
    return FunctionGraph(
        graph,
        conditions,
        places=sorted({guard.path for guard in guards} - {""}),
        captured=paths[len(given.values) :],
        fixed=[paths[i] for i in decided],
        written=written,
        beside=tuple(call.captured()) if written and not as_inputs and options.captured != "constant" else (),
        repeatable=is_repeatable(graph, aliases),
        wrapped=given.wrapped,
        decided=decided,
        as_inputs=as_inputs,
        quiet=quiet,
        doubted=doubted,
        integers=dict(integers_of(guards)),
        held=tuple(call.rules.held),
    )


def _make_smaller(graph: Graph, options: Options) -> bool:
    """Leave out calls of a graph; return whether any were, which then neither raise nor call.

    It stays as it is where NumPy is told to raise or to call, and where it is told anything in the graph. Where a filter of
    warnings raises, calls whose results are unused stay.
    """
    if loud(np) != (False,) or has_blocks(graph):
        return False
    count = len(graph.nodes)
    unused = () if told_to_raise() else (drop_dead,)
    change(graph, *(() if options.dynamic else (know_by_layout,)), merge_ours, fold_ours, *unused)
    graph.lint()
    return len(graph.nodes) != count


@contextmanager
def warned_of(found: list[str]) -> Iterator[None]:
    """Note the floating-point errors of NumPy that it would warn of in a `with` block."""
    asked: Any = {kind: "call" if what in ("warn", "print", "log") else what for kind, what in np.geterr().items()}
    with np.errstate(call=lambda kind, _: found.append(kind), **asked):
        yield


def _check(graph: Graph) -> bool:
    """Raise if a graph holds what it was traced with where it would need what it is called with.

    Return whether a Python complex is in it, which may have read any float: `(-8) ** 0.5 * rate` reads it in C, unseen.
    """
    check_python_bools(graph)
    found = any([type(x) is complex for x in leaves(graph.outputs)])
    for node in graph.nodes:
        for x in node.args:
            if type(x) not in CLEAR:
                _check_argument(x)
        if complex in map(type, node.args[:2]):
            found = True
            _check_complex(node)
        if node.kind == "call" and type(node.value) is not Metadata and any(True for _ in nodes_in(node.args)):
            value = _plain_value(node.value)
            if value is not None:
                raise TracingError(
                    f"{node} gives {kind_of(value)}{_at(node)}, and a graph would keep what it is for these arrays. Let the "
                    "operator return an array of it."
                )
    return found


def _check_complex(node: Node) -> None:
    """Raise where Python may compute: its complex asks no np.float64, which is a float, and gives a complex."""
    values = [x.value for x in nodes_in(node.args[:2])]
    of = [type(x) is Metadata and x.dtype == np.float64 and not x.shape for x in values]
    name = "" if node.op is None else node.op.schema.name.removeprefix("scalar_")
    if any(of) and name in COMPLEX and (type(node.args[0]) is complex or name in ("equal", "not_equal")):
        raise TracingError(
            f"a Python complex stands before a number of NumPy's{_at(node)}, and Python computes with both where a graph would "
            "give another type. Write the number first, x * 2j, or np.complex128(2j)."
        )


def _check_argument(argument: Any) -> None:
    for x in leaves(argument):
        if isinstance(x, Tensor):
            raise TracingError(f"it computes with a {type(x).__name__} that it was not given. Pass it as an argument.")


def _plain_value(value: Any) -> Any:
    """Return a number or a text in the value of a node; None if there is none."""
    if type(value) is Metadata:
        return None
    if (items := items_of(value)) is not None:
        return next((x for x in map(_plain_value, items) if x is not None), None)
    return value if isinstance(value, (bool, int, float, complex, str, bytes)) else None


def _at(node: Node) -> str:
    """Return the line of a node as part of a message."""
    return "" if node.source is None else f" in {node.source}"


def integers_of(guards: list[Guard]) -> Iterator[tuple[str, int]]:
    """Yield the integers that each call compares, and how they are called."""
    for guard in guards:
        if guard.kind == DICT:
            found = [(f"{guard.path}, {k!r}", x) for k, x in zip(guard.name, guard.was, strict=True)]
        else:
            found = [(guard.path, guard.was)] if guard.kind in (ITEM, CELL) else []
        yield from [(path, x) for path, x in found if type(x) is int]


def merge_ours(graph: Body, aliases: AliasAnalysis) -> None:
    """Compute once what this package's operators compute twice; a user's kernel may give something else each time."""
    merge_alike(graph, aliases, only=runs_as_ours)


def fold_ours(graph: Body, aliases: AliasAnalysis) -> None:
    """Compute what is made of constants by this package's operators; a user's kernel may be another when the graph runs."""
    fold(graph, aliases, only=runs_as_ours)


def know_by_layout(graph: Body, aliases: AliasAnalysis) -> None:
    """Put constants in place of calls that read only a layout, such as `ones_like(x)`.

    The seed of a gradient is such a call. `fold` then computes the steps of the gradient that depend on no data.
    """
    for node in graph.nodes:
        if node.op is None or Tag.metadata not in node.op.tags or not _is_small(node.value) or not runs_as_ours(node.op):
            continue
        first, *rest = node.args
        if type(first) is Node and _is_small(first.value) and not any(True for _ in nodes_in(rest)):
            value = node.op.whole(np.empty(first.value.shape, first.value.dtype), *rest)
            if isinstance(value, np.ndarray) and (value.shape, value.strides) == (node.value.shape, node.value.strides):
                node.kind, node.op, node.args, node.source = "constant", None, (), None
                graph.constants[node.name] = value


def _is_small(value: Any) -> bool:
    if type(value) is not Metadata or value.device != "cpu" or any(type(n) is not int for n in value.shape):
        return False
    return bool(prod(value.shape) * value.dtype.itemsize <= MOST_BYTES)
