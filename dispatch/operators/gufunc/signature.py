"""Reads signatures of generalised ufuncs, "(m,n),(n)->(m)", and binds them to shapes.

The named axes are the core dimensions, those of one item; all axes before them are loop dimensions, which broadcast, and
the operator does the same to every item. A name that occurs twice has one size; a number is a size itself; a name with
"?" may be absent from all operands at once; "()" is one number. This module works with shapes only: it computes all sizes
from the shapes of the arguments, or reports which of them contradict each other.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from ...errors import ArgumentError, SchemaError
from ...symbolic import broadcast, is_open

Shape = tuple[int, ...]
Core = tuple[str, ...]

# Compiled by `re`, which remembers, when the first signature is read: not by every import.
_DIMENSION = r"(?P<name>[A-Za-z_]\w*|[0-9]+)(?P<optional>\??)"
_GROUP = r"\s*\(([^()]*)\)\s*"
_EXAMPLE = 'Write the axes of each array in parentheses, "(m,n),(n)->(m)"; "()" for one number.'


class Binding(NamedTuple):
    """What the shapes of a call say."""

    loop: Shape
    sizes: dict[str, int]
    missing: frozenset[str]
    ndims: tuple[int, ...]


@dataclass(frozen=True)
class Signature:
    """The core dimensions of an operator's arrays, by name; a fixed size is named by its digits."""

    inputs: tuple[Core, ...]
    outputs: tuple[Core, ...]
    optional: frozenset[str] = frozenset()

    @classmethod
    def parse(cls, text: str) -> "Signature":
        """Read a signature as NumPy writes it; raises SchemaError if the text is none."""
        if not isinstance(text, str):
            raise SchemaError(f"a signature is a text, and was given as {type(text).__name__}. {_EXAMPLE}")
        left, arrow, right = text.partition("->")
        if not arrow:
            raise SchemaError(f"signature {text!r} has no '->'. {_EXAMPLE}")
        marks: dict[str, bool] = {}
        inputs, outputs = _groups(text, left, marks), _groups(text, right, marks)
        return cls(inputs, outputs, frozenset(name for name, optional in marks.items() if optional))

    @property
    def unknown(self) -> tuple[str, ...]:
        """The dimensions of the outputs that no input has: only the kernel can tell how long they are."""
        known = {name for core in self.inputs for name in core}
        return tuple(dict.fromkeys(name for core in self.outputs for name in core if name not in known and not name.isdigit()))

    def without(self, missing: frozenset[str]) -> "Signature":
        """The signature of the calls from which these optional dimensions are absent."""

        def rest(cores: tuple[Core, ...]) -> tuple[Core, ...]:
            return tuple(tuple(name for name in core if name not in missing) for core in cores)

        return Signature(rest(self.inputs), rest(self.outputs))

    def with_axes(self, counts: Sequence[int]) -> "Signature":
        """The signature of the calls whose arrays have so many axes each."""
        return self.without(_missing(self, tuple([(1,) * n for n in counts]))) if self.optional else self

    def bind(self, shapes: tuple[Shape, ...], names: Sequence[str] = (), operator: str = "") -> Binding:
        """Work out the loop dimensions and the sizes of the core dimensions; `names` and `operator` are for messages.

        Raises ArgumentError if an array has too few axes, a dimension two sizes, or the loop dimensions do not broadcast.
        """
        found = (_bind.__wrapped__ if any(map(is_open, shapes)) else _bind)(self, shapes)
        if isinstance(found, Binding):
            return found
        names = tuple(names) or tuple(f"argument {i}" for i in range(len(shapes)))
        place, fault = found
        operator_name = operator or "this call"
        words = fault.format(*map(repr, names), signature=self)
        raise ArgumentError(
            "\n".join([f"{operator_name}: {words}", *self._listed(shapes, names)]), operator=operator, argument=names[place]
        )

    def shapes(self, binding: Binding) -> tuple[Shape, ...] | None:
        """The shapes of the outputs, or None where they have a dimension that no input has."""
        if self.unknown:
            return None
        kept = self.without(binding.missing).outputs if binding.missing else self.outputs
        return tuple(
            binding.loop + tuple(int(name) if name.isdigit() else binding.sizes[name] for name in core) for core in kept
        )

    def _listed(self, shapes: tuple[Shape, ...], names: Sequence[str]) -> list[str]:
        """What each input says, a line each: for messages."""
        missing = _missing(self, shapes)
        rows = []
        for name, core, shape in zip(names, self.inputs, shapes, strict=True):
            kept = tuple(word for word in core if word not in missing)
            start = len(shape) - len(kept)
            sizes = [f"{word}={n}" for word, n in zip(kept, shape[max(start, 0) :], strict=False) if not word.isdigit()]
            known = (" ".join(sizes), f"loop {shape[:start]}") if start >= 0 else ("", "")
            rows.append((name, _spelled(core, self.optional), f"shape {shape}", *known))
        widths = [max(len(row[i]) for row in rows) for i in range(5)]
        used = [i for i in range(5) if widths[i]]
        return ["  " + "  ".join(f"{row[i]:{widths[i]}}" for i in used).rstrip() for row in rows]

    def __str__(self) -> str:
        sides = (self.inputs, self.outputs)
        return "->".join(",".join(_spelled(core, self.optional) for core in cores) for cores in sides)


