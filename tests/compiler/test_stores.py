"""What a compiled function stores in what it refers to is stored by each run; the oracle is the function itself."""

import dataclasses
import functools
import types

import numpy as np
import pytest

import dispatch
from dispatch.errors import PerformanceWarning, TracingError

compiled = functools.partial(dispatch.compile, fullgraph=True)
x = np.arange(1.0, 4.0)


class Model:
    def __init__(self):
        self.w, self.seen, self.steps = np.ones(3), None, 0

    def step(self, g):
        self.w = self.w - 0.1 * g
        return self.w

    def keep(self, g):
        self.seen = g
        return g * 2

    def twice(self, g):
        self.a = g * 2
        self.b = g * 2
        return self.a

    def inverse(self, a):
        self.seen = a
        return np.linalg.inv(a)

    def count(self, g):
        self.steps += 1
        return g * self.steps


class Slotted:
    __slots__ = ("u", "w")

    def __init__(self):
        self.w = np.ones(3)

    def step(self, g):
        self.w = self.w + g
        self.u = g


def test_an_attribute_is_stored_by_each_run_and_read_by_the_next():
    model, plain = Model(), Model()
    step = compiled(model.step)
    for k in range(3):
        out = step(x * k)
        assert out is model.w
        assert np.array_equal(out, plain.step(x * k))
    assert len(step.entries) == 1
    assert "stored after each run: self.w" in repr(step.explain())


def test_what_is_stored_is_the_object_that_python_would_store():
    model = Model()
    keep = compiled(model.keep)
    for given in (x.copy(), x * 2):
        keep(given)
        assert model.seen is given
    twice = compiled(model.twice)
    twice(x)
    assert twice(x) is model.a
    assert model.a is not model.b
    assert list(vars(model)) == ["w", "seen", "steps", "a", "b"]


def test_what_is_stored_and_not_read_costs_no_trace():
    model = Model()
    keep = compiled(model.keep)
    for before in (None, "text", [1], x):
        model.seen = before
        keep(x * 2)
    assert len(keep.entries) == 1


def test_a_number_that_changes_is_another_trace():
    model = Model()
    count = compiled(model.count)
    assert [count(x)[0] for _ in range(4)] == [1.0, 2.0, 3.0, 4.0]
    assert model.steps == len(count.entries) == 4


def test_places():
    def programs():
        weights, cells = {"w": np.ones(3)}, [np.zeros(3), np.zeros(3)]
        namespace, slotted = types.SimpleNamespace(u=np.ones(3)), Slotted()
        total = np.zeros(3)

        def other():
            return total

        def f(a):
            nonlocal total
            total = total + a
            weights["w"] = weights["w"] * a
            weights["new", 1] = a
            cells[1] = cells[0] + a
            namespace.u = namespace.u - a
            slotted.step(a)
            return other() * slotted.w

        return f, lambda: [total, weights, cells, namespace.u, slotted.w, slotted.u]

    (f, state), (g, expected) = programs(), programs()
    f = compiled(f)
    for k in range(3):
        assert np.array_equal(f(x + k), g(x + k))
        assert repr(state()) == repr(expected())


kept = np.zeros(3)


def keep_global(a):
    global kept, fresh  # noqa: PLW0603  it is what is tested
    kept = kept + a
    fresh = a
    return kept


def test_globals(monkeypatch):
    monkeypatch.setitem(globals(), "kept", np.zeros(3))
    monkeypatch.setitem(globals(), "fresh", None)
    f = compiled(keep_global)
    for k in range(1, 4):
        assert f(x) is kept
        assert np.array_equal(kept, x * k)
        assert globals()["fresh"] is x


def test_where_a_run_raises_the_function_stores_and_raises():
    model = Model()
    f = dispatch.compile(model.inverse)
    f(np.eye(2))
    singular = np.zeros((2, 2))
    with pytest.raises(np.linalg.LinAlgError):
        f(singular)
    assert model.seen is singular


def test_what_is_verified_stores_once():
    model, plain = Model(), Model()
    step = dispatch.compile(model.step, verify=2)
    for _ in range(4):
        assert np.array_equal(step(x), plain.step(x))
    assert np.array_equal(model.w, plain.w)
    assert [entry.reason for entry in step.entries] == [""]


def test_what_a_text_may_hold_back_stores_once():
    class Named:
        total = 0.0

        def add(self, a):
            self.total = self.total + a
            return f"{a.ndim}", self.total

    named = Named()
    named.total = np.zeros(3)
    add = compiled(named.add)
    for k in range(1, 4):
        assert add(x)[0] == "1"
        assert np.array_equal(named.total, x * k)


@dataclasses.dataclass
class Record:
    w: np.ndarray


def deletes(a, model):
    del model.w
    return a


def makes_a_function(a, model):
    model.w = lambda: a
    return a


def changes_the_class(a, model):
    Model.shared = a
    return a


def keeps_a_tracked_value(a, model):
    def loss(y):
        model.w = y * 2
        return np.sum(model.w)

    return dispatch.grad(loss)(a)


@dispatch.library.custom_op("test_stores::triple", mutates_args=())
def triple(a: np.ndarray) -> np.ndarray:
    return a * 3


