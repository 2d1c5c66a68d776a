"""What is said of an attribute that wrapped values do not have: the line to write in place of torch's, JAX's or pandas' name.

It is looked for only where a look-up has failed.
"""

import functools
from typing import Any

import numpy as np

from ..core import DispatchKey, Tensor
from ..core.others_words import ELSEWHERE, instead_of
from ..errors import did_you_mean


def instead(name: str) -> str:
    """What to write in place of another library's function of arrays.

    Examples
    --------
    >>> instead("sin"), instead("unsqueeze"), instead("lgamma")
    ('np.sin(x)', 'np.expand_dims(x, axis)', "NumPy's function; or dispatch.detach(x) where a constant is meant")
    """
    return instead_of(name) or "NumPy's function; or dispatch.detach(x) where a constant is meant"


@functools.lru_cache(1024)  # `hasattr(x, name)` asks again and again
def said_of(cls: Any, name: str) -> str:
    """Return what is said of an attribute that wrapped values do not have.

    Examples
    --------
    >>> said_of(Tensor, "unsqueeze")
    "a Tensor has no attribute 'unsqueeze', as NumPy's arrays have not. Write np.expand_dims(x, axis)."
    >>> said_of(Tensor, "ceil")
    "a Tensor has no attribute 'ceil', as NumPy's arrays have not. Write np.ceil(x)."
    """
    words = instead_of(name)
    if not words:
        near = did_you_mean(name, sorted(word for word in dir(cls) if not word.startswith("_")))
        return f"a {cls.__name__} has no attribute {name!r}.{near or ' It has those of an ndarray: dir(x) lists them.'}"
    if cls.key == DispatchKey.FAKE and "dispatch.detach" in words:
        words = "np.empty(x.shape, x.dtype) for its shape and dtype: a fake tensor has no data"
    nor_numpy = "" if hasattr(np.ndarray, name) else ", as NumPy's arrays have not"
    return f"a {cls.__name__} has no attribute {name!r}{nor_numpy}. Write {words}."


def _no_attribute(self: Tensor, name: str) -> AttributeError:
    """What to raise for an attribute that was not found."""
    kind: Any = type(self)  # which mypy takes for one without a hash
    return AttributeError(said_of(kind, name), name=name, obj=None)  # of an object Python would add a guess of its own


ATTRIBUTES: dict[str, Any] = {"_no_attribute": _no_attribute, "_elsewhere": ELSEWHERE}
