"""Chooses the overload that a call means, and finds overloads that would be ambiguous.

A value fits a type exactly, or by widening, or not: an int fits `int` exactly and `float` by widening, an array fits
`Tensor` exactly, and `Scalar` and `Any` fit by widening only. Of two overloads that fit a call, the worse one is dropped:
it fits no value more exactly and one less exactly. One overload must remain; their order never decides.

So two overloads that some call fits exactly could never be told apart by it, and the second one is refused when it is defined.
"""

from collections.abc import Iterable, Mapping, Sequence
from types import NoneType
from typing import Any

import numpy as np

from ..core import Check, Kind, OpOverload, Tensor, check_open
from ..dispatcher import call_errors as calls
from ..errors import ArgumentError, DefinitionError
from ..schema.opaque_types import find_class
from ..schema.schema import Argument, Schema
from ..schema.types import (
    CALLABLE,
    DEVICE,
    NONE,
    STR,
    Base,
    ClassType,
    DictOf,
    ListOf,
    LiteralOf,
    OptionalOf,
    TupleOf,
    Type,
    UnionOf,
)  # fmt: skip

# The one type whose values fit a word exactly; NumPy's scalars and other subclasses of it widen.
_OWN = {
    "int": int, "float": float, "complex": complex, "bool": bool, "str": str, "bytes": bytes, "Device": str,
    "None": NoneType,
}  # fmt: skip
_ALWAYS_WIDENING = ("Scalar", "Any", "Residual")
_NUMBERS = (int, float, complex)
_IS_ARRAY = Check(Kind.TENSOR)
_PLAIN_INSTANCES: Any = type.__instancecheck__


def choose(
    name: str, overloads: Iterable[OpOverload], args: tuple[Any, ...], keywords: Mapping[str, Any]
) -> tuple[OpOverload, bool]:
    """Find the overload that a call means, and say whether the types of the values alone decided.

    If no overload fits, or two fit equally well, raises ArgumentError with the reason for each.
    """
    values = (*args, *keywords.values())
    for x in values:
        if isinstance(x, Tensor):
            check_open(x)
    candidates = list(overloads)
    fits, certain = [], True
    for op in candidates:
        grades, by_type = fit(op, args, keywords)
        certain = certain and by_type
        if grades is not None:
            fits.append((op, grades))
    best = [op for op, mine in fits if not any(_better(other, mine) for _, other in fits)]
    if len(best) == 1:
        return best[0], certain
    if best:
        names = " and ".join(op.name for op in best)
        raise ArgumentError(
            f"{name}: the call fits {names} equally well. Call the one you mean by its name: {_spelled(best[0])}(...).",
            operator=name,
        )
    anew = "was defined anew while it was called. Call it again."
    reasons = [f"  {calls.misfit(op.definition, args, keywords) or f'{op.name} {anew}'}" for op in candidates]
    raise ArgumentError("\n".join([f"{name}: no overload fits the call.", *reasons]), operator=name)


def fit(op: OpOverload, args: tuple[Any, ...], keywords: Mapping[str, Any]) -> tuple[tuple[bool, ...] | None, bool]:
    """How well a call fits one overload: for each value whether it fits exactly and not by widening; None for no fit.

    The second result is whether any call whose values have the same types has the same answer.
    """
    places = _places(op, len(args), keywords)
    if places is None:
        return None, True
    exactly, fits, by_type = [], True, True
    for i, x in zip(places, (*args, *keywords.values()), strict=True):
        check, argument = op.arguments.checks[i], op.schema.arguments[i]
        decided = is_decided_by_type(argument.type, check, argument, x)
        if not check(x):
            if decided:
                return None, True
            fits = False
        by_type = by_type and decided
        exactly.append(fits and is_exact(argument.type, check, x))
    return (tuple(exactly) if fits else None), by_type


def _places(op: OpOverload, count: int, keywords: Mapping[str, Any]) -> list[int] | None:
    """Which argument each value is for, or None where Python's rules of binding refuse the call."""
    names, defaults = op.arguments.names, op.arguments.defaults
    if count > op.arguments.positional:
        return None
    places = list(range(count))
    for name in keywords:
        if name not in names:
            return None
        places.append(names.index(name))
        if places[-1] < max(count, op.arguments.positional_only):
            return None
    given = set(places)
    return places if all(i in given or default for i, default in enumerate(defaults)) else None


