"""Atoms: the symbols in polynomials of sizes, and functions of sizes that are no polynomials, such as quotients."""

from math import inf
from typing import Any

from .polynomials import Terms, plus, times
from .sym_int import SymInt

Bound = float  # a whole number, or an infinity


class Atom:
    """A symbol, or a quotient, remainder, maximum, minimum or power of two sizes.

    `op` is `""` for a symbol, which has a `name`; else `//`, `%`, `max`, `min` or `**`, of `left` and `right`. The values lie
    from `low` to `high`, a range that shrinks as the trace learns. `node` is the size that consists of this atom alone.
    """

    __slots__ = ("guess", "high", "hint", "left", "low", "name", "node", "number", "op", "right")

    def __init__(
        self, number: int, op: str, name: str, left: Any, right: Any, hint: int | None, guess: int, low: Bound, high: Bound
    ) -> None:
        self.number = number
        self.op = op
        self.name = name
        self.left = left
        self.right = right
        self.hint = hint
        self.guess = guess
        self.low = low
        self.high = high
        self.node: Any = None


def terms_of(x: Any) -> Terms:
    """Return the polynomial of a size or a number."""
    if type(x) is SymInt:
        return x.terms
    return (((), x),) if x else ()


class Atoms:
    """The atoms of one ShapeEnv, and what their ranges say about polynomials."""

    def __init__(self) -> None:
        self.all: list[Atom] = []

    def lowest(self, p: Terms) -> Bound:
        """Return a lower bound of a polynomial.

        Each atom is written as its lowest value plus a rest that is not negative. Then only the negative terms count.
        """
        shifted: Terms = ()
        low: Bound = 0
        for monomial, n in p:
            if not monomial:
                low += n
                continue
            made: Terms = (((), n),)
            for number in monomial:
                at = self.all[number].low
                if at == -inf:
                    return -inf
                made = times(made, (((number,), 1), ((), int(at))) if at else (((number,), 1),))
            shifted = plus(shifted, made)
        for monomial, n in shifted:
            if not monomial:
                low += n
            elif n < 0:
                most: Bound = 1
                for number in monomial:
                    atom = self.all[number]
                    if atom.high == inf:
                        return -inf
                    most *= atom.high - atom.low
                low += n * most
        return low

    def highest(self, p: Terms) -> Bound:
        """Return an upper bound of a polynomial."""
        return -self.lowest(times(p, (((), -1),)))

    def never_negative(self, p: Terms, depth: int = 3) -> bool:
        """Return whether ranges, and operands of quotients, remainders and extremes, show that a polynomial is at least 0."""
        if self.lowest(p) >= 0:
            return True
        if not depth:
            return False
        for monomial, n in p:
            atom = self.all[monomial[0]] if len(monomial) == 1 else None
            if atom is None or not atom.op or sum(monomial[0] in other for other, _ in p) > 1:
                continue
            rest = plus(p, ((monomial, n),), -1)
            # The atom is linear in p: put a bound on the right side of it in its place.
            choices, every = self._bounds(atom, above=n < 0)
            found = [self.never_negative(plus(times(rest, (((), by),)), bound, n), depth - 1) for by, bound in choices]
            if found and (all(found) if every else any(found)):
                return True
        return False

    def _bounds(self, atom: Atom, *, above: bool) -> tuple[list[tuple[int, Terms]], bool]:
        """Return bounds of an atom on one side, `(k, p)` for `k * atom <= p` or `>= p`, and whether all of them count."""
        left, right = terms_of(atom.left), terms_of(atom.right)
        if atom.op == "//" and type(atom.right) is int and atom.right > 0:
            k = atom.right
            return [(k, left if above else plus(left, (((), 1 - k),)))], False
        if atom.op == "%" and above and self.lowest(right) > 0:
            under = [(1, plus(right, (((), -1),)))]
            return under + ([(1, left)] if self.lowest(left) >= 0 else []), False
        if atom.op in ("max", "min"):
            return [(1, left), (1, right)], above == (atom.op == "max")
        return [], False

    def zero(self, p: Terms) -> bool | None:
        """Return whether a polynomial is 0; None if the ranges do not tell."""
        if not p:
            return True
        if len(p) == 1 and not p[0][0]:
            return False
        minus = times(p, (((), -1),))
        one = (((), -1),)
        if self.never_negative(plus(p, one)) or self.never_negative(plus(minus, one)):
            return False
        return True if self.never_negative(p) and self.never_negative(minus) else None

    def nonnegative(self, p: Terms) -> bool | None:
        """Return whether a polynomial is at least 0; None if the ranges do not tell."""
        if self.never_negative(p):
            return True
        return False if self.never_negative(plus(times(p, (((), -1),)), (((), -1),))) else None
