"""autograd.extend: primitives of one's own, and the vector space of a value."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from ...core import Tensor
from ...core.pytree import leaves, mapped, unflatten
from ...errors import UnsupportedError
from .primitives import (
    def_linear,
    defjvp,
    defjvp_argnum,
    defjvp_argnums,
    defvjp,
    defvjp_argnum,
    defvjp_argnums,
    notrace_primitive,
    primitive,
)

__all__ = [
    "VSpace",
    "def_linear",
    "defjvp",
    "defjvp_argnum",
    "defjvp_argnums",
    "defvjp",
    "defvjp_argnum",
    "defvjp_argnums",
    "notrace_primitive",
    "primitive",
    "vspace",
]


class VSpace:
    """The vector space that a value is of: an array, a number, or a container of these.

    Parameters
    ----------
    value : array, number, or container of these

    Examples
    --------
    >>> vspace((np.ones(2), 1.0)).zeros()
    (array([0., 0.]), array(0.))
    """

    def __init__(self, value: Any) -> None:
        layouts = [(np.shape(x), x.dtype if isinstance(x, Tensor) else np.asarray(x).dtype) for x in leaves(value)]
        self.like = mapped(lambda x: None, value)
        self.layouts = layouts
        if len(layouts) == 1:
            self.shape, self.dtype = layouts[0]

    @property
    def size(self) -> int:
        """How many real numbers a value has."""
        return sum(int(np.prod(shape)) * (2 if dtype.kind == "c" else 1) for shape, dtype in self.layouts)

    @property
    def ndim(self) -> int:
        """How many axes an array has."""
        return len(self.shape)

    @property
    def iscomplex(self) -> bool:
        """Whether a number in it is complex."""
        return any(dtype.kind == "c" for _, dtype in self.layouts)

    def _made(self, parts: list[Any]) -> Any:
        return unflatten(self.like, parts)

    def zeros(self) -> Any:
        """A value of zeros."""
        return self._made([np.zeros(*layout) for layout in self.layouts])

    def ones(self) -> Any:
        """A value of ones, the sum of the standard basis."""
        return self._made([np.full(shape, 1 + 1j if dtype.kind == "c" else 1, dtype) for shape, dtype in self.layouts])

    def randn(self) -> Any:
        """A value of normal random numbers."""
        draw = np.random.default_rng().standard_normal
        return self._made(
            [(draw(s) + 1j * draw(s) if d.kind == "c" else np.asarray(draw(s))).astype(d) for s, d in self.layouts]
        )

    def standard_basis(self) -> Iterator[Any]:
        """The values of which one number is 1, or 1j, and all others are 0."""
        for place, (shape, dtype) in enumerate(self.layouts):
            for index in np.ndindex(shape):
                for one in (1.0, 1j) if dtype.kind == "c" else (1.0,):
                    parts = [np.zeros(*layout) for layout in self.layouts]
                    parts[place][index] = one
                    yield self._made(parts)

    def covector(self, x: Any) -> Any:
        """The conjugate of a value: what autograd's gradients by complex numbers are of."""
        return mapped(np.conj, x)

    def mut_add(self, x: Any, y: Any) -> Any:
        """The sum of two values, where no first one stands for zeros."""
        return self.add(self.zeros() if x is None else x, y)

    def add(self, x: Any, y: Any) -> Any:
        """The sum of two values."""
        return unflatten(self.like, [a + b for a, b in zip(leaves(x), leaves(y), strict=True)])

    def scalar_mul(self, x: Any, a: Any) -> Any:
        """A value times a number."""
        return mapped(lambda leaf: leaf * a, x)

    def inner_prod(self, x: Any, y: Any) -> Any:
        """The inner product of two values."""
        return sum(np.real(np.sum(np.conj(a) * b)) for a, b in zip(leaves(x), leaves(y), strict=True))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, VSpace) and (self.like, self.layouts) == (other.like, other.layouts)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"VSpace({', '.join(f'{dtype}{list(shape)}' for shape, dtype in self.layouts)})"


def vspace(value: Any) -> VSpace:
    """Return the vector space of a value."""
    return VSpace(value)


ABSENT = {
    "Box": "A value of a transform is a dispatch.Tensor: isinstance(x, dispatch.Tensor).",
    "JVPNode": "A derivative is defined by defjvp.",
    "VJPNode": "A derivative is defined by defvjp.",
    "SparseObject": "Return the gradient as an array.",
    "register_notrace": "Use notrace_primitive, or return a constant by dispatch.detach.",
}


def __getattr__(name: str) -> Any:
    if name in ABSENT:
        raise UnsupportedError(
            f"autograd.extend.{name} is a part of how autograd traces, and is not offered here. {ABSENT[name]}"
        )
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
