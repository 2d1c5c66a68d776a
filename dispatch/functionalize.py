"""Functionalisation as a layer: writes are done on values, and written back once, at the end.

A functional value stands for the value below it. An operator that writes runs its functional form, one floor down, and what it
writes to stands for the new value; views follow, see views.py. So the layers below never see a write but those to the
function's own arguments, once each, when it has run.

The layer is a mode too, so that what operators make of no argument at all can be written to like everything else. A plain
array that the function was not given is read by NumPy without telling, so that a write to it cannot wait: it is written at
once, and refused where the new value is no plain array.
"""

from collections.abc import Callable
from contextlib import nullcontext
from functools import wraps
from typing import Any

import numpy as np

from .calls import refused
from .containers import arrays, items_of, mapped, rebuilt
from .core import DispatchKey, Level, ModeGuard, OpOverload, Tensor, Without, active_mode, device_of, split, unwrap, wrap
from .errors import DefinitionError, MutationError
from .functional import form_of
from .layer import Kernel, Layer
from .listing import describe_value
from .memory import rewrite, set_rewritable
from .tags import Tag
from .views import View, base_of, overlap, replace, with_views
from .writes import Words, check_dicts, check_target, new_values, target_name, targets

FUNCTIONALIZE = int(DispatchKey.FUNCTIONALIZE)
WORDS = Words(MutationError, "functional value", "functionalize")


class FunctionalTensor(Tensor):
    """A value that can be written to, while what it stands for never is."""

    __slots__ = ("family",)  # unset on most: no view was taken
    key = DispatchKey.FUNCTIONALIZE

    family: Any  # what those that share memory have in common; see views.py

    @property
    def strides(self) -> tuple[int, ...]:
        found: tuple[int, ...] = self.value.strides
        return found

    def item(self) -> Any:
        return self.value.item()

    def tolist(self) -> Any:
        return self.value.tolist()

    def __bool__(self) -> bool:
        return bool(self.value)

    def __int__(self) -> int:
        return int(self.value)

    def __index__(self) -> int:
        return self.value.__index__()  # type: ignore[no-any-return]

    def __float__(self) -> float:
        return float(self.value)

    def __complex__(self) -> complex:
        return complex(self.value)

    def __format__(self, spec: str) -> str:
        return format(self.value, spec)

    def __repr__(self) -> str:
        return f"FunctionalTensor({self.value!r})"


set_rewritable(FunctionalTensor, frozen=True)


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


class Functionalizing(Layer):
    """Runs functional forms in place of what writes."""

    def check(self, op: OpOverload, rule: Any) -> None:
        raise DefinitionError(
            f"{op.name}: functionalize runs the functional form of an operator that writes, and every other operator as it is. "
            "Leave the rule out.",
            operator=op.name,
        )

    def default(self, op: OpOverload) -> Kernel:
        return _writing(op) if op.schema.is_mutable else _reading(op)


layer = Functionalizing("functionalize", DispatchKey.FUNCTIONALIZE)


def _state(args: tuple[Any, ...]) -> tuple[Functional, Any]:
    """The run that a call belongs to, and what takes its mode off."""
    guard, like = active_mode(FUNCTIONALIZE), split(args)[0]
    if type(like) is FunctionalTensor and (guard is None or like.rank > guard.rank):
        return like.level.payload, nullcontext()
    assert guard is not None
    return guard.mode, Without(guard)


def _reading(op: OpOverload) -> Kernel:
    """The kernel of an operator that writes to nothing."""
    whole = op.whole

    def run(state: Functional, off: Any, args: tuple[Any, ...]) -> Any:
        with off:
            return whole(*unwrap(args, state.level.number * 64 + FUNCTIONALIZE))

    if not op.schema.is_view:

        def kernel(*args: Any) -> Any:
            state, off = _state(args)
            return state.given(run(state, off, state.lifted(args)))

        return kernel

    places = [i for i, a in enumerate(op.schema.arguments) if a.alias is not None]

    def viewing(*args: Any) -> Any:
        state, off = _state(args)
        plain = [x for i in places for x in arrays(args[i]) if isinstance(x, np.ndarray)]

        def given(x: Any) -> Any:
            """A view of a plain array is one too: it is written where it stands."""
            seen = isinstance(x, np.ndarray) and any(np.may_share_memory(x, y) for y in plain)
            return x if seen else state.given(x)

        return mapped(given, run(state, off, args))

    return _noted(op, viewing)


def _noted(op: OpOverload, kernel: Kernel) -> Kernel:
    """A kernel of an operator that returns views, which notes what is a view of what."""
    noting = with_views(op, kernel, FunctionalTensor)

    def lifting(*args: Any) -> Any:
        return noting(*_state(args)[0].lifted(args))

    return lifting


