"""Reads the axis names in array hints, `Float64[np.ndarray, "m n"]`, and binds them to shapes.

A hint is recognised by its attributes, so jaxtyping is never imported and any class with the same attributes works. The
text names one axis after another, with spaces between:

    n           an axis of one size wherever the name stands       3, rows=3    an axis of that size
    *batch      any number of axes, the same wherever it stands    n+1, 2*n     an axis of that size, once n is known
    ...         any number of axes                                 {k}, {k}+1   the same of an integer argument
    _           an axis of any size                                #n, *#batch  the size may be 1 too, which broadcasts

NumPy's own hint of a shape, `np.ndarray[tuple[int, Literal[3]], np.dtype[np.float64]]`, says how many axes there are and may
say a size: it is read as "_ 3". `NDArray[np.floating]` is "..." of any dtype of the kind.

It has more than 350 lines: what a hint says is read and held in one place.

`Bindings.bind` checks one shape against one hint and adds the sizes of its names.
"""

import re
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, NamedTuple, Union

import numpy as np

from ..core import Tensor
from ..errors import SchemaError
from ..symbolic import broadcast, is_one, is_open

Shape = tuple[int, ...]
ARGUMENT = "argument_"  # what an integer argument is called in code, apart from an axis of its name
_INTEGER = r"\{(\w+)\}"
_FUNCTIONS = {"abs", "int", "max", "min", "round"}  # what arithmetic on sizes may call
_CLASSES = frozenset(np.sctypeDict.values())


class Dimension(NamedTuple):
    """One axis of a hint, or with `many` any number of axes."""

    name: str = ""
    size: int | None = None
    code: types.CodeType | None = None  # of an axis whose size is computed
    many: bool = False
    broadcast: bool = False
    text: str = ""

    @property
    def reads(self) -> tuple[str, ...]:
        """The names that the size is computed from; a name of many axes has a star."""
        if self.code is not None:
            return tuple(name for name in self.code.co_names if name not in _FUNCTIONS and not name.startswith(ARGUMENT))
        return (("*" if self.many else "") + self.name,) if self.name else ()

    def is_bound_by(self, names: set[str]) -> bool:
        """Whether the size is known once these names are."""
        return self.size is not None or (bool(self.code or self.name) and names.issuperset(self.reads))


class ArrayHint:
    """The axes and dtypes that a hint names for one array.

    For `Float64[np.ndarray, "m n"]`, `word` is `"Float64"` and `text` is `"m n"`. `classes` has the scalar types that are
    allowed, None for any; `dtype` is the only dtype allowed, or None.
    """

    __slots__ = ("classes", "dimensions", "dtype", "text", "word")

    def __init__(
        self, word: str, text: str, dimensions: tuple[Dimension, ...], classes: frozenset[type] | None, dtype: Any
    ) -> None:
        self.word, self.text, self.dimensions, self.classes, self.dtype = word, text, dimensions, classes, dtype

    @property
    def variadic(self) -> int | None:
        """The index of the entry that stands for any number of axes, or None."""
        return next((i for i, dimension in enumerate(self.dimensions) if dimension.many), None)

    @property
    def says_nothing(self) -> bool:
        """Whether the hint fits every shape."""
        return self.text in ("...", "*_")

    @property
    def names(self) -> tuple[str, ...]:
        """The names that an array binds."""
        return tuple(name for dimension in self.dimensions if dimension.code is None for name in dimension.reads)

    @property
    def rank(self) -> int | None:
        """How many axes there are, if that is all that the hint says of them, -1 where it says nothing; else None."""
        if self.says_nothing:
            return -1
        return len(self.dimensions) if all(dimension.text == "_" for dimension in self.dimensions) else None

    def __repr__(self) -> str:
        return f'{self.word}[np.ndarray, "{self.text}"]'


class NumpyHint(ArrayHint):
    """What NumPy's own hint says beside one dtype: how many axes, `np.ndarray[tuple[int, int], ...]`, or which dtypes.

    `written` is the hint, for messages.
    """

    __slots__ = ("written",)

    def __init__(self, dimensions: tuple[Dimension, ...], classes: frozenset[type] | None, written: str) -> None:
        super().__init__("", " ".join(axis.text for axis in dimensions), dimensions, classes, None)
        self.written = written

    def __repr__(self) -> str:
        return self.written


class Each(NamedTuple):
    """A list or dict whose items all have the same hint."""

    element: "Tree"


class Places(NamedTuple):
    """A tuple with one hint for each item."""

    members: tuple["Tree", ...]


Tree = ArrayHint | Each | Places | None


