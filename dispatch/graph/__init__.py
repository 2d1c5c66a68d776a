"""Graphs: the operator calls of a function as a list, to read, print, change, save and run again."""

from typing import TYPE_CHECKING

from ..core.lazy import names_of

if TYPE_CHECKING:
    from .alias_analysis import AliasAnalysis, is_pinned
    from .graph import Graph, dumps, loads
    from .literals import register_value
    from .metadata import Metadata, Opaque
    from .node import Node, nodes_in
    from .operator_facts import register_plain_call, register_spelling
    from .passes import apply, common_subexpressions, constant_folding, dead_code
    from .plain_calls import PlainCall
    from .reinplace_pass import reinplace
    from .shape_guards import sizes_in
else:  # the first wrapper needs the facts of operators
    __getattr__, __dir__ = names_of(
        globals(),
        {
            ".alias_analysis": "AliasAnalysis is_pinned",
            ".graph": "Graph dumps loads",
            ".literals": "register_value",
            ".metadata": "Metadata Opaque",
            ".node": "Node nodes_in",
            ".operator_facts": "register_plain_call register_spelling",
            ".passes": "apply common_subexpressions constant_folding dead_code",
            ".plain_calls": "PlainCall",
            ".reinplace_pass": "reinplace",
            ".shape_guards": "sizes_in",
        },
    )

__all__ = [
    "AliasAnalysis", "Graph", "Metadata", "Node", "Opaque", "PlainCall", "apply", "common_subexpressions", "constant_folding",
    "dead_code", "dumps", "is_pinned", "loads", "nodes_in", "register_plain_call", "register_spelling", "register_value",
    "reinplace", "sizes_in",
]  # fmt: skip
