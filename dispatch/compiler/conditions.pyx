"""Compares, at each call of a compiled function, what a trace depended on: the arguments, and what the function refers to.

A guard is a place where a value was found, and the value: an item of a dict, a cell, a list, the class of an object. Arrays
and floats that are inputs of the graph are bound to its slots on the way, so that one pass compares and collects. Nothing is
compared by `==` that says of two different values that they are equal: -0.0 is not 0.0, and True is not 1.

    Slots        the inputs: what may be bound to each
    Arguments    how the arguments of a call are nested, and what they are
    Conditions   both, and the guards: the inputs for a call, or None

It has more than 350 lines since a slot is bound by arguments and by guards alike; it is C because each call runs all of it.
"""
cimport cython
cimport numpy as cnp
from cpython.dict cimport PyDict_Next, PyDict_Size
from cpython.object cimport PyObject
from libc.stdlib cimport qsort
from libc.string cimport memcmp, memset

from ..core.arrays cimport is_exact
from ..core.flatten cimport items_of
from ..core.layouts cimport is_laid_out
from ..core.python cimport (
    Py_DECREF, Py_INCREF, Py_TYPE, PyCell_GET, PyFloat_AS_DOUBLE, PyFloat_CheckExact, PyFunction_GET_CODE,
    PyFunction_GET_DEFAULTS, PyFunction_GET_KW_DEFAULTS, PyList_GET_ITEM, PyList_GET_SIZE, PyLong_CheckExact, PyTuple_GET_ITEM,
    PyTuple_GET_SIZE, PyUnicode_CheckExact, PyUnicode_Compare,
)
from ..core.state cimport rank_of_thread

cnp.import_array()

import numpy as np
from .trusted import same_dtypes

cdef extern from *:
    """
    /* Of a class its bases, and the dict of an object as its class made it; both change only when somebody sets them. */
    static inline PyObject *dispatch_mro(PyObject *x) { return ((PyTypeObject *)x)->tp_mro; }
    static inline PyObject *dispatch_dict(PyObject *x) {
        PyObject *found = PyObject_GenericGetDict(x, NULL);
        if (found == NULL) { PyErr_Clear(); return NULL; }
        Py_DECREF(found);
        return found;
    }
    """
    PyObject *mro_of "dispatch_mro"(PyObject *) noexcept
    PyObject *dict_of "dispatch_dict"(PyObject *) noexcept
    PyObject *PyDict_GetItemWithError(PyObject *, PyObject *) except? NULL
    PyObject *PyTuple_New(Py_ssize_t)
    void PyTuple_SET_ITEM(PyObject *, Py_ssize_t, PyObject *) noexcept

# Kinds of guards, and of arguments, for those who write them down; the same in C stand below.
ITEM, CELL, DICT, ITEMS, TYPE, MRO, FUNCTION, READ, BYTES = range(9)
ARRAY, FLOAT, OTHER, PLAIN, SAME, CONTAINER, CLASS = range(7)

cdef enum:
    IS_ITEM, IS_CELL, IS_DICT, IS_ITEMS, IS_TYPE, IS_MRO, IS_FUNCTION, IS_READ, IS_BYTES

cdef enum:
    IS_ARRAY, IS_FLOAT, IS_OTHER, IS_PLAIN, IS_SAME, IS_CONTAINER, IS_CLASS


class Absent:
    """Stands for a value where there is none."""

    def __init__(self, name):
        self.name = name

    def __repr__(self):
        return self.name


MISSING, EMPTY, SKIPPED = Absent("nothing"), Absent("an empty cell"), Absent("anything")
cdef object nothing = MISSING, empty = EMPTY, skipped = SKIPPED


# -- values ----------------------------------------------------------------------------------------------------------------


