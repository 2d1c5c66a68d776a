"""Programs over one world of values: a body that reads it, changes to it between calls, and the function itself for an oracle.

Each program is run twice in a world of its own, as it is and compiled, and after each call the result, the exception, the warnings, the
arguments and all of the world must be the same: types, bits, layouts, and which objects are one or share memory.
"""

import collections
import contextvars
import enum
import functools
import random
import re
import sys
import types
import warnings

import numpy as np
import pytest
from turns import every
from worlds import CHANGES, ENDS, EXPRESSIONS, PLACES, STATEMENTS, VALUES, WORLD

import dispatch
from dispatch.errors import PerformanceWarning

ARRAYS = """np.arange(1.0, 4.0)|np.arange(1.0, 4.0) * 2|np.arange(1.0, 4.0).astype('f4')|np.array([1, 2, 3])|np.arange(1.0, 4.0).astype('>f8')
np.arange(6.0)[::2]|np.array(1.5)|np.ones((2, 3))|np.zeros((0,))|W|V|B[1:4]|sarr|2.5|np.float64(2.5)|np.array([np.nan, -0.0, np.inf])|objs[0]"""
NUMBERS = "1|1.0|True|2|1.5|'alpha'|None|nanv|-0.0|2**70|np.float64(1)|np.int64(1)|count|rate|(1, 2)|False|3|np.float32(1)"
QUIET = (DeprecationWarning, PendingDeprecationWarning, FutureWarning, PerformanceWarning)
ADDRESS = re.compile(r"0x[0-9a-f]+")
PARTS = 12 if every() else 5  # of ten programs of each kind
OWNERS = {"base": ("Base", "NonData"), "plain": ("Plain", "sub", "Sub"), "sub": ("Sub", "Plain"), "cfg": ("Cfg",), "pt": ("P",), "col": ("Col",)}
OWNERS |= {"eqs": ("Eq",), "slt": ("Slots",), "conc": ("Conc",), "inner": ("put",), "ords": ("Ord",), "W": ("V", "B"), "V": ("B",), "R": ("B",)}
OWNERS |= {"helper": ("rate", "count"), "default": ("W",), "part": ("default", "W"), "wrapped": ("helper", "rate", "count")}
made = compile(WORLD, "<world>", "exec", dont_inherit=True)


def program(number):
    """A body, and steps: texts of changes, and tuples of texts of arguments."""
    rng = random.Random(number)
    return steps_of(rng.choice(EXPRESSIONS if rng.random() < 0.7 else STATEMENTS), rng)


def storing_program(number):
    """A body that stores something in what it refers to, and steps."""
    rng = random.Random(number)
    place, value, end = rng.choice(PLACES), rng.choice(VALUES), rng.choice(ENDS).replace("\\n", "\n    ")
    first = f"if {rng.choice(['s', 'count > 2', 'a.ndim'])}: " if rng.random() < 0.2 else ""
    body = f"{first}{place} = {value}; {end}" if "try" not in end else f"{place} = {value}\n    {end}"
    body = body.replace("@", place)
    body = body if "if " in body or not place.isidentifier() or place == "cell" else f"global {place}; {body}"
    return steps_of(body.replace("\n    ", "\\n"), rng)


def steps_of(body, rng):
    words = set(re.findall(r"\w+", body))
    words |= {owner for word in words for owner in OWNERS.get(word, ())}
    near = [change for change in CHANGES if re.match(r"\w+", change)[0] in words] or CHANGES
    arrays, numbers = "|".join(ARRAYS.split("\n")).split("|"), NUMBERS.split("|")
    call = [rng.choice(arrays[:2] * 8 + arrays), rng.choice(["1.5", *numbers])]
    steps = [tuple(call), tuple(call)]
    for _ in range(5):
        steps.append(rng.choice(near))
        call[0] = rng.choice(arrays) if rng.random() < 0.3 else call[0]
        call[1] = rng.choice(numbers) if rng.random() < 0.5 else call[1]
        steps.append(tuple(call))
    return body, steps


