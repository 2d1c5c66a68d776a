"""Keeps what a trace has learned about its sizes, and answers questions about them from it."""

from math import gcd
from typing import Any

from .atoms import terms_of
from .expressions import Expressions
from .polynomials import Terms, constant, plus, times
from .sym_bool import OPPOSITE, SymBool
from .sym_int import NUMBERS
from .sympy_solver import Solver

MINUS = (((), -1),)
Question = tuple[str, Terms]  # "==" or ">=": whether a polynomial is 0, or at least 0


class Facts:
    """What is known about the sizes of one ShapeEnv: the ranges of symbols, which sizes are equal, which are never negative.

    A fact stays true for the whole trace: a guard narrows the sizes the trace is right for, and a failed check ends the run.
    """

    def __init__(self, expressions: Expressions) -> None:
        self._expressions = expressions
        self._atoms = expressions.atoms
        self._known: dict[Question, bool] = {}
        self._facts: list[Terms] = []  # polynomials that are never negative
        self._replaced: dict[int, Terms] = {}  # the sizes that symbols equal, by the number of the symbol
        self._solver: Solver | None = None

    def add_nonnegative(self, p: Terms) -> None:
        """Keep that a polynomial is never negative."""
        self._facts.append(p)

    def _question(self, op: str, a: Any, b: Any) -> tuple[Question, bool]:
        """Return a comparison as a question about a polynomial, and the answer that makes the comparison true."""
        if op in ("<", ">"):
            return self._question(OPPOSITE[op], a, b)[0], False
        p = plus(terms_of(b), terms_of(a), -1) if op == "<=" else plus(terms_of(a), terms_of(b), -1)
        if op in ("<=", ">="):
            return (">=", p), True
        return ("==", p if not p or p[0][1] > 0 else times(p, MINUS)), op == "=="

    def answer(self, op: str, a: Any, b: Any) -> bool | None:
        """Return whether a comparison holds for all sizes that the guards and checks allow; None if that is open."""
        question, wanted = self._question(op, a, b)
        found = self._known.get(question)
        if found is None:
            found = self._decided(question)
            if found is None:
                return None
            self._known[question] = found
        return found is wanted

    def _decided(self, question: Question) -> bool | None:
        kind, p = question
        found = self._by_ranges(kind, p)
        if found is None and self._replaced:
            resolved = self.resolved(p)
            if resolved != p:
                p = resolved
                found = self._by_ranges(kind, p)
        if found is None and self._facts:
            found = self._by_facts(kind, p)
        return found

    def _by_ranges(self, kind: str, p: Terms) -> bool | None:
        if kind == ">=":
            return self._atoms.nonnegative(p)
        *others, last = p or ((((), 0)),)  # the constant comes last
        if others and not last[0] and last[1] % gcd(*[n for _, n in others]):
            return False
        return self._atoms.zero(p)

    def _by_facts(self, kind: str, p: Terms) -> bool | None:
        minus = times(p, MINUS)
        if kind == ">=":
            return True if self._follows(p) else False if self._follows(plus(minus, MINUS)) else None
        if self._follows(plus(p, MINUS)) or self._follows(plus(minus, MINUS)):
            return False
        return True if self._follows(p) and self._follows(minus) else None

    def _follows(self, p: Terms) -> bool:
        """Whether one of the facts makes a polynomial at least 0."""
        atoms = {number for monomial, _ in p for number in monomial}
        near = [fact for fact in self._facts if any(number in atoms for monomial, _ in fact for number in monomial)]
        return any(self._atoms.never_negative(plus(p, fact, -1), 1) for fact in near)

    def resolved(self, p: Terms) -> Terms:
        """Return a polynomial in which each symbol that equals another size is replaced by that size."""
        for _ in range(len(self._replaced)):
            found: Terms = ()
            for monomial, n in p:
                made = constant(n)
                for number in monomial:
                    made = times(made, self._replacing(number))
                found = plus(found, made)
            if found == p:
                break
            p = found
        return p

    def _replacing(self, number: int) -> Terms:
        """Return what replaces an atom: the size that a symbol equals, or a function of such sizes."""
        atom = self._atoms.all[number]
        if not atom.op:
            return self._replaced.get(number, (((number,), 1),))
        operands = [self._expressions.size(self.resolved(terms_of(x))) for x in (atom.left, atom.right)]
        if all(type(x) is int for x in operands):
            return constant(NUMBERS[atom.op](*operands))
        return terms_of(self._expressions.made(atom.op, *operands))

    def hint(self, condition: SymBool) -> bool | None:
        """Return whether a condition holds in this run, by symbols that equal others too; None if that depends on data."""
        found = condition.hint
        if found is None and self._replaced and condition.op in NUMBERS:
            (kind, p), wanted = self._question(condition.op, condition.left, condition.right)
            size = self._expressions.size(self.resolved(p))
            hint = size if type(size) is int else size.hint
            found = None if hint is None else ((hint == 0) if kind == "==" else (hint >= 0)) is wanted
        return found

    def by_arguments(self, condition: SymBool) -> SymBool:
        """Return a comparison that has a hint, told by sizes of arguments: a guard is tested before anything has run."""
        if condition.hint is not None:
            return condition
        sides = [self._expressions.size(self.resolved(terms_of(x))) for x in (condition.left, condition.right)]
        return SymBool(condition.env, condition.op, *sides)

    def solved(self, condition: SymBool) -> bool | None:
        """Return whether SymPy finds a comparison true; None where it cannot tell."""
        self._solver = self._solver or Solver(self._atoms.all)
        (kind, p), wanted = self._question(condition.op, condition.left, condition.right)
        p = self.resolved(p)
        found = self._solver.zero(p, self._facts) if kind == "==" else self._solver.nonnegative(p, self._facts)
        return None if found is None else found is wanted

    # -- learned -----------------------------------------------------------------------------------------------------------

    def learn(self, condition: SymBool) -> None:
        """Keep that a condition holds."""
        if condition.op == "and":
            self.learn(condition.left)
            self.learn(condition.right)
        if condition.op not in NUMBERS:
            return
        question, wanted = self._question(condition.op, condition.left, condition.right)
        self._known[question] = wanted
        kind, p = question
        if kind == ">=":
            self._bounded(p if wanted else plus(times(p, MINUS), MINUS))
        elif wanted:
            self._bounded(p)
            self._bounded(times(p, MINUS))
            self._replace(p)

    def _bounded(self, p: Terms) -> None:
        """Keep that a polynomial is at least 0. If it has one symbol alone, the range of that symbol says so."""
        if len(p) <= 2 and len(p[0][0]) == 1 and abs(p[0][1]) == 1 and (len(p) == 1 or not p[1][0]):
            atom, least = self._atoms.all[p[0][0][0]], -p[1][1] if len(p) == 2 else 0
            if p[0][1] > 0:
                atom.low = max(atom.low, least)
            else:
                atom.high = min(atom.high, -least)
        else:
            self._facts.append(p)

    def _replace(self, p: Terms) -> None:
        """Given a polynomial that is 0, keep which symbol equals another size; one that depends on data is preferred."""
        choices = []
        for monomial, n in p:
            atom = self._atoms.all[monomial[0]] if len(monomial) == 1 and abs(n) == 1 else None
            if atom is not None and not atom.op:
                rest = times(plus(p, ((monomial, n),), -1), constant(-n))
                if atom.name not in self._expressions.names_of(rest):
                    choices.append((atom.hint is None, atom.number, rest))
        if choices:
            _, number, rest = max(choices)
            self._replaced[number] = rest
