"""SymInt: a size that is an expression of symbols, in the shape of a fake tensor."""

from collections.abc import Callable, Mapping
from operator import index
from typing import Any, NoReturn

import numpy as np

from ..core import Size, Tensor
from ..core.wrong_calls import Made, clear
from ..errors import ArgumentError, TracingError
from .polynomials import Terms

Operand = Any


class SymInt(Size, metaclass=Made):
    """A size as an expression of symbols. There is one object for each expression of a `ShapeEnv`, so `is` compares them.

    Arithmetic with sizes and ints returns a size, or an int if no symbol is left. A comparison returns a `SymBool`, or a bool
    if the answer is the same for all sizes. Where Python needs a number, as in `int(n)`, `range(n)`, `hash(n)` or `n / 2`, the
    size gives its number in this run, and leaves a guard.

    Attributes
    ----------
    env : ShapeEnv
    hint : int or None
        The number in this run; None if it depends on data.
    guess : int
        The hint; for a size that depends on data, some number.

    Raises
    ------
    DataDependentSizeError
        If a number is needed and there is no hint.

    Examples
    --------
    >>> from dispatch.symbolic import ShapeEnv
    >>> n = ShapeEnv().new_size(12)
    >>> n * (n + 1) // 2, n % 4, (2 * n) % 2
    ((s0**2 + s0)//2, s0 % 4, 0)
    """

    __slots__ = ("_compiled", "_text", "env", "guess", "hint", "terms")
    made_by = "ShapeEnv().new_size(3)"
    __array_priority__ = 2000.0  # an array leaves the arithmetic to us, above Tensor's own

    env: Any
    terms: Terms
    hint: int | None
    guess: int

    def __init__(self, env: Any, terms: Terms, hint: int | None, guess: int) -> None:
        self.env = env
        self.terms = terms
        self.hint = hint
        self.guess = guess
        self._text: str | None = None
        self._compiled: Callable[..., int] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the symbols in the size, the oldest first."""
        return tuple(self.env.expressions.names_of(self.terms))

    @clear
    def evaluate(self, values: Mapping[str, int]) -> int:
        """Return the number of the size for these numbers of its symbols.

        Parameters
        ----------
        values : mapping of str to int

        Returns
        -------
        int

        Examples
        --------
        >>> from dispatch.symbolic import ShapeEnv
        >>> n = ShapeEnv().new_size(5)
        >>> (n // 2 + 1).evaluate({"s0": 9})
        5
        """
        if self._compiled is None:
            self._compiled = self.env.expressions.compiled((self,), self.names)
        try:
            given = [values[name] for name in self.names]
        except KeyError as error:
            raise ArgumentError(f"evaluate: values has no number for {error.args[0]!r}, of {self.names}.") from None
        return self._compiled(*given)[0]  # type: ignore[index,no-any-return]

    def _with(self, op: str, other: Operand, reflected: bool = False) -> Any:
        if type(other) is not int and type(other) is not SymInt:
            if isinstance(other, (int, np.integer)):
                other = index(other)
            elif isinstance(other, Tensor):
                return NotImplemented
            elif isinstance(other, (float, complex, np.ndarray, np.generic)):
                return NUMBERS[op](other, int(self)) if reflected else NUMBERS[op](int(self), other)
            else:
                return NotImplemented
        return self.env.expressions.made(op, other, self) if reflected else self.env.expressions.made(op, self, other)

    def __add__(self, other: Operand) -> Any:
        return self._with("+", other)

    def __radd__(self, other: Operand) -> Any:
        return self._with("+", other, True)

    def __sub__(self, other: Operand) -> Any:
        return self._with("-", other)

    def __rsub__(self, other: Operand) -> Any:
        return self._with("-", other, True)

    def __mul__(self, other: Operand) -> Any:
        return self._with("*", other)

    def __rmul__(self, other: Operand) -> Any:
        return self._with("*", other, True)

    def __floordiv__(self, other: Operand) -> Any:
        return self._with("//", other)

    def __rfloordiv__(self, other: Operand) -> Any:
        return self._with("//", other, True)

    def __mod__(self, other: Operand) -> Any:
        return self._with("%", other)

    def __rmod__(self, other: Operand) -> Any:
        return self._with("%", other, True)

    def __pow__(self, other: Operand) -> Any:
        return self._with("**", other)

    def __rpow__(self, other: Operand) -> Any:
        return self._with("**", other, True)

    def __divmod__(self, other: Operand) -> tuple[Any, Any]:
        return self // other, self % other

    def __rdivmod__(self, other: Operand) -> tuple[Any, Any]:
        return other // self, other % self

    def __truediv__(self, other: Operand) -> Any:
        return NotImplemented if isinstance(other, Tensor) else int(self) / (int(other) if type(other) is SymInt else other)

    def __rtruediv__(self, other: Operand) -> Any:
        return NotImplemented if isinstance(other, Tensor) else other / int(self)

    def __neg__(self) -> Any:
        return self.env.expressions.made("*", self, -1)

    def __pos__(self) -> "SymInt":
        return self

    def __abs__(self) -> Any:
        return self.env.expressions.made("max", self, -self)

    def _compared(self, op: str, other: Operand) -> Any:
        if type(other) is not int and type(other) is not SymInt:
            if isinstance(other, (int, np.integer)):
                other = index(other)
            elif isinstance(other, float) and op not in ("==", "!="):
                return NUMBERS[op](int(self), other)
            else:
                return NotImplemented
        return self.env.compared(op, self, other)

    def __eq__(self, other: object) -> Any:
        return True if other is self else self._compared("==", other)

    def __ne__(self, other: object) -> Any:
        return False if other is self else self._compared("!=", other)

    def __lt__(self, other: Operand) -> Any:
        return self._compared("<", other)

    def __le__(self, other: Operand) -> Any:
        return self._compared("<=", other)

    def __gt__(self, other: Operand) -> Any:
        return self._compared(">", other)

    def __ge__(self, other: Operand) -> Any:
        return self._compared(">=", other)

    def __int__(self) -> int:
        return self.env.number(self)  # type: ignore[no-any-return]

    __index__ = __trunc__ = __int__

    def __hash__(self) -> int:
        return hash(int(self))

    def __bool__(self) -> bool:
        return bool(self != 0)

    def __float__(self) -> float:
        return float(int(self))

    def __complex__(self) -> complex:
        return complex(int(self))

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.asarray(int(self), dtype)

    def __copy__(self) -> "SymInt":
        return self

    def __deepcopy__(self, memo: Any) -> "SymInt":
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"the size {self} belongs to a ShapeEnv of this process. Send str(size), and parse it there.")

    def __repr__(self) -> str:
        # For whoever listens.
        TracingError("the text of a size was asked for, which is a symbol. Compile it without dynamic=True.")
        return self.text

    @property
    def text(self) -> str:
        """The expression: what `str(size)` gives, which user code is not to ask for while it is traced."""
        if self._text is None:
            self._text = self.env.expressions.text(self.terms)
        return self._text


def text_of(x: Any) -> str:
    """Return the text of a size, a condition or a number, as this package writes it; `str` is what user code asks for."""
    return str(getattr(x, "text", x))


NUMBERS: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "**": lambda a, b: a**b,
    "max": max,
    "min": min,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
}
