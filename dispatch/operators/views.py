"""Tracks which wrapped value is a view of which, so that a write to one shows in the others.

In NumPy a write to an array shows in its views, because they share memory. A layer such as the tape gives a written value
a new array and must update its views. So each view keeps the operator and the arguments that made it, its base among
them, and the base has weak references to its views.

A write to a view makes a new base with `view_scatter`, the old base with the view replaced; then every view that is still
alive is made again by calling its operator on the new base. Both are operator calls, so the layer records them. Taking views
and writing to them stand in one file, of more than 350 lines, because both hold what a family is.
"""

from collections.abc import Callable
from math import prod
from sys import getrefcount
from typing import Any, NamedTuple

import numpy as np

from ..core import DispatchKey, OpOverload, Tensor, is_of_registered_class, unwrap
from ..core.pytree import arrays, leaves, mapped_arrays
from ..dispatcher.call_errors import read_only_view
from ..dispatcher.layer import Kernel
from .prims import clone, define, strided_copy
from .registered_arrays import check_writable, replaced
from .registry import ops
from .view_families import Family, View, join, viewing_kernel


class Place:
    """Where an array of the list `arrays` stands in an index."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "ARRAY"


ARRAY = Place()


class Look(NamedTuple):
    """A view operator and its arguments without the array; the argument of `view_scatter`.

    It is a container, so that code which flattens arguments finds the arrays in it.
    """

    op: OpOverload
    args: tuple[Any, ...]
    place: int = 0
    part: int = -1
    number: int = 0

    def at(self, x: Any, key: DispatchKey | None = None) -> Any:
        """Return the view of another array; with a key, by the kernel there, which no mode sees."""
        run = self.op.whole if key is None else self._kernel(key)
        numbers = iter(range(len(arrays(self.args[self.place]))))
        seen = x if self.part < 0 else mapped_arrays(lambda y: x if next(numbers) == self.part else y, self.args[self.place])
        return arrays(run(*self.args[: self.place], seen, *self.args[self.place + 1 :]))[self.number]

    def _kernel(self, key: DispatchKey) -> Kernel:
        kernel, names = self.op.at(key), self.op.arguments.keyword_names
        count = len(self.args) - len(names)
        return lambda *args: kernel(*args[:count], **dict(zip(names, args[count:], strict=True)))

    def __repr__(self) -> str:
        return f"<view by {self.op.name}>"


def look_of(view: View, rank: int) -> Look:
    """How a view is taken, below a rank: of the other arguments nothing but constants decides what it shows."""
    args = [None if i == view.place and view.part < 0 else unwrap(x, rank) for i, x in enumerate(view.args)]
    return Look(view.op, tuple(args), view.place, view.part, view.number)


def places_shown(x: Any, look: Look) -> np.ndarray[Any, Any] | None:
    """Which elements of `x`, counted in C order, a look shows; None where it shows parts of them, the real ones say.

    Whether what `x[i]` gives is a view or a copy is a class's own business, and so a write goes to the elements themselves.
    """
    seen = look.at(np.empty(x.shape, x.dtype), DispatchKey.CPU)
    return look.at(np.arange(prod(x.shape)).reshape(x.shape), DispatchKey.CPU) if seen.dtype == x.dtype else None


def scattered(x: Any, value: Any, look: Look) -> Any:
    """Make a copy of `x` in which what `look` shows of it is `value`."""
    if not ranks_of(value) <= ranks_of(x):  # a copy that can hold whatever the value is of
        made: Any = np.where(True, x, np.zeros_like(value, dtype=x.dtype, shape=x.shape))
        made = made if is_of_registered_class(owner_of(x)) else ops.np.setitem(x, Ellipsis, made)  # with the strides of x
    elif is_of_registered_class(x):
        places = places_shown(x, look)
        if places is not None:
            return replaced(x, places, value)
        check_writable(x)
        made = x.copy()
    else:
        made = clone(x) if isinstance(x, Tensor) else strided_copy(x)
    seen = look.at(made)
    owner = owner_of(made)
    if type(owner) is not np.ndarray or owner_of(seen) is owner:
        if isinstance(seen, np.ndarray) and not seen.flags.writeable:
            raise read_only_view(look.op.name, seen.shape, made.shape)
        seen[...] = value
        return made
    # It is laid out otherwise than what the view was taken of, as a gradient may be, and np.reshape has made a copy.
    flat = made.reshape(-1).copy()
    flat[look.at(np.arange(prod(made.shape)).reshape(made.shape))] = value
    made[...] = flat.reshape(made.shape)
    return made


def ranks_of(x: Any) -> set[int]:
    """Return the ranks of the wrappers of a value: an array below the same ones can hold it."""
    return {x.rank, *ranks_of(x.value)} if isinstance(x, Tensor) else set()


view_scatter = define(
    "np::view_scatter(Tensor x, Tensor value, Any look) -> Tensor", scattered, key=DispatchKey.CompositeExplicit
)


# -- taking a view ---------------------------------------------------------------------------------------------------------

_SHOWN_BY: dict[OpOverload, tuple[OpOverload, tuple[Any, ...]]] = {}


def set_shown_by(op: OpOverload, other: OpOverload, *more: Any) -> None:
    """Say that `other(x, *more)` takes the view that `op(x)` is: it is called again after a write, and does not raise."""
    _SHOWN_BY[op] = other, more


def with_views(op: OpOverload, kernel: Kernel, cls: type[Tensor]) -> Kernel:
    """Wrap a layer's kernel of an operator that returns views: it records in the field `family` what is a view of what."""
    places = [i for i, a in enumerate(op.schema.arguments) if a.alias is not None]
    shown, more = _SHOWN_BY.get(op, (op, ()))
    mutable = op.schema.is_mutable
    shares = _might_share if mutable else _shares  # a layer may run it on copies

    def note(out: Any, args: tuple[Any, ...]) -> None:
        for number, made in enumerate(arrays(out)):
            for i in places if type(made) is cls else ():
                for part, x in enumerate(arrays(args[i])):
                    how = shown, (*args, *more), i, -1 if x is args[i] else part, number
                    if type(x) is cls and (shares(made, x) or (type(x.value) is not np.ndarray and would_share(made, x, how))):
                        join(made, x, *how)

    return viewing_kernel(shown, more, kernel, cls, places[0] if len(places) == 1 else -1, mutable, note)


