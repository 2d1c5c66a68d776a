"""Says which function of NumPy's gives what an operator gives where all is plain arrays, for programs to call in its place.

A program is run for many values of one layout, so what a kernel asks of its arguments is known when the program is made:
`np::transpose` becomes `x.transpose()`, `np::moveaxis` the transposition with the axes that it comes to. A ufunc stands for
the operator whose kernel it is; for other kernels their authors say it, by `operator_facts.register_plain_call`.
"""

import operator
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ..core import OpOverload
from .metadata import Metadata
from .node import Node
from .operator_facts import PLAIN_RULES, Rule, kernel_of

# What Python calls for numbers of NumPy's, in a fifth of the time of the ufunc, to the same bits; and of integers that overflow
# NumPy warns here alone, or raises.
INFIX: dict[Any, Callable[..., Any]] = {
    np.add: operator.add, np.subtract: operator.sub, np.multiply: operator.mul, np.divide: operator.truediv,
    np.negative: operator.neg, np.less: operator.lt, np.less_equal: operator.le, np.greater: operator.gt,
    np.greater_equal: operator.ge, np.absolute: operator.abs,
}  # fmt: skip
NUMBERS = frozenset((float, int, bool, np.float32, np.float64))
FLOATS = frozenset((np.dtype(np.float32), np.dtype(np.float64)))
INTEGERS = frozenset(map(np.dtype, "?bBhHiIlLqQ"))  # a bool beside an integer counts as one
WHOLE = frozenset((int, bool, *[dtype.type for dtype in INTEGERS]))


class PlainCall(NamedTuple):
    """A function, its arguments with nodes for values, and the names of the last ones, which are given by keyword.

    Examples
    --------
    >>> PlainCall(np.cumsum, ("x", 0), ("axis",)).names
    ('axis',)
    """

    function: Callable[..., Any]
    args: tuple[Any, ...]
    names: tuple[str, ...] = ()


class PlainCalls:
    """Finds the plain calls of one graph; what the operators have is looked up once."""

    def __init__(self) -> None:
        self._found: dict[OpOverload, tuple[Any, Rule | None, bool]] = {}

    def of(self, node: Node) -> tuple[Any, Callable[..., Any], tuple[Any, ...], tuple[str, ...]] | None:
        """Return the kernel of a call's operator, and what stands for it: function, arguments, names of the last; or None."""
        op = node.op
        assert op is not None
        found = self._found.get(op)
        if found is None:
            found = self._found[op] = _rule(op)
        kernel, rule, itself = found
        if itself:
            return kernel, INFIX[kernel] if kernel in INFIX and _is_of_numbers(node) else kernel, node.args, ()
        made = None if rule is None else rule(node.value, *node.args)
        return None if made is None else (kernel, *made)


def _is_of_numbers(node: Node) -> bool:
    """Whether a call is of integers, or of floats of which one is NumPy's: an input may be Python's."""
    values = [x.value for x in node.args if type(x) is Node]
    if not all(type(x) is Metadata and not x.shape and x.device == "cpu" for x in values):
        return False
    given = {type(x) for x in node.args if type(x) is not Node}
    if all(x.dtype in INTEGERS for x in values):
        return given <= WHOLE
    if not (given <= NUMBERS and all(x.dtype in FLOATS for x in values)):
        return False
    return any(x.kind != "placeholder" for x in node.args if type(x) is Node)


def plain_call(node: Node) -> tuple[Any, Callable[..., Any], tuple[Any, ...], tuple[str, ...]] | None:
    """Return what `PlainCalls` finds for one node."""
    return PlainCalls().of(node)


def _rule(op: OpOverload) -> tuple[Any, Rule | None, bool]:
    """Return the kernel of an operator, the rule that counts while it has that, and whether the kernel is called itself."""
    kernel = kernel_of(op)
    if op.schema.has_residual:
        return kernel, None, False
    if op.name in PLAIN_RULES:
        known, rule_of = PLAIN_RULES[op.name]
        return kernel, rule_of(op.schema.name) if kernel is known else None, False
    own = type(kernel) is np.ufunc and kernel.nin == len(op.schema.arguments) and kernel.nout == 1 and not op.schema.is_mutable
    return kernel, None, own
