"""Eight kernels as their users bring them: Numba, ctypes, cffi, three of SciPy's libraries, a solver in an optimiser, and an
operator with every kind of argument.

Each is an operator with the rules that its author would write first, and is held against finite differences and loops by the
same laws: gradients, tangents, batches, batches of gradients, graphs, `opcheck`, pickles, and second derivatives, or the error
that names what is missing for them.
"""

import ctypes
import os
import pickle
import shutil
import subprocess
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pytest
from numpy.typing import NDArray

import dispatch
from dispatch import custom_op, grad, hessian, jacfwd, jacrev, jvp, make_fx, value_and_grad, vmap
from dispatch.errors import NoRuleError
from dispatch.testing import opcheck

A = np.ndarray
COMPILER = os.environ.get("CC", "cc").split()[0]
rng = np.random.default_rng(0)


@dataclass
class Kernel:
    """An operator in a function of arrays alone, and what is true of it."""

    op: object  # the operator
    f: object  # a function of `args`, which calls it and returns one array
    args: tuple  # arrays, each differentiable
    sample: tuple  # arguments of the operator itself
    missing: str = ""  # the operator that has to have a derivative before there is a second one


# -- 1. Numba ----------------------------------------------------------------------------------------------------------------


def with_numba():
    numba = pytest.importorskip("numba", reason="numba is not installed (extra `bench`)")

    @numba.njit
    def smooth_loop(u, rate):
        out = u.copy()
        for i in range(1, len(u) - 1):
            out[i] += rate * (u[i - 1] - 2 * u[i] + u[i + 1])
        return out

    @numba.njit
    def smooth_adjoint(g, rate):
        out = g.copy()
        for i in range(1, len(g) - 1):
            out[i - 1] += rate * g[i]
            out[i] -= 2 * rate * g[i]
            out[i + 1] += rate * g[i]
        return out

    @custom_op("users::smooth", mutates_args=())
    def smooth(u: A, rate: float = 0.25) -> A:
        return smooth_loop(u, rate)

    @smooth.register_fake
    def _(u, rate=0.25):
        return np.empty_like(u)

    def keep(ctx, inputs, output):
        ctx.rate = inputs[1]

    @smooth.register_autograd(setup_context=keep)
    def _(ctx, g):
        return smooth_adjoint(g, ctx.rate), None

    return Kernel(smooth, lambda u: smooth(u) ** 2, (rng.normal(size=6),), (rng.normal(size=6),), "smooth.backward_rule")


# -- 2. ctypes, 3. cffi --------------------------------------------------------------------------------------------------------

