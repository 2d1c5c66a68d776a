"""NumPy's functions, for Tensors in any argument; numpy_ops/handing_over.py makes them."""

from typing import Any

import numpy as np

from ..core.lazy import of_package
from ..core.others_words import ELSEWHERE as OF_ARRAYS
from ..core.source import not_there
from ..errors import did_you_mean
from ..numpy_ops.handing_over import handed_over

# What NumPy hands to nobody; of what it hands over it asks some arguments, and no list what it holds.
NAMES = "array asarray asanyarray ascontiguousarray asfortranarray require from_dlpack arange full"
FUNCTIONS = {name: handed_over(getattr(np, name)) for name in NAMES.split()}
HANDED_OVER = type(np.sum)

# What NumPy had, and what it says to write in its place.
REMOVED = {
    **{name: f"{text.rstrip('.')}." for name, text in getattr(np, "__expired_attributes__", {}).items()},
    **{name: f"Write {name}, Python's own." for name in ("int", "float", "complex", "object", "str")},
}
# What torch and others call a function of NumPy's; it is said where the module has the second.
ELSEWHERE = {
    "bmm": "matmul", "cat": "concatenate", "chunk": "array_split", "clamp": "clip",
"from_numpy": "asarray", "gather": "take_along_axis", "index_select": "take", "inverse": "inv",
    "masked_select": "extract", "mm": "matmul", "mul": "multiply", "mv": "matmul", "narrow": "take",
    "numel": "size", "pseudoinverse": "pinv", "repeat_interleave": "repeat", "sub": "subtract", "tensor": "asarray",
    "topk": "argpartition", "unsqueeze": "expand_dims", "vector_norm": "norm", "view_as": "reshape",
}  # fmt: skip


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
        package = ours["__name__"].partition(".")[0]
        other = ELSEWHERE.get(name)
        advice = f" Write {other}." if other in names else ""
        advice = advice or (f" NumPy 2 has it no more: {gone}" if (gone := REMOVED.get(name)) and module is np else "")
        advice = advice or of_package(package, name, ours["__name__"])
        advice = advice or (f" Write {OF_ARRAYS[name]}." if name in OF_ARRAYS else did_you_mean(name, names))
        advice = advice or f" dir({ours['__name__']}) lists what it has."
        raise not_there(ours["__name__"], name, advice, 2)
    found = getattr(module, name)
    ours[name] = found = handed_over(found) if isinstance(found, HANDED_OVER) else found
    return found
