"""Rows whose result sizes depend on data: nonzero elements, distinct elements, elements that a condition selects.

Where the mode has a `shape_env`, a shape rule gives such a size as a symbol; `nonzero` and a mask of the same array have the same
one. These rows raise under vmap. Indices have no gradient; selected elements have one.
"""

from typing import Any

import numpy as np

from ..core import OpOverload
from ..errors import BatchingError, DataDependentError, UnsupportedError
from ..layers.autograd import CONSTANT
from ..layers.fake import FakeTensor, counted, fake_tensor
from ..symbolic import statically_known
from .families import composite, row
from .index_parsing import ARRAY, count_of
from .indexing import getitem, take
from .shape import reshape

INDEX = np.dtype(np.intp)


def of_data(text: str, kernel: Any, fake: Any, **rules: Any) -> OpOverload:
    """Make a row whose result size depends on data."""
    name = "np::" + text.partition("(")[0]

    def vmap(info: Any, in_dims: Any, *args: Any) -> Any:
        raise BatchingError(
            f"{name}: each of the {info.batch_size} items of a batch gives as many elements as its data say, which make no "
            "batch. Write np.where(mask, x, other), which keeps the shape.",
            operator=name,
        )

    return row(text, numpy=kernel, fake=fake, vmap=vmap, **rules)


def _like(x: FakeTensor, shape: Any, dtype: Any, strides: Any = None) -> FakeTensor:
    return fake_tensor(shape, dtype, strides, x.device, x.mode)


# -- places ----------------------------------------------------------------------------------------------------------------


def _fake_nonzero(x: FakeTensor) -> list[FakeTensor]:
    ndim = len(x.shape)
    if not ndim:
        np.nonzero(np.zeros(()))  # raises NumPy's own error
    n = count_of("np::nonzero", x)
    return [_like(x, (n,), INDEX, (ndim * INDEX.itemsize,)) for _ in range(ndim)]


def _fake_argwhere(x: FakeTensor) -> FakeTensor:
    n = count_of("np::argwhere", x)
    return _like(x, (n, len(x.shape)), INDEX, (INDEX.itemsize, INDEX.itemsize * n))  # the places of each axis together


nonzero = of_data("nonzero(Tensor x) -> Tensor[]", lambda x: list(np.nonzero(x)), _fake_nonzero, autograd=CONSTANT)
flatnonzero = of_data(
    "flatnonzero(Tensor x) -> Tensor",
    np.flatnonzero,
    lambda x: _like(x, (count_of("np::flatnonzero", x),), INDEX),
    autograd=CONSTANT,
)
argwhere = of_data("argwhere(Tensor x) -> Tensor", np.argwhere, _fake_argwhere, autograd=CONSTANT)

# -- distinct elements -----------------------------------------------------------------------------------------------------


def distinct(name: str, x: FakeTensor, kind: Any) -> Any:
    """Return the number of distinct elements, a size that depends on data."""
    if x.mode is None or x.mode.shape_env is None:
        raise DataDependentError(
            f"{name}: how many elements it finds in an array of shape {x.shape} depends on its data, which a fake has not. "
            "Give the mode symbolic sizes, FakeTensorMode(shape_env=ShapeEnv()), or call it on real arrays, outside the mode.",
            operator=name,
        )
    least = int(statically_known(x.size >= 1))
    return counted(x, lambda: x.mode.shape_env.new_dynamic_size(min=least, max=x.size), kind)


def _unique_all(x: Any, *, equal_nan: bool = False) -> Any:
    return tuple(np.unique(x, True, True, True, equal_nan=equal_nan))


def _fake_unique_all(x: FakeTensor, equal_nan: bool) -> Any:
    n = distinct("np::unique_all", x, ("distinct", bool(equal_nan)))
    return _like(x, (n,), x.dtype), _like(x, (n,), INDEX), _like(x, x.shape, INDEX), _like(x, (n,), INDEX)


unique = of_data(
    "unique(Tensor x) -> Tensor", np.unique, lambda x: _like(x, (distinct("np::unique", x, ("distinct", True)),), x.dtype)
)
unique_all = of_data(
    "unique_all(Tensor x, *, bool equal_nan=False) -> (Tensor, Tensor, Tensor, Tensor)", _unique_all, _fake_unique_all
)


def unique_with(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
) -> Any:
    """`np.unique`."""
    if axis is not None or not sorted:
        what = "axis=" if axis is not None else "sorted=False"
        raise UnsupportedError(f"np.unique: {what} has no row. Leave it out: all elements count, and they come in order.")
    chosen = [return_index, return_inverse, return_counts]
    if not any(chosen) and equal_nan:
        return unique(ar)
    values, *others = unique_all(ar, equal_nan=equal_nan)
    found = (values, *[x for x, wanted in zip(others, chosen, strict=True) if wanted])
    return found if len(found) > 1 else values


# -- selected elements -----------------------------------------------------------------------------------------------------


def _compress(condition: Any, x: Any, axis: int | None = None) -> Any:
    if len(condition.shape) != 1:
        np.compress(np.zeros((1,) * len(condition.shape), bool), np.zeros(1))  # raises NumPy's own error
    return take(x, flatnonzero(condition), axis)


compress = composite("compress(Tensor condition, Tensor x, int? axis=None) -> Tensor", _compress, numpy=np.compress, laid_out=True)
extract = composite(
    "extract(Tensor condition, Tensor x) -> Tensor",
    lambda condition, x: getitem(reshape(x, (-1,)), (ARRAY,), [flatnonzero(condition)]),
    numpy=np.extract,
)
