"""Lays the results of composites out in memory as NumPy's own functions do, where the rows that they are made of do otherwise.

Of a result in C order np.ravel and np.reshape are views, and a write to one shows in the other.
"""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from ..core import OpOverload, Tensor, is_of_registered_class
from ..core.pytree import arrays, mapped_arrays
from ..layers.fake import FakeTensor, fake_tensor, memory_of
from ..operators.prims import astype
from ..operators.registry import ops
from ..operators.views import is_number, owner_of
from ..symbolic import guesses, has_zero
from .result_layouts import Layout, Order, dtypes_by, layout_of, order_of_strides, orders_by
from .symbolic_layouts import dense

Rule = Callable[..., Any]


def with_layout(op: OpOverload, function: Rule, kernel: Rule) -> Rule:
    """Return the function of a composite, whose results get the layout that its kernel gives them."""
    count, names = op.arguments.positional, op.arguments.keyword_names
    defaults = [default[0] if default else None for default in op.arguments.defaults]

    def run(*args: Any, **keywords: Any) -> Any:
        made = function(*args, **keywords)
        if isinstance(made, Tensor) and len(made.shape) < 2:
            return made
        positional = [*args, *defaults[len(args) : count]]
        named = [(name, keywords.get(name, default)) for name, default in zip(names, defaults[count:], strict=True)]
        return laid_out_by(kernel, made, positional, tuple(named))

    return run


def laid_out_by(kernel: Rule, made: Any, args: Sequence[Any], keywords: tuple[tuple[str, Any], ...]) -> Any:
    """Return what was made of these arguments in the layout that a kernel would have given it."""
    found = [x for x in arrays(made) if len(getattr(x, "shape", ())) > 1 and not has_zero(x.shape)]
    if not found or is_of_registered_class(owner_of(found[0])):  # a class of users lays its arrays out itself
        return made
    orders = iter(orders_by(kernel, item_layout(args), tuple([(name, item_layout(x)) for name, x in keywords])))
    owners = {id(owner_of(x)) for x in arrays([args, dict(keywords)]) if hasattr(x, "shape")}

    def laid_out(x: Any) -> Any:
        order = next(orders)
        layout = item_layout(x)
        if len(x.shape) < 2 or has_zero(x.shape) or id(owner_of(x)) in owners:
            return x
        lies = order_of_strides(guesses(layout.strides))
        long = [axis for axis, n in enumerate(guesses(layout.shape)) if n != 1]  # the strides of others mean nothing
        return x if [i for i in lies if i in long] == [i for i in order if i in long] else _in_order(x, order)

    return mapped_arrays(laid_out, made)


def item_layout(x: Any) -> Any:
    """Return the layout of a value below all wrappers, of one item of a batch; of each in a list, any other value as it is."""
    if not isinstance(x, Tensor) or isinstance(x, FakeTensor):
        return tuple(map(item_layout, x)) if isinstance(x, (list, tuple)) else layout_of(x)
    layout = item_layout(x.value)
    dim = getattr(x, "dim") if hasattr(type(x), "dim") else None  # noqa: B009  of a batch
    return layout if dim is None else without_axis(layout, dim)


def without_axis(layout: Layout, axis: int) -> Layout:
    """Return the layout of one item along an axis, as of a batch."""
    shape, strides = [part[:axis] + part[axis + 1 :] for part in (layout.shape, layout.strides)]
    return Layout(shape, strides, layout.dtype)


def in_byte_order(op: OpOverload, function: Rule, kernel: Rule) -> Rule:
    """Return the function of a composite, whose results have their bytes in the order in which its kernel gives them.

    The rows that it is made of give the order of the machine; many of NumPy's functions keep that of an argument.
    """
    count, names = op.arguments.positional, op.arguments.keyword_names
    defaults = [default[0] if default else None for default in op.arguments.defaults]

    @wraps(function)  # a layer reads which parameters are keywords
    def run(*args: Any, **keywords: Any) -> Any:
        made = function(*args, **keywords)
        if not any([_is_swapped(x) for x in args]):
            return made
        positional = (*args, *defaults[len(args) : count])
        named = tuple([(name, keywords.get(name, default)) for name, default in zip(names, defaults[count:], strict=True)])
        kinds = iter(dtypes_by(kernel, item_layout(positional), tuple([(name, item_layout(x)) for name, x in named])))

        def ordered(x: Any) -> Any:
            kind = next(kinds)
            swapped = x.dtype.isnative != kind.isnative and (x.shape or not is_number(x))
            return astype(x, x.dtype.newbyteorder("S")) if swapped else x

        return mapped_arrays(ordered, made)

    return run


def _is_swapped(x: Any) -> bool:
    """Whether an argument, or an array in a list, has its bytes in another order than the machine."""
    if isinstance(x, (list, tuple)):
        return any([_is_swapped(item) for item in x])
    return not getattr(getattr(x, "dtype", None), "isnative", True)


def _in_order(x: Any, order: Order) -> Any:
    """Return a copy whose axes lie in this order, the one with the smallest stride first."""
    axes = order[::-1]
    back = tuple(sorted(range(len(axes)), key=axes.__getitem__))
    if back == tuple(range(len(axes))):
        return ops.np.copy(x, "C")
    return ops.np.transpose(ops.np.copy(ops.np.transpose(x, axes), "C"), back)


def fake_laid_out(op: OpOverload, function: Rule, kernel: Rule) -> Rule:
    """Return the shape rule of a composite whose kernel lays its result out otherwise."""
    count, names = op.arguments.positional, op.arguments.keyword_names

    def rule(*args: Any) -> Any:
        made = function(*args[:count], **dict(zip(names, args[count:], strict=True)))
        if not any(_has_order(x, args) for x in arrays(made)):
            return made
        orders = iter(orders_by(kernel, tuple(map(layout_of, args[:count])), tuple(zip(names, args[count:], strict=True))))

        def laid_out(x: Any) -> Any:
            order = next(orders)
            if not _has_order(x, args):
                return x
            return fake_tensor(x.shape, x.dtype, dense(x.shape, x.dtype.itemsize, order), x.device, x.mode)

        return mapped_arrays(laid_out, made)

    return rule


def _has_order(x: Any, args: Any) -> bool:
    """Whether there is a choice in which order a fake result has its axes: it is no argument, and no view of one."""
    if not isinstance(x, FakeTensor) or len(x.shape) < 2:
        return False
    return not any(memory_of(x) is memory_of(y) for y in arrays(args) if isinstance(y, FakeTensor))
