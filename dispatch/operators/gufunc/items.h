/* Items of arrays: a view pointed at one, a result copied into its place. For items.pxd, which says how they are used. */
#ifndef DISPATCH_GUFUNC_ITEMS_H
#define DISPATCH_GUFUNC_ITEMS_H

#include <numpy/arrayobject.h>
#include <string.h>

typedef struct {
    PyArrayObject_fields *array;            /* borrowed: the walk holds it */
    PyArray_Descr *descr;                   /* owned: a kernel may give the array another, which its strides do not fit */
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
            && item->base == (PyObject *)x->array && item->descr == x->descr && item->flags == x->flags
            && dispatch_same(item->dimensions, x->lengths, x->core)
            && dispatch_same(item->strides, x->strides, x->core)) {
            item->data = data;
            return 0;
        }
        *slot = NULL;
        Py_DECREF(item);
    }
    Py_INCREF(x->descr);
    item = (PyArrayObject_fields *)PyArray_NewFromDescr(
        &PyArray_Type, x->descr, x->core, x->lengths, x->strides, data,
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
/* Begin and end with an operand's dtype. */
static inline void dispatch_keep_descr(Operand *x) {
    x->descr = x->array->descr;
    Py_INCREF(x->descr);
}
static inline void dispatch_drop_descr(Operand *x) {
    Py_CLEAR(x->descr);
}
/* The items of a list or tuple as a tuple, NULL with an exception where there is no memory: a subclass's own __iter__ and
   __len__ are not asked, for they may say something else each time. */
static inline PyObject *dispatch_tuple_of(PyObject *x) {
    return PyList_Check(x) ? PyList_AsTuple(x) : PyTuple_GetSlice(x, 0, PyTuple_GET_SIZE(x));
}
/* A scalar as a 0-d array. NumPy looks its class up in a dict, and may leave what the class's hash raised behind. */
static inline PyObject *dispatch_from_scalar(PyObject *x) {
    PyObject *made = PyArray_FromScalar(x, NULL);
    if (made != NULL && PyErr_Occurred()) {
        Py_CLEAR(made);
    }
    return made;
}
/* Whether a value is one number, the same for every item. */
static inline int dispatch_is_number(PyObject *x) {
    return PyArray_IsScalar(x, Generic) || PyLong_Check(x) || PyFloat_Check(x) || PyComplex_Check(x);
}
#define dispatch_is_scalar(x) PyArray_IsScalar(x, Generic)
#define dispatch_type_of(x) ((PyObject *)Py_TYPE(x))
#define dispatch_copy(to, from) PyArray_CopyInto((PyArrayObject *)(to), (PyArrayObject *)(from))

#endif
