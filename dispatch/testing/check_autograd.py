"""The checks `test_autograd_registration`, `test_gradients` and `test_jvp`: an operator has a gradient, and it is right.

Small samples are checked entry by entry. Large ones are checked along random directions and at some elements, with random
output gradients; after a failure the largest derivatives are searched for the wrong entry.
More than 350 lines: each comparison, and the words for what it finds.
"""

import re
from typing import Any

import numpy as np

from ..core import DispatchKey
from ..errors import how_many
from ..layers.autograd import CONSTANT, TrackedTensor
from ..schema.tags import Tag
from .cases import Case, Options, named_outputs
from .closeness import tolerance
from .difference_quotients import Probe, Recording, as_reals, compare, judged, label_of, random_like, scaled, units
from .gradient_checks import gradient_probe
from .gradient_variants import (
    backward_along,
    check_along,
    check_digits,
    check_far,
    check_narrow,
    check_recordings,
    check_untracked,
    check_zero,
    forward_along,
    probe_of,
    pushed,
    sure,
)
from .kernel_runs import quietly
from .lost_digits import little_off
from .report import Findings

Array = np.ndarray[Any, Any]

MOST_ENTRIES = 4096  # of a Jacobian that is compared entry by entry
MOST_SECOND = 256  # and of one whose own derivative is
ELEMENTS, DIRECTIONS = 24, 4  # of a large one: single elements, and random directions

ROUNDS = re.compile(r"numeric -?0\.(\s|$)")  # no change at all
ALONG = 0.02  # of the tolerance is allowed along a direction in all elements

UNTRACKED = "no argument came tracked; pass dispatch.tensor(a, requires_grad=True) to check gradients"


def check_registration(case: Case, findings: Findings) -> None:
    """Check that floating-point outputs of tracked arguments are tracked."""
    if not case.tracked:
        findings.skip(UNTRACKED)
        return
    names = " and ".join(case.labels[i] for i in case.tracked)
    key = _key(case)
    rule = case.rule(key)
    probe = probe_of(case)
    findings.runs += 1
    try:
        with quietly():
            outputs = probe.f(*probe.arguments(probe.leaves()))
    except Exception as error:
        text = str(error).removeprefix(f"{case.name}: ")
        findings.fault("raises", f"with {names} tracked it raises {type(error).__name__}: {text}", error)
        return
    floats = [(name, x) for name, x in named_outputs(outputs) if x.dtype.kind in "fc"]
    if not floats:
        findings.skip("no output is a floating-point array, so none carries a gradient")
    elif rule is CONSTANT:
        findings.skip("the operator is declared to have no derivative")
    elif rule is None:
        arguments = ", ".join(case.op.arguments.names)
        findings.fault(
            "none",
            f"{names} came tracked, and no rule gives the gradient of the {case.kernel}. Add one: "
            f"{case.op.schema.name}.register_autograd(backward, setup_context=setup_context), where backward(ctx, "
            "*grads) "
            f"returns a gradient for each of ({arguments}), None for what has none.",
        )
    else:
        marked = _marked(outputs)
        for name, x in floats:
            if not isinstance(x, TrackedTensor) and not marked:
                findings.fault(
                    ("untracked", name),
                    f"{name} comes untracked although {names} came tracked, so that its gradient is lost in silence. "
                    f"Register the gradient through {case.op.schema.name}.register_autograd "
                    f"({case.place(key)} "
                    "gives none here).",
                )


def _key(case: Case) -> DispatchKey:
    """Where the derivative is written: a backward is made of a jvp rule where there is no other."""
    keys = (DispatchKey.AUTOGRAD, DispatchKey.JVP)
    return next((key for key in keys if case.rule(key) is not None), DispatchKey.AUTOGRAD)


def _marked(outputs: list[Any]) -> bool:
    """Whether the rule marked outputs as non-differentiable."""
    return any(getattr(x.grad_fn, "undifferentiable", ()) for _, x in named_outputs(outputs) if isinstance(x, TrackedTensor))


