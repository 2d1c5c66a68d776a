"""Draws whose parameters may be Tensors, from a Generator that is given: `numpy.random`, and these beside it.

`rng.normal(x)` asks a Tensor for its numbers, and the derivative of the draw would be lost. `normal(rng, x)` draws noise that
depends on nothing, and makes the draw of the noise and the parameters, by NumPy's own formula; so the draw follows the
parameters (reparametrisation [1]_). Where there is no such way the function raises, and says why.
Plain parameters are handed to the Generator; inside of a `vmap` its `randomness` says how often.

.. [1] Kingma and Welling, Auto-Encoding Variational Bayes, 2014, section 2.4
"""

from collections.abc import Callable
from functools import partial
from inspect import Parameter, Signature
from typing import Any, NoReturn

import numpy as np

from ..core import Tensor, active_modes, first_wrapper, open_levels
from ..core.source import not_there
from ..core.wrong_calls import clear, unfit
from ..errors import ArgumentError, UnsupportedError, did_you_mean, kind_of
from ..layers.vmap.randomness import check_decided, drawn_for_items
from ..numpy_ops.draws import draw
from ..numpy_ops.handing_over import hand_over
from ..operators.prims import detach

Function = Callable[..., Any]
EXAMPLE = """
    >>> import numpy as np, dispatch
    >>> rng = np.random.default_rng(0)
    >>> dispatch.grad(lambda x: np.sum(dispatch.numpy.random.normal(rng, x, size=3)))(1.0)
    array(3.)
"""


def generator(rng: Any, name: str) -> Any:
    """Return what was given as a Generator, if it is one, and if each `vmap` around says for whom it draws."""
    if not isinstance(rng, np.random.Generator):
        raise ArgumentError(
            f"dispatch.numpy.random.{name} draws from a Generator, its first argument, and was given {kind_of(rng)}. Write "
            "rng = np.random.default_rng(seed), and pass rng."
        )
    check_decided(f"dispatch.numpy.random.{name}")
    return rng


def drawn(name: str, parameters: dict[str, Any], method: str, made: Function, positive: str = "", law: str = "") -> Function:
    """Make a function that draws by reparametrisation.

    Parameters
    ----------
    name : str
        Of the Generator's method.
    parameters : dict
        The names of the parameters, with their defaults.
    method : str
        The Generator's method that draws the noise.
    made : callable
        From the noise and the parameters to the draw, in NumPy's steps.
    positive : str
        The parameters that NumPy takes no negative values of.
    law : str
        What `made` computes, for the docstring.
    """
    names = list(parameters)

    def function(rng: Any = None, *args: Any, **keywords: Any) -> Any:
        try:
            given = signature.bind(rng, *args, **keywords)
        except TypeError:
            raise unfit(function, (rng, *args), keywords) from None
        given.apply_defaults()
        values, size = [given.arguments[x] for x in names], given.arguments["size"]
        rng = generator(given.arguments["rng"], name)
        if first_wrapper(values) is None and not (open_levels() or active_modes()):
            return getattr(rng, name)(*values, size=size)
        values = [as_array(x) for x in values]
        for x, value in zip(names, values, strict=True):
            known = detach(value) if isinstance(value, Tensor) else value
            if x in positive.split() and not isinstance(known, Tensor) and np.any(np.signbit(known)):
                getattr(rng, name)(**{**dict.fromkeys(names, 1.0), x: -1.0})  # raises NumPy's own error
        shape = np.broadcast_shapes(*[x.shape for x in values])
        wanted = shape if size is None else tuple(size) if isinstance(size, (tuple, list)) else (size,)
        if not fits(shape, wanted):
            raise ValueError(f"Output size {wanted} is not compatible with broadcast dimensions of inputs {shape}.")
        return made(draw(rng, method, (), wanted), *values)

    kinds = [Parameter(x, Parameter.POSITIONAL_OR_KEYWORD, default=default) for x, default in parameters.items()]
    rng_, size_ = Parameter("rng", Parameter.POSITIONAL_ONLY), Parameter("size", Parameter.POSITIONAL_OR_KEYWORD, default=None)
    signature = Signature([rng_, *kinds, size_])
    function.__name__ = function.__qualname__ = name
    function.__signature__ = signature  # type: ignore[attr-defined]
    listed = ", ".join(names)
    function.__doc__ = f"""Draw as `rng.{name}({listed}, size)` does, with Tensors as parameters.

    Parameters
    ----------
    rng : Generator
        `numpy.random.default_rng(seed)`.
    {listed} : float, array_like or Tensor
    size : int or tuple of int, optional
        The shape of the draws; by default that of the parameters.

    Returns
    -------
    ndarray or Tensor
        The numbers that the Generator gives for these parameters{f": {law}" if law else ""}.

    Examples
    --------{EXAMPLE}    """
    return function


def fits(shape: tuple[int, ...], size: tuple[int, ...]) -> bool:
    """Whether parameters of a shape broadcast to the draws."""
    ends = zip(shape[::-1], size[::-1], strict=False)
    return len(shape) <= len(size) and all(n in (1, m) for n, m in ends)


