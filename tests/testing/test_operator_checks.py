"""opcheck as a whole: its report, what it is given, and sound operators, which pass."""

import re

import numpy as np
import pytest
from planted import A, B, define, like, tracked

import dispatch
from dispatch.core.source import where
from dispatch.errors import ArgumentError, OpCheckError
from dispatch.testing import opcheck, operator_checks
from dispatch.testing.operator_checks import ALL

numbers = iter(range(1000))


def sound(schema="(Tensor x) -> Tensor", **options):
    op = define(lambda x: x * 2.0, schema, **options)
    op.register_fake(like)
    op.register_autograd(lambda ctx, g: g * 2.0)
    op.register_vmap(lambda info, in_dims, x: (op(x), in_dims[0]))
    return op


# ------------------------------------------------------------------------------------------------------------ the whole
def test_a_report_is_a_mapping_in_the_order_of_the_checks():
    report = opcheck(define(lambda x: x * 2.0), (A,), test_utils=("test_vmap", "test_schema"))
    assert dict(report) == {"test_vmap": "SUCCESS", "test_schema": "SUCCESS"}
    assert list(report) == ["test_vmap", "test_schema"]
    assert len(report) == 2
    assert report.failures == {}


def test_all_checks_run_by_default():
    op = define(lambda x: x * 2.0)
    for chosen in ({}, {"test_utils": "ALL"}, {"test_utils": ALL}):
        assert tuple(opcheck(op, (A,), raise_exception=False, **chosen)) == ALL


def test_every_failure_is_raised_at_the_end_in_one():
    def kernel(x):
        x += 1
        return x * 2.0

    op = define(kernel)
    with pytest.raises(OpCheckError) as caught:
        opcheck(op, (tracked(A),))
    text = str(caught.value)
    head, *names = [line for line in text.splitlines() if not line.startswith("  ")]
    assert head == f"opcheck of {op.name}(x: float64[2, 3]): 3 checks failed."
    assert names == ["test_schema", "test_autograd_registration", "test_faketensor"]
    assert f"  {op.name}: the kernel {where(kernel)} writes to its argument 'x'" in text
    assert caught.value.operator == op.name
    assert isinstance(caught.value.__cause__, Exception)


def test_operators_are_found_by_name():
    op = define(lambda x: x * 2.0)
    assert opcheck(op.name, [A], test_utils="test_schema").operator == op.name


def test_keyword_arguments_and_defaults_are_bound():
    op = define(lambda x, n=2, *, scale: x * scale * n, "(Tensor x, int n=2, *, float scale) -> Tensor")
    op.register_fake(lambda x, n, scale: np.empty_like(x))
    report = opcheck(op, (A,), {"scale": 2.0})
    assert report.sample == "x: float64[2, 3], n: int, scale: float"


# ------------------------------------------------------------------------------------------------- wrong use of opcheck
@pytest.mark.parametrize(
    ("name", "advice"),
    [("test_shema", " Did you mean 'test_schema'?"), ("test_speed", "")],
)
def test_an_unknown_check_is_refused_with_the_list(name, advice):
    said = f"opcheck has no check '{name}'.{advice} Checks: {', '.join(ALL)}, or 'ALL'."
    for given in (name, [name]):
        with pytest.raises(ArgumentError, match=f"^{re.escape(said)}$"):
            opcheck(define(lambda x: x * 2.0), (A,), test_utils=given)


def test_no_check_is_refused():
    said = f"opcheck was given no check to run. Checks: {', '.join(ALL)}, or 'ALL'."
    with pytest.raises(ArgumentError, match=re.escape(said)):
        opcheck(define(lambda x: x * 2.0), (A,), test_utils=())


@pytest.mark.parametrize("given", [{"rtol": 0.0}, {"atol": 0.0}])
def test_one_tolerance_is_refused(given):
    with pytest.raises(ArgumentError, match="Give both or neither"):
        opcheck(define(lambda x: x * 2.0), (A,), **given)


