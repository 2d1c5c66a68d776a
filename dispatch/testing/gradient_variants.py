"""What `test_gradients` and `test_jvp` try beside the sample itself: other values, sizes and layouts, other recordings.

A rule may hold for one sign or one size, read memory without its strides, keep what it needs outside `ctx`, or count on every
argument being tracked. Each is one more recording, and differences along one direction for each argument.
More than 350 lines, for all of these record a call in one way, and compare it in one.
"""

import re
from collections.abc import Callable, Collection, Iterator
from itertools import chain, islice, starmap
from typing import Any

import numpy as np

from ..autodiff.forward_mode import jvp
from ..core import ground
from ..errors import GradcheckError
from ..layers.autograd import TrackedTensor, track
from .cases import Case, Options, map_arrays, named_outputs
from .child_process import Elsewhere, has_fork
from .closeness import difference
from .difference_quotients import Probe, Recording, as_reals, judged, random_like, scaled
from .guarded_memory import Guarded
from .kernel_runs import longer_lists_used, quietly
from .lost_digits import LOST_DIGITS, has_lost_digits, rounded
from .report import Findings
from .variants import (
    EMPTY,
    LARGE,
    MORE,
    ONE_ALONE,
    ONE_ELEMENT,
    apart,
    exchanged,
    flags,
    is_order,
    layouts,
    lists,
    named,
    number_lists,
    numbers,
    single_precision,
    sizes,
    squares,
    unbroadcast,
    values,
)

Array = np.ndarray[Any, Any]

MOST_SIZES = 3  # other sizes: each length one more, then lengths of 1
SHARE = 0.02  # of the tolerance, along a direction in all elements: rounding is small beside the sum of all parts
SQUARE = "with a longer "  # axis, of `sizes`: only where two lengths are equal
SPECIAL = (ONE_ELEMENT, EMPTY, f"with length {LARGE} ")
FACT = re.compile(r"'(assume|hermitian|symmetric|sorted|unique|pos)|_(sorted|unique)'")  # flags that say what the sample is
REPEATED = " on the sample with one index twice"
ALONE = "alone eight times as large"
FURTHER = ((0.125, "an eighth of the values"), (8.0, "values eight times as large"))  # thresholds lie between
STRIDED = ("in Fortran order", "in C order", "with reversed strides", "with steps")

Move = list[tuple[int, Array]]  # inputs, by their places, and a direction for each
Along = Callable[[Probe, Move, list[Array]], list[tuple[Move, float]]]

FACTORS = -1024.0, 2.0**-10  # of what comes in, exact: beyond what a backward clips at
STEP = 1e-4  # to either side, for a kink
OVERFLOW = 1000.0  # of which an exponential is infinite, and few other functions
PATIENCE = 1  # seconds for kernels on such values
FORWARD, BACKWARD = 1e-3, 0.1  # of the largest: what outputs and gradients in float32 may differ by from those in float64


