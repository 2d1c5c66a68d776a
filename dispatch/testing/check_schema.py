"""The check `test_schema`: a kernel does to its arguments what its schema says, and nothing else.

Kernels get copies in guarded memory. Arguments that are not declared as written are read-only and are compared byte for byte
afterwards, because C code ignores the flag. Other values and layouts follow, because a write may be in a branch.
More than 350 lines, since each fault is a few lines of code and a few of words.
"""

import os
import re
from collections.abc import Callable, Iterator
from gc import collect, disable, enable, isenabled
from itertools import chain, combinations, islice, pairwise
from pathlib import Path
from threading import active_count
from tracemalloc import get_traced_memory, is_tracing, start, stop
from typing import Any
from weakref import ref

import numpy as np

from ..core import check_data, share_memory
from ..errors import AliasError, ArgumentError, OutputError, how_many
from ..schema.schema import Argument, Return
from ..schema.tags import Tag
from .cases import Case, Options, another, arrays_in, map_arrays, named_outputs
from .child_process import PATIENCE, Elsewhere, has_fork
from .closeness import difference
from .guarded_memory import allocated_by_c, same_bytes
from .hidden_state import Changes, Orders, Watched
from .kernel_runs import Run, quietly, results, run, written_arrays
from .lost_digits import went_through_single
from .report import Findings
from .risky_runs import RiskyRuns
from .variants import (
    COMPLEX,
    EMPTY,
    FEWER,
    MORE,
    NONE,
    ONE,
    double_precision,
    layouts,
    lists,
    named,
    numbers,
    other_kinds,
    others,
    single_precision,
    sizes,
    smaller_integers,
    values,
    whole_memory,
    wider_integers,
    zeros_and_ones,
)

ROUGHLY = 0.1  # of the largest value: what float32 may differ from float64 by, however the kernel is conditioned
CANCELLED = 1e-6  # of the largest argument, or of its square: what is left in single precision of a result that is 0
APART = ("with reversed strides", "with steps", "with reversed rows", "as part of longer rows")  # with other bytes between
SENTINELS = 77, 101  # an out argument is filled with, and numbers of every dtype
# of the sample's; more are tried where shapes are compared, which no kernel is without a fake rule
SIZES = ("with every length one more", f"with length {ONE} ", EMPTY)
MOST_KEPT = 16 * 1024  # bytes of a call that may stay: what counts calls, or writes them down, is small
MOST_OF_INT32 = 1 << 15  # results below it do not come of products that were too large
OPEN_FILES = Path("/dev/fd")  # has an entry for each, where there is one
CACHED_BY_C = 12  # calls: malloc() keeps some blocks of a size for the next, and counts them as in use
SMALLEST_OF_C = 512  # bytes: Python has memory of its own for smaller objects, and what a check traces keeps some too
MOST_PAIRS = 3  # of arguments that are given as one array: each is two runs
MOST_ELSEWHERE = 1 << 20  # bytes of arguments, beyond which no process is copied to call the kernel otherwise
MOST_HELD = 150  # calls: more than functools.lru_cache keeps
MOST_OF_POOL = 16  # more calls, each with one thread more: a pool starts one only where none of its own is idle
OUT = re.compile(r"(.*_)?(out|output|result|dst|dest)(_.*|\d*)")  # the names of arguments that are written and not read


def check_schema(case: Case, findings: Findings, options: Options) -> bool:
    """Find undeclared writes and aliases, and results that differ between equal calls or layouts.

    Returns whether the sample gives a result; without one nothing else can be checked.
    """
    written, random = written_arrays(case), Tag.random in case.op.tags
    orders = Orders(case, written, options)
    risky = RiskyRuns(case, written, options, lambda varied, findings: _look(varied, findings, options))
    look_elsewhere = _elsewhere(case, orders, risky, options)
    with Watched() as watched:
        first = run(case, written, readonly=False, around=watched.call())
        given = [x.copy() for _, x in named_outputs(first.outputs)]
        again = run(case, written, readonly=False, other_guards=True, other_filling=True, around=watched.call())
    if first.error is not None:
        look_elsewhere(None)
        _kernel_failed(case, findings, first.error)
        return False
    touched = {i for i, guard in enumerate(first.guards) if written[i] and guard.changed}
    _undeclared_writes(case, findings, first, written)
    _overruns(case, findings, first)
    _aliases(case, findings, first)
    _objects(case, findings, first)
    _classes(case, findings, first)
    findings.runs += 2
    watched.report(case, findings)
    if not random:
        _repeated(case, findings, first, again, written, options)
    for varied in _varied(case, options):
        may, again = _look(varied, findings, options)
        _late(case, findings, first, given)
        if may == written:
            touched |= {i for i, guard in enumerate(again.guards) if may[i] and guard.changed}
    if not random:
        if not any(fault[0] == "repeat" for fault in findings.faults):  # one cause is said once
            _layouts(case, findings, first, written, options)
            _one_array(case, findings, written, options)
        if not findings.faults:
            _promises(case, findings, first, written, options)
            _precision(case, findings, first, written, options)
            _narrow_integers(case, findings, first, written, options)
    if not findings.faults:
        _of_other_kinds(case, findings, written, options)
    _left_out(case, findings, written)
    signs = (made for made in values(case.args, case.places(options.fixed) | case.integers) if made[0] == "negated")
    for what, args in (*islice(sizes(case.args, case.places(options.fixed)), 1), *signs) if any(written) else ():
        _left_out(case.with_args(args, f" on the sample {what}"), findings, written)
    if not findings.faults:
        _kept_for_good(case, findings, written)
    _readonly(case, findings, written)
    _undeclared_writes(case._replace(what=" after the call"), findings, first, written)
    _late(case, findings, first, given)
    look_elsewhere(None if findings.faults else findings)
    for i in set(np.flatnonzero(written)) - touched:
        if not case.op.schema.returns and not _writes(case, written, int(i)):
            findings.fault(
                ("never written", i),
                f"the {case.kernel} is said to write to {case.labels[i]}, and no call changed it. Write into the array itself, "
                f"{_base(case.labels[i])}[...] = y: {_base(case.labels[i])} = y binds a name.",
            )
        elif case.arrays[i].size and Tag.maybe_aliasing_or_mutating not in case.op.tags:
            findings.advise(
                ("never written", i),
                f"{case.name} says it writes to {case.labels[i]}, and no run changed it. If it never does, leave it "
                "out of "
                "mutates_args: readers of a schema must assume the write.",
            )
    return True


