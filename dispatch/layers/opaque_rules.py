"""Rules of users that call code which takes arrays alone: SciPy, or C. Such a rule is called as one operator.

A backward, jvp or batching rule gets values of whatever transform is around it: batched, traced, tracked. One that is written
with operators computes with them. One that asks a value for its NumPy array is opaque: it is called through an operator of
its own, the *rule's operator*, which every layer treats as it treats any operator. vmap calls it once for each item, a trace
records one call, and at the end it gets arrays.

Whether a rule is opaque its author says, `opaque=True` or `opaque=False`; or it is seen. A wrapper that refuses its array
notes that in the thread (`core.requests`), whatever the rule does with the exception. Then what the attempt has recorded
is taken back, the rule is called as one operator, and it is from then on, where it is given values of the same layers: what
a rule does in a batch says nothing of what it does on the tape.

An array of a backend that computes it only when its data are asked for does not refuse: it would be computed, unseen. A rule
that is given such arrays is first run on stand-ins of the same shapes and dtypes, which refuse.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from ..core import (
    DispatchKey,
    OpOverload,
    Setting,
    Tensor,
    active_modes,
    answered,
    device_of,
    is_array,
    key_of_rank,
    registration_lock,
    requests,
    setting,
)
from ..core.others_words import note_words
from ..core.pytree import leaves, mapped, unflatten
from ..dispatcher.layer import layers
from ..errors import DefinitionError, DispatchError, TracingError, kind_of
from ..schema.types import RESIDUAL, ListOf

NOTHING: frozenset[int] = frozenset()
TRANSFORMS = frozenset({int(DispatchKey.JVP), int(DispatchKey.AUTOGRAD), int(DispatchKey.VMAP)})
NEVER: frozenset[frozenset[int]] = frozenset()  # one for all rules: an empty frozenset takes 216 bytes
# By the device of arrays that are computed when their data are asked for: its key, and what makes the stand-in of one.
stand_ins: dict[str, tuple[int, Callable[[Any], Any]]] = {}
UNRECORDED: Sequence[Callable[[], None]] = ()  # what is to be taken back where no layer records


class Opacity:
    """Whether one rule is called as one operator.

    Attributes
    ----------
    declared : bool or None
        What its author said.
    is_open : bool
        Whether nothing says yet that it is opaque anywhere: it is called as it is, and looked at.
    asked : frozenset of frozenset of int
        The keys of the values that it was given whenever it asked one for its array.
    operator : OpOverload or None
        The rule's operator, once it was needed; of a functional form that of the operator it was made of.
    """

    __slots__ = ("asked", "declared", "is_open", "operator")

    def __init__(self, declared: bool | None = None) -> None:
        self.declare(declared)
        self.asked: frozenset[frozenset[int]] = NEVER
        self.operator: OpOverload | None = None

    def operator_made_by(self, make: Callable[[], OpOverload]) -> OpOverload:
        """The rule's operator, made once, whichever thread needs it first."""
        if self.operator is None:
            with registration_lock:
                if self.operator is None:
                    self.operator = make()
        return self.operator

    def declare(self, declared: bool | None) -> None:
        """Keep what the author said; nothing has been seen yet."""
        self.declared = declared
        self.is_open = declared is not True

    def holds(self, values: Any, more: frozenset[int] = NOTHING) -> bool:
        """Whether the rule is called as one operator for these values, and for some of `more` keys that it is given."""
        if self.is_open:
            return False
        keys = keys_of(values) | more
        if self.declared is None and self in (setting(DispatchKey.TRACE) or NOTHING):
            if not keys or keys & TRANSFORMS:  # of a transform inside another a rule gets all values at once, or takes turns
                raise TracingError(
                    "a rule of an operator is given values of two transforms, or of none, and it refers to what cannot be "
                    "compared, or may change it. Pass what is needed to the operator."
                )
            return True
        return bool(keys) and (self.declared is True or keys in self.asked)

    def ends_at(self, key: int) -> bool:
        """Whether no derivative comes of values of a layer: the rule is known to be opaque there, and its operator has none."""
        if self.declared is not True and not any(key in keys for keys in self.asked):
            return False
        made = self.operator
        return made is None or all(made.table.source(each) is None for each in (DispatchKey.AUTOGRAD, DispatchKey.JVP))

    def learns(self, values: Any, more: frozenset[int] = NOTHING) -> bool:
        """Note that the rule has asked one of these values for its array; no where it is not to be called as one operator."""
        keys = keys_of(values) | more
        if self.declared is False or not keys:
            return False
        self.asked |= {keys}
        self.is_open = False
        return True

    def __str__(self) -> str:
        if self.declared is True:
            return "opaque"
        if not self.asked:
            return ""
        return f"opaque under {', '.join(DispatchKey(key).name for key in sorted(NOTHING.union(*self.asked)))}"


