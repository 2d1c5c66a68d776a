"""Which overload a call means: exact before widening, by the values alone, and never by the order of definition."""

import collections.abc
import dataclasses
import enum
import itertools
from collections import deque

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from making import shadow

import dispatch
from dispatch.core import Level
from dispatch.dispatcher import call_errors
from dispatch.errors import ArgumentError, DefinitionError, EscapedValueError
from dispatch.operators.overload_resolution import choose, common_call, fit, is_exact, overlap, refuse_ambiguous
from dispatch.operators.registry import build
from dispatch.schema.infer import infer
from dispatch.schema.schema import Schema

A = np.arange(3.0)


class Color(enum.Enum):
    RED = 1


@dispatch.library.register_opaque_type
class Base:
    pass


@dispatch.library.register_opaque_type
class Derived(Base):
    def __call__(self):
        pass


class Subarray(np.ndarray):
    def __call__(self):
        pass


class Fraction(float):
    pass


@dataclasses.dataclass
class Point:
    x: np.ndarray
    n: int = 1


@dataclasses.dataclass
class Heir(Point):
    pass


def kind(text):
    return Schema.parse(f"n::f({text} x) -> ()").arguments[0].type


COLOR, BASE, DERIVED, POINT = (f"{cls.__module__}.{cls.__qualname__}" for cls in (Color, Base, Derived, Point))
TYPES = [
    "Tensor", "int", "float", "complex", "bool", "str", "bytes", "Scalar", "ScalarType", "Device", "Any", "Callable",
    "None", "Tensor?", "int?", "Tensor[]", "int[]", "float[]", "int[2]", "int[3]?", "int?[]", "Tensor?[]", "(int, str)", "(int, int)",
    "Dict(str, int)", "Dict(str, float)", COLOR, BASE, DERIVED, "Callable?", "ScalarType?",
    POINT, f"{POINT}[]", "Literal['cpu', 'a']", "Literal['cuda', 1]", "Literal[1, True]?", "Literal[b'b']", "Literal['a'][]",
]  # fmt: skip
VALUES = [
    A, A.view(Subarray), np.float64(1), np.int32(1), np.bool_(True), np.str_("a"), 1, 1.0, 1j, True, Fraction(1), "cpu",
    "float64", b"a", None, np.dtype("f4"), np.float32, float, len, lambda: 0, [], (), [A], (A, A), [1], [1, 2], (1, 2), (1, "a"),
    [1.0], [1, 2.0], [None], [1, None], range(2), range(3), deque([1, 2]), {}, {"a": 1}, {"a": 1.0}, {1: 1}, Color.RED, Base(), Derived(),
    np.sin, object(), Point(A), Point(1.0), Point(A, 1.5), Heir(A), [Point(A)], [Point(1.0)], "a", "cuda", 2, b"b", ["a"], ["b"],
]  # fmt: skip
OPERATORS = {text: build(Schema.parse(f"n::f({text} x) -> ()")) for text in TYPES}


# -- one value, one type ---------------------------------------------------------------------------------------------------

