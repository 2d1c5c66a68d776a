"""The first calls of a kernel tell of a write that the schema does not declare, and no later call pays for it."""

import ctypes

import numpy as np
import pytest
from making import define, said

import dispatch
from dispatch import Tag, custom_op
from dispatch.core import DispatchKey
from dispatch.core.source import where
from dispatch.dispatcher.written_arguments import MOST_BYTES, checksum, only_read
from dispatch.errors import AliasError
from dispatch.operators.registry import build
from dispatch.schema.schema import Schema

A = np.arange(6.0).reshape(2, 3)


def by_address(x):
    """Write as C does, which looks at no flag."""
    ctypes.c_double.from_address(x.ctypes.data).value = -1.0


def first_of_list(xs):
    xs[0][...] = 0


WRITES = {
    "(Tensor x) -> Tensor": (lambda x: x.sort() or x.copy(), (np.array([2.0, 1.0]),), "'x'", "x.copy()"),
    "(Tensor x, *, float k=2.0) -> Tensor": (lambda x, k: x.fill(k) or x * 1, (A,), "'x'", "x.copy()"),
    "(Tensor y) -> Tensor": (lambda y: by_address(y) or y * 1, (A,), "'y'", "y.copy()"),
    "(Tensor x, Tensor? w=None) -> Tensor": (lambda x, w: w.fill(0) or x * 1, (A, np.ones(3)), "'w'", "w.copy()"),
    "(Tensor[] xs) -> ()": (first_of_list, ([A, A],), "'xs'[0]", "a copy of it"),
    "(Tensor x, Tensor(a!) out) -> ()": (lambda x, out: np.negative(x, out=x).sort(), (A, A), "'x'", "x.copy()"),
}


def copied(args):
    return tuple([[y.copy() for y in x] if isinstance(x, list) else x.copy() for x in args])


@pytest.mark.parametrize("text", WRITES)
def test_a_write_that_is_not_declared_raises_until_it_is_gone(text):
    kernel, args, place, copy = WRITES[text]
    name, mended = place.split("'")[1], []

    def run(*args, **keywords):
        return kernel(*(copied(args) if mended else args), **keywords)

    op = define(text, run)
    for _ in range(3):
        assert said(lambda: op(*copied(args)), AliasError) == (
            f"{op.name}: the kernel {where(run)} writes to its argument {place}, and the schema does not say so. Compute on {copy}, or "
            f"declare it: mutates_args=('{name}',)."
        )
    mended.append(True)
    op(*copied(args))


LOOKS = {"(Tensor x) -> Tensor": 1, "(Tensor x, bool b=False) -> Tensor": 16}  # calls that are looked at, more where there are options


@pytest.mark.parametrize("sound", [0, 1, 15, 16, 19])
@pytest.mark.parametrize("text", LOOKS)
def test_a_write_in_a_branch_is_told_in_the_first_calls(text, sound):
    calls = []

    def kernel(x, b=False):
        calls.append(x)
        if len(calls) > sound:
            x += 1
        return x * 2

    op = define(text, kernel)
    for _ in range(sound):
        assert np.array_equal(op(A.copy()), A * 2)
    if sound < LOOKS[text]:
        assert said(lambda: op(A.copy()), AliasError).startswith(f"{op.name}: the kernel {where(kernel)} writes")
        return
    assert np.array_equal(op(A.copy()), (A + 1) * 2)
    op.register_kernel("cpu", kernel)  # another kernel has first calls of its own
    assert said(lambda: op(A.copy()), AliasError).startswith(f"{op.name}: the kernel {where(kernel)} writes")


def test_the_error_names_the_operator_and_the_argument():
    op = define("(Tensor x) -> Tensor", lambda x: x.fill(0) or x + 1)
    with pytest.raises(AliasError) as caught:
        op(A.copy())
    assert (caught.value.operator, caught.value.argument) == (op.name, "x")


