"""Loops and branches as operators: one node in a graph, however many steps there are.

    loops       scan, fori_loop, while_loop, map
    branches    cond
    carries     what they are given: containers of arrays
    tracing     a function of users as a graph, with what it closes over as inputs
    operators   the operators, their kernels and shape rules
    steps       the loops themselves, in C
    forward reverse batching   their rules; `derivations` registers them
    words       what is refused
"""

from typing import TYPE_CHECKING

from ..core.lazy import names_of
from .branches import cond
from .loops import fori_loop, map, scan, while_loop  # noqa: A004  JAX's name

if not TYPE_CHECKING:
    __getattr__, __dir__ = names_of(globals(), {})

__all__ = ["cond", "fori_loop", "map", "scan", "while_loop"]