EXACT = [
    ("Tensor", [A, A.view(Subarray), np.float64(1), np.int32(1), np.bool_(True), np.str_("a")], []),
    ("int", [1], [np.int32(1)]),
    ("float", [1.0], [1, Fraction(1), np.float64(1), np.int32(1)]),
    ("complex", [1j], [1, 1.0, np.float64(1)]),
    ("bool", [True], [np.bool_(True)]),
    ("str", ["a"], [np.str_("a")]),
    ("bytes", [b"a"], []),
    ("Scalar", [], [1, 1.0, 1j, True, np.float64(1)]),
    ("Any", [], [1, A, None]),
    ("ScalarType", [np.dtype("f4"), np.float32, float], ["float64"]),
    ("Device", ["cpu"], []),
    ("Union(float, float[])", [1.0, [1.0], (1.0, 2.0)], [1, [1]]),
    ("Union((int, str), str)", ["a", (1, "a")], []),
    ("Union(Tensor, Tensor[])?", [A, [A, A], None], []),
    ("Callable", [len, lambda: 0, np.sin, Derived()], [np.float32, float]),
    ("Tensor?", [None, A], []),
    ("int[]", [[1], (1, 2), range(3), []], [[np.int32(1)]]),
    ("int[2]", [[1, 2], (1, 2)], [1]),
    ("int?[]", [[1, None], [None]], []),
    ("(int, str)", [(1, "a")], [(np.int32(1), "a")]),
    ("Dict(str, float)", [{"a": 1.0}, {}], [{"a": 1}]),
    (BASE, [Base()], [Derived()]),
    (DERIVED, [Derived()], []),
    (COLOR, [Color.RED], []),
    (POINT, [Point(A)], []),
    ("Literal['a', 1]", ["a", 1], []),
]


@pytest.mark.parametrize(("text", "exact", "widening"), EXACT)
def test_what_fits_exactly_and_what_by_widening(text, exact, widening):
    op = build(Schema.parse(f"n::f({text} x) -> ()"))
    for values, exactly in ((exact, True), (widening, False)):
        for x in values:
            assert fit(op, (x,), {})[0] == (exactly,), repr(x)
            assert is_exact(kind(text), op.arguments.checks[0], x) is exactly


def test_a_number_for_an_array_widens():
    def f(x: np.ndarray | float) -> str: ...

    op = build(infer(f, "n::f", mutates_args=()))
    assert [fit(op, (x,), {})[0] for x in (A, np.float64(2), 2.0, 2)] == [(True,), (True,), (False,), (False,)]


# -- the laws --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", TYPES)
def test_a_call_fits_where_the_core_takes_it(text):
    op = OPERATORS[text]
    for x in VALUES:
        assert (fit(op, (x,), {})[0] is None) == (call_errors.misfit(op.definition, (x,), {}) is not None), repr(x)


@pytest.mark.parametrize("text", TYPES)
def test_where_types_decide_no_other_value_of_the_type_has_another_answer(text):
    answers = {}
    for x in VALUES:
        found, by_type = fit(OPERATORS[text], (x,), {})
        assert not by_type or answers.setdefault(type(x), found) == found, repr(x)


NEVER_EXACT = {"Scalar", "Any"}  # equal types that no value fits exactly can never be told apart either
FILLED = [x for x in VALUES if not (type(x) in (list, tuple, dict) and len(x) == 0)]


@pytest.mark.parametrize("a", TYPES)
def test_two_types_overlap_where_some_value_fits_both_exactly(a):
    for b in TYPES:
        shared = [x for x in FILLED if fit(OPERATORS[a], (x,), {})[0] == fit(OPERATORS[b], (x,), {})[0] == (True,)]
        said = overlap(kind(a), kind(b))
        assert (said is not None) == (bool(shared) or (a == b and a in NEVER_EXACT)), (b, said, shared)


WITNESSES = [
    ("Tensor", "Tensor", "Tensor"), ("int?", "float?", "None"), ("int?", "int", "int"), ("int?", "None", "None"),
    ("int[]", "int[2]", "[int, int]"), ("int[2]", "int[3]", None), ("int?[]", "float?[]", "[None]"), ("Tensor?[]?", "int[]?", "None"),
    ("int[]", "(int, int)", "(int, int)"), ("(int, str)", "(int, str)", "(int, str)"), ("int[3]", "(int, int)", None),
    ("Dict(str, int?)", "Dict(str, float?)", "{str: None}"), ("Dict(str, int)", "Dict(int, int)", None), ("str", "Device", "str"),
    ("Callable", DERIVED, DERIVED), ("Callable", BASE, None), (BASE, DERIVED, None), ("Tensor", "Any", None), ("float", "Scalar", None),
]  # fmt: skip


