"""Reads hints of dtypes: `NDArray[np.float64]`, an array of one, and `DTypeLike`, a dtype itself."""

import typing
from typing import Any

import numpy as np

_CONCRETE = frozenset(np.sctypeDict.values()) - {np.str_, np.bytes_, np.void, np.datetime64, np.timedelta64}


def unaliased(hint: Any) -> Any:
    """Return what an alias made by the `type` statement stands for; newer NumPy writes NDArray and DTypeLike so."""
    alias: Any = typing.get_origin(hint) or hint
    if type(alias).__name__ != "TypeAliasType":
        return hint
    members = typing.get_args(hint)
    return unaliased(alias.__value__[members] if members else alias.__value__)


def dtype_of(members: tuple[Any, ...]) -> np.dtype[Any] | None:
    """Return the dtype in `np.ndarray[shape, np.dtype[np.float64]]`.

    None for `np.floating` and type variables, which are no dtype, and for text and dates, which lack a size.
    """
    inner = typing.get_args(members[1]) if len(members) > 1 else ()
    if inner and isinstance(inner[0], type) and inner[0] in _CONCRETE:
        return np.dtype(inner[0])
    return None


def is_dtype_like(members: list[object]) -> bool:
    """Whether a union contains all members of `numpy.typing.DTypeLike`."""
    roots = [typing.get_origin(member) or member for member in members]
    return np.dtype in roots and all(is_numpys_own(root) or root in (np.dtype, type, str, tuple, list) for root in roots)


def is_numpys_own(hint: object) -> bool:
    """Whether a hint is one of NumPy's private types, which its unions contain."""
    root = typing.get_origin(hint) or hint
    return str(getattr(root, "__module__", "")).startswith("numpy._typing")
