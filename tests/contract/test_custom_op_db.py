"""custom_op_db: eleven operators of every kind of schema pass every check, on several samples each."""

import copy
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from custom_op_db import ENTRIES, numpy_nms, numpy_nonzero, numpy_sort, numpy_split_copy_with_int
from making import said

import dispatch
from dispatch.errors import BatchingError, DataDependentError
from dispatch.testing import assert_close, gradcheck, opcheck

SAMPLES = [
    pytest.param(entry, sample, id=f"{entry.op.schema.name}{i}") for entry in ENTRIES for i, sample in enumerate(entry.samples)
]
BATCHABLE = [case for case in SAMPLES if case.values[1].floats]
DIFFERENTIABLE = [case for case in SAMPLES if case.values[0].differentiable]
OPERATORS = [pytest.param(entry.op, id=entry.op.schema.name) for entry in ENTRIES]
SIZE = 3


def float_outputs(out):
    """The floating-point arrays that an operator returned, whatever they are in."""
    if isinstance(out, (list, tuple)):
        return [x for item in out for x in float_outputs(item)]
    return [out] if getattr(out, "dtype", None) is not None and out.dtype.kind == "f" else []


def of_floats(op, sample):
    """The operator as a function of its floating-point arrays, with one number as its value."""

    def f(*arrays):
        called = sample.with_floats(arrays)
        outputs = float_outputs(op(*called.args, **called.kwargs))
        return sum((i + 1.0) * (x * x).sum() for i, x in enumerate(outputs))

    return f


def batch_of(sample):
    """The floating-point arrays of some items, one after another; what decides a shape is the same for all."""
    return [np.stack([x * (1 + 0.5 * i) for i in range(SIZE)]) for x in sample.floats]


def at(out, i):
    """One item of a batch of outputs; a number is the same for all, and is a batch too."""
    return [at(x, i) for x in out] if isinstance(out, (list, tuple)) else out[i]


@pytest.mark.parametrize(("entry", "sample"), SAMPLES)
def test_opcheck_opinfo(entry, sample):
    """Every operator passes opcheck with every sample, its gradients included."""
    tracked = sample.tracked()
    report = opcheck(entry.op, tracked.args, tracked.kwargs)
    skipped = {check for check, found in report.items() if found != "SUCCESS"}
    if entry.differentiable:
        assert not skipped
    else:  # how many elements it gives depends on data
        assert report["test_schema"] == report["test_faketensor"] == report["test_vmap"] == "SUCCESS"


@pytest.mark.parametrize(("entry", "sample"), DIFFERENTIABLE)
def test_gradcheck(entry, sample):
    """The gradient is that of finite differences, and the gradient's gradient too."""
    assert gradcheck(of_floats(entry.op, sample), tuple(sample.floats))
    assert dispatch.testing.gradgradcheck(of_floats(entry.op, sample), tuple(sample.floats))


@pytest.mark.parametrize(("entry", "sample"), BATCHABLE)
@pytest.mark.parametrize("dim", [0, -1])
def test_vmap(entry, sample, dim):
    """A batch is what a loop over its items gives, wherever the mapped axis is."""
    batch = batch_of(sample)

    def call(*arrays):
        called = sample.with_floats(arrays)
        return entry.op(*called.args, **called.kwargs)

    out = dispatch.vmap(call, in_dims=dim)(*[np.moveaxis(x, 0, dim) for x in batch])
    for i in range(SIZE):
        assert_close(at(out, i), call(*[x[i] for x in batch]))


@pytest.mark.parametrize(("entry", "sample"), DIFFERENTIABLE)
def test_vmap_of_some_arguments(entry, sample):
    """An argument that is not mapped is the same for every item."""
    batch = batch_of(sample)
    for k in range(len(batch)):
        dims = tuple(0 if i == k else None for i in range(len(batch)))
        arrays = [x if dim == 0 else x[0] for x, dim in zip(batch, dims, strict=True)]
        f = of_floats(entry.op, sample)
        out = dispatch.vmap(f, in_dims=dims)(*arrays)
        loop = [f(*[x[i] if dim == 0 else x for x, dim in zip(arrays, dims, strict=True)]) for i in range(SIZE)]
        assert_close(out, np.stack(loop))


