"""The kernel of an operator that is recorded."""


cdef class Recorded:
    cdef readonly object op
    cdef object whole, form, name
    cdef tuple arrays                       # for each argument whether it may hold arrays
    cdef bint single, residual, writes