def check_gradients(case: Case, findings: Findings, options: Options) -> None:
    """Compare the gradients with finite differences of the kernel."""
    if not case.tracked:
        if options.gradients == "compare" and Tag.random not in case.op.tags and case.rule(_key(case)) not in (None, CONSTANT):
            steps = steps_for(probe_of(case), options)
            check_untracked(case, findings, steps, f"the backward ({case.place(_key(case))})")
        if not findings.faults:
            findings.skip(UNTRACKED)
        return
    if Tag.random in case.op.tags:
        findings.skip("the operator is random, so finite differences say nothing")
        return
    probe, place = probe_of(case), case.place(_key(case))
    steps = steps_for(probe, options)
    found = None
    try:
        with quietly():
            if case.rule(_key(case)) is None:
                findings.skip("there is no gradient to check, see test_autograd_registration")
                return
            recording = probe.record()
            if not recording.outputs:
                findings.skip("no output is a floating-point array")
                return
            width = sum(x.size for _, x in probe.differentiated())
            small = recording.size * width <= MOST_ENTRIES
            findings.runs += 1 + 2 * (width if small else min(width, ELEMENTS + DIRECTIONS))
            written = _written(recording)
            if options.gradients == "compare":
                found = compare(probe, smooth=False, **steps) if small else sampled(probe, steps)
                if found is None and small and not _coarse(probe) and recording.size * width <= MOST_SECOND:
                    _second_order(case, probe, findings, steps)
    except Exception as error:
        text = "\n".join([str(error).removeprefix(f"{case.name}: "), *_advice(error)])
        findings.fault("raises", f"the backward ({place}) raises {type(error).__name__}: {text}", error)
        return
    if written:
        findings.fault(
            "writes",
            f"the backward ({place}) writes to the gradient of {written} that it is given, which "
            "others hold too. Write to a copy, g.copy().",
        )
    if found is not None and case.rule(_key(case)) is CONSTANT:
        findings.fault("differs", f"the {case.kernel} is declared to have no derivative, and {found}")
    elif found is None and not findings.faults and case.rule(_key(case)) is not CONSTANT:
        _check_elsewhere(case, probe, findings, options, steps)
    elif found is not None:
        findings.fault("differs", f"of the gradient by {place} of the {case.kernel} {found}{_way_out(found)}")


def _check_elsewhere(case: Case, probe: Probe, findings: Findings, options: Options, steps: dict[str, Any]) -> None:
    """Look at other recordings of the sample, and at other values and sizes."""
    place = case.place(_key(case))
    with quietly():
        check_recordings(
            case, findings, f"the backward ({place})", options.fixed, coarse=_coarse(probe),
            linear=options.gradients == "compare", batched=getattr(case.rule(_key(case)), "batched", False),
        )  # fmt: skip
    if options.gradients == "compare" and not findings.faults:
        check_along(case, findings, options, steps, backward_along, f"the backward ({place})")
    if options.gradients == "compare" and not findings.faults:
        check_untracked(case, findings, steps, f"the backward ({place})")
    if options.gradients == "compare" and not findings.faults and not _coarse(probe):
        check_zero(case, findings, options, f"the backward ({place})")
        check_far(case, findings, options, steps, f"the backward ({place})")
    if options.gradients == "compare" and not findings.faults and not _coarse(probe):
        with quietly():
            off = little_off(probe, probe.record().size)
        if off is not None:
            findings.fault(
                "off",
                f"the backward ({place}) of the {case.kernel} gives derivatives by {probe.labels[off[0]]} that are all "
                f"{off[1]:.9g} times what they should be. A constant has too few digits.",
            )
    if options.gradients == "compare" and not findings.faults and not _coarse(probe):
        check_narrow(case, findings, f"the backward ({place})")


def _way_out(found: str) -> str:
    """What to do where the kernel does not change at all, as one that rounds does not."""
    if not ROUNDS.search(found) or "got 0," in found:
        return ""
    return (
        "\nIf the kernel rounds, and the gradient is meant to be that of what it rounds, ask only that it is there: "
        'opcheck(..., gradients="exist").'
    )


def check_forward(case: Case, findings: Findings, options: Options) -> None:
    """Compare the operator's own jvp rule with finite differences of the kernel, and so with the backward."""
    rule = case.rule(DispatchKey.JVP)
    if not case.tracked:
        findings.skip(UNTRACKED)
    elif rule is CONSTANT:
        findings.skip("the operator is declared to have no derivative")
    elif Tag.random in case.op.tags:
        findings.skip("the operator is random, so finite differences say nothing")
    elif rule is not None:  # otherwise forward mode is made of the backward, which test_gradients checks
        _compare_forward(case, findings, options)


