"""Imports a module or a file that was named as text, and finds the operators that it defines: for commands and test runners."""

import os
import sys
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

from ..core import OpOverload
from ..core.source import raised_at
from ..errors import DispatchError, OperatorNotFoundError
from .namespaces import defined_now

OURS = f"{__name__.partition('.')[0]}."


def is_file(module: str) -> bool:
    """Whether a text names a file, or the folder of a package, rather than a module."""
    return module.endswith(".py") or os.sep in module or module in (os.curdir, os.pardir)


def load(module: str) -> str:
    """Import a module, from the working directory too as `python -m` would, a file, or the package in a folder.

    Parameters
    ----------
    module : str
        A module's name, a file, `./kernels.py`, or the folder of a package: `src/mylib`.

    Returns
    -------
    str
        The name of the module in `sys.modules`.

    Raises
    ------
    ImportError
        If there is no such module or file, or it raised; the message has what it raised, and the line.

    Examples
    --------
    >>> load("json")
    'json'
    >>> load("./nothing.py")
    Traceback (most recent call last):
    ImportError: there is no file nothing.py.
    """
    if not module.strip() or "::" in module or (module.startswith(".") and not is_file(module)):
        named = f"{module!r} names an operator, and" if "::" in module else f"{module!r} names no module:"
        raise ImportError(f"{named} the name of a module is asked for, mylib.kernels, or a file, ./kernels.py.")
    try:
        path, home = (Path(module) if is_file(module) else None), os.getcwd()
    except FileNotFoundError:
        raise ImportError("the working directory is there no more. Change to one that is.") from None
    if path is not None and (path / "__init__.py").is_file():
        folder = path.resolve()
        path, home, module = None, str(folder.parent), folder.name
    if path is not None and path.is_dir():
        raise ImportError(f"{module} is a folder without an __init__.py, so no package. Name a file in it: {path / 'f.py'}.")
    if path is not None and not path.is_file():
        meant = path.with_name(f"{path.name}.py")
        advice = f" Did you mean ./{meant}?" if path.name and meant.is_file() else ""
        raise ImportError(f"there is no file {path}.{advice}")
    if path is not None and path.suffix != ".py":
        raise ImportError(f"{path} is no file of Python, whose name ends in .py.")
    sys.path.insert(0, home)
    try:
        return import_module(module).__name__ if path is None else _run_file(path)
    except ModuleNotFoundError as error:
        if error.name == module and Path(f"{module}.py").exists():
            raise ImportError(f"there is no module {module!r}. For the file write ./{module}.py.") from None
        if error.name is not None and f"{module}.".startswith(f"{error.name}."):
            file = f"./{error.name.partition('.')[0]}.py"
            said = f"there is no module {error.name!r}. Write a name that can be imported here, or a file: {file}."
            raise ModuleNotFoundError(said, name=error.name) from None
        raise _raised(module, error) from error
    except (DispatchError, KeyboardInterrupt):
        raise
    except BaseException as error:  # SystemExit, and classes of the module's own
        raise _raised(module, error) from error
    finally:
        sys.path.pop(0)


def _raised(module: str, error: BaseException) -> ImportError:
    """Return what is raised where importing a module did."""
    at = "" if isinstance(error, SyntaxError) else raised_at(error)  # whose words have its line
    try:
        said = f"{type(error).__name__}: {error}"
    except Exception as other:
        said = f"{type(error).__name__}, whose __str__ raises {type(other).__name__}"
    return ImportError(f"importing {module} raised {said}" + (f"\n    {at}" if at else ""))


def _run_file(file: Path) -> str:
    already = getattr(sys.modules.get(file.stem), "__file__", None)
    if already is not None and Path(already).resolve() == file.resolve():
        return file.stem
    spec = spec_from_file_location(file.stem, file)
    assert spec is not None
    assert spec.loader is not None
    made = sys.modules[file.stem] = module_from_spec(spec)
    try:
        spec.loader.exec_module(made)
    except BaseException:
        del sys.modules[file.stem]
        raise
    return file.stem


def defined_by(module: str) -> list[OpOverload]:
    """Import a module, and return the operators that it, or what is inside it as a package, defines.

    Parameters
    ----------
    module : str
        As in `load`. It may be imported already.

    Returns
    -------
    list of OpOverload
        By name. An operator that another module makes for this one, while this one is imported, is among them.

    Raises
    ------
    ImportError
        As in `load`.
    OperatorNotFoundError
        If it defines none.

    Examples
    --------
    >>> defined_by("json")
    Traceback (most recent call last):
    dispatch.errors.OperatorNotFoundError: importing json defines no operator. Name the module or file where @custom_op, ...
    """
    before = {op.name for op in defined_now()}
    inside = f"{load(module)}."
    found = []
    for op in defined_now():
        home = f"{op.defined_in[0]}."
        if home.startswith(inside) or (op.name not in before and not home.startswith(OURS)):  # the import may have used our own
            found.append(op)
    if not found:
        own = " NumPy's functions have the name np." if module == "numpy" else ""
        raise OperatorNotFoundError(
            f"importing {module} defines no operator. Name the module or file where @custom_op, or a Library, stands.{own}"
        )
    return sorted(found, key=lambda op: op.name)
