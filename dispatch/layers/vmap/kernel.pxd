"""The kernel that runs a batching rule."""
from ...core.tensor cimport Wrapped


cdef class Ruled:
    cdef type cls
    cdef object rule, returned, opacity, as_one, apart
    cdef bint single

    cdef attempted(self, Wrapped like, tuple dims, tuple values)
