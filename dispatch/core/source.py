"""Says where code is: the file and line of a function, and the line of user code that is running.

The places go into messages and into graphs, and tell who owns a definition; no result depends on one. The place of a function
is read from its code object, so any number of decorators around it makes no difference. More than 350 lines: what reads frames
stands here, and nowhere else.
"""

import functools
import linecache
import opcode
import os
import sys
import types
import warnings
from typing import Any, NamedTuple

import numpy as np

from ..errors import RedefinitionWarning

_PACKAGE = __name__.partition(".")[0]
_INSIDE = _PACKAGE + "."


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
    if type(fn) is types.FunctionType and not hasattr(fn, "__wrapped__"):
        return fn
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


def file_of(path: str) -> str:
    """Return what a message calls a file: its name; or the cell of a notebook, `cell In[3]`, as its head says.

    Examples
    --------
    >>> file_of("/home/me/kernels.py")
    'kernels.py'
    """
    if (ipython := sys.modules.get("IPython")) is None:
        return os.path.basename(path)
    shell: Any = ipython.get_ipython()
    named = getattr(getattr(shell, "compile", None), "format_code_name", None)  # of IPython 8 and newer
    found = None if named is None else named(path)
    return os.path.basename(path) if found is None else f"{found[0].lower()} {found[1]}"


def where(fn: object) -> str:
    """Return where a callable is written.

    Parameters
    ----------
    fn : object
        Any callable.

    Returns
    -------
    str
        `"file.py:12"`; for a callable without Python code what it is, in angle brackets; for a rule that is a word, that.

    Examples
    --------
    >>> where(np.sin), where(len), where(dict)
    ('<ufunc sin>', '<builtin len>', '<class dict>')
    """
    if isinstance(fn, str):
        return repr(fn)
    fn = innermost(fn)
    code = getattr(fn, "__code__", None)
    if isinstance(code, types.CodeType):
        return f"{file_of(code.co_filename)}:{code.co_firstlineno}"
    for kind, word in ((np.ufunc, "ufunc"), (type, "class"), (types.BuiltinFunctionType, "builtin")):
        if isinstance(fn, kind):
            return f"<{word} {getattr(fn, '__name__', '?')}>"
    return f"<{type(fn).__name__} {getattr(fn, '__name__', 'object')}>"


class Line(NamedTuple):
    """A line of Python code, whose text is read when it is asked for. It prints as `file.py:12, in f: y = np.log(x)`.

    Examples
    --------
    >>> str(Line("of_no_file.py", 12, "step"))
    'of_no_file.py:12, in step'
    """

    file: str
    number: int
    function: str

    @property
    def place(self) -> str:
        return f"{file_of(self.file)}:{self.number}"

    @property
    def text(self) -> str:
        """The code of the line; empty where the file cannot be read."""
        return linecache.getline(self.file, self.number).strip()

    def __str__(self) -> str:
        text = self.text
        return f"{self.place}, in {self.function}" + (f": {text}" if text else "")


def line(*libraries: str) -> Line:
    """Return the line outside this package that is running.

    Parameters
    ----------
    *libraries : str
        Packages, `"numpy"` say, whose lines are passed over: the line that called them is returned.

    Examples
    --------
    >>> line().number > 0
    True
    """
    frame = outer_frame()
    user: types.FrameType | None = frame
    while user is not None and (_is_ours(user) or _package(user) in libraries):
        user = user.f_back
    return _line_of(user or frame)


