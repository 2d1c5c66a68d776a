"""The loops themselves, in C: of users' functions on plain arrays, and of programs.

A user's function gets and returns containers, and what it returns is checked at each step. A program was made of a trace, by
which its results are known; between its steps no Python code runs.

It has more than 350 lines because both kinds take items and put results by the same functions, which have to be copied into the
loops that use them.
"""
cimport cython
cimport numpy as cnp
from cpython.exc cimport PyErr_CheckSignals
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF
from cpython.sequence cimport PySequence_GetItem
from cpython.tuple cimport PyTuple_New, PyTuple_SET_ITEM

from ..core.arrays cimport is_exact
from ..core.flatten cimport items_of, rebuilt
from ..core.tensor cimport Wrapped

cnp.import_array()

import numpy as np

from ..core import is_array
from ..core.pytree import leaves, unflatten
from .words import carry_changed, is_true, kind_changed, not_a_pair, result_refused, still_true

cdef str CARRY = "carry"
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
        number = self.shape == () and self.dtype.isnative and self.dtype.kind in "biufc"
        self.scalar = self.dtype.type if number else None  # which says the dtype

    cdef bint fits(self, object x) except -1:
        cdef Py_ssize_t i, n
        if type(x) is self.scalar:
            return True
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
        return not isinstance(x, Wrapped) and is_plain_array(x) and x.shape == self.shape and x.dtype == self.dtype


cdef enum:
    OTHER = 0                               # a container of another structure
    ALIKE = 1
    WRAPPED = 2                             # it has values of a transform


cdef int gather(object x, object like, list found) except -1:
    """Add the arrays of a container to a list, where it is like another, which has 0 in the place of each."""
    cdef Py_ssize_t i
    cdef int each
    cdef tuple items, others
    if type(like) is int:
        if isinstance(x, Wrapped):
            return WRAPPED
        found.append(x)
        return ALIKE
    if like is None:
        return ALIKE if x is None else OTHER
    if type(like) is tuple and type(x) is tuple:
        if len(<tuple>x) != len(<tuple>like):
            return OTHER
        for i in range(len(<tuple>like)):
            each = gather((<tuple>x)[i], (<tuple>like)[i], found)
            if each != ALIKE:
                return each
        return ALIKE
    if type(like) is dict and type(x) is dict:
        if len(<dict>x) != len(<dict>like):
            return OTHER
        for key, item in (<dict>like).items():
            if key not in <dict>x:
                return OTHER
            each = gather((<dict>x)[key], item, found)
            if each != ALIKE:
                return each
        return ALIKE
    if type(x) is not type(like) and not (isinstance(like, (list, tuple)) and type(x) in (list, tuple)):
        return OTHER
    items, others = items_of(x), items_of(like)
    if items is None or len(items) != len(others) or (isinstance(x, dict) and (<object>x).keys() != like.keys()):
        return OTHER
    for i in range(len(others)):
        each = gather(items[i], others[i], found)
        if each != ALIKE:
            return each
    return ALIKE


cdef object taken(list xs, object like, Py_ssize_t i, Py_ssize_t *place):
    """A container of the items at a place of some arrays."""
    if type(like) is int:
        place[0] += 1
        return item_at(xs[place[0] - 1], i)
    if like is None:
        return None
    if type(like) is tuple:
        return tuple([taken(xs, item, i, place) for item in <tuple>like])
    if type(like) is dict:
        return {key: taken(xs, item, i, place) for key, item in (<dict>like).items()}
    return rebuilt(like, [taken(xs, item, i, place) for item in items_of(like)])


cdef inline object item_at(object x, Py_ssize_t i):
    if is_exact(<PyObject *>x) and cnp.PyArray_NDIM(<cnp.ndarray>x) == 1:
        return cnp.PyArray_ToScalar(cnp.PyArray_GETPTR1(<cnp.ndarray>x, i), <cnp.ndarray>x)
    return PySequence_GetItem(x, i)


cdef inline int put_at(object rows, Py_ssize_t i, object x) except -1:
    if cnp.PyArray_NDIM(<cnp.ndarray>rows) == 1 and not is_exact(<PyObject *>x):
        return cnp.PyArray_SETITEM(<cnp.ndarray>rows, <char *>cnp.PyArray_GETPTR1(<cnp.ndarray>rows, i), x)
    rows[i] = x
    return 0


