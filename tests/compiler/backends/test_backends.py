"""What other engines make of a graph is what the function gives, up to their rounding."""

import builtins

import numpy as np
import pytest
from hypothesis import given, settings
from making import define
from numpy_programs import smooth_programs

import dispatch
from dispatch.compiler.backends import jax_jit, lookup, torch_fx
from dispatch.errors import GraphError, MissingExtraError

ENGINES = [pytest.param("jax", marks=pytest.mark.jax), pytest.param("torch", marks=pytest.mark.torch)]
pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
rng = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def _module_runs_as_it_is(monkeypatch, request):
    """Let the modules of torch run uncompiled, save in the test of its compiler: it takes seconds."""
    if request.node.get_closest_marker("torch") and request.node.name != "test_torch_hands_its_module_to_the_compiler_of_torch":
        monkeypatch.setattr(torch_fx.engine().inductor, "compile", lambda module, tensors, options: module)


def close(got, wanted):
    assert type(got) is type(wanted)
    assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape)
    np.testing.assert_allclose(got, wanted, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("engine", ENGINES)
@settings(max_examples=15)
@given(smooth_programs())
def test_programs_at_random_and_their_gradients(engine, program):
    f, xs = program.number(), program.inputs()
    close(dispatch.compile(f, fullgraph=True, backend=engine)(*map(np.copy, xs)), f(*map(np.copy, xs)))
    gradient = dispatch.grad(f, argnums=tuple(range(len(xs))))
    got = dispatch.compile(gradient, fullgraph=True, backend=engine)(*map(np.copy, xs))
    for a, b in zip(got, gradient(*map(np.copy, xs)), strict=True):
        close(a, b)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "f",
    [
        lambda x: {"a": [x.sum(axis=0), x.max(axis=1, keepdims=True)], "b": x.T @ x},
        lambda x: np.where(x > 0, x, 0.5) ** 2,
        lambda x: np.var(x, axis=0) + np.std(x),
        lambda x: x.astype(np.float32) * 2.0,
        lambda x: np.linalg.solve(x @ x.T + np.eye(3), x),
        lambda x: np.sort(x, axis=1)[:, ::-1] + x[[0, 2, 1]],
        lambda x: np.argmax(x, axis=1),
        lambda x: np.take_along_axis(x, np.argsort(x, axis=-1), -1),
        lambda x: np.linalg.qr(x)[1] * 1.0 + np.cumsum(x, axis=1)[0],
        lambda x: np.mean(np.stack([x, x * 2.0]), axis=(0, 2)),
    ],
)
def test_rows(engine, f):
    x = rng.normal(size=(3, 4))
    got, wanted = dispatch.compile(f, fullgraph=True, backend=engine)(x), f(x)
    if isinstance(wanted, dict):
        close(got["b"], wanted["b"])
        got, wanted = got["a"][1], wanted["a"][1]
    close(got, wanted)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "f",
    [
        lambda x: np.linalg.norm(x) + np.std(x) + np.linalg.norm(x, 3, axis=0)[0],
        lambda x: np.sum(np.sinc(x) + np.hypot(x, 0.0) + np.maximum(x, 0.0) + np.logaddexp(x, 0.0)),
    ],
)
def test_an_engine_has_the_gradients_of_norms_and_corners_at_0(engine, f):
    slope = dispatch.grad(f)
    for x in np.zeros((3, 4)), rng.normal(size=(3, 4)):
        close(dispatch.compile(slope, fullgraph=True, backend=engine)(x), slope(x))


@pytest.mark.parametrize("engine", ENGINES)
def test_a_custom_operator_runs_here(engine):
    runs = []

    def kernel(x, n):
        runs.append(type(x))
        return np.asarray(x) * n, np.asarray(x).sum(axis=0)

    op = define("(Tensor x, int n) -> (Tensor, Tensor)", kernel, fake=lambda x, n: (np.empty(x.shape), np.empty(x.shape[1:])))

    def f(x):
        a, b = op(np.sin(x), 3)
        return a + b

    x = rng.normal(size=(3, 2))
    close(dispatch.compile(f, fullgraph=True, backend=engine)(x), f(x))
    assert runs == [np.ndarray] * 2


@pytest.mark.parametrize("engine", ENGINES)
def test_writes_to_arguments_and_numbers(engine):
    def f(x, rate):
        x -= rate * np.sin(x)
        return x, np.sum(x)

    run = dispatch.compile(f, fullgraph=True, backend=engine)
    for rate in (0.5, 0.25):
        x, y = np.ones(3), np.ones(3)
        out, total = run(x, rate)
        assert out is x
        close(total, f(y, rate)[1])
        close(x, y)
    assert len(run.entries) == 1


