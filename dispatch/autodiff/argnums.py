"""Finds the arguments that a transform differentiates by, and flattens them."""

from collections.abc import Callable, Sequence
from inspect import Parameter, signature
from operator import index
from typing import Any

import numpy as np

from ..core import Tensor, check_data, is_array, is_of_registered_class
from ..core.pytree import items_of, paths, unflatten
from ..dispatcher.conversion_advice import line_for
from ..errors import GradientError, did_you_mean, kind_of
from .structures import beside, flattened

Place = int | str  # of an argument: its position, or its name where it is given by name
Argnums = int | str | tuple[int | str, ...]


def checked_argnums(who: str, argnums: Any) -> tuple[tuple[int | str, ...], bool]:
    """The arguments that were asked for, as a tuple, and whether one was asked for by itself."""
    asked = argnums if isinstance(argnums, tuple) else (argnums,)
    for one in asked:
        if isinstance(one, bool) or not isinstance(one, (int, str, np.integer)):
            raise GradientError(
                f"{who}: argnums is {kind_of(one) if one is argnums else f'a tuple with {kind_of(one)} in it'}. "
                f"It says which arguments: the position of one, its name, or a tuple of these. {_advice(who, argnums)}"
            )
    return tuple(one if isinstance(one, str) else index(one) for one in asked), not isinstance(argnums, tuple)


def _advice(who: str, argnums: Any) -> str:
    places = isinstance(argnums, list) and all([isinstance(one, (int, str)) for one in argnums])
    if places:
        return f"Write argnums={tuple(argnums)}."
    return f"The arguments themselves go into the second call: {who}(f)(x)."


class Arguments:
    """The arguments of one call that a transform differentiates by, flattened once; for bad ones GradientError.

    `alone`: one was asked for by itself, so that results have its structure and are no tuple of one. Results have the structure
    of `like`, and `given` are its leaves; `leaves` has for each an array or a wrapper, None for one without a derivative.
    """

    __slots__ = ("_alone", "_args", "_keywords", "_places", "given", "leaves", "like", "who")

    def __init__(
        self,
        who: str,
        f: Callable[..., Any],
        asked: tuple[int | str, ...],
        alone: bool,
        args: tuple[Any, ...],
        keywords: dict[str, Any],
    ) -> None:
        self.who, self._alone, self._args, self._keywords = who, alone, args, keywords
        self._places: list[Place] = []
        values = []
        for one in asked:
            place, value = one, None
            if type(one) is int and 0 <= one < len(args):
                value = args[one]
            else:
                place, value = _located(f, who, one, args, keywords)
            if place in self._places:
                raise GradientError(f"{who} by an argument was asked for twice: argnums={asked}. Name each once.")
            self._places.append(place)
            values.append(value)
        self.like: Any = values[0] if alone else tuple(values)
        self.given = flattened(self.like)
        self.leaves: list[Any] = []
        for x in self.given:
            usual = (type(x) is np.ndarray or isinstance(x, Tensor)) and x.dtype.kind in "fc"
            self.leaves.append(x if usual else self._array(x, len(self.leaves)))

    def call_with(self, leaves: list[Any]) -> tuple[list[Any], dict[str, Any]]:
        """The arguments of the call, with others in place of the leaves that were given."""
        made = unflatten(self.like, leaves)
        args, keywords = list(self._args), self._keywords
        for place, value in zip(self._places, (made,) if self._alone else made, strict=True):
            if isinstance(place, str):
                keywords = {**keywords, place: value}
            else:
                args[place] = value
        return args, keywords

    def place_of(self, i: int) -> tuple[Place, Any, int]:
        """The place of the argument in which leaf i is, the argument, and the leaf's number in it."""
        for place, value in zip(self._places, (self.like,) if self._alone else self.like, strict=True):
            count = len(flattened(value))
            if i < count:
                return place, value, i
            i -= count
        raise IndexError(i)

    def _array(self, x: Any, i: int) -> Any:
        """A leaf that is no usual array as one, or None for what goes along in a container: text, None, flags, objects."""
        if isinstance(x, (float, complex)) and not isinstance(x, np.generic):
            return beside(np.asarray(x)[()])  # a number, which no write changes
        check_data(x)
        if is_array(x) and not (hasattr(x, "dtype") and hasattr(x, "shape")):
            said = f"{self.who} was given {kind_of(x)}, and asks an array for its shape and dtype"
            raise GradientError(f"{said}. Give the class these two attributes.")
        if is_array(x) and x.dtype.kind in "fc":
            return x if is_of_registered_class(x) else x if isinstance(x, np.generic) else np.asarray(x)
        place, argument, number = self.place_of(i)
        asked = f"{self.who} by argument {place!r} was asked for"
        if items_of(argument) is not None:
            path = list(paths(argument))[number]
            line = line_for(x, f"x{path}")
            if line is None and not is_array(x) and type(x) is not int:
                return None
            what, remedy = kind_of(x), "Write 2.0 for 2" if line is None else f"Write {line}"
            if is_array(x):
                what, remedy = f"an array of dtype {x.dtype}", "Cast it, x.astype(float)"
            raise GradientError(
                f"{asked}, and {path} of it is {what}, which has no derivative. {remedy}, or give it "
                "as another argument."
            )
        if line := line_for(x):
            raise GradientError(f"{asked}, which is {kind_of(x)}, and has no derivative. Write {line}.")
        if hasattr(type(x), "__array__") and not is_array(x):
            whose = f"{type(x).__module__.partition('.')[0]}.{type(x).__name__}"
            line = "np.asarray(x.detach())" if getattr(x, "requires_grad", False) is True else "np.asarray(x)"
            if whose.endswith("Tracer"):  # of JAX, which has no numbers inside its transforms
                line = "an operator of the function, custom_op, and call dispatch.interop.jax.export(op) there"
            raise GradientError(f"{asked}, which is a {whose}, and no array of NumPy. Write {line}.")
        if not is_array(x):
            remedy = "Give arrays, in lists, tuples, dicts, named tuples or dataclasses where there are several."
            if isinstance(x, (int, np.integer)):
                remedy = "Give an array of floating-point numbers; an integer has no derivative, write 2.0 for 2."
            raise GradientError(f"{asked}, which is {kind_of(x)}. {remedy}")
        remedy = f"Give a field of it: x[{x.dtype.names[0]!r}]" if x.dtype.names else "Cast it: x.astype(float)"
        raise GradientError(
            f"{asked}, which is an array of dtype {x.dtype}: only floating-point and complex values have a derivative. "
            f"{remedy}."
        )


def _located(
    f: Callable[..., Any], who: str, asked: int | str, args: Sequence[Any], keywords: dict[str, Any]
) -> tuple[Place, Any]:
    """Where an argument is that was asked for, and what it is."""
    if isinstance(asked, int):
        if not -len(args) <= asked < len(args):
            first = " The first is 0." if asked > 0 else ""
            remedy = f" Name it: {who}(f, argnums={next(iter(keywords))!r})." if keywords and not args else first
            if not args and not keywords:
                remedy = f" Make what the derivative is by an argument: {who}(lambda w: ...)(w)."
            some = f"{len(args)} argument{'s were' if len(args) != 1 else ' was'}"
            raise GradientError(f"{who} by argument {asked} was asked for, and {some} given by position.{remedy}")
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
            f"{', '.join(map(str, parameters.values())) or 'none'}.{did_you_mean(str(asked), parameters)}"
        )
    default = parameters[asked].default
    if default is Parameter.empty:
        raise GradientError(f"{who} by argument {asked!r} was asked for, which was not given and has no default.")
    return asked, default
