"""Graphs: what a function did, as a list of operator calls that can be read, printed, changed, saved and run again.

    node      Node, one value of a graph; Metadata, what is known of an array without its data
    graph     Graph: nodes in the order in which they ran, what goes in and what comes out
    lifetimes   which nodes may share memory, and when that is read
    reinplace   functional forms become the operators that write again, where nobody can tell
"""

from .graph import Graph
from .node import Metadata, Node
from .reinplace import reinplace

__all__ = ["Graph", "Metadata", "Node", "reinplace"]
