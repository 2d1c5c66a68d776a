"""A program, as C sees it."""
from cpython.object cimport PyObject

from .layouts cimport Layout
from .overload cimport OpOverload


cdef struct Call:
    PyObject *op                            # borrowed from `kept`, as all here; NULL: an item of a value
    Py_ssize_t count                        # of arguments
    int *sources                            # for each its slot, STATIC or BUILT
    PyObject **values                       # for each what is known of it: the value, or the container to build
    Layout *layouts                         # for each what is planned; NULL where no argument may take the result
    Layout result
    int *written                            # the arguments that may take the result, -1 behind the last
    int *dying                              # the slots that nobody reads any more, -1 behind the last
    int out                                 # the slot of the result, or -1


cdef class Slot:
    cdef readonly int number


cdef class Program:
    cdef readonly Py_ssize_t slots, count, given
    cdef readonly object outputs
    cdef object describe
    cdef list kept, constants               # what the pointers below refer to; slot, value and whether a run gets a copy
    cdef Call *calls
    cdef Layout *inputs

    cdef void *memory(self, size_t size) except NULL
    cdef int fill(self, number, set filled) except -1
    cdef int *numbers(self, values) except NULL
    cdef Layout layout(self, planned) except *
    cdef Layout *layouts(self, planned) except NULL
    cdef int take(self, Call *call, OpOverload op, tuple args, int out, layouts, result, written, dying,
                  set filled) except -1
    cdef bint as_planned(self, tuple values) noexcept
    cdef int run(self, PyObject **slots, bint planned) except -1
    cdef int noted(self, Py_ssize_t i) except -1
