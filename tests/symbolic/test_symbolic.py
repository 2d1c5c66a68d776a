"""Symbolic sizes: arithmetic is that of integers, what is said to be known is so, and what is decided leaves a guard."""

import copy
import pickle
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dispatch
from dispatch import FakeTensorMode, ShapeEnv, SymBool, SymInt, check, ops
from dispatch.errors import (
    ArgumentError,
    CheckError,
    DataDependentError,
    DataDependentSizeError,
    DefinitionError,
    FakeTensorError,
    GraphError,
    MissingExtraError,
)
from dispatch.symbolic import guard_or_false, guard_or_true, larger, parse, smaller, statically_known, sympy_solver

# -- expressions -----------------------------------------------------------------------------------------------------------

BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b, "//": lambda a, b: a // b,
    "%": lambda a, b: a % b, "max": larger, "min": smaller,
}  # fmt: skip
COMPARED: list[Callable[[Any, Any], Any]] = [
    lambda a, b: a == b, lambda a, b: a != b, lambda a, b: a < b, lambda a, b: a <= b, lambda a, b: a > b, lambda a, b: a >= b,
]  # fmt: skip
LEAVES = st.one_of(st.sampled_from(["s0", "s1", "u0"]), st.integers(-4, 6))
TREES = st.recursive(LEAVES, lambda inner: st.tuples(st.sampled_from(sorted(BINARY)), inner, inner), max_leaves=7)
VALUES = st.tuples(st.integers(2, 12), st.integers(2, 12), st.integers(1, 12))


def computed(tree: Any, values: Any) -> Any:
    """The value of a tree of operations, of numbers or sizes."""
    if isinstance(tree, tuple):
        op, left, right = tree
        return BINARY[op](computed(left, values), computed(right, values))
    return values[tree] if isinstance(tree, str) else tree


def sizes() -> tuple[ShapeEnv, dict[str, Any]]:
    env = ShapeEnv()
    found = {"s0": env.new_size(7), "s1": env.new_size(5)}
    return env, {**found, "u0": env.new_dynamic_size(min=1)}


@settings(max_examples=400, deadline=None)
@given(TREES, VALUES)
def test_a_size_is_the_number_that_its_arithmetic_gives(tree: Any, numbers: Any) -> None:
    env, symbols = sizes()
    try:
        size = computed(tree, symbols)
    except (ZeroDivisionError, DataDependentSizeError):  # a divisor that is 0 here, or may be
        return
    values = dict(zip(symbols, numbers, strict=True))
    if not env.holds({"s0": values["s0"], "s1": values["s1"]}):  # a divisor that is 0 there
        return
    try:
        expected = computed(tree, values)
    except ZeroDivisionError:
        return
    if isinstance(size, SymInt):
        assert size.evaluate(values) == expected
        assert parse(str(size), symbols) is size
        assert set(size.names) <= set(symbols)
        assert (size.hint is None) is ("u0" in size.names)
        assert size.hint in (None, computed(tree, {"s0": 7, "s1": 5, "u0": 1}))
    else:
        assert size == expected


@settings(max_examples=400, deadline=None)
@given(TREES, TREES, VALUES)
def test_what_is_known_of_two_sizes_is_so_for_all_values(a: Any, b: Any, numbers: Any) -> None:
    env, symbols = sizes()
    try:
        left, right = computed(a, symbols), computed(b, symbols)
    except (ZeroDivisionError, DataDependentSizeError):
        return
    values = dict(zip(symbols, numbers, strict=True))
    if not env.holds({"s0": values["s0"], "s1": values["s1"]}):
        return
    there = [x.evaluate(values) if isinstance(x, SymInt) else x for x in (left, right)]
    for compare in COMPARED:
        found = compare(left, right)
        if isinstance(found, SymBool):
            assert found.evaluate(values) is compare(*there)
            assert (~found).evaluate(values) is not compare(*there)
            assert str(parse(str(found), symbols)) == str(found)
        else:
            assert found is compare(*there)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(TREES, TREES, st.integers(0, 5)), min_size=1, max_size=4), VALUES)
