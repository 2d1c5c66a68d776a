"""Hooks: users' functions that get a gradient while a backward runs, and may replace it.

A hook on a value gets its whole gradient, once. Hooks on a node run before and after its rule. A hook takes the place of the
node's rule or stands at a leaf, so that a tape without hooks never has to ask whether there are any.
"""

import weakref
from collections.abc import Callable
from itertools import count
from typing import Any, ClassVar

from ...core.array_memory import has_layout, owned, unwritable, writable
from ...core.wrong_attributes import Attributes
from ...core.wrong_calls import check_takes
from ...errors import GradientError, how_many, kind_of
from .cotangents import added, fitted
from .grad_mode import outside_rules

_numbers = count()


class Handle(Attributes):
    """What registering a hook returns. `remove()` removes the hook, and so does the end of a `with` block.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> x = dispatch.tensor([1.0, 2.0], requires_grad=True)
    >>> with x.register_hook(lambda g: 10 * g):
    ...     x.sum().backward()
    >>> x.sum().backward()
    >>> x.grad
    array([11., 11.])
    """

    __slots__ = ("_hooks", "_number")
    _elsewhere: ClassVar[dict[str, str]] = dict.fromkeys(("close", "unregister", "detach"), "handle.remove()")

    def __init__(self, hooks: dict[int, Any], hook: Any) -> None:
        self._hooks, self._number = hooks, next(_numbers)
        hooks[self._number] = hook

    def remove(self) -> None:
        """Remove the hook. A second call does nothing."""
        self._hooks.pop(self._number, None)

    def __enter__(self) -> "Handle":
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()


class Retained:
    """Keeps the gradient of a value that is no leaf."""

    __slots__ = ("__weakref__", "grad", "handle")

    def __init__(self) -> None:
        self.grad: Any = None
        self.handle: Handle | None = None  # where every backward adds to it, if that was asked

    @property
    def asked(self) -> bool:
        """Whether every backward adds to it."""
        return self.handle is not None

    def add(self, grad: Any) -> None:
        """Add the gradient of one backward."""
        self.grad = owned(grad) if self.grad is None else added(self.grad, grad)


class LeafHooks:
    """The hooks of a leaf."""

    __slots__ = ("after", "layout", "values")

    def __init__(self, layout: Any) -> None:
        self.layout = layout
        self.values: dict[int, Callable[[Any], Any]] = {}
        self.after: dict[int, tuple[Any, Callable[[Any], Any]]] = {}

    def __call__(self, grad: Any) -> Any:
        """The gradient that goes on to the leaf."""
        for hook in list(self.values.values()):
            grad = _changed(hook, grad, self.layout)
        return grad

    def accumulated(self) -> None:
        """Call the hooks that wait until the gradient has been added."""
        for found, hook in list(self.after.values()):
            if (x := found()) is not None:
                hook(x)


class Hooked:
    """The rule of a node with hooks: runs them before and after the node's own rule."""

    __slots__ = ("after", "before", "retained", "rule", "values")

    def __init__(self, rule: Callable[[Any, Any, bool], Any]) -> None:
        self.rule = rule
        self.values: dict[int, tuple[int | None, Callable[[Any], Any]]] = {}
        self.retained: dict[int, tuple[int | None, Any]] = {}
        self.before: dict[int, Callable[[Any], Any]] = {}
        self.after: dict[int, Callable[[Any, Any], Any]] = {}

    def __call__(self, node: Any, grad: Any, create_graph: bool) -> Any:
        return self.run(node, self.arrived(node, grad), create_graph)

    def arrived(self, node: Any, grad: Any) -> Any:
        """Return the gradient of the node's outputs, after the hooks on those values."""
        for number, hook in list(self.values.values()):
            if number is None:
                grad = _changed(hook, grad, node.layout)
            elif number in grad:
                grad = {**grad, number: _changed(hook, grad[number], node.layouts[number])}
        for number, kept in self.retained.values():
            retained, found = kept(), grad if number is None else grad.get(number)
            if retained is not None and found is not None:
                retained.add(found)
        return grad

    def run(self, node: Any, grad: Any, create_graph: bool) -> Any:
        """Return the gradients of the node's inputs, by its rule and the hooks on the node."""
        layouts = getattr(node, "layouts", ()) or (node.layout,)
        for hook in list(self.before.values()):
            shown = _shown_all(grad, len(layouts))
            with outside_rules():
                made = hook(shown)
            if made is not None:
                made = _tuple_of(made, shown, layouts, f"a prehook of {node.name()}")
                grad = {i: g for i, g in enumerate(made) if g is not None} if isinstance(grad, dict) else made[0]
        results = self.rule(node, grad, create_graph)
        if self.after:
            edges = node.edges
            results = tuple(
                r if r is None or edge is None or has_layout(r, edge.layout) else fitted(node, edges, edge, r)
                for edge, r in zip(edges, results, strict=False)
            )
            wanted = [None if edge is None else edge.layout for edge in edges]
            for after in list(self.after.values()):
                shown = tuple(map(unwritable, results))
                with outside_rules():
                    made = after(shown, _shown_all(grad, len(layouts)))
                if made is not None:
                    results = _tuple_of(made, shown, wanted, f"a hook of {node.name()}")
        return results


