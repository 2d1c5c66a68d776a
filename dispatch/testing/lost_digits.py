"""Finds results and derivatives that have lost digits: to single precision, or to a constant with too few.

Finite differences are compared to three digits, for a kernel may approximate. What is told here to eight is what approximation
does not do: jumps of the size of float32's last place, and one factor for all derivatives.
"""

from typing import Any

import numpy as np

from .difference_quotients import Probe, as_reals, plain, random_like

Array = np.ndarray[Any, Any]

LOST_DIGITS = (
    "that have gone through single precision, where the kernel computes in double. Look at the dtype of what it makes and "
    "of what it saved."
)

FEW_DIGITS = 0xFF  # the last eight bits of a float32, which are 0 in one of 256 that were computed


def has_lost_digits(found: Array, outputs: Array) -> bool:
    """Whether derivatives along a random direction all fit in single precision, where the outputs do not."""
    with np.errstate(all="ignore"):
        counted = found[(found != 0) & np.isfinite(found)]
        narrow = [(x == x.astype(np.float32)).all() for x in (outputs, counted)]
    return bool(counted.size and narrow == [False, True])


def went_through_single(arguments: list[Array], output: Array) -> bool:
    """Whether an output in double precision fits in single, and needs all its digits, where no argument fits.

    What is rounded, counted or compared needs few.
    """
    if output.dtype.char not in "dD":
        return False
    wide = [as_reals(x) for x in arguments if x.dtype.char in "dD" and x.size]
    with np.errstate(all="ignore"):
        counted = as_reals(output)[np.isfinite(as_reals(output)) & (as_reals(output) != 0)]
        single = counted.astype(np.float32)
        few = (single.view(np.uint32) & FEW_DIGITS) == 0
        fits = [bool((x == x.astype(np.float32)).all()) for x in (counted, *wide)]
    return bool(wide and counted.size and fits[0] and not any(fits[1:]) and few.mean() < 0.5)


# -- a factor in single precision -----------------------------------------------------------------------------------------

STEP, MORE, LEAST = 2.0**-25, 8, 2.0**-43  # relative: less than float32 tells apart; as much as it does; far less
ROUGH = 1e-9, 1e-5  # of the largest: a jump by less is rounding, by more a kink
TRIES = 3


def rounded(probe: Probe, arrays: list[Any], seeds: list[Array]) -> list[int]:
    """Return the places of the inputs by which a gradient jumps where the arguments move by less than float32 tells apart.

    Along such a step a smooth function is a line up to rounding, and one with a factor in single precision has steps of that
    precision. Neither counts what jumps as far along a step that is far smaller, being noise of the function itself, nor what
    grows with the step as a bend does, nor where the outputs jump too: then the kernel computes in single precision.
    """
    random = np.random.default_rng(5)
    found: set[int] = set()
    for _ in range(TRIES):
        shares = [random.uniform(0.5, 1.5, x.shape) if x.dtype.kind in "fc" else None for x in arrays]

        def at(step: float, shares: list[Any] = shares) -> tuple[list[Array], Array]:
            moved = [x if r is None else np.asarray(x * (1 + step * r), x.dtype) for x, r in zip(arrays, shares, strict=True)]
            recording = probe._replace(arrays=moved).record()
            return recording.pull(seeds), np.concatenate([np.zeros(0), *(as_reals(plain(x)) for _, x in recording.outputs)])

        here, out = at(0.0)
        bends = []
        for step in (STEP, STEP * MORE, LEAST):
            (ahead, up), (behind, down) = at(step), at(-step)
            if up.size != out.size or down.size != out.size:
                return []
            grads = [_bend(a, h, b) for a, h, b in zip(ahead, here, behind, strict=True)]
            bends.append((grads, _bend(up, out, down)))
        (small, outputs), (large, _), (noise, _) = bends
        for place, bend, more, least in zip(probe.places, small, large, noise, strict=True):
            jumps = ROUGH[0] < bend < ROUGH[1] and more < 2 * MORE * bend
            if jumps and outputs < 0.01 * bend and least < 0.03 * bend:
                found.add(place)
    return sorted(found | _rounded_seeds(probe, arrays, seeds, random))


def _rounded_seeds(probe: Probe, arrays: list[Any], seeds: list[Array], random: "np.random.Generator") -> set[int]:
    """The places whose gradient is no linear function of what comes in, by as much as single precision rounds."""
    recording = probe._replace(arrays=arrays).record()
    others = [np.asarray(x * random.uniform(0.5, 1.5, x.shape), x.dtype) for x in seeds]
    one, other = recording.pull(seeds), recording.pull(others)
    both = recording.pull([np.asarray(x + y, x.dtype) for x, y in zip(seeds, others, strict=True)])
    tiny = recording.pull([np.asarray(x * (1 + LEAST), x.dtype) for x in seeds])
    found = set()
    for place, a, b, c, t in zip(probe.places, one, other, both, tiny, strict=True):
        off, noise = (np.abs(x).max(initial=0.0) / (np.abs(c).max(initial=0.0) or 1.0) for x in (a + b - c, t - a))
        if ROUGH[0] < off < ROUGH[1] and noise < 0.03 * off:
            found.add(place)
    return found


def _bend(ahead: Array, here: Array, behind: Array) -> float:
    """How far three values are from a line, as a share of the largest; infinite where one is no number."""
    off = np.abs(ahead - 2 * here + behind).max(initial=0.0) / (np.abs(here).max(initial=0.0) or 1.0)
    return float(off) if np.isfinite(off) else np.inf


# -- a factor that is a little off ----------------------------------------------------------------------------------------

WIDE = 2.0**-9  # the step of differences of the fourth order, which are exact to 1e-11 where a function is smooth
OFF = 1e-8, 1e-3  # from 1: less is rounding, more is found by every other comparison
SAME = 0.02  # of that: the factors of all directions are one
DIRECTIONS = 6


def little_off(probe: Probe, count: int) -> tuple[int, float] | None:
    """Return an input whose derivatives are all the same multiple of the right ones, nearly 1: a constant with few digits."""
    random = np.random.default_rng(6)
    recording = probe.record()
    weights = [random_like(random, plain(x)) for _, x in recording.outputs]
    weight = np.concatenate([as_reals(w) for w in weights])
    found = recording.pull(weights)
    for place, gradient in zip(probe.places, found, strict=True):
        x = probe.arrays[place]
        factors = []
        for _ in range(DIRECTIONS):
            direction = np.asarray(x * random.uniform(-1.0, 1.0, x.shape) if x.any() else random_like(random, x), x.dtype)
            got, numeric = float(gradient @ as_reals(direction)), _fourth_order(probe, place, direction, weight, count)
            parts = float(np.abs(gradient) @ np.abs(as_reals(direction)))
            if not (np.isfinite(numeric) and abs(numeric) > 0.05 * parts):  # the parts cancel, and so do their digits
                continue
            factors.append(got / numeric)
        if len(factors) < 3:
            continue
        middle = float(np.median(factors)) - 1
        if OFF[0] < abs(middle) < OFF[1] and max(abs(f - 1 - middle) for f in factors) < SAME * abs(middle):
            return place, 1 + middle
    return None


def _fourth_order(probe: Probe, place: int, direction: Array, weight: Array, count: int) -> float:
    total = 0.0
    for times, share in ((1, 8), (2, -1)):
        plus, minus = probe.moved(place, np.asarray(direction * (WIDE * times), direction.dtype))
        total += share * float(weight @ (probe.at(place, plus, count) - probe.at(place, minus, count)))
    return total / (12 * WIDE)
