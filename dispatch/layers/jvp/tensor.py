"""DualTensor: a value together with its tangent."""

from typing import Any

from ...core import DispatchKey, Tensor, check_open, count_conversion, note_request
from ...core.array_memory import set_rewritable
from ...dispatcher.conversion_advice import library_advice, wanted_array, wanted_number
from ...errors import ConversionError

WHOLE = "such a value"  # what holds such values in place of a plain array


class DualTensor(Tensor):
    """A value and its tangent, inside `jvp`. The tangent is the rate at which the value changes as the inputs move.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> def f(x):
    ...     print(type(x).__name__, x.tangent)
    ...     return np.sin(x)
    >>> dispatch.jvp(f, (0.0,), (2.0,))
    DualTensor 2.0
    (array(0.), array(2.))
    """

    __slots__ = ()
    key = DispatchKey.JVP
    number_takes_items = True

    @property
    def tangent(self) -> Any:
        """The tangent: an array or Tensor of the value's shape and dtype."""
        return self.kept

    def item(self, *place: Any) -> Any:
        """Return the one element, or the one at a place, as a Python number, which every derivative takes for a constant."""
        count_conversion(number=True)
        return self.value.item(*place)

    def tolist(self) -> Any:
        """Return the elements as a nested list of Python numbers, which every derivative takes for constants."""
        count_conversion(number=True)
        return self.value.tolist()

    def __bool__(self) -> bool:
        return bool(self.value)

    def _number(self) -> Any:
        note_request()
        check_open(self)
        raise ConversionError(
            f"a number was asked of a value with a tangent, of shape {self.shape} and dtype {self.dtype}, by float() or by "
            f"writing it into a plain array: its tangent would be lost in silence. {library_advice(wanted_number(WHOLE))}"
        )

    __float__ = __int__ = __complex__ = _number

    def __index__(self) -> int:
        raise ConversionError(
            f"an index was asked of a value with a tangent, of shape {self.shape} and dtype {self.dtype}, which is no integer. "
            "Write int(x.item()) where the number is meant."
        )

    def __format__(self, spec: str) -> str:
        return format(self.value if self.shape else self.value.item(), spec)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        note_request()
        check_open(self)
        raise ConversionError(
            f"a NumPy array was asked of a value with a tangent, of shape {self.shape} and dtype {self.dtype}: the tangent "
            f"would be lost in silence. {library_advice(wanted_array(WHOLE))}"
        )

    def __repr__(self) -> str:
        return f"DualTensor({self.value!r}, tangent={self.kept!r})"


set_rewritable(DualTensor, frozen=True)
