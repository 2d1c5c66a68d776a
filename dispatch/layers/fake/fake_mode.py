"""FakeTensorMode: turns fake rules on, and makes fakes of arrays."""

import threading
from collections.abc import Callable
from typing import Any, Protocol
from weakref import ref

import numpy as np

from ...core import DispatchKey, check_data, device_of, freeze
from ...core.wrong_attributes import Fields
from ...core.wrong_calls import clear
from ...dispatcher.conversion_advice import advice_for
from ...errors import FakeTensorError, check_flag, kind_of
from ..mode_block import ModeBlock
from .tensor import FakeTensor, Kept, fake_tensor

OPTIONAL = (bool, type(None))


class ShapeSource(Protocol):
    """The methods of `shape_env` that a mode calls."""

    answers: dict[Any, dict[Any, Any]]
    symbols: dict[str, Any]

    def sizes_of(self, array: Any) -> tuple[Any, Any]:
        """Return the shape and strides of the fake of an array, with symbols for sizes."""

    def new_dynamic_size(self, *, min: int, max: int | None) -> Any:
        """Return a size that depends on data, with its bounds."""


class Memo:
    """The fakes of arrays by identity, so that the same array has the same fake. An entry lives as long as its array."""

    def __init__(self) -> None:
        self._entries: dict[int, tuple[Any, tuple[Any, ...], Callable[[], FakeTensor | None]]] = {}

    def find(self, a: Any, layout: tuple[Any, ...]) -> FakeTensor | None:
        """Return the fake of an array that still has this layout, or None."""
        entry = self._entries.get(id(a))
        return entry[2]() if entry is not None and entry[0]() is a and entry[1] == layout else None

    def forget(self) -> None:
        """Forget all arrays: a mode that an exception keeps alive would refer weakly to them, and nobody could resize them."""
        self._entries.clear()

    def keep(self, a: Any, layout: tuple[Any, ...], fake: FakeTensor, *, hold: bool) -> None:
        """Keep a fake as long as other code refers to it; with `hold`, as long as the array exists."""
        entries, key = self._entries, id(a)

        def gone(dead: Any) -> None:
            if (entry := entries.get(key)) is not None and entry[0] is dead:
                del entries[key]

        if not isinstance(a, np.generic):  # which cannot be referred to weakly, and is nobody's to write to
            entries[key] = ref(a, gone), layout, (lambda: fake) if hold else ref(fake)


