"""Rows whose result sizes depend on data: nonzero elements, distinct elements, elements that a condition selects.

Where the mode has a `shape_env`, a shape rule gives such a size as a symbol; `nonzero` and a mask of the same array have the same
one. These rows raise under vmap. Indices have no gradient; selected elements have one.
"""

from inspect import signature
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from ..core import OpOverload
from ..errors import BatchingError, DataDependentError
from ..layers.autograd import CONSTANT
from ..layers.fake import FakeTensor, counted, fake_tensor
from ..operators.prims import moveaxis
from ..operators.views import ARRAY
from ..symbolic import statically_known
from .families import composite, row
from .index_parsing import count_of
from .indexing import getitem, take
from .row_arguments import call
from .shape import copy, reshape

INDEX = np.dtype(np.intp)


def of_data(text: str, kernel: Any, fake: Any, name: str = "", **rules: Any) -> OpOverload:
    """Make a row whose result size depends on data; `name` is what users know it by."""
    name = name or "np::" + text.partition("(")[0]

    def vmap(info: Any, in_dims: Any, *args: Any) -> Any:
        raise BatchingError(
            f"{name}: each of the {info.batch_size} items of a batch gives as many elements as its data say, which make no "
            "batch. Call it outside of the mapped function; for x[mask] write np.where(mask, x, other), which keeps the shape.",
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


def distinct(name: str, x: FakeTensor, kind: Any, most: Any = None) -> Any:
    """Return the number of distinct elements, of which there are at most all; a size that depends on data."""
    if x.mode is None or x.mode.shape_env is None:
        raise DataDependentError(
            f"{name}: how many elements it finds in an array of shape {x.shape} depends on its data, which a fake has not. "
            "Give the mode symbolic sizes, FakeTensorMode(shape_env=ShapeEnv()), or call it on real arrays, outside the mode.",
            operator=name,
        )
    most = x.size if most is None else most
    least = int(statically_known(most >= 1))
    return counted(x, lambda: x.mode.shape_env.new_dynamic_size(min=least, max=most), kind)


SORTED_OR_NOT = "sorted" in signature(np.unique).parameters  # NumPy 2.3
BOTH_NAN = {True: "distinct", False: "distinct, and every nan"}


def _unique_kernel(x: Any, axis: Any, equal_nan: bool, sorted: bool = True, others: bool = False) -> Any:
    options: dict[str, Any] = {} if sorted or not SORTED_OR_NOT else {"sorted": False}
    kernel: Any = np.unique
    return kernel(x, others, others, others, axis, equal_nan=equal_nan, **options)


def _fake_places(x: FakeTensor, axis: int | None, equal_nan: bool) -> Any:
    if axis is None or len(x.shape) == 1:
        n = distinct("np::unique", x, BOTH_NAN[bool(equal_nan)])
        shape = x.shape
    else:
        at = normalize_axis_index(axis, len(x.shape))
        n = distinct("np::unique", x, ("distinct", at), x.shape[at])
        shape = (x.shape[at],) if FLAT_INVERSE else tuple([m if i == at else 1 for i, m in enumerate(x.shape)])
    return _like(x, (n,), INDEX), _like(x, shape, INDEX), _like(x, (n,), INDEX)


FLAT_INVERSE = np.unique(np.zeros((1, 1)), return_inverse=True, axis=0)[1].ndim == 1  # of an axis; in NumPy 2.0 it had all axes
unique_places = of_data(
    "unique_places(Tensor x, int? axis=None, *, bool equal_nan=True) -> (Tensor, Tensor, Tensor)",
    lambda x, axis=None, *, equal_nan=True: _unique_kernel(x, axis, equal_nan, others=True)[1:],
    _fake_places,
    name="np::unique",
    autograd=CONSTANT,
)


def _value_places(x: Any, axis: int | None = None, *, equal_nan: bool = True, sorted: bool = True) -> Any:
    places = _unique_kernel(x, axis, equal_nan, others=True)[1]
    if sorted and not _has_both_zeros(x):
        return places
    values = _unique_kernel(x, axis, equal_nan, sorted)
    if not sorted:
        places = places[np.argsort(np.argsort(values, kind="stable"))]
    items, values = (np.moveaxis(a, axis or 0, 0) if axis is not None else a.reshape(-1) for a in (x, values))
    for k in [k for k, place in enumerate(places) if not _are_same(items[place], values[k])]:
        alike = [place for place in range(len(items)) if _are_same(items[place], values[k])]
        places[k] = alike[0] if alike else places[k]  # of rows that are equal but for signs
    return places


def _has_both_zeros(x: Any) -> bool:
    """Whether 0.0 and -0.0 are in an array, of which a sort that is not stable leaves either."""
    parts = [x.real, x.imag] if x.dtype.kind == "c" else [x] if x.dtype.kind == "f" else []
    signs = [np.signbit(part[part == 0]) for part in parts]
    return any(bool(some.any()) and not some.all() for some in signs)


def _are_same(x: Any, y: Any) -> bool:
    """Whether two items are equal, with the same signs of zero."""
    return all(
        np.array_equal(a, b, equal_nan=True) and np.array_equal(np.signbit(a[a == 0]), np.signbit(b[b == 0]))
        for a, b in ((np.atleast_1d(x.real), np.atleast_1d(y.real)), (np.atleast_1d(x.imag), np.atleast_1d(y.imag)))
    )


value_places = of_data(
    "value_places(Tensor x, int? axis=None, *, bool equal_nan=True, bool sorted=True) -> Tensor",
    _value_places,
    lambda x, axis, **of_data: _fake_places(x, axis, of_data["equal_nan"])[0],
    name="np::unique",
    autograd=CONSTANT,
)


def _found(x: Any, index: Any, axis: int | None) -> Any:
    """Return the elements at some places: what is distinct has the derivatives of the first of its like."""
    if axis is None or len(x.shape) == 1:
        return getitem(reshape(x, (-1,)), (ARRAY,), [index])
    found = copy(getitem(moveaxis(x, axis, 0), (ARRAY,), [index]), "C")
    return moveaxis(found, 0, axis)


def _unique(x: Any, axis: int | None = None, *, equal_nan: bool = True, sorted: bool = True) -> Any:
    in_order = sorted or not SORTED_OR_NOT or not (axis is None or len(x.shape) == 1)
    return _found(x, value_places(x, axis, equal_nan=equal_nan, sorted=in_order), axis)


def _unique_all(x: Any, axis: int | None = None, *, equal_nan: bool = True) -> Any:
    index, inverse, counts = unique_places(x, axis, equal_nan=equal_nan)
    return _found(x, index, axis), index, inverse, counts


def _numpy_unique(x: Any, axis: int | None, *, equal_nan: bool, sorted: bool) -> Any:
    return _unique_kernel(x, axis, equal_nan, sorted)


unique = composite(
    "unique(Tensor x, int? axis=None, *, bool equal_nan=True, bool sorted=True) -> Tensor",
    _unique,
    numpy=_numpy_unique,
)
unique_all = composite(
    "unique_all(Tensor x, int? axis=None, *, bool equal_nan=True) -> (Tensor, Tensor, Tensor, Tensor)",
    _unique_all,
    numpy=lambda x, axis, *, equal_nan: tuple(_unique_kernel(x, axis, equal_nan, others=True)),
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
    chosen = [return_index, return_inverse, return_counts]
    if not any(chosen):
        return call(unique, ar, axis, equal_nan=equal_nan, sorted=sorted)
    values, *others = call(unique_all, ar, axis, equal_nan=equal_nan)
    return (values, *[x for x, wanted in zip(others, chosen, strict=True) if wanted])


# -- selected elements -----------------------------------------------------------------------------------------------------


def _compress(condition: Any, x: Any, axis: int | None = None) -> Any:
    if (ndim := len(getattr(condition, "shape", ()))) != 1:
        np.compress(np.zeros((1,) * ndim, bool), np.zeros(1))  # raises NumPy's own error
    return take(x, flatnonzero(condition), axis)


compress = composite("compress(Tensor condition, Tensor x, int? axis=None) -> Tensor", _compress, numpy=np.compress, laid_out=True)
extract = composite(
    "extract(Tensor condition, Tensor x) -> Tensor",
    lambda condition, x: getitem(reshape(x, (-1,)), (ARRAY,), [flatnonzero(condition)]),
    numpy=np.extract,
)
