"""Finds the names that the type hints of a function may use when they are written as text."""

import sys
import types
from typing import Any

from ..core.source import innermost


def names_around(fn: object) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the globals of a function's module, and the variables that the text of its type hints may use.

    These are the variables that it closes over, and while the functions around it still run, theirs: a hint may name a class
    that the function itself never uses.
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
