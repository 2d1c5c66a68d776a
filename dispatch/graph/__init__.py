"""Graphs: what a function did, as a list of operator calls that can be read, printed, changed, saved and run again.

    node            Node, one value of a graph; Metadata, what is known of an array without its data
    body            the nodes in their order: built, changed, held to what they promise
    graph           Graph: a body that runs, prints, saves
    interpreter     the interpreter
    shape_guards    sizes that are open until a graph runs
    codegen         Python code
    visualize       DOT, SVG, a table
    array_literals  dtypes and arrays as text
    literals        what a graph holds that is no node, as text
    serialize       the format of files
    alias_analysis  what calls do besides returning, and who shares memory
    passes          dead code, common subexpressions, constant folding
    liveness        when the memory of a value is read
    reinplace       functional forms become the operators that write again, where nobody can tell
"""

from .alias_analysis import Sharing, is_pinned
from .codegen import register_spelling
from .graph import Graph, dumps, loads
from .literals import register_value
from .node import Metadata, Node, Opaque, nodes_in
from .passes import apply, common_subexpressions, constant_folding, dead_code
from .reinplace_pass import reinplace
from .shape_guards import sizes_in

__all__ = [
    "Graph",
    "Metadata",
    "Node",
    "Opaque",
    "Sharing",
    "apply",
    "common_subexpressions",
    "constant_folding",
    "dead_code",
    "dumps",
    "is_pinned",
    "loads",
    "nodes_in",
    "register_spelling",
    "register_value",
    "reinplace",
    "sizes_in",
]
