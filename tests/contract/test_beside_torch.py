"""The same programs against torch.library and against this package: what comes of them is the same, or a difference that is stated.

The oracle is torch. A program takes a side, which has the names of `beside.py`, and a namespace nobody has. `differs` is a cause in
`differences.py`: then what comes of it has to differ, so that no statement outlives its reason.
"""

import itertools
import random
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple, Optional

import pytest

from tests.contract.beside import Ours, outcome, told_apart, torch_side
from tests.contract.differences import DIFFERENCES

pytestmark = pytest.mark.torch


class Case(NamedTuple):
    """A program, and the cause by which it comes out otherwise."""

    name: str
    program: Any
    differs: str = ""


CASES: list[Case] = []


def case(name, program, differs=""):
    CASES.append(Case(name, program, differs))


# -- binding: which calls fit a schema -------------------------------------------------------------------------------------

BINDINGS = {
    "x": ((), {"x": 0}), "nothing": ((), {}), "one": ((0,), {}), "two": ((0, 3), {}), "three": ((0, 3, 4.0), {}),
    "n by name": ((0,), {"n": 3}), "both ways": ((0, 3), {"n": 4}), "y": ((0,), {"y": 2.0}), "unknown": ((0,), {"z": 1}),
    "all by name": ((), {"y": 1.5, "n": 4, "x": 0}), "x twice": ((0,), {"x": 0}), "float for int": ((0, 2.5), {}),
    "bool for int": ((0, True), {}), "int for float": ((0,), {"y": 2}), "str for float": ((0,), {"y": "a"}), "None for int": ((0, None), {}),
    "list for int": ((0, [1]), {}),
}  # fmt: skip
SCHEMAS = ("(Tensor x, int n=2, *, float y=0.5) -> Tensor", "(Tensor x, int n, *, float y) -> Tensor", "(Tensor x, int n=2, float y=0.5) -> Tensor")


def called(schema, binding, side, ns):
    with side.scoped(ns, "FRAGMENT") as lib:
        lib.define(f"f{schema}")
        star = schema.count("*")
        kernel = (lambda x, n=2, *, y=0.5: x * n * y) if star else (lambda x, n=2, y=0.5: x * n * y)
        lib.impl("f", kernel, "CPU")
        args, keywords = BINDINGS[binding]
        x = side.array([1.0, 2.0])
        op = getattr(side.ops, ns).f
        return op(*[x if a == 0 and type(a) is int else a for a in args], **{k: x if k == "x" else v for k, v in keywords.items()})


for schema, binding in itertools.product(SCHEMAS, BINDINGS):
    loose = binding == "bool for int" and "int n=2" in schema
    case(f"binding {binding} {schema}", partial(called, schema, binding), "values of another type" if loose else "")


# -- values: which values a type takes -------------------------------------------------------------------------------------

VALUES = {
    "None": None, "int": 3, "negative": -1, "float": 2.5, "bool": True, "str": "a", "empty str": "", "complex": 1j, "array": 0,
    "list": [1, 2], "tuple": (1, 2), "empty": [], "floats": [1.0, 2.5], "strs": ["a", "b"], "bools": [True, False], "arrays": [0, 0],
    "mixed": [1, 2.5], "with None": [1, None], "arrays with None": [0, None], "dict": {"a": 1}, "object": object, "range": range(3),
}  # fmt: skip
TYPES = ("Tensor", "Tensor?", "Tensor[]", "Tensor?[]", "int", "int?", "int[]", "int[]?", "int[2]", "float", "float?", "float[]", "bool",
         "bool?", "bool[]", "str", "str?", "Scalar", "Scalar?", "SymInt", "SymInt[]")  # fmt: skip


# Which of these torch takes, though they are of another type.
LOOSE = {
    "Tensor": "None", "Tensor?[]": "empty str; array", "int": "bool; array", "int?": "bool; array", "int[]": "bools; arrays",
    "int[]?": "bools; arrays", "int[2]": "bool; empty; bools; arrays; range", "float": "bool; array", "float?": "bool; array",
    "float[]": "bools; arrays", "bool": "None; int; negative; float; complex; array; range",
    "bool?": "int; negative; float; complex; array; range",
    "bool[]": "list; tuple; floats; arrays; mixed; with None; arrays with None; range", "SymInt": "bool; array",
    "SymInt[]": "empty str; bools",
}  # fmt: skip


