"""Two array classes that are no NumPy arrays: one with NumPy's protocols, one with the array API's namespace alone.

Both refuse `__array__`, so that nothing that reaches for NumPy's data behind anyone's back goes unseen. Neither can be written to.
"""

from types import SimpleNamespace
from typing import Any

import numpy as np

from dispatch.core.pytree import mapped
from dispatch.library import register_array_type


class Held:
    """An array, held where nobody gets at it."""

    def __init__(self, held: Any) -> None:
        self._held = np.array(held)
        self._held.flags.writeable = False

    shape = property(lambda self: self._held.shape)
    dtype = property(lambda self: self._held.dtype)
    strides = property(lambda self: self._held.strides)

    def __array__(self, *args: Any, **keywords: Any) -> Any:
        raise TypeError(f"a {type(self).__name__} is no NumPy array")

    def __getitem__(self, index: Any) -> Any:
        return type(self)(self._held[bare(index)])

    def __len__(self) -> int:
        return len(self._held)

    def astype(self, dtype: Any) -> Any:
        return type(self)(self._held.astype(dtype))

    real = property(lambda self: type(self)(self._held.real))


class ByProtocols(Held):
    """Reached by `__array_ufunc__` and `__array_function__`."""

    def __array_ufunc__(self, ufunc: Any, method: str, *args: Any, **keywords: Any) -> Any:
        if not all(isinstance(x, (ByProtocols, int, float, complex, np.generic)) or (type(x) is np.ndarray and not x.ndim) for x in args):
            return NotImplemented
        return boxed(getattr(ufunc, method)(*map(bare, args), **keywords))

    def __array_function__(self, function: Any, types: Any, args: Any, keywords: Any) -> Any:
        if not all(issubclass(cls, (ByProtocols, np.ndarray, np.generic)) for cls in types):
            return NotImplemented
        return boxed(function(*bare(args), **bare(keywords)))


class ByNamespace(Held):
    """Reached by `__array_namespace__`."""

    __array_ufunc__ = None

    def __array_namespace__(self, api_version: str | None = None) -> Any:
        return Namespace("")


class Namespace(SimpleNamespace):
    """The functions of the standard, on ByNamespace."""

    def __init__(self, of: str) -> None:
        self._of = getattr(np, of) if of else np

    def __getattr__(self, name: str) -> Any:
        if name == "linalg":
            return Namespace(name)
        if name in ("absolute", "power", "concatenate", "arctan2", "transpose"):  # the standard has other names
            raise AttributeError(name)
        found = getattr(self._of, name)

        def function(*args: Any, **keywords: Any) -> Any:
            assert not any(type(x) is np.ndarray for x in args) or name == "asarray", "a NumPy array came in"
            return boxed(found(*bare(args), **bare(keywords)), ByNamespace)

        return function


def bare(x: Any) -> Any:
    """The NumPy arrays in a value."""
    return mapped(lambda x: x._held if isinstance(x, Held) else x, x)


def boxed(x: Any, cls: type[Held] = ByProtocols) -> Any:
    """The arrays of a class for the NumPy arrays in a value."""
    return mapped(lambda x: cls(x) if isinstance(x, (np.ndarray, np.generic)) else x, x)


register_array_type(ByProtocols, device="xla")
register_array_type(ByNamespace, device="mps")
CLASSES = (ByProtocols, ByNamespace)
