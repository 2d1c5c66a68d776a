"""Partial derivatives of an operator that works element by element and broadcasts as NumPy's ufuncs do.

A partial names what it reads, arguments or `out`, the result. The derivative is a product with it, element by element: of a
tangent `t * partial`, of a gradient `g * conj(partial)`, which is torch's convention for complex values: the gradient of a real
function is the direction in which it grows fastest.
"""

from collections.abc import Callable
from typing import Any

from ..core import OpOverload
from ..errors import DefinitionError, kind_of
from ..forward import Pushforward, Pushforwards
from ..layer import parameter_names
from ..operators import ops
from ..tape import Pullback, Pullbacks, Rule
from ..tape.sources import Form
from .arguments import array_names, by_argument, check_single, raising

Partial = Callable[..., Any] | complex


def pullback_of(partial: Partial) -> Pullback:
    """`g * conj(partial)`, which reads what the partial reads: torch's convention for complex values."""
    if not callable(partial):
        return Pullback(("g",), (lambda g: g) if partial == 1 else (lambda g: times(g, partial)))
    if parameter_names(partial) == ("out",):  # the commonest two forms spare the tuple
        return Pullback(("g", "out"), lambda g, out: times(g, partial(out)))
    return Pullback(("g", *(parameter_names(partial) or ())), lambda g, *read: times(g, partial(*read)))


def pushforward_of(partial: Partial) -> Pushforward:
    """`t * partial`."""
    if not callable(partial):
        return Pushforward(("t",), (lambda t: t) if partial == 1 else (lambda t: ops.np.multiply(t, partial)))
    return Pushforward(
        ("t", *(parameter_names(partial) or ())), lambda t, *read: ops.np.multiply(t, partial(*read))
    )


def times(g: Any, partial: Any) -> Any:
    """The pullback of a multiplication: `g * conj(partial)`."""
    return ops.np.multiply(g, conjugated(partial))


def conjugated(x: Any) -> Any:
    """The conjugate of a complex value; a real one as it is, which spares a copy."""
    if hasattr(x, "dtype"):
        return ops.np.conjugate(x) if x.dtype.kind == "c" else x
    return x.conjugate() if isinstance(x, complex) else x


def make(op: OpOverload, given: Any, rule: Rule | None) -> Form:
    """The form `elementwise=`."""
    check_single(op, "elementwise")
    partials = by_argument(op, given, "elementwise=")
    pulls: dict[str, Pullback] = {}
    pushes: dict[str, Pushforward] = {}
    for name in array_names(op):
        if name not in partials:
            refuse = raising(op, name, "elementwise=")
            pulls[name], pushes[name] = Pullback(("g",), refuse), Pushforward(("t",), refuse)
        elif (partial := partials[name]) is not None:
            _check(op, name, partial)
            pulls[name], pushes[name] = pullback_of(partial), pushforward_of(partial)
    function = next((p for p in partials.values() if callable(p)), None)
    return Form(Pullbacks(pulls), Pushforwards(pushes), function)


def _check(op: OpOverload, name: str, partial: Any) -> None:
    if isinstance(partial, (int, float, complex)):
        return
    if not callable(partial):
        raise DefinitionError(
            f"{op.name}: the partial derivative by {name!r} is a function or a number, and {kind_of(partial)} was given.",
            operator=op.name,
            argument=name,
        )
    reads, known = parameter_names(partial), (*op.arguments.names, "out")
    for read in ("*args",) if reads is None else reads:
        if read not in known:
            raise DefinitionError(
                f"{op.name}: the partial derivative by {name!r} reads {read!r}. It names what it reads: {', '.join(known)}.",
                operator=op.name,
                argument=name,
            )
