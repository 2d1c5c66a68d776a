"""Checks every operator of a package, each with samples: what `npdispatch check` prints and `pytest --opcheck` runs."""

import math
import os
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import count, islice
from typing import Any, NamedTuple

import numpy as np

from ..core import DispatchKey, OpOverload, Tensor, ground
from ..core.pytree import leaves
from ..dispatcher.layer import find_layer
from ..errors import ArgumentError, DispatchError, did_you_mean
from ..layers.autograd import CONSTANT, track
from ..operators.functional_variant import form_of
from .cases import map_arrays
from .child_process import Ended, Say, has_fork, run_in_fork
from .generated_tests import ACCEPT, Failures
from .operator_checks import ALL, opcheck
from .sampled_arguments import Sample, made, sample_function

MOST_SAMPLES = 3  # of one operator
PATIENCE = 20.0  # seconds that a kernel may take on one of them
OF_GRADIENTS = ("test_autograd_registration", "test_gradients", "test_jvp")
TESTS = (*ALL, "samples", "has_fake", "has_gradient", "has_vmap")  # what can be known to fail
SUCCESS, SKIPPED, FAILED, XFAILED = "SUCCESS", "SKIPPED", "FAILED", "XFAILED"
# What every operator can be asked to have: the keys of its rules, the layer that may make one of another rule, how to add one.
REQUIREMENTS: dict[str, tuple[tuple[DispatchKey, ...], tuple[str, ...], str]] = {
    "fake": ((DispatchKey.FAKE,), ("fake",), "register_fake"),
    "gradient": ((DispatchKey.AUTOGRAD, DispatchKey.JVP), ("autograd", "jvp"), "register_autograd"),
    "vmap": ((DispatchKey.VMAP,), ("vmap",), "register_vmap"),
}


class Outcome(NamedTuple):
    """What one check of an operator gave on one sample.

    Attributes
    ----------
    operator : str
        Its full name.
    sample : str
        The arguments: the shapes of its arrays, and other values.
    check : str
        The name of the check; `"samples"` where no sample could be made, `"has_fake"` and its kin for what is required.
    verdict : str
        `"SUCCESS"`, `"SKIPPED"`, `"FAILED"`, or `"XFAILED"` for a failure that is known.
    said : str
        Why it was skipped, or what is wrong.
    """

    operator: str
    sample: str
    check: str
    verdict: str
    said: str

    @property
    def test(self) -> str:
        """Which test this is the outcome of: `"test_vmap[(2, 3)]"`."""
        return name_of_test(self.check, self.sample)


def name_of_test(check: str, sample: str) -> str:
    """Return the name of a test: that of the check and the sample."""
    return f"{check}[{sample}]" if sample else check


def check_operators(
    operators: Iterable[OpOverload],
    *,
    most: int = MOST_SAMPLES,
    isolate: bool = True,
    timeout: float = PATIENCE,
    require: Sequence[str] = (),
    failures: Failures | None = None,
) -> Iterator[tuple[OpOverload, list[Outcome]]]:
    """Run `opcheck` on operators, each with its samples.

    Parameters
    ----------
    operators : iterable of OpOverload
    most : int
        How many samples an operator is checked with.
    isolate : bool
    timeout : float
        As in `opcheck`.
    require : sequence of str
        What every operator must have: `"fake"`, `"gradient"`, `"vmap"`.
    failures : Failures, optional
        What is known to fail. What is known and passes is a fault.

    Yields
    ------
    op : OpOverload
    outcomes : list of Outcome
        One for each check and sample.

    Examples
    --------
    >>> import dispatch
    >>> [(op, outcomes)] = check_operators([dispatch.ops.np.sin], most=1)
    >>> {outcome.verdict for outcome in outcomes}
    {'SUCCESS'}
    """
    known = Failures(None) if failures is None else failures
    for op in operators:
        known.check_tests(op.name, TESTS)
        outcomes = list(required_of(op, require))
        for sample in samples_of(op, most, isolate=isolate, timeout=timeout):
            outcomes += check_sample(op, sample, known=known, isolate=isolate, timeout=timeout)
        yield op, [judged(outcome, known) for outcome in outcomes]


def samples_of(op: OpOverload, most: int, *, isolate: bool, timeout: float) -> list[Sample | Outcome]:
    """Return samples of an operator, no two of one name, or what is to be said in their place.

    The kernel runs to tell what it accepts.
    """
    apart = isolate and has_fork() and sample_function(op) is None  # what that gives may be nothing that can be pickled
    found: list[Sample | Outcome] = []
    taken: set[str] = set()
    for sample in run_in_fork(partial(_made, op, most), timeout) if apart else _made(op, most):
        if isinstance(sample, Ended):
            advice = f"Refuse such arguments with an exception, or give it samples: @{op.schema.name}.register_samples."
            said = f"{op.name}: its kernel {sample.how} on arguments that were made from the schema{sample.what}. {advice}"
            found.append(Outcome(op.name, "", "samples", FAILED, said))
        elif isinstance(sample, Outcome):
            found.append(sample)
        else:
            name = next(name for name in _names(sample.what or "()") if name not in taken)
            taken.add(name)
            found.append(sample._replace(what=name))
    return found or [Outcome(op.name, "", "samples", SKIPPED, "its sample function gives none")]


def _names(what: str) -> Iterator[str]:
    yield what
    yield from (f"{what} #{i}" for i in count(2))


