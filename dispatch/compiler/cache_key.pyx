"""What a compiled function looks at in each of its calls: the key of the arguments, and what the function refers to.

The key says everything that a trace may have depended on: how the arguments are nested, the class, dtype, shape and strides of
every array, and every value that is no array. Strides of length-1 axes do not count. A `float` has its type in the key, and
its value only where the trace turned out to depend on that.
"""
cimport cython
cimport numpy as cnp
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from cpython.object cimport PyObject

from ..core.arrays cimport has_more, is_exact, key_of
from ..core.flatten cimport walk
from ..core.state cimport thread_state
from ..core.tensor cimport is_wrapped

from ..core import Tensor
from ..core.flatten import form_of

cnp.import_array()

import numpy as np

cdef type TYPE = type
cdef object may_share_memory = np.may_share_memory


@cython.final
cdef class Identity:
    """Stands in a key for a value that has no hash: equal to nothing but itself."""

    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return type(other) is Identity and self.value is (<Identity>other).value

    def __hash__(self):
        return id(self.value)

    def __repr__(self):
        return repr(self.value)


cdef bytes layout_of(cnp.ndarray x):
    """Shape and strides, and whether the array can be written to."""
    cdef int i, ndim = cnp.PyArray_NDIM(x)
    cdef bytes made = PyBytes_FromStringAndSize(NULL, 2 * ndim * sizeof(Py_ssize_t))
    cdef Py_ssize_t *numbers = <Py_ssize_t *>PyBytes_AS_STRING(made)
    for i in range(ndim):
        numbers[i] = cnp.PyArray_DIM(x, i)
        numbers[ndim + i] = cnp.PyArray_STRIDE(x, i) if numbers[i] != 1 else 0
    return made


@cython.final
cdef class Signature:
    """The key of a call while it is put together, and the arrays and floats of the call, in order.

    Attributes
    ----------
    parts, values, floats : list
    others : list
        The values that are no arrays, numbers, texts or containers.
    wrapped : bool
        Whether a value is a wrapper.
    foreign : object
        The first class of arrays whose operations NumPy leaves to the class, or that holds arrays and more; None where there is
        none.
    """

    def __cinit__(self):
        self.parts, self.values, self.floats, self.others = [], [], [], []

    @property
    def key(self):
        return tuple(self.parts)

    @property
    def bits(self):
        """The floats, told apart as the bits are: a zero from a negative one, and not one nan from another."""
        return tuple([(x, str(x)) if x == x and x != 0 else str(x) for x in self.floats])

    cdef int add(self, object x) except -1:
        return walk(x, add_part, <void *>self)

    cdef int add_container(self, object x, tuple items) except -1:
        self.parts.append(type(x))
        self.parts.append(tuple(x) if isinstance(x, dict) else len(items))
        if not isinstance(x, (list, tuple, dict)) and form_of(x) is not None:
            self.foreign = type(x)
        return 0

    cdef int add_value(self, object x) except -1:
        cdef object cls = type(x)
        self.parts.append(cls)
        if is_exact(<PyObject *>x):
            self.parts.append((<cnp.ndarray>x).descr)
            self.parts.append(layout_of(<cnp.ndarray>x))
            self.values.append(x)
        elif cls is float:
            self.values.append(x)
            self.floats.append(x)
        elif cls is int or cls is str or cls is bool or x is None:
            self.parts.append(x)
        elif is_wrapped(<PyObject *>x):
            self.parts[-1] = Tensor
            self.parts.append(x.dtype)
            self.parts.append(x.shape)
            self.values.append(x)
            self.wrapped = True
        elif key_of(<PyObject *>x) >= 0:
            if has_more(<PyObject *>x) or not hasattr(x, "dtype"):
                self.foreign = cls
            if isinstance(x, cnp.ndarray):
                self.parts.append(layout_of(<cnp.ndarray>x))
            self.parts.append(getattr(x, "dtype", None))
            self.parts.append(getattr(x, "shape", None))
            self.values.append(x)
        elif cls is complex:
            self.parts.append((x.real.hex(), x.imag.hex()))
        else:
            self.others.append(x)
            try:
                hash(x)
            except TypeError:
                x = Identity(x)
            self.parts.append(x)
        return 0


cdef int add_part(object x, tuple items, void *signature) except -1:
    if items is None:
        (<Signature>signature).add_value(x)
    else:
        (<Signature>signature).add_container(x, items)
    return 0


def signed(tuple args not None, dict keywords not None):
    """The signature of a call."""
    cdef Signature made = Signature()
    for x in args:
        made.add(x)
    if keywords:
        made.parts.append(tuple(keywords))
        for x in keywords.values():
            made.add(x)
    return made


def watched_by_mode():
    """Whether a mode of this thread wants to see every call."""
    return thread_state().rank != 0


def changed(list watched not None):
    """The number of the first thing that is another than it was, or -1.

    Each is `(holder, name, value)`: an item of a dict, a list, or the contents of a cell, whose name is None.
    """
    cdef Py_ssize_t i
    cdef tuple one
    for i in range(len(watched)):
        one = <tuple>watched[i]
        holder, name, was = one[0], one[1], one[2]
        try:
            if name is None:
                now = holder.cell_contents
            elif TYPE(holder) is dict:
                now = (<dict>holder)[name] if name is not LENGTH else len(<dict>holder)
            else:
                now = holder[name] if name is not LENGTH else len(holder)
        except (KeyError, IndexError, ValueError):      # gone; a ValueError is an empty cell's
            return i
        if now is not was and not (type(now) is type(was) and type(was) in PLAIN and now == was):
            return i
    return -1


LENGTH = object()
cdef frozenset PLAIN = frozenset([int, float, str, bool, complex, bytes])


def can_write(tuple written not None, list values not None):
    """Whether a graph may write to some of its inputs, by number: none is read-only or shares memory with another input.

    Otherwise the function itself says what happens.
    """
    for i in written:
        x = values[i]
        array = isinstance(x, cnp.ndarray)
        if array and not x.flags.writeable:
            return False
        for k, y in enumerate(values):
            if k != i and (x is y or (array and isinstance(y, cnp.ndarray) and may_share_memory(x, y))):
                return False
    return True