def taken(kind, value, side, ns):
    def real(v, name):
        if name.startswith("array"):
            return [side.array([1.0]) if item == 0 else item for item in v] if isinstance(v, list) else side.array([1.0])
        return v

    with side.scoped(ns, "FRAGMENT") as lib:
        lib.define(f"f(Tensor x, {kind} v) -> Tensor")
        lib.impl("f", lambda x, v: x * 2.0, "CPU")
        return getattr(side.ops, ns).f(side.array([1.0]), real(VALUES[value], value))


for kind, value in itertools.product(TYPES, VALUES):
    loose = value in LOOSE.get(kind, "").split("; ")
    case(f"value {value} for {kind}", partial(taken, kind, value), "values of another type" if loose else "")


# -- schemas: which texts make sense ---------------------------------------------------------------------------------------

TEXTS = [
    "f(Tensor x) -> Tensor", "f(Tensor x) -> (Tensor, Tensor)", "f(Tensor x) -> ()", "f() -> Tensor", "f(Tensor x -> Tensor", "f(x) -> Tensor",
    "f(Tensor) -> Tensor", "f(Tensor x) -> Foo", "f(Foo x) -> Tensor", "f(Tensor x)", "f", "", "f(Tensor x) ->",
    "f(Tensor x, int n=1) -> Tensor", "f(Tensor x, int n=a) -> Tensor", "f(Tensor x, float n=1) -> Tensor",
    "f(Tensor x, int? n=None) -> Tensor", "f(Tensor x, int[] n=[1, 2]) -> Tensor", "f(Tensor x, int[2] n=1) -> Tensor",
    "f(Tensor x, bool b=True) -> Tensor", "f(Tensor x, str s='a') -> Tensor", 'f(Tensor x, str s="a") -> Tensor', "f(Tensor x, *, int n) -> Tensor",
    "f(Tensor(a!) x) -> Tensor(a!)", "f(Tensor(a!) x) -> ()", "f(Tensor(a) x) -> Tensor(a)",
    "f(Tensor[] xs) -> Tensor[]", "f(Tensor(a!)[] xs) -> ()", "f(Tensor?[] xs) -> Tensor", "f(Tensor x, Scalar s=1) -> Scalar", "f.bar(Tensor x) -> Tensor",
    "f.default(Tensor x) -> Tensor", "f.__bar(Tensor x) -> Tensor", "other::f(Tensor x) -> Tensor", "f(Tensor x, double d) -> Tensor",
    "f(Tensor x, int64_t d) -> Tensor", "f(Tensor self) -> Tensor", "f(Tensor x, SymInt n) -> SymInt", "f(Tensor x, ScalarType d) -> Tensor",
    "f(Tensor x, Device device) -> Tensor",
    "f(Tensor x) -> Tensor y", "f(Tensor x) -> (Tensor y, Tensor z)", "f(Tensor? x=None, Tensor y) -> Tensor", "f(int n=1, Tensor x) -> Tensor",
    "f(Tensor x, Dict(str, int) d) -> Tensor", "f(Tensor x, (int, int) p) -> Tensor", "f(Tensor x, Any a) -> Any", "f( Tensor  x ) ->Tensor",
]  # fmt: skip


def defined(text, side, ns):
    with side.scoped(ns, "FRAGMENT") as lib:
        lib.define(text)
        return "defined"


# Torch defines an operator of these.
SENSELESS = [
    "f(Tensor x, Tensor x) -> Tensor", "f(Tensor x, int n=1.5) -> Tensor", "f(Tensor x, int n=None) -> Tensor", "f(Tensor x, *) -> Tensor",
    "f(Tensor(a!) x, Tensor(a!) y) -> ()", "f(Tensor x=None) -> Tensor", "f(Tensor x) -> None",
]  # fmt: skip

for text in [*TEXTS, *SENSELESS]:
    case(f"schema {text}", partial(defined, text), "definitions that contradict themselves" if text in SENSELESS else "")


# -- kernels: which of several runs, and what is left of it ----------------------------------------------------------------

KEYS = ("CPU", "CompositeExplicitAutograd", "CompositeImplicitAutograd")


