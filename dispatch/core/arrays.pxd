"""Which backend an object belongs to, and what is read of arrays in C."""
from cpython.object cimport PyObject, PyTypeObject

from .python cimport Py_TYPE

cdef PyTypeObject *NDARRAY                                     # numpy.ndarray, for the exact test

cdef class Size:                                               # a size that is no number yet
    pass

cdef int device_number(object device) noexcept                # the key of a device, or -1
cdef bint has_key(object x) except -1
cdef bint is_newcomer(PyObject *x) noexcept                     # of a class made by a class statement: does its package wait?
cdef int key_of(PyObject *x) noexcept                          # the backend's key, or -1 where x is no array
cdef bint is_numpy(PyObject *x) noexcept                       # an ndarray or a NumPy scalar, of whatever class
cdef inline bint is_exact(PyObject *x) noexcept nogil:         # an ndarray and no subclass of it
    return Py_TYPE(x) == NDARRAY
cdef bint has_more(PyObject *x) noexcept                       # an ndarray of a class that has more than its data
cdef bint is_number(PyObject *x) noexcept                      # a Python int, float, bool or complex, or a Size
cdef PyObject *owner_of(PyObject *x) noexcept                  # borrowed: whose memory an ndarray shows; x itself if its own
