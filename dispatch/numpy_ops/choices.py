"""Rows that choose, for each element, which of several arrays it comes from: `np.select`, `np.choose`, `np.piecewise`.

An element has the derivative of the array that it comes from, and the others have none there.
"""

from typing import Any

import numpy as np

from ..core import OpOverload, Tensor
from ..dispatcher.call_errors import INDICES
from ..layers.autograd import pullbacks
from ..layers.fake import FakeTensor, fake_tensor
from ..operators.prims import astype
from ..operators.registry import ops
from ..operators.views import ARRAY, is_number
from ..symbolic import guesses, is_zero
from . import numpy_functions
from .assignment import given_by_method, result_into, setitem
from .families import aligned, attach_plain_forms, composite, laid_alike, linear, row
from .indexing import getitem, where
from .pointwise import equal, logical_not, maximum, minimum, remainder
from .rearranging import shape_of
from .result_layouts import broadcast_shape, hollow, weak
from .row_arguments import as_item, as_value, call
from .settled import settle
from .shape import concatenate
from .statistics import any as any_of

# -- the first condition that holds ----------------------------------------------------------------------------------------


def _select(conditions: Any, choices: Any, default: Any) -> Any:
    parts = [*choices, default]
    wrong = [x for x in conditions if getattr(getattr(x, "dtype", None), "kind", "") != "b"]
    if len(conditions) != len(choices) or not conditions or wrong:
        few = [np.zeros(1, getattr(x, "dtype", None)) for x in conditions]
        np.select(few, [np.zeros(1)] * len(choices))  # raises NumPy's own error
    dtype = np.result_type(*[x.dtype if hasattr(x, "dtype") else _weak(x) for x in parts])
    choices = [x if hasattr(x, "dtype") else _written(x, dtype) for x in choices]
    found = default if hasattr(default, "dtype") else np.asarray(default).astype(dtype)[()]  # cast as np.select does it, not read
    for condition, choice in zip(reversed(conditions), reversed(choices), strict=True):
        found = where(condition, choice, found)
    return found if found.dtype == dtype else astype(found, dtype)


def _written(number: Any, dtype: np.dtype[Any]) -> Any:
    """Return a number as np.select writes it: cast, where `np.where` reads it and raises for one that does not fit."""
    made = np.empty((), dtype)
    np.copyto(made, np.asarray(number))  # raises NumPy's own error
    return made[()]


def _weak(x: Any) -> Any:
    """Return a number as np.select promotes it: a truth value is an array."""
    return np.dtype(bool) if isinstance(x, bool) else weak(x)


select = composite(
    "select(Tensor[] conditions, Tensor[] choices, Tensor default) -> Tensor",
    _select,
    numpy=lambda conditions, choices, default: np.select(list(conditions), list(choices), default),
    laid_out=True,
)


def _numpy_select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    """`np.select`."""
    conditions, choices = [[as_value(x) for x in given] for given in (condlist, choicelist)]
    return call(select, [as_item(x) for x in conditions], choices, as_value(default))


# -- the array of a number -------------------------------------------------------------------------------------------------


def _choose(a: Any, choices: Any, mode: str = "raise") -> Any:
    return np.choose(a, choices, mode=mode)  # type: ignore[call-overload]


def _numbers(a: Any, n: int, mode: str) -> Any:
    """Return the numbers of the arrays, each below n."""
    return remainder(a, n) if mode == "wrap" else minimum(maximum(a, 0), n - 1) if mode == "clip" else a


def _fake_choose(a: Any, choices: Any, mode: str) -> Any:
    parts = [a, *choices]
    few = [np.zeros(1, x.dtype) if hasattr(x, "dtype") else x for x in parts]
    made = _choose(few[0], few[1:], mode)  # raises NumPy's own error where there are none, and says of which dtype they are
    fakes = [x for x in parts if isinstance(x, FakeTensor)]
    shape = broadcast_shape(tuple(map(shape_of, parts)))
    return fake_tensor(shape, made.dtype, None, fakes[0].device, fakes[0].mode) if fakes else hollow(guesses(shape))


def _chosen_gradients(g: Any, a: Any, choices_shape: Any, mode: str) -> list[Any]:
    numbers = _numbers(a, len(choices_shape), mode)
    return [where(equal(numbers, i), g, 0) for i in range(len(choices_shape))]


def _batched_choose(info: Any, in_dims: Any, a: Any, choices: Any, mode: str) -> tuple[Any, int]:
    dims = in_dims[1] or [None] * len(choices)
    a, *choices = laid_alike((in_dims[0], *dims), aligned((in_dims[0], *dims), (a, *choices)))
    return choose(a, choices, mode), 0


choose: OpOverload = row(
    "choose(Tensor a, Tensor[] choices, str mode='raise') -> Tensor",
    numpy=_choose,
    fake=_fake_choose,
    autograd=pullbacks(choices=_chosen_gradients),
    jvp=linear("choices"),
    vmap=_batched_choose,
)
vars(choose)[INDICES] = (0,)


def _numpy_choose(a: Any, choices: Any, out: Any = None, mode: str = "raise") -> Any:
    """`np.choose`."""
    whole = isinstance(choices, (Tensor, np.ndarray))
    found = call(choose, as_value(a), list(choices) if whole else [as_value(x) for x in choices], mode)
    if whole and found.dtype != choices.dtype:  # of one array NumPy keeps the byte order
        found = astype(found, choices.dtype)
    return found if out is None else given_by_method(a, result_into("np.choose", found, out))


# -- a function of each part -----------------------------------------------------------------------------------------------


def _piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **keywords: Any) -> Any:
    """`np.piecewise`, by its own steps: each function is given the elements of which its condition holds."""
    x = as_item(as_value(x))
    if np.isscalar(condlist) or (x.shape and not _is_array(condlist[0])):
        condlist = [condlist]
    conditions = as_item(as_value(condlist))
    conditions = conditions if conditions.dtype == bool else astype(conditions, bool)
    n = conditions.shape[0]
    if n == len(funclist) - 1:
        otherwise = logical_not(any_of(conditions, 0, keepdims=True))
        conditions = concatenate([conditions, otherwise], 0)
    elif n != len(funclist):
        np.piecewise(np.zeros(1), [np.zeros(1, bool)] * n, [0] * len(funclist))  # raises NumPy's own error
    y = ops.np.zeros_like(x)
    for i, function in enumerate(funclist):
        mask = getitem(conditions, i)
        if callable(function):
            part = getitem(x, (ARRAY,), [mask])
            # A number that depends on data counts as more than 0; of real values it is known, and a graph that has no call says so.
            _write(y, mask, settle(part) if is_zero(part.size) else function(part, *args, **keywords))
        else:
            _write(y, mask, function)
    return y


def _is_array(x: Any) -> bool:
    return isinstance(x, list) or (isinstance(x, (np.ndarray, Tensor)) and not (not x.shape and is_number(x)))


def _write(y: Any, mask: Any, value: Any) -> None:
    if isinstance(y, Tensor):
        setitem(y, mask, value)
    else:
        y[mask] = value


FUNCTIONS: dict[Any, Any] = {np.select: _numpy_select, np.choose: _numpy_choose, np.piecewise: _piecewise}


def install() -> None:
    """Put the functions into the table."""
    numpy_functions.FUNCTIONS.update(FUNCTIONS)
    numpy_functions.SPELLED.setdefault(choose, (np.choose, {"a": "a", "choices": "choices", "mode": "mode"}))
    numpy_functions.SPELLED.setdefault(select, (np.select, {"condlist": "conditions", "choicelist": "choices", "default": "default"}))

attach_plain_forms(choose)
