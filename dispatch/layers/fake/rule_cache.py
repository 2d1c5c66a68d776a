"""Answers of shape rules, remembered: by the layouts of the fakes and by the plain arguments that a call was given."""

from typing import Any, NamedTuple

import numpy as np

from ...symbolic import SymInt
from .fake_mode import FakeTensorMode
from .tensor import FakeTensor, fake_tensor, memory_of

MOST = 1024  # answers for one operator, which are forgotten all together

# Plain arguments that an answer may be remembered by; their types count, for 1, 1.0 and True are equal.
_PLAIN = frozenset({int, float, bool, complex, str, type(None), type})


class Pure(NamedTuple):
    """A shape rule whose answer depends on nothing but the layouts of the arrays and the plain arguments.

    It is remembered. And where the elements of all arrays are known, one each, the operator's kernel is run on them, if
    `known` says that what it gives is determined by them.
    """

    rule: Any
    known: bool = True


def key_of(x: Any, mode: FakeTensorMode | None) -> Any:
    """What an answer depends on in an argument, to be looked up by.

    Raises
    ------
    LookupError
        If it is another value than a fake of the mode without a known element, a plain value, or a container of these.
    """
    cls = type(x)
    if cls is FakeTensor:
        if x.mode is not mode or (x.data is not None and x.data.constant is not None):
            raise LookupError
        if mode is not None and mode.shape_env is not None:
            return _identities(x.shape), _identities(x.strides), x.dtype, x.device
        return x.shape, x.strides, x.dtype, x.device
    if cls is SymInt:
        return (id(x),)
    if cls in _PLAIN:
        return cls, x
    if cls is tuple or cls is list:
        return (cls, *[(type(i), i) if type(i) in _PLAIN else key_of(i, mode) for i in x])
    if cls is slice:
        return slice, key_of(x.start, mode), key_of(x.stop, mode), key_of(x.step, mode)
    if isinstance(x, np.dtype) or (cls.__basicsize__ == object.__basicsize__ and not cls.__dictoffset__):  # without state
        return x
    raise LookupError


def _identities(sizes: tuple[Any, ...]) -> tuple[Any, ...]:
    """Sizes to be looked up by, without asking which numbers they are; a symbolic one lives as long as its answers."""
    return tuple([n if type(n) is int else (id(n),) for n in sizes])


def sizes_in(x: Any) -> set[str]:
    """The symbols of sizes that depend on data, of all that is in a value."""
    if type(x) is SymInt:
        return {name for name in x.names if x.env.symbols[name].hint is None} if x.hint is None else set()
    if type(x) is FakeTensor:
        return sizes_in(x.shape) | sizes_in(x.strides)
    if type(x) is slice:
        return sizes_in((x.start, x.stop, x.step))
    return set().union(*map(sizes_in, x)) if type(x) in (tuple, list) else set()


class Single(NamedTuple):
    """One fake of an answer; `seen` is the argument that it is a view of, or the argument and the item of that, or None."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    strides: tuple[int, ...]
    device: str
    seen: int | tuple[int, int] | None


def answer_of(out: Any, args: tuple[Any, ...], *, alone: bool = True) -> Any:
    """What is remembered of the outputs of a call.

    Raises
    ------
    LookupError
        If there is more in them than fakes, or a container of these.
    """
    if type(out) is FakeTensor:
        seen = None if out.base is None else _place(out.base, args)
        if out.base is not None and seen is None and not alone:
            raise LookupError  # a view of what the rule made, which others of its outputs may be too
        return Single(out.shape, out.dtype, out.strides, out.device, seen)
    if type(out) in (tuple, list):
        return type(out), [answer_of(x, args, alone=False) for x in out]
    raise LookupError


def _place(base: FakeTensor, args: tuple[Any, ...]) -> int | tuple[int, int] | None:
    """Which argument, or which item of one, has this memory."""
    for i, arg in enumerate(args):
        if type(arg) is FakeTensor and memory_of(arg) is base:
            return i
        if type(arg) in (tuple, list):
            for part, x in enumerate(arg):
                if type(x) is FakeTensor and memory_of(x) is base:
                    return i, part
    return None


def outputs_of(answer: Any, args: tuple[Any, ...], mode: FakeTensorMode | None) -> Any:
    """Outputs as they are remembered, each a fake of its own."""
    if type(answer) is not Single:
        cls, items = answer
        found = [outputs_of(item, args, mode) for item in items]
        return found if cls is list else tuple(found)
    shape, dtype, strides, device, seen = answer
    if seen is None:
        return fake_tensor(shape, dtype, strides, device, mode)
    base = args[seen] if isinstance(seen, int) else args[seen[0]][seen[1]]
    return fake_tensor(shape, dtype, strides, device, mode, base)
