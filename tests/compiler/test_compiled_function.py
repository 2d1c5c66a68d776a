"""What a compiled function does in a call: finds, traces, falls back, writes, says."""

import functools
import math
import os
import threading
import time
import warnings

import numpy as np
import pytest
from making import define

import dispatch
from dispatch.compiler import register_backend
from dispatch.errors import DefinitionError, NoRuleError, PerformanceWarning, TracingError, UnsupportedError

rng = np.random.default_rng(0)
compiled = functools.partial(dispatch.compile, fullgraph=True)


def test_a_call_of_another_kind_is_traced_anew_and_one_of_the_same_is_not():
    @compiled
    def f(x, n=1, *, mode="a"):
        return np.sin(x) * n

    f(np.ones(3))
    f(np.zeros(3))
    f(np.ones((3, 1))[:, 0])
    assert len(f.entries) == 1
    kinds = [
        lambda: f(np.ones(4)),
        lambda: f(np.ones(3, np.float32)),
        lambda: f(np.ones(6)[::2]),
        lambda: f(np.ones(3), 2),
        lambda: f(np.ones(3), True),
        lambda: f(np.ones(3), mode="b"),
    ]
    for i, call in enumerate(kinds, 2):
        call()
        call()
        assert len(f.entries) == i


def test_strides_of_one_element_do_not_count():
    f = compiled(np.sin)
    f(np.ones((1, 3)))
    f(np.ones((2, 6))[::2, :3])
    assert len(f.entries) == 1


def test_a_float_is_an_input():
    @compiled
    def f(x, rate):
        return x - rate * np.sin(x)

    x = rng.normal(size=3)
    for rate in (0.5, 0.25, -0.0, math.inf, 1e-3):
        assert f(x, rate).tobytes() == (x - rate * np.sin(x)).tobytes()
    assert len(f.entries) == 1


def test_a_float_that_decides_is_not():
    @compiled
    def f(x, rate):
        return x * rate if rate > 0 else x

    x = np.ones(2)
    assert f(x, 2.0)[0] == 2.0
    assert f(x, -2.0) is x
    assert len(f.entries) == 2
    assert f(x, 2.0)[0] == 2.0
    assert len(f.entries) == 2


def test_a_float_beside_float32_stays_weak():
    @compiled
    def f(x, rate):
        return x * rate

    out = f(np.ones(3, np.float32), 0.1)
    assert out.dtype == np.float32
    assert out.tobytes() == (np.ones(3, np.float32) * 0.1).tobytes()


def test_a_float_that_python_computes_with_is_computed_by_python():
    @compiled
    def f(x, rate):
        return x * math.sin(1.0 - rate) ** 3

    for rate in (0.1, 0.2):
        assert f(np.ones(1), rate)[0] == math.sin(1.0 - rate) ** 3


