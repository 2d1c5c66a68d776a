"""autograd.misc: containers as vectors, functions recorded once, and optimisers."""

from .flatten import flatten
from .tracers import const_graph

__all__ = ["const_graph", "flatten"]
