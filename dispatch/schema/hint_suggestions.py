"""Suggests a supported type hint in place of an unsupported one."""

import collections
import collections.abc
import inspect
import os
import re
import sys
import types
import typing
from collections.abc import Callable
from typing import ForwardRef, TypeVar

import numpy as np

from ..core import Residual

ALLOWED = (
    "np.ndarray, int, float, bool, complex, str, bytes, np.dtype, numbers.Number, typing.Any, typing.Callable, "
    "Literal[...], an Enum, a dataclass or NamedTuple, list[...], tuple[...], dict[str, ...] and ... | None"
)

RESIDUAL_ALONE = (
    "the return is hinted Residual alone, which only the backward gets, and nothing is written: a call would give nothing. "
    "Write -> tuple[np.ndarray, Residual], and return the result and the residual."
)

# Hints that are often written, and what was probably meant. The first column is compared by identity.
_MEANT: tuple[tuple[object, str], ...] = (
    (list, "list[np.ndarray], or list[int] for numbers"), (collections.abc.Sequence, "list[np.ndarray]"),
    (collections.abc.MutableSequence, "list[np.ndarray]"), (collections.deque, "list[np.ndarray]"),
    (collections.abc.Iterable, "list[np.ndarray]"), (collections.abc.Iterator, "list[np.ndarray]"),
    (collections.abc.Collection, "list[np.ndarray]"), (tuple, "tuple[np.ndarray, ...], or tuple[int, ...] for numbers"),
    (dict, "dict[str, np.ndarray]"), (collections.abc.Mapping, "dict[str, np.ndarray]"),
    (collections.abc.MutableMapping, "dict[str, np.ndarray]"), (collections.OrderedDict, "dict[str, np.ndarray]"),
    (collections.defaultdict, "dict[str, np.ndarray]"), (set, "list[int]"), (frozenset, "list[int]"),
    (range, "list[int]"), (slice, "tuple[int, int, int]"), (object, "typing.Any"), (any, "typing.Any"),
    (callable, "typing.Callable"), (np.array, "np.ndarray"), (np.asarray, "np.ndarray"), (memoryview, "np.ndarray"),
    (bytearray, "np.ndarray"),
)  # fmt: skip
_CLASSES = (
    (np.bool_, "bool"), (np.integer, "int"), (np.floating, "float"), (np.complexfloating, "complex"),
    (np.number, "numbers.Number"), (np.str_, "str"), (np.bytes_, "bytes"), (os.PathLike, "str"),
)  # fmt: skip

_SCALARS = frozenset(np.sctypeDict.values()) - {np.str_, np.bytes_, np.void}

_CTYPES = tuple("bBhHiIlLqQfdg?")  # the numbers of ctypes, by NumPy's letters
_ARRAYS = ("Array", "DataArray", "DataFrame", "Series", "Tensor", "Variable", "tensor")  # what others' arrays are called

_ANY_SHAPES = (typing.Any, tuple[typing.Any, ...])  # how NumPy's NDArray says it, before 2.1 and since


_PLAIN = {one: one.__name__ for one in (bool, int, float, complex, str)}


def or_schema(fn: object, word: Callable[[str, object], str]) -> str:
    """Say how the schema of a function may be written instead of hints: an array where nothing else is known.

    `word(name, hint)` is the schema's word for the hint of a parameter, or of the results, named "return".

    Examples
    --------
    >>> or_schema(lambda x, times=2, *, weight=None: x, lambda name, hint: "")
    'Or write schema="(Tensor x, int times=2, *, Tensor? weight=None) -> Tensor" yourself.'
    """
    try:
        found = inspect.signature(fn)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return 'Or write schema="(Tensor x) -> Tensor" yourself.'
    words: list[str] = []
    for p in found.parameters.values():
        if p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD):
            continue
        words += ["*"] * (p.kind is p.KEYWORD_ONLY and "*" not in words)
        kind = "" if p.annotation is p.empty else word(p.name, p.annotation)
        kind = kind or _PLAIN.get(type(p.default), "Tensor?" if p.default is None else "Tensor")
        known = p.default is None or type(p.default) in _PLAIN
        words.append(f"{kind} {p.name}={p.default!r}" if known else f"{kind} {p.name}")
    hint = found.return_annotation
    result = "" if hint is found.empty else word("return", hint)
    return f'Or write schema="({", ".join(words)}) -> {result or "Tensor"}" yourself.'


