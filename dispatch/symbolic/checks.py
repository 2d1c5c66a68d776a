"""`check`, which promises a condition on sizes, and questions about sizes that leave no guard."""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core.source import line
from ..core.wrong_calls import clear
from ..errors import ArgumentError, CheckError, DataDependentSizeError, DispatchError, kind_of
from .guards import said
from .sym_bool import SymBool


class OwnChecks:
    """Take back the checks of a `with` block that raises: what runs in its place has other sizes. `env` may be None.

    What is raised of shapes, after a check was taken as true, may come of that, and then says so.
    """

    def __init__(self, env: Any) -> None:
        self._checks: list[Any] = getattr(env, "checks", [])
        self._count = len(self._checks)

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if error is None:
            return
        taken = self._checks[self._count :]
        del self._checks[self._count :]
        if taken and isinstance(error, (IndexError, ValueError)) and not isinstance(error, DispatchError):
            last = taken[-1]
            size = next(name for name in last.names if last.env.symbols[name].hint is None)
            said = " and that ".join([f"{check} at {check.line.place}" for check in taken])
            raise DataDependentSizeError(
                f"{type(error).__name__}: {error}. The sizes may be others: that {said} was taken as true, as {size} "
                f"depends on data. If a size is 1, which goes with every other, promise it before that line, "
                f"dispatch.check({size} == 1)."
            ).with_traceback(error.__traceback__) from error


@clear
def check(condition: Any, message: str | Callable[[], str] | None = None) -> None:
    """Raise unless a condition holds, as `torch._check` does.

    A bool is tested at once. A condition on symbolic sizes becomes a guard of the trace. If it depends on data, the trace takes
    it as true from here on, and each later run tests it.

    Parameters
    ----------
    condition : bool or SymBool
    message : str or callable, optional
        The message if the condition does not hold, or a function that returns it, called only then.

    Raises
    ------
    CheckError
        If the condition does not hold.
    ArgumentError
        If the condition is no truth value, or the message neither text nor a function.

    Examples
    --------
    >>> check(2 > 1, "numbers are in order")
    >>> check(2 > 3, lambda: "there are too few")
    Traceback (most recent call last):
    dispatch.errors.CheckError: there are too few
    """
    if message is not None and not isinstance(message, str) and not callable(message):
        raise ArgumentError(f"check: message is a text or a function that makes one, and was given as {kind_of(message)}.")
    if isinstance(condition, SymBool):
        condition.env.assume(condition, message)
    elif not isinstance(condition, (bool, np.bool_)):
        raise ArgumentError(
            f"check: condition is a truth value or a comparison of sizes, and was given as {kind_of(condition)}. "
            "What an array holds is not checked by it: raise an exception, or write np.where."
        )
    elif not condition:
        raise CheckError(said(message, f"what dispatch.check was given at {line().place} is not so."))


def statically_known(condition: Any) -> bool:
    """Return whether a condition holds for all sizes that the trace is right for. It leaves no guard.

    Parameters
    ----------
    condition : bool or SymBool

    Examples
    --------
    >>> from dispatch.symbolic import ShapeEnv
    >>> n = ShapeEnv().new_size(12)
    >>> statically_known(n > 1), statically_known(n > 5)
    (True, False)
    """
    return condition.env.known(condition) is True if isinstance(condition, SymBool) else condition is True or bool(condition)


def guard_or_false(condition: Any) -> bool:
    """Return whether a condition holds in this run, and leave a guard; return False if it depends on data.

    Parameters
    ----------
    condition : bool or SymBool

    Returns
    -------
    bool

    Examples
    --------
    >>> import dispatch
    >>> env = dispatch.ShapeEnv()
    >>> guard_or_false(env.new_size(12) > 5), guard_or_false(env.new_dynamic_size() > 5), env.guards
    (True, False, [s0 > 5])
    """
    return _or(condition, otherwise=False)


def guard_or_true(condition: Any) -> bool:
    """Return whether a condition holds in this run, and leave a guard; return True if it depends on data.

    Parameters
    ----------
    condition : bool or SymBool

    Returns
    -------
    bool

    Examples
    --------
    >>> import dispatch
    >>> guard_or_true(dispatch.ShapeEnv().new_dynamic_size() > 5)
    True
    """
    return _or(condition, otherwise=True)


def _or(condition: Any, *, otherwise: bool) -> bool:
    if not isinstance(condition, SymBool):
        return bool(condition)
    return condition.env.truth_or(condition, otherwise)  # type: ignore[no-any-return]
