"""Checks that a kernel returned what its schema says: the cheap checks, made on every call of a backend's kernel.

Number and types of the outputs; that none is an argument or another one, by pointer; that none shares memory with one, by the
bounds of their memory, so that disjoint halves of a buffer pass, and whoever owns it: an array, a memory map, a bytearray.
"""
from cpython.object cimport PyObject

cimport numpy as cnp

from .arguments cimport TENSOR, Check
from .flatten cimport held, walk
from .keys cimport rank_t
from .python cimport Py_INCREF, Py_None, PyTuple_GET_ITEM

import numpy as np

cnp.import_array()

cdef extern from *:
    """
    #include <numpy/arrayobject.h>
    /* The bounds of an array's memory; 0 where it has no element. */
    static inline int dispatch_bounds(PyArrayObject_fields *a, char **low, char **high) {
        *low = a->data;
        *high = a->data + PyDataType_ELSIZE(a->descr);
        for (int i = 0; i < a->nd; i++) {
            if (a->dimensions[i] == 0) {
                return 0;
            }
            npy_intp reach = (a->dimensions[i] - 1) * a->strides[i];
            *(reach < 0 ? low : high) += reach;
        }
        return *low < *high;
    }
    static inline int dispatch_share(PyObject *x, PyObject *y) {
        char *low, *high, *from, *to;
        return dispatch_bounds((PyArrayObject_fields *)x, &low, &high)
               && dispatch_bounds((PyArrayObject_fields *)y, &from, &to) && low < to && from < high;
    }
    /* Whether an ndarray, or a number of NumPy's, is none of the values and shows the memory of none, told without running any
       code: the usual case, of ndarrays, numbers, and lists of these. Two that own their memory share none. 0 means that it
       takes a longer look. */
    static int dispatch_is_fresh(PyObject *out, PyObject *const *values, Py_ssize_t count, int depth) {
        const int number = Py_TYPE(out) != &PyArray_Type;
        if (number && !(PyArray_IsScalar(out, Number) && dispatch_is_leaf(out))) {
            return 0;
        }
        const int owns = number ? 0 : ((PyArrayObject_fields *)out)->flags & NPY_ARRAY_OWNDATA;
        for (Py_ssize_t i = 0; i < count; i++) {
            PyObject *x = values[i];
            if (x != out && Py_TYPE(x) == &PyArray_Type) {
                if (number || owns & ((PyArrayObject_fields *)x)->flags || !dispatch_share(out, x)) {
                    continue;
                }
            } else if (PyList_CheckExact(x) || PyTuple_CheckExact(x)) {
                if (depth && dispatch_is_fresh(out, PySequence_Fast_ITEMS(x), PySequence_Fast_GET_SIZE(x), depth - 1)) {
                    continue;
                }
            } else if (dispatch_is_plain(x) || (x != out && dispatch_is_leaf(x) && !PyArray_Check(x))) {
                continue;
            }
            return 0;
        }
        return 1;
    }
    """
    bint dispatch_is_fresh(PyObject *out, PyObject *const *values, Py_ssize_t count, int depth) noexcept
    bint dispatch_share(PyObject *x, PyObject *y) noexcept
    bint PyArray_Check(PyObject *) noexcept nogil


cdef enum:
    DEPTH = 4                               # how deep arrays are looked for: in Tensor[][], in a list of records
    MOST_WORK = 10_000                      # candidates that `np.shares_memory` tries


cpdef bint may_share_memory(object x, object y) noexcept:
    """NumPy's function of this name for two ndarrays, without the code that a subclass may have for it; else False."""
    return are_arrays(x, y) and dispatch_share(<PyObject *>x, <PyObject *>y)


cdef bint are_arrays(object x, object y) noexcept:
    return PyArray_Check(<PyObject *>x) and PyArray_Check(<PyObject *>y)    # whatever `__class__` says


cpdef bint share_memory(object x, object y) except -1:
    """Whether two ndarrays share a byte: exactly if that is quick to find out, else by the bounds of their memory."""
    if not (are_arrays(x, y) and dispatch_share(<PyObject *>x, <PyObject *>y)):
        return False
    try:                                    # of exact ndarrays: a subclass may have code of its own for shares_memory
        return np.shares_memory(np.ndarray.view(x, np.ndarray), np.ndarray.view(y, np.ndarray), max_work=MOST_WORK)
    except np.exceptions.TooHardError:
        return True


class Residual:
    """The type hint of a last output that callers do not get: what the kernel keeps for the backward.

    It may be any Python object, a factorisation or a handle say. `setup_context` and the backward find it as `ctx.residual`.
    Under `vmap`'s loop it is the list of the items' objects. It is freed when the tape no longer needs it. A parameter with
    this hint takes such an object, so that a backward can call another operator with it.

    Examples
    --------
    >>> import numpy as np
    >>> from dispatch import Residual, custom_op
    >>> @custom_op("doc::halved", mutates_args=())
    ... def halved(x: np.ndarray) -> tuple[np.ndarray, Residual]:
    ...     return x / 2, {"kept": 2}
    >>> halved(np.ones(2))
    array([0.5, 0.5])
    """


