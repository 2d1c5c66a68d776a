"""Makes other arguments from a sample: other layouts, other values, other sizes.

Each function yields a description, which is read after "on the sample", and arguments. Arrays inside lists, tuples and
dicts are changed too; other values stay as they are. A kernel that raises has refused the variant.
More than 350 lines, since each kind of variant is one function with its example.
"""

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import lru_cache
from itertools import count, islice, pairwise, product
from typing import Any

import numpy as np

from ..core.wrong_calls import holding
from ..errors import ArgumentError, check_int, how_many
from .cases import AXIS, arrays_in, is_array, map_arrays, put_arrays

Array = np.ndarray[Any, Any]
Arguments = tuple[Any, ...]
Variants = Iterator[tuple[str, Arguments]]

ONE_ALONE = "with length 1"
ONE_ELEMENT = "with one element of each array"
EMPTY = "with length 0"
MORE, FEWER, NONE = "with one array more", "with one array less", "with no array"
AT_ANOTHER = "at another element"
VECTOR = 64  # bytes that processors take at once, from addresses that these divide
NARROW = "in single precision"
WIDE = "in double precision"
COMPLEX = "as complex numbers"
MOST_SIZES = 14  # variants of size: each is a run of the kernel
ONE, LARGE = 1, 67  # lengths that every length takes once: rules go wrong at 1, and at blocks of 64 elements
LONG = 1031  # one that is beyond the buffers which kernels keep for short arrays
# of which 0 is one: of a step or a tolerance it is none, and a loop by it would not end
AMOUNT = re.compile(r"(\w+_)?(sigma|shift|offset|angle|gain|factor|scale|alpha|beta|weight|lag|delay|pad|padding|power"
                    r"|before|after|left|right|top|bottom|margin|extra)\d*"
                    r"|(\w+_)?(n|order|degree|times|repeats|rounds|passes|sweeps|steps|iters|iterations)")
# of which 0 has a short way, and the next number is as good; of an offset or a stride it may lie outside
CHOICE = re.compile(r"(\w+_)?(ddof|correction|order|ord|degree|deriv|derivative|norm|mode|lower|unit|p)")
# of which the next may lie outside: where something begins, and for `AHEAD` how far apart elements are
PLACE = re.compile(
    r"(\w+_)?(start|stop|begin|end|first|last|offset|index|idx|row|col|column|pos|position|place|which|channel|lo|hi|low|high"
    r"|[ij])\d*"
)
AHEAD = re.compile(r"(\w+_)?(strides?|inc[xy]?|ld[abc]?)\d*")
AXES = re.compile(r"(\w+_)?(axes|dims|perm|permutation|order)")
MOST_ELEMENTS = 1 << 20  # of an array that is made longer
MOST_OF_LONG = 1 << 13  # and of all arrays of one call, where the kernel is called with each


@holding("args")
def layouts(args: Arguments) -> Variants:
    """Yield the same values in other layouts: of memory that is laid out, read-only, byte-swapped or aligned otherwise.

    Parameters
    ----------
    args : tuple
        Arguments of an operator.

    Yields
    ------
    what, args : str, tuple
        Only layouts that differ from the sample's are made.

    Examples
    --------
    >>> [what for what, _ in layouts((np.ones((2, 3)), 2.0))]
    ['in Fortran order', 'with reversed strides', 'with steps', 'with reversed rows', 'as part of longer rows',
     'read-only', 'at another element', 'byte-swapped', 'unaligned']
    >>> [x.strides for _, (x,) in layouts((np.ones(4, np.float32),))]
    [(-4,), (8,), (4,), (4,), (4,), (4,)]
    >>> [x.strides for what, (x,) in layouts((np.ones((2, 3, 4)),)) if "axes" in what]
    [(96, 8, 24)]
    """
    arrays = arrays_in(args)
    if any(x.ndim > 1 and not x.flags.f_contiguous for x in arrays):
        yield "in Fortran order", _each(lambda x: x.copy(order="F"), args)
    elif any(x.ndim > 1 and not x.flags.c_contiguous for x in arrays):
        yield "in C order", _each(lambda x: x.copy(order="C"), args)
    if any(x.ndim > 2 for x in arrays):
        yield "with its axes in another order", _each(_turned, args)
    if any(x.ndim for x in arrays):
        yield "with reversed strides", _each(_reversed, args)
        steps = count(2)  # others for each array: a kernel may take one's for another's
        yield "with steps", _each(lambda x: _stepped(x, next(steps)), args)
    if any(x.ndim > 1 for x in arrays):
        yield "with reversed rows", _each(_with_reversed_rows, args)
        yield "as part of longer rows", _each(_in_longer_rows, args)
    if any(x.flags.writeable for x in arrays):
        yield "read-only", _each(_read_only, args)
    if any(_can_move(x) for x in arrays):
        yield AT_ANOTHER, _each(_at_another_element, args)
    if any(x.dtype.isnative and x.dtype.newbyteorder() != x.dtype for x in arrays):
        yield "byte-swapped", _each(lambda x: x.astype(x.dtype.newbyteorder()), args)
    if any(x.flags.aligned and x.itemsize > 1 and not x.dtype.hasobject for x in arrays):
        yield "unaligned", _each(_unaligned, args)