def _shares(view: Any, x: Any) -> bool:
    """Whether a value made from `x` shares its memory."""
    return x is not view and x.rank == view.rank and owner_of(view.value) is owner_of(x.value)


def would_share(view: Any, x: Any, how: tuple[Any, ...]) -> bool:
    """Whether a value of a registered class is a view of `x` as it is of NumPy's arrays; the class itself does not say."""
    if x is view or x.rank != view.rank or not is_of_registered_class(owner_of(x)):
        return False
    look = look_of(View(x, *how), x.rank)
    if any([isinstance(y, Tensor) or is_of_registered_class(y) for y in leaves(list(look.args))]):
        return False  # an index among its arguments gives a copy
    whole = np.empty(x.shape, x.dtype)
    seen = look.at(whole, DispatchKey.CPU)
    return isinstance(seen, np.ndarray) and np.may_share_memory(seen, whole)


def _might_share(view: Any, x: Any) -> bool:
    return x is not view and bool(x.rank == view.rank)


def owner_of(x: Any) -> Any:
    """Return the array that owns the memory of a value, below all wrappers."""
    while isinstance(x, Tensor):
        if x.value is None:
            base = getattr(x, "base", None)
            return x if base is None else base
        x = x.value
    while isinstance(x, np.ndarray) and x.base is not None:
        x = x.base
    return x


# -- numbers -------------------------------------------------------------------------------------------------------------


ARRAYS_OF_NO_AXES: set[OpOverload] = set()  # operators whose results are arrays, also where they have no axes
READ_ONLY_VIEWS: set[OpOverload] = set()  # operators through whose views nothing can be written
KEEPS_STRIDES: set[OpOverload] = set()  # operators whose results have the strides of the array that they are a copy of
ALIKE: set[OpOverload] = set()  # operators that give a number of a number, and an array of an array
SUMMING: set[OpOverload] = set()  # operators of these that give a number of an array, too, where they leave it no axes
INDEXING: dict[OpOverload, int] = {}  # operators that give an array where the argument at this place has an Ellipsis


def is_number(x: Any) -> bool:
    """Whether a value is a number, which NumPy has as a scalar and shares memory with nothing; an array of no axes is memory.

    A layer that knows more of a value than what it wraps, since it has many items or no data, says so by `number`.
    """
    while isinstance(x, Tensor):
        found = getattr(x, "number") if hasattr(type(x), "number") else None  # noqa: B009  one that fails costs
        if found is not None:
            return bool(found)
        x = x.value
    return isinstance(x, (np.generic, int, float, complex))


