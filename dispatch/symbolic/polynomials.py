"""Polynomials with whole coefficients in numbered atoms. Sizes are kept in this form, so that equal sizes are equal tuples.

A polynomial is a tuple of pairs, a monomial and its coefficient, highest degree first; a monomial is the numbers of its
atoms in order, with repetitions. `s0*s1 + 1`, its atoms numbered 0 and 1, is `(((0, 1), 1), ((), 1))`.
"""

from collections.abc import Iterable

Monomial = tuple[int, ...]
Terms = tuple[tuple[Monomial, int], ...]


def _order(term: tuple[Monomial, int]) -> tuple[int, Monomial]:
    return -len(term[0]), term[0]


def ordered(found: dict[Monomial, int]) -> Terms:
    """Return the polynomial of these monomials and coefficients."""
    return tuple(sorted([term for term in found.items() if term[1]], key=_order))


def constant(n: int) -> Terms:
    """Return a number as a polynomial."""
    return (((), n),) if n else ()


def plus(p: Terms, q: Terms, factor: int = 1) -> Terms:
    """Return `p + factor * q`."""
    found = dict(p)
    for monomial, n in q:
        found[monomial] = found.get(monomial, 0) + factor * n
    return ordered(found)


def times(p: Terms, q: Terms) -> Terms:
    """Return `p * q`."""
    found: dict[Monomial, int] = {}
    for a, m in p:
        for b, n in q:
            monomial = tuple(sorted(a + b))
            found[monomial] = found.get(monomial, 0) + m * n
    return ordered(found)


def divided(p: Terms, q: Terms) -> tuple[Terms, Terms]:
    """Return quotient and rest of a long division, `p = quotient * q + rest`. The rest is empty if `q` divides `p`."""
    quotient: dict[Monomial, int] = {}
    rest: dict[Monomial, int] = {}
    lead, factor = q[0]
    while p:
        monomial, n = p[0]
        by = _without(monomial, lead)
        if by is None or n % factor:
            rest[monomial] = n
            p = p[1:]
        else:
            quotient[by] = n // factor
            p = plus(p, times(((by, n // factor),), q), -1)
    return ordered(quotient), ordered(rest)


def _without(monomial: Monomial, other: Monomial) -> Monomial | None:
    """Return a monomial divided by another; None if that does not divide it."""
    left = list(monomial)
    for atom in other:
        if atom not in left:
            return None
        left.remove(atom)
    return tuple(left)


def value_at(p: Terms, values: Iterable[int] | dict[int, int]) -> int:
    """Return the value of a polynomial; `values` has the value of each atom by its number."""
    at = values if isinstance(values, dict) else list(values)
    total = 0
    for monomial, n in p:
        for atom in monomial:
            n *= at[atom]
        total += n
    return total