@holding("args", "kept")
def values(args: Arguments, kept: Collection[int] = ()) -> Variants:
    """Yield other values of the same shapes, dtypes and layouts: permuted, zeros; floats negated, tiny, large, and with nan.

    A permutation of the numbers from 0 stays one, here and where sizes change: what it leaves out would not be written.
    Bools among the plain arguments are flipped once, so that the other branch runs too.

    Parameters
    ----------
    args : tuple
        Arguments of an operator.
    kept : collection of int
        The places of arrays that keep their values, in the order in which they stand in the arguments.

    Yields
    ------
    what : str
    args : tuple

    Examples
    --------
    >>> [what for what, _ in values((np.ones(3), True))]
    ['with permuted values', 'with zeros', 'negated', 'with tiny values', 'with large values',
     'with nan and inf', 'with nan alone', 'with the other value of 1']
    """
    arrays = [x for i, x in enumerate(arrays_in(args)) if i not in kept]
    if arrays:
        yield "with permuted values", _each(permuted, args, kept)
        yield "with zeros", _each(lambda x: x if is_order(x) else _like(x, np.zeros(x.shape, x.dtype)), args, kept)
    if any(x.dtype.kind in "fc" for x in arrays):
        yield "negated", _each(_on_floats(np.negative), args, kept)
        yield "with tiny values", _each(_on_floats(lambda x: x * x.dtype.type(1e-3)), args, kept)
        yield "with large values", _each(_on_floats(lambda x: x * x.dtype.type(32)), args, kept)
        yield "with nan and inf", _each(_on_floats(_with_nan), args, kept)
        yield "with nan alone", _each(_on_floats(lambda x: np.full(x.shape, np.nan)), args, kept)
    if any(x.dtype.kind == "b" for x in arrays):
        yield "with True alone", _each(lambda x: np.ones_like(x) if x.dtype.kind == "b" else x, args, kept)
    yield from flags(args)


def flags(args: Arguments) -> Variants:
    """Yield the other value of each bool among the plain arguments.

    Parameters
    ----------
    args : tuple
        Arguments of an operator.

    Yields
    ------
    what : str
    args : tuple

    Examples
    --------
    >>> list(flags((2.0, True)))
    [('with the other value of 1', (2.0, False))]
    """
    for i, x in enumerate(args):
        if isinstance(x, (bool, np.bool_)):
            yield f"with the other value of {i}", (*args[:i], not x, *args[i + 1 :])


def others(args: Arguments, kept: Collection[int] = ()) -> Arguments:
    """Return the arguments with other values in the arrays but those `kept`: in another order, and floats half as large."""

    def other(x: Array) -> Array:
        moved = permuted(x)
        return _like(x, moved * x.dtype.type(0.5)) if x.dtype.kind in "fc" else moved

    return _each(other, args, kept)


def reordered(args: Arguments, kept: Collection[int] = ()) -> Arguments:
    """Return the arguments with the values in another order in the arrays but those `kept`: sums stay."""
    return _each(permuted, args, kept)


def halved(args: Arguments, kept: Collection[int] = ()) -> Arguments:
    """Return the arguments with half of each float in the arrays but those `kept`: what is in order stays so."""
    return _each(_on_floats(lambda x: x * x.dtype.type(0.5)), args, kept)


def last_changed(args: Arguments, kept: Collection[int] = ()) -> Arguments:
    """Return the arguments with another last element in the arrays but those `kept`."""

    def changed(x: Array) -> Array:
        made = _like(x, x)
        if x.size and x.dtype.kind in "fc":
            made[(-1,) * x.ndim] *= x.dtype.type(0.5)
        return made

    return _each(changed, args, kept)


