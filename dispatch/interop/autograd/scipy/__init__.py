"""autograd.scipy: the functions of SciPy that autograd differentiates, and SciPy's own for the rest."""

from . import integrate, linalg, signal, special, stats

__all__ = ["integrate", "linalg", "signal", "special", "stats"]
