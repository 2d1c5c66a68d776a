"""What graphs are told of operators: how a call is printed, what programs call in its place, that it cannot raise.

It imports nothing of what makes, reads or runs a graph, so that the rows, which tell it, load without that.
"""

from collections.abc import Callable, Iterable
from typing import Any

from ..core import DispatchKey, OpOverload

CANNOT_RAISE: set[OpOverload] = set()  # beside ufuncs: of arrays laid out as in the trace, where one array is given to a view

Spelling = Callable[[Any, Any], str | None]  # of a `codegen.Code` and a `Node`
SPELLINGS: dict[str, Spelling] = {}

Rule = Callable[..., Any]  # gives a `plain_calls.PlainCall`, or None
PLAIN_RULES: dict[str, tuple[Any, Callable[[str], Rule]]] = {}  # the kernel that a rule stands for, and what gives the rule


def register_spelling(name: str, spelling: Spelling) -> None:
    """Choose how calls of an operator are printed.

    Parameters
    ----------
    name : str
        The name of the operator.
    spelling : callable
        `spelling(code, node)` returns the text, or None for the usual call. Text that begins with "=" is assigned to the name
        of the node; other text is a statement. `code.spell(x)` is the expression of an argument.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> @dispatch.custom_op("doc_spelling::twice", mutates_args=())
    ... def twice(x: np.ndarray) -> np.ndarray:
    ...     return 2 * x
    >>> register_spelling("doc_spelling::twice", lambda code, node: f"= 2 * {code.spell(node.args[0])}")
    >>> print(dispatch.make_fx(twice)(np.ones(3)))
    def f(x):
        # ...
        twice = 2 * x  # float64[3]
        return twice
    """
    SPELLINGS[name] = spelling


def register_plain_call(op: OpOverload, rule: Rule) -> None:
    """Say what programs may call in place of an operator, as long as the operator has the kernel that it has now.

    Parameters
    ----------
    op : OpOverload
        It writes to none of its arguments.
    rule : callable
        `rule(out, *args)` gets the value of the node and its arguments in schema order, with nodes for values; a number may be
        in place of an array. It returns a `PlainCall`, or None where there is none. The call must give, of plain arrays and of
        NumPy's numbers, what the kernel gives: to the bit, with the same strides, views and warnings. Where it raises, the
        operator is called.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> from dispatch.graph.plain_calls import PlainCall, plain_call
    >>> @dispatch.custom_op("doc_plain::twice", mutates_args=())
    ... def twice(x: np.ndarray) -> np.ndarray:
    ...     return np.multiply(x, 2)
    >>> register_plain_call(twice, lambda out, x: PlainCall(np.multiply, (x, 2)))
    >>> plain_call(dispatch.make_fx(twice)(np.ones(3)).nodes[-1])[1:]
    (<ufunc 'multiply'>, (x, 2), ())
    """
    register_plain_calls((op,), lambda name: rule)


def register_plain_calls(ops: Iterable[OpOverload], rule_of: Callable[[str], Rule]) -> None:
    """Register rules of several operators, as `register_plain_call` does one, that are asked for when a program needs them.

    Parameters
    ----------
    ops : iterable of OpOverload
    rule_of : callable
        `rule_of(name)` returns the rule of the operator with that name in its namespace; it may import what has the rules.
    """
    PLAIN_RULES.update((op.name, (kernel_of(op), rule_of)) for op in ops)


def kernel_of(op: OpOverload) -> Any:
    """Return what was registered to compute with NumPy's arrays; None for nothing."""
    found = op.table.source(int(DispatchKey.CPU))
    return None if found is None else found.rule