def numbers(
    args: Arguments, names: Collection[str], kept: Collection[str] = (), *, special: bool = False, ahead: bool = False
) -> Variants:
    """Yield another axis for each argument that is one by its name, one less for another int above 1, less of a float.

    The axis is the last too, counted from the end. An int of 1 is 2, where it is no place by its name, and one of 0 is 1 where
    it is an order, a choice or an amount by its name. Beside arrays of integers there is one more for an int, and never less:
    it may be the length that they point into.

    Parameters
    ----------
    args : tuple
        Arguments of an operator.
    names : collection of str
        Their names.
    kept : collection of str
        The names of those that stay.
    special : bool
        Whether 1 is tried too, and 0 of what is an amount by its name: kernels have a short way for these.
    ahead : bool
        Whether a stride of 1 is 2 too, and the last of several ints one more: with these a kernel in C may read outside.

    Yields
    ------
    what : str
    args : tuple

    Examples
    --------
    >>> [args[1:] for _, args in numbers((np.ones(3), 2.0, 3), ["x", "sigma", "count"], special=True)]
    [(1.4, 3), (1.0, 3), (0.0, 3), (2.0, 2), (2.0, 1)]
    >>> [args for _, args in numbers((np.ones(3), -1, 4, 1), ["x", "axis", "count", "step"])]
    [(array([1., 1., 1.]), 0, 4, 1), (array([1., 1., 1.]), -1, 3, 1), (array([1., 1., 1.]), -1, 4, 2)]
    >>> [args[1] for _, args in numbers((np.array([0, 2]), 5), ["indices", "count"], special=True)]
    [6]
    >>> [args[1:] for _, args in numbers((np.ones(3), 0, 1), ["x", "ddof", "stride"])]
    [(1, 1)]
    >>> [args[1:] for _, args in numbers((np.ones(3), 1, (2, 2)), ["x", "stride", "factors"], ahead=True)]
    [(2, (2, 2)), (1, (2, 3))]
    """
    indices = any(x.dtype.kind in "iu" for x in arrays_in(args))
    kinds = (float, np.floating) if indices else (int, float, np.floating)
    for i, (name, x) in enumerate(zip(names, args, strict=True)):
        if name in kept:
            continue
        others: list[Any] = []
        if isinstance(x, (float, np.floating)) and x:
            others = [type(x)(0.7 * x)]  # no simple share: products with lengths are no integers
        elif (x is None or type(x) is int) and AXIS.fullmatch(name):
            others = [int(x == 0), -1]
        elif type(x) is int and (
            (x in (0, 1) and CHOICE.fullmatch(name))
            or (x == 0 and AMOUNT.fullmatch(name) and not PLACE.fullmatch(name))
            or (x == 1 and not PLACE.fullmatch(name) and (ahead or not AHEAD.fullmatch(name)))
        ):
            others = [x + 1]
        elif type(x) is int and x > 1:  # a step of 0 would not end
            others = [x + 1 if indices else x - 1]
        if special and isinstance(x, np.dtype):
            others = [np.dtype(dtype) for dtype in (np.float64, np.float32)]
        if special and isinstance(x, kinds) and not AXIS.fullmatch(name):
            short = [1, 0] if AMOUNT.fullmatch(name) else [1]
            others += [type(x)(y) for y in short if others and type(x)(y) not in others]
        if ahead and not indices and type(x) in (list, tuple) and len(x) > 1 and all(type(y) is int and y > 0 for y in x):
            others = [] if AXES.fullmatch(name) else [type(x)([*x[:-1], x[-1] + 1])]
        for other in others:
            if other != x:
                yield f"with another value of {i}", (*args[:i], other, *args[i + 1 :])
    amounts = [i for i, name in enumerate(names) if AMOUNT.fullmatch(name) and type(args[i]) in kinds and name not in kept]
    if special and len(amounts) > 1:
        last = amounts[-1]
        given = tuple(type(x)(0) if i in amounts else x for i, x in enumerate(args))
        yield f"with 0 for every amount, also another value of {last}", given


def number_lists(args: Arguments, names: Collection[str], kept: Collection[str] = ()) -> Variants:
    """Yield lists of numbers with a smaller first float, with one less, and with one more.

    One more is the last float again, or the last int in two parts of one sum. Lists that name axes stay, and those as long as
    an array, or with one number for each of its axes, keep their length.

    Parameters
    ----------
    args : tuple
        Arguments of an operator.
    names : collection of str
        Their names.
    kept : collection of str
        The names of those that stay.

    Yields
    ------
    what : str
    args : tuple

    Examples
    --------
    >>> [made for _, (x, *made) in number_lists((np.ones(7), [3, 4], [0.5, 2.0]), ["x", "sizes", "coefficients"])]
    [[[3], [0.5, 2.0]], [[3, 3, 1], [0.5, 2.0]], [[3, 4], [0.35, 2.0]], [[3, 4], [0.5]], [[3, 4], [0.5, 2.0, 2.0]]]
    """
    arrays = arrays_in(args)
    taken = {n for x in arrays for n in (x.ndim, *x.shape)}
    for i, (name, x) in enumerate(zip(names, args, strict=True)):
        kinds = set(map(type, x)) if type(x) in (list, tuple) else set()
        if name in kept or kinds not in ({int}, {float}) or len(x) < 2 or AXES.fullmatch(name):
            continue
        if kinds == {float} and x[0]:
            yield f"with another first number in '{name}'", (*args[:i], type(x)([0.7 * x[0], *x[1:]]), *args[i + 1 :])
        if len(x) in taken:
            continue
        yield f"with one number less in '{name}'", (*args[:i], x[:-1], *args[i + 1 :])
        last = type(x)([x[-1]] * 2 if kinds == {float} else [x[-1] - 1, 1])
        if kinds == {float} or x[-1] > 1:
            yield f"with one number more in '{name}'", (*args[:i], x[:-1] + last, *args[i + 1 :])