def _elsewhere(case: Case, orders: Orders, risky: RiskyRuns, options: Options) -> Callable[[Findings | None], None]:
    """Copy the child process, as it is before the first call, and return what records what was found there, or lets it go.

    In the user's own process nothing is copied and nothing found.
    """
    if case.say is None or not has_fork() or sum(x.nbytes for x in case.arrays) > MOST_ELSEWHERE:
        return lambda findings: None
    copy = Elsewhere(lambda: chain(orders.calls(), risky.calls()), options.patience(PATIENCE))

    def look(findings: Findings | None) -> None:
        found, ended = copy.results(asked=findings is not None)
        count = len(orders.early)
        if findings is not None and len(found) >= count:
            orders.compare(findings, found[:count])
            risky.report(findings, found[count:], ended)

    return look


def _look(case: Case, findings: Findings, options: Options) -> tuple[list[bool], Run]:
    """Run a variant of the sample and look for writes, aliases and what depends on other memory than the arguments."""
    may = written_arrays(case)
    changes = Changes()
    made = run(case, may, readonly=True, around=changes.call())
    if made.error is not None and not made.changed(may):
        made = run(case, may, readonly=False, around=changes.call())
    changes.report(case, findings)
    findings.runs += 1
    if isinstance(made.error, AliasError) and FEWER in case.what:  # a sum over one array is that array: the call raises
        findings.advise("one", f"{made.error} That is so{case.what} ({case.given()}).")
        return may, made
    if isinstance(made.error, OutputError) and NONE in case.what:  # the sum over none is a number: the call raises
        return may, made
    _undeclared_writes(case, findings, made, may)
    _overruns(case, findings, made)
    if made.error is None:
        _aliases(case, findings, made)
    if made.error is None and not (Tag.random in case.op.tags or findings.faults):
        _unwritten(case, findings, may, options)
    return may, made


def _writes(case: Case, written: list[bool], i: int) -> bool:
    """Whether a call changes an argument that has a value of its own: what is copied into it may have been in it before."""
    arrays = [np.full_like(x, SENTINELS[0]) if k == i else x for k, x in enumerate(case.arrays)]
    return run(case.with_args(case.with_arrays(arrays)), written, readonly=False).guards[i].changed


def _varied(case: Case, options: Options) -> Iterator[Case]:
    """Return the case with other values, and without arguments that may be left out: a write may be in a branch."""
    names = case.op.arguments.names
    kept = case.places(options.fixed) | case.integers
    for what, args in (*values(case.args, kept), *numbers(case.args, names, options.fixed, special=True)):
        yield case.with_args(args, f" on the sample {named(what, names)}")
    yield from case.branches(options.fixed)
    yield from case.nones(options.fixed)
    for what, args in sizes(case.args, case.places(options.fixed), only_longer=bool(case.integers)):
        if what.startswith(SIZES):
            yield case.with_args(args, f" on the sample {what}")
    for what, args in lists(case.args, names, options.fixed):
        if what.startswith((FEWER, MORE, NONE)):
            yield case.with_args(args, f" on the sample {what}")


def _kernel_failed(case: Case, findings: Findings, error: Exception) -> None:
    if isinstance(error, OutputError):
        text = str(error).removeprefix(f"{case.name}: ")
        findings.fault("output", f"{text} That is so{case.what} ({case.given()})." if case.what else text, error)
    else:
        findings.fault(
            "kernel",
            f"the {case.kernel} raises {type(error).__name__} on the sample ({case.given()}): {error}\n"
            + ("A check has a share of the memory that is free: " if isinstance(error, MemoryError) else "")
            + "Give opcheck arguments that the operator computes on.",
            error,
        )


def _undeclared_writes(case: Case, findings: Findings, made: Run, written: list[bool]) -> None:
    if isinstance(made.error, OutputError):
        _kernel_failed(case, findings, made.error)
    wrote = made.changed(written) or any(fault[0] == "write" for fault in findings.faults)  # for which it changed a flag
    for name in () if wrote else made.reshaped:
        findings.fault(
            ("reshaped", name),
            f"the {case.kernel} changes its argument '{name}' itself{case.what}: the shape or the flags of an array, or what "
            "a list or a dict holds. The caller holds it too; take a view, x.view(), or a copy, list(x).",
        )
    for i in made.changed(written):
        name = case.labels[i]
        findings.fault(
            ("write", i),
            f"the {case.kernel} writes to its argument {name}{case.what}, and the schema does not say so. "
            f"Compute on {_spelled(name)}.copy(), or declare it: mutates_args=({_base(name)!r},).",
            made.error,
        )


