"""Finds the name of the user's variable that holds an array, which becomes the name of its node in a graph."""

import inspect
import sys
from typing import Any

from ...core.source import outer_frame


def name_of(x: object) -> str:
    """Return the name of a variable that holds `x` in the code outside this package that is running, or an empty text."""
    frame = outer_frame()
    code = frame.f_code
    if code.co_flags & inspect.CO_OPTIMIZED:
        values: Any = frame.f_locals
        found = next((name for name, value in values.items() if value is x and name.isidentifier()), "")
        # Before Python 3.13 this dict stays with the frame and keeps arrays alive. It is emptied unless the user holds it too:
        # the frame, `values` and the call that counts are three.
        if type(values) is dict and sys.getrefcount(values) == 3:
            values.clear()
        if found:
            return str(found)
    return next((name for name in code.co_names if frame.f_globals.get(name) is x), "")
