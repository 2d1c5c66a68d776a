"""Is what a kernel gave back what its schema says? The cheap checks, made on every call of a backend's kernel.

Number and types of the outputs; that no output is an argument, by pointer; that none is a view of one, by the owner of its
memory, and where two arrays have one owner by the bounds of their memory, so that disjoint halves of one buffer pass.
"""
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF
from cpython.tuple cimport PyTuple_Check
from cpython.list cimport PyList_Check

cimport numpy as cnp

import numpy as np

from .arguments cimport TENSOR, Check
from .arrays cimport is_exact, owner_of
from .flatten cimport items_of
from .keys cimport rank_t

cdef extern from *:
    Py_ssize_t PySequence_Fast_GET_SIZE(PyObject *) noexcept
    PyObject **PySequence_Fast_ITEMS(PyObject *) noexcept
    PyObject *Py_None

cnp.import_array()

cdef extern from *:
    """
    #include <numpy/arrayobject.h>
    /* An ndarray that owns its memory, beside arguments that are ndarrays and own theirs, is neither an argument nor a
       view once the pointers differ: the usual case, told without a call. 0 means that it takes a longer look. */
    static inline int dispatch_is_fresh(PyObject *out, PyObject *const *args, Py_ssize_t count) {
        if (((PyArrayObject_fields *)out)->base != NULL) {
            return 0;
        }
        for (Py_ssize_t i = 0; i < count; i++) {
            PyObject *x = args[i];
            PyTypeObject *type = Py_TYPE(x);
            if (x == out) {
                return 0;
            }
            if (type == &PyArray_Type ? ((PyArrayObject_fields *)x)->base != NULL
                                      : !(type == &PyFloat_Type || type == &PyLong_Type || x == Py_None)) {
                return 0;
            }
        }
        return 1;
    }
    """
    bint dispatch_is_fresh(PyObject *out, PyObject *const *args, Py_ssize_t count) noexcept

cdef object may_share_memory = np.may_share_memory


class Residual:
    """Hint of a last output that stays inside the operator: what the forward kept for the backward.

    A factorisation, a handle, a pointer: any Python object. The caller of the operator never sees it; it travels up the
    layers untouched, is `ctx.residual` in `setup_context` and in the backward rule, becomes a list under vmap's loop, and
    is freed with its node. As the hint of a parameter it takes such an object back, so that the backward rule can be made
    of operators too.

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


cdef enum:
    DEPTH = 3                               # how deep containers of arrays are nested: as Tensor[][], in a record


cdef bint apart(PyObject *out, PyObject *const *args, Py_ssize_t count, int depth) noexcept:
    """Whether an array is none of the arguments, nor a view of one or of an array in a container."""
    cdef Py_ssize_t i
    cdef PyObject *owner = owner_of(out)
    for i in range(count):
        if args[i] == out:
            return False
        if cnp.PyArray_Check(<object>args[i]):
            if owner_of(args[i]) == owner and may_share_memory(<object>out, <object>args[i]):
                return False
        elif depth:
            items = items_of(<object>args[i])
            if items is not None and not apart(out, PySequence_Fast_ITEMS(<PyObject *>items), len(items), depth - 1):
                return False
    return True


cdef bint all_apart(PyObject *out, PyObject *const *args, Py_ssize_t count, int depth) noexcept:
    """The same of every array in an output, and that none stands there twice."""
    cdef Py_ssize_t i
    if cnp.PyArray_Check(<object>out):
        return apart(out, args, count, DEPTH)
    items = items_of(<object>out) if depth else None
    if items is None:
        return True
    for i in range(len(items)):
        if not all_apart(PySequence_Fast_ITEMS(<PyObject *>items)[i], args, count, depth - 1):
            return False
    return not repeated(PySequence_Fast_ITEMS(<PyObject *>items), len(items))


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

    def __init__(self, tuple checks not None, *, residual=False, aliased=False, tuple returned=None):
        self.checks = checks
        self.count = len(checks)
        self.residual = residual
        self.aliased = aliased
        self.returned = returned if returned is not None else (-1,) * len(checks)
        self.single = (self.count == 1 and not residual and not aliased and (<Check>checks[0]).kind == TENSOR
                       and not (<Check>checks[0]).optional)

    cdef bint accept(self, PyObject *result, PyObject *const *args, Py_ssize_t count) noexcept:
        cdef Py_ssize_t i, total = self.count + self.residual
        cdef PyObject **items
        if self.single and is_exact(result):
            return dispatch_is_fresh(result, args, count) or apart(result, args, count, DEPTH)
        if total == 0:
            return result == Py_None
        if total == 1:
            return self.count == 0 or self.accept_one(0, result, args, count)       # a lone residual may be anything
        if not (PyTuple_Check(<object>result) or PyList_Check(<object>result)) or PySequence_Fast_GET_SIZE(result) != total:
            return False
        items = PySequence_Fast_ITEMS(result)
        for i in range(self.count):
            if not self.accept_one(i, items[i], args, count):
                return False
        return self.aliased or not repeated(items, self.count)

    cdef bint accept_one(self, Py_ssize_t i, PyObject *out, PyObject *const *args, Py_ssize_t count) noexcept:
        cdef rank_t rank = 0
        cdef Py_ssize_t argument = <Py_ssize_t>self.returned[i]
        if argument >= 0:
            return out == args[argument]
        return (<Check>self.checks[i]).accept(out, &rank) and (self.aliased or all_apart(out, args, count, DEPTH))

    cdef PyObject *without_residual(self, PyObject *result) noexcept:
        """What the caller sees of a kernel's outputs, a new reference; NULL where they are not as many as they should be."""
        cdef PyObject **items
        if self.count > 0 and (not (PyTuple_Check(<object>result) or PyList_Check(<object>result))
                               or PySequence_Fast_GET_SIZE(result) != self.count + 1):
            return NULL
        if self.count == 1:
            items = PySequence_Fast_ITEMS(result)
            Py_INCREF(<object>items[0])
            return items[0]
        seen = None if self.count == 0 else tuple(<object>result)[:self.count]
        Py_INCREF(seen)
        return <PyObject *>seen


cdef bint repeated(PyObject **items, Py_ssize_t count) noexcept:
    """Whether one ndarray stands at two places of the outputs."""
    cdef Py_ssize_t i, k
    for i in range(count):
        for k in range(i):
            if items[i] == items[k] and cnp.PyArray_Check(<object>items[i]):
                return True
    return False
