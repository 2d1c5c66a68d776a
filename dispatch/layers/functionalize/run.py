"""One run of a function whose writes are done on values: what it was given, what is written back, how results leave."""

from typing import Any

import numpy as np

from ...core import DispatchKey, Level, Tensor, device_of, wrap
from ...core.pytree import items_of, mapped, rebuilt
from ...operators.views import View, base_of
from .tensor import FunctionalTensor

FUNCTIONALIZE = int(DispatchKey.FUNCTIONALIZE)


class Functional:
    """One run of a function whose writes are done on values: the payload of its level, and its mode.

    Attributes
    ----------
    level : Level
    roots : dict
        By id, what the function was given or has found elsewhere, and the functional value of it.
    """

    __slots__ = ("level", "roots")

    def __init__(self) -> None:
        self.level = Level("functionalize", self)
        self.roots: dict[int, tuple[Any, FunctionalTensor]] = {}

    @property
    def rank(self) -> int:
        """The rank of its functional values."""
        return self.level.number * 64 + FUNCTIONALIZE

    def root(self, x: Any) -> FunctionalTensor:
        """The functional value of what is none, one for each array."""
        found = self.roots.get(id(x))
        if found is None:
            found = self.roots[id(x)] = x, wrap(FunctionalTensor, x, self.level)
        return found[1]

    def entered(self, x: Any) -> Any:
        """An argument of the function: every array in it as a functional value."""
        return mapped(lambda leaf: leaf if device_of(leaf) is None and not isinstance(leaf, Tensor) else self.root(leaf), x)

    def lifted(self, x: Any) -> Any:
        """An argument of an operator: values of outer transforms as functional ones; plain arrays as they are."""
        if type(x) is FunctionalTensor and x.level is self.level:
            return x
        if isinstance(x, Tensor):
            return self.root(x)
        if type(x) is np.ndarray:
            found = self.roots.get(id(x))
            return x if found is None else found[1]
        items = items_of(x)
        return x if items is None else rebuilt(x, [self.lifted(item) for item in items])

    def given(self, x: Any) -> Any:
        """What an operator gave, as functional values."""
        items = items_of(x)
        if items is not None:
            return rebuilt(x, [self.given(item) for item in items])
        return wrap(FunctionalTensor, x, self.level) if isinstance(x, Tensor) or device_of(x) is not None else x

    def given_of(self, x: FunctionalTensor) -> Any:
        """What a functional value is the first to stand for, where that comes from outside; else None."""
        for outside, root in self.roots.values():
            if root is x:
                return outside
        return None

    def write_back(self) -> None:
        """Let what was written show outside."""
        for outside, root in self.roots.values():
            if root.value is not outside:
                outside[...] = root.value

    def left(self, x: Any) -> Any:
        """A result as it leaves: an argument itself, a view of one made anew, a new value."""
        if type(x) is not FunctionalTensor or x.level is not self.level:
            return x
        base = base_of(x)
        outside = self.given_of(base)
        if outside is None or base.value is outside:
            return x.value
        return self._seen(x)

    def _seen(self, x: Any) -> Any:
        """A value in terms of what is outside."""
        if type(x) is not FunctionalTensor or x.level is not self.level:
            return x
        view = getattr(x, "family", None)
        if type(view) is View:
            return view.again(lambda values: mapped(self._seen, values))
        outside = self.given_of(x)
        return x.value if outside is None else outside
