"""Whether the tape records: per thread, and per level.

`no_grad` holds for the levels that are open when it is entered, level 0 included. A transform that begins inside it has a
larger level and records, so that a gradient computed inside a `no_grad` block is not zero without a word.
"""

from collections.abc import Callable
from typing import Any, Never, Self, TypeVar, overload

from ...core import DispatchKey, Setting, newest_level, setting
from ...core.wrong_attributes import Attributes
from ...core.wrong_calls import Block, clear, in_block, never_entered
from ...errors import ArgumentError, check_flag, kind_of

F = TypeVar("F", bound=Callable[..., Any])
NONE: frozenset[int] = frozenset()
AUTOGRAD = int(DispatchKey.AUTOGRAD)


class Quiet:
    """The levels whose values are constants: all up to one number, and some more; and whether a backward is running."""

    __slots__ = ("levels", "pulling", "up_to")

    def __init__(self, up_to: int = -1, levels: frozenset[int] = NONE, *, pulling: bool = False) -> None:
        self.up_to = up_to
        self.levels = levels
        self.pulling = pulling

    def covers(self, number: int) -> bool:
        """Return whether values of this level are constants."""
        return number <= self.up_to or number in self.levels

    def __repr__(self) -> str:
        return "no_grad" if self.up_to >= 0 else "enable_grad"


RECORDING = Quiet()
# The transforms that take the gradient of what a function returns, by the names of their levels.
TRANSFORMS = frozenset({"grad", "vjp"})
GROUND_ONLY = Quiet(levels=frozenset({0}), pulling=True)  # the commonest: a backward on level 0


def quiet_now() -> Quiet:
    """Return the levels whose values are constants in this thread."""
    found: Quiet | None = setting(AUTOGRAD)
    return RECORDING if found is None else found


def quiet_with(number: int, *, recording: bool) -> Quiet:
    """Return what holds while the tape of a level runs backward: its values are constants, or are recorded again."""
    found: Quiet | None = setting(AUTOGRAD)
    if found is None:
        found = RECORDING
    if recording:
        return Quiet(found.up_to if number > found.up_to else number - 1, found.levels - {number}, pulling=True)
    return Quiet(found.up_to, found.levels | {number}, pulling=True)


def in_recorded_rule(number: int) -> bool:
    """Return whether a backward rule is running that is itself recorded at a level."""
    found: Quiet | None = setting(AUTOGRAD)
    return found is not None and found.pulling and not found.covers(number)


def outside_rules() -> Setting:
    """Return a guard for code that runs during a backward and is no rule of it, a hook say."""
    found = quiet_now()
    return Setting(AUTOGRAD, Quiet(found.up_to, found.levels))


class set_grad_enabled(Attributes, metaclass=Block):
    """A `with` block, or a decorator, that turns recording on or off.

    Parameters
    ----------
    enabled : bool
        True does what `enable_grad` does, False what `no_grad` does.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> x = dispatch.tensor(np.ones(2), requires_grad=True)
    >>> with dispatch.set_grad_enabled(False):
    ...     y = x * 2
    >>> type(y).__name__
    'ndarray'
    """

    __slots__ = ("__weakref__", "_entered", "_used", "enabled")  # and no dict: what is misspelt cannot be set

    @clear
    def __init__(self, enabled: bool) -> None:
        self.enabled = check_flag(enabled, "set_grad_enabled(...)")
        self._entered: list[Setting] = []
        self._used = False

    def __enter__(self) -> None:
        self._used = True
        quiet = Quiet() if self.enabled else Quiet(newest_level(), quiet_now().levels)
        guard = Setting(AUTOGRAD, quiet)
        guard.__enter__()
        self._entered.append(guard)

    def __exit__(self, *exception: object) -> None:
        self._entered.pop().__exit__(*exception)

    def __call__(self, f: F) -> F:
        self._used = True
        found: F = in_block(lambda: set_grad_enabled(self.enabled), f, type(self).__name__)
        return found

    def __del__(self) -> None:
        if not getattr(self, "_used", True):
            never_entered(type(self).__name__, "..." if type(self) is set_grad_enabled else "")


def bare(cls: type[set_grad_enabled], f: Any) -> Any:
    """Return a block; of `@no_grad` without parentheses, as torch has it, the decorated function."""
    if f is None:
        return object.__new__(cls)
    if callable(f):
        return cls()(f)  # type: ignore[call-arg]
    name = cls.__name__
    raise ArgumentError(
        f"{name} is a block or a decorator, and was given {kind_of(f)}. Write with {name}():, or set_grad_enabled(flag)."
    )


class no_grad(set_grad_enabled):
    """A `with` block, or a decorator, in which nothing is recorded: tracked values are constants.

    What asks one for a number or for NumPy's array gets it: `float(x)`, `np.asarray(x)`. A `grad` that begins inside the block
    does record.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> x = dispatch.tensor(np.ones(2), requires_grad=True)
    >>> with dispatch.no_grad():
    ...     type(x * 2).__name__
    'ndarray'
    """

    __slots__ = ()

    @overload
    def __new__(cls, f: None = None, /) -> Self: ...
    @overload
    def __new__(cls, f: F, /) -> F: ...  # type: ignore[misc]  # not an instance: it decorates
    def __new__(cls, f: Any = None, /, *more: Never, **others: Never) -> Any:
        if more or others:
            raise ArgumentError(f"{cls.__name__} is a block or a decorator without options. Write `with {cls.__name__}():`.")
        return bare(cls, f)

    def __init__(self) -> None:
        super().__init__(enabled=False)


class enable_grad(set_grad_enabled):
    """A `with` block, or a decorator, in which calls are recorded again, inside `no_grad`.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> x = dispatch.tensor(np.ones(2), requires_grad=True)
    >>> with dispatch.no_grad(), dispatch.enable_grad():
    ...     type(x * 2).__name__
    'TrackedTensor'
    """

    __slots__ = ()

    @overload
    def __new__(cls, f: None = None, /) -> Self: ...
    @overload
    def __new__(cls, f: F, /) -> F: ...  # type: ignore[misc]  # not an instance: it decorates
    def __new__(cls, f: Any = None, /, *more: Never, **others: Never) -> Any:
        if more or others:
            raise ArgumentError(f"{cls.__name__} is a block or a decorator without options. Write `with {cls.__name__}():`.")
        return bare(cls, f)

    def __init__(self) -> None:
        super().__init__(enabled=True)
