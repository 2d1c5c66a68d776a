"""Backend `jax`: runs a graph as a jitted JAX function.

A NumPy operator becomes the function of the same name in `jax.numpy`, if that returns the same shape and dtype. Every other
operator becomes a callback. Arrays keep their dtypes, float64 too. Results that are views of arguments become copies.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from ...core.optional import require
from ...core.pytree import leaves, mapped
from ...graph import Graph, Metadata, Node, is_pinned
from .lookup import register_backend
from .partition import indexed, is_as_planned, parts, placed, scalar


def with_jax(graph: Graph, metadata: list[Metadata]) -> Callable[..., Any]:
    """Return the graph as a function under `jax.jit`."""
    jax = require("jax", "jax", needed_by="compile(backend='jax')")
    split = parts(graph, "jax")
    engine = _Engine(jax)

    def traced(*values: Any) -> list[Any]:
        known: dict[Node, Any] = dict(zip(split.inputs, values, strict=True))
        for node in split.computed:
            if node.kind == "constant":
                known[node] = engine.jnp.asarray(graph.constants[node.name])
            elif node.kind == "item":
                known[node] = known[node.args[0]][node.args[1]]
            else:
                known[node] = engine.call(node, mapped(lambda x: known[x] if type(x) is Node else x, node.args))
        return [known[node] for node in split.wanted]

    jitted = jax.jit(traced)

    def run(*values: Any) -> Any:
        with engine.float64():
            outputs = jitted(*values)
        return split.finish(*values, *[scalar(np.array(x)) for x in outputs])

    run.jitted = jitted  # type: ignore[attr-defined]
    return run


register_backend("jax", with_jax)


class _Engine:
    """The functions of JAX that replace operators."""

    def __init__(self, jax: Any) -> None:
        self.jax, self.jnp = jax, jax.numpy
        self._own: dict[str, Callable[..., Any]] = {
            "getitem": indexed,
            "setitem": lambda x, index, value, arrays: x.at[placed(index, arrays)].set(value),
            "clone": lambda x: x,
            "astype": lambda x, dtype: x.astype(dtype),
            "select_index": lambda x, axis, index: self.jnp.take(x, index, axis),
            "sum_to": self._sum_to,
            "divide_no_nan": lambda x, y: self.jnp.where(y == 0, 0, x / y),
            "scalar_multiply": self.jnp.multiply,
            "scalar_power": self.jnp.power,
            "scalar_divide": self.jnp.divide,
            "scalar_absolute": self.jnp.absolute,
            "root": lambda x, n: self.jnp.sqrt(x) if n == 2 else self.jnp.power(x, 1 / n),
        }

    def float64(self) -> AbstractContextManager[Any]:
        """Return a `with` block in which float64 stays float64."""
        found: AbstractContextManager[Any]
        found = self.jax.enable_x64(True) if hasattr(self.jax, "enable_x64") else self.jax.experimental.enable_x64()
        return found

    def call(self, node: Node, args: tuple[Any, ...]) -> Any:
        assert node.op is not None
        function = None if is_pinned(node) else self._function(node)
        if function is not None:
            try:
                keywords = node.op.arguments.keyword_names
                count = len(args) - len(keywords)
                out = function(*args[:count], **dict(zip(keywords, args[count:], strict=True)))
                if is_as_planned(out, node.value, lambda x: getattr(x, "dtype", None)):
                    return out
            except Exception:
                pass
        return self._callback(node, args)

    def _function(self, node: Node) -> Callable[..., Any] | None:
        assert node.op is not None
        if node.op.schema.namespace != "np":
            return None
        name = node.op.schema.name
        if name in self._own:
            return self._own[name]
        module, _, rest = name.partition("_")
        if module == "linalg" and hasattr(np.linalg, rest):
            return getattr(self.jnp.linalg, rest, None)
        return getattr(self.jnp, name, None) if hasattr(np, name) else None

    def _callback(self, node: Node, args: tuple[Any, ...]) -> Any:
        """Return the result of the operator on NumPy arrays, called back by JAX."""
        assert node.op is not None
        whole, planned = node.op.whole, node.value
        arrays = [x for x, planned_by in zip(leaves(args), leaves(node.args), strict=True) if type(planned_by) is Node]

        def computed(*values: Any) -> Any:
            queue = iter(values)
            out = whole(*mapped(lambda x: np.asarray(next(queue)) if type(x) is Node else x, node.args))
            return () if out is None else list(map(np.asarray, out)) if isinstance(out, (list, tuple)) else np.asarray(out)

        shapes = self._shapes(planned)
        if is_pinned(node):
            return require("jax.experimental", "jax").io_callback(computed, shapes, *arrays, ordered=True)
        return self.jax.pure_callback(computed, shapes, *arrays, vmap_method="sequential")

    def _shapes(self, planned: Any) -> Any:
        if planned is None:
            return ()
        if type(planned) is Metadata:
            return self.jax.ShapeDtypeStruct(planned.shape, planned.dtype)
        return [self._shapes(x) for x in planned]

    def _sum_to(self, x: Any, shape: Any) -> Any:
        extra = x.ndim - len(shape)
        axes = (*range(extra), *[extra + i for i, n in enumerate(shape) if n == 1 and x.shape[extra + i] != 1])
        return self.jnp.sum(x, axes, keepdims=True).reshape(shape)