def _late(case: Case, findings: Findings, first: Run, given: list[Any]) -> None:
    """Find outputs that changed since the call returned them: a thread still writes, or a later call does."""
    for (name, x), before in zip(named_outputs(first.outputs), given, strict=True):
        if isinstance(x, np.ndarray) and not findings.faults and not same_bytes(x, before):
            findings.fault(
                ("late", name),
                f"{name} of the {case.kernel} changes after the call has returned it. Wait for the threads that write to it, "
                "and return a copy of what later calls write to.",
            )


def _base(label: str) -> str:
    return label.split("'")[1]


def _spelled(label: str) -> str:
    """A label as Python writes it: `xs[2]`, `state.position`."""
    return label.replace("'", "", 2)


def _overruns(case: Case, findings: Findings, made: Run) -> None:
    for i, guard in enumerate(made.guards):
        if guard.overrun:
            findings.fault(
                ("overrun", i),
                f"the {case.kernel} writes to memory beside its argument {case.labels[i]}{case.what}, of "
                f"{_layout(guard.array)}. "
                "Honour its shape and strides, or write to a contiguous array and copy.",
            )
    if made.stray:
        findings.fault(
            "stray",
            f"the {case.kernel} writes beside an array that it made{case.what}, before its first element or after its last. "
            "What is there belongs to others.",
        )


def _layout(x: Any) -> str:
    return f"shape {x.shape} and strides {x.strides}"


def _readonly(case: Case, findings: Findings, written: list[bool]) -> None:
    """Run again with read-only arguments and find the one that the kernel refuses."""
    made = run(case, written, readonly=True)
    _undeclared_writes(case, findings, made, written)
    if made.error is None or made.changed(written):
        return
    for i, may in enumerate(written):
        alone = [may or k != i for k, may in enumerate(written)]
        if not may and run(case, alone, readonly=True).error is not None:
            name = case.labels[i]
            if ("write", i) not in findings.faults:
                findings.fault(
                    ("read-only", i),
                    f"the {case.kernel} refuses a read-only array for {name} and writes nothing to it: "
                    f"{type(made.error).__name__}: {made.error}\n"
                    "Copy it before a change in place, or take it const (`const double[:]` in Cython): values on the tape are "
                    "read-only.",
                    made.error,
                )


def _aliases(case: Case, findings: Findings, made: Run) -> None:
    schema = case.op.schema
    if Tag.maybe_aliasing_or_mutating in case.op.tags:
        return
    inputs = [(a, label, guard.array) for (a, label), guard in zip(_owners(case), made.guards, strict=True)]
    outputs = [(_return_of(schema.returns, name), name, x) for name, x in named_outputs(made.outputs)]
    for k, (result, name, out) in enumerate(outputs):
        if not isinstance(out, np.ndarray):
            continue
        for argument, label, x in inputs:
            if not _related(result, argument) and share_memory(out, x):
                findings.fault(
                    ("alias", name, label),
                    f"{name} of the {case.kernel} shares memory with its argument {label}{case.what}, and the schema "
                    "does not "
                    "say so. Return a copy, or declare it: (Tensor(a) x) -> Tensor(a).",
                )
        for other_result, other, y in outputs[:k]:
            if isinstance(y, np.ndarray) and not _related(result, other_result) and share_memory(out, y):
                findings.fault(
                    ("alias", name, other),
                    f"{other} and {name} of the {case.kernel} share memory{case.what}: a write to one changes the "
                    "other. "
                    "Return a copy for one of them.",
                )
        if (
            result.alias is not None
            and result.alias.is_write
            and not any(_related(result, argument) and (share_memory(out, x) or not out.size) for argument, _, x in inputs)
        ):
            findings.fault(
                ("fresh", name),
                f"{name} of the {case.kernel} is declared to be the argument it writes to{case.what}, and is another "
                "array. "
                "Return the argument itself.",
            )


def _classes(case: Case, findings: Findings, made: Run) -> None:
    """Find arrays of a class that has more than its data, made of arrays that have none: a matrix, a masked array."""
    for name, out in named_outputs(made.outputs):
        try:
            check_data(out)
        except ArgumentError:
            cls = type(out)
            findings.fault(
                ("class", name),
                f"{name} of the {case.kernel} is a {cls.__module__}.{cls.__qualname__}: a plain call hands it on, and "
                "gradients, batches, shapes and graphs are of the data alone. Return np.asarray(result), and what the class "
                "has beside it, a mask say, as another output.",
            )


def _objects(case: Case, findings: Findings, made: Run) -> None:
    """Find arrays of objects that were made of numbers: of None, or of parts of different lengths."""
    if any(x.dtype.hasobject for x in case.arrays):
        return
    for name, out in named_outputs(made.outputs):
        if isinstance(out, np.ndarray) and out.dtype == object and _return_of(case.op.schema.returns, name).dtype is None:
            findings.fault(
                ("objects", name),
                f"{name} of the {case.kernel} is an array of objects, made of arrays of numbers: NumPy makes one of None, and "
                "of parts of different lengths. Return arrays of numbers, or hint `-> NDArray[np.object_]` for objects.",
            )


