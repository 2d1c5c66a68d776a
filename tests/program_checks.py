"""What each layer is held to: checks of a program, by layer.

    fx real, fx fake, fx symbolic, compile, functionalize    what they return and leave, and what of it shares memory, is NumPy's, to the bit
    grad, jvp        the values that come beside a derivative are NumPy's, line by line: `program_lines.py` says how near
    vmap             a loop, line by line; dtypes, what is left in the arguments, and what of all that shares memory, too
    derivatives      reverse mode is forward mode, and both are differences of NumPy's values where these converge
    vmap of grad     a loop of gradients
    hessian          forward over reverse is reverse over reverse

A check raises `DifferenceError`, or whatever the layer raises.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy_programs import NAMES, Program
from program_lines import ITEMS, batched, follow, hold, noted
from program_values import DifferenceError, difference, seen

import dispatch

Check = Callable[[Program], None]


def as_numpy(run: Callable[[Callable[..., Any], list[Any]], Callable[..., Any]]) -> Check:
    """A check of a layer that makes a function of a function, which has to do the same."""

    def check(program: Program) -> None:
        f = program.function()
        expected = seen(f, program.inputs())
        g = run(f, program.inputs())
        if said := difference(seen(g, program.inputs()), expected):
            raise DifferenceError(said)

    return check


def compiled(program: Program) -> None:
    """The first call and the second."""
    f = program.function()
    g = dispatch.compile(f, fullgraph=True)
    expected = seen(f, program.inputs())
    for _ in range(2):
        if said := difference(seen(g, program.inputs()), expected):
            raise DifferenceError(said)


def floats(given: list[Any]) -> list[int]:
    """Which arguments may be differentiated."""
    return [i for i, x in enumerate(given) if x.dtype.kind in "fc"]


def of_floats(f: Callable[..., Any], given: list[Any], places: list[int]) -> Callable[..., Any]:
    """The function of some of its arguments."""

    def g(*some: Any) -> Any:
        args = [np.copy(x) for x in given]  # in the order of its axes, which ndarray.copy does not keep
        for i, x in zip(places, some, strict=True):
            args[i] = dispatch.ops.np.copy(x)  # an array, also of a number, so that it can be written to
        return f(*args)

    return g


def values_under(transform: Callable[[Callable[..., Any], list[Any]], Any]) -> Check:
    """A check that the values under a transform of the floats are NumPy's, line by line."""

    def check(program: Program) -> None:
        given = program.inputs()
        places = floats(given)
        if not places:
            return
        kinds: list[bool] = []

        def split(*some: Any) -> Any:
            args = [np.copy(x) for x in given]  # in the order of its axes, which ndarray.copy does not keep
            for i, x in zip(places, some, strict=True):
                args[i] = dispatch.ops.np.copy(x)  # an array, also of a number, so that it can be written to
            results, notes = noted(program, tuple(args))
            every = [*results, *(x for note in notes for x in note.values())]
            kinds[:] = [x.dtype.kind in "fc" for x in every]
            return [x for x, inexact in zip(every, kinds, strict=True) if inexact], ([x for x, inexact in zip(every, kinds, strict=True) if not inexact], [list(note) for note in notes])

        floating, (others, names) = transform(split, [given[i] for i in places])
        parts = iter(floating), iter(others)
        every = iter([next(parts[0] if inexact else parts[1]) for inexact in kinds])
        results = [next(every) for _ in program.returned]
        scope = follow(program, [np.copy(x) for x in given], [{name: next(every) for name in some} for some in names], "the program")
        for name, x in zip(program.returned, results, strict=True):
            hold(x, scope[name], f"{name} at the end")

    return check


def loss_of(f: Callable[..., Any]) -> Callable[..., Any]:
    """A number of all results that have floats in them."""

    def loss(*args: Any) -> Any:
        total: Any = 0.0
        for k, x in enumerate(f(*args)):
            if getattr(x, "dtype", np.dtype(int)).kind in "fc":
                weights = np.cos(np.arange(x.size) + k).reshape(x.shape)
                total = total + np.sum(np.sin(np.real(x)) * weights) + (np.sum(np.imag(x) * weights) if x.dtype.kind == "c" else 0)
        return total

    return loss


