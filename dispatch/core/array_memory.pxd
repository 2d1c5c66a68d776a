"""What the compiled part of the layers reads of arrays' memory."""
cimport numpy as cnp

cdef tuple shape_of(cnp.ndarray x)
cpdef object inexact_layout(x)
cpdef object constant(op, x)
cpdef bint has_layout(x, tuple layout) except -1
cpdef object owned(x)
cpdef object unwritable(x)
cpdef object writable(x)
cpdef object unwritten(x, Py_ssize_t limit)
cpdef object expand(cnp.ndarray x, tuple shape)
cpdef tuple settled(tuple values, data, Py_ssize_t limit)
cpdef object held(cnp.ndarray x)
