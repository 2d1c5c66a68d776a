"""Programs of NumPy at random under every layer, against NumPy itself.

    python -m tests.fuzz_programs --programs 20000 --seed 0 --processes 2

A program takes arrays, calls NumPy 5 to 25 times, and returns some of its values. What NumPy makes of it is the law: values to the
bit (NaN is NaN), dtypes, which results share memory with each other and with the arguments, what is left in the arguments.

    fx real, fx fake, fx symbolic, compile, functionalize, grad, jvp    what they return, and leave, is what NumPy does
    vmap             a loop; where NumPy adds up in another order for a batch, to 4 ulp of the magnitudes
    derivatives      reverse mode is forward mode, and both are differences of NumPy's values where these converge
    vmap of grad     a loop of gradients
    hessian          forward over reverse is reverse over reverse

What a layer refuses in words of its own is counted by its reason and is no difference; any other exception is one. What is found
is made as short as it can be, and printed as source that runs.
"""

import argparse
import re
import sys
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import numpy as np

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent))

from numpy_grammar import EXACT, OF_NUMBERS, SHARE, argument, line
from random_programs import fits

import dispatch
from dispatch.core import Tensor
from dispatch.errors import DispatchError

FEWEST, MOST = 5, 25
LARGEST = 60  # elements of a value
ITEMS = 2  # of a batch: `zip(*expected)` compares the two


class Program(NamedTuple):
    """The source of a function: its arguments, its lines with their patterns, and what it returns."""

    seed: int
    arguments: tuple[str, ...]
    lines: tuple[tuple[str, str], ...]
    returned: tuple[str, ...]

    @property
    def source(self) -> str:
        """The definition of the function."""
        names = ", ".join(f"x{i}" for i in range(len(self.arguments)))
        body = "".join(f"    {text}\n" for text, _ in self.lines)
        return f"def f({names}):\n{body}    return ({', '.join(self.returned)},)\n"

    @property
    def text(self) -> str:
        """A program of NumPy that runs."""
        given = "".join(f"x{i} = {text}\n" for i, text in enumerate(self.arguments))
        names = ", ".join(f"x{i}" for i in range(len(self.arguments)))
        return f"import numpy as np\n\n{self.source}\n{given}print(f({names}))"

    def function(self) -> Callable[..., Any]:
        """The function."""
        scope: dict[str, Any] = {"np": np}
        exec(self.source, scope)
        found: Callable[..., Any] = scope["f"]
        return found

    def inputs(self) -> list[Any]:
        """New arrays to call it with."""
        scope: dict[str, Any] = {"np": np}
        for i, text in enumerate(self.arguments):
            exec(f"x{i} = {text}", scope)
        return [scope[f"x{i}"] for i in range(len(self.arguments))]

    @property
    def exact(self) -> bool:
        """Whether no line adds up numbers."""
        return all(pattern in EXACT for _, pattern in self.lines)


def program(seed: int, numbers: bool = True) -> Program:
    """A program, which runs on plain arrays; without `numbers` it takes no views of values without axes, and writes to none."""
    random = Random(seed)
    families = {name: share for name, share in SHARE.items() if random.random() < 0.75} or SHARE
    if not numbers:
        families.pop("masked", None)
    arguments = tuple(argument(random, numbers) for _ in range(random.choice((1, 1, 2, 2, 3))))
    scope: dict[str, Any] = {"np": np}
    names = [f"x{i}" for i in range(len(arguments))]
    for name, text in zip(names, arguments, strict=True):
        exec(f"{name} = {text}", scope)
    lines: list[tuple[str, str]] = []
    count = random.randint(FEWEST, MOST)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(count * 6):
            if len(lines) == count:
                break
            name = random.choice(names[-4:] if random.random() < 0.6 else names)
            chosen = families if numbers or scope[name].ndim else dict.fromkeys(OF_NUMBERS, 1.0)
            text, writes, pattern = line(random, chosen, scope[name], random.choice(names), name)
            if writes and not isinstance(scope[name], np.ndarray):
                continue
            made = f"v{len(lines)}"
            text = text if writes else f"{made} = {text}"
            if not fits(text, scope):
                continue
            if not writes:
                if not _usable(scope[made], random):
                    del scope[made]
                    continue
                names.append(made)
            lines.append((text, pattern))
    returned = tuple(dict.fromkeys([names[-1], *random.sample(names, min(len(names), random.randint(1, 4)))]))
    return Program(seed, arguments, tuple(lines), returned)