def stacked(seed, side, ns):
    """A few registrations through three libraries, which go in any order; after each step which kernel runs."""
    chance, composite = random.Random(seed), KEYS[1 + seed % 2]
    libs = [side.library.Library(ns, "FRAGMENT") for _ in range(3)]
    libs[0].define("f(Tensor x) -> Tensor")
    op, seen, alive = getattr(side.ops, ns).f.default, [], [1, 2]
    try:
        for step in range(1, chance.randint(4, 8)):
            do = chance.random()
            if do < 0.7 or not alive:
                key, lib = chance.choice(["CPU", composite]), libs[chance.choice([0, *alive])]
                lib.impl("f", lambda x, step=step: x * 0.0 + step, key)
            else:
                side.destroy(libs[gone := chance.choice(alive)])
                alive.remove(gone)
            try:
                seen.append(side.values(op(side.array([0.0])))[0])
            except NotImplementedError:
                seen.append("no kernel")
    finally:
        for i in (*alive, 0):
            side.destroy(libs[i])
    return seen


for seed in range(150):
    case(f"kernels {seed}", partial(stacked, seed))


# -- gradients: what a backward may return -----------------------------------------------------------------------------------

OPERATORS = {
    "x": (["x"], lambda side: {"x": side.Array}),
    "x y": (["x", "y"], lambda side: {"x": side.Array, "y": side.Array}),
    "x n": (["x", "n"], lambda side: {"x": side.Array, "n": int}),
    "n x": (["n", "x"], lambda side: {"n": int, "x": side.Array}),
    "xs": (["xs"], lambda side: {"xs": Sequence[side.Array]}),
    "x opt": (["x", "y"], lambda side: {"x": side.Array, "y": Optional[side.Array]}),  # noqa: UP045 - torch reads both
}
RETURNED = {
    "g": lambda g: g, "(g,)": lambda g: (g,), "(g, g)": lambda g: (g, g), "(g, None)": lambda g: (g, None), "(None, g)": lambda g: (None, g),
    "None": lambda g: None, "()": lambda g: (), "[g, g]": lambda g: [g, g], "([g, g],)": lambda g: ([g, g],), "([g],)": lambda g: ([g],),
    "([g, None],)": lambda g: ([g, None],), "dict": lambda g: {"x": g}, "str": lambda g: "a", "number": lambda g: 2.0, "((g,),)": lambda g: ((g,),),
    "(None, None)": lambda g: (None, None), "(None,)": lambda g: (None,),
}  # fmt: skip


def differentiated(operator, returned, side, ns):
    names, hints = OPERATORS[operator]

    def kernel(*args):
        first = args[0] if not isinstance(args[0], int) else args[1]
        return side.copy(first[0] if isinstance(first, (list, tuple)) else first) * 3.0

    scope = {"kernel": kernel, "hints": hints(side)}
    typed = ", ".join(f"{name}: hints[{name!r}]" for name in names)
    exec(f"def f({typed}) -> out: return kernel({', '.join(names)})", scope | {"out": side.Array}, made := {})
    op = side.library.custom_op(f"{ns}::f", made["f"], mutates_args=())
    op.register_autograd(lambda ctx, g: RETURNED[returned](g))
    arrays = [side.array([1.0, 2.0], tracked=True) for _ in range(2)]
    given = {"x": arrays[0], "y": None if operator == "x opt" else arrays[1], "n": 2, "xs": arrays}
    op(*[given[name] for name in names]).sum().backward()
    return [x.grad for x in arrays]


COUNTED = {"x": ["None", "(g, None)", "(None, None)"], "x y": ["[g, g]"], "x n": ["g", "(g,)", "(None,)"], "x opt": ["(g, g)", "(None, g)", "[g, g]"]}

for operator, returned in itertools.product(OPERATORS, RETURNED):
    differs = "counting gradients" if returned in COUNTED.get(operator, ()) else ""
    if operator == "xs" and returned == "(None,)":
        differs = "None for a list"
    case(f"gradient {returned} of {operator}", partial(differentiated, operator, returned), differs)


# -- batches: what a batching rule may return --------------------------------------------------------------------------------

RULES = {
    "x, 0": lambda side, x, d: (side.move(x, d, 0) * 2.0, 0), "x, d": lambda side, x, d: (x * 2.0, d), "x, -1": lambda side, x, d: (side.move(x, d, -1) * 2.0, -1),
    "x": lambda side, x, d: x, "None": lambda side, x, d: None, "x, None": lambda side, x, d: (side.move(x, d, 0)[0] * 2.0, None),
    "x, 9": lambda side, x, d: (x, 9), "x, 'a'": lambda side, x, d: (x, "a"), "[x, d]": lambda side, x, d: [x * 2.0, d], "(x,), (d,)": lambda side, x, d: ((x * 2.0,), (d,)),
    "x, d, 1": lambda side, x, d: (x, d, 1), "a number": lambda side, x, d: (2.0, None),
}  # fmt: skip