def _writing(op: OpOverload) -> Kernel:
    """The kernel of an operator that writes: its functional form runs, and what is written stands for what that gave."""
    form, functional = form_of(op.schema), op.functional.whole
    single = len(op.functional.schema.returns) == 1

    def kernel(*args: Any) -> Any:
        state, off = _state(args)
        args = state.lifted(args)
        rank = state.level.number * 64 + FUNCTIONALIZE
        values = unwrap(args, rank)
        written = targets(form, args)
        _check(op, state, args, values, written)
        with off:
            result = functional(*values)
            outputs = [result] if single else list(result)
            new = new_values(form, args, outputs)
            _check_plain(op, state, args, written, new)
            for x, value in zip(written, new, strict=True):
                if type(x) is FunctionalTensor:
                    replace(x, value, _put, lambda values: unwrap(values, rank))
                else:
                    x[...] = value
        return form.given_back([state.given(x) for x in outputs], args)

    return _noted(op, kernel) if op.schema.is_view else kernel


def _put(x: FunctionalTensor, value: Any) -> None:
    rewrite(x, value, None, False)


def _check(op: OpOverload, state: Functional, args: tuple[Any, ...], values: tuple[Any, ...], written: list[Any]) -> None:
    """Refuse what the operator itself would refuse, and what could not be followed."""
    for i, accept in enumerate(op.arguments.checks):
        if op.schema.arguments[i].is_write and not accept(values[i]):
            raise refused(op, values, {})
    for i, x in enumerate(written):
        if type(x) is not FunctionalTensor:
            continue
        check_target(op, args, x, written[:i], WORDS)
        outside = state.given_of(base_of(x))
        if outside is None:
            continue
        name = target_name(op, args, x)
        if Tag.inplace_view in op.tags:
            raise WORDS.refused(
                op,
                f"{name} was given to the function that is functionalized, and its shape would change, which cannot be written "
                "back. Write to a copy: x = x.copy().",
            )
        if any(other is not outside and overlap(other, outside) for other, _ in state.roots.values()):
            raise WORDS.refused(
                op,
                f"{name} shares memory with another array that was given to the function that is functionalized, and the write "
                "would not show there. Give each its own.",
            )
    check_dicts(op, args, written, WORDS)


def _check_plain(op: OpOverload, state: Functional, args: tuple[Any, ...], written: list[Any], new: list[Any]) -> None:
    """Refuse to write what another transform follows to an array that cannot hold it."""
    for x, value in zip(written, new, strict=True):
        outside = state.given_of(base_of(x)) if type(x) is FunctionalTensor else x
        if isinstance(value, Tensor) and outside is not None and not isinstance(outside, Tensor):
            raise WORDS.refused(
                op,
                f"{target_name(op, args, x)} is {describe_value(outside)}, which cannot hold the {type(value).__name__} that would be "
                "written to it. Make the array of such a value, np.empty_like(x, shape=...), or pass it to the function as an "
                "argument.",
            )


def functionalize(f: Callable[..., Any]) -> Callable[..., Any]:
    """A function that does what `f` does, without writes: operators that write run their functional form.

    The arguments that `f` writes to are written once each, when it has run; results that are arguments or views of them still
    are. It leaves the same values in the same arrays as `f`, but where `f` raises: then nothing has been written.

    Parameters
    ----------
    f : callable
        Of arrays, in containers too.

    Returns
    -------
    callable
        Takes the arguments of `f`.

    Raises
    ------
    MutationError
        Inside `f`, if a write cannot be done on values: to an argument that shares memory with another, or of what another
        transform follows to a plain array that the function was not given.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> def f(x, y):
    ...     y[0] = x[1]
    ...     y *= 2
    ...     return y[1:]
    >>> graph = dispatch.make_fx(dispatch.functionalize(f))(np.ones(3), np.ones(3))
    >>> [node.op.name for node in graph.nodes if node.op and node.op.schema.is_mutable]  # the one write at the end
    ['np::setitem_']
    >>> y = np.ones(3)
    >>> dispatch.functionalize(f)(np.arange(3.0), y), y
    (array([2., 2.]), array([2., 2., 2.]))
    """

    @wraps(f)
    def functional(*args: Any, **keywords: Any) -> Any:
        state = Functional()
        with state.level as level:
            args, keywords = state.entered(args), state.entered(keywords)
            with ModeGuard(FUNCTIONALIZE, state, level):
                out = f(*args, **keywords)
            state.write_back()
            return mapped(state.left, out)

    return functional
