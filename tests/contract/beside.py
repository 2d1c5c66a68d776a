"""One program, two libraries: what torch.library and this package have under one name, and how what comes of a run is compared."""

import contextlib
import io
import itertools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import dispatch
import dispatch.library

numbers = itertools.count()

# What torch raises where it did not mean to say anything: any error will do.
ACCIDENTS = (AssertionError, IndexError, KeyError, UnboundLocalError)


class Ours:
    """This package."""

    name = "dispatch"
    library = dispatch.library
    ops = dispatch.ops
    Tag = dispatch.Tag
    Array = np.ndarray
    dtype = np.dtype
    vmap = staticmethod(dispatch.vmap)
    no_grad = staticmethod(dispatch.no_grad)
    opcheck = staticmethod(dispatch.testing.opcheck)

    @staticmethod
    def array(values: Any, *, tracked: bool = False) -> Any:
        x = np.asarray(values, float)
        return dispatch.tensor(x, requires_grad=True) if tracked else x

    @staticmethod
    def copy(x: Any) -> Any:
        return np.copy(x)

    @staticmethod
    def move(x: Any, source: int, target: int) -> Any:
        return np.moveaxis(x, source, target)

    @staticmethod
    def like(x: Any, shape: tuple[int, ...]) -> Any:
        return np.empty_like(x, shape=shape)

    @staticmethod
    def faked(op: Callable[..., Any], *args: Any) -> Any:
        with dispatch.FakeTensorMode() as mode:
            return op(*[mode.from_array(x) if isinstance(x, np.ndarray) else x for x in args])

    @staticmethod
    @contextlib.contextmanager
    def scoped(*args: Any) -> Any:
        with dispatch.library.Library(*args) as lib:
            yield lib

    @staticmethod
    def destroy(lib: Any) -> None:
        lib.destroy()

    @staticmethod
    def call_boxed(kernel: Any, x: Any) -> Any:
        return kernel.call_boxed("CPU", x)

    @staticmethod
    def is_array(x: Any) -> bool:
        return isinstance(x, (np.ndarray, np.generic, dispatch.Tensor))

    @staticmethod
    def values(x: Any) -> Any:
        return np.asarray(dispatch.detach(x)).tolist()


def torch_side() -> Any:
    """Torch, under the same names; only where it is installed."""
    import torch
    import torch._subclasses

    class Theirs:
        name = "torch"
        library = torch.library
        ops = torch.ops
        Tag = torch.Tag
        Array = torch.Tensor
        dtype = torch.dtype
        vmap = staticmethod(torch.vmap)
        no_grad = staticmethod(torch.no_grad)
        opcheck = staticmethod(torch.library.opcheck)
        scoped = staticmethod(torch.library._scoped_library)

        @staticmethod
        def array(values: Any, *, tracked: bool = False) -> Any:
            return torch.tensor(values, dtype=torch.float64, requires_grad=tracked)

        @staticmethod
        def copy(x: Any) -> Any:
            return x.clone()

        @staticmethod
        def move(x: Any, source: int, target: int) -> Any:
            return x.movedim(source, target)

        @staticmethod
        def like(x: Any, shape: tuple[int, ...]) -> Any:
            return x.new_empty(shape)

        @staticmethod
        def faked(op: Callable[..., Any], *args: Any) -> Any:
            with torch._subclasses.FakeTensorMode() as mode:
                return op(*[mode.from_tensor(x) if isinstance(x, torch.Tensor) else x for x in args])

        @staticmethod
        def destroy(lib: Any) -> None:
            lib._destroy()

        @staticmethod
        def call_boxed(kernel: Any, x: Any) -> Any:
            return kernel.call_boxed(torch._C.DispatchKeySet(torch._C.DispatchKey.CPU), x)

        @staticmethod
        def is_array(x: Any) -> bool:
            return isinstance(x, torch.Tensor)

        @staticmethod
        def values(x: Any) -> Any:
            return x.detach().numpy().tolist()

    return Theirs


def plain(side: Any, x: Any) -> Any:
    """A result without what tells the libraries apart: arrays as lists of numbers, fakes as their shapes."""
    if isinstance(x, (list, tuple)):
        return [plain(side, item) for item in x]
    if isinstance(x, dict):
        return {key: plain(side, item) for key, item in x.items()}
    if type(x).__name__ == "FakeTensor":
        return tuple(int(n) for n in x.shape)
    if side.is_array(x):
        return side.values(x)
    return x


def outcome(side: Any, program: Callable[..., Any]) -> tuple[str, Any]:
    """What comes of a program: ("gives", values) or ("raises", exception)."""
    with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()):
        warnings.simplefilter("ignore")
        try:
            return "gives", plain(side, program(side, f"beside{next(numbers)}"))
        except Exception as error:
            return "raises", error


def told_apart(theirs: tuple[str, Any], ours: tuple[str, Any]) -> str:
    """What differs between two outcomes, "" where nothing does: an error has to be of the kind that torch raises."""
    if theirs[0] != ours[0]:
        return f"torch {theirs[0]} {theirs[1]!r:.300}, dispatch {ours[0]} {ours[1]!r:.300}"
    if theirs[0] == "gives":
        same = theirs[1] == ours[1]
        return "" if same else f"torch gives {theirs[1]!r:.300}, dispatch gives {ours[1]!r:.300}"
    wanted = next(cls for cls in type(theirs[1]).__mro__ if cls.__module__ == "builtins")
    if isinstance(theirs[1], ACCIDENTS) or isinstance(ours[1], wanted):
        return ""
    return f"torch raises {wanted.__name__} ({theirs[1]!s:.200}), dispatch {type(ours[1]).__name__} ({ours[1]!s:.200})"
