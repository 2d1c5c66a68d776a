"""Computes Jacobians in two ways, by reverse mode and by central finite differences, and compares them.

Complex values count as pairs of real ones. Gradients follow torch: the gradient of a real loss with respect to `z` is
`d loss / d Re z + 1j * d loss / d Im z`.
More than 350 lines: what differences say, how far they are believed, and how an entry is named.
"""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ..core import Tensor, check_data, ground
from ..core.pytree import field_names, leaves, mapped
from ..core.wrong_calls import check_takes
from ..dispatcher.conversion_advice import line_for_others
from ..dispatcher.printing import describe_value
from ..dispatcher.rule_parameters import parameter_names
from ..errors import ArgumentError, GradcheckError, check_function
from ..layers.autograd import TrackedTensor, run_backward, track
from ..layers.vmap import vmap
from .cases import arrays_in, labels_of, put_arrays

Array = np.ndarray[Any, Any]
Function = Callable[..., Any]

LEAST_STEP = 256  # in units of the last place: a large element of single precision would not move otherwise
OTHER_STEPS = (0.125, 1.0, 8.0, 64.0, 512.0)  # times the step; the large ones are for kernels that compute in single precision
MOST_DOUBTED = 48  # directions that are looked at again: each is twenty runs
KINK = 0.5  # of the difference between both sides is left at an eighth of the step
SEED = 2.0  # not 1: a backward that forgets to multiply by what comes in is right for 1


