"""vjp: a function run on a tape that stays, and is walked back for each cotangent."""

from collections.abc import Callable
from typing import Any

from ..core import Level, Reopened
from ..layers.autograd import TrackedTensor, run_backward
from .function_outputs import layouts_of, left, result_and_aux
from .structures import fitted, flattened, matched
from .taped_call import Recording

NAMES = "the cotangent", "the result"


def vjp(f: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """The value of a function, and the function that pulls a cotangent of it back to the arguments.

    Parameters
    ----------
    f : callable
        Returns an array of floating-point or complex numbers, or a container of them; with `has_aux` a pair of that and
        anything else.
    *primals : array, float, or container of these
        The arguments of `f`.
    has_aux : bool
        Whether `f` returns something beside its value.

    Returns
    -------
    out : object
        What `f` returned.
    pullback : callable
        Given a cotangent, with the structure and shapes of `out`, gives a tuple of the products with the Jacobian, one for
        each of `primals`, with the structure, shape and dtype of that. It may be called any number of times, and batched
        and differentiated like any other function. It holds what the function's operators have saved for it.
    aux : object
        With `has_aux`, what `f` returned beside its value.

    Raises
    ------
    GradientError
        If an argument or a result has no derivative, or, by the pullback, if a cotangent does not fit the result.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> out, pullback = dispatch.vjp(lambda x, y: {"xy": x * y}, np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    >>> pullback({"xy": np.array([1.0, 10.0])})
    (array([ 3., 40.]), array([ 1., 20.]))
    """
    with Level("vjp") as level:
        tape = Recording("vjp", level)
        args, keywords = tape.begin(f, tuple(range(len(primals))), primals, {})
        result, aux = result_and_aux(f(*args, **keywords), has_aux)
        layouts = layouts_of(result, "vjp")
        edges = roots(result, level)
        out, aux = left(result, level), left(aux, level)
    like = out

    def pullback(cotangent: Any) -> tuple[Any, ...]:
        seeds = fitted(matched(cotangent, like, "vjp", NAMES), layouts, like, "vjp", NAMES)
        with Reopened(level):
            found = run_backward(edges, seeds, level, True, False)
            grads: tuple[Any, ...] = tape.gradients(found, False)
        return grads

    return (out, pullback, aux) if has_aux else (out, pullback)


def roots(result: Any, level: Level) -> list[Any]:
    """Where a backward of each leaf of a result begins on the tape of a level; None where it does not depend on anything."""
    return [x.data if isinstance(x, TrackedTensor) and x.level is level else None for x in flattened(result)]
