"""Samples fit the schema and are accepted by the kernel; nobody is asked for what cannot be made."""

import re

import numpy as np
import pytest

import dispatch
from dispatch import custom_op
from dispatch.errors import ArgumentError
from dispatch.testing import opcheck, samples
from dispatch.testing.cases import arrays_in

numbers = iter(range(1000))


def define(schema, kernel=lambda *args, **keywords: np.zeros(1), **options):
    return custom_op(f"sampled::op{next(numbers)}", kernel, **{"mutates_args": (), "schema": schema, **options})


@pytest.mark.parametrize(
    "schema",
    [
        "(Tensor x) -> Tensor",
        "(Tensor x, Tensor? y=None, *, float scale, bool flag) -> Tensor",
        "(Tensor[] xs, int[2] n, str mode='a', complex? z=None) -> Tensor",
        "(Tensor?[] xs, (Tensor, int) pair, ScalarType t, Scalar s, Device d) -> Tensor".replace(
            "(Tensor, int) pair, ", ""
        ),
        "(int n, float[3] ws, bool? b) -> Tensor",
    ],
)
def test_samples_are_calls_of_the_operator(schema):
    op = define(schema.replace("'", '"'), eval(f"lambda {_parameters(schema)}: np.zeros(1)", {"np": np}))
    found = list(samples(op))
    assert found
    for sample in found:
        op(*sample.args, **sample.kwargs)


def _parameters(schema):
    inside = schema.partition("(")[2].rpartition(") ->")[0]
    words = [part.split() for part in re.sub(r"=[^,]*", lambda m: m[0].replace(" ", ""), inside).split(", ")]
    return ", ".join(word[-1].replace("'a'", '"a"') for word in words)


def test_only_what_the_kernel_accepts_is_a_sample():
    matmul = define("(Tensor x, Tensor y) -> Tensor", np.matmul)
    for sample in samples(matmul):
        x, y = sample.args
        assert x.shape[-1] == y.shape[-2 if y.ndim > 1 else -1]
    assert "(2, 3), (3, 4)" in [sample.what for sample in samples(matmul)]


def test_sizes_differ_pairwise_where_the_kernel_lets_them():
    first = next(iter(samples(define("(Tensor x, Tensor y) -> Tensor", lambda x, y: x @ y))))
    assert first.what == "(3,), (3,)"
    shapes = [x.shape for sample in samples(define("(Tensor x) -> Tensor", lambda x: x * 2)) for x in sample.args]
    assert (2, 3) in shapes
    assert () in shapes
    assert (2, 3, 4) in shapes


def test_a_seed_gives_the_same_values_again_and_another_seed_others():
    op = define("(Tensor x) -> Tensor", lambda x: x * 2)
    once, again, other = ([x for s in samples(op, seed) for x in arrays_in(s.args)] for seed in (0, 0, 1))
    assert all(np.array_equal(x, y) for x, y in zip(once, again, strict=True))
    assert not all(np.array_equal(x, y) for x, y in zip(once, other, strict=True))


def test_the_dtype_of_a_hint_is_taken():
    def kernel(x: np.typing.NDArray[np.float32]) -> np.ndarray:
        return x * 2

    op = custom_op(f"sampled::op{next(numbers)}", kernel, mutates_args=())
    assert {x.dtype for s in samples(op) for x in s.args} == {np.dtype("f4")}


def test_samples_pass_to_opcheck():
    for sample in samples("np::multiply"):
        args = tuple(dispatch.tensor(x, requires_grad=True) for x in sample.args)
        opcheck("np::multiply", args, sample.kwargs)


@pytest.mark.parametrize("kind", ["str", "Callable", "bytes", "str[]"])
def test_what_cannot_be_made_is_refused_by_name(kind):
    op = define(f"(Tensor x, {kind} name) -> Tensor", lambda x, name: x * 2)
    said = (
        f"samples: nothing can be made for argument 'name' of {op.name}, of type {kind}. "
        "Give it a default, or pass opcheck arguments of your own."
    )
    with pytest.raises(ArgumentError, match=re.escape(said)):
        next(samples(op))