def here(known: dict[Any, Any]) -> Line:
    """Return what `line` does, in a tenth of the time for a line that was asked for before.

    Parameters
    ----------
    known : dict
        Keeps the lines that were found; pass the same one again.

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
            name = frame.f_globals.get("__name__", "")  # as `_is_ours`, without a call for each frame of generated code
            ours = isinstance(name, str) and (name == _PACKAGE or name.startswith(_PACKAGE + "."))
            if file[:1] != "<":  # several modules may share a name in angle brackets
                known[file] = ours
        if not ours or frame.f_back is None:
            break
        frame = frame.f_back
    key = id(code), frame.f_lasti
    found = known.get(key)
    if found is None:
        found = known[key] = _line_of(frame), code  # holding the code keeps its id from being given to another
    made: Line = found[0]
    return made


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


_IMPORT_FROM = opcode.opmap.get("IMPORT_FROM")


def not_there(module: str, name: str, said: str, above: int = 1) -> Exception:
    """What a module's `__getattr__` is to raise: an ImportError for `from module import name`, to which Python adds no words.

    Python turns an AttributeError there into an ImportError of its own, which loses the close match: the words alone hang on
    what is found here. `above` says how many frames lie between this and the import.

    Examples
    --------
    >>> not_there("json", "lods", " Did you mean 'loads'?")
    AttributeError("module 'json' has no attribute 'lods'. Did you mean 'loads'?")
    """
    frame = sys._getframe(above + 1)  # noqa: SLF001
    if frame.f_lasti >= 0 and frame.f_code.co_code[frame.f_lasti] == _IMPORT_FROM:
        return ImportError(f"cannot import name {name!r} from {module!r}.{said}", name=module)
    return AttributeError(f"module {module!r} has no attribute {name!r}{'.' if said else ''}{said}", name=name)


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
    frame = outer_frame()
    return Caller(frame.f_globals.get("__name__", "?"), f"{file_of(frame.f_code.co_filename)}:{frame.f_lineno}")


def made_otherwise(fn: object, before: object) -> list[str]:
    """Return what a function has other values of than one of the same code that was made before: closure and defaults.

    Only functions made inside others, `<locals>`, have brothers of the same code. A module that is run again, or a cell of a
    notebook, has code of its own.

    Examples
    --------
    >>> def scaling(k):
    ...     return lambda x: x * k
    >>> made_otherwise(scaling(3), scaling(2)), made_otherwise(scaling(3), scaling(3))
    (['k'], [])
    """
    new, old = innermost(fn), innermost(before)
    if not _are_brothers(new, old):
        return []
    return [name for name, x, y in zip(*_values(new), _values(old)[1], strict=True) if not _is_same(x, y, set())]


def _are_brothers(new: Any, old: Any) -> bool:
    if new is old or type(new) is not types.FunctionType or type(old) is not types.FunctionType:
        return False
    return new.__code__ is old.__code__ and "<locals>" in new.__qualname__


def _values(fn: Any) -> tuple[list[str], list[Any]]:
    """What a function holds beside its code, by name: its defaults and the cells of its closure."""
    code = fn.__code__
    defaults = fn.__defaults__ or ()
    named = dict(zip(code.co_varnames[code.co_argcount - len(defaults) : code.co_argcount], defaults, strict=True))
    named |= fn.__kwdefaults__ or {}
    named |= dict(zip(code.co_freevars, fn.__closure__ or (), strict=True))
    return list(named), list(named.values())


def _is_same(x: Any, y: Any, seen: set[tuple[int, int]]) -> bool:
    """Whether two values are one object, or of a type whose values are what they say; functions inside are looked into."""
    if x is y or (id(x), id(y)) in seen:
        return True
    seen.add((id(x), id(y)))
    if type(x) is not type(y):
        return False
    if type(x) is types.CellType:
        try:
            return _is_same(x.cell_contents, y.cell_contents, seen)
        except ValueError:  # an empty one: its variable has not been set yet
            return False
    if isinstance(x, (int, float, complex, str, bytes, np.generic, np.dtype)):
        return repr(x) == repr(y)
    if isinstance(x, tuple):
        return len(x) == len(y) and all(_is_same(a, b, seen) for a, b in zip(x, y, strict=True))
    if not _are_brothers(x, y):
        return False
    return all(_is_same(a, b, seen) for a, b in zip(_values(x)[1], _values(y)[1], strict=True))


def warn_of_brother(name: str, fn: object, before: object) -> None:
    """Warn where a function that makes operators has made one of this name before: the first now runs what the second does."""
    others = made_otherwise(fn, before)
    if others:
        maker = getattr(innermost(fn), "__qualname__", "").rpartition(".<locals>")[0]
        _warn_of_redefinition(
            f"{maker} has made {name} before, of the same code and another {', '.join(others)}: whoever holds the first calls "
            f'the new one from here on. Give each a name of its own, of what tells them apart: f"{name}_{{{others[0]}}}".'
        )
        return
    words = [getattr(f, "__qualname__", "<lambda>") for f in (fn, before)]
    at_top = outer_frame().f_code.co_name == "<module>"  # what tests and loops make there is theirs to name
    if at_top and words[0] != words[1] and not any(["<" in word for word in words]):
        _warn_of_redefinition(
            f"{name} was {words[1]} ({where(before)}), and is {words[0]} from here on, also for who holds the first. "
            "Give one of the two another name."
        )


def _warn_of_redefinition(text: str) -> None:
    frame = outer_frame()
    # Each time, where `warnings.warn` would say the same once for a line.
    warnings.warn_explicit(text, RedefinitionWarning, frame.f_code.co_filename, frame.f_lineno)


def levels_out() -> int:
    """Return how many calls above its caller the first one outside this package is: the `stacklevel` of a warning.

    Examples
    --------
    >>> levels_out() > 0
    True
    """
    frame, levels = sys._getframe(1), 1  # noqa: SLF001  no public name is as cheap
    while frame.f_back is not None and _is_ours(frame):
        frame, levels = frame.f_back, levels + 1
    return levels


def library_function(package: str) -> tuple[str, str] | None:
    """Return the function of a library that user code called, by its public module and name, if one is running.

    Parameters
    ----------
    package : str
        The name of the library, `"scipy"` say.

    Returns
    -------
    tuple of str or None
        The module, `"scipy.special"`, and the function, empty where it has no name there. None if the innermost code
        outside this package and NumPy is not the library's.

    Examples
    --------
    >>> library_function("scipy")
    """
    frame: types.FrameType | None = outer_frame()
    while frame is not None and _package(frame) == "numpy":  # np.asarray_chkfinite, say
        frame = frame.f_back
    found: tuple[str, str] | None = None
    while frame is not None:
        words = str(frame.f_globals.get("__name__", "")).split(".")
        if words[0] != package:
            break
        module, name = ".".join(words[:2]), frame.f_code.co_name
        wrapped = [frame.f_locals.get(word) for word in frame.f_code.co_freevars]
        for function in wrapped:  # of a decorator of the library: what it decorates
            if isinstance(function, types.FunctionType) and str(function.__module__).startswith(f"{package}."):
                module, name = ".".join(str(function.__module__).split(".")[:2]), function.__name__
        if not name.startswith("_") and callable(getattr(sys.modules.get(module), name, None)):
            found = (module, name)
        elif found is None or not found[1]:
            found = (module, "")
        frame = frame.f_back
    return found


def numpy_function() -> str | None:
    """Return the function of NumPy that user code called and that NumPy hands over, if one is running: `"linalg.norm"`.

    Examples
    --------
    >>> numpy_function()
    """
    frame: types.FrameType | None = outer_frame()
    found = None
    while frame is not None and _package(frame) == "numpy":
        for module in ("numpy", "numpy.linalg", "numpy.fft"):
            f = getattr(sys.modules.get(module), frame.f_code.co_name, None)
            if getattr(getattr(f, "_implementation", None), "__code__", None) is frame.f_code:
                found = f"{module}.{frame.f_code.co_name}".removeprefix("numpy.")
        frame = frame.f_back
    return found


def outer_frame() -> types.FrameType:
    """Return the innermost frame outside this package."""
    frame = sys._getframe(1)  # noqa: SLF001  no public name is as cheap
    while (outer := frame.f_back) is not None and _is_ours(frame):
        frame = outer
    return frame


def _line_of(frame: types.FrameType) -> Line:
    code = frame.f_code
    linecache.lazycache(code.co_filename, frame.f_globals)  # for code that a loader reads, and no file holds
    return Line(code.co_filename, frame.f_lineno, code.co_name)


def _package(frame: types.FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


def _is_ours(frame: types.FrameType) -> bool:
    name = frame.f_globals.get("__name__", "")
    return isinstance(name, str) and (name.startswith(_INSIDE) or name == _PACKAGE)
