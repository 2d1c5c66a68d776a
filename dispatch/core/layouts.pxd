"""What a replay reads of arrays, in C: may this array take that result?

Each is a few machine instructions, so they stand in a promise and are copied into the module that uses them.
"""
from cpython.object cimport PyObject

cdef struct Layout:
    PyObject *dtype                         # borrowed; NULL: nothing is known
    Py_ssize_t *shape                       # and the strides behind it
    int ndim

cdef extern from *:
    """
    #include <numpy/arrayobject.h>
    /* Whether two layouts are one: strides of axes of one element mean nothing. */
    static inline int dispatch_is_laid_out(PyObject *x, PyObject *dtype, int ndim, const Py_ssize_t *shape,
                                           const Py_ssize_t *strides) {
        PyArrayObject_fields *a = (PyArrayObject_fields *)x;
        if ((PyObject *)a->descr != dtype || a->nd != ndim) {
            return 0;
        }
        for (int i = 0; i < ndim; i++) {
            if (a->dimensions[i] != shape[i] || (shape[i] != 1 && a->strides[i] != strides[i])) {
                return 0;
            }
        }
        return 1;
    }
    /* Whether one reference is all there is to an array that owns its memory: nobody looks at it. */
    static inline int dispatch_is_unseen(PyObject *x) {
        PyArrayObject_fields *a = (PyArrayObject_fields *)x;
        const int wanted = NPY_ARRAY_OWNDATA | NPY_ARRAY_ALIGNED;
        return Py_REFCNT(x) == 1 && a->base == NULL && a->weakreflist == NULL && (a->flags & wanted) == wanted;
    }
    /* Whether it may be written, too. */
    static inline int dispatch_is_sole(PyObject *x) {
        return dispatch_is_unseen(x) && (((PyArrayObject_fields *)x)->flags & NPY_ARRAY_WRITEABLE);
    }
    /* Whether an operand is of the dtype that was planned and no larger than the result. */
    static inline int dispatch_goes_into(PyObject *x, PyObject *dtype, int ndim, const Py_ssize_t *shape) {
        if (Py_TYPE(x) != &PyArray_Type) {
            PyTypeObject *scalar = ((PyArray_Descr *)dtype)->typeobj;
            return Py_TYPE(x) == scalar || (PyFloat_CheckExact(x) && scalar == &PyDoubleArrType_Type);
        }
        PyArrayObject_fields *a = (PyArrayObject_fields *)x;
        if ((PyObject *)a->descr != dtype || a->nd > ndim) {
            return 0;
        }
        for (int i = 0; i < a->nd; i++) {
            if (a->dimensions[i] != 1 && a->dimensions[i] != shape[ndim - a->nd + i]) {
                return 0;
            }
        }
        return 1;
    }
    """
    bint is_laid_out "dispatch_is_laid_out"(PyObject *, PyObject *, int, const Py_ssize_t *, const Py_ssize_t *) noexcept
    bint is_unseen "dispatch_is_unseen"(PyObject *) noexcept
    bint is_sole "dispatch_is_sole"(PyObject *) noexcept
    bint goes_into "dispatch_goes_into"(PyObject *, PyObject *, int, const Py_ssize_t *) noexcept