def batched(rule, in_dim, out_dim, side, ns):
    @side.library.custom_op(f"{ns}::f", mutates_args=(), schema="(Tensor x) -> Tensor")
    def f(x):
        return x * 2.0

    f.register_vmap(lambda info, in_dims, x: RULES[rule](side, x, in_dims[0]))
    return side.vmap(f, in_dims=in_dim, out_dims=out_dim)(side.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]))


for rule, in_dim, out_dim in itertools.product(RULES, (0, 1, -1), (0, 1)):
    unheld = rule in ("x, 9", "x, 'a'") or (rule == "x, None" and out_dim == 1)
    case(f"batch {rule} in {in_dim} out {out_dim}", partial(batched, rule, in_dim, out_dim), "results of batching rules" if unheld else "")


# -- registrations on an operator that custom_op made ------------------------------------------------------------------------


def registered(seed, side, ns):
    """A few kernels registered on an operator, for the CPU and for every device; after each which one runs."""
    chance, devices = random.Random(seed), [None, "cpu", "cuda"]

    @side.library.custom_op(f"{ns}::f", mutates_args=(), schema="(Tensor x) -> Tensor", device_types=chance.choice(devices))
    def f(x):
        return x * 0.0

    seen = []
    for step in range(1, 6):
        f.register_kernel(chance.choice(devices))(lambda x, step=step: x * 0.0 + step)
        try:
            seen.append(side.values(f(side.array([0.0])))[0])
        except NotImplementedError:
            seen.append("no kernel")
    return seen


for seed in range(20):
    case(f"register_kernel {seed}", partial(registered, seed))


def both_composites(side, ns):
    with side.scoped(ns, "FRAGMENT") as lib:
        lib.define("f(Tensor x) -> Tensor")
        lib.impl("f", lambda x: x * 0.0 + 1, "CompositeImplicitAutograd")
        lib.impl("f", lambda x: x * 0.0 + 2, "CompositeExplicitAutograd")
        return getattr(side.ops, ns).f(side.array([0.0]))


case("a composite that computes after one that is made of operators", both_composites, "later composites")


# -- results: what a kernel may return ---------------------------------------------------------------------------------------

RESULTS = {
    "copy": lambda side, x, y: side.copy(x), "x": lambda side, x, y: x, "view": lambda side, x, y: x[:], "part": lambda side, x, y: x[1:],
    "y": lambda side, x, y: y, "None": lambda side, x, y: None, "number": lambda side, x, y: 2.0, "str": lambda side, x, y: "a",
    "tuple": lambda side, x, y: (side.copy(x),), "list": lambda side, x, y: [side.copy(x)], "two": lambda side, x, y: (side.copy(x), side.copy(y)),
    "one twice": lambda side, x, y: (lambda z: (z, z))(side.copy(x)), "overlapping": lambda side, x, y: (lambda z: (z[:2], z[1:]))(side.copy(x)),
    "two of a list": lambda side, x, y: [side.copy(x), side.copy(y)], "array and number": lambda side, x, y: (side.copy(x), 2),
}  # fmt: skip
RETURNS = ("Tensor", "(Tensor, Tensor)", "Tensor[]", "()", "(Tensor, int)", "float", "Tensor?")


def returned(result, returns, side, ns):
    @side.library.custom_op(f"{ns}::f", mutates_args=(), schema=f"(Tensor x, Tensor y) -> {returns}")
    def f(x, y):
        return RESULTS[result](side, x, y)

    return f(side.array([1.0, 2.0, 3.0]), side.array([4.0, 5.0, 6.0]))


for result, returns in itertools.product(RESULTS, RETURNS):
    differs = "values of another type" if (result, returns) == ("None", "Tensor") else ""
    case(f"result {result} for {returns}", partial(returned, result, returns), differs)


# -- operators that write ------------------------------------------------------------------------------------------------------

WRITING = {
    "(Tensor(a!) x) -> ()": (("x",), None), "(Tensor(a!) x) -> Tensor(a!)": (("x",), "inplace"), "(Tensor x, *, Tensor(a!) out) -> Tensor(a!)": (("out",), "out"),
    "(Tensor x, Tensor(a!) out) -> ()": (("out",), None), "(Tensor(a!) x) -> Tensor": (("x",), None), "(Tensor(a!)[] xs) -> ()": (("xs",), None),
}  # fmt: skip
NAMED = {"right": None, "none": (), "x": ("x",), "a str": "x", "unknown name": ("z",)}
TAGGED = ("right", "no", "inplace", "out", "both")