class Probe(NamedTuple):
    """A function of arrays, and the inputs at which its derivatives are taken.

    `places` has the indices of the inputs to differentiate by, in the order of `arrays`.
    """

    f: Function
    template: tuple[Any, ...]
    arrays: list[Array]
    places: tuple[int, ...]
    labels: list[str]
    output_names: tuple[str, ...] = ()

    @classmethod
    def of(cls, f: Function, inputs: Any, names: tuple[str, ...] = ()) -> "Probe":
        """Make a probe of a function and its inputs; without tracked inputs it differentiates by those in double precision."""
        check_function(f, "gradcheck", call="(f, (x,))")
        template = tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)
        check_data(template)
        found = arrays_in(template)
        for x in found:
            if isinstance(x, Tensor) and (not isinstance(x, TrackedTensor) or isinstance(x.value, Tensor)):
                raise ArgumentError(
                    f"gradcheck was given {describe_value(x)}. Give it plain arrays and tracked ones, outside every transform."
                )
        places = tuple(i for i, x in enumerate(found) if isinstance(x, TrackedTensor))
        arrays = [np.array(x.value if isinstance(x, TrackedTensor) else x, order="K") for x in found]
        if not places:
            places = tuple(i for i, x in enumerate(arrays) if x.dtype in (np.float64, np.complex128))
        if not places:
            given = list(dict.fromkeys(map(describe_value, leaves(template))))
            advice = next(filter(None, (line_for_others(x, "a") for x in leaves(template))), "")
            raise ArgumentError(
                f"gradcheck: there is nothing to differentiate by among the inputs: {', '.join(given) or 'none'}. Give it "
                f"arrays of float64 or complex128{f', {advice}' * bool(advice)}, or tracked ones: "
                "dispatch.tensor(a, requires_grad=True)."
            )
        named = names or _parameters(f, len(template))
        return cls(f, template, arrays, places, [label.replace("'", "", 2) for label in labels_of(named, template)])

    def arguments(self, arrays: list[Any]) -> tuple[Any, ...]:
        """Return the arguments of the function with other arrays."""
        return put_arrays(self.template, arrays)

    def run(self, arrays: list[Any]) -> Any:
        """Run the function on plain arrays, copied because it may write to its inputs."""
        given = self.arguments([x.copy(order="K") for x in arrays])
        try:
            return self.f(*given)
        except TypeError:
            check_takes("gradcheck", self.f, given)
            raise

    def differentiated(self) -> Iterator[tuple[str, Array]]:
        """Return the inputs to differentiate by, with their labels."""
        return ((self.labels[i], self.arrays[i]) for i in self.places)

    def floats(self, result: Any) -> list[tuple[str, Any]]:
        """Return the floating-point outputs with their labels."""
        items, single = self._items(result)
        names = ("out",) if single else self.output_names or tuple(f"out[{i}]" for i in range(len(items)))
        labels = [label.replace("'", "", 2) for label in labels_of(names, items)]
        pairs = zip(labels, arrays_in(items), strict=True)
        return [(label, x) for label, x in pairs if x.dtype.kind in "fc"]

    def _items(self, result: Any) -> tuple[tuple[Any, ...], bool]:
        """The outputs of the function, with arrays in place of scalars; and whether it has but one, which is no container."""
        result = map_scalars(result)
        if not isinstance(result, (list, tuple, dict)) or field_names(type(result)) is not None:
            return (result,), True
        return tuple(result.values() if isinstance(result, dict) else result), False

    def leaves(self) -> list[Any]:
        """Return the arrays; those to differentiate by are tracked."""
        return [
            track(x.copy(order="K"), ground()) if i in self.places else x.copy(order="K") for i, x in enumerate(self.arrays)
        ]

    def record(self) -> "Recording":
        """Run the function on tracked inputs."""
        leaves = self.leaves()
        outputs = self.floats(self.f(*self.arguments(leaves)))
        return Recording([leaves[i] for i in self.places], outputs)

    def moved(self, place: int, steps: Array) -> tuple[list[Array], list[Array]]:
        """Return the arrays twice, with the steps added to one of them and subtracted."""
        plus, minus = list(self.arrays), list(self.arrays)
        plus[place], minus[place] = self.arrays[place] + steps, self.arrays[place] - steps
        return plus, minus

    def step(self, place: int, direction: Array, eps: float) -> float:
        """Return how far to move along a direction in one input: `eps`, or more where an element would not move by that."""
        x = self.arrays[place]
        size = float(np.abs(x[direction != 0]).max(initial=0.0))
        return max(eps, size * LEAST_STEP * float(np.finfo(x.dtype).eps))

    def movable(self, place: int, direction: Array, eps: float) -> Array:
        """Return a direction near the given one along which each element moves by just what is asked, however large it is.

        An element of 1e8 moves in steps of 1.5e-8, which is a hundredth of what the others beside it are moved by.
        """
        x, step = self.arrays[place], self.step(place, direction, eps)
        moved: Array = (x + (direction * step).astype(x.dtype)) - x
        return moved / step

    def slope(self, place: int, direction: Array, eps: float, count: int) -> Array:
        """Return the numeric derivatives of the `count` outputs along a direction in one input, as one real vector."""
        plus, minus = self.moved(place, (direction * self.step(place, direction, eps)).astype(self.arrays[place].dtype))
        up, down = self.at(place, plus, count), self.at(place, minus, count)
        return (up - down) / _length(direction, plus[place] - minus[place])

    def at(self, place: int, arrays: list[Array], count: int) -> Array:
        """Return the outputs where one input has been moved, as one real vector of `count`."""
        found = self.reals(self.run(arrays))
        if found.size != count:
            by = float(np.abs(arrays[place] - self.arrays[place]).max())
            raise GradcheckError(f"the shape of the outputs changes when {self.labels[place]} is moved by {by:.4g}.")
        return found

    def sides(self, place: int, direction: Array, eps: float, count: int) -> list[list[tuple[Array, Array]]]:
        """Return the slopes ahead and behind, at the step and at others, in families of neighbouring steps.

        The second family is of steps that are as small or as large as the element itself.
        """
        x = self.arrays[place]
        here = self.at(place, self.arrays, count)
        bases = {self.step(place, direction, eps)}
        size = float(np.abs(x[direction != 0]).max(initial=0.0))
        if size:
            bases.add(max(size * eps, size * LEAST_STEP * float(np.finfo(x.dtype).eps)))
        families = []
        for base in sorted(bases):
            family = []
            for factor in OTHER_STEPS:
                plus, minus = self.moved(place, (direction * (base * factor)).astype(x.dtype))
                ahead, behind = _length(direction, plus[place] - x), _length(direction, x - minus[place])
                if ahead and behind:
                    up, down = self.at(place, plus, count), self.at(place, minus, count)
                    family.append(((up - here) / ahead, (here - down) / behind))
            families.append(family)
        return families

    def reals(self, result: Any) -> Array:
        """The floating-point outputs as one real vector."""
        found = [as_reals(plain(x)) for x in arrays_in(self._items(result)[0]) if x.dtype.kind in "fc"]
        return found[0] if len(found) == 1 else np.concatenate([np.zeros(0), *found])


