"""Where things are: the file and line of a function, and of the code that called into this package.

For messages, and for telling who owns a definition; nothing is ever decided by a line number. A function's place comes
from its code object, so it is right behind any number of decorators. This is the one module that reads frames.
"""

import dis
import functools
import inspect
import linecache
import os
import sys
import types
from typing import Any, NamedTuple

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


class Line(NamedTuple):
    """A line of Python code, not read yet.

    Examples
    --------
    >>> Line("solver.py", 12, "step").place
    'solver.py:12'
    """

    file: str
    number: int
    function: str

    @property
    def place(self) -> str:
        return f"{os.path.basename(self.file)}:{self.number}"

    @property
    def text(self) -> str:
        """The code, where it can be read; else nothing."""
        return linecache.getline(self.file, self.number).strip()


def line() -> Line:
    """Return the line outside this package that is running.

    Examples
    --------
    >>> line().number > 0
    True
    """
    frame = _outside()
    return Line(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)


def here(known: dict[Any, Any]) -> Line:
    """Return the line outside this package that is running, as `line` does, in a tenth of the time for one that is known.

    `known`, a dict, keeps what was found for who asks again.

    Examples
    --------
    >>> here({}).number > 0
    True
    """
    frame: Any = sys._getframe(1)  # noqa: SLF001  no public name is as cheap
    while True:
        code = frame.f_code
        file = code.co_filename
        ours = known.get(file)
        if ours is None:
            ours = _is_ours(frame)
            if file[:1] != "<":  # else several modules may go by it
                known[file] = ours
        if not ours or frame.f_back is None:
            break
        frame = frame.f_back
    key = id(code), frame.f_lasti
    found = known.get(key)
    if found is None:
        found = known[key] = Line(file, frame.f_lineno, code.co_name), code  # which keeps its id
    made: Line = found[0]
    return made


def name_of(x: object) -> str:
    """Return the name of the variable that holds an object in the code outside this package that is running, or nothing.

    Examples
    --------
    >>> name_of(np.ones(3))
    ''
    """
    frame = _outside()
    code = frame.f_code
    if code.co_flags & inspect.CO_OPTIMIZED:
        values: Any = frame.f_locals
        found = next((name for name, value in values.items() if value is x and name.isidentifier()), "")
        if type(values) is dict and sys.getrefcount(values) == 3:  # as in `_local`
            values.clear()
        if found:
            return str(found)
    return next((name for name in code.co_names if frame.f_globals.get(name) is x), "")


def raised_at(error: BaseException) -> Line | None:
    """Return the innermost line outside this package that an exception went through.

    Examples
    --------
    >>> raised_at(ZeroDivisionError())  # not raised yet
    """
    found, step = None, error.__traceback__
    while step is not None:
        if not _is_ours(step.tb_frame):
            found = Line(step.tb_frame.f_code.co_filename, step.tb_lineno, step.tb_frame.f_code.co_name)
        step = step.tb_next
    return found


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
    frame = _outside()
    return Caller(
        frame.f_globals.get("__name__", "?"), f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"
    )


def calling_line() -> str:
    """Return the line outside this package that is running, with its text where that can be read.

    Returns
    -------
    str
        `"file.py:12, in f: y = np.log(x)"`.

    Examples
    --------
    >>> calling_line().count(", in ")
    1
    """
    frame = _outside()
    code, number = frame.f_code, frame.f_lineno
    text = linecache.getline(code.co_filename, number, frame.f_globals).strip()
    return f"{os.path.basename(code.co_filename)}:{number}, in {code.co_name}" + (f": {text}" if text else "")


def _outside() -> types.FrameType:
    """The first frame outside this package."""
    frame = sys._getframe(2)  # noqa: SLF001  no public name is as cheap
    while frame.f_back is not None and _is_ours(frame):
        frame = frame.f_back
    return frame