def _smooth(program: Program) -> tuple[Any, list[Any], list[Any]] | None:
    """Loss, float64 arguments and directions; None where there is nothing to differentiate at a finite point."""
    f, given = program.function(), program.inputs()
    places = [i for i, x in enumerate(given) if x.dtype == np.float64 and x.size and np.all(np.abs(x) < 1e3)]
    if not places:
        return None
    g = loss_of(of_floats(f, given, places))
    xs = [given[i] for i in places]
    if not isinstance(value := g(*xs), (float, np.floating)) or not np.isfinite(value):
        return None
    random = np.random.default_rng(program.seed)
    return g, xs, [np.asarray(random.normal(size=x.shape)) for x in xs]


def slope(g: Callable[..., Any], xs: list[Any], ts: list[Any], step: float) -> Any:
    """The derivative along a direction by differences."""
    above, below = ([x + sign * step * t for x, t in zip(xs, ts, strict=True)] for sign in (1, -1))
    return (g(*above) - g(*below)) / (2 * step)


def near(a: Any, b: Any, tolerance: float) -> bool:
    return bool(abs(a - b) <= tolerance * max(1.0, abs(a), abs(b))) or bool(np.isnan(a) and np.isnan(b))


def values_of(program: Program) -> list[Any]:
    """What a program is given and makes."""
    scope = NAMES | dict(zip(program.parameters, program.inputs(), strict=True))
    for line in program.lines:
        exec(line.text, scope)
    return [np.asarray(scope[name]) for name in (*program.parameters, *(line.name for line in program.lines))]


def is_narrow(program: Program) -> bool:
    """Whether there are numbers in it with fewer bits than float64 has."""
    return any(x.dtype.char in "eEfF" for x in values_of(program))


def loses_steps(program: Program) -> bool:
    """Whether there are numbers in it beside which the step of a difference is lost: an int64 plus a float64, say."""
    return any(np.any(np.isfinite(x) & (np.abs(x) > 1e8)) for x in values_of(program) if x.dtype.kind in "fc")


def derivatives(program: Program) -> None:
    """Reverse mode is forward mode, and both are differences where these converge."""
    found = _smooth(program)
    if found is None:
        return
    g, xs, ts = found
    forward = float(dispatch.jvp(g, tuple(xs), tuple(ts))[1])
    backward = reverse(g, xs, ts)
    if not (np.isfinite(forward) and np.isfinite(backward)):
        return  # nothing times a derivative that is infinite: NaN, which is no wrong number; docs/conventions.md says where
    narrow = is_narrow(program)
    if not near(forward, backward, 1e-3 if narrow else 1e-7):
        raise DifferenceError(f"forward {forward!r}, backward {backward!r}")
    if narrow or loses_steps(program) or not all(np.all(x != 0) for x in xs):  # at 0 a rule may have a convention: docs/conventions.md
        return
    if said := differs(g, xs, ts, backward):
        beside = [x + 1e-3 * np.cos(np.arange(x.size)).reshape(x.shape) for x in xs]
        if differs(g, beside, ts, reverse(g, beside, ts)):
            raise DifferenceError(said)  # and else a corner, where a rule has a convention, too: a tie with an integer, say


def reverse(g: Any, xs: list[Any], ts: list[Any]) -> float:
    """The derivative along a direction by the gradients."""
    gradients = dispatch.grad(g, argnums=tuple(range(len(xs))))(*xs)
    for x, y in zip(gradients, xs, strict=True):
        if (x.shape, x.dtype) != (y.shape, y.dtype):
            raise DifferenceError(f"a gradient of {x.dtype}{x.shape} for {y.dtype}{y.shape}")
    return float(sum(np.sum(np.asarray(x) * t) for x, t in zip(gradients, ts, strict=True)))