C_CODE = r"""
void horner(const double *x, const double *c, double *out, long n, long degree)
{
    for (long i = 0; i < n; i++) {
        double y = 0;
        for (long k = degree; k-- > 0;)
            y = y * x[i] + c[k];
        out[i] = y;
    }
}

void horner_back(const double *x, const double *c, const double *g, double *gx, double *gc, long n, long degree)
{
    for (long k = 0; k < degree; k++)
        gc[k] = 0;
    for (long i = 0; i < n; i++) {
        double power = 1, slope = 0;
        for (long k = 0; k < degree; k++) {
            gc[k] += g[i] * power;
            if (k + 1 < degree)
                slope += (k + 1) * c[k + 1] * power;
            power *= x[i];
        }
        gx[i] = g[i] * slope;
    }
}
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """The path of the C code, compiled."""
    if not shutil.which(COMPILER):
        pytest.skip(f"there is no C compiler {COMPILER}")
    folder = tmp_path_factory.mktemp("c")
    source, made = folder / "horner.c", folder / "horner.so"
    source.write_text(C_CODE)
    subprocess.run([COMPILER, "-O2", "-shared", "-fPIC", str(source), "-o", str(made)], check=True)
    return str(made)


def with_ctypes(library):
    lib = ctypes.CDLL(library)
    double_p, long = ctypes.POINTER(ctypes.c_double), ctypes.c_long

    def pointer(a):
        return a.ctypes.data_as(double_p)

    @custom_op("users::horner_ctypes", mutates_args=())
    def horner(x: NDArray[np.float64], c: NDArray[np.float64]) -> NDArray[np.float64]:
        x, c = np.ascontiguousarray(x), np.ascontiguousarray(c)
        out = np.empty_like(x)
        lib.horner(pointer(x), pointer(c), pointer(out), long(x.size), long(c.size))
        return out

    @horner.register_fake
    def _(x, c):
        return np.empty_like(x)

    def keep(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @horner.register_autograd(setup_context=keep)
    def _(ctx, g):
        x, c = ctx.saved_tensors
        x, c, g = np.ascontiguousarray(x), np.ascontiguousarray(c), np.ascontiguousarray(g)
        gx, gc = np.empty_like(x), np.empty_like(c)
        lib.horner_back(pointer(x), pointer(c), pointer(g), pointer(gx), pointer(gc), long(x.size), long(c.size))
        return gx, gc

    args = rng.normal(size=5), rng.normal(size=4)
    return Kernel(horner, horner, args, args, "horner_ctypes.backward_rule")


def with_cffi(library):
    cffi = pytest.importorskip("cffi", reason="cffi is not installed (extra `bench`)")
    ffi = cffi.FFI()
    ffi.cdef(
        "void horner(const double *x, const double *c, double *out, long n, long degree);"
        "void horner_back(const double *x, const double *c, const double *g, double *gx, double *gc, long n, long degree);"
    )
    lib = ffi.dlopen(library)

    def doubles(a):
        return ffi.from_buffer("double[]", a)

    @custom_op("users::horner_cffi", mutates_args=())
    def horner(x: NDArray[np.float64], c: NDArray[np.float64]) -> NDArray[np.float64]:
        x, c = np.ascontiguousarray(x), np.ascontiguousarray(c)
        out = np.empty_like(x)
        lib.horner(doubles(x), doubles(c), doubles(out), x.size, c.size)
        return out

    @horner.register_fake
    def _(x, c):
        return np.empty_like(x)

    # A buffer is asked by no method that an object in Python could have before Python 3.12, so it is said beforehand.
    @horner.register_autograd(setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs), opaque=True)
    def _(ctx, g):
        x, c = map(np.ascontiguousarray, ctx.saved_tensors)
        g = np.ascontiguousarray(g)
        gx, gc = np.empty_like(x), np.empty_like(c)
        lib.horner_back(doubles(x), doubles(c), doubles(g), doubles(gx), doubles(gc), x.size, c.size)
        return gx, gc

    args = rng.normal(size=5), rng.normal(size=4)
    return Kernel(horner, horner, args, args, "horner_cffi.backward_rule")


# -- 4. spsolve ----------------------------------------------------------------------------------------------------------------


def with_spsolve():
    sparse = pytest.importorskip("scipy.sparse", reason="SciPy is not installed (extra `test`)")
    linalg = pytest.importorskip("scipy.sparse.linalg")

    def matrix(data, rows, columns, n):
        return sparse.csc_matrix((data, (rows, columns)), shape=(n, n))

    @custom_op("users::spsolve", mutates_args=())
    def spsolve(data: A, rows: A, columns: A, b: A) -> A:
        return linalg.spsolve(matrix(data, rows, columns, len(b)), b)

    @spsolve.register_fake
    def _(data, rows, columns, b):
        return np.empty_like(b)

    def keep(ctx, inputs, output):
        data, rows, columns, _ = inputs
        ctx.save_for_backward(data, output)
        ctx.rows, ctx.columns = rows, columns

    @spsolve.register_autograd(setup_context=keep)
    def _(ctx, g):
        data, x = ctx.saved_tensors
        w = linalg.spsolve(matrix(data, ctx.rows, ctx.columns, len(x)).T.tocsc(), g)
        return -w[ctx.rows] * np.asarray(x)[ctx.columns], None, None, w

    n = 5
    dense = sparse.diags_array([-1.0, 4.0, -1.5], offsets=[-1, 0, 1], shape=(n, n)).tocoo()
    rows, columns = dense.coords
    data, b = dense.data + 0.1 * rng.normal(size=dense.nnz), rng.normal(size=n)
    return Kernel(
        spsolve,
        lambda data, b: spsolve(data, rows, columns, b),
        (data, b),
        (data, rows, columns, b),
        "spsolve.backward_rule",
    )


# -- 5. gaussian_filter --------------------------------------------------------------------------------------------------------


def with_gaussian_filter():
    ndimage = pytest.importorskip("scipy.ndimage", reason="SciPy is not installed (extra `test`)")

    @custom_op("users::blur", mutates_args=())
    def blur(image: A, sigma: float) -> A:
        return ndimage.gaussian_filter(image, sigma, mode="constant")

    @blur.register_fake
    def _(image, sigma):
        return np.empty(image.shape, image.dtype)

    def keep(ctx, inputs, output):
        ctx.sigma = inputs[1]

    @blur.register_autograd(setup_context=keep)
    def _(ctx, g):
        return ndimage.gaussian_filter(g, ctx.sigma, mode="constant"), None

    image = rng.normal(size=(4, 5))
    return Kernel(blur, lambda image: blur(image, 1.5) ** 2, (image,), (image, 1.5), "blur.backward_rule")


# -- 6. solve_ivp with its adjoint ---------------------------------------------------------------------------------------------


def with_solve_ivp():
    integrate = pytest.importorskip("scipy.integrate", reason="SciPy is not installed (extra `test`)")
    exact = {"rtol": 1e-10, "atol": 1e-12}

    def velocity(t, y, p):
        """The Lotka-Volterra equations."""
        return np.array([p[0] * y[0] - p[1] * y[0] * y[1], -p[2] * y[1] + p[1] * y[0] * y[1]])

    def by_state(y, p):
        return np.array([[p[0] - p[1] * y[1], -p[1] * y[0]], [p[1] * y[1], -p[2] + p[1] * y[0]]])

    def by_parameters(y):
        return np.array([[y[0], -y[0] * y[1], 0.0], [0.0, y[0] * y[1], -y[1]]])

    @custom_op("users::flow", mutates_args=())
    def flow(y: A, p: A, end: float = 1.0) -> A:
        return integrate.solve_ivp(velocity, (0.0, end), y, args=(p,), **exact).y[:, -1]

    @flow.register_fake
    def _(y, p, end=1.0):
        return np.empty_like(y)

    def keep(ctx, inputs, output):
        _, p, ctx.end = inputs
        ctx.save_for_backward(output, p)

    @flow.register_autograd(setup_context=keep)
    def _(ctx, g):
        """Integrate the state, its gradient and that of the parameters backward in time."""
        y, p = ctx.saved_tensors

        def backward(t, state, p):
            y, a = state[:2], state[2:4]
            return np.concatenate([velocity(t, y, p), -a @ by_state(y, p), -a @ by_parameters(y)])

        state = np.concatenate([y, g, np.zeros(3)])
        found = integrate.solve_ivp(backward, (ctx.end, 0.0), state, args=(p,), **exact).y[:, -1]
        return found[2:4], found[4:], None

    args = np.array([1.0, 0.7]), np.array([0.9, 0.6, 1.1])
    return Kernel(flow, flow, args, args, "flow.backward_rule")


# -- 7. an FFT Poisson solver --------------------------------------------------------------------------------------------------


def with_poisson():
    fft = pytest.importorskip("scipy.fft", reason="SciPy is not installed (extra `test`)")

    def solved(f):
        """u with -u'' - u.. = f, zero on the border: a division between two sine transforms."""
        m, n = f.shape
        i, j = np.arange(1, m + 1)[:, None], np.arange(1, n + 1)
        waves = 4 - 2 * np.cos(np.pi * i / (m + 1)) - 2 * np.cos(np.pi * j / (n + 1))
        return fft.idstn(fft.dstn(f, type=1) / waves, type=1)

    @custom_op("users::poisson", mutates_args=())
    def poisson(f: A) -> A:
        return solved(f)

    @poisson.register_fake
    def _(f):
        return np.empty(f.shape, f.dtype)

    @poisson.register_autograd
    def _(ctx, g):
        return poisson(g)  # the operator is its own adjoint

    f = rng.normal(size=(3, 4))
    return Kernel(poisson, lambda f: poisson(f) ** 3, (f,), (f,))


# -- 8. every kind of argument -------------------------------------------------------------------------------------------------


@dataclass
class Model:
    """What a code of one's own keeps together."""

    gain: np.ndarray
    offset: float