def _kept_for_good(case: Case, findings: Findings, written: list[bool]) -> None:
    """Find what calls leave behind: memory, or their arguments."""
    least = _growth(case, findings, written)
    if not findings.faults:
        _left_open(case, findings, written)
    if not findings.faults:
        _held(case, findings, written)
    if not findings.faults and least < SMALLEST_OF_C and (lost := _lost_in_c(case, written)):
        findings.fault(
            "leaks",
            f"each call of the {case.kernel} keeps {how_many(lost, 'byte')} of malloc() for good. Free what C allocates on "
            "every way out of the call, and bound what keeps arrays.",
        )


def _growth(case: Case, findings: Findings, written: list[bool]) -> int:
    """Find memory that each of several equal calls keeps, and return how much of it Python knows.

    In the user's own process others may allocate meanwhile.
    """
    if case.say is None or is_tracing():
        return SMALLEST_OF_C
    start()
    try:
        least = _kept(case, written, lambda: None)
        if least > MOST_KEPT:  # a cycle stays until it is collected, which takes long in a large process
            least = _kept(case, written, collect)
    finally:
        stop()
    findings.runs += 4
    if least > MOST_KEPT:
        findings.fault(
            "grows",
            f"each call of the {case.kernel} keeps {least // 1024} KiB for good: it appends to something that outlives the "
            "call. Return what is to be kept, or bound it: functools.lru_cache(maxsize).",
        )
    return least


