"""Graphs: what a function did, as a list of operator calls that can be read, printed, changed, saved and run again.

    node        Node, one value of a graph; Metadata, what is known of an array without its data
    body        the nodes in their order: built, changed, held to what they promise
    graph       Graph: a body that runs, prints, saves
    running     the interpreter
    sizes       sizes that are open until a graph runs
    printing    Python code
    drawing     DOT, SVG, a table
    buffers     dtypes and arrays as text
    values      what a graph holds that is no node, as text
    text        the format of files
    effects     what calls do besides returning, and who shares memory
    passes      dead code, common subexpressions, constant folding
    lifetimes   when the memory of a value is read
    reinplace   functional forms become the operators that write again, where nobody can tell
"""

from .effects import Sharing, is_pinned
from .graph import Graph, dumps, loads
from .node import Metadata, Node, Opaque, nodes_in
from .passes import apply, common_subexpressions, constant_folding, dead_code
from .printing import register_spelling
from .reinplace import reinplace
from .sizes import sizes_in
from .values import register_value

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