def with_many_arguments():
    @custom_op("users::mixed", mutates_args=("work",))
    def mixed(
        model: Model, parts: list[np.ndarray], weights: np.ndarray | None, work: np.ndarray, mode: Literal["sum", "mean"] = "sum"
    ) -> tuple[np.ndarray, np.ndarray]:
        work[...] = 0
        for part in parts:
            work += part
        if mode == "mean":
            work /= len(parts)
        total = model.gain * work + model.offset
        return total, total**2 * (1.0 if weights is None else weights)

    @mixed.register_fake
    def _(model, parts, weights, work, mode="sum"):
        return np.empty_like(work), np.empty_like(work)

    def keep(ctx, inputs, output):
        model, parts, weights, _, mode = inputs
        ctx.count, ctx.mode, ctx.weights, ctx.gain = len(parts), mode, weights, model.gain
        total = output[0]
        ctx.save_for_backward(sum(parts) / (len(parts) if mode == "mean" else 1), total)

    @mixed.register_autograd(setup_context=keep)
    def _(ctx, g_total, g_square, g_work):
        work, total = ctx.saved_tensors
        weights = 1.0 if ctx.weights is None else ctx.weights
        g = g_total + 2 * total * weights * g_square
        share = (g * ctx.gain + g_work) / (ctx.count if ctx.mode == "mean" else 1)
        return {"gain": g * work}, [share] * ctx.count, None if ctx.weights is None else g_square * total**2, None, None

    def f(gain, x, y, weights):
        total, square, _ = mixed.functional(Model(gain, 0.5), [x, y], weights, np.zeros(3), "mean")
        return total * square

    args = tuple(rng.normal(size=3) for _ in range(4))
    model = Model(args[0], 0.5)
    return Kernel(mixed, f, args, (model, list(args[1:3]), args[3], np.zeros(3), "mean"))


