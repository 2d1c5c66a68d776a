"""jvp: a function run on values with tangents."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core import Level, Tensor, wrap
from ..core.array_memory import owned
from ..errors import GradientError, kind_of
from ..layers.autograd import TrackedTensor, protect, run_backward
from ..layers.jvp import DualTensor, zeros
from .array_constants import beside
from .function_outputs import left, result_and_aux
from .structures import ARRAYS, fitted, flattened, layout_of, matched, refilled

NAMES = "tangents", "primals"


def jvp(f: Callable[..., Any], primals: Any, tangents: Any, has_aux: bool = False) -> Any:
    """The value of a function, and how it moves where its arguments move along tangents.

    Parameters
    ----------
    f : callable
        Returns an array or a container of them; with `has_aux` a pair of that and anything else.
    primals : tuple
        The arguments of `f`: arrays, floats, or containers of these.
    tangents : tuple
        With the structure, shapes and dtypes of `primals`; None for what does not move.
    has_aux : bool
        Whether `f` returns something beside its value.

    Returns
    -------
    out : object
        What `f` returned.
    tangent : object
        The product of the Jacobian with the tangents, with the structure, shapes and dtypes of `out`; zeros for what does not
        depend on what moves, None for what is no array of floating-point or complex numbers.
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
    leaves = flattened(primals)
    layouts = [layout_of(x) for x in leaves]
    moves = fitted(matched(tangents, primals, "jvp", NAMES), layouts, primals, "jvp", NAMES)
    with Level("jvp") as level:
        inside = refilled(primals, iter([dual(x, t, level) for x, t in zip(leaves, moves, strict=True)]))
        result, aux = result_and_aux(recorded(f(*inside), level), has_aux)
        tangent = refilled(result, iter([_moved(x, level) for x in flattened(result)]))
        out, aux = left(result, level), left(aux, level)
    return (out, tangent, aux) if has_aux else (out, tangent)


def dual(x: Any, t: Any, level: Level) -> Any:
    """A value with a tangent, as it goes into a function; the value itself where there is no tangent."""
    if t is None:
        return x
    if not isinstance(x, Tensor):
        x = np.asarray(x) if isinstance(x, ARRAYS) else beside(np.asarray(x))
    # protected: the caller's own array, which the function could write to
    return wrap(DualTensor, protect(x), level, protect(t), True)


def recorded(result: Any, level: Level) -> Any:
    """A result without what a tape has recorded at the level of a `jvp`.

    A backward that reads a residual marks what it computes in this way: how numbers of a residual move is known to nobody, and
    where the result depends on them the walk back raises.
    """

    def unmarked(x: Any) -> Any:
        if not isinstance(x, TrackedTensor) or x.level is not level:
            return x
        run_backward((x.data,), (zeros(x.data.layout, x.value),), level, True, False)
        return x.value

    leaves = flattened(result)
    found = [unmarked(x) for x in leaves]
    same = all(x is leaf for x, leaf in zip(found, leaves, strict=True))
    return result if same else refilled(result, iter(found))


def tangent_at(x: Any, level: Level) -> Any:
    """The tangent that a result has at a level; None where it has none."""
    return x.tangent if isinstance(x, DualTensor) and x.level is level else None


def _moved(x: Any, level: Level) -> Any:
    """The tangent of one result, of which nobody else holds a part; zeros where it does not move."""
    t, layout = tangent_at(x, level), layout_of(x)
    if t is None:
        return None if layout is None else zeros(layout, x)
    return owned(t)
