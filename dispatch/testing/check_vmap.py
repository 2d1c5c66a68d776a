"""The check `test_vmap`: a batch gives what a loop over its items gives."""

from collections.abc import Collection, Iterator
from itertools import islice
from typing import Any

import numpy as np

from ..core import DispatchKey
from ..core.pytree import items_of as parts_of
from ..core.pytree import leaves, mapped, steps
from ..errors import BatchingError, how_many
from ..layers.vmap import vmap
from ..schema.tags import Tag
from .cases import AXIS, Case, Options, another, arrays_in
from .closeness import NUMBERS, difference
from .guarded_memory import Guarded
from .kernel_runs import longer_lists_used, quietly, run, written_arrays
from .report import Findings
from .variants import MORE, named, numbers, permuted, sizes, squares, values

DRAWS = 16  # items: of two equal draws of a coin sixteen times none is chance
InDims = tuple[int | None, ...]

MOVE = "Move the mapped axes to one place first, and return where it is as out_dims."


def check_batches(case: Case, findings: Findings, options: Options) -> None:
    """Compare vmap, by the operator's rule or by the fallback loop, with a loop of plain calls."""
    ruled = case.rule(DispatchKey.VMAP) is not None
    if not case.arrays:
        findings.skip("no argument is an array, so there is nothing to batch")
    else:
        tried = list(batchings(case))
        size = tried[0][0]
        for length, in_dims in tried:
            if findings.skipped:
                return
            _compare(case, findings, length, in_dims, options, ruled=ruled)
        # A rule that looks for the axis by its length takes another that is as long.
        lengths = sorted({n for x in case.arrays for n in x.shape if 1 < n <= DRAWS})[:1]
        for dim in (0, -1) if ruled and not findings.faults else ():
            for length in lengths:
                _compare(case, findings, length, (dim,) * len(case.arrays), options, ruled=ruled)
        for varied, advice in _varied(case, options) if ruled and not findings.faults else ():
            if count := len(varied.arrays):
                _compare(varied, findings, size, (0,) * count, options, ruled=ruled, advice=advice)
        if ruled and Tag.random in case.op.tags and not findings.faults:
            _check_draws(case, findings)


def _varied(case: Case, options: Options) -> Iterator[tuple[Case, str]]:
    """Return the case with other flags, numbers and sizes, longer lists, and without arguments that may be left out.

    With one that counts from the end, and in the sample does not, comes the advice for a rule that writes `axis + 1`.
    """
    names = case.op.arguments.names
    for what, args in (*values(case.args), *numbers(case.args, names, options.fixed)):
        pairs = zip(args, case.args, strict=True)
        if "value of" in what:
            changed = [
                f"Count {name} from the front first, {name} % (x.ndim - 1), where x is a batch."
                for name, (x, y) in zip(names, pairs, strict=True)
                if AXIS.fullmatch(name) and type(x) is int and x < 0 and not (type(y) is int and y < 0)
            ]
            yield case.with_args(args, f" on the sample {named(what, names)}"), " ".join(changed) or MOVE
    kept = options.fixed
    optional = *case.nones(kept), *case.given_numbers(kept), *case.two_options(kept)
    for varied in (*case.branches(kept), *optional, *longer_lists_used(case, kept)):
        yield varied, MOVE
    fixed = case.places(kept)
    cut = () if case.integers else squares(case.args, fixed)
    for what, args in (*islice(sizes(case.args, fixed, only_longer=True), 1), *cut):
        yield case.with_args(args, f" on the sample {what}"), MOVE


def batchings(case: Case) -> Iterator[tuple[int, InDims]]:
    """Yield batch sizes and mapped axes to try: all first, last, in the middle, a batch of one, each alone, each left out.

    No axis of the sample has the batch size, so that a wrong axis cannot pass.
    """
    arrays = case.arrays
    lengths = {n for x in arrays for n in x.shape}
    size = next(n for n in range(3, 4 + len(lengths)) if n not in lengths)
    count = len(arrays)
    tried: set[tuple[int, InDims]] = set()
    candidates: list[tuple[int, InDims]] = [(size, (0,) * count), (size, (-1,) * count), (1, (0,) * count)]
    for i in range(count):
        candidates.append((size, tuple(0 if k == i else None for k in range(count))))
        candidates.append((size, tuple(None if k == i else -1 for k in range(count))))
    candidates.append((size, tuple(0 if k % 2 else -1 for k in range(count))))
    candidates.append((size, tuple(min(1, x.ndim) if max(x.ndim for x in arrays) > 1 else 0 for x in arrays)))
    written = written_arrays(case)
    for batch in candidates:
        left_out = any(may and dim is None for may, dim in zip(written, batch[1], strict=True))
        if batch not in tried and any(dim is not None for dim in batch[1]) and not left_out:
            tried.add(batch)
            yield batch


