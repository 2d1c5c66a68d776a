"""Makes leaves: the values that the tape begins with."""

from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from ...core import (
    DispatchKey,
    Level,
    Tensor,
    active_modes,
    check_data,
    freeze,
    ground,
    is_of_registered_class,
    level_of_rank,
    open_levels,
    wrap,
)
from ...core.array_memory import unwritten
from ...core.pytree import form_of, leaves
from ...core.wrong_calls import clear, named_dtype
from ...dispatcher.conversion_advice import advice_for, line_for_others
from ...errors import ConversionError, DispatchError, GradientError, check_flag, kind_of
from ...operators.prims import astype
from .backward_graph import Leaf
from .saved_tensors import COPIED_BYTES, protect_argument, with_strides_of
from .tensor import TrackedTensor

if TYPE_CHECKING:
    from numpy.typing import NDArray

NO_NUMBERS = "OUS"  # the kinds of dtypes of objects, text and bytes


@overload
def tensor(data: Any, *, dtype: Any = None, requires_grad: Literal[True]) -> TrackedTensor: ...
@overload
def tensor(data: Tensor, *, dtype: Any = None, requires_grad: Literal[False] = False) -> Tensor: ...
@overload
def tensor(data: Any, *, dtype: Any = None, requires_grad: Literal[False] = False) -> "NDArray[Any]": ...
@overload
def tensor(data: Any, *, dtype: Any = None, requires_grad: bool) -> Any: ...
@clear
def tensor(data: Any, *, dtype: Any = None, requires_grad: bool = False) -> Any:
    """Copy data into a new array. With `requires_grad`, operators on it are recorded for a backward.

    Parameters
    ----------
    data : array_like
    dtype : dtype, optional
        By default that of the data, as in `numpy.array`.
    requires_grad : bool
        Whether to return a `TrackedTensor`.

    Returns
    -------
    ndarray or TrackedTensor

    Raises
    ------
    GradientError
        If `requires_grad` is set and the dtype is not floating-point or complex, or the data is tracked already.
    ConversionError
        If the data has labels, as xarray's DataArray has, which would be lost.

    Examples
    --------
    >>> import dispatch
    >>> x = dispatch.tensor([3.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> x.grad
    array([6.])
    """
    value: Any
    if dtype is not None:
        dtype = named_dtype("tensor", dtype)
    if isinstance(data, Tensor):
        value = data if dtype is None else data.astype(dtype)
    elif is_of_registered_class(data):
        value = data if dtype is None else astype(data, np.dtype(dtype))
    else:
        if form_of(data) is not None:
            raise ConversionError(
                f"tensor was given {kind_of(data)} {form_of(data)}, of which it would keep the array alone. Write "
                "x.copy(data=dispatch.tensor(x.data, requires_grad=True))."
            )
        check_data(data)
        value = _copied(data, dtype)
        if value.dtype.kind in NO_NUMBERS and not isinstance(data, (np.ndarray, np.generic)):
            whole = ", of which NumPy makes no array of numbers" if isinstance(data, (list, tuple)) else ""
            line = " Write np.asarray(x, float)." if whole else advice_for(data, hinted=False)
            if data is None:
                line = " Give an array, a number, or a list of numbers; np.nan for a number that is missing."
            raise ConversionError(f"tensor copies numbers, and was given {kind_of(data)}{whole}.{line}")
        if value.dtype.kind in NO_NUMBERS:
            raise ConversionError(
                f"tensor copies numbers, and was given an array of dtype {value.dtype}. Write x.astype(float)."
            )
    if not check_flag(requires_grad, "requires_grad"):
        return value
    if isinstance(value, TrackedTensor) and value.level.number > _level().number:
        raise GradientError(
            f"tensor(x, requires_grad=True) was asked of a value of {value.level.name}, which is tracked already. Use x itself."
        )
    if isinstance(value, TrackedTensor) and value.level is ground():
        raise GradientError(
            "tensor(x, requires_grad=True) was asked of a value that is tracked already. Use x itself, or "
            "dispatch.detach(x) in its place for a new leaf, through which x gets no gradient."
        )
    if not (hasattr(value, "dtype") and hasattr(value, "shape")):
        raise ConversionError(
            f"a gradient was asked of {kind_of(value)}, which has no shape or no dtype: a tracked value has those of what it "
            f"wraps. Give {type(value).__name__} both, as NumPy's arrays have them."
        )
    return track(value, _level())


def _copied(data: Any, dtype: Any) -> Any:
    """Copy data into an array of NumPy's."""
    try:
        return np.array(_by_itself(data), dtype=dtype)
    except DispatchError:
        followed = next((x for x in leaves(data) if isinstance(x, Tensor)), None)
        if followed is None or not isinstance(data, (list, tuple)):
            raise
        raise ConversionError(
            f"tensor copies numbers, and was given {kind_of(data)} with {kind_of(followed)} in it, which would be lost to "
            "what follows it. Write np.stack(data), or dispatch.numpy.array(data)."
        ) from None
    except ValueError as error:
        if "inhomogeneous" not in str(error):
            raise
        raise ConversionError(
            "tensor copies numbers, and was given a list whose parts have different lengths, of which NumPy makes no array "
            "of numbers. Make them of one length, or a tensor of each: [dispatch.tensor(x) for x in data]."
        ) from None


def _by_itself(data: Any) -> Any:
    """The array of NumPy that others' makes of itself, which need not know of `np.array(data, copy=True)`; else the data."""
    if not hasattr(type(data), "__array__"):
        return data
    try:
        return np.asarray(data)
    except RuntimeError:  # torch's, of a tensor on its own tape
        line = line_for_others(data, "a")
        if line is None:
            raise
        raise ConversionError(f"tensor copies numbers, and {kind_of(data)} on a tape gives none. Write {line}.") from None


def _level() -> Level:
    """Return the level of a new leaf: 0; or inside make_fx or functionalize theirs, so that it ranks above their values."""
    number = max([level_of_rank(guard.rank) for guard in active_modes() if guard.key < DispatchKey.LAYER], default=0)
    return next((level for level in open_levels() if level.number == number), ground())


def track(value: Any, level: Any, *, shared: bool = False) -> TrackedTensor:
    """Return a leaf at a level. `shared`: somebody else may write to the value while the tape needs it, so protect it."""
    if shared:
        kept = unwritten(value, COPIED_BYTES)  # which settles the usual case in C
        if kept is None:
            value = protect_argument(value)
        elif kept is value or (type(value) is np.ndarray and value.flags.forc):
            value = kept
        else:
            value = with_strides_of(value, kept)
    if value.dtype.kind not in "fc":
        names = value.dtype.names or ()
        cast = "Cast it: x.astype(float); of a list, write its numbers as floats."
        remedy = f"Give a field: x[{names[0]!r}]." if names else cast
        said = f"a gradient was asked of an array of dtype {value.dtype}: only floating-point and complex values have one"
        raise GradientError(f"{said}. {remedy}")
    dtype = value.dtype
    leaf = Leaf((value.shape, dtype if dtype.isnative else dtype.newbyteorder("=")))  # that of all that NumPy computes
    made: TrackedTensor = wrap(TrackedTensor, freeze(value), level, leaf)
    return made
