"""Records a call: makes its node and wraps its result, in one function in C."""
cimport numpy as cnp
from cpython.object cimport PyObject
from cpython.ref cimport Py_REFCNT

from ...core.array_memory cimport constant, inexact_layout, owned
from ...core.arrays cimport is_exact
from ...core.layouts cimport is_unseen
from ...core.python cimport Py_None, items_of_tuple, tuple_of
from ...core.state cimport Level
from ...core.tensor cimport Wrapped
from .backward_graph cimport Leaf, Node, NodeOfSeveral, Output, are_hidden, hide, is_inert

import numpy as np

from ...core import wrap

cnp.import_array()

cdef type GENERIC = np.generic
cdef tuple NOTHING = ()


cdef object layout_of(x, PyObject **inputs, Py_ssize_t n):
    """The `(shape, dtype)` of an array or wrapper that can have a gradient, else None.

    It is that of the first node or leaf in `inputs`, where they are equal: a chain of calls keeps one of them.
    """
    cdef tuple layout, shape
    cdef Py_ssize_t place
    cdef int i, ndim
    if is_exact(<PyObject *>x):
        for place in range(n):
            if inputs[place] == Py_None:
                continue
            found = <object>inputs[place]
            if type(found) is Leaf:
                found = (<Leaf>found).layout
            elif isinstance(found, Node):
                found = (<Node>found).layout
            else:
                continue
            if found is None:
                break
            layout = <tuple>found
            if layout[1] is not (<cnp.ndarray>x).descr:
                break
            shape = <tuple>layout[0]
            ndim = cnp.PyArray_NDIM(<cnp.ndarray>x)
            if len(shape) != ndim:
                break
            for i in range(ndim):
                if cnp.PyArray_DIM(<cnp.ndarray>x, i) != <cnp.npy_intp>shape[i]:
                    break
            else:
                return layout
            break
    return inexact_layout(x)


cdef bint few_of(PyObject **inputs, Py_ssize_t n) noexcept:
    cdef Py_ssize_t i
    for i in range(2, n):
        if inputs[i] != Py_None:
            return False
    return 0 < n <= 32


cdef int fill(Node node, op, Level level, rule, PyObject **inputs, Py_ssize_t n, tuple edges, saved, layout) except -1:
    """Set the fields of a new node; without `edges` the inputs are the edges.

    Inputs that are their own edges, and all None but the first two, are kept without a tuple, which would be one more object
    for Python's collector to look at while a chain grows.
    """
    node.op, node.level, node.rule, node.saved, node.layout = op, level, rule, saved, layout
    if edges is None and few_of(inputs, n):
        node.few = <int>n
        node.first = <object>inputs[0]
        if n > 1:
            node.second = <object>inputs[1]
    else:
        node.all_inputs = tuple_of(inputs, n)
        node.all_edges = <tuple>node.all_inputs if edges is None else edges
    return 0


cdef object wrapped(type wrapper, out, Wrapped like, data):
    """A wrapper, of the level of `like`, of a result, of which an array becomes read-only."""
    cdef Wrapped made
    if is_exact(<PyObject *>out):
        cnp.PyArray_CLEARFLAGS(<cnp.ndarray>out, cnp.NPY_ARRAY_WRITEABLE)
    elif not isinstance(out, GENERIC):
        return wrap(wrapper, out, like, data, True)
    made = dispatch_made(wrapper, NOTHING)
    made.value = out
    made.kept = data
    made.level = like.level
    made.rank = like.rank
    return made


def new_node(type cls not None, op, Level level not None, rule, tuple inputs not None, tuple edges, saved, layout):
    """A node that no kernel made, of a checkpoint or of a write; `edges` is None where the inputs are, which hold no lists."""
    cdef Node node = dispatch_made(cls, NOTHING)
    fill(node, op, level, rule, items_of_tuple(inputs), len(inputs), edges, saved, layout)
    return node


cdef object record(type wrapper, op, rule, out, Wrapped like, PyObject **inputs, Py_ssize_t n, tuple edges, saved):
    """The result of a call in a wrapper with a node, at the level and rank of `like`; an array becomes read-only.

    It is the result itself where that can have no gradient. `edges` is None where the inputs are, which hold no lists. The
    operator keeps the rule alive, and the rule keeps nothing that a call made.
    """
    cdef Node node
    layout = layout_of(out, inputs, n)
    if layout is None:
        return constant(op, out)
    node = dispatch_made(Node, NOTHING)
    fill(node, op, like.level, rule, inputs, n, edges, saved, layout)
    if (is_exact(<PyObject *>out) or isinstance(out, GENERIC)) and is_inert(saved) \
            and (are_hidden(inputs, n) if edges is None else are_hidden(items_of_tuple(edges), len(edges))):
        hide(node)
    return wrapped(wrapper, out, like, node)


cdef tuple record_several(type wrapper, op, rule, tuple outputs, tuple layouts, Wrapped like, PyObject **inputs, Py_ssize_t n,
                          tuple edges, saved):
    """The results of a call in wrappers with one node; one that can have no gradient, whose layout is None, is itself."""
    cdef NodeOfSeveral node = dispatch_made(NodeOfSeveral, NOTHING)
    cdef Py_ssize_t i
    fill(node, op, like.level, rule, inputs, n, edges, saved, None)
    node.layouts = layouts
    return tuple([
        outputs[i] if layouts[i] is None else wrapped(wrapper, outputs[i], like, Output(node, i, layouts[i]))
        for i in range(len(outputs))
    ])


def recorded(type wrapper not None, op, rule, out, Wrapped like not None, tuple inputs not None, tuple edges, saved):
    """`record`, for Python."""
    return record(wrapper, op, rule, out, like, items_of_tuple(inputs), len(inputs), edges, saved)


def taken_from(type wrapper not None, function, arrays, Level level not None):
    """Call a function on arrays, and take its result, if that is one wrapper of a level, apart: its edge and its value.

    Otherwise the edge is None. The value may be written to, and nobody else holds it: it is a copy, unless the references
    that there are to it show that nobody else has it. None but this function has had it in hand, so they cannot be too few.
    """
    cdef Wrapped made
    out = function(*arrays)
    if type(out) is not wrapper or (<Wrapped>out).level is not level:
        return None, out
    made, out = <Wrapped>out, None
    edge, value = made.kept, made.value
    if Py_REFCNT(made) == 1:
        made = None
        if is_exact(<PyObject *>value) and is_unseen(<PyObject *>value):
            cnp.PyArray_ENABLEFLAGS(<cnp.ndarray>value, cnp.NPY_ARRAY_WRITEABLE)
            return edge, value
    return edge, owned(value)