def writing(schema, named, tagged, side, ns):
    right, tag = WRITING[schema]
    tags = {"right": [tag] if tag else [], "no": [], "inplace": ["inplace"], "out": ["out"], "both": ["inplace", "out"]}[tagged]

    def double(x, out):
        out *= 0.0
        out += x * 2.0
        return out

    kernel = {
        "x": lambda x: double(side.copy(x), x) if "->" and schema.endswith("(a!)") else (double(side.copy(x), x), None if schema.endswith("()") else side.copy(x))[1],
        "xs": lambda xs: [double(side.copy(x), x) for x in xs] and None,
        "x, out": lambda x, out: (double(x, out), None)[1],
        "x, *, out": lambda x, *, out: double(x, out),
    }[", ".join(word for word in ("x", "*", "out", "xs") if word in schema.partition("->")[0].replace("(a!)", "").replace(",", " ").replace(")", " ").split())]
    op = side.library.custom_op(
        f"{ns}::f", kernel, mutates_args=right if named == "right" else NAMED[named], schema=schema, tags=[getattr(side.Tag, tag) for tag in tags]
    )
    x, out = side.array([1.0, 2.0]), side.array([0.0, 0.0])
    if "xs" in schema:
        result = op([x, out])
    else:
        result = op(x, out=out) if "out" in schema else op(x)
    return x, out, result, result is x, result is out


for schema, named, tagged in itertools.product(WRITING, NAMED, TAGGED):
    tag = WRITING[schema][1]
    differs = ""
    if tag == "out" and tagged in ("no", "inplace"):
        differs = "keyword-only arrays"
    elif named == "a str" and "(a!) x)" in schema and tagged in ("right", tag or "no"):
        differs = "definitions that contradict themselves"
    elif tag == "inplace" and tagged == "no" and named in ("right", "x"):
        differs = "returned arguments"
    case(f"writing {schema} names {named} tags {tagged}", partial(writing, schema, named, tagged), differs)


# -- what rules see --------------------------------------------------------------------------------------------------------------

CALLS = {
    "x": ((), {}), "n": ((3,), {}), "the default of n": ((2,), {}), "n by name": ((), {"n": 4}), "both": ((3, 1.5), {}), "y by name": ((), {"y": 1.5}),
}  # fmt: skip


def seen_by_setup(call, side, ns):
    op = side.library.custom_op(f"{ns}::f", lambda x, n=2, y=0.5: x * n * y, mutates_args=(), schema="(Tensor x, int n=2, float y=0.5) -> Tensor")
    seen = []
    op.register_autograd(lambda ctx, g: (g * 2.0, None, None), setup_context=lambda ctx, inputs, output: seen.extend(inputs[1:]))
    args, keywords = CALLS[call]
    x = side.array([1.0], tracked=True)
    op(x, *args, **keywords).sum().backward()
    return seen, x.grad


def seen_apart(call, side, ns):
    with side.scoped(ns, "FRAGMENT") as lib:
        lib.define("f(Tensor x, int n=2, *, float y=0.5) -> Tensor")
        lib.impl("f", lambda x, n=2, *, y=0.5: x * n * y, "CPU")
        seen = []
        side.library.register_autograd(
            f"{ns}::f",
            lambda ctx, g: g * 2.0 if len(ctx.needs_input_grad) == 1 else (g * 2.0, *[None] * (len(ctx.needs_input_grad) - 1)),
            setup_context=lambda ctx, inputs, keyword_only_inputs, output: seen.extend([inputs[1:], keyword_only_inputs]),
            lib=lib,
        )
        args, keywords = CALLS[call]
        x = side.array([1.0], tracked=True)
        getattr(side.ops, ns).f(x, *args, **keywords).sum().backward()
        return seen, x.grad


def counted(call, side, ns):
    op = side.library.custom_op(f"{ns}::f", lambda x, n=2, y=0.5: x * n * y, mutates_args=(), schema="(Tensor x, int n=2, float y=0.5) -> Tensor")
    seen = []
    op.register_autograd(lambda ctx, g: (seen.append(len(ctx.needs_input_grad)), (g, None, None))[1])
    args, keywords = CALLS[call]
    op(side.array([1.0], tracked=True), *args, **keywords).sum().backward()
    return seen


