"""`with np.errstate(...)` inside a compiled function, against the function itself: results, warnings, errors, and what is left set."""

import builtins
import warnings

import numpy as np
import pytest

import dispatch
from dispatch.compiler.error_states import has_blocks
from dispatch.errors import TracingError

x = np.array([1.0, 2.0, 3.0])


def of_one_call(a):
    with np.errstate(divide="ignore"):
        b = 1 / (a - 1)
    return b + 1 / (a - 2)


def that_raises(a):
    with np.errstate(divide="raise"):
        return 1 / (a - 1)


def that_is_caught(a):
    try:
        with np.errstate(all="raise"):
            return np.log(a - 2)
    except FloatingPointError:
        return a * 9


def inside_another(a):
    with np.errstate(all="ignore"):
        b = 1 / (a - 1)
        with np.errstate(divide="warn"):
            c = 1 / (a - 1)
        d = 1 / (a - 1)
    return b + c + d


def of_results_that_nobody_uses(a):
    b = 1 / (a - 1)
    with np.errstate(all="ignore"):
        1 / (a - 1)
    1 / (a - 1)
    return b


def around_a_write(a):
    with np.errstate(divide="ignore"):
        a /= a - 1
    a += 1
    return np.sum(a)


def of_no_such_kind(a):
    with np.errstate(bogus="ignore"):
        return a


def of_no_such_state(a):
    with np.errstate(divide="bogus"):
        return a


def smooth(v):
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.sum(np.where(v > 1, np.log(v - 1), 0.0))


def in_a_gradient(a):
    return dispatch.grad(smooth)(a)


def without_inputs(a):
    with np.errstate(divide="ignore"):
        return np.ones(3) / np.zeros(3) * a


def entered_again(a):
    block = np.errstate(all="ignore")
    with block:
        b = 1 / (a - 1)
    with block:
        return b + 1 / (a - 1)


def after_a_cast(a):
    with np.errstate(invalid="ignore"):
        return (a * np.nan).astype(int)


FUNCTIONS = [
    of_one_call, that_raises, that_is_caught, inside_another, of_results_that_nobody_uses, around_a_write, of_no_such_kind,
    of_no_such_state, in_a_gradient, without_inputs, entered_again, after_a_cast,
]  # fmt: skip


def outcome(f, a, state):
    a = a.copy()
    with np.errstate(**state), warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        try:
            out = f(a)
            said = type(out), out.dtype, out.tobytes()
        except (FloatingPointError, TypeError, ValueError) as error:
            said = type(error), str(error)
        left = np.geterr()
    given = [str(w.message) for w in found if w.category is not dispatch.errors.PerformanceWarning]
    return said, a.tobytes(), given if said[0] is not FloatingPointError else [], left


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("f", FUNCTIONS, ids=lambda f: f.__name__)
def test_a_block_does_what_it_does_outside(f, dynamic):
    for states in (("warn", "ignore", "raise"), ("raise", "warn", "ignore"), ("ignore", "raise", "warn")):
        g = dispatch.compile(f, dynamic=dynamic)
        for state in states:
            for given in (x, x, x + 7):
                assert outcome(g, given, {"all": state}) == outcome(f, given, {"all": state})


@pytest.mark.parametrize("f", [of_one_call, around_a_write, in_a_gradient], ids=lambda f: f.__name__)
def test_a_block_is_compiled(f):
    g = dispatch.compile(f, fullgraph=True)
    with np.errstate(all="ignore"):
        g(x.copy())
    assert has_blocks(g.entries[0].traced.graph)
    assert "ops.error_state.enter('" in str(g.explain())


@pytest.mark.parametrize("f", [of_one_call, that_raises, inside_another], ids=lambda f: f.__name__)
def test_threads_report_in_the_state_of_the_block(f):
    a = np.linspace(1.0, 3.0, 400_001)
    g = dispatch.compile(f, workers=2)
    for state in ("warn", "ignore", "raise"):
        assert outcome(g, a, {"all": state}) == outcome(f, a, {"all": state})


