"""Keeps the answers of shape rules; kernel.pyx looks them up."""

from typing import Any, NamedTuple

import numpy as np

from ...symbolic import SymInt
from .tensor import FakeTensor, memory_of


class Pure(NamedTuple):
    """A shape rule whose answer depends on nothing but the layouts of the arrays and the plain arguments.

    It is remembered. And where the elements of all arrays are known, one each, the operator's kernel is run on them, if
    `known` says that what it gives is determined by them.
    """

    rule: Any
    known: bool = True


def sizes_in(x: Any) -> set[str]:
    """Return the symbols in a value that are sizes which depend on data."""
    if type(x) is SymInt:
        return {name for name in x.names if x.env.symbols[name].hint is None} if x.hint is None else set()
    if type(x) is FakeTensor:
        return sizes_in(x.shape) | sizes_in(x.strides)
    if type(x) is slice:
        return sizes_in((x.start, x.stop, x.step))
    return set().union(*map(sizes_in, x)) if type(x) in (tuple, list) else set()


class Single(NamedTuple):
    """One fake of an answer. `seen` is the argument that it is a view of, or that argument and an item of it, or None."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    strides: tuple[int, ...]
    device: str
    seen: int | tuple[int, int] | None
    number: bool


def answer_of(out: Any, args: tuple[Any, ...], *, alone: bool = True) -> Any:
    """Return what to keep of the outputs of a call. Raise LookupError if there is more than fakes and containers of them."""
    if type(out) is FakeTensor:
        seen = None if out.base is None else _place(out.base, args)
        if out.base is not None and seen is None and not alone:
            raise LookupError  # a view of what the rule made, which others of its outputs may be too
        return Single(out.shape, out.dtype, out.strides, out.device, seen, out.number)
    if type(out) in (tuple, list):
        return type(out), [answer_of(x, args, alone=False) for x in out]
    raise LookupError


def _place(base: FakeTensor, args: tuple[Any, ...]) -> int | tuple[int, int] | None:
    """Return the argument, or the argument and its item, that has this memory."""
    for i, arg in enumerate(args):
        if type(arg) is FakeTensor and memory_of(arg) is base:
            return i
        if type(arg) in (tuple, list):
            for part, x in enumerate(arg):
                if type(x) is FakeTensor and memory_of(x) is base:
                    return i, part
    return None
