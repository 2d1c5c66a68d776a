"""Transforms of functions: gradients, on the tape."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from .containers import mapped
from .core import Level, Tensor
from .errors import GradientError, kind_of
from .memory import sole
from .tape import TrackedTensor, one, protect, run_backward, track, zeros


def grad(f: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False) -> Callable[..., Any]:
    """The function that gives the gradient of a scalar-valued function.

    Parameters
    ----------
    f : callable
        Returns one 0-d value; with `has_aux` a pair of it and anything else.
    argnums : int or tuple of int
        The positional arguments to differentiate by.
    has_aux : bool
        Whether `f` returns something beside its value; the gradient function then returns `(gradient, aux)`.

    Returns
    -------
    callable
        Gives an array of the shape and dtype of the argument, a tuple of them for a tuple of `argnums`. An argument on which
        the value does not depend has gradient zero.

    Raises
    ------
    GradientError
        If an argument has no gradient, being an integer say, or `f` returns more than one number.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> dispatch.grad(lambda x: np.sum(x**2))(np.array([1.0, 2.0]))
    array([2., 4.])
    """
    both = value_and_grad(f, argnums, has_aux)

    @wraps(f)
    def gradient(*args: Any, **keywords: Any) -> Any:
        value, grads = both(*args, **keywords)
        return (grads, value[1]) if has_aux else grads

    return gradient


def value_and_grad(f: Callable[..., Any], argnums: int | tuple[int, ...] = 0, has_aux: bool = False) -> Callable[..., Any]:
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
    numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums)

    @wraps(f)
    def value_and_gradient(*args: Any, **keywords: Any) -> Any:
        inside = list(args)
        if len({number % (len(args) or 1) for number in numbers}) < len(numbers):
            raise GradientError(f"grad by an argument was asked for twice: argnums={argnums}. Name each once.")
        with Level("grad") as level:
            leaves = []
            for number in numbers:
                leaves.append(_leaf(args, number, level))
                inside[number] = leaves[-1]
            result = f(*inside, **keywords)
            value, aux = _parts(result, has_aux)
            tracked = isinstance(value, TrackedTensor) and value.level is level
            _check_scalar(value)
            found = {}
            if tracked:
                found = run_backward((value.data,), (one(value),), level, False, False)
            grads = [sole(found.pop(x.data)) if x.data in found else zeros(x.data.layout, x.value) for x in leaves]
            value = value.value if tracked else value
            aux = _lowered(aux, level)
        gradients = grads[0] if isinstance(argnums, int) else tuple(grads)
        return ((value, aux), gradients) if has_aux else (value, gradients)

    return value_and_gradient


def _leaf(args: tuple[Any, ...], number: int, level: Level) -> TrackedTensor:
    if not -len(args) <= number < len(args):
        raise GradientError(f"grad by argument {number} was asked for, and {len(args)} arguments were given by position.")
    value = args[number]
    if isinstance(value, (float, complex)) and not isinstance(value, np.generic):
        value = np.asarray(value)
    if not isinstance(value, (Tensor, np.ndarray, np.generic)):
        raise GradientError(
            f"grad by argument {number} was asked for, which is {kind_of(value)}. "
            "Give an array of floating-point numbers; an integer has no gradient, write 2.0 for 2."
        )
    # protected: the caller's own array or value, which the function could write to while the tape needs it
    return track(protect(value) if isinstance(value, Tensor) else np.asarray(protect(value)), level)


def _parts(result: Any, has_aux: bool) -> tuple[Any, Any]:
    if not has_aux:
        return result, None
    if not isinstance(result, tuple) or len(result) != 2:
        raise GradientError("has_aux=True says that the function returns a pair (value, aux), and it returned something else.")
    return result


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


def _lowered(aux: Any, level: Level) -> Any:
    """What a function returned beside its value, out of the level it was computed at."""
    return mapped(lambda x: x.value if isinstance(x, TrackedTensor) and x.level is level else x, aux)
