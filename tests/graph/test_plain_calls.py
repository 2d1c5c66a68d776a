"""What programs call in place of an operator: only of plain arrays, and only while the operator has the kernel it stands for."""

import operator
import warnings

import numpy as np
import pytest

import dispatch
from dispatch import compile, make_fx, ops  # noqa: A004
from dispatch.compiler import program
from dispatch.errors import FakeTensorError
from dispatch.graph import PlainCall, register_plain_call
from dispatch.graph.plain_calls import INFIX, plain_call
from dispatch.library import Library


@pytest.fixture
def calls():
    """An operator, what its kernel was given, and what its plain form was given."""
    kernel, plain = [], []

    @dispatch.custom_op("plain_calls::twice", mutates_args=())
    def twice(x: np.ndarray, by: float = 2.0) -> np.ndarray:
        kernel.append(x)
        return x * by

    @twice.register_fake
    def _(x, by):
        return np.empty_like(x)

    def doubled(x, by):
        plain.append(x)
        if np.isnan(x).any():
            raise ValueError("of the plain form")
        return x * by

    register_plain_call(twice, lambda out, x, by: PlainCall(doubled, (x, by), ("by",)) if by else None)
    return twice, kernel, plain


def counted(calls, run, *args):
    _, kernel, plain = calls
    before = len(kernel), len(plain)
    out = run(*args)
    return out, (len(kernel) - before[0], len(plain) - before[1])


def test_a_plain_form_runs_of_plain_arrays_of_the_planned_dtype(calls):
    run = program(make_fx(calls[0], "fake")(np.ones(3)))
    assert counted(calls, run, np.ones(3))[1] == (0, 1)
    with pytest.raises(FakeTensorError, match=r"says float64\[3\], and the kernel returned float32\[3\]"):
        run(np.ones(3, np.float32))  # the operator's own kernel ran
    assert counted(calls, run, np.ones(6)[::2])[1] == (1, 0)
    assert counted(calls, run, dispatch.tensor(np.ones(3), requires_grad=True))[1] == (1, 0)
    with dispatch.log_calls():
        assert counted(calls, run, np.ones(3))[1] == (1, 0)


def test_a_rule_may_give_no_plain_form(calls):
    run = program(make_fx(lambda x: calls[0](x, 0.0), "fake")(np.ones(3)))
    assert counted(calls, run, np.ones(3))[1] == (1, 0)


def test_another_kernel_is_called_while_it_is_there(calls):
    run = program(make_fx(calls[0], "fake")(np.ones(3)))
    with Library("plain_calls", "IMPL") as lib:
        lib.impl("twice", lambda x, by: x * 10, "CPU")
        assert counted(calls, run, np.ones(3))[0].tolist() == [10.0] * 3
        assert plain_call(make_fx(calls[0], "fake")(np.ones(3)).nodes[-1]) is None
    for _ in range(16):  # of an operator with options the first calls are looked at, and leave the slot empty
        assert counted(calls, run, np.ones(3))[1] == (1, 0)
    assert counted(calls, run, np.ones(3))[1] == (0, 1)


def test_what_a_plain_form_raises_the_operator_says(calls):
    run = program(make_fx(calls[0], "fake")(np.ones(3)))
    out, counts = counted(calls, run, np.full(3, np.nan))
    assert counts == (1, 1)
    assert np.isnan(out).all()


def test_an_interruption_is_no_error(calls):
    def interrupted(x, by):
        raise KeyboardInterrupt

    register_plain_call(calls[0], lambda out, x, by: PlainCall(interrupted, (x, by)))
    with pytest.raises(KeyboardInterrupt) as caught:
        program(make_fx(calls[0], "fake")(np.ones(3)))(np.ones(3))
    assert calls[1] == []
    assert "in node twice of the graph" in caught.value.__notes__[0]


def test_containers_are_built_of_arrays_alone(calls):
    given = []
    register_plain_call(calls[0], lambda out, x, by: PlainCall(lambda xs, n: given.append(xs) or xs[0] * n, ([x, 3], by)))
    run = program(make_fx(lambda x: calls[0](calls[0](x)), "fake")(np.ones(2)))
    assert run(np.ones(2)).tolist() == [4.0, 4.0]
    assert given[0][1] == 3
    assert given[0] is not given[1]
    assert run(np.ones(2)[::-1]).tolist() == [4.0, 4.0]


def test_a_ufunc_stands_for_the_operator_whose_kernel_it_is():
    node = make_fx(np.arctan2)(np.ones(2), np.ones(2)).nodes[-1]
    assert plain_call(node) == (np.arctan2, np.arctan2, node.args, ())
    assert plain_call(make_fx(np.frexp)(np.ones(2)).nodes[1]) is None


def test_a_number_in_place_of_the_first_array_has_no_plain_form():
    node = make_fx(lambda y: ops.np.dot(2.0, y))(np.ones(2)).nodes[-1]
    assert plain_call(node) is None


