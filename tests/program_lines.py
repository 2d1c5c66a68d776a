"""A program under a layer against NumPy, line by line: under `vmap`, and beside derivatives.

The run under the layer notes what each line makes. NumPy does the same line, for each item of a batch, and the two are compared: to
the bit where the line computes or moves elements. Four kinds of lines may be 4 ulp apart, because NumPy itself gives other bits for
another shape: of those that add up (`ROUNDED`) 4 ulp of the sum of magnitudes; of complex results 4 ulp of the result (NumPy's
loops over many complex numbers fuse a product and a sum, those over one and `np.einsum` do not), in the precision of the coarsest
complex number that comes in, for a step of the line may widen what the one before has rounded; and of the absolute value of a
complex number, `abs`, 4 ulp (of one, and of those with gaps, NumPy asks C's hypot, of many a vector loop). A line to which NumPy
itself gives other bits once its operands stand one element after the other (`np.cbrt(x[::-1])` and `np.cbrt(x[::-1].copy())`, on
processors whose vector loop rounds otherwise) may be 4 ulp apart, too. After such a line NumPy goes on with the numbers
of the layer, written in place, so that every line starts from the same bits and no error grows: a comparison or a cast
downstream decides the same.
"""

import re
from typing import Any

import numpy as np
from numpy_grammar import ABSOLUTE, DEVIATIONS, ITSELF, MOVES, Line
from numpy_programs import NAMES, Program
from program_oracles import RefusedError
from program_values import DifferenceError, equal_bits, sharing

import dispatch

ITEMS = 2
ULPS = 4


def batched(program: Program) -> None:
    """`vmap` is a loop: values, dtypes, what is left in the arguments, and what shares memory."""
    batch = arguments(program)
    try:
        expected = [program.function()(*items(batch, i)) for i in range(ITEMS)]
    except Exception:
        return  # NumPy refuses another item
    if any(np.shape(x) != np.shape(y) for x, y in zip(*expected, strict=True)):
        return  # of which no batch can be made
    given = [np.copy(x) for x in batch]
    found, notes = dispatch.vmap(lambda *args: noted(program, args))(*given)
    for i in range(ITEMS):
        args = items(batch, i)
        scope = follow(program, args, [{name: x[i, ...] for name, x in note.items()} for note in notes], f"item {i}")
        expected = [*(scope[name] for name in program.returned), *args]
        for name, x, y in zip((*program.returned, *program.parameters), (*found, *given), expected, strict=True):
            hold(x[i, ...], y, f"{name} of item {i} at the end")
    shared = sharing([x if isinstance(y, np.ndarray) else y for x, y in zip((*found, *given), expected, strict=True)])  # a number's batch is an array
    if shared != sharing(expected):
        raise DifferenceError(f"sharing: {shared}, not {sharing(expected)}")


def arguments(program: Program) -> list[Any]:
    """Batches: the first item is what the program is given."""
    others = [[x if k == 0 else (x + np.asarray(k, x.dtype) if x.dtype != bool else ~x) for x in program.inputs()] for k in range(ITEMS)]
    return [np.stack(x) for x in zip(*others, strict=True)]


def items(batch: list[Any], i: int) -> list[Any]:
    """New arguments of one item: of a batch with one axis an item is a number."""
    return [np.copy(x[i])[()] for x in batch]


def noted(program: Program, args: tuple[Any, ...]) -> tuple[tuple[Any, ...], list[dict[str, Any]]]:
    """Run a program; beside what it returns stands after each line what the line may have changed."""
    scope = {**NAMES, **dict(zip(program.parameters, args, strict=True))}
    names, notes = list(program.parameters), []
    for line in program.lines:
        exec(line.text, scope)
        if not line.writes:
            names.append(line.name)
        notes.append({name: dispatch.ops.np.copy(scope[name]) for name in (names if line.writes else [line.name])})
    return tuple(scope[name] for name in program.returned), notes


