"""A run of elementwise calls, as C sees it."""
cimport numpy as cnp
from cpython.object cimport PyObject

from .layouts cimport Layout

cdef enum:
    MOST_PLACES = 4                         # of one call: three arguments and the result


ctypedef void (*Function)(char **, const cnp.npy_intp *, const cnp.npy_intp *, void *) noexcept nogil


cdef struct Place:
    int kind                                # GIVEN, MADE, KEPT or KNOWN
    int slot                                # of what is given or made
    char *known                             # where it lies, of what is KNOWN
    Py_ssize_t outer, inner                 # bytes from one row to the next, and from one number to the next
    Layout layout
    int *taken                              # of what is MADE: the places of arrays that may take it, -1 behind the last


cdef struct Step:
    Function function
    void *data
    const char *name
    int count
    bint flat                               # whether no operand is repeated for each row
    int places[MOST_PLACES]
    cnp.npy_intp steps[MOST_PLACES]


cdef class Blockwise:
    cdef readonly Py_ssize_t count          # of calls
    cdef readonly Py_ssize_t helped         # threads that were begun so far, to share it
    cdef public double least_share          # nanoseconds of work that are worth a thread of their own
    cdef Py_ssize_t size, inner           # numbers in all, and in a row
    cdef Py_ssize_t rows, columns           # of a block
    cdef Py_ssize_t grown_rows, grown_columns, block_bytes     # of a large one, and its bytes
    cdef int places_count, kept_count
    cdef Place *places
    cdef Step *steps
    cdef list held                          # what the pointers above refer to
    cdef set ufuncs
    cdef dict layouts                       # by slot, of all that the calls read and give

    cdef int run(self, PyObject **slots, int workers, Py_ssize_t *at) except -1
    cdef bint look(self, PyObject **slots, char **bases, list scalars) except -1
    cdef int make(self, PyObject **slots, char **bases, PyObject **made) except -1
    cdef int compute(self, char **bases, char **now, char *scratch, unsigned char *raised, int helpers) noexcept nogil
    cdef int share(self, void *given, char **now, unsigned char *raised, int helpers) noexcept nogil
    cdef bint next_block(self, void *given, char **bases, char **now, unsigned char *raised) noexcept nogil
    cdef void place_kept(self, char **now, char *scratch) noexcept nogil
    cdef void block(self, char **bases, char **now, unsigned char *raised, Py_ssize_t row, Py_ssize_t column, Py_ssize_t rows,
                    Py_ssize_t columns) noexcept nogil
    cdef void step(self, Step *step, char **now, Py_ssize_t rows, Py_ssize_t columns) noexcept nogil
    cdef Py_ssize_t take_place(self, str kind, int number, layout, bint along, Py_ssize_t own, tuple taken, Py_ssize_t row,
                               dict known) except -1
    cdef int take_step(self, Step *step, ufunc, int loop, tuple operands, Py_ssize_t row) except -1
    cdef int divide(self, Py_ssize_t row, Py_ssize_t width) except -1
