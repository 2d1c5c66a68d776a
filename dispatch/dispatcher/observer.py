"""The floor above all others: what sees every call before its first floor does.

Watchers are modes of a level that outranks each transform, so that a thread without one pays nothing for them. A watcher
may leave keys out (a guard), pass registrations over (a kernel that is switched off), or look on while the call runs (a log).
All of them that are on act in one place, `observed`: it finds floor and kernel once, for all.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from ..core import ABOVE, ModeGuard, OpOverload, Registration, active_modes, floor_of, run_at, seen_through, set_layer

OBSERVE = 31  # core.keys: no DispatchKey, for nothing is registered there


class Watcher(ModeGuard):
    """A `with` block during which this thread's calls are watched.

    Attributes
    ----------
    excluded : int
        Bit k where values and modes of key k are seen through.
    """

    excluded = 0

    def __init__(self) -> None:
        super().__init__(OBSERVE, self, ABOVE)

    def passed(self, op: OpOverload) -> tuple[Registration, ...]:
        """The registrations of an operator that do not count."""
        return ()

    def handed(self, op: OpOverload, rank: int, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments that the step's kernel is given in place of these."""
        return args

    def watch(self, op: OpOverload, rank: int, args: tuple[Any, ...], proceed: Callable[[], Any]) -> Any:
        """Run one step of a call, `proceed()`, and give back what it gives."""
        return proceed()

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


def watchers() -> list[Watcher]:
    """The watchers that are on in this thread, newest first; a guard that was carried here from another thread is a twin."""
    return [guard.mode for guard in active_modes() if isinstance(guard.mode, Watcher)]


def observed(op: OpOverload, args: tuple[Any, ...], keys: int = 0, whole: bool = True) -> Any:
    """One step of a watched call: its floor and its kernel, as the watchers leave them, run before their eyes."""
    watching = watchers()
    passed: list[Registration] = []
    for watcher in watching:
        keys |= watcher.excluded
        passed += watcher.passed(op)
    values = tuple([seen_through(x, keys) for x in args]) if keys else args
    rank = floor_of(op, values, keys)
    kernel = op.table.lowered(op, rank & 31, passed) if passed else None
    for watcher in watching:
        values = watcher.handed(op, rank, values)
    proceed: Callable[[], Any] = partial(run_at, op, rank, values, kernel, whole=whole)
    for watcher in watching:
        proceed = partial(watcher.watch, op, rank, values, proceed)
    return proceed()


class _Observing:
    """What answers for the key of the watchers; no Layer, for it has no rules."""

    def default(self, op: OpOverload) -> Callable[..., Any]:
        return partial(_observe, op)

    def __repr__(self) -> str:
        return "the observers"


def _observe(op: OpOverload, *args: Any) -> Any:
    return observed(op, args)


def install() -> None:
    """Have the calls of observed threads come here."""
    set_layer(OBSERVE, _Observing())  # type: ignore[arg-type]  # a layer without rules, at a key without a name
