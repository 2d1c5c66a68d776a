"""Graphs: what a function did, as a list of operator calls that can be read, printed, changed, saved and run again.

    node      Node, one value of a graph; Metadata, what is known of an array without its data
    graph     Graph: nodes in the order in which they ran, what goes in and what comes out
"""

from .graph import Graph
from .node import Metadata, Node

__all__ = ["Graph", "Metadata", "Node"]
