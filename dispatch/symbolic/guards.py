"""What holds for sizes: by their ranges, by what was learned, by the sizes of this run, which leaves a guard."""

from collections.abc import Callable
from math import gcd
from typing import Any

from ..core.source import Line, line
from ..errors import CheckError, DataDependentSizeError
from .atoms import terms_of
from .expressions import Expressions
from .polynomials import Terms, constant, plus, times
from .sym_bool import OPPOSITE, SymBool
from .sym_int import NUMBERS, SymInt
from .sympy_solver import Solver

MINUS = (((), -1),)
Question = tuple[str, Terms]  # "==" or ">=": whether a polynomial is 0, or at least 0


class Guard(SymBool):
    """A condition that a trace rests on, with the line of the user's code that asked for it."""

    __slots__ = ("line",)

    def __init__(self, condition: SymBool, line: Line) -> None:
        super().__init__(condition.env, condition.op, condition.left, condition.right)
        self.line = line


class Check(Guard):
    """A condition on sizes that depend on data, which a run has to test."""

    __slots__ = ("_message",)

    def __init__(self, condition: SymBool, line: Line, message: str | Callable[[], str] | None) -> None:
        super().__init__(condition, line)
        self._message = message

    @property
    def message(self) -> str:
        """What is said where it does not hold."""
        return said(self._message, f"{self}, which was promised at {self.line.place}, is not so.")


def said(message: str | Callable[[], str] | None, otherwise: str) -> str:
    """A message, which may be a function that makes it."""
    return otherwise if message is None else str(message() if callable(message) else message)


