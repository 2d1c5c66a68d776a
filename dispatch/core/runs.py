"""Which calls of a program are made together, block by block, and what a `Blockwise` has to know of them.

A run is consecutive calls of NumPy's ufuncs whose results have one shape, in C order. Its arguments are whole arrays of that
shape, one row that is repeated, or one number; none of them is cast. What the run makes and nobody reads after it has no array:
it lies in a block, which takes another value as soon as it is read for the last time.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .blockwise import Blockwise, selected

Layout = tuple[Any, ...]  # dtype, shape, strides
KINDS = frozenset("biufc")
BOOL, DOUBLE = np.dtype(bool), np.dtype(float)
MOST_ARGUMENTS = 3
MOST_CALLS = 256  # of a run; where the next begins, values that both read lie in arrays, which costs little
# A ufunc of somebody else's may count how often its loop is called, or report of each call by ways of its own.
OWN = frozenset([x for x in vars(np).values() if type(x) is np.ufunc and x.nout == 1 and not x.signature] + [selected])


class Loop(NamedTuple):
    """Which of a ufunc's functions in C NumPy takes, and its dtypes, the result's last."""

    number: int
    dtypes: tuple[np.dtype[Any], ...]


class Member(NamedTuple):
    """A call that may be part of a run."""

    ufunc: np.ufunc
    loop: Loop
    args: list[Any]  # of each its slot, or the number as an array
    layouts: Sequence[Layout | None]
    spreads: list[tuple[int, int]]
    row: int  # numbers of the row that is repeated, 0 for none
    result: Layout
    dying: Sequence[int]
    out: int


class Kind(NamedTuple):
    """What is known of a call by its ufunc, the layouts of its arrays and the classes of its numbers."""

    loop: Loop | None  # None where such a call is in no run
    spreads: list[tuple[int, int]]
    row: int
    held: tuple[Any, ...]  # the layouts, by whose ids a kind is found


class Runs:
    """The runs of some calls, found as the calls are taken, in order; `found` has each with the number of its first call.

    A run is planned as soon as it ends, and has at most `MOST_CALLS`: what is known of its calls is let go with it, and a
    program of any length is made in memory that grows with its steps alone.
    """

    def __init__(self) -> None:
        self.found: list[tuple[int, Blockwise]] = []
        self._taken = 0
        self._members: list[Member] = []
        self._known: dict[int, Layout] = {}
        self._shape: tuple[int, ...] = ()
        self._row = 0
        self._loops: dict[Any, Loop | None] = {}
        self._kinds: dict[tuple[Any, ...], Kind] = {}

    def take(self, call: tuple[Any, ...] | None) -> None:
        """Take the next call: None, or `(ufunc, args, layouts, result, dying, out)` as `Program` takes it.

        An argument is a slot with a layout, or a number without one.
        """
        member = None if call is None or call[0] not in OWN else self._member(call)
        if member is None:
            self.end()
        else:
            own = member.row
            if self._members and (
                len(self._members) == MOST_CALLS or not self._fits(member) or (self._row and own and self._row != own)
            ):
                self.end()
            self._members.append(member)
            self._shape, self._row = member.result[1], self._row or own
            for x, layout in zip(member.args, member.layouts, strict=True):
                if layout is not None:
                    self._known[x] = layout
            if member.out >= 0:
                self._known[member.out] = member.result
        self._taken += 1

    def _fits(self, member: Member) -> bool:
        """Return whether a call has the shape of the run that is open, and takes values for what the run takes them for."""
        known = self._known
        if member.result[1] != self._shape or member.out in known:
            return False
        for x, layout in zip(member.args, member.layouts, strict=True):
            if layout is not None and (found := known.get(x, layout)) is not layout and found != layout:
                return False
        return True

    def _member(self, call: tuple[Any, ...]) -> Member | None:
        """Return a call as a member of a run; None where it may be in none. What it finds of dtypes and layouts is kept."""
        ufunc, args, layouts, result, dying, out = call
        key = (
            ufunc,
            id(result),
            *[_kind(x) if layout is None else id(layout) for x, layout in zip(args, layouts, strict=True)],
        )
        kind = self._kinds.get(key)
        if kind is None:
            kind = self._kinds[key] = _kind_of(ufunc, args, layouts, result, self._loops)
        if kind.loop is None:
            return None
        given: list[Any] = []
        for x, layout, wanted in zip(args, layouts, kind.loop.dtypes, strict=False):
            value = _number(x, wanted) if layout is None else x.number
            if value is None:
                return None
            given.append(value)
        return Member(ufunc, kind.loop, given, layouts, kind.spreads, kind.row, result, dying, out)

    def end(self) -> None:
        """End the run that is open: one call alone is none."""
        if len(self._members) > 1:
            self.found.append((self._taken - len(self._members), _planned(self._members, self._row, self._known)))
        if self._members:
            self._members, self._known, self._row = [], {}, 0


def _kind_of(
    ufunc: np.ufunc, args: Sequence[Any], layouts: Sequence[Layout | None], result: Layout, loops: dict[Any, Loop | None]
) -> Kind:
    """Return what is known of calls like one."""
    held = (*layouts, result)
    none = Kind(None, [], 0, held)
    dtype, shape, strides = result
    if len(args) != ufunc.nin or ufunc.nin > MOST_ARGUMENTS:
        return none
    if math.prod(shape) <= 1 or not _is_in_c_order(shape, strides, dtype.itemsize):
        return none
    key = (ufunc, *[_kind(x) if layout is None else layout[0] for x, layout in zip(args, layouts, strict=True)])
    if key not in loops:
        loops[key] = None if any(x is None for x in key) else _loop(ufunc, key[1:])  # a dtype equals None
    loop = loops[key]
    if loop is None or not _are_one(loop.dtypes[-1], dtype):
        return none
    spreads: list[tuple[int, int]] = []
    for layout, wanted in zip(layouts, loop.dtypes, strict=False):
        if layout is None:
            spread: tuple[int, int] | None = (0, 0)
        else:
            spread = _spread(layout, shape) if _are_one(layout[0], wanted) else None
        if spread is None:
            return none
        spreads.append(spread)
    rows = {numbers for _, numbers in spreads if numbers}
    return none if len(rows) > 1 else Kind(loop, spreads, max(rows, default=0), held)


def _loop(ufunc: np.ufunc, kinds: tuple[Any, ...]) -> Loop | None:
    """Return the loop that NumPy takes for arguments of these dtypes or classes of numbers; None for none of its own."""
    try:
        dtypes = ufunc.resolve_dtypes((*kinds, None))
    except Exception:  # what NumPy refuses it refuses in the call
        return None
    if not all(x.kind in KINDS and x.isnative for x in dtypes):
        return None
    if ufunc is np.power and dtypes[-1].kind in "iu":  # the one loop of NumPy's own that raises by itself
        return None
    chars = "".join([x.char for x in dtypes])
    for i, types in enumerate(ufunc.types):
        if types.replace("->", "") == chars:
            return Loop(i, dtypes)
    return None


def _are_one(x: np.dtype[Any], y: np.dtype[Any]) -> bool:
    """Whether two dtypes are of one loop: `long` and `long long` are equal, and have loops of their own."""
    return x is y or (x == y and x.num == y.num)


def _kind(x: Any) -> Any:
    """Return what NumPy decides by of a number: its dtype, or the class of a Python number; None for anything else."""
    if isinstance(x, (np.generic, np.ndarray)):
        return x.dtype
    return BOOL if type(x) is bool else type(x) if type(x) in (int, float, complex) else None


def _number(x: Any, dtype: np.dtype[Any]) -> np.ndarray | None:
    """Return a number as an array of the dtype in which a loop reads it; None where NumPy would have something to say."""
    if type(x) is float and dtype is DOUBLE:
        return np.array(x)
    try:
        with np.errstate(all="raise"):
            found = np.array(x, dtype)
    except Exception:  # whatever NumPy has to say of the number it says in the call, which is then in no run
        return None
    return None if found.shape else found


def _is_in_c_order(shape: tuple[int, ...], strides: tuple[int, ...], itemsize: int) -> bool:
    for n, stride in zip(reversed(shape), reversed(strides), strict=True):
        if n != 1 and stride != itemsize:
            return False
        itemsize *= n
    return True


def _spread(layout: Layout, shape: tuple[int, ...]) -> tuple[int, int] | None:
    """Return how an operand lies along an array: items to the next number, numbers of a row; None for other ways.

    There are no rows, and 0 numbers in one, where it has all numbers of the array or one alone. An operand that is one number
    for each row is none of these ways: whether NumPy repeats the number or copies it depends on its release and on the sizes,
    and with a copy a function may compute otherwise.
    """
    dtype, own, strides = layout
    if len(own) > len(shape) or not _is_in_c_order(own, strides, dtype.itemsize):
        return None
    if math.prod(own) == 1:
        return 0, 0
    full = (1,) * (len(shape) - len(own)) + own
    first = next(i for i, n in enumerate(full) if n != 1)
    if full[first:] != shape[first:]:
        return None
    return 1, 0 if math.prod(shape[:first]) == 1 else math.prod(shape[first:])


def _planned(members: list[Member], row: int, layouts: dict[int, Layout]) -> Blockwise:
    """Return a run: the places of all values, and between which of them each call computes."""
    dies = {slot: s for s, member in enumerate(members) for slot in member.dying}
    read = {x: s for s, member in enumerate(members) for x in member.args if type(x) is int}
    places: list[tuple[Any, ...]] = []
    steps = []
    where: dict[int, int] = {}  # by slot its place
    blocks: dict[int, int] = {}  # by slot its block
    free: list[int] = []  # blocks that hold nothing
    spent: list[int] = []  # slots that are given and die in the run
    count = 0

    def place(*made: Any) -> int:
        places.append(made)
        return len(places) - 1

    for s, member in enumerate(members):
        operands, (dtype, *_) = [], member.result
        for x, layout, (along, numbers) in zip(member.args, member.layouts, member.spreads, strict=True):
            if layout is None:
                operands.append(place("known", -1, x, 0, 0, ()))
                continue
            if x not in where:
                where[x] = place("given", x, layout, along, numbers, ())
                if x in dies:
                    spent.append(x)
            operands.append(where[x])
        slots = dict.fromkeys([x for x in member.args if type(x) is int])
        dead = [x for x in slots if x in blocks and dies[x] == s]
        if member.out >= 0 and member.out not in dies:
            alike = [x for x in spent if read[x] <= s and layouts[x] == member.result]
            where[member.out] = place("made", member.out, member.result, 1, 0, tuple([where[x] for x in alike]))
            operands.append(where[member.out])
        else:  # the block of an argument that dies here may take what is of its width
            same = [x for x in dead if layouts[x][0].itemsize == dtype.itemsize]
            block = blocks[dead.pop(dead.index(same[0]))] if same else free.pop() if free else count
            count = max(count, block + 1)
            operands.append(place("kept", block, member.result, 1, 0, ()))
            if member.out >= 0:
                where[member.out], blocks[member.out] = operands[-1], block
            else:
                free.append(block)
        free += [blocks[x] for x in dead]
        steps.append((member.ufunc, member.loop.number, tuple(operands)))
    return Blockwise(math.prod(members[0].result[1]), row, places, steps, layouts)