def test_what_is_no_operator_is_refused():
    said = "opcheck checks an operator or its name, 'ns::name', and was given a function."
    with pytest.raises(ArgumentError, match=re.escape(said)):
        opcheck(lambda x: x, (A,))


@pytest.mark.parametrize("args", [(), (A, A), ([1.0],), (None,)])
def test_arguments_are_refused_in_the_operators_own_words(args):
    op = define(lambda x: x * 2.0)
    with pytest.raises(ArgumentError) as of_call:
        op(*args)
    with pytest.raises(ArgumentError) as of_check:
        opcheck(op, args)
    assert str(of_check.value) == str(of_call.value)


@pytest.mark.parametrize("keywords", [{"y": 1}, {"x": A}])
def test_keywords_are_refused_in_the_operators_own_words(keywords):
    op = define(lambda x: x * 2.0)
    with pytest.raises(ArgumentError) as of_call:
        op(A, **keywords)
    with pytest.raises(ArgumentError) as of_check:
        opcheck(op, (A,), keywords)
    assert str(of_check.value) == str(of_call.value)


def test_values_of_a_transform_are_refused():
    op = define(lambda x: x * 2.0)
    with dispatch.FakeTensorMode() as mode:
        x = mode.from_array(A)
    said = (
        f"opcheck of {op.name} was given a FakeTensor of shape (2, 3) and dtype float64. Give it plain arrays, or "
        "dispatch.tensor(a, requires_grad=True) where the gradient is to be checked, outside every transform."
    )
    with pytest.raises(ArgumentError, match=re.escape(said)):
        opcheck(op, (x,))


# ------------------------------------------------------------------------------------------------------ sound operators
def test_a_sound_operator_passes_every_check():
    op = sound()
    op.register_jvp(lambda tangents, output, x: tangents[0] * 2.0)
    assert dict(opcheck(op, (tracked(A),))) == dict.fromkeys(ALL, "SUCCESS")


# --------------------------------------------------------------------------------------------------------- how it looks
@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"gradients": "maybe"}, "opcheck: gradients= is 'compare' or 'exist', and was given as 'maybe'."),
        ({"eps": 2}, "opcheck: eps= is the step of finite differences, between 0 and 1, and was given 2."),
        (
            {"fixed": ("indice",)},
            "has no argument 'indice' to keep fixed. Did you mean 'indices'? Its arguments: x, indices.",
        ),
    ],
)
def test_an_option_that_is_none_is_refused(given, said):
    op = define(lambda x, indices: x[indices], "(Tensor x, Tensor indices) -> Tensor")
    with pytest.raises(ArgumentError, match=re.escape(said)):
        opcheck(op, (A, np.array([0])), **given)


@pytest.mark.parametrize(
    "x",
    [A.T, A[::-1, ::-1], A[:, ::2], A[0, 0].reshape(()), A[:0], A.astype(">f8"), np.broadcast_to(B, (2, 3))],
    ids=["F", "reversed", "stepped", "0-d", "empty", "byte-swapped", "broadcast"],
)
def test_every_kind_of_array_passes(x):
    x = np.asarray(x)
    opcheck(sound(), (x,), test_utils=("test_schema", "test_vmap"))
    x.flags.writeable = False
    opcheck(sound(), (x,), test_utils=("test_schema", "test_vmap"))


@pytest.mark.parametrize("dtype", ["f2", "f4", "c8", "c16", "i4", "?"])
def test_every_dtype_passes(dtype):
    op = define(lambda x: x + x)
    op.register_fake(like)
    op.register_autograd(lambda ctx, g: g + g)
    x = A.astype(dtype)
    opcheck(op, (x,))
    if dtype in ("f4", "c8", "c16"):
        opcheck(op, (tracked(x),))


def test_lists_none_strings_and_numbers_pass():
    def kernel(xs, mask, mode, n):
        return sum(xs) * n, [x + 1 for x in xs], len(xs)

    op = define(kernel, "(Tensor[] xs, Tensor? mask, str mode, int n) -> (Tensor, Tensor[], int)")
    op.register_fake(lambda xs, mask, mode, n: (np.empty_like(xs[0]), [np.empty_like(x) for x in xs], len(xs)))

    def setup_context(ctx, inputs, output):
        ctx.n = inputs[3]

    op.register_autograd(lambda ctx, g, gs, _: ([g * ctx.n + h for h in gs], None, None, None), setup_context=setup_context)
    report = opcheck(op, ([tracked(A), A + 1, tracked(A)], None, "mode", 3), raise_exception=False)
    assert not report.failures, report