@pytest.mark.parametrize("engine", ENGINES)
def test_results_can_be_written_to(engine):
    out = dispatch.compile(np.sin, backend=engine)(np.ones(3))
    out[0] = 2.0
    assert out[0] == 2.0


@pytest.mark.parametrize("engine", ENGINES)
def test_what_is_no_array_stays_here(engine):
    factor = define("(Tensor x) -> (Tensor, Residual)", lambda x: (x * 2.0, []), fake=lambda x: x * 2.0)

    def f(x):
        return np.sin(factor(np.cos(x)))

    close(dispatch.compile(f, fullgraph=True, backend=engine)(np.ones(2)), f(np.ones(2)))


@pytest.mark.parametrize("engine", ENGINES)
def test_results_that_share_memory_share_it(engine):
    def f(x):
        y = np.sin(x) * 2
        return x[1:], y, y.T, np.exp(y.T)

    x = rng.normal(size=(3, 3))
    run = dispatch.compile(f, fullgraph=True, backend=engine)
    for _ in range(2):
        tail, y, turned, last = run(x)
        assert np.shares_memory(tail, x)
        assert np.shares_memory(turned, y)
        for a, b in zip((tail, y, turned, last), f(x), strict=True):
            close(a, b)
            assert a.strides == b.strides


@pytest.mark.parametrize("engine", ENGINES)
def test_arrays_of_any_layout(engine):
    def f(x, y):
        return np.sin(x) + y, np.exp(y) * w

    w = rng.normal(size=(3, 4))
    w.flags.writeable = False
    base = rng.normal(size=(6, 8))
    packed = np.zeros(12, np.dtype([("a", "u1"), ("x", "f8")]))["x"].reshape(3, 4)
    layouts = [base[::2, ::2], base[:3, :4][::-1], base.T[:4, :3].T, np.broadcast_to(base[0, :4], (3, 4)), packed]
    run = dispatch.compile(f, fullgraph=True, backend=engine)
    for x in layouts:
        for _ in range(2):
            for a, b in zip(run(x, layouts[0]), f(x, layouts[0]), strict=True):
                close(a, b)
                assert a.strides == b.strides


