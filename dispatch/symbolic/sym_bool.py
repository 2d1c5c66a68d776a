"""SymBool: a condition on sizes, decided only when code asks for its truth."""

from collections.abc import Mapping
from typing import Any

from ..core.wrong_calls import Made, clear
from .sym_int import NUMBERS, text_of

OPPOSITE = {"==": "!=", "!=": "==", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


class SymBool(metaclass=Made):
    """A condition on sizes that holds for some sizes and not for others, `n > 5` say.

    An `if` asks for its truth, and so does arithmetic, in which it is 0 or 1: it gets the answer for the sizes of this run,
    which leaves a guard. It raises DataDependentSizeError if a size depends on data.

    Attributes
    ----------
    env : ShapeEnv
    op : str
        A comparison, or `"and"`, `"or"`; `not` is applied to the parts.
    left, right
        Sizes or ints; conditions, for `and` and `or`.

    Examples
    --------
    >>> from dispatch.symbolic import ShapeEnv
    >>> env = ShapeEnv()
    >>> n = env.new_size(12)
    >>> (n > 5) & (n != 7), bool(n > 5), env.guards
    (s0 > 5 and s0 != 7, True, [s0 > 5])
    """

    __slots__ = ("env", "left", "op", "right")
    made_by = "a comparison of sizes, n > 5 with n = ShapeEnv().new_size(12)"

    def __init__(self, env: Any, op: str, left: Any, right: Any) -> None:
        self.env = env
        self.op = op
        self.left = left
        self.right = right

    def __bool__(self) -> bool:
        return self.env.truth(self)  # type: ignore[no-any-return]

    def __and__(self, other: Any) -> Any:
        if isinstance(other, SymBool):
            return SymBool(self.env, "and", self, other)
        return (self if other else False) if isinstance(other, bool) else NotImplemented

    def __or__(self, other: Any) -> Any:
        if isinstance(other, SymBool):
            return SymBool(self.env, "or", self, other)
        return (True if other else self) if isinstance(other, bool) else NotImplemented

    __rand__, __ror__ = __and__, __or__

    def __index__(self) -> int:
        return int(bool(self))

    def __add__(self, other: Any) -> Any:
        return int(self) + other

    def __sub__(self, other: Any) -> Any:
        return int(self) - other

    def __rsub__(self, other: Any) -> Any:
        return other - int(self)

    def __mul__(self, other: Any) -> Any:
        return int(self) * other

    __radd__, __rmul__ = __add__, __mul__

    def __invert__(self) -> "SymBool":
        if self.op in OPPOSITE:
            return SymBool(self.env, OPPOSITE[self.op], self.left, self.right)
        return SymBool(self.env, "or" if self.op == "and" else "and", ~self.left, ~self.right)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the symbols in the condition."""
        found = dict.fromkeys(getattr(self.left, "names", ())) | dict.fromkeys(getattr(self.right, "names", ()))
        return tuple(found)

    @clear
    def evaluate(self, values: Mapping[str, int]) -> bool:
        """Return whether the condition holds for these numbers of its symbols.

        Parameters
        ----------
        values : mapping of str to int

        Returns
        -------
        bool
        """
        left = self.left if isinstance(self.left, int) else self.left.evaluate(values)
        right = self.right if isinstance(self.right, int) else self.right.evaluate(values)
        if self.op in NUMBERS:
            return bool(NUMBERS[self.op](left, right))
        return bool(left and right) if self.op == "and" else bool(left or right)

    @property
    def hint(self) -> bool | None:
        """Whether the condition holds in this run; None if that depends on data."""
        left, right = [x if isinstance(x, int) else x.hint for x in (self.left, self.right)]
        if left is None or right is None:
            return None
        if self.op in NUMBERS:
            return bool(NUMBERS[self.op](left, right))
        return bool(left and right) if self.op == "and" else bool(left or right)

    def __repr__(self) -> str:
        return self.text

    @property
    def text(self) -> str:
        """The condition as Python code."""
        if self.op in NUMBERS:
            return f"{text_of(self.left)} {self.op} {text_of(self.right)}"
        parts = [f"({x.text})" if x.op in ("and", "or") and x.op != self.op else x.text for x in (self.left, self.right)]
        return f" {self.op} ".join(parts)
