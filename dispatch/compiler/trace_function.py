"""`make_fx`: traces a function of arrays into a graph."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from types import AsyncGeneratorType, CoroutineType, GeneratorType
from typing import Any, ClassVar

import numpy as np
from numpy.lib.array_utils import byte_bounds

from ..core import (
    Tensor,
    Without,
    active_modes,
    check_open,
    device_of,
    ground,
    level_of_rank,
    wrap,
)
from ..core.collector import collector_paused
from ..core.pytree import items_of, leaves, opened, paths, steps, unflatten
from ..core.wrong_attributes import Attributes
from ..core.wrong_calls import check_takes, clear
from ..dispatcher.conversion_advice import line_for_others
from ..dispatcher.rule_parameters import parameter_names
from ..errors import DispatchError, TracingError, did_you_mean, kind_of
from ..graph import Graph, Node, sizes_in
from ..graph.shape_guards import NOTE
from ..layers.autograd import TrackedTensor, track
from ..layers.fake import FakeTensor, FakeTensorMode, fake_tensor
from ..layers.second_tries import other_ways
from ..layers.trace import Trace, TracedTensor, metadata
from ..operators.prims import memory_view
from ..operators.views import owner_of
from ..symbolic import OwnChecks, ShapeEnv

MODES = ("real", "fake", "symbolic")
RUN_ONCE = (GeneratorType, CoroutineType, AsyncGeneratorType)
ARRAYS = (Tensor, np.ndarray, np.generic, float, complex)


@clear
def make_fx(f: Callable[..., Any], tracing_mode: str = "real") -> Callable[..., Graph]:
    """Return a function that runs `f` and returns its operator calls as a graph.

    Parameters
    ----------
    f : callable
    tracing_mode : {"real", "fake", "symbolic"}
        What `f` computes with: the arrays themselves; only their shapes and dtypes; or these with symbols for sizes. A size
        that depends on data is a symbol in both of the last.

    Returns
    -------
    callable
        Takes the arguments of `f` by position, and returns a `Graph`. Each array in them is an input of the graph, also in
        containers; so is each Python float and complex number, as a 0-d array. All other values are constants: a call of the
        graph must pass the same ones.

    Raises
    ------
    TracingError
        If the mode is none of these, or `f` reads the data of a traced value; a `DataDependentError` if there is no data.

    Notes
    -----
    With real arrays `f` runs as usual, and its writes to arguments happen; a size that depends on data, as of `np.unique(x)`,
    is the number that it was, so the graph is for arrays of which it is the same. In the other modes no kernel runs, and
    arguments are not changed; a function that is refused as it is, for it writes traced values to what `np.zeros` makes, say,
    is traced on a copy then, as `compile` traces it.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> graph = dispatch.make_fx(lambda x: x * np.sin(x))(np.ones(3))
    >>> graph.nodes
    [x, sin, multiply]
    >>> graph(np.array([0.0, 1.0]))
    array([0.        , 0.84147098])
    """
    mode: object = tracing_mode
    if not isinstance(mode, str) or mode not in MODES:
        second = f"{kind_of(mode)}. The arguments go into the second call: make_fx(f)(x)"
        given, near = (repr(mode), did_you_mean(mode, MODES)) if isinstance(mode, str) else (second, "")
        raise TracingError(f"make_fx: tracing_mode is 'real', 'fake' or 'symbolic', and was given as {given}.{near}")
    if not callable(f):
        raise TracingError(f"make_fx takes a function, and was given {kind_of(f)}. Write make_fx(f)(x), not make_fx(f(x)).")

    made = GraphMaker()
    made.__wrapped__, made._tracing_mode, made._names = f, tracing_mode, parameter_names(f) or ()  # noqa: SLF001  no frame of its own
    return made


class GraphMaker(Attributes):
    """What `make_fx` returns: for arguments it makes the graph of a function."""

    _elsewhere: ClassVar[dict[str, str]] = {
        name: f"make_fx(f)(x).{name}: the graph is what a call returns" for name in dir(Graph) if name[0] != "_"
    }

    __wrapped__: Callable[..., Any]
    _tracing_mode: str
    _names: Sequence[str]

    def __call__(self, *args: Any, **keywords: Any) -> Graph:
        """Return the graph of one run of the function."""
        f = self.__wrapped__
        if keywords:
            firsts, names = [*(self._names[: len(args)] or [f"x{i}" for i in range(len(args))])], list(keywords)
            inside, given = ", ".join([*firsts, *[f"{name}={name}" for name in names]]), ", ".join([*firsts, *names])
            raise TracingError(
                f"a graph takes its arguments by position, and {', '.join(names)} came by name. Trace a function of "
                f"positions: make_fx(lambda {given}: f({inside}))({given})."
            )
        try:
            return traced_once(f, args, self._tracing_mode, self._names)
        except DispatchError:
            if self._tracing_mode != "real":  # in which it has run, and would run twice
                for g in other_ways(f, args, {}):
                    with suppress(Exception):  # the first says it better
                        return traced_once(g, args, self._tracing_mode, self._names)
            raise

    def __repr__(self) -> str:
        return f"make_fx({getattr(self.__wrapped__, '__name__', kind_of(self.__wrapped__))})"


def traced_once(f: Callable[..., Any], args: tuple[Any, ...], tracing_mode: str, names: Sequence[str]) -> Graph:
    """Return the graph of one run of a function as it is, whose parameters have these names."""
    graph = Graph()
    with collector_paused(), _below(tracing_mode, args) as fakes:
        trace = Trace(graph) if fakes is None else Trace(graph, _constants(fakes), fakes.shape_env)
        stand_in = _itself if fakes is None else _lifting(fakes)
        sizes = None if fakes is None or fakes.static_shapes else fakes.shape_env
        with trace.level, trace.begin():
            values, nodes = [], []
            for x, name in zip(flattened(args), _leaf_names(args, names), strict=True):
                value, node = _entered(x, name, trace, stand_in, sizes)
                values.append(value)
                nodes.append(node)
            graph.inputs = unflatten(args, nodes)
            try:
                graph.outputs = _left(f(*unflatten(args, values)), trace)
            except TypeError:
                check_takes("make_fx", f, args)
                raise
    if fakes is not None and fakes.shape_env is not None and fakes.shape_env.symbols:
        _settle(graph, fakes.shape_env)
    if tracing_mode == "symbolic" and not graph.symbols:
        graph.notes[NOTE] = True
    return graph


@contextmanager
def _below(tracing_mode: str, args: tuple[Any, ...]) -> Iterator[FakeTensorMode | None]:
    """Turn on the mode below the trace: none for real arrays; else fakes, with the modes of other transforms off."""
    if tracing_mode == "real":
        yield None
        return
    with ExitStack() as stack:
        for guard in active_modes():
            if level_of_rank(guard.rank):  # not on the ground: a trace around this one, say
                stack.enter_context(Without(guard))
        given = next((x.mode for x in leaves(args) if isinstance(x, FakeTensor) and x.mode is not None), None)
        static = tracing_mode == "fake"  # where only a size that depends on data is a symbol
        if given is None:
            made = FakeTensorMode(allow_non_fake_inputs=True, shape_env=ShapeEnv(), static_shapes=static)
            stack.callback(made._memo.forget)  # noqa: SLF001  of a mode of its own, which users have no reason to empty
        mode = given or made
        stack.enter_context(OwnChecks(mode.shape_env))
        yield stack.enter_context(mode)


def _settle(graph: Graph, env: Any) -> None:
    """Copy the guards and checks of the sizes to a graph; raise if a size that depends on data is the length of no axis."""
    graph.guards, graph.checks = list(env.guards), list(env.checks)
    for x in (graph.outputs, *[node.args for node in graph.nodes]):
        for size in sizes_in(x):
            if lost := [name for name in size.names if name not in graph.symbols]:
                raise TracingError(
                    f"the size {size} is used, and {lost[0]} is the length of no axis of an array that an operator gives, so "
                    "that the graph could not read it. Let the operator return an array with such an axis."
                )


def _lifting(fakes: FakeTensorMode, static: bool | None = None) -> Callable[[Any], Any]:
    """Return the function that makes a fake of an array, or of a value of a transform around the trace."""

    def lifted(x: Any) -> Any:
        outer = isinstance(x, Tensor) and not isinstance(x, FakeTensor)
        made = fakes.from_array(np.empty(x.shape, x.dtype) if outer else x, static_shapes=static)
        # of an input nothing may be known but its layout
        return made if made.constant is None else fake_tensor(made.shape, made.dtype, made.strides, made.device, fakes)

    return lifted


def _constants(fakes: FakeTensorMode) -> Callable[[Any], Any]:
    """Return the function that makes a fake of an array that the graph keeps: of a mask with its elements."""
    lifted = _lifting(fakes, static=True)
    return lambda x: fakes.captured(x) if type(x) in (np.ndarray, np.bool_) and x.dtype == bool else lifted(x)


def _itself(x: Any) -> Any:
    return x


def _opened(x: Any) -> Any:
    return opened(x, lambda leaf: isinstance(leaf, ARRAYS))


flattened: Callable[[Any], list[Any]] = partial(leaves, opened=_opened)


def _leaf_names(args: tuple[Any, ...], names: Sequence[str]) -> list[str]:
    """Return names for the inputs: those of the parameters, where `f` has a signature; in containers the key comes after."""
    found: list[str] = []
    for i, x in enumerate(args):
        name = names[i] if i < len(names) else f"x{i}"
        found += [name] if items_of(x) is None else _names_in(x, name)
    return found


def _names_in(x: Any, name: str) -> Iterator[str]:
    items = items_of(x)
    if items is None:
        yield name
    else:
        for item, step in zip(items, steps(x), strict=True):
            yield from _names_in(item, name + "_" + step.strip(".[]'\""))


def _entered(x: Any, name: str, trace: Trace, stand_in: Callable[[Any], Any], sizes: Any) -> tuple[Any, Any]:
    """Return a leaf of the arguments as `f` gets it, and as the graph has it; `sizes` makes symbols of ints, if any."""
    if type(x) in (float, complex):
        x = np.asarray(x)[()]  # a number, which no write changes
    if type(x) is int and x > 1 and sizes is not None:
        size = sizes.new_symbol(f"s{sum(word.startswith('s') for word in sizes.symbols)}", hint=x, low=2)
        node = trace.graph.placeholder(name, size)
        trace.graph.symbols[str(size)] = node, None
        return size, node
    if not isinstance(x, Tensor) and device_of(x) is None:
        if line := line_for_others(x, name):
            raise TracingError(f"a graph has arrays as inputs, and {name!r} is {kind_of(x)}. Write {line}.")
        return x, x
    tracked = isinstance(x, TrackedTensor) and x.level is ground()
    value = x.value if tracked else x
    below = stand_in(value)
    node = trace.graph.placeholder(name, metadata(below))
    if sizes is not None:
        trace.read_sizes(node, below)
    made = wrap(TracedTensor, below, trace.level, node)
    return track(made, trace.level) if tracked else made, node


def _views_of_constants(results: list[Any], trace: Trace) -> dict[int, Any]:
    """Return, by id, the arrays among some results that share memory, each as a view of one constant: two would share none."""
    found: dict[int, Any] = {}
    arrays = {id(x): x for x in results if type(x) is np.ndarray and x.size and not x.dtype.hasobject}
    for key, x in arrays.items():
        if not any(y is not x and np.may_share_memory(x, y) for y in arrays.values()):
            continue
        owner = x
        while isinstance(owner.base, np.ndarray):
            owner = owner.base
        first, end = byte_bounds(owner)
        if end - first == owner.nbytes:  # without gaps, as memory is that NumPy made
            value, node = trace.constant(owner)
            memory = wrap(TracedTensor, value, trace.level, node)
            offset = x.__array_interface__["data"][0] - first
            found[key] = memory_view(memory, x.dtype, x.shape, x.strides, offset)
    return found


def _check_shared(results: list[Any], trace: Trace) -> None:
    """Raise if an array shares memory with one of which a call gave another result: the graph has the two apart."""
    arrays = [x for x in results if type(x) is np.ndarray]
    if not arrays:
        return
    owners = {id(owner_of(x)) for x in results if isinstance(x, Tensor)}
    for found in trace.captured():
        if type(found.array) is np.ndarray and id(owner_of(found.value)) in owners:
            for x in arrays:
                if x is not found.array and np.may_share_memory(x, found.array):
                    raise TracingError(
                        f"the function returns {kind_of(x)} that it made of no input, beside a view of the same memory, and a "
                        "graph would return two arrays that share none. Return one of the two, or .copy() of one."
                    )


def _left(result: Any, trace: Trace) -> Any:
    """Return a result as the graph has it."""
    flat = flattened(result)
    several = list(map(type, flat)).count(np.ndarray) > 1
    seen = _views_of_constants(flat, trace) if several else {}
    _check_shared(flat, trace)
    for i, leaf in enumerate(flat):
        leaf = seen.get(id(leaf), leaf)
        x = leaf
        while isinstance(x, Tensor) and x.level is trace.level and type(x) is not TracedTensor:
            x = x.value  # of a tape inside the trace
        if isinstance(x, Tensor):
            check_open(x)
        elif isinstance(x, RUN_ONCE):
            raise TracingError(
                f"the function returns {kind_of(x)}, which runs once, and each call of the graph would return the same one. "
                "Return arrays."
            )
        elif isinstance(x, str) and (f"{TracedTensor.__name__}(" in x or all(isinstance(other, str) for other in flat)):
            path = [*paths(result)][i] if len(flat) == len([*paths(result)]) else ""
            raise TracingError(
                f"the function returns text{path and ' as its result' + path}, which a graph does not compute: each call of it "
                "would return the same one, whatever the arrays are. Return arrays, and make the text of what the graph gives."
            )
        elif isinstance(x, (set, frozenset)) and any(isinstance(item, Tensor) for item in x):
            raise TracingError(
                f"the function returns {kind_of(x)} of traced values, whose items have no order, and no place in a graph. "
                "Return a list."
            )
        node: Any = trace.taken(x)[1]
        flat[i] = node if type(node) is Node else x
    return unflatten(result, flat)