cdef bint is_plain_array(object x) except -1:
    return is_exact(<PyObject *>x) or isinstance(x, np.generic) or type(x) in NUMBERS or is_array(x)


cdef bint checked(str who, object carry, object like, list kinds, str what) except -1:
    """Whether a carry, or a result, is as it was; False where it has values of a transform, and raise where it differs."""
    cdef Py_ssize_t i
    cdef list found
    cdef int each
    if type(like) is int:
        if (<Kind>kinds[0]).fits(carry):
            return True
        if isinstance(carry, Wrapped):
            return False
        raise carry_changed(who, "", kinds[0], carry, None, what)
    found = []
    each = gather(carry, like, found)
    if each == WRAPPED:
        return False
    if each == OTHER:
        raise kind_changed(who, like, carry, what)
    for i in range(len(kinds)):
        if not (<Kind>kinds[i]).fits(found[i]):
            raise carry_changed(who, i, kinds[i], found[i], like, what)
    return True


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
        cdef int each
        if self.kinds is None:
            flat = leaves(y)
            for x in flat:
                if isinstance(x, Wrapped):
                    return False
            self.like = unflatten(y, [None if x is None else 0 for x in flat])
            self.kinds, self.arrays, self.single = [], [], type(self.like) is int
            for x in flat:
                if x is not None:
                    if not is_plain_array(x):
                        raise result_refused(self.who, x)
                    x = np.asarray(x)
                    self.kinds.append(Kind(x))
                    self.arrays.append(np.empty((self.length, *x.shape), x.dtype))
        if self.single:
            if not (<Kind>self.kinds[0]).fits(y):
                if isinstance(y, Wrapped):
                    return False
                raise carry_changed(self.who, "", self.kinds[0], y, None, "result")
            put_at(self.arrays[0], i, y)
            return True
        if y is None and self.like is None:
            return True
        found = []
        each = gather(y, self.like, found)
        if each == WRAPPED:
            return False
        if each == OTHER:
            raise kind_changed(self.who, self.like, y, "result")
        for k in range(len(self.kinds)):
            if not (<Kind>self.kinds[k]).fits(found[k]):
                raise carry_changed(self.who, k, self.kinds[k], found[k], self.like, "result")
            put_at(self.arrays[k], i, found[k])
        return True


def scan_plain(str who, f, carry, like, list kinds not None, list xs not None, xs_like, Py_ssize_t n, bint reverse):
    """Run `carry, y = f(carry, x)` for each item.

    Parameters
    ----------
    who : str
    f : callable
    carry : object
    like : object
        The container of the carry, with 0 in the place of each array.
    kinds : list of Kind
    xs : list of ndarray
    xs_like : object
        Their container.
    n : int
    reverse : bool

    Returns
    -------
    tuple
        The carry, the container of one result, and the arrays of all. None where a value of a transform came back.
    """
    cdef Py_ssize_t t, i, place
    cdef Stacked ys = Stacked(who, n)
    for t in range(n):
        i = n - 1 - t if reverse else t
        place = 0
        out = f(carry, taken(xs, xs_like, i, &place))
        if type(out) is not tuple or len(<tuple>out) != 2:
            raise not_a_pair(who, out)
        carry = (<tuple>out)[0]
        if not checked(who, carry, like, kinds, CARRY) or not ys.put(i, (<tuple>out)[1]):
            return None
    return carry, ys.like, ys.arrays


def fori_plain(str who, f, carry, like, list kinds not None, Py_ssize_t lower, Py_ssize_t upper):
    """Run `carry = f(i, carry)`; returns a tuple of the carry, or None where a value of a transform came back."""
    cdef Py_ssize_t i
    cdef cnp.ndarray number = np.zeros((), np.int64)
    cdef cnp.int64_t *at = <cnp.int64_t *>cnp.PyArray_DATA(number)
    for i in range(lower, upper):
        at[0] = i
        carry = f(cnp.PyArray_ToScalar(at, number), carry)
        if not checked(who, carry, like, kinds, CARRY):
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
        if not checked(who, carry, like, kinds, CARRY):
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
        x = item_at(x, i)
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
                put_at(kept[k], i // every, carry[k])
        out = list(step(*arguments(carry, xs, i, captures)))
        for k in range(len(ys)):
            put_at(ys[k], i, out[m + k])
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
                    put_at(kept[k], t, carry[k])
        carry = list(step(*args))
        t += 1
        PyErr_CheckSignals()