class FakeTensorMode(Fields, ModeBlock):
    """A `with` block in which operators run their fake rules: no kernel runs, and no data is read.

    Parameters
    ----------
    allow_non_fake_inputs : bool
        Whether an operator may get real arrays: fakes are made of them. By default it raises FakeTensorError.
    shape_env : ShapeEnv, optional
        Makes the sizes of fakes symbols, and makes symbols for the sizes that depend on data.
    static_shapes : bool, optional
        If True, the sizes of arrays are numbers all the same, and only sizes that depend on data are symbols.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> with dispatch.FakeTensorMode() as mode:
    ...     x = mode.from_array(np.ones((1000, 3)))
    ...     np.matmul(x, np.transpose(x)).shape
    (1000, 1000)
    """

    mode_key = DispatchKey.FAKE
    adopts = False  # whether fakes of other modes give their metadata, in place of an error

    _fields = ("allow_non_fake_inputs", "shape_env", "static_shapes")
    _elsewhere = {"from_tensor": "mode.from_array(x)", "fake_tensor_converter": "mode.from_array(x)"}  # noqa: RUF012

    allow_non_fake_inputs: bool
    shape_env: ShapeSource | None
    static_shapes: bool
    _memo: Memo
    _converting: Any

    @clear
    def __init__(
        self, *, allow_non_fake_inputs: bool = False, shape_env: ShapeSource | None = None, static_shapes: bool | None = None
    ) -> None:
        if shape_env is not None and (isinstance(shape_env, type) or not hasattr(shape_env, "new_dynamic_size")):
            given = f"{kind_of(shape_env)}. Write shape_env=ShapeEnv()."
            if isinstance(shape_env, type):
                given = f"the class {shape_env.__name__}. Write {shape_env.__name__}()."
            raise FakeTensorError(f"FakeTensorMode: shape_env is a ShapeEnv, or None, and was given as {given}")
        if type(static_shapes) not in OPTIONAL:  # no frame for what is right
            check_flag(static_shapes, "FakeTensorMode: static_shapes")
        vars(self).update(  # at once, and not by __setattr__: each trace makes one
            allow_non_fake_inputs=check_flag(allow_non_fake_inputs, "FakeTensorMode: allow_non_fake_inputs"),
            shape_env=shape_env,
            static_shapes=shape_env is None if static_shapes is None else static_shapes,
            _memo=Memo(),
            _converting=threading.RLock(),
        )

    def __deepcopy__(self, memo: dict[int, Any]) -> "FakeTensorMode":
        return self

    @clear
    def from_array(self, a: Any, static_shapes: bool | None = None) -> FakeTensor:
        """Return the fake of an array, with its shape, dtype, strides and device.

        The same array always has the same fake, and the fakes of its views are views of its fake.

        Parameters
        ----------
        a : ndarray, NumPy scalar, or FakeTensor of this mode
        static_shapes : bool, optional
            Whether its sizes are numbers; by default the mode decides.

        Returns
        -------
        FakeTensor

        Raises
        ------
        FakeTensorError
            If `a` is no array, or is a fake of another mode.

        Examples
        --------
        >>> import numpy as np, dispatch
        >>> mode, a = dispatch.FakeTensorMode(), np.ones((2, 3))
        >>> mode.from_array(a), mode.from_array(a) is mode.from_array(a)
        (FakeTensor(shape=(2, 3), dtype=float64), True)
        """
        if isinstance(a, FakeTensor):
            if a.mode not in (self, None):
                raise FakeTensorError("a fake tensor belongs to the mode that made it, and this one was made by another.")
            return a
        device = device_of(a)
        if device is None:
            sizes = isinstance(a, tuple) and all(isinstance(n, int) for n in a)
            remedy = " Of a shape write np.empty(shape, dtype)." if sizes else advice_for(a, "a", hinted=False)
            raise FakeTensorError(f"from_array makes a fake of an array, and was given {kind_of(a)}.{remedy}")
        if type(static_shapes) not in OPTIONAL:
            check_flag(static_shapes, "from_array: static_shapes")
        return self._converted(a, device, self.static_shapes if static_shapes is None else static_shapes)

    def constant(self, value: Any) -> FakeTensor:
        """Return a fake whose one element is known, so that `int(x)` and `if x:` work on it.

        They work also on what NumPy operators compute from such fakes. After a write to it the element is unknown. With
        `allow_non_fake_inputs` the mode makes such a fake of each real array of one element.

        Parameters
        ----------
        value : number, or array of one element

        Returns
        -------
        FakeTensor

        Raises
        ------
        FakeTensorError
            If there is not exactly one element.

        Examples
        --------
        >>> import dispatch
        >>> with dispatch.FakeTensorMode() as mode:
        ...     n = mode.constant(3)
        ...     int(n * n + 1)
        10
        """
        check_data(value)
        array = None if isinstance(value, FakeTensor) else np.array(value)
        if array is None or array.dtype == object or array.size != 1:
            given = kind_of(value) if array is None or array.dtype == object else f"an array of shape {array.shape}"
            raise FakeTensorError(
                f"constant keeps the value of a number or of an array of one element, and was given {given}. "
                "Use from_array, which keeps none."
            )
        made = fake_tensor(array.shape, array.dtype, array.strides, "cpu", self, None, isinstance(value, np.generic))
        made.kept = Kept(None, freeze(array))
        return made

    def captured(self, a: Any) -> FakeTensor:
        """Return the fake of a real array that an operator got. An array of one element stays known, and so does a mask.

        A mask says how many elements an index selects, so that the shapes of what follows depend on it.

        Parameters
        ----------
        a : ndarray or array of a device

        Returns
        -------
        FakeTensor
        """
        return self._converted(a, str(device_of(a)), self.static_shapes or a.dtype == bool, hold=True)

    def _converted(self, a: Any, device: str, static: bool, *, hold: bool = False) -> FakeTensor:
        check_data(a)
        strides = getattr(a, "strides", None)
        layout = static, a.shape, strides, a.dtype
        with self._converting:
            found = self._memo.find(a, layout)
            if found is not None and (found.constant is None or found.constant.tobytes() == a.tobytes()):
                return found
            if hold and device == "cpu" and a.size == 1 and a.dtype != object and _owner(a) is a:
                made = self.constant(a)
            else:
                sizes = (a.shape, strides) if static or self.shape_env is None else self.shape_env.sizes_of(a)
                owner = _owner(a)
                base = None if owner is a else self._converted(owner, device, static, hold=hold)
                made = fake_tensor(sizes[0], a.dtype, sizes[1], device, self, base, isinstance(a, np.generic))
                if hold and static and a.dtype == bool:
                    made.kept = Kept(base, freeze(a.copy(order="K")))
            self._memo.keep(a, layout, made, hold=hold)
            return made


def _owner(a: Any) -> Any:
    """Return the array whose memory `a` is a view of, or `a` itself."""
    while isinstance(a, np.ndarray) and isinstance(a.base, np.ndarray):
        a = a.base
    return a
