"""BatchedTensor: stands for one item while it holds the whole batch."""

from typing import Any

from ...core import DispatchKey, Tensor, check_open, note_request
from ...core.array_memory import set_rewritable
from ...core.wrong_attributes import Attributes
from ...dispatcher.conversion_advice import array_advice, wanted_item
from ...errors import BatchingError, ConversionError
from .kernel import item_shape

OTHER = " Make an operator of other code by dispatch.custom_op."
RANDOMNESS = ("error", "same", "different")


class Batch(Attributes):
    """The `info` that a batching rule gets: the size of the batch, and how to draw random numbers.

    Attributes
    ----------
    batch_size : int
        The number of items; of a chunk, if the batch is cut.
    randomness : {"error", "same", "different"}
        The option of `vmap`: whether an operator that draws gives all items one draw or each its own. A rule of an operator
        tagged `random` never gets `"error"`: the call raises before.
    has_drawn : bool
        Whether an operator has drawn random numbers.
    """

    __slots__ = ("batch_size", "has_drawn", "randomness")

    def __init__(self, batch_size: int, randomness: str = "error") -> None:
        self.batch_size = batch_size
        self.randomness = randomness
        self.has_drawn = False  # whether something has drawn that asks for whom

    def __index__(self) -> int:
        raise BatchingError("the info of a vmap rule is no number. Write info.batch_size for how many items there are.")

    def __repr__(self) -> str:
        return f"Batch(batch_size={self.batch_size}, randomness={self.randomness!r})"




class BatchedTensor(Tensor):
    """Stands for one item inside `vmap`. `value` holds all items of the batch, along the axis `dim`.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> def f(x):
    ...     print(type(x).__name__, x.shape, x.value.shape)
    ...     return x
    >>> _ = dispatch.vmap(f)(np.ones((5, 2)))
    BatchedTensor (2,) (5, 2)
    """

    __slots__ = ("is_array",)  # set where items without axes are arrays, and no numbers
    key = DispatchKey.VMAP
    number_takes_items = True

    @property
    def number(self) -> bool:
        """Whether each item is a number, and no array: what a batch gives in a loop over it."""
        if self.shape:
            return False
        try:
            return not IS_ARRAY.__get__(self)
        except AttributeError:
            return True

    @property
    def dim(self) -> int:
        """The axis of `value` along which the items lie."""
        return int(self.kept)

    shape = property(item_shape, vars(Tensor)["shape"].fset)  # which says what to write
    is_array: bool

    def item(self, *place: Any) -> Any:
        """Raise BatchingError: each item has a number of its own."""
        check_open(self)
        raise BatchingError(
            f"one number was asked of a batched value: each of the {self.level.payload.batch_size} items has its own. "
            f"{wanted_item('a batched value')}"
        )

    def __index__(self) -> int:
        check_open(self)
        raise BatchingError(
            f"an index was asked of a batched value: each of the {self.level.payload.batch_size} items has its own. Write x[i] "
            "for one element, np.take(x, i, axis=0) of an array that is not batched, and x[i + np.arange(n)] for x[i:i + n]."
        )

    def __format__(self, spec: str) -> str:
        return repr(self) if not spec else str(self.item())

    __bool__ = __float__ = __int__ = __complex__ = tolist = item

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        note_request()
        check_open(self)
        raise ConversionError(
            f"a NumPy array was asked of a BatchedTensor of shape {self.shape} and dtype {self.dtype}, which would take it out "
            f"of its transform. {array_advice(self.dtype, OTHER)}"
        )

    def __repr__(self) -> str:
        return f"BatchedTensor(shape={self.shape}, dtype={self.dtype}, dim={self.dim}, {self.level!r})"


IS_ARRAY: Any = vars(BatchedTensor)["is_array"]  # read and set by this: a look-up that fails asks for words


set_rewritable(BatchedTensor, frozen=False)


class Residuals(Tensor):
    """The residuals of the items of a loop, as a list. An operator that takes a residual gets that of its item."""

    __slots__ = ()
    key = DispatchKey.VMAP

    def __len__(self) -> int:
        return len(self.value)

    def __iter__(self) -> Any:
        return iter(self.value)

    def __getitem__(self, i: Any) -> Any:
        return self.value[i]

    def _refuse(self, *args: Any, **keywords: Any) -> Any:
        note_request()
        raise ConversionError(
            f"what an operator kept for its backward was used as one object, and each of the {len(self)} items of a batch has "
            "its own. Hand it on to an operator that takes it; or register the rule with opaque=True, to run it item by item."
        )

    __call__ = dot = transpose = __matmul__ = __rmatmul__ = __mul__ = __rmul__ = _refuse
    T = property(_refuse)

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("_") and name not in _OF_ARRAYS:
            note_request()
        raise AttributeError(
            f"{name!r} was asked of what an operator kept for its backward, and each of the {len(self)} items of a batch has "
            "its own. Hand it on to an operator that takes it; or register the rule with opaque=True, to run it item by item.",
            name=name,
            obj=self,
        )


_OF_ARRAYS = frozenset(("shape", "dtype", "ndim", "size", "device", "strides"))  # by which layers know an array