def other_samples(case: Case, options: Options) -> Iterator[Case]:
    """Yield other values and sizes at which a derivative should be right: nearby, negated, longer, of length 1."""
    fixed, integers, names = case.places(options.fixed), case.integers, case.op.arguments.names
    kept = fixed | integers
    yield case.with_args(_nearby(case.args, kept), " on the sample with values nearby")
    for share, what in FURTHER:
        yield case.with_args(_nearby(case.args, kept, share), f" on the sample with {what}")
    floats = [i for i, x in enumerate(case.arrays) if x.dtype.kind in "fc" and i not in kept]
    for i in floats if len(floats) > 1 else ():  # which of two is the larger may decide
        beside = {*range(len(case.arrays))} - {i}
        yield case.with_args(_nearby(case.args, beside, FURTHER[1][0]), f" on the sample with {case.labels[i]} {ALONE}")
    for what, args in values(case.args, kept | case.bounded):
        if what == "negated" or ("value of" in what and not FACT.search(named(what, names))):
            yield case.with_args(args, f" on the sample {named(what, names)}")
    stay = {*options.fixed, *[name for name in names if FACT.search(repr(name))]}
    yield from (*case.branches(stay), *case.nones(stay), *case.two_options(stay))
    for args in _repeated_index(case, fixed):
        yield case.with_args(args, REPEATED)
    if not integers:  # which belong to the sizes and the axis of the sample
        yield from case.given_numbers(options.fixed)
        for what, args in numbers(case.args, names, options.fixed, ahead=True):
            yield case.with_args(args, f" on the sample {named(what, names)}")
            for longer, other in sizes(args, fixed):  # an axis of a square looks like its other
                if longer.startswith(SQUARE):
                    yield case.with_args(_nearby(other, kept), f" on the sample {named(what, names)} and {longer}")
        for what, args in number_lists(case.args, names, options.fixed):
            yield case.with_args(args, f" on the sample {what}")
        yield from _of_lists(case, options, kept)
        for what, args in unbroadcast(case.args, fixed):
            yield case.with_args(_nearby(args, kept), f" on the sample {what}")
        others = (x for x in sizes(case.args, fixed) if not x[0].startswith(SPECIAL))
        for what, x in (*islice(others, MOST_SIZES), *squares(case.args, fixed)):
            yield case.with_args(_nearby(x, kept), f" on the sample {what}")


def _of_lists(case: Case, options: Options, kept: frozenset[int]) -> Iterator[Case]:
    """Yield lists with one array more, where the kernel uses it, and with one of their arrays longer."""
    names = case.op.arguments.names
    for more in longer_lists_used(case, options.fixed):
        yield more.with_args(_nearby(more.args, kept))
        for what, args in lists(more.args, names, options.fixed, same_length=True):
            if "middle" in what:  # which shows where the places of three are taken for multiples of one length
                yield more.with_args(_nearby(args, kept), f"{more.what} and {what}")
    for what, args in lists(case.args, names, options.fixed, same_length=True):
        yield case.with_args(_nearby(args, kept), f" on the sample {what}")


def _repeated_index(case: Case, kept: frozenset[int]) -> Iterator[tuple[Any, ...]]:
    """Yield the arguments with an index twice, in an array of integers in no order and each once: what gathers may add twice.

    What is in order may be where something begins, and a permutation of the numbers from 0 stays one.
    """
    for i in sorted(case.integers - kept):
        x = case.arrays[i]
        steps = np.diff(x.ravel().astype(np.int64))
        if x.size > 1 and (steps < 0).any() and np.unique(x).size == x.size and not is_order(x):
            arrays = case.arrays
            arrays[i] = x.copy(order="K")
            arrays[i].flat[-1] = x.flat[0]
            yield case.with_arrays(arrays)


def _nearby(args: tuple[Any, ...], kept: Any, share: float = 1.0) -> tuple[Any, ...]:
    """Return a share of the arguments, with every float a little larger or smaller, and no two equal that were repeated."""
    random, place = np.random.default_rng(1), iter(range(1 << 30))

    def moved(x: Array) -> Array:
        if next(place) in kept or x.dtype.kind not in "fc":
            return x
        return np.asarray(x * (share * random.uniform(0.85, 1.2, x.shape)), x.dtype)

    return tuple(map_arrays(moved, x) for x in args)


def probe_of(case: Case) -> Probe:
    """Return the operator as a function of its arguments, to be differentiated by the tracked ones.

    For an operator that writes to its arguments it is the functional form, which has the same rule.
    """
    case = case._replace(op=case.op.functional)
    labels = [label.replace("'", "", 2) for label in case.labels]
    names = tuple(f"output {i}" for i in range(case.op.outputs.count))
    return Probe(lambda *args: case.call(args), case.args, list(case.arrays), case.tracked, labels, names)