cdef struct Apart:                          # what an array of an output is held against
    PyObject *out
    PyObject *const *args
    Py_ssize_t count


cdef int is_or_shows(object x, tuple items, void *context) except -1:
    """Whether an array in an argument is the output, or shares memory with it."""
    cdef PyObject *out = (<Apart *>context).out
    return <PyObject *>x == out or (PyArray_Check(<PyObject *>x) and share_memory(<object>out, x))


cdef int is_shared(object x, tuple items, void *context) except -1:
    """Whether an array in an output is an argument or shares memory with one, or two of a container do."""
    cdef Apart *held_against = <Apart *>context
    cdef Py_ssize_t i
    if items is not None:
        return repeated(items, len(items))
    if PyArray_Check(<PyObject *>x):
        held_against.out = <PyObject *>x
        for i in range(held_against.count):
            if walk(<object>held_against.args[i], is_or_shows, context, DEPTH):
                return True
    return False


cdef int repeated(tuple items, Py_ssize_t count) except -1:
    """Whether one ndarray stands at two places of the outputs, or two share memory, which two that own theirs do not."""
    cdef Py_ssize_t i, k
    for i in range(count):
        x = items[i]
        owns = PyArray_Check(<PyObject *>x) and cnp.PyArray_CHKFLAGS(<cnp.ndarray>x, cnp.NPY_ARRAY_OWNDATA)
        for k in range(i if PyArray_Check(<PyObject *>x) else 0):
            y = items[k]
            if x is y or (PyArray_Check(<PyObject *>y) and not (
                    owns and cnp.PyArray_CHKFLAGS(<cnp.ndarray>y, cnp.NPY_ARRAY_OWNDATA)) and share_memory(x, y)):
                return True
    return False


cdef class Outputs:
    """The returns of one operator, as C reads them.

    Parameters
    ----------
    checks : tuple of Check
        One a return, the residual left out.
    residual : bool
        Whether the kernel gives back one output more, which the operator keeps.
    aliased : bool
        Whether the schema says what the outputs share with the arguments.
    returned : tuple of int, optional
        For each output the number of the argument that it has to be, or -1: an operator in place returns what it wrote to.
    """

    def __cinit__(self, tuple checks not None, *, residual=False, aliased=False, tuple returned=None):
        if not all([isinstance(check, Check) for check in checks]):
            raise TypeError("the checks of outputs are Checks, one for each.")
        self.checks = checks
        self.count = len(checks)
        self.residual = residual
        self.aliased = aliased
        self.returned = returned if returned is not None else (-1,) * len(checks)
        if len(self.returned) != self.count:
            raise ValueError(f"returned= says which argument an output is, for {self.count} outputs, not {len(self.returned)}.")
        self.single = (self.count == 1 and not residual and not aliased and (<Check>checks[0]).kind == TENSOR
                       and not (<Check>checks[0]).optional and not (<Check>checks[0]).typed)
        self.typed = any([check.typed for check in checks])

    cdef int accept_all(self, PyObject *result, PyObject *const *args, Py_ssize_t count) except -1:
        cdef Py_ssize_t i, total = self.count + self.residual
        cdef tuple items
        if total == 0:
            return result == Py_None
        if total == 1:
            return self.count == 0 or self.accept_one(0, result, args, count)     # a lone residual may be anything
        if not isinstance(<object>result, (tuple, list)):
            return False
        items = held(<object>result)
        if len(items) != total:
            return False
        for i in range(self.count):
            if not self.accept_one(i, PyTuple_GET_ITEM(<PyObject *>items, i), args, count):
                return False
        return self.aliased or not repeated(items, self.count)

    cdef int accept_one(self, Py_ssize_t i, PyObject *out, PyObject *const *args, Py_ssize_t count) except -1:
        cdef rank_t rank = 0
        cdef Py_ssize_t argument = <Py_ssize_t>self.returned[i]
        cdef Apart against
        if argument >= 0:
            return argument < count and out == args[argument] and (
                not self.typed or (<Check>self.checks[i]).accept(out, &rank))
        against.args, against.count = args, count
        if not (<Check>self.checks[i]).accept(out, &rank):
            return False
        if self.aliased or dispatch_is_fresh(out, args, count, DEPTH):
            return True
        return not walk(<object>out, is_shared, &against, DEPTH)


cdef int accept(PyObject *outputs, PyObject *result, PyObject *const *args, Py_ssize_t count) except -1:
    if (<Outputs>outputs).single and dispatch_is_fresh(result, args, count, DEPTH):
        return True
    return (<Outputs>outputs).accept_all(result, args, count)


cdef PyObject *without_residual(PyObject *outputs, PyObject *result) noexcept:
    cdef tuple items
    if (<Outputs>outputs).count == 0:
        Py_INCREF(Py_None)
        return Py_None
    if not isinstance(<object>result, (tuple, list)):
        return NULL
    try:
        items = held(<object>result)
        if len(items) != (<Outputs>outputs).count + 1:
            return NULL
        seen = items[0] if (<Outputs>outputs).count == 1 else items[:(<Outputs>outputs).count]
    except MemoryError:
        return NULL
    Py_INCREF(<PyObject *>seen)
    return <PyObject *>seen
