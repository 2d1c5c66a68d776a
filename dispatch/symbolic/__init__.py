"""Sizes that are expressions of symbols, in the shapes of traced arrays, and the conditions that a trace rests on.

    polynomials   polynomials with whole coefficients, as tuples
    sym_int       SymInt: a size that is an expression
    sym_bool      SymBool: a condition on sizes
    atoms         what polynomials are made of: symbols, quotients, extremes; their ranges
    expressions   arithmetic of sizes, each expression once
    facts         what a trace has learned about its sizes, and answers from it
    guards        the conditions that a trace rests on
    sympy_solver  questions for SymPy
    shape_env     ShapeEnv: the symbols, guards and checks of one trace
    checks        `check`, and questions that leave no guard
    size_queries  questions of shape rules
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
    contiguous,
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
    "contiguous",
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