def gives_number(op: OpOverload, args: tuple[Any, ...]) -> bool:
    """Whether a result without axes is a number, where it is no view of an argument or a view of a number."""
    if op in ALIKE:
        return is_number(args[0]) or (op in SUMMING and bool(args[0].shape))
    if op in INDEXING:
        index = args[INDEXING[op]]
        return not any(i is Ellipsis for i in (index if isinstance(index, tuple) else (index,)))
    return not op.schema.is_view and op not in ARRAYS_OF_NO_AXES


# -- who shares memory -----------------------------------------------------------------------------------------------------


def family_of(x: Any) -> Family | None:
    """Return the family that `x` and the values sharing its memory belong to."""
    found = getattr(x, "family", None)
    return found.family if type(found) is View else found


def base_of(x: Any) -> Any:
    """Return the base that `x` is a view of, or `x` itself."""
    while type(getattr(x, "family", None)) is View:
        x = x.family.of
    return x


def shares_memory(x: Any) -> bool:
    """Whether a write to `x` may have to show in other values: it is a view, or has views that are alive."""
    return (family := family_of(x)) is not None and (type(x.family) is View or bool(family.alive()))


def _left(x: Any) -> bool:
    """Let `x` leave its family where none of the other values is alive, and say whether it stands alone then.

    Only the cost of a write hangs on it: following a write into values that nobody holds gives `x` the same numbers.
    """
    if not shares_memory(x):
        x.family = None
        return True
    chain = _chain(x)
    above = {id(view.of) for view in chain}
    if any(y is not x and id(y) not in above for y in x.family.family.alive()) if chain else True:
        return False
    if any(getrefcount(view.of) > 3 for view in chain):  # its view, the arguments of that, and the one that is passed
        return False
    if not all(map(_is_writeable, chain)):  # which is for NumPy to say, when it is tried
        return False
    x.family = None
    return True


def _is_writeable(view: View) -> bool:
    """Whether NumPy lets a view be written to; one made by np.broadcast_to it does not."""
    look = look_of(view, view.of.rank)
    if not all([type(n) is int for n in view.of.shape]):  # sizes that stand for any
        return look.op not in READ_ONLY_VIEWS
    seen = look.at(np.empty(view.of.shape, view.of.dtype), DispatchKey.CPU)
    return not isinstance(seen, np.ndarray) or seen.flags.writeable


def is_writeable(x: Any) -> bool:
    """Whether NumPy would let a value be written to: no number, and no view that is read-only, as np.broadcast_to makes it.

    A layer that does not follow views, as of a batch or a trace, does not know of these.
    """
    return not (x.read_only or (not x.shape and is_number(x))) and all(map(_is_writeable, _chain(x)))


def _chain(x: Any) -> list[View]:
    found = []
    while type(getattr(x, "family", None)) is View:
        found.append(x.family)
        x = x.family.of
    return found


def is_followed(x: Any) -> bool:
    """Whether every value that shares memory with `x` can be made again; one made by an operator that writes cannot."""
    family = family_of(x)
    return family is None or not any([view.family.op.schema.is_mutable for view in family.alive()])


def overlap(x: Any, y: Any) -> bool:
    """Whether two values may have an element in common."""
    while isinstance(x, Tensor):
        x = x.value
    while isinstance(y, Tensor):
        y = y.value
    return x is not None and y is not None and np.may_share_memory(x, y)


def has_data(x: Any) -> bool:
    """Whether there is memory below all wrappers of a value; of a fake there is none, which overlaps nothing."""
    while isinstance(x, Tensor):
        x = x.value
    return x is not None


def overlaps_itself(x: Any) -> bool:
    """Whether two elements of an array may share memory: an axis steps by less than what the faster ones take."""
    taken = x.itemsize
    for step, n in sorted([(abs(step), n) for step, n in zip(x.strides, x.shape, strict=True) if n > 1]):
        if step < taken:
            return True
        taken = step * (n - 1) + taken
    return False


# -- writing ---------------------------------------------------------------------------------------------------------------


def replace(x: Any, new: Any, put: Callable[[Any, Any], None], lowered: Callable[[Any], Any] = lambda x: x) -> None:
    """Replace a value, and update everything that shares memory with it.

    `put(x, new)` gives one wrapper a new value; `lowered` maps wrappers, also in containers, to what to compute with. A view
    that NumPy does not let write through raises ArgumentError, and nothing is changed.
    """
    if _left(x):
        put(x, new)
        return
    while type(x.family) is View:
        new = view_scatter(lowered(x.family.of), new, look_of(x.family, x.rank))
        x = x.family.of
    put(x, new)
    for view in x.family.alive():
        put(view, view.family.again(lowered))