class UserRule:
    """A user's function as a rule, and whether it is opaque."""

    __slots__ = ("__wrapped__", "opacity")

    def __init__(self, function: Callable[..., Any], opacity: Opacity) -> None:
        self.__wrapped__, self.opacity = function, opacity

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        return self.__wrapped__(*args, **keywords)


def called_as_one(opacities: Iterable[Opacity]) -> Setting:
    """A block in which these rules are called as one operator, in this thread: a trace cannot compare what they refer to."""
    found = frozenset(opacities)
    for opacity in found:
        opacity.is_open = False  # so that it is asked
    return Setting(DispatchKey.TRACE, found)


def keys_of(values: Any) -> frozenset[int]:
    """The keys of all wrappers among some values, and of what these wrap."""
    found = NOTHING
    for x in leaves(values):
        while isinstance(x, Tensor):
            found |= {key_of_rank(x.rank)}
            x = x.value
        if stand_ins and (known := stand_ins.get(device_of(x) or "")) is not None:
            found |= {known[0]}
    return found


def _stood_in(x: Any) -> Any:
    """A stand-in of what a leaf wraps, if that is an array which has one; the leaf if not."""
    inner = x
    while isinstance(inner, Tensor):
        inner = inner.value
    known = stand_ins.get(device_of(inner) or "")
    return x if known is None else known[1](inner)


def asks_stand_ins(
    opacity: Opacity, values: tuple[Any, ...], rule: Callable[..., Any], *first: Any, more: frozenset[int] = NOTHING
) -> bool:
    """Whether `rule(*first, *values)` asks for data that are not computed yet, which is learned; it is run on stand-ins."""
    if opacity.declared is False or not any([_stood_in(x) is not x for x in leaves(values)]):
        return False
    before, undo = requests(), marks()
    with suppress(Exception):  # what else it raises is raised again, by the values themselves
        rule(*first, *mapped(_stood_in, values))
    asked = requests() != before
    take_back(undo, before)
    return asked and opacity.learns(values, more)


def checked_opaque(op: OpOverload, opaque: Any) -> bool | None:
    """What `opaque=` was given, or raise."""
    if opaque is None or type(opaque) is bool:
        return opaque
    raise DefinitionError(f"{op.name}: opaque= is True, False, or None, and {kind_of(opaque)} was given.", operator=op.name)


def marks() -> list[Callable[[], None]]:
    """What takes back, for each layer that records into something of its own, whatever is recorded from here on.

    No layer does without a mode that is on, and then it need not be asked.
    """
    return [undo for layer in layers.values() if (undo := layer.mark()) is not None]


def take_back(undo: Sequence[Callable[[], None]], before: int) -> None:
    """Take back what an attempt has recorded, and its requests."""
    answered(before)
    for each in reversed(undo):
        each()


# What else a rule is given than the operator's arguments, for those who take it for one value, or for a dict.
_TUPLES = {
    "jvp rule": "tangents is a tuple with one for each of ({}), None for what has none",
    "vmap rule": "in_dims is a tuple with the mapped axis of each of ({}), None for what has none",
}


