"""Makes the methods of Tensor out of rows: NumPy's protocols, indices, infix operators in either order, signs, array methods.

These functions are compiled, so that `np.sum(x)`, `x[1:]`, `x * y` and `x.sum()` cost hardly more than the row itself. Each
runs the usual call; every other call is for a function in Python.
"""
cimport numpy as cnp
from cpython.object cimport PyObject

from operator import index
from types import BuiltinFunctionType, MethodType

import numpy as np

from ..core import Tensor, first_wrapper
from ..core.arrays cimport is_exact
from ..core.tensor cimport Wrapped
from ..dispatcher.conversion_advice import line_for
from ..errors import ArgumentError, TracingError, kind_of
from ..layers.trace.number import TracedNumber, plain
from ..operators.views import is_number
from .row_arguments import are_numbers, as_value

cnp.import_array()

cdef object NO_VALUE = np._NoValue          # how NumPy's functions spell a parameter that was left out
cdef tuple ARRAYS = (Tensor, np.ndarray)
cdef tuple OPERANDS = (Tensor, np.ndarray, int, float, complex, np.generic, list, tuple)


def is_operand(x):
    """Whether a row may be asked for `x` beside a Tensor; anything else gets the chance to answer itself."""
    return isinstance(x, OPERANDS)


cdef object array_type = np.ndarray


cdef class Entry:
    """A function of NumPy: a row, or `other` where the row refuses the call or it has other arguments than the row's own.

    The row's own are `fewest` to `most` by position, and those `known` by name.
    """

    cdef object op
    cdef object other
    cdef Py_ssize_t most
    cdef Py_ssize_t fewest
    cdef object known

    def __init__(self, op not None, other not None, Py_ssize_t most, Py_ssize_t fewest=0, known=frozenset()):
        self.op, self.other, self.most, self.fewest, self.known = op, other, most, fewest, known

    def __call__(self, *args, **keywords):
        return self.run(args, keywords)

    cdef object run(self, tuple args, dict keywords):
        cdef bint fits = self.fewest <= len(args) <= self.most
        if fits and keywords:
            for name, x in keywords.items():
                fits = fits and x is not NO_VALUE and name in self.known
        if fits:
            try:
                return self.op(*args, **keywords) if keywords else self.op(*args)
            except ArgumentError:
                pass
        return self.other(*args, **keywords)


def array_function(dict functions not None, other not None):
    """`__array_function__`, by a table of what NumPy's functions run; `other` is that of a function which is not there."""
    def __array_function__(self, function, types, args, keywords):
        found = functions.get(function)
        if type(found) is Entry and type(args) is tuple and type(keywords) is dict:
            return (<Entry>found).run(<tuple>args, <dict>keywords)
        return other(self, function, types, args, keywords) if found is None else found(*args, **keywords)
    return __array_function__


def array_ufunc(dict ufuncs not None, other not None):
    """`__array_ufunc__`, by a table of the rows of ufuncs; `other` is that of every other call."""
    def __array_ufunc__(self, ufunc, method, /, *inputs, **options):
        op = ufuncs.get(ufunc)
        if op is not None and not options and method == "__call__":
            try:
                return op(*inputs)
            except ArgumentError:
                pass
        return other(self, ufunc, method, *inputs, **options)
    return __array_ufunc__


cdef inline bint is_plain(object i):
    """Whether an item of an index is one that rows read as it stands, and no array."""
    return i is None or i is Ellipsis or isinstance(i, (int, slice)) or (isinstance(i, list) and first_wrapper(i) is None)


def subscript(row not None, tuple alone not None, other not None):
    """`x[index]`, where the index has no array in it, or is an array with axes, for which `alone` stands; `other` is any."""
    def __getitem__(self, items):
        if isinstance(items, tuple):
            for i in items:
                if not is_plain(i):
                    return other(self, items)
            return row(self, items, [])
        if is_plain(items):
            return row(self, items, [])
        if is_exact(<PyObject *>items) and cnp.PyArray_NDIM(<cnp.ndarray>items):
            return row(self, alone, [items])
        return other(self, items)
    return __getitem__


