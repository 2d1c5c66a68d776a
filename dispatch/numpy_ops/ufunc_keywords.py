"""Calls of ufuncs with keywords: `out= where= dtype= signature= casting= order= subok=`.

The row computes on operands that have been cast to the dtypes of the loop that NumPy would choose. The result is then laid out, or
written to `out`, by NumPy's rules of casting.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core import OpOverload, Tensor, note_request
from ..core.pytree import mapped
from ..errors import UnsupportedError
from ..operators import prims
from ..operators.gufunc.signature import Signature
from ..operators.registry import ops
from ..operators.views import ARRAY
from ..symbolic import guesses
from . import indexing
from .assignment import check_target, fits, hollow, value_for, write_result
from .composite_layouts import laid_out_by
from .flags import cast, core_ndims, in_order, is_default, named_order, refused
from .item_assignment import setitem_
from .result_layouts import check_broadcast_is_known
from .row_arguments import as_mask

SYMBOLS = {
    np.add: "+", np.subtract: "-", np.multiply: "*", np.divide: "/", np.floor_divide: "//", np.remainder: "%", np.power: "**",
    np.matmul: "@", np.bitwise_and: "&", np.bitwise_or: "|", np.bitwise_xor: "^", np.left_shift: "<<", np.right_shift: ">>",
}  # fmt: skip
PLACES = ("axes", "axis", "keepdims")  # of generalised ufuncs
DEFAULTS = {"casting": "same_kind", "order": "K", "dtype": None, "where": True, "signature": None}


def spelled(ufunc: np.ufunc) -> str:
    """Return how a ufunc is written: `np.add`."""
    return f"np.{ufunc.__name__}" if getattr(np, ufunc.__name__, None) is ufunc else ufunc.__name__


def ufunc_with(ufunc: np.ufunc, op: OpOverload, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Run `np.add(x, y, out=..., where=..., dtype=..., casting=..., order=...)`."""
    if ufunc.signature and not options.keys().isdisjoint(PLACES):
        return _of_items(ufunc, op, inputs, options)
    given = {name: value for name, value in options.items() if name != "subok" and not is_default(value, DEFAULTS.get(name))}
    outs = given.pop("out", (None,) * ufunc.nout)
    mask, order = given.pop("where", True), given.pop("order", "K")
    if unknown := given.keys() - {"dtype", "signature", "casting"}:
        name = min(unknown)
        raise refused(spelled(ufunc), name, given[name], "Leave it out and write it as an operation of its own.")
    asked = inputs
    if given:
        inputs = _in_loop(ufunc, inputs, given)
    casting = given.get("casting", "same_kind")
    if mask is not True and mask is not np.True_:
        return _chosen(ufunc, op, inputs, outs, as_mask(mask), casting)
    if all(out is None for out in outs):
        order = named_order(order, "K", None, *inputs)  # one operand of a ufunc is as one of several
        found = op(*inputs)
        if any(x is not y for x, y in zip(inputs, asked, strict=True)):  # NumPy casts piece by piece, and lays out by what is cast
            found = laid_out_by(ufunc, found, asked, tuple(given.items()))
        return found if order == "K" else mapped(lambda x: in_order(x, order), found)
    values = value_for(outs[0], ufunc, op, inputs)
    written = []
    for i, (out, value) in enumerate(zip(outs, values if ufunc.nout > 1 else (values,), strict=True)):
        if out is not None:
            _check_out(ufunc, inputs, out, value)
            value = write_result(out, value, _again(ufunc, inputs, i, casting), casting)
        written.append(value)
    return written[0] if ufunc.nout == 1 else tuple(written)