def _usable(x: Any, random: Random) -> bool:
    if not isinstance(x, (np.ndarray, np.generic)) or x.dtype.kind not in "biufc" or x.size > LARGEST or x.ndim > 4 or x.dtype.itemsize > 16:
        return False
    if x.dtype.char in "gG":
        return False
    wild = x.dtype.kind in "fc" and x.size > 0 and not np.any(np.abs(x) < 1e6)
    return not wild or random.random() < 0.05


# -- what a call does --------------------------------------------------------------------------------------------------------


class Seen(NamedTuple):
    """All that can be seen of a call: results, what is left in the arguments, and which of all these share memory."""

    results: list[Any]
    left: list[Any]
    shared: list[list[bool]]


def seen(f: Callable[..., Any], given: list[Any]) -> Seen:
    """Call a function."""
    results = list(f(*given))
    every = [*results, *given]
    shared = [[_share(x, y) for y in every[i + 1 :]] for i, x in enumerate(every)]
    return Seen([np.copy(x) if isinstance(x, np.ndarray) else x for x in results], given, shared)


def _share(x: Any, y: Any) -> bool:
    return isinstance(x, np.ndarray) and isinstance(y, np.ndarray) and bool(np.shares_memory(x, y))


def same_bits(x: Any, y: Any) -> str:
    """What differs, or nothing."""
    if isinstance(x, Tensor) or isinstance(y, Tensor):
        return f"a {type(x).__name__} came out"
    if isinstance(x, np.ndarray) != isinstance(y, np.ndarray) or isinstance(x, np.generic) != isinstance(y, np.generic):
        return f"kind: {type(x).__name__}, not {type(y).__name__}"
    a, b = np.asarray(x), np.asarray(y)
    if a.dtype != b.dtype:
        return f"dtype: {a.dtype}, not {b.dtype}"
    if a.shape != b.shape:
        return f"shape: {a.shape}, not {b.shape}"
    return "" if _equal(a, b) else f"value: {x!r}, not {y!r}"


def _equal(a: Any, b: Any) -> bool:
    if a.dtype.kind == "c":
        return _equal(a.real, b.real) and _equal(a.imag, b.imag)
    if a.dtype.kind != "f":
        return bool(np.array_equal(a, b))
    return bool(np.all((a == b) & (np.signbit(a) == np.signbit(b)) | (np.isnan(a) & np.isnan(b))))


def difference(found: Seen, expected: Seen) -> str:
    """What differs between two calls, or nothing."""
    for i, (x, y) in enumerate(zip(found.results, expected.results, strict=True)):
        if said := same_bits(x, y):
            return f"result {i}: {said}"
    for i, (x, y) in enumerate(zip(found.left, expected.left, strict=True)):
        if said := same_bits(x, y):
            return f"left in x{i}: {said}"
    if found.shared != expected.shared:
        return f"sharing: {found.shared}, not {expected.shared}"
    return ""


def close(x: Any, y: Any, scale: float = 0.0) -> bool:
    """Whether two results are equal up to the order of their sums."""
    a, b = np.asarray(x), np.asarray(y)
    if a.dtype.kind not in "fc":
        return bool(np.array_equal(a, b))
    eps = float(np.finfo(a.dtype).eps)
    largest = max([scale, 1.0, *[float(np.max(np.abs(z[np.isfinite(z)]))) for z in (b,) if np.any(np.isfinite(z))]])
    return bool(np.allclose(a, b, rtol=1e4 * eps, atol=1e4 * eps * largest, equal_nan=True))


# -- the layers --------------------------------------------------------------------------------------------------------------


class DifferenceError(Exception):
    """A layer does something else than NumPy."""


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
        args = [x.copy() for x in given]
        for i, x in zip(places, some, strict=True):
            args[i] = dispatch.ops.np.copy(x)  # an array, also of a number, so that it can be written to
        return f(*args)

    return g