def _spelled(core: Core, optional: frozenset[str]) -> str:
    return f"({','.join(name + '?' * (name in optional) for name in core)})"


def _groups(text: str, side: str, marks: dict[str, bool]) -> tuple[Core, ...]:
    """The arrays of one side; `marks` says of each name so far whether it is optional."""
    cores = []
    place = 0
    while True:
        group = re.compile(_GROUP).match(side, place)
        if group is None:
            raise SchemaError(f"signature {text!r} cannot be read {_at(side[place:])}. {_EXAMPLE}")
        words = [word.strip() for word in group[1].split(",")] if group[1].strip() else []
        cores.append(tuple(_dimension(text, word, marks) for word in words))
        place = group.end()
        if place == len(side):
            return tuple(cores)
        if side[place] != ",":
            raise SchemaError(f"signature {text!r} cannot be read {_at(side[place:])}. {_EXAMPLE}")
        place += 1


def _at(rest: str) -> str:
    return f"at {rest.strip()!r}" if rest.strip() else "at its end, where an array is due"


def _dimension(text: str, word: str, marks: dict[str, bool]) -> str:
    found = re.fullmatch(_DIMENSION, word)
    if found is None:
        loops = " Leave it out: the axes before those of an item are looped over, whatever they are." if word == "..." else ""
        said = f"signature {text!r}: {word!r} is no dimension. A dimension is a name, a size, or a name with '?'."
        raise SchemaError(said + loops)
    name = str(int(found["name"])) if found["name"].isdigit() else found["name"]
    optional = bool(found["optional"])
    if marks.setdefault(name, optional) != optional:
        advice = "Write it at every place, or at none."
        raise SchemaError(f"signature {text!r}: {name!r} stands there with '?' and without. {advice}")
    return name


def _missing(signature: Signature, shapes: tuple[Shape, ...]) -> frozenset[str]:
    """The optional dimensions that must be absent, for an array has too few axes: NumPy's rule, the first one first."""
    missing: frozenset[str] = frozenset()
    if not signature.optional:
        return missing
    for core, shape in zip(signature.inputs, shapes, strict=True):
        for name in core:
            if len(shape) >= sum(word not in missing for word in core):
                break
            if name in signature.optional:
                missing |= {name}
    return missing


@lru_cache(4096)
def _bind(signature: Signature, shapes: tuple[Shape, ...]) -> Binding | tuple[int, str]:
    """The binding, or the number of the input at fault and what is wrong, with `{0}` for the first input's name."""
    missing = _missing(signature, shapes)
    sizes: dict[str, int] = {}
    first: dict[str, int] = {}
    loops: list[Shape] = []
    for i, (core, shape) in enumerate(zip(signature.inputs, shapes, strict=True)):
        kept = [name for name in core if name not in missing]
        start = len(shape) - len(kept)
        if start < 0:
            axes = f"{len(shape)} {'axis' if len(shape) == 1 else 'axes'}"
            return i, f"{{{i}}} has {axes}, and {_spelled(core, signature.optional)} asks for {len(kept)} at least."
        for name, n in zip(kept, shape[start:], strict=True):
            if name.isdigit() and int(name) != n:
                return i, f"an axis of {{{i}}} has length {n}, and {{signature}} says {name}."
            if sizes.setdefault(name, n) != n:
                return i, f"dimension {name} of {{signature}} is {sizes[name]} in {{{first[name]}}} and {n} in {{{i}}}."
            first.setdefault(name, i)
        loops.append(shape[:start])
    loop = broadcast(loops)
    if loop is None:
        for i in range(1, len(loops)):
            for k in range(i):
                if not _broadcast(loops[k], loops[i]):
                    return i, f"the loop dimensions {loops[k]} of {{{k}}} and {loops[i]} of {{{i}}} do not broadcast."
    return Binding(loop or (), sizes, missing, tuple(map(len, loops)))


def _broadcast(a: Shape, b: Shape) -> bool:
    return all(m in (n, 1) or n == 1 for m, n in zip(reversed(a), reversed(b), strict=False))