def _made(op: OpOverload, most: int, say: Say | None = None) -> Iterator[Sample | Outcome]:
    try:
        yield from islice(made(op, say=say), most)
    except ArgumentError as error:
        verdict = FAILED if isinstance(error.__cause__, MemoryError) else SKIPPED
        yield Outcome(op.name, "", "samples", verdict, str(error))


def check_sample(
    op: OpOverload,
    sample: Sample | Outcome,
    wanted: Sequence[str] = ALL,
    *,
    known: Failures,
    isolate: bool = True,
    timeout: float = PATIENCE,
) -> list[Outcome]:
    """Run `opcheck` on one sample; where the operator has a gradient, its floating-point arrays are tracked."""
    if isinstance(sample, Outcome):
        return [sample]
    left_out = [name for name in wanted if status_of(known, op.name, name, sample.what) == "skip"]
    outcomes = [Outcome(op.name, sample.what, name, SKIPPED, f"{known.path} says so") for name in left_out]
    checks = [name for name in wanted if name not in left_out]
    if not checks:
        return outcomes
    args, keywords = sample.args, sample.kwargs
    derived = _has_gradient(op)
    if derived and not any(isinstance(x, Tensor) for x in leaves((args, keywords))):
        args, keywords = _tracked(args), dict(zip(keywords, _tracked(tuple(keywords.values())), strict=True))
    try:
        report = opcheck(
            op, args, keywords, test_utils=checks, raise_exception=False, gradients=sample.gradients, fixed=sample.fixed,
            isolate=isolate, timeout=timeout,
        )  # fmt: skip
    except DispatchError as error:  # a sample of the operator's own that is no call of it
        return [Outcome(op.name, sample.what, "samples", FAILED, str(error))]
    for name, verdict, said in report.rows:
        why = "it has no derivative" if verdict == SKIPPED and name in OF_GRADIENTS and not derived else said
        outcomes.append(Outcome(op.name, sample.what, name, verdict, why))
    return outcomes


def _has_gradient(op: OpOverload) -> bool:
    rules = [op.table.source(key) for key in (DispatchKey.AUTOGRAD, DispatchKey.JVP)]
    return any(found is not None and found.rule is not CONSTANT for found in rules)


def _tracked(args: tuple[Any, ...]) -> tuple[Any, ...]:
    def one(x: Any) -> Any:
        return track(np.array(x), ground()) if x.dtype.kind in "fc" else x

    return tuple(map_arrays(one, x) for x in args)


# -- what is required, and what is known ---------------------------------------------------------------------------------


def checked_requirements(words: Iterable[str]) -> tuple[str, ...]:
    """Return what is required of every operator, `"fake,vmap"` taken apart, or raise for what nobody can require."""
    found = tuple(word for text in words for word in text.replace(",", " ").split())
    for word in found:
        if word not in REQUIREMENTS:
            known = ", ".join(REQUIREMENTS)
            near = " Write gradient." if word in ("autograd", "backward", "grad") else did_you_mean(word, REQUIREMENTS)
            raise ArgumentError(f"{word!r} cannot be required.{near} What can: {known}.")
    return found


def check_limits(samples: int, timeout: float, before: str = "--") -> None:
    """Raise for a number of samples, or of seconds, of which there are none; `before` is how the options begin."""
    if samples < 1:
        raise ArgumentError(f"{before}samples is how many an operator is checked with, at least 1, and was {samples}.")
    if not (math.isfinite(timeout) and timeout > 0):
        raise ArgumentError(f"{before}timeout is how many seconds a call may take, above 0, and was {timeout:g}.")


def required_of(op: OpOverload, require: Sequence[str]) -> Iterator[Outcome]:
    """Say for each requirement whether the operator meets it."""
    for word in require:
        keys, layers, verb = REQUIREMENTS[word]
        has = any(op.table.source(key) is not None for key in keys) or any(find_layer(name).derived(op) for name in layers)
        if has:
            verdict, said = SUCCESS, ""
        elif word == "fake" and -1 not in form_of(op.schema).returned:
            verdict, said = SKIPPED, "nothing but what it writes to comes back"
        elif word != "fake" and not any(a.type.has_tensor for a in op.schema.arguments):
            verdict, said = SKIPPED, "it takes no array"
        else:
            verdict = FAILED
            said = f"{op.name} has no {word} rule, and every operator is to have one. Add it: @{op.schema.name}.{verb}."
        yield Outcome(op.name, "", f"has_{word}", verdict, said)


def status_of(known: Failures, op: str, check: str, sample: str) -> str:
    """What is known of a check on a sample, or of the check on every sample."""
    return known.status(op, name_of_test(check, sample)) or known.status(op, check)


def judged(outcome: Outcome, known: Failures) -> Outcome:
    """Return an outcome as it is reported, given what is known to fail; `DISPATCH_OPCHECK_ACCEPT=1` brings that up to date."""
    expected = status_of(known, outcome.operator, outcome.check, outcome.sample) == "xfail"
    failed = outcome.verdict == FAILED
    if failed == expected:
        return outcome._replace(verdict=XFAILED) if failed else outcome
    if os.environ.get(ACCEPT) == "1" and known.path is not None:
        known.enter(outcome.operator, outcome.test, "xfail" if failed else "")
        return outcome._replace(verdict=XFAILED) if failed else outcome
    if failed:
        return outcome
    does = "passes" if outcome.verdict == SUCCESS else f"is skipped ({outcome.said})"
    said = (
        f"{outcome.operator}: {outcome.test} {does}, and {known.path} says that it fails. Remove it there, or run this with "
        f"{ACCEPT}=1."
    )
    return outcome._replace(verdict=FAILED, said=said)