def _better(one: tuple[bool, ...], other: tuple[bool, ...]) -> bool:
    return one != other and all(a >= b for a, b in zip(one, other, strict=True))


def _spelled(op: OpOverload) -> str:
    return f"dispatch.ops.{op.schema.namespace}.{op.schema.name}.{op.schema.overload or 'default'}"


def is_exact(kind: Type, check: Check | None, x: Any) -> bool:
    """Whether a value that fits a schema type, and so its check, fits it exactly, not by widening."""
    assert check is not None
    if isinstance(kind, OptionalOf):
        return x is None or is_exact(kind.element, check, x)
    if isinstance(kind, UnionOf):
        return any([part(x) and is_exact(member, part, x) for member, part in zip(kind.members, check.members, strict=True)])
    if isinstance(kind, ListOf):
        element, inside = kind.element, check.element
        if type(x) is range:
            return inside is not None and inside(0) and is_exact(element, inside, 0)
        return type(x) in (list, tuple) and all([is_exact(element, inside, item) for item in x])
    if isinstance(kind, TupleOf):
        parts = zip(kind.members, check.members, x, strict=True) if type(x) is tuple else ()
        return type(x) is tuple and all([is_exact(*part) for part in parts])
    if isinstance(kind, DictOf):
        key, value = check.members[0], check.element
        return type(x) is dict and all([is_exact(kind.key, key, k) and is_exact(kind.value, value, x[k]) for k in x])
    if isinstance(kind, ClassType):
        return type(x) is find_class(kind)
    if isinstance(kind, LiteralOf):
        return True
    if not isinstance(kind, Base) or kind.name in _ALWAYS_WIDENING:
        return False
    if kind.name == "Tensor":  # a Python number is one only where the hint says `np.ndarray | float`
        return isinstance(x, np.generic) or not isinstance(x, _NUMBERS)
    if kind.name == "ScalarType":  # a string of that meaning is a str first
        return not isinstance(x, str)
    if kind.name == "Callable":  # a class may be called, and so may an array of a class of its own
        return not isinstance(x, type) and not _IS_ARRAY(x)
    return type(x) is _OWN[kind.name]


def is_decided_by_type(kind: Type, check: Check, argument: Argument, x: Any) -> bool:
    """Whether the type of a value says if, and how exactly, it fits: for a list, a dtype or a device it takes a look inside."""
    if isinstance(kind, OptionalOf):
        return x is None or is_decided_by_type(kind.element, check, argument, x)
    if isinstance(kind, UnionOf):
        return all([is_decided_by_type(k, part, argument, x) for k, part in zip(kind.members, check.members, strict=True)])
    if isinstance(kind, ListOf):
        if isinstance(x, Sequence) and not isinstance(x, (str, bytes)):
            return False
        return kind.size is None or (check.element is not None and is_decided_by_type(kind.element, check.element, argument, x))
    if isinstance(kind, TupleOf):
        return not isinstance(x, tuple)
    if isinstance(kind, DictOf):
        return not isinstance(x, dict)
    if isinstance(kind, LiteralOf):
        return type(x) not in map(type, kind.choices)
    if isinstance(kind, ClassType) and kind.fields:
        return not isinstance(x, find_class(kind))
    if isinstance(kind, ClassType):  # an abstract class or a protocol may look at the instance, and learn new classes
        return check.cls is not None and type(check.cls).__instancecheck__ is _PLAIN_INSTANCES
    if not isinstance(kind, Base):
        return False
    if kind.name == "Tensor":
        return (argument.dtype is None and not argument.is_write) or not _IS_ARRAY(x)
    if kind.name == "ScalarType":
        return not isinstance(x, (str, type))
    return kind.name != "Device" or not isinstance(x, str)


def refuse_ambiguous(schema: Schema, others: Iterable[Schema]) -> None:
    """Raise DefinitionError, with a call, if some call would fit an overload and one of the others just as exactly."""
    for other in others:
        if (call := common_call(schema, other)) is not None:
            raise DefinitionError(
                f"{schema.full_name}{schema.signature.partition(' -> ')[0]} cannot stand beside "
                f"{other.full_name}{other.signature.partition(' -> ')[0]}: the call {call} fits both, and one as exactly as "
                "the other. Change a type or the number of arguments, or require a keyword.",
                operator=schema.full_name,
            )