def values_under(transform: Callable[[Callable[..., Any], list[Any]], Any]) -> Check:
    """A check that the values under a transform of the floats are NumPy's."""

    def check(program: Program) -> None:
        f, given = program.function(), program.inputs()
        places = floats(given)
        if not places:
            return
        g = of_floats(f, given, places)
        some = [given[i] for i in places]
        expected = g(*some)
        inexact = [i for i, x in enumerate(expected) if x.dtype.kind in "fc"]

        def split(*some: Any) -> Any:
            out = g(*some)
            return tuple(out[i] for i in inexact), tuple(x for i, x in enumerate(out) if i not in inexact)

        floating, others = (iter(part) for part in transform(split, some))
        found = [next(floating if i in inexact else others) for i in range(len(expected))]
        for i, (x, y) in enumerate(zip(found, expected, strict=True)):
            said = same_bits(np.asarray(x), np.asarray(y))
            if said and (program.exact or not said.startswith("value") or not close(x, y)):
                raise DifferenceError(f"result {i}: {said}")

    return check


def batched(program: Program) -> None:
    """`vmap` against a loop."""
    f = program.function()
    several = _items(program)
    batch = [np.stack(x) for x in zip(*several, strict=True)]
    try:
        expected = [f(*[np.copy(x[i])[()] for x in batch]) for i in range(ITEMS)]
    except Exception:
        return  # NumPy refuses another item
    if any(np.shape(x) != np.shape(y) for x, y in zip(*expected, strict=True)):
        return  # of which no batch can be made
    found = dispatch.vmap(f)(*[np.copy(x) for x in batch])
    for n, x in enumerate(found):
        for i in range(ITEMS):
            y = np.asarray(expected[i][n])
            z = np.asarray(x[i])
            if z.dtype != y.dtype or z.shape != y.shape:
                raise DifferenceError(f"result {n}: {z.dtype}{z.shape}, not {y.dtype}{y.shape}")
            if (not _equal(z, y)) if program.exact else not (close(z, y) or _unstable(program, f, batch, i, n)):
                raise DifferenceError(f"result {n} of item {i}: {z!r}, not {y!r}")


def _items(program: Program) -> list[list[Any]]:
    """Arguments for each item of a batch: the first are those of the program."""
    several = []
    for k in range(ITEMS):
        given = program.inputs()
        several.append([x if k == 0 else (x + np.asarray(k, x.dtype) if x.dtype != bool else ~x) for x in given])
    return several


def _unstable(program: Program, f: Callable[..., Any], batch: list[Any], i: int, n: int) -> bool:
    """Whether rounding decides the result: inputs that differ in the last bits give something else, too."""
    reference = np.asarray(f(*[np.copy(x[i])[()] for x in batch])[n])
    random = np.random.default_rng(0)
    for shift in (1e-15, 3e-15, 1e-15, 2e-7, 2e-7, 1e-3):
        moved = [
            (x[i, ...] * (1 + shift * random.normal(size=x.shape[1:]))).astype(x.dtype) if x.dtype.kind in "fc" else x[i, ...].copy()
            for x in batch
        ]
        try:
            other = np.asarray(f(*[np.asarray(x)[()] for x in moved])[n])
        except Exception:
            return True
        if other.shape != reference.shape or not close(other, reference):
            return True
    return False


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


def derivatives(program: Program) -> None:
    """Reverse mode is forward mode, and both are differences where these converge."""
    found = _smooth(program)
    if found is None:
        return
    g, xs, ts = found
    forward = float(dispatch.jvp(g, tuple(xs), tuple(ts))[1])
    gradients = dispatch.grad(g, argnums=tuple(range(len(xs))))(*xs)
    for x, y in zip(gradients, xs, strict=True):
        if (x.shape, x.dtype) != (y.shape, y.dtype):
            raise DifferenceError(f"a gradient of {x.dtype}{x.shape} for {y.dtype}{y.shape}")
    backward = float(sum(np.sum(np.asarray(x) * t) for x, t in zip(gradients, ts, strict=True)))
    try:
        steps = [slope(g, xs, ts, step) for step in (1e-4, 1e-5, 3e-6)]
    except Exception:  # beside the point a mask selects another number of elements
        return
    one_sided = [(g(*[x + h * t for x, t in zip(xs, ts, strict=True)]) - g(*xs)) / h for h in (1e-6, -1e-6)]
    smooth = all(near(a, steps[1], 1e-4) for a in steps) and near(*one_sided, 1e-3) and np.isfinite(steps[1])
    if not (np.isfinite(forward) and np.isfinite(backward)):
        return  # nothing times a derivative that is infinite: NaN, which is no wrong number; docs/conventions.md says where
    if not near(forward, backward, 1e-7) and (smooth or (np.isfinite(forward) and np.isfinite(backward))):
        raise DifferenceError(f"forward {forward!r}, backward {backward!r}, differences {steps!r}")
    narrow = any("f2" in t or "f4" in t or "32" in t or "16" in t or "64(" in t or "int" in t for t, _ in program.lines) or any("float64" not in a for a in program.arguments)
    smooth = smooth and all(np.all(x != 0) for x in xs)  # at 0 a rule may have a convention: docs/conventions.md
    if smooth and not narrow and not near(backward, steps[1], 1e-3):
        raise DifferenceError(f"derivative {backward!r}, differences {steps!r}")