@pytest.mark.parametrize(("entry", "sample"), DIFFERENTIABLE)
def test_grad(entry, sample):
    """The transform and the tape give the same gradient."""
    f, floats = of_floats(entry.op, sample), sample.floats
    leaves = [dispatch.tensor(x, requires_grad=True) for x in floats]
    f(*leaves).backward()
    grads = dispatch.grad(f, argnums=tuple(range(len(floats))))(*floats)
    assert_close(list(grads), [x.grad for x in leaves])


@pytest.mark.parametrize(("entry", "sample"), DIFFERENTIABLE)
def test_vmap_of_grad(entry, sample):
    """The gradient of every item at once is what a loop of gradients gives."""
    batch = batch_of(sample)
    slope = dispatch.grad(of_floats(entry.op, sample), argnums=tuple(range(len(batch))))
    found = dispatch.vmap(slope)(*batch)
    for i in range(SIZE):
        assert_close([x[i] for x in found], list(slope(*[x[i] for x in batch])))


@pytest.mark.parametrize(("entry", "sample"), DIFFERENTIABLE)
def test_grad_of_vmap(entry, sample):
    """The gradient of a sum over a batch is the batch of the gradients."""
    batch = batch_of(sample)
    f, which = of_floats(entry.op, sample), tuple(range(len(batch)))
    found = dispatch.grad(lambda *arrays: dispatch.vmap(f)(*arrays).sum(), argnums=which)(*batch)
    assert_close(list(found), list(dispatch.vmap(dispatch.grad(f, argnums=which))(*batch)))


@pytest.mark.parametrize(("entry", "sample"), BATCHABLE)
def test_vmap_of_vmap(entry, sample):
    """Two batches, one in the other, are a loop in a loop."""
    batch = batch_of(sample)

    def call(*arrays):
        called = sample.with_floats(arrays)
        return entry.op(*called.args, **called.kwargs)

    out = dispatch.vmap(dispatch.vmap(call, in_dims=-1), in_dims=0)(*[np.stack([x, 2 * x], axis=-1) for x in batch])
    for i in range(SIZE):
        for j in range(2):
            assert_close(at(at(out, i), j), call(*[x[i] * (j + 1) for x in batch]))


@pytest.mark.parametrize("op", OPERATORS)
def test_pickle(op):
    """An operator pickles by its name and is copied as itself."""
    assert pickle.loads(pickle.dumps(op)) is op
    assert copy.deepcopy(op) is copy.copy(op) is op
    assert copy.deepcopy({"op": [op]})["op"][0] is op


def test_pickle_in_another_process():
    """A process that has not defined the operators loads them by importing their module."""
    code = f"import pickle; print([op.name for op in pickle.loads({pickle.dumps([entry.op for entry in ENTRIES])!r})])"
    tests = Path(__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", f"import sys; sys.path[:0] = [{str(tests)!r}, {str(tests.parent)!r}]\n{code}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stderr, done.stdout.strip()) == ("", str([entry.op.name for entry in ENTRIES]))


@pytest.mark.parametrize("op", OPERATORS)
def test_everything_is_registered(op):
    """Each operator is complete: its schema prints and parses, and the rules it needs are there."""
    assert dispatch.Schema.parse(str(op.schema)) == op.schema
    rules = "fake vmap" if op in (numpy_nonzero, numpy_nms) else "autograd fake vmap"
    assert repr(op).endswith(f"[every device | {rules}]")


def test_schemas():
    """The schemas are those of torch's operators, with arrays for tensors."""
    assert [str(entry.op.schema).removeprefix("db::") for entry in ENTRIES] == [
        "numpy_cube(Tensor x) -> (Tensor, Tensor)",
        "numpy_mul(Tensor x, Tensor y) -> Tensor",
        "numpy_mul_scalar(Tensor x, *, float scalar) -> Tensor",
        "numpy_sort(Tensor x, int dim) -> (Tensor, Tensor, Tensor)",
        "numpy_take(Tensor x, Tensor ind, Tensor ind_inv, int dim) -> Tensor",
        "numpy_nonzero(Tensor x) -> Tensor",
        "numpy_nms(Tensor boxes, Tensor scores, Scalar iou_threshold) -> Tensor",
        "numpy_view_copy(Tensor x, int[] shape) -> Tensor",
        "numpy_cat(Tensor[] xs, int dim) -> Tensor",
        "numpy_split_copy(Tensor x, int[] sections, int dim) -> Tensor[]",
        "numpy_split_copy_with_int(Tensor x, int[] sections, int dim) -> (Tensor[], int)",
    ]


