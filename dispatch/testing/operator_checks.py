"""`opcheck`: checks an operator's kernel and rules against its schema and each other.

More than 350 lines: one function with many options, each of which is held to what it may be.
"""

import pickle
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from multiprocessing import current_process
from typing import Any

import numpy as np

from ..core import DispatchKey, OpOverload, active_mode, check_data, device_of
from ..core.pytree import leaves
from ..core.wrong_calls import clear
from ..errors import ArgumentError, check_flag, check_word, did_you_mean, kind_of, shown
from ..operators.kernel_functions import made_of
from ..operators.register import resolve
from ..operators.registry import Operator
from .cases import Case, Options, one_call
from .check_autograd import check_forward, check_gradients, check_registration
from .check_compiled import check_compiled
from .check_fake import check_shapes
from .check_schema import check_schema
from .check_vmap import check_batches
from .child_process import Ended, Unfit, has_fork, run_in_fork, run_in_new
from .closeness import tolerance
from .kernel_runs import past_first_call
from .report import Findings, Report
from .sampled_arguments import Sample
from .validate import validate

ALL = (
    "test_schema", "test_autograd_registration", "test_faketensor", "test_aot_dispatch_dynamic",
    "test_vmap", "test_gradients", "test_jvp",
)  # fmt: skip

IMPATIENCE = 2.0  # seconds that a call may take after one that did not return

_CHECKS: dict[str, Callable[[Case, Findings, Options], object]] = {
    "test_autograd_registration": lambda case, findings, options: check_registration(case, findings),
    "test_faketensor": check_shapes,
    "test_aot_dispatch_dynamic": check_compiled,
    "test_vmap": check_batches,
    "test_gradients": check_gradients,
    "test_jvp": check_forward,
}


@clear
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
    isolate: bool = True,
    timeout: float = 20.0,
) -> Report:
    """Check an operator on a sample of arguments: its kernel against its schema, and its rules against its kernel.

    - `test_schema`: the kernel writes only where the schema says, for a moment too, and not beside an array in memory; its
      outputs share no memory with arguments or each other; its results are the same in a second call, after other calls, for
      every layout of the arguments, with one array for two arguments, with an input as its out argument, and whatever is in
      memory that nobody has written. They stay as they are, and hold what `Tag.pointwise` and `Tag.metadata` promise. It keeps
      no memory, of Python's or of C's, no arguments, no open files and no threads of all calls, and leaves the process as it
      was. Long arrays, and those that lie in pages nobody may write to, are for a copy of the child process.
    - `test_autograd_registration`: if an argument is tracked, so are the floating-point outputs.
    - `test_faketensor`: the fake rule gives the number, shapes, dtypes, strides and devices of the outputs, for the sample and
      for other layouts, sizes, numbers of arrays and precisions that the kernel accepts.
    - `test_aot_dispatch_dynamic`: a trace with symbolic sizes computes what the operator does, and its gradient.
    - `test_vmap`: a batch gives what a loop over its items gives, wherever the mapped axes are, and stays as it is; each item
      has a draw of its own where the operator is random.
    - `test_gradients`: the gradients of tracked arguments agree with finite differences, wherever these say something: where
      the kernel has a kink at the sample, every slope between those of its two sides is right. So do they for other values,
      sizes and numbers of arrays that the kernel accepts, where it repeats one array beside the others, and by arrays that the
      sample does not track where the backward gives any. They are the same for other strides and with each argument tracked
      alone, and grow as what comes in does. None has gone through single precision, or overflows where the output does not.
    - `test_jvp`: the operator's own jvp rule agrees with finite differences, for one tangent and for all at once.

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
        The arguments that keep the sample's values and lengths in every run, for they belong together: indices, pointers,
        the parents of a tree. A permutation of the numbers from 0 stays one of itself.
    isolate : bool
        Whether the checks run in a child process, so that a kernel that crashes, hangs or takes all memory is a line of the
        report. A debugger, a profiler and a kernel that counts its calls want False. Arrays that are not in the memory of the
        CPU are checked in this process, and so is what cannot be run in another, where there is no `os.fork`: an operator that
        was not defined in a module, or arguments that cannot be pickled. The report says so.
    timeout : float
        Seconds that a call may take in the child process.

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

    Notes
    -----
    The kernel is its own oracle, so that some faults cannot be told: values that are wrong for every layout and in every call,
    single precision in the middle of a kernel, threads that meet, what depends on the time or the process, a gradient where
    finite differences say nothing.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> opcheck("np::sin", (dispatch.tensor(np.ones((2, 3)), requires_grad=True),))["test_gradients"]
    'SUCCESS'
    """
    __tracebackhide__ = True
    for name, flag in (("raise_exception", raise_exception), ("isolate", isolate)):
        check_flag(flag, f"opcheck: {name}")
    checks = _chosen(test_utils)
    tolerance(np.dtype(float), rtol=rtol, atol=atol)  # refuses one without the other
    if active_mode(DispatchKey.FAKE) is not None:
        said = "opcheck runs kernels on arrays, and a FakeTensorMode is on, under which none runs"
        raise ArgumentError(f"{said}. Call it outside of the mode's block.")
    op = _single(op)
    case = one_call(op, *_sample(op, args, kwargs))
    _check_timeout(timeout)
    options = _options(case, rtol, atol, eps, gradients, fixed)._replace(timeout=timeout)
    names = ("test_schema", *(name for name in checks if name != "test_schema"))  # which tells whether the sample can be run
    here = _reason_to_stay(case) if isolate else ""
    outcomes: list[Any] = []
    if isolate and not here:
        outcomes = list(_run_isolated(case, names, options, timeout))
        if outcomes and isinstance(outcomes[-1], Unfit):
            here, outcomes = f"a new process cannot run it: {outcomes[-1].why}", []
    outcomes = outcomes or list(_run(case, names, options))
    made, runs = {name: findings for name, findings, _ in outcomes}, outcomes[-1][2]
    if here:
        made[checks[0]].advise("here", f"{case.name} was checked in this process: {here}")
    found = {name: made[name] for name in checks}
    report = Report(case.name, case.given(), found if runs else {"test_schema": made["test_schema"]} | found)
    if raise_exception:
        report.raise_failures()
    return report