def test_a_plain_form_takes_numbers_of_the_planned_dtype(calls):
    run = program(make_fx(lambda x: calls[0](np.sum(x)), "fake")(np.ones(3)))
    out, counts = counted(calls, run, np.ones(3))
    assert (out, counts) == (6.0, (0, 1))
    with pytest.raises(FakeTensorError, match=r"says float64\[\], and the kernel returned float32\[\]"):
        run(np.ones(3, np.float32))


def test_numbers_in_a_container_are_built_of_too():
    run = program(make_fx(lambda x: np.stack([x[0], x[1], 2.0]), "fake")(np.ones(2)))
    assert run(np.array([1.0, 3.0])).tolist() == [1.0, 3.0, 2.0]


def test_an_index_that_numpy_refuses_is_refused_by_the_operator():
    run = program(make_fx(lambda x: x[2], "fake")(np.ones(3)))
    assert run(np.arange(3.0)) == 2.0
    with pytest.raises(IndexError, match="out of bounds"):
        run(np.ones(2))
    other = np.ones(3, np.float32)
    assert run(other).dtype == np.float32


@pytest.mark.parametrize("ufunc", INFIX)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_python_calls_for_numbers_gives_the_bits_of_the_ufunc(ufunc):
    values = [0.0, -0.0, 1.5, -2.25, np.nan, np.inf, -np.inf, 1e300, 1e-310, 3, -7, 2**60 + 1, 10**39, True]
    values += [np.array(0.1), np.float32(0.1), np.float64(0.1)]
    for number in [dtype(x) for dtype in (np.float32, np.float64) for x in values]:
        for args in [(number,)] if ufunc.nin == 1 else [pair for x in values for pair in ((number, x), (x, number))]:
            found, expected = INFIX[ufunc](*args), ufunc(*args)
            assert (type(found), found.tobytes()) == (type(expected), expected.tobytes()), args


def outcome(f, *args):
    try:
        found = f(*args)
    except Exception as error:
        return type(error)
    return isinstance(found, np.generic), found.dtype, found.tobytes()  # C has two names for one integer of eight bytes


@pytest.mark.parametrize("ufunc", INFIX)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_python_calls_for_integers_gives_the_bits_of_the_ufunc(ufunc):
    numbers = [np.dtype(c).type(x) for c in "bBhHiIlLqQ" for x in (np.iinfo(c).min, np.iinfo(c).max, 0, 1, 3)] + [np.True_, np.False_]
    others = [*numbers, 0, -1, True, False, 127, 128, 300, 2**40, 2**63, 2**70, *map(np.array, numbers[::7])]
    for number in numbers:
        for args in [(number,)] if ufunc.nin == 1 else [pair for x in others for pair in ((number, x), (x, number))]:
            assert outcome(INFIX[ufunc], *args) == outcome(ufunc, *args), args


@pytest.mark.parametrize("f", [lambda k: k + k, lambda k: k - (-k), lambda k: k * k, lambda k: np.int8(-29) - k, lambda k: -(k * np.int8(-1) - np.int8(28)), lambda k: np.int8(27) + k + (k > 5), abs])
@pytest.mark.parametrize("dynamic", [False, True])
def test_integers_that_overflow_are_told_of_as_numpys_numbers_tell_it(f, dynamic):
    def g(x, k):
        return x * f(k)

    run, x, largest = compile(g, dynamic=dynamic, fullgraph=True), np.ones(3, np.int8), np.int8(-128 if f is abs else 100)
    for k in (np.int8(1), np.int8(2)):
        assert np.array_equal(run(x, k), g(x, k))
    for act in (lambda: np.errstate(over="raise"), lambda: warnings.catch_warnings(action="error")):
        for function in (g, run):
            with act(), pytest.raises((FloatingPointError, RuntimeWarning), match="overflow encountered in scalar"):
                function(x, largest)
    with pytest.warns(RuntimeWarning, match="overflow encountered in scalar"):
        found = run(x, largest)
    with np.errstate(over="ignore"):
        assert np.array_equal(found, g(x, largest))


def test_numbers_alone_are_computed_by_python_where_one_is_surely_numpys():
    def f(x, y, k):
        s = np.sum(x)
        return k * y, s * 2.0 - k, -s > k, s * x, s * 2j, np.sum(x > 0) + 1

    graph = make_fx(f)(np.ones(3), np.ones(()), 3.0)
    called = {node.name: found[1] for node in graph.nodes if node.kind == "call" and (found := plain_call(node)) is not None}
    by_python = {"multiply_1": operator.mul, "subtract": operator.sub, "negative": operator.neg, "greater": operator.gt}
    assert {name: called[name] for name in by_python} == by_python
    assert [called[name] for name in ("multiply", "multiply_2", "greater_1", "add")] == [np.multiply, np.multiply, np.greater, operator.add]
    for found, expected in zip(program(graph)(np.arange(3.0), np.array(2.0), 0.5), f(np.arange(3.0), np.array(2.0), 0.5), strict=True):
        assert (type(found), found.tobytes()) == (type(expected), expected.tobytes())