def named(what: str, names: Sequence[str]) -> str:
    """Return the words for a variant, with the name of an argument in place of its number."""
    head, _, number = what.rpartition(" ")
    return f"{head} '{names[int(number)]}'" if head.endswith("value of") else what


@holding("args", "fixed", "only_longer")
def sizes(args: Arguments, fixed: Collection[int] = (), *, only_longer: bool = False) -> Variants:
    """Yield other sizes: each length changed wherever it occurs, to one more, 1, 67 and 0, and equal lengths made different.

    Parameters
    ----------
    args : tuple
        Arguments of an operator.
    fixed : collection of int
        The places of arrays that stay, and whose lengths stay in the others too.
    only_longer : bool
        Whether no length may become less: then indices among the arguments still point into the others.

    Yields
    ------
    what : str
    args : tuple
        Values are repeated or left out.

    Examples
    --------
    >>> [x.shape for _, (x,) in sizes((np.ones((2, 3)),))]
    [(3, 4), (1, 3), (2, 1), (67, 3), (2, 67), (0, 3), (2, 0), ()]
    >>> [x.shape for _, (x,) in sizes((np.ones((2, 2)),))]
    [(3, 3), (2, 3), (1, 1), (67, 67), (0, 0), ()]
    """
    arrays = arrays_in(args)
    for i in fixed:
        if check_int(i, "sizes: fixed, the place of an array,") >= len(arrays):
            some = how_many(len(arrays), "array")
            raise ArgumentError(f"sizes: fixed has {i}, and the arguments have {some}. Places begin at 0.")
    arrays, fixed, lengths = _free(args, fixed)
    for what, change in islice(_resizings(arrays, lengths, fixed, only_longer=only_longer), MOST_SIZES):
        yield what, change(args)
    if any(x.ndim and x.size for x in arrays) and not fixed and not only_longer:
        yield ONE_ELEMENT, _each(lambda x: x.ravel()[:1].reshape(()).copy(), args)


@holding("args", "fixed")
def squares(args: Arguments, fixed: Collection[int] = ()) -> Variants:
    """Yield the first array with two neighbouring axes of different lengths as a square: the longer length cut everywhere.

    Parameters
    ----------
    args : tuple
        Arguments of an operator.
    fixed : collection of int
        The places of arrays that stay, and whose lengths stay in the others too.

    Yields
    ------
    what : str
    args : tuple
        Values are left out.

    Examples
    --------
    >>> [(what, x.shape, y.shape) for what, (x, y) in squares((np.ones((5, 3)), np.ones(5)))]
    [('with length 3 for 5', (3, 3), (3,))]
    """
    arrays, fixed, lengths = _free(args, fixed)
    pairs = (sorted(pair) for x in arrays for pair in pairwise(x.shape))
    for short, long in islice((pair for pair in pairs if 1 < pair[0] < pair[1] and pair[1] in lengths), 1):
        yield f"with length {short} for {long}", _each(_of_length(long, short), args, fixed)


@holding("args", "fixed")
def longer(args: Arguments, fixed: Collection[int] = ()) -> Variants:
    """Yield long arrays: each length changed to 67 and to 1031 wherever it occurs.

    Parameters
    ----------
    args : tuple
        Arguments of an operator.
    fixed : collection of int
        The places of arrays that stay, and whose lengths stay in the others too.

    Yields
    ------
    what : str
    args : tuple
        Values are repeated.

    Examples
    --------
    >>> [(what, x.shape) for what, (x,) in longer((np.ones((2, 3)),))]
    [('with length 67 for 2', (67, 3)), ('with length 67 for 3', (2, 67)),
     ('with length 1031 for 2', (1031, 3)), ('with length 1031 for 3', (2, 1031))]
    """
    arrays, fixed, lengths = _free(args, fixed)
    for length, n in product((LARGE, LONG), lengths):
        if n < length and sum(x.size * (length / n) ** x.shape.count(n) for x in arrays) <= MOST_OF_LONG:
            yield f"with length {length} for {n}", _each(_of_length(n, length), args, fixed)