def sure(probe: Probe, move: Move, weight: Array, got: float, steps: dict[str, Any]) -> bool:
    """Whether a weighted sum of derivatives is wrong at other steps too, where neighbouring steps agree."""
    projected: list[list[tuple[Array, Array]]] = []
    allowed = np.inf
    for families in zip(*(probe.sides(place, direction, steps["eps"], weight.size) for place, direction in move), strict=False):
        projected.append([])
        for sides in zip(*families, strict=False):
            ahead, behind = (np.sum([side[k] for side in sides], 0) for k in (0, 1))
            projected[-1].append((np.array([weight @ ahead]), np.array([weight @ behind])))
            column = (ahead + behind) / 2
            least = scaled(steps["atol"], column) if steps["relative"] else steps["atol"]
            allowed = np.fmin(allowed, least + steps["rtol"] * float(np.abs(weight) @ np.abs(column)))
    return bool(judged(np.array([got]), projected, 0.0, float(allowed))[0][0])


# -- other values and sizes ------------------------------------------------------------------------------------------------


def backward_along(probe: Probe, move: Move, weights: list[Array]) -> list[tuple[Move, float]]:
    """Return the derivative of a weighted sum of the outputs along each direction, by the backward."""
    found = probe.record().pull(weights)
    return [([part], float(gradient @ as_reals(part[1]))) for part, gradient in zip(move, found, strict=True)]


def forward_along(probe: Probe, move: Move, weights: list[Array]) -> list[tuple[Move, float]]:
    """Return the derivative of a weighted sum of the outputs along all directions at once, by the jvp rule."""
    tangents = pushed(probe, dict(move))[1]
    return [(move, float(np.concatenate([as_reals(w) for w in weights]) @ tangents))]


def pushed(probe: Probe, directions: dict[int, Array]) -> tuple[list[tuple[str, Any]], Array]:
    """Return the outputs, and their tangents as one real vector, for a move of some inputs along a direction each."""
    arrays: list[Any] = [x.copy(order="K") for x in probe.arrays]
    seen: list[tuple[str, Any]] = []

    def outputs_of(*moving: Any) -> list[Any]:
        for place, x in zip(directions, moving, strict=True):
            arrays[place] = x
        seen[:] = probe.floats(probe.f(*probe.arguments(arrays)))
        return [out for _, out in seen]

    primals = tuple(arrays[place] for place in directions)
    tangents = tuple(t.astype(probe.arrays[place].dtype) for place, t in directions.items())
    values, moved = jvp(outputs_of, primals, tangents)
    labelled = [(label, np.asarray(value)) for (label, _), value in zip(seen, values, strict=True)]
    return labelled, np.concatenate([np.zeros(0), *(as_reals(np.asarray(t)) for t in moved)])


def check_along(case: Case, findings: Findings, options: Options, steps: dict[str, Any], along: Along, rule: str) -> None:
    """Compare derivatives with differences at other values and sizes, along one direction for each input."""
    samples = other_samples(case, options)
    for varied in (case, *samples) if along is forward_along else samples:
        # far from the sample a kernel that approximates, as a polynomial does, may be off; one of low degree there is not
        far = varied.what.endswith((ALONE, *(what for _, what in FURTHER)))
        with quietly():
            if not far or _is_quadratic(varied):
                _compare_along(varied, findings, steps, along, rule)
        if findings.faults:
            return


def _is_quadratic(case: Case) -> bool:
    """Whether a kernel is of the second degree at most around a sample in each tracked array, as one that clips or chooses."""
    probe = probe_of(case)
    try:
        inputs = list(zip(probe.places, probe.differentiated(), strict=True))
        ends = [[probe.moved(place, np.asarray(x * share / 1024, x.dtype)) for share in (1, 2)] for place, (_, x) in inputs]
        bends = []
        for near, far in ends:
            (up, down), (above, below) = [[probe.reals(probe.run(arrays)) for arrays in pair] for pair in (near, far)]
            bends.append((above - 2 * up + 2 * down - below, np.abs(above).max(initial=0.0)))
    except Exception:  # the kernel refuses it, or its outputs have another shape there
        return False
    return all(np.abs(x).max(initial=0.0) <= 1e-9 * most for x, most in bends)