@triple.register_fake
def _(a):
    return np.empty_like(a)


def calls_a_custom_operator(a, model):
    model.w = triple(a)
    return a


@pytest.mark.parametrize(
    ("f", "said"),
    [
        (deletes, "it changes an attribute of a Model when it runs, which a graph would leave out."),
        (makes_a_function, "it stores as argument.w a function that it made, which would be the same one each time."),
        (changes_the_class, "it changes the class Model"),
        (keeps_a_tracked_value, "it stores a TrackedTensor of grad"),
        (calls_a_custom_operator, "it stores argument.w, and a write to an array or a custom operator comes before what may raise: a graph stores"),
    ],
)
def test_what_is_refused(f, said):
    model = Model()
    before = dict(vars(model))
    with pytest.raises(TracingError) as raised:
        compiled(f)(x.copy(), model)
    assert said in str(raised.value)
    assert vars(model) == before


def test_a_dict_that_is_reached_in_two_ways_is_refused():
    model = Model()
    table = vars(model)

    def f(a):
        model.w = a * 2
        return table["w"]

    with pytest.warns(PerformanceWarning, match="it changes"):
        f = dispatch.compile(f)(x)
    assert np.array_equal(f, x * 2)


def test_a_record_that_is_given_is_refused():
    def f(record, a):
        record.w = record.w * a
        return a

    with pytest.warns(PerformanceWarning, match="it changes"):
        dispatch.compile(f)(record := Record(np.ones(3)), x)
    assert np.array_equal(record.w, x)


def test_a_value_of_a_transform_is_stored_by_the_function_itself():
    model = Model()
    keep = dispatch.compile(model.keep)
    with pytest.warns(PerformanceWarning, match="it changes an attribute of a Model"):
        dispatch.grad(lambda a: np.sum(keep(a)))(x)
    assert type(model.seen).__name__ == "TrackedTensor"


def test_no_file_has_a_trace_that_stores(tmp_path):
    step = compiled(Model().step, cache_dir=tmp_path)
    step(x)
    assert "not kept for other processes: it stores self.w in what it refers to, which is of this process" in repr(step.explain())
    assert not list(tmp_path.rglob("*.entry"))


def test_one_record_in_two_places_is_refused():
    model = Model()

    def f(a):
        model.w = Record(a * 2)
        return model.w

    with pytest.warns(PerformanceWarning, match="it returns one Record in two places, and a graph makes two"):
        made = dispatch.compile(f)(x)
    assert made is model.w


class Mean:
    def __init__(self):
        self.total, self.last, self.before = 0.0, None, None

    def add(self, a):
        self.total = self.total + a.sum()
        self.last = (self.total, a)
        return self.total * self.last[1]


def test_a_number_of_numpys_that_is_stored_anew_is_an_input():
    mean, plain = Mean(), Mean()
    add = compiled(mean.add)
    for k in range(12):
        assert np.array_equal(add(x[: k % 3]), plain.add(x[: k % 3]))
        assert type(mean.total) is np.float64
        assert mean.last[0] is mean.total
    assert len(add.entries) <= 6



def in_a_tuple(a, model):
    model.total = model.total + 1
    return a * model.total * model.before[0]


def in_a_slice(a, model):
    model.total = model.total + 1
    return a[model.before] * model.total


def as_a_key(a, model):
    model.total = model.total + 1
    return a * model.before[next(iter(model.before))]


@pytest.mark.parametrize(
    ("f", "hold"),
    [(in_a_tuple, lambda n: (n,)), (in_a_slice, lambda n: slice(n)), (as_a_key, lambda n: {n: 2.0}), (as_a_key, lambda n: {1: n})],
)
def test_the_same_number_in_another_place_keeps_its_value(f, hold):
    found = []
    for wrap in (lambda f: f, dispatch.compile):
        model, g = Mean(), wrap(f)
        model.total = np.int64(2)
        model.before = hold(model.total)
        found.append([g(x, model).tobytes() for _ in range(4)])
    assert found[0] == found[1]


def test_the_same_number_in_an_argument_keeps_its_value():
    def f(a, model, pair):
        model.total = model.total + 1
        return a * model.total * pair[0]

    found = []
    for wrap in (lambda f: f, dispatch.compile):
        model, g = Mean(), wrap(f)
        model.total = np.float64(2)
        pair = (model.total,)
        found.append([g(x, model, pair).tobytes() for _ in range(4)])
    assert found[0] == found[1]


class Branching:
    kept = None

    def __init__(self):
        self.kept = 1.0
        self.flag = True

    def run(self, a):
        if self.flag:
            self.kept = a
        return self.kept * 2


def test_what_is_read_in_another_branch_is_compared():
    found = []
    for wrap in (lambda f: f, dispatch.compile):
        model = Branching()
        run, out = wrap(model.run), []
        for flag, value in ((True, 2.0), (True, "ab"), (False, 3.0), (False, 4.0), (True, x)):
            model.flag, model.kept = flag, value
            out.append(np.asarray(run(x)).tobytes())
        found.append(out)
    assert found[0] == found[1]