@holding("args", "fixed")
def apart(args: Arguments, fixed: Collection[int] = ()) -> Variants:
    """Yield each array one longer along an axis, while another array that is as long stays: few kernels take both.

    Arrays of one rank that broadcast also come with length 1 along an axis of one of them, which is repeated beside the others.

    Parameters
    ----------
    args : tuple
        Arguments of an operator.
    fixed : collection of int
        The places of arrays that stay.

    Yields
    ------
    what : str
    args : tuple
        Values are repeated.

    Examples
    --------
    >>> [(what, x.shape, y.shape) for what, (x, y) in apart((np.ones((3, 2)), np.ones(3)))]
    [('with a longer axis 0 of array 0 alone', (4, 2), (3,)), ('with a longer axis 0 of array 1 alone', (3, 2), (4,))]
    >>> [(what, x.shape, y.shape) for what, (x, y) in apart((np.ones(3), np.ones(3)))][1]
    ('with length 1 for axis 0 of array 0 alone', (1,), (3,))
    """
    arrays = arrays_in(args)
    of_one_rank = len({x.ndim for x in arrays}) == 1  # a vector beside a matrix holds a weight for each column
    alike = of_one_rank and all(len({*lengths} - {1}) < 2 for lengths in zip(*[x.shape for x in arrays], strict=True))
    for k, x in enumerate(arrays):
        beside = {n for i, y in enumerate(arrays) if i != k for n in y.shape if n > 1}
        for axis in (axis for axis, n in enumerate(x.shape) if n in beside and k not in fixed):
            yield f"with a longer axis {axis} of array {k} alone", _with(args, k, _grown(x, axis))
            if alike:
                yield f"{ONE_ALONE} for axis {axis} of array {k} alone", _with(args, k, _of_axis(x, axis, 1))


@holding("args", "fixed")
def exchanged(args: Arguments, fixed: Collection[int] = ()) -> Variants:
    """Yield each array that is repeated along one axis as one that is repeated along another: `(3, 1)` for `(1, 4)`.

    Parameters
    ----------
    args : tuple
        Arguments of an operator.
    fixed : collection of int
        The places of arrays that stay.

    Yields
    ------
    what : str
    args : tuple
        Values are repeated and left out.

    Examples
    --------
    >>> [(what, x.shape, y.shape) for what, (x, y) in exchanged((np.ones((3, 4)), np.ones((1, 4))))]
    [('with length 3 for axis 0 and 1 for axis 1 of array 1', (3, 4), (3, 1))]
    """
    arrays = arrays_in(args)
    if len({x.ndim for x in arrays}) != 1:
        return
    shape = [max(lengths) for lengths in zip(*[x.shape for x in arrays], strict=True)]
    for k, x in enumerate(arrays):
        for i, j in product(range(x.ndim), repeat=2) if k not in fixed else ():
            if x.shape[i] == 1 < shape[i] and x.shape[j] == shape[j] > 1:
                made = _of_axis(_of_axis(x, i, shape[i]), j, 1)
                yield f"with length {shape[i]} for axis {i} and 1 for axis {j} of array {k}", _with(args, k, made)


@holding("args", "fixed")
def unbroadcast(args: Arguments, fixed: Collection[int] = ()) -> Variants:
    """Yield each axis of length 1 as long as that of another array, beside which it is repeated.

    Parameters
    ----------
    args : tuple
        Arguments of an operator.
    fixed : collection of int
        The places of arrays that stay.

    Yields
    ------
    what : str
    args : tuple
        Values are repeated.

    Examples
    --------
    >>> [(what, x.shape, y.shape) for what, (x, y) in unbroadcast((np.ones((3, 2)), np.ones((1, 2))))]
    [('with length 3 for axis 0 of array 1', (3, 2), (3, 2))]
    """
    arrays = arrays_in(args)
    for k, x in enumerate(arrays):
        for axis in range(x.ndim) if k not in fixed else ():
            lengths = [y.shape[axis - x.ndim] for y in arrays if y.ndim >= x.ndim - axis]
            if x.shape[axis] == 1 and (length := max(lengths)) > 1:
                yield f"with length {length} for axis {axis} of array {k}", _with(args, k, _of_axis(x, axis, length))


def _free(args: Arguments, fixed: Collection[int]) -> tuple[list[Array], set[int], list[int]]:
    """The arrays, the places of those that stay, and the lengths above 1 that none of these has."""
    arrays, fixed = arrays_in(args), {*fixed, *_beside_lists(args)}
    stay = {n for i in fixed for n in arrays[i].shape}
    return arrays, fixed, [n for n in dict.fromkeys(n for x in arrays for n in x.shape if n > 1) if n not in stay]


def _beside_lists(args: Arguments) -> set[int]:
    """The places of vectors with one element for each array of a list: weights of these, say."""
    counts = {len(x) for x in args if type(x) in (list, tuple) and x and all(map(is_array, x))}
    places = count()
    found = [(next(places), is_array(x), y) for x in args for y in arrays_in(x)]
    return {place for place, alone, y in found if alone and y.ndim == 1 and y.size in counts}


