"""Reads sizes and conditions from text: arithmetic of symbols and whole numbers, and nothing else."""

import ast
from collections.abc import Mapping
from functools import reduce
from typing import Any

from ..errors import GraphError, did_you_mean
from .size_queries import larger, smaller
from .sym_bool import SymBool
from .sym_int import NUMBERS

OPERATORS: dict[type, str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**",
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
}  # fmt: skip
EXTREMES = {"max": larger, "min": smaller}
LONGEST = 4096  # characters; more is no size of an array
MOST = 64  # the largest power
LARGEST = 4096  # bits of a number, and terms of a product that is multiplied out: no size has so many, and more takes hours


def parse(text: str, symbols: Mapping[str, Any]) -> Any:
    """Return the size or the condition that a text describes, as `str` writes it.

    It never runs code from the text. It knows `+ - * // % **`, `max`, `min`, comparisons, `and`, `or` and `not`.

    Parameters
    ----------
    text : str
    symbols : mapping of str to int or SymInt
        The values of the symbols.

    Returns
    -------
    int, SymInt, bool or SymBool

    Raises
    ------
    GraphError
        If the text is anything else, or has a symbol that is not among `symbols`.

    Examples
    --------
    >>> parse("(s0 + 1) * 2", {"s0": 4}), parse("s0 > 5", {"s0": 4})
    (10, False)
    """
    try:
        if len(text) > LONGEST:
            raise ValueError
        tree = ast.parse(text.strip(), mode="eval").body
        _extent(tree)
        return _value(tree, text, symbols)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        if isinstance(error, GraphError):
            raise
        raise GraphError(f"a size is arithmetic of symbols and whole numbers, and {text[:80]!r} is none.") from None
    except ZeroDivisionError:
        raise GraphError(f"the size {text[:80]!r} divides by 0.") from None


def _extent(node: ast.AST) -> tuple[int, int]:
    """Return how many terms and how many bits the value of a text may have at most; raise if it is more than a size has."""
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return 1, max(node.value.bit_length(), 1)
    parts = [_extent(part) for part in ast.iter_child_nodes(node)]
    if not isinstance(node, ast.BinOp):
        return max([1, *[terms for terms, _ in parts]]), max([64, *[bits for _, bits in parts]])
    (terms, bits), _, (more, wider) = parts
    if isinstance(node.op, ast.Pow):
        power = node.right.value if isinstance(node.right, ast.Constant) and type(node.right.value) is int else MOST
        terms, bits = terms ** min(power, MOST), bits * min(power, MOST)
    elif isinstance(node.op, ast.Mult):
        terms, bits = terms * more, bits + wider
    else:
        terms, bits = terms + more, max(bits, wider) + 1
    if max(terms, bits) > LARGEST:
        raise ValueError
    return terms, bits


def _value(node: ast.expr, text: str, symbols: Mapping[str, Any]) -> Any:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value
    if isinstance(node, ast.Name):
        if node.id not in symbols:
            raise GraphError(
                f"the size {text[:80]!r} speaks of {node.id}, which is no symbol here.{did_you_mean(node.id, symbols)}"
            )
        return symbols[node.id]
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return -_value(node.operand, text, symbols)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        found = _value(node.operand, text, symbols)
        return ~found if isinstance(found, SymBool) else not found
    if isinstance(node, ast.BinOp) and type(node.op) in OPERATORS:
        left, right = _value(node.left, text, symbols), _value(node.right, text, symbols)
        if isinstance(node.op, ast.Pow) and type(right) is int and not 0 <= right <= MOST:
            raise ValueError
        return NUMBERS[OPERATORS[type(node.op)]](left, right)
    if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in OPERATORS:
        left, right = _value(node.left, text, symbols), _value(node.comparators[0], text, symbols)
        return NUMBERS[OPERATORS[type(node.ops[0])]](left, right)
    if isinstance(node, ast.BoolOp):
        parts = [_value(part, text, symbols) for part in node.values]
        return reduce((lambda a, b: a & b) if isinstance(node.op, ast.And) else (lambda a, b: a | b), parts)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in EXTREMES and not node.keywords:
        return reduce(EXTREMES[node.func.id], [_value(part, text, symbols) for part in node.args])
    raise ValueError