def show(hint: object) -> str:
    """Return a hint as the user probably wrote it."""
    if isinstance(hint, str):
        return hint
    if isinstance(hint, ForwardRef):
        return hint.__forward_arg__
    if isinstance(hint, (np.ndarray, list, tuple)):  # values, which compare element by element or hold classes
        return "an array" if isinstance(hint, np.ndarray) else _shown_parts(hint)
    if hint is Residual:
        return "dispatch.Residual"
    if isinstance(hint, types.ModuleType):
        return f"{hint.__name__} (a module)"
    if isinstance(hint, types.FunctionType):
        return f"{hint.__name__} (a function)"
    for alias in ("ArrayLike", "DTypeLike"):  # unions of a page's length, of a module that whoever uses them has imported
        if "numpy.typing" in sys.modules and hint == getattr(sys.modules["numpy.typing"], alias):
            return f"numpy.typing.{alias}"
    members = typing.get_args(hint) if typing.get_origin(hint) is np.ndarray else ()
    if members and members[0] in _ANY_SHAPES and typing.get_origin(members[1]) is np.dtype:
        (item,) = typing.get_args(members[1])  # an NDArray[...]: NumPy 2.5 keeps it as it was written
        if isinstance(item, TypeVar):
            return "NDArray"
        return f"NDArray[{item.__forward_arg__!r}]" if isinstance(item, ForwardRef) else f"NDArray[{show(item)}]"
    if hint is np.array or hint is np.asarray:
        return f"np.{hint.__name__} (a function)"
    if type(hint) is not types.GenericAlias and isinstance(hint, type):  # list[int] says it is a type
        inside = hint.__qualname__.partition(".")[0] in sys.modules  # of jax.Array it is that of the compiled module
        name = hint.__name__.rpartition(".")[2] if inside else hint.__qualname__
        return name if hint.__module__ == "builtins" else f"{hint.__module__}.{name}"
    return repr(hint).replace(f"{Residual.__module__}.{Residual.__qualname__}", Residual.__qualname__)


def _shown_parts(hint: "list[object] | tuple[object, ...]") -> str:
    inside = ", ".join(map(show, hint))
    return f"[{inside}]" if isinstance(hint, list) else f"({inside})"


def of_name(name: str, hint: str = "") -> str:
    """What to write for a name in a hint that is text, which is no name there: '' where nothing is known of it.

    Of a module that was not imported, what is read from it counts: an array of others, `torch.Tensor`.

    Examples
    --------
    >>> of_name("Tensor"), of_name("torch", "torch.Tensor | None")
    ('np.ndarray', 'np.ndarray')
    >>> of_name("float64")
    'numpy.typing.NDArray[np.float64] for an array, float for a number'
    """
    if read := re.search(rf"\b{re.escape(name)}\.(?:\w+\.)*(\w+)", hint):
        name = read[1]
    if name in (*_ARRAYS, "ndarray", "array"):
        return "np.ndarray"
    kind = getattr(np, name, None)
    if isinstance(kind, type) and issubclass(kind, np.number):
        return f"numpy.typing.NDArray[np.{name}] for an array, {nearest(kind).partition(',')[0]} for a number"
    return ""


def _meant(root: object, hint: object) -> str:
    meant = next((meant for known, meant in _MEANT if root is known), "")
    return "list[np.ndarray]" if root in (set, frozenset) and np.ndarray in typing.get_args(hint) else meant


def nearest(hint: object) -> str:
    """Return the supported hint that is closest to an unsupported one: `list[int]` for `set[int]`."""
    word = getattr(hint, "__name__", type(hint).__name__).rpartition(".")[2]
    if isinstance(hint, (np.ndarray, types.ModuleType)) or word in _ARRAYS or word.startswith(("ndpointer", "LP_c_")):
        return "np.ndarray"
    if isinstance(hint, (list, tuple)) and hint:
        word = "list" if isinstance(hint, list) and len(hint) == 1 else "tuple"  # a list's hint names one type, for all items
        return f"{word}[{', '.join('np.ndarray' if part is np.ndarray else show(part) for part in hint)}]"
    if isinstance(hint, np.dtype):
        return f"numpy.typing.NDArray[np.{hint.name}]"
    if isinstance(hint, (bool, int, float, str)):
        return type(hint).__name__
    code = getattr(hint, "_type_", None)
    root = np.dtype(code).type if code in _CTYPES else typing.get_origin(hint) or hint
    if meant := _meant(root, hint):
        return meant
    if isinstance(root, TypeVar):
        bound = root.__bound__
        return "np.ndarray" if isinstance(bound, type) and issubclass(bound, np.ndarray) else "typing.Any"
    if isinstance(root, type):
        if root is np.random.RandomState or (root.__name__ == "Generator" and root.__module__.partition(".")[0] == "torch"):
            return "np.random.Generator"
        if typing.is_typeddict(root):
            return f"dict[str, np.ndarray], or a dataclass in place of {root.__qualname__}"
        for known_class, meant in _CLASSES:
            if issubclass(root, known_class):
                own = root is hint and root in _SCALARS
                return meant + f", or numpy.typing.NDArray[np.{root.__name__}] for an array" * own
        if issubclass(root, tuple) and hasattr(root, "_fields"):
            return f"a typing.NamedTuple in place of {root.__qualname__}, whose fields have hints"
        if hasattr(root, "__array__"):
            return "np.ndarray"
        return f"typing.Any, or register_opaque_type({root.__qualname__})"
    return "typing.Any"
