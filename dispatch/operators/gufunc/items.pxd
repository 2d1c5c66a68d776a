"""Items of arrays, in C: a view pointed at one, a result copied into its place.

An item is a view of an array, a new object each time, unless the one before is held by nobody else and is as it was made:
then only its address moves, which spares the 30 ns of a new one. Whatever the kernel kept is left to it.
"""
cimport numpy as cnp
from cpython.object cimport PyObject

cdef extern from *:
    """
    #include <numpy/arrayobject.h>
    #include <string.h>

    typedef struct {
        PyArrayObject_fields *array;            /* borrowed: the walk holds it */
        Py_ssize_t place;                       /* among the kernel's arguments */
        int core;                               /* axes of an item */
        npy_intp *lengths, *strides;            /* of an item */
        npy_intp *steps;                        /* of the loop dimensions, 0 where the array is broadcast */
        int steady;                             /* whether a view may be pointed at the next item */
        int flags;                              /* of a view as it is made */
    } Operand;

    typedef struct {
        PyArrayObject_fields *array;
        int core;
        npy_intp *lengths;
        npy_intp nbytes;                        /* of an item */
        int plain;                              /* elements are bytes and nothing else, so that memcpy copies them */
        PyObject *scalar;                       /* the NumPy scalars of which the value alone matters, else NULL */
    } Output;

    /* Not memcmp: a 0-d array's axes are at NULL, which it must not be given and which it is slow to look at. */
    static inline int dispatch_same(npy_intp *a, npy_intp *b, int count) {
        for (int i = 0; i < count; i++) {
            if (a[i] != b[i]) {
                return 0;
            }
        }
        return 1;
    }

    /* Put the item at `data` into the kernel's arguments; -1 with an exception where a view cannot be made. */
    static inline int dispatch_point(PyObject **slot, Operand *x, char *data) {
        PyArrayObject_fields *item = (PyArrayObject_fields *)*slot;
        if (item != NULL) {
            if (x->steady && Py_REFCNT((PyObject *)item) == 1 && item->weakreflist == NULL && item->nd == x->core
                && item->base == (PyObject *)x->array && item->descr == x->array->descr && item->flags == x->flags
                && dispatch_same(item->dimensions, x->lengths, x->core)
                && dispatch_same(item->strides, x->strides, x->core)) {
                item->data = data;
                return 0;
            }
            *slot = NULL;
            Py_DECREF(item);
        }
        Py_INCREF(x->array->descr);
        item = (PyArrayObject_fields *)PyArray_NewFromDescr(
            &PyArray_Type, x->array->descr, x->core, x->lengths, x->strides, data,
            x->array->flags & NPY_ARRAY_WRITEABLE, NULL);
        if (item == NULL) {
            return -1;
        }
        Py_INCREF(x->array);
        item->base = (PyObject *)x->array;      /* as it is: PyArray_SetBaseObject would look for the owner each time */
        x->flags = item->flags;
        *slot = (PyObject *)item;
        return 0;
    }

    /* Copy a result of an item into its place: 1, or 0 where that takes a longer look. */
    static inline int dispatch_put(Output *out, PyObject *result, char *to) {
        if (Py_TYPE(result) == &PyArray_Type) {
            PyArrayObject_fields *a = (PyArrayObject_fields *)result;
            if (out->plain && a->descr == out->array->descr && a->nd == out->core && (a->flags & NPY_ARRAY_C_CONTIGUOUS)
                && dispatch_same(a->dimensions, out->lengths, out->core)) {
                memcpy(to, a->data, out->nbytes);
                return 1;
            }
        } else if ((PyObject *)Py_TYPE(result) == out->scalar) {
            PyArray_ScalarAsCtype(result, to);
            return 1;
        }
        return 0;
    }
    static inline PyObject *dispatch_view(PyArrayObject_fields *of, int nd, npy_intp *lengths, char *data) {
        Py_INCREF(of->descr);
        PyObject *view = PyArray_NewFromDescr(&PyArray_Type, of->descr, nd, lengths, NULL, data, NPY_ARRAY_WRITEABLE, NULL);
        if (view != NULL) {
            Py_INCREF(of);
            ((PyArrayObject_fields *)view)->base = (PyObject *)of;
        }
        return view;
    }
    static inline PyObject *dispatch_hollow(PyObject *descr, int nd, npy_intp *lengths, npy_intp *strides,
                                            void *data) {
        Py_INCREF(descr);
        return PyArray_NewFromDescr(&PyArray_Type, (PyArray_Descr *)descr, nd, lengths, strides, data, 0, NULL);
    }
    #define dispatch_fields(x) ((PyArrayObject_fields *)(x))
    #define dispatch_is_tuple(x, n) (PyTuple_CheckExact(x) && PyTuple_GET_SIZE(x) == (n))
    #define dispatch_member(x, i) PyTuple_GET_ITEM(x, i)
    #define dispatch_raised() (-1)
    #define dispatch_signalled() (PyErr_CheckSignals() < 0)
    #define dispatch_type_of(x) ((PyObject *)Py_TYPE(x))
    #define dispatch_copy(to, from) PyArray_CopyInto((PyArrayObject *)(to), (PyArrayObject *)(from))
    """
    ctypedef struct Fields "PyArrayObject_fields":
        char *data
        int nd
        cnp.npy_intp *dimensions
        cnp.npy_intp *strides
        int flags
    ctypedef struct Operand:
        Fields *array
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
