"""What a Cython module gets by `cimport dispatch`: the type of a kernel in C, into a capsule and out of `op.cfunc`.

The module is compiled with NumPy's headers, `include_dirs=[numpy.get_include()]`. See docs/c_kernels.md.
"""
cimport numpy as cnp
from cpython.pycapsule cimport PyCapsule_New, PyCapsule_SetContext

# The inner loop of a generalised ufunc: the first item of each array, counts, steps, and what was registered with it.
ctypedef void (*Loop)(char **args, const cnp.npy_intp *dimensions, const cnp.npy_intp *steps, void *data) noexcept nogil


cdef inline object capsule(Loop function, void *data=NULL):
    """Return a function as `register_kernel("cpu", cfunc=...)` takes it; `data` is what the function is given each time."""
    made = PyCapsule_New(<void *>function, "void (char **, npy_intp const *, npy_intp const *, void *)", NULL)
    PyCapsule_SetContext(made, data)
    return made


cdef inline Loop loop(cfunc) except NULL:
    """Return the function of `op.cfunc`, whose `data` attribute is the address of what belongs to it."""
    return <Loop><size_t>cfunc.address
