"""The loops themselves, in C: of users' functions on plain arrays, and of programs.

A user's function gets and returns containers, and what it returns is checked at each step. A program was made of a trace, by
which its results are known; between its steps no Python code runs.
"""
cimport cython
cimport numpy as cnp
from cpython.exc cimport PyErr_CheckSignals
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF
from cpython.sequence cimport PySequence_GetItem
from cpython.tuple cimport PyTuple_New, PyTuple_SET_ITEM

from ..core.arrays cimport is_exact
from ..core.flatten cimport items_of
from ..core.tensor cimport Wrapped

cnp.import_array()

import numpy as np

from ..core import is_array
from ..core.pytree import leaves, leaves_like, unflatten
from .words import carry_changed, is_true, kind_changed, not_a_pair, result_refused, still_true

cdef tuple NUMBERS = (bool, int, float, complex)


@cython.final
cdef class Kind:
    """The shape and dtype of an array, as those of another step are compared with it.

    Parameters
    ----------
    x : ndarray or NumPy scalar
    """

    def __cinit__(self, x):
        self.dtype, self.shape = x.dtype, x.shape
        self.scalar = self.dtype.type if self.shape == () and self.dtype.isnative else None

    cdef bint fits(self, object x) except -1:
        cdef Py_ssize_t i, n
        if type(x) is self.scalar:
            return x.dtype == self.dtype
        if is_exact(<PyObject *>x):
            n = cnp.PyArray_NDIM(<cnp.ndarray>x)
            if n != len(<tuple>self.shape):
                return False
            for i in range(n):
                if cnp.PyArray_DIM(<cnp.ndarray>x, i) != <Py_ssize_t>(<tuple>self.shape)[i]:
                    return False
            dtype = cnp.PyArray_DESCR(<cnp.ndarray>x)
            return <object>dtype is self.dtype or <object>dtype == self.dtype
        if type(x) in NUMBERS:
            return self.shape == () and np.asarray(x).dtype == self.dtype
        return x.shape == self.shape and x.dtype == self.dtype


cdef bint holds_wrapper(object x) except -1:
    """Whether a value or a container has a value of a transform in it."""
    if is_exact(<PyObject *>x):
        return False
    if isinstance(x, Wrapped):
        return True
    for item in items_of(x) or ():
        if holds_wrapper(item):
            return True
    return False


cdef list arrays_like(object x, object like, Py_ssize_t count):
    """The arrays of a container, None where it is not like another, which has so many."""
    cdef list found = leaves_like(x, like)
    if found is None:
        return None
    found = [leaf for leaf in found if leaf is not None]
    return found if len(found) == count else None


cdef bint checked(str who, object carry, object like, list kinds) except -1:
    """Whether a carry is as it was; False where it has values of a transform, and raise where it differs."""
    cdef Py_ssize_t i
    if len(kinds) == 1 and like is None:
        if is_exact(<PyObject *>carry) or not (isinstance(carry, Wrapped) or not is_plain_array(carry)):
            if not (<Kind>kinds[0]).fits(carry):
                raise carry_changed(who, "", kinds[0], carry)
            return True
        if isinstance(carry, Wrapped):
            return False
        raise carry_changed(who, "", kinds[0], carry)
    if holds_wrapper(carry):
        return False
    found = arrays_like(carry, like, len(kinds))
    if found is None:
        raise kind_changed(who, like, carry)
    for i in range(len(kinds)):
        if not is_plain_array(found[i]) or not (<Kind>kinds[i]).fits(found[i]):
            raise carry_changed(who, i, kinds[i], found[i], like)
    return True


cdef bint is_plain_array(object x) except -1:
    return is_exact(<PyObject *>x) or isinstance(x, np.generic) or type(x) in NUMBERS or is_array(x)


cdef object opened(list xs, object like, Py_ssize_t i):
    """The items at a place of the arrays that are scanned, in their container."""
    if like is None:
        return PySequence_GetItem(xs[0], i) if xs else None
    return unflatten(like, [None if x is None else PySequence_GetItem(x, i) for x in xs])


@cython.final
cdef class Stacked:
    """The results of the steps of a loop, as arrays with one more axis.

    Parameters
    ----------
    who : str
    length : int
    """

    def __cinit__(self, str who, Py_ssize_t length):
        self.who, self.length, self.kinds = who, length, None

    cdef bint put(self, Py_ssize_t i, object y) except -1:
        """Keep the results of a step; False where they have values of a transform."""
        cdef Py_ssize_t k
        cdef list found
        if self.kinds is None:
            if holds_wrapper(y):
                return False
            self.single, self.like, self.kinds, self.arrays = items_of(y) is None and y is not None, y, [], []
            for x in leaves(y):
                if x is not None:
                    if not is_plain_array(x):
                        raise result_refused(self.who, x)
                    x = np.asarray(x)
                    self.kinds.append(Kind(x))
                    self.arrays.append(np.empty((self.length, *x.shape), x.dtype))
        elif self.single:
            if isinstance(y, Wrapped):
                return False
        if self.single:
            if not is_exact(<PyObject *>y) and not is_plain_array(y) or not (<Kind>self.kinds[0]).fits(y):
                raise carry_changed(self.who, "", self.kinds[0], y, None, "result")
            self.arrays[0][i] = y
            return True
        if y is None and self.like is None:
            return True
        if holds_wrapper(y):
            return False
        found = arrays_like(y, self.like, len(self.kinds))
        if found is None:
            raise kind_changed(self.who, self.like, y, "result")
        for k in range(len(self.kinds)):
            if not is_plain_array(found[k]) or not (<Kind>self.kinds[k]).fits(found[k]):
                raise carry_changed(self.who, k, self.kinds[k], found[k], self.like, "result")
            self.arrays[k][i] = found[k]
        return True


