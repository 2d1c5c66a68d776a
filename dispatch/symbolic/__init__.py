"""Symbolic sizes: shapes that stand for any number, and what a trace may take for granted of them.

    polynomials   sums of products with whole coefficients, as tuples
    sym_int       SymInt: a size that is an expression
    sym_bool      SymBool: a comparison of sizes
    atoms         symbols, quotients and extremes, and their ranges
    expressions   arithmetic, each expression once
    guards        what holds: by ranges, by facts, by the sizes of this run with a guard
    sympy_solver  what SymPy is asked
    shape_env     ShapeEnv: the symbols of one trace
    check         check, and what is asked without a guard
    size_queries  what shape rules ask
    size_parser   sizes from text
"""

from .checks import check, guard_or_false, guard_or_true, statically_known
from .guards import Check, Guard
from .shape_env import ShapeEnv
from .size_parser import parse
from .size_queries import (
    agree,
    agreeing,
    broadcast,
    guesses,
    has_zero,
    is_one,
    is_open,
    is_zero,
    larger,
    layout_is_open,
    same,
    smaller,
    sure,
)
from .sym_bool import SymBool
from .sym_int import SymInt

__all__ = [
    "Check",
    "Guard",
    "ShapeEnv",
    "SymBool",
    "SymInt",
    "agree",
    "agreeing",
    "broadcast",
    "check",
    "guard_or_false",
    "guard_or_true",
    "guesses",
    "has_zero",
    "is_one",
    "is_open",
    "is_zero",
    "larger",
    "layout_is_open",
    "parse",
    "same",
    "smaller",
    "statically_known",
    "sure",
]
