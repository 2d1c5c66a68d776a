"""What must be so for a graph to stand for a call of a compiled function."""
cimport cython
from cpython.object cimport PyObject


cdef struct Slot:
    int kind
    PyObject *dtype
    PyObject *known                         # of a float what it must be, or NULL; of another value a function that says yes
    int ndim
    Py_ssize_t *shape                       # and the strides behind it


@cython.final
cdef class Slots:
    cdef Slot *slots
    cdef readonly Py_ssize_t count
    cdef PyObject **table                   # takes the addresses of the inputs, to find two that are one
    cdef size_t width
    cdef list kept

    cdef bint bind(self, Py_ssize_t number, PyObject *now, PyObject *found) except -1
    cdef bint all_apart(self, PyObject *found) except -1


cdef struct Part:
    int kind
    Py_ssize_t slot                         # of a container how many items it has
    PyObject *what                          # the value; of a container its class
    PyObject *keys                          # of a dict
    Py_ssize_t more                         # of a record how many attributes it has


@cython.final
cdef class Arguments:
    cdef Part *parts
    cdef Py_ssize_t count
    cdef list kept
    cdef readonly list containers

    cdef Py_ssize_t match(self, PyObject *x, Py_ssize_t at, Slots slots, PyObject *found, list seen) except -1


cdef struct Expected:
    PyObject *was
    Py_ssize_t slot                         # -1: it must be the same; -2: it may be anything


cdef struct Guard:
    int kind
    PyObject *holder
    PyObject *name
    Py_ssize_t count
    Expected *expected


@cython.final
cdef class Conditions:
    cdef Slots slots
    cdef Arguments arguments
    cdef Guard *guards
    cdef Py_ssize_t count
    cdef tuple names
    cdef list kept
    cdef set holders
    cdef bint loose, exact
    cdef list containers                    # None where no container is given
    cdef readonly list places

    cpdef object inputs(self, tuple args, dict keywords)
    cdef bint are_new(self, list seen) except -1
    cdef bint holds(self, Guard *guard, PyObject *found) except -1
    cdef bint fits(self, PyObject *now, Expected *expected, PyObject *found) except -1
    cdef bint dict_holds(self, Guard *guard, PyObject *found) except -1
    cdef bint items_hold(self, Guard *guard, PyObject *found) except -1
    cdef bint read_holds(self, Guard *guard, PyObject *found) except -1


cdef class Ready:
    cdef public Conditions conditions
    cdef public object run
    cdef public Py_ssize_t hits
    cdef public tuple written, beside
    cdef public bint repeatable, doubted


cdef class Caller:
    cdef public list entries
    cdef public bint is_simple
