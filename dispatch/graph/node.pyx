"""Node, one value of a graph.

A graph of 200 000 nodes is walked some ten times while it is compiled, so that a walk is some 50 ns a node here, where a
generator of Python takes 500.
"""
cimport cython
from cpython.object cimport PyObject, PyObject_GenericSetAttr

from ..core.flatten cimport enter, items_of, leave, rebuilt
from ..core.python cimport is_leaf

from ..core import OpOverload
from ..core.wrong_attributes import no_attribute
from .metadata import NODES_ELSEWHERE as _ELSEWHERE, settable

cdef const char *WALK = b" while looking for nodes in an argument: a container holds itself, or is nested too deep"


@cython.binding(False)
@cython.final
@cython.trashcan(True)
cdef class Node:
    """One value of a graph.

    Attributes
    ----------
    kind : {"placeholder", "constant", "call", "item"}
        An input; an array that belongs to the graph; the result of a call; one item of the result of another node.
    name : str
        A Python identifier, unique in the graph.
    op : OpOverload or None
        The operator, called as `op.whole`: all arguments by position, and a residual is returned too.
    args : tuple
        Of a call, every argument in schema order, with nodes for values, also inside lists, tuples, dicts and records. Of an
        item, the node it belongs to and its number.
    value : Metadata, container of these, or object
        The result: the metadata of an array; any other value as it was in the trace.
    source : Line or None
        The line of user code that made the call.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> x, sin = dispatch.make_fx(np.sin)(np.ones(3)).nodes
    >>> sin.kind, sin.op.name, sin.args
    ('call', 'np::sin', (x,))
    """

    def __init__(self, kind, name, op, tuple args not None, value, source=None):
        self.kind, self.name, self.op, self.args, self.value, self.source = kind, name, op, args, value, source

    def __reduce__(self): return Node, (self.kind, self.name, self.op, self.args, self.value, self.source)
    def __getattr__(self, str name): raise no_attribute(self, name, _ELSEWHERE)
    def __setattr__(self, str name, value): PyObject_GenericSetAttr(self, settable(self, name, value), value)
    def __repr__(self): return self.name


cpdef Node maker(Node node):
    """Return the call that an item comes from, through any number of items; any other node is returned itself."""
    while node.kind == "item":
        node = node.args[0]
    return node


cdef int collect(object x, list found) except -1:
    """Add the nodes in a value to a list."""
    cdef tuple items
    if type(x) is Node:
        found.append(x)
        return 0
    if is_leaf(<PyObject *>x):
        return 0
    items = <tuple>x if type(x) is tuple else items_of(x)
    if items is None:
        return 0
    enter(WALK)
    try:
        for item in items:
            if type(item) is Node:
                found.append(item)
            elif not is_leaf(<PyObject *>item):
                collect(item, found)
    finally:
        leave()
    return 0


def nodes_in(x):
    """Yield the nodes in a value, also in containers, as often as they occur.

    Parameters
    ----------
    x : Node, container of nodes, or object

    Yields
    ------
    Node

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> graph = dispatch.make_fx(lambda x: {"square": x * x})(np.ones(3))
    >>> list(nodes_in(graph.outputs)), list(nodes_in(graph.nodes[1].args))
    ([multiply], [x, x])
    """
    cdef list found = []
    collect(x, found)
    return iter(found)


cdef object exchanged(object x, dict stands, bint every):
    """A value with what stands for its nodes in place of them; a KeyError where nothing does and `every` node has to go."""
    cdef tuple items
    cdef list found
    if type(x) is Node:
        return stands[x] if every else stands.get(x, x)
    if is_leaf(<PyObject *>x):
        return x
    items = <tuple>x if type(x) is tuple else items_of(x)
    if items is None:
        return x
    enter(WALK)
    try:
        found = [item if type(item) is not Node and is_leaf(<PyObject *>item) else exchanged(item, stands, every)
                 for item in items]
    finally:
        leave()
    return tuple(found) if type(x) is tuple else rebuilt(x, found)


def standing(x, dict stands not None, bint every=True):
    """Return a value with other values in place of its nodes, also in containers, which are made anew.

    Parameters
    ----------
    x : object
    stands : dict
        What stands for each node.
    every : bool, optional
        Raise KeyError for a node that is not in it; if False, the node stays.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> x, sin = dispatch.make_fx(np.sin)(np.ones(3)).nodes
    >>> standing(([x, 2], sin), {x: 1.0, sin: x})
    ([1.0, 2], x)
    """
    return exchanged(x, stands, every)


cdef int add_to_key(object x, list key, object spell) except -1:
    cdef tuple items
    cls = type(x)
    if cls is Node or x is None:
        key.append(x)
    elif cls is int or cls is bool or cls is str:
        key.append(cls)
        key.append(x)
    elif cls is float:
        key.append(repr(x))                 # which tells the zeros apart, and not one nan from another
    elif cls is slice:
        key.append(cls)
        for part in (x.start, x.stop, x.step):
            add_to_key(part, key, spell)
    elif cls is tuple or cls is list:
        items = items_of(x)
        key.append(cls)
        key.append(len(items))
        enter(WALK)
        try:
            for item in items:
                add_to_key(item, key, spell)
        finally:
            leave()
    elif cls is OpOverload:
        key.append(x)
    elif isinstance(x, tuple) and hasattr(cls, "_fields") and not hasattr(x, "__dict__"):
        key.append(cls)                     # a named tuple without more: how a view is taken, say
        for item in <tuple>x:
            add_to_key(item, key, spell)
    else:
        key.append(cls)
        key.append(spell(x))
    return 0


def key_of(x, spell not None):
    """Return a key by which arguments are the same as others: of types and values, and of which nodes are in them.

    Parameters
    ----------
    x : object
    spell : callable
        Gives a text for what is no node, number, text, slice, list or tuple.

    Examples
    --------
    >>> key_of((1, [2.0]), str) == key_of((1, [2.0]), str), key_of((1,), str) == key_of((True,), str)
    (True, False)
    """
    cdef list key = []
    add_to_key(x, key, spell)
    return tuple(key)
