"""ModeBlock: a mode as a `with` block, which several threads may share."""

import inspect
import threading
from collections.abc import Callable
from typing import Any, ClassVar, NoReturn, Self, TypeVar

from ..core import DispatchKey, ModeGuard
from ..core.wrong_attributes import Attributes
from ..core.wrong_calls import Block, in_block
from ..errors import ArgumentError, GuardError

F = TypeVar("F", bound=Callable[..., Any])


class Entered(threading.local):
    """The guards of one mode that a thread has entered."""

    def __init__(self) -> None:
        self.guards: list[ModeGuard] = []

    def __reduce__(self) -> NoReturn:
        raise TypeError("a mode is turned on in the threads of one process, and cannot be pickled. Make another one there.")


class ModeBlock(Attributes, metaclass=Block):
    """The base of modes: `with mode:` turns it on in this thread, and a thread leaves only what it entered.

    Attributes
    ----------
    mode_key : DispatchKey
        The key of the layer whose kernels run while the mode is on.
    """

    mode_key: ClassVar[DispatchKey]
    _entered: Entered

    def __new__(cls, /, *args: Any, **options: Any) -> Self:
        if (args or options) and cls.__init__ is object.__init__ and not inspect.isfunction(next(iter(args), None)):
            said = f"{cls.__name__}() takes nothing, and was given something."
            raise ArgumentError(f"{said} Write an __init__ that keeps it, or leave it out.")
        self = super().__new__(cls)
        vars(self)["_entered"] = Entered()  # not in __init__, which a subclass need not call
        return self

    def __enter__(self) -> Self:
        guards, guard = self._entered.guards, ModeGuard(self.mode_key, self)  # first: nothing may fail once the guard is on
        guard.__enter__()
        guards.append(guard)
        return self

    def __exit__(self, *exception: object) -> None:
        if not self._entered.guards:
            raise GuardError(f"{self!r} is left in a thread in which it was not entered. Enter and leave it in one thread.")
        self._entered.guards.pop().__exit__(*exception)

    def __call__(self, f: F) -> F:
        """Return a function that runs `f` under the mode: it is a decorator too."""
        found: F = in_block(lambda: self, f, type(self).__name__)
        return found

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"
