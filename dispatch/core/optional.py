"""The libraries that are not needed to import `dispatch`: each is asked for here, at the moment it is used."""

import importlib
from types import ModuleType

from ..errors import MissingExtraError


def require(module: str, extra: str, *, needed_by: str = "") -> ModuleType:
    """Import a module of an optional dependency, or say how to install it.

    Parameters
    ----------
    module : str
        Full name of the module, e.g. ``"sympy"``.
    extra : str
        The extra of this distribution that brings it.
    needed_by : str, optional
        What the caller was doing, for the message; ``dispatch.<extra>`` when not given.

    Returns
    -------
    module
        The imported module.

    Raises
    ------
    MissingExtraError
        If the library is not installed. An ImportError from inside an installed library passes through as it is.

    Examples
    --------
    >>> require("json", "cli").dumps([1])
    '[1]'
    >>> require("no_such_library", "symbolic")
    Traceback (most recent call last):
    dispatch.errors.MissingExtraError: dispatch.symbolic needs no_such_library, which is not installed.
    Install it with: pip install 'npdispatch[symbolic]'
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        library = module.partition(".")[0]
        if error.name is None or error.name.partition(".")[0] != library:
            raise  # the library is there, and something that it needs is not: its own message says more
        raise MissingExtraError(
            f"{needed_by or f'dispatch.{extra}'} needs {library}, which is not installed.\n"
            f"Install it with: pip install 'npdispatch[{extra}]'"
        ) from error