cdef bint same(PyObject *now, PyObject *was) except -1:
    """Whether two values are one object, or of one type and of one value to the bit, and cannot change."""
    cdef Py_ssize_t i
    cdef double a, b
    if now == was:
        return True
    if now == NULL or Py_TYPE(now) != Py_TYPE(was):
        return False
    if PyFloat_CheckExact(now):
        a, b = PyFloat_AS_DOUBLE(now), PyFloat_AS_DOUBLE(was)
        return a == a and memcmp(&a, &b, sizeof(double)) == 0      # `nan in values` asks which nan it is
    if PyLong_CheckExact(now):
        return <object>now == <object>was
    if PyUnicode_CheckExact(now):
        return PyUnicode_Compare(now, was) == 0
    if type(<object>now) is tuple:
        if PyTuple_GET_SIZE(now) != PyTuple_GET_SIZE(was):
            return False
        for i in range(PyTuple_GET_SIZE(now)):
            if not same(PyTuple_GET_ITEM(now, i), PyTuple_GET_ITEM(was, i)):
                return False
        return True
    x, y = <object>now, <object>was
    if type(x) is complex:
        return equal(x.real, y.real) and equal(x.imag, y.imag)
    if type(x) is slice or type(x) is range:       # ranges of one length may be equal that end elsewhere
        return equal((x.start, x.stop, x.step), (y.start, y.stop, y.step))
    if isinstance(x, np.generic) and not isinstance(x, (np.void, np.object_)):
        return x.dtype == y.dtype and x.tobytes() == y.tobytes() and x == x
    return same_dtypes(x, y) and x.metadata is y.metadata is None if isinstance(x, np.dtype) else type(x) is bytes and x == y


cdef bint equal(object now, object was) except -1:
    return same(<PyObject *>now, <PyObject *>was)


def is_same(now, was):
    """Whether two values are one, as the guards compare them."""
    return equal(now, was)


# -- the inputs ------------------------------------------------------------------------------------------------------------


@cython.final
cdef class Slots:
    """The inputs of a graph: `(kind, what)` for each. An array must be laid out as `what`, an array, is."""

    def __cinit__(self, list inputs not None):
        cdef Py_ssize_t i, k
        cdef cnp.ndarray x
        memory = bytearray((len(inputs) + 1) * sizeof(Slot))
        self.kept, self.count, self.slots = [memory, inputs], len(inputs), <Slot *><char *>memory
        self.width = 4
        while self.width < 2 * <size_t>self.count:
            self.width *= 2
        table = bytearray(self.width * sizeof(PyObject *))
        self.kept.append(table)
        self.table = <PyObject **><char *>table
        for i in range(self.count):
            kind, what = inputs[i]
            self.slots[i].kind = kind
            self.slots[i].known = NULL if what is None else <PyObject *>what
            if kind == IS_ARRAY:
                x = what
                memory = bytearray((2 * x.ndim + 1) * sizeof(Py_ssize_t))
                self.kept += [memory, what.dtype]
                inputs[i] = kind, None      # the layout is kept, and not the array
                dtype = what.dtype
                self.slots[i].known, self.slots[i].dtype = NULL, <PyObject *>dtype
                self.slots[i].ndim, self.slots[i].shape = x.ndim, <Py_ssize_t *><char *>memory
                for k in range(x.ndim):
                    self.slots[i].shape[k] = cnp.PyArray_DIM(x, k)
                    self.slots[i].shape[x.ndim + k] = cnp.PyArray_STRIDE(x, k)

    cdef bint bind(self, Py_ssize_t number, PyObject *now, PyObject *found) except -1:
        """Let an input be this value; whether it may, and is that one already if there is one."""
        cdef Slot *slot = &self.slots[number]
        cdef PyObject *before = PyTuple_GET_ITEM(found, number)
        if now == NULL:
            return False
        if slot.kind == IS_ARRAY:
            if before != NULL:
                return before == now
            if not is_exact(now):
                return False
            if not is_laid_out(now, slot.dtype, slot.ndim, slot.shape, slot.shape + slot.ndim):
                dtype = (<object>now).dtype
                if not (same_dtypes(dtype, <object>slot.dtype) and is_laid_out(now, <PyObject *>dtype, slot.ndim, slot.shape,
                                                                               slot.shape + slot.ndim)):
                    return False
        elif slot.kind == IS_FLOAT:
            if before != NULL:
                return same(now, before)
            if not PyFloat_CheckExact(now) or (slot.known != NULL and not same(now, slot.known)):
                return False
        else:
            if before != NULL:
                return before == now
            if not (<object>slot.known)(<object>now):
                return False
        Py_INCREF(now)
        PyTuple_SET_ITEM(found, number, now)
        return True

    cdef bint all_apart(self, PyObject *found) except -1:
        """Whether every input is there, and no array is in two places that were apart."""
        cdef Py_ssize_t i
        cdef PyObject *x
        cdef size_t place
        memset(self.table, 0, self.width * sizeof(PyObject *))
        for i in range(self.count):
            x = PyTuple_GET_ITEM(found, i)
            if x == NULL:
                return False
            if self.slots[i].kind == IS_FLOAT:
                continue
            place = (<size_t>x >> 4) & (self.width - 1)
            while self.table[place] != NULL:
                if self.table[place] == x:
                    return False
                place = (place + 1) & (self.width - 1)
            self.table[place] = x
        return True


