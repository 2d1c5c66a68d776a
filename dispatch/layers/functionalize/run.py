"""One run of a functionalized function: wraps its arguments, unwraps its results, and writes at the end."""

from collections.abc import Callable
from operator import is_
from typing import Any

import numpy as np

from ...core import DispatchKey, Level, ModeGuard, Tensor, check_data, device_of, rank_of, wrap
from ...core.pytree import items_of, mapped, rebuilt
from ...operators.view_families import View
from ...operators.views import base_of, has_data, overlap
from .tensor import FunctionalTensor

FUNCTIONALIZE = int(DispatchKey.FUNCTIONALIZE)
PLAIN = frozenset({int, float, bool, str, type(None), type(Ellipsis), slice})  # what most arguments that are no arrays are


class Functional:
    """One run of a functionalized function; the payload of its level, and its mode.

    `roots` has, by id, each array from outside the function, and the tensor that wraps it; `outside` the arrays by the ids of
    these tensors. `apart` has the ids of arrays that share no memory with the others, each with how many those were. A run is
    `repeatable` while nothing has happened beside it: no operator was called that may do more than to return values, and no
    array from outside was written.
    """

    __slots__ = ("apart", "level", "outside", "repeatable", "roots", "views")

    def __init__(self) -> None:
        self.level = Level("functionalize", self)
        self.repeatable = True
        self.roots: dict[int, tuple[Any, FunctionalTensor]] = {}
        self.outside: dict[int, Any] = {}
        self.apart: dict[int, int] = {}
        self.views: dict[int, tuple[Any, Any]] = {}  # of results, by the id of the tensor

    def run(self, f: Callable[..., Any], args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        """Return what a function returns, and write what it has written, at the end."""
        with self.level as level:
            args, keywords = self.entered(args), self.entered(keywords)
            with ModeGuard(FUNCTIONALIZE, self, level):
                out = f(*args, **keywords)
            self.repeatable = False
            self.write_back()
            return mapped(self.left, out)

    @property
    def rank(self) -> int:
        """The rank of the tensors of this run."""
        return rank_of(self.level.number, FUNCTIONALIZE)

    def root(self, x: Any) -> FunctionalTensor:
        """Return the tensor that wraps an array from outside; there is one for each array."""
        found = self.roots.get(id(x))
        if found is None:
            found = self.roots[id(x)] = x, wrap(FunctionalTensor, x, self.level)
            self.outside[id(found[1])] = x
        return found[1]

    def entered(self, x: Any) -> Any:
        """Return an argument of the function with every array in it wrapped."""
        return mapped(lambda leaf: leaf if device_of(leaf) is None and not isinstance(leaf, Tensor) else self.root(leaf), x)

    def lifted(self, x: Any) -> Any:
        """Return an argument of an operator with values of outer transforms wrapped; other plain arrays stay as they are."""
        cls = type(x)
        if cls in PLAIN or (cls is FunctionalTensor and x.level is self.level):
            return x
        if cls is tuple:  # the arguments of most calls: nothing in it is made anew where all items stay
            level = self.level
            made = [y if type(y) in PLAIN or (type(y) is FunctionalTensor and y.level is level) else self.lifted(y) for y in x]
            return x if all(map(is_, made, x)) else tuple(made)
        if isinstance(x, Tensor):
            return self.root(x)
        if cls is np.ndarray:
            found = self.roots.get(id(x))
            return x if found is None else found[1]
        check_data(x)
        items = items_of(x)
        return x if items is None else rebuilt(x, [self.lifted(item) for item in items])

    def given(self, x: Any) -> Any:
        """Return the result of an operator, wrapped."""
        if isinstance(x, Tensor):
            return wrap(FunctionalTensor, x, self.level)
        items = items_of(x)
        if items is not None:
            return rebuilt(x, [self.given(item) for item in items])
        return x if device_of(x) is None else wrap(FunctionalTensor, x, self.level)

    def given_of(self, x: FunctionalTensor) -> Any:
        """Return the array from outside that a tensor wrapped first; None if there is none."""
        return self.outside.get(id(x))

    def overlaps(self, x: Any) -> bool:
        """Return whether an array from outside may share memory with another one; of those known before it is asked once."""
        if not has_data(x):
            return False
        known = self.apart.get(id(x), 0)
        if known < len(self.roots):
            if any(other is not x and overlap(other, x) for other, _ in list(self.roots.values())[known:]):
                return True
            self.apart[id(x)] = len(self.roots)
        return False

    def write_back(self) -> None:
        """Write the new values to the arrays from outside."""
        for outside, root in self.roots.values():
            if root.value is not outside:
                outside[...] = root.value

    def left(self, x: Any) -> Any:
        """Return a result without its wrapper: an argument itself, a view of an argument, or a new value."""
        if type(x) is not FunctionalTensor or x.level is not self.level:
            return x
        base = base_of(x)
        outside = self.given_of(base)
        if outside is None or base.value is outside:
            return x.value
        kept = self.views.get(id(x))
        if kept is None:
            kept = self.views[id(x)] = (x, self._seen(x))  # one view that is returned twice is one object
        return kept[1]

    def _seen(self, x: Any) -> Any:
        """Return a value, or a view, in terms of the arrays from outside."""
        if type(x) is not FunctionalTensor or x.level is not self.level:
            return x
        view = getattr(x, "family", None)
        if type(view) is View:
            return view.again(lambda values: mapped(self._seen, values))
        outside = self.given_of(x)
        return x.value if outside is None else outside