class Decisions(Expressions):
    """The sizes of one ShapeEnv, and what is known of them.

    Whatever is known once stays so: a guard narrows what the trace is right for, and a check ends the run.
    """

    def __init__(self) -> None:
        super().__init__()
        self.guards: list[Guard] = []
        self.checks: list[Check] = []
        self._known: dict[Question, bool] = {}
        self._facts: list[Terms] = []  # polynomials that are never negative
        self._replaced: dict[int, Terms] = {}  # symbols that equal another size
        self._solver: Solver | None = None

    # -- asked -------------------------------------------------------------------------------------------------------------

    def compared(self, op: str, a: Any, b: Any) -> Any:
        """A comparison: a bool where it is known, else a condition."""
        key = op, a if type(a) is int else (id(a),), b if type(b) is int else (id(b),)
        found = self._made.get(key)
        if found is None:
            found = self._answer(op, a, b)
            if found is None:
                return SymBool(self, op, a, b)
            self._made[key] = found
        return found

    def known(self, condition: SymBool) -> bool | None:
        """Whether a condition holds for all sizes that the guards and checks let through; None if that is open."""
        if condition.op in NUMBERS:
            return self._answer(condition.op, condition.left, condition.right)
        left, right = self.known(condition.left), self.known(condition.right)
        decisive = condition.op == "or"
        if left is decisive or right is decisive:
            return decisive
        return None if left is None or right is None else not decisive

    def truth(self, condition: SymBool) -> bool:
        """Whether a condition holds in this run, which becomes a guard; or the exception where data decide."""
        found = self.known(condition)
        if found is not None:
            return found
        if condition.op not in NUMBERS:  # each half by itself, the second where it still counts
            decisive = condition.op == "or"
            return decisive if self.truth(condition.left) is decisive else self.truth(condition.right)
        hint = self._hint(condition)
        if hint is None:
            hint = self._solved(condition)
            if hint is None:
                raise self._depends(condition)
            self._learn(condition if hint else ~condition)
            return hint
        held = condition if hint else ~condition
        self.guards.append(Guard(held, line()))
        self._learn(held)
        return hint

    def truth_or(self, condition: SymBool, otherwise: bool) -> bool:
        """Whether a condition holds in this run, which becomes a guard; where data decide, what is given instead."""
        if self.known(condition) is None and self._hint(condition) is None:
            return otherwise
        return self.truth(condition)

    def number(self, size: SymInt) -> int:
        """The number that a size is in this run, which becomes a guard; or the exception where data decide."""
        hint = size.hint
        if hint is None:
            resolved = self._resolved(size.terms)
            if not resolved:
                return 0
            if len(resolved) == 1 and not resolved[0][0]:
                return resolved[0][1]
            found = self.size(resolved)
            if found.hint is None:
                raise self._no_number(size)
            hint = found.hint
        self.truth(SymBool(self, "==", size, hint))
        return int(hint)

    def assume(self, condition: SymBool, message: str | Callable[[], str] | None = None) -> None:
        """Take a condition for true: a guard where the sizes of this run say so, else a check for the runs.

        Raises
        ------
        CheckError
            If it does not hold.
        """
        found = self.known(condition)
        if found is None and condition.hint is None and condition.op in NUMBERS:
            found = self._hint(condition) or self._solved(condition)
        if found is None and condition.hint is None:
            if condition.op == "and":
                self.assume(condition.left, message)
                self.assume(condition.right, message)
                return
            self.checks.append(Check(condition, line(), message))
            self._learn(condition)
        elif not (condition.hint if found is None else found):
            raise CheckError(said(message, f"{condition} was promised to dispatch.check at {line().place}, and is not so."))
        else:
            self.truth(condition)

    # -- answered ----------------------------------------------------------------------------------------------------------

    def _question(self, op: str, a: Any, b: Any) -> tuple[Question, bool]:
        """A comparison as a question about a polynomial, and the answer that makes it true."""
        if op in ("<", ">"):
            return self._question(OPPOSITE[op], a, b)[0], False
        p = plus(terms_of(b), terms_of(a), -1) if op == "<=" else plus(terms_of(a), terms_of(b), -1)
        if op in ("<=", ">="):
            return (">=", p), True
        return ("==", p if not p or p[0][1] > 0 else times(p, MINUS)), op == "=="

    def _answer(self, op: str, a: Any, b: Any) -> bool | None:
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
            resolved = self._resolved(p)
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
        """Whether it is at least 0 since one of the facts is."""
        atoms = {number for monomial, _ in p for number in monomial}
        near = [fact for fact in self._facts if any(number in atoms for monomial, _ in fact for number in monomial)]
        return any(self._atoms.never_negative(plus(p, fact, -1), 1) for fact in near)

    def _resolved(self, p: Terms) -> Terms:
        """A polynomial with the sizes that symbols were found to equal in their places."""
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
        """What stands in the place of an atom: what a symbol equals, or a function of that."""
        atom = self._atoms.all[number]
        if not atom.op:
            return self._replaced.get(number, (((number,), 1),))
        operands = [self.size(self._resolved(terms_of(x))) for x in (atom.left, atom.right)]
        if all(type(x) is int for x in operands):
            return constant(NUMBERS[atom.op](*operands))
        return terms_of(self.made(atom.op, *operands))

    def _hint(self, condition: SymBool) -> bool | None:
        """Whether it holds in this run; None if that depends on data."""
        found = condition.hint
        if found is None and self._replaced and condition.op in NUMBERS:
            (kind, p), wanted = self._question(condition.op, condition.left, condition.right)
            size = self.size(self._resolved(p))
            hint = size if type(size) is int else size.hint
            found = None if hint is None else ((hint == 0) if kind == "==" else (hint >= 0)) is wanted
        return found

    def _solved(self, condition: SymBool) -> bool | None:
        """What SymPy says."""
        self._solver = self._solver or Solver(self._atoms.all)
        (kind, p), wanted = self._question(condition.op, condition.left, condition.right)
        p = self._resolved(p)
        found = self._solver.zero(p, self._facts) if kind == "==" else self._solver.nonnegative(p, self._facts)
        return None if found is None else found is wanted

    # -- learned -----------------------------------------------------------------------------------------------------------

    def _learn(self, condition: SymBool) -> None:
        if condition.op == "and":
            self._learn(condition.left)
            self._learn(condition.right)
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
        """Keep that a polynomial is at least 0: in the range of its symbol, if it has one alone."""
        if len(p) <= 2 and len(p[0][0]) == 1 and abs(p[0][1]) == 1 and (len(p) == 1 or not p[1][0]):
            atom, least = self._atoms.all[p[0][0][0]], -p[1][1] if len(p) == 2 else 0
            if p[0][1] > 0:
                atom.low = max(atom.low, least)
            else:
                atom.high = min(atom.high, -least)
        else:
            self._facts.append(p)

    def _replace(self, p: Terms) -> None:
        """Keep which symbol equals another size, by a polynomial that is 0; a symbol of data rather than another."""
        choices = []
        for monomial, n in p:
            atom = self._atoms.all[monomial[0]] if len(monomial) == 1 and abs(n) == 1 else None
            if atom is not None and not atom.op:
                rest = times(plus(p, ((monomial, n),), -1), constant(-n))
                if atom.name not in self.names_of(rest):
                    choices.append((atom.hint is None, atom.number, rest))
        if choices:
            _, number, rest = max(choices)
            self._replaced[number] = rest

    # -- refused -----------------------------------------------------------------------------------------------------------

    def _depends(self, condition: SymBool) -> DataDependentSizeError:
        return DataDependentSizeError(
            f"whether {condition} was asked {_here()}, and {self._data(condition.names)}. Promise what is so before that line, "
            f"dispatch.check({condition}), or ask nothing of the size."
        )

    def _no_number(self, size: SymInt) -> DataDependentSizeError:
        return DataDependentSizeError(
            f"the number that the size {size} is was asked for {_here()}, and {self._data(size.names)}. Hand the size itself "
            f"to operators, np.arange(n) say; or, if it is always one number, write dispatch.check({size} == number) before "
            "that line."
        )

    def _data(self, names: tuple[str, ...]) -> str:
        found = [name for name in names if self.symbols[name].hint is None]
        return f"{' and '.join(found)} {'depends' if len(found) == 1 else 'depend'} on data"

    symbols: dict[str, SymInt]


def _here() -> str:
    """The line outside this package that is running, in a sentence."""
    at = line()
    return f"at {at.place}" + (f" ({at.text})" if at.text else "")