def _of_items(ufunc: np.ufunc, op: OpOverload, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """Run `np.matmul(x, y, axes=[...])` or `np.vecdot(x, y, axis=0, keepdims=True)`: the axes of an item are moved to the end, and back."""
    rest = {name: value for name, value in options.items() if name not in (*PLACES, "out")}
    given = {name: value for name, value in options.items() if name in PLACES}
    ufunc(*[np.ones((1,) * np.ndim(x)) for x in inputs], **given)  # raises NumPy's own error
    signature = Signature.parse(str(ufunc.signature)).with_axes([np.ndim(x) for x in inputs])
    counts = [len(core) for core in (*signature.inputs, *signature.outputs)]
    places = [tuple(range(-n, 0)) for n in counts]
    if given.get("axes") is not None:
        asked = [tuple(axes) if isinstance(axes, (tuple, list)) else (axes,) for axes in given["axes"]]
        places[: len(asked)] = asked
    elif given.get("axis") is not None:
        places = [(given["axis"],) * n for n in counts]
    moved = [prims.moveaxis(x, axes, range(-n, 0)) if n else x for x, axes, n in zip(inputs, places, counts, strict=False)]
    found = ufunc_with(ufunc, op, tuple(moved), rest)
    n, into = counts[-1], places[-1]
    if given.get("keepdims"):  # of items of one number each
        n = counts[0]
        into = places[0] if given.get("axes") is None else into if len(given["axes"]) == len(counts) else tuple(range(-n, 0))
        found = ops.np.reshape(found, (*found.shape, *(1,) * n))
    found = prims.moveaxis(found, range(-n, 0), into) if n and into != tuple(range(-n, 0)) else found
    out = options.get("out", (None,))[0]
    if out is None:
        return found
    _check_out(ufunc, inputs, out, found)
    return write_result(out, found, lambda value, into: ufunc(*map(hollow, inputs), out=into, **given))


def _again(ufunc: np.ufunc, inputs: tuple[Any, ...], i: int, casting: Any) -> Callable[..., Any]:
    def again(value: Any, out: Any) -> None:
        outs = [None] * ufunc.nout
        outs[i] = out
        ufunc(*map(hollow, inputs), out=tuple(outs), casting=casting)

    return again


def _in_loop(ufunc: np.ufunc, inputs: tuple[Any, ...], given: dict[str, Any]) -> tuple[Any, ...]:
    """Return the operands in the dtypes of the loop that NumPy chooses; NumPy's own error where it has none."""
    small = [np.empty((0,) * n, x.dtype) if hasattr(x, "dtype") else x for x, n in zip(inputs, core_ndims(ufunc), strict=True)]
    made = ufunc(*small, **given)
    kinds = [x.dtype if hasattr(x, "dtype") else np.dtype(bool) if isinstance(x, bool) else type(x) for x in inputs]
    options = {"casting": given.get("casting", "same_kind")}
    if "dtype" in given:
        results = made if ufunc.nout > 1 else (made,)
        options["signature"] = (*[None] * ufunc.nin, *[x.dtype for x in results])
    elif "signature" in given:
        asked = given["signature"]
        options["signature"] = tuple(map(np.dtype, asked.replace("->", ""))) if isinstance(asked, str) else asked
    loop = ufunc.resolve_dtypes((*kinds, *[None] * ufunc.nout), **options)
    return tuple([cast(x, dtype) for x, dtype in zip(inputs, loop, strict=False)])


def _check_out(ufunc: np.ufunc, inputs: tuple[Any, ...], out: Any, value: Any) -> None:
    """Raise for a tracked value that would be written to a plain array, which is also what NumPy makes of `array += x`."""
    if isinstance(out, Tensor) or not isinstance(value, Tensor):
        return
    note_request()  # as `x[i] = value` does
    symbol, kind, name = SYMBOLS.get(ufunc), type(value).__name__, spelled(ufunc)
    if symbol and inputs[0] is out:
        raise UnsupportedError(
            f"a {symbol}= x would write a {kind} of shape {np.shape(inputs[1])} into an array, which cannot hold what "
            f"it tracks. Write a = a {symbol} x; or make the array of a tracked one: a = np.zeros_like(x, shape=...)."
        )
    raise UnsupportedError(
        f"{name}: out= would write a {kind} into an array, which cannot hold what it tracks. Leave it out and "
        f"take the result, y = {name}(...); or make the array of a tracked one: np.zeros_like(x, shape=...)."
    )


def _chosen(ufunc: np.ufunc, op: OpOverload, inputs: tuple[Any, ...], outs: tuple[Any, ...], mask: Any, casting: Any) -> Any:
    """Run `np.divide(x, y, out=out, where=y != 0)`: on the chosen elements only, because the others may have no derivative.

    Which are chosen is not always known: they differ between the items of a batch, and between the calls of a graph. Then a 1 takes the
    place of what was not chosen, on both sides of the ufunc, so that no derivative is taken there either.
    """
    name = spelled(ufunc)
    if any(out is None for out in outs):
        raise refused(name, "where", mask, "Elsewhere the result would be whatever memory held: give out= too, or write np.where(mask, ..., y).")
    for out in outs:
        check_target(f"{name}: out=", out)
    size = outs[0].shape
    shapes = (mask.shape, *map(np.shape, inputs))
    try:
        fitting = fits(np.broadcast_shapes(*map(guesses, shapes)), guesses(size))
    except ValueError:
        fitting = False
    if not fitting:
        check_broadcast_is_known((*shapes, size))
    if not fitting or mask.dtype != bool:
        ufunc(*map(hollow, inputs), out=tuple([np.empty(guesses(out.shape), out.dtype) for out in outs]), where=hollow(mask))  # raises NumPy's own error
    if isinstance(mask, Tensor):
        operands = [indexing.where(mask, x, x.dtype.type(1)) if hasattr(x, "dtype") else x for x in inputs]
    else:
        mask = np.broadcast_to(mask, size)
        operands = [indexing.getitem(prims.broadcast_to(x, size), (ARRAY,), [mask]) if np.ndim(x) else x for x in inputs]
    values = op(*operands)
    for i, (out, value) in enumerate(zip(outs, values if ufunc.nout > 1 else (values,), strict=True)):
        if not np.can_cast(value.dtype, out.dtype, casting):
            _again(ufunc, inputs, i, casting)(value, np.empty(guesses(out.shape), out.dtype))  # raises NumPy's own error
        if isinstance(mask, Tensor):
            setitem_(out, Ellipsis, indexing.where(mask, value, out))
        else:
            setitem_(out, (ARRAY,), value, [mask])
    return outs[0] if ufunc.nout == 1 else outs
