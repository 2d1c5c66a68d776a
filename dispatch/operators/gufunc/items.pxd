"""Items of arrays, in C: a view pointed at one, a result copied into its place.

An item is a view of an array, a new object each time, unless the one before is held by nobody else and is as it was made:
then only its address moves, which spares the 30 ns of a new one. Whatever the kernel kept is left to it.
"""
cimport numpy as cnp
from cpython.object cimport PyObject

cdef extern from "items.h":
    ctypedef struct Fields "PyArrayObject_fields":
        char *data
        int nd
        cnp.npy_intp *dimensions
        cnp.npy_intp *strides
        int flags
    ctypedef struct Operand:
        Fields *array
        void *descr
        Py_ssize_t place
        int core
        cnp.npy_intp *lengths
        cnp.npy_intp *strides
        cnp.npy_intp *steps
        int steady
    ctypedef struct Output:
        Fields *array
        int core
        cnp.npy_intp *lengths
        cnp.npy_intp nbytes
        int plain
        PyObject *scalar
    void dispatch_keep_descr(Operand *) noexcept
    void dispatch_drop_descr(Operand *) noexcept
    tuple dispatch_tuple_of(object)
    object dispatch_from_scalar(object)
    bint dispatch_is_number(PyObject *) noexcept
    bint dispatch_is_scalar(PyObject *) noexcept
    int dispatch_point(PyObject **, Operand *, char *) noexcept
    bint dispatch_put(Output *, PyObject *, char *) noexcept
    object dispatch_view(Fields *, int, cnp.npy_intp *, char *)
    object dispatch_hollow(object, int, cnp.npy_intp *, cnp.npy_intp *, void *)
    int dispatch_copy(object, object) except -1
    Fields *dispatch_fields(PyObject *) noexcept
    bint dispatch_is_tuple(PyObject *, Py_ssize_t) noexcept
    PyObject *dispatch_member(PyObject *, Py_ssize_t) noexcept
    bint dispatch_signalled() noexcept          # whether a signal's handler raised
    int dispatch_raised() except -1             # lets an exception out that is set already
    PyObject *dispatch_type_of(PyObject *) noexcept
    bint PyArray_CheckExact(PyObject *) noexcept
    int NPY_ARRAY_ALIGNED
    int MAX_AXES "NPY_MAXDIMS"