def _compare_forward(case: Case, findings: Findings, options: Options) -> None:
    probe, place = probe_of(case), case.place(DispatchKey.JVP)
    steps = steps_for(probe, options)
    eps, rtol = steps["eps"], steps["rtol"]
    random = np.random.default_rng(0)
    tried, wrong = 0, []
    inputs = list(probe.differentiated())
    for i, (label, x) in zip(probe.places, inputs, strict=True):
        for name, _, direction in _directions(random, label, x):
            try:
                with quietly():
                    outputs, got = pushed(probe, {i: direction})
            except Exception as error:
                text = str(error).removeprefix(f"{case.name}: ")
                findings.fault("raises", f"the jvp rule ({place}) raises {type(error).__name__}: {text}", error)
                return
            findings.runs += 1
            if not outputs:
                findings.skip("no output is a floating-point array")
                return
            if options.gradients == "exist":
                continue
            with quietly():
                numeric = probe.slope(i, direction, eps, got.size)
                atol = scaled(steps["atol"], numeric) if steps["relative"] else steps["atol"]
                bad = ~np.isclose(got, numeric, rtol=rtol, atol=atol, equal_nan=True)
                if bad.any():
                    sure, better, _ = judged(got, probe.sides(i, direction, eps, got.size), rtol, atol)
                    bad, numeric = bad & sure, np.where(sure, better, numeric)
            tried += 1
            if bad.any():
                k = int(np.argmax(np.where(bad, np.abs(got - numeric), -1.0)))
                wrong.append(f"d {label_of(outputs, k)} / d {name}: got {got[k]:.6g}, numeric {numeric[k]:.6g}.")
    if not wrong and options.gradients == "compare":
        check_along(case, findings, options, steps, forward_along, f"the jvp rule ({place})")
        if not findings.faults and not _coarse(probe):
            with quietly():
                check_digits(case, findings, f"the jvp rule ({place})")
    if wrong:
        findings.fault(
            "differs",
            f"by the jvp rule ({place}) of the {case.kernel} {len(wrong)} of {how_many(tried, 'tangent')} differ from finite "
            f"differences. The first:\n{wrong[0]}",
        )


def _coarse(probe: Probe) -> bool:
    """Whether an input is of less than double precision."""
    return max((np.finfo(x.dtype).eps for _, x in probe.differentiated()), default=2.0**-52) > 1e-12


def steps_for(probe: Probe, options: Options) -> dict[str, Any]:
    """Return the step of finite differences and the tolerances, for the precision of the inputs."""
    coarse = _coarse(probe)
    eps = options.eps
    if eps is None:
        eps = float(max(np.finfo(x.dtype).eps for _, x in probe.differentiated()) ** (1 / 3)) if coarse else 1e-6
    given = options.rtol is not None or options.atol is not None
    rtol, atol = (2e-2, 2e-2) if coarse else (1e-3, 1e-5)
    if given:
        rtol, atol = tolerance(np.dtype(float), rtol=options.rtol, atol=options.atol)
    return {"eps": eps, "rtol": rtol, "atol": atol, "relative": not given}


def _written(recording: Recording) -> str:
    """The outputs whose gradients a backward changed: by a pointer, for the arrays themselves are read-only."""
    random = np.random.default_rng(0)
    given = [random_like(random, _value(x)) for _, x in recording.outputs]
    before = [g.copy() for g in given]
    recording.pull(given)
    names = [name for (name, _), g, kept in zip(recording.outputs, given, before, strict=True) if g.tobytes() != kept.tobytes()]
    return " and ".join(names)


def _advice(error: Exception) -> list[str]:
    """What a note adds to an exception, beside where it was raised."""
    return [note for note in getattr(error, "__notes__", ()) if note[:1].isupper()]


