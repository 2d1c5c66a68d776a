"""What NumPy allocates while a kernel runs."""


cdef class Allocations:
    cdef unsigned char byte
    cdef unsigned char outer                # the byte of the block around this one
    cdef object before                      # NumPy's handler outside the block
    cdef readonly size_t broken
