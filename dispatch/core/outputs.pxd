"""What a kernel may give back."""
from cpython.object cimport PyObject

from .arguments cimport Check


cdef class Outputs:
    cdef readonly tuple checks              # one a return, without the residual
    cdef readonly Py_ssize_t count
    cdef readonly bint residual             # the kernel's last output is the operator's own
    cdef readonly bint aliased              # the schema declares what its outputs share with the arguments
    cdef readonly tuple returned            # for each output the argument that it has to be, or -1
    cdef bint single                        # one plain Tensor and nothing else

    cdef bint accept(self, PyObject *result, PyObject *const *args, Py_ssize_t count) noexcept
    cdef bint accept_one(self, Py_ssize_t i, PyObject *out, PyObject *const *args, Py_ssize_t count) noexcept
    cdef PyObject *without_residual(self, PyObject *result) noexcept