def test_control_flow_by_data_falls_back_with_one_warning_that_names_the_line():
    @dispatch.compile
    def f(x):
        if np.sum(x) > 0:  # this line
            return x * 2.0
        return x

    with pytest.warns(PerformanceWarning, match=r"^compile: test_control.*f runs as it is: .*test_compiled_function.py:\d+.* in f: if np.sum") as seen:
        assert f(np.ones(2))[0] == 2.0
    assert len(seen) == 1
    assert seen[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert f(-np.ones(2))[0] == -1.0
        assert f(np.ones(3))[0] == 2.0
    assert [entry.traced for entry in f.entries] == [None, None]


def test_fullgraph_raises_there():
    @compiled
    def f(x):
        return x if np.sum(x) > 0 else -x

    with pytest.raises(TracingError, match=r"^the truth was asked of a traced value .*, in test_compiled_function.py:\d+, in f: return x if np.sum\(x\) > 0 else -x"):
        f(np.ones(2))
    assert f.entries == []


def test_an_exception_of_the_function_is_its_own_and_leaves_nothing():
    @dispatch.compile
    def f(x):
        if x.shape[0] > 2:
            raise ValueError("too long")
        return x + 1.0

    for _ in range(2):
        with pytest.raises(ValueError, match=r"^too long$") as raised:
            f(np.ones(3))
        assert raised.value.__context__ is None
        assert f.entries == []
    assert f(np.ones(2))[0] == 2.0


def test_an_exception_while_replaying_leaves_the_entry():
    f = compiled(np.linalg.inv)
    f(np.eye(2))
    with pytest.raises(np.linalg.LinAlgError):
        f(np.zeros((2, 2)))
    assert f(np.eye(2) * 2)[0, 0] == 0.5
    assert len(f.entries) == 1


def draw(x):
    return x + np.random.default_rng(generator.integers(99)).normal(size=2)


def clock(x):
    return x * time.perf_counter()


generator = np.random.default_rng(0)


@pytest.mark.parametrize(("f", "why"), [(draw, "it draws by rng.integers what is no array but int"), (clock, "it uses time.perf_counter")])
def test_what_depends_on_more_than_arguments_is_refused_before_it_runs(f, why):
    run = dispatch.compile(f)
    with pytest.warns(PerformanceWarning, match=f"^compile: {f.__name__} runs as it is: .*{why}"):
        run(np.ones(2))
    one, other = run(np.ones(2)), run(np.ones(2))
    assert not np.array_equal(one, other)
    with pytest.raises(TracingError, match=why):
        compiled(f)(np.ones(2))


def test_tracing_draws_nothing():
    own = np.random.default_rng(1)

    def f(x):
        return x + own.normal(size=2)

    got = compiled(f)(np.zeros(2))
    assert np.array_equal(got, np.random.default_rng(1).normal(size=2))


def test_a_change_of_what_is_no_array_is_refused_and_happens_once():
    count = [0]

    def f(x):
        count.append(1)
        return x * 1.0

    with pytest.raises(TracingError, match=r"^it changes count, a list, when it runs, which a graph would leave out\.$"):
        compiled(f)(np.ones(2))
    assert count == [0]
    with pytest.warns(PerformanceWarning, match="it changes count, a list, when it runs"):
        dispatch.compile(f)(np.ones(2))
    assert count == [0, 1]


def test_captured_arrays_are_written_to():
    log = np.zeros(2)

    def f(x):
        log[0] += 1
        return x * log[0]

    run = compiled(f)
    assert [run(np.ones(1))[0] for _ in range(3)] == [1.0, 2.0, 3.0]
    assert log.tolist() == [3.0, 0.0]
    assert len(run.entries) == 1


def test_captured_arrays_are_read_as_they_are():
    weights = np.ones(3)
    f = compiled(lambda x: x * weights + weights[1:2])
    x = rng.normal(size=3)
    for value in (1.0, 2.0, 3.0):
        weights[...] = value
        assert f(x).tobytes() == (x * weights + weights[1:2]).tobytes()
    assert len(f.entries) == 1
    weights = np.full(3, 9.0)
    assert f(x).tobytes() == (x * weights + weights[1:2]).tobytes()


scale = 2.0


def helper(x):
    return x * scale


def test_globals_of_a_helper_are_watched(monkeypatch):
    f = compiled(lambda x: helper(x))
    assert f(np.ones(1))[0] == 2.0
    monkeypatch.setitem(globals(), "scale", 3.0)
    assert f(np.ones(1))[0] == 3.0
    monkeypatch.setitem(globals(), "helper", lambda x: x)
    assert f(np.ones(1))[0] == 1.0


def test_a_method_of_an_operator_is_called_by_another_name(monkeypatch):
    monkeypatch.setitem(globals(), "helper", dispatch.ops.np.sin.redispatch)
    f = compiled(lambda x: helper(dispatch.DispatchKey.AUTOGRAD, x))
    np.testing.assert_array_equal(f(np.ones(3)), np.sin(np.ones(3)))
    monkeypatch.setitem(globals(), "helper", dispatch.ops.np.cos.redispatch)
    np.testing.assert_array_equal(f(np.ones(3)), np.cos(np.ones(3)))


class Model:
    def __init__(self):
        self.rate, self.layers, self.unused = 2.0, [np.ones(2), np.ones(2)], 0

    @dispatch.compile(fullgraph=True)
    def step(self, x):
        return sum(layer * x for layer in self.layers) * self.rate


def test_methods_and_attributes():
    model = Model()
    x = np.ones(2)
    assert model.step(x)[0] == 4.0
    model.unused = 1
    model.layers[0][0] = 5.0
    assert model.step(x)[0] == 12.0
    assert len(Model.step.entries) == 1
    model.rate = 1.0
    model.layers.append(np.ones(2))
    assert model.step(x)[0] == 7.0
    assert Model().step(x)[0] == 4.0


def test_kinds_of_calls_have_a_bound():
    f = dispatch.compile(np.sin)
    for n in range(8):
        f(np.ones(n))
    with pytest.warns(PerformanceWarning, match=r"^compile: .*sin.* runs as it is: it was traced 8 times, for as many kinds"):
        assert f(np.ones(9)).shape == (9,)
    f(np.ones(10))
    assert len(f.entries) == 8


def test_results_share_nothing_with_the_cache():
    f = compiled(lambda x: (np.array([1.0, 2.0]), x * np.array([3.0, 4.0])))
    x = np.ones(2)
    f(x)[0][...] = 0.0
    one, two = f(x)
    assert one.tolist() == [1.0, 2.0]
    assert two.tolist() == [3.0, 4.0]
    one[...] = 7.0
    assert f(x)[0].tolist() == [1.0, 2.0]


def test_what_the_function_returns_as_it_is():
    f = compiled(lambda x, n, name: {"x": x, "n": n, "name": name, "none": None, "look": x[1:]})
    x = np.ones(3)
    out = f(x, 2, "a")
    assert out["x"] is x
    assert (out["n"], out["name"], out["none"]) == (2, "a", None)
    assert out["look"].base is x


def test_writes_to_arguments():
    @compiled
    def f(x, y):
        x[0] = y[1] * 2.0
        x += 1.0
        y[:] = x
        return x

    for _ in range(2):
        x, y = np.ones(3), np.arange(3.0)
        assert f(x, y) is x
        assert x.tolist() == [3.0, 2.0, 2.0]
        assert y.tolist() == [3.0, 2.0, 2.0]


def test_writes_where_arguments_share_memory_are_those_of_the_function():
    def f(x, y):
        x[0] = 5.0
        return y * 2.0

    run = compiled(f)
    run(np.ones(3), np.ones(3))
    x = np.ones(3)
    assert run(x, x).tolist() == [10.0, 2.0, 2.0]
    assert [entry.hits for entry in run.entries] == [1, 1]  # one array given twice is a kind of its own
    x = np.ones(4)
    with pytest.warns(PerformanceWarning, match="an array that it writes to is read-only, or shares memory with another that it is given"):
        assert run(x[:3], x[1:]).tolist() == f(np.ones(4)[:3], np.ones(3)).tolist()
    frozen = np.ones(3)
    frozen.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        run(frozen, np.ones(3))


def test_a_subclass_of_arrays_is_left_to_itself():
    x = np.ma.masked_array([1.0, 2.0], mask=[False, True])
    run = dispatch.compile(lambda x: x + 1.0)
    with pytest.warns(PerformanceWarning, match="an argument is MaskedArray, a class with operations of its own"):
        out = run(x)
    assert isinstance(out, np.ma.MaskedArray)
    assert out.mask.tolist() == [False, True]


def test_a_custom_operator_is_not_looked_into_and_runs_once_a_call():
    runs = []

    def kernel(x):
        runs.append(type(x))
        return x * 2.0

    op = define("(Tensor x) -> Tensor", kernel, fake=lambda x: np.empty_like(x))
    f = compiled(lambda x: op(np.sin(x)))
    f(np.ones(2))
    f(np.ones(2))
    assert runs == [np.ndarray] * 2


def test_an_operator_without_a_shape_rule_says_so():
    op = define("(Tensor x) -> Tensor", lambda x: x * 2.0)
    with pytest.warns(PerformanceWarning, match="it has no fake rule. Add one: .*register_fake"):
        assert dispatch.compile(op)(np.ones(2)).tolist() == [2.0, 2.0]
    with pytest.raises(NoRuleError, match="it has no fake rule"):
        compiled(op)(np.ones(2))


def test_a_number_that_an_operator_reads_of_data_is_no_constant():
    total = define("(Tensor x) -> float", lambda x: float(x.sum()), fake=lambda x: 1.0)

    def f(x):
        return x * total(x)

    with pytest.raises(TracingError, match=r"gives a float in test_compiled_function.py:\d+, in f: return x \* total\(x\), and a graph would"):
        compiled(f)(np.ones(2))
    with pytest.warns(PerformanceWarning, match="gives a float"):
        assert dispatch.compile(f)(np.ones(2)).tolist() == [2.0, 2.0]


def test_effects_are_kept_in_order():
    seen = []
    note = define("(str word) -> ()", seen.append, fake=lambda word: None)
    write = define("(Tensor(a!) x) -> ()", lambda x: x.__setitem__(0, x[1] + 1.0))

    def f(x):
        note("before")
        write(x)
        note("after")
        return x * 1.0

    run = compiled(f)
    seen.clear()
    x = np.zeros(2)
    assert run(x).tolist() == [1.0, 0.0]
    assert seen == ["before", "after"]


def test_under_a_mode_the_function_itself_runs():
    f = compiled(np.sin)
    with dispatch.FakeTensorMode() as mode:
        assert f(mode.from_array(np.ones(3))).shape == (3,)
    graph = dispatch.make_fx(compiled(lambda x: np.sin(x) * 2.0))(np.ones(3))
    assert [node.name for node in graph.nodes] == ["x", "sin", "multiply"]
    assert f.entries == []


def test_tracked_values_are_recorded():
    f = compiled(lambda x: np.sum(np.sin(x) * x))
    x = rng.normal(size=3)
    tracked = dispatch.tensor(x, requires_grad=True)
    f(tracked).backward()
    assert tracked.grad.tobytes() == dispatch.grad(lambda x: np.sum(np.sin(x) * x))(x).tobytes()


def test_a_wrapper_from_outside_is_refused():
    def outer(w):
        return np.sum(dispatch.compile(lambda x: w * x, fullgraph=True)(np.ones(2)))

    with pytest.raises(TracingError, match=r"^it refers to a TrackedTensor of grad .*, and a graph outlives that. Pass it as an argument.$"):
        dispatch.grad(outer)(np.ones(2))


def test_two_first_calls_race_safely():
    started = threading.Barrier(4)
    f = compiled(lambda x: np.sin(x) * 2.0)
    got = []

    def run():
        started.wait()
        got.append(f(np.ones(3)).tolist())

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert got == [(np.sin(np.ones(3)) * 2.0).tolist()] * 4
    assert len(f.entries) == 1


def test_open_sizes_are_the_replays():
    with pytest.raises(UnsupportedError) as caught:
        dispatch.compile(np.sin, dynamic=True, backend="jax")
    assert str(caught.value) == (
        "compile(dynamic=True) was asked of the backend 'jax', and open sizes are run by mode='exact'. Leave one of the two out."
    )


def test_it_keeps_name_and_signature():
    @dispatch.compile
    def f(x, *, n=1):
        """What it is."""

    assert (f.__name__, f.__doc__, f.__wrapped__.__name__) == ("f", "What it is.", "f")
    assert repr(f) == "<compiled test_it_keeps_name_and_signature.<locals>.f, 0 entries>"


def test_explain_says_guards_cache_graph_and_what_fell_back():
    @dispatch.compile
    def f(x, n):
        return np.sin(x) * helper(x) if n else float(x)

    said = str(f.explain(np.ones((2, 3)), 1))
    assert "f: traced 1 times, 8 at most" in said
    assert "calls of float64[2, 3], 1" in said
    assert "found 0 times" in said
    assert "as long as these stay what they are: f, float, helper, np, np.sin, scale" in said
    f(np.ones((2, 3)), 1)
    assert "found 1 times" in repr(f.explain())
    said = str(f.explain(np.ones(1), 0))
    assert "that call would run as it is: " in said
    assert "traced value of shape (1,)" in said


def test_a_module_is_an_argument_as_any_object():
    f = dispatch.compile(lambda x, of: of.exp(x), fullgraph=True)
    for _ in range(2):
        np.testing.assert_array_equal(f(np.ones(2), np), np.exp(np.ones(2)))
    assert "calls of float64[2], <module 'numpy'" in str(f.explain())


def test_backends_have_names():
    with pytest.raises(DefinitionError, match=r"^there is no backend 'reply'\. Backends: .*replay.* Did you mean 'replay'\?$"):
        dispatch.compile(np.sin, backend="reply")
    with pytest.raises(DefinitionError, match=r"^there is a backend 'replay' already, of dispatch\.compiler\.backends\.lookup\."):
        register_backend("replay", lambda graph, metadata: graph)


def test_a_function_is_a_backend():
    seen = []

    def mine(graph, metadata):
        seen.append([m.shape for m in metadata])
        return graph

    f = dispatch.compile(lambda x, y: x + y, backend=mine)
    assert f(np.ones(2), np.ones((3, 1))).shape == (3, 2)
    assert seen == [[(2,), (3, 1)]]


def test_what_a_backend_raises_is_no_fallback():
    def broken(graph, metadata):
        raise RuntimeError("no engine")

    with pytest.raises(RuntimeError, match=r"^no engine$"):
        dispatch.compile(np.sin, backend=broken)(np.ones(2))


class Slotted:
    __slots__ = ("rate",)


class Inherited:
    rate = 2.0


@pytest.mark.parametrize("owner", [Slotted(), Inherited(), Inherited], ids=["a slot", "an attribute of its own", "of its class"])
def test_an_attribute_that_changes_is_seen(owner):
    if isinstance(owner, Slotted):
        owner.rate = 2.0

    def f(x):
        return x * owner.rate

    compiled = dispatch.compile(f, fullgraph=True)
    np.testing.assert_array_equal(compiled(np.ones(2)), [2.0, 2.0])
    before = owner.rate
    owner.rate = 5.0
    np.testing.assert_array_equal(compiled(np.ones(2)), [5.0, 5.0])
    owner.rate = before


@pytest.mark.parametrize("workers", [0, -1, 2.0, True, "2"])
def test_workers_is_a_number_of_threads(workers):
    with pytest.raises(DefinitionError, match=r"^compile: workers is a number of threads, 1 or more, and was given as"):
        dispatch.compile(np.sin, workers=workers)


def test_threads_are_as_many_as_asked_for(monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: range(6), raising=False)
    found = {}
    for asked, threads in ((None, ""), (3, ""), (None, "1"), (None, "3,2"), (None, "x"), (None, "99"), (None, "0")):
        monkeypatch.setenv("OMP_NUM_THREADS", threads)
        f = dispatch.compile(lambda x: np.sin(x) * 2.0, workers=asked)
        f(np.ones(3))
        found[asked, threads] = f.entries[0].run.workers
    assert list(found.values()) == [4, 3, 1, 3, 4, 4, 1]
