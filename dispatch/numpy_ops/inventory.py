"""Lists NumPy's functions, and what stands for each here: `npdispatch list np`, and the page docs/coverage.md.

NumPy says itself which functions and ufuncs it hands to the classes of their arguments; that list is read, none is kept here but those of
functions that are no numerical computing.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.char  # a function is on NumPy's list when its module has been imported
import numpy.fft
import numpy.lib.recfunctions
import numpy.polynomial
import numpy.strings
from numpy.testing import overrides

from ..core import DispatchKey
from .numpy_functions import FUNCTIONS, LOADERS, SPELLED, UFUNCS, enter_rest, of_numpy, spelling_of

Function = Callable[..., Any]
OF_ROWS = "of rows"


class Group(NamedTuple):
    """Functions that are not here, and why."""

    reason: str
    names: tuple[str, ...]
    modules: tuple[str, ...] = ()

    def has(self, name: str) -> bool:
        """Return whether a function is one of the group."""
        return name in self.names or any(name.startswith(f"{module}.") for module in self.modules)


OUTSIDE = (
    Group("Of text:", (), ("np.strings", "np.char")),
    Group("Of records, whose fields are no numbers:", (), ("np.lib.recfunctions",)),
    Group("Read, write or print:", tuple(f"np.{name}" for name in
          "array2string array_repr array_str fromfile genfromtxt loadtxt save savetxt savez savez_compressed".split())),
    Group("Of bits and dates:", tuple(f"np.{name}" for name in
          "busday_count busday_offset datetime_as_string is_busday packbits unpackbits".split())),
    Group("Of dtypes and memory, or answer with Python's True or False:", tuple(f"np.{name}" for name in
          "allclose array_equal array_equiv can_cast common_type iscomplexobj isrealobj may_share_memory min_scalar_type result_type "
          "shares_memory".split())),
    Group("Older names:", ("np.in1d", "np.trapz")),
)  # fmt: skip


def overridable() -> dict[str, Any]:
    """Return the functions and ufuncs that NumPy hands over, by how they are written: `np.linalg.norm`."""
    found = {}
    for f in overrides.get_overridable_numpy_array_functions():
        found[_spelling(f)] = of_numpy(spelling_of(f)[3:]) or f  # `np.full` and what it is with `like=` have one name
    for ufunc in overrides.get_overridable_numpy_ufuncs():
        if not ufunc.types:  # of text: they list no dtypes
            found[f"np.strings.{ufunc.__name__}"] = ufunc
        else:
            found[f"np.{ufunc.__name__}" if getattr(np, ufunc.__name__, None) is ufunc else f"umath.{ufunc.__name__}"] = ufunc
    return found


def _spelling(function: Function) -> str:
    return spelling_of(function).replace("np.lib.scimath", "np.emath")


def functions() -> dict[str, Any]:
    """Return those that compute with numbers."""
    return {name: f for name, f in overridable().items() if not any(group.has(name) for group in OUTSIDE)}


def stands_for(function: Any) -> str | None:
    """Return what stands for a function of NumPy, in words: its row, rows that it is made of, or None."""
    enter_rest()
    if function in LOADERS:
        LOADERS[function]()
    if isinstance(function, np.ufunc):
        op = UFUNCS.get(function)
    elif function in FUNCTIONS:
        op = next((op for op, (spelled, _) in SPELLED.items() if spelled is function), None)
        if op is None:
            return OF_ROWS
    else:
        op = None
    if op is None:
        return None
    return f"{'composite' if op.table.live(DispatchKey.CompositeImplicit) else 'row'} `{op.name}`"
