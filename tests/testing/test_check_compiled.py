"""What is right when it runs and wrong when it is traced is caught: rules that decide by data or by state."""

import numpy as np
import pytest
from planted import A, B, define, fault, like, tracked

from dispatch import Tag
from dispatch.core.source import where
from dispatch.library import get_ctx
from dispatch.testing import opcheck

CHECK = "test_aot_dispatch_dynamic"


def with_backward(backward):
    op = define(lambda x: x * 2.0)
    op.register_fake(like)
    op.register_autograd(backward, setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs))
    return op


def test_an_operator_and_its_gradient_are_traced():
    report = opcheck(with_backward(lambda ctx, g: g * 2.0), (tracked(A),), test_utils=CHECK)
    assert report.rows == [(CHECK, "SUCCESS", "2 calls")]


def test_a_backward_that_raises_when_it_is_traced_is_caught():
    eager = iter([2.0])
    op = with_backward(lambda ctx, g: g * next(eager))
    assert f"a trace of the gradient of {op.name} with symbolic sizes raises " in fault(op, (tracked(A),), CHECK)


def test_a_backward_that_decides_by_data_is_skipped_with_its_line():
    def backward(ctx, g):
        return g * 2.0 if g.sum() > 0 else g

    said = opcheck(with_backward(backward), (tracked(A),), test_utils=CHECK)[CHECK]
    assert said.startswith("SKIPPED: a trace asks for what depends on data: the truth was asked of a traced value")
    assert "if g.sum() > 0" in said


def test_a_gradient_that_is_another_when_it_is_traced_is_caught():
    factors = iter([2.0, 3.0])
    op = with_backward(lambda ctx, g: g * next(factors))
    said = fault(op, (tracked(A),), CHECK)
    assert said.startswith(f"{op.name}: a trace of the gradient of {op.name} with symbolic sizes computes another array 0 than the kernel ")
    assert said.endswith("A rule that decides by data, or by more than its arguments, is traced once and then decides so for good.")


def test_a_writing_operator_is_traced_with_what_it_writes():
    def kernel(x):
        x *= 2.0

    op = define(kernel, "(Tensor(a!) x) -> ()", mutates_args=("x",))
    op.register_fake(lambda x: None)
    assert opcheck(op, (A.copy(),), test_utils=CHECK)[CHECK] == "SUCCESS"


def test_a_size_that_depends_on_data_is_traced():
    op = define(lambda x: x[x > 1].copy(), tags=(Tag.dynamic_output_shape,))
    op.register_fake(lambda x: np.empty_like(x, shape=(get_ctx().new_dynamic_size(),)))
    assert opcheck(op, (B,), test_utils=CHECK)[CHECK] == "SUCCESS"


SKIPPED = {
    "there is no fake rule to trace with, see test_faketensor": (lambda: define(lambda x: x * 2.0), (A,)),
    "the operator is random": (lambda: random(), (A,)),
    "no argument is an array, so that a trace computes it once": (lambda: plain(), (2.0,)),
}


def random():
    op = define(lambda x: x * np.random.default_rng().random(), tags=(Tag.random,))
    op.register_fake(like)
    return op


def plain():
    op = define(lambda n: np.full(3, n), "(float n) -> Tensor")
    op.register_fake(lambda n: np.empty(3))
    return op


@pytest.mark.parametrize("why", SKIPPED)
def test_what_cannot_be_traced_is_skipped_with_the_reason(why):
    made, args = SKIPPED[why]
    assert opcheck(made(), args, test_utils=CHECK)[CHECK] == f"SKIPPED: {why}"


def test_a_rule_that_asks_for_data_is_skipped_with_its_words():
    op = define(lambda x: x[x > 1].copy(), tags=(Tag.dynamic_output_shape,))
    op.register_fake(lambda x: np.empty((get_ctx().new_dynamic_size(),), x.dtype))
    assert opcheck(op, (B,), test_utils=CHECK)[CHECK].startswith("SKIPPED: a trace asks for what depends on data: ")
    assert where(test_a_rule_that_asks_for_data_is_skipped_with_its_words).startswith("test_check_compiled.py")
