"""What many tests begin with: operators of a schema and a kernel, known to nobody by name; wrappers; leaves; loops."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import dispatch
from dispatch.core import DispatchKey, Level, OpOverload, Tensor, wrap
from dispatch.operators.registry import build
from dispatch.schema.schema import Schema


def made(text: str, kernel: Callable[..., Any] | None = None, key: DispatchKey = DispatchKey.CPU) -> OpOverload:
    """An operator with one kernel, or none."""
    op = build(Schema.parse(text, name="making::op"))
    if kernel is not None:
        op.register_at(key, kernel)
    return op


_numbers = itertools.count()


def define(
    text: str, kernel: Callable[..., Any], *, key: DispatchKey = DispatchKey.CPU, setup: Any = None, **rules: Any
) -> OpOverload:
    """An operator with a name of its own, a kernel, and rules by the names of their layers; None is no rule."""
    op = build(Schema.parse(text, name=f"making::op{next(_numbers)}"))
    op.register_at(key, kernel)
    for name, rule in rules.items():
        if rule is not None:
            getattr(op, f"register_{name}")(rule, **({"setup_context": setup} if name == "autograd" else {}))
    return op


def batched(text: str, kernel: Callable[..., Any], rule: Any = None, fake: Any = None) -> OpOverload:
    """An operator with a batching rule."""
    return define(text, kernel, vmap=rule, fake=fake)


def recorded(text: str, kernel: Callable[..., Any], backward: Any = None, setup: Any = None) -> OpOverload:
    """An operator with a gradient."""
    return define(text, kernel, autograd=backward, setup=setup)


def leaf(x: Any = (0.5, 1.0, 2.0)) -> Any:
    """A tracked value to begin with."""
    return dispatch.tensor(x, requires_grad=True)


def said(call: Callable[[], object], error: type[Exception]) -> str:
    """The message of the exception that a call raises."""
    with pytest.raises(error) as caught:
        call()
    return str(caught.value)


def loop(f: Callable[..., Any], in_dims: Any, *args: Any) -> Any:
    """What vmap stands for."""
    size = next(np.shape(x)[dim] for x, dim in zip(args, in_dims, strict=True) if dim is not None)
    items = [[x if dim is None else np.take(x, i, dim) for x, dim in zip(args, in_dims, strict=True)] for i in range(size)]
    return np.stack([f(*item) for item in items])


class Shadow(Tensor):
    """A wrapper of a layer that nothing else in a test uses; a test registers its kernels at JVP itself."""

    __slots__ = ()
    key = DispatchKey.JVP


def shadow(value: Any, like: Level | Tensor, data: Any = None) -> Shadow:
    """A Shadow around a value."""
    return wrap(Shadow, value, like, data)


class Dtypes:
    """What jaxtyping's `Float64` and its kin are to a reader of hints: `F64[np.ndarray, "m n"]`."""

    def __init__(self, word: str, *dtypes: str) -> None:
        self.word, self.dtypes = word, dtypes

    def __getitem__(self, item: tuple[Any, str]) -> Any:
        named = type(self.word, (), {})
        fields = {"array_type": item[0], "dtypes": self.dtypes or object(), "dim_str": item[1], "dtype": named}
        return type(f"{self.word}[{item[1]}]", (), fields)


F64 = Dtypes("Float64", "float64")
F = Dtypes("Float", "bfloat16", "float16", "float32", "float64")
INT = Dtypes("Int", "int8", "int16", "int32", "int64")
SHAPED = Dtypes("Shaped")
