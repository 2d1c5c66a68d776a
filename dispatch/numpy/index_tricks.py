"""`r_`, `c_`, `vectorize` and `as_strided`, which NumPy writes with `np.array`, so that they never reach a protocol.

On plain arrays they are NumPy's own. Where a Tensor is given they do what NumPy's do, by functions of this package.
"""

from typing import Any

import numpy as np

from ..core import Tensor, first_wrapper
from ..errors import ArgumentError, UnsupportedError
from ..numpy_ops.composite_layouts import item_layout
from ..operators.gufunc.signature import Signature
from ..symbolic import layout_is_open
from .functions import FUNCTIONS

NUMBERS = (bool, int, float, complex)
asanyarray, arange = FUNCTIONS["asanyarray"], FUNCTIONS["arange"]


class Concatenator:
    """`r_` and `c_`: what stands in the brackets, one behind the other.

    Parameters
    ----------
    numpy : object
        NumPy's own.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> r_ = Concatenator(np.r_)
    >>> dispatch.grad(lambda x: np.sum(r_[x, 0, 1:3] ** 2))(np.array([1.0, 2.0]))
    array([2., 4.])
    """

    def __init__(self, numpy: Any) -> None:
        self._numpy = numpy

    def __getitem__(self, key: Any) -> Any:
        items = key if isinstance(key, tuple) else (key,)
        if first_wrapper([(x.start, x.stop, x.step) if isinstance(x, slice) else x for x in items]) is None:
            return self._numpy[key]
        axis, ndmin, trans1d = self._numpy.axis, self._numpy.ndmin, self._numpy.trans1d
        if isinstance(items[0], str):
            axis, ndmin, trans1d = directed(items[0], axis, ndmin, trans1d)
            items = items[1:]
        parts = [part_of(x, ndmin, trans1d) for x in items]
        kinds = [x if isinstance(x, NUMBERS) else part.dtype for x, part in zip(items, parts, strict=True)]  # NEP 50
        dtype = np.result_type(*kinds)
        return np.concatenate([asanyarray(p, dtype) for p in parts], axis)

    def __len__(self) -> int:
        return 0

    def __repr__(self) -> str:
        return repr(self._numpy)


def directed(text: str, axis: int, ndmin: int, trans1d: int) -> tuple[int, int, int]:
    """Return what a first item like `"0,2,-1"` says of the axis, the least number of axes, and where an item's own are put."""
    if text in ("r", "c"):
        raise ValueError(f"np.r_[{text!r}, ...] makes a matrix, and there are none of Tensors. Leave it out.")
    return (*[int(word) for word in text.split(",")], *(axis, ndmin, trans1d)[text.count(",") + 1 :])  # type: ignore[return-value]


def part_of(x: Any, ndmin: int, trans1d: int) -> Any:
    """Return one item as an array with at least so many axes; those that it lacks stand before or behind its own."""
    if isinstance(x, slice):
        start, step = 0 if x.start is None else x.start, 1 if x.step is None else x.step
        made = np.linspace(start, x.stop, int(abs(step))) if isinstance(step, complex) else arange(start, x.stop, step)
        made = asanyarray(made)
        made = made.reshape((1,) * (ndmin - 1) + made.shape)
        return made.swapaxes(-1, trans1d) if ndmin > 1 and trans1d != -1 else made
    made = asanyarray(x)
    own, missing = made.ndim, ndmin - made.ndim
    if missing <= 0:
        return made
    made = made.reshape((1,) * missing + made.shape)
    if trans1d == -1 or isinstance(x, NUMBERS):
        return made
    first = trans1d if trans1d >= 0 else trans1d + missing + 1
    axes = list(range(ndmin))
    return made.transpose(axes[:first] + axes[missing:] + axes[first:missing]) if own else made


r_, c_ = Concatenator(np.r_), Concatenator(np.c_)