def _of_length(n: int, length: int) -> Callable[[Array], Array]:
    return lambda x: _resized(x, tuple(length if m == n else m for m in x.shape))


Change = Callable[[Arguments], Arguments]


def _resizings(
    arrays: list[Array], lengths: list[int], fixed: Collection[int], *, only_longer: bool
) -> Iterator[tuple[str, Change]]:
    def everywhere(table: dict[int, int]) -> Change:
        return lambda args: _each(lambda x: _resized(x, tuple(table.get(n, n) for n in x.shape)), args, fixed)

    def alone(k: int, axis: int) -> Change:
        def one(args: Arguments) -> Arguments:
            queue = iter(range(len(arrays)))
            return _each(lambda x: _grown(x, axis) if next(queue) == k else x, args)

        return one

    def last_grown(args: Arguments) -> Arguments:
        return _each(lambda x: _grown(x, x.ndim - 1), args, fixed)

    if lengths:
        yield "with every length one more", everywhere({n: n + 1 for n in lengths})
    squares = [k for k, x in enumerate(arrays) if any(m == n for m, n in pairwise(x.shape)) and max(x.shape) > 1]
    for k in [] if fixed or only_longer else squares:
        if len(arrays) > 1:
            yield "with a longer last axis everywhere", last_grown
        yield f"with a longer axis {arrays[k].ndim - 1} of array {k}", alone(k, arrays[k].ndim - 1)
    if not only_longer:
        for n in lengths:
            yield f"with length {ONE} for {n}", everywhere({n: ONE})
    for n in lengths:
        if n < LARGE and all(x.size * (LARGE / n) ** x.shape.count(n) <= MOST_ELEMENTS for x in arrays):
            yield f"with length {LARGE} for {n}", everywhere({n: LARGE})
    if not only_longer:
        for n in lengths:
            yield f"{EMPTY} for {n}", everywhere({n: 0})


def single_precision(args: Arguments) -> Variants:
    """Yield the arguments with float32 for float64, and complex64 for complex128.

    Parameters
    ----------
    args : tuple
        Arguments of an operator.

    Yields
    ------
    what : str
    args : tuple

    Examples
    --------
    >>> [x.dtype.name for _, (x, _) in single_precision((np.ones(3), 2.0))]
    ['float32']
    """
    narrow = {np.dtype(np.float64): np.float32, np.dtype(np.complex128): np.complex64}
    if any(x.dtype in narrow for x in arrays_in(args)):
        with np.errstate(all="ignore"):
            yield NARROW, _each(lambda x: x.astype(narrow.get(x.dtype, x.dtype)), args)


def double_precision(args: Arguments) -> Variants:
    """Yield the arguments with float64 for integers and for float32, where all arrays are of these; complex128 for complex64.

    Parameters
    ----------
    args : tuple
        Arguments of an operator.

    Yields
    ------
    what : str
    args : tuple

    Examples
    --------
    >>> [x.dtype.name for _, (x, _) in double_precision((np.arange(3), 2))]
    ['float64']
    >>> [x.dtype.name for _, (x,) in double_precision((np.ones(3, np.float32),))]
    ['float64']
    >>> list(double_precision((np.ones(3), np.arange(3))))
    []
    """
    arrays = arrays_in(args)
    if arrays and (all(x.dtype.kind in "iu" for x in arrays) or all(x.dtype.char in "fF" for x in arrays)):
        yield WIDE, _each(lambda x: x.astype(np.complex128 if x.dtype.kind == "c" else np.float64), args)


def mixed_precision(args: Arguments) -> Iterator[tuple[int, Arguments]]:
    """Yield the arguments with one array in single precision among others in double, and which one it is.

    Parameters
    ----------
    args : tuple
        Arguments of an operator.

    Yields
    ------
    place, args : int, tuple
        The place of that array among all.

    Examples
    --------
    >>> [[x.dtype.name for x in args] for _, args in mixed_precision((np.ones(3), np.ones(3)))]
    [['float32', 'float64'], ['float64', 'float32']]
    """
    narrow = {np.dtype(np.float64): np.float32, np.dtype(np.complex128): np.complex64}
    places = [i for i, x in enumerate(arrays_in(args)) if x.dtype in narrow]
    for place in places if len(places) > 1 else ():
        with np.errstate(all="ignore"):
            kept = {i for i, _ in enumerate(arrays_in(args)) if i != place}
            yield place, _each(lambda x: x.astype(narrow[x.dtype]), args, kept)


