"""One call of a kernel in guarded memory, and what came of it: what `test_schema` looks at."""

import warnings
from collections.abc import Collection, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import Any, NamedTuple

import numpy as np

from ..core import DispatchKey, OpOverload, Tensor
from ..core.pytree import items_of
from ..errors import NoKernelError
from ..schema.tags import Tag
from .allocations import Allocations
from .cases import Case, arrays_in, named_outputs
from .closeness import difference
from .guarded_memory import Guarded

FILLINGS = 0x45, 0x3B  # bytes of memory that nobody has written: as floats they are large and small, and never nan


class Run(NamedTuple):
    """The outcome of one call of the kernel.

    `stray` says how many arrays that it made it wrote beside, and `reshaped` which arguments are no longer what they were:
    arrays of another shape or flags, lists or dicts that hold something else.
    """

    guards: list[Guarded]
    outputs: list[Any]
    error: Exception | None
    stray: int
    reshaped: list[str]

    def changed(self, declared: list[bool]) -> list[int]:
        """The arrays that were written to without being declared."""
        return [i for i, guard in enumerate(self.guards) if not declared[i] and guard.changed]


def run(
    case: Case, written: list[bool], *, readonly: bool, other_guards: bool = False, other_filling: bool = False,
    around: AbstractContextManager[object] | None = None,
) -> Run:  # fmt: skip
    """Call the operator on guarded copies; those that it may not write to can be made read-only.

    What stands beside the arguments, and in memory that the kernel gets from NumPy, can be other bytes than usual. `around` is
    entered for the call alone.
    """
    keeps = keeps_writeable(case)
    guards = [
        Guarded(x, writeable=may or keep or not readonly, zeros=other_guards)
        for x, may, keep in zip(case.arrays, written, keeps, strict=True)
    ]
    args = case.with_arrays([guard.array for guard in guards])
    before = _metadata(args)
    outputs: list[Any] = []
    error, made = None, Allocations(0)
    with quietly():
        try:
            with around or nullcontext(), Allocations(FILLINGS[other_filling]) as made:
                outputs = case.call(args)
        except Exception as failure:  # whatever a kernel raises is a finding
            error = failure
    reshaped = [name for name, old, new in zip(case.op.arguments.names, before, _metadata(args), strict=True) if old != new]
    return Run(guards, outputs, error, made.broken, reshaped)


def past_first_call(op: OpOverload) -> None:
    """Let no call of an operator be its kernel's first, which raises for an undeclared write: the checks say more of it."""
    with suppress(NoKernelError):
        op.at(DispatchKey.CPU)


def _metadata(args: tuple[Any, ...]) -> list[Any]:
    return [_snapshot(value) for value in args]


def _snapshot(x: Any) -> Any:
    """What a kernel could change of an argument beside the elements of arrays; other objects are as they are."""
    if isinstance(x, (np.ndarray, Tensor)):
        return (id(x), x.shape, x.strides, x.dtype, getattr(getattr(x, "flags", None), "writeable", None))
    if isinstance(x, dict):
        return tuple([(key, _snapshot(value)) for key, value in x.items()])
    if (items := items_of(x)) is not None:
        return tuple(map(_snapshot, items))
    return x if isinstance(x, (int, float, complex, str, bytes)) else id(x)


def written_arrays(case: Case) -> list[bool]:
    """Return for each array of a case whether the schema lets the kernel write to it."""
    loose = Tag.maybe_aliasing_or_mutating in case.op.tags
    flags = []
    for argument, x in zip(case.op.schema.arguments, case.args, strict=True):
        flags += [loose or argument.is_write] * len(arrays_in(x))
    return flags


@contextmanager
def quietly() -> Iterator[None]:
    """Silence floating-point warnings: the odd values are the check's, not the user's."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def longer_lists_used(case: Case, kept: Collection[str] = ()) -> Iterator[Case]:
    """Return the case with one array more in each list, where the kernel takes it and does something else then.

    One that looks at the first two alone, and takes more, is not meant for more.
    """
    for more in case.longer_lists(kept):
        written = [written_arrays(x) for x in (case, more)]
        runs = [run(x, flags, readonly=False) for x, flags in zip((case, more), written, strict=True)]
        pairs = zip(*map(results, (case, more), runs, written), strict=False)
        if runs[1].error is None and any([difference(x, y) is not None for (_, x), (_, y) in pairs]):
            yield more


def results(case: Case, made: Run, written: list[bool]) -> list[tuple[str, Any]]:
    """Return all results of a call: its outputs, numbers too, and the arguments it wrote to."""
    found = named_outputs(made.outputs)
    found += [(f"output {i}", x) for i, x in enumerate(made.outputs) if not arrays_in([x]) and _has_equality(x)]
    pairs = zip(case.labels, made.guards, written, strict=True)
    return found + [(f"its argument {label}", guard.array) for label, guard, may in pairs if may]


def _has_equality(x: Any) -> bool:
    """Whether two values of a class can be compared: arrays of a user's class may be equal to themselves alone."""
    equality: Any = type(x).__eq__
    return x is not None and equality is not object.__eq__


def keeps_writeable(case: Case) -> list[bool]:
    """Return for each array of a case whether a hint asks for one that can be written to."""
    flags = []
    for argument, x in zip(case.op.schema.arguments, case.args, strict=True):
        flags += ["writeable" in argument.layout] * len(arrays_in(x))
    return flags
