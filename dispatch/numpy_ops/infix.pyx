"""What a row is as a method of Tensor: an infix operator in either order, a sign, a method of arrays.

These functions are compiled, so that `x * y` and `x.sum()` cost hardly more than the call of the row itself.
"""
import numpy as np

from ..core import Tensor
from ..core.tensor cimport Wrapped
from ..errors import ArgumentError
from ..operators.views import is_number
from .row_arguments import as_value

cdef tuple OPERANDS = (Tensor, np.ndarray, int, float, complex, np.generic, list, tuple)


def is_operand(x):
    """Whether a row may be asked for `x` beside a Tensor; anything else gets the chance to answer itself."""
    return isinstance(x, OPERANDS)


cdef object array_type = np.ndarray


cdef kind_of(x):
    """The kind of the dtype of a number."""
    return "c" if type(x) is complex else "f" if type(x) is float else getattr(getattr(x, "dtype", None), "kind", "i")


cdef bint are_numbers(self, other, str kinds):
    """Whether both are numbers, and one is of these kinds. What wraps an array, the usual case, is told apart by that alone."""
    if not isinstance(self, Wrapped) or type((<Wrapped>self).value) is array_type or self.shape != () or not is_number(self):
        return False
    return is_number(other) and (kind_of(self) in kinds or kind_of(other) in kinds)


def infix(op not None, of_numbers=None, str kinds=""):
    """`x + y`, where x is a Tensor. Of two numbers, one of these kinds, it is the row `of_numbers`."""
    def infix(self, other):
        if isinstance(other, (list, tuple)):
            other = as_value(other)
        try:
            if of_numbers is not None and are_numbers(self, other, kinds):
                return of_numbers(self, other)
            return op(self, other)
        except ArgumentError:
            if isinstance(other, OPERANDS):
                raise
            return NotImplemented
    return infix


def power(infixed not None, dict others not None):
    """`x ** y`, where x is a Tensor. NumPy runs other ufuncs for some numbers, and these round otherwise than `np.power` does.

    `others` has their rows, and the dtypes of which they give other bits, by type and value of the number.
    """

    def power(self, other):
        if (type(other) is int or type(other) is float) and (type(other), other) in others:
            row, dtypes = others[type(other), other]
            if self.dtype.char in dtypes and not (self.shape == () and is_number(self)):
                return row(self)
        return infixed(self, other)
    return power


def reflected(op not None, of_numbers=None, str kinds=""):
    """`y + x`, where x is a Tensor and y does not know it."""
    def reflected(self, other):
        if isinstance(other, (list, tuple)):
            other = as_value(other)
        try:
            if of_numbers is not None and are_numbers(self, other, kinds):
                return of_numbers(other, self)
            return op(other, self)
        except ArgumentError:
            if isinstance(other, OPERANDS):
                raise
            return NotImplemented
    return reflected


def unary(op not None, of_number=None, str kinds=""):
    """`-x`, and whatever else takes the array alone."""
    def unary(self):
        if of_number is not None and are_numbers(self, 0, kinds):
            return of_number(self)
        return op(self)
    return unary


def method(call not None, op=None):
    """A method that takes what NumPy's function of the same name takes, `call`; given nothing else it is the row itself."""
    alone = call if op is None else op

    def method(self, *args, **keywords):
        return call(self, *args, **keywords) if args or keywords else alone(self)
    return method
