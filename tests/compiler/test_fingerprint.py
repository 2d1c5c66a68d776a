"""What a call rests on, as text: the same for the same program made again, another for another program."""

import collections
import dataclasses
import enum
import functools
import itertools
import types

import numpy as np
import pytest

import dispatch
from dispatch.compiler.capture import Options, walked
from dispatch.compiler.dynamic_shapes import open_layout
from dispatch.compiler.fingerprint import Unkeyed, fingerprint, orders_in

x = np.arange(1.0, 4.0)


def program(text, filename="<generated>"):
    """The function `f` of a program in text, made anew."""
    world = {"np": np, "dispatch": dispatch, "__name__": "generated"}
    world |= {m.__name__: m for m in (types, collections, functools, dataclasses, enum)}
    exec(compile(text, filename, "exec", dont_inherit=True), world)
    return world["f"]


PLAIN = Options()


def text_of(f, args=(x,), keywords=None, options=PLAIN):
    return repr(fingerprint(walked(f, args, keywords or {}, options), options).parts)


# Programs, and what may be written in the place of each #: no two may have one text.
PLACES = {
    "code": ("def f(a): return a # 2", "+ - * / **"),
    "a constant": ("def f(a): return a * #", "2 3 2.0 -2 True 2j 0.0 -0.0 1e300 2**70"),
    "a constant in a tuple": ("def f(a): return np.sum(a, axis=(0,)) * (1, #)[1]", "2 3 2.0 True -0.0 0.0"),
    "a set to look in": ("def f(a, n=1): return a * (n in {2, #})", "1 3"),
    "a global": ("h = #\ndef f(a): return a * h", "2 3 True 2j np.float32(2) np.float64(2)"),
    "a name that hides a builtin": ("# = lambda a: 5\ndef f(a): return a * len('a')", "k len"),
    "a text": ("h = '#'\ndef f(a): return a * len(h)", "a b ab"),
    "an argument's name": ("def f(#): return # * 2", "a b"),
    "a ufunc": ("h = np.#\ndef f(a): return h(a)", "sin cos tan"),
    "a method of an operator": ("h = dispatch.ops.np.#\ndef f(a): return h(23, a)", "sin.redispatch cos.redispatch sin.at"),
    "a function of NumPy": ("h = np.#\ndef f(a): return h(a)", "sum mean linalg.norm"),
    "a dtype": ("h = np.dtype('#')\ndef f(a): return a.astype(h)", "f8 f4 i8 >f8"),
    "a slice": ("h = slice(#)\ndef f(a): return a[h]", "1 2 1,2 None"),
    "a range": ("h = range(#)\ndef f(a):\n    for i in h: a = a + i\n    return a", "1 2 3"),
    "a global function": ("def g(a): return a # 1\ndef f(a): return g(a)", "+ -"),
    "a function's default": ("def g(a, n=#): return a * n\ndef f(a): return g(a)", "2 3 2.0 None"),
    "a keyword's default": ("def g(a, *, n=#): return a * n\ndef f(a): return g(a)", "2 3 2.0"),
    "a function's attribute": ("def g(a): return a * g.n\ng.n = #\ndef f(a): return g(a)", "2 3 2.0"),
    "a cell": ("def o(n):\n    def f(a): return a * n\n    return f\nf = o(#)", "2 3 '2'"),
    "a function in a cell": ("def o(n):\n    def f(a): return n(a)\n    return f\nf = o(lambda a: a # 1)", "+ -"),
    "a function inside": ("def f(a):\n    def g(a): return a # 1\n    return g(a)", "+ -"),
    "a decorated function": ("f = dispatch.grad(lambda a: np.sum(a # 2))", "+ - **"),
    "a transform": ("f = dispatch.#(lambda a: np.sum(a * 2))", "grad vmap value_and_grad"),
    "a transform's option": ("f = dispatch.vmap(lambda a: a * 2, in_dims=#)", "0 -1"),
    "a partial": ("f = functools.partial(lambda n, a: a * n, #)", "2 3 2.0"),
    "a partial's keyword": ("f = functools.partial(lambda a, n=0, m=0: a * n + m, #)", "n=2 m=2 n=3"),
    "an attribute": ("class A: pass\nh = A(); h.n = #\ndef f(a): return a * h.n", "2 3 2j"),
    "a slot": ("class A: __slots__ = ('n',)\nh = A(); h.n = #\ndef f(a): return a * h.n", "2 3"),
    "a class attribute": ("class A: n = #\nh = A()\ndef f(a): return a * h.n", "2 3"),
    "a method": ("class A:\n    def g(self, a): return a # 2\nf = A().g", "+ -"),
    "a call": ("class A:\n    def __call__(self, a): return a # 2\nf = A()", "+ -"),
    "a property": ("class A:\n    @property\n    def n(self): return #\nh = A()\ndef f(a): return a * h.n", "2 3"),
    "a static method": ("class A:\n    @staticmethod\n    def g(a): return a # 2\nf = A.g", "+ -"),
    "a class method": ("class A:\n    n = #\n    @classmethod\n    def g(cls, a): return a * cls.n\nf = A.g", "2 3"),
    "an operator of a class": (
        "class A:\n    def __mul__(self, a): return a # 2\nh = A()\ndef f(a): return h * a", "+ -",
    ),
    "a base": (
        "class A:\n    def g(self, a): return a\nclass B:\n    def g(self, a): return -a\nclass C(#): pass\nf = C().g", "A B A,B B,A",
    ),
    "fields": ("@dataclasses.dataclass\nclass A:\n    # = 2\n    n: int = 3\nh = A()\ndef f(a): return a * h.n", "m:int k:int"),
    "a field's default": ("@dataclasses.dataclass\nclass A:\n    n: int = #\nh = A()\ndef f(a): return a * h.n", "2 3"),
    "flags of a dataclass": (
        "@dataclasses.dataclass(#)\nclass A:\n    n: int = 2\nh = A()\ndef f(a): return a * h.n", "frozen=True order=True eq=False",
    ),
    "fields of a tuple": ("A = collections.namedtuple('A', '#')\nh = A(2, 3)\ndef f(a): return a * h.n", "n,m m,n"),
    "defaults of a tuple": (
        "A = collections.namedtuple('A', 'n', defaults=(#,))\ndef f(a): return a * A().n", "2 3 2j",
    ),
    "a member": ("class A(enum.Enum):\n    M = #\nh = A.M\ndef f(a): return a * h.value", "2 3 2j"),
    "which member": ("class A(enum.Enum):\n    M = 1\n    N = 2\nh = A.#\ndef f(a): return a * (h is A.M)", "M N"),
    "a list": ("h = [#]\ndef f(a): return a * h[0]", "2 3 2,3 '2' [2] (2,) None"),
    "a tuple": ("h = (#,)\ndef f(a): return a * h[0]", "2 3 2,3 True"),
    "a dict": ("h = {#}\ndef f(a):\n    for k, v in h.items(): a = a * v\n    return a", "'k':2 'k':3 'm':2 'k':2,'m':3 'm':3,'k':2"),
    "a default of a dict": ("h = collections.defaultdict(lambda: #)\ndef f(a): return a * h['m']", "2 3"),
    "a deque": ("h = collections.deque([2], maxlen=#)\ndef f(a): return a * h[0]", "2 3 None"),
    "a set of numbers": ("h = {#}\ndef f(a): return a * (2 in h)", "2 3 2,3"),
    "a namespace": ("h = types.SimpleNamespace(n=#)\ndef f(a): return a * h.n", "2 3"),
    "a module": ("h = types.ModuleType('h'); h.n = #\ndef f(a): return a * h.n", "2 3"),
    "a kind of container": ("h = #\ndef f(a): return a * len(h)", "[1] (1,) {1:1} collections.OrderedDict({1:1}) {1}"),
    "an array's layout": (
        "h = #\ndef f(a): return a * h",
        "np.ones(3) np.ones(1) np.ones(3,np.float32) np.ones(3,int) np.ones(6)[::2] np.ones((1,3)) 2 2.0",
    ),
    "who is one object": ("g = [2]\nh = [2]\nk = #\ndef f(a): return a * k[0] * g[0] * h[0]", "g h [2]"),
    "whether two are one": ("h = 1000000\nk = #\ndef f(a): return a * (h is k)", "h int('1000000')"),
    "a line": ("#\ndef f(a): return a", "1 \n"),
}  # fmt: skip


