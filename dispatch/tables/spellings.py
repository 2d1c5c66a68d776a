"""Which row a function of NumPy means, and how its parameters are the row's.

UFUNCS       np.add       -> the row whose kernel it is
REDUCTIONS   np.add       -> the row that np.add.reduce is
FUNCTIONS    np.sum       -> a function with NumPy's parameters, which calls the row by its own
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import prims
from ..core import OpOverload, Tensor
from ..errors import ArgumentError, UnsupportedError
from ..operators import ops
from . import creation, indexing, linalg, reduction, shape
from .assignment import WRITES, result_into
from .families import kernel_of
from .indices import ARRAY

Function = Callable[..., Any]

UFUNCS: dict[Any, OpOverload] = {kernel_of(op): op for op in ops.np if isinstance(kernel_of(op), np.ufunc)}
REDUCTIONS: dict[Any, OpOverload] = {np.add: reduction.sum, np.maximum: reduction.max, np.minimum: reduction.min}

# What NumPy's functions take beside what a row does, and the values that ask for nothing.
_HARMLESS: dict[str, tuple[Any, ...]] = {
    "order": ("C", "K"), "subok": (True, False), "casting": ("same_kind",), "device": ("cpu",), "copy": (True, False), "where": (True,),
}  # fmt: skip


def call_row(spelling: str, op: OpOverload, given: dict[str, Any]) -> Any:
    """Call a row with NumPy's parameters by name; one that the row has not must ask for nothing."""
    names = op.arguments.names
    bound = {}
    out = None if given.get("out") is np._NoValue else given.get("out")  # noqa: SLF001
    for name, value in given.items():
        if value is np._NoValue:  # noqa: SLF001 - how NumPy's functions spell a parameter that was left out
            continue
        if name in names:
            bound[name] = value
        elif name != "out" and value is not None and not any(value is harmless for harmless in _HARMLESS.get(name, ())):
            raise UnsupportedError(
                f"{spelling}: {name}= is not a parameter of {op.name}({', '.join(names)}). "
                "Leave it out and write it as an operation of its own."
            )
    return op(**bound) if out is None else result_into(spelling, op(**bound), out)


def spelled(function: Function, parameters: str, op: OpOverload) -> tuple[Function, Function]:
    """An entry of FUNCTIONS: a function of NumPy, its parameters in order, `a:x` where the row has another name, the row."""
    pairs = [text.partition(":") for text in parameters.split()]
    names = {theirs: ours or theirs for theirs, _, ours in pairs}
    order = tuple(names.values())
    spelling = f"np.{function.__name__}"

    def call(*args: Any, **keywords: Any) -> Any:
        if not keywords and len(args) <= 1:
            return op(*args)
        if len(args) > len(order):
            raise ArgumentError(f"{spelling} takes {len(order)} arguments by position and was given {len(args)}.")
        given = dict(zip(order, args, strict=False))
        given.update({names.get(name, name): value for name, value in keywords.items()})
        return call_row(spelling, op, given)

    return function, call


def getitem(x: Any, index: Any) -> Any:
    """`x[index]`. Arrays in the index are handed to the operator as arrays, so that the layers see them."""
    if not isinstance(index, tuple):
        if not isinstance(index, (np.ndarray, Tensor)):
            return indexing.getitem(x, index)
        return indexing.getitem(x, (ARRAY,), [index])
    arrays = [i for i in index if isinstance(i, (np.ndarray, Tensor))]
    if not arrays:
        return indexing.getitem(x, index)
    return indexing.getitem(x, tuple([ARRAY if isinstance(i, (np.ndarray, Tensor)) else i for i in index]), arrays)


def _take(a: Any, indices: Any, axis: int | None = None) -> Any:
    return indexing.take(a, np.asarray(indices) if isinstance(indices, (list, tuple)) else indices, axis)


def _size(a: Any, axis: int | None = None) -> Any:
    return a.size if axis is None else a.shape[axis]


def _result_type(*values: Any) -> Any:
    return np.result_type(*[x.dtype if isinstance(x, Tensor) else x for x in values])


FUNCTIONS: dict[Any, Function] = dict([
    spelled(np.sum, "a:x axis dtype out keepdims initial where", reduction.sum),
    spelled(np.mean, "a:x axis dtype out keepdims where", reduction.mean),
    spelled(np.max, "a:x axis out keepdims initial where", reduction.max),
    spelled(np.min, "a:x axis out keepdims initial where", reduction.min),
    spelled(np.amax, "a:x axis out keepdims initial where", reduction.max),
    spelled(np.amin, "a:x axis out keepdims initial where", reduction.min),
    spelled(np.reshape, "a:x shape order copy", shape.reshape),
    spelled(np.transpose, "a:x axes", shape.transpose),
    spelled(np.swapaxes, "a:x axis1 axis2", shape.swapaxes),
    spelled(np.moveaxis, "a:x source destination", prims.moveaxis),
    spelled(np.broadcast_to, "array:x shape subok", prims.broadcast_to),
    spelled(np.expand_dims, "a:x axis", shape.expand_dims),
    spelled(np.squeeze, "a:x axis", shape.squeeze),
    spelled(np.real, "val:x", shape.real),
    spelled(np.imag, "val:x", shape.imag),
    spelled(np.copy, "a:x order subok", shape.copy),
    spelled(np.concatenate, "arrays axis out dtype casting", shape.concatenate),
    spelled(np.stack, "arrays axis out dtype casting", prims.stack),
    spelled(np.where, "condition x y", indexing.where),
    spelled(np.empty_like, "prototype:x dtype order subok shape device", creation.empty_like),
    spelled(np.zeros_like, "a:x dtype order subok shape device", creation.zeros_like),
    spelled(np.ones_like, "a:x dtype order subok shape device", creation.ones_like),
    spelled(np.full_like, "a:x fill_value dtype order subok shape device", creation.full_like),
    spelled(np.empty, "shape dtype order device", creation.empty),
    spelled(np.zeros, "shape dtype order device", creation.zeros),
    spelled(np.ones, "shape dtype order device", creation.ones),
    spelled(np.full, "shape fill_value dtype order device", creation.full),
    spelled(np.dot, "a:x b:y out", linalg.dot),
    (np.take, _take),
    (np.ravel, lambda a: shape.reshape(a, (-1,))),
    (np.shape, lambda a: a.shape),
    (np.ndim, lambda a: a.ndim),
    (np.size, _size),
    (np.result_type, _result_type),
    (np.iscomplexobj, lambda x: x.dtype.kind == "c"),
    (np.isrealobj, lambda x: x.dtype.kind != "c"),
])  # fmt: skip
FUNCTIONS.update(WRITES)
if hasattr(np, "astype"):  # NumPy 2.1
    FUNCTIONS.update([spelled(np.astype, "x dtype copy device", prims.astype)])
