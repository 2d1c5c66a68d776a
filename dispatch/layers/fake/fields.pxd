"""What a fake tensor keeps: fields in C, which its kernels read and set."""
from ...core.tensor cimport Wrapped


cdef class Fields(Wrapped):
    cdef readonly object shape              # the length of each axis: int or SymInt
    cdef readonly object dtype
    cdef readonly object strides            # in bytes; those of axes of length 1 and of empty arrays mean nothing
    cdef readonly object device
    cdef readonly object mode               # the FakeTensorMode that made it, or None
    cdef public bint number                 # whether NumPy has the value as a scalar, of which there are no views


cpdef Fields new_fake(type cls, shape, dtype, strides, device, mode, bint number)
