"""Programs of NumPy at random, of the lines of `numpy_grammar.py`: for the fuzzer, and for whatever wants a function that nobody thought of.

A program takes arrays, calls NumPy 5 to 25 times, and returns some of its values, views of each other and of the arguments among
them; it writes to both, and may differentiate and map parts of itself. While it is made it runs on plain arrays, so every line fits.
A kind says what programs are made of: `EVERYTHING`, or `SMOOTH`, real numbers that stay within bounds, and lines with derivatives
nearly everywhere, which JAX and torch know too.
"""

import re
import warnings
from collections.abc import Callable, Iterator
from random import Random
from typing import Any, NamedTuple

import numpy as np
from hypothesis import strategies as st
from numpy_grammar import EVERY, OF_NUMBERS, SHARE, Line, argument, line, smooth_argument
from numpy_grammar import SMOOTH as SMOOTH_LINES

import dispatch

FEWEST, MOST = 5, 25
LARGEST = 60  # elements of a value
NAMES = {"np": np, "grad": dispatch.grad, "vmap": dispatch.vmap, "jvp": dispatch.jvp}  # what a program may use


class Program(NamedTuple):
    """The source of a function: its arguments, its lines, and what it returns."""

    seed: int
    arguments: tuple[str, ...]
    lines: tuple[Line, ...]
    returned: tuple[str, ...]

    @property
    def parameters(self) -> list[str]:
        """The names of the arguments."""
        return [f"x{i}" for i in range(len(self.arguments))]

    @property
    def source(self) -> str:
        """The definition of the function."""
        body = "".join(f"    {line.text}\n" for line in self.lines)
        return f"def f({', '.join(self.parameters)}):\n{body}    return ({', '.join(self.returned)},)\n"

    @property
    def text(self) -> str:
        """A program of NumPy that runs."""
        given = "".join(f"{name} = {text}\n" for name, text in zip(self.parameters, self.arguments, strict=True))
        needs = [name for name in ("grad", "jvp", "vmap") if f"{name}(" in self.source]
        ours = f"from dispatch import {', '.join(needs)}\n" if needs else ""
        return f"import numpy as np\n{ours}\n{self.source}\n{given}print(f({', '.join(self.parameters)}))"

    def function(self, names: dict[str, Any] = NAMES) -> Callable[..., Any]:
        """The function, of NumPy or of what else has its names."""
        scope = dict(names)
        exec(self.source, scope)
        found: Callable[..., Any] = scope["f"]
        return found

    def number(self, names: dict[str, Any] = NAMES) -> Callable[..., Any]:
        """The function of the same arguments that returns one number, of all that the program makes of copies of them; for the smooth kind."""
        f, np = self.function(names), names["np"]
        return lambda *args: sum(np.sum(np.sin(x) * (1.0 + 0.25 * k)) for k, x in enumerate(f(*map(np.copy, args))))

    def inputs(self, seed: int | None = None) -> list[Any]:
        """New arrays to call it with; with a seed others of their shapes and layouts, for the smooth kind."""
        scope: dict[str, Any] = {"np": np}
        for name, text in zip(self.parameters, self.arguments, strict=True):
            exec(f"{name} = {text}", scope)
        given = [scope[name] for name in self.parameters]
        if seed is not None:
            random = np.random.default_rng(seed)
            for x in given:
                x[...] = random.normal(size=x.shape)
        return given

    @property
    def exact(self) -> bool:
        """Whether no line adds up numbers."""
        return not any(line.magnitude for line in self.lines)


class Kind(NamedTuple):
    """What programs are made of."""

    patterns: dict[str, tuple[str, ...]]
    argument: Callable[[Random], str]
    usable: Callable[[Any, Random], bool]  # whether a program goes on with a value
    most: int
    accepts: Callable[[Line, Any], bool] = lambda line, made: True  # whether somebody else knows the line and what it makes, too


def _usable(x: Any, random: Random) -> bool:
    if not isinstance(x, (np.ndarray, np.generic)) or x.dtype.kind not in "biufc" or x.size > LARGEST or x.ndim > 4:
        return False
    if x.dtype.char in "gG":
        return False
    wild = x.dtype.kind in "fc" and x.size > 0 and not np.any(np.abs(x) < 1e6)
    return not wild or random.random() < 0.05


def _tame(x: Any, random: Random) -> bool:
    if not isinstance(x, (np.ndarray, np.generic)) or x.dtype != np.float64 or not 0 < x.size <= LARGEST or x.ndim > 3:
        return False
    return bool(np.all(np.abs(x) < 100.0))


EVERYTHING = Kind(EVERY, argument, _usable, MOST)
SMOOTH = Kind(SMOOTH_LINES, smooth_argument, _tame, 14)