def _compare_along(case: Case, findings: Findings, steps: dict[str, Any], along: Along, rule: str) -> None:
    probe, random = probe_of(case), np.random.default_rng(3)
    if not case.tracked:
        return
    try:
        outputs = probe.floats(probe.run(probe.arrays))
    except Exception:  # the kernel refuses the variant
        return
    if not outputs or not all(np.isfinite(x).all() for _, x in outputs) or not all(x.size for _, x in probe.differentiated()):
        return
    findings.runs += 1 + 2 * len(probe.places)
    weights = [random_like(random, x) for _, x in outputs]
    weight = np.concatenate([as_reals(w) for w in weights])
    move = [(i, random_like(random, x) * random.choice([-1.0, 1.0], x.shape)) for i, (_, x) in
            zip(probe.places, probe.differentiated(), strict=True)]  # fmt: skip
    if along is _given_along:
        move = [(i, _as_symmetric(step, probe.arrays[i])) for i, step in move]
    move = [(i, probe.movable(i, step, steps["eps"])) for i, step in move]
    try:
        numeric = {place: probe.slope(place, direction, steps["eps"], weight.size) for place, direction in move}
    except GradcheckError:  # the shape depends on data
        return
    try:
        found = along(probe, move, weights)
    except (ArithmeticError, np.linalg.LinAlgError):
        return
    except Exception as error:
        if case.what == REPEATED or MORE in case.what:  # indices may have to differ, and a rule may be for so many arrays
            return
        text = str(error).removeprefix(f"{case.name}: ").partition("\n")[0]
        findings.fault(
            "elsewhere",
            f"{rule} raises {type(error).__name__}{case.what} ({case.given()}), where the {case.kernel} does not: {text}",
            error,
        )
        return
    for part, got in found:
        column = np.sum([numeric[place] for place, _ in part], 0)
        parts = float(np.abs(weight) @ np.sum([np.abs(numeric[place]) for place, _ in part], 0))
        least = scaled(steps["atol"], column) if steps["relative"] else steps["atol"]
        off = abs(got - float(weight @ column)) / (least + steps["rtol"] * SHARE * parts)
        if not off <= 1 and sure(probe, part, weight, got, steps | {"rtol": steps["rtol"] * SHARE}):
            names = " and ".join(probe.labels[place] for place, _ in part)
            findings.fault(
                "elsewhere",
                f"{rule} of the {case.kernel} is wrong{case.what} ({case.given()}): d (a weighted sum of the outputs) / "
                f"d {names} along a random direction: got {got:.6g}, numeric {float(weight @ column):.6g}.",
            )
            return


def _as_symmetric(step: Array, x: Array) -> Array:
    """Return a move of an array that is symmetric if the array is: a kernel may read one half of it, as solvers do."""
    if x.ndim < 2 or x.shape[-1] != x.shape[-2] or not np.array_equal(x, np.conj(x.swapaxes(-1, -2))):
        return step
    return np.asarray((step + np.conj(step.swapaxes(-1, -2))) / 2, step.dtype)


def check_untracked(case: Case, findings: Findings, steps: dict[str, Any], rule: str) -> None:
    """Compare the gradients that a backward gives by arrays which the sample does not track; it need not give any."""
    written = [case.places([a.name]) for a in case.op.schema.arguments if a.is_write]
    left = set(range(len(case.arrays))).difference(case.tracked, *written)
    for i in sorted(left):
        if case.arrays[i].dtype in (np.float64, np.complex128) and case.arrays[i].size:
            with quietly():
                _compare_along(case._replace(tracked=(i,)), findings, steps, _given_along, rule)