MAKERS = {
    "numba": with_numba, "ctypes": with_ctypes, "cffi": with_cffi, "spsolve": with_spsolve,
    "gaussian_filter": with_gaussian_filter, "solve_ivp": with_solve_ivp, "poisson": with_poisson, "mixed": with_many_arguments,
}  # fmt: skip
NEED_C = ("ctypes", "cffi")


@pytest.fixture(scope="module", params=MAKERS)
def kernel(request):
    make = MAKERS[request.param]
    return make(request.getfixturevalue("library")) if request.param in NEED_C else make()


# -- the laws ------------------------------------------------------------------------------------------------------------------


def weighed(kernel):
    """A number, in which no two elements of the result count alike."""
    like = np.asarray(kernel.f(*kernel.args))
    weights = np.cos(np.arange(like.size)).reshape(like.shape)
    return lambda *args: np.sum(kernel.f(*args) * weights)


def everything(kernel):
    return tuple(range(len(kernel.args)))


def differences(f, args, step=1e-6):
    """The gradient by central differences, of arrays too: the axes of the result come first."""
    found = []
    for i, x in enumerate(args):
        columns = []
        for k in range(x.size):
            move = np.zeros(x.size)
            move[k] = step
            move = move.reshape(x.shape)
            ends = [np.asarray(f(*args[:i], x + sign * move, *args[i + 1 :])) for sign in (1, -1)]
            columns.append((ends[0] - ends[1]) / (2 * step))
        found.append(np.stack(columns, -1).reshape(*columns[0].shape, *x.shape))
    return tuple(found)


def close(found, expected, rtol=1e-5):
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_allclose(x, y, rtol=rtol, atol=rtol * max(1.0, np.max(np.abs(y))))


def several(kernel, count=3):
    """Arguments of several items: each near those of the kernel, and none equal."""
    return tuple(np.stack([x * (1 + 0.1 * i) for i in range(count)]) for x in kernel.args)


def items(batch):
    return list(zip(*batch, strict=True))


def test_its_gradient_is_that_of_finite_differences(kernel):
    f = weighed(kernel)
    close(grad(f, everything(kernel))(*kernel.args), differences(f, kernel.args))


def test_its_tangent_is_that_of_finite_differences(kernel):
    tangents = tuple(np.sin(np.arange(x.size) + 1.0).reshape(x.shape) for x in kernel.args)
    value, moved = jvp(kernel.f, kernel.args, tangents)
    step = 1e-6
    ends = [kernel.f(*[x + s * step * t for x, t in zip(kernel.args, tangents, strict=True)]) for s in (1, -1)]
    close((value, moved), (kernel.f(*kernel.args), (ends[0] - ends[1]) / (2 * step)))