def items_of(case: Case, size: int, in_dims: InDims, kept: Collection[int] = ()) -> list[list[Any]]:
    """Return the arrays of each item: the sample's, in the other items with other values for mapped arrays but those `kept`."""
    items = []
    for i in range(size):
        item = []
        for k, (x, dim) in enumerate(zip(case.arrays, in_dims, strict=True)):
            varied = x
            for _ in range(i if k not in kept and dim is not None else 0):
                varied = permuted(varied)
                if varied.dtype.kind in "fc":
                    varied = np.asarray(varied * 0.5, varied.dtype)
            item.append(varied)
        items.append(item)
    return items


def _loop(case: Case, items: list[list[Any]], written: list[bool]) -> list[list[Any]] | None:
    """Return what plain calls on the items give, outputs and written arguments; None if they make no batch."""
    rows = []
    for item in items:
        arrays = [Guarded(x, writeable=True).array for x in item]
        try:
            outputs = case.call(case.with_arrays(arrays))
        except Exception:
            return None
        rows.append([*outputs, *(x for x, may in zip(arrays, written, strict=True) if may)])
    shapes = {str([np.shape(x) for x in arrays_in(row)]) for row in rows}
    return rows if len(shapes) == 1 else None


def _compare(
    case: Case, findings: Findings, size: int, in_dims: InDims, options: Options, *, ruled: bool, advice: str = MOVE
) -> None:
    tolerances, kept = (options.rtol, options.atol), case.places(options.fixed) | case.integers
    written = written_arrays(case)
    with quietly():
        items = items_of(case, size, in_dims, kept)
        rows = _loop(case, items, written)
        if rows is None:  # equal items still tell where the axes go
            items = items_of(case, size, in_dims, range(len(case.arrays)))
            rows = _loop(case, items, written)
        if rows is None and case.what:  # the kernel refuses the variant
            return
        if rows is None:
            findings.skip("the outputs of equal calls differ in shape, so they make no batch")
            return
        batch = [
            items[0][k] if dim is None else np.stack([item[k] for item in items], axis=dim) for k, dim in enumerate(in_dims)
        ]
        findings.runs += 1
        before = [x.tobytes() for x in batch]
        shown = _shown(case, in_dims)
        rule = f"the vmap rule ({case.place(DispatchKey.VMAP)})" if ruled else "the loop over the batch"
        try:
            got = _mapped(case, batch, in_dims)
        except Exception as error:
            if isinstance(error, BatchingError) and not ruled:
                findings.skip(f"there is no vmap rule, and the loop refuses: {error}")
                return
            if MORE in case.what:  # a rule may be for so many arrays
                return
            text = str(error).removeprefix(f"{case.name}: ")
            findings.fault(
                "raises",
                f"{rule} raises {type(error).__name__} under vmap({shown}) of a batch of {size}, where the "
                f"{case.kernel} "
                f"does not item by item{case.what}: {text}",
                error,
            )
            return
    for label, x, old, may in zip(case.labels, batch, before, written, strict=True):
        if not may and x.tobytes() != old and not _writes_itself(case):
            findings.fault(
                ("writes", label),
                f"{rule} under vmap({shown}) of a batch of {size} writes to the batch of {label}{case.what}, which the caller "
                "holds too. Compute on a copy.",
            )
    moved = [np.moveaxis(x, dim, 0) for x, dim, may in zip(batch, in_dims, written, strict=True) if may and dim is not None]
    names = [f"output {i}" for i in range(len(got))]
    names += [f"its argument {label}" for label, may in zip(case.labels, written, strict=True) if may]
    for k, (name, x) in enumerate(zip(names, [*got, *moved], strict=True)):
        column = [row[k] for row in rows]
        if found := _difference(x, column, tolerances, random=Tag.random in case.op.tags):
            if not ruled and _varies(case, items, written, rows, tolerances):
                findings.skip("equal calls of the kernel differ, see test_schema")
                return
            if not ruled:
                advice = "The loop gives the kernel views of the batch, whose strides it does not look at, see test_schema."
            findings.fault(
                ("differs", name),
                f"{rule} under vmap({shown}) of a batch of {size} gives {another(name)} than the {case.kernel} item "
                f"by item{case.what} ({case.given()}): {found} {advice}",
            )


