"""NumPy's functions, for Tensors in any argument; numpy_ops/handing_over.py makes them."""

from typing import Any

import numpy as np

from ..errors import did_you_mean
from ..numpy_ops.handing_over import handed_over

# What NumPy hands to nobody; of what it hands over it asks some arguments, and no list what it holds.
NAMES = "array asarray asanyarray ascontiguousarray asfortranarray require from_dlpack arange full"
FUNCTIONS = {name: handed_over(getattr(np, name)) for name in NAMES.split()}
HANDED_OVER = type(np.sum)


def looked_up(module: Any, name: str, names: list[str], ours: dict[str, Any]) -> Any:
    """Return what a module of NumPy has under a name, a function as one that takes Tensors in every place, and keep it.

    Parameters
    ----------
    module : module
        Of NumPy.
    name : str
    names : list of str
        Those that it may be.
    ours : dict
        The `globals()` of the module that stands for it.
    """
    if name not in names:
        raise AttributeError(f"module {ours['__name__']!r} has no attribute {name!r}.{did_you_mean(name, names)}", name=name)
    found = getattr(module, name)
    ours[name] = found = handed_over(found) if isinstance(found, HANDED_OVER) else found
    return found
