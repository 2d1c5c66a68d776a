"""Ten thousand calls of every path through the compiled part leave nothing behind: no block, no reference."""

import contextlib
import gc
import sys

import numpy as np
import pytest
from making import Shadow, made, shadow

from dispatch.core import DispatchKey, Level, Setting, descend, ground, split, wrap
from dispatch.errors import DispatchError

CALLS = 10_000
A, B = np.arange(4.0), np.arange(4.0)
X = shadow(A, ground(), "data")
KEY = int(DispatchKey.MODE)


def kernel(*args, **keywords):
    return B + 1


def raising(*args, **keywords):
    raise ZeroDivisionError


def many(count):
    return ", ".join(f"Tensor? x{i}=None" for i in range(count))


ADD = made("(Tensor x, Tensor y) -> Tensor", np.add)
DEFAULTS = made('(Tensor x, float y=2.5, *, str z="z") -> Tensor', kernel)
THIRTY = made(f"({many(30)}) -> Tensor", kernel)
LISTS = made("(Tensor[] x, Dict(str, Tensor) y) -> Tensor[]", lambda x, y: [B + 1, B + 2])
RAISING = made("(Tensor x, float y=1.0) -> Tensor", raising)
ITSELF = made("(Tensor x) -> Tensor", lambda x: x)
VIEW = made("(Tensor x) -> (Tensor, Tensor)", lambda x: (B + 1, x[1:]))
NONE = made("(Tensor x) -> Tensor", lambda x: None)
RESIDUAL = made("(Tensor x) -> (Tensor, Residual)", lambda x: (B + 1, object()))
RESIDUALS = made("(Tensor x) -> (Tensor, Tensor, Residual)", lambda x: [B + 1, B + 2, object()])
NO_KERNEL = made("(Tensor x) -> Tensor")
LAYERED = made("(Tensor x, Any y=None) -> Tensor", kernel)
LAYERED.register_at(Shadow.key, lambda *args: (taken := descend(LAYERED.whole, args)) and wrap(Shadow, taken[0], taken[1]))
WORDY = 1_000  # paths that end in words take 20 us each, and leak as surely in a thousand calls


def guards():
    with Setting(KEY, "value"), Level("level"):
        pass


PATHS = {
    "plain": lambda: ADD(A, B),
    "by keyword": lambda: ADD(y=A, x=B),
    "defaults": lambda: DEFAULTS(A),
    "keyword-only": lambda: DEFAULTS(A, 1.0, z="other"),
    "thirty by position": lambda: THIRTY(*[A] * 30),
    "thirty by keyword": lambda: THIRTY(A, x29=B),
    "lists and dicts": lambda: LISTS([A, B], {"a": A}),
    "a residual": lambda: RESIDUAL(A),
    "residuals of a list": lambda: RESIDUALS(A),
    "whole": lambda: RESIDUAL.whole(A),
    "a scalar": lambda: ADD(A[0], B),
    "a layer": lambda: LAYERED(X),
    "a layer by keyword": lambda: LAYERED(y=[X, {"a": X}], x=X),
    "split": lambda: split((X, [X, (X,)], {"k": X}, None, 3)),
    "guards": guards,
    "registering": lambda: LAYERED.unregister(LAYERED.register_at(DispatchKey.CUDA, kernel)),
    "the class subscripted": lambda: type(ADD)[[np.ndarray], np.ndarray],
    "refused": lambda: ADD(A, "text"),
    "refused by keyword": lambda: ADD(A, z=B),
    "refused of thirty": lambda: THIRTY(*[A] * 30, x3=B),
    "a kernel that raises": lambda: RAISING(A),
    "an output that is the input": lambda: ITSELF(A),
    "an output that is a view": lambda: VIEW(A),
    "an output that is None": lambda: NONE(A),
    "no kernel": lambda: NO_KERNEL(A),
    "a value of a closed level": lambda: ADD(CLOSED, A),
}
with Level("closed") as _level:
    CLOSED = shadow(A, _level)


def repeat(path, count):
    for _ in range(count):
        with contextlib.suppress(DispatchError, ZeroDivisionError):
            path()


def grown(path, count, collect):
    """How many more blocks are taken after `count` calls. What leaks does so each time; after a collection CPython fills its free
    lists anew, and then no more: 14, 26, 2, 0 blocks in four repeats on CPython 3.13."""
    before = sys.getallocatedblocks()
    repeat(path, count)
    if collect:
        gc.collect()  # a traceback is part of a cycle
    return sys.getallocatedblocks() - before


@pytest.mark.parametrize("name", PATHS)
def test_a_path_leaves_no_block_of_memory_and_no_reference(name):
    path = PATHS[name]
    with_words = list(PATHS).index(name) >= list(PATHS).index("refused")
    count = WORDY if with_words else CALLS
    held = [A, B, X, X.value, kernel, raising, None, "data", *DEFAULTS.arguments.defaults[1]]
    repeat(path, 200)  # caches fill
    gc.collect()
    gc.disable()
    try:
        references = [sys.getrefcount(x) for x in held]
        assert min(grown(path, count, collect=with_words) for _ in range(4)) < count // 20
        after = [sys.getrefcount(x) for x in held]
    finally:
        gc.enable()
    assert all(abs(a - b) < count // 20 for a, b in zip(after, references, strict=True))


def alive():
    """How many objects of the compiled part the collector knows."""
    return sum(type(x).__name__ in {"OpOverload", "KernelTable", "Arguments", "Outputs", "Check"} for x in gc.get_objects())


def cycle():
    """An operator that was called, redefined and called again, and whose kernels hold it."""
    held = []
    op = made("(Tensor x, int n=1) -> (Tensor, Residual)", lambda x, n: (x + n, held))
    held.append(op)
    op(A)
    op.whole(A, 1)
    op.redefine(made("(Tensor x) -> Tensor", lambda x: x + len(held)))
    op(A)
    return op


def test_operators_and_what_they_hold_are_freed():
    gc.collect()
    before = alive()
    ops = [cycle() for _ in range(100)]
    assert alive() >= before + 100
    del ops
    gc.collect()
    assert alive() == before
