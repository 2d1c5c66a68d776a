"""Graphs: the operator calls of a function as a list, to read, print, change, save and run again.

    node            Node, one value of a graph; Metadata, the shape, dtype, strides and device of an array
    body            Body: the list of nodes, and the methods that build, change and check it
    graph           Graph: a body with methods to run, print and save it
    interpreter     runs a graph node by node
    shape_guards    symbolic sizes: reads them from arguments and checks the guards
    codegen         writes a graph as Python code
    visualize       draws a graph as DOT, SVG or an HTML table
    array_literals  writes dtypes and arrays as text
    literals        writes and reads every other value
    serialize       the format of files
    alias_analysis  which calls must stay, and which values share memory
    liveness        when a value is used for the last time
    passes          dead code, common subexpressions, constant folding
    reinplace_pass  lets operators write in place again where no value that is used later changes
"""

from .alias_analysis import AliasAnalysis, is_pinned
from .codegen import register_spelling
from .graph import Graph, dumps, loads
from .literals import register_value
from .node import Metadata, Node, Opaque, nodes_in
from .passes import apply, common_subexpressions, constant_folding, dead_code
from .reinplace_pass import reinplace
from .shape_guards import sizes_in

__all__ = [
    "AliasAnalysis",
    "Graph",
    "Metadata",
    "Node",
    "Opaque",
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
