"""A program, as C sees it."""
from cpython.object cimport PyObject

from .layouts cimport Layout
from .overload cimport OpOverload


cdef struct Arguments:
    Py_ssize_t count
    int *sources                            # for each its slot, STATIC, FLAT or BUILT
    PyObject **values                       # for each what is known of it: the value, or the container to build


cdef struct Plain:
    PyObject *kernel                        # the operator's for plain arrays, for which this stands; NULL: nothing does
    PyObject *function                      # what is called
    PyObject *names                         # of the arguments by keyword, which come last; NULL for none
    Arguments arguments
    size_t positions                        # how many go by position, as a callee is told
    bint builds                             # whether some are FLAT
    bint of_numbers                         # whether Python's operator stands for a ufunc, whatever the layouts
    bint subscripts                         # whether it is `x[i]` of an index that is known
    PyObject **dtypes                       # of each argument from a slot, an array's; NULL for others


cdef struct Call:
    PyObject *op                            # borrowed from `kept`, as all here; NULL: an item of a value
    Arguments own
    Plain plain
    Layout *layouts                         # for each what is planned; NULL where no argument may take the result
    Layout result
    int *written                            # the arguments that may take the result, -1 behind the last
    int *dying                              # the slots that nobody reads any more, -1 behind the last
    int out                                 # the slot of the result, or -1
    PyObject *promised                      # of the result, by the operator's fake rule; NULL: nothing that a run has to check
    PyObject *run                           # the `Blockwise` that begins here; NULL for none


cdef class Slot:
    cdef readonly int number


cdef class Program:
    cdef readonly Py_ssize_t slots, count, given
    cdef readonly object outputs
    cdef object describe, broken
    cdef public int workers                 # threads that share a run of ufuncs which takes long; 1 at first
    cdef readonly list runs                 # of calls that are made block by block: the number of the first, and a `Blockwise`
    cdef list kept, constants               # what the pointers below refer to; slot, value and whether a run gets a copy
    cdef char *free                         # memory that is still to be handed out, and how much
    cdef size_t left
    cdef Call *calls
    cdef Layout *inputs

    cdef void *memory(self, size_t size) except NULL
    cdef int fill(self, number, set filled) except -1
    cdef int *numbers(self, values) except NULL
    cdef Layout layout(self, planned) except *
    cdef Layout *layouts(self, planned) except NULL
    cdef tuple take(self, Call *call, OpOverload op, tuple args, int out, layouts, result, written, dying, tuple plain,
                    set filled)
    cdef int take_arguments(self, Arguments *made, tuple args, bint shared) except -1
    cdef int take_plain(self, Plain *made, tuple plain, set filled) except -1
    cdef bint as_planned(self, tuple values) noexcept
    cdef int run(self, PyObject **slots, bint planned, Py_ssize_t *at) except -1
    cdef bint run_blockwise(self, Py_ssize_t first, PyObject **slots, Py_ssize_t *at) except -1
