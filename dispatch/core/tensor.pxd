"""The wrapper: one value, seen by one layer at one level."""
from cpython.object cimport PyObject, PyTypeObject

from .keys cimport rank_t
from .state cimport Level


cdef class Wrapped:
    cdef readonly object value              # what is wrapped: an array or a wrapper of a lower rank; None for a fake
    cdef public object kept                 # what the layer keeps beside it: the tape's node, the batch dimension
    cdef readonly Level level
    cdef readonly rank_t rank               # level.number * 64 + key
    cdef readonly bint read_only            # whether operators that write refuse it
    cdef public int writes                  # how many calls have written to it in place
    cdef public object family               # the values that share its memory, None where no view was taken: operators/views.py
    cdef object __weakref__


cdef int no_more(object x, tuple items, void *context) except -1       # raises for an array that has more than its data
cdef Wrapped allocated(type cls, Level level, rank_t rank)
cdef bint is_wrapped(PyObject *x) noexcept
cdef Wrapped highest(object x, Wrapped found, PyTypeObject *cls)
cdef tuple unwrapped(tuple values, rank_t rank)

cdef enum:
    FEW = 8                                 # arguments that are taken apart without an allocation
    AHEAD = 2                               # places before the values, for what a layer hands to a rule before them

cdef struct Taken:                          # what a layer's kernel begins with, as `split` returns it
    PyObject *like                          # NULL for None
    PyObject *setting                       # NULL for None
    Py_ssize_t count
    PyObject **values
    PyObject **data
    PyObject *on_stack[AHEAD + 2 * FEW]

cdef void begin(Taken *taken) noexcept
cdef void let_go(Taken *taken) noexcept
cdef int take_off(PyObject *const *args, Py_ssize_t n, Taken *taken) except -1
cdef PyObject *descended(PyObject *whole, PyObject *const *args, Py_ssize_t n, Taken *taken) except NULL
cdef object own_of(Taken *taken)