def batch_of_gradients(program: Program) -> None:
    """`vmap(grad)` against a loop of gradients."""
    found = _smooth(program)
    if found is None:
        return
    g, xs, _ = found
    numbers = tuple(range(len(xs)))
    gradient = dispatch.grad(g, argnums=numbers)
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
            if a[k].shape != b.shape or a.dtype != b.dtype or not np.allclose(a[k], b, rtol=1e-6, atol=1e-6 * (1 + np.max(np.abs(np.nan_to_num(b, posinf=0, neginf=0)), initial=0)), equal_nan=True):
                raise DifferenceError(f"gradient of item {k}: {a[k]!r}, not {b!r}")


def second(program: Program) -> None:
    """Forward over reverse is reverse over reverse."""
    found = _smooth(program)
    if found is None:
        return
    g, xs, ts = found
    x = xs[0]
    h = dispatch.hessian(lambda x: g(x, *xs[1:]))(x)
    row = dispatch.grad(lambda x: np.sum(dispatch.grad(lambda x: g(x, *xs[1:]))(x) * ts[0]))(x)
    along = np.tensordot(ts[0], h, axes=x.ndim) if x.ndim else ts[0] * h
    if not np.allclose(along, row, rtol=1e-6, atol=1e-6 * (1 + np.max(np.abs(np.nan_to_num(row, posinf=0, neginf=0)), initial=0)), equal_nan=True) and np.all(np.isfinite(row)) and np.all(np.isfinite(along)):
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


# -- a run -------------------------------------------------------------------------------------------------------------------


class Outcome(NamedTuple):
    """What a layer made of a program: nothing to say, a refusal by its reason, or a difference."""

    layer: str
    kind: str  # "same", "refused" or "different"
    said: str


def outcome(program: Program, layer: str) -> Outcome:
    """Run a program under a layer."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            LAYERS[layer](program)
        except DifferenceError as error:
            return Outcome(layer, "different", str(error))
        except DispatchError as error:
            return Outcome(layer, "refused", str(error))
        except Exception as error:
            frame = traceback.extract_tb(error.__traceback__)[-1]
            return Outcome(layer, "different", f"{type(error).__name__} in {Path(frame.filename).name}: {error}")
    return Outcome(layer, "same", "")


def reason(said: str) -> str:
    """The words of a refusal without names and numbers."""
    return re.sub(r"\d+|'[^']*'", "_", said.splitlines()[0])[:110]


def sort_of(said: str) -> str:
    """What has to stay the same while a program is made shorter."""
    return re.sub(r"[\d.e+-]+", "_", ":".join(part[:40 - 28 * k] for k, part in enumerate(said.split(":")[:2])))[:60]


def shrunk(program: Program, layer: str) -> Program:
    """The shortest program with the same difference that is found by leaving out lines, results and arguments' corners."""
    kind = sort_of(outcome(program, layer).said)

    def fails(candidate: Program) -> bool:
        try:
            with np.errstate(all="ignore"), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                candidate.function()(*candidate.inputs())
        except Exception:
            return False
        found = outcome(candidate, layer)
        return found.kind == "different" and sort_of(found.said) == kind

    changed = True
    while changed:
        changed = False
        for candidate in _shorter(program):
            if fails(candidate):
                program, changed = candidate, True
                break
    return program


