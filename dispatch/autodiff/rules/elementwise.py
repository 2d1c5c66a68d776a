"""The form `elementwise=`: partial derivatives of an operator that works element by element and broadcasts as ufuncs do.

A partial names what it reads, arguments or `out`, the result; a ufunc, which has no names, reads all arrays, or if it takes one
the argument itself. The derivative is a product with it, element by element: of a
tangent `t * partial`, of a gradient `g * conj(partial)`, which is torch's convention for complex values: the gradient of a real
function is the direction in which it grows fastest.
"""

from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Any

import numpy as np

from ...core import DispatchKey, OpOverload, active_modes
from ...core.array_memory import is_complex
from ...dispatcher.rule_parameters import parameter_names
from ...errors import DefinitionError, GradientError, how_many, kind_of
from ...layers.autograd import Pullback, Pullbacks, Rule
from ...layers.autograd.derivative_sources import Form, plugged
from ...layers.jvp import Pushforward, Pushforwards
from ...layers.opaque_rules import Opacity
from ...schema.tags import Tag
from ...schema.types import TENSOR, OptionalOf
from .argument_selection import array_names, by_argument, check_single, raising
from .opaque_partial import attempting, operator_of
from .partials import pullback_of, pushforward_of


def make(op: OpOverload, given: Any, rule: Rule | None) -> Form:
    """The form `elementwise=`."""
    check_single(op, "elementwise")
    chosen = by_argument(op, given, "elementwise=")
    functions = {name: by for name, by in chosen.items() if callable(by) and ufunc_of(by) is None}
    partials = {name: _of_ufunc(op, name, by) if ufunc_of(by) is not None else by for name, by in chosen.items()}
    opacity = Opacity()
    held: list[bool] = []  # of one item, once the kernel was seen to work element by element
    pulls: dict[str, Pullback] = {}
    pushes: dict[str, Pushforward] = {}
    for name in array_names(op):
        if name not in partials:
            refuse = raising(op, name, "elementwise=")
            pulls[name], pushes[name] = Pullback(("g",), refuse), Pushforward(("t",), refuse)
        elif (by := partials[name]) is not None:
            _check(op, name, by)
            if name in functions:
                by = attempting(op, name, functions, opacity)
            pulls[name], pushes[name] = _held(op, name, by, held)
    function = next((getattr(p, "__wrapped__", p) for p in partials.values() if callable(p)), None)
    called = (lambda: operator_of(op, functions, opacity)) if functions else None
    return Form(Pullbacks(pulls), Pushforwards(pushes), function, operator=called, opacity=opacity)


def ufunc_of(f: Any) -> np.ufunc | None:
    """The ufunc that a partial is, or that is in it, as in Numba's; None of anything else."""
    found = f if isinstance(f, np.ufunc) else getattr(f, "ufunc", None)
    return found if isinstance(found, np.ufunc) else None


def _of_ufunc(op: OpOverload, name: str, f: Any) -> Callable[..., Any]:
    """A partial that reads by name, and calls a ufunc as the operator that it is under every transform."""
    inner, names = ufunc_of(f), array_names(op)
    assert inner is not None
    reads = names if inner.nin == len(names) else [name] if inner.nin == 1 else None
    if reads is None or inner.nout != 1 or inner.signature:
        what = "generalised" if inner.signature else f"of {how_many(inner.nin, 'array')} and {how_many(inner.nout, 'result')}"
        raise DefinitionError(
            f"{op.name}: the partial derivative by {name!r} is the ufunc {f.__name__}, which is {what}. It is one of all "
            f"arrays ({', '.join(names)}), or of {name} alone, with one result; or a function that names what it reads.",
            operator=op.name,
            argument=name,
        )
    made: list[OpOverload] = []

    def partial(*read: Any) -> Any:
        if not made:
            made.append(plugged["ufunc"](f))
        return made[0](*read)

    kind = Parameter.POSITIONAL_OR_KEYWORD
    vars(partial).update(__signature__=Signature([Parameter(read, kind) for read in reads]), __wrapped__=f)
    return partial


def _check(op: OpOverload, name: str, partial: Any) -> None:
    if isinstance(partial, (int, float, complex)) and not isinstance(partial, bool):  # True is no derivative of 1
        return
    if not callable(partial) or isinstance(partial, type):
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


def _held(op: OpOverload, name: str, given: Any, held: list[bool]) -> tuple[Pullback, Pushforward]:
    """The two directions of a partial, which raise where it is complex and both the argument and the result are real."""
    pull, push = pullback_of(given), pushforward_of(given)
    if isinstance(given, (int, float)):

        def pulled_number(g: Any) -> Any:
            if not held:
                _hold(op, held)
            return pull.function(g)

        def pushed_number(t: Any) -> Any:
            if not held:
                _hold(op, held)
            return push.function(t)

        return Pullback(("g",), pulled_number), Pushforward(("t",), pushed_number)

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
        if not held:
            _hold(op, held)
        found = pull.function(g, *read)
        if len(found.shape) != len(g.shape) or not all([n == m for n, m in zip(found.shape, g.shape, strict=True)]):
            raise GradientError(
                f"{op.name}: elementwise= is for a result that has the shape of its arguments together, and the derivative by "
                f"{name!r} has shape {found.shape} where the result has {g.shape}. Write register_autograd(backward).",
                operator=op.name,
                argument=name,
            )
        return refused(found, is_complex(g), dtype.kind == "c")

    def pushed(t: Any, out: Any, *read: Any) -> Any:
        if not held:
            _hold(op, held)
        return refused(push.function(t, *read), is_complex(t), is_complex(out))

    reads = pull.reads[1:]
    return Pullback(("g", f"{name}_dtype", *reads), pulled), Pushforward(("t", "out", *reads), pushed)


def _hold(op: OpOverload, held: list[bool]) -> None:
    """Raise where the second of four elements of a kernel's result changes with the elements beside it.

    Where the kernel does not take four numbers, or draws them, nothing is said. While a mode is on, of fakes or of a trace, no
    kernel runs: a later derivative asks.
    """
    if active_modes():
        return
    if depends_on_neighbours(op):
        raise GradientError(
            f"{op.name}: elementwise= says that an element of the result depends on the elements at its place alone, and "
            "its kernel gives another one where those beside it change. Register its backward: "
            "register_autograd(backward).",
            operator=op.name,
        )
    held.append(True)


def depends_on_neighbours(op: OpOverload) -> bool:
    """Whether the second of four elements of a kernel's result changes with the elements beside it.

    False of a kernel that does not take four numbers, or draws them.
    """
    if Tag.random in op.tags:
        return False
    try:
        with np.errstate(all="ignore"):
            one, other = (_second(op, np.array(values)) for values in ((0.5, 1.0, 1.5, 2.0), (1.75, 1.0, 2.5, 3.5)))
    except Exception:  # it refuses them
        return False
    return not np.allclose(one, other, rtol=1e-6, atol=0.0, equal_nan=True)


def _second(op: OpOverload, values: np.ndarray[Any, Any]) -> Any:
    """The second of the elements that a kernel makes of values, which all its arrays have."""
    whole = []
    for a in op.schema.arguments:
        array = a.type in (TENSOR, OptionalOf(TENSOR))
        if not array and not a.has_default:
            raise LookupError(a.name)
        whole.append(values.astype(a.dtype or float) if array else a.default)
    count = op.arguments.positional
    named = dict(zip(op.arguments.keyword_names, whole[count:], strict=True))
    return np.asarray(op.at(DispatchKey.CPU)(*whole[:count], **named)).reshape(values.shape)[1]
