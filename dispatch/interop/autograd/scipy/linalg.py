"""autograd.scipy.linalg: solvers of SciPy with derivatives, each an equation that the result fulfils."""

from typing import Any

import numpy as np
import scipy.linalg

from ....errors import UnsupportedError
from ..extend import defjvp, defjvp_argnums, defvjp, defvjp_argnums, primitive

__all__ = ["solve_banded", "solve_sylvester", "solve_triangular", "sqrtm"]

sqrtm = primitive(scipy.linalg.sqrtm)
solve_sylvester = primitive(scipy.linalg.solve_sylvester)
solve_triangular = primitive(scipy.linalg.solve_triangular)
solve_banded = primitive(scipy.linalg.solve_banded)


def _transposed(x: Any) -> Any:
    return np.transpose(x)


def _like(g: Any, x: Any) -> Any:
    """A gradient by a real matrix is real."""
    return np.real(g) if np.iscomplexobj(g) and not np.iscomplexobj(x) else g


def _pull_sqrtm(ans: Any, A: Any) -> Any:
    return lambda g: _like(solve_sylvester(_transposed(ans), _transposed(ans), g), A)


def _push_sqrtm(g: Any, ans: Any, A: Any) -> Any:
    return solve_sylvester(ans, ans, g)


defvjp(sqrtm, _pull_sqrtm)
defjvp(sqrtm, _push_sqrtm)


def _pull_sylvester(argnums: Any, ans: Any, args: Any, keywords: Any) -> Any:
    """A X + X B = Q: the gradient by Q solves the transposed equation, and the others follow from it."""
    a, b, _ = args

    def pull(g: Any) -> Any:
        by_q = solve_sylvester(_transposed(a), _transposed(b), g)
        found = {0: lambda: -np.dot(by_q, _transposed(ans)), 1: lambda: -np.dot(_transposed(ans), by_q), 2: lambda: by_q}
        return [_like(found[i](), args[i]) for i in argnums]

    return pull


def _push_sylvester(argnums: Any, gs: Any, ans: Any, args: Any, keywords: Any) -> Any:
    moved = {0: lambda g: -np.dot(g, ans), 1: lambda g: -np.dot(ans, g), 2: lambda g: g}
    return solve_sylvester(args[0], args[1], sum(moved[i](g) for i, g in zip(argnums, gs, strict=True)))


defvjp_argnums(solve_sylvester, _pull_sylvester)
defjvp_argnums(solve_sylvester, _push_sylvester)


def _matrix(x: Any) -> Any:
    return x if np.ndim(x) > 1 else np.reshape(x, (-1, 1))


def _flipped(trans: Any) -> str:
    """What solves with the transposed matrix; of complex numbers autograd's gradient is that of the plain transpose."""
    if trans in (2, "C"):
        raise UnsupportedError("solve_triangular: trans='C' has no derivative. Take np.conj of the matrix, and trans='T'.")
    return "T" if trans in (0, "N") else "N"


def _pull_triangular_matrix(
    ans: Any, a: Any, b: Any, trans: Any = 0, lower: bool = False, unit_diagonal: bool = False, **rest: Any
) -> Any:
    flipped = _flipped(trans)
    part = np.tril if lower else np.triu

    def pull(g: Any) -> Any:
        v = _matrix(solve_triangular(a, g, flipped, lower, unit_diagonal))
        outer = np.dot(v, _transposed(_matrix(ans)))
        return -part(outer if flipped == "T" else _transposed(outer), *((-1 if lower else 1,) if unit_diagonal else ()))

    return pull


def _pull_triangular_side(
    ans: Any, a: Any, b: Any, trans: Any = 0, lower: bool = False, unit_diagonal: bool = False, **rest: Any
) -> Any:
    flipped = _flipped(trans)
    return lambda g: solve_triangular(a, g, flipped, lower, unit_diagonal)


defvjp(solve_triangular, _pull_triangular_matrix, _pull_triangular_side)


def _bands(l_and_u: Any, n: int) -> tuple[Any, Any, Any]:
    """For each place of a matrix in banded form its row and column, and whether it is in the matrix."""
    low, up = l_and_u
    columns = np.arange(n)
    rows = np.arange(low + up + 1)[:, None] - up + columns
    return np.clip(rows, 0, n - 1), np.broadcast_to(columns, rows.shape), (rows >= 0) & (rows < n)


def _transposed_bands(l_and_u: Any, ab: Any) -> tuple[Any, Any]:
    """The transposed matrix in banded form: what is in its row i and column j is in row j and column i of the matrix."""
    low, up = l_and_u
    rows, columns, inside = _bands((up, low), ab.shape[-1])
    return (up, low), np.where(inside, ab[np.clip(up + columns - rows, 0, low + up), rows], 0.0)


def _pull_banded_matrix(ans: Any, l_and_u: Any, ab: Any, b: Any, *rest: Any, **keywords: Any) -> Any:
    rows, columns, inside = _bands(l_and_u, np.shape(ab)[-1])

    def pull(g: Any) -> Any:
        v = _matrix(solve_banded(*_transposed_bands(l_and_u, ab), g))
        return -np.where(inside, np.sum(v[rows] * _matrix(ans)[columns], axis=-1), 0.0)

    return pull


def _pull_banded_side(ans: Any, l_and_u: Any, ab: Any, b: Any, *rest: Any, **keywords: Any) -> Any:
    return lambda g: solve_banded(*_transposed_bands(l_and_u, ab), g)


defvjp(solve_banded, _pull_banded_matrix, _pull_banded_side, argnums=[1, 2])


def __getattr__(name: str) -> Any:
    return getattr(scipy.linalg, name)
