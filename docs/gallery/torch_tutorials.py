"""Coming from torch's tutorials: `numpy_sin` in three forms, and `numpy_nonzero`.

Whoever has wrapped a NumPy function for PyTorch has met these operators. Here they are again, without tensors:
arrays go in and arrays come out, and what is different is said where it is.

Run this page with `python docs/gallery/torch_tutorials.py`.
"""

# mypy: allow-untyped-defs, allow-untyped-calls, disable-error-code="no-any-return, import-untyped, import-not-found"

import numpy as np

import dispatch
from dispatch import Tag, custom_op
from dispatch.errors import BatchingError, DataDependentError, GradientError
from dispatch.library import get_ctx

# %% A function of fresh outputs
#
# `input` is the name torch gives the argument. A rule's parameters have the operator's own names; rules bind by
# them.


@custom_op("tutorial::numpy_sin", mutates_args=())
def numpy_sin(input: np.ndarray) -> np.ndarray:
    return np.sin(input)


@numpy_sin.register_fake
def _(input):
    return np.empty_like(input)


def keep_input(ctx, inputs, output):
    ctx.save_for_backward(inputs[0])


@numpy_sin.register_autograd(setup_context=keep_input)
def _(ctx, g):
    (x,) = ctx.saved_tensors
    return g * np.cos(x)


@numpy_sin.register_vmap
def _(info, in_dims, input):
    return numpy_sin(input), in_dims[0]


x = np.linspace(0.0, 3.0, 4)
print(numpy_sin)
print(dispatch.testing.opcheck(numpy_sin, (dispatch.tensor(x, requires_grad=True),)))

# `np.cos(x)` in the rule is an operator call where `x` is tracked, so the second derivative is there without
# another word.

second = dispatch.grad(dispatch.grad(numpy_sin))
assert np.isclose(second(0.5), -np.sin(0.5))

# %% A function that writes to an argument
#
# `mutates_args` names what is written; the schema shows it as `Tensor(a1!)`. A write that it does not name is
# found by opcheck.


@custom_op("tutorial::numpy_sin_into", mutates_args={"output"})
def numpy_sin_into(input: np.ndarray, output: np.ndarray) -> None:
    np.sin(input, out=output)


print(numpy_sin_into.schema)
workspace = np.empty(4)
numpy_sin_into(x, workspace)
assert np.array_equal(workspace, np.sin(x))
print(dispatch.testing.opcheck(numpy_sin_into, (x, np.empty(4))))


@custom_op("tutorial::numpy_sin_secretly", mutates_args=())
def numpy_sin_secretly(input: np.ndarray, output: np.ndarray) -> None:
    np.sin(input, out=output)


report = dispatch.testing.opcheck(numpy_sin_secretly, (x, np.empty(4)), raise_exception=False)
print(report["test_schema"])
assert "writes to its argument 'output'" in str(report["test_schema"])

# A plain array cannot carry the gradient of what is written to it, so a tracked value is refused there. The operator's
# functional form returns what it writes; the gradient registered for the one is the other's.

tracked = dispatch.tensor(x, requires_grad=True)
try:
    numpy_sin_into(tracked, workspace)
except GradientError as error:
    print(error)
else:
    raise AssertionError("a tracked value was written to a plain array")

numpy_sin_into.register_autograd(
    lambda ctx, g: (g * np.cos(ctx.saved_tensors[0]), None),
    setup_context=lambda ctx, inputs, output: ctx.save_for_backward(inputs[0]),
)
numpy_sin_into.functional(tracked, workspace).sum().backward()
assert np.allclose(tracked.grad, np.cos(x))

# %% A result whose shape depends on the data
#
# How many indices there are, no shape rule can know. It says so by asking for a new size; the tag says it to
# opcheck. Fake tensors have static sizes here: symbolic ones are not built, so under `FakeTensorMode` the
# operator raises, by an exception of its own that a tool can catch. On arrays it runs as ever.


@custom_op("tutorial::numpy_nonzero", mutates_args=(), tags=(Tag.dynamic_output_shape,))
def numpy_nonzero(x: np.ndarray) -> np.ndarray:
    return np.stack(np.nonzero(x), axis=1)


@numpy_nonzero.register_fake
def _(x):
    return np.empty_like(x, shape=(get_ctx().new_dynamic_size(), x.ndim), dtype=np.intp, order="C")


grid = np.array([[0.0, 2.0, 0.0], [1.0, 0.0, 3.0]])
assert numpy_nonzero(grid).tolist() == [[0, 1], [1, 0], [1, 2]]
print(dispatch.testing.opcheck(numpy_nonzero, (grid,)))

with dispatch.FakeTensorMode() as mode:
    try:
        numpy_nonzero(mode.from_array(grid))
    except DataDependentError as error:
        print(error)
    else:
        raise AssertionError("a fake tensor has no data to count")

# Integers carry no gradient, so a tracked argument is no obstacle. A batch works as long as every item has as
# many indices.

assert isinstance(numpy_nonzero(dispatch.tensor(grid, requires_grad=True)), np.ndarray)
assert dispatch.vmap(numpy_nonzero)(np.stack([grid, -grid])).shape == (2, 3, 2)
try:
    dispatch.vmap(numpy_nonzero)(np.stack([grid, 0 * grid]))
except BatchingError as error:
    print(error)
else:
    raise AssertionError("lists of different lengths became a batch")