for call in CALLS:
    case(f"setup_context sees {call}", partial(seen_by_setup, call))
    case(f"setup_context sees apart {call}", partial(seen_apart, call))
    case(f"needs_input_grad of {call}", partial(counted, call), "" if call in ("both", "y by name") else "defaults")


# -- shape rules -----------------------------------------------------------------------------------------------------------------


def faking(kernel, rule, override, side, ns):
    with side.scoped(ns, "FRAGMENT") as lib:
        lib.define("f(Tensor x) -> Tensor")
        if kernel:
            lib.impl("f", lambda x: x * 2.0, kernel)
        for _ in range(rule):
            side.library.register_fake(f"{ns}::f", lambda x: side.like(x, (7,)), lib=lib, allow_override=override)
        return side.faked(getattr(side.ops, ns).f, side.array([1.0, 2.0]))


for kernel, rule, override in itertools.product(("", "CPU", *KEYS[1:], "Meta"), (0, 1, 2), (True, False)):
    differs = "no kernel on fakes" if kernel == KEYS[1] and not rule else "rules on composites" if kernel == KEYS[2] and rule and override and rule else ""
    case(f"shape of {kernel or 'nothing'} {rule} rules override {override}", partial(faking, kernel, rule, override), differs)


# -- handles on kernels -------------------------------------------------------------------------------------------------------------


def handled(key, asked, gone, side, ns):
    with side.scoped(ns, "FRAGMENT") as lib:
        lib.define("f(Tensor x) -> Tensor")
        with side.scoped(ns, "IMPL") as other:
            other.impl("f", lambda x: x * 2.0, key)
            kernel = side.library.get_kernel(f"{ns}::f", asked)
            if not gone:
                return kernel.op_handle is not None
        return side.call_boxed(kernel, side.array([1.0]))


for key, asked, gone in itertools.product(KEYS, (*KEYS, "CUDA", "nowhere"), (False, True)):
    case(f"handle on {asked} of {key} gone {gone}", partial(handled, key, asked, gone))


# -- names, libraries, forms of registering --------------------------------------------------------------------------------------

FORMS = {
    "define without a namespace": lambda side, ns, lib: side.library.define("f", "(Tensor x) -> Tensor"),
    "define with a name in the schema": lambda side, ns, lib: side.library.define(f"{ns}::f", "f(Tensor x) -> Tensor"),
    "define with two namespaces": lambda side, ns, lib: side.library.define(f"{ns}::{ns}::f", "(Tensor x) -> Tensor"),
    "define by a number": lambda side, ns, lib: side.library.define(3, "(Tensor x) -> Tensor"),
    "define in prim": lambda side, ns, lib: side.library.Library("prim", "FRAGMENT"),
    "impl of nobody": lambda side, ns, lib: side.library.impl(f"{ns}::nobody", "nowhere"),
    "impl of no function": lambda side, ns, lib: lib.impl("g", 3, "CPU"),
    "impl at no key": lambda side, ns, lib: lib.impl("g", lambda x: x, "nowhere"),
    "impl by a number": lambda side, ns, lib: lib.impl(3, lambda x: x, "CPU"),
    "impl of another namespace": lambda side, ns, lib: lib.impl("other::g", lambda x: x, "CPU"),
    "impl with the namespace": lambda side, ns, lib: lib.impl(f"{ns}::g", lambda x: x * 2, "CPU"),
    "impl twice": lambda side, ns, lib: [lib.impl("g", lambda x: x, "CPU") for _ in range(2)] and None,
    "impl twice without override": lambda side, ns, lib: [lib.impl("g", lambda x: x, "CPU", allow_override=False) for _ in range(2)] and None,
    "define through IMPL": lambda side, ns, lib: side.library.Library(ns, "IMPL").define("h(Tensor x) -> Tensor"),
    "a kind that is none": lambda side, ns, lib: side.library.Library(ns, "BLA"),
    "a key that is none": lambda side, ns, lib: side.library.Library(ns, "IMPL", "nowhere"),
    "a second key": lambda side, ns, lib: side.library.Library(ns, "IMPL", "CPU").impl("g", lambda x: x, "CUDA"),
    "an alias analysis that is none": lambda side, ns, lib: lib.define("h(Tensor x) -> Tensor", "SOME"),
    "an operator that is none": lambda side, ns, lib: getattr(side.ops, ns).nobody,
    "a fallback of one namespace": lambda side, ns, lib: lib.fallback(lambda op, *args: None, "CPU"),
    "register_fake of nobody": lambda side, ns, lib: side.library.register_fake(f"{ns}::nobody", lambda x: x),
    "register_autograd of nobody": lambda side, ns, lib: side.library.register_autograd(f"{ns}::nobody", lambda ctx, g: g),
    "register_vmap of nobody": lambda side, ns, lib: side.library.register_vmap(f"{ns}::nobody", lambda info, in_dims, x: (x, 0)),
    "register_kernel of a number": lambda side, ns, lib: side.library.register_kernel(3, "cpu", lambda x: x),
    "register_fake of a number": lambda side, ns, lib: side.library.register_fake(3, lambda x: x),
    "register_autograd of a number": lambda side, ns, lib: side.library.register_autograd(3, lambda ctx, g: g),
    "register_kernel at no device": lambda side, ns, lib: side.library.register_kernel(f"{ns}::g", "nowhere", lambda x: x),
    "custom_op without a namespace": lambda side, ns, lib: side.library.custom_op("f", lambda x: x, mutates_args=(), schema="(Tensor x) -> Tensor"),
    "custom_op without hints": lambda side, ns, lib: side.library.custom_op(f"{ns}::f", lambda x: x, mutates_args=()),
    "get_kernel of a number": lambda side, ns, lib: side.library.get_kernel(3, "CPU"),
    "get_kernel of nobody": lambda side, ns, lib: side.library.get_kernel(f"{ns}::nobody", "CPU"),
    "opcheck of a number": lambda side, ns, lib: side.opcheck(3, (side.array([1.0]),)),
    "opcheck by no check": lambda side, ns, lib: side.opcheck(getattr(side.ops, ns).g.default, (side.array([1.0]),), test_utils="none"),
    "fallthrough is called": lambda side, ns, lib: side.library.fallthrough_kernel(),
    "a factory for a device without a device": lambda side, ns, lib: side.library.custom_op(f"{ns}::f", lambda n: None, mutates_args=(), schema="(int n) -> Tensor", device_types="cpu"),
    "get_ctx outside": lambda side, ns, lib: side.library.get_ctx(),
    "after it was destroyed": lambda side, ns, lib: (side.destroy(lib), lib.define("h(Tensor x) -> Tensor")),
}  # fmt: skip


