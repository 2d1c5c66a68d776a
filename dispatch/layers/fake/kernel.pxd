"""The kernel that remembers the answers of a shape rule."""


cdef class Remembering:
    cdef object kernel
    cdef dict answers