def as_array(x: Any) -> Any:
    """Return a Tensor as it is, and anything else as an array; of a list with a Tensor in it a stack."""
    if isinstance(x, Tensor):
        return x
    found = first_wrapper(x)
    return np.asarray(x, float) if found is None else hand_over(found, np.asarray, (x,), {})


def _triangular(u: Any, left: Any, mode: Any, right: Any) -> Any:
    base, ahead = right - left, mode - left
    rising = u <= ahead / base
    # where the other side counts, its root is of a number that may be negative: a positive one stands there
    up = np.sqrt(np.where(rising, u * (ahead * base), 1.0))
    down = np.sqrt(np.where(rising, 1.0, (1.0 - u) * ((right - mode) * base)))
    return np.where(rising, left + up, right - down)


NEEDED = Parameter.empty
LOC = {"loc": 0.0, "scale": 1.0}


def _shifted(z: Any, loc: Any, scale: Any) -> Any:
    return loc + scale * z


normal = drawn("normal", LOC, "standard_normal", _shifted, "scale", "loc + scale z")
laplace = drawn("laplace", LOC, "laplace", _shifted, "scale", "loc + scale z")
logistic = drawn("logistic", LOC, "logistic", _shifted, "scale", "loc + scale z")
gumbel = drawn("gumbel", LOC, "gumbel", _shifted, "scale", "loc + scale z")
lognormal = drawn(
    "lognormal", {"mean": 0.0, "sigma": 1.0}, "standard_normal", lambda z, mean, sigma: np.exp(mean + sigma * z), "sigma",
    "exp(mean + sigma z)",
)  # fmt: skip
uniform = drawn(
    "uniform", {"low": 0.0, "high": 1.0}, "random", lambda u, low, high: low + (high - low) * u, law="low + (high - low) u"
)
triangular = drawn(
    "triangular", {"left": NEEDED, "mode": NEEDED, "right": NEEDED}, "random", _triangular,
    law="the inverse of the distribution function at u",
)  # fmt: skip
EXPONENTIAL = "standard_exponential"
exponential = drawn("exponential", {"scale": 1.0}, EXPONENTIAL, lambda e, scale: scale * e, "scale", "scale e")
rayleigh = drawn("rayleigh", {"scale": 1.0}, EXPONENTIAL, lambda e, scale: scale * np.sqrt(2 * e), "scale", "scale sqrt(2 e)")
weibull = drawn("weibull", {"a": NEEDED}, EXPONENTIAL, lambda e, a: np.power(e, 1 / a), "a", "e ** (1 / a)")
pareto = drawn("pareto", {"a": NEEDED}, EXPONENTIAL, lambda e, a: np.expm1(e / a), "a", "exp(e / a) - 1")
power = drawn(
    "power", {"a": NEEDED}, EXPONENTIAL, lambda e, a: np.power(-np.expm1(-e), 1 / a), "a", "(1 - exp(-e)) ** (1 / a)"
)


@clear
def multivariate_normal(rng: Any, mean: Any, cov: Any, size: Any = None, *, method: str = "svd") -> Any:
    """Draw as `rng.multivariate_normal(mean, cov, size, method=...)` does, with Tensors as parameters.

    Parameters
    ----------
    rng : Generator
        `numpy.random.default_rng(seed)`.
    mean : array_like or Tensor
        Of shape (n,).
    cov : array_like or Tensor
        Of shape (n, n), positive semidefinite: that is not checked of a Tensor.
    size : int or tuple of int, optional
        How many draws; by default one, of shape (n,).
    method : {"svd", "eigh", "cholesky"}
        How a root of `cov` is computed. The derivative of the first two needs eigenvalues that differ, that of "cholesky" none.

    Returns
    -------
    ndarray or Tensor
        The numbers that the Generator gives for these parameters: mean + root z.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> rng, cov = np.random.default_rng(0), np.array([[2.0, 0.5], [0.5, 1.0]])
    >>> draw = lambda mean: dispatch.numpy.random.multivariate_normal(rng, mean, cov, 3, method="cholesky")
    >>> dispatch.grad(lambda mean: np.sum(draw(mean)))(np.zeros(2))
    array([3., 3.])
    """
    rng = generator(rng, "multivariate_normal")
    if first_wrapper((mean, cov)) is None and not (open_levels() or active_modes()):
        return rng.multivariate_normal(mean, cov, size, method=method)
    mean, cov = as_array(mean), as_array(cov)
    n = mean.shape[0] if mean.ndim == 1 else 1
    if mean.ndim != 1 or cov.shape != (n, n) or method not in ("svd", "eigh", "cholesky"):
        made: Any = method
        rng.multivariate_normal(np.zeros(mean.shape), np.zeros(cov.shape), method=made)  # raises NumPy's own error
    if method == "svd":
        u, s, _ = np.linalg.svd(cov)
        root = u * np.sqrt(s)
    elif method == "eigh":
        values, vectors = np.linalg.eigh(cov)
        root = vectors * np.sqrt(abs(values))
    else:
        root = np.linalg.cholesky(cov)
    shape = () if size is None else tuple(size) if isinstance(size, (tuple, list)) else (size,)
    z = draw(rng, "standard_normal", (), (*shape, n))
    return (mean + np.dot(z.reshape(-1, n), root.T)).reshape(*shape, n)


