"""Traces a function into a graph, runs the graph in place of the function, and saves it for other processes.

    trace_function     `make_fx`: a function of arrays as a graph
    compiled_function  `compile`: one trace for each kind of call, which later calls run; what `explain` says of them
    capture            the trace that `compile` makes, and the checks it needs
    closure_guards     what a function refers to beside its arguments, which `compile` compares in each call
    cache_key          the kind of a call, in C
    cache              what a compiled function keeps for each kind
    dynamic_shapes     graphs with symbolic sizes
    lowering           from a graph to a `Program`, which the core runs
    exported_program   `export` and `load`
    backends           other programs that can run a graph: JAX, PyTorch, the user's
"""

from .backends.jax_jit import with_jax as with_jax
from .backends.lookup import list_backends, register_backend
from .backends.torch_fx import with_torch as with_torch
from .compiled_function import Compiled, compile  # noqa: A004  torch's name
from .dynamic_shapes import dynamic_program
from .lowering import program

__all__ = ["Compiled", "compile", "dynamic_program", "list_backends", "program", "register_backend"]
