"""Observers: modes that see every call before any other key does.

A watcher is a mode whose level outranks every transform, so a thread without one pays nothing. A watcher can exclude keys
(a guard), skip registrations (a kernel that is turned off), or watch the call run (a log). `observed` runs all that are
on: it finds rank and kernel once for all of them.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, Self

from ..core import (
    ABOVE,
    OBSERVE,
    Definition,
    ModeGuard,
    OpOverload,
    Registration,
    active_modes,
    key_of_rank,
    rank_of_call,
    run_at,
    seen_through,
    set_layer,
)
from ..core.wrong_attributes import Fields
from ..core.wrong_calls import Block, in_block, never_entered


class Watcher(ModeGuard, Fields, metaclass=Block):
    """A `with` block that watches this thread's calls.

    Attributes
    ----------
    excluded : int
        Bit k is set if values and modes of key k are skipped.
    """

    excluded = 0
    _listed = False
    _called = ""  # what makes it, in a message
    _used = True  # until one is made

    def __init__(self) -> None:
        super().__init__(OBSERVE, OBSERVE, ABOVE)  # as no guard of itself it goes with its last name, and says so if unused
        self._used = False

    def __enter__(self) -> Self:
        self._used = True
        super().__enter__()
        return self

    def __del__(self) -> None:
        if not self._used:
            never_entered(self._called or type(self).__name__)

    def twin(self) -> ModeGuard:
        """A new guard that turns on the same in another thread."""
        return ModeGuard(self.key, self, ABOVE)

    def passed(self, definition: Definition) -> tuple[Registration, ...]:
        """Return the registrations of an operator to skip."""
        return ()

    def handed(self, definition: Definition, rank: int, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the arguments to pass to the kernel instead of these."""
        return args

    def watch(
        self, op: OpOverload, definition: Definition, rank: int, args: tuple[Any, ...], proceed: Callable[[], Any]
    ) -> Any:
        """Run one step of a call, `proceed()`, and return its result."""
        return proceed()

    def __call__(self, f: Any) -> Any:
        """Return a function that runs `f` in the block: it is a decorator too."""
        self._used = True
        return in_block(lambda: self, f, self.__class__.__name__)

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


def watchers() -> list[Watcher]:
    """Return the watchers that are on in this thread, newest first; those carried from another thread too."""
    found = [guard if isinstance(guard, Watcher) else guard.mode for guard in active_modes()]
    return [watcher for watcher in found if isinstance(watcher, Watcher)]


def observed(op: OpOverload, definition: Definition, args: tuple[Any, ...], keys: int = 0, whole: bool = True) -> Any:
    """Run one step of a watched call: find rank and kernel as the watchers allow, and let them watch.

    The call is held to one definition of the operator, which another thread, a watcher or the kernel may redefine meanwhile.
    """
    watching = watchers()
    passed: list[Registration] = []
    for watcher in watching:
        keys |= watcher.excluded
        passed += watcher.passed(definition)
    values = tuple([seen_through(x, keys) for x in args]) if keys else args
    rank = rank_of_call(op, values, keys, definition)
    kernel = definition.table.lowered(op, key_of_rank(rank), passed) if passed else None
    for watcher in watching:
        values = watcher.handed(definition, rank, values)
    proceed: Callable[[], Any] = partial(run_at, op, rank, values, kernel, whole=whole, definition=definition)
    for watcher in watching:
        proceed = partial(watcher.watch, op, definition, rank, values, proceed)
    return proceed()


class _Observing:
    """Gives the kernels at the key of the watchers; no Layer, because it has no rules."""

    def default(self, op: OpOverload) -> Callable[..., Any]:
        return partial(_observe, op, op.definition)  # kept in the table of that definition

    def __repr__(self) -> str:
        return "the observers"


def _observe(op: OpOverload, definition: Definition, *args: Any) -> Any:
    return observed(op, definition, args)


def install() -> None:
    """Have the calls of observed threads come here."""
    set_layer(OBSERVE, _Observing())  # type: ignore[arg-type]  # a layer without rules, at a key without a name
