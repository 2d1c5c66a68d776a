"""Arithmetic of sizes. Each expression is one object, with its number in this run and its text."""

import threading
from collections.abc import Callable, Iterable, Sequence
from math import inf
from typing import Any

from .atoms import Atom, Atoms, terms_of
from .polynomials import Monomial, Terms, constant, divided, ordered, plus, times, value_at
from .sym_int import NUMBERS, SymInt, text_of


class Expressions:
    """The sizes of one ShapeEnv, and arithmetic on them."""

    def __init__(self, env: Any) -> None:
        self._env = env
        self.atoms = Atoms()
        self._sizes: dict[Terms, SymInt] = {}  # every size there is: one object for each polynomial
        self._made: dict[Any, Any] = {}  # results of arithmetic and of comparisons, by the identity of operands
        self.making = threading.RLock()

    def at_least(self, a: Any, b: Any) -> bool:
        """Return whether `a >= b` for all values of the symbols."""
        return self.atoms.never_negative(plus(terms_of(a), terms_of(b), -1))

    def made(self, op: str, a: Any, b: Any) -> Any:
        """Return the result of an operation on sizes and ints, of which at least one is a size."""
        key = op, a if type(a) is int else (id(a),), b if type(b) is int else (id(b),)
        found = self._made.get(key)
        if found is None:
            found = self._made[key] = self._applied(op, a, b)
        return found

    def _applied(self, op: str, a: Any, b: Any) -> Any:
        p, q = terms_of(a), terms_of(b)
        if op == "+":
            return self.size(plus(p, q))
        if op == "-":
            return self.size(plus(p, q, -1))
        if op == "*":
            return self.size(times(p, q))
        if op in ("max", "min"):
            if self.at_least(a, b):
                return a if op == "max" else b
            if self.at_least(b, a):
                return b if op == "max" else a
            return self._function(op, a, b)
        if op == "**":
            return self._power(a, b)
        if not (b if type(b) is int else bool(b != 0)):
            return NUMBERS[op](1, 0)  # raises in Python's words
        return self._quotient(a, b) if op == "//" else self._remainder(a, b)

    def _power(self, a: Any, b: Any) -> Any:
        if type(b) is SymInt:
            return self._function("**", a, b)
        if b < 0:
            return int(a) ** b
        made: Any = 1
        for _ in range(b):
            made = made * a
        return made

    def _quotient(self, a: Any, b: Any) -> Any:
        whole, rest = divided(terms_of(a), terms_of(b))
        if not rest:
            return self.size(whole)
        left = self.size(rest)
        if type(left) is int and type(b) is int:
            return self.size(whole) + left // b
        if self.atoms.lowest(rest) >= 0 and self._less(rest, terms_of(b)):
            return self.size(whole)
        if type(b) is int and b < 0:
            left, b = -left, -b
        return self.size(whole) + self._function("//", left, b)

    def _remainder(self, a: Any, b: Any) -> Any:
        p, q = terms_of(a), terms_of(b)
        _, rest = divided(p, q)
        if type(b) is int:
            rest = ordered({monomial: n % b for monomial, n in rest})
        left = self.size(rest)
        if type(left) is int and type(b) is int:
            return left % b
        if self._less(rest, q):
            if self.atoms.lowest(rest) >= 0:
                return left
            if self.atoms.never_negative(plus(rest, q)) and self._less(rest, ()):
                return left + b
        return self._function("%", left, b)

    def _less(self, p: Terms, q: Terms) -> bool:
        return self.atoms.never_negative(plus(plus(q, p, -1), constant(-1)))

    def size(self, p: Terms) -> Any:
        """Return the size of a polynomial, or an int if the polynomial is a number."""
        found = self._sizes.get(p)
        if found is not None:
            return found
        if not p:
            return 0
        if len(p) == 1 and not p[0][0]:
            return p[0][1]
        atoms = self.atoms.all
        open_ = any(atoms[number].hint is None for monomial, _ in p for number in monomial)
        guess = value_at(p, {number: atoms[number].guess for monomial, _ in p for number in monomial})
        return self._sizes.setdefault(p, SymInt(self._env, p, None if open_ else guess, guess))

    def _function(self, op: str, a: Any, b: Any) -> Any:
        """Return a size that is no polynomial of others, with its range."""
        key = "function", op, a if type(a) is int else (id(a),), b if type(b) is int else (id(b),)
        if key in self._made:
            return self._made[key]
        apply, low, high = NUMBERS[op], -inf, inf
        hints = [x if type(x) is int else x.hint for x in (a, b)]
        guess = apply(*[x if type(x) is int else x.guess for x in (a, b)])
        of_a = self.atoms.lowest(terms_of(a)), self.atoms.highest(terms_of(a))
        of_b = self.atoms.lowest(terms_of(b)), self.atoms.highest(terms_of(b))
        if op in ("max", "min"):
            low, high = apply(of_a[0], of_b[0]), apply(of_a[1], of_b[1])
        elif op == "%" and of_b[0] > 0:
            low, high = 0, min(of_b[1] - 1, of_a[1]) if of_a[0] >= 0 else of_b[1] - 1
        elif op == "//" and of_b[0] > 0:
            low, high = _down(of_a[0], of_b[0 if of_a[0] < 0 else 1]), _down(of_a[1], of_b[1 if of_a[1] < 0 else 0])
        elif op == "**" and of_a[0] >= 1:
            low = 1
        hint = None if None in hints else apply(*hints)
        made = self._made[key] = self.atom(op, "", a, b, hint, guess, low, high)
        return made

    def atom(self, op: str, name: str, a: Any, b: Any, hint: int | None, guess: int, low: float, high: float) -> SymInt:
        """Return a new size that is no polynomial of others: a symbol, or a function such as a quotient."""
        with self.making:
            atoms = self.atoms.all
            atom = Atom(len(atoms), op, name, a, b, hint, guess, low, high)
            atoms.append(atom)
            atom.node = self.size((((atom.number,), 1),))
            return atom.node  # type: ignore[no-any-return]

    # -- text and code -----------------------------------------------------------------------------------------------------

    def text(self, p: Terms) -> str:
        """Return a polynomial as a Python expression."""
        found = ""
        for monomial, n in p:
            word = self._product(monomial, abs(n), alone=n > 0 or bool(found))
            found += (" - " if n < 0 else " + ") + word if found else ("-" if n < 0 else "") + word
        return found or "0"

    def _product(self, monomial: Monomial, n: int, *, alone: bool) -> str:
        factors = [str(n)] if n != 1 or not monomial else []
        alone = alone and len(monomial) == 1 and n == 1
        for number in dict.fromkeys(monomial):
            word, power = self._word(self.atoms.all[number], alone), monomial.count(number)
            factors.append(word if power == 1 else f"{word}**{power}")
        return "*".join(factors)

    def _word(self, atom: Atom, alone: bool) -> str:
        if not atom.op:
            return atom.name
        if atom.op in ("max", "min"):
            return f"{atom.op}({text_of(atom.left)}, {text_of(atom.right)})"
        left, right = [
            text_of(x) if type(x) is int or not self._compound(x) else f"({x.text})" for x in (atom.left, atom.right)
        ]
        left = f"({left})" if left.startswith("-") else left
        space = " " if atom.op == "%" else ""
        word = f"{left}{space}{atom.op}{space}{right}"
        return word if alone else f"({word})"

    def _compound(self, x: SymInt) -> bool:
        """Whether the text of a size needs parentheses."""
        atom = self.atoms.all[x.terms[0][0][0]]
        return len(x.terms) > 1 or len(x.terms[0][0]) > 1 or x.terms[0][1] != 1 or atom.op in ("//", "%", "**")

    def compiled(self, expressions: Sequence[Any], names: Iterable[str]) -> Callable[..., tuple[Any, ...]]:
        """Return a Python function from the numbers of symbols, in the order of `names`, to the numbers of expressions."""
        items = "".join(f"{text_of(x)}, " for x in expressions)
        made: Callable[..., tuple[Any, ...]] = eval(f"lambda {', '.join(names)}: ({items})", {"max": max, "min": min})
        return made

    def names_of(self, p: Terms) -> list[str]:
        """Return the names of the symbols in a polynomial."""
        found: set[int] = set()
        waiting = [number for monomial, _ in p for number in monomial]
        while waiting:
            atom = self.atoms.all[waiting.pop()]
            if not atom.op:
                found.add(atom.number)
            for x in (atom.left, atom.right):
                waiting += [number for monomial, _ in terms_of(x) for number in monomial] if type(x) is SymInt else []
        return [self.atoms.all[number].name for number in sorted(found)]


def _down(a: float, b: float) -> float:
    """Return a quotient of bounds, rounded down; the second bound is positive."""
    if b == inf:
        return 0 if a >= 0 else -1
    return a if abs(a) == inf else int(a) // int(b)
