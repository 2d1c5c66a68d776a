"""The operators as which rules of users are called, where these hand what they get to code that takes arrays alone.

    ns::solve                    ns::solve.backward_rule    solve.backward_rule
    ns::solve.two                ns::solve.two_backward_rule    solve.two.backward_rule

Such an operator is made for one rule. It goes by the operator that the rule is about: nothing is registered by its name, and
the attribute `solve.backward_rule`, a graph and a pickle find it there. Which words there are the layers say, in `makers`.
"""

from collections.abc import Callable
from typing import Any

from ..core import DispatchKey, OpOverload, Registration
from ..dispatcher.layer import find_layer
from ..dispatcher.own_rules import OWN_RULES
from ..schema.schema import Schema
from ..schema.types import split_name
from .namespaces import known
from .registry import build

_PACKAGE = __name__.partition(".")[0]
_ABOUT = "__rule_of__"  # an attribute; no overload can have such a name
FUNCTIONAL = "functional"

# By its word what finds the operator of a rule: maker(op), None where the operator has no such rule.
makers: dict[str, Callable[[OpOverload], OpOverload | None]] = {}


def make(op: OpOverload, word: str, schema: str, kernel: Callable[..., Any], fake: Callable[..., Any], doc: str) -> OpOverload:
    """Make the operator of a rule about `op`; `schema` has its arguments and returns alone."""
    own = op.schema.overload
    parsed = Schema.parse(schema, f"{op.schema.namespace}::{op.schema.name}.{own + '_' * bool(own)}{word}")
    made = build(parsed)
    made.register_at(DispatchKey.CompositeExplicit, kernel)
    made.register(find_layer("fake"), fake)
    vars(made).update({"__name__": word, "__qualname__": f"{op.schema.name}.{word}", "__doc__": doc, _ABOUT: op})
    return made


def about(op: OpOverload) -> OpOverload | None:
    """The operator whose rule `op` is, or None."""
    found: OpOverload | None = vars(op).get(_ABOUT)
    return found


def missing(op: OpOverload, what: str, otherwise: str) -> str:
    """The advice where a derivative was asked of an operator that has none: what to register, on which name.

    `what` is the call that gives an operator its derivative, `otherwise` the advice for an operator that is no rule's.
    """
    of = about(op)
    if of is None:
        return f"Add one: {op.schema.name}.{what}; {otherwise}"
    return (
        f"It is a rule of {of.name}, called as one operator since it hands its values to code that takes arrays alone. Give "
        f"that a derivative: {spelled(op)}.register_autograd(backward, setup_context=...); or write the rule with NumPy's "
        "functions and operators."
    )


def spelled(op: OpOverload) -> str:
    """The operator as its users write it: `solve`, `solve.two`, `solve.backward_rule`."""
    of = about(op)
    if of is not None:
        return f"{spelled(of)}.{op.__name__}"
    name: str = op.schema.name
    return name + (f".{op.schema.overload}" if op.schema.overload else "")


def rule_operator(op: OpOverload, word: str) -> OpOverload | None:
    """`op.backward_rule` and its kin; None where there is no such word, or no such rule."""
    maker = makers.get(word)
    return None if maker is None else maker(op)


def known_or_made(name: str) -> OpOverload | None:
    """The operator of a full name, also one that goes by another: a functional form, or the operator of a rule."""
    op = known(name)
    if op is not None:
        return op
    namespace, word, overload = split_name(name)
    for form in (FUNCTIONAL, *makers):
        if overload != form and not overload.endswith(f"_{form}"):
            continue
        own = overload.removesuffix(form).removesuffix("_")
        origin = known(f"{namespace}::{word}{'.' * bool(own)}{own}")
        if origin is None:
            continue
        made = rule_operator(origin, form) if form != FUNCTIONAL else origin.functional if origin.schema.is_mutable else None
        if made is not None and made.name == name:
            return made
    return None


def origin_of_name(op: OpOverload) -> tuple[OpOverload, str] | None:
    """The operator by which one goes that is not known by its own name, and the attribute of that under which it is found."""
    overload = op.schema.overload
    for form in (FUNCTIONAL, *makers):
        if overload == form or overload.endswith(f"_{form}"):
            own = overload.removesuffix(form).removesuffix("_")
            origin = known(f"{op.schema.namespace}::{op.schema.name}{'.' * bool(own)}{own}")
            if origin is not None and known_or_made(op.name) is op:
                return origin, form
    return None


def owner_of(op: OpOverload) -> OpOverload:
    """The operator by whose name one goes, of a rule or of a functional form; else itself."""
    if "defined_in" in vars(op):
        return op
    named, found = known(op.name), origin_of_name(op)
    return op if named is op else named if named is not None else op if found is None else owner_of(found[0])


def is_kernel(registration: Registration) -> bool:
    """Whether a registration is what computes a result of plain arrays, and no rule."""
    return registration.key < DispatchKey.FAKE or registration.key == DispatchKey.CompositeExplicit


def runs_as_ours(op: OpOverload) -> bool:
    """Whether an operator and all its kernels are this package's."""
    own = vars(op).get(OWN_RULES, ())
    return is_ours(op) and all([registration in own for registration in op.table.all() if is_kernel(registration)])


def is_ours(op: OpOverload) -> bool:
    """Whether this package defines an operator."""
    defined = vars(owner_of(op)).get("defined_in")
    return defined is not None and defined.module.partition(".")[0] == _PACKAGE
