"""Answers of shape rules, remembered: by the layouts of the fakes and by the plain arguments that a call was given."""

from typing import Any, NamedTuple

import numpy as np

from ..containers import leaves
from .mode import FakeTensorMode
from .tensor import FakeTensor, fake_tensor, memory_of

MOST = 1024  # answers for one operator, which are forgotten all together

# Plain arguments that an answer may be remembered by; their types count, for 1, 1.0 and True are equal.
_PLAIN = frozenset({int, float, bool, complex, str, type(None), type, type(Ellipsis)})


class Pure(NamedTuple):
    """A shape rule whose answer depends on nothing but the layouts of the arrays and the plain arguments.

    It is remembered. And where the elements of all arrays are known, one each, the operator's kernel may be run on them.
    """

    rule: Any


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
        return x.shape, x.strides, x.dtype, x.device
    if cls in _PLAIN:
        return cls, x
    if cls is tuple or cls is list:
        return (cls, *[(type(i), i) if type(i) in _PLAIN else key_of(i, mode) for i in x])
    if cls is slice:
        return slice, key_of(x.start, mode), key_of(x.stop, mode), key_of(x.step, mode)
    if isinstance(x, np.dtype):
        return np.dtype, x
    raise LookupError


class Single(NamedTuple):
    """One fake of an answer; `seen` is which of the call's fakes it is a view of, -1 for none."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    strides: tuple[int, ...]
    device: str
    seen: int


def answer_of(out: Any, args: tuple[Any, ...]) -> Any:
    """What is remembered of the outputs of a call.

    Raises
    ------
    LookupError
        If there is more in them than fakes, or a container of these.
    """
    if type(out) is FakeTensor:
        base = out.base
        given = [] if base is None else [memory_of(x) for x in leaves(args) if type(x) is FakeTensor]
        seen = next((i for i, x in enumerate(given) if x is base), -1)
        if base is not None and seen < 0:
            raise LookupError  # a view of what the rule made, which others of its outputs may be too
        return Single(out.shape, out.dtype, out.strides, out.device, seen)
    if type(out) in (tuple, list):
        return type(out), [answer_of(x, args) for x in out]
    raise LookupError


def outputs_of(answer: Any, args: tuple[Any, ...], mode: FakeTensorMode | None) -> Any:
    """Outputs as they are remembered, each a fake of its own."""
    if type(answer) is not Single:
        cls, items = answer
        return cls([outputs_of(item, args, mode) for item in items])
    shape, dtype, strides, device, seen = answer
    base = None if seen < 0 else [x for x in leaves(args) if type(x) is FakeTensor][seen]
    return fake_tensor(shape, dtype, strides, device, mode, base)
