"""Jacobians and Hessians: all rows pulled back, or all columns pushed forward, in one batch."""

from collections.abc import Callable
from typing import Any

from .argnums import Argnums
from .jacobian_columns import by_columns
from .jacobian_rows import by_rows


def jacrev(
    f: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, chunk_size: int | None = None
) -> Callable[..., Any]:
    """The function that gives the Jacobian of a function, row by row: a gradient for each element of the result.

    Parameters
    ----------
    f : callable
        Returns an array of real numbers or a container of them; with `has_aux` a pair of that and anything else. It runs once.
    argnums : int, str or tuple of these
        The arguments to differentiate by: the position of one, its name, or several.
    has_aux : bool
        Whether `f` returns something beside its result; the Jacobian function then returns `(jacobian, aux)`.
    chunk_size : int, optional
        The most rows that are computed in one batch, all by default. 1 computes them one after the other without a batch, for
        operators whose backward takes plain arrays alone.

    Returns
    -------
    callable
        Gives an array of the shape of the result followed by that of the argument; of containers the structure of the result
        with the structure of the arguments in place of each array.

    Raises
    ------
    GradientError
        If an argument or the result has no derivative, or the result is complex.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> dispatch.jacrev(lambda x: x**2)(np.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    >>> dispatch.jacrev(lambda p: (p["a"] * p["b"], p["b"]))({"a": 2.0, "b": 3.0})
    ({'a': array(3.), 'b': array(2.)}, {'a': array(0.), 'b': array(1.)})
    """
    return by_rows("jacrev", f, argnums, has_aux, chunk_size)


def jacfwd(f: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, randomness: str = "error") -> Callable[..., Any]:
    """The function that gives the Jacobian of a function, column by column: a tangent for each element of the arguments.

    Parameters
    ----------
    f, argnums, has_aux
        As in `jacrev`; results may be complex, and arguments are real.
    randomness : str
        As in `vmap`, which runs the tangents.

    Returns
    -------
    callable
        Gives what the function that `jacrev` makes gives, in the dtype of the result.

    Raises
    ------
    GradientError
        If an argument or the result has no derivative, or an argument is complex.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> dispatch.jacfwd(lambda x, y: x * y, argnums=(0, 1))(np.array([1.0, 2.0]), 3.0)
    (array([[3., 0.],
           [0., 3.]]), array([1., 2.]))
    """
    return by_columns("jacfwd", f, argnums, has_aux, randomness)


def hessian(f: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """The function that gives the second derivatives of a function: the columns of the rows of its Jacobian.

    Parameters
    ----------
    f, argnums
        As in `jacrev`.

    Returns
    -------
    callable
        Gives an array of the shapes of the result, the argument and the argument again; of containers the structures in that
        order.

    Raises
    ------
    GradientError
        If an argument or the result has no derivative, or is complex.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> dispatch.hessian(lambda x: np.sum(x**3))(np.array([1.0, 2.0]))
    array([[ 6.,  0.],
           [ 0., 12.]])
    """
    return by_columns("hessian", by_rows("hessian", f, argnums, False, None), argnums, False, "error")
