"""One call of a loop, as `Loop` fills it in."""
cimport numpy as cnp
from cpython.object cimport PyObject

from .items cimport Operand, Output


cdef class Walk:
    cdef object kernel                      # of one item
    cdef object words
    cdef PyObject *names                    # of keyword-only arguments: borrowed from the loop, or NULL
    cdef Py_ssize_t positional              # arguments given by position
    cdef tuple args                         # all of them
    cdef tuple arrays                       # the inputs, scalars as 0-d arrays
    cdef tuple cores                        # the core dimensions of each output
    cdef Py_ssize_t nin, nout
    cdef readonly Py_ssize_t count          # items
    cdef Py_ssize_t limit                   # no item from here on need run: an earlier one has failed
    cdef int ndim
    cdef cnp.npy_intp *shape                # of the loop; all that is counted in axes lies behind it
    cdef cnp.npy_intp *sizes                # of the core dimensions, -1 where only the first result can tell
    cdef Operand *operands
    cdef Output *outputs
    cdef list results                       # the output arrays
    cdef bint made                          # whether they are

    cdef keep(self, result, Py_ssize_t item)
    cdef make(self, tuple results)
    cdef cnp.ndarray value(self, Py_ssize_t i, result)
    cdef put(self, Py_ssize_t i, result, char *to)


cdef tuple sized(tuple core, cnp.npy_intp *sizes)