def smaller_integers(args: Arguments) -> Variants:
    """Yield the arguments with smaller integers, where all arrays are of integers that these can hold.

    Parameters
    ----------
    args : tuple
        Arguments of an operator.

    Yields
    ------
    what : str
    args : tuple

    Examples
    --------
    >>> [x.dtype.name for _, (x,) in smaller_integers((np.array([3, 200]),))]
    ['int32']
    """
    arrays = arrays_in(args)
    if arrays and all(x.dtype.kind in "iu" for x in arrays):
        for dtype in (np.dtype(np.int32), np.dtype(np.int8)):
            if any(x.itemsize > dtype.itemsize for x in arrays) and all(_holds(dtype, x) for x in arrays):
                yield f"as {dtype}", _each(lambda x, dtype=dtype: x.astype(dtype), args)  # type: ignore[misc]


def _holds(dtype: "np.dtype[Any]", x: Array) -> bool:
    return not x.size or bool(np.iinfo(dtype).min <= x.min() and x.max() <= np.iinfo(dtype).max)


def wider_integers(args: Arguments) -> Variants:
    """Yield the arguments with int64, where all arrays are of smaller integers.

    Parameters
    ----------
    args : tuple
        Arguments of an operator.

    Yields
    ------
    what : str
    args : tuple

    Examples
    --------
    >>> [x.dtype.name for _, (x,) in wider_integers((np.array([3, 200], np.int32),))]
    ['int64']
    """
    arrays = arrays_in(args)
    if arrays and all(x.dtype.kind in "iu" and x.itemsize < 8 for x in arrays):
        yield "as int64", _each(lambda x: x.astype(np.int64), args)


def whole_memory(args: Arguments) -> Arguments:
    """Return what a kernel finds that takes int64 of the same values for integers of the arrays' own size."""
    return _each(lambda x: x.astype(np.int64).ravel().view(x.dtype)[: x.size].reshape(x.shape), args)


def zeros_and_ones(args: Arguments) -> Arguments:
    """Return the arguments with 0 and 1 in the arrays of integers: products and sums of these are small."""
    return _each(lambda x: _like(x, np.resize([1, 1, 0], x.shape)) if x.dtype.kind in "iu" else x, args)


def other_kinds(args: Arguments) -> Variants:
    """Yield the arguments as complex numbers and as integers, where all arrays are of floats; complex ones as real numbers.

    Parameters
    ----------
    args : tuple
        Arguments of an operator.

    Yields
    ------
    what : str
    args : tuple

    Examples
    --------
    >>> [x.tolist() for _, (x,) in other_kinds((np.array([1.0, 2.2]),))]
    [[(1+0.5j), (2.2+1.1j)], [1, 2]]
    """
    arrays = arrays_in(args)
    if arrays and all(x.dtype.kind == "f" for x in arrays):
        with np.errstate(all="ignore"):
            yield COMPLEX, _each(lambda x: np.asarray(x + 0.5j * x), args)
            yield "as integers", _each(lambda x: np.asarray(np.rint(np.nan_to_num(x)), np.int64), args)
    elif any(x.dtype.kind == "c" for x in arrays):
        yield "as real numbers", _each(lambda x: x.real.copy(order="K"), args)