@pytest.mark.parametrize(("a", "b", "witness"), WITNESSES)
def test_what_two_types_share_is_shown(a, b, witness):
    assert overlap(kind(a), kind(b)) == overlap(kind(b), kind(a)) == witness


SAMPLES = {"Tensor": A, "int": 1, "float": 1.0, "str": "a"}
names = st.sampled_from(["a", "b", "c"])
types = st.sampled_from([*SAMPLES, "Tensor?", "int?"])


@st.composite
def schemas(draw):
    """Up to three arguments: positional-only ones, with a default, keyword-only."""
    words = draw(st.lists(names, unique=True, max_size=3))
    only, starred, defaults = (draw(st.integers(0, len(words))) for _ in range(3))
    parts = []
    for i, word in enumerate(words):
        default = i >= defaults
        parts.append(f"{draw(types)}{'?' if default else ''} {word}{'=None' if default else ''}".replace("??", "?"))
    if starred < len(words):
        parts.insert(starred, "*")
    if 0 < only <= starred:
        parts.insert(only, "/")
    return f"({', '.join(parts)}) -> ()"


@given(schemas(), schemas())
def test_two_overloads_have_a_common_call_where_a_search_finds_one(one, other):
    a, b = (build(Schema.parse(text, name="n::f")) for text in (one, other))
    values = [*SAMPLES.values(), None]
    found = False
    for count in range(4):
        for given_names in itertools.chain.from_iterable(itertools.combinations("abc", n) for n in range(4 - count)):
            for xs in itertools.product(values, repeat=count + len(given_names)):
                args, keywords = xs[:count], dict(zip(given_names, xs[count:], strict=True))
                found = found or all((fit(op, args, keywords)[0] or (False,) * bool(xs)) == (True,) * len(xs)
                                     and fit(op, args, keywords)[0] is not None for op in (a, b))  # fmt: skip
            if found:
                break
    call = common_call(a.schema, b.schema)
    assert (call is not None) == found, call
    assert (common_call(b.schema, a.schema) is not None) == found


# -- calls -----------------------------------------------------------------------------------------------------------------


def chosen(overloads, *args, **keywords):
    ops = [build(Schema.parse(text, name=f"n::f.o{i}")) for i, text in enumerate(overloads)]
    for permutation in itertools.permutations(ops):
        found = choose("n::f", permutation, args, keywords)[0]
        assert found is choose("n::f", ops, args, keywords)[0]
    return int(found.schema.overload[1:])


CALLS = [
    (["(int x) -> ()", "(float x) -> ()", "(Scalar x) -> ()", "(bool x) -> ()"], [((1,), 0), ((1.0,), 1), ((True,), 3), ((1j,), 2)]),
    (["(Tensor x) -> ()", "(float x) -> ()"], [((np.float64(1),), 0), ((1,), 1)]),
    (["(Tensor x, float n) -> ()", "(Tensor x, int n) -> ()"], [((A, 1), 1), ((A, 1.0), 0), ((A, np.float64(1)), 0)]),
    (["(Scalar x, float n) -> ()", "(Scalar x, int n) -> ()"], [((1, 1), 1), ((1, 1.0), 0), ((2j, 1), 1)]),
    (["(Tensor x) -> ()", "(Tensor x, Tensor y) -> ()", "(Tensor x, *, Tensor(a!) out) -> ()"], [((A,), 0), ((A, A), 1)]),
    (["(int? x) -> ()", "(Tensor x) -> ()"], [((None,), 0), ((A,), 1), ((3,), 0)]),
    (["(ScalarType t) -> ()", "(str t) -> ()"], [(("float64",), 1), ((np.dtype("f4"),), 0), ((float,), 0)]),
    ([f"({BASE} x) -> ()", f"({DERIVED} x) -> ()", "(Any x) -> ()"], [((Base(),), 0), ((Derived(),), 1), ((1,), 2)]),
    (["(int[2] n) -> ()", "(int n) -> ()"], [((1,), 1), (((1, 2),), 0)]),
    (["() -> ()", "(int n) -> ()"], [((), 0), ((1,), 1)]),
]


