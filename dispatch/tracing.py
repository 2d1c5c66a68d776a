"""Tracing as a layer: every operator call on a traced value is recorded as a node of a graph, and runs one floor down.

A traced value holds the value below, a real array or a fake one, and its node. The trace is also a mode, so that operators
which get no traced value are recorded too; what they are given are constants of the graph.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from .containers import items_of, rebuilt
from .core import DispatchKey, Level, OpOverload, Tensor, Without, active_mode, device_of, split, wrap
from .errors import DefinitionError, TracingError
from .functional import form_of
from .graph import Graph, Metadata, Node
from .layer import Kernel, Layer
from .where import calling_line, line

TRACE = int(DispatchKey.TRACE)
_STATIC = frozenset({int, float, bool, str, type(None), complex, slice, type(Ellipsis)})


class Trace:
    """A graph that is being made: the payload of its level, and its mode.

    Attributes
    ----------
    graph : Graph
    level : Level
    lift : callable
        Gives what stands for an array of the graph's own while it is traced: a fake of it, or itself.
    """

    __slots__ = ("_constants", "_objects", "graph", "level", "lift")

    def __init__(self, graph: Graph, lift: Callable[[Any], Any] = lambda x: x) -> None:
        self.graph, self.lift = graph, lift
        self.level: Any = None
        self._constants: dict[int, tuple[Any, Any, Node]] = {}  # by id: the array, what stands for it, its node
        self._objects: dict[int, tuple[Any, Node]] = {}  # by id: what operators gave that is no array, a residual say

    def constant(self, x: Any) -> tuple[Any, Node]:
        """What stands for an array that is no traced value, and its node."""
        if isinstance(x, Tensor):
            raise TracingError(
                f"a {type(x).__name__} of {x.level!r} is used in a function that is traced, and is none of its arguments. A "
                "graph of its own holds arrays: give it to the function as an argument, or pass dispatch.detach(...) of it."
            )
        found = self._constants.get(id(x))
        if found is None or not np.array_equal(self.graph.constants[found[2].name], x, equal_nan=x.dtype.kind in "fc"):
            lifted = self.lift(x)
            found = self._constants[id(x)] = x, lifted, self.graph.constant(x.copy(), metadata(x))
        return found[1], found[2]

    def captured(self) -> list[tuple[Any, Node]]:
        """The arrays that became constants, each with its node."""
        return [(x, node) for x, _, node in self._constants.values()]

    def taken(self, x: Any) -> tuple[Any, Any]:
        """An argument one floor down, and as the graph has it."""
        if type(x) in _STATIC:
            return x, x
        if type(x) is TracedTensor and x.level is self.level:
            return x.value, x.data
        if isinstance(x, (np.ndarray, Tensor)) or device_of(x) is not None:
            return self.constant(x)
        if (items := items_of(x)) is not None:
            pairs = [self.taken(item) for item in items]
            return rebuilt(x, [value for value, _ in pairs]), rebuilt(x, [node for _, node in pairs])
        known = self._objects.get(id(x))
        return x, x if known is None else known[1]

    def given(self, x: Any, node: Node) -> Any:
        """What a node gave, as traced values."""
        if (items := items_of(x)) is not None:
            item = self.graph.item
            made = [self.given(part, item(node, i, metadata(part))) for i, part in enumerate(items)]
            return rebuilt(x, made)
        if isinstance(x, (Tensor, np.ndarray)) or device_of(x) is not None:
            return wrap(TracedTensor, x, self.level, node)
        self._objects[id(x)] = x, node
        return x


class Withheld:
    """Stands for a residual while fakes are traced: no kernel has run that would have made one."""

    __slots__ = ("_op",)

    def __init__(self, op: OpOverload) -> None:
        self._op = op

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(  # and no other class, for hasattr() asks too
            f"{self._op.name}: what it keeps for its backward was asked for {name!r} while shapes alone are traced, "
            "and there is none. Hand it on to an operator that takes it, which is then traced; or trace real arrays, with "
            "tracing_mode='real'."
        )


class TracedTensor(Tensor):
    """A value whose history is a graph."""

    __slots__ = ()
    key = DispatchKey.TRACE

    @property
    def node(self) -> Node:
        """Its node in the graph."""
        found: Node = self.data
        return found

    @property
    def strides(self) -> tuple[int, ...]:
        found: tuple[int, ...] = self.value.strides
        return found

    def _read(self, what: str, instead: str) -> TracingError:
        return TracingError(
            f"{what} was asked of a traced value of shape {self.shape} and dtype {self.dtype}, in {calling_line()}: a graph "
            f"holds for every input, and would keep what this is for one. {instead}"
        )

    def item(self) -> Any:
        raise self._read("a number", "Compute with arrays; or leave this function out of the trace.")

    def tolist(self) -> Any:
        raise self._read("a list", "Compute with arrays; or leave this function out of the trace.")

    def __bool__(self) -> bool:
        raise self._read("the truth", "Write np.where(condition, a, b) for a choice; or leave this function out of the trace.")

    def _number(self) -> Any:
        raise self._read(
            "a number, by float() or by writing it into a plain array,",
            "To write it into an array, make that of a traced one: np.zeros_like(x, shape=...), or np.stack the pieces.",
        )

    __float__ = __int__ = __index__ = __complex__ = _number

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise self._read(
            "a NumPy array",
            "Call an operator on it, or a NumPy function that has a row in dispatch.ops.np; make an operator of other code by "
            "dispatch.custom_op.",
        )

    def __repr__(self) -> str:
        return f"TracedTensor({self.data}, shape={self.shape}, dtype={self.dtype})"


def metadata(x: Any) -> Any:
    """What is known of a value without its data: of arrays, in containers too."""
    if (items := items_of(x)) is not None:
        return rebuilt(x, [metadata(item) for item in items])
    if isinstance(x, Tensor) or device_of(x) is not None:
        return Metadata(x.shape, x.dtype, getattr(x, "strides", ()), getattr(x, "device", None) or device_of(x) or "cpu")
    return x


class Tracing(Layer):
    """Records calls."""

    takes_rules = False

    def check(self, op: OpOverload, rule: Any) -> None:
        raise DefinitionError(
            f"{op.name}: a call is traced as what it is, and no rule says how. Leave the rule out; a function of other "
            "operators that is to be looked into is no operator."
        )

    def default(self, op: OpOverload) -> Kernel:
        whole, form = op.whole, form_of(op.schema)
        residual = op.outputs.residual
        single = [str(r.type) for r in op.schema.returns] == ["Tensor"] and not residual and not op.schema.is_mutable

        def kernel(*args: Any) -> Any:
            guard = active_mode(TRACE)
            trace: Any = None if guard is None else guard.mode
            rank = 0 if guard is None else guard.rank
            for x in args:
                cls = type(x)
                if cls is TracedTensor:
                    if x.rank >= rank:
                        rank, trace = x.rank, x.level.payload
                elif cls not in _STATIC and cls is not np.ndarray:
                    like = split(args)[0]  # in a container there may be one too
                    if like is not None and like.rank >= rank:
                        rank, trace = like.rank, like.level.payload
                    break
            values, nodes = [], []
            for x in args:
                cls = type(x)
                if cls is TracedTensor and x.rank == rank:
                    values.append(x.value)
                    nodes.append(x.data)
                elif cls in _STATIC:
                    values.append(x)
                    nodes.append(x)
                else:
                    value, node = trace.taken(x)
                    values.append(value)
                    nodes.append(node)
            if guard is None:
                out = whole(*values)
            else:
                with Without(guard):
                    out = whole(*values)
            if residual:
                out = _withheld(op, out)
            node = trace.graph.call(op, tuple(nodes), metadata(out), line())
            if single:
                return wrap(TracedTensor, out, trace.level, node)
            return form.returning(trace.given(out, node), args)

        return kernel


layer = Tracing("trace", DispatchKey.TRACE)


def _withheld(op: OpOverload, out: Any) -> Any:
    """The outputs with something that can be recognised in place of a residual that is None."""
    if len(op.schema.returns) == 1:
        return Withheld(op) if out is None else out
    return (*out[:-1], Withheld(op)) if out[-1] is None else out


def opened(trace: Trace) -> Level:
    """The level of a trace."""
    level = trace.level = Level("make_fx", trace)
    return level
