"""Engine: the rows that another library computes as NumPy does, and a graph as a function of its arrays.

A table says for each row the dtypes for which the library gives what NumPy gives, with the function that does it. A row or
a dtype that is not in the table runs here, on NumPy: integers divided by zero, complex numbers in an order, float16. The
arguments of a ufunc are cast to the dtypes in which NumPy computes it, so that no promotion of the library's own counts.
tests/compiler/backends/test_engine_rows.py runs every row for every dtype of the tables over corner cases.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np

from ...core import DispatchKey
from ...core.pytree import mapped
from ...graph import Graph, Metadata, Node

Row = Callable[..., Any]

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
        if node.op is None or node.op.schema.namespace != "np" or type(node.value) is not Metadata:
            return False
        if not _is_own(node.op.at(DispatchKey.CPU)) or self._call(node) is None:
            return False
        planned: list[Metadata] = []

        def known(x: Any) -> Any:
            if type(x) is Node:
                planned.append(x.value)
            return x

        mapped(known, node.args)
        try:
            found = self.layout(lambda *values: self.call(node, _filled(node.args, values)), *planned)
        except Exception:  # whatever the library refuses runs here
            return False
        return found == (node.value.shape, node.value.dtype)

    def call(self, node: Node, args: tuple[Any, ...]) -> Any:
        """Return the result of a call that the engine claims."""
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
                elif node.kind == "call":
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


def word(dtype: np.dtype[Any]) -> str:
    """Return a dtype as the tables name it."""
    return dtype.str[1:]


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


def _arrays(node: Node) -> list[Node]:
    found: list[Node] = []
    mapped(lambda x: found.append(x) if type(x) is Node else None, node.args)
    return found


def _filled(args: Any, values: Any) -> Any:
    queue = iter(values)
    return mapped(lambda x: next(queue) if type(x) is Node else x, args)


def basic_index(index: Any, arrays: Any) -> Any:
    """Return an index of integers, slices, None and `...`; raise where it has arrays: each library has its own bounds."""
    items = index if isinstance(index, tuple) else (index,)
    if arrays or not all(x is None or x is Ellipsis or type(x) in (int, slice) for x in items):
        raise NotImplementedError("an index of arrays")
    return index