def check_far(case: Case, findings: Findings, options: Options, steps: dict[str, Any], rule: str) -> None:
    """Look where a kernel may not end or may read beyond an array, which is no fault: in a copy of the child process.

    A gradient overflows where it is no number for large values of either sign, and the outputs and their changes are. It is
    wrong by broadcasting where an array has length 1 along an axis, and the kernel gives the same as for the array when
    repeated; a kernel that reduces may not be meant to, so that this is worth advice. In the user's own process nothing is
    found.
    """
    if case.say is None or not has_fork():
        return
    fixed = case.places(options.fixed)
    probes = _far_probes(case, fixed | case.integers | case.bounded)
    others = [made for made in apart(case.args, fixed) if made[0].startswith(ONE_ALONE)] + [*exchanged(case.args, fixed)]
    repeated = [] if case.integers else [(what, _nearby(args, fixed)) for what, args in others]
    if not probes and not repeated:
        return

    def wrong(what: str, args: tuple[Any, ...]) -> tuple[bool, str]:
        varied = case.with_args(args, f" on the sample {what}")._replace(say=None)
        pairs = zip(case.arrays, varied.arrays, strict=True)
        changed = tuple(i for i, (x, y) in enumerate(pairs) if i in case.tracked and x.shape != y.shape)
        varied, aside = varied._replace(tracked=changed), Findings(case.name)
        with quietly():
            pointwise = _repeats(varied) if changed else None
            if pointwise is not None:
                _compare_along(varied, aside, steps, backward_along, rule)
        return bool(pointwise) and not aside.causes, next(iter(aside.faults.values()), "")

    copy = Elsewhere(lambda: chain(map(_overflown, probes), starmap(wrong, repeated)), options.patience(PATIENCE))
    found, _ = copy.results()
    findings.runs += 2 * len(probes) + len(found[len(probes) :])
    if overflown := next(filter(None, found[: len(probes)]), None):
        findings.fault(
            "overflow",
            f"{rule} gives {overflown[1]} for derivatives by {overflown[0]} for values up to {OVERFLOW:g}, where the "
            f"{case.kernel} gives numbers that change by numbers. An exponential overflows, as in np.exp(x) / (1 + np.exp(x)): "
            "write it of what is not positive, np.exp(-np.abs(x)).",
        )
    for pointwise, told in found[len(probes) :]:
        said = f"{told} Where arrays broadcast, the gradient is the sum over what is repeated."
        if told and pointwise:
            findings.faults.setdefault("broadcast", said)
        elif told:
            findings.advise("broadcast", said)


def _far_probes(case: Case, kept: frozenset[int]) -> list[Probe]:
    """The operator at large values of either sign; nowhere if the values are large already, or none is a float."""
    largest = max((float(np.abs(x).max(initial=0.0)) for x in case.arrays if x.dtype.kind in "fc"), default=0.0)
    shares = (OVERFLOW / largest, -OVERFLOW / largest) if 0 < largest < OVERFLOW else ()
    return [probe_of(case.with_args(_nearby(case.args, kept, share))._replace(say=None)) for share in shares]


def _repeats(case: Case) -> bool | None:
    """Whether outputs have the shape of all arrays together; None if they differ from those of the arrays when repeated."""
    arrays = case.arrays
    shape = np.broadcast_shapes(*[x.shape for x in arrays])
    full = case.with_arrays([np.broadcast_to(x, shape).copy() for x in arrays])
    try:
        outputs, expected = case.call(case.args), case.call(full)
        pairs = zip(named_outputs(outputs), named_outputs(expected), strict=True)
        same = all(difference(x, y) is None for (_, x), (_, y) in pairs)
        return all(x.shape == shape for _, x in named_outputs(outputs)) if same else None
    except Exception:  # it refuses one of the two
        return None


def check_zero(case: Case, findings: Findings, options: Options, rule: str) -> None:
    """Find gradients that are no numbers where one element is 0, and the outputs and their changes are numbers all the same.

    Only the gradient by the array with the 0 is looked at: that of a power by its exponent, x**y * np.log(x), is none in many.
    """
    for place in sorted({*case.tracked} - case.places(options.fixed)):
        if case.arrays[place].size > 1 and place not in case.bounded:
            arrays = list(case.arrays)
            arrays[place] = arrays[place].copy(order="K")
            arrays[place].flat[0] = 0
            probe = probe_of(case.with_args(case.with_arrays(arrays))._replace(tracked=(place,)))
            findings.runs += 4
            if (found := _overflown(probe, smooth=True)) is not None:
                findings.fault(
                    "zero",
                    f"{rule} gives {found[1]} for derivatives by {found[0]} where one element of it is 0, and the "
                    f"{case.kernel} is smooth there. It divides by what may be 0, as out / x in a product.",
                )
                return