def program(seed: int, kind: Kind = EVERYTHING, count: int | None = None) -> Program:
    """A program, which runs on plain arrays; with a smaller count of lines it is the beginning of the same."""
    random = Random(seed)
    shares = {name: SHARE[name] for name in kind.patterns if random.random() < 0.75} or {name: SHARE[name] for name in kind.patterns}
    arguments = tuple(kind.argument(random) for _ in range(random.choice((1, 1, 2, 2, 3))))
    scope = dict(NAMES)
    names = [f"x{i}" for i in range(len(arguments))]
    for name, text in zip(names, arguments, strict=True):
        exec(f"{name} = {text}", scope)
    lines: list[Line] = []
    drawn = random.randint(FEWEST, kind.most)
    count = drawn if count is None else count
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(count * 6):
            if len(lines) == count:
                break
            name = random.choice(names[-4:] if random.random() < 0.6 else names)
            some = shares if isinstance(scope[name], np.ndarray) else {family: SHARE[family] for family in OF_NUMBERS if kind.patterns.get(family)}
            made = line(random, kind.patterns, some, scope[name], (name, random.choice(names), f"v{len(lines)}"))
            # NumPy's functions leave out= of a number alone
            if (made.writes and not isinstance(scope[name], np.ndarray)) or ("out=np." in made.text and not scope[name].ndim) or not _fits(made, scope, kind, random):
                continue
            if not made.writes:
                names.append(made.name)
            lines.append(made)
    returned = tuple(dict.fromkeys([names[-1], *random.sample(names, min(len(names), random.randint(1, 4)))]))
    return Program(seed, arguments, tuple(lines), returned)


# NumPy rounds a product of complex numbers otherwise where the result has gaps or is one element in place: one that is copied there differs
PRODUCTS = re.compile(r"\*=|np\.(square|power|float_power|multiply)")


def _fits(made: Line, scope: dict[str, Any], kind: Kind, random: Random) -> bool:
    """Run a line; False, with nothing changed, where NumPy refuses it or the program would not go on with what it makes."""
    target = scope.get(made.name)
    if made.writes and isinstance(target, np.ndarray) and target.dtype.kind == "c" and PRODUCTS.search(made.text):
        return False
    before = {name: np.copy(x) for name, x in scope.items() if isinstance(x, np.ndarray)}
    try:
        exec(made.text, scope)
        fits = kind.usable(scope[made.name], random) and kind.accepts(made, scope[made.name])
    except Exception:
        fits = False
    if fits:
        return True
    for name, x in before.items():
        if scope[name].flags.writeable:
            scope[name][...] = x
    if not made.writes:
        scope.pop(made.name, None)
    return False


def smooth_programs() -> st.SearchStrategy[Program]:
    """Programs of the smooth kind; a seed makes more different ones than draws of each line would."""
    return st.builds(lambda seed, count: program(seed, SMOOTH, count), st.integers(0, 2**63 - 1), st.integers(4, SMOOTH.most))


# -- shorter programs --------------------------------------------------------------------------------------------------------


def shortest(program: Program, fails: Callable[[Program], bool]) -> Program:
    """The shortest program that fails too, found by leaving out lines and results; only those that run on plain arrays are asked."""
    changed = True
    while changed:
        changed = False
        for candidate in _shorter(program):
            if _runs(candidate) and fails(candidate):
                program, changed = candidate, True
                break
    return program


def _runs(program: Program) -> bool:
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            program.function()(*program.inputs())
        except Exception:
            return False
    return True


def _named(text: str, name: str, other: str) -> str:
    return re.sub(rf"\b{name}\b", other, text)


def _renamed(line: Line, name: str, other: str) -> Line:
    return line._replace(text=_named(line.text, name, other), name=_named(line.name, name, other), magnitude=_named(line.magnitude, name, other))


def _shorter(program: Program) -> Iterator[Program]:
    for i in reversed(range(len(program.lines))):
        text, name, writes = program.lines[i].text, program.lines[i].name, program.lines[i].writes
        used = any(re.search(rf"\b{name}\b", line.text) for line in program.lines[i + 1 :]) or name in program.returned
        rest = program.lines[:i] + program.lines[i + 1 :]
        if writes or not used:
            yield program._replace(lines=rest)
            continue
        for other in re.findall(r"\b[vx]\d+\b", text.split(" = ", 1)[1]):  # one of its operands in its place
            yield program._replace(
                lines=tuple(_renamed(line, name, other) if k >= i else line for k, line in enumerate(program.lines) if k != i),
                returned=tuple(dict.fromkeys(_named(t, name, other) for t in program.returned)),
            )
    if len(program.returned) > 1:
        for name in program.returned:
            yield program._replace(returned=tuple(x for x in program.returned if x != name))
    made = [line.name for line in program.lines if not line.writes]
    for name in made[: made.index(program.returned[0]) if program.returned[0] in made else 0]:
        yield program._replace(returned=(name,))