def test_what_a_block_cannot_be_asked():
    def calls(a):
        with np.errstate(divide="call", call=print):
            return 1 / a

    def loops(a):
        def body(i, c):
            with np.errstate(divide="ignore"):
                return 1 / c

        return dispatch.fori_loop(0, 3, body, a)

    def decorates(a):
        return np.errstate(divide="ignore")(np.sin)(a)

    def said(f):
        with pytest.raises(TracingError) as refused:
            dispatch.compile(f, fullgraph=True)(x)
        return str(refused.value)

    assert "np.errstate is asked to call, print or log, which a graph would leave out. Ask for 'ignore', 'warn' or 'raise'." in said(calls)
    assert "np.errstate is used in the body of a loop or branch, a graph of its own. Put it around the loop." in said(loops)
    assert "np.errstate is used as a decorator while it is traced. Write a with block." in said(decorates)


# -- what a graph has written where it is told to raise -------------------------------------------------------------------------------


class Momentum:
    def __init__(self):
        self.m, self.v = np.zeros(3), np.zeros(3)

    def update(self, w, g):
        self.m *= 0.9
        self.m += g
        self.v += g * g
        w -= self.m / np.sqrt(self.v)
        w *= 2


@pytest.mark.parametrize("told", ["a filter", "np.errstate"])
def test_what_a_graph_has_written_where_it_raises_is_not_written_twice(told):
    """A ufunc raises after it has written; then the function itself is called."""

    def run(wrap):
        model, w = Momentum(), np.ones(3)
        update = wrap(model.update)
        seen = []
        for g in (x, x * 0, x * 0, x):
            with warnings.catch_warnings(), np.errstate(divide="raise" if told == "np.errstate" else "warn"):
                warnings.simplefilter("error" if told == "a filter" else "ignore", RuntimeWarning)
                try:
                    update(w, g)
                except (RuntimeWarning, FloatingPointError) as error:
                    seen.append(str(error))
            seen += [w.tolist(), model.m.tolist(), model.v.tolist()]
            if not g.any():
                model.v[:] = 0
        return seen

    compiled = []
    expected = run(lambda f: f)
    assert "divide by zero encountered in divide" in expected
    assert run(lambda f: compiled.append(dispatch.compile(f, fullgraph=True)) or compiled[0]) == expected


def unused(a):
    np.log(a)
    return a * 2


def unused_and_caught(a):
    try:
        np.log(a)
    except RuntimeWarning:
        return -a
    return a * 2


@pytest.mark.parametrize("first", ["error", "ignore", "error::DeprecationWarning"])
@pytest.mark.parametrize("f", [unused, unused_and_caught])
def test_a_filter_that_raises_does_so_for_a_result_that_nobody_uses(f, first):
    def told(run, a, action):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            action, _, category = action.partition("::")
            warnings.simplefilter(action, getattr(builtins, category or "RuntimeWarning"))
            try:
                return run(a).tolist()
            except RuntimeWarning as error:
                return str(error)

    g = dispatch.compile(f, fullgraph=True)
    for action in (first, "ignore", "error", "ignore", "error"):
        for a in (x, x - 1):
            assert told(g, a, action) == told(f, a, action)
    assert len(g.entries) == (1 if first == "error" else 2)  # what was traced where a filter raises stands where none does, too


def test_what_a_graph_has_written_in_a_block_that_raises_is_not_written_twice():
    def f(a):
        a += 1
        with np.errstate(divide="raise"):
            b = 1 / (a - 1)
        a *= 2
        return b

    compiled = dispatch.compile(f, fullgraph=True)
    for value in (1.0, 0.0, 2.0):
        found, expected = np.full(3, value), np.full(3, value)
        outcomes = []
        for run, a in ((compiled, found), (f, expected)):
            try:
                outcomes.append(run(a).tolist())
            except FloatingPointError as error:
                outcomes.append(str(error))
        assert outcomes[0] == outcomes[1]
        assert found.tolist() == expected.tolist()