def test_what_was_decided_before_is_so_wherever_the_guards_hold(questions: Any, numbers: Any) -> None:
    env, symbols = sizes()
    values = dict(zip(symbols, numbers, strict=True))
    asked = []
    for a, b, i in questions:
        if "u0" in str((a, b)):
            continue
        try:
            asked.append((COMPARED[i], computed(a, symbols), computed(b, symbols)))
            bool(COMPARED[i](*asked[-1][1:]))
        except ZeroDivisionError:
            return
    if not env.holds({"s0": values["s0"], "s1": values["s1"]}):
        return
    guards = len(env.guards)
    for compare, *pair in asked:
        there = [x.evaluate(values) if isinstance(x, SymInt) else x for x in pair]
        assert bool(compare(*pair)) is bool(compare(*there))
    assert len(env.guards) == guards


def test_one_expression_is_one_object() -> None:
    _, symbols = sizes()
    a, b = symbols["s0"], symbols["s1"]
    assert (a + 1) * (b + 2) is a * b + 2 * a + b + 2
    assert (a * b + a) // (b + 1) is a
    assert (2 * a + 4) // 2 is a + 2
    assert (a * b) % a == 0
    assert (a + 3 * b) % 3 is a % 3
    assert -1 % a is a - 1
    assert abs(-a) is a is +a
    assert a**2 is a * a
    assert divmod(a * b + 1, a) == (b, 1)
    assert a - a == 0
    assert type(a - a) is int
    assert np.int64(2) * a is a * 2
    assert a + True is a + 1


