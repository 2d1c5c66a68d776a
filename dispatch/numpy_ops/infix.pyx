"""What a row is as a method of Tensor: an infix operator in either order, a sign, a method of arrays.

These functions are compiled, so that `x * y` and `x.sum()` cost hardly more than the call of the row itself.
"""
import numpy as np

from ..core import Tensor
from ..errors import ArgumentError
from ..operators.views import is_number
from .row_arguments import as_value

cdef tuple OPERANDS = (Tensor, np.ndarray, int, float, complex, np.generic, list, tuple)


def is_operand(x):
    """Whether a row may be asked for `x` beside a Tensor; anything else gets the chance to answer itself."""
    return isinstance(x, OPERANDS)


def infix(op not None):
    """`x + y`, where x is a Tensor."""
    def infix(self, other):
        if isinstance(other, (list, tuple)):
            other = as_value(other)
        try:
            return op(self, other)
        except ArgumentError:
            if isinstance(other, OPERANDS):
                raise
            return NotImplemented
    return infix


def power(op not None, dict others not None):
    """`x ** y`, where x is a Tensor. NumPy runs other ufuncs for some numbers, and these round otherwise than `np.power` does.

    `others` has their rows, and the dtypes of which they give other bits, by type and value of the number.
    """
    infixed = infix(op)

    def power(self, other):
        if (type(other) is int or type(other) is float) and (type(other), other) in others:
            row, dtypes = others[type(other), other]
            if self.dtype.char in dtypes and not (self.shape == () and is_number(self)):
                return row(self)
        return infixed(self, other)
    return power


def reflected(op not None):
    """`y + x`, where x is a Tensor and y does not know it."""
    def reflected(self, other):
        if isinstance(other, (list, tuple)):
            other = as_value(other)
        try:
            return op(other, self)
        except ArgumentError:
            if isinstance(other, OPERANDS):
                raise
            return NotImplemented
    return reflected


def unary(op not None):
    """`-x`, and whatever else takes the array alone."""
    def unary(self):
        return op(self)
    return unary


def method(call not None, op=None):
    """A method that takes what NumPy's function of the same name takes, `call`; given nothing else it is the row itself."""
    alone = call if op is None else op

    def method(self, *args, **keywords):
        return call(self, *args, **keywords) if args or keywords else alone(self)
    return method
