"""The graph of recorded calls, as compiled code sees it."""
from ...core.state cimport Level
from cpython.object cimport PyObject


cdef class Leaf:
    cdef readonly tuple layout
    cdef object gradient
    cdef object functions                   # of the whole gradient; see hooks.py
    cdef long long order
    cdef bint shown                         # whether something newer may be reachable from it
    cdef object __weakref__

    cdef void show(self)
    cdef int set_gradient(self, value) except -1


cdef class Node:
    cdef readonly object op
    cdef readonly Level level
    cdef readonly object rule
    cdef readonly object saved
    cdef readonly object layout
    cdef readonly long long order
    cdef public object place                # the user's line that called it, None but under anomaly mode
    cdef object first                       # the inputs, where they are `few`: so many, and None from the third on
    cdef object second
    cdef int few
    cdef object all_inputs                  # else
    cdef tuple all_edges
    cdef bint hidden                        # from the collector, and then in the list of those
    cdef PyObject *older
    cdef PyObject *newer
    cdef object __weakref__

    cdef object inputs_now(self)
    cdef tuple edges_now(self)
    cpdef tuple all_kept(self)
    cdef void release(self)


cdef class NodeOfSeveral(Node):
    cdef readonly tuple layouts


cdef class Output:
    cdef readonly Node node
    cdef readonly Py_ssize_t number
    cdef readonly tuple layout
    cdef object __weakref__


cdef class Pull:
    cdef object function


cdef void hide(Node node) noexcept
cdef bint is_inert(x) noexcept
cdef bint are_hidden(PyObject **edges, Py_ssize_t n) noexcept
cpdef tuple edges_of(data)
