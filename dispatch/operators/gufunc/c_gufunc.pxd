"""What a ufunc of functions in C holds."""
cimport numpy as cnp


ctypedef void (*InnerLoop)(char **, cnp.npy_intp *, cnp.npy_intp *, void *) noexcept nogil


cdef struct Target:
    InnerLoop function
    void *data


cdef class Held:
    cdef Target *targets
    cdef cnp.PyUFuncGenericFunction *functions      # of the ufunc: `released`, as often as there are targets
    cdef void **data                                # the targets' addresses
    cdef bytes types, name, doc
    cdef readonly object sources                    # the objects whose code the functions are
