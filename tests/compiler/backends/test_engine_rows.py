"""An engine claims a row for a dtype only where it computes what NumPy computes, at the corners too."""

import numpy as np
import pytest
from engine_cases import ROWS, alike, calls

import dispatch
from dispatch.compiler.backends import jax_jit, torch_fx
from dispatch.graph import Metadata

# Compiling takes seconds. Of the other dtypes JAX compiles one call a row, and torch none:
# it computes them call by call.
COMPILED = [
    *[pytest.param(jax_jit, jax_jit.with_jax, x, True, marks=pytest.mark.jax) for x in ("f8", "i8", "b1")],
    *[pytest.param(jax_jit, jax_jit.with_jax, x, False, marks=pytest.mark.jax) for x in ("f4", "i4", "i2", "i1", "u1", "u2", "u4", "u8")],
    pytest.param(torch_fx, torch_fx.with_torch, "f8", False, marks=pytest.mark.torch),
]
ENGINES = [pytest.param("jax", marks=pytest.mark.jax), pytest.param("torch", marks=pytest.mark.torch)]


@pytest.mark.parametrize(("module", "make", "dtype", "thorough"), COMPILED)
@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::DeprecationWarning")
def test_every_row_of_an_engine_gives_what_numpy_gives_at_the_corners(module, make, dtype, thorough):
    found = list(calls(module.engine(), dtype, thorough))
    shapes = {args[0].shape: args for _, _, args in found}
    arrays = [x for args in shapes.values() for x in args]
    starts = dict(zip(shapes, np.cumsum([0, *map(len, shapes.values())]), strict=False))

    def every(*arrays):
        return [f(*arrays[starts[args[0].shape] :][: len(args)]) for _, f, args in found]

    graph = dispatch.make_fx(every, "fake")(*arrays)
    got = make(graph, [node.value for node in graph.inputs])(*arrays)
    expected = every(*arrays)
    scale = [np.max(np.abs(args[0][np.isfinite(args[0])].astype(float)), initial=0.0) * (len(args) == 1) for _, _, args in found]
    wrong = {name for (name, _, _), x, y, s in zip(found, got, expected, scale, strict=True) if not alike(x, y, s)}
    assert not wrong
    assert len({name for name, _, _ in found}) > 40


@pytest.mark.torch
@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "i4", "i2", "i1", "u1", "b1"])
@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::DeprecationWarning", "ignore:.*degrees of freedom:UserWarning")
def test_every_row_of_torch_gives_it_uncompiled_for_all_dtypes(dtype):
    engine = torch_fx.engine()
    for name, f, args in calls(engine, dtype):
        graph = dispatch.make_fx(f, "fake")(*args)
        graph.outputs = (graph.outputs,)
        got = engine.function(graph)(*[engine.torch.from_numpy(x) for x in args])[0].numpy()
        expected = f(*args)
        assert alike(got if isinstance(expected, np.ndarray) else got[()], expected, 1e3), name


@pytest.mark.parametrize("module", [pytest.param(jax_jit, marks=pytest.mark.jax), pytest.param(torch_fx, marks=pytest.mark.torch)])
def test_every_row_that_is_no_ufunc_has_cases(module):
    assert set(module.engine().rows) <= set(ROWS)


def claimed(engine, f, *args):
    claims = {"jax": jax_jit, "torch": torch_fx}[engine].engine.claims
    return [claims(node) for node in dispatch.make_fx(f, "fake")(*args).nodes if node.op is not None]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("f", "x"),
    [
        (lambda x: x // 0, np.arange(3)),
        (lambda x: x % 0, np.arange(3)),
        (np.argmax, np.array([1 + 2j, 2])),
        (np.maximum.reduce, np.array([1 + 2j, 2])),
        (lambda x: x * 1j, np.ones(2)),
        (lambda x: x + x, np.ones(2, np.float16)),
        (lambda x: x.astype(np.int32), np.ones(2)),
        (lambda x: dispatch.ops.np.setitem(np.zeros(4, np.uint8), slice(2), x), np.ones(2)),
        (lambda x: np.sum(x, dtype=np.int64), np.ones(2)),
        (lambda x: np.cumsum(x, dtype=np.int32), np.ones(2, np.float32)),
        (lambda x: np.full_like(x, 2.5), np.arange(2)),
        (lambda x: x[[0, 5]], np.ones(6)),
        (lambda x: np.take(x, [7]), np.ones(6)),
        (np.linalg.inv, np.ones((2, 2))),
        (lambda x: x << 70, np.arange(3)),
        (lambda x: x**2, np.arange(3)),
        (np.sort, np.ones(3)),
        (lambda x: x + x, np.ones(2, ">f8")),
    ],
)
def test_what_it_would_do_otherwise_is_left_to_numpy(engine, f, x):
    assert False in claimed(engine, f, x)


@pytest.mark.jax
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", ["u1", "i2", "i8"])
def test_a_float_that_is_written_among_integers_is_what_numpy_makes_of_it(dtype):
    def written(x, y):
        x[::2] = y * 3
        return np.add(x, 1), np.sum(y * 1, dtype=dtype), np.cumsum(y + 0, dtype=dtype)

    compiled = dispatch.compile(written, backend="jax")
    for y in ([1.0, 2.0, 3.0], [np.nan, np.inf, -1.5], [-np.inf, 1e30, 300.0]):
        x = np.arange(5, dtype=dtype)
        found, expected = x.copy(), x.copy()
        results, wanted = compiled(found, np.array(y)), written(expected, np.array(y))
        for a, b in zip((found, *results), (expected, *wanted), strict=True):
            assert a.dtype == b.dtype
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("engine", ENGINES)
def test_a_row_with_a_kernel_of_the_users_is_left_to_it(engine):
    assert claimed(engine, np.sin, np.ones(2)) == [True]
    with dispatch.library.Library("np", "IMPL") as lib:
        lib.impl("sin", lambda x: x * 0.0 + 7.0, "CPU")
        assert claimed(engine, np.sin, np.ones(2)) == [False]
    assert claimed(engine, np.sin, np.ones(2)) == [True]


@pytest.mark.parametrize("engine", ENGINES)
def test_arguments_are_cast_as_numpy_casts_them(engine):
    cases = [
        (lambda x, y: x + y, np.ones(2, np.int32), np.ones(2, np.float32)),
        (np.true_divide, np.arange(2, dtype=np.int8), np.ones(2, np.float32)),
        (lambda x, y: x * 2.5 + y, np.arange(2), np.ones(2, np.float32)),
        (lambda x, y: np.where(x > 0, x, y), np.arange(2), np.ones(2, np.float32)),
        (lambda x, y: np.concatenate([x, y]), np.arange(2), np.ones(2, np.float32)),
    ]
    for f, x, y in cases:
        made = {"jax": jax_jit.with_jax, "torch": torch_fx.with_torch}[engine]
        graph = dispatch.make_fx(f, "fake")(x, y)
        assert all(claimed(engine, f, x, y))
        assert type(graph.outputs.value) is Metadata
        if engine == "jax":
            graph.outputs = (graph.outputs,)
            assert alike(made(graph, [])(x, y)[0], f(x, y))


@pytest.mark.jax
def test_the_users_setting_of_jax_stays():
    jax = pytest.importorskip("jax")
    before = jax.config.jax_enable_x64
    assert dispatch.compile(lambda x: np.sin(x) * 2, backend="jax")(np.ones(3)).dtype == np.float64
    assert jax.config.jax_enable_x64 is before
    assert jax.numpy.ones(2).dtype == (np.float64 if before else np.float32)