class Told:
    """Values as texts: what they are, to the bit, and which of them are one or share memory."""

    def __init__(self):
        self.lines, self.numbers, self.arrays, self.kept = [], {}, [], []

    def add(self, x, depth=0):
        cls = type(x)
        if cls in (float, complex) or isinstance(x, np.generic):
            self.lines.append((cls.__name__, np.asarray(x).dtype.str, np.asarray(x).tobytes()))
            return
        if x is None or cls in (bool, int, str, bytes, range, slice):
            self.lines.append(f"{cls.__name__} {x!r}")
            return
        if id(x) in self.numbers and cls not in (tuple, frozenset):
            self.lines.append(self.numbers[id(x)])
            return
        if cls not in (tuple, frozenset):
            self.numbers[id(x)] = len(self.numbers)
        self.kept.append(x)
        self.lines.append(cls.__name__)
        if isinstance(x, np.ndarray):
            shared = [i for i, y in enumerate(self.arrays) if np.shares_memory(x, y)]
            steps = [step for n, step in zip(x.shape, x.strides, strict=True) if n > 1 and x.size]
            bits = repr(x.tolist()) if x.dtype.hasobject else x.tobytes()
            self.lines.append((repr(x.dtype), x.shape, steps, x.flags.writeable, bits, shared))
            self.arrays.append(x)
        elif depth < 9:
            self.inside(x, depth + 1)

    def inside(self, x, depth):
        if isinstance(x, (list, tuple, collections.deque)):
            parts = list(x)
        elif isinstance(x, dict):
            parts = [part for pair in dict.items(x) for part in pair] + [list(x)]
        elif isinstance(x, (set, frozenset, np.dtype)):
            parts = [repr(x)]
        elif isinstance(x, types.FunctionType):
            parts = [x.__qualname__, repr(x.__code__.co_code), x.__defaults__, x.__kwdefaults__, [c.cell_contents for c in x.__closure__ or ()]]
        elif isinstance(x, types.MethodType):
            parts = [x.__func__, x.__self__]
        elif isinstance(x, functools.partial):
            parts = [x.func, x.args, x.keywords]
        elif isinstance(x, types.GeneratorType):
            parts = [x.gi_frame and x.gi_frame.f_lasti]
        elif isinstance(x, type):
            names = [k for k in vars(x) if x.__module__ == "a world" and k[:2] != "__" and k != "_abc_impl"]
            parts = [x.__qualname__, *(part for k in names for part in (k, vars(x)[k]))]
        elif isinstance(x, enum.Enum):
            parts = [x.name, repr(x.value)]
        elif type(x).__module__ in ("a world", "types") or (type(x) is types.ModuleType and x.__name__ == "mod"):
            own = {k: v for k, v in getattr(x, "__dict__", {}).items() if k[:2] != "__"}
            parts = [own, [getattr(x, k, None) for k in getattr(type(x), "__slots__", ())]]
        else:
            parts = []
        for part in parts:
            self.add(part, depth)


def trail(body, steps, wrap):
    """What a program does, call by call."""
    world = {"__name__": "a world"}
    exec(made, world)
    named = sorted(k for k, v in world.items() if k[0] != "_" and not (isinstance(v, types.ModuleType) and k != "mod"))
    code = f"    return {body}" if body in EXPRESSIONS else "    " + body.replace("\\n", "\n    ")
    text = f"def f(a, s=1):\n{code}\n"
    if "cell" in body:  # a variable of an enclosing function
        inner = text.replace("\n", "\n    ").replace("s=1):", "s=1):\n        nonlocal cell")
        text = f"def outer(cell):\n    {inner}\n    def other(a): return a, cell\n    return f, other\nf, other = outer(W)\n"
    exec(compile(text, "<body>", "exec", dont_inherit=True), world)
    f, found = wrap(world.pop("f")), []
    for step in steps:
        if isinstance(step, str):
            try:
                exec(compile(step, "<change>", "exec", dont_inherit=True), world)
            except Exception as error:
                found.append(type(error).__name__)
            continue
        told, out, raised = Told(), None, None
        try:
            args = [eval(text, world) for text in step]
        except Exception as error:
            found.append(type(error).__name__)
            continue
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            try:
                out = f(*args)
                out = [next(out, None)] if isinstance(out, types.GeneratorType) else out
            except Exception as error:
                raised = error
        told.add([out, type(raised).__name__, str(raised), args])
        told.add({name: world.get(name) for name in named if name in world})
        told.add([(x.category.__name__, str(x.message)) for x in heard if not issubclass(x.category, QUIET)])
        found.append(ADDRESS.sub("0x", repr(told.lines)))
    return found


@pytest.mark.parametrize("make", [program, storing_program])
@pytest.mark.parametrize("part", range(PARTS))
def test_a_compiled_body_does_what_it_does(make, part, monkeypatch):
    monkeypatch.setitem(sys.modules, "a world", types.ModuleType("a world"))  # dataclasses ask for it
    warnings.simplefilter("ignore", SyntaxWarning)
    compiled = 0
    for number in range(part * 10, part * 10 + 10):
        body, steps = make(number)
        functions = []

        def wrap(f, functions=functions):
            functions.append(dispatch.compile(f))
            return functions[0]

        expected = contextvars.copy_context().run(trail, body, steps, lambda f: f)
        found = contextvars.copy_context().run(trail, body, steps, wrap)
        assert found == expected, (number, body, steps)
        compiled += any(entry.run is not None for entry in functions[0].entries)
    assert compiled >= 3