# -- the arguments ---------------------------------------------------------------------------------------------------------


@cython.final
cdef class Arguments:
    """How arguments are nested and what they are: `(kind, slot, what, keys, more)` for each part, containers before items.

    A `loose` one takes calls in which one container or array is given twice, too.
    """

    def __cinit__(self, list parts not None):
        cdef Py_ssize_t i
        memory = bytearray((len(parts) + 1) * sizeof(Part))
        self.kept, self.parts, self.count = [memory, parts], <Part *><char *>memory, len(parts)
        for i in range(self.count):
            kind, slot, what, keys, more = parts[i]
            self.kept += [what, keys]
            self.parts[i].kind, self.parts[i].slot, self.parts[i].more = kind, slot, more
            self.parts[i].what, self.parts[i].keys = <PyObject *>what, <PyObject *>keys

    cdef Py_ssize_t match(self, PyObject *x, Py_ssize_t at, Slots slots, PyObject *found, list seen) except -1:
        """Compare a value with the part at a place; the place after it, or 0 where it differs."""
        cdef Part *part = &self.parts[at]
        cdef tuple items
        if part.kind == IS_ARRAY:              # an array, a float, or what is bound by a function
            return at + 1 if slots.bind(part.slot, x, found) else 0
        if part.kind == IS_PLAIN:
            return at + 1 if same(x, part.what) else 0
        if part.kind == IS_SAME:
            return at + 1 if x == part.what else 0
        if part.kind == IS_CLASS:
            return at + 1 if <PyObject *>Py_TYPE(x) == part.what else 0
        if <PyObject *>Py_TYPE(x) != part.what:
            return 0
        value = <object>x
        items = items_of(value)
        if items is None or len(items) != part.slot:
            return 0
        if part.keys != <PyObject *>None:
            if isinstance(value, dict):
                if not equal(tuple(value), <object>part.keys):
                    return 0
            elif PyDict_Size(value.__dict__) != part.more:
                return 0
        if part.slot and seen is not None and part.what != <PyObject *>tuple:
            seen.append(value)
        at += 1
        for item in items:
            at = self.match(<PyObject *>item, at, slots, found, seen)
            if at == 0:
                return 0
        return at


# -- the guards ------------------------------------------------------------------------------------------------------------


