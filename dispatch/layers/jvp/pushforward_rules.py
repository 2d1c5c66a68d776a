"""Makes the kernel of a row: one pushforward for each argument, and the sum of what they return."""

from collections.abc import Callable
from typing import Any, NamedTuple

from ...core import OpOverload, descend
from ...core.array_memory import constant, inexact_layout
from ...dispatcher.layer import Kernel
from ...dispatcher.rule_parameters import parameter_names
from ...errors import DefinitionError
from .tangents import added, dual, tangent_of


class Pushforward(NamedTuple):
    """A function that computes the tangent of the result from that of one argument, and the names of what it reads."""

    reads: tuple[str, ...]
    function: Callable[..., Any]


class Pushforwards(NamedTuple):
    """The rule of a row: a pushforward for each argument that has a derivative."""

    by_argument: dict[str, Pushforward]


def pushforwards(**by_argument: Callable[..., Any]) -> Pushforwards:
    """Write a row's forward derivative: `pushforwards(x=lambda t, y: multiply(t, y), y=lambda t, x: multiply(t, x))`.

    A pushforward names what it reads: `t` (the tangent of its argument), `out` (the result), an argument, or for a list its
    `_needed`: which items have a tangent. Of several outputs it gives a tuple.
    """
    made = {}
    for name, function in by_argument.items():
        reads = parameter_names(function)
        if reads is None:
            raise DefinitionError("a pushforward names what it reads; *args and **kwargs name nothing.")
        made[name] = Pushforward(reads, function)
    return Pushforwards(made)


def row_kernel(op: OpOverload, rule: Pushforwards) -> Kernel:
    """The kernel of an operator of the tables that has one output."""
    whole = op.whole
    plans: dict[int, Callable[..., Any]] = {}

    def kernel(*args: Any) -> Any:
        out, like, values, data, own, _ = descend(whole, args)
        layout = inexact_layout(out)
        if layout is None:
            return constant(op, out)
        push = plans.get(own) or plans.setdefault(own, _plan_for(op, rule, own))
        t = push(values, data, out)
        if t is None:
            return out
        return dual(op, like, out, t, layout)

    return kernel


def _plan_for(op: OpOverload, rule: Pushforwards, own: int) -> Callable[..., Any]:
    """What gives the tangent for one set of arguments that have one, bit i of `own` for argument i.

    It is written out, as the rows of the tape are: generic unpacking would cost as much as the rule.
    """
    names = op.arguments.names
    scope: dict[str, Any] = {"__name__": __name__, "added": added, "tangent_of": tangent_of}
    terms = []
    for i, name in enumerate(names):
        push = rule.by_argument.get(name)
        if push is None or not own >> i & 1:
            continue
        listed = bool(op.schema.arguments[i].type.parts)
        scope[f"f{i}"] = push.function
        sources = {"t": f"tangent_of(values[{i}], data[{i}])" if listed else f"data[{i}]", "out": "out"}
        sources[f"{name}_needed"] = f"[t is not None for t in data[{i}]]"
        read = [sources.get(r) or f"values[{names.index(r)}]" for r in push.reads]
        terms.append(f"f{i}({', '.join(read)})")
    source = terms[0] if terms else "None"
    for term in terms[1:]:
        source = f"added({source}, {term})"
    exec(f"def push(values, data, out): return {source}", scope)
    made: Callable[..., Any] = scope["push"]
    return made


def check_reads(op: OpOverload, rule: Pushforwards) -> None:
    """Refuse pushforwards for, or of, what the operator does not have."""
    names = op.arguments.names
    for name, push in rule.by_argument.items():
        for read in (name, *push.reads):
            if read not in names and not (read in ("t", "out", f"{name}_needed") and read is not name):
                raise DefinitionError(
                    f"{op.name}: a pushforward is for, or reads, {read!r}. It may read t, out, or an argument "
                    f"({', '.join(names)}).",
                    operator=op.name,
                )