def is_array_hint(hint: object) -> bool:
    """Whether a hint names axes: a class with `array_type`, `dtypes` and `dim_str`."""
    return isinstance(hint, type) and hasattr(hint, "dim_str") and hasattr(hint, "array_type") and hasattr(hint, "dtypes")


def read_array(hint: Any) -> ArrayHint:
    """Read a hint for which `is_array_hint` holds, or raise a SchemaError about its text or its dtypes."""
    word = getattr(getattr(hint, "dtype", hint), "__name__", "Shaped")
    kind = hint.array_type
    if kind is not Any and not (isinstance(kind, type) and issubclass(kind, (np.ndarray, Tensor))):
        raise SchemaError(f'An array here is np.ndarray: {word}[np.ndarray, "{hint.dim_str}"].')
    classes = _classes(hint.dtypes)
    if classes is not None and not classes:
        raise SchemaError(f"NumPy has no dtype of the kind {word}.")
    dimensions = tuple(map(_dimension, hint.dim_str.split()))
    if sum(dimension.many for dimension in dimensions) > 1:
        raise SchemaError(f'"{hint.dim_str}" has two entries that stand for any number of axes. Write one.')
    only = np.dtype(next(iter(classes))) if classes is not None and len(classes) == 1 else None
    return ArrayHint(word, " ".join(hint.dim_str.split()), dimensions, classes, only)


def dtype_of_array(hint: Any) -> np.dtype[Any] | None:
    """Return the only dtype that the hint of an array allows, or None."""
    return read_array(hint).dtype if is_array_hint(hint) else None


def _classes(dtypes: Any) -> frozenset[type] | None:
    """The NumPy scalar types that are named, by text or by a pattern; None where every type is."""
    if isinstance(dtypes, (str, re.Pattern)):
        dtypes = (dtypes,)
    if not isinstance(dtypes, (list, tuple, set, frozenset)):  # jaxtyping's own mark for any
        return None
    patterns = [d for d in dtypes if isinstance(d, re.Pattern)]
    return frozenset(c for c in _CLASSES if c.__name__ in dtypes or any(p.match(c.__name__) for p in patterns))


def _dimension(text: str) -> Dimension:
    if text == "...":
        return Dimension(many=True, text=text)
    rest = text.lstrip("#*_?")
    marks = text[: len(text) - len(rest)]
    if "?" in marks:
        raise SchemaError(f"'{text}' asks for the place in a tree, and an operator's arguments are none. Leave the '?' out.")
    many, broadcast = "*" in marks, "#" in marks
    if "_" in marks:
        if broadcast or (rest and not rest.isidentifier()):
            raise SchemaError(f"'{text}' is no dimension. An axis of any size is written '_'.")
        return Dimension(many=many, text=text)
    _, _, rest = rest.rpartition("=")
    if rest.isidentifier():
        return Dimension(rest, many=many, broadcast=broadcast, text=text)
    if many or not rest:
        raise SchemaError(f"'{text}' is no dimension. Any number of axes is written '...' or '*name'.")
    if rest.isdecimal():
        return Dimension(size=int(rest), broadcast=broadcast, text=text)
    try:
        code = compile(re.sub(_INTEGER, rf"{ARGUMENT}\1", rest), "<dimension>", "eval")
    except SyntaxError:
        raise SchemaError(f"'{text}' is no dimension: a name, a size, or arithmetic like n+1, without spaces.") from None
    return Dimension(code=code, broadcast=broadcast, text=text)


def integers_of(array: ArrayHint) -> set[str]:
    """The names of the integer arguments that a hint reads, written `{k}`."""
    return {name for d in array.dimensions if d.code is not None for name in re.findall(_INTEGER, d.text)}


def tree_of(hint: object, evaluated: Callable[[object], object]) -> Tree:
    """Return the array hints inside a hint, in a tree like the value's; `evaluated` evaluates hints written as text."""
    hint = evaluated(hint)
    if is_array_hint(hint):
        return read_array(hint)
    origin, members = typing.get_origin(hint), typing.get_args(hint)
    if not members:
        return None
    if _is_numpys(hint):
        return _of_numpy(*members)
    if origin is Annotated:
        return tree_of(members[0], evaluated)
    if origin in (Union, types.UnionType):
        others = [found for found in map(evaluated, members) if found is not type(None)]
        if len(others) > 1 and all(map(_is_numpys, others)):
            return _any_of([_of_numpy(*typing.get_args(one), alone=False) for one in others])
        return _either([tree for tree in (tree_of(member, evaluated) for member in members) if tree is not None])
    if origin is tuple and Ellipsis not in members:
        trees = tuple(tree_of(member, evaluated) for member in members)
        return Places(trees) if any(trees) else None
    if origin in (list, tuple, Sequence):
        element = tree_of(members[0], evaluated)
    elif origin in (dict, Mapping):
        element = tree_of(members[1], evaluated)
    else:
        return None
    return None if element is None else Each(element)


