"""Finds the names that the type hints of a function may use when they are written as text."""

import sys
import types
from typing import Any

from ..core.source import innermost


def names_around(fn: object) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the names that the text of a function's type hints may use.

    Parameters
    ----------
    fn : object
        A function, or a callable around one.

    Returns
    -------
    globals : dict
        The globals of its module.
    inner : dict
        The variables that it closes over. While the functions around it still run, their variables too: a hint may name a class
        that the function itself never uses.

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