def common_call(one: Schema, other: Schema) -> str | None:
    """A call that fits two overloads exactly, by the types of its arguments, or None where there is no such call.

    Whatever is given by position is given to both, and so is every name that one of them requires; more arguments only
    make it harder to fit both. Of several such calls it is the one with the fewest keywords, then with the fewest arguments.
    """
    found = []
    for count in range(min(len(one.positional), len(other.positional)) + 1):
        pairs = [("", a, b) for a, b in zip(one.arguments[:count], other.arguments[:count], strict=True)]
        mine = {a.name: a for a in one.arguments[count:] if not a.positional_only}
        yours = {a.name: a for a in other.arguments[count:] if not a.positional_only}
        needed = [a for schema in (one, other) for a in schema.arguments[count:] if not a.has_default]
        if any(a.name not in mine or a.name not in yours for a in needed):
            continue
        pairs += [(f"{name}=", mine[name], yours[name]) for name in dict.fromkeys(a.name for a in needed)]
        words = [(how, overlap(a.type, b.type, apart=_are_apart(a, b))) for how, a, b in pairs]
        if all(word is not None for _, word in words):
            found.append([f"{how}{word}" for how, word in words])
    shortest = min(found, key=lambda words: (sum("=" in word for word in words), len(words)), default=None)
    return None if shortest is None else f"{one.name}({', '.join(shortest)})"


def _are_apart(a: Argument, b: Argument) -> bool:
    return a.dtype is not None and b.dtype is not None and a.dtype != b.dtype


def overlap(a: Type, b: Type, *, apart: bool = False) -> str | None:
    """What fits two schema types exactly, as it reads in a call, or None where nothing does; `apart`: their dtypes differ."""
    if isinstance(a, OptionalOf) or isinstance(b, OptionalOf):
        inside = [kind.element if isinstance(kind, OptionalOf) else kind for kind in (a, b)]
        none = all(isinstance(kind, OptionalOf) or kind == NONE for kind in (a, b))
        return overlap(inside[0], inside[1], apart=apart) or ("None" if none else None)
    if isinstance(a, UnionOf) or isinstance(b, UnionOf):
        left, right = [kind.members if isinstance(kind, UnionOf) else (kind,) for kind in (a, b)]
        both = [overlap(x, y, apart=apart) for x in left for y in right]
        return next((word for word in both if word is not None), None)
    if isinstance(a, ListOf) and isinstance(b, ListOf):
        sizes = {n for n in (a.size, b.size) if n is not None and n > 1}
        word = overlap(a.element, b.element, apart=apart)
        return None if word is None or len(sizes) > 1 else f"[{', '.join([word] * max(sizes, default=1))}]"
    if isinstance(a, (ListOf, TupleOf)) and isinstance(b, (ListOf, TupleOf)):
        places = _places_of(a, b), _places_of(b, a)
        if len(places[0]) != len(places[1]):
            return None
        words = [overlap(x, y, apart=apart) for x, y in zip(*places, strict=True)]
        return None if None in words else f"({', '.join(map(str, words))})"
    if isinstance(a, DictOf) and isinstance(b, DictOf):
        key, value = overlap(a.key, b.key), overlap(a.value, b.value, apart=apart)
        return None if key is None or value is None else f"{{{key}: {value}}}"
    if apart and a.has_tensor:
        return None
    if isinstance(a, LiteralOf) or isinstance(b, LiteralOf):
        return _common_choice(a, b)
    if a == b:
        return str(a)
    if {a, b} == {STR, DEVICE}:
        return "str"
    if CALLABLE in (a, b):
        other = b if a == CALLABLE else a
        can_be_called = isinstance(other, ClassType) and any("__call__" in vars(base) for base in find_class(other).__mro__)
        return str(other) if can_be_called else None
    return None


def _common_choice(a: Type, b: Type) -> str | None:
    """A value that two types take exactly, one of which is a choice."""
    words = [x.choices if isinstance(x, LiteralOf) else None for x in (a, b)]
    for choice in words[0] or words[1] or ():
        for kind, others in zip((a, b), words, strict=True):
            same = any(type(x) is type(choice) and x == choice for x in others or ())
            if not (same or _OWN.get(str(kind)) is type(choice)):
                break
        else:
            return repr(choice)
    return None


def _places_of(kind: ListOf | TupleOf, other: ListOf | TupleOf) -> tuple[Type, ...]:
    """The types of the places of a tuple; a list has as many as the tuple beside it, if it may."""
    if isinstance(kind, TupleOf):
        return kind.members
    count = len(other.parts)
    return (kind.element,) * (count if kind.size is None or kind.size <= 1 else kind.size)
