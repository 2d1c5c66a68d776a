"""Sets of elements: `np.isin`, `np.union1d` and its kin, the distinct elements as the array API has them, `np.trim_zeros`.

The functions take NumPy's own steps with rows: what is left are elements of the arguments, with their derivatives. Of equal elements the
first one's is followed. How many are left depends on data.
"""

from typing import Any, cast

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from ..core import OpOverload
from ..layers.autograd import CONSTANT
from ..layers.fake import FakeTensor, fake_tensor
from ..operators.registry import ops
from ..operators.views import ARRAY, ARRAYS_OF_NO_AXES
from ..symbolic import is_zero
from . import numpy_functions
from .data_dependent import SORTED_OR_NOT, argwhere, unique, unique_all
from .families import attach_plain_forms, composite, in_front, row
from .indexing import getitem
from .linalg.matmul import item_shape
from .numpy_functions import returning, spelled
from .pointwise import bitwise_and, equal, logical_not, not_equal, subtract
from .row_arguments import as_item, as_value, call
from .shape import concatenate, reshape
from .sorting import argsort, sort
from .statistics import any as any_of

FIRST, LAST = slice(None, -1), slice(1, None)

# -- membership ------------------------------------------------------------------------------------------------------------


def _isin(element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False, *, kind: Any = None) -> Any:
    return np.isin(element, test_elements, assume_unique, invert, kind=kind)


def _fake_isin(element: Any, test_elements: Any, assume_unique: bool, invert: bool, kind: Any) -> Any:
    few: list[Any] = [np.zeros(1, x.dtype) if hasattr(x, "dtype") else np.asarray(x) for x in (element, test_elements)]
    _isin(few[0], few[1], assume_unique, invert, kind=kind)  # raises NumPy's own error: no such kind, or none of these dtypes
    like = element if isinstance(element, FakeTensor) else test_elements
    return fake_tensor(tuple(getattr(element, "shape", ())), np.dtype(bool), None, like.device, like.mode)


def _batched_isin(info: Any, in_dims: Any, element: Any, test_elements: Any, assume_unique: bool, invert: bool, kind: Any) -> tuple[Any, int]:
    if in_dims[1] is None:
        x = in_front(element, in_dims[0])
        return isin(x, test_elements, assume_unique, invert, kind=kind), 0
    # each item has elements of its own, so that each is compared with each
    shape = item_shape(element, in_dims[0])
    x = element if in_dims[0] is None else in_front(element, in_dims[0])
    tests = in_front(test_elements, in_dims[1])
    x = reshape(x, (-1 if in_dims[0] is None else info.batch_size, *(() if in_dims[0] is None else (-1,)), 1)) if hasattr(x, "shape") else x
    found = any_of(equal(x, reshape(tests, (info.batch_size, 1, -1))), -1)
    found = reshape(found, (info.batch_size, *shape))
    return logical_not(found) if invert else found, 0


isin: OpOverload = row(
    "isin(Tensor element, Tensor test_elements, bool assume_unique=False, bool invert=False, *, str? kind=None) -> Tensor",
    numpy=_isin,
    fake=_fake_isin,
    autograd=CONSTANT,
    vmap=_batched_isin,
)

ARRAYS_OF_NO_AXES.add(isin)

# -- distinct elements -----------------------------------------------------------------------------------------------------

ALL, COUNTS, INVERSE = [cast("Any", type(f(np.zeros(1)))) for f in (np.unique_all, np.unique_counts, np.unique_inverse)]  # named tuples


def _unique_all(x: Any) -> Any:
    return ALL(*call(unique_all, x, equal_nan=False))


def _counted(x: Any) -> Any:
    values, _, _, counts = unique_all(x, equal_nan=False)
    return values, counts


def _inverted(x: Any) -> Any:
    values, _, inverse, _ = unique_all(x, equal_nan=False)
    return values, inverse


unique_counts = composite("unique_counts(Tensor x) -> (Tensor, Tensor)", _counted, numpy=lambda x: tuple(np.unique_counts(x)))
unique_inverse = composite("unique_inverse(Tensor x) -> (Tensor, Tensor)", _inverted, numpy=lambda x: tuple(np.unique_inverse(x)))


def _unique_values(x: Any) -> Any:
    return call(unique, x, equal_nan=False, sorted=not SORTED_OR_NOT)


# -- sets ------------------------------------------------------------------------------------------------------------------


def _array(x: Any) -> Any:
    """Return an array, of whatever class, for a number or a list."""
    x = as_value(x)
    return x if hasattr(x, "dtype") else as_item(x)


def _flat(x: Any) -> Any:
    return reshape(x, (-1,))


def _where(x: Any, mask: Any) -> Any:
    return getitem(x, (ARRAY,), [mask])