def gradients(seeded: list[tuple[Any, Any]], leaves: list[Any], *, create_graph: bool) -> list[Any]:
    """Return the gradients of the leaves, or zeros, for pairs of an output and its gradient."""
    tracked = [(x.kept, seed) for x, seed in seeded if isinstance(x, TrackedTensor)]
    roots, seeds = [edge for edge, _ in tracked], [seed for _, seed in tracked]
    found = run_backward(roots, seeds, ground(), True, create_graph) if roots else {}
    return [found.get(x.kept, np.zeros(x.shape, x.dtype)) for x in leaves]


class Recording(NamedTuple):
    """A run on tracked inputs: its leaves, and its outputs with their labels."""

    leaves: list[Any]
    outputs: list[tuple[str, Any]]

    def pull(self, cotangents: list[Array]) -> list[Array]:
        """Return the gradients of the leaves, as real vectors, for gradients of the outputs."""
        seeded = [(x, c) for (_, x), c in zip(self.outputs, cotangents, strict=True) if c.any()]
        return [as_reals(np.asarray(grad)) for grad in gradients(seeded, self.leaves, create_graph=False)]

    def pull_together(self, cotangents: list[Array]) -> list[list[Array]]:
        """Return what `pull` does for each of several gradients of the outputs, stacked along a first axis, by one backward."""

        def pull(*items: Any) -> Any:
            return gradients([(x, c) for (_, x), c in zip(self.outputs, items, strict=True)], self.leaves, create_graph=False)

        found = vmap(pull)(*cotangents)
        return [[as_reals(np.asarray(grad[i])) for grad in found] for i in range(len(cotangents[0]))]

    def row(self, k: int) -> Array:
        """Return the derivatives of the real component `k` of all outputs with respect to all inputs, as one vector."""
        cotangents = []
        for _, x in self.outputs:
            flat = np.zeros(_width(x) * int(np.prod(x.shape, dtype=int)))
            if 0 <= k < flat.size:
                flat[k] = SEED
            k -= flat.size
            cotangents.append(from_reals(flat, x))
        return np.concatenate([np.zeros(0), *self.pull(cotangents)]) / SEED

    @property
    def size(self) -> int:
        """The number of real components in the outputs."""
        return sum(_width(x) * int(np.prod(x.shape, dtype=int)) for _, x in self.outputs)


def _length(direction: Array, moved: Array) -> float:
    """Return how far a move went along a direction, in the precision of the input."""
    wanted = as_reals(direction)
    return float(np.dot(as_reals(moved), wanted)) / float(np.dot(wanted, wanted))


