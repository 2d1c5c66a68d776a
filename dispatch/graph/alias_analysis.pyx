"""Answers which calls of a graph must stay and in which order, and which values may share memory.

Passes ask here before they drop, merge, fold or move a call, and before they let one write in place. The answers come from
schemas, tags and the values that are passed. Where these do not decide, the answer is the careful one.
"""
cimport cython

from ..core.flatten cimport items_of
from ..core.python cimport is_plain
from .node cimport Node, collect, maker

from cpython.object cimport PyObject

from ..core import OpOverload
from ..core.pytree import leaves
from ..operators.functional_variant import origin_of
from ..schema.tags import Tag
from .literals import is_known
from .metadata import Metadata

EFFECTS = frozenset({Tag.effect, Tag.random, Tag.maybe_aliasing_or_mutating})
cdef object METADATA = Metadata


def is_pinned(Node node not None):
    """Return whether a call must stay in a graph, once and in its order.

    It must if it writes, returns nothing, draws random numbers, has an effect, or takes an object that is neither an array nor
    a constant: with such an object, a handle for example, it may do anything.

    Parameters
    ----------
    node : Node

    Returns
    -------
    bool

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> graph = dispatch.make_fx(lambda x: np.copyto(x, np.sin(x)))(np.ones(3))
    >>> [node for node in graph.nodes if is_pinned(node)]
    [setitem_]
    """
    return node.op is not None and must_stay(node, OpAliases(node.op))


cdef bint must_stay(Node node, OpAliases of) except -1:
    return of.pinned or not are_data(node.args)


cdef bint are_data(object x) except -1:
    """Whether arguments are arrays and constants alone."""
    cdef tuple items
    if is_plain(<PyObject *>x) or type(x) is slice or type(x) is OpOverload:  # which is_known takes .4 us to say
        return True
    if type(x) is Node:
        return is_data((<Node>x).value)
    items = items_of(x)
    if items is None:
        return is_known(x)
    for item in items:
        if not (is_plain(<PyObject *>item) or are_data(item)):
            return False
    return True


cpdef bint is_data(value) except -1:
    """Whether the value of a node consists of arrays and constants alone; the metadata of an array counts as constants."""
    return type(value) is METADATA or all(map(is_known, leaves(value)))


def may_be_view(op):
    """Whether what an operator returns may share memory with its arguments."""
    return op is not None and OpAliases(op).is_view


@cython.final
cdef class OpAliases:
    """What the schema and the tags of an operator say about shared memory, and about effects.

    `everything`: it may share memory in ways that its schema does not name. `is_view`: a result may share memory with an
    argument. `is_copy`: it is a functional form, whose outputs are fresh copies. `effect`: it may do more than write to its
    arguments and return. `pinned`: it has an effect, writes, or returns nothing. `silent`: it only takes.
    """

    def __init__(self, op):
        schema = op.schema
        arguments, returns = schema.arguments, schema.returns
        aliases = [(i, a.alias) for i, a in enumerate(arguments) if a.alias is not None]
        results = [r.alias for r in returns if r.alias is not None]
        self.writes_all = Tag.maybe_aliasing_or_mutating in op.tags
        self.everything = self.writes_all or any([is_open(alias) for alias in (*[alias for _, alias in aliases], *results)])
        self.is_view = self.everything or bool(results)
        self.is_copy = not self.is_view and origin_of(op) is not None
        self.places = [i for i, _ in aliases] if self.is_view else []
        self.written_places = [i for i, _ in aliases if arguments[i].is_write]
        self.effect = not EFFECTS.isdisjoint(op.tags)
        self.silent = not (returns or schema.is_mutable)
        self.pinned = self.effect or schema.is_mutable or not returns

    cdef list shared(self, Node node):
        """The arguments of a call that its results may share memory with, or be."""
        return nodes_at(node, self.everything, self.places)

    cdef list written(self, Node node):
        """The arguments that a call may write to."""
        return nodes_at(node, self.writes_all, self.written_places)


cdef list nodes_at(Node node, bint every, list places):
    cdef list found = []
    if every:
        collect(node.args, found)
    else:
        for i in places:
            collect(node.args[i], found)
    return found


cdef bint is_open(alias):
    """Whether an alias set contains everything."""
    return alias is not None and "*" in alias.before | alias.after


