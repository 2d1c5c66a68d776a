"""What a ufunc of functions in C holds."""
cimport numpy as cnp


cdef class Held:
    cdef cnp.PyUFuncGenericFunction *functions
    cdef void **data                        # behind the functions, in one piece of memory
    cdef bytes types, name, doc
    cdef readonly object sources            # the objects whose code the functions are
