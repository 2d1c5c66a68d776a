"""The kernel that runs a batching rule."""
from ...core.tensor cimport Taken


cdef class Ruled:
    cdef type cls
    cdef object op, rule, returned, opacity, as_one, apart
    cdef bint single

    cdef object attempted(self, info, tuple dims, Taken *taken)
