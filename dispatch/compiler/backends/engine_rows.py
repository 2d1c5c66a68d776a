"""Engine: a table of the rows that another library computes as NumPy does, and a graph as a function in that library.

A table says for each row the dtypes for which the library gives what NumPy gives, with the function that does it. A row or
a dtype that is not in the table runs here, on NumPy: integers divided by zero, complex numbers in an order, float16. The
arguments of a ufunc are cast to the dtypes in which NumPy computes it, so that no promotion of the library's own counts.
tests/compiler/backends/test_engine_rows.py runs every row for every dtype of the tables over corner cases.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from math import prod
from typing import Any, Generic, TypeVar

import numpy as np

from ...core import DispatchKey
from ...core.optional import require
from ...core.pytree import mapped
from ...graph import Graph, Metadata, Node
from ...graph.subgraph import Subgraph

Row = Callable[..., Any]
E = TypeVar("E", bound="Engine")
MOST_KNOWN = 10_000

# Sets of dtypes, as `dtype.str` has them without the order of bytes.
FLOATS = frozenset({"f8", "f4"})
SIGNED = frozenset({"i1", "i2", "i4", "i8"})
UNSIGNED = frozenset({"u1", "u2", "u4", "u8"})
BOOLS = frozenset({"b1"})
INTEGERS = SIGNED | UNSIGNED
REAL = FLOATS | INTEGERS | BOOLS

# Rows of another name that are a ufunc of NumPy's for arrays.
UFUNCS = {
    "scalar_multiply": np.multiply, "scalar_divide": np.divide, "scalar_power": np.power, "scalar_absolute": np.absolute,
}  # fmt: skip


class Engine(ABC):
    """A library that runs graphs. It has the arrays of `dtypes`; `ufuncs` and `rows` map a row to its dtypes and its function.

    The function of a ufunc gets arrays of the dtypes in which NumPy computes. That of another row gets the metadata of the
    result, then the arguments in the order of the schema; it raises where it has no equivalent.
    """

    name: str
    dtypes: Collection[str]
    ufuncs: Mapping[str, tuple[frozenset[str], Row]]
    rows: Mapping[str, tuple[frozenset[str], Row]]
    loops: Mapping[str, Row] = {}  # of operators whose arguments are graphs; their functions get the arguments alone

    def __init__(self) -> None:
        self._known: dict[str, bool] = {}  # for which rows and layouts the library's function fits

    @abstractmethod
    def array(self, x: Any, dtype: np.dtype[Any]) -> Any:
        """Return an array of the library, or a number, as an array of a dtype."""

    @abstractmethod
    def constant(self, x: np.ndarray) -> Any:
        """Return a constant of a graph."""

    @abstractmethod
    def layout(self, f: Callable[..., Any], *planned: Metadata) -> tuple[tuple[int, ...], np.dtype[Any]]:
        """Return the shape and dtype of what a function of the library gives; nothing is computed."""

    def claims(self, node: Node) -> bool:
        """Return whether the engine computes a call as NumPy does: its row is in the tables for its dtypes."""
        if node.op is None:
            return False
        if any(type(x) is Subgraph for x in node.args):
            return self._claims_loop(node)
        if node.op.schema.namespace != "np" or type(node.value) is not Metadata:
            return False
        if not _is_own(node.op.at(DispatchKey.CPU)) or self._call(node) is None:
            return False
        key = f"{node.op.name}{mapped(_described, node.args)}{node.value}"
        if key not in self._known:
            if len(self._known) >= MOST_KNOWN:
                self._known.clear()
            self._known[key] = self._fits(node)
        return self._known[key]

    def _claims_loop(self, node: Node) -> bool:
        assert node.op is not None
        graphs = [x.graph for x in node.args if type(x) is Subgraph]
        if node.op.schema.name not in self.loops or not _is_own(node.op.at(DispatchKey.CPU)):
            return False
        if not all(word(x.value.dtype) in self.dtypes for x in _arrays(node)):
            return False
        calls = [x for graph in graphs for x in graph.nodes if x.kind == "call"]
        fits = not any(graph.symbols for graph in graphs) and all(map(self.claims, calls))
        return fits and self.takes_loop(node.op.schema.name, node.args)

    def takes_loop(self, name: str, args: tuple[Any, ...]) -> bool:
        """Return whether the library has a loop with these arguments."""
        return True

    def _fits(self, node: Node) -> bool:
        """Whether the function of a row gives the shape and dtype of the result."""
        planned = [x.value for x in _arrays(node)]
        try:
            found = self.layout(lambda *values: self.call(node, _filled(node.args, values)), *planned)
        except Exception:  # whatever the library refuses runs here
            return False
        return found == (node.value.shape, node.value.dtype)

    def call(self, node: Node, args: tuple[Any, ...]) -> Any:
        """Return the result of a call that the engine claims."""
        assert node.op is not None
        if any(type(x) is Subgraph for x in args):
            return self.loops[node.op.schema.name](*args)
        run = self._call(node)
        assert run is not None
        return run(*args)

    def function(self, graph: Graph, lifted: Sequence[Node] = ()) -> Callable[..., list[Any]]:
        """Return a graph as a function of arrays of the library: of its inputs, then of the constants `lifted`."""

        def traced(*values: Any) -> list[Any]:
            known: dict[Node, Any] = dict(zip((*graph.inputs, *lifted), values, strict=True))
            for node in graph.nodes:
                if node in known:
                    continue
                if node.kind == "constant":
                    known[node] = self.constant(graph.constants[node.name])
                elif node.kind == "item":
                    known[node] = known[node.args[0]][node.args[1]]
                else:
                    known[node] = self.call(node, mapped(lambda x: known[x] if type(x) is Node else x, node.args))
            return [known[node] for node in graph.outputs]

        return traced

    def _call(self, node: Node) -> Row | None:
        """Return the function of the arguments of a call; None if its row, for its dtypes, is not in the tables."""
        assert node.op is not None
        name = node.op.schema.name
        dtypes = [x.value.dtype for x in _arrays(node)]
        if not all(x.isnative and word(x) in self.dtypes for x in dtypes):
            return None
        if name in self.rows:
            allowed, row = self.rows[name]
            if not all(word(x) in allowed for x in (*dtypes, node.value.dtype)):
                return None
            return lambda *args: row(node.value, *args)
        ufunc = UFUNCS.get(name) or node.op.at(DispatchKey.CPU)
        if name not in self.ufuncs or not isinstance(ufunc, np.ufunc):
            return None
        allowed, row = self.ufuncs[name]
        try:
            *loop, out = ufunc.resolve_dtypes((*[_kind(x) for x in node.args], None))
        except TypeError:
            return None
        if out != node.value.dtype or not all(word(x) in allowed for x in loop):
            return None
        return lambda *args: row(*[self.array(x, dtype) for x, dtype in zip(args, loop, strict=True)])


class Once(Generic[E]):
    """The engine of a library, which a call gives; it is made when first asked for, and says how to install the library."""

    def __init__(self, cls: type[E]) -> None:
        self.cls = cls
        self.made: E | None = None

    def __call__(self) -> E:
        require(self.cls.name, self.cls.name, needed_by=f"compile(backend={self.cls.name!r})")
        if self.made is None:
            self.made = self.cls()
        return self.made

    def claims(self, node: Node) -> bool:
        """Return whether the library computes a call as NumPy does."""
        return self().claims(node)


def word(dtype: np.dtype[Any]) -> str:
    """Return a dtype as the tables name it."""
    return dtype.str[1:]


def check_cast(x: Any, dtype: np.dtype[Any]) -> None:
    """Raise for a float as an integer: each library has its own answer for what does not fit, nan, inf and -1.0 in uint8."""
    if dtype.kind in "iu" and "float" in str(getattr(x, "dtype", type(x))):
        raise NotImplementedError("a float as an integer")


def _kind(x: Any) -> Any:
    """Return what NumPy decides by for one argument of a ufunc: a dtype, or the class of a Python number."""
    if type(x) is Node:
        return x.value.dtype
    return x.dtype if isinstance(x, np.generic) else np.dtype(bool) if type(x) is bool else type(x)


def _is_own(kernel: Any) -> bool:
    """Whether a kernel is NumPy's or of this package: a user's may compute anything."""
    if isinstance(getattr(kernel, "__self__", kernel), np.ufunc):  # or a method of one: np.add.reduce
        return True
    module = str(getattr(kernel, "__module__", None))
    return module.partition(".")[0] in ("numpy", __name__.partition(".")[0])


def _described(x: Any) -> Any:
    return (x.value.shape, x.value.dtype.str) if type(x) is Node else x


def _arrays(node: Node) -> list[Node]:
    found: list[Node] = []
    mapped(lambda x: found.append(x) if type(x) is Node else None, node.args)
    return found


def _filled(args: Any, values: Any) -> Any:
    queue = iter(values)
    return mapped(lambda x: next(queue) if type(x) is Node else x, args)


with np.errstate(invalid="ignore"):
    TAKES_ROOTS = bool(np.isnan(np.power(np.array([-np.inf, 1.0]), 0.5)[0]))


def is_root(out: Metadata, exponent: Any) -> bool:
    """Return whether NumPy computes a power as a square root, which differs at -inf: some releases do for the number 0.5.

    They do it for an array of one number: an exponent is to be a Python number, or an array of the shape of the result.
    """
    if isinstance(exponent, (int, float)):
        return exponent == 0.5 and TAKES_ROOTS
    if tuple(exponent.shape) != out.shape or prod(out.shape) < 2:
        raise NotImplementedError("an exponent that is repeated")
    return False


def basic_index(index: Any, arrays: Any) -> Any:
    """Return an index of integers, slices, None and `...`; raise where it has arrays: each library has its own bounds."""
    items = index if isinstance(index, tuple) else (index,)
    if arrays or not all(x is None or x is Ellipsis or type(x) in (int, slice) for x in items):
        raise NotImplementedError("an index of arrays")
    return index
