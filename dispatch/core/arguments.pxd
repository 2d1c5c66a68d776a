"""What an operator's arguments may be, and how a call is bound to them."""
from cpython.object cimport PyObject

from .keys cimport rank_t

cdef enum:                                  # the kind of a check; in Python `Kind.ANY` and so on
    ANY = 0
    TENSOR = 1
    TENSOR_OR_NUMBER = 2                    # the kinds up to here take an exact ndarray without a further look
    INT = 3                                 # from here to DTYPE: values that hold no array
    FLOAT = 4
    COMPLEX = 5
    BOOL = 6
    STR = 7
    BYTES = 8
    SCALAR = 9
    DTYPE = 10
    CALLABLE = 11
    INSTANCE = 12
    LIST = 13
    TUPLE = 14
    DICT = 15
    NONE = 16
    RESIDUAL = 17
    DEVICE = 18                             # of an operator without arrays: the device decides which kernel runs
    LITERAL = 19
    UNION = 20


cdef class Check:
    cdef readonly int kind
    cdef readonly bint optional             # None passes
    cdef readonly bint written              # of a TENSOR: the operator writes to it
    cdef readonly Check element             # of a LIST, of the values of a DICT
    cdef readonly tuple members             # of a TUPLE, a record or a UNION: one Check each
    cdef readonly Py_ssize_t size           # of a LIST: -1, or the length, and then one element stands for all
    cdef readonly object cls                # of an INSTANCE or a record; the choices of a LITERAL
    cdef readonly object dtype              # of a TENSOR: the only dtype that passes, in native byte order

    # yes, no, or -1 with an exception: what is asked of a value may run code of its class
    cdef int accept(self, PyObject *x, rank_t *rank) except -1
    cdef int accept_array(self, PyObject *x, rank_t *rank) except -1
    cdef int accept_list(self, PyObject *x, rank_t *rank) except -1
    cdef int accept_tuple(self, PyObject *x, rank_t *rank) except -1
    cdef int accept_union(self, PyObject *x, rank_t *rank) except -1
    cdef int accept_dict(self, PyObject *x, rank_t *rank) except -1


cdef class Arguments:
    cdef readonly tuple names
    cdef readonly tuple checks
    cdef readonly tuple defaults            # () where there is none, (value,) where there is
    cdef tuple renewed                      # which defaults hold a list or a dict, of which each call gets its own; None: none
    cdef readonly tuple keyword_names       # of the keyword-only ones, in schema order; they come last
    cdef readonly Py_ssize_t count, positional, positional_only
    cdef Py_ssize_t direct                  # how many positional arguments make a call that needs no binding, or -1
    cdef PyObject *kernel_keywords          # keyword_names (borrowed), or NULL where there are none
    cdef unsigned char *kinds

    cdef list renew(self, PyObject **full)
    cdef bint bind(self, PyObject *const *args, Py_ssize_t n, PyObject *keywords, PyObject **full) noexcept
    cdef int accept(self, Py_ssize_t i, PyObject *x, rank_t *rank) except -1
