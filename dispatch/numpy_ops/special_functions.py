"""Functions of scipy.special that are no ufuncs, and so never get a value of a transform: `ops.scipy_special.logsumexp(x)`.

SciPy makes arrays of their arguments, which is refused. Here each is a composite of NumPy's rows and SciPy's ufuncs, and SciPy's own
function on plain arrays. `special_ufuncs.install` imports this module, with SciPy.
"""

from collections.abc import Sequence
from math import log as log_of
from math import pi
from typing import Any

import numpy as np

from ..core.optional import require
from ..operators import prims
from ..operators.registry import ops
from . import pointwise, reduction, shape
from .families import Rule, composite

NAMESPACE = "scipy_special"
sp = getattr(ops, NAMESPACE)
Axes = Sequence[int] | None


def _polygamma(n: Any, x: Any) -> Any:
    """psi, or its derivative of order n, DLMF 25.11.12."""
    sign_ = pointwise.power(-1.0, pointwise.add(n, 1))
    of_zeta = pointwise.multiply(pointwise.multiply(sign_, sp.gamma(pointwise.add(n, 1.0))), sp.zeta(pointwise.add(n, 1), x))
    return ops.np.where(pointwise.equal(n, 0), sp.psi(x), of_zeta)


def _top(x: Any, axis: Axes) -> Any:
    """The largest element as a constant, 0 where it is infinite: what exponentials are taken relative to."""
    found = prims.detach(reduction.max(x, axis, keepdims=True))
    return ops.np.where(pointwise.isfinite(found), found, 0)


def _logsumexp(x: Any, axis: Axes = None, b: Any = None, keepdims: bool = False) -> Any:
    if b is not None:
        x = pointwise.add(x, pointwise.multiply(b, 0))  # of the shape of both
    top = _top(x, axis)
    terms = pointwise.exp(pointwise.subtract(x, top))
    if b is not None:
        terms = pointwise.multiply(terms, b)
    total = reduction.sum(terms, axis, keepdims=True)
    none = pointwise.equal(total, 0)  # of -inf alone
    found = ops.np.where(none, -np.inf, pointwise.add(pointwise.log(ops.np.where(none, 1, total)), top))
    return found if keepdims else _without(found, axis)


def _without(x: Any, axis: Axes) -> Any:
    """Return what was reduced without the axes along which it was, a number where none is left."""
    return reduction.sum(x, axis)


def _softmax(x: Any, axis: Axes = None) -> Any:
    terms = pointwise.exp(pointwise.subtract(x, prims.detach(reduction.max(x, axis, keepdims=True))))
    return pointwise.divide(terms, reduction.sum(terms, axis, keepdims=True))


def _log_softmax(x: Any, axis: Axes = None) -> Any:
    shifted = pointwise.subtract(x, _top(x, axis))
    return pointwise.subtract(shifted, pointwise.log(reduction.sum(pointwise.exp(shifted), axis, keepdims=True)))


def _multigammaln(a: Any, d: int) -> Any:
    halves = np.arange(d) / 2.0
    each = sp.gammaln(pointwise.subtract(shape.expand_dims(a, -1), halves))
    return pointwise.add(reduction.sum(each, (-1,)), d * (d - 1) * 0.25 * log_of(pi))


def install() -> None:
    """Make the operators."""
    of_scipy = require("scipy.special", "scipy", needed_by=f"dispatch.ops.{NAMESPACE}")
    for text, function in TABLE.items():
        composite(text, function, numpy=_called(getattr(of_scipy, text.partition("(")[0])), namespace=NAMESPACE)


def _called(function: Rule) -> Rule:
    """A function of SciPy with the axes of our schemas, which are lists."""
    return lambda *args, **keywords: function(*map(_listed, args), **{name: _listed(x) for name, x in keywords.items()})


def _listed(x: Any) -> Any:
    return tuple(x) if isinstance(x, list) else x


TABLE: dict[str, Rule] = {
    "polygamma(Tensor n, Tensor x) -> Tensor": _polygamma,
    "logsumexp(Tensor x, int[1]? axis=None, Tensor? b=None, bool keepdims=False) -> Tensor": _logsumexp,
    "softmax(Tensor x, int[1]? axis=None) -> Tensor": _softmax,
    "log_softmax(Tensor x, int[1]? axis=None) -> Tensor": _log_softmax,
    "multigammaln(Tensor a, int d) -> Tensor": _multigammaln,
}
