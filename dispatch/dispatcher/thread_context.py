"""`carry`: runs a function in another thread under the modes and settings of this one."""

from collections.abc import Callable
from contextlib import ExitStack
from functools import wraps
from typing import ParamSpec, TypeVar

from ..core import open_levels, turned_on
from ..core.source import where
from ..core.wrong_calls import check_takes, clear
from ..errors import ArgumentError, EscapedValueError, kind_of

P = ParamSpec("P")
R = TypeVar("R")


@clear
def carry(f: Callable[P, R]) -> Callable[P, R]:
    """Return a function that runs `f` in any thread under the modes and settings that are on here and now.

    Modes and settings such as `FakeTensorMode` and `no_grad` belong to the thread that entered them. The returned function
    turns them on in the thread that calls it, until it returns. Several threads may call it at once. It may use values of a
    `grad` or `vmap` that is running here, until that ends.

    Parameters
    ----------
    f : callable

    Returns
    -------
    callable
        With the signature of `f`.

    Raises
    ------
    EscapedValueError
        If it is called after a transform has ended that was running when `carry` was called.

    Examples
    --------
    >>> from concurrent.futures import ThreadPoolExecutor
    >>> import dispatch
    >>> x = dispatch.tensor([1.0, 2.0], requires_grad=True)
    >>> def double(x):
    ...     return type(x * 2).__name__
    >>> with ThreadPoolExecutor(1) as pool, dispatch.no_grad():
    ...     pool.submit(double, x).result(), pool.submit(dispatch.carry(double), x).result()
    ('TrackedTensor', 'ndarray')
    """
    if not callable(f):
        raise ArgumentError(f"carry takes a function, and was given {kind_of(f)}. Write carry(f), and call what it returns.")
    guards, levels = turned_on(), open_levels()

    @wraps(f)
    def carried(*args: P.args, **keywords: P.kwargs) -> R:
        for level in levels:
            if not level.open:
                raise EscapedValueError(
                    f"{where(f)} was carried out of {level!r}, which has ended. Wait for the threads inside the transform."
                )
        with ExitStack() as stack:
            for guard in guards:
                stack.enter_context(guard.twin())
            try:
                return f(*args, **keywords)
            except TypeError:
                check_takes("carry", f, args, keywords)
                raise

    return carried
