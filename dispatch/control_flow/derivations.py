"""Loads the operators of loops and branches with their rules; `numpy_ops.install` has it called on their first use."""

from ..operators.registry import define_on_first_use, note_own_rules, ops
from . import batching, forward, reverse

__all__ = ["install"]


def install() -> None:
    """Register the rules of the operators."""
    for rules in (forward, reverse, batching):
        rules.install()
    define_on_first_use("control_flow", None)
    note_own_rules(*ops.control_flow)