@clear
def gamma(rng: Any, shape: Any, scale: Any = 1.0, size: Any = None) -> Any:
    """Draw as `rng.gamma(shape, scale, size)` does, with a Tensor as the scale.

    Parameters
    ----------
    rng : Generator
        `numpy.random.default_rng(seed)`.
    shape : float or array_like
    scale : float, array_like or Tensor
    size : int or tuple of int, optional
        The shape of the draws; by default that of the parameters.

    Returns
    -------
    ndarray or Tensor
        The numbers that the Generator gives for these parameters: scale g.

    Raises
    ------
    UnsupportedError
        If `shape` is a Tensor: the draw is accepted or thrown away by it, and the derivative of the distribution function by
        it has no closed form.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> rng = np.random.default_rng(0)
    >>> dispatch.grad(lambda s: np.sum(dispatch.numpy.random.gamma(rng, 2.0, s, 3)) / s)(1.0).shape
    ()
    """
    rng = generator(rng, "gamma")
    if first_wrapper(shape) is not None:
        raise refusal("gamma", "shape")
    if first_wrapper(scale) is None and not (open_levels() or active_modes()):
        return rng.gamma(shape, scale, size)
    scale, shape = as_array(scale), np.asarray(shape, float)
    known = detach(scale) if isinstance(scale, Tensor) else scale
    if not isinstance(known, Tensor) and np.any(np.signbit(known)):
        rng.gamma(1.0, -1.0)  # raises NumPy's own error
    both = np.broadcast_shapes(scale.shape, shape.shape)
    wanted = both if size is None else tuple(size) if isinstance(size, (tuple, list)) else (size,)
    return scale * draw(rng, "standard_gamma", (shape,), wanted)


REJECTED = "the draw is accepted or thrown away by it, and the derivative of the distribution function by it has no closed form"
WHOLE = "the draw is a whole number, which has no derivative"
CHOSEN = "what is chosen is a place, which has no derivative; of the things themselves write x[rng.permutation(len(x))]"
REFUSED = {
    REJECTED: "beta chisquare dirichlet f noncentral_chisquare noncentral_f standard_gamma standard_t vonmises wald",
    WHOLE: "binomial geometric hypergeometric integers logseries multinomial multivariate_hypergeometric negative_binomial "
    "poisson zipf",
    CHOSEN: "choice permutation permuted shuffle",
}
REASONS = {name: reason for reason, names in REFUSED.items() for name in names.split()}


def refusal(name: str, parameter: str, reason: str = REJECTED) -> UnsupportedError:
    """Return the error for a draw that has no derivative by a parameter."""
    return UnsupportedError(
        f"dispatch.numpy.random.{name}: {parameter} is a Tensor, and {reason}. Write dispatch.detach(x) where a "
        "constant is meant."
    )


def refusing(name: str) -> Function:
    """Make a function that draws with plain parameters, and says why it does not with Tensors."""

    def function(rng: Any, /, *args: Any, **keywords: Any) -> Any:
        rng = generator(rng, name)
        if first_wrapper((args, keywords)) is not None:
            raise refusal(name, "a parameter", REASONS[name])
        return drawn_for_items(f"dispatch.numpy.random.{name}", partial(getattr(rng, name), *args, **keywords))

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"Draw as `rng.{name}(...)` does. Tensors are refused: {REASONS[name]}."
    return function


globals().update({name: refusing(name) for name in REASONS})
HERE = [
    "exponential", "gamma", "gumbel", "laplace", "logistic", "lognormal", "multivariate_normal", "normal", "pareto", "power",
    "rayleigh", "triangular", "uniform", "weibull", *REASONS,
]  # fmt: skip
LEGACY = set(dir(np.random.RandomState)) - {"RandomState"}
# What a Generator calls them.
RENAMED = {
    **dict.fromkeys(("rand", "ranf", "random_sample", "sample"), "random"), "randint": "integers", "randn": "standard_normal",
    "random_integers": "integers", "tomaxint": "integers",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in LEGACY and not name.startswith("_"):
        _refuse_legacy(name)
    found = getattr(np.random, name, None)
    if found is None:
        advice = did_you_mean(name, __dir__()) or " Write rng = np.random.default_rng(seed), and pass it: normal(rng, size=3)."
        raise not_there(__name__, name, advice)
    return found


def _refuse_legacy(name: str) -> NoReturn:
    method = name if hasattr(np.random.Generator, name) else RENAMED.get(name)
    draws = f", and rng.{method}(...)" if method else ", and draw from that"
    raise AttributeError(
        f"module {__name__!r} has no {name!r}: it would draw from a state of the whole process. Write "
        f"rng = np.random.default_rng(seed){draws}.",
        name=name,
    )


def __dir__() -> list[str]:
    return sorted({*HERE, *(name for name in dir(np.random) if name not in LEGACY)})