def _beside(op: OpOverload, x: Any) -> Any:
    """Compare each element with the one before it."""
    return op(getitem(x, LAST), getitem(x, FIRST))


def _distinct(arrays: list[Any], assume_unique: bool) -> list[Any]:
    return [(_flat if assume_unique else unique)(_array(x)) for x in arrays]


def _in_both(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    both = sort(concatenate(_distinct([ar1, ar2], assume_unique), 0))
    return _where(getitem(both, FIRST), _beside(equal, both))


def _intersect1d(ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False) -> Any:
    """`np.intersect1d`."""
    ar1, ar2 = _array(ar1), _array(ar2)
    if not return_indices:
        return intersect1d(ar1, ar2, bool(assume_unique))
    first: Any = None
    if assume_unique:
        ar1, ar2 = _flat(ar1), _flat(ar2)
    else:
        (ar1, *first), (ar2, *second) = [unique_all(x) for x in (ar1, ar2)]
    both = concatenate([ar1, ar2], 0)
    order = argsort(both, -1, "stable")
    both = getitem(both, (ARRAY,), [order])
    mask = _beside(equal, both)
    places = _where(getitem(order, FIRST), mask), subtract(_where(getitem(order, LAST), mask), ar1.shape[0])
    if not assume_unique:
        places = _where(first[0], places[0]), _where(second[0], places[1])
    return _where(getitem(both, FIRST), mask), *places


def _in_one(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    both = concatenate([_array(x) if assume_unique else unique(_array(x)) for x in (ar1, ar2)], None)
    if is_zero(both.shape[0]):
        return both
    both = sort(both)
    end = ops.np.ones_like(both, bool, (1,))
    differs = concatenate([end, _beside(not_equal, both), end], 0)
    return _where(both, bitwise_and(getitem(differs, LAST), getitem(differs, FIRST)))


def _union1d(ar1: Any, ar2: Any) -> Any:
    """`np.union1d`."""
    return unique(concatenate([as_value(ar1), as_value(ar2)], None))  # of a Python number np.concatenate takes the others' dtype


def _in_first(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    ar1, ar2 = _distinct([ar1, ar2], assume_unique)
    return _where(ar1, isin(ar1, ar2, assume_unique=True, invert=True))


def _of_two(function: Any, rows: Any) -> OpOverload:
    """Make the row of a function of two sets; of it a graph has one node."""
    return composite(f"{function.__name__}(Tensor ar1, Tensor ar2, bool assume_unique=False) -> Tensor", rows, numpy=function)


intersect1d, setxor1d, setdiff1d = _of_two(np.intersect1d, _in_both), _of_two(np.setxor1d, _in_one), _of_two(np.setdiff1d, _in_first)


def _of_arrays(op: OpOverload) -> Any:
    return lambda ar1, ar2, assume_unique=False: op(_array(ar1), _array(ar2), bool(assume_unique))


# -- zeros at the ends -----------------------------------------------------------------------------------------------------


def _trim_zeros(filt: Any, trim: str = "fb", axis: Any = None) -> Any:
    """`np.trim_zeros`, a view."""
    ndim = len(filt.shape)
    trim = trim.lower()
    if trim not in {"fb", "bf", "f", "b"}:
        np.trim_zeros(np.zeros(1), trim)  # type: ignore[arg-type] # raises NumPy's own error
    axes = range(ndim) if axis is None else normalize_axis_tuple(axis, ndim, argname="axis")
    if not axes:
        return filt
    places = argwhere(filt)
    if is_zero(places.shape[0]):
        ends: list[Any] = [(0, 0)] * ndim
    else:
        found = [getitem(places, (slice(None), i)) for i in range(ndim)]
        ends = [(int(np.min(x)) if "f" in trim else None, int(np.max(x)) + 1 if "b" in trim else None) for x in found]
    index = tuple([slice(*ends[i]) if i in axes else slice(None) for i in range(ndim)])
    return getitem(filt, index[0] if ndim == 1 else index)


FUNCTIONS: dict[Any, Any] = dict([
    spelled(np.isin, "element test_elements assume_unique invert kind", isin),
    (np.unique_all, _unique_all),
    returning(COUNTS, spelled(np.unique_counts, "x", unique_counts)),
    returning(INVERSE, spelled(np.unique_inverse, "x", unique_inverse)),
    (np.unique_values, _unique_values),
    (np.intersect1d, _intersect1d),
    (np.setxor1d, _of_arrays(setxor1d)),
    (np.union1d, _union1d),
    (np.setdiff1d, _of_arrays(setdiff1d)),
    (np.trim_zeros, _trim_zeros),
])  # fmt: skip


def install() -> None:
    """Put the functions into the table."""
    numpy_functions.FUNCTIONS.update(FUNCTIONS)

attach_plain_forms(intersect1d, setdiff1d, setxor1d, unique_counts, unique_inverse)