def test_sizes_print_as_python() -> None:
    _, symbols = sizes()
    a, b = symbols["s0"], symbols["s1"]
    assert str((a + b) // 2 * 3 - a % 4 + larger(a, b) - 1) == "3*((s0 + s1)//2) - s0 % 4 + max(s0, s1) - 1"
    assert str(-(a // 2) + 1) == "-(s0//2) + 1"
    assert str(-(a % 4)) == "-(s0 % 4)"
    assert f"{a * b}" == "s0*s1"


def test_a_size_with_an_array_or_a_float_is_a_number() -> None:
    env, symbols = sizes()
    a = symbols["s0"]
    np.testing.assert_array_equal(np.ones(2) * a, [7, 7])
    np.testing.assert_array_equal(np.multiply(a, np.ones(2)), [7, 7])
    assert (a * 0.5, 1 / a, a / 2, float(a), complex(a), a > 6.5) == (3.5, 1 / 7, 3.5, 7.0, 7 + 0j, True)
    assert [str(g) for g in env.guards] == ["s0 == 7"]
    assert list(range(symbols["s1"])) == [0, 1, 2, 3, 4]
    assert {5: "five"}[symbols["s1"]] == "five"
    assert [str(g) for g in env.guards] == ["s0 == 7", "s1 == 5"]
    for refused in (lambda: a + "x", lambda: a < "x", lambda: a + None):
        with pytest.raises(TypeError, match=r"unsupported operand|not supported"):
            refused()
    assert (a == "x") is False


def test_a_size_stays_in_its_process() -> None:
    _, symbols = sizes()
    a = symbols["s0"]
    assert copy.copy(a) is copy.deepcopy(a) is a
    with pytest.raises(TypeError, match=r"the size s0 belongs to a ShapeEnv of this process. Send str\(size\), and parse it there"):
        pickle.dumps(a)


def test_division_by_what_may_be_nothing() -> None:
    _, symbols = sizes()
    u = ShapeEnv().new_dynamic_size()
    with pytest.raises(ZeroDivisionError):
        symbols["s0"] // 0
    with pytest.raises(DataDependentSizeError, match="whether u0 != 0 was asked at"):
        12 // u
    check(u > 0)
    assert str(12 // u) == "12//u0"


# -- guards ----------------------------------------------------------------------------------------------------------------


def test_equal_sizes_share_a_symbol_and_0_and_1_are_none() -> None:
    env = ShapeEnv()
    mode = FakeTensorMode(shape_env=env)
    x = mode.from_array(np.zeros((7, 5, 1, 0)))
    y = mode.from_array(np.zeros((5, 7)))
    assert x.shape[:2] == y.shape[::-1]
    assert x.shape[0] is y.shape[1]
    assert [type(n) for n in x.shape] == [SymInt, SymInt, int, int]
    assert env.guards == []
    assert mode.from_array(np.zeros((3, 2)), static_shapes=True).shape == (3, 2)


def test_a_decision_leaves_a_guard_with_its_line() -> None:
    env, symbols = sizes()
    a, b = symbols["s0"], symbols["s1"]
    assert bool(a > b)
    assert a != b  # which follows
    assert [str(guard) for guard in env.guards] == ["s0 > s1"]
    assert {guard.line.place.split(":")[0] for guard in env.guards} == {"test_symbolic.py"}
    assert "assert bool(a > b)" in env.guards[0].line.text
    assert env.holds({"s0": 4, "s1": 3})
    assert not env.holds({"s0": 3, "s1": 4})
    assert not env.holds({"s0": 3, "s1": 1})


def test_what_follows_from_a_guard_is_not_asked_again() -> None:
    env, symbols = sizes()
    a, b = symbols["s0"], symbols["s1"]
    assert a > 4
    assert a > 3
    assert a != 4
    assert b + a > 6
    assert a * 2 >= 10
    assert [str(guard) for guard in env.guards] == ["s0 > 4"]
    c = env.new_size(14)
    assert c == 2 * a
    assert c // 2 - a == 0
    assert c * b == 2 * a * b
    assert [str(guard) for guard in env.guards][1:] == ["s2 == 2*s0"]


def test_conditions_are_joined() -> None:
    env, symbols = sizes()
    a, b = symbols["s0"], symbols["s1"]
    both, either = (a > 5) & (b > 5), (a > 5) | (b > 5)
    assert str(both) == "s0 > 5 and s1 > 5"
    assert str(~both) == "s0 <= 5 or s1 <= 5"
    assert str((a > 9) & either) == "s0 > 9 and (s0 > 5 or s1 > 5)"
    assert [str(x) for x in ((a > 5) & True, True & (a > 5), (a > 5) | True, (a > 5) & False)] == ["s0 > 5", "s0 > 5", "True", "False"]
    with pytest.raises(TypeError, match="unsupported operand"):
        (a > 5) & 3
    assert not both
    assert either
    assert [str(guard) for guard in env.guards] == ["s0 > 5", "s1 <= 5"]
    assert both.names == ("s0", "s1")
    assert (both.hint, either.hint) == (False, True)


def test_shapes_of_another_run_are_matched() -> None:
    env = ShapeEnv()
    m, n = env.new_size(12), env.new_size(5)
    assert env.match([(m, n, 3), (m - 1,)], [(7, 4, 3), (6,)]) == {"s0": 7, "s1": 4}
    assert env.match([(m, n, 3), (m - 1,)], [(7, 4, 3), (5,)]) is None
    assert env.match([(m, 3)], [(7, 4)]) is None
    assert env.match([(m,)], [(7, 4)]) is None
    assert env.match([(m,), (m,)], [(7,), (8,)]) is None


def test_a_symbol_has_its_name_once() -> None:
    env = ShapeEnv()
    assert str(env.new_symbol("s3", hint=4, low=2)) == "s3"
    with pytest.raises(ArgumentError, match=r"a ShapeEnv was asked for a new symbol s3, and has one. Take symbols\['s3'\]."):
        env.new_symbol("s3")


# -- data ------------------------------------------------------------------------------------------------------------------


def test_what_data_decide_is_refused_by_name_and_line() -> None:
    _, symbols = sizes()
    u = symbols["u0"]
    with pytest.raises(DataDependentSizeError) as error:
        bool(u + symbols["s0"] > 12)
    said = str(error.value)
    assert said.startswith("whether s0 + u0 > 12 was asked at test_symbolic.py:")
    assert "(bool(u + symbols[\"s0\"] > 12))" in said
    assert said.endswith(
        "and u0 depends on data. Promise what is so before that line, dispatch.check(s0 + u0 > 12), or ask nothing of the size."
    )
    with pytest.raises(DataDependentSizeError) as error:
        range(2 * u)
    assert str(error.value).startswith("the number that the size 2*u0 is was asked for at test_symbolic.py:")
    assert str(error.value).endswith(
        "and u0 depends on data. Hand the size itself to what takes one: np.empty_like(x, shape=(n,)) for np.empty((n,)), and so for "
        "zeros, ones and full; dispatch.ops.np.arange(n). If it is always one number, write dispatch.check(2*u0 == number) before that "
        "line."
    )


def test_sympy_is_asked_what_ranges_do_not_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    env, symbols = sizes()
    u = symbols["u0"]
    assert bool((u - 3) * (u - 3) >= 0)
    assert not bool(u * u < 4 * u - 4)
    assert guard_or_false(u == 5) is False
    assert guard_or_true(u == 5) is True
    assert guard_or_true(u >= 1) is True
    assert env.guards == []

    def missing(*args: Any, **keywords: Any) -> Any:
        raise MissingExtraError("deciding by a size that depends on data needs sympy, which is not installed.")

    monkeypatch.setattr(sympy_solver, "require", missing)
    other = ShapeEnv().new_dynamic_size()
    assert bool(other >= 0)
    with pytest.raises(MissingExtraError, match="deciding by a size that depends on data needs sympy"):
        bool(other > 3)


def test_a_promise_is_believed_and_tested_in_a_run() -> None:
    env, symbols = sizes()
    u, a = symbols["u0"], symbols["s0"]
    check(u <= 2 * a, "too many")
    check((u > 2) & (u != 5))
    assert bool(u - 2 * a <= 0)
    assert bool(u > 1)
    assert bool(u != 5)
    assert [str(c) for c in env.checks] == ["u0 <= 2*s0", "u0 > 2", "u0 != 5"]
    env.run_checks({"s0": 3, "u0": 6})
    with pytest.raises(CheckError, match=r"^too many$"):
        env.run_checks({"s0": 3, "u0": 7})
    with pytest.raises(CheckError, match=r"^u0 != 5, which was promised at test_symbolic.py:\d+, is not so.$"):
        env.run_checks({"s0": 3, "u0": 5})
    check(u == a)
    assert int(u) == 7
    assert bool(u + 1 > 7)
    assert [str(guard) for guard in env.guards] == ["s0 == 7"]


def test_a_promise_that_is_broken_raises_at_once() -> None:
    env, symbols = sizes()
    check(symbols["s0"] == 7)
    assert [str(guard) for guard in env.guards] == ["s0 == 7"]
    with pytest.raises(CheckError, match=r"^too small$"):
        check(symbols["s1"] > 5, lambda: "too small")
    with pytest.raises(CheckError, match=r"^s1 > 5 was promised to dispatch.check at test_symbolic.py:\d+, and is not so.$"):
        check(symbols["s1"] > 5)
    with pytest.raises(CheckError, match=r"^what dispatch.check was given at test_symbolic.py:\d+ is not so.$"):
        check(symbols["u0"] < 1)
    with pytest.raises(CheckError, match=r"^what dispatch.check was given at test_symbolic.py:\d+ is not so.$"):
        check(np.False_)
    check(np.True_, "unused")


def test_a_check_takes_conditions_and_messages_only() -> None:
    with pytest.raises(ArgumentError, match="check: condition is a truth value or a comparison of sizes, and was given as an ndarray"):
        check(np.ones(2))
    with pytest.raises(ArgumentError, match="check: message is a text or a function that makes one, and was given as an int"):
        check(True, 3)  # type: ignore[arg-type]


def test_what_is_known_without_a_guard() -> None:
    env, symbols = sizes()
    a = symbols["s0"]
    assert statically_known(a >= 2)
    assert statically_known(True)
    assert not statically_known(a >= 3)
    assert not statically_known(a == 7)
    assert env.guards == []
    assert guard_or_false(a == 7)
    assert guard_or_true(True)
    assert [str(guard) for guard in env.guards] == ["s0 == 7"]


# -- text ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["open('x')", "s0.real", "[s0]", "1.5", "s0 if s0 else 1", "lambda: 0", "s0 < s1 < 3", "s0 +", "2**999999999",
             "max(s0, key=1)", "(" * 3000, "1" * 5000, "s0 @ s0", "~s0", "True", "''",
             "((9**64)**64)**64", "((s0 + s1)**64)**64", "-((s0 + s1)**64)**2 > 0", "*".join(["(s0 + s1 + 1)"] * 20)],
)  # fmt: skip
def test_only_arithmetic_is_read(text: str) -> None:
    with pytest.raises(GraphError, match=r"^a size is arithmetic of symbols and whole numbers, and .* is none.$"):
        parse(text, {"s0": 3, "s1": 4})


def test_what_is_wrong_with_a_text_is_said() -> None:
    with pytest.raises(GraphError, match=r"^the size 's0 \+ size' speaks of size, which is no symbol here. Did you mean 'sized'\?$"):
        parse("s0 + size", {"s0": 3, "sized": 4})
    with pytest.raises(GraphError, match=r"^the size '1//\(s0 - 3\)' divides by 0.$"):
        parse("1//(s0 - 3)", {"s0": 3})
    assert parse(" -max(s0, 2) + min(7, s0) ", {"s0": 3}) == 0
    assert parse("not s0 == 3 or s0 > 2", {"s0": 3}) is True


# -- fakes -----------------------------------------------------------------------------------------------------------------


def test_strides_are_expressions_where_they_follow_from_the_shape() -> None:
    mode = FakeTensorMode(shape_env=ShapeEnv())
    x = np.zeros((7, 5, 3))
    assert str(mode.from_array(x).strides) == "(8*s1*s2, 8*s2, 8)"
    assert str(mode.from_array(np.asfortranarray(x)).strides) == "(8, 8*s0, 8*s0*s1)"
    assert str(mode.from_array(x[::-1].transpose(1, 0, 2)).strides) == "(8*s2, -8*s1*s2, 8)"
    assert mode.from_array(np.broadcast_to(np.ones(3), (7, 3))).strides == (0, 8)


def test_the_same_fake_has_as_many_elements_until_it_is_written_to() -> None:
    with FakeTensorMode(shape_env=ShapeEnv()) as mode:
        x = mode.from_array(np.ones((7, 5)))
        n = np.nonzero(x)[0].shape[0]
        assert np.argwhere(x).shape[0] is np.flatnonzero(x).shape[0] is np.where(x)[1].shape[0] is n
        mask = x > 0
        assert x[mask].shape[0] is (x + 1)[mask].shape[0] is not n
        assert np.unique(x).shape[0] is np.unique(x, return_index=True)[1].shape[0] is not n
        assert (x[mask] + x[mask]).shape == x[mask].shape
        view = x[1:]
        part = np.flatnonzero(view).shape[0]
        x[0] = 2
        assert np.flatnonzero(x).shape[0] is not n
        assert np.flatnonzero(view).shape[0] is not part
        assert mode.shape_env.guards == mode.shape_env.checks == []


def test_how_many_there_are_is_bounded() -> None:
    env = ShapeEnv()
    with FakeTensorMode(shape_env=env) as mode:
        x = mode.from_array(np.ones((7, 5)))
        n, m = x[x > 1].shape[0], np.unique(x).shape[0]
        assert n <= x.size
        assert statically_known(m >= 1)
        assert not statically_known(n >= 1)
        assert np.compress(x[:, 0] > 1, x, 0).shape[1] is x.shape[1]
        assert np.extract(x > 1, x).ndim == 1
        found = x[x > 1]
        m = found.shape[0]
        assert str(found[1:].shape[0]) == f"{m} - min(1, {m})"
        assert dispatch.grad(lambda x: np.sum(x[np.nonzero(x > 1)] ** 2))(x).shape == x.shape
        assert np.var(found).shape == np.mean(found).shape == ()
        assert np.concatenate([found, found]).shape[0] is 2 * m


def test_sizes_of_data_that_meet_are_taken_for_equal_and_tested() -> None:
    env = ShapeEnv()
    with FakeTensorMode(shape_env=env) as mode:
        x = mode.from_array(np.ones(7))
        (x[x > 0] + x[x < 0]).shape
    assert [str(c) for c in env.checks] == ["u0 == u1"]


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("ndim", [0, 1, 2])
def test_an_index_of_a_truth_value_selects_all_or_nothing(ndim: int, order: Any) -> None:
    """NumPy is the oracle: x[True] has an axis of one in front, and x[False] one of none."""
    x = np.asarray(np.arange(6.0).reshape(2, 3)[(0,) * (2 - ndim)], order=order)
    if not ndim:
        x = np.array(5.0)
    f = lambda x, y: x[np.all(y > 0)]
    graph, compiled = dispatch.make_fx(f, "symbolic")(x, x), dispatch.compile(f, fullgraph=True)
    for y in (x + 1, x - 9, x + 1):
        expected = f(x, y)
        for found in (graph(x, y), compiled(x, y)):
            assert (found.shape, found.dtype, found.strides[1:]) == (expected.shape, expected.dtype, expected.strides[1:])
            np.testing.assert_array_equal(found, expected)
            assert not np.shares_memory(found, x)


def test_a_mask_that_does_not_fit_is_numpys_error() -> None:
    with FakeTensorMode(shape_env=ShapeEnv()) as mode:
        x = mode.from_array(np.ones((7, 5)))
        with pytest.raises(IndexError, match=r"boolean index did not match indexed array along axis 0; size of axis is 7 but .* 5"):
            x[x[0] > 0]
        with pytest.raises(IndexError, match="index 7 is out of bounds for axis 0 with size 7"):
            x[7]
        with pytest.raises(IndexError, match="too many indices for array"):
            x[0, 0, 0]
        with pytest.raises(ValueError, match="operands could not be broadcast together with shapes"):
            x + x[:, :3]
        with pytest.raises(ValueError, match="cannot reshape array of size 35 into shape"):
            np.reshape(x, (4, -1))
        with pytest.raises(ValueError, match="matmul: Input operand 1 has a mismatch in its core dimension"):
            x @ x
        with pytest.raises(ValueError, match="slice step cannot be zero"):
            x[::0]


def test_a_fake_rule_asks_for_a_size() -> None:
    @dispatch.custom_op("symbolic_tests::custom_nonzero", mutates_args=())
    def custom_nonzero(x: np.ndarray) -> np.ndarray:
        return np.argwhere(x)

    @custom_nonzero.register_fake
    def _(x: Any) -> Any:
        n = dispatch.library.get_ctx().new_dynamic_size(min=2, max=x.size)
        return np.empty_like(x, shape=(n, x.ndim), dtype=np.int64)

    env = ShapeEnv()
    with FakeTensorMode(shape_env=env) as mode:
        x = mode.from_array(np.ones((7, 5)))
        found = custom_nonzero(x)
        assert str(found.shape) == "(u0, 2)"
        assert found.shape[0] > 1
        assert found.shape[0] <= x.size
        assert str(custom_nonzero(x).shape) == "(u1, 2)"  # only rows of the table know that it is the same
    with FakeTensorMode() as mode, pytest.raises(DataDependentError, match="its fake rule asks for a size that depends on data"):
        custom_nonzero(mode.from_array(np.ones(3)))
    with pytest.raises(FakeTensorError, match=r"get_ctx\(\) is for fake rules"):
        dispatch.library.get_ctx().new_dynamic_size()


def test_bounds_of_a_size_are_numbers_in_order() -> None:
    @dispatch.custom_op("symbolic_tests::bounded", mutates_args=())
    def bounded(x: np.ndarray) -> np.ndarray:
        return x

    @bounded.register_fake
    def _(x: Any) -> Any:
        return np.empty_like(x, shape=(dispatch.library.get_ctx().new_dynamic_size(min=3, max=2),))

    with FakeTensorMode(shape_env=ShapeEnv()) as mode, pytest.raises(DefinitionError, match="asks for a size from 3 to 2"):
        bounded(mode.from_array(np.ones(3)))


def test_the_context_of_a_rule_belongs_to_its_thread() -> None:
    entered, left = threading.Barrier(2), threading.Barrier(2)
    names: dict[str, str] = {}

    def make(name: str) -> Any:
        @dispatch.custom_op(f"symbolic_tests::{name}", mutates_args=())
        def op(x: np.ndarray) -> np.ndarray:
            return x

        @op.register_fake
        def _(x: Any) -> Any:
            entered.wait(10)
            context = dispatch.library.get_ctx()
            left.wait(10)
            names[name] = context.op.name
            return np.empty_like(x, shape=(context.new_dynamic_size(),))

        return op

    def run(op: Any) -> None:
        with FakeTensorMode(shape_env=ShapeEnv()) as mode:
            op(mode.from_array(np.ones(3)))

    operators = {name: make(name) for name in ("first", "second")}
    threads = [threading.Thread(target=run, args=(op,)) for op in operators.values()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert names == {name: op.name for name, op in operators.items()}


def test_threads_that_share_an_env_get_symbols_of_their_own() -> None:
    env = ShapeEnv()
    found: list[SymInt] = []
    threads = [threading.Thread(target=lambda: found.extend(env.new_dynamic_size() for _ in range(50))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({str(u) for u in found}) == len(env.symbols) == 200


def test_answers_are_remembered_for_layouts_and_not_for_data() -> None:
    env = ShapeEnv()
    with FakeTensorMode(shape_env=env) as mode:
        x, y = mode.from_array(np.ones((7, 5))), mode.from_array(np.zeros((7, 5)))
        assert np.compress(x[:, 0] > 0, x, 0).shape[0] is not np.compress(y[:, 0] > 0, y, 0).shape[0]
        first = np.reshape(x, (-1,))
        kept = sum(map(len, env.answers.values()))
        assert np.reshape(y, (-1,)).shape == first.shape
        assert sum(map(len, env.answers.values())) == kept


def test_a_python_number_may_be_a_size_in_every_row() -> None:
    env = ShapeEnv()
    with FakeTensorMode(shape_env=env) as mode:
        x = mode.from_array(np.ones((7, 5), "f4"))
        n = x.shape[0]
        for out in (x / n, n * x, np.multiply(x, n), np.where(x > 0, n, x), np.clip(x, 0, n), np.full_like(x, n)):
            assert (out.shape, out.dtype) == (x.shape, np.dtype("f4"))
        assert ops.np.zeros((n, 3)).shape[0] is n
        assert ops.np.arange(n - 2).shape[0] is n - 2
        assert np.repeat(x, n, 0).shape[0] is n * n
        assert np.tile(x, (1, n)).shape[1] is n * x.shape[1]
        assert x[: n // 2].shape[0] is n // 2
        assert x[n - 1].shape == (x.shape[1],)
        assert np.zeros_like(x, shape=(n,)).shape[0] is n
        assert env.guards == []
        assert np.zeros(x.shape).shape == (7, 5)
        assert [str(guard) for guard in env.guards] == ["s0 == 7", "s1 == 5"]


def test_hints_and_signatures_bind_sizes() -> None:
    class Matrix:
        array_type, dtypes, dim_str = np.ndarray, ("float64",), "m n"

    class Vector:
        array_type, dtypes, dim_str = np.ndarray, ("float64",), "n+1"

    @dispatch.custom_op("symbolic_tests::wider", mutates_args=())
    def wider(x: Matrix) -> Vector:  # type: ignore[valid-type]
        return np.ones(x.shape[1] + 1)  # type: ignore[attr-defined]

    @dispatch.custom_op("symbolic_tests::product", mutates_args=(), signature="(m,n),(n)->(m)")
    def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return a @ b

    env = ShapeEnv()
    with FakeTensorMode(shape_env=env) as mode:
        x, y = mode.from_array(np.ones((7, 5))), mode.from_array(np.ones(5))
        assert str(wider(x).shape) == "(s1 + 1,)"
        assert str(product(x, y).shape) == "(s0,)"
        assert str(product(x[None], y).shape) == "(1, s0)"
        assert env.guards == []
        with pytest.raises(ArgumentError, match=r"dimension n of \(m,n\),\(n\)->\(m\) is s1 in 'a' and s0 in 'b'"):
            product(x, x[:, 0])


# -- sizes that equal others ---------------------------------------------------------------------------------------------------


def test_a_guard_is_told_by_sizes_of_arguments_where_a_size_that_depends_on_data_equals_one() -> None:
    def f(x: Any, y: Any) -> Any:
        i = np.nonzero(y)[0]
        return np.power(x, i), np.diff(i)

    x, y = np.array([[6, 3, 1], [7, 0, 3]]), np.array([1.0, 2.0, 0.0, 5.0])
    graph = dispatch.make_fx(f, "symbolic")(x, y)
    assert all(map(np.array_equal, graph(x, y), f(x, y)))
    with pytest.raises(CheckError, match=r"s1 == u0, which was promised at .*, is not so"):
        graph(x, np.ones(2))


def test_shapes_that_broadcast_by_a_size_that_depends_on_data_are_refused() -> None:
    with FakeTensorMode(shape_env=ShapeEnv()) as mode:
        u = np.unique(mode.from_array(np.ones(3)))
        u + mode.from_array(np.ones(4))  # from here on there are 4
        with pytest.raises(DataDependentSizeError) as refused:
            u + mode.from_array(np.ones(2))
    assert str(refused.value) == (
        "shapes (u0,) and (s2,) broadcast where one of the sizes is 1, and that depends on data. Promise what is so before that line, "
        "dispatch.check(n == 1), of the size n that is; or give operands whose sizes are known to agree."
    )


def test_a_write_and_a_mask_of_a_size_that_depends_on_data_are_refused_in_the_same_words() -> None:
    with FakeTensorMode(shape_env=ShapeEnv(), static_shapes=True) as mode:
        u = np.unique(mode.from_array(np.ones(5)))
        u + mode.from_array(np.ones(4))  # from here on there are 4
        x = mode.from_array(np.ones(2))
        with pytest.raises(DataDependentSizeError, match=r"shapes \(u0,\) and \(2,\) broadcast where one of the sizes is 1"):
            x[...] = u
        with pytest.raises(DataDependentSizeError, match=r"broadcast where one of the sizes is 1"):
            np.sum(x, where=u > 0)


def test_what_fits_only_with_some_sizes_of_data_is_refused_as_not_known() -> None:
    with FakeTensorMode(shape_env=ShapeEnv(), static_shapes=True) as mode:
        u = np.unique(mode.from_array(np.ones(5)))
        with pytest.raises(DataDependentSizeError) as refused:
            np.reshape(u[:, None] + mode.from_array(np.ones(3)), (7, 1))
        assert str(refused.value).startswith("np::reshape: whether shapes fit depends on data here: an argument has shape (u0, 3), and with ")
        assert str(refused.value).endswith("that is; or give operands whose sizes are known to agree.")
        with pytest.raises(DataDependentSizeError, match="broadcast where one of the sizes is 1"):
            np.sin(mode.from_array(np.ones((3, 1))) + u, where=np.ones((3, 3), bool), out=mode.from_array(np.ones((3, 3))))
        with pytest.raises(DataDependentSizeError, match=r"shapes \(3,\) and \(3,\) and \(u0,\) broadcast where one of the sizes is 1"):
            np.sin(mode.from_array(np.ones(3)), where=np.ones(3, bool), out=u)
        with pytest.raises(np.exceptions.AxisError):  # wrong with any size
            np.sum(u, axis=3)


def test_an_axis_that_is_squeezed_has_one_element_which_is_checked() -> None:
    graph = dispatch.make_fx(lambda x: x[x > 0].squeeze(axis=0), "fake")(np.array([0.5, -1.0]))
    assert graph(np.array([-0.5, 2.0])) == 2.0
    with pytest.raises(CheckError, match=r"u0 == 1"):
        graph(np.array([0.5, 2.0]))


def test_a_condition_is_0_or_1_in_arithmetic_and_leaves_a_guard():
    env = ShapeEnv()
    n = env.new_size(7)
    for i in range(3):
        made = [[m // 3 + (i < m % 3), 10 - (i < m % 3), 2 * (i < m % 3), (m > 5) - 1] for m in (7, n)]
        assert made[0] == made[1]
    assert [list("abc")[n > 5], int(n > 8)] == ["b", 0]
    assert {"s0 % 3 <= 1", "s0 > 5", "s0 <= 8"} <= {str(guard) for guard in env.guards}


TAKEN = {
    "make_fx": lambda f, x: dispatch.make_fx(f, "fake")(x), "symbolic": lambda f, x: dispatch.make_fx(f, "symbolic")(x), "eval_shape": dispatch.eval_shape,
}  # fmt: skip


@pytest.mark.parametrize("way", TAKEN)
def test_an_error_after_a_size_was_taken_as_another_says_so(way: str) -> None:
    """`x - y` takes y to be as long as x, and it may be of one element: what NumPy refuses of the one it takes of the other."""

    def f(x: Any, *, promised: bool = False) -> Any:
        y = x[x > 0]
        if promised:
            check(y.size == 1)
        z = x - y
        w = np.zeros(y.size) + y
        w[np.array([True])] = -1
        return z + w

    x = np.array([1.0, -2.0])
    said = r"^IndexError: boolean index did not match .* The sizes may be others: that (u0 == 2|s0 == u0) at test_symbolic\.py:\d+ was taken as true, as u0 depends on data\. If a size is 1, .* dispatch\.check\(u0 == 1\)\.$"
    with pytest.raises(DataDependentSizeError, match=said) as found:
        TAKEN[way](f, x)
    assert isinstance(found.value.__cause__, IndexError)
    TAKEN[way](lambda x: f(x, promised=True), x)
    np.testing.assert_array_equal(dispatch.make_fx(lambda x: f(x, promised=True), "fake")(x)(x), f(x))


def test_an_error_of_a_function_that_took_nothing_is_its_own() -> None:
    def f(x: Any) -> Any:
        raise ValueError("not today")

    with pytest.raises(ValueError, match=r"^not today$") as found:
        dispatch.make_fx(f, "fake")(np.ones(2))
    assert type(found.value) is ValueError