def _lost_in_c(case: Case, written: list[bool]) -> int:
    """What each call leaves allocated by C, of several rounds of calls the least; 0 where that cannot be asked."""
    lost, collects = 0, isenabled()
    disable()  # what is collected meanwhile would be taken off
    try:
        for _ in range(2 + MOST_HELD // CACHED_BY_C):  # after the first only where that finds something
            before = allocated_by_c()
            for _ in range(CACHED_BY_C):
                run(case, written, readonly=False)
            if (grown := allocated_by_c() - before) <= 0:
                return 0
            lost = min(lost or grown, grown)
        collect()  # cycles hold what C allocated, too: a round that is collected before and after says what stays
        before = allocated_by_c()
        for _ in range(CACHED_BY_C):
            run(case, written, readonly=False)
        collect()
        if (grown := allocated_by_c() - before) <= 0:
            return 0
        lost = min(lost, grown)
    finally:
        if collects:
            enable()
    return max(1, lost // CACHED_BY_C)


def _left_open(case: Case, findings: Findings, written: list[bool]) -> None:
    """Find files that each of several equal calls opens, and none closes; and threads that each starts, and none ends.

    In the user's own process others may open and start some.
    """
    if case.say is None or not OPEN_FILES.is_dir():
        return
    counts, threads = [], []
    for _ in range(3):
        run(case, written, readonly=False)
        counts.append(len(os.listdir(OPEN_FILES)))
        threads.append(active_count())
    findings.runs += len(counts)
    if threads[0] < threads[1] < threads[2] and _threads_stay(case, written, threads[2]):
        findings.fault(
            "threads",
            f"each call of the {case.kernel} leaves {how_many(threads[2] - threads[1], 'more thread')} running, and a process "
            "may have some thousands. Join them, or use one pool for all calls: concurrent.futures.ThreadPoolExecutor.",
        )
    if counts[0] < counts[1] < counts[2]:
        collect()
        if len(os.listdir(OPEN_FILES)) >= counts[2]:
            findings.fault(
                "open",
                f"each call of the {case.kernel} leaves {counts[2] - counts[1]} more of the process's files open, of which "
                "there may be some hundreds. Close them: `with open(...) as file`.",
            )


def _threads_stay(case: Case, written: list[bool], count: int) -> bool:
    """Whether each of many calls more leaves a thread: what a pool starts it keeps for the next."""
    for _ in range(MOST_OF_POOL):
        run(case, written, readonly=False)
    collect()
    return active_count() >= count + MOST_OF_POOL


def _held(case: Case, findings: Findings, written: list[bool]) -> None:
    """Find arguments and outputs that every call keeps; one that keeps the last few bounds what it keeps."""

    def call() -> tuple[list[ref[Any]], list[ref[Any]]]:
        made = run(case, written, readonly=False)
        outputs = [x for x in arrays_in(made.outputs) if isinstance(x, np.ndarray)]
        return [ref(guard.array) for guard in made.guards], [ref(x) for x in outputs]

    def held() -> str:
        kinds = zip(("an argument", "an output"), zip(*calls, strict=True), strict=True)
        return next((kind for kind, each in kinds if all(any(x() is not None for x in arrays) for arrays in each)), "")

    calls = [call(), call()]
    findings.runs += len(calls)
    if not held():
        return
    collect()  # which takes long in a large process
    if not held():
        return
    calls += [call() for _ in range(MOST_HELD)]
    collect()
    if kind := held():
        findings.fault(
            "holds",
            f"the {case.kernel} keeps {kind} of every call: it appends arrays to something that outlives the call, or "
            "finds results by the array that came. Keep a bounded number of copies, for the caller may write to an array.",
        )


def _kept(case: Case, written: list[bool], clean: Callable[[], Any]) -> int:
    """The least that memory grows by from one call to the next; the first may fill a cache."""
    held = []
    for _ in range(4):
        run(case, written, readonly=False)
        clean()
        held.append(get_traced_memory()[0])
    return min(later - sooner for sooner, later in pairwise(held))


def _owners(case: Case) -> list[tuple[Argument, str]]:
    owners = []
    labels = iter(case.labels)
    for argument, x in zip(case.op.schema.arguments, case.args, strict=True):
        owners += [(argument, next(labels)) for _ in arrays_in(x)]
    return owners


def _return_of(returns: tuple[Return, ...], name: str) -> Return:
    return returns[int(re.split(r"[\[.]", name.removeprefix("output "))[0])]


def _related(a: Argument | Return, b: Argument | Return) -> bool:
    """Whether a schema says that two values may share memory."""
    if a.alias is None or b.alias is None:
        return False
    sets = a.alias.before | a.alias.after, b.alias.before | b.alias.after
    return bool(sets[0] & sets[1]) or "*" in sets[0] | sets[1]


def _repeated(case: Case, findings: Findings, first: Run, again: Run, written: list[bool], options: Options) -> None:
    """Compare two runs on equal arguments: the results must be equal and have their own memory."""
    pairs = list(zip(results(case, first, written), results(case, again, written), strict=False))
    for (name, x), (_, y) in pairs:
        if not (isinstance(x, np.ndarray) and isinstance(y, np.ndarray)):
            if not isinstance(x, np.ndarray) and difference(y, x, rtol=0.0, atol=0.0):
                findings.fault(("repeat", name), _unequal(case, name))
        elif not same_bytes(x, y):
            tagged = Tag.nondeterministic_bitwise in case.op.tags
            if difference(y, x, rtol=options.rtol, atol=options.atol):
                findings.fault(("repeat", name), _why(case, first, written, name, options) or _unequal(case, name))
            elif not tagged and difference(y, x, rtol=0.0, atol=0.0):
                findings.advise(
                    ("repeat", name),
                    f"two equal calls of {case.name} differ in the last bits of {name}. "
                    "Say so: tags=(Tag.nondeterministic_bitwise,).",
                )
    _reused(case, findings, first, again)


def _reused(case: Case, findings: Findings, first: Run, again: Run) -> None:
    """Find outputs that two calls return in the same memory."""
    if not case.op.schema.is_functional:
        return
    for (name, x), (_, y) in zip(named_outputs(first.outputs), named_outputs(again.outputs), strict=False):
        if isinstance(x, np.ndarray) and x.flags.writeable and share_memory(x, y):
            findings.fault(
                ("reused", name),
                f"{name} of the {case.kernel} lies in the same memory in every call{case.what}, so that a call overwrites "
                "the result of the one before. Return a copy of the workspace.",
            )


def _unequal(case: Case, name: str) -> str:
    return (
        f"two calls of the {case.kernel} on equal arguments differ in {name}. If it keeps something from call to call, take "
        "that as an argument and return it; if it draws numbers, say so: tags=(Tag.random,)."
    )


def _unwritten(case: Case, findings: Findings, written: list[bool], options: Options) -> None:
    """Find results that depend on memory that nobody has written, or beside the arguments: for other values, say."""
    runs = [run(case, written, readonly=False, other_guards=other, other_filling=other) for other in (False, True)]
    findings.runs += 2
    _reused(case, findings, *runs)
    for (name, x), (_, y) in zip(*(results(case, made, written) for made in runs), strict=False):
        if difference(y, x, rtol=options.rtol, atol=options.atol):
            if differ := _why(case, run(case, written, readonly=False), written, name, options):
                integers = [a.name for a, x in zip(case.op.schema.arguments, case.args, strict=True) if _has_integers(x)]
                kept = f" Indices that belong together are kept by fixed={tuple(integers)!r}." if integers else ""
                findings.fault(("unwritten", name), f"{differ} That is so{case.what} ({case.given()}).{kept}")
            return


def _has_integers(x: Any) -> bool:
    return any(array.dtype.kind in "iu" for array in arrays_in(x))


def _why(case: Case, first: Run, written: list[bool], name: str, options: Options) -> str:
    """Say which memory a result depends on that is none of the arguments'; empty if it differs between equal calls too."""
    beside = (
        f"{name} of the {case.kernel} depends on memory beside its arguments: it reads before the first element of one, or "
        "after its last. Look at where its loops end, and at the strides."
    )
    expected = results(case, first, written)

    def differs(*, guards: bool = False, filling: bool = False) -> bool:
        again = run(case, written, readonly=False, other_guards=guards, other_filling=filling)
        made = results(case, again, written)
        pairs = [(y, x) for (label, x), (_, y) in zip(expected, made, strict=False) if label == name]
        return any(difference(y, x, rtol=options.rtol, atol=options.atol) for y, x in pairs)

    if differs() or differs():  # every second call may be another one
        expected = results(case, run(case, written, readonly=False, other_guards=True), written)
        # it reads past what stands beside them, unless zeros there end it; what it keeps may have settled meanwhile
        return "" if any(differs(guards=True) for _ in range(3)) or not differs() else beside
    if differs(filling=True):
        return (
            f"{name} of the {case.kernel} depends on memory that nobody has written. Begin with np.zeros(shape) in place of "
            "np.empty(shape), or write every element."
        )
    return beside if differs(guards=True) else ""


def _layouts(case: Case, findings: Findings, first: Run, written: list[bool], options: Options) -> None:
    """Check that the same values in other layouts give the same results, or are refused."""
    expected = results(case, first, written)
    for what, args in layouts(case.args):
        if what == "byte-swapped" and any(x.dtype.kind not in "fc" and x.itemsize > 1 for x in case.arrays):
            continue  # a foreign integer, taken for an index, is far away
        laid = case.with_args(_kept_layouts(case, args), f" on the sample {what}")
        # beside the array stand its values again: rows that are read there may have the right sum, and zeros have not
        for zeros in (False, True) if what in APART else (False,):
            made = run(laid, written, readonly=False, other_guards=zeros)
            findings.runs += 1
            _undeclared_writes(laid, findings, made, written)
            _overruns(laid, findings, made)
            if made.error is not None:
                break
            _aliases(laid, findings, made)
            for (name, x), (_, y) in zip(expected, results(laid, made, written), strict=False):
                if found := difference(_native(y), _native(x), rtol=options.rtol, atol=options.atol):
                    findings.fault(
                        ("layout", name),
                        f"the {case.kernel} gives {another(name)} for the same values {what}: {_first_line(found)} "
                        f"{_by_layout(laid, name, x, y)}",
                    )


def _by_layout(laid: Case, name: str, expected: Any, got: Any) -> str:
    """What to do where a result is another for another layout: for a kind that follows it, a write to a copy, or values."""
    kinds = [(np.shape(x), np.asarray(x).dtype.newbyteorder("=")) for x in (expected, got)]
    if kinds[0] != kinds[1]:
        return "Compute shape and dtype from those of the arguments, and not from strides or flags."
    given = [x for label, x in zip(laid.labels, laid.arrays, strict=True) if name == f"its argument {label}"]
    if given and difference(got, given[0], rtol=0.0, atol=0.0) is None:
        word = name.removeprefix("its argument ").replace("'", "")
        return f"It writes to a copy, as np.ascontiguousarray({word}) or {word}.ravel() may be one: write {word}[...] = result."
    return "It reads memory without looking at strides or byte order: np.ascontiguousarray(x, dtype) first."


def _one_array(case: Case, findings: Findings, written: list[bool], options: Options) -> None:
    """Check that one array for two arguments gives what two equal arrays do: a kernel may look whether they are one."""
    arrays, kept = case.arrays, case.places(options.fixed)
    pairs = [
        (i, k)
        for i, k in combinations([i for i, may in enumerate(written) if not may and i not in kept], 2)
        if arrays[i].shape == arrays[k].shape and arrays[i].dtype == arrays[k].dtype and arrays[i].size
    ]
    for i, k in pairs[:MOST_PAIRS]:
        x = arrays[i].copy(order="K")
        found = []
        for other in (x.copy(order="K"), x):
            given = [x if n == i else other if n == k else a.copy(order="K") for n, a in enumerate(arrays)]
            try:
                with quietly():
                    outputs = case.call(case.with_arrays(given))
            except Exception:  # it refuses them
                break
            found.append(named_outputs(outputs))
        findings.runs += 2
        if len(found) < 2:
            continue
        for (name, expected), (_, got) in zip(*found, strict=False):
            if difference(got, expected, rtol=options.rtol, atol=options.atol):
                findings.fault(
                    ("one array", name),
                    f"the {case.kernel} gives {another(name)} where {case.labels[i]} and {case.labels[k]} are one array than "
                    "where they are two with equal values. Compute it from the values alone.",
                )


def _precision(case: Case, findings: Findings, first: Run, written: list[bool], options: Options) -> None:
    """Check that float32 gives about what float64 does, or is refused: a kernel in C may take one for the other."""
    expected = results(case, first, written)
    largest = max((float(np.abs(x[np.isfinite(x)]).max(initial=0.0)) for x in case.arrays if x.dtype.kind in "fc"), default=0.0)
    if largest > np.finfo(np.float32).max:  # in float32 these are other values
        return
    least = CANCELLED * max(largest, largest**2)
    for name, x in expected:
        if isinstance(x, np.ndarray) and went_through_single([y for y in case.arrays if y.dtype.kind in "fc"], x):
            findings.fault(
                ("single", name),
                f"{name} of the {case.kernel} has gone through single precision: it is {x.dtype!s}, and all of it fits in "
                "float32, as no argument does. Look for a float32 on its way, or for a float in C; or return that dtype.",
            )
    for what, args in single_precision(case.args):
        hinted = zip(case.op.schema.arguments, case.args, args, strict=True)
        narrow = case.with_args(tuple(own if a.dtype is not None else other for a, own, other in hinted), f" {what}")
        made = run(narrow, written, readonly=False)
        findings.runs += 1
        if isinstance(made.error, OutputError) and not isinstance(made.error, AliasError):  # the hint of a result refuses it
            continue
        _undeclared_writes(narrow, findings, made, written)
        _overruns(narrow, findings, made)
        if made.error is not None:
            continue
        for (name, x), (_, y) in zip(expected, results(narrow, made, written), strict=False):
            if isinstance(x, np.ndarray) and isinstance(y, np.ndarray) and not _about(y, x, options, least):
                findings.fault(
                    ("precision", name),
                    f"the {case.kernel} gives {another(name)} for the same values {what}: it may take float32 for float64. "
                    "Say which dtype it takes, NDArray[np.float64], or convert: np.asarray(x, np.float64).",
                )


def _promises(case: Case, findings: Findings, first: Run, written: list[bool], options: Options) -> None:
    """Hold results to what tags say of them: `Tag.pointwise`, by which Dask cuts arrays, and `Tag.metadata`."""
    for ends, places in _other_ends(case.arrays) if Tag.pointwise in case.op.tags else ():
        findings.runs += 1
        ended = run(case.with_args(case.with_arrays(ends)), written, readonly=False)
        for (name, x), (_, y) in zip(results(case, first, written), results(case, ended, written), strict=False):
            if not (isinstance(x, np.ndarray) and isinstance(y, np.ndarray)) or (ends and _spread(x, y, places, options)):
                findings.fault(
                    ("pointwise", name),
                    f"{case.name} is tagged pointwise, and {name} of the {case.kernel} is not: an element of it depends on "
                    "other elements of an argument than the one in its place, or it has another shape than the arguments have "
                    "together. Leave out Tag.pointwise, by which Dask and xarray cut arrays into pieces.",
                )
    if Tag.metadata in case.op.tags and case.args and (kept := arrays_in(case.args[0])):
        count = len(kept)
        other = run(case.with_args(others(case.args, range(count, len(case.arrays)))), written, readonly=False)
        findings.runs += 1
        for (name, x), (_, y) in zip(results(case, first, written), results(case, other, written), strict=False):
            if difference(y, x, rtol=options.rtol, atol=options.atol):
                findings.fault(
                    ("metadata", name),
                    f"{case.name} is tagged metadata, and {name} of the {case.kernel} depends on elements of "
                    f"'{case.op.arguments.names[0]}'. Leave out Tag.metadata, by which a compiled function computes it once.",
                )


def _other_ends(arrays: list[Any]) -> Iterator[tuple[list[Any], list[Any]]]:
    """Yield arrays with another last or first element, and where they differ: for floats the largest and the least.

    A result that depends on the largest alone, a share of it say, shows only where that is another; a running sum shows only
    where the first is.
    """
    for end, share in ((-1, 0), (-1, 2), (-1, -2), (0, 2)):
        changed, places = [x.copy(order="K") for x in arrays], [np.zeros(x.shape, np.bool_) for x in arrays]
        for x, moved in zip(changed, places, strict=True):
            if x.size > 1:
                other = share * np.abs(x).max() if share and x.dtype.kind in "fc" else x.flat[-1 - end]
                moved.flat[end] = x.flat[end] != other
                x.flat[end] = other
        yield changed, places


def _spread(x: Any, y: Any, places: list[Any], options: Options) -> bool:
    """Whether results of arguments that differ in some places differ in others, or have another shape than the arguments."""
    try:
        moved = np.logical_or.reduce(np.broadcast_arrays(*places))
    except ValueError:  # they have no shape together
        return True
    if x.shape != moved.shape or y.shape != moved.shape:
        return True
    return difference(y[~moved], x[~moved], rtol=options.rtol, atol=options.atol) is not None


def _narrow_integers(case: Case, findings: Findings, first: Run, written: list[bool], options: Options) -> None:
    """Check that int32 gives what int64 does, and the other way round, or is refused, where no result is too large for it.

    So it is for values 0 and 1 too: a kernel that multiplies by large numbers is right, and has another result for each. Of
    bytes it has to be the result for what int64 look like in memory.
    """
    if any(a.dtype is not None or a.is_write or a.name in options.fixed for a in case.op.schema.arguments):
        return
    narrow = [case.with_args(args, f" {what}") for what, args in smaller_integers(case.args) if what.endswith("32")]
    for other in narrow or [case.with_args(args, f" {what}") for what, args in wider_integers(case.args)]:
        own, its = case.arrays[0].dtype, other.arrays[0].dtype
        if any(x.dtype != own for x in case.arrays):
            continue
        made = run(other, written, readonly=False)
        findings.runs += 1
        names = _unequal_integers(case, first, other, made, written, options)
        if not names:
            continue
        if own.kind == "u":  # which wrap around at small numbers too
            taken = case.with_args(whole_memory(case.args))
            names -= _unequal_integers(taken, run(taken, written, readonly=False), other, made, written, options)
        else:
            small = [x.with_args(zeros_and_ones(x.args)) for x in (case, other)]
            runs = [run(x, written, readonly=False) for x in small]
            names &= _unequal_integers(small[0], runs[0], small[1], runs[1], written, options)
        for name in names:
            findings.fault(
                ("integers", name),
                f"the {case.kernel} gives {another(name)} for the same values as {its}: it may take {its} for {own}. "
                f"Say which dtype it takes, NDArray[np.{own}], or convert: np.asarray(x, np.{own}).",
            )


def _unequal_integers(case: Case, made: Run, other: Case, its: Run, written: list[bool], options: Options) -> set[str]:
    """The results that are no large integers, and others for integers of another size."""
    if made.error is not None or its.error is not None:
        return set()
    found = set()
    for (name, x), (_, y) in zip(results(case, made, written), results(other, its, written), strict=False):
        if not (isinstance(x, np.ndarray) and isinstance(y, np.ndarray) and x.shape == y.shape):
            continue
        integers = x.dtype.kind in "iu" and np.abs(x).max(initial=0) < MOST_OF_INT32 and bool((x != y).any())
        if integers or not _about(y, x, options, 0.0):
            found.add(name)
    return found


def _of_other_kinds(case: Case, findings: Findings, written: list[bool], options: Options) -> None:
    """Look for writes and aliases where integers are floats, or floats others: `astype(float, copy=False)` copies some."""
    for what, args in (*double_precision(case.args), *other_kinds(case.args)):
        if any(a.dtype is not None or a.name in options.fixed for a in case.op.schema.arguments):
            return
        wide = case.with_args(args, f" {what}")
        made = run(wide, written, readonly=what != COMPLEX)  # SciPy's transforms overwrite complex arrays that they may
        if made.error is not None and not made.changed(written):
            made = run(wide, written, readonly=False)
        findings.runs += 1
        if isinstance(made.error, AliasError) or not isinstance(made.error, OutputError):  # the hint of a result refuses it
            _undeclared_writes(wide, findings, made, written)
        if made.error is None:
            _aliases(wide, findings, made)


def _about(y: Any, x: Any, options: Options, least: float) -> bool:
    """Whether values are about those that were computed with more digits; `least` is what is left where these cancel."""
    if x.shape != y.shape or x.dtype.kind not in "fc" or y.dtype.kind not in "fc":
        return True
    with np.errstate(all="ignore"):
        known = np.isfinite(x.astype(np.result_type(y, np.float32)))  # what is too large for float32 is nobody's mistake
        finite = np.isfinite(x) & np.isfinite(y)
        size = float(np.abs(x[finite]).max(initial=0.0))
        off = np.abs(np.asarray(x - y, np.complex128)[finite]).max(initial=0.0)
    allowed = max(options.rtol or 0.0, ROUGHLY) * size + (options.atol or max(least, float(np.finfo(np.float32).tiny)))
    return bool(np.count_nonzero(finite) >= np.count_nonzero(known) // 2 and off <= allowed)


def _left_out(case: Case, findings: Findings, written: list[bool]) -> None:
    """Find elements of an `out` argument that the kernel leaves as they were, by filling it twice.

    One by position may be updated: it counts where its name says so and what is written does not depend on what was there, and
    no integers beside it say where to write.
    """
    arguments = [a for a in case.op.schema.arguments if a.is_write]
    asked = case.places([a.name for a in arguments if a.kwarg_only])
    named = case.places([a.name for a in arguments if not a.kwarg_only and OUT.fullmatch(a.name)])
    outs = asked | (frozenset() if case.integers else named)
    for i in sorted(outs):
        if not (x := case.arrays[i]).size or x.dtype.hasobject:
            continue
        kept, made = [], []
        for filling in SENTINELS:
            arrays = [np.full_like(a, filling) if k in outs else a for k, a in enumerate(case.arrays)]
            found = run(case.with_args(case.with_arrays(arrays)), written, readonly=False)
            findings.runs += 1
            if found.error is not None:
                return
            made.append(found.guards[i].array)
            kept.append(made[-1] == arrays[i])
        both = kept[0] & kept[1]
        reads = not same_bytes(made[0][~both], made[1][~both])
        if i not in asked and (both.all() or reads):  # never written, or read too
            continue
        if reads and (i in asked or not case.integers) and OUT.fullmatch(_base(case.labels[i])):
            findings.fault(
                ("read", i),
                f"what the {case.kernel} writes to its argument {case.labels[i]} depends on what was in it before the call. "
                f"Write to an out argument without reading it, {_base(case.labels[i])}[...] = y in place of +=, or give one "
                "that is updated another name.",
            )
        if both.any():
            way_out = "take it by position, as one that is read too" if i in asked else "give one that is updated another name"
            findings.fault(
                ("left out", i),
                f"the {case.kernel} leaves {int(both.sum())} of {how_many(x.size, 'element')} of its argument {case.labels[i]} "
                f"as they were{case.what}, the first at {np.argwhere(both)[0].tolist()}. Write all of an out argument, or "
                f"{way_out}.",
            )
        elif i in asked and not reads:
            _overlapping(case, findings, written, i)


def _overlapping(case: Case, findings: Findings, written: list[bool], out: int) -> None:
    """Find results that differ where an out argument is one of the arrays that are read."""
    expected = run(case, written, readonly=False)
    for i, x in enumerate(case.arrays):
        if written[i] or x.shape != case.arrays[out].shape or x.dtype != case.arrays[out].dtype or expected.error is not None:
            continue
        arrays = [a.copy(order="K") for a in case.arrays]
        arrays[out] = arrays[i]
        cleared = [np.zeros_like(a) if k == i else a for k, a in enumerate(case.arrays)]
        findings.runs += 1
        try:
            with quietly():
                case.call(case.with_arrays(arrays))
        except Exception:  # it refuses arrays that overlap
            continue
        if not difference(arrays[out], expected.guards[out].array):
            continue
        said = (
            f"the {case.kernel} writes another {case.labels[out]} where that is {case.labels[i]} itself: it reads elements "
            "that it has written. Compute the result first, or copy what overlaps: np.shares_memory(x, out)."
        )
        of_zeros = run(case.with_args(case.with_arrays(cleared)), written, readonly=False)
        if difference(arrays[out], of_zeros.guards[out].array):
            findings.fault(("overlap", out), said)
        else:  # it clears what it adds to, for buffers that are nothing else
            findings.advise(("overlap", out), f"{case.name}: {said}")
        return


def _first_line(text: str) -> str:
    return text.partition("\n")[0]


def _kept_layouts(case: Case, args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the arguments, but keep the sample's own where a hint fixes the layout."""
    arguments = case.op.schema.arguments
    return tuple(
        own if argument.layout or (argument.dtype is not None and not _fits(argument.dtype, other)) else other
        for argument, own, other in zip(arguments, case.args, args, strict=True)
    )


def _fits(dtype: np.dtype[Any], x: Any) -> bool:
    return all(array.dtype == dtype for array in arrays_in(x))


def _native(x: Any) -> Any:
    return map_arrays(lambda a: a.astype(a.dtype.newbyteorder("="), copy=False), x)
