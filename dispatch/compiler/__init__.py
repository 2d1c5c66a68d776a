"""Compiling: a function traced once for each kind of call, and replayed.

    cache_key       what a call depends on, in C
    closure_guards  what a function refers to beside its arguments
    capture         a function traced twice
    dynamic_shapes  graphs with open sizes as programs
    lowering        from a graph to a program of slots and calls; core/program.pyx runs it
    lookup          what else can run a graph
    compile         `compile`, its cache, what it says of itself
"""

from .backends.jax_jit import with_jax as with_jax
from .backends.lookup import list_backends, register_backend
from .backends.torch_fx import with_torch as with_torch
from .compile import Compiled, compile  # noqa: A004  torch's name
from .dynamic_shapes import dynamic_program
from .lowering import program

__all__ = ["Compiled", "compile", "dynamic_program", "list_backends", "program", "register_backend"]