@pytest.mark.parametrize(
    ("f", "x"),
    [
        (lambda x: x // np.array([0, 2]) + x % np.array([0, 3]), np.array([7, -7])),
        (lambda x: np.sign(x), np.array([np.nan, -0.0, -2.0])),
        (lambda x: np.clip(x, 10, 300), np.array([0, 20, 255], np.uint8)),
        (lambda x: np.clip(x, 0.0, 1.0), np.array([np.nan, -1.0, 2.0])),
        (lambda x: (np.argmax(x), np.max(x), np.sort(x)), np.array([1 + 5j, 2 - 1j, np.nan + 0j])),
        (lambda x: x + x - ~x, np.array([127, -128, 3], np.int8)),
        (lambda x: (x + x, x * x, x.sum(), x | True), np.array([True, False])),
    ],
)
@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_what_libraries_differ_in_is_what_numpy_says(engine, f, x):
    try:
        expected = f(x)
    except OverflowError:
        expected = None
    run = dispatch.compile(f, backend=engine)
    for _ in range(2):
        if expected is None:
            with pytest.raises(OverflowError):
                run(x)
        else:
            got = run(x)
            pairs = zip(got, expected, strict=True) if isinstance(expected, tuple) else [(got, expected)]
            for a, b in pairs:
                close(a, b)


def scanned(reverse=False, checkpoint=None):
    def f(x, w):
        def step(carry, item):
            total, count = carry
            total = np.tanh(total * w + item)
            return (total, count + 1), total * 2.0

        (total, count), ys = dispatch.scan(step, (np.zeros(3), np.int64(0)), x, reverse=reverse, checkpoint=checkpoint)
        return total, count, ys

    return f


def stepped(x, w):
    return dispatch.while_loop(lambda s: np.sum(s) < 100.0, lambda s: s * w + 1.0, x[0]), dispatch.fori_loop(0, 5, lambda i, s: s + i * w, x[1])


def branched(x, w):
    return dispatch.cond(np.sum(x) > 0, lambda y: [y * w, y], lambda y: [y - w, np.sin(y)], x)


def summed(f):
    return lambda *args: sum(np.sum(out * 1.5) for out in f(*args)[::2])


@pytest.mark.jax
@pytest.mark.parametrize(
    "f",
    [
        scanned(),
        scanned(reverse=True),
        stepped,
        branched,
        dispatch.grad(summed(scanned()), argnums=(0, 1)),
        dispatch.grad(summed(scanned(reverse=True)), argnums=(0, 1)),
        dispatch.grad(summed(scanned(checkpoint=2)), argnums=(0, 1)),
        dispatch.grad(summed(branched), argnums=(0, 1)),
        dispatch.vmap(scanned(), in_dims=(None, 0)),
        dispatch.vmap(branched, in_dims=(None, 0)),
    ],
)
def test_jax_runs_loops_and_branches(f):
    x = rng.normal(size=(5, 3)) + 0.3
    w = np.full((2, 3) if "vmap" in repr(f) else 3, 1.1)
    run = dispatch.compile(f, fullgraph=True, backend="jax")
    for _ in range(2):
        for a, b in zip(run(x, w), f(x, w), strict=True):
            for got, expected in zip(a, b, strict=True) if isinstance(b, (list, tuple)) else [(a, b)]:
                close(got, expected)


@pytest.mark.jax
def test_jax_has_loops_whose_steps_it_computes_and_no_others():
    def claimed(f, *args):
        nodes = dispatch.make_fx(f, "fake")(*args).nodes
        return [jax_jit.engine.claims(node) for node in nodes if node.op is not None and node.op.schema.namespace == "control_flow"]

    x = rng.normal(size=(5, 3))
    assert claimed(scanned(), x, x[0]) == [True]
    assert claimed(lambda x: dispatch.scan(lambda c, y: (np.sort(c) + y, c), x[0], x), x) == [False]
    assert claimed(lambda x: dispatch.scan(lambda c, y: (c * (1 + 1j), c), x[0] * 1j, x), x) == [False]
    assert claimed(lambda x: dispatch.while_loop(lambda s: s[0] < 9, lambda s: s + 1, x[0], max_steps=3), x) == [False]


def test_fast_hands_a_graph_with_a_loop_to_jax(monkeypatch):
    ran = []
    made = {name: lookup.Registered(name, lambda graph, metadata, name=name: ran.append(name) or graph, lambda node: True) for name in ("torch", "jax")}
    monkeypatch.setattr(lookup, "_backends", made)
    monkeypatch.setattr(lookup, "_is_there", lambda name: True)
    monkeypatch.setattr(lookup.shutil, "which", lambda name: name)
    x = np.ones((5, 3))
    for a, b in zip(dispatch.compile(scanned(), mode="fast")(x, x[0]), scanned()(x, x[0]), strict=True):
        close(a, b)
    assert ran == ["jax"]


@pytest.mark.torch
def test_an_array_that_is_not_what_a_fake_rule_said_is_not_handed_to_code_in_c():
    """Programs hold kernels to dtypes in any byte order, and an engine reads the machine's alone."""
    calls = []

    def kernel(x):
        calls.append(1)
        return x.astype(x.dtype.newbyteorder() if len(calls) > 1 else np.float64)

    op = define("(Tensor x) -> Tensor", kernel, fake=lambda x: np.empty(x.shape))
    run = dispatch.compile(lambda x: np.sin(op(x)), backend="torch")
    run(np.ones(2))
    with pytest.raises(GraphError, match=r"^the graph was made for float64 of shape \(2,\), and was given >f8 of shape \(2,\)\. An operator"):
        run(np.ones(2))


@pytest.mark.torch
def test_torch_hands_its_module_to_the_compiler_of_torch():
    def f(x, y):
        return np.tanh(x @ y) / (1.0 + np.sum(x, axis=1, keepdims=True) ** 2)

    x = rng.normal(size=(3, 3))
    close(dispatch.compile(f, fullgraph=True, backend="torch")(x, x), f(x, x))


@pytest.mark.parametrize("engine", ["jax", "torch"])
def test_an_engine_that_is_not_installed_is_asked_for(engine, monkeypatch):
    original = builtins.__import__
    monkeypatch.setitem(__import__("sys").modules, engine, None)
    assert original is builtins.__import__
    with pytest.raises((MissingExtraError, ModuleNotFoundError), match=f"{engine}"):
        dispatch.compile(np.sin, backend=engine)(np.ones(2))


@pytest.mark.jax
def test_an_engine_is_asked_for_no_errors_of_floats_and_what_was_written_is_seen():
    """Where NumPy is told to raise, the calls are replayed; so they are where an operator that writes may raise."""
    ns = f"engine_raises_{id(object())}"

    @dispatch.custom_op(f"{ns}::f", mutates_args=("x",))
    def op(x: np.ndarray, n: np.ndarray) -> None:
        x += 1
        if n[0] > 0:
            raise ValueError("no")

    f = dispatch.compile(lambda x: np.log(x) * 2, backend="jax")
    f(np.ones(3))
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        f(np.zeros(3))
    g = dispatch.compile(lambda x, n: (op(x, n), x * 2)[1], backend="jax")
    x = np.zeros(3)
    g(x, np.zeros(1))
    with pytest.raises(ValueError, match="no"):
        g(x, np.ones(1))
    assert x.tolist() == [2, 2, 2]
