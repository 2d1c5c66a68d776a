"""Raises the exception for a call that a check refused; the operator's hooks make it, from the definition that was called.

The checks answer yes or no. Only after a no are the values of the call Python objects again, so nothing here need be fast.
"""
from cpython.exc cimport PyErr_Fetch, PyErr_NormalizeException, PyErr_Restore, PyErr_SetObject
from cpython.object cimport PyObject

from .definition cimport Definition
from .vectorcall cimport hold, release


cdef tuple values_of(PyObject *const *args, Py_ssize_t n):
    return tuple([<object>args[i] for i in range(n)])


cdef PyObject *refused(PyObject *self, Definition definition, PyObject *const *args, Py_ssize_t n,
                       PyObject *keywords) noexcept:
    """Raise what is wrong with the arguments; where they are another framework's arrays, return what it makes of the call."""
    cdef Py_ssize_t i
    try:
        named = {} if keywords == NULL else {name: <object>args[n + i] for i, name in enumerate(<tuple><object>keywords)}
        values = values_of(args, n)
        result = (<object>self).hooks.taken_over(<object>self, values, named)
        if result is not NotImplemented:
            hold(<PyObject *>result)
            return <PyObject *>result
        error = (<object>self).hooks.refused(definition, values, named)
    except BaseException as failure:        # a hook is ordinary Python and may fail too
        error = failure
    PyErr_SetObject(type(error), error)
    return NULL


cdef PyObject *refused_output(PyObject *self, Definition definition, PyObject *const *args, Py_ssize_t n,
                              PyObject *result) noexcept:
    """Raise what is wrong with a kernel's outputs, and let go of them."""
    try:
        error = (<object>self).hooks.refused_output(definition, values_of(args, n), <object>result)
    except BaseException as failure:
        error = failure
    release(result)
    PyErr_SetObject(type(error), error)
    return NULL


cdef void note(PyObject *self, Definition definition, PyObject *const *args, Py_ssize_t n) noexcept:
    """Add operator, kernel and shapes to the exception of a kernel; its type and traceback stay."""
    cdef PyObject *kind
    cdef PyObject *error
    cdef PyObject *traceback
    PyErr_Fetch(&kind, &error, &traceback)
    PyErr_NormalizeException(&kind, &error, &traceback)
    if error == NULL:                       # a kernel in C that failed without saying why: the interpreter will complain
        return
    (<object>error).__traceback__ = (<object>error).__traceback__ if traceback == NULL else <object>traceback
    try:
        (<object>self).hooks.note(definition, values_of(args, n), <object>error)
    except Exception:                       # without a note, then: what arrives is what the kernel raised
        pass
    except BaseException as ending:         # Ctrl-C while an argument is described: it must not be lost
        release(kind)
        release(error)
        if traceback != NULL:
            release(traceback)
        PyErr_SetObject(type(ending), ending)
        return
    PyErr_Restore(kind, error, traceback)
