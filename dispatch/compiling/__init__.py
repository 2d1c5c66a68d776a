"""Compiling: a function traced once for each kind of call, and replayed.

    keys        what a call depends on, in C
    captured    what a function refers to beside its arguments
    recording   a function traced twice
    dynamic     graphs with open sizes as programs
    lowering    from a graph to a program of slots and calls; core/replay.pyx runs it
    backends    what else can run a graph
    compiled    `compile`, its cache, what it says of itself
"""

from .backends import list_backends, register_backend
from .compiled import Compiled, compile  # noqa: A004  torch's name
from .dynamic import dynamic_program
from .lowering import program
from .with_jax import with_jax as with_jax
from .with_torch import with_torch as with_torch

__all__ = ["Compiled", "compile", "dynamic_program", "list_backends", "program", "register_backend"]
