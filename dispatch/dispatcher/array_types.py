"""Array types of users: registers a class as arrays of a device."""

from typing import TypeVar

import numpy as np

from ..core import Tensor, devices, set_array_type
from ..core.wrong_calls import holding
from ..errors import DefinitionError, class_of, kind_of
from .frameworks import frameworks
from .layer import names_of_keys

C = TypeVar("C", bound=type)


@holding("beside_numpy")
def register_array_type(cls: C, /, *, device: str, beside_numpy: bool = False) -> C:
    """Register a class as an array type of a device.

    Operators then take its instances wherever a schema says Tensor, and run the kernels registered for the device, or for
    every device. A subclass belongs to its nearest registered base. Every transform carries them as they are, and reads
    three attributes: `shape`, `dtype` and, for strides, `strides`.

    NumPy's own functions reach them, inside transforms too, by `__array_ufunc__` and `__array_function__` where the class
    has these, else by `__array_namespace__`. A class whose arrays can be written to, by `x[i] = y`, needs a method `copy`,
    for what a tape saves.

    Parameters
    ----------
    cls : type
        The class of the arrays.
    device : str
        `"cpu"`, `"cuda"`, `"xla"`, `"mps"`, `"ipu"`, `"xpu"`, `"dask"`, or a name of your own. There are keys for nine of
        your own.
    beside_numpy : bool
        Whether the functions of the class take NumPy's arrays beside its own, as Dask's do; else a call with both is refused.

    Returns
    -------
    type
        The class, so that `functools.partial` of this can decorate it.

    Raises
    ------
    DefinitionError
        If it is no class, cannot be an array type, or belongs to another device already; or if no key is free.

    Examples
    --------
    >>> from dispatch import custom_op
    >>> class Reversed:
    ...     def __init__(self, values):
    ...         self.values, self.shape, self.dtype = values, values.shape, values.dtype
    >>> _ = register_array_type(Reversed, device="mirror")
    >>> @custom_op("doc::doubled", mutates_args=(), device_types="cpu")
    ... def doubled(x: np.ndarray) -> np.ndarray:
    ...     return 2 * x
    >>> @doubled.register_kernel("mirror")
    ... def _(x):
    ...     return Reversed(2 * x.values)
    >>> type(doubled(Reversed(np.ones(2)))).__name__
    'Reversed'
    """
    given: object = cls
    if not isinstance(given, type):
        raise DefinitionError(f"an array type is a class, and {kind_of(cls)} was given.{class_of(cls)}")
    if issubclass(cls, Tensor) or cls in (object, int, float, complex, bool, str, bytes, list, tuple, dict, type(None)):
        raise DefinitionError(f"{cls.__qualname__} cannot be an array type: its values have another meaning here.")
    if cls is np.ndarray or issubclass(cls, np.generic):
        raise DefinitionError(f"{cls.__qualname__} is an array type already, of the device 'cpu'.")
    if cls.__module__.partition(".")[0] in frameworks:
        raise DefinitionError(f"{cls.__module__.partition('.')[0]}.{cls.__qualname__} is taken by operators as it is: op(x).")
    if not isinstance(device, str):
        raise DefinitionError(f"a device is known by its name, a string, and {kind_of(device)} was given.")
    if device not in devices() and device.lower() in names_of_keys():
        raise DefinitionError(f"a device cannot be named {device!r}: that is the name of a key. Take another.")
    set_array_type(cls, device, beside_numpy)
    return cls
