"""The operator, as C sees it."""
from cpython.object cimport PyObject

from .arguments cimport Arguments
from .keys cimport rank_t
from .outputs cimport Outputs
from .table cimport KernelTable
from .vectorcall cimport vectorcallfunc


cdef class OpOverload:
    cdef vectorcallfunc slot                # first, and the only reason the class is final
    cdef readonly Arguments arguments
    cdef readonly Outputs outputs
    cdef readonly KernelTable table
    cdef readonly object schema
    cdef readonly tuple tags
    cdef readonly object wording            # finds the words for what was refused here with yes or no
    cdef OpOverload inner                   # `whole`, once it was asked for and where it is not self
    cdef OpOverload primary                 # of a `whole`: the operator it belongs to; else None
    cdef list past                          # what redefinitions replaced: a call that is running may still read it
    cdef dict __dict__
    cdef object __weakref__


cdef PyObject *run(PyObject *self, PyObject *arguments, PyObject *const *args, size_t nargsf, rank_t rank,
                   bint whole) noexcept
cdef PyObject *run_kernel(PyObject *self, PyObject *arguments, PyObject *const *args, size_t nargsf, unsigned int key,
                          bint whole, PyObject *kernel) noexcept