def follow(program: Program, args: list[Any], notes: list[dict[str, Any]], what: str) -> dict[str, Any]:
    """Do a program in NumPy, hold each line to what a layer noted of it, and return the values of the end."""
    scope = {**NAMES, **dict(zip(program.parameters, args, strict=True))}
    for line, note in zip(program.lines, notes, strict=True):
        before = {name: np.copy(scope[name]) for name in re.findall(r"\b[vx]\d+\b", f"{line.text} {line.magnitude}") if name in scope}
        exec(line.text, scope)
        x, y = note[line.name], scope[line.name]
        if y is NotImplemented:
            raise RefusedError("a number of NumPy leaves x.__add__(y) to y")
        if type(y) is complex:  # Python computes `1j - x` of a NumPy number, which is a float of its own
            scope[line.name] = y = np.complex128(y)
        if (tolerant(line, y, before) or by_layout(line, np.asarray(x), np.asarray(y), before)) and hold(x, y, f"{line.text}: {line.name} of {what}", line, before):
            if isinstance(y, np.ndarray):
                y[...] = x
            else:
                scope[line.name] = x[()]
        for name, x in note.items():
            hold(x, y := scope[name], f"{line.text}: {name} of {what}")
            if y.dtype.kind in "fc" and np.any(np.isnan(y)):  # nans differ by sign, which np.signbit tells, and payload, by which np.power of float16 decides
                if not isinstance(y, np.ndarray):
                    scope[name] = x[()]
                elif y.flags.writeable:
                    y[...] = x
    return scope


def tolerant(line: Line, y: Any, before: dict[str, Any]) -> bool:
    """Whether NumPy gives other bits for another shape."""
    if y.dtype.kind == "f" and re.search(r"\b(abs|absolute)\(", line.pattern) and any(x.dtype.kind == "c" for x in before.values()):
        return True
    return y.dtype.kind in "fc" and bool(line.magnitude or (y.dtype.kind == "c" and line.family not in MOVES))


def by_layout(line: Line, x: Any, y: Any, before: dict[str, Any]) -> bool:
    """Whether bits differ, and NumPy gives others, too, for the same numbers without gaps between them, as `before` has them."""
    if y.dtype.kind not in "fc" or x.dtype != y.dtype or x.shape != y.shape or equal_bits(x, y):
        return False
    scope = {**NAMES, **before}
    exec(line.text, scope)
    return not equal_bits(np.asarray(scope[line.name]), y)


def hold(x: Any, y: Any, where: str, line: Line | None = None, before: dict[str, Any] | None = None) -> bool:
    """Raise for what is not the same: to the bit, or, of a tolerant line, to the last bits of its magnitude; True if bits differ."""
    x, y = np.asarray(x), np.asarray(y)
    if x.dtype != y.dtype or x.shape != y.shape:
        raise DifferenceError(f"{where}: {x.dtype}{x.shape}, not {y.dtype}{y.shape}")
    if equal_bits(x, y):
        return False
    if line is None or before is None:
        raise DifferenceError(f"{where}: value {x!r}, not {y!r}")
    if not near(line, x, y, before):
        raise DifferenceError(f"{where}: value {x!r}, not {y!r}, which is more than {ULPS} ulp of {magnitude(line, y, before)!r}")
    return True


def near(line: Line, x: Any, y: Any, before: dict[str, Any]) -> bool:
    """Whether two results of a line that adds up are the same but for the order."""
    coarse = [z.real.dtype for z in before.values() if z.dtype.kind == y.dtype.kind == "c"]
    real = min([x.real.dtype, *coarse], key=lambda dtype: dtype.itemsize)
    size = magnitude(line, y, before)
    if line.pattern in DEVIATIONS:
        x, y = np.square(x), np.square(y)
    with np.errstate(all="ignore"):
        same = (x == y) | (np.isnan(x) & np.isnan(y)) | (x.dtype.kind == "c") & ~np.isfinite(x) & ~np.isfinite(y)
        close = np.abs(x - y) <= ULPS * np.spacing(size.astype(real))
    # Numbers so large that a sum of some of them is infinite: which are added first decides.
    overflows = ~(size < np.finfo(real).max) & any(np.any(np.isfinite(z) & (np.abs(z) > np.finfo(real).max ** 0.5)) for z in before.values())
    return bool(np.all(same | close | overflows))


def magnitude(line: Line, y: Any, before: dict[str, Any]) -> Any:
    """How large the numbers are that a line adds up."""
    if line.magnitude in (ITSELF, "") or (line.magnitude == "0.0" and y.dtype.kind == "c"):
        return np.abs(y)
    scope = NAMES | {name: np.asarray(np.abs(x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)) if x.dtype.kind in "fc" else np.abs(x) if x.dtype.kind == "i" else x) for name, x in before.items()}
    if line.magnitude != ABSOLUTE:
        return np.abs(np.asarray(eval(line.magnitude, scope)))
    exec(line.text, scope)
    return np.abs(np.asarray(scope[line.name]))
