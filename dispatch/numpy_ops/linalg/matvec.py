"""Rows of the ufuncs `np.matvec` and `np.vecmat`, products of a stack of matrices with vectors; NumPy 2.2 and later have them."""

from typing import Any

import numpy as np

from ...autodiff.rules.partials import conjugated
from ...core import OpOverload
from ...layers.autograd import pullbacks
from ...layers.jvp import pushforwards
from .. import numpy_functions
from ..families import composite, linear
from ..pointwise import multiply
from ..shape import expand_dims, squeeze
from .matmul import adjoint, matmul

UFUNCS: dict[Any, OpOverload] = {}

if hasattr(np, "matvec"):

    def _check(ufunc: Any, x: Any, y: Any, least: tuple[int, int]) -> None:
        if any(len(getattr(a, "shape", ())) < n for a, n in zip((x, y), least, strict=True)):
            ufunc(*[np.broadcast_to(0.0, getattr(a, "shape", ())) for a in (x, y)])  # raises NumPy's own error

    def _matvec(x: Any, y: Any) -> Any:
        _check(np.matvec, x, y, (2, 1))
        return squeeze(matmul(x, expand_dims(y, -1)), -1)

    def _vecmat(x: Any, y: Any) -> Any:
        _check(np.vecmat, x, y, (1, 2))
        return squeeze(matmul(expand_dims(conjugated(x), -2), y), -2)

    matvec = composite(
        "matvec(Tensor x, Tensor y) -> Tensor",
        _matvec,
        numpy=np.matvec,
        laid_out=True,
        autograd=pullbacks(
            x=lambda g, y: multiply(expand_dims(g, -1), expand_dims(conjugated(y), -2)),
            y=lambda g, x: squeeze(matmul(adjoint(x), expand_dims(g, -1)), -1),
        ),
        jvp=linear("x", "y"),
    )
    vecmat = composite(
        "vecmat(Tensor x, Tensor y) -> Tensor",
        _vecmat,
        numpy=np.vecmat,
        laid_out=True,
        autograd=pullbacks(
            x=lambda g, y: squeeze(matmul(y, expand_dims(conjugated(g), -1)), -1),
            y=lambda g, x: multiply(expand_dims(x, -1), expand_dims(g, -2)),
        ),
        jvp=pushforwards(x=lambda t, y: vecmat(t, y), y=lambda t, x: vecmat(x, t)),
    )
    UFUNCS = {np.matvec: matvec, np.vecmat: vecmat}


def install() -> None:
    """Put the ufuncs into the table."""
    numpy_functions.UFUNCS.update(UFUNCS)