def note_rule(error: Exception, op: OpOverload, what: str, values: Any) -> None:
    """Say in an exception in which rule it was raised, where its own text does not, and what it may be about."""
    add_advice(error, op, what, values)
    if not isinstance(error, DispatchError) or not error.operator:
        said = f"in the {what} of {op.name}"
        own = isinstance(error, (AttributeError, LookupError, TypeError, ValueError)) and not isinstance(error, DispatchError)
        if what in _TUPLES and own:
            said += f": {_TUPLES[what].format(', '.join(op.arguments.names))}"
            lists = [a.name for a in op.schema.arguments if a.type.has_tensor and isinstance(a.type, ListOf)]
            said += f"; a list of these for {' and '.join(lists)}, which is a list" if lists else ""
        if isinstance(error, RecursionError):
            said += f". If it asks for what it is the rule of, it runs again, without end: call {op.schema.name} itself."
        if said not in getattr(error, "__notes__", ()):
            error.add_note(said)


def add_advice(error: Exception, op: OpOverload, what: str, values: Any) -> None:
    """Say in an exception of other code, raised in a rule that was given values of a transform, what they may have done."""
    if isinstance(error, DispatchError):
        return
    note_words(error)
    given = sorted({type(x).__name__ for x in leaves(values) if isinstance(x, Tensor)})
    if given:
        error.add_note(
            f"The {what} of {op.name} was given a {' and a '.join(given)} in place of an array. If it hands that to code that "
            "takes arrays alone, register it with opaque=True."
        )


def attempted(
    opacity: Opacity, op: OpOverload, what: str, rule: Callable[..., Any], as_one: Callable[..., Any], *values: Any
) -> Any:
    """What a rule gives: `rule(*values)` computes with the values as they are, `as_one(*values)` by the rule's operator."""
    if not opacity.is_open and opacity.holds(values):
        return as_one(*values)
    if stand_ins and asks_stand_ins(opacity, values, rule):
        return as_one(*values)
    before, undo = requests(), marks() if active_modes() else UNRECORDED
    try:
        found = rule(*values)
    except Exception as error:
        if requests() == before or not opacity.learns(values):
            note_rule(error, op, what, values)
            raise
    else:
        if requests() == before or not opacity.learns(values):
            return found
    take_back(undo, before)
    return as_one(*values)


# -- arguments of a rule's operator -------------------------------------------------------------------------------------------


def apart(x: Any) -> tuple[list[Any], list[int], Any]:
    """The arrays of a container, which of its leaves they are, and the container with None in their places.

    The last two are plain data, which a graph can write and read.
    """
    flat = list(leaves(x))
    at = [i for i, leaf in enumerate(flat) if is_array(leaf)]
    arrays = [flat[i] for i in at]
    for i in at:
        flat[i] = None
    return arrays, at, unflatten(x, flat)


def together(arrays: Any, at: Any, rest: Any) -> Any:
    """The container that `apart` was given, with these arrays."""
    flat = list(leaves(rest))
    for i, x in zip(at, arrays, strict=True):
        flat[i] = x
    return unflatten(rest, flat)


def handed(op: OpOverload) -> list[int]:
    """The arguments that are what another operator kept."""
    return [i for i, a in enumerate(op.schema.arguments) if a.type == RESIDUAL]


def fresh(made: list[Any], given: Any) -> Iterator[Any]:
    """Arrays as a kernel may return them: none is an argument, shows the memory of another array, or stands twice.

    All are in C order, as their shape rules say, whichever order a library gives.
    """
    seen = {id(x) for x in leaves(given)}
    for x in made:
        owns = type(x) is np.ndarray and x.flags.owndata and x.flags.writeable and id(x) not in seen
        seen.add(id(x))
        yield x if owns and x.flags.c_contiguous else np.array(x, order="C")
