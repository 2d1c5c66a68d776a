"""Every operator of a package is checked with samples of its schema, and every outcome is told."""

import numpy as np
from planted import define, like

import dispatch
from dispatch.testing.operator_checks import ALL
from dispatch.testing.package_checks import Outcome, check_operators


def outcomes_of(op, **options):
    [(found, outcomes)] = check_operators([op], **options)
    assert found is op
    return outcomes


def test_each_check_of_each_sample_is_an_outcome():
    outcomes = outcomes_of(dispatch.ops.np.matmul, most=2)
    assert [(x.operator, x.check, x.verdict) for x in outcomes] == [("np::matmul", name, "SUCCESS") for name in (*ALL, *ALL)]
    assert list(dict.fromkeys(x.sample for x in outcomes)) == ["(3,), (3,)", "(2, 3), (3, 4)"]


def test_gradients_are_checked_where_there_are_rules():
    op = define(lambda x: x * 2.0)
    op.register_fake(like)
    skipped = {x.check for x in outcomes_of(op, most=1) if x.verdict == "SKIPPED"}
    assert skipped == {"test_autograd_registration", "test_gradients", "test_jvp"}
    op.register_autograd(lambda ctx, g: g * 3.0)
    assert {x.check for x in outcomes_of(op, most=1) if x.verdict == "FAILED"} == {"test_gradients"}


def test_an_operator_without_samples_is_told_why():
    op = define(lambda x, name: x, "(Tensor x, str name) -> Tensor")
    [outcome] = outcomes_of(op)
    assert (outcome.check, outcome.verdict) == ("samples", "SKIPPED")
    assert outcome.said.startswith(f"samples: nothing can be made for argument 'name' of {op.name}, of type str.")

    def never(x):
        raise ValueError("never")

    op = define(never)
    said = "its kernel accepts none of the arguments that were made from its schema"
    assert outcomes_of(op) == [Outcome(op.name, "", "samples", "SKIPPED", said)]


def test_a_kernel_that_writes_is_found_and_what_is_not_isolated_runs_here():
    seen = []
    op = define(lambda x: (seen.append(np.shape(x)), x * 2.0)[1])
    op.register_fake(like)
    outcomes_of(op, most=1, isolate=False)
    assert len(seen) > 20
