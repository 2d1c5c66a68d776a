"""Forward mode: computes with values that carry a tangent, the derivative in one direction.

A rule says what an operator does to tangents: `rule(tangents, output, *args)` returns the tangent of the output. It gets the
plain values and tangents, so that a rule written with operators is differentiated and batched like any other function.

    tensor        DualTensor
    tangents      tangents as rules get them and give them
    pushforwards  the kernel of a row, from a pushforward for each argument
    user_rules    the kernel of an operator, from a user's function
    inplace       the kernels of operators that write
    layer         chooses the kernel of an operator
"""

from typing import TYPE_CHECKING

from ...core.lazy import names_of
from .pushforward_rules import Pushforward, Pushforwards, pushforwards
from .tangents import tangent_of, with_tangents
from .tensor import DualTensor

if TYPE_CHECKING:
    from .user_rules import number_taken, rule_of
else:
    __getattr__, __dir__ = names_of(globals(), {".user_rules": "number_taken rule_of"})

__all__ = [
    "DualTensor",
    "Pushforward",
    "Pushforwards",
    "number_taken",
    "pushforwards",
    "rule_of",
    "tangent_of",
    "with_tangents",
]