# What no number is equal to: NumPy asks each element, and Python answers by identity. From CPython 3.13 on None has an __eq__.
cdef tuple UNLIKE = (type(None), str, bytes, dict, set, frozenset, slice, BuiltinFunctionType, MethodType)
cdef tuple AS_ARRAYS = ("__array__", "__array_interface__", "__array_struct__", "__array_ufunc__", "__len__")


cdef bint is_unlike(object other):
    """Whether an object is equal to no number, and NumPy makes no array of it."""
    cdef type kind = type(other)
    if kind in UNLIKE:
        return True
    if kind.__eq__ is not object.__eq__ or kind.__ne__ is not object.__ne__:
        return False
    for name in AS_ARRAYS:
        if hasattr(kind, name):
            return False
    return True


def infix(op not None, of_numbers=None, str kinds="", bint repeats=False, *, bint reflected=False, object apart=None):
    """`x + y`, where x is a Tensor; `reflected` it is `y + x`, where y does not know x.

    `apart` is for `x == y` of an array and what is equal to no number, None say: an array of False, as NumPy has it. For other
    objects, whose own class compares, Python answers where NumPy asks of each element: who listens is told.

    Of two numbers, one of these kinds, it is the row `of_numbers`. What `repeats`, a product, has a list as often as a number
    says, as NumPy's scalars do.
    """
    def infix(self, other):
        # No number, or a batch of such, which the ufunc computes.
        cdef bint array = isinstance(self, Wrapped) and type((<Wrapped>self).value) is array_type
        if isinstance(other, (list, tuple)):
            if repeats and self.shape == () and is_number(self):
                return other * index(self)
            other = as_value(other)
        number = of_numbers is not None and not array and self.shape == () and are_numbers(self, other, kinds)
        row = of_numbers if number else op
        try:
            return row(other, self) if reflected else row(self, other)
        except ArgumentError:
            if isinstance(other, OPERANDS) or line_for(other) is not None:
                raise
            if apart is not None and is_unlike(other) and self.dtype.kind in "biufc" \
                    and not (self.shape == () and is_number(self)):
                return apart(self)
            if apart is not None and getattr(type(other), "__array_ufunc__", 0) is not None:
                TracingError(f"a traced value was compared with {kind_of(other)}, of which NumPy makes an array. Write `is`.")
            return NotImplemented
    return infix


def power(infixed not None, dict others not None, str by_value not None):
    """`x ** y`: `others` has, by type and value of y, the row of NumPy's ufunc, and the dtypes of which it gives other bits."""
    def power(self, other):
        other = plain(other) if type(other) is TracedNumber and self.dtype.char in by_value else other
        row, dtypes = others.get((type(other), other), (None, "")) if type(other) is int or type(other) is float else (None, "")
        if row is not None and self.dtype.char in dtypes and not (self.shape == () and is_number(self)):
            return row(self)
        return infixed(self, other)
    return power


def unary(op not None, of_number=None, str kinds=""):
    """`-x`, and whatever else takes the array alone."""
    def unary(self):
        if of_number is not None and self.shape == () and are_numbers(self, 0, kinds):
            return of_number(self)
        return op(self)
    return unary


def method(call not None, op=None):
    """A method that takes what NumPy's function of the same name takes, `call`; given nothing else it is the row itself."""
    alone = call if op is None else op

    def method(self, *args, **keywords):
        return call(self, *args, **keywords) if args or keywords else alone(self)
    return method


def closed_where(applies not None, kernel not None, function not None):
    """The kernel of a composite at a layer's key: its closed rule's, where that applies to the arguments, else the function."""
    def choosing(*args, **keywords):
        if not keywords:
            return kernel(*args) if applies(*args) else function(*args)
        return kernel(*args, *keywords.values()) if applies(*args, **keywords) else function(*args, **keywords)
    return choosing
