"""A call becomes a node, for the compiled kernels."""
from cpython.object cimport PyObject

from ...core.state cimport Level
from ...core.tensor cimport Wrapped
from .backward_graph cimport Node

cdef extern from *:
    """
    /* tp_new with nothing to parse. */
    static inline PyObject *dispatch_made(PyObject *cls, PyObject *no_arguments) {
        return ((PyTypeObject *)cls)->tp_new((PyTypeObject *)cls, no_arguments, NULL);
    }
    """
    object dispatch_made(object cls, tuple no_arguments)

# The inputs are `n`, borrowed.
cdef object layout_of(x, PyObject **inputs, Py_ssize_t n)
cdef object record(type wrapper, op, rule, out, Wrapped like, PyObject **inputs, Py_ssize_t n, tuple edges, saved)
cdef tuple record_several(type wrapper, op, rule, tuple outputs, tuple layouts, Wrapped like, PyObject **inputs, Py_ssize_t n,
                          tuple edges, saved)
cdef object wrapped(type wrapper, out, Wrapped like, data)
cdef int fill(Node node, op, Level level, rule, PyObject **inputs, Py_ssize_t n, tuple edges, saved, layout) except -1
