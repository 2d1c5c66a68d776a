"""Forward mode: values that carry a tangent along, the derivative in one direction.

A rule says what an operator does to tangents: `rule(tangents, output, *args)` gives the tangent of the output. It runs one
floor down, where values and tangents are ordinary, so that a rule written with operators is differentiated and batched like
any other function.

    tensor    DualTensor
    tangents  made where there is none, fitted to what a rule gave them for
    pushforwards, user_rules   how a row's pushforwards and a user's function become kernels
    inplace   operators that write
    layer     which of them an operator gets
"""

from .layer import layer
from .pushforwards import Pushforward, Pushforwards, pushforwards
from .tangents import tangent_of, with_tangents
from .tensor import DualTensor
from .user_rules import rule_of

__all__ = [
    "DualTensor",
    "Pushforward",
    "Pushforwards",
    "layer",
    "pushforwards",
    "rule_of",
    "tangent_of",
    "with_tangents",
]