def _is_smooth(probe: Probe, place: int) -> bool:
    """Whether the outputs change alike on both sides of the arrays, and by a smaller step; a cube root at 0 does not."""
    middle, slopes = probe.reals(probe.run(probe.arrays)), []
    for length in (STEP, STEP / 8):
        step = np.full(probe.arrays[place].shape, length, probe.arrays[place].dtype)
        up, down = [probe.reals(probe.run(arrays)) for arrays in probe.moved(place, step)]
        slopes += [(up - middle) / length, (middle - down) / length]
    least = 0.01 * float(np.abs(slopes[0]).max(initial=0.0))
    with np.errstate(all="ignore"):
        return all([np.allclose(slope, slopes[0], rtol=0.01, atol=least) for slope in slopes])


def _overflown(probe: Probe, *, smooth: bool = False) -> tuple[str, str] | None:
    """The label of an input by which a gradient is no number where a difference is one, and what it is."""
    with quietly():
        try:
            with np.errstate(divide="raise" if smooth else "ignore", invalid="raise" if smooth else "ignore"):
                outputs = probe.floats(probe.run(probe.arrays))  # of a kernel that divides by it too, 0 is not asked
            if not outputs or not all(np.isfinite(x).all() for _, x in outputs):
                return None
            recording = probe.record()
            gradients = recording.pull([np.ones_like(_value(x)) for _, x in recording.outputs])
            for place, gradient in zip(probe.places, gradients, strict=True):
                lost, ones = gradient[~np.isfinite(gradient)], np.ones_like(probe.arrays[place])
                if not lost.size or (smooth and not _is_smooth(probe, place)):
                    continue
                if np.isfinite(probe.slope(place, ones, 1e-3, recording.size)).all():
                    return probe.labels[place], str(lost[0])
        except Exception:  # the kernel or the rule refuses such values
            return None
    return None


def _given_along(probe: Probe, move: Move, weights: list[Array]) -> list[tuple[Move, float]]:
    """`backward_along` where there is a gradient; no words where there is none, or where the rule raises."""
    try:
        return [(part, got) for part, got in backward_along(probe, move, weights) if got]
    except Exception:
        return []


# -- other recordings of the same call -------------------------------------------------------------------------------------


def check_recordings(
    case: Case, findings: Findings, rule: str, fixed: Collection[str], *, coarse: bool, linear: bool, batched: bool
) -> None:
    """Compare the gradients at the sample with those of other recordings and other pulls, all of which should be the same."""
    probe, random = probe_of(case), np.random.default_rng(2)
    plain = [x.copy(order="K") for x in probe.arrays]
    base = _recorded(probe, plain)
    seeds = [random_like(random, _value(x)) for _, x in base.outputs]
    expected = base.pull(seeds)
    near = 1e-2 if coarse else 1e-7

    def compare(key: str, said: str, pull: Callable[[], list[Array]], places: tuple[int, ...] = probe.places) -> None:
        findings.runs += 1
        wanted = [g for g, place in zip(expected, probe.places, strict=True) if place in places]
        try:
            with quietly():
                found = pull()
        except Exception as error:
            text = str(error).removeprefix(f"{case.name}: ")
            findings.fault(key, f"{rule} raises {type(error).__name__} {said}: {text}", error)
            return
        for x, y, place in zip(found, wanted, places, strict=True):
            if not np.allclose(x, y, rtol=near, atol=near * float(np.abs(y).max(initial=0.0)), equal_nan=True):
                findings.fault(key, f"{rule} gives another gradient of {probe.labels[place]} {said}.{ADVICE[key]}")

    for key, said, pull in _other_pulls(base, seeds, linear=linear, batched=batched):
        compare(key, said, pull)
    _between(probe, case, random)
    compare("between", "after a call with other values has been recorded", lambda: base.pull(seeds))
    changed = (args for _, args in (*flags(case.args), *numbers(case.args, case.op.arguments.names, fixed)))
    for other in (*map(case.with_args, changed), *case.branches(fixed)):
        _between(probe_of(other), other, random)
        compare("between", "after a call with other options has been recorded", lambda: base.pull(seeds))
    if len(probe.places) > 1:
        for place in probe.places:
            alone = probe._replace(places=(place,))
            said = f"where {probe.labels[place]} alone is tracked"
            compare("alone", said, lambda alone=alone: _recorded(alone, _copies(plain)).pull(seeds), (place,))  # type: ignore[misc]
    for what, args in layouts(case.args):
        laid = case._replace(args=args).arrays
        if what in STRIDED and _accepted(probe, laid):
            compare("strides", f"for the same arguments {what}", lambda laid=laid: _recorded(probe, _copies(laid)).pull(seeds))  # type: ignore[misc]
    for what, given in layouts(tuple(seeds)):
        if what in STRIDED:
            compare("incoming", f"where the same gradient comes in {what}", lambda given=given: base.pull(_copies(given)))  # type: ignore[misc]
    equal = [np.full(x.shape, 0.75, x.dtype) for x in seeds]
    expected = base.pull(equal)
    said = "where one number comes in for every element, with strides of 0"
    compare("incoming", said, lambda: base.pull([_spread(x) for x in equal]))
    if not coarse:
        _precision(probe, findings, rule, base, expected=base.pull(seeds))
        with quietly():
            if not findings.faults and (places := rounded(probe, plain, seeds)):
                names = " and ".join(probe.labels[place] for place in places)
                findings.fault("precision", f"{rule} gives derivatives by {names} {LOST_DIGITS}")


