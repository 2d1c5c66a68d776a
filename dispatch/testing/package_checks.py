"""Checks every operator of a package with samples made from its schema: what `npdispatch check` prints."""

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from ..core import DispatchKey, OpOverload, ground
from ..errors import ArgumentError, OpCheckError
from ..layers.autograd import CONSTANT, track
from .cases import map_arrays
from .child_process import Ended, has_fork, run_in_fork
from .operator_checks import opcheck
from .sampled_arguments import Sample, samples

MOST_SAMPLES = 3  # of one operator
PATIENCE = 20.0  # seconds that a kernel may take on one of them


class Outcome(NamedTuple):
    """What one check of an operator gave on one sample.

    Attributes
    ----------
    operator : str
        Its full name.
    sample : str
        The shapes of the sample's arrays.
    check : str
        The name of the check; `"samples"` where no sample could be made.
    verdict : str
        `"SUCCESS"`, `"SKIPPED"` or `"FAILED"`.
    said : str
        Why it was skipped, or what is wrong.
    """

    operator: str
    sample: str
    check: str
    verdict: str
    said: str


def check_operators(
    operators: Iterable[OpOverload], *, most: int = MOST_SAMPLES, isolate: bool = True
) -> Iterator[tuple[OpOverload, list[Outcome]]]:
    """Run `opcheck` on operators, each with samples made from its schema.

    Parameters
    ----------
    operators : iterable of OpOverload
    most : int
        How many samples an operator is checked with.
    isolate : bool
        As in `opcheck`.

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
    for op in operators:
        found = _samples(op, most, isolate=isolate)
        yield op, [outcome for sample in found for outcome in _checked(op, sample, isolate=isolate)]


def _samples(op: OpOverload, most: int, *, isolate: bool) -> list[Sample | Outcome]:
    """Return samples of an operator, or what is to be said in their place: the kernel runs to tell what it accepts."""
    apart = isolate and has_fork()
    found: list[Sample | Outcome] = []
    for sample in run_in_fork(partial(_made, op, most), PATIENCE) if apart else _made(op, most):
        if isinstance(sample, Ended):
            said = f"{op.name}: its kernel {sample.how} on arguments that were made from the schema."
            found.append(Outcome(op.name, "", "samples", "FAILED", said))
        else:
            found.append(sample)
    said = "its kernel accepts none of the arguments that were made from its schema"
    return found or [Outcome(op.name, "", "samples", "SKIPPED", said)]


def _made(op: OpOverload, most: int, say: object = None) -> Iterator[Sample | Outcome]:
    try:
        yield from islice(samples(op), most)
    except ArgumentError as error:
        yield Outcome(op.name, "", "samples", "SKIPPED", str(error))


def _checked(op: OpOverload, sample: Sample | Outcome, *, isolate: bool) -> Iterator[Outcome]:
    if isinstance(sample, Outcome):
        yield sample
        return
    args, keywords = (sample.args, sample.kwargs)
    if _has_gradient(op):
        args, keywords = _tracked(args), dict(zip(keywords, _tracked(tuple(keywords.values())), strict=True))
    try:
        report = opcheck(op, args, keywords, raise_exception=False, isolate=isolate)
    except OpCheckError as error:
        yield Outcome(op.name, sample.what, "opcheck", "FAILED", str(error))
        return
    for name, verdict, said in report.rows:
        yield Outcome(op.name, sample.what, name, verdict, said)


def _has_gradient(op: OpOverload) -> bool:
    rules = [op.table.source(key) for key in (DispatchKey.AUTOGRAD, DispatchKey.JVP)]
    return any(found is not None and found.rule is not CONSTANT for found in rules)


def _tracked(args: tuple[Any, ...]) -> tuple[Any, ...]:
    def one(x: Any) -> Any:
        return track(np.array(x), ground()) if x.dtype.kind in "fc" else x

    return tuple(map_arrays(one, x) for x in args)