def lists(args: Arguments, names: Sequence[str], kept: Collection[str] = (), *, same_length: bool = False) -> Variants:
    """Yield lists of arrays with one more, with one less, with none, and with an axis of the first, middle or last one longer.

    Parameters
    ----------
    args : tuple
        Arguments of an operator.
    names : sequence of str
        Their names.
    kept : collection of str
        The names of those that stay.
    same_length : bool
        Whether only arrays change, and no list.

    Yields
    ------
    what : str
    args : tuple

    Examples
    --------
    >>> [[x.shape for x in xs] for _, (xs,) in lists(([np.ones(3), np.ones(3)],), ["xs"])]
    [[(3,), (3,), (3,)], [(3,)], [], [(4,), (3,)], [(3,), (4,)]]
    """
    for i, (name, xs) in enumerate(zip(names, args, strict=True)):
        if name in kept or type(xs) not in (list, tuple) or not xs or not all(map(is_array, xs)):
            continue

        def put(items: Sequence[Any], i: int = i, xs: Sequence[Any] = xs) -> Arguments:
            return (*args[:i], type(xs)(items), *args[i + 1 :])  # type: ignore[call-arg]

        if not same_length:
            yield f"{MORE} in '{name}'", put([*xs, xs[-1].copy()])
            if len(xs) > 1:
                yield f"{FEWER} in '{name}'", put(xs[:-1])
            yield f"{NONE} in '{name}'", put([])
        if len(xs) > 1:
            for k, which in ((0, "first"), (len(xs) // 2, "middle"), (len(xs) - 1, "last"))[:: 1 if len(xs) > 2 else 2]:
                for axis in range(xs[k].ndim):
                    longer = put([*xs[:k], _grown(xs[k], axis), *xs[k + 1 :]])
                    yield f"with a longer axis {axis} of the {which} array in '{name}'", longer


def permuted(x: Array) -> Array:
    """Return the values of an array in another order, the same in every run; a single element is halved."""
    if x.size < 2:
        return _like(x, x * x.dtype.type(0.5)) if x.dtype.kind in "fc" else x
    return _like(x, x.ravel()[_order(x.size)].reshape(x.shape))


@lru_cache(maxsize=16)
def _order(size: int) -> Array:
    """An order of so many elements; to make a generator takes ten times as long as to use one."""
    return np.random.default_rng(size).permutation(size)


def _each(f: Callable[[Array], Array], args: Arguments, kept: Collection[int] = ()) -> Arguments:
    places = count()
    return tuple(map_arrays(lambda x: x if next(places) in kept else f(x), argument) for argument in args)


def _like(x: Array, new: Any) -> Array:
    """Return new values in the layout of `x`."""
    made = np.empty_like(x, dtype=x.dtype)
    made[...] = new
    return made


def _on_floats(f: Callable[[Array], Any]) -> Callable[[Array], Array]:
    return lambda x: _like(x, f(x)) if x.dtype.kind in "fc" else x


def _with_nan(x: Array) -> Array:
    made = x.copy()
    made.flat[::3] = np.nan
    made.flat[1::6] = np.inf
    made.flat[4::6] = -np.inf
    return made


def _with_reversed_rows(x: Array) -> Array:
    return x.copy(order="K") if x.ndim < 2 else np.ascontiguousarray(x[::-1])[::-1]


def _reversed(x: Array) -> Array:
    if not x.ndim:  # x[()] is a scalar, and no array any more
        return x.copy()
    flip = (slice(None, None, -1),) * x.ndim
    return np.ascontiguousarray(x[flip]).reshape(x.shape)[flip]


def _stepped(x: Array, step: int) -> Array:
    if not x.ndim:
        return x.copy()
    made = np.repeat(x, step, axis=-1)[..., ::step]
    made[...] = x
    return made


def _in_longer_rows(x: Array) -> Array:
    return np.concatenate([x, x[..., -1:]], axis=-1)[..., : x.shape[-1]] if x.ndim > 1 else x.copy()


def _read_only(x: Array) -> Array:
    made = x.copy(order="K")
    made.flags.writeable = False
    return made


def _turned(x: Array) -> Array:
    """Return a copy whose last two axes lie in memory the other way round: of more than two in neither C nor Fortran order."""
    return x.swapaxes(-1, -2).copy(order="C").swapaxes(-1, -2) if x.ndim > 2 else x.copy(order="K")


def _can_move(x: Array) -> bool:
    return not x.dtype.hasobject and x.size > 0 and x.flags.c_contiguous and x.flags.aligned and x.dtype.alignment < VECTOR


def _at_another_element(x: Array) -> Array:
    """Return a copy as a slice of a longer array is: aligned for its elements, and not for vectors of these."""
    if not _can_move(x):
        return x.copy(order="K")
    memory = np.empty(x.nbytes + 2 * VECTOR, np.uint8)
    start = -int(memory.__array_interface__["data"][0]) % VECTOR + x.dtype.alignment
    made: Array = np.ndarray(x.shape, x.dtype, memory, start)
    made[...] = x
    return made


def _unaligned(x: Array) -> Array:
    if x.dtype.hasobject or x.itemsize < 2:
        return x
    made: Array = np.ndarray(x.shape, x.dtype, np.empty(x.nbytes + 1, np.uint8), 1)
    made[...] = x
    return made


def _resized(x: Array, shape: tuple[int, ...]) -> Array:
    """Return an array of another size: values are repeated from the front along each axis, or left out."""
    if shape == x.shape:
        return x
    if is_order(x):
        (length,) = shape
        return np.concatenate([x[:length].argsort().argsort(), np.arange(len(x), length)]).astype(x.dtype)
    return x[np.ix_(*[np.arange(new) % max(old, 1) for new, old in zip(shape, x.shape, strict=True)])]


def is_order(x: Array) -> bool:
    """Whether an array has each of the numbers from 0 to its length once: a permutation, which stays one."""
    return x.ndim == 1 and x.dtype.kind in "iu" and x.size > 1 and bool(np.array_equal(np.sort(x), np.arange(x.size)))


def _with(args: Arguments, k: int, x: Array) -> Arguments:
    """Return the arguments with another array in the place of one."""
    arrays = arrays_in(args)
    return put_arrays(args, [*arrays[:k], x, *arrays[k + 1 :]])


def _of_axis(x: Array, axis: int, length: int) -> Array:
    return _resized(x, (*x.shape[:axis], length, *x.shape[axis + 1 :]))


def _grown(x: Array, axis: int) -> Array:
    return _of_axis(x, axis, x.shape[axis] + 1) if x.ndim and x.size else x
