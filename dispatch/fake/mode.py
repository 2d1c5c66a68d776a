"""FakeTensorMode: what turns fake rules on, and arrays into fakes."""

import threading
from typing import Any, Protocol

from ..core import DispatchKey, ModeGuard, device_of
from ..errors import FakeTensorError, GuardError, kind_of
from .tensor import FakeTensor, fake_tensor


class Entered(threading.local):
    """The guards of one mode that a thread has on, for threads may share the mode."""

    def __init__(self) -> None:
        self.guards: list[ModeGuard] = []


class ShapeSource(Protocol):
    """What a mode asks of its `shape_env`: sizes that stand for any number."""

    def sizes_of(self, array: Any) -> tuple[Any, Any]:
        """The shape and the strides of the fake of an array, symbols where a size is to stay open."""

    def new_dynamic_size(self, *, min: int, max: int | None) -> Any:
        """A size that depends on data, with its bounds."""


class FakeTensorMode:
    """While it is on, operators run their fake rules: no kernel runs, and no data is touched.

    Parameters
    ----------
    allow_non_fake_inputs : bool
        Make fakes of real arrays that an operator meets, in place of an error.
    shape_env : ShapeSource, optional
        Gives fakes of arrays symbolic sizes, and fake rules sizes that depend on data.
    static_shapes : bool, optional
        Whether the sizes of fakes are numbers even so; without a `shape_env` they are.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> with dispatch.FakeTensorMode() as mode:
    ...     x = mode.from_array(np.ones((1000, 3)))
    ...     np.matmul(x, np.transpose(x)).shape
    (1000, 1000)
    """

    def __init__(
        self,
        *,
        allow_non_fake_inputs: bool = False,
        shape_env: ShapeSource | None = None,
        static_shapes: bool | None = None,
    ) -> None:
        self.allow_non_fake_inputs = allow_non_fake_inputs
        self.shape_env = shape_env
        self.static_shapes = shape_env is None if static_shapes is None else static_shapes
        self._entered = Entered()

    def __enter__(self) -> "FakeTensorMode":
        guards = self._entered.guards  # looked up first: what failed between the two would leave the guard on
        guard = ModeGuard(DispatchKey.FAKE, self)
        guard.__enter__()
        guards.append(guard)
        return self

    def __exit__(self, *exception: object) -> None:
        if not self._entered.guards:
            raise GuardError("FakeTensorMode() is left in a thread in which it was not entered.")
        self._entered.guards.pop().__exit__(*exception)

    def from_array(self, a: Any, static_shapes: bool | None = None) -> FakeTensor:
        """The fake of an array, with its shape, dtype, strides and device.

        Parameters
        ----------
        a : ndarray, NumPy scalar, or FakeTensor of this mode
        static_shapes : bool, optional
            Whether its sizes are numbers; without it what the mode says.

        Returns
        -------
        FakeTensor

        Raises
        ------
        FakeTensorError
            If it is no array, or a fake of another mode.
        """
        if isinstance(a, FakeTensor):
            if a.mode not in (self, None):
                raise FakeTensorError("a fake tensor belongs to the mode that made it, and this one was made by another.")
            return a
        device = device_of(a)
        if device is None:
            raise FakeTensorError(f"from_array makes a fake of an array, and was given {kind_of(a)}. Use np.asarray.")
        static = self.static_shapes if static_shapes is None else static_shapes
        if static or self.shape_env is None:
            shape, strides = a.shape, getattr(a, "strides", None)
        else:
            shape, strides = self.shape_env.sizes_of(a)
        return fake_tensor(shape, a.dtype, strides, device, self)

    def __repr__(self) -> str:
        return "FakeTensorMode()"
