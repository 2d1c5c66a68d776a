"""Asks SymPy about sizes that depend on data, if ranges do not answer. SymPy is imported only then."""

from collections.abc import Sequence
from math import inf
from typing import Any

from ..core.optional import require
from .atoms import Atom
from .polynomials import Terms


class Solver:
    """The atoms of a ShapeEnv in SymPy. A symbol with a lowest value is that value plus a rest that is not negative."""

    def __init__(self, atoms: Sequence[Atom]) -> None:
        self.sympy = require("sympy", "symbolic", needed_by="deciding by a size that depends on data")
        self.atoms = atoms

    def nonnegative(self, p: Terms, facts: Sequence[Terms]) -> bool | None:
        """Return whether a polynomial is at least 0, given that each of the facts is; None if SymPy cannot tell."""
        expression = self.expression(p)
        known = [self.expression(fact) for fact in facts]
        if self._sure(expression, known):
            return True
        return False if self._sure(-expression - 1, known) else None

    def zero(self, p: Terms, facts: Sequence[Terms]) -> bool | None:
        """Return whether a polynomial is 0, given that each of the facts is at least 0; None if SymPy cannot tell."""
        expression = self.expression(p)
        if self.sympy.simplify(expression) == 0:
            return True
        known = [self.expression(fact) for fact in facts]
        return False if self._sure(expression - 1, known) or self._sure(-expression - 1, known) else None

    def _sure(self, expression: Any, facts: list[Any]) -> bool:
        """Whether an expression is at least 0, by itself or after one or two of the facts are subtracted."""
        sums = [0, *facts, *[a + b for i, a in enumerate(facts) for b in facts[:i]]]
        return any(self.sympy.factor(self.sympy.expand(expression - known)).is_nonnegative for known in sums)

    def expression(self, p: Terms) -> Any:
        """Return a polynomial as a SymPy expression."""
        total = self.sympy.Integer(0)
        for monomial, n in p:
            product = self.sympy.Integer(n)
            for number in monomial:
                product *= self._atom(self.atoms[number])
            total += product
        return total

    def _atom(self, atom: Atom) -> Any:
        sympy = self.sympy
        if atom.op:
            left, right = [self.expression(getattr(x, "terms", (((), x),))) for x in (atom.left, atom.right)]
            made = {
                "//": lambda: sympy.floor(left / right),
                "%": lambda: sympy.Mod(left, right),
                "max": lambda: sympy.Max(left, right),
                "min": lambda: sympy.Min(left, right),
                "**": lambda: left**right,
            }
            return made[atom.op]()
        if atom.low == -inf:
            return sympy.Symbol(atom.name, integer=True)
        return sympy.Symbol(atom.name, integer=True, nonnegative=True) + int(atom.low)
