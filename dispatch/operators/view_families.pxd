"""Which value is a view of which, for compiled code."""
from ..core.tensor cimport Wrapped


cdef class Family:
    cdef readonly list views                # weak references, in the order in which they were taken
    cdef Py_ssize_t limit

    cdef int add(self, view) except -1


cdef class View:
    cdef readonly Family family
    cdef readonly object of
    cdef readonly object op
    cdef readonly tuple args
    cdef readonly Py_ssize_t place
    cdef readonly Py_ssize_t part
    cdef readonly Py_ssize_t number


cpdef int join(Wrapped view, Wrapped x, op, tuple args, Py_ssize_t place, Py_ssize_t part, Py_ssize_t number) except -1