def hooked(node: Any) -> Hooked:
    """Return the hooks of a node."""
    if type(node.rule) is not Hooked:
        node.replace_rule(Hooked(node.rule))
    found: Hooked = node.rule
    return found


def check_hook(hook: Any, *takes: str) -> None:
    """Raise if a hook cannot be called, or does not take what it `takes`: when it is registered, not when it would run."""
    if not callable(hook):
        raise GradientError(f"a hook is a function of the gradient, and {kind_of(hook)} was given.")
    if takes:
        check_takes("a hook", hook, takes, remedy=f" Take one: lambda {', '.join(takes)}: ....")


def leaf_hooks(leaf: Any) -> LeafHooks:
    """Return the hooks of a leaf."""
    if leaf.hooks is None:
        leaf.hooks = LeafHooks(leaf.layout)
    found: LeafHooks = leaf.hooks
    return found


def retain(node: Any, number: int | None, retained: Retained) -> None:
    """Keep the gradient of an output in `retained`, as long as somebody holds that."""
    if retained.handle is not None:
        retained.handle.remove()
    retained.handle = Handle(hooked(node).retained, (number, weakref.ref(retained)))


def _changed(hook: Callable[[Any], Any], grad: Any, layout: Any) -> Any:
    with outside_rules():
        try:
            made = hook(unwritable(grad))
        except ValueError as error:
            if "read-only" in str(error):
                error.add_note("A hook is given what others hold too, read-only. Return a new gradient: lambda g: g * 2.")
            raise
    return grad if made is None else _checked(writable(made), layout, "a hook")


def _checked(made: Any, layout: Any, who: str) -> Any:
    shape, dtype = layout
    if not hasattr(made, "dtype") or not hasattr(made, "shape"):
        raise GradientError(
            f"{who} on a value of shape {shape} returned {kind_of(made)}. Return an array, or None to change nothing."
        )
    if not has_layout(made, layout):
        raise GradientError(
            f"{who} on a value of shape {shape} and dtype {dtype} returned a gradient of shape {made.shape} and dtype "
            f"{made.dtype}. A gradient has the shape and dtype of its value."
        )
    return made


def _tuple_of(made: Any, shown: tuple[Any, ...], layouts: Any, who: str) -> tuple[Any, ...]:
    """Return what a hook on a node returned, or raise if it does not fit what the hook was given."""
    if not isinstance(made, (tuple, list)) or len(made) != len(shown):
        got = f"{len(made)} of them" if isinstance(made, (tuple, list)) else kind_of(made)
        raise GradientError(
            f"{who} was given a tuple of {how_many(len(shown), 'gradient')} and returned {got}. Return as many, "
            "or None to change nothing."
        )
    return tuple(
        None if new is None else writable(new) if layout is None or new is old else _checked(writable(new), layout, who)
        for new, old, layout in zip(made, shown, layouts, strict=True)
    )


def _shown_all(grad: Any, outputs: int) -> tuple[Any, ...]:
    """Return the gradients of a node's outputs as a hook gets them."""
    return tuple(unwritable(grad.get(i)) for i in range(outputs)) if isinstance(grad, dict) else (unwritable(grad),)
