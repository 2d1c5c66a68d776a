"""Partial derivatives of functions that work element by element: what each does to a gradient and to a tangent.

A partial names what it reads, arguments or `out`, the result.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from ..forward import Pushforward
from ..layer import parameter_names
from ..operators import ops
from ..tape import Pullback

Rule = Callable[..., Any]


class Both(NamedTuple):
    """The derivative in an argument of a function that is not holomorphic: what it does to a gradient and to a tangent."""

    pullback: Pullback
    pushforward: Pushforward


Partial = Rule | complex | Both | Pullback | None


def pullback_of(partial: Rule | complex | Both | Pullback) -> Pullback:
    """`g * conj(partial)`, which reads what the partial reads: torch's convention for complex values."""
    if isinstance(partial, Pullback):
        return partial
    if isinstance(partial, Both):
        return partial.pullback
    if isinstance(partial, (int, float, complex)):
        return Pullback(("g",), (lambda g: g) if partial == 1 else (lambda g: times(g, partial)))
    if parameter_names(partial) == ("out",):  # the commonest two forms spare the tuple
        return Pullback(("g", "out"), lambda g, out: times(g, partial(out)))
    return Pullback(("g", *(parameter_names(partial) or ())), lambda g, *read: times(g, partial(*read)))


def pushforward_of(partial: Rule | complex | Both) -> Pushforward:
    """`t * partial`, which reads what the partial reads."""
    if isinstance(partial, Both):
        return partial.pushforward
    if isinstance(partial, (int, float, complex)):
        return Pushforward(("t",), (lambda t: t) if partial == 1 else (lambda t: ops.np.multiply(t, partial)))
    reads = parameter_names(partial) or ()
    if len(reads) == 1:  # the commonest form spares the tuple
        return Pushforward(("t", *reads), lambda t, read: ops.np.multiply(t, partial(read)))
    return Pushforward(("t", *reads), lambda t, *read: ops.np.multiply(t, partial(*read)))


def times(g: Any, partial: Any) -> Any:
    """The pullback of a multiplication: `g * conj(partial)`."""
    return ops.np.multiply(g, conjugated(partial))


def conjugated(x: Any) -> Any:
    """The conjugate of a complex value; a real one as it is, which spares a copy."""
    if hasattr(x, "dtype"):
        return ops.np.conjugate(x) if x.dtype.kind == "c" else x
    return x.conjugate() if isinstance(x, complex) else x