@pytest.mark.torch
@pytest.mark.parametrize(("entry", "sample"), [case for case in SAMPLES if case.values[0].op is not numpy_nms])
def test_torch_s_functions_give_the_same_values(entry, sample):
    """Torch's own functions give the same numbers; non-maximum suppression it has none of its own."""
    import torch

    oracles = {
        "numpy_cube": lambda x: (x**3, 3 * x**2),
        "numpy_mul": torch.mul,
        "numpy_mul_scalar": lambda x, scalar: x * scalar,
        "numpy_sort": lambda x, dim: (*torch.sort(x, stable=True, dim=dim), torch.argsort(torch.argsort(x, dim), dim)),
        "numpy_take": lambda x, ind, ind_inv, dim: torch.take_along_dim(x, ind, dim),
        "numpy_nonzero": torch.nonzero,
        "numpy_view_copy": lambda x, shape: x.reshape(tuple(shape)),
        "numpy_cat": torch.cat,
        "numpy_split_copy": lambda x, sections, dim: list(torch.tensor_split(x, sections, dim)),
        "numpy_split_copy_with_int": lambda x, s, dim: (list(torch.tensor_split(x, s, dim)), len(s) + 1),
    }

    def both(x):
        return [both(item) for item in x] if isinstance(x, list) else torch.tensor(x) if isinstance(x, np.ndarray) else x

    out = oracles[entry.op.schema.name](*map(both, sample.args), **sample.kwargs)

    def back(x):
        return type(x)(map(back, x)) if type(x) in (list, tuple) else np.asarray(x) if isinstance(x, torch.Tensor) else x

    found = entry.op(*sample.args, **sample.kwargs)
    assert_close(found, tuple(map(back, out)) if isinstance(out, tuple) else back(out))


def test_nonzero_and_nms_say_what_they_cannot():
    """Shapes that depend on data are refused where shapes are static, and where items differ in them."""
    x = np.array([[0.0, 1.0], [2.0, 3.0]])
    with dispatch.FakeTensorMode() as mode:
        assert said(lambda: numpy_nonzero(mode.from_array(x)), DataDependentError) == (
            "db::numpy_nonzero: its fake rule asks for a size that depends on data, and sizes are numbers here. Give the "
            "mode symbolic sizes, FakeTensorMode(shape_env=ShapeEnv()), or call it on real arrays, outside the mode."
        )
    assert said(lambda: dispatch.vmap(numpy_nonzero)(x), BatchingError) == (
        "db::numpy_nonzero: how many indices there are differs from item to item, so that they make no batch."
    )
    boxes = np.array([[[0.0, 0, 1, 1], [0, 0, 1, 1]], [[0, 0, 1, 1], [2, 2, 3, 3]]])
    assert said(lambda: dispatch.vmap(lambda b, s: numpy_nms(b, s, 0.5))(boxes, np.ones((2, 2))), BatchingError) == (
        "db::numpy_nms: how many indices there are differs from item to item, so that they make no batch."
    )


def test_indices_carry_no_gradient():
    """What is marked as without a gradient, and what cannot have one, comes out untracked."""
    values, order, inverse = numpy_sort(dispatch.tensor([3.0, 1.0, 2.0], requires_grad=True), 0)
    assert values.requires_grad
    assert type(order) is type(inverse) is np.ndarray
    parts, count = numpy_split_copy_with_int(dispatch.tensor([3.0, 1.0, 2.0], requires_grad=True), [1], 0)
    assert [part.requires_grad for part in parts] == [True, True]
    assert count == 2
    assert type(numpy_nonzero(dispatch.tensor([3.0], requires_grad=True))) is np.ndarray
