"""The check `test_aot_dispatch_dynamic`: a trace with symbolic sizes computes what the operator does, and its gradient.

The name is torch's, whose check asks the same of its compiler.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from ..autodiff.reverse_mode import vjp
from ..compiler.trace_function import make_fx
from ..core import DispatchKey
from ..errors import DataDependentError, NoRuleError, how_many
from ..layers.autograd import CONSTANT
from ..schema.tags import Tag
from .cases import Case, Options, arrays_in
from .closeness import difference
from .kernel_runs import quietly, written_arrays
from .report import Findings

Function = Callable[..., list[Any]]


def check_compiled(case: Case, findings: Findings, options: Options) -> None:
    """Compare the operator, and its gradient by what is tracked, with graphs of them."""
    if Tag.random in case.op.tags:
        findings.skip("the operator is random")
    elif not case.arrays:
        findings.skip("no argument is an array, so that a trace computes it once")
    else:
        _compare(case, findings, options, "", _outputs(case))
        rules = [case.rule(key) for key in (DispatchKey.AUTOGRAD, DispatchKey.JVP)]
        if case.tracked and any(rule not in (None, CONSTANT) for rule in rules) and not (findings.faults or findings.skipped):
            _compare(case, findings, options, "the gradient of ", _gradient(case))


def _outputs(case: Case) -> Function:
    """Return the operator as a function of its arrays, which returns the arrays among the outputs and what it wrote to."""
    written = written_arrays(case)

    def outputs(*arrays: Any) -> list[Any]:
        found = arrays_in(case.call(case.with_arrays(list(arrays))))
        return [*found, *(x for x, may in zip(arrays, written, strict=True) if may)]

    return outputs


def _gradient(case: Case) -> Function:
    """Return the gradient, by what is tracked, of the sum of the floating-point outputs."""
    functional = case._replace(op=case.op.functional)

    def gradient(*arrays: Any) -> list[Any]:
        def floats(*moving: Any) -> list[Any]:
            given = list(arrays)
            for place, x in zip(case.tracked, moving, strict=True):
                given[place] = x
            return [x for x in arrays_in(functional.call(functional.with_arrays(given))) if x.dtype.kind in "fc"]

        values, pull = vjp(floats, *(arrays[place] for place in case.tracked))
        return [g for g in pull([np.ones_like(x) for x in values]) if g is not None]

    return gradient


def _compare(case: Case, findings: Findings, options: Options, what: str, f: Function) -> None:
    def copies() -> list[Any]:
        return [x.copy(order="K") for x in case.arrays]

    findings.runs += 1
    with quietly():
        try:
            expected = f(*copies())
        except Exception:  # which other checks report
            return
        try:
            graph = make_fx(f, "symbolic")(*copies())
            found = graph(*copies())
        except NoRuleError:
            findings.skip("there is no fake rule to trace with, see test_faketensor")
            return
        except DataDependentError as error:
            findings.skip(f"a trace asks for what depends on data: {_first_line(case, error)}")
            return
        except Exception as error:
            findings.fault(
                "raises",
                f"a trace of {what}{case.name} with symbolic sizes raises {type(error).__name__}: {_first_line(case, error)}",
                error,
            )
            return
    if len(found) != len(expected):  # a list of another length
        findings.fault(
            (what, "number"),
            f"a trace of {what}{case.name} with symbolic sizes computes {how_many(len(found), 'array')}, and the {case.kernel} "
            f"{len(expected)} ({case.given()}). The fake rule says how many there are.",
        )
    for i, (x, y) in enumerate(zip(found, expected, strict=False)):
        if said := difference(x, y, rtol=options.rtol, atol=options.atol):
            findings.fault(
                (what, i),
                f"a trace of {what}{case.name} with symbolic sizes computes another array {i} than the {case.kernel} "
                f"({case.given()}): {said} A rule that decides by data, or by more than its arguments, is traced once and then "
                "decides so for good.",
            )


def _first_line(case: Case, error: Exception) -> str:
    return str(error).removeprefix(f"{case.name}: ").partition("\n")[0]
