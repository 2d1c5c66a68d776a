"""`opcheck`: checks an operator's kernel and rules against its schema and each other."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core import OpOverload, check_data
from ..core.pytree import leaves
from ..errors import ArgumentError, did_you_mean, kind_of
from ..operators.register import resolve
from ..operators.registry import Operator
from .cases import Case, Options, bind
from .check_autograd import check_forward, check_gradients, check_registration
from .check_compiled import check_compiled
from .check_fake import check_shapes
from .check_schema import check_schema
from .check_vmap import check_batches
from .closeness import tolerance
from .report import Findings, Report
from .validate import validate

ALL = (
    "test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic",
    "test_vmap", "test_gradients", "test_jvp",
)  # fmt: skip

_CHECKS: dict[str, Callable[[Case, Findings, Options], object]] = {
    "test_autograd_registration": lambda case, findings, options: check_registration(case, findings),
    "test_faketensor": check_shapes,
    "test_aot_dispatch_dynamic": check_compiled,
    "test_vmap": check_batches,
    "test_gradients": check_gradients,
    "test_jvp": check_forward,
}


def opcheck(
    op: OpOverload | str,
    args: Sequence[Any],
    kwargs: dict[str, Any] | None = None,
    *,
    test_utils: str | Sequence[str] = ALL,
    raise_exception: bool = True,
    atol: float | None = None,
    rtol: float | None = None,
    eps: float | None = None,
    gradients: str = "compare",
    fixed: Sequence[str] = (),
) -> Report:
    """Check an operator on a sample of arguments: its kernel against its schema, and its rules against its kernel.

    - `test_schema`: the kernel writes only where the schema says, also next to its arguments in memory; its outputs share no
      memory with arguments or each other; its results are the same in a second call, and for every layout of the arguments.
    - `test_autograd_registration`: if an argument is tracked, so are the floating-point outputs.
    - `test_faketensor`: the fake rule gives the number, shapes, dtypes, strides and devices of the outputs, for the sample and
      for other layouts, sizes and precisions that the kernel accepts.
    - `test_aot_dispatch_dynamic`: a trace with symbolic sizes computes what the operator does, and its gradient.
    - `test_vmap`: a batch gives what a loop over its items gives, wherever the mapped axes are.
    - `test_gradients`: the gradients of tracked arguments agree with finite differences, wherever these say something: where
      the kernel has a kink at the sample, every slope between those of its two sides is right.
    - `test_jvp`: the operator's own jvp rule agrees with finite differences.

    Parameters
    ----------
    op : OpOverload or str
    args : sequence
        Positional arguments. Gradients are checked for those given as `dispatch.tensor(a, requires_grad=True)`; float64 is
        best. Give each axis another length: then a rule that swaps two axes is found.
    kwargs : dict, optional
        Keyword arguments.
    test_utils : str or sequence of str
        The checks to run, `"ALL"` of them by default.
    raise_exception : bool
        Whether to raise at the end, one error for all failures. If False, the report has them.
    atol, rtol : float, optional
        How much values may differ; both or neither. By default what the dtypes allow, as in `assert_close`.
    eps : float, optional
        The step of finite differences. By default 1e-6, or the cube root of the precision for less than double precision; a
        gradient that this step contradicts is tried with others, also as small and as large as the elements.
    gradients : str
        "compare" them with finite differences, or ask that they "exist", of the right shape: for a kernel that rounds, whose
        gradient is one of what it rounds.
    fixed : sequence of str
        The arguments that keep the sample's values and lengths in every run, for they belong together: indices, pointers.

    Returns
    -------
    Report
        A mapping from check to `"SUCCESS"`, `"SKIPPED: why"` or the exception; prints as a table.

    Raises
    ------
    OpCheckError
        If a check failed. The message lists all failures; `__cause__` is the first, or the exception behind that.
    ArgumentError
        If the arguments do not fit the operator, or there is no such check.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> opcheck("np::sin", (dispatch.tensor(np.ones((2, 3)), requires_grad=True),))["test_gradients"]
    'SUCCESS'
    """
    checks = _chosen(test_utils)
    tolerance(np.dtype(float), rtol=rtol, atol=atol)  # refuses one without the other
    case = bind(_single(op), tuple(args), dict(kwargs or {}))
    options = _options(case, rtol, atol, eps, gradients, fixed)
    found = {name: Findings(case.name) for name in checks}
    purity = found.get("test_schema", Findings(case.name))
    with validate("default"):  # these checks look closer, and say what they find
        runs = not _subclasses(case, purity) and check_schema(case, purity, options)
        for name, findings in found.items():
            if name != "test_schema":
                if runs:
                    _CHECKS[name](case, findings, options)
                else:
                    findings.skip("the sample gives no result, see test_schema")
    if not runs:
        found = {"test_schema": purity} | found
    report = Report(case.name, case.given(), found)
    if raise_exception:
        report.raise_failures()
    return report


def _options(case: Case, rtol: Any, atol: Any, eps: Any, gradients: Any, fixed: Any) -> Options:
    if gradients not in ("compare", "exist"):
        raise ArgumentError(f'opcheck: gradients= is "compare" or "exist", and was given {gradients!r}.')
    if eps is not None and not (isinstance(eps, (int, float)) and 0 < eps < 1):
        raise ArgumentError(f"opcheck: eps= is the step of finite differences, between 0 and 1, and was given {eps!r}.")
    names = (fixed,) if isinstance(fixed, str) else tuple(fixed)
    for name in names:
        if name not in case.op.arguments.names:
            known = ", ".join(case.op.arguments.names)
            close = did_you_mean(str(name), case.op.arguments.names)
            raise ArgumentError(f"opcheck: {case.name} has no argument {name!r} to keep fixed.{close} Its arguments: {known}.")
    return Options(rtol, atol, eps, gradients, frozenset(names))


def _subclasses(case: Case, findings: Findings) -> bool:
    """Whether an argument is an array of a class that has more than its data; a fault says what becomes of it."""
    for name, value in zip(case.op.arguments.names, case.args, strict=True):
        for x in leaves(value):
            try:
                check_data(x)
            except ArgumentError:
                cls = type(x)
                findings.fault(name, f"argument {name!r} is a {cls.__module__}.{cls.__qualname__}{_kept(case, cls)}")
    return bool(findings.faults)


def _kept(case: Case, cls: type) -> str:
    """What a kernel does with an array of a class, for a message."""
    count, names = case.op.arguments.positional, case.op.arguments.keyword_names
    advice = "Give opcheck np.asarray(x)."
    try:
        out = case.op(*case.args[:count], **dict(zip(names, case.args[count:], strict=True)))
    except Exception as error:
        return f", and its kernel raised {type(error).__name__}: {error}. {advice}"
    kinds = {type(x) for x in leaves(out) if isinstance(x, np.ndarray)}
    if cls in kinds:
        return (
            f", and its kernel returned {kind_of(next(x for x in leaves(out) if type(x) is cls))}: a plain call hands it on; "
            f"gradients, batches and shapes are of the data alone, and refuse it. {advice}"
        )
    returned = " and ".join(sorted(kind_of(x) for x in leaves(out))) or "nothing"
    return f", and its kernel returned {returned}: what the class has beside its data is dropped by the kernel. {advice}"


def _single(op: Any) -> OpOverload:
    if isinstance(op, str):
        op = resolve(op)
    if isinstance(op, Operator):
        raise ArgumentError(
            f"opcheck checks one overload, and {op.name} has several: {', '.join(op.overloads())}. "
            f"Name one: {op.name.replace('::', '.')}.{op.overloads()[0]}."
        )
    if not isinstance(op, OpOverload):
        raise ArgumentError(f"opcheck checks an operator or its name, 'ns::name', and was given {kind_of(op)}.")
    return op


def _chosen(test_utils: Any) -> tuple[str, ...]:
    names = ALL if test_utils == "ALL" else (test_utils,) if isinstance(test_utils, str) else tuple(test_utils)
    for name in names:
        if name not in ALL:
            raise ArgumentError(
                f"opcheck has no check {name!r}.{did_you_mean(str(name), ALL)} Checks: {', '.join(ALL)}, or 'ALL'."
            )
    if not names:
        raise ArgumentError(f"opcheck was given no check to run. Checks: {', '.join(ALL)}, or 'ALL'.")
    return names
