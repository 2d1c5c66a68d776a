"""Forward mode: a function runs on values that carry a tangent along."""

from collections.abc import Callable
from itertools import repeat
from typing import Any, Literal, overload

import numpy as np

from ..core import Level, Tensor, check_data, is_array, is_of_registered_class, numbers_taken, wrap
from ..core.array_memory import owned
from ..core.pytree import unflatten
from ..core.wrong_calls import check_takes, clear
from ..errors import GradientError, check_function, kind_of
from ..layers.autograd import TrackedTensor, protect, protect_argument, run_backward
from ..layers.derivatives import zeros
from ..layers.jvp import DualTensor
from .function_outputs import as_memory, left, result_and_aux, warn_of_numbers
from .structures import beside, fitted, flattened, layout_of

NAMES = "tangents", "primals"


@overload
def jvp(f: Callable[..., Any], primals: Any, tangents: Any, has_aux: Literal[False] = False) -> tuple[Any, Any]: ...
@overload
def jvp(f: Callable[..., Any], primals: Any, tangents: Any, has_aux: Literal[True]) -> tuple[Any, Any, Any]: ...
@overload
def jvp(f: Callable[..., Any], primals: Any, tangents: Any, has_aux: bool) -> Any: ...
@clear
def jvp(f: Callable[..., Any], primals: Any, tangents: Any, has_aux: bool = False) -> Any:
    """Compute `f(*primals)`, and the product of the Jacobian with tangents: how the result changes as the arguments move.

    Parameters
    ----------
    f : callable
        Returns an array or a container of them; with `has_aux` a pair of that and anything else.
    primals : tuple
        The arguments of `f`: arrays, floats, or containers of these.
    tangents : tuple
        The direction of the move, with the structure, shapes and dtypes of `primals`; None for what does not move.
    has_aux : bool
        Whether `f` returns something beside its value.

    Returns
    -------
    out : object
        What `f` returned.
    tangent : object
        The product, with the structure, shapes and dtypes of `out`. It has zeros where `out` does not depend on what moves,
        and None where `out` is no array of floating-point or complex numbers.
    aux : object
        With `has_aux`, what `f` returned beside its value.

    Raises
    ------
    GradientError
        If an argument has no derivative, or the tangents do not fit the primals.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> dispatch.jvp(lambda x: np.sum(x * x), (np.array([1.0, 2.0]),), (np.array([1.0, 0.0]),))
    (array(5.), array(2.))
    """
    for name, given in (("primals", primals), ("tangents", tangents)):
        if not isinstance(given, (tuple, list)):
            raise GradientError(f"jvp: {name} is {kind_of(given)}. Give a tuple with one for each argument of the function.")
    check_function(f, "jvp", GradientError, "(f, (x,), (t,))")
    leaves = flattened(primals)
    layouts = list(map(layout_of, leaves))
    moves = fitted(tangents, primals, layouts, "jvp", NAMES)
    with Level("jvp") as level:
        inside, before = unflatten(primals, list(map(dual, leaves, moves, repeat(level)))), numbers_taken()
        try:
            result, aux = result_and_aux(unrecorded(f(*inside), level), has_aux)
        except (TypeError, AttributeError):
            check_takes("jvp", f, primals)
            raise
        warn_of_numbers("jvp", flattened(result), before)
        moved = list(map(_moved, flattened(result), repeat(level)))
        out, tangent = left(result, level), unflatten(result, moved)
        aux = left(aux, level) if has_aux else None
    return (out, tangent, aux) if has_aux else (out, tangent)


def dual(x: Any, t: Any, level: Level) -> Any:
    """A value with a tangent, as it goes into a function; the value itself where there is no tangent."""
    if t is None:
        return x
    check_data(x)
    if not isinstance(x, Tensor):
        if not is_array(x):
            x = beside(np.asarray(x)[()])  # a number, which no write changes
        elif not is_of_registered_class(x) and not isinstance(x, np.generic):
            x = np.asarray(x)
    # protected: the caller's own array, which the function could write to
    return wrap(DualTensor, protect_argument(x), level, protect(t), True)


def unrecorded(result: Any, level: Level) -> Any:
    """A result without what a tape has recorded at the level of a `jvp`.

    A backward that reads a residual marks what it computes in this way: how numbers of a residual move is known to nobody, and
    where the result depends on them the walk back raises.
    """
    leaves, found = flattened(result), False
    for i, x in enumerate(leaves):
        if isinstance(x, TrackedTensor) and x.level is level:
            run_backward((x.kept,), (zeros(x.kept.layout, x.value),), level, True, False)
            leaves[i], found = x.value, True
    return unflatten(result, leaves) if found else result


def tangent_at(x: Any, level: Level) -> Any:
    """The tangent that a result has at a level; None where it has none."""
    return x.tangent if isinstance(x, DualTensor) and x.level is level else None


def _moved(x: Any, level: Level) -> Any:
    """The tangent of one result, of which nobody else holds a part; zeros where it does not move."""
    t, layout = tangent_at(x, level), layout_of(x)
    if t is None:
        return None if layout is None else zeros(layout, x)
    t = owned(t)
    return t if t.shape else as_memory(t)
