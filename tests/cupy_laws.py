"""Operators and transforms on arrays of CuPy: run by interop/test_cupy.py, on a stand-in and, where there is a GPU, on CuPy itself."""

import warnings

import cupy
import numpy as np
import pytest

import dispatch
from dispatch import Tag, custom_op
from dispatch.errors import DeviceMismatchError, NoKernelError, PerformanceWarning
from dispatch.library import Library

X = np.random.default_rng(0).normal(size=(3, 4))


@custom_op("cupylaws::cube", mutates_args=(), tags=Tag.pointwise)
def cube(x: np.ndarray) -> np.ndarray:
    """For every device."""
    return x * x * x


cube.register_fake(lambda x: np.empty_like(x))
cube.register_autograd(lambda ctx, g: 3.0 * ctx.saved_tensors[0] ** 2 * g, setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs))


def on_cpu(name, **options):
    """An operator of the CPU's arrays alone."""

    def solve(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        assert type(a) is type(b) is np.ndarray
        return np.linalg.solve(a, b)

    return custom_op(f"cupylaws::{name}", mutates_args=(), device_types="cpu")(solve)


def there(x):
    return cupy.asarray(x)


def same(found, expected):
    assert type(found) is cupy.ndarray
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(cupy.asnumpy(found), expected, rtol=1e-12)


def test_the_first_array_makes_the_device():
    op = custom_op("cupylaws::first", mutates_args=(), device_types="cpu", schema="(Tensor x) -> Tensor")(lambda x: x + 1)
    seen = []

    @op.register_kernel("cuda")
    def _(x):
        seen.append(type(x))
        return x + 100

    same(op(there(X)), X + 100)
    np.testing.assert_array_equal(op(X), X + 1)
    assert seen == [cupy.ndarray]


def test_a_kernel_for_every_device_gets_cupys_arrays():
    same(cube(there(X)), X**3)


FUNCTIONS = {
    "ufuncs": lambda x: np.sum(np.sin(x) * np.exp(-x) + 2.0 * x),
    "operator": lambda x: np.sum(cube(x) * x),
    "reductions": lambda x: np.mean(x, axis=0)[1] + np.max(x) + np.var(x) + np.sum(np.prod(x, axis=1)),
    "shapes": lambda x: np.sum(np.concatenate([np.reshape(x, (-1,)), np.transpose(x)[0]]) ** 2),
    "slices": lambda x: np.sum(x[1:, ::2] ** 2) + x[0, 0],
    "where": lambda x: np.sum(np.where(x > 0, x**2, 0.1 * x) + np.maximum(x, 0.5) + np.clip(x, -0.5, 0.5)),
    "products": lambda x: np.sum(x @ np.transpose(x)) + np.einsum("ij,ij->", x, x),
    "a number of the CPU": lambda x: np.sum(x * np.array(2.0)),
    "norm": lambda x: np.sqrt(np.sum(x**2)),
}


@pytest.mark.parametrize("f", FUNCTIONS.values(), ids=FUNCTIONS)
def test_derivatives_stay_on_the_device(f):
    value, gradient = dispatch.value_and_grad(f)(there(X))
    expected, along = dispatch.value_and_grad(f)(X)
    same(gradient, along)
    np.testing.assert_allclose(cupy.asnumpy(value), expected, rtol=1e-12)
    tangent = dispatch.jvp(f, (there(X),), (there(X),))[1]
    np.testing.assert_allclose(cupy.asnumpy(tangent), dispatch.jvp(f, (X,), (X,))[1], rtol=1e-12)


def test_batches_and_leaves_stay_there():
    same(dispatch.vmap(lambda row: cube(row) * row[0])(there(X)), np.stack([cube(row) * row[0] for row in X]))
    same(dispatch.vmap(dispatch.grad(lambda row: np.sum(cube(row))))(there(X)), 3 * X**2)
    x = dispatch.tensor(there(X), requires_grad=True)
    np.sum(cube(x)).backward()
    same(x.grad, 3 * X**2)


def test_mixed_devices_are_refused():
    op = custom_op("cupylaws::both", mutates_args=(), schema="(Tensor x, Tensor y) -> Tensor")(lambda x, y: x + y)
    with pytest.raises(DeviceMismatchError) as caught:
        op(there(X), X)
    assert str(caught.value).partition("\n")[0] == (
        "cupylaws::both: the arrays of one call live on one device, and these do not: ndarray on cuda, float64[3, 4] on cpu. Move them "
        "together first."
    )
    with pytest.raises(DeviceMismatchError, match="on cuda, float64"):
        dispatch.grad(lambda x: np.sum(x * X))(there(X))


def test_nothing_runs_on_the_cpu_unless_it_is_asked_for():
    with pytest.raises(NoKernelError) as caught:
        on_cpu("none")(there(np.eye(2)), there(np.ones(2)))
    assert str(caught.value).partition("\n")[0] == (
        "cupylaws::none has no kernel for arrays on 'cuda'. Kernels: CPU. Add one: @none.register_kernel('cuda')."
    )


@pytest.fixture
def _fallback():
    from dispatch.interop.cupy import cpu_fallback

    library = Library("_", "IMPL")
    library.fallback(cpu_fallback, "CUDA")
    yield
    library.destroy()


@pytest.mark.usefixtures("_fallback")
def test_the_fallback_copies_there_and_back_and_warns_once_for_each_operator():
    op = on_cpu("solved")
    with pytest.warns(PerformanceWarning) as caught:
        same(op(there(2 * np.eye(3)), there(X)), X / 2)
    assert str(caught[0].message) == (
        "cupylaws::solved has no kernel for 'cuda' and runs on the CPU: its arrays are copied there and back in every call. Register one: "
        "@solved.register_kernel('cuda')."
    )
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        same(op(there(4 * np.eye(3)), there(X)), X / 4)
        same(cube(there(X)), X**3)
        same(dispatch.grad(FUNCTIONS["ufuncs"])(there(X)), dispatch.grad(FUNCTIONS["ufuncs"])(X))


@pytest.mark.usefixtures("_fallback")
@pytest.mark.filterwarnings("ignore:.* runs on the CPU")
def test_the_fallback_writes_and_takes_containers_keywords_and_gradients():
    @custom_op("cupylaws::scale_", mutates_args=("x",), device_types="cpu")
    def scale_(x: np.ndarray, by: float = 2.0) -> None:
        x *= by

    x = there(X)
    scale_(x, 3.0)
    same(x, 3 * X)

    @custom_op("cupylaws::sums", mutates_args=(), device_types="cpu")
    def sums(xs: list[np.ndarray], *, y: np.ndarray, scale: float = 1.0) -> tuple[np.ndarray, np.ndarray]:
        return scale * sum(xs) + y, np.sum(y)

    whole, total = sums([there(X), there(X)], y=there(X), scale=2.0)
    same(whole, 5 * X)
    same(total, np.sum(X))

    op = on_cpu("inverse")
    op.register_autograd(
        lambda ctx, g: (None, op(np.transpose(ctx.saved_tensors[0]), g)), setup_context=lambda ctx, inputs, output: ctx.save_for_backward(inputs[0])
    )
    a = X[:, :3] + 3 * np.eye(3)
    found = dispatch.grad(lambda b: np.sum(op(there(a), b) ** 2))(there(X))
    same(found, np.linalg.solve(a.T, 2 * np.linalg.solve(a, X)))


def test_the_fallback_is_turned_off_again():
    with pytest.raises(NoKernelError, match="has no kernel for arrays on 'cuda'"):
        on_cpu("off")(there(np.eye(2)), there(np.ones(2)))
