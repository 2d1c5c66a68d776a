"""Rows of `np.linalg`: eigenvalues and eigenvectors of any square matrices, stacked.

With `a v = v diag(w)`, columns of v of length 1, and G the incoming gradient,

    w    inv(v)^H diag(Gw) v^H
    v    inv(v)^H [(v^H Gv - v^H v Re diag(v^H Gv)) / conj(w_j - w_i)] v^H

(C. Boeddeker et al., "On the computation of complex-valued gradients with application to statistically optimum beamforming", 2017).
The phase of a complex eigenvector is arbitrary, the sign of a real one too, and a loss must not depend on it. Where two eigenvalues
are equal, their vectors have no derivative; where these have one vector alone, the eigenvalues have none either.

NumPy before 2.5 gives real results of real matrices if all eigenvalues are real, those of a whole stack, and so those of a whole batch.
The rows do that with `real=True`, and a shape rule then raises; without it they give complex results, whose dtype every layer knows.
"""

from typing import Any

import numpy as np

from ...autodiff.rules.partials import conjugated
from ...layers.autograd import pullbacks
from .. import numpy_functions
from ..diagonals import diagonal, diagonal_matrix
from ..families import complete
from ..pointwise import add, divide, multiply, subtract
from ..row_arguments import as_value
from ..settled import settle, unsettled
from ..shape import expand_dims, real
from .decompositions import gaps, times_columns
from .matmul import adjoint, matmul
from .solve import solve
from .stacked import of_matrices

EIG: Any = type(np.linalg.eig(np.eye(1)))  # the named tuple that NumPy returns
BY_DATA = np.linalg.eigvals(np.eye(1)).dtype.kind != "c"


def _eig(a: Any, *, real: bool = False) -> Any:
    w, v = np.linalg.eig(a)
    return (w, v) if real else (_complex(w), _complex(v))


def _eigvals(a: Any, *, real: bool = False) -> Any:
    w = np.linalg.eigvals(a)
    return w if real else _complex(w)


def _complex(x: Any) -> Any:
    return x.astype(np.result_type(x.dtype, 1j), copy=False)


def _refuse(name: str) -> Any:
    def refuse(a: Any, real: bool) -> None:
        if real and a.dtype.kind != "c":
            raise unsettled(
                name, "whether the eigenvalues of real matrices are all real, and with them the dtype of the result,",
                f"Write {name}(a.astype(complex)), whose result is complex; or call it on real arrays, outside the mode.",
            )  # fmt: skip

    return refuse


def _pullback(g: Any, out: Any, a_dtype: Any) -> Any:
    (g_w, g_v), (w, v) = g, map(settle, out)
    inner = None if g_w is None else diagonal_matrix(g_w)
    if g_v is not None:
        turned = matmul(adjoint(v), g_v)
        along = real(diagonal(turned, 0, -2, -1))
        part = divide(subtract(turned, times_columns(matmul(adjoint(v), v), along)), conjugated(gaps(w)))
        inner = part if inner is None else add(inner, part)
    found = None if inner is None else solve(adjoint(v), matmul(inner, adjoint(v)))
    return found if found is None or a_dtype.kind == "c" else real(found)


def _eigvals_pullback(g: Any, a: Any, real: bool) -> Any:
    v = settle(eig(a, real=real)[1])
    return solve(adjoint(v), multiply(expand_dims(g, -1), adjoint(v)))


eig = of_matrices(
    "linalg_eig(Tensor a, *, bool real=False) -> (Tensor, Tensor)", _eig, lambda m, n: [(n,), (n, n)], refuse=_refuse("np.linalg.eig")
)
complete(eig, autograd=pullbacks(a=_pullback))
eigvals = of_matrices(
    "linalg_eigvals(Tensor a, *, bool real=False) -> Tensor", _eigvals, lambda m, n: [(n,)], refuse=_refuse("np.linalg.eigvals")
)
complete(eigvals, autograd=pullbacks(a=_eigvals_pullback))


def numpys_eig(a: Any) -> Any:
    """`np.linalg.eig`."""
    w, v = eig(as_value(a), real=BY_DATA)
    return EIG(settle(w), settle(v)) if BY_DATA else EIG(w, v)


def numpys_eigvals(a: Any) -> Any:
    """`np.linalg.eigvals`."""
    w = eigvals(as_value(a), real=BY_DATA)
    return settle(w) if BY_DATA else w


FUNCTIONS: dict[Any, Any] = {np.linalg.eig: numpys_eig, np.linalg.eigvals: numpys_eigvals}


def install() -> None:
    """Put the functions into the table."""
    numpy_functions.FUNCTIONS.update(FUNCTIONS)
