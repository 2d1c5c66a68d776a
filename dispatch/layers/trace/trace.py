"""Trace: builds a graph while a function runs."""

from collections.abc import Callable
from threading import get_ident
from typing import Any
from weakref import ref

import numpy as np

from ...core import (
    DispatchKey,
    Level,
    ModeGuard,
    OpOverload,
    Tensor,
    Without,
    check_data,
    device_of,
    is_array,
    note_request,
    wrap,
)
from ...core.pytree import items_of, leaves, rebuilt
from ...core.source import line
from ...errors import DataDependentError, DispatchError, TracingError, heard
from ...graph import Graph, Node
from ...operators.functional_variant import Form
from ...operators.prims import clone
from ...schema.tags import Tag
from ...symbolic import SymInt
from .kernel import STATIC, metadata, taken
from .tensor import TracedTensor
from .variable_names import name_of

TRACE = int(DispatchKey.TRACE)
NUMBERS = (int, float, complex)


def owner_of(node: Node) -> Node:
    """Return the node that made the memory of a value, of which those between may be views."""
    while node.op is not None:
        schema = node.op.schema
        pairs = zip(schema.arguments, node.args, strict=False)
        shown = next((x for a, x in pairs if a.alias is not None and not a.is_write and type(x) is Node), None)
        if shown is None or not any(returned.alias is not None for returned in schema.returns):
            break
        node = shown
    return node


class Constant:
    """An array that a function captured: its content at its last use, the value that stands for it, and its node."""

    __slots__ = ("array", "node", "seen", "value")

    def __init__(self, array: Any, seen: Any, value: Any, node: Node) -> None:
        self.array, self.seen, self.value, self.node = array, seen, value, node


class Trace:
    """Builds a graph while a function runs: the payload of the level, and the mode, of one `make_fx`.

    `lift` makes the value that stands for a constant array during the trace, a fake say. By default that is a copy, because an
    operator may write to it. `env` is the ShapeEnv, if sizes are symbols. `python_bool` makes the value that stands for
    a bool of Python's, if whoever traces answers `isinstance` and looks at what is computed with it.
    """

    __slots__ = (
        "_constants", "_hidden", "_saved", "env", "graph", "guard", "level", "lift", "lines", "objects", "off", "python_bool",
        "thread",
    )  # fmt: skip

    def __init__(self, graph: Graph, lift: Callable[[Any], Any] | None = None, env: Any = None) -> None:
        self.graph, self.lift, self.env = graph, lift or copied, env
        self.level: Level = Level("make_fx", self)
        self.guard: Any = None  # the mode, and what takes it off in its own thread
        self.off: Any = None
        self.thread = 0
        self.python_bool: Callable[[Any], Any] | None = None
        self._constants: dict[int, Constant] = {}  # by id of the array
        self.objects: dict[int, tuple[Any, Node]] = {}  # by id: what operators gave that is no array, a residual say
        self._hidden: dict[int, tuple[Any, str]] = {}  # by id: arrays inside such objects, and the operator that gave them
        self._saved: list[ref[TracedTensor]] = []  # what tapes have saved, for a write that may come
        self.lines: dict[Any, Any] = {}  # of the code that runs, as `here` keeps them

    def begin(self) -> ModeGuard:
        """Return the guard of the mode. Its level is open by then."""
        self.guard = ModeGuard(TRACE, self, self.level)
        self.off, self.thread = Without(self.guard), get_ident()
        found: ModeGuard = self.guard
        return found

    def mark(self) -> Callable[[], None]:
        """What takes back every node from here on; the guards of sizes stay, as facts of the trace."""
        count, said = len(self.graph.nodes), len(heard())

        def undo() -> None:
            del heard()[said:]  # and what was refused since, which is tried in another way
            if len(self.graph.nodes) == count:
                return
            left = self.graph.cut(count)
            self._constants = {key: found for key, found in self._constants.items() if found.node in left}
            self.objects = {key: found for key, found in self.objects.items() if found[1] in left}

        return undo

    # -- what goes into a call -------------------------------------------------------------------------------------------

    def constant(self, x: Any) -> tuple[Any, Node]:
        """What stands for an array that is no traced value, and its node."""
        if isinstance(x, Tensor):
            raise TracingError(
                f"a {type(x).__name__} of {x.level!r} is used in a function that is traced, and is none of its arguments. A "
                "graph of its own holds arrays: give it to the function as an argument, or pass dispatch.detach(...) of it."
            )
        check_data(x)
        found = self._constants.get(id(x))
        if found is None or not same_bytes(found.seen, x):
            self.check_shown(x)
            seen = copied(x)
            node = self.graph.constant(seen, metadata(x), name_of(x) or "constant")
            found = self._constants[id(x)] = Constant(x, seen, self.lift(x), node)
        return found.value, found.node

    def captured(self) -> list[Constant]:
        """Return the arrays that became constants, each with its value and node."""
        return list(self._constants.values())

    taken = taken

    def check_written(self, op: OpOverload, form: Form, args: tuple[Any, ...]) -> None:
        """Raise if traced values are written to an array that is not traced: the graph's copy would get them, not the array."""
        for i in form.written:
            for x in leaves(args[i]):
                if not isinstance(x, Tensor) and device_of(x) is not None:
                    raise TracingError(
                        f"{op.name}: argument {op.arguments.names[i]!r} is written, and is a plain array in a function that is "
                        f"traced, in {line()}: the graph would write to a copy of its own. Make it of a traced "
                        "value, np.zeros_like(x, shape=...), or give it to the function as an argument.",
                        operator=op.name,
                        argument=op.arguments.names[i],
                    )
                if type(x) is TracedTensor and self._saved:
                    self._copy_saved(x)

    def save(self, x: TracedTensor) -> None:
        """Note a value that has to stay as it is."""
        self._saved.append(ref(x))

    def _copy_saved(self, written: TracedTensor) -> None:
        """Copy in the graph what a tape has saved of a value, or of one that it shares memory with, before it is written."""
        owner, left = owner_of(written.node), []
        for each in self._saved:
            if (saved := each()) is None:
                continue
            if owner_of(saved.node) is owner:
                saved.kept = clone(saved).node
            else:
                left.append(each)
        self._saved = left

    def check_shown(self, x: Any) -> None:
        for array in (x, getattr(x, "base", None)):
            if (found := self._hidden.get(id(array))) is not None and found[0] is array:
                raise TracingError(
                    f"an array inside what {found[1]} keeps for its backward was used by itself, in {line()}: the "
                    "graph would hold what it is this time. Hand the whole on to an operator that takes it, or keep arrays in "
                    "a tuple.",
                    operator=found[1],
                )

    # -- what comes out --------------------------------------------------------------------------------------------------

    def given(self, op: OpOverload, x: Any, node: Node) -> Any:
        """Return the results of a call as traced values. `node` is the node of `x`, which is one output or all of them."""
        if (items := items_of(x)) is not None:
            return rebuilt(x, [self._item(op, part, node, i) for i, part in enumerate(items)])
        if is_array(x):
            self.read_sizes(node, x)
            return wrap(TracedTensor, x, self.level, node)
        if type(x) is SymInt:
            self._read(node, None, x)
        elif type(x) not in STATIC:
            self.objects[id(x)] = x, node
            inside = () if type(x) is Withheld else leaves(list(getattr(x, "__dict__", {}).values()))
            self._hidden.update({id(part): (part, op.name) for part in inside if device_of(part) is not None})
        return x

    def read_sizes(self, node: Node, x: Any) -> None:
        """Note where each symbol occurs first: in an input, or in the result of a call."""
        for axis, n in enumerate(x.shape):
            if type(n) is SymInt:
                self._read(node, axis, n)

    def _read(self, node: Node, axis: int | None, n: SymInt) -> None:
        if (name := n.text) in n.names:
            self.graph.symbols.setdefault(name, (node, axis))

    def _item(self, op: OpOverload, x: Any, node: Node, number: int) -> Any:
        return x if type(x) in STATIC else self.given(op, x, self.graph.item(node, number, metadata(x)))

    @staticmethod
    def with_residual(op: OpOverload, out: Any) -> Any:
        """Return the outputs with an object in place of a residual that is None, by which the graph recognises it."""
        if len(op.schema.returns) == 1:
            return Withheld(op) if out is None else out
        return (*out[:-1], Withheld(op)) if out[-1] is None else out

    @staticmethod
    def check_numbers(op: OpOverload, out: Any, values: tuple[Any, ...]) -> None:
        """Raise if an operator returned a number that it read from data: its tag or its shape rule says so.

        The number of an operator without a shape rule may come from shapes. The graph lists such calls: `graph.held`.
        """
        found = [x for x in leaves(out) if isinstance(x, NUMBERS) and not isinstance(x, np.generic)]
        if found and not _is_of_layouts(op, found, values):
            raise TracingError(
                f"{op.name} gave a number that depends on data, in {line()}, and the graph would hold what it is this "
                "time. Let the operator return a 0-d array: np.asarray(n).",
                operator=op.name,
            )


