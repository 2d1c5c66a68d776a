"""Where things are: the file and line of a function, and of the code that called into this package.

For messages, and for telling who owns a definition; nothing is ever decided by a line number. A function's place comes
from its code object, so it is right behind any number of decorators. This is the one module that reads frames.
"""

import functools
import os
import sys
import types
from typing import NamedTuple

import numpy as np

_PACKAGE = __name__.partition(".")[0]


class Caller(NamedTuple):
    """The code outside this package that is running."""

    module: str
    place: str


def innermost(fn: object) -> object:
    """Return the function inside partials, methods, wrappers and callable objects.

    Parameters
    ----------
    fn : object
        Any callable.

    Returns
    -------
    object
        A function with a code object, or what cannot be opened further: a builtin, a ufunc, a class.

    Examples
    --------
    >>> innermost(functools.partial(functools.partial(np.add), 1))
    <ufunc 'add'>
    """
    seen: set[int] = set()
    while id(fn) not in seen and not isinstance(fn, (np.ufunc, type)):
        seen.add(id(fn))
        if isinstance(fn, functools.partial):
            fn = fn.func
        elif isinstance(fn, types.MethodType):
            fn = fn.__func__
        elif hasattr(fn, "__wrapped__"):
            fn = fn.__wrapped__
        elif not hasattr(fn, "__code__") and isinstance(vars(type(fn)).get("__call__"), types.FunctionType):
            fn = vars(type(fn))["__call__"]
    return fn


def where(fn: object) -> str:
    """Return where a callable is written.

    Parameters
    ----------
    fn : object
        Any callable.

    Returns
    -------
    str
        `"file.py:12"`, or what it is, in angle brackets, when it has no Python code.

    Examples
    --------
    >>> where(np.sin), where(len), where(dict)
    ('<ufunc sin>', '<builtin len>', '<class dict>')
    """
    fn = innermost(fn)
    code = getattr(fn, "__code__", None)
    if isinstance(code, types.CodeType):
        return f"{os.path.basename(code.co_filename)}:{code.co_firstlineno}"
    for kind, word in ((np.ufunc, "ufunc"), (type, "class"), (types.BuiltinFunctionType, "builtin")):
        if isinstance(fn, kind):
            return f"<{word} {getattr(fn, '__name__', '?')}>"
    return f"<{type(fn).__name__} {getattr(fn, '__name__', 'object')}>"


def caller() -> Caller:
    """Return the module and the place of the first frame outside this package.

    Returns
    -------
    Caller
        The module's name and `"file.py:12"`.

    Examples
    --------
    >>> caller()._fields
    ('module', 'place')
    """
    frame = sys._getframe(1)  # noqa: SLF001  no public name is as cheap
    while frame.f_back is not None and _is_ours(frame):
        frame = frame.f_back
    return Caller(
        frame.f_globals.get("__name__", "?"), f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"
    )


def _is_ours(frame: types.FrameType) -> bool:
    name = frame.f_globals.get("__name__", "")
    return isinstance(name, str) and (name == _PACKAGE or name.startswith(_PACKAGE + "."))
