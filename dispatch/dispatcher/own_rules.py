"""What came with the operators of this package, which no rule takes the place of by the way.

A name such as "np::sin" is easily written for an operator of one's own, and a rule registered there would change what NumPy's
function gives in the whole program, in silence. A library says that this is meant, and takes the rule away again.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from ..core import DispatchKey, OpOverload
from ..errors import DefinitionError
from .layer import keys_of, layers

OWN_RULES = "own_rules"  # where an operator of this package has the registrations that came with it


def check_not_own(op: OpOverload, keys: Iterable[DispatchKey], written: str) -> None:
    """Raise where a rule, `written` so with a library, would take the place of one that came with this package.

    With a library it may: there it is said, and goes with the library; without, the whole program would lose the other.
    """
    own = {registration.key for registration in vars(op).get(OWN_RULES, ())}
    if not own.isdisjoint(keys):
        ns, name = op.schema.namespace, op.schema.name
        raise DefinitionError(
            f"{op.name} is this package's own, and what stands in place of a rule of it would hold in the whole program. Make "
            f"an operator of your own, custom_op('mylib::{name}', ...); or replace it for a while: "
            f"with dispatch.library.Library({ns!r}, 'IMPL') as lib: {written}.",
            operator=op.name,
        )


def check_verb(op: OpOverload, name: str, given: Sequence[Any]) -> None:
    """`check_not_own` of what `op.register_<name>(*given)` registers."""
    if OWN_RULES in vars(op) and name in layers:
        keys = keys_of(given[0] if given else None) if name == "kernel" else layers[name].keys()
        check_not_own(op, keys, f"dispatch.register_{name}({op.name!r}, ..., lib=lib)")