@cython.binding(False)
@cython.final
cdef class Conditions:
    """What must be so for a graph to stand for a call.

    Parameters
    ----------
    inputs : list of (int, object)
        The slots.
    names, parts : tuple, list
        The keyword arguments, in order, and the parts of all arguments.
    guards : list of (int, object, object, object, str)
        Kind, holder, name, value or values, and how the place is called.
    numbers : dict
        By the id of a value the slot that it is bound to.
    loose : bool
        Whether a call may give one thing twice, and nothing but the arguments is compared.
    exact : bool
        Whether a plain value has to be the same object.
    """

    def __cinit__(self, list inputs not None, tuple names not None, list parts not None, list guards not None,
                  dict numbers not None, bint loose=False, bint exact=False):
        cdef Py_ssize_t i, k
        cdef Guard *guard
        self.slots, self.arguments, self.names, self.loose = Slots(inputs), Arguments(parts), names, loose
        self.exact = exact
        self.places, self.holders = [one[4] for one in guards], {id(one[1]) for one in guards}
        self.containers = [] if any([kind == IS_CONTAINER and what is not tuple for kind, _, what, _, _ in parts]) else None
        memory = bytearray((len(guards) + 1) * sizeof(Guard))
        self.kept, self.guards, self.count = [memory, guards], <Guard *><char *>memory, len(guards)
        for i in range(self.count):
            kind, holder, name, was, _ = guards[i]
            self.kept += [holder, name, was]
            guard = &self.guards[i]
            guard.kind, guard.holder, guard.name = kind, <PyObject *>holder, <PyObject *>name
            expected = was if kind in (DICT, ITEMS, READ, FUNCTION) else (was,)
            memory = bytearray((len(expected) + 1) * sizeof(Expected))
            self.kept += [memory, expected]
            guard.count, guard.expected = len(expected), <Expected *><char *>memory
            for k in range(guard.count):
                x = expected[k]
                guard.expected[k].was = <PyObject *>x
                guard.expected[k].slot = -2 if x is skipped else numbers.get(id(x), -1)

    cpdef object inputs(self, tuple args, dict keywords):
        """The inputs of the graph for a call, as a tuple; None where the graph does not stand for it."""
        cdef PyObject *found = PyTuple_New(self.slots.count)
        cdef Py_ssize_t i, at = 0
        cdef list seen = self.containers
        held = <object>found
        Py_DECREF(found)
        if PyDict_Size(keywords) != len(self.names) or (self.names and tuple(keywords) != self.names):
            return None
        if self.arguments.count and self.arguments.parts[0].slot != len(args):
            return None
        if seen is not None:
            seen = []
        at = 1
        for i in range(len(args)):
            at = self.arguments.match(PyTuple_GET_ITEM(<PyObject *>args, i), at, self.slots, found, seen)
            if at == 0:
                return None
        for name in self.names:
            value = keywords[name]
            at = self.arguments.match(<PyObject *>value, at, self.slots, found, seen)
            if at == 0:
                return None
        if self.loose:
            return ()
        if seen is not None and seen and not self.are_new(seen):
            return None
        for i in range(self.count):
            if not self.holds(&self.guards[i], found):
                return None
        return held if self.slots.all_apart(found) else None

    cdef bint are_new(self, list seen) except -1:
        """Whether each container that was given was given once, and is none that a guard looks at."""
        cdef set ids = set()
        for x in seen:
            if id(x) in self.holders:
                return False
            ids.add(id(x))
        return len(ids) == len(seen)

    cdef bint holds(self, Guard *guard, PyObject *found) except -1:
        cdef PyObject *x = guard.holder
        cdef int kind = guard.kind
        if kind == IS_ITEM:
            return self.fits(PyDict_GetItemWithError(x, guard.name), guard.expected, found)
        if kind == IS_CELL:
            return self.fits(PyCell_GET(x), guard.expected, found)
        if kind == IS_TYPE:                    # and the dict of an object itself, in place of its name
            if <PyObject *>Py_TYPE(x) != guard.expected[0].was:
                return False
            return guard.name == <PyObject *>None or dict_of(x) == guard.name
        if kind == IS_DICT:
            return self.dict_holds(guard, found)
        if kind == IS_ITEMS:
            return self.items_hold(guard, found)
        if kind == IS_MRO:
            return mro_of(x) == guard.expected[0].was
        if kind == IS_FUNCTION:
            return (PyFunction_GET_CODE(x) == guard.expected[0].was
                    and or_none(PyFunction_GET_DEFAULTS(x)) == guard.expected[1].was
                    and or_none(PyFunction_GET_KW_DEFAULTS(x)) == guard.expected[2].was)
        if kind == IS_BYTES:
            return same_bytes(<cnp.ndarray>x, <object>guard.name, <object>guard.expected[0].was)
        return self.read_holds(guard, found)

    cdef bint fits(self, PyObject *now, Expected *expected, PyObject *found) except -1:
        if expected.slot >= 0:
            return self.slots.bind(expected.slot, now, found)
        if now == NULL:
            return expected.was == <PyObject *>nothing or expected.was == <PyObject *>empty or expected.slot == -2
        return expected.slot == -2 or now == expected.was or (not self.exact and same(now, expected.was))

    cdef bint dict_holds(self, Guard *guard, PyObject *found) except -1:
        cdef Py_ssize_t place = 0, i = 0
        cdef PyObject *key
        cdef PyObject *value
        cdef PyObject *keys = guard.name
        if PyDict_Size(<dict>guard.holder) != guard.count:
            return False
        while PyDict_Next(<dict>guard.holder, &place, &key, &value):
            if not same(key, PyTuple_GET_ITEM(keys, i)) or not self.fits(value, &guard.expected[i], found):
                return False
            i += 1
        return i == guard.count

    cdef bint items_hold(self, Guard *guard, PyObject *found) except -1:
        cdef Py_ssize_t i
        cdef bint is_list = isinstance(<object>guard.holder, list)
        if is_list and PyList_GET_SIZE(guard.holder) != guard.count:
            return False
        for i in range(guard.count):
            now = PyList_GET_ITEM(guard.holder, i) if is_list else PyTuple_GET_ITEM(guard.holder, i)
            if not self.fits(now, &guard.expected[i], found):
                return False
        return True

    cdef bint read_holds(self, Guard *guard, PyObject *found) except -1:
        cdef Py_ssize_t i
        cdef tuple now = (<object>guard.name)(<object>guard.holder)
        if len(now) != guard.count:
            return False
        for i in range(guard.count):
            if not self.fits(PyTuple_GET_ITEM(<PyObject *>now, i), &guard.expected[i], found):
                return False
        return True