class vectorize(np.vectorize):  # noqa: N801  NumPy's name
    """`numpy.vectorize`, of arrays and of Tensors: the function is called with one item after the other.

    It may ask an item for its truth, `if x > 0`. `dispatch.vectorize` calls the function once, for all items, and is
    much faster.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> relu = vectorize(lambda x: x if x > 0 else 0.0)
    >>> dispatch.grad(lambda x: np.sum(relu(x)))(np.array([2.0, -1.0]))
    array([1., 0.])
    """

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        if first_wrapper(args) is None and first_wrapper(keywords) is None:
            return super().__call__(*args, **keywords)
        places: list[Any] = [place for place in (*range(len(args)), *keywords) if place not in self.excluded]
        given = [keywords[k] if isinstance(k, str) else args[k] for k in places]
        said = None if self.signature is None else Signature.parse(self.signature)
        inner = [len(dims) for dims in said.inputs] if said else [0] * len(given)
        if len(inner) != len(given):
            raise TypeError(f"wrong number of positional arguments: expected {len(inner)}, got {len(given)}")
        values = [x if isinstance(x, Tensor) else np.asarray(x, None if said else object) for x in given]
        loop = np.broadcast_shapes(*[x.shape[: x.ndim - n] for x, n in zip(values, inner, strict=True)])
        values = [np.broadcast_to(x, (*loop, *x.shape[x.ndim - n :])) for x, n in zip(values, inner, strict=True)]

        def one(index: tuple[int, ...]) -> Any:
            positional, named = list(args), dict(keywords)
            for place, x in zip(places, values, strict=True):
                (named if isinstance(place, str) else positional)[place] = x[index]
            return self.pyfunc(*positional, **named)

        results = [one(index) for index in np.ndindex(*loop)]
        if not results and self.otypes is None:
            raise ValueError("cannot call `vectorize` on size 0 inputs unless `otypes` is set")
        count = len(said.outputs) if said else len(self.otypes or ()) if not results else number_of(results[0])
        if any(number_of(x) != count for x in results):
            raise ValueError(f"wrong number of outputs from pyfunc: expected {count}, got {[*map(number_of, results)]}")
        outputs = [[x] if count == 1 else list(x) for x in results]
        found = [joined([x[i] for x in outputs], loop, self.otypes and self.otypes[i]) for i in range(count)]
        return found[0] if count == 1 else tuple(found)


def number_of(result: Any) -> int:
    """Return how many outputs a function gave."""
    return len(result) if isinstance(result, tuple) else 1


def joined(items: list[Any], loop: tuple[int, ...], dtype: Any) -> Any:
    """Return what a function gave for each item as one array, by default of the dtype of the first, as in NumPy."""
    found = asanyarray(items, asanyarray(items[0]).dtype if dtype is None else dtype)
    return found.reshape(loop + found.shape[1:])


def as_strided(
    x: Any, shape: Any = None, strides: Any = None, subok: bool = False, *, writeable: bool = False, check_bounds: Any = None
) -> Any:
    """`numpy.lib.stride_tricks.as_strided`, of arrays and of Tensors: the elements at those steps in the memory of `x`.

    Of a Tensor they are copied, and an element that is there several times gets the sum of their gradients.

    Parameters
    ----------
    x : ndarray or Tensor
    shape : sequence of int, optional
        That of `x`.
    strides : sequence of int, optional
        In bytes; those of `x`.
    subok, writeable : bool, optional
        NumPy's own, for arrays; here the result is read-only unless asked.
    check_bounds : bool, optional
        That of NumPy 2.5, for arrays. The bounds of a Tensor are always checked.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> dispatch.grad(lambda x: np.sum(as_strided(x, (3, 2), (8, 8))))(np.arange(4.0))
    array([1., 2., 2., 1.])
    """
    if not isinstance(x, Tensor):
        given = {} if check_bounds is None else {"check_bounds": check_bounds}
        return np.lib.stride_tricks.as_strided(x, shape, strides, subok, writeable, **given)
    if writeable:
        raise UnsupportedError(
            "dispatch.numpy.as_strided: writeable=True is not taken of a Tensor, whose elements are copied. Write to x itself."
        )
    layout = item_layout(x)
    if layout_is_open(layout):
        raise UnsupportedError(
            f"dispatch.numpy.as_strided: where the elements of shape {tuple(layout.shape)} lie depends on sizes that are not "
            "known yet. Write np.lib.stride_tricks.sliding_window_view(x, shape), or an index."
        )
    shape = tuple(layout.shape if shape is None else shape)
    strides = tuple(layout.strides if strides is None else strides)
    if len(shape) != len(strides) or min(shape, default=0) < 0:
        np.lib.stride_tricks.as_strided(np.empty(0), shape, strides)  # raises NumPy's own error
    held, asked = offsets(layout.shape, layout.strides), offsets(shape, strides)
    order = np.argsort(held, kind="stable")
    places = np.searchsorted(held, asked, sorter=order)
    found = order[np.minimum(places, held.size - 1)] if held.size else np.zeros(0, np.intp)
    if asked.size and (not held.size or np.any(held[found] != asked)):
        ends = f"whose elements lie at {held.min()} to {held.max()}, not all of them at an element" if held.size else ""
        raise ArgumentError(
            f"dispatch.numpy.as_strided: shape {shape} and strides {strides} reach bytes {asked.min()} to {asked.max()} of an "
            f"array {ends or 'which has none'}. Give strides that are sums of its own, {tuple(layout.strides)}."
        )
    return x.reshape(-1)[found.reshape(shape)]


def offsets(shape: Any, strides: Any) -> np.ndarray[Any, Any]:
    """Return how many bytes from the first element each lies, in C order."""
    found = np.zeros(1, np.intp)
    for n, stride in zip(shape, strides, strict=True):
        found = np.add.outer(found, np.arange(n) * stride).ravel()
    return found
