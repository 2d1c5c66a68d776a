"""Backends of `compile`: other engines that can run a graph."""
