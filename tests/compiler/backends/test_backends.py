"""What other engines make of a graph is what the function gives, up to their rounding."""

import builtins

import numpy as np
import pytest
from hypothesis import given, settings
from making import define
from numpy_programs import smooth_programs

import dispatch
from dispatch.errors import MissingExtraError, TracingError

ENGINES = [pytest.param("jax", marks=pytest.mark.jax), pytest.param("torch", marks=pytest.mark.torch)]
pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit:DeprecationWarning")
rng = np.random.default_rng(0)


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
def test_a_custom_operator_is_a_callback(engine):
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
def test_what_is_no_array_is_refused(engine):
    factor = define("(Tensor x) -> (Tensor, Residual)", lambda x: (x * 2.0, []), fake=lambda x: x * 2.0)

    def f(x):
        return np.sin(factor(x))

    with pytest.raises(TracingError, match=f"^backend '{engine}': op.* gives more than arrays, .*, and an engine has nothing else. Use 'replay'"):
        dispatch.compile(f, fullgraph=True, backend=engine)(np.ones(2))


@pytest.mark.parametrize("engine", ["jax", "torch"])
def test_an_engine_that_is_not_installed_is_asked_for(engine, monkeypatch):
    original = builtins.__import__
    monkeypatch.setitem(__import__("sys").modules, engine, None)
    assert original is builtins.__import__
    with pytest.raises((MissingExtraError, ModuleNotFoundError), match=f"{engine}"):
        dispatch.compile(np.sin, backend=engine)(np.ones(2))
