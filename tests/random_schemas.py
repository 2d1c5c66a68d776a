"""Hypothesis strategies for the schema language: types, aliases, defaults and whole schemas."""

import http
import keyword
import string

import hint_table
import numpy as np
from hypothesis import strategies as st

from dispatch.schema.hints import class_of_text
from dispatch.schema.schema import MISSING, Argument, Return, Schema
from dispatch.schema.types import (
    BASES,
    INT,
    NONE,
    RESIDUAL,
    SCALAR_TYPE,
    STR,
    WORDS,
    Alias,
    ClassType,
    DictOf,
    ListOf,
    LiteralOf,
    OptionalOf,
    TupleOf,
    UnionOf,
)

DTYPES = [np.dtype(code) for code in "?bBhHiIlLqQefdgFDGO"] + [
    np.dtype(s) for s in (">f4", "<M8[ns]", "|S5", "<U3", "|V7")
]

_LETTERS = string.ascii_letters + "éλж"
names = st.builds("{}{}".format, st.sampled_from(_LETTERS), st.text(_LETTERS + string.digits + "_", max_size=6)).filter(
    lambda word: not keyword.iskeyword(word) and word != "default"
)

bases = st.sampled_from([WORDS[name] for name in BASES if name != "Residual"])
classes = st.sampled_from([
    ClassType("fractions.Fraction"), ClassType("numpy.random._generator.Generator"), ClassType("http.HTTPMethod"),
    class_of_text("numpy.linalg._linalg.QRResult"), class_of_text(f"{hint_table.__name__}.State"),
])  # fmt: skip
choices = st.lists(st.text(max_size=3) | st.integers() | st.binary(max_size=3) | st.booleans(), min_size=1, max_size=4)
literals = choices.map(lambda found: LiteralOf(tuple({(type(x), x): x for x in found}.values())))


def _optional(kind):
    return kind if isinstance(kind, OptionalOf) or kind == NONE else OptionalOf(kind)


def _is_member(kind):
    return not isinstance(kind, (OptionalOf, UnionOf)) and str(kind) not in ("Any", "None")


types = st.recursive(
    bases | classes | literals,
    lambda inner: st.one_of(
        st.builds(ListOf, inner),
        st.builds(ListOf, inner, st.integers(1, 9)),
        inner.map(_optional),
        st.lists(inner, min_size=1, max_size=3).map(lambda members: TupleOf(tuple(members))),
        st.builds(DictOf, st.sampled_from([INT, STR]), inner),
        st.lists(inner.filter(_is_member), min_size=2, max_size=3, unique=True).map(lambda members: UnionOf(tuple(members))),
    ),
    max_leaves=4,
)

_words = {
    "int": st.integers() | st.integers(-128, 127).map(np.int8),
    "float": st.floats() | st.integers() | st.floats(width=32).map(np.float32),
    "complex": st.complex_numbers() | st.complex_numbers(allow_nan=True, allow_infinity=True) | st.floats(),
    "bool": st.booleans() | st.booleans().map(np.bool_),
    "str": st.text(),
    "bytes": st.binary(),
    "Scalar": st.booleans() | st.integers() | st.floats() | st.complex_numbers(),
    "ScalarType": st.sampled_from([*DTYPES, np.float32, np.bool_, float, int, bool, complex, ">i2", "float64"]),
    "Device": st.text(max_size=5),
    "Any": st.none()
    | st.integers()
    | st.floats()
    | st.text()
    | st.lists(st.integers(), max_size=3)
    | st.dictionaries(st.text(), st.sampled_from(http.HTTPMethod), max_size=3),
    "None": st.none(),
    "http.HTTPMethod": st.sampled_from(http.HTTPMethod),
}


def defaults(kind):
    """Values that may be the default of an argument of this type, or nothing at all."""
    if isinstance(kind, OptionalOf):
        return st.none() | defaults(kind.element)
    if isinstance(kind, UnionOf):
        return st.one_of([found for found in map(defaults, kind.members) if not found.is_empty] or [st.nothing()])
    if isinstance(kind, TupleOf):
        return st.tuples(*map(defaults, kind.members))
    if isinstance(kind, ListOf):
        least, most = (0, 3) if kind.size is None else (kind.size, kind.size)
        inner = defaults(kind.element)
        if inner.is_empty:
            return st.nothing() if least else st.just([])
        many = st.lists(inner, min_size=least, max_size=most)
        return many | st.integers() if kind.element == INT and kind.size else many | many.map(tuple)
    if isinstance(kind, LiteralOf):
        return st.sampled_from(kind.choices)
    if isinstance(kind, DictOf):
        inner = defaults(kind.value)
        return st.just({}) if inner.is_empty else st.dictionaries(defaults(kind.key), inner, max_size=3)
    return _words.get(str(kind), st.nothing())


@st.composite
def schemas(draw):
    """Schemas in which every part of the language turns up."""
    words = draw(st.lists(names, unique=True, max_size=5))
    first, second = sorted(draw(st.tuples(*[st.integers(0, len(words))] * 2)))
    arguments, sets, must = [], [], False
    for i, word in enumerate(words):
        kind = draw(types | st.just(RESIDUAL))
        alias = None
        if kind.has_tensor and draw(st.booleans()):
            before = frozenset((f"s{i}", f"t{i}")[: draw(st.integers(1, 2))])
            after = draw(st.sampled_from([before, before | set(sets), frozenset("*")]))
            alias = Alias(before, after, draw(st.booleans()))
            sets += before
        choices = defaults(kind)
        wanted = not choices.is_empty and (draw(st.booleans()) or (must and i < second))
        if must and not wanted and i < second:
            kind, alias, choices, wanted = SCALAR_TYPE, None, st.just(np.dtype("f8")), True
        default = draw(choices) if wanted else MISSING
        must = must or wanted
        arguments.append(Argument(word, kind, default, i >= second, i < first, alias))
    written = [a.alias.before for a in arguments if a.is_write]
    results = []
    for kind in draw(st.lists(types.filter(lambda kind: kind != NONE), max_size=3)):
        alias = None
        known = [a.alias for a in arguments if a.alias is not None]
        if kind.has_tensor and known and draw(st.booleans()):
            before = draw(st.sampled_from(known)).before
            alias = Alias(before, before, before in written and draw(st.booleans()))
        results.append(Return(kind, None, alias))
    named = draw(st.lists(names, unique=True, min_size=len(results), max_size=len(results)))
    results = [
        Return(r.type, draw(st.sampled_from([None, word])), r.alias) for r, word in zip(results, named, strict=True)
    ]
    if draw(st.booleans()):
        results.append(Return(RESIDUAL))
    return Schema(draw(names), draw(names), draw(st.just("") | names), tuple(arguments), tuple(results))
