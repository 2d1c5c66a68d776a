"""TracedTensor: a value and its node in a graph."""

from typing import Any, NoReturn

from ...core import DispatchKey, Tensor, check_open, note_request, wrap
from ...core.source import line
from ...dispatcher.conversion_advice import array_advice, wanted_number
from ...errors import TracedDataError, TracingError
from ...graph import Node

ARRAYS = "Compute with arrays; or leave this function out of the trace."
CHOICE = (
    "Write np.where(condition, a, b) for a choice of values, dispatch.cond(condition, f, g, x) for one of functions; or leave "
    "this function out of the trace."
)
WRITE = "To write it into an array, make that of a traced one: np.zeros_like(x, shape=...), or np.stack the pieces."
INDEX = "Index with the traced value itself, x[i], or np.take(x, i); or leave this function out of the trace."
OTHER = " Make an operator of other code by dispatch.custom_op. " + WRITE
LIBRARIES = "numpy", "scipy", "jax", "jaxlib", "torch"  # whose lines a message passes over


class TracedTensor(Tensor):
    """A value whose operator calls are recorded; `value` is the array or fake below, `node` the node that returned it."""

    __slots__ = ()
    key = DispatchKey.TRACE

    @property
    def node(self) -> Node:
        """The node in the graph."""
        found: Node = self.kept
        return found

    @property
    def strides(self) -> tuple[int, ...]:
        """The steps between elements along each axis, in bytes."""
        found: tuple[int, ...] = self.value.strides
        return found

    def saved(self, value: Any) -> "TracedTensor":
        """Return what a tape saves of this: it stays as this is now, whatever is written.

        Parameters
        ----------
        value : array
            The value below, as the tape saves it.

        Returns
        -------
        TracedTensor
        """
        made = wrap(TracedTensor, value, self, self.node)
        self.level.payload.save(made)
        return made

    def _read(self, what: str, instead: str) -> TracingError:
        """Return the exception for a read of data, which a graph would keep from one run; a fake has no data at all."""
        check_open(self)
        below: Any = self.value
        while isinstance(below, Tensor) and below.value is not None:
            below = below.value
        error = TracedDataError if isinstance(below, Tensor) else TracingError
        return error(
            f"{what} was asked of a traced value of shape {self.shape} and dtype {self.dtype}, in {line(*LIBRARIES)}: a graph "
            f"holds for every input, and would keep what this is for one. {instead}"
        )

    def item(self, *args: Any) -> NoReturn:
        """Raise TracingError: a graph holds for every input, and this would keep a number of one."""
        raise self._read("a number", ARRAYS)

    def tolist(self) -> NoReturn:
        """Raise TracingError, as `item` does."""
        raise self._read("a list", ARRAYS)

    def tobytes(self, *args: Any) -> NoReturn:
        """Raise TracingError, as `item` does."""
        raise self._read("its bytes", ARRAYS)

    def __bool__(self) -> bool:
        raise self._read("the truth", CHOICE)

    def __index__(self) -> int:
        raise self._read("an index", INDEX)

    def __contains__(self, x: Any) -> bool:
        raise self._read("whether something is in it", "Write np.any(x == y) for an array of it.")

    def _number(self) -> NoReturn:
        # NumPy fills `array[i] = x` with float(x), and no protocol tells it from a float() that a user wrote.
        instead = wanted_number("a traced one", has_item=False)
        raise self._read("a number, by float() or by writing it into a plain array,", instead)

    __float__ = __int__ = __complex__ = _number

    def __array__(self, dtype: Any = None, copy: Any = None) -> NoReturn:
        note_request()
        raise self._read("a NumPy array", array_advice(self.dtype, OTHER))

    def __format__(self, spec: str) -> str:
        if spec:
            raise self._read(f"its text, in the format {spec!r},", ARRAYS)
        return repr(self)

    def __repr__(self) -> str:
        return f"TracedTensor({self.kept}, shape={self.shape}, dtype={self.dtype})"
