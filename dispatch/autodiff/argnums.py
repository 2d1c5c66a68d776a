"""Which arguments a transform is by, and the arrays in them."""

from collections.abc import Callable, Sequence
from inspect import Parameter, signature
from operator import index
from typing import Any

import numpy as np

from ..core import Tensor
from ..core.pytree import paths
from ..errors import GradientError, kind_of
from .array_constants import beside
from .structures import ARRAYS, flattened, parts_of, refilled

Place = int | str  # of an argument: its position, or its name where it is given by name
Argnums = int | str | tuple[int | str, ...]


def checked_argnums(who: str, argnums: Any) -> tuple[int | str, ...]:
    """The arguments that were asked for, as a tuple; one that is given alone is the only one.

    Raises
    ------
    GradientError
        If something is neither a number nor a name.
    """
    asked = argnums if isinstance(argnums, tuple) else (argnums,)
    for one in asked:
        if not isinstance(one, (int, str, np.integer)):
            raise GradientError(
                f"{who}: argnums is {kind_of(one) if one is argnums else f'a tuple with {kind_of(one)} in it'}. "
                "It says which arguments: the position of one, its name, or a tuple of these."
            )
    return tuple(one if isinstance(one, str) else index(one) for one in asked)


def located(
    f: Callable[..., Any], who: str, asked: tuple[int | str, ...], args: Sequence[Any], keywords: dict[str, Any]
) -> list[tuple[Place, Any]]:
    """Where the arguments are that were asked for, and what they are.

    Raises
    ------
    GradientError
        If one was not given, or is asked for twice.
    """
    found = [_located(f, who, one, args, keywords) for one in asked]
    if len(found) > 1 and len({place for place, _ in found}) < len(found):
        raise GradientError(f"{who} by an argument was asked for twice: argnums={asked}. Name each once.")
    return found


def _located(
    f: Callable[..., Any], who: str, asked: int | str, args: Sequence[Any], keywords: dict[str, Any]
) -> tuple[Place, Any]:
    if isinstance(asked, int):
        if not -len(args) <= asked < len(args):
            raise GradientError(f"{who} by argument {asked} was asked for, and {len(args)} arguments were given by position.")
        return asked % len(args), args[asked]
    if asked in keywords:
        return asked, keywords[asked]
    try:
        parameters = signature(f).parameters
    except ValueError:  # of a function in C that says nothing
        parameters = signature(lambda *args: None).parameters
    named = [p.name for p in parameters.values() if p.kind in (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)]
    if asked in named[: len(args)]:
        return named.index(asked), args[named.index(asked)]
    if asked not in parameters:
        raise GradientError(
            f"{who} by argument {asked!r} was asked for, and the function has no such argument: it takes "
            f"{', '.join(map(str, parameters.values())) or 'none'}."
        )
    default = parameters[asked].default
    if default is Parameter.empty:
        raise GradientError(f"{who} by argument {asked!r} was asked for, which was not given and has no default.")
    return asked, default


def replaced(
    args: tuple[Any, ...], keywords: dict[str, Any], places: Sequence[Place], values: Sequence[Any]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call with others in some places."""
    new = dict(zip(places, values, strict=True))
    named = {place: value for place, value in new.items() if isinstance(place, str)}
    return tuple([new.get(i, x) for i, x in enumerate(args)]), keywords | named


def differentiable(x: Any, who: str, place: Place) -> list[Any]:
    """The leaves of an argument that a transform is by: an array or a wrapper for each, None for what has no derivative.

    A Python float is a 0-d array. In a container, text, None, flags and objects are what goes along; an integer there, and
    anything of the kind that is an argument itself, is a mistake.

    Raises
    ------
    GradientError
        If a leaf is an integer, or the argument no array.
    """
    if type(x) is np.ndarray and x.dtype.kind in "fc":
        return [x]
    if parts_of(x) is None:
        return [_array(x, who, place)]
    return [_leaf(leaf, x, i, who, place) for i, leaf in enumerate(flattened(x))]


def _array(x: Any, who: str, place: Place) -> Any:
    if isinstance(x, (float, complex)) and not isinstance(x, np.generic):
        return beside(np.asarray(x))
    if not isinstance(x, ARRAYS):
        raise GradientError(
            f"{who} by argument {place!r} was asked for, which is {kind_of(x)}. "
            "Give an array of floating-point numbers; an integer has no derivative, write 2.0 for 2."
        )
    if x.dtype.kind not in "fc":
        raise GradientError(
            f"{who} by argument {place!r} was asked for, which is an array of dtype {x.dtype}: only floating-point and complex "
            "values have a derivative. Cast it: x.astype(float)."
        )
    return x if isinstance(x, Tensor) else np.asarray(x)


def _leaf(x: Any, argument: Any, i: int, who: str, place: Place) -> Any:
    if isinstance(x, (*ARRAYS, float, complex)) and (not isinstance(x, ARRAYS) or x.dtype.kind in "fc"):
        return x if isinstance(x, Tensor) else np.asarray(x) if isinstance(x, ARRAYS) else beside(np.asarray(x))
    if isinstance(x, ARRAYS) or type(x) is int:
        what, advice = kind_of(x), "Write 2.0 for 2"
        if isinstance(x, ARRAYS):
            what, advice = f"an array of dtype {x.dtype}", "Cast it, x.astype(float)"
        raise GradientError(
            f"{who} by argument {place!r} was asked for, and {list(paths(argument))[i]} of it is {what}, which has no "
            f"derivative. {advice}, or give it as another argument."
        )
    return None


def with_leaves(x: Any, leaves: Sequence[Any]) -> Any:
    """An argument with others for its leaves, those that are None kept."""
    return refilled(x, iter([old if new is None else new for old, new in zip(flattened(x), leaves, strict=True)]))


def structured(alone: bool, arguments: Sequence[Any], leaves: Sequence[Any]) -> Any:
    """One value for each leaf of the arguments, put together as these are: as the one, or as a tuple of all.

    Parameters
    ----------
    alone : bool
        Whether one argument was asked for by itself.
    arguments : sequence
    leaves : sequence
        Of all arguments, in order.
    """
    values = iter(leaves)
    made = [refilled(x, values) for x in arguments]
    return made[0] if alone else tuple(made)