@cython.binding(False)
cdef class AliasAnalysis:
    """Tells which values of a graph may share memory, which memory the graph writes to, and which is visible outside it.

    Values that may share memory form one class. All outputs of a call belong to the class of the call. Where the graph writes
    anything, all inputs form one class, because a caller may pass one array twice.

    Parameters
    ----------
    body : Body
    apart : bool, optional
        Each input is a class of its own, and so is each new value of a functional form, which is a fresh copy. It holds for
        graphs made by `functionalize`, which refuses a write to an input that overlaps another.

    Attributes
    ----------
    written_by : dict
        For each call that writes, the arguments that it may write to.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> graph = dispatch.make_fx(lambda x: np.sin(x.T) + x)(np.ones((2, 2)))
    >>> graph.nodes
    [x, transpose, sin, add]
    >>> x, transpose, sin, add = graph.nodes
    >>> aliases = AliasAnalysis(graph)
    >>> aliases.of(x) is aliases.of(transpose), aliases.of(x) is aliases.of(sin), aliases.is_seen(add)
    (True, False, True)
    """

    def __init__(self, body not None, bint apart=False):
        cdef Node node
        cdef OpAliases op
        cdef list written = [], seen = [], writes
        self.above, self.written_by, self.known = {}, {}, {}
        collect(body.outputs, seen)
        for node in body.nodes:
            if node.op is None:
                if node.kind == "item":
                    call = maker(node)
                    if not (apart and call.op is not None and self.of_op(call.op).is_copy):
                        self.join([node, node.args[0]])
                continue
            op = self.of_op(node.op)
            if op.is_view:
                self.join([node] + op.shared(node))
            if op.writes_all or op.written_places:
                writes = op.written(node)
                if writes:
                    self.written_by[node] = writes
                    written += writes
            if op.effect or type(node.value) is not METADATA and not is_data(node.value) or not are_data(node.args):
                seen.append(node)           # an object may hold what it was made of
                collect(node.args, seen)
            elif op.silent:
                collect(node.args, seen)
        if written and not apart:
            self.join([node for node in body.nodes if node.kind == "placeholder"])
        self.written_classes = set(map(self.of, written))
        self.seen_classes = set(map(self.of, seen))

    cdef OpAliases of_op(self, op):
        found = self.known.get(op)
        if found is None:
            found = self.known[op] = OpAliases(op)
        return found

    cpdef bint is_pinned(self, Node node) except -1:
        """Return what the function `is_pinned` does.

        Parameters
        ----------
        node : Node

        Returns
        -------
        bool
        """
        return node.op is not None and must_stay(node, self.of_op(node.op))

    cpdef Node of(self, Node node):
        """Return the node that stands for the class of a node: the same one for all values that may share memory.

        Parameters
        ----------
        node : Node

        Returns
        -------
        Node
        """
        cdef dict above = self.above
        higher = above.get(node)
        while higher is not None:
            further = above.get(higher)
            if further is not None:
                above[node] = further
            node, higher = higher, further
        return node

    cpdef bint is_written(self, Node node) except -1:
        """Return whether the graph may write to the memory of a value.

        Parameters
        ----------
        node : Node

        Returns
        -------
        bool
        """
        return bool(self.written_classes) and self.of(node) in self.written_classes

    cpdef bint is_seen(self, Node node) except -1:
        """Return whether code outside the graph may have the memory of a value: it is returned, or a call may keep it.

        Parameters
        ----------
        node : Node

        Returns
        -------
        bool
        """
        return self.of(node) in self.seen_classes

    def merge(self, Node x not None, Node y not None):
        """Let one value stand for two. Neither may be written.

        Parameters
        ----------
        x, y : Node
        """
        seen = self.is_seen(x) or self.is_seen(y)
        self.join([x, y])
        if seen:
            self.seen_classes.add(self.of(x))

    def writes(self, Node node not None):
        """Return the classes that a call writes to, each by the node that stands for it.

        Parameters
        ----------
        node : Node

        Returns
        -------
        set of Node
        """
        return set(map(self.of, self.written_by.get(node, ())))

    def count(self, Node node not None, x):
        """Return how often the memory of a value occurs in some arguments.

        Parameters
        ----------
        node : Node
        x : object
            Arguments of a call, also in containers.

        Returns
        -------
        int
        """
        cdef list found = []
        collect(x, found)
        return sum([self.of(other) is self.of(node) for other in found])

    cdef int join(self, list nodes) except -1:
        cdef Node first = None
        for node in nodes:
            if first is None:
                first = self.of(node)
            else:
                other = self.of(node)
                if other is not first:
                    self.above[other] = first
        return 0
