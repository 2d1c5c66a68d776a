"""Symbolic sizes: shapes that stand for any number, and what a trace may take for granted of them.

    polynomials   sums of products with whole coefficients, as tuples
    sizes         SymInt: a size that is an expression
    conditions    SymBool: a comparison of sizes
    atoms         symbols, quotients and extremes, and their ranges
    expressions   arithmetic, each expression once
    deciding      what holds: by ranges, by facts, by the sizes of this run with a guard
    solving       what SymPy is asked
    environment   ShapeEnv: the symbols of one trace
    checking      check, and what is asked without a guard
    lengths       what shape rules ask
    parsing       sizes from text
"""

from .checking import check, guard_or_false, guard_or_true, statically_known
from .conditions import SymBool
from .deciding import Check, Guard
from .environment import ShapeEnv
from .lengths import (
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
from .parsing import parse
from .sizes import SymInt

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
