"""TrackedTensor: a value whose history is recorded."""

from functools import lru_cache
from typing import Any

import numpy as np

from ..core import DispatchKey, Tensor, check_open, count_conversion, freeze, ground, wrap
from ..errors import ConversionError, GradientError
from ..memory import set_rewritable, sole
from ..prims import add
from .engine import run_backward
from .node import Leaf, Node


class TrackedTensor(Tensor):
    """A value on the tape: made by `dispatch.tensor(a, requires_grad=True)`, by `grad`, and by operators on such values.

    Attributes
    ----------
    grad : ndarray or None
        The gradient that `backward` added up, of a leaf; a Tensor after `backward(create_graph=True)`.
    grad_fn : Node or None
        The recorded call that made the value; None for a leaf.
    requires_grad, is_leaf : bool
    version : int
        How many calls have written to it in place; torch's `_version`.
    """

    __slots__ = ("family", "writes")  # both unset on most: no view was taken, nothing was written
    key = DispatchKey.AUTOGRAD

    family: Any  # what those that share memory have in common; see views.py
    writes: int

    @property
    def version(self) -> int:
        return getattr(self, "writes", 0)

    @property
    def requires_grad(self) -> bool:
        return True

    @property
    def is_leaf(self) -> bool:
        return isinstance(self.data, Leaf)

    @property
    def grad_fn(self) -> Node | None:
        if isinstance(self.data, Leaf):
            return None
        return self.data if isinstance(self.data, Node) else self.data.node

    @property
    def grad(self) -> Any:
        return self.data.grad if isinstance(self.data, Leaf) else None

    @grad.setter
    def grad(self, value: Any) -> None:
        try:
            self.data.grad = value
        except AttributeError:
            raise GradientError(
                "only a leaf has a .grad that can be set, and this value is the result of an operator."
            ) from None

    def backward(self, gradient: Any = None, *, retain_graph: bool | None = None, create_graph: bool = False) -> None:
        """Add the gradient of this value to the `.grad` of every leaf it was made of.

        Parameters
        ----------
        gradient : array_like, optional
            The gradient of the final result with respect to this value, of its shape; may be left out for a 0-d value.
        retain_graph : bool, optional
            Keep what the nodes saved, for another backward; by default where `create_graph` is set.
        create_graph : bool
            Record the backward itself, so that its result can be differentiated again.

        Raises
        ------
        GradientError
            If the value has axes and no gradient is given, or a gradient does not fit.

        Examples
        --------
        >>> import numpy as np, dispatch
        >>> x = dispatch.tensor(np.array([1.0, 2.0]), requires_grad=True)
        >>> (x * x).sum().backward()
        >>> x.grad
        array([2., 4.])
        """
        check_open(self)
        shape, dtype = self.data.layout
        usual = gradient is None and not shape and not isinstance(self.value, Tensor)
        seed = _one(dtype) if usual else seed_of(self, gradient)
        keep = create_graph if retain_graph is None else retain_graph
        found = run_backward((self.data,), (seed,), self.level, keep, create_graph)
        while found:
            leaf, grad = found.popitem()
            leaf.grad = sole(grad if leaf.grad is None else add(leaf.grad, grad))

    def item(self) -> Any:
        """The value of a tensor of one element, as a Python number: a constant, to every derivative."""
        count_conversion()
        return self.value.item()

    def __bool__(self) -> bool:
        return bool(self.value)

    def _number(self) -> Any:
        # NumPy fills `array[i] = x` with float(x), and no protocol tells it from a float() that a user wrote.
        raise ConversionError(
            f"a number was asked of a tracked value of shape {self.shape} and dtype {self.dtype}, by float() or by writing it "
            "into a plain array: its gradient would be lost in silence. Write x.item() where the number is meant; to write it "
            "into an array, make that of a tracked one: np.zeros_like(x, shape=...), or np.stack the pieces."
        )

    __float__ = __int__ = __complex__ = _number

    def __format__(self, spec: str) -> str:
        return format(self.value if self.shape else self.value.item(), spec)

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise ConversionError(
            f"a NumPy array was asked of a tracked value of shape {self.shape} and dtype {self.dtype}: its gradient would be "
            "lost in silence. Write dispatch.detach(x) where a constant is meant; to write it into an array, make the "
            "array of a tracked one: np.zeros_like(x, shape=...), or stack the pieces."
        )

    def __repr__(self) -> str:
        made = self.grad_fn
        return f"tensor({self.value!r}, {'requires_grad=True' if made is None else f'grad_fn={made!r}'})"


set_rewritable(TrackedTensor, frozen=True)


def one(x: TrackedTensor) -> Any:
    """The gradient of a 0-d value with respect to itself: 1, which nobody can write to; of a fake's a fake."""
    return np.ones_like(x.value) if isinstance(x.value, Tensor) else _one(x.data.layout[1])


@lru_cache(maxsize=64)
def _one(dtype: np.dtype[Any]) -> Any:
    return freeze(np.ones((), dtype))


def seed_of(x: TrackedTensor, gradient: Any) -> Any:
    """The gradient a backward begins with."""
    if gradient is None:
        if x.shape:
            raise GradientError(
                f"backward begins at a value of shape {x.shape}, and only a 0-d value has an obvious gradient to begin with. "
                "Sum it first, or pass gradient= of its shape."
            )
        return one(x)
    if not isinstance(gradient, Tensor):
        gradient = np.asarray(gradient, dtype=x.dtype)
    if gradient.shape != x.shape:
        raise GradientError(f"the gradient has shape {gradient.shape}, and the value it is of {x.shape}. Make them equal.")
    return gradient


def tensor(data: Any, *, dtype: Any = None, requires_grad: bool = False) -> Any:
    """Copy data into a new array, tracked on request.

    Parameters
    ----------
    data : array_like
    dtype : dtype, optional
    requires_grad : bool
        Whether operators on it are recorded, for `backward`.

    Returns
    -------
    ndarray or TrackedTensor

    Raises
    ------
    GradientError
        If a gradient is asked of a dtype that has none.

    Examples
    --------
    >>> import dispatch
    >>> x = dispatch.tensor([3.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> x.grad
    array([6.])
    """
    value: Any
    if isinstance(data, Tensor):
        value = data if dtype is None else data.astype(dtype)
    else:
        value = np.array(data, dtype=dtype)
    if not requires_grad:
        return value
    if isinstance(value, TrackedTensor) and value.level is ground():
        raise GradientError(
            "tensor(x, requires_grad=True) was asked of a value that is tracked already. Use x itself, or "
            "dispatch.detach(x) in its place for a new leaf, through which x gets no gradient."
        )
    return track(value, ground())


def track(value: Any, level: Any) -> TrackedTensor:
    """A leaf at a level."""
    if value.dtype.kind not in "fc":
        raise GradientError(
            f"a gradient was asked of an array of dtype {value.dtype}: only floating-point and complex values have one. "
            "Cast it: x.astype(float)."
        )
    leaf = Leaf((value.shape, value.dtype))
    made: TrackedTensor = wrap(TrackedTensor, freeze(value), level, leaf)
    return made