def _named(text: str, name: str, other: str) -> str:
    return re.sub(rf"\b{name}\b", other, text)


def _shorter(program: Program) -> Iterator[Program]:
    for i in reversed(range(len(program.lines))):
        text, _ = program.lines[i]
        name = text.split(" = ")[0]
        used = any(re.search(rf"\b{re.escape(name)}\b", t) for t, _ in program.lines[i + 1 :]) or name in program.returned
        rest = program.lines[:i] + program.lines[i + 1 :]
        if not re.fullmatch(r"v\d+", name) or not used:
            yield program._replace(lines=rest)
            continue
        for other in re.findall(r"\b[vx]\d+\b", text.split(" = ", 1)[1]):  # one of its operands in its place
            yield program._replace(
                lines=tuple((_named(t, name, other) if k >= i else t, p) for k, (t, p) in enumerate(program.lines) if k != i),
                returned=tuple(dict.fromkeys(_named(t, name, other) for t in program.returned)),
            )
    if len(program.returned) > 1:
        for name in program.returned:
            yield program._replace(returned=tuple(x for x in program.returned if x != name))
    made = [t.split(" = ")[0] for t, _ in program.lines if re.match(r"v\d+ = ", t)]
    for name in made[: made.index(program.returned[0]) if program.returned[0] in made else 0]:
        yield program._replace(returned=(name,))


def layers_of(number: int, every: bool) -> list[str]:
    """The layers of the ordinary run: three of them for each program, so that a thousand programs take half a minute."""
    names = list(LAYERS)
    return names if every else [names[(number + k) % len(names)] for k in (0, 4, 7)]


class Report(NamedTuple):
    """What a run of many programs found."""

    calls: Counter[str]
    refused: Counter[tuple[str, str]]
    different: list[tuple[Program, Outcome]]


def run(seeds: range, every: bool = True, numbers: bool = True) -> Report:
    """Run the programs of these seeds."""
    report = Report(Counter(), Counter(), [])
    for seed in seeds:
        made = program(seed, numbers)
        for layer in layers_of(seed, every):
            found = outcome(made, layer)
            report.calls[layer] += 1
            if found.kind == "refused":
                report.refused[layer, reason(found.said)] += 1
            elif found.kind == "different":
                report.different.append((made, found))
    return report


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--no-numbers", action="store_true", help="without views of values without axes, and writes to them")
    parser.add_argument("--show", type=int, default=10, help="how many differences are made short and printed")
    options = parser.parse_args()
    last = options.seed + options.programs
    chunks = [range(i, min(i + 100, last)) for i in range(options.seed, last, 100)]
    if options.processes > 1:
        with get_context("spawn").Pool(options.processes) as pool:
            reports = list(pool.imap(partial(run, numbers=not options.no_numbers), chunks))
    else:
        reports = [run(chunk, numbers=not options.no_numbers) for chunk in chunks]
    calls, refused = sum((r.calls for r in reports), Counter()), sum((r.refused for r in reports), Counter())
    different = [one for r in reports for one in r.different]
    kinds: dict[str, list[tuple[Program, str]]] = {}
    for made, found in different:
        kinds.setdefault(sort_of(re.sub("[A-Z][a-z]+Tensor", "Tensor", found.said)), []).append((made, found.layer))
    for like in sorted(kinds.values(), key=lambda like: -len(like))[: options.show]:
        small, layer = min(like, key=lambda one: len(one[0].lines))
        small = shrunk(small, layer)
        where = ", ".join(f"{name} {n}" for name, n in Counter(name for _, name in like).items())
        print(f"\n# {where}; seed {small.seed}, {layer}: {outcome(small, layer).said[:300]}\n{small.text}", flush=True)
    by_layer: Counter[str] = Counter()
    for (layer, _), n in refused.items():
        by_layer[layer] += n
    print("\nrefused, of " + str(sum(calls.values())) + " runs: " + ", ".join(f"{layer} {n / calls[layer]:.0%}" for layer, n in by_layer.most_common()))
    for (layer, said), n in refused.most_common(25):
        print(f"  {n:5d}  {layer}: {said}")
    print(f"{options.programs} programs, {len(different)} differences of {len(kinds)} kinds")
    return int(bool(different))


if __name__ == "__main__":
    sys.exit(main())