def _of_numpy(shape: object, dtype: object, *, alone: bool = True) -> NumpyHint | None:
    """Read NumPy's own hint of an array; None where it leaves the axes and the dtype open, or `alone` names the one dtype."""
    axes = _axes_of(shape)
    (item,) = typing.get_args(dtype) or (Any,)
    parts = typing.get_args(item) if typing.get_origin(item) in (Union, types.UnionType) else (item,)
    roots = [typing.get_origin(part) or part for part in parts]
    abstract = all(isinstance(root, type) and issubclass(root, np.generic) and root is not np.generic for root in roots)
    classes = frozenset(c for c in _CLASSES if issubclass(c, tuple(roots))) if abstract else None
    if classes is not None and alone and len(roots) == 1 and roots[0] in _CLASSES:
        classes = None  # the core holds one dtype
    if axes is None and classes is None:
        return None
    words = " | ".join(f"np.{root.__name__}" for root in roots) if classes is not None else ""
    if axes is None:
        return NumpyHint((Dimension(many=True, text="..."),), classes, f"NDArray[{words}]")
    sizes = ", ".join("int" if axis.size is None else f"Literal[{axis.size}]" for axis in axes)
    return NumpyHint(axes, classes, f"np.ndarray[tuple[{sizes or '()'}], {f'np.dtype[{words}]' if words else '...'}]")


def _axes_of(shape: object) -> tuple[Dimension, ...] | None:
    """The axes of a shape in NumPy's own hint, `tuple[int, Literal[3]]`; None where it leaves open how many there are."""
    if typing.get_origin(shape) is not tuple:
        return None
    axes: list[Dimension] = []
    for part in typing.get_args(shape):
        sizes = typing.get_args(part) if typing.get_origin(part) is typing.Literal else ()
        if len(sizes) == 1 and type(sizes[0]) is int:
            axes.append(Dimension(size=sizes[0], text=str(sizes[0])))
        elif sizes or getattr(part, "__supertype__", part) is int:  # a NewType of int is any size, as int is
            axes.append(Dimension(text="_"))
        else:
            return None
    return tuple(axes)


def _is_numpys(hint: object) -> bool:
    origin = typing.get_origin(hint)
    return isinstance(origin, type) and issubclass(origin, np.ndarray) and len(typing.get_args(hint)) == 2


def _any_of(hints: list[NumpyHint | None]) -> NumpyHint | None:
    """Merge NumPy's own hints, one of which is to fit: what they differ in is left open."""
    known = [hint for hint in hints if hint is not None]
    classes = [hint.classes for hint in known if hint.classes is not None]
    every = frozenset[type]().union(*classes) if len(classes) == len(hints) else None
    same = len(known) == len(hints) and len({hint.text for hint in known}) == 1 and not known[0].says_nothing
    if every is None and not same:
        return None
    dimensions = known[0].dimensions if same else (Dimension(many=True, text="..."),)
    return NumpyHint(dimensions, every, " | ".join(dict.fromkeys(map(str, known))))


def _either(trees: list[Tree]) -> Tree:
    """Merge alternatives into one hint: dtypes may differ, dimensions may not."""
    if len(trees) < 2:
        return trees[0] if trees else None
    arrays = [tree for tree in trees if isinstance(tree, ArrayHint)]
    if len(arrays) < len(trees) or len({array.text for array in arrays}) > 1:
        raise SchemaError("Two ways to write the dimensions of one array: write the same in both, or '...'.")
    classes = [array.classes for array in arrays if array.classes is not None]
    every = frozenset[type]().union(*classes) if len(classes) == len(arrays) else None
    return ArrayHint(" | ".join(array.word for array in arrays), arrays[0].text, arrays[0].dimensions, every, None)


