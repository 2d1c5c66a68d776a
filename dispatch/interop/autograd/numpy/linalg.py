"""autograd.numpy.linalg: numpy.linalg itself, but for what autograd has otherwise."""

from typing import Any

import numpy as np
import numpy.linalg

from ....numpy import linalg
from ....numpy.functions import FUNCTIONS

array = FUNCTIONS["array"]


def eigh(a: Any, UPLO: str = "L") -> Any:
    """Return the eigenvalues and eigenvectors of a Hermitian matrix.

    The other triangle is not read, and its gradient is 0, as autograd has it; `numpy.linalg.eigh` has the gradient of the whole
    matrix, as JAX and torch have.

    Examples
    --------
    >>> from dispatch.interop.autograd import jacobian
    >>> jacobian(lambda a: eigh(a)[0])(np.array([[1.0, 0.0], [0.5, 3.0]]))[0, 0, 1]
    np.float64(0.0)
    """
    part, apart = (np.tril, -1) if UPLO.upper() == "L" else (np.triu, 1)
    a = array(a) if isinstance(a, (list, tuple)) else a
    return numpy.linalg.eigh(part(a) + np.conj(np.swapaxes(part(a, apart), -1, -2)), "L" if part is np.tril else "U")


def T(x: Any) -> Any:  # noqa: N802  autograd's name
    """Return the transposed matrices."""
    return np.swapaxes(x, -1, -2)


_dot = numpy.linalg.matmul  # autograd's tests call it


def __getattr__(name: str) -> Any:
    return getattr(linalg, name)


def __dir__() -> list[str]:
    return dir(linalg)
