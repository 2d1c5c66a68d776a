"""Records a call: takes the values off, calls the operator on them, adds a node to the graph, wraps the results.

A trace of a program makes one of these steps for each of its calls, 1 us beside the call itself and the node. Written in
Python they would take four.
"""
from cpython.object cimport PyObject, PyTypeObject
from cpython.pythread cimport PyThread_get_thread_ident
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_New, PyTuple_SET_ITEM

from ...core.arrays cimport is_exact
from ...core.keys cimport TRACE, rank_t
from ...core.state cimport Guard, ModeGuard, ThreadState, Without, thread_state
from ...core.tensor cimport Wrapped

import numpy as np

from ...core import active_mode, device_of, items_of, rebuilt, wrap
from ...operators.functional_variant import form_of
from ...graph import Metadata
from ...core.source import here
from ...symbolic import contiguous
from .tensor import TracedTensor

cdef extern from *:
    PyTypeObject *Py_TYPE(PyObject *) noexcept nogil

cdef extern from *:
    """
    /* The commonest arguments that no graph has a node for. */
    static inline int dispatch_is_static(PyObject *x) {
        PyTypeObject *type = Py_TYPE(x);
        return x == Py_None || type == &PyLong_Type || type == &PyFloat_Type || type == &PyBool_Type || type == &PyUnicode_Type;
    }
    """
    bint dispatch_is_static(PyObject *x) noexcept nogil

cdef PyTypeObject *TRACED = <PyTypeObject *><PyObject *>TracedTensor
cdef object made_of = tuple.__new__
cdef tuple ARRAYS = (np.ndarray, Wrapped)
STATIC = frozenset({int, float, bool, str, type(None), complex, slice, type(Ellipsis)})


# -- what is known of a value ----------------------------------------------------------------------------------------------


def metadata(x):
    """What is known of a value without its data: of arrays, in containers too."""
    if is_exact(<PyObject *>x):
        return made_of(Metadata, (x.shape, x.dtype, x.strides, "cpu"))
    items = items_of(x)
    if items is not None:
        return rebuilt(x, [metadata(item) for item in items])
    if isinstance(x, Wrapped) or device_of(x) is not None:
        strides = getattr(x, "strides", None)
        strides = contiguous(x.shape, x.dtype.itemsize) if strides is None else tuple(strides)
        return made_of(Metadata, (x.shape, x.dtype, strides, getattr(x, "device", None) or device_of(x) or "cpu"))
    return x


cdef bint has_symbols(tuple shape):
    for n in shape:
        if type(n) is not int:
            return True
    return False


# -- what goes into a call -------------------------------------------------------------------------------------------------


def taken(trace, x):
    """An argument as the call below gets it, and as the graph of a trace has it."""
    if type(x) in STATIC:
        return x, x
    if Py_TYPE(<PyObject *>x) == TRACED and (<Wrapped>x).level is trace.level:
        return (<Wrapped>x).value, (<Wrapped>x).data
    if isinstance(x, ARRAYS) or device_of(x) is not None:
        return trace.constant(x)
    known = trace.objects.get(id(x))        # what an operator gave that is no array
    if known is not None:
        return x, known[1]
    items = items_of(x)
    if items is None:
        return x, x
    values, nodes = [], []
    for item in items:
        value, node = taken(trace, item)
        values.append(value)
        nodes.append(node)
    return rebuilt(x, values), rebuilt(x, nodes)


cdef Wrapped newest(object x, Wrapped found):
    """The traced value of the highest rank in a container, and `found`."""
    if Py_TYPE(<PyObject *>x) == TRACED:
        return <Wrapped>x if found is None or (<Wrapped>x).rank > found.rank else found
    if isinstance(x, Wrapped):
        return found
    items = items_of(x)
    if items is not None:
        for item in items:
            found = newest(item, found)
    return found


cdef class Recorded:
    """The kernel of an operator that is traced.

    Parameters
    ----------
    op : OpOverload
    """

    def __init__(self, op):
        self.op, self.whole, self.form, self.name = op, op.whole, form_of(op.schema), op.schema.name
        self.residual, self.writes = op.outputs.residual, op.schema.is_mutable
        kinds = [str(returned.type) for returned in op.schema.returns]
        self.single = kinds == ["Tensor"] and not self.residual and not self.writes

    def __call__(self, *args):
        cdef ThreadState *thread = thread_state()
        cdef rank_t mode = thread.rank, rank
        cdef Py_ssize_t i, n = len(args)
        cdef Wrapped like = None
        cdef Without off
        cdef PyObject *found
        cdef tuple values, nodes
        for i in range(n):
            found = <PyObject *>args[i]
            if Py_TYPE(found) == TRACED:
                if like is None or (<Wrapped>found).rank > like.rank:
                    like = <Wrapped>found
            elif not (dispatch_is_static(found) or is_exact(found)):
                like = newest(<object>found, like)
        guard = None
        if like is not None and like.rank >= mode:
            trace, rank = like.level.payload, like.rank
        else:
            guard = active_mode(TRACE)
            if guard is None:               # asked of the kernel itself, and nothing is traced
                return self.whole(*args)
            trace, rank = (<ModeGuard>guard).mode, (<ModeGuard>guard).rank
        if self.writes and like is not None:
            trace.check_written(self.op, self.form, args)
        values, nodes = PyTuple_New(n), PyTuple_New(n)
        for i in range(n):
            x = args[i]
            if Py_TYPE(<PyObject *>x) == TRACED and (<Wrapped>x).rank == rank:
                value, node = (<Wrapped>x).value, (<Wrapped>x).data
            elif dispatch_is_static(<PyObject *>x):
                value = node = x
            else:
                value, node = taken(trace, x)
            Py_INCREF(value)
            PyTuple_SET_ITEM(values, i, value)
            Py_INCREF(node)
            PyTuple_SET_ITEM(nodes, i, node)
        if mode == rank:                    # the mode is on here, and goes off for the call below
            off = trace.off
            if off.active or trace.thread != PyThread_get_thread_ident():
                off = Without(guard if guard is not None else active_mode(TRACE))
            Guard.__enter__(off)
            try:
                out = self.whole(*values)
                if not self.single:
                    trace.check_numbers(self.op, out, values)
            finally:
                Guard.__exit__(off)
        else:
            out = self.whole(*values)
            if not self.single:
                trace.check_numbers(self.op, out, values)
        if self.residual:
            out = trace.with_residual(self.op, out)
        node = trace.graph.add("call", self.name, self.op, nodes, metadata(out), here(trace.lines))
        if self.single:
            if not is_exact(<PyObject *>out) and has_symbols(out.shape):
                trace.read_sizes(node, out)
            return wrap(TracedTensor, out, trace.level, node)
        return self.form.returning(trace.given(self.op, out, node), args)

    def __repr__(self):
        return f"Recorded({self.op.name})"