def form(name, side, ns):
    lib = side.library.Library(ns, "FRAGMENT")
    try:
        lib.define("g(Tensor x) -> Tensor")
        done = FORMS[name](side, ns, lib)
        return done if isinstance(done, (str, bool, type(None))) else "done"
    finally:
        side.destroy(lib)


for name in FORMS:
    case(f"form: {name}", partial(form, name), "get_ctx outside a rule" if name == "get_ctx outside" else "")


# -- overloads ---------------------------------------------------------------------------------------------------------------------

OVERLOADED = {
    "x": ((0,), {}), "x n": ((0, 2), {}), "x y": ((0, 0), {}), "s": ((0,), {"s": 2.0}), "n by name": ((0,), {"n": 3}), "y by name": ((0,), {"y": 0}),
    "nothing": ((), {}), "three": ((0, 0, 0), {}), "a str": ((0, "a"), {}), "unknown": ((0,), {"z": 1}), "n and s": ((0, 2), {"s": 1.0}),
    "a list": ((0, [1, 2]), {}), "a list of arrays": (([0, 0],), {}),
}  # fmt: skip


def resolved(call, side, ns):
    """Which of six overloads a call by the operator's name runs."""
    texts = ["(Tensor x)", ".n(Tensor x, int n)", ".y(Tensor x, Tensor y)", ".s(Tensor x, *, float s)", ".ns(Tensor x, int[] ns)", ".xs(Tensor[] xs)"]
    with side.scoped(ns, "FRAGMENT") as lib:
        for number, text in enumerate(texts):
            lib.define(f"f{text} -> Tensor")
            lib.impl(f"f{text.partition('(')[0]}", lambda *args, number=number, **keywords: side.array([float(number)]), "CPU")
        args, keywords = OVERLOADED[call]
        real = lambda v: side.array([1.0]) if type(v) is int and v == 0 else [real(item) for item in v] if isinstance(v, list) else v
        return getattr(side.ops, ns).f(*map(real, args), **{name: real(v) for name, v in keywords.items()})


for call in OVERLOADED:
    case(f"overload of {call}", partial(resolved, call), "overloads" if call == "x y" else "")


# -- hints -------------------------------------------------------------------------------------------------------------------------

