"""Backend `torch`: runs a graph as a `torch.fx.GraphModule`.

An elementwise NumPy operator becomes the torch function of the same name, and so do a few others that are listed here, if that
returns the same shape and dtype. Every other operator is called on NumPy arrays. Results that are views of arguments become
copies.
"""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ...core import DispatchKey
from ...core.optional import require
from ...core.pytree import leaves, mapped
from ...graph import Graph, Metadata, Node, is_pinned
from .lookup import register_backend
from .partition import is_as_planned, parts, placed, scalar

# Row and function. Only what means the same: np.var and torch.var, for one, divide by different numbers.
RENAMED = {"power": "pow", "equal": "eq", "conjugate": "conj", "invert": "bitwise_not", "rint": "round"}
SAME = {
    "sum": "sum", "prod": "prod", "mean": "mean", "max": "amax", "min": "amin", "where": "where", "reshape": "reshape",
    "swapaxes": "swapaxes", "moveaxis": "movedim", "broadcast_to": "broadcast_to", "stack": "stack",
    "concatenate": "concatenate", "cumsum": "cumsum", "einsum": "einsum", "sinc": "sinc",
}  # fmt: skip


def with_torch(graph: Graph, metadata: list[Metadata]) -> Callable[..., Any]:
    """Return a function `run` that runs the graph; `run.module` is the `torch.fx.GraphModule`."""
    torch = require("torch", "torch", needed_by="compile(backend='torch')")
    fx = require("torch.fx", "torch", needed_by="compile(backend='torch')")
    split = parts(graph, "torch")
    engine = _Engine(torch, fx.Node)
    root, made = torch.nn.Module(), fx.Graph()
    known: dict[Node, Any] = {node: made.placeholder(node.name) for node in split.inputs}
    for node in split.computed:
        args = mapped(lambda x: known[x] if type(x) is Node else x, node.args)
        if node.kind == "constant":
            root.register_buffer(node.name, torch.from_numpy(np.array(graph.constants[node.name])))
            known[node] = made.get_attr(node.name)
        elif node.kind == "item":
            known[node] = made.call_function(engine.item, args)
        else:
            function, args, keywords = engine.function(node, args)
            known[node] = made.call_function(function, args, keywords)
    made.output([known[node] for node in split.wanted])
    module = fx.GraphModule(root, made)

    def run(*values: Any) -> Any:
        with torch.no_grad():
            outputs = module(*map(engine.tensor, values))
        return split.finish(*values, *[scalar(x.numpy()) for x in outputs])

    run.module = module  # type: ignore[attr-defined]
    return run


register_backend("torch", with_torch)


class _Engine:
    """The functions of torch that replace operators."""

    def __init__(self, torch: Any, node: Any) -> None:
        self.torch, self.node = torch, node

    @staticmethod
    def item(x: Any, number: int) -> Any:
        return x[number]

    def tensor(self, x: Any) -> Any:
        """Return an array as a torch tensor, without a copy if torch can share its memory."""
        x = np.asarray(x)
        return self.torch.from_numpy(x if x.flags.writeable and min(x.strides, default=0) >= 0 else x.copy())

    def dtype(self, dtype: Any) -> Any:
        return self.torch.from_numpy(np.empty(0, dtype)).dtype

    def function(self, node: Node, args: tuple[Any, ...]) -> tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]:
        """Return the function that computes a node, and its arguments; torch prints them, and so they must be plain."""
        assert node.op is not None
        if node.op.schema.name == "getitem" and node.op.schema.namespace == "np":
            args = args[0], placed(*args[1:], self.node)
        found = None if is_pinned(node) else self._equivalent(node)
        if found is not None:
            names, count = node.op.arguments.keyword_names, len(args)
            positional = args[: count - len(names)]
            defaults = [a.default if a.has_default else self for a in node.op.schema.arguments][:count]
            while positional and _is_default(positional[-1], defaults[len(positional) - 1]):
                positional = positional[:-1]
            pairs = zip(names, args[count - len(names) :], defaults[count - len(names) :], strict=True)
            keywords = {name: self._plain(x) for name, x, default in pairs if not _is_default(x, default)}
            positional = tuple(map(self._plain, positional))
            if self._may_be_printed((positional, keywords)) and self._fits(node, found, positional, keywords):
                return found, positional, keywords
        return self._callback(node), tuple([x for x in leaves(args) if isinstance(x, self.node)]), {}

    def _may_be_printed(self, x: Any) -> bool:
        plain = (int, float, complex, bool, str, slice, type(None), type(Ellipsis), self.torch.dtype, self.node)
        return all(isinstance(leaf, plain) for leaf in leaves(x))

    def _plain(self, x: Any) -> Any:
        return self.dtype(x) if isinstance(x, np.dtype) or (isinstance(x, type) and issubclass(x, np.generic)) else x

    def _equivalent(self, node: Node) -> Callable[..., Any] | None:
        assert node.op is not None
        name = node.op.schema.name
        if node.op.schema.namespace != "np":
            return None
        own: dict[str, Callable[..., Any]] = {
            "getitem": operator.getitem,
            "astype": self.torch.Tensor.to,
            "sum_to": self.torch.Tensor.sum_to_size,
            "divide_no_nan": self._divide_no_nan,
            "root": self._root,
        }
        if name in own:
            return own[name]
        if isinstance(node.op.at(DispatchKey.CPU), np.ufunc):
            return getattr(self.torch, RENAMED.get(name, name), None)
        return getattr(self.torch, SAME[name], None) if name in SAME else None

    def _divide_no_nan(self, x: Any, y: Any) -> Any:
        return self.torch.where(y == 0, 0.0, x / y)

    def _root(self, x: Any, n: float = 2.0) -> Any:
        return self.torch.sqrt(x) if n == 2 else self.torch.pow(x, 1 / n)

    def _fits(self, node: Node, function: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any]) -> bool:
        """Whether a function returns the shape and dtype that the operator returns; tried on tensors without data."""
        planned: dict[Any, Any] = {}
        _pair(node.args, args, planned)

        def hollow(x: Any) -> Any:
            found = planned.get(id(x))
            if found is None:
                return x
            return self.torch.empty(found.shape, dtype=self.dtype(found.dtype), device="meta")

        try:
            out = function(*mapped(hollow, args), **keywords)
            return is_as_planned(out, node.value, lambda x: np.dtype(str(x.dtype).removeprefix("torch.")))
        except Exception:
            return False

    def _callback(self, node: Node) -> Callable[..., Any]:
        """Return a function that calls the operator on NumPy arrays."""
        assert node.op is not None
        whole = node.op.whole

        def call(*arrays: Any) -> Any:
            queue = iter(arrays)
            out = whole(*mapped(lambda x: next(queue).numpy() if type(x) is Node else x, node.args))
            return mapped(lambda x: x if x is None else self.tensor(x), out)

        call.__name__ = call.__qualname__ = node.op.schema.name
        return call


def _pair(nodes: Any, values: Any, found: dict[Any, Any]) -> None:
    """Collect the metadata of the values in some arguments, by the identity of the torch values that replace them."""
    for x, y in zip(nodes, values, strict=False):
        if type(x) is Node:
            found[id(y)] = x.value
        elif isinstance(x, (list, tuple)):
            _pair(x, y, found)


def _is_default(x: Any, default: Any) -> bool:
    return x is default or (type(x) is type(default) and bool(x == default))
