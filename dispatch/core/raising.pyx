"""Raising what was found wrong, in the words that `wording` finds: beside the way of a call, and never fast.

The core decides with yes or no and says nothing. Here the values of the call become Python objects again and go to the
operator's `wording`, which is `dispatcher/call_errors.py`.
"""
from cpython.exc cimport PyErr_SetObject
from cpython.object cimport PyObject

from .vectorcall cimport release

cdef extern from *:
    void PyErr_Fetch(PyObject **, PyObject **, PyObject **)
    void PyErr_NormalizeException(PyObject **, PyObject **, PyObject **)
    void PyErr_Restore(PyObject *, PyObject *, PyObject *)


cdef tuple values_of(PyObject *const *args, Py_ssize_t n):
    return tuple([<object>args[i] for i in range(n)])


cdef PyObject *refused(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *keywords) noexcept:
    """Raise what is wrong with the arguments, in words."""
    op = <object>self
    cdef Py_ssize_t i
    try:
        named = {} if keywords == NULL else {name: <object>args[n + i] for i, name in enumerate(<tuple><object>keywords)}
        error = op.wording.refused(op, values_of(args, n), named)
    except BaseException as failure:        # the search for words is ordinary Python and may fail too
        error = failure
    PyErr_SetObject(type(error), error)
    return NULL


cdef PyObject *refused_output(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *result) noexcept:
    """Raise what is wrong with a kernel's outputs, in words, and let go of them."""
    op = <object>self
    try:
        error = op.wording.refused_output(op, values_of(args, n), <object>result)
    except BaseException as failure:
        error = failure
    release(result)
    PyErr_SetObject(type(error), error)
    return NULL


cdef void note(PyObject *self, PyObject *const *args, Py_ssize_t n) noexcept:
    """Add operator, kernel and shapes to the exception of a kernel; its type and traceback stay."""
    op = <object>self
    cdef PyObject *kind
    cdef PyObject *error
    cdef PyObject *traceback
    PyErr_Fetch(&kind, &error, &traceback)
    PyErr_NormalizeException(&kind, &error, &traceback)
    if error == NULL:                       # a kernel in C that failed without saying why: the interpreter will complain
        return
    try:
        op.wording.note(op, values_of(args, n), <object>error)
    except BaseException:                   # without a note, then: what arrives is what the kernel raised
        pass
    PyErr_Restore(kind, error, traceback)
