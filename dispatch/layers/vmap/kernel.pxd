"""The kernel that runs a batching rule."""


cdef class Ruled:
    cdef type cls
    cdef object rule, returned
    cdef bint single