def judged(got: Array, families: list[list[tuple[Array, Array]]], rtol: float, atol: float) -> tuple[Array, Array, Array]:
    """Judge derivatives by slopes at several steps; return which are wrong, the numeric ones, and which cannot be told.

    A numeric derivative is trusted where neighbouring steps agree on it; one that any step gives is taken for right. At a
    kink both sides have slopes of their own, which agree from step to step; any derivative between them is one of a convex
    function there, and right.
    """
    wrong, known = np.zeros(got.shape, bool), np.zeros(got.shape, bool)
    right = np.zeros(got.shape, bool)
    numeric = np.full(got.shape, np.nan)

    def close(a: Array, b: Array) -> Array:
        return np.isclose(a, b, rtol=rtol, atol=atol)

    for family in families:
        for ahead, behind in family:
            right |= close(got, (ahead + behind) / 2)
        for (ahead, behind), (other_ahead, other_behind) in pairwise(family):
            middle, other = (ahead + behind) / 2, (other_ahead + other_behind) / 2
            apart, other_apart = np.abs(ahead - behind), np.abs(other_ahead - other_behind)
            kink = ~close(ahead, behind) & (np.minimum(apart, other_apart) > KINK * np.maximum(apart, other_apart))
            settled = close(middle, other) & np.isfinite(middle) & ~kink
            low, high = np.minimum(ahead, behind), np.maximum(ahead, behind)
            slack = atol + rtol * np.abs(got)
            fits = np.where(kink, (low - slack <= got) & (got <= high + slack), close(got, middle))
            told = settled | (kink & close(ahead, other_ahead) & close(behind, other_behind))
            right |= told & fits
            wrong |= told & ~fits
            numeric = np.where(told & ~known, middle, numeric)
            known |= told
    return wrong & ~right, numeric, ~known


def compare(
    probe: Probe, *, eps: float, atol: float, rtol: float, smooth: bool = True, relative: bool = False
) -> str | None:
    """Describe the worst difference between the two Jacobians, or return None.

    `smooth` takes the function for smooth, and one step for right; otherwise what differs is judged by several steps.
    `relative` makes `atol` a share of the largest derivative where all are small.
    """
    recording = probe.record()
    inputs = list(probe.differentiated())
    width = sum(_width(x) * x.size for _, x in inputs)
    got = np.array([recording.row(k) for k in range(recording.size)]).reshape(recording.size, width)
    directions = [(i, unit) for i in probe.places for unit in units(probe.arrays[i])]
    columns = [probe.slope(i, unit, eps, recording.size) for i, unit in directions]
    numeric = np.array(columns).reshape(width, recording.size).T
    if recording.size and inputs and not np.array_equal(recording.row(0), got[0], equal_nan=True):
        return f"two backwards over one recording gave different gradients of {recording.outputs[0][0]}."
    atol = scaled(atol, numeric) if relative else atol
    bad = ~np.isclose(got, numeric, rtol=rtol, atol=atol, equal_nan=True)
    if not smooth:
        bad &= ~(np.isnan(got) & np.isnan(numeric).any(0))  # by an element at which the function is nan: 0 times nan
        doubted = np.flatnonzero(bad.any(0))
        for j in doubted[:MOST_DOUBTED]:
            place, unit = directions[j]
            families = probe.sides(place, unit, eps, recording.size)
            wrong, better, _ = judged(got[:, j], families, rtol, atol)
            bad[:, j] &= wrong
            numeric[:, j] = np.where(wrong, better, numeric[:, j])
        if not bad[:, doubted[:MOST_DOUBTED]].any():
            bad[:] = False
    if not bad.any():
        return None
    off = np.where(bad, np.abs(got - numeric) / (atol + rtol * np.abs(numeric)), -1.0)
    k, j = (int(i) for i in np.unravel_index(int(np.argmax(np.where(np.isnan(off), np.inf, off))), off.shape))
    entry = f"d {label_of(recording.outputs, k)} / d {label_of(inputs, j)}"
    hint = _hint(recording, got, numeric, bad, k)
    return (
        f"{int(bad.sum())} of {bad.size} derivatives differ from finite differences. The worst:\n"
        f"{entry}: got {got[k, j]:.6g}, numeric {numeric[k, j]:.6g}.{hint}"
    )


def scaled(atol: float, numeric: Array) -> float:
    """Return the absolute tolerance for derivatives that are all small: then it is a share of the largest."""
    finite = np.abs(numeric[np.isfinite(numeric)])
    return atol * min(1.0, float(finite.max(initial=0.0)) or 1.0)


