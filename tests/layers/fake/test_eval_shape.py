"""`eval_shape`: what a function would give, found without computing it."""

import dataclasses
from collections import namedtuple

import numpy as np
import pytest

import dispatch
from dispatch import FakeTensor, FakeTensorMode, eval_shape, ops
from dispatch.errors import ArgumentError, DataDependentError, NoRuleError
from dispatch.library import get_ctx

A = np.arange(6.0).reshape(2, 3).copy()
Pair = namedtuple("Pair", "first second")


def layer(w, x):
    return np.maximum(x @ w, 0.0)


def loss(p, x):
    return np.mean(layer(p["w"], x) + p["b"])


PARAMETERS = {"w": np.ones((3, 4)), "b": np.ones(4)}
CASES = {
    "a function": (layer, (np.ones((3, 4)), A)),
    "several results": (lambda x: {"x": x.T, "y": [np.sum(x), Pair(x[0], x > 2)]}, (A,)),
    "a gradient": (dispatch.value_and_grad(loss), (PARAMETERS, A)),
    "a batch": (dispatch.vmap(lambda x: x / np.sum(x)), (A,)),
    "each item's gradient": (dispatch.vmap(dispatch.grad(loss), in_dims=(None, 0)), (PARAMETERS, A)),
    "a Hessian": (dispatch.hessian(lambda x: np.sum(x**3)), (A,)),
    "a Jacobian by a number": (dispatch.jacfwd(lambda s: s * A), (2.0,)),
    "a tangent": (lambda x: dispatch.jvp(np.sin, (x,), (x,)), (A,)),
    "other layouts": (lambda x, y: (x + y, x.T.copy(), x.reshape(6)), (np.asfortranarray(A), A[::-1])),
    "numbers and text": (lambda x, n, how: np.sum(x, axis=n) if how == "sum" else x, (A, 1, "sum")),
    "a constant": (lambda x: (A.astype("f4"), np.float32(1), 5, None, "text"), (A,)),
}


def same(fake, real):
    if isinstance(real, (np.ndarray, np.generic)):
        assert type(fake) is FakeTensor
        assert (fake.shape, fake.dtype, fake.mode, fake.device) == (real.shape, real.dtype, None, "cpu")
        longer = [i for i, n in enumerate(real.shape) if n > 1]
        assert [fake.strides[i] for i in longer] == [real.strides[i] for i in longer]
    elif isinstance(real, (tuple, list)):
        assert type(fake) is type(real)
        for made, expected in zip(fake, real, strict=True):
            same(made, expected)
    elif isinstance(real, dict):
        assert list(fake) == list(real)
        same(list(fake.values()), list(real.values()))
    else:
        assert fake == real


@pytest.mark.parametrize(("f", "args"), CASES.values(), ids=CASES)
def test_it_gives_the_metadata_of_what_the_function_gives(f, args):
    same(eval_shape(f, *args), f(*args))


@pytest.mark.parametrize(("f", "args"), CASES.values(), ids=CASES)
def test_a_fake_is_as_good_as_an_array(f, args):
    mode = FakeTensorMode()
    fakes = dispatch.core.pytree.mapped(lambda x: mode.from_array(x) if isinstance(x, np.ndarray) else x, args)
    real = f(*args)
    same(eval_shape(f, *fakes), real)
    with mode:
        same(eval_shape(f, *fakes), real)


def no_kernel(x):
    raise AssertionError("a kernel ran")


def test_no_kernel_runs():
    op = dispatch.custom_op("shapestests::none", no_kernel, mutates_args=(), schema="(Tensor x) -> Tensor")
    op.register_fake(lambda x: np.empty((*x.shape, len(get_ctx().op.schema.arguments))))
    assert eval_shape(lambda x: op(x) * 2, np.empty((10**9, 0))).shape == (10**9, 0, 1)


def test_keywords_and_records_are_arguments_too():
    @dataclasses.dataclass
    class Grid:
        values: np.ndarray
        step: float

    dispatch.core.pytree.register_record(Grid)
    made = eval_shape(lambda x, *, grid: Grid(grid.values @ x, grid.step), A.T, grid=Grid(A, 0.5))
    assert (type(made), made.values.shape, made.step) == (Grid, (2, 2), 0.5)


class Spec:
    """A shape and a dtype, as other libraries write them down."""

    def __init__(self, shape, dtype):
        self.shape, self.dtype = shape, dtype


def test_what_has_a_shape_and_a_dtype_is_an_array():
    assert eval_shape(np.matmul, Spec([2, 3], "f4"), Spec((3, 5), float)).shape == (2, 5)
    assert eval_shape(np.sin, Spec((2,), "f4")).dtype == np.float32
    assert eval_shape(np.sin, dispatch.tensor(A, requires_grad=True)).shape == (2, 3)


