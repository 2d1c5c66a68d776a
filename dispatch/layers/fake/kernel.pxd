"""The kernels of a shape rule: one runs it, one remembers its answers."""
from .fields cimport Fields


cdef class Running:
    cdef object op
    cdef object rule
    cdef object context                     # what `get_ctx()` returns while the rule runs
    cdef object results
    cdef object noted
    cdef tuple taking
    cdef list devices
    cdef tuple written
    cdef bint single
    cdef Py_ssize_t fewest                  # arguments that are looked at by their places

    cdef object run(self, mode, tuple args)
    cdef bint is_new(self, Fields out, tuple args)


cdef class Remembering:
    cdef object kernel
    cdef dict answers
    cdef dict strict                        # of modes that take no real array