def test_a_batch_is_a_loop(kernel):
    batch = several(kernel)
    close((vmap(kernel.f)(*batch),), (np.stack([kernel.f(*item) for item in items(batch)]),), 1e-12)


def test_a_batch_of_gradients_is_a_loop_of_gradients(kernel):
    batch, g = several(kernel), grad(weighed(kernel), everything(kernel))
    expected = [np.stack(x) for x in zip(*[g(*item) for item in items(batch)], strict=True)]
    close(vmap(g)(*batch), expected, 1e-12)
    close(vmap(vmap(g))(*[x[None] for x in batch]), [x[None] for x in expected], 1e-12)


def test_its_jacobians_agree_with_each_other_and_with_finite_differences(kernel):
    expected = differences(kernel.f, kernel.args)
    for jacobian in (jacrev, jacfwd):
        close(jacobian(kernel.f, everything(kernel))(*kernel.args), expected)


@pytest.mark.parametrize("mode", ["real", "fake", "symbolic"])
def test_its_graphs_run_for_other_values(kernel, mode):
    batch, g = several(kernel), grad(weighed(kernel), everything(kernel))
    graph, other = make_fx(g, tracing_mode=mode)(*kernel.args), items(batch)[1]
    graph.lint()
    close(graph(*other), g(*other), 1e-12)
    forward = make_fx(kernel.f, tracing_mode=mode)(*kernel.args)
    close((forward(*other),), (kernel.f(*other),), 1e-12)
    of_batch = make_fx(vmap(g), tracing_mode=mode)(*batch)
    close(of_batch(*[x[::-1] for x in batch]), vmap(g)(*[x[::-1] for x in batch]), 1e-12)


def test_it_compiles_and_functionalizes(kernel):
    g = grad(weighed(kernel), everything(kernel))
    other = items(several(kernel))[1]
    for transform in (dispatch.compile, dispatch.functionalize):
        made = transform(g)
        for args in (kernel.args, other):
            close(made(*args), g(*args), 1e-12)


def test_opcheck_finds_no_fault(kernel):
    sample = tuple(dispatch.tensor(x, requires_grad=True) if any(x is y for y in kernel.args) else x for x in kernel.sample)
    report = opcheck(kernel.op, sample)
    assert not report.failures


def test_it_is_pickled_and_so_are_its_graphs(kernel):
    assert pickle.loads(pickle.dumps(kernel.op)) is kernel.op
    g = grad(weighed(kernel), everything(kernel))
    graph = make_fx(g)(*kernel.args)
    again = pickle.loads(pickle.dumps(graph))
    assert again == graph
    close(again(*kernel.args), g(*kernel.args), 1e-12)
    if kernel.missing:
        rule = kernel.op.backward_rule
        assert pickle.loads(pickle.dumps(rule)) is rule


def test_its_hessian_is_that_of_finite_differences_or_names_what_is_missing(kernel):
    f, everywhere = weighed(kernel), everything(kernel)
    if kernel.missing:
        with pytest.raises(NoRuleError, match=rf"{kernel.missing}\.register_autograd\(backward, setup_context=\.\.\.\)"):
            hessian(f, everywhere)(*kernel.args)
        with pytest.raises(NoRuleError, match=rf"{kernel.missing}\.register_autograd\(backward, setup_context=\.\.\.\)"):
            grad(lambda *args: sum(np.sum(x) for x in grad(f, everywhere)(*args)))(*kernel.args)
        return
    found = hessian(f, everywhere)(*kernel.args)
    for i in everywhere:
        close(found[i], differences(grad(f, i), kernel.args), 1e-4)


def test_the_poisson_solver_finds_a_source_in_an_optimiser():
    optimize = pytest.importorskip("scipy.optimize", reason="SciPy is not installed (extra `test`)")
    poisson, source = with_poisson().op, np.zeros((5, 6))
    source[2, 3], source[1, 1] = 1.0, -0.5
    observed = poisson(source)

    def misfit(flat):
        return 1e3 * np.sum((poisson(flat.reshape(source.shape)) - observed) ** 2)

    exact = {"maxiter": 2000, "ftol": 1e-16, "gtol": 1e-10}
    found = optimize.minimize(value_and_grad(misfit), np.zeros(source.size), jac=True, method="L-BFGS-B", options=exact)
    np.testing.assert_allclose(found.x.reshape(source.shape), source, atol=1e-3)