HINTS = {
    "Array": lambda side: side.Array, "int": lambda side: int, "float": lambda side: float, "bool": lambda side: bool, "str": lambda side: str,
    "dtype": lambda side: side.dtype, "list[Array]": lambda side: list[side.Array], "Sequence[int]": lambda side: Sequence[int],
    "list[float]": lambda side: list[float], "Array | None": lambda side: side.Array | None, "int | None": lambda side: int | None, "list[int] | None": lambda side: list[int] | None,
    "list[Array | None]": lambda side: list[side.Array | None], "list": lambda side: list, "set[int]": lambda side: set[int], "dict": lambda side: dict,
    "object": lambda side: object, "list[list[int]]": lambda side: list[list[int]],
}  # fmt: skip


def hinted(hint, place, side, ns):
    def f(x, y): ...

    f.__annotations__ = {"x": side.Array, "y": HINTS[hint](side), "return": side.Array} if place == "parameter" else {"x": side.Array, "y": int, "return": HINTS[hint](side)}
    return side.library.infer_schema(f, mutates_args=()).replace("SymInt", "int")


REFUSED_RETURNS = (
    "str", "dtype", "Sequence[int]", "list[float]", "Array | None", "int | None", "list[int] | None", "list[Array | None]", "list[list[int]]",
)  # fmt: skip

for hint, place in itertools.product(HINTS, ("parameter", "return")):
    more = hint == "list[list[int]]" or (place == "return" and hint in REFUSED_RETURNS)
    case(f"hint {hint} of a {place}", partial(hinted, hint, place), "more hints" if more else "")


# -- opcheck: which checks fail ---------------------------------------------------------------------------------------------------

COMMON = ("test_schema", "test_autograd_registration", "test_faketensor")


def add_one(x):
    x += 1.0
    return x


CHECKED = {
    "sound": (lambda side, x: side.copy(x) * 2.0, lambda side, x: side.like(x, x.shape), True),
    "no rule": (lambda side, x: side.copy(x) * 2.0, None, True),
    "no gradient": (lambda side, x: side.copy(x) * 2.0, lambda side, x: side.like(x, x.shape), False),
    "wrong shape": (lambda side, x: side.copy(x) * 2.0, lambda side, x: side.like(x, (7,)), True),
    "hidden write": (lambda side, x: side.copy(add_one(x)), lambda side, x: side.like(x, x.shape), True),
}


def checked(operator, check, tracked, side, ns):
    kernel, rule, gradient = CHECKED[operator]
    op = side.library.custom_op(f"{ns}::f", lambda x: kernel(side, x), mutates_args=(), schema="(Tensor x) -> Tensor")
    if rule is not None:
        op.register_fake(lambda x: rule(side, x))
    if gradient:
        op.register_autograd(lambda ctx, g: g * 2.0)
    return side.opcheck(op, (side.array([1.0, 2.0], tracked=tracked),), test_utils=check, raise_exception=False)[check].__class__ is str


for operator, check, tracked in itertools.product(CHECKED, COMMON, (False, True)):
    gradient = check == "test_autograd_registration" and tracked
    differs = "checks of opcheck" if gradient and operator in ("no gradient", "hidden write") else ""
    case(f"opcheck {check} of {operator} tracked {tracked}", partial(checked, operator, check, tracked), differs)


def number_of_tracked(ruled, side, ns):
    @side.library.custom_op(f"{ns}::f", mutates_args=(), schema="(Tensor x) -> float")
    def f(x):
        return float(x.sum())

    if ruled:
        f.register_autograd(lambda ctx, g: g)
    x = side.array([1.0, 2.0], tracked=True)
    (f(x) * x).sum().backward()
    return x.grad


for ruled in (False, True):
    case(f"a number of a tracked array {'with a rule' if ruled else 'without one'}", partial(number_of_tracked, ruled), "numbers without a gradient")


@pytest.fixture(scope="module")
def theirs():
    return torch_side()


@pytest.mark.parametrize("kind", dict.fromkeys(c.name.partition(" ")[0] for c in CASES))
def test_what_comes_of_a_program_is_what_comes_of_it_in_torch(kind, theirs):
    unstated, outlived = [], []
    for name, program, differs in CASES:
        if name.startswith(kind):
            assert not differs or differs in DIFFERENCES
            found = told_apart(outcome(theirs, program), outcome(Ours, program))
            if found and not differs:
                unstated.append(f"{name}: {found}")
            if differs and not found:
                outlived.append(f"{name}: {differs}")
    assert (unstated, outlived) == ([], [])
