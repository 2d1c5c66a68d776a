"""autograd.scipy: not offered. No function of SciPy has a derivative here until one gives it, which is a line for a ufunc."""

from typing import Any

from ...errors import UnsupportedError

PARTS = ("integrate", "linalg", "signal", "special", "stats")


def __getattr__(name: str) -> Any:
    if name in PARTS:
        raise UnsupportedError(
            f"autograd.scipy.{name} is not offered: SciPy's functions have no derivatives here. Give a ufunc its own, "
            "gammaln = dispatch.library.from_ufunc(scipy.special.gammaln, derivative=scipy.special.digamma), and any other "
            "function by primitive and defvjp."
        )
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name)
