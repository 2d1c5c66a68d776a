"""Notes, in each call of an operator that returns views, which value is a view of which.

It is compiled because a view costs NumPy a tenth of a microsecond, and in Python this took one. What is done with it, a write
that shows in every view, is in views.py, in Python.
"""
cimport cython, numpy as cnp
from cpython.object cimport PyObject

from ..core.arrays cimport is_exact, owner_of
from ..core.tensor cimport Wrapped

from ..core.pytree import arrays

cnp.import_array()

cdef extern from *:
    """
    /* Whether what a weak reference was to is gone: no call, and no reference to it for a moment. */
    static inline int dispatch_is_gone(PyObject *reference) {
        return ((PyWeakReference *)reference)->wr_object == Py_None;
    }
    """
    bint is_gone "dispatch_is_gone"(PyObject *reference) noexcept
    object PyWeakref_NewRef(object, PyObject *)

cdef enum:
    FEW = 8                                 # views that are noted before the first look at which of them are gone


@cython.binding(False)
cdef class Family:
    """The views of one value, and their views, in the order in which they were taken."""

    def __cinit__(self):
        self.views, self.limit = [], FEW

    cdef int add(self, view) except -1:
        cdef Py_ssize_t n = len(self.views)
        reference = PyWeakref_NewRef(view, NULL)
        if n and is_gone(<PyObject *>self.views[n - 1]):   # as in a loop that takes one view after the other
            self.views[n - 1] = reference
            return 0
        self.views.append(reference)
        if n >= self.limit:                 # doubled since the last look
            self.views = [x for x in self.views if not is_gone(<PyObject *>x)]
            self.limit = 2 * len(self.views) + FEW
        return 0

    def alive(self):
        """The views that somebody still has."""
        return [x for x in [x() for x in self.views] if x is not None]


@cython.binding(False)
cdef class View:
    """How a view was made: it is output `number` of a call whose argument `place` holds `of`, as array number `part`."""

    def __init__(self, of, op, tuple args not None, Py_ssize_t place, Py_ssize_t part, Py_ssize_t number):
        self.of, self.op, self.args, self.place, self.part, self.number = of, op, args, place, part, number

    def again(self, lowered):
        """Make the view again from its base."""
        return arrays(self.op.whole(*lowered(self.args)))[self.number]


cpdef int join(Wrapped view, Wrapped x, op, tuple args, Py_ssize_t place, Py_ssize_t part, Py_ssize_t number) except -1:
    """Note that a value is a view of another, and by which call."""
    cdef View made = View.__new__(View)
    made.of, made.op, made.args, made.place, made.part, made.number = x, op, args, place, part, number
    if x.family is None:
        x.family = made.family = Family.__new__(Family)
    else:
        made.family = (<View>x.family).family if type(x.family) is View else x.family
    view.family, view.writes = made, x.writes
    return made.family.add(view)


cdef bint is_new(value, list given):
    """Whether an array owns its memory and is none of those in a list."""
    if not is_exact(<PyObject *>value) or cnp.PyArray_BASE(<cnp.ndarray>value) != NULL:
        return False
    for x in given:
        if x is value or (isinstance(x, Wrapped) and (<Wrapped>x).value is value):
            return False
    return True


def viewing_kernel(op, tuple more not None, kernel not None, type cls not None, Py_ssize_t place, bint mutable,
                   otherwise not None):
    """A layer's kernel that notes views, as those that `op` takes of its arguments and `more`.

    The usual call has its one base, a value of the layer around an array, at `place`, and one result of that kind, or there a
    list and a result in memory of its own; `otherwise(out, args)` notes what another has, and every call where `place` is -1.
    """
    def viewing(*args):
        cdef cnp.ndarray seen, whole
        cdef PyObject *base
        out = kernel(*args)
        if place < 0 or place >= len(args) or type(out) is not cls:
            otherwise(out, args)
            return out
        x = args[place]
        if type(x) is list and not mutable and is_new((<Wrapped>out).value, <list>x):
            return out
        if type(x) is not cls or not is_exact(<PyObject *>(<Wrapped>out).value) or not is_exact(<PyObject *>(<Wrapped>x).value):
            otherwise(out, args)
            return out
        seen, whole = (<Wrapped>out).value, (<Wrapped>x).value
        base = <PyObject *>cnp.PyArray_BASE(seen)
        if mutable:                         # a layer may run it on copies, and they may share memory all the same
            if out is not x and (<Wrapped>out).rank == (<Wrapped>x).rank:
                join(out, x, op, args + more if more else args, place, -1, 0)
        elif base == NULL and seen is not whole:
            return out                      # a new array
        elif out is not x and (<Wrapped>out).rank == (<Wrapped>x).rank and (
                base == <PyObject *>whole or owner_of(<PyObject *>seen) == owner_of(<PyObject *>whole)):
            join(out, x, op, args + more if more else args, place, -1, 0)
        return out

    return viewing