@pytest.mark.parametrize("name", PLACES)
def test_another_program_has_another_text(name):
    text, values = PLACES[name]
    values = ["1", "1\n"] if name == "a line" else values.split()
    texts = []
    for value in values:
        made = text.replace("#", value)
        texts.append(text_of(program(made)))
        assert text_of(program(made, "<elsewhere>")) == texts[-1], "the same program has another text"
    same = [pair for pair in itertools.combinations(range(len(values)), 2) if texts[pair[0]] == texts[pair[1]]]
    assert not [(values[i], values[k]) for i, k in same]


CALLS = {
    "an array": ((x,), {}), "float32": ((x.astype("f4"),), {}), "longer": ((np.ones(4),), {}), "strides": ((np.ones(6)[::2],), {}),
    "axes": ((np.ones((3, 1)),), {}), "a keyword": ((x, 1), {}), "named": ((x,), {"n": 1}), "another": ((x, 2), {}),
    "true": ((x, True), {}), "a float": ((x, 1.0), {}), "nan": ((x, np.nan), {}), "a scalar": ((x, np.float32(1)), {}),
    "a list": ((x, [1]), {}), "a tuple": ((x, (1,)), {}), "an array twice": ((x, x), {}), "two arrays": ((x, x.copy()), {}),
    "a list of one": ((x, [x]), {}), "a dict": ((x, {"n": 1}), {}), "a dict of another": ((x, {"m": 1}), {}), "a text": ((x, "1"), {}),
    "a function": ((x, np.sin), {}), "structured": ((np.zeros(3, "f8, i4"),), {}), "swapped": ((x.astype(">f8"),), {}),
}  # fmt: skip