def levels_out() -> int:
    """How many calls above its caller the first one outside this package is: the `stacklevel` of a warning.

    Examples
    --------
    >>> levels_out() > 0
    True
    """
    frame, levels = sys._getframe(1), 1  # noqa: SLF001  no public name is as cheap
    while frame.f_back is not None and _is_ours(frame):
        frame, levels = frame.f_back, levels + 1
    return levels


def assigns_anew(value: object, symbol: str) -> bool:
    """Whether what runs outside this package is `name /= ...`, with `value` the value of that name.

    Then the operation's result becomes the value of the name, whatever it is. Names are variables of functions, cells and
    a module's globals; `x.name`, `x[i]` and the names of a class body may be read in one place and written in another.

    Parameters
    ----------
    value : object
    symbol : str
        `"/="`.

    Examples
    --------
    >>> assigns_anew(np.ones(2), "/=")
    False
    """
    frame = _outside()
    code = frame.f_code
    name, store = _augmented_name(code, frame.f_lasti, symbol)
    if store == "STORE_GLOBAL" or (store == "STORE_NAME" and frame.f_locals is frame.f_globals):
        return frame.f_globals.get(name) is value
    own = store in ("STORE_FAST", "STORE_DEREF") and code.co_flags & inspect.CO_OPTIMIZED
    return bool(own) and _local(frame, name) is value


@functools.lru_cache(256)
def _augmented_name(code: types.CodeType, at: int, symbol: str) -> tuple[str, str]:
    """The name that the result of an instruction `symbol` goes to, and the instruction that puts it there."""
    instructions = iter(dis.get_instructions(code))
    for found in instructions:
        if found.offset == at:
            if found.opname != "BINARY_OP" or found.argrepr != symbol:
                break
            store = next(instructions)
            while store.opname == "EXTENDED_ARG":
                store = next(instructions)
            if store.opname.startswith("STORE_FAST_"):  # two instructions in one, and the first is the store
                return store.argval[0], "STORE_FAST"
            return str(store.argval), store.opname
    return "", ""


def _local(frame: types.FrameType, name: str) -> object:
    """The value of a local variable. Before Python 3.13 a look at one leaves references to all of them; they are taken away."""
    values: Any = frame.f_locals
    value = values.get(name)
    if type(values) is dict and sys.getrefcount(values) == 3:  # held by the frame, by `values`, and by the call that counts
        values.clear()
    return value


def names_around(fn: object) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what the text of a function's type hints may name.

    Parameters
    ----------
    fn : object
        A function, or a callable around one.

    Returns
    -------
    globals : dict
        Of its module.
    inner : dict
        The variables that it closes over, and while the functions around it still run, theirs: a hint may name a class of
        theirs that the function itself never uses.

    Examples
    --------
    >>> def outer():
    ...     Local = int
    ...     def inner(x: "Local"): ...
    ...     return names_around(inner)[1]
    >>> outer()["Local"]
    <class 'int'>
    """
    opened: Any = innermost(fn)
    code = getattr(opened, "__code__", None)
    inner: dict[str, Any] = {}
    frame: types.FrameType | None = sys._getframe(1)  # noqa: SLF001  the only way to variables that are not closed over
    around = code
    while frame is not None and around is not None:
        if frame.f_code.co_name != "<module>" and _encloses(frame.f_code, around):
            inner = {**frame.f_locals, **inner}
            around = frame.f_code
        frame = frame.f_back
    cells = zip(getattr(code, "co_freevars", ()), getattr(opened, "__closure__", None) or (), strict=False)
    inner |= {name: cell.cell_contents for name, cell in cells if cell != types.CellType()}
    return getattr(opened, "__globals__", {}), inner


def _encloses(outer: types.CodeType, inner: types.CodeType) -> bool:
    """Whether a function or class is written inside another, at any depth."""
    written = [constant for constant in outer.co_consts if isinstance(constant, types.CodeType)]
    return any(code is inner or _encloses(code, inner) for code in written)


def _is_ours(frame: types.FrameType) -> bool:
    name = frame.f_globals.get("__name__", "")
    return isinstance(name, str) and (name == _PACKAGE or name.startswith(_PACKAGE + "."))
