"""What a kernel may give back."""
from cpython.object cimport PyObject, PyTypeObject

from .arguments cimport Check

cdef extern from *:
    """
    #include <numpy/arrayobject.h>
    /* Whether an object and some values are exact ndarrays, each the owner of its memory, and the object none of the values. */
    static inline int dispatch_owns_alone(PyObject *out, PyObject *const *values, Py_ssize_t count, PyTypeObject *ndarray) {
        if (Py_TYPE(out) != ndarray || !(((PyArrayObject_fields *)out)->flags & NPY_ARRAY_OWNDATA)) {
            return 0;
        }
        for (Py_ssize_t i = 0; i < count; i++) {
            PyObject *x = values[i];
            if (x == out || Py_TYPE(x) != ndarray || !(((PyArrayObject_fields *)x)->flags & NPY_ARRAY_OWNDATA)) {
                return 0;
            }
        }
        return 1;
    }
    """
    bint owns_alone "dispatch_owns_alone"(PyObject *out, PyObject *const *values, Py_ssize_t count,
                                          PyTypeObject *ndarray) noexcept


cdef class Outputs:
    cdef readonly tuple checks              # one a return, without the residual
    cdef readonly Py_ssize_t count
    cdef readonly bint residual             # the kernel's last output is the operator's own
    cdef readonly bint aliased              # the schema declares what its outputs share with the arguments
    cdef readonly tuple returned            # for each output the argument that it has to be, or -1
    cdef readonly bint typed                # a dtype is asked for
    cdef bint single                        # one plain Tensor and nothing else

    cdef int accept_all(self, PyObject *result, PyObject *const *args, Py_ssize_t count) except -1
    cdef int accept_one(self, Py_ssize_t i, PyObject *out, PyObject *const *args, Py_ssize_t count) except -1


# yes, no, or -1 with an exception
cdef int accept(PyObject *outputs, PyObject *result, PyObject *const *args, Py_ssize_t count) except -1
# what the caller sees of a kernel's outputs, a new reference; NULL, with or without an exception, where that cannot be said
cdef PyObject *without_residual(PyObject *outputs, PyObject *result) noexcept
cpdef bint may_share_memory(object x, object y) noexcept
cpdef bint share_memory(object x, object y) except -1