def test_another_kind_of_call_has_another_text():
    f = program("def f(a, n=0): return a")
    texts = {name: text_of(f, *call) for name, call in CALLS.items()}
    assert len(set(texts.values())) == len(CALLS)
    opened = Options(dynamic=True, layout=open_layout)
    options = [Options(), opened, Options(static=frozenset({"n"})), Options(captured="compared"), Options(captured="constant")]
    assert len({text_of(f, options=o) for o in options}) == len(options)
    assert text_of(f, (np.ones(5),), options=opened) == text_of(f, options=opened)


def test_what_an_input_holds_is_no_part_of_the_text():
    captured = "w = np.ones(3); k = 0.5\ndef f(a, n): return a * w + k * n"
    texts = {text_of(program(captured), (x, 0.5)), text_of(program(captured.replace("0.5", "0.25")), (x + 1, 0.75))}
    assert len(texts) == 1
    assert text_of(program("def f(a): return a"), (np.ones((1, 3)),)) == text_of(program("def f(a): return a"), (np.ones((2, 3))[:1],))


UNKEYED = {
    "a set of texts": ("h = {'a', 'b'}\ndef f(a): return a * len(h)", "a set of other things than numbers"),
    "a frozenset of texts": ("h = frozenset('ab')\ndef f(a): return a * len(h)", "a frozenset of other things than numbers"),
    "a set that is made": ("def f(a):\n    for k in {'a', 'b'}: a = a + len(k)\n    return a", "f goes through a set, whose order is another in"),
    "a set of names": ("def f(a, n=('a', 'b')):\n    for k in set(n): a = a + len(k)\n    return a", "f makes a set, whose order"),
    "a set by items": ("def f(a, n=('a',)): return a * len({k for k in n})", "f makes a set, whose order"),
    "keys that are subtracted": ("h = {'a': 1}\ndef f(a): return a * len(h.keys() - ('b',))", "f may make a set of the keys of a dict"),
    "an Enum with a method": (
        "class A(enum.Enum):\n    M = 1\n    def __bool__(self): return False\nh = A.M\ndef f(a): return a if h else -a",
        "A, an Enum with the method __bool__",
    ),
    "metadata": (
        "@dataclasses.dataclass\nclass A:\n    n: int = dataclasses.field(default=2, metadata={1: 2})\nh = A()\ndef f(a): return a * h.n",
        "A, a dataclass with metadata",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", UNKEYED)
def test_what_another_process_cannot_compare_has_no_text(name):
    text, reason = UNKEYED[name]
    with pytest.raises(Unkeyed, match=reason):
        text_of(program(text))


def test_ufuncs_of_others_and_values_of_transforms_have_no_text():
    special = pytest.importorskip("scipy.special")
    with pytest.raises(Unkeyed, match="it calls expit, a ufunc of another package than NumPy"):
        text_of(special.expit)

    def batched(a):
        with pytest.raises(Unkeyed, match="it is given values of a transform"):
            text_of(np.sin, (a,))
        return a

    dispatch.vmap(batched)(x)


def test_a_set_that_is_only_looked_in_has_no_order():
    def looked(a, mode="a"):
        for k, v in {"p": 1}.items():
            a = a - v * len(k)
        return a if mode in {"a", "b"} else -a

    assert orders_in(looked.__code__) == ""
    assert text_of(looked) == text_of(looked)


def test_a_function_of_scipy_is_of_its_version(monkeypatch):
    scipy, linalg = pytest.importorskip("scipy"), pytest.importorskip("scipy.linalg")
    f = program("def f(a): return a * f.solve(a, a)")
    f.solve = linalg.solve
    before = text_of(f, (np.eye(2),))
    assert text_of(f, (np.eye(2),)) == before
    monkeypatch.setattr(scipy, "__version__", "another")
    assert text_of(f, (np.eye(2),)) != before
