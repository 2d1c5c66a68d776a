"""What a row is as a method of Tensor: an infix operator in either order, a sign, a method of arrays.

These functions are compiled, so that `x * y` and `x.sum()` cost hardly more than the call of the row itself.
"""
from operator import index

import numpy as np

from ..core import Tensor
from ..core.tensor cimport Wrapped
from ..dispatcher.conversion_advice import line_for
from ..errors import ArgumentError
from ..operators.views import is_number
from .row_arguments import are_numbers, as_value

cdef tuple OPERANDS = (Tensor, np.ndarray, int, float, complex, np.generic, list, tuple)


def is_operand(x):
    """Whether a row may be asked for `x` beside a Tensor; anything else gets the chance to answer itself."""
    return isinstance(x, OPERANDS)


cdef object array_type = np.ndarray


def infix(op not None, of_numbers=None, str kinds="", bint repeats=False, *, bint reflected=False):
    """`x + y`, where x is a Tensor; `reflected` it is `y + x`, where y does not know x.

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