cdef inline PyObject *or_none(PyObject *x) noexcept:
    return <PyObject *>None if x == NULL else x


cdef bint same_bytes(cnp.ndarray x, tuple layout, bytes was) except -1:
    """Whether an array holds what it held, in the same layout."""
    if (<object>x).dtype != layout[0] or ((<object>x).shape, (<object>x).strides) != layout[1:]:
        return False
    if cnp.PyArray_IS_C_CONTIGUOUS(x):
        return memcmp(x.data, <char *>was, len(was)) == 0
    return x.tobytes() == was


# -- a call ----------------------------------------------------------------------------------------------------------------


cdef class Ready:
    """What runs a call of one kind: a graph, or, where `run` is None, the function.

    Attributes
    ----------
    conditions : Conditions
    run : callable
    hits : int
        How many calls there were.
    written, beside : tuple
        The numbers of the inputs that are written to; the arrays whose elements the graph holds, which no write must reach.
    repeatable, doubted : bool
        Whether nothing has happened yet where `run` raises; whether the graph has to be held against the function first.
    """


cdef class Caller:
    """The way of a call of a compiled function: it finds what is ready, and runs it.

    What is not so simple is up to the class that derives from it: `call_anew(args, keywords)` where nothing is ready, or
    `is_simple` is false, and `call_instead(ready, args, keywords, raised)` where the function itself has to run.
    """

    def __call__(self, *args, **keywords):
        cdef Ready ready
        if self.is_simple and rank_of_thread() == 0:
            for entry in self.entries:
                ready = entry
                values = ready.conditions.inputs(args, keywords)
                if values is None or ready.doubted:
                    continue
                ready.hits += 1
                if ready.run is None or (ready.written and not can_write(ready.written, <tuple>values + ready.beside)):
                    return self.call_instead(ready, args, keywords, False)
                if not ready.repeatable:
                    return ready.run(*values)
                try:
                    return ready.run(*values)
                except Exception:
                    pass
                return self.call_instead(ready, args, keywords, True)
        return self.call_anew(args, keywords)


# -- memory ----------------------------------------------------------------------------------------------------------------


cdef struct Span:
    size_t first
    size_t end


cdef int by_first(const void *a, const void *b) noexcept nogil:
    cdef size_t x = (<Span *>a).first, y = (<Span *>b).first
    return (x > y) - (x < y)


cdef Span span_of(cnp.ndarray x) noexcept:
    cdef Span made
    cdef int i
    cdef Py_ssize_t low = 0, high = 0, reach
    made.first = made.end = <size_t>x.data
    for i in range(cnp.PyArray_NDIM(x)):
        if cnp.PyArray_DIM(x, i) == 0:
            return made
        reach = (cnp.PyArray_DIM(x, i) - 1) * cnp.PyArray_STRIDE(x, i)
        low, high = low + min(reach, 0), high + max(reach, 0)
    made.first += low
    made.end += high + cnp.PyArray_ITEMSIZE(x)
    return made


def watched_by_mode():
    """Whether a mode of this thread wants to see every call."""
    return rank_of_thread() != 0


cpdef bint can_write(tuple written, tuple values) except -1:
    """Whether a graph may write to some of its inputs, by number: none is read-only or shares memory with another input.

    Otherwise the function itself says what happens.
    """
    cdef Py_ssize_t i, count = 0
    cdef Span *spans
    for i in written:
        x = values[i]
        if isinstance(x, cnp.ndarray) and not cnp.PyArray_ISWRITEABLE(<cnp.ndarray>x):
            return False
    memory = bytearray(len(values) * sizeof(Span) + 1)
    spans = <Span *><char *>memory
    for x in values:
        if isinstance(x, cnp.ndarray):
            spans[count] = span_of(<cnp.ndarray>x)
            count += 1
    qsort(spans, count, sizeof(Span), by_first)
    for i in range(1, count):
        if spans[i].first < spans[i - 1].end:
            break
    else:
        if count == len(values):
            return True
        return all([values[i] is not y for i in written for k, y in enumerate(values) if k != i])
    for i in written:
        x = values[i]
        for k, y in enumerate(values):
            if k != i and (x is y or (isinstance(x, cnp.ndarray) and isinstance(y, cnp.ndarray) and np.may_share_memory(x, y))):
                return False
    return True
