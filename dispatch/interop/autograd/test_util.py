"""autograd.test_util: derivatives of a function compared with differences of its values."""

from collections.abc import Callable, Sequence
from functools import wraps
from itertools import product
from typing import Any

import numpy as np

from ...autodiff.forward_mode import jvp
from ...autodiff.reverse_mode import vjp
from ...errors import GradcheckError
from .differential_operators import Argnum, unary
from .extend import vspace
from .misc.flatten import flatten

Function = Callable[..., Any]
EPS, TOL = 1e-6, 1e-6  # the step of the differences; what two numbers may differ by, and how much of their sum


def check_grads(f: Function, argnum: Argnum = 0, modes: Sequence[str] = ("fwd", "rev"), order: int = 2) -> Function:
    """Return a function that compares the derivatives of `f` with differences, along directions drawn at random.

    Parameters
    ----------
    f : callable
    argnum : int or tuple of int
    modes : sequence of {"fwd", "rev"}
        Which derivatives are compared.
    order : int
        How many orders.

    Returns
    -------
    callable
        Takes the arguments of `f`; raises GradcheckError, which is an AssertionError, where they differ.

    Examples
    --------
    >>> check_grads(lambda x: np.sin(x) * x)(np.array([0.5, 1.0]))
    """

    @wraps(f)
    def check(*args: Any, **keywords: Any) -> None:
        g, x = unary(f, argnum, args, keywords)
        of_numbers, numbers = _real(g, x)
        _check(of_numbers, numbers, tuple(modes), order, np.random.default_rng(0), getattr(f, "__name__", "the function"))

    return check


def _real(f: Function, x: Any) -> tuple[Function, Any]:
    """A function of containers and complex numbers as one of a vector of real numbers, and the vector."""
    flat, back = flatten(x)
    is_complex = flat.dtype.kind == "c"
    n = len(flat)

    def of_numbers(v: Any) -> Any:
        y = flatten(f(back(v[:n] + 1j * v[n:] if is_complex else v)))[0]
        return np.concatenate([np.real(y), np.imag(y)]) if y.dtype.kind == "c" else y

    return of_numbers, np.concatenate([flat.real, flat.imag]) if is_complex else flat


def _check(f: Function, x: Any, modes: Sequence[str], order: int, rng: np.random.Generator, name: str) -> None:
    direction = rng.standard_normal(x.shape)
    y = f(x)
    differences = (f(x + direction * (EPS / 2)) - f(x - direction * (EPS / 2))) / EPS
    probe = rng.standard_normal(y.shape)
    n = len(x)
    if "fwd" in modes:
        _compare(f"(JVP) check of {name}", probe @ jvp(f, (x,), (direction,))[1], probe @ differences)
        if order > 1:
            pushed = lambda xv: jvp(f, (xv[:n],), (xv[n:],))[1]
            _check(pushed, np.concatenate([x, direction]), modes, order - 1, rng, f"jvp_{name}")
    if "rev" in modes:
        _compare(f"(VJP) check of {name}", direction @ vjp(f, x)[1](probe)[0], probe @ differences)
        if order > 1:
            pulled = lambda xg: vjp(f, xg[:n])[1](xg[n:])[0]
            _check(pulled, np.concatenate([x, probe]), modes, order - 1, rng, f"vjp_{name}")


def scalar_close(a: Any, b: Any) -> bool:
    """Return whether two numbers differ by 1e-6 at most, or by that part of their sum."""
    return bool(abs(a - b) < TOL or abs(a - b) < TOL * abs(a + b))


def check_equivalent(x: Any, y: Any) -> None:
    """Hold two values against each other: their structures, shapes and dtypes, and a product with random numbers."""
    of_x, of_y = vspace(x), vspace(y)
    if of_x != of_y:
        raise GradcheckError(f"the values are of different vector spaces: {of_x} and {of_y}.")
    v = of_x.randn()
    if not scalar_close(of_x.inner_prod(x, v), of_y.inner_prod(y, v)):
        raise GradcheckError(f"the values differ: {x} and {y}.")


def _compare(what: str, found: Any, expected: Any) -> None:
    if not scalar_close(found, expected):
        raise GradcheckError(f"Derivative {what} failed: along a direction it is {found}, and differences give {expected}.")


def combo_check(fun: Function, *args: Any, **options: Any) -> Function:
    """Return a function of lists of arguments, which runs `check_grads(fun, ...)` for each combination."""

    def check(*lists: Any, **keyword_lists: Any) -> None:
        for given in product(*lists):
            for named in product(*keyword_lists.values()):
                check_grads(fun, *args, **options)(*given, **dict(zip(keyword_lists, named, strict=True)))

    return check