class Withheld:
    """Stands for a residual while fakes are traced: no kernel has run that could have made one."""

    __slots__ = ("_op",)

    def __init__(self, op: OpOverload) -> None:
        self._op = op

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_"):
            note_request()
        raise AttributeError(  # and no other class, for hasattr() asks too
            f"{self._op.name}: what it keeps for its backward was asked for {name!r} while shapes alone are traced, "
            "and there is none. Hand it on to an operator that takes it, which is then traced; or trace real arrays, with "
            "tracing_mode='real'."
        )


def _is_of_layouts(op: OpOverload, found: list[Any], values: tuple[Any, ...]) -> bool:
    """Return whether the numbers that an operator returned may depend only on shapes, dtypes and plain arguments."""
    if Tag.data_dependent_output in op.tags:
        return False
    if op.table.source(DispatchKey.FAKE) is None:
        return True
    try:
        made = op.at(DispatchKey.FAKE)(*values)
    except DataDependentError:
        return False
    except DispatchError:
        return True
    expected = [x for x in leaves(made) if isinstance(x, NUMBERS) and not isinstance(x, np.generic)]
    return expected == found


def copied(x: Any) -> Any:
    """Return a copy of an array, in the same memory order."""
    return x.copy(order="K") if isinstance(x, np.ndarray) else x if isinstance(x, np.generic) else x.copy()


def same_bytes(x: Any, y: Any) -> bool:
    """Return whether an array still has the bytes of its copy. An array of another library is taken to have them."""
    if not isinstance(x, np.ndarray):
        return True
    if x.shape != y.shape or x.dtype != y.dtype:
        return False
    if x.nbytes <= 4096 or x.dtype.hasobject:
        return bool(x.tobytes() == y.tobytes())
    return bool(np.array_equal(_bytes_of(x), _bytes_of(y)))


def _bytes_of(x: Any) -> Any:
    return np.ascontiguousarray(x).reshape(-1).view(np.uint8)
