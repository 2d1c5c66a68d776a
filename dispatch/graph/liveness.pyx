"""Says when the values of a graph are used for the last time: the value itself, and the memory that it may share."""
cimport cython
from .alias_analysis cimport AliasAnalysis
from .node cimport Node, collect

NEVER = 1 << 60  # the last read of memory that code outside the graph may read at any time


def last_uses(body not None):
    """Return for each node the nodes whose values nothing needs after it. Outputs are never among them."""
    cdef dict done = {}
    cdef set seen
    cdef list found = []
    cdef Node node
    collect(body.outputs, found)
    seen = set(found)
    for node in reversed(body.nodes):
        found = [node]
        collect(node.args, found)
        for x in found:
            if x not in seen:
                seen.add(x)
                if node in done:
                    (<list>done[node]).append(x)
                else:
                    done[node] = [x]
    return done


@cython.binding(False)
cdef class Lifetimes:
    """When the memory of the values of a graph is read.

    `order` has the place of each node, `users` the nodes that take it as an argument; `aliases` tells which values may share
    memory, inputs apart.
    """

    def __init__(self, graph not None):
        cdef Py_ssize_t i
        cdef Node node
        cdef list found
        cdef AliasAnalysis aliases = AliasAnalysis(graph, apart=True)
        self.aliases, self.known = aliases, {}
        self.order = {node: i for i, node in enumerate(graph.nodes)}
        self.users = {node: [] for node in graph.nodes}
        for i, node in enumerate(graph.nodes):
            found = []
            collect(node.args, found)
            for x in found:
                (<list>self.users[x]).append(node)
                if node.op is not None:
                    self.reads(x).append(i)
            if node.kind == "placeholder" or node.kind == "constant" or aliases.is_seen(node):
                self.reads(node).append(NEVER)

    cpdef list reads(self, Node node):
        """Return the places of the nodes that read the memory of a node, and `NEVER` if code outside may read it."""
        of = self.aliases.of(node)
        found = self.known.get(of)
        if found is None:
            found = self.known[of] = []
        return found

    def last_read(self, Node node not None):
        """Return the place of the last node that reads the memory of a node: -1 if none does, `NEVER` if code outside may."""
        return max(self.reads(node), default=-1)