def _varies(
    case: Case, items: list[list[Any]], written: list[bool], rows: list[list[Any]],
    tolerances: tuple[float | None, float | None],
) -> bool:  # fmt: skip
    """Whether the same calls, made again, give other results."""
    again = _loop(case, items, written)
    pairs = zip(rows, again or rows, strict=True)
    return again is None or any(
        difference(y, x, rtol=tolerances[0], atol=tolerances[1])
        for row, other in pairs
        for x, y in zip(row, other, strict=True)
    )


def _check_draws(case: Case, findings: Findings) -> None:
    """Find a rule by which all items of a batch get one draw, where each is to have its own."""
    written, arrays = written_arrays(case), case.arrays
    with quietly():
        rows = _loop(case, [arrays] * DRAWS, written)
        if rows is None:
            return
        findings.runs += 1
        got = _mapped(case, [np.stack([x] * DRAWS) for x in arrays], (0,) * len(arrays))
        for k, x in enumerate(got):
            if _makes_batch(rows[0][k]) and _is_one(x) and not _is_one([row[k] for row in rows]):
                findings.fault(
                    ("draws", k),
                    f"the vmap rule ({case.place(DispatchKey.VMAP)}) gives all items of a batch of {DRAWS} the same output {k} "
                    'under vmap(randomness="different"), which asks for a draw for each. Draw for the whole batch, '
                    "size=(info.batch_size, *shape), and look at info.randomness.",
                )


def _is_one(items: Any) -> bool:
    return all(np.array_equal(x, items[0]) for x in items)


def _writes_itself(case: Case) -> bool:
    """Whether the kernel writes to what the schema does not say, which test_schema tells."""
    return bool(run(case, written := written_arrays(case), readonly=False).changed(written))


def _mapped(case: Case, batch: list[Any], in_dims: InDims) -> list[Any]:
    """Return the outputs of the operator under vmap, with the batch axis first."""
    aside: dict[int, Any] = {}
    structure: list[Any] = []

    def one(*arrays: Any) -> Any:
        structure[:] = case.call(case.with_arrays(list(arrays)))
        parts = list(enumerate(leaves(structure)))
        aside.update({i: x for i, x in parts if not _makes_batch(x)})
        return [x for i, x in parts if i not in aside]

    batched = iter(vmap(one, in_dims=in_dims, randomness="different")(*batch))
    made = iter([aside[i] if i in aside else next(batched) for i, _ in enumerate(leaves(structure))])
    whole: list[Any] = mapped(lambda _: next(made), structure)
    return whole


def _makes_batch(x: Any) -> bool:
    return hasattr(x, "shape") or isinstance(x, NUMBERS)


def _difference(
    got: Any, column: list[Any], tolerances: tuple[float | None, float | None], *, random: bool, path: str = ""
) -> str | None:
    """Describe how a batch of outputs differs from the items' outputs, or return None."""
    first = column[0]
    if (mine := parts_of(got)) is not None and parts_of(first) is not None:
        if steps(got) != steps(first):
            place = f" at {path}" if path else ""
            return f"{how_many(len(mine), 'item')}{place}, and expected are {len(parts_of(first) or ())}."
        rows = zip(steps(first), mine, zip(*map(parts_of, column), strict=True), strict=True)
        each = (_difference(x, list(c), tolerances, random=random, path=path + step) for step, x, c in rows)
        return next((words for words in each if words is not None), None)
    if not _makes_batch(first):
        return difference(got, first, place=path)
    expected = np.stack([np.asarray(x) for x in column])
    if random:
        got, expected = np.zeros_like(got), np.zeros_like(expected)
    found = difference(np.asarray(got), expected, rtol=tolerances[0], atol=tolerances[1], place=path)
    return None if found is None else found.replace("\n", " ")


def _shown(case: Case, in_dims: InDims) -> str:
    return ", ".join(f"{label}: {dim}" for label, dim in zip(case.labels, in_dims, strict=True))
