"""Gradients of functions that return one number."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from ..core import Level, Tensor
from ..errors import GradientError, kind_of
from ..layers.autograd import TrackedTensor, one, run_backward
from .argnums import Argnums, checked_argnums
from .function_outputs import left, result_and_aux
from .taped_call import Recording


def grad(f: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """The function that gives the gradient of a scalar-valued function.

    Parameters
    ----------
    f : callable
        Returns one 0-d value; with `has_aux` a pair of it and anything else.
    argnums : int, str or tuple of these
        The arguments to differentiate by: the position of one, its name, or several.
    has_aux : bool
        Whether `f` returns something beside its value; the gradient function then returns `(gradient, aux)`.

    Returns
    -------
    callable
        Gives an array of the shape and dtype of the argument, a tuple of them for a tuple of `argnums`. Of an argument that is
        a list, tuple, dict, named tuple or dataclass of arrays it gives the same of gradients, with None for text, None and
        objects in it. An argument on which the value does not depend has gradient zero. Of a complex argument it is torch's:
        the direction in which the value grows fastest, `df/dx + 1j * df/dy`.

    Raises
    ------
    GradientError
        If an argument has no gradient, being an integer say, or `f` does not return one real number.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> dispatch.grad(lambda x: np.sum(x**2))(np.array([1.0, 2.0]))
    array([2., 4.])
    >>> loss = lambda p, x: np.sum(p["w"] * x) + p["b"]
    >>> dispatch.grad(loss, "p")({"w": np.ones(2), "b": 0.5}, np.array([3.0, 4.0]))
    {'w': array([3., 4.]), 'b': array(1.)}
    """
    both = value_and_grad(f, argnums, has_aux)

    @wraps(f)
    def gradient(*args: Any, **keywords: Any) -> Any:
        value, grads = both(*args, **keywords)
        return (grads, value[1]) if has_aux else grads

    return gradient


def value_and_grad(f: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """The function that gives value and gradient of a scalar-valued function, from one run of it.

    Parameters
    ----------
    f, argnums, has_aux
        As in `grad`.

    Returns
    -------
    callable
        Gives `(value, gradient)`; with `has_aux` `((value, aux), gradient)`.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> value, gradient = dispatch.value_and_grad(lambda x: np.sum(x**2))(np.array([1.0, 2.0]))
    >>> float(value), gradient
    (5.0, array([2., 4.]))
    """
    asked, alone = checked_argnums("grad", argnums), not isinstance(argnums, tuple)

    @wraps(f)
    def value_and_gradient(*args: Any, **keywords: Any) -> Any:
        with Level("grad") as level:
            tape = Recording("grad", level)
            args, keywords = tape.begin(f, asked, args, keywords)
            value, aux = result_and_aux(f(*args, **keywords), has_aux)
            tracked = isinstance(value, TrackedTensor) and value.level is level
            _check_scalar(value)
            found = run_backward((value.data,), (one(value),), level, False, False) if tracked else {}
            grads = tape.gradients(found, alone)
            value = value.value if tracked else left(value, level)
            aux = left(aux, level) if has_aux else None
        return ((value, aux), grads) if has_aux else (value, grads)

    return value_and_gradient


def _check_scalar(value: Any) -> None:
    if isinstance(value, (float, int, complex)):
        return
    if not isinstance(value, (Tensor, np.ndarray, np.generic)):
        raise GradientError(f"grad is of a function that returns one number, and this one returned {kind_of(value)}.")
    if value.shape:
        raise GradientError(
            f"grad is of a function that returns one number, and this one returned shape {value.shape}. Sum the result."
        )
    if value.dtype.kind == "c":
        raise GradientError(
            "grad is of a function that returns a real number, and this one returned a complex one. Take .real."
        )
