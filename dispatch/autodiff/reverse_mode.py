"""Reverse mode: a function runs on a tape of its own, which carries cotangents of its result back to its arguments."""

from collections.abc import Callable
from functools import wraps
from typing import Any, Literal, overload

import numpy as np

from ..core import Level, Reopened, Tensor, is_array, numbers_taken
from ..core.pytree import unflatten
from ..core.wrong_calls import check_takes, clear
from ..errors import ArgumentError, ConversionError, GradientError, check_flag, check_function, kind_of
from ..layers.autograd import Leaf, TrackedTensor, one, run_backward, track
from ..layers.derivatives import Layout, zeros
from .argnums import Argnums, Arguments, checked_argnums
from .function_outputs import as_memory, layouts_of, left, result_and_aux, warn_of_numbers
from .structures import array_in, fitted, flattened, layout_of

Pullback = Callable[[Any], tuple[Any, ...]]
NAMES = "the cotangent", "the result"

ONE_BY_ONE = "The primals are given one by one: vjp(f, x, y), not vjp(f, (x, y))."


@clear
def grad(f: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """Return a function that computes the gradient of `f`, which returns one number.

    Parameters
    ----------
    f : callable
        Returns one real number, a 0-d array say; with `has_aux` a pair of it and anything else.
    argnums : int, str or tuple of these
        The arguments to differentiate by: the position of one, its name, or several.
    has_aux : bool
        Whether `f` returns something beside the number. Then the new function returns `(gradient, aux)`.

    Returns
    -------
    callable
        Takes the arguments of `f`, and returns an array of the shape and dtype of the argument that `argnums` names; a tuple
        of them for a tuple. For a list, tuple, dict, named tuple or dataclass of arrays it returns the same container with
        gradients; text, None and objects in it become None. If the number does not depend on an argument, the gradient is
        zero. For a complex argument `x + 1j * y` it is `df/dx + 1j * df/dy`, as in torch: the direction in which the number
        grows fastest.

    Raises
    ------
    GradientError
        If an argument has no gradient, an integer say, or `f` does not return one real number.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> dispatch.grad(lambda x: np.sum(x**2))(np.array([1.0, 2.0]))
    array([2., 4.])
    >>> loss = lambda p, x: np.sum(p["w"] * x) + p["b"]
    >>> dispatch.grad(loss, "p")({"w": np.ones(2), "b": 0.5}, np.array([3.0, 4.0]))
    {'w': array([3., 4.]), 'b': array(1.)}
    """
    return _gradient_of(f, argnums, has_aux, with_value=False)


@clear
def value_and_grad(f: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False) -> Callable[..., tuple[Any, Any]]:
    """Return a function that computes the value of `f` and its gradient, in one run of `f`.

    Parameters
    ----------
    f, argnums, has_aux
        As in `grad`.

    Returns
    -------
    callable
        Returns `(value, gradient)`; with `has_aux`, `((value, aux), gradient)`.

    Raises
    ------
    GradientError
        As from `grad`.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> value, gradient = dispatch.value_and_grad(lambda x: np.sum(x**2))(np.array([1.0, 2.0]))
    >>> float(value), gradient
    (5.0, array([2., 4.]))
    """
    return _gradient_of(f, argnums, has_aux, with_value=True)


def _gradient_of(f: Callable[..., Any], argnums: Argnums, has_aux: bool, *, with_value: bool) -> Callable[..., Any]:
    who = "value_and_grad" if with_value else "grad"
    check_function(f, who, GradientError)
    asked, alone = checked_argnums(who, argnums)
    check_flag(has_aux, f"{who}: has_aux")

    @wraps(f)
    def gradient(*args: Any, **keywords: Any) -> Any:
        with Level("grad") as level:
            taped = TapedArguments(who, level, f, asked, alone, args, keywords)
            aux, before = None, numbers_taken()
            try:
                value = f(*taped.args, **taped.keywords)
            except (TypeError, AttributeError):
                check_takes(who, f, args, keywords)
                raise
            if has_aux is not False:
                value, aux = result_and_aux(value, has_aux)
                aux = left(aux, level)
            number = value if isinstance(value, Tensor) else array_in(value)
            if isinstance(number, TrackedTensor) and number.level is level:
                _check_scalar(number, number.kept.layout)
                found = run_backward((number.kept,), (one(number),), level, False, False)
                value = number.value if value is number else left(value, level)
            else:
                _check_scalar(number, layout_of(number))
                warn_of_numbers(who, (value,), before)
                found, value = {}, left(value, level)
            grads = taped.gradients(found)
        if with_value:
            return ((value, aux), grads) if has_aux else (value, grads)
        return (grads, aux) if has_aux else grads

    return gradient


def _check_scalar(value: Any, layout: Layout | None) -> None:
    if layout is not None and not layout[0] and layout[1].kind != "c":
        return
    if isinstance(value, (float, complex)):
        return
    if not is_array(value) and not isinstance(value, int):
        said = f"grad is of a function that returns one number, and this one returned {kind_of(value)}."
        if value is None:
            raise GradientError(f"{said} Add the return statement.")
        more = " Return the number alone, or (number, aux) with has_aux=True." if isinstance(value, (tuple, list, dict)) else ""
        raise GradientError(said + more)
    if np.shape(value):
        raise GradientError(
            f"grad is of a function that returns one number, and this one returned shape {value.shape}. Sum the result."
        )
    dtype = getattr(value, "dtype", np.dtype(type(value)))
    if dtype.kind == "c":
        raise GradientError(
            "grad is of a function that returns a real number, and this one returned a complex one. Take .real; the derivative "
            "of a holomorphic f is jvp(f, (z,), (np.ones_like(z),))[1]."
        )
    if dtype.kind != "f":
        raise GradientError(
            f"grad is of a function that returns a floating-point number, and this one returned one of {dtype}, which "
            "has no gradient. Return what it was computed from, or it beside the result, (result, aux), with has_aux=True."
        )


@overload
def vjp(f: Callable[..., Any], *primals: Any, has_aux: Literal[False] = False) -> tuple[Any, Pullback]: ...
@overload
def vjp(f: Callable[..., Any], *primals: Any, has_aux: Literal[True]) -> tuple[Any, Pullback, Any]: ...
@overload
def vjp(f: Callable[..., Any], *primals: Any, has_aux: bool) -> Any: ...
@clear
def vjp(f: Callable[..., Any], *primals: Any, has_aux: bool = False) -> Any:
    """Compute `f(*primals)`, and return with it a function that multiplies a cotangent by the transposed Jacobian.

    A cotangent has the shape of the result: it is the gradient of a number with respect to the result. The product is the
    gradient of that number with respect to the arguments.

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
        Takes a cotangent, with the structure and shapes of `out`. It returns a tuple of products, one for each of `primals`,
        with the structure, shape and dtype of that. It may be called any number of times, and batched and differentiated like
        any other function. While it exists, so do the arrays that the operators saved.
    aux : object
        With `has_aux`, what `f` returned beside its value.

    Raises
    ------
    GradientError
        If an argument or a result has no derivative; from the pullback, if a cotangent does not fit the result.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> out, pullback = dispatch.vjp(lambda x, y: {"xy": x * y}, np.array([1.0, 2.0]), np.array([3.0, 4.0]))
    >>> pullback({"xy": np.array([1.0, 10.0])})
    (array([ 3., 40.]), array([ 1., 20.]))
    """
    check_function(f, "vjp", GradientError, "(f, x)")
    check_flag(has_aux, "vjp: has_aux")
    with Level("vjp") as level:
        taped, before = TapedArguments("vjp", level, f, tuple(range(len(primals))), False, primals, {}), numbers_taken()
        try:
            result, aux = result_and_aux(f(*taped.args), has_aux)
        except (TypeError, AttributeError, ConversionError):
            if len(primals) == 1 and type(primals[0]) is tuple and isinstance(f, np.ufunc):
                raise ArgumentError(f"vjp: {f.__name__} was given a tuple. {ONE_BY_ONE}") from None
            remedy = "" if primals else " They stand behind the function: vjp(f, x)."
            if len(primals) == 1 and type(primals[0]) is tuple:
                remedy = f" {ONE_BY_ONE}"
            check_takes("vjp", f, primals, remedy=remedy)
            raise
        leaves = flattened(result)
        layouts, edges = layouts_of(leaves, result, "vjp"), edges_at(leaves, level)
        warn_of_numbers("vjp", leaves, before)
        out, aux = left(result, level), left(aux, level) if has_aux else None

    def pullback(*cotangents: Any, **names: Any) -> tuple[Any, ...]:
        if names:
            raise GradientError(f"vjp: the pullback takes one cotangent, by position, and {', '.join(names)} came by name.")
        if len(cotangents) != 1:
            what = "one of the structure of the result: a tuple for a tuple"
            given = f"{len(cotangents)} were" if cotangents else "none was"
            raise GradientError(f"vjp: the pullback takes one cotangent, and {given} given. Give {what}.")
        (cotangent,) = cotangents
        seeds = fitted(cotangent, out, layouts, "vjp", NAMES)
        with Reopened(level):
            grads: tuple[Any, ...] = taped.gradients(run_backward(edges, seeds, level, True, False))
        return grads

    return (out, pullback, aux) if has_aux else (out, pullback)


class TapedArguments(Arguments):
    """The arguments of a transform, put on the tape of its level: in `args` and `keywords` they are tracked values.

    `ends` has for each leaf the end of the tape, and the value there; None for one that has no derivative.
    """

    __slots__ = ("args", "ends", "keywords", "level")

    def __init__(
        self,
        who: str,
        level: Level,
        f: Callable[..., Any],
        asked: tuple[int | str, ...],
        alone: bool,
        args: tuple[Any, ...],
        keywords: dict[str, Any],
    ) -> None:
        super().__init__(who, f, asked, alone, args, keywords)
        self.level = level
        self.ends: list[tuple[Leaf, Any] | None] = []
        inside = []
        for x, old in zip(self.leaves, self.given, strict=True):
            if x is None:
                inside.append(old)
                self.ends.append(None)
            else:
                leaf = track(x, level, shared=True)
                inside.append(leaf)
                self.ends.append((leaf.kept, leaf.value))  # taken now: a write gives the tracked value another history
        self.args, self.keywords = self.call_with(inside)

    def gradients(self, found: dict[Leaf, Any]) -> Any:
        """What a backward gave, structured as the arguments are; it is taken out of `found`."""
        grads: list[Any] = []
        for end in self.ends:
            if end is None:
                grads.append(None)
            elif end[0] in found:
                g = found.pop(end[0])
                grads.append(g if g.shape else as_memory(g))
            else:
                grads.append(zeros(end[0].layout, end[1]))
        return unflatten(self.like, grads)


def edges_at(leaves: list[Any], level: Level) -> list[Any]:
    """Where a backward of each leaf of a result begins on the tape of a level; None where the leaf does not depend on it."""
    return [x.kept if isinstance(x, TrackedTensor) and x.level is level else None for x in leaves]
