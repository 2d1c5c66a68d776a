"""Sizes that are expressions of symbols, in the shapes of traced arrays, and the conditions that a trace rests on."""

from typing import TYPE_CHECKING

from ..core.lazy import names_of
from .checks import OwnChecks, check, guard_or_false, guard_or_true, statically_known
from .guards import Check, Guard
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

if TYPE_CHECKING:
    from .shape_env import ShapeEnv
    from .size_parser import parse
else:
    __getattr__, __dir__ = names_of(globals(), {".shape_env": "ShapeEnv", ".size_parser": "parse"})

__all__ = [
    "Check", "Guard", "OwnChecks", "ShapeEnv", "SymBool", "SymInt", "agree", "agreeing", "broadcast", "check", "contiguous",
    "guard_or_false", "guard_or_true", "guesses", "has_zero", "is_one", "is_open", "is_zero", "larger", "layout_is_open",
    "parse", "same", "smaller", "statically_known", "sure",
]  # fmt: skip
