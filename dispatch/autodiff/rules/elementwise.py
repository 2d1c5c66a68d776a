"""The form `elementwise=`: partial derivatives of an operator that works element by element and broadcasts as ufuncs do.

A partial names what it reads, arguments or `out`, the result. The derivative is a product with it, element by element: of a
tangent `t * partial`, of a gradient `g * conj(partial)`, which is torch's convention for complex values: the gradient of a real
function is the direction in which it grows fastest.
"""

from typing import Any

from ...core import OpOverload
from ...core.array_memory import is_complex
from ...dispatcher.rule_parameters import parameter_names
from ...errors import DefinitionError, GradientError, kind_of
from ...layers.autograd import Pullback, Pullbacks, Rule
from ...layers.autograd.derivative_sources import Form
from ...layers.jvp import Pushforward, Pushforwards
from .argument_selection import array_names, by_argument, check_single, raising
from .partials import pullback_of, pushforward_of


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
            pulls[name], pushes[name] = _held(op, name, partial)
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


def _held(op: OpOverload, name: str, partial: Any) -> tuple[Pullback, Pushforward]:
    """The two directions of a partial, which raise where it is complex and both the argument and the result are real."""
    pull, push = pullback_of(partial), pushforward_of(partial)
    if isinstance(partial, (int, float)):
        return pull, push

    def refused(found: Any, *real: Any) -> Any:
        if is_complex(found) and not any(real):
            raise GradientError(
                f"{op.name}: its partial derivative by {name!r} is complex, and the argument and the result are real. The "
                "imaginary part would be lost in silence: write .real where it has no meaning.",
                operator=op.name,
                argument=name,
            )
        return found

    def pulled(g: Any, dtype: Any, *read: Any) -> Any:
        found = pull.function(g, *read)
        return refused(found, is_complex(g), dtype.kind == "c")

    def pushed(t: Any, out: Any, *read: Any) -> Any:
        return refused(push.function(t, *read), is_complex(t), is_complex(out))

    reads = pull.reads[1:]
    return Pullback(("g", f"{name}_dtype", *reads), pulled), Pushforward(("t", "out", *reads), pushed)