@pytest.mark.parametrize(("overloads", "calls_"), CALLS)
def test_the_nearest_overload_runs_in_every_order_of_them(overloads, calls_):
    for args, number in calls_:
        assert chosen(overloads, *args) == number, args


def test_keywords_and_defaults_take_part():
    overloads = ["(Tensor x, *, int n) -> ()", "(Tensor x, *, Tensor m) -> ()", "(Tensor y, float n, bool b=False) -> ()"]
    assert chosen(overloads, A, n=1) == 0
    assert chosen(overloads, A, m=A) == chosen(overloads, m=A, x=A) == 1
    assert chosen(overloads, A, n=1.0) == chosen(overloads, y=A, n=1) == chosen(overloads, A, 1) == chosen(overloads, A, 1, True) == 2


def test_a_call_that_fits_two_equally_well_names_both():
    a, b = build(Schema.parse("n::f(int[] x) -> ()")), build(Schema.parse("n::f.floats(float[] x) -> ()"))
    assert (choose("n::f", [a, b], ([1],), {}), choose("n::f", [a, b], ([1.0],), {})) == ((a, False), (b, False))
    with pytest.raises(ArgumentError) as caught:
        choose("n::f", [a, b], ([],), {})
    assert str(caught.value) == (
        "n::f: the call fits n::f and n::f.floats equally well. Call the one you mean by its name: dispatch.ops.n.f.default(...)."
    )


def test_reasons_are_given_for_every_overload():
    ops = [build(Schema.parse(f"n::f.{text} -> ()")) for text in ("a(int x)", "b(*, int x)", "c(int x, /)", "d(int y)", "e()")]
    said = {}
    for how, args, keywords in (("keyword", (), {"x": "no"}), ("twice", (1,), {"x": 1})):
        with pytest.raises(ArgumentError) as caught:
            choose("n::f", ops, args, keywords)
        said[how] = str(caught.value).splitlines()
    assert said["keyword"] == [
        "n::f: no overload fits the call.",
        "  n::f.a: argument 'x' is int, and was given a str. Write int(x).",
        "  n::f.b: argument 'x' is int, and was given a str. Write int(x).",
        "  n::f.c(x): 'x' is given by position only, and was given by keyword.",
        "  n::f.d(y) has no argument 'x'.",
        "  n::f.e() has no argument 'x'.",
    ]
    assert said["twice"][1:3] == [
        "  n::f.a(x): 'x' was given twice, by position and by keyword.", "  n::f.b(*, x) takes 0 by position and was given 1. Name the others: x=..."
    ]  # fmt: skip


def test_a_refusal_that_another_thread_s_definition_took_back(monkeypatch):
    op = build(Schema.parse("n::f(int x) -> ()"))
    monkeypatch.setattr(call_errors, "misfit", lambda *_: None)
    with pytest.raises(ArgumentError) as caught:
        choose("n::f", [op], ("text",), {})
    assert str(caught.value).splitlines()[1] == "  n::f was defined anew while it was called. Call it again."


def test_a_value_that_escaped_says_so_and_is_no_reason_to_take_another_overload():
    with Level("gone") as level:
        x = shadow(A, level)
        op = build(Schema.parse("n::f(Any x) -> ()"))
        assert choose("n::f", [op], (x,), {}) == (op, True)
    with pytest.raises(EscapedValueError, match="gone"):
        choose("n::f", [op], (x,), {})


# -- definitions -----------------------------------------------------------------------------------------------------------

