"""A report is a mapping, a table of text and a table of HTML; faults are noted once."""

import pytest
from planted import A, define

from dispatch.errors import OpCheckError
from dispatch.testing import Report, opcheck
from dispatch.testing.report import Findings


def found(**kinds):
    made = {}
    for name, kind in kinds.items():
        made[name] = Findings("ns::op")
        if kind == "fault":
            made[name].fault("key", f"{name} is wrong.\nDo this.", ValueError(name))
        elif kind == "skip":
            made[name].skip("there is nothing")
        elif kind == "advice":
            made[name].advise("key", "consider it")
    return made


def test_a_report_prints_as_a_table_of_text_and_of_html():
    op = define(lambda x: x * 2.0)
    report = opcheck(op, (A,), raise_exception=False, test_utils=("test_schema", "test_faketensor", "test_gradients"))
    lines = repr(report).splitlines()
    assert lines[0] == f"opcheck {op.name}(x: float64[2, 3])"
    assert lines[1].startswith("test_schema      SUCCESS  ")
    assert lines[2].startswith(f"test_faketensor  FAILED   {op.name}: no fake rule")
    assert lines[3] == (
        "test_gradients   SKIPPED  no argument came tracked; pass dispatch.tensor(a, requires_grad=True) to check "
        "gradients"
    )
    assert "<td>test_faketensor</td><td>FAILED</td>" in report._repr_html_()
    assert report._repr_html_().count("<tr>") == 3


def test_what_is_printed_holds_all_lines_of_a_fault_and_the_advice():
    report = Report("ns::op", "x: float64[2]", found(first="fault", second="skip", third="advice"))
    assert repr(report) == (
        "opcheck ns::op(x: float64[2])\n"
        "first   FAILED   ns::op: first is wrong.\n"
        "                 Do this.\n"
        "second  SKIPPED  there is nothing\n"
        "third   SUCCESS  0 calls\n"
        "advice: consider it"
    )
    assert "<td>first</td><td>FAILED</td><td>ns::op: first is wrong.\nDo this.</td>" in report._repr_html_()
    assert "<td>advice</td><td></td><td>consider it</td>" in report._repr_html_()


def test_html_is_escaped():
    report = Report("ns::op", "<b>", found(first="skip"))
    assert "&lt;b&gt;" in report._repr_html_()


def test_all_failures_are_raised_in_one_with_the_first_cause():
    report = Report("ns::op", "x", found(first="fault", second="fault"))
    with pytest.raises(OpCheckError) as caught:
        report.raise_failures()
    assert str(caught.value) == (
        "opcheck of ns::op(x): 2 checks failed.\n"
        "first\n  ns::op: first is wrong.\n  Do this.\n"
        "second\n  ns::op: second is wrong.\n  Do this."
    )
    assert str(caught.value.__cause__) == "first"
    Report("ns::op", "x", found(first="skip", second="advice", third="")).raise_failures()


def test_a_failure_without_a_cause_is_the_cause():
    findings = Findings("ns::op")
    findings.fault("key", "wrong.")
    report = Report("ns::op", "x", {"test": findings})
    with pytest.raises(OpCheckError, match="1 check failed") as caught:
        report.raise_failures()
    assert caught.value.__cause__ is report["test"]


def test_one_fault_is_noted_once():
    findings = Findings("ns::op")
    findings.fault("key", "first.")
    findings.fault("key", "second.")
    findings.fault("other", "third.")
    assert str(findings.outcome) == "ns::op: first.\nns::op: third."


@pytest.mark.parametrize(("kinds", "truth"), [({"a": "fault", "b": "skip"}, False), ({"a": "skip", "b": "advice"}, True), ({}, True)])
def test_a_report_is_true_where_no_check_failed(kinds, truth):
    assert bool(Report("ns::op", "x", found(**kinds))) is truth
