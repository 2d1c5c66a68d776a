"""autograd.misc: containers as vectors, and optimisers."""

from .flatten import flatten

__all__ = ["flatten"]