def _second_order(case: Case, probe: Probe, findings: Findings, steps: dict[str, Any]) -> None:
    """Check the gradient of the gradient; a rule that can be differentiated only once is no fault."""
    try:
        loose = steps | {"atol": max(steps["atol"], 1e-4)}
        found = compare(gradient_probe(probe), smooth=False, **loose)
    except Exception as error:  # whatever a backward raises that was not made for tracked values
        first = str(error).partition("\n")[0].removeprefix(f"{case.name}: ")
        findings.advise(
            "second",
            f"{case.name} is differentiable once: its backward raises {type(error).__name__} under create_graph=True. {first}",
        )
        return
    if found is not None:
        findings.fault(
            "second",
            f"the second derivative by {case.place(_key(case))} is wrong where the first is right: {found}\n"
            "Compute the backward from ctx.saved_tensors and the incoming gradients, with operators.",
        )


def sampled(probe: Probe, steps: dict[str, Any]) -> str | None:
    """`compare` for large Jacobians: random combinations of the outputs, at some elements and along random directions."""
    eps, atol, rtol, relative = steps["eps"], steps["atol"], steps["rtol"], steps["relative"]
    recording = probe.record()
    random = np.random.default_rng(0)
    weights = [random_like(random, _value(x)) for _, x in recording.outputs]
    weight = np.concatenate([as_reals(w) for w in weights])
    inputs = list(probe.differentiated())
    gradients = recording.pull(weights)
    wrong: list[tuple[bool, float, str, Array, int]] = []
    tried = before = 0
    for place, (label, x), gradient in zip(probe.places, inputs, gradients, strict=True):
        for name, j, direction in _directions(random, label, x):
            column = probe.slope(place, direction, eps, recording.size)
            numeric, got = float(weight @ column), float(gradient @ as_reals(direction))
            # rounding is small beside the sum of all parts, and one wrong element must show among thousands
            share = ALONG if j is None else 1.0
            least = scaled(atol, column) if relative else atol
            off = abs(got - numeric) / (least + rtol * share * float(np.abs(weight) @ np.abs(column)))
            tried += 1
            if not off <= 1 and sure(probe, [(place, direction)], weight, got, steps | {"rtol": rtol * share}):
                said = f"d (a weighted sum of the outputs) / d {name}: got {got:.6g}, numeric {numeric:.6g}."
                wrong.append((j is None, -off, said, column, before + (j or 0)))
        before += as_reals(x).size
    if not wrong:
        return None
    along, _, said, column, j = min(wrong, key=lambda found: found[:2])
    if not along:
        said = _entry(recording, inputs, column, j, atol, rtol) or said
    return f"{len(wrong)} of {tried} derivatives tried differ from finite differences. The worst:\n{said}"


def _entry(recording: Recording, inputs: list[tuple[str, Any]], column: Array, j: int, atol: float, rtol: float) -> str:
    """Return the output whose derivative by one element is most wrong, among those with the largest numeric derivatives."""
    found = []
    for k in np.argsort(-np.abs(column))[:ELEMENTS].tolist():
        got, numeric = float(recording.row(k)[j]), float(column[k])
        entry = f"d {label_of(recording.outputs, k)} / d {label_of(inputs, j)}"
        found.append((abs(got - numeric) / (atol + rtol * abs(numeric)), f"{entry}: got {got:.6g}, numeric {numeric:.6g}."))
    off, said = max(found, default=(0.0, ""))
    return said if off > 1 else ""


def _directions(random: "np.random.Generator", label: str, x: Any) -> Any:
    """Yield single elements, all or some, then random directions: `(name, real component or None, direction)`."""
    count = as_reals(x).size
    chosen = set(random.permutation(count)[:ELEMENTS].tolist())
    if count <= ELEMENTS * 8:
        yield from ((label_of([(label, x)], j), j, unit) for j, unit in enumerate(units(x)) if j in chosen)
    else:
        for j in sorted(chosen):
            direction = np.zeros(x.shape, x.dtype)
            width = 2 if x.dtype.kind == "c" else 1
            direction.flat[j // width] = 1j if j % width else 1
            yield label_of([(label, x)], j), j, direction
    for _ in range(DIRECTIONS):
        signs = random.integers(0, 2, x.shape) * 2 - 1
        yield f"{label} along a random direction", None, signs.astype(x.dtype)


def _value(x: Any) -> Any:
    return np.asarray(x.value if isinstance(x, TrackedTensor) else x)