def scan_plain(str who, f, carry, like, list kinds not None, list xs not None, xs_like, Py_ssize_t n, bint reverse):
    """Run `carry, y = f(carry, x)` for each item.

    Parameters
    ----------
    who : str
    f : callable
    carry : object
    like : object
        The carry where it is a container; None where it is one array.
    kinds : list of Kind
    xs : list of ndarray
    xs_like : object
        Their container; None where there is one array, or none.
    n : int
    reverse : bool

    Returns
    -------
    tuple
        The carry, the container of one result, and the arrays of all. None where a value of a transform came back.
    """
    cdef Py_ssize_t t, i
    cdef Stacked ys = Stacked(who, n)
    for t in range(n):
        i = n - 1 - t if reverse else t
        out = f(carry, opened(xs, xs_like, i))
        if type(out) is not tuple or len(<tuple>out) != 2:
            raise not_a_pair(who, out)
        carry = (<tuple>out)[0]
        if not checked(who, carry, like, kinds) or not ys.put(i, (<tuple>out)[1]):
            return None
    return carry, ys.like, ys.arrays


def fori_plain(str who, f, carry, like, list kinds not None, Py_ssize_t lower, Py_ssize_t upper):
    """Run `carry = f(i, carry)`; returns a tuple of the carry, or None where a value of a transform came back."""
    cdef Py_ssize_t i
    make = np.int64
    for i in range(lower, upper):
        carry = f(make(i), carry)
        if not checked(who, carry, like, kinds):
            return None
    return (carry,)


def while_plain(str who, test, f, carry, like, list kinds not None, Py_ssize_t most):
    """Run `carry = f(carry)` while `test(carry)`, `most` times at most or, below 0, as often as it takes.

    Returns a tuple of the carry, or None where a value of a transform came back.
    """
    cdef Py_ssize_t t = 0
    while True:
        going = test(carry)
        if type(going) is not bool and type(going) is not np.bool_:
            if isinstance(going, Wrapped):
                return None
            going = is_true(who, going)
        if not going:
            return (carry,)
        if t == most:
            raise still_true(who, most)
        carry = f(carry)
        if not checked(who, carry, like, kinds):
            return None
        t += 1


# -- of programs -----------------------------------------------------------------------------------------------------------


cdef tuple arguments(list carry, list xs, Py_ssize_t i, list captures):
    cdef Py_ssize_t at = 0
    cdef tuple made = PyTuple_New(len(carry) + len(xs) + len(captures))
    for x in carry:
        Py_INCREF(x)
        PyTuple_SET_ITEM(made, at, x)
        at += 1
    for x in xs:
        x = PySequence_GetItem(x, i)
        Py_INCREF(x)
        PyTuple_SET_ITEM(made, at, x)
        at += 1
    for x in captures:
        Py_INCREF(x)
        PyTuple_SET_ITEM(made, at, x)
        at += 1
    return made


def scan_program(step, list carry not None, list xs not None, list captures not None, Py_ssize_t n, bint reverse,
                 list ys not None, list kept, Py_ssize_t every):
    """Run a program for each item.

    Parameters
    ----------
    step : callable
        Takes the carry, the items and the captures, and returns a list of the carry and the results.
    carry, xs, captures : list of ndarray
    n : int
    reverse : bool
    ys : list of ndarray
        Get the results.
    kept : list of ndarray or None
        Get the carry before each step, or before each of the first of `every` steps.
    every : int

    Returns
    -------
    list
        The carry.
    """
    cdef Py_ssize_t t, i, k, m = len(carry)
    cdef list out
    for t in range(n):
        i = n - 1 - t if reverse else t
        if kept is not None and t % every == 0:
            for k in range(m):
                kept[k][i // every] = carry[k]
        out = list(step(*arguments(carry, xs, i, captures)))
        for k in range(len(ys)):
            ys[k][i] = out[m + k]
        del out[m:]
        carry = out
        PyErr_CheckSignals()
    return carry


def while_program(str who, test, step, list carry not None, list captures not None, Py_ssize_t most, list kept):
    """Run a program while another gives true.

    Parameters
    ----------
    who : str
    test, step : callable
        Take the carry and the captures, and return a list: of one truth, and of the carry.
    carry, captures : list of ndarray
    most : int
        How many steps there may be; any number below 0.
    kept : list or None
        Get the carry before each step: arrays, or lists where there may be any number of steps.

    Returns
    -------
    tuple
        The carry, and how many steps there were.
    """
    cdef Py_ssize_t t = 0, k
    cdef tuple args
    while True:
        args = arguments(carry, [], 0, captures)
        if not test(*args)[0]:
            return carry, t
        if t == most:
            raise still_true(who, most)
        if kept is not None:
            for k in range(len(carry)):
                if most < 0:
                    kept[k].append(carry[k])
                else:
                    kept[k][t] = carry[k]
        carry = list(step(*args))
        t += 1
        PyErr_CheckSignals()