REFUSED = [
    ("(Tensor x, int n) -> ()", "(Tensor y, int m) -> ()", "f(Tensor, int)"),
    ("(Tensor x) -> ()", "(Tensor x, float factor=2.0) -> ()", "f(Tensor)"),
    ("(Tensor x, *, int n) -> ()", "(Tensor x, int n) -> ()", "f(Tensor, n=int)"),
    ("(Tensor x, int n) -> ()", "(int n, Tensor x) -> ()", "f(n=int, x=Tensor)"),
    ("(*, Tensor x) -> ()", "(*, Tensor x, int k=1) -> ()", "f(x=Tensor)"),
    ("() -> ()", "(int n=1) -> ()", "f()"),
    ("(Tensor? x) -> ()", "(int? x) -> ()", "f(None)"),
    ("(Scalar x) -> ()", "(Scalar y) -> ()", "f(Scalar)"),
]
ALLOWED = [
    ("(Tensor x, int n) -> ()", "(Tensor x, float n) -> ()"),
    ("(Tensor x, int n, /) -> ()", "(int n, Tensor x, /) -> ()"),
    ("(Tensor x) -> ()", "(Tensor x, *, Tensor(a!) out) -> ()"),
    ("(Tensor x, *, int n) -> ()", "(Tensor x, *, int m) -> ()"),
    ("(Tensor x, int n) -> ()", "(Tensor x, *, int m, int n=1) -> ()"),
    ("(int[] x) -> ()", "(float[] x) -> ()"),
    ("(Scalar x) -> ()", "(Any x) -> ()"),
]


@pytest.mark.parametrize(("one", "other", "call"), REFUSED)
def test_two_overloads_that_a_call_fits_exactly_are_refused_with_the_call(one, other, call):
    a, b = Schema.parse(one, name="n::f"), Schema.parse(other, name="n::f.b")
    with pytest.raises(DefinitionError) as caught:
        refuse_ambiguous(b, [Schema.parse("n::f.c(str t) -> ()"), a])
    assert str(caught.value) == (
        f"n::f.b{other[:-6]} cannot stand beside n::f{one[:-6]}: the call {call} fits both, and one as exactly as the other. "
        "Change a type or the number of arguments, or require a keyword."
    )
    assert common_call(b, a) is not None


@pytest.mark.parametrize(("one", "other"), ALLOWED)
def test_overloads_that_every_call_tells_apart_stand_side_by_side(one, other):
    a, b = Schema.parse(one, name="n::f"), Schema.parse(other, name="n::f.b")
    refuse_ambiguous(a, [b])
    refuse_ambiguous(b, [a])


def test_arrays_are_told_apart_by_the_dtypes_of_their_hints():
    def single(x: np.typing.NDArray[np.float32]) -> str: ...
    def double(x: np.typing.NDArray[np.float64]) -> str: ...
    def doubles(x: list[np.typing.NDArray[np.float64]]) -> str: ...
    def singles(x: list[np.typing.NDArray[np.float32]]) -> str: ...
    def either(x: np.ndarray) -> str: ...

    one, two, many, more, any_ = (infer(f, f"n::f.{f.__name__}", mutates_args=()) for f in (single, double, doubles, singles, either))
    assert common_call(one, two) is common_call(many, more) is None
    assert common_call(one, one) == common_call(one, any_) == "f(Tensor)"
    assert common_call(many, many) == "f([Tensor])"
    op = build(one)
    assert fit(op, (A,), {}) == (None, False)
    assert fit(op, (A.astype("f4"),), {}) == ((True,), False)
    assert fit(op, (1.0,), {}) == (None, True)


def test_an_array_that_is_written_to_is_looked_at():
    assert fit(build(Schema.parse("n::f(Tensor(a!) x) -> ()")), (A,), {}) == ((True,), False)


def test_an_abstract_class_is_asked_in_every_call():
    dispatch.library.register_opaque_type(collections.abc.Sized)
    assert fit(build(Schema.parse("n::f(collections.abc.Sized x) -> ()")), ([],), {}) == ((False,), False)
