"""Makes pullbacks and pushforwards of partial derivatives, for functions that work element by element.

The parameters of a partial name what it reads: arguments, or `out` for the result.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from ...core.array_memory import is_complex
from ...dispatcher.rule_parameters import parameter_names
from ...layers.autograd import Pullback
from ...layers.jvp import Pushforward
from ...operators.prims import multiply
from ...operators.registry import ops

Rule = Callable[..., Any]


class Both(NamedTuple):
    """The derivative in an argument of a function that is not holomorphic: what it does to a gradient and to a tangent."""

    pullback: Pullback
    pushforward: Pushforward


Partial = Rule | complex | Both | Pullback | None


def pullback_of(partial: Rule | complex | Both | Pullback) -> Pullback:
    """Return the pullback `g * conj(partial)`, torch's convention for complex values. It reads what the partial reads."""
    if isinstance(partial, Pullback):
        return partial
    if isinstance(partial, Both):
        return partial.pullback
    if isinstance(partial, (int, float, complex)):
        return Pullback(("g",), (lambda g: g) if partial == 1 else (lambda g: times(g, partial)))
    reads = parameter_names(partial) or ()

    def pull(g: Any, *read: Any) -> Any:
        return multiply(g, conjugated(partial(*read)))

    def pull_one(g: Any, read: Any) -> Any:  # the commonest, and on the way of every step of a backward: no tuple, no call
        found = partial(read)
        return multiply(g, conjugated(found) if is_complex(found) else found)

    return Pullback(("g", *reads), pull_one if len(reads) == 1 else pull)


def pushforward_of(partial: Rule | complex | Both) -> Pushforward:
    """Return the pushforward `t * partial`. It reads what the partial reads."""
    if isinstance(partial, Both):
        return partial.pushforward
    if isinstance(partial, (int, float, complex)):
        return Pushforward(("t",), (lambda t: t) if partial == 1 else (lambda t: multiply(t, partial)))
    reads = parameter_names(partial) or ()
    if len(reads) == 1:  # the commonest form spares the tuple
        return Pushforward(("t", *reads), lambda t, read: multiply(t, partial(read)))
    return Pushforward(("t", *reads), lambda t, *read: multiply(t, partial(*read)))


def times(g: Any, partial: Any) -> Any:
    """Return the pullback of a multiplication: `g * conj(partial)`."""
    return multiply(g, conjugated(partial))


def conjugated(x: Any) -> Any:
    """Return the conjugate of a complex value; a real one as it is, without a copy."""
    if not is_complex(x):
        return x
    return ops.np.conjugate(x) if hasattr(x, "dtype") else x.conjugate()