def differs(g: Any, xs: list[Any], ts: list[Any], derivative: float) -> str:
    """What a derivative differs in from differences, where these converge."""
    try:
        steps = [slope(g, xs, ts, step) for step in (1e-4, 1e-5, 3e-6)]
        one_sided = [(g(*[x + h * t for x, t in zip(xs, ts, strict=True)]) - g(*xs)) / h for h in (1e-6, -1e-6)]
    except Exception:  # beside the point a mask selects another number of elements
        return ""
    smooth = all(near(a, steps[1], 1e-4) for a in steps) and near(*one_sided, 1e-3) and np.isfinite(steps[1])
    return f"derivative {derivative!r}, differences {steps!r}" if smooth and not near(derivative, steps[1], 1e-3) else ""


def batch_of_gradients(program: Program) -> None:
    """`vmap(grad)` against a loop of gradients."""
    found = _smooth(program)
    if found is None:
        return
    g, xs, _ = found
    numbers = tuple(range(len(xs)))
    gradient = dispatch.grad(g, argnums=numbers)
    close = 2e-2 if is_narrow(program) else 1e-6
    batch = [np.stack([x + k * 0.125 for k in range(ITEMS)]) for x in xs]
    try:
        for k in range(ITEMS):
            g(*[np.copy(x[k])[()] for x in batch])
    except Exception:
        return  # NumPy refuses another item
    expected = [gradient(*[np.copy(x[k])[()] for x in batch]) for k in range(ITEMS)]
    found = dispatch.vmap(gradient)(*batch)
    for k in range(ITEMS):
        for a, b in zip(found, expected[k], strict=True):
            if np.max(np.abs(b), initial=0) > 1e10 and a[k].shape == b.shape and a.dtype == b.dtype:
                continue  # the sine in the loss is of numbers so large that their last bits decide
            if a[k].shape != b.shape or a.dtype != b.dtype or not np.allclose(a[k], b, rtol=close, atol=close * (1 + np.max(np.abs(np.nan_to_num(b, posinf=0, neginf=0)), initial=0)), equal_nan=True):
                raise DifferenceError(f"gradient of item {k}: {a[k]!r}, not {b!r}")


def second(program: Program) -> None:
    """Forward over reverse is reverse over reverse."""
    found = _smooth(program)
    if found is None:
        return
    g, xs, ts = found
    x = xs[0]
    h = dispatch.hessian(lambda x: g(x, *xs[1:]))(x)
    close = 2e-2 if is_narrow(program) else 1e-6
    row = dispatch.grad(lambda x: np.sum(dispatch.grad(lambda x: g(x, *xs[1:]))(x) * ts[0]))(x)
    along = np.tensordot(ts[0], h, axes=x.ndim) if x.ndim else ts[0] * h
    if not np.allclose(along, row, rtol=close, atol=close * (1 + np.max(np.abs(np.nan_to_num(row, posinf=0, neginf=0)), initial=0)), equal_nan=True) and np.all(np.isfinite(row)) and np.all(np.isfinite(along)):
        raise DifferenceError(f"hessian along a direction {along!r}, not {row!r}")


LAYERS: dict[str, Check] = {
    "functionalize": as_numpy(lambda f, given: dispatch.functionalize(f)),
    "fx real": as_numpy(lambda f, given: dispatch.make_fx(f, "real")(*given)),
    "fx fake": as_numpy(lambda f, given: dispatch.make_fx(f, "fake")(*given)),
    "fx symbolic": as_numpy(lambda f, given: dispatch.make_fx(f, "symbolic")(*given)),
    "compile": compiled,
    "grad": values_under(lambda g, xs: dispatch.vjp(g, *xs, has_aux=True)[::2]),
    "jvp": values_under(lambda g, xs: dispatch.jvp(g, tuple(xs), tuple(np.ones_like(x) for x in xs), has_aux=True)[::2]),
    "vmap": batched,
    "derivatives": derivatives,
    "vmap of grad": batch_of_gradients,
    "hessian": second,
}