ADVICE = {
    "linear": " A backward is linear in what comes in. Clip or test gradients outside of the operator.",
    "batched": " A backward with batched=True has several along the first axis, which are not to be mixed.",
    "between": " It keeps something outside its ctx, which the next call replaces: save it with ctx.save_for_backward(...).",
    "alone": " It looks at ctx.needs_input_grad, whose places are those of the arguments, or counts on what others saved.",
    "strides": " It reads memory without looking at strides: np.ascontiguousarray(x) first.",
    "incoming": " It reads memory without looking at strides: np.ascontiguousarray(g) first.",
}


def _other_pulls(
    base: Recording, seeds: list[Array], *, linear: bool, batched: bool
) -> Iterator[tuple[str, str, Callable[[], list[Array]]]]:
    """Yield the key, the words and the pull of gradients that should be those of `seeds`."""
    for factor in FACTORS if linear and not any(x.dtype == np.float16 for x in seeds) else ():
        times = [np.asarray(x * x.dtype.type(factor)) for x in seeds]
        said = f"in proportion where {factor:g} times the same comes in"
        yield "linear", said, lambda times=times, factor=factor: [g / factor for g in base.pull(times)]  # type: ignore[misc]
    if batched:
        stacks = [np.stack([x[::-1] if x.ndim else x, x, -x]) for x in seeds]
        yield "batched", "where three gradients come in at once", lambda: base.pull_together(stacks)[1]


def _between(probe: Probe, case: Case, random: "np.random.Generator") -> None:
    """Record other calls, each with a backward of its own: for values nearby, and negated, where a mask is another."""
    for share in (1.0, -1.0):
        try:
            with quietly():
                near = _nearby(case.args, case.integers, share)
                other = _recorded(probe, case._replace(args=near).arrays)
                other.pull([random_like(random, _value(x)) for _, x in other.outputs])
        except Exception:  # the kernel refuses such values
            continue


def _recorded(probe: Probe, arrays: list[Any]) -> Recording:
    """Record a call on these very arrays, which keep their strides."""
    leaves: list[Any] = [track(x, ground()) if i in probe.places else x for i, x in enumerate(arrays)]
    outputs = probe.floats(probe.f(*probe.arguments(leaves)))
    return Recording([leaves[i] for i in probe.places], outputs)


def _copies(arrays: Any) -> list[Any]:
    """Return copies with the same strides, and guards."""
    return [Guarded(x, writeable=True).array for x in arrays]


