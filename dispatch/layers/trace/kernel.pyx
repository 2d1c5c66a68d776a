"""Records a call: takes the values off, calls the operator on them, adds a node to the graph, wraps the results.

A trace of a program makes one of these steps for each of its calls, 1 us beside the call itself and the node. Written in
Python they would take four.
"""
from cpython.object cimport PyObject, PyTypeObject
from cpython.pythread cimport PyThread_get_thread_ident
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_New, PyTuple_SET_ITEM

from ...core.arrays cimport is_exact
from ...core.flatten cimport enter, items_of, leave, mapped, rebuilt
from ...core.keys cimport OBSERVE, TRACE, key_at, rank_t
from ...core.state cimport Guard, ModeGuard, ThreadState, Without, active_mode, highest_mode, thread_state
from ...core.python cimport Py_TYPE, is_plain
from ...core.tensor cimport Wrapped, highest

import numpy as np

from ...core import device_of, wrap
from ...operators.functional_variant import form_of
from ...graph import Metadata
from ...core.source import here
from ...schema.types import BOOL, COMPLEX, FLOAT, INT, SCALAR, TENSOR
from ...symbolic import contiguous
from .number import TracedNumber, plain
from .tensor import TracedTensor

cdef PyTypeObject *TRACED = <PyTypeObject *><PyObject *>TracedTensor
cdef object made_of = tuple.__new__
cdef tuple ARRAYS = (np.ndarray, Wrapped)
cdef type NUMBER = np.generic
cdef tuple NUMBERS = (INT, FLOAT, COMPLEX, BOOL, SCALAR)
STATIC = frozenset({int, float, bool, str, type(None), complex, slice, type(Ellipsis)})


# -- what is known of a value ----------------------------------------------------------------------------------------------


cdef object metadata_of(object x, void *context):
    if is_exact(<PyObject *>x):
        return made_of(Metadata, (x.shape, x.dtype, x.strides, "cpu"))
    if isinstance(x, Wrapped) or device_of(x) is not None:
        strides = getattr(x, "strides", None)
        strides = contiguous(x.shape, x.dtype.itemsize) if strides is None else tuple(strides)
        return made_of(Metadata, (x.shape, x.dtype, strides, getattr(x, "device", None) or device_of(x) or "cpu"))
    return x


def metadata(x):
    """What is known of a value without its data: of arrays, in containers too."""
    return mapped(x, metadata_of, NULL)


cdef bint has_symbols(tuple shape):
    for n in shape:
        if type(n) is not int:
            return True
    return False


# -- what goes into a call -------------------------------------------------------------------------------------------------


def taken(trace, x, bint arrays=True):
    """An argument as the call below gets it, and as the graph of a trace has it.

    Where the argument takes no `arrays`, a number of NumPy's is a number.
    """
    if type(x) in STATIC or (not arrays and isinstance(x, NUMBER)):
        return x, x
    if Py_TYPE(<PyObject *>x) == TRACED and (<Wrapped>x).level is trace.level:
        return (<Wrapped>x).value, (<Wrapped>x).kept
    if isinstance(x, ARRAYS) or device_of(x) is not None:
        return trace.constant(x)
    known = trace.objects.get(id(x))        # what an operator gave that is no array
    if known is not None:
        return known if arrays or type(x) is not TracedNumber else (float(x), float(x))
    if type(x) is TracedNumber:             # of a trace around this one, say of the body of a loop
        found = plain(x)
        return found, found
    items = items_of(x)
    if items is None:
        return x, x
    enter(b" while an argument was traced: a container holds itself, or is nested too deep")
    try:
        pairs = [taken(trace, item, arrays) for item in items]
    finally:
        leave()
    return rebuilt(x, [value for value, _ in pairs]), rebuilt(x, [node for _, node in pairs])


def is_of_numbers(kind):
    """Whether an argument of a type is a number, a list of numbers, or none: nothing that a layer below sees as an array."""
    return all(map(is_of_numbers, kind.parts)) if kind.parts else kind in NUMBERS


cdef class Recorded:
    """The kernel of an operator that is traced."""

    def __init__(self, op):
        self.op, self.whole, self.form, self.name = op, op.whole, form_of(op.schema), op.schema.name
        self.residual, self.writes = op.outputs.residual, op.schema.is_mutable
        kinds = [returned.type for returned in op.schema.returns]
        self.arrays = tuple([not is_of_numbers(a.type) for a in op.schema.arguments])
        self.single = kinds == [TENSOR] and not self.residual and not self.writes

    def __call__(self, *args):
        cdef ThreadState *thread = thread_state()
        cdef rank_t rank, mode = thread.rank
        if key_at(mode) == OBSERVE:         # this step is watched: the call has the mode below
            mode = highest_mode(<rank_t>1 << OBSERVE)
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
            elif not (is_plain(found) or is_exact(found)):
                like = highest(<object>found, like, TRACED)
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
                value, node = (<Wrapped>x).value, (<Wrapped>x).kept
            elif is_plain(<PyObject *>x):
                value = node = x
            else:
                value, node = taken(trace, x, <object>PyTuple_GET_ITEM(self.arrays, i))
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
