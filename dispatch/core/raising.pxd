"""What happens where a call is refused; `self` is an operator, borrowed."""
from cpython.object cimport PyObject

from .definition cimport Definition

cdef tuple values_of(PyObject *const *args, Py_ssize_t n)
cdef PyObject *refused(PyObject *self, Definition definition, PyObject *const *args, Py_ssize_t n,
                       PyObject *keywords) noexcept
cdef PyObject *refused_output(PyObject *self, Definition definition, PyObject *const *args, Py_ssize_t n,
                              PyObject *result) noexcept
cdef void note(PyObject *self, Definition definition, PyObject *const *args, Py_ssize_t n) noexcept