def test_what_the_kernel_raises_is_what_arrives():
    def kernel(x):
        x += 1
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        define("(Tensor x) -> Tensor", kernel)(A.copy())


@pytest.mark.parametrize(
    ("text", "tags"), [("(Tensor(a!) x) -> ()", ()), ("(Tensor x) -> ()", (Tag.maybe_aliasing_or_mutating,))]
)
def test_a_declared_write_is_none(text, tags):
    op = build(Schema.parse(text, name="writtentests::zero"), tags)
    op.register_at(DispatchKey.CPU, lambda x: x.fill(0))
    x = A.copy()
    op(x)
    assert not x.any()


def test_a_declared_write_is_none_through_another_argument():
    def kernel(x, out):
        out += 1

    x = A.copy()
    define("(Tensor x, Tensor(a!) out) -> ()", kernel)(x[0], x)
    assert np.array_equal(x, A + 1)


def test_the_same_bytes_are_no_write():
    def kernel(x):
        x += 0
        return x * 2

    x = np.array([np.nan, 1.0])
    assert np.array_equal(define("(Tensor x) -> Tensor", kernel)(x), x * 2, equal_nan=True)


@pytest.mark.parametrize("x", [np.array([1, "a"], object), np.zeros(0), np.zeros((3, 0)), np.broadcast_to(1.0, (2, 2)), np.array(2.0)])
def test_any_array_can_be_looked_at(x):
    assert define("(Tensor x) -> Tensor", lambda x: x.copy())(x) is not x


def test_a_subclass_runs_no_code_of_its_own():
    class Strange(np.ndarray):
        def tobytes(self, *args):
            raise RuntimeError("asked")

        def __getitem__(self, key):
            raise RuntimeError("asked")

    x = np.zeros(MOST_BYTES).view(Strange)
    assert checksum(x, MOST_BYTES) == checksum(np.zeros(MOST_BYTES), MOST_BYTES)


@pytest.mark.parametrize("shape", [(MOST_BYTES,), (4, MOST_BYTES), (MOST_BYTES, 4), (1, 1, MOST_BYTES), (2, 3, 50_000)])
def test_of_a_large_array_the_beginning_is_looked_at(shape):
    x = np.zeros(shape)
    before, whole = checksum(x, MOST_BYTES), checksum(x)
    x.reshape(-1)[-1] = 1
    assert checksum(x) != whole
    assert checksum(x, MOST_BYTES) == before
    x.reshape(-1)[0] = 1
    assert checksum(x, MOST_BYTES) != before


def test_only_arrays_that_may_be_read_alone_are_kept():
    op = define("(Tensor x, Tensor[] xs, Tensor(a!) out, float k, Dict(str, Tensor) named) -> ()", lambda *args: None)
    out = np.zeros(4)
    found = only_read(op.definition, (A, [A, out[1:]], out, 2.0, {"w": A}))
    assert [(x.argument, x.path) for x in found] == [("x", ""), ("xs", "[0]"), ("named", "['w']")]


def test_a_gradient_and_a_batch_are_told_too():
    def kernel(x):
        by_address(x)
        return x * 2

    for transform in (lambda op: dispatch.grad(lambda x: op(x).sum()), lambda op: dispatch.vmap(op)):
        op = define("(Tensor x) -> Tensor", kernel, autograd=lambda ctx, g: g * 2, vmap="broadcast_all")
        assert " writes to its argument 'x', and" in said(lambda op=op, run=transform: run(op)(A.copy()), AliasError)


def test_the_decorated_form_is_told():
    @custom_op("writtentests::center", mutates_args=())
    def center(x: np.ndarray) -> np.ndarray:
        x -= x.mean()
        return x.copy()

    assert said(lambda: center(A.copy()), AliasError) == (
        f"writtentests::center: the kernel {where(center.__wrapped__)} writes to its argument 'x', and the schema does not say so. "
        "Compute on x.copy(), or declare it: mutates_args=('x',)."
    )
