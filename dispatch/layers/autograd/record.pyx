"""The record of one call, for whoever walks back over calls: a few references and a number, made in one step of C.

A program of a million calls makes a million of these. Nothing here knows what is recorded, or for what.
"""
cimport cython
cimport numpy as cnp

from ...core.arrays cimport is_exact
from ...core.tensor cimport Wrapped
from cpython.object cimport PyObject, PyTypeObject

from ...core.tensor import wrap
from ...core.array_memory import inexact_layout

cnp.import_array()

cdef extern from "numpy/arrayobject.h":
    int NPY_ARRAY_WRITEABLE
    void PyArray_CLEARFLAGS(cnp.ndarray, int) noexcept

cdef extern from *:
    """
    static long long dispatch_last_order = 0;
    /* Counts down, for all threads. */
    static inline long long dispatch_next_order(void) {
        return __atomic_sub_fetch(&dispatch_last_order, 1, __ATOMIC_RELAXED);
    }
    /* tp_new with nothing to parse. */
    static inline PyObject *dispatch_made(PyObject *cls, PyObject *no_arguments) {
        return ((PyTypeObject *)cls)->tp_new((PyTypeObject *)cls, no_arguments, NULL);
    }
    """
    long long dispatch_next_order() noexcept
    object dispatch_made(object cls, tuple no_arguments)
    void PyObject_GC_Track(PyObject *)
    void PyObject_GC_UnTrack(PyObject *)
    int PyObject_GC_IsTracked(PyObject *)
    int PyObject_IS_GC(PyObject *)

cdef tuple NOTHING = ()
cdef tuple NONE = (None,) * 30


def next_order():
    """A number smaller than that of every record there is."""
    return dispatch_next_order()


@cython.trashcan(True)
cdef class Record:
    """The fields of a recorded call; see `Node`, which gives them their meaning.

    A chain of a million records is freed without recursion. Inputs that are their own edges, and all None but the first two,
    are kept without a tuple, which would be one more object for Python's collector to look at, again and again, while the
    chain grows.
    """

    def __cinit__(self):
        self.order = dispatch_next_order()
        self.all_inputs = self.all_edges = NOTHING

    @property
    def rule(self):
        return self.goes_by

    @rule.setter
    def rule(self, rule):
        self.goes_by = rule
        show((self,))                       # a rule that came later, a hook's say, may lead back here

    @property
    def inputs(self):
        if self.few == 0:
            return self.all_inputs
        if self.few == 1:
            return (self.first,)
        return (self.first, self.second) if self.few == 2 else (self.first, self.second, *NONE[:self.few - 2])

    @inputs.setter
    def inputs(self, inputs):
        self.all_edges = self.edges
        self.all_inputs = inputs
        self.few = 0

    @property
    def edges(self):
        return self.inputs if self.few else self.all_edges

    @edges.setter
    def edges(self, tuple edges not None):
        self.all_inputs = self.inputs
        self.all_edges = edges
        self.few = 0

    def let_go(self, rule):
        """Forget what went in and what was saved, and go by another rule from here on."""
        self.first = self.second = self.saved = None
        self.all_inputs = self.all_edges = NOTHING
        self.few = 0
        self.goes_by = rule


cdef class End:
    """The fields of a leaf; see `Leaf`. The collector does not look at one until something later may be found in it."""

    def __init__(self, layout):
        self.layout = layout
        PyObject_GC_UnTrack(<PyObject *>self)


cdef layout_of(x, tuple inputs):
    """The `(shape, dtype)` of an array or wrapper that can have a gradient, else None.

    It is that of the first record in `inputs`, where they are equal: a chain of calls keeps one of them.
    """
    cdef tuple layout, shape
    cdef int i, ndim
    if is_exact(<PyObject *>x):
        for found in inputs:
            if isinstance(found, Record):
                found = (<Record>found).layout
                if found is None:
                    break
                layout = <tuple>found
                if layout[1] is not (<cnp.ndarray>x).descr:
                    break
                shape = <tuple>layout[0]
                ndim = cnp.PyArray_NDIM(<cnp.ndarray>x)
                if len(shape) != ndim:
                    break
                for i in range(ndim):
                    if cnp.PyArray_DIM(<cnp.ndarray>x, i) != <cnp.npy_intp>shape[i]:
                        break
                else:
                    return layout
                break
    return inexact_layout(x)


cdef bint few_of(tuple inputs):
    cdef Py_ssize_t i
    for i in range(2, len(inputs)):
        if inputs[i] is not None:
            return False
    return 0 < len(inputs) <= 32


cdef bint any_tracked(tuple edges):
    for edge in edges:
        if edge is not None and PyObject_GC_IsTracked(<PyObject *>edge):
            return True
    return False


def show(tuple objects not None):
    """Let the collector see objects that may refer to something later from here on; None is allowed."""
    for x in objects:
        if PyObject_IS_GC(<PyObject *>x) and not PyObject_GC_IsTracked(<PyObject *>x):
            PyObject_GC_Track(<PyObject *>x)


def recorded(type cls not None, type wrapper not None, op, rule, out, Wrapped like not None, tuple inputs not None,
             tuple edges, saved):
    """A record of a call, in a wrapper of its result; the result itself where that can have no gradient.

    Parameters
    ----------
    cls : type
        Of records.
    wrapper : type
        Of wrappers.
    op, rule, inputs, saved : object
        Fields of the record.
    edges : tuple or None
        None: the inputs, which are no lists.
    out : array or Tensor
        The result; an array becomes read-only.
    like : Tensor
        Whose level and rank the wrapper has.
    """
    cdef Record node
    cdef Wrapped made
    layout = layout_of(out, inputs)
    if layout is None:
        return out
    node = dispatch_made(cls, NOTHING)
    node.op = op
    node.level = like.level
    node.goes_by = rule
    node.saved = saved
    node.layout = layout
    if edges is None and few_of(inputs):
        node.few = <int>len(inputs)
        node.first = inputs[0]
        if node.few > 1:
            node.second = inputs[1]
    else:
        node.all_inputs = inputs
        node.all_edges = inputs if edges is None else edges
    # The collector would look at all of a long tape again and again while it grows: a record that was made of untracked ones
    # alone, and takes no attributes, is spared it. One in which something later may be found, a hook's closure or what a
    # user put on it, is tracked, and so is all that is made of it from then on: a cycle through it is tracked all around.
    if (<PyTypeObject *>cls).tp_dictoffset == 0 and not any_tracked(inputs if edges is None else edges):
        PyObject_GC_UnTrack(<PyObject *>node)
    if not is_exact(<PyObject *>out):
        return wrap(wrapper, out, like, node, True)
    PyArray_CLEARFLAGS(<cnp.ndarray>out, NPY_ARRAY_WRITEABLE)
    made = dispatch_made(wrapper, NOTHING)
    made.value = out
    made.data = node
    made.level = like.level
    made.rank = like.rank
    return made