def test_an_operator_without_arrays_passes():
    op = define(np.zeros, "(int n) -> Tensor")
    op.register_fake(lambda n: np.empty((n,)))
    report = opcheck(op, (3,))
    assert report["test_vmap"] == "SKIPPED: no argument is an array, so there is nothing to batch"


def test_an_operator_that_writes_what_it_says_passes():
    def sin(x, out):
        np.sin(x, out=out)

    op = define(sin, "(Tensor x, Tensor(a!) out) -> ()", mutates_args=("out",))
    report = opcheck(op, (A, np.empty_like(A)))
    assert report["test_vmap"] == "SUCCESS"
    assert report.advice == []


def test_declared_views_and_in_place_operators_pass():
    view = define(lambda x: x.T, "(Tensor(a) x) -> Tensor(a)")
    opcheck(view, (A,), test_utils="test_schema")

    def double(x):
        x *= 2
        return x

    opcheck(define(double, "(Tensor(a!) x) -> Tensor(a!)", mutates_args=("x",)), (A,), test_utils="test_schema")


def test_disjoint_parts_of_one_buffer_are_no_alias():
    def kernel(x):
        both = np.concatenate([x, x + 1])
        return both[: len(x)], both[len(x) :]

    opcheck(define(kernel, "(Tensor x) -> (Tensor, Tensor)"), (B,), test_utils="test_schema")


def test_a_kernel_that_raises_on_the_sample_is_a_failure_and_nothing_else_is_tried():
    def kernel(x):
        raise RuntimeError("the matrix is singular")

    op = define(kernel)
    report = opcheck(op, (A,), raise_exception=False)
    assert str(report["test_schema"]) == (
        f"{op.name}: the kernel {where(kernel)} raises RuntimeError on the sample (x: float64[2, 3]): the matrix is "
        "singular\n"
        "Give opcheck arguments that the operator computes on."
    )
    assert isinstance(report["test_schema"].__cause__, RuntimeError)
    assert {report[name] for name in ALL[1:]} == {"SKIPPED: the sample gives no result, see test_schema"}
    only = opcheck(op, (A,), test_utils="test_vmap", raise_exception=False)
    assert list(only) == ["test_schema", "test_vmap"]


def test_a_result_that_is_refused_leaves_nothing_else_to_check():
    report = opcheck(define(lambda x: x), (A,), raise_exception=False)
    assert list(report.failures) == ["test_schema"]
    assert {report[name] for name in ALL[1:]} == {"SKIPPED: the sample gives no result, see test_schema"}


def test_a_photograph_is_no_matter_of_memory_or_time():
    x = np.random.default_rng(0).integers(0, 255, (120, 160, 3)).astype(np.uint8)
    op = define(lambda x, top, left: x[top:, left:].copy(), "(Tensor x, int top, int left) -> Tensor")
    op.register_fake(lambda x, top, left: np.empty((x.shape[0] - top, x.shape[1] - left, *x.shape[2:]), x.dtype))
    report = opcheck(op, (x, 10, 20), raise_exception=False, test_utils=("test_schema", "test_vmap"))
    assert not report.failures, report


def test_after_a_call_that_hangs_the_other_checks_wait_less(monkeypatch):
    monkeypatch.setattr(operator_checks, "IMPATIENCE", 0.05)

    def kernel(x):
        while len(x) == 67:
            pass
        return x * 2.0

    op = define(kernel)
    op.register_fake(like)
    report = opcheck(op, (A,), timeout=0.7, raise_exception=False, test_utils=["test_faketensor", "test_vmap"])
    assert "did not return within 0.7 s on the sample with length 67" in str(report["test_faketensor"])
