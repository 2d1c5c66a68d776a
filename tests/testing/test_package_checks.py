"""Every operator of a package is checked with samples of its schema, and every outcome is told."""

import json
import re

import numpy as np
import pytest
from planted import define, like

import dispatch
from dispatch.errors import DefinitionError
from dispatch.testing.generated_tests import Failures
from dispatch.testing.operator_checks import ALL
from dispatch.testing.package_checks import Outcome, check_operators, checked_requirements, required_of


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
    said = (
        f"{op.name}: its kernel accepts none of the arguments that were made from its schema. The first, (2, 3), raised ValueError: "
        f"never. Give it samples: @{op.schema.name}.register_samples."
    )
    assert outcomes_of(op) == [Outcome(op.name, "", "samples", "SKIPPED", said)]
    op.register_samples(lambda random: [])
    assert outcomes_of(op) == [Outcome(op.name, "", "samples", "SKIPPED", "its sample function gives none")]


def test_a_kernel_that_takes_all_memory_has_a_fault():
    op = define(lambda x: np.zeros(1 << 50))
    [outcome] = outcomes_of(op)
    assert (outcome.check, outcome.verdict) == ("samples", "FAILED")
    assert re.search(r"The first, \(2, 3\), raised \w*MemoryError: ", outcome.said)


def test_a_kernel_that_writes_is_found_and_what_is_not_isolated_runs_here():
    seen = []
    op = define(lambda x: (seen.append(np.shape(x)), x * 2.0)[1])
    op.register_fake(like)
    outcomes_of(op, most=1, isolate=False)
    assert len(seen) > 20


def failures(tmp_path, data):
    (tmp_path / "known.json").write_text(json.dumps({"data": data}))
    return Failures(tmp_path / "known.json")


def bad():
    op = define(lambda x: x * 2.0)
    op.register_fake(lambda x: np.empty(x.shape[::-1]))
    return op


def verdicts(op, **options):
    return {x.test: x.verdict for x in outcomes_of(op, most=1, isolate=False, **options) if x.check in ("test_faketensor", "test_schema")}


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({}, ("SUCCESS", "FAILED")),
        ({"test_faketensor": {"status": "xfail"}}, ("SUCCESS", "XFAILED")),
        ({"test_faketensor[(2, 3)]": {"status": "xfail"}}, ("SUCCESS", "XFAILED")),
        ({"test_faketensor[(3,)]": {"status": "xfail"}}, ("SUCCESS", "FAILED")),
        ({"test_schema": {"status": "xfail"}}, ("FAILED", "FAILED")),
        ({"test_faketensor": {"status": "skip"}}, ("SUCCESS", "SKIPPED")),
        ({"TestScale.test_faketensor__test_one": {"status": "xfail"}}, ("SUCCESS", "FAILED")),  # of generate_opcheck_tests
    ],
)
def test_what_is_known_to_fail_is_no_fault_and_what_passes_all_the_same_is_one(tmp_path, data, expected):
    op = bad()
    found = verdicts(op, failures=failures(tmp_path, {op.name: data}))
    assert (found["test_schema[(2, 3)]"], found["test_faketensor[(2, 3)]"]) == expected


def test_a_known_failure_of_no_check_is_refused(tmp_path):
    op = bad()
    known = failures(tmp_path, {op.name: {"test_fake_tensor[(2, 3)]": {"status": "xfail"}}})
    said = rf"known.json: {op.name} has no test test_fake_tensor\[\(2, 3\)\]. Did you mean 'test_faketensor'\?"
    with pytest.raises(DefinitionError, match=said):
        outcomes_of(op, failures=known)


def test_the_file_of_what_is_known_is_brought_up_to_date(tmp_path, monkeypatch):
    op = bad()
    known = failures(tmp_path, {op.name: {"test_schema[(2, 3)]": {"status": "xfail"}}})
    monkeypatch.setenv("DISPATCH_OPCHECK_ACCEPT", "1")
    assert set(verdicts(op, failures=known).values()) == {"SUCCESS", "XFAILED"}
    entered = json.loads((tmp_path / "known.json").read_text())["data"][op.name]
    assert entered["test_faketensor[(2, 3)]"] == {"status": "xfail"}
    assert "test_schema[(2, 3)]" not in entered


def test_rules_that_are_required_of_every_operator():
    def told(op):
        return {x.check: (x.verdict, x.said) for x in required_of(op, ("fake", "gradient", "vmap"))}

    bare = define(lambda x: x * 2.0)
    said = "%s has no %s rule, and every operator is to have one. Add it: @%s.register_%s."
    verbs = {"fake": "fake", "gradient": "autograd", "vmap": "vmap"}
    assert told(bare) == {f"has_{word}": ("FAILED", said % (bare.name, word, bare.schema.name, verb)) for word, verb in verbs.items()}
    assert {verdict for verdict, _ in told(dispatch.ops.np.sin).values()} == {"SUCCESS"}
    assert {verdict for verdict, _ in told(dispatch.ops.np.argmax).values()} == {"SUCCESS"}  # it says that it has no gradient
    writes = define(lambda x: None, "(Tensor(a!) x) -> ()", mutates_args=("x",))
    assert told(writes)["has_fake"] == ("SKIPPED", "nothing but what it writes to comes back")
    makes = define(lambda n: np.zeros(n), "(int n) -> Tensor", device_types=None)
    assert [told(makes)[f"has_{word}"][0] for word in verbs] == ["FAILED", "SKIPPED", "SKIPPED"]


@pytest.mark.parametrize("words", [["fake,vmap"], ["fake", "vmap"], ["fake vmap"]])
def test_requirements_are_read_with_commas_and_one_by_one(words):
    assert checked_requirements(words) == ("fake", "vmap")


def test_samples_of_the_operators_own_say_how_they_are_checked():
    op = define(lambda x, f, at: f(x)[at], "(Tensor x, Callable f, Tensor at) -> Tensor")
    op.register_fake(lambda x, f, at: np.empty(at.shape, x.dtype))
    op.register_autograd(lambda ctx, g: (g * 0.0, None, None), setup_context=lambda ctx, inputs, output: None)
    random = np.random.default_rng(0)
    op.register_samples(lambda _: [(random.normal(size=4), lambda x: np.round(x), np.array([3, 0, 1, 2]))] * 2, fixed="at", gradients="exist")
    outcomes = outcomes_of(op)
    assert list(dict.fromkeys(x.sample for x in outcomes)) == ["(4,), (4,), f=function", "(4,), (4,), f=function #2"]
    assert {x.verdict for x in outcomes if x.check in ("test_schema", "test_gradients")} == {"SUCCESS"}, outcomes


def test_a_sample_that_is_no_call_is_a_fault():
    op = define(lambda x: x * 2.0)
    op.register_samples(lambda random: [(np.ones(2), 3)])
    [outcome] = outcomes_of(op)
    assert (outcome.check, outcome.verdict) == ("samples", "FAILED")
    assert "(x) takes 1 and was given 2." in outcome.said