def _accepted(probe: Probe, arrays: list[Any]) -> bool:
    """Whether the kernel computes on arrays."""
    try:
        with quietly():
            probe.f(*probe.arguments(_copies(arrays)))
    except Exception:
        return False
    return True


def _spread(x: Array) -> Array:
    """Return an array of equal elements whose strides are 0, between other values."""
    kept = np.zeros(2 * x.size + 1, x.dtype)
    kept[x.size] = x.flat[0] if x.size else 0
    return np.broadcast_to(kept[x.size : x.size + 1].reshape(()), x.shape)


def _value(x: Any) -> Any:
    return np.asarray(x.value if isinstance(x, TrackedTensor) else x)


def _precision(probe: Probe, findings: Findings, rule: str, base: Recording, expected: list[Array]) -> None:
    """Find gradients that have gone through single precision."""
    outputs = np.concatenate([np.zeros(0), *(as_reals(_value(x)) for _, x in base.outputs)])
    for gradient, place in zip(expected, probe.places, strict=True):
        if has_lost_digits(gradient, outputs):
            findings.fault("precision", f"{rule} gives derivatives by {probe.labels[place]} {LOST_DIGITS}")


def check_narrow(case: Case, findings: Findings, rule: str) -> None:
    """Compare gradients of float32 arguments with those of the same values in double precision.

    Only a multiple of the right one is a fault: a rule in C that takes float32 for float64 gives what lies in memory, and is
    right for the precision that it was written for.
    """
    hinted = any(argument.dtype is not None for argument in case.op.schema.arguments)
    for what, args in () if hinted else single_precision(case.args):
        narrow = case.with_args(args, f" {what}")
        wide = case.with_args(tuple(map_arrays(_widened, x) for x in args))
        try:
            with quietly():
                found, expected = (_along_one(probe_of(x)) for x in (narrow, wide))
        except Exception:  # it takes double precision alone
            continue
        findings.runs += 2
        for y, x in zip(found[0], expected[0], strict=True):
            if y.shape != x.shape or not _near(y, x, FORWARD):
                return
        for place, y, x in zip(probe_of(case).places, found[1], expected[1], strict=True):
            with np.errstate(all="ignore"):
                share = float(y @ x) / (float(x @ x) or 1.0)
            told = y.shape == x.shape and x.size > 1 and np.isfinite(y).all() and abs(share) < 100
            if told and not _near(y, x, BACKWARD) and _near(y, share * x, BACKWARD):
                findings.fault(
                    "narrow",
                    f"{rule} gives {share:.3g} times the gradient by {case.labels[place]} {what}, where the outputs are "
                    "those of double precision. Look at what it asks of a dtype.",
                )


def _widened(x: Array) -> Array:
    return x.astype({"f": "d", "F": "D"}.get(x.dtype.char, x.dtype))


def _along_one(probe: Probe) -> tuple[list[Array], list[Array]]:
    """The outputs of a call, and the gradients along ones."""
    recording = probe.record()
    values = [_value(x) for _, x in recording.outputs]
    return [as_reals(x) for x in values], [as_reals(g) for g in recording.pull([np.ones_like(x) for x in values])]


def _near(x: Array, y: Array, share: float) -> bool:
    """Whether values are equal but for a share of the largest; what is not finite counts as equal."""
    with np.errstate(all="ignore"):
        off = np.abs(x - y)
        return bool(np.all(~np.isfinite(off) | (off <= share * np.abs(y[np.isfinite(y)]).max(initial=0.0) + share * 1e-3)))


def check_digits(case: Case, findings: Findings, rule: str) -> None:
    """Find tangents that have gone through single precision."""
    probe, random = probe_of(case), np.random.default_rng(4)
    move = {place: random_like(random, x) for place, (_, x) in zip(probe.places, probe.differentiated(), strict=True)}
    outputs, tangents = pushed(probe, move)
    if has_lost_digits(tangents, np.concatenate([np.zeros(0), *(as_reals(x) for _, x in outputs)])):
        findings.fault("precision", f"{rule} gives tangents {LOST_DIGITS}")