def _hint(recording: Recording, got: Array, numeric: Array, bad: Array, k: int) -> str:
    label, output = _locate(recording.outputs, k)[:2]
    if not isinstance(output, TrackedTensor):
        return f" {label} is not tracked: something on the way took it off the tape."
    if not got[bad].any():
        return " No gradient arrives: a backward returned None or zeros, or a value was detached on the way."
    with np.errstate(all="ignore"):
        ratio = got[bad] / numeric[bad]
    large = np.abs(numeric[bad]) > 1e-4
    others = np.abs(got[bad][~large]).max(initial=0.0) > 1e-3  # which no factor makes of what is 0
    if large.any() and not others and np.allclose(ratio[large], ratio[large][0], rtol=1e-3) and np.isfinite(ratio[large][0]):
        factor = ratio[large][0]
        return (
            " All have the wrong sign."
            if np.isclose(factor, -1, 1e-3)
            else f" All of these are {factor:.4g} times what they should be."
        )
    return ""


def units(x: Array) -> Iterator[Array]:
    """Yield one direction for each real component of an array, in the order of `as_reals`."""
    for index in np.ndindex(x.shape):
        for unit in (1, 1j) if x.dtype.kind == "c" else (1,):
            direction = np.zeros(x.shape, x.dtype)
            direction[index] = unit
            yield direction


def label_of(arrays: list[tuple[str, Any]], k: int) -> str:
    """Return a label for the real component `k` of some arrays: `x[1, 2]`, `Im out[0][3]`."""
    label, x, k = _locate(arrays, k)
    part = ("", *("Re ", "Im "))[(k % 2 + 1) if _width(x) == 2 else 0]
    index = np.unravel_index(k // _width(x), x.shape) if x.shape else ()
    return f"{part}{label}[{', '.join(map(str, index))}]" if x.shape else f"{part}{label}"


def _locate(arrays: list[tuple[str, Any]], k: int) -> tuple[str, Any, int]:
    for label, x in arrays:
        size = _width(x) * int(np.prod(x.shape, dtype=int))
        if k < size:
            return label, x, k
        k -= size
    raise AssertionError("the component is one of the arrays'")


def _width(x: Any) -> int:
    return 2 if x.dtype.kind == "c" else 1


def as_reals(x: Array) -> Array:
    """Return the values of an array as one real vector, real and imaginary parts in turn."""
    if x.dtype == np.float64:
        return x.astype(np.float64).ravel()
    flat = x.ravel()
    if x.dtype.kind == "c":
        flat = np.stack([flat.real, flat.imag], -1).ravel()
    return flat.astype(np.result_type(flat, np.float64))


def from_reals(flat: Array, like: Any) -> Array:
    """Return the array of the shape and dtype of `like` whose `as_reals` is a vector."""
    values = flat[::2] + 1j * flat[1::2] if _width(like) == 2 else flat
    return values.astype(like.dtype).reshape(like.shape)


def random_like(random: "np.random.Generator", x: Array) -> Array:
    """Return random values of the shape and dtype of an array, away from zero."""
    return from_reals(random.uniform(0.5, 1.5, _width(x) * x.size), x)


def plain(x: Any) -> Array:
    """Return the array in a value."""
    return np.asarray(x.value if isinstance(x, TrackedTensor) else x)


def map_scalars(x: Any) -> Any:
    """Replace NumPy scalars and floats in a value by 0-d arrays."""
    if isinstance(x, (np.ndarray, Tensor)):
        return x
    return mapped(lambda leaf: np.asarray(leaf) if isinstance(leaf, (np.generic, float, complex)) else leaf, x)


def _parameters(f: Function, count: int) -> tuple[str, ...]:
    """Return the names of a function's parameters, or numbers where it has no names."""
    try:
        names = parameter_names(f) or ()
    except (TypeError, ValueError):  # a builtin, which has no signature
        names = ()
    return tuple(names[i] if i < len(names) else f"input {i}" for i in range(count))