def test_nothing_is_written_to():
    a, b, given = A.copy(), A.copy(), [A.copy()]

    def writing(x, y, xs):
        x[0] = 7.0
        ops.np.setitem_(b, 0, 7.0)
        xs.append(x)
        xs[0] += 1
        y["new"] = x
        return x, xs, y

    named = {}
    out, listed, made = eval_shape(writing, a, named, given)
    assert (out.shape, len(listed), list(made)) == ((2, 3), 2, ["new"])
    assert all(np.array_equal(x, A) for x in (a, b, *given))
    assert (len(given), named) == (1, {})


def test_what_is_captured_is_made_fake():
    mode = FakeTensorMode()
    fake, real, number = mode.from_array(A), A.copy(), np.array(3)

    def f(x):
        return (x + real) @ fake.T, np.zeros_like(real, shape=(int(ops.np.multiply(number, 2)),))

    same(eval_shape(f, A), (A @ A.T, np.zeros(6)))
    with mode:
        same(eval_shape(f, A), (A @ A.T, np.zeros(6)))


def test_the_result_can_be_used_in_any_mode():
    out = eval_shape(np.sin, A)
    with FakeTensorMode() as mode:
        assert (out + mode.from_array(A)).mode is mode
    same(eval_shape(np.matmul, out, out.T), A @ A.T)


def test_a_fake_rule_can_ask_for_the_shapes_of_a_function():
    op = dispatch.custom_op("shapestests::asks", no_kernel, mutates_args=(), schema="(Tensor x) -> Tensor")
    op.register_fake(lambda x: eval_shape(lambda x: np.linalg.inv(x.T @ x), x))
    same(eval_shape(op, A), A.T @ A)


def test_inside_a_symbolic_mode_sizes_that_depend_on_data_are_its_own():
    class Sizes:
        def sizes_of(self, array):
            return array.shape, array.strides

        def new_dynamic_size(self, *, min, max):
            return 9

    op = dispatch.custom_op("shapestests::found", no_kernel, mutates_args=(), schema="(Tensor x) -> Tensor")
    op.register_fake(lambda x: np.empty_like(x, shape=(get_ctx().new_dynamic_size(),)))
    with FakeTensorMode(shape_env=Sizes()):
        assert eval_shape(op, A).shape == (9,)
    with pytest.raises(DataDependentError, match="asks for a size that depends on data"):
        eval_shape(op, A)


def scaled(x):
    x = x.copy()
    x[x < 0] *= 0.5
    return x


@pytest.mark.parametrize(
    "f",
    [
        scaled,
        dispatch.grad(lambda x: np.sum(scaled(x))),
        lambda x: np.sum(x[x > 1], keepdims=True),
        lambda x: np.stack([x[x > 0], x[x > 0] ** 2]).mean(axis=1),
        lambda x: np.argwhere(x > 0).max(0),
        lambda x: np.unique(x)[:1],
    ],
)
def test_a_size_that_depends_on_data_may_be_met_on_the_way(f):
    same(eval_shape(f, A), f(A))


@pytest.mark.parametrize(
    ("f", "returned"),
    [
        (lambda x: x[x > 0], "an array of shape (u0,)"),
        (lambda x: {"x": x, "n": [x[x > 0].size]}, "one"),
        (lambda x: np.nonzero(x), "an array of shape (u0,)"),
    ],
)
def test_and_in_no_result(f, returned):
    with pytest.raises(DataDependentError) as caught:
        eval_shape(f, A)
    assert str(caught.value) == (
        f"eval_shape: the function asks for a size that depends on data, and returns {returned}. Return what has a shape "
        "without data, np.where(mask, x, other) say; or call eval_shape inside a mode with symbolic sizes, "
        "FakeTensorMode(shape_env=ShapeEnv())."
    )


def test_what_depends_on_data_is_refused():
    with pytest.raises(DataDependentError) as caught:
        eval_shape(lambda x: 1 if np.sum(x) > 0 else 2, A)
    assert str(caught.value).startswith("the truth was asked of a fake tensor of shape (), which has no data.")
    op = dispatch.custom_op("shapestests::ruleless", no_kernel, mutates_args=(), schema="(Tensor x) -> Tensor")
    with pytest.raises(NoRuleError) as missing:
        eval_shape(op, A)
    assert str(missing.value).startswith("the shape of shapestests::ruleless's output was asked for")


def test_it_takes_a_function():
    with pytest.raises(ArgumentError) as caught:
        eval_shape(np.sin(A), A)
    assert str(caught.value) == "eval_shape takes a function, and was given an ndarray. Write eval_shape(f, x), not eval_shape(f(x))."


def test_a_number_is_one_in_it_as_in_numpy():
    def written(x):
        x[...] = 1
        return x

    x = np.float64(2.5)
    assert eval_shape(lambda x: round(x, 1), x).dtype == round(x, 1).dtype
    for run in (written, lambda x: eval_shape(written, x)):
        with pytest.raises(TypeError, match=r"'numpy.float64' object does not support item assignment"):
            run(x)