def _sample(op: OpOverload, args: Any, kwargs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Return the arguments of a sample; an array in place of the tuple would be taken apart, row by row."""
    if isinstance(args, Sample):
        said = "opcheck: args is a tuple of the operator's arguments, and a Sample was given"
        raise ArgumentError(f"{said}. Write opcheck(op, sample.args, sample.kwargs).")
    if not isinstance(args, (tuple, list)):
        names = op.arguments.names[: op.arguments.positional] or ("x",)
        said = f"opcheck: args is a tuple of the operator's arguments, and {kind_of(args)} was given"
        raise ArgumentError(f"{said}. Write ({', '.join(names)}{',' * (len(names) == 1)}).")
    if kwargs is not None and not isinstance(kwargs, Mapping):
        raise ArgumentError(
            f"opcheck: kwargs is a dict of the arguments by keyword, and {kind_of(kwargs)} was given. Others stand in args, "
            "(x, y)."
        )
    return tuple(args), dict(kwargs or {})


Outcome = tuple[str, Findings, bool]


def _reason_to_stay(case: Case) -> str:
    """Return why the checks cannot run in a child process; empty if they can."""
    away = sorted({device for x in case.arrays if (device := device_of(x)) not in (None, "cpu")})
    if away:
        return f"its arrays are on {' and '.join(away)}, which a child process does not share."
    if current_process().daemon:
        return "this one is a worker of multiprocessing, which may have no children."
    if has_fork():
        return ""
    module = case.op.defined_in[0]
    if module in ("", "__main__") or module not in sys.modules:
        return "there is no os.fork here, and a new process cannot import the operator. Define it in a module."
    try:
        pickle.dumps(case.args)
    except Exception as error:
        return f"there is no os.fork here, and its arguments cannot be pickled: {error}"
    return ""


def _run_isolated(case: Case, names: tuple[str, ...], options: Options, timeout: float) -> Iterator[Outcome | Unfit]:
    """Run checks in a child, and those that are left in another where one ends it; yield `Unfit` if there can be none."""
    left, runs = names, True
    while left:
        work = partial(_work, case, left, options, runs)
        children = run_in_fork(work, timeout) if has_fork() else run_in_new(work, timeout)
        for outcome in children:
            if isinstance(outcome, Unfit):
                yield outcome
                return
            if isinstance(outcome, Ended):
                findings = _of_death(case, left[0], outcome)
                if "return within" in outcome.how:  # a kernel that has hung once may hang in every check
                    timeout = min(timeout, IMPATIENCE)
                runs = runs and not (left[0] == "test_schema" and not outcome.what.startswith(" on the sample "))
                yield left[0], findings, runs
                if outcome.hung:  # what hangs once hangs again, and each time is a wait
                    yield from _not_run(case, left[1:], left[0])
                    return
            else:
                yield outcome
                runs = outcome[2]
            left = left[1:]


def _not_run(case: Case, names: Sequence[str], hung: str) -> Iterator[Outcome]:
    """Skip the checks after one in which a call did not return."""
    for name in names:
        findings = Findings(case.name)
        findings.skip(f"a call did not return in time, see {hung}")
        yield name, findings, hung != "test_schema"


def _work(case: Case, names: tuple[str, ...], options: Options, runs: bool, say: Any) -> Iterator[Outcome]:
    """Be the child, and run checks."""
    yield from _run(case._replace(say=say), names, options, runs)


def _of_death(case: Case, check: str, ended: Ended) -> Findings:
    findings = Findings(case.name)
    what, sample = ("", f" ({case.given()})") if not ended.what else (ended.what, "")
    doer = f"the {case.kernel}" if check == "test_schema" else f"the {case.kernel}, or the rule under check,"
    advice = ""
    if what.startswith(" on the sample "):
        advice = (
            " Refuse such arguments with an exception; arguments that belong together, as indices and what they point into, "
            'are kept by fixed=("indices",).'
        )
    elif ended.hung:
        advice = " If threads or a device that were started before make it wait, check it in this process: isolate=False."
    findings.fault("died", f"{doer} {ended.how}{what}{sample}.{advice}")
    return findings


def _run(case: Case, names: Sequence[str], options: Options, runs: bool = True) -> Iterator[Outcome]:
    """Run checks one by one; yield the name and the findings of each, and whether the kernel gives a result on the sample."""
    with validate("default"):  # these checks look closer, and say what they find
        past_first_call(case.op)
        for name in names:
            findings = Findings(case.name)
            if name == "test_schema":
                runs = not _subclasses(case, findings) and check_schema(case, findings, options)
            elif runs:
                _CHECKS[name](case, findings, options)
            else:
                findings.skip("the sample gives no result, see test_schema")
            yield name, findings, runs


def _options(case: Case, rtol: Any, atol: Any, eps: Any, gradients: Any, fixed: Any) -> Options:
    check_word(gradients, "opcheck: gradients=", ("compare", "exist"))
    if eps is not None and not (isinstance(eps, (int, float)) and 0 < eps < 1):
        raise ArgumentError(f"opcheck: eps= is the step of finite differences, between 0 and 1, and was given {shown(eps)}.")
    if not isinstance(fixed, Iterable):
        raise ArgumentError(f'opcheck: fixed= has names of arguments, ("indices",) say, and was given {kind_of(fixed)}.')
    names = (fixed,) if isinstance(fixed, str) else tuple(fixed)
    for name in names:
        if name not in case.op.arguments.names:
            known = ", ".join(case.op.arguments.names)
            close = did_you_mean(str(name), case.op.arguments.names)
            raise ArgumentError(f"opcheck: {case.name} has no argument {name!r} to keep fixed.{close} Its arguments: {known}.")
    return Options(rtol, atol, eps, gradients, frozenset(names))


def _check_timeout(timeout: Any) -> None:
    if not (isinstance(timeout, (int, float)) and timeout > 0):
        raise ArgumentError(f"opcheck: timeout= is a number of seconds above 0, and was given {shown(timeout)}.")


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
        called = made_of(op) or " Write opcheck(op, (x,)): the operator, and a tuple of its arguments." * hasattr(op, "shape")
        raise ArgumentError(f"opcheck checks an operator or its name, 'ns::name', and was given {kind_of(op)}.{called}")
    return op


def _chosen(test_utils: Any) -> tuple[str, ...]:
    if not isinstance(test_utils, Sequence):
        raise ArgumentError(f"opcheck: test_utils is the name of a check, or several, and {kind_of(test_utils)} was given.")
    names = ALL if test_utils == "ALL" else (test_utils,) if isinstance(test_utils, str) else tuple(test_utils)
    for name in names:
        if name not in ALL:
            raise ArgumentError(
                f"opcheck has no check {name!r}.{did_you_mean(str(name), ALL)} Checks: {', '.join(ALL)}, or 'ALL'."
            )
    if not names:
        raise ArgumentError(f"opcheck was given no check to run. Checks: {', '.join(ALL)}, or 'ALL'.")
    return names