class Bindings:
    """The sizes that axis names have in one call.

    `sizes` has them for names of single axes, `batches` for names of many axes, and `places` where each name was met first.
    `faults` lists what does not fit.
    """

    __slots__ = ("_fixed", "_later", "_ones", "batches", "faults", "places", "sizes")

    def __init__(self) -> None:
        self.sizes: dict[str, int] = {}
        self.batches: dict[str, Shape] = {}
        self.places: dict[str, str] = {}
        self.faults: list[str] = []
        self._fixed: dict[str, Shape] = {}  # batches that do not broadcast any more
        self._ones: dict[str, str] = {}  # names met with size 1, where that may broadcast
        self._later: list[tuple[Dimension, int, str]] = []

    def copy(self) -> "Bindings":
        """The same bindings, to be added to."""
        made = Bindings()
        made.sizes, made.batches = dict(self.sizes), dict(self.batches)
        made.places, made._fixed = dict(self.places), dict(self._fixed)
        return made

    def bind(self, array: ArrayHint, shape: Shape, name: str) -> None:
        """Check a shape against a hint and bind the names in it."""
        dimensions, i = array.dimensions, array.variadic
        start = f"{name!r} of shape {shape} does not fit {array}: "
        after = 0 if i is None else len(dimensions) - i - 1
        if len(shape) != len(dimensions) if i is None else len(shape) < i + after:
            at_least = "" if i is None else "at least "
            self.faults.append(f"{start}{_axes(len(shape))}, where the hint has {at_least}{len(dimensions) - bool(at_least)}.")
            return
        if i is None:
            pairs = list(zip(dimensions, shape, strict=True))
        else:
            end = len(shape) - after
            pairs = [*zip(dimensions[:i], shape[:i], strict=True), *zip(dimensions[i + 1 :], shape[end:], strict=True)]
            if dimensions[i].name:
                self._bind_batch(dimensions[i], shape[i:end], name, start)
        for dimension, size in pairs:
            word = dimension.name
            if dimension.code is not None:
                self._later.append((dimension, size, start))
            elif dimension.broadcast and is_one(size):
                if word:
                    self._ones.setdefault(word, name)
            elif dimension.size is not None:
                if size != dimension.size:
                    asked = f"size {dimension.text}" if dimension.text.isdecimal() else dimension.text
                    self.faults.append(f"{start}{asked} is {size}.")
            elif word and self.sizes.setdefault(word, size) != size:
                self.faults.append(f"{start}{word} is {size}, and {self.sizes[word]} in {self.places[word]!r}.")
            elif word:
                self.places.setdefault(word, name)

    def _bind_batch(self, dimension: Dimension, shape: Shape, name: str, start: str) -> None:
        word = dimension.name
        known = self.batches.setdefault(word, shape)
        where = self.places.setdefault(f"*{word}", name)
        joined = broadcast((known, shape))
        if not dimension.broadcast:
            self._fixed.setdefault(word, shape)
        if joined is None or self._fixed.get(word, joined) != joined or (not dimension.broadcast and shape != joined):
            self.faults.append(f"{start}*{word} is {shape}, and {known} in {where!r}.")
        else:
            self.batches[word] = joined

    def finish(self, integers: Mapping[str, int]) -> None:
        """Check computed sizes and broadcasting, after every array has been bound."""
        for word, name in self._ones.items():
            if word not in self.sizes:
                self.sizes[word], self.places[word] = 1, name
        for dimension, size, start in self._later:
            asked = self.size(dimension, integers)
            if asked is not None and size != asked and not (dimension.broadcast and size == 1):
                self.faults.append(f"{start}{dimension.text} is {size}, and comes to {asked}.")

    def size(self, dimension: Dimension, integers: Mapping[str, int]) -> Any:
        """Return the size of one axis, or None if it is not bound."""
        if dimension.code is None:
            return dimension.size if dimension.size is not None else self.sizes.get(dimension.name)
        scope = {**self.sizes, **{ARGUMENT + name: size for name, size in integers.items()}}
        return eval(dimension.code, {}, scope) if scope.keys() >= set(dimension.reads) else None

    def shape(self, array: ArrayHint, integers: Mapping[str, int]) -> Shape | None:
        """Return the shape that a hint stands for, or None if a size is not bound."""
        found: list[int] = []
        for dimension in array.dimensions:
            if dimension.many:
                if dimension.name not in self.batches:
                    return None
                found += self.batches[dimension.name]
            elif (size := self.size(dimension, integers)) is None or size < 0 or (not is_open((size,)) and size != int(size)):
                return None
            else:
                found.append(size if is_open((size,)) else int(size))
        return tuple(found)

    def __str__(self) -> str:
        bound = {**self.sizes, **{f"*{word}": shape for word, shape in self.batches.items()}}
        return ", ".join(f"{word}={size} ({self.places[word]})" for word, size in bound.items()) or "none"


def _axes(n: int) -> str:
    return f"{n} {'axis' if n == 1 else 'axes'}"
