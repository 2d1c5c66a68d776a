"""Traces a function into a graph, runs the graph in place of the function, and saves it for other processes."""

from ..core.lazy import names_of
from .backends.jax_jit import with_jax as with_jax
from .backends.lookup import list_backends, register_backend
from .backends.torch_fx import with_torch as with_torch
from .compiled_function import Compiled, compile  # noqa: A004  torch's name
from .dynamic_shapes import dynamic_program
from .lowering import program

__all__ = ["Compiled", "compile", "dynamic_program", "list_backends", "program", "register_backend"]

__getattr__, __dir__ = names_of(globals(), {})
