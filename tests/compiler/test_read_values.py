"""What Python reads of two numbers, of nan, of names and of warnings in a compiled function, against the function itself."""

import re
import sys
import types
import warnings

import numpy as np
import pytest

import dispatch
from dispatch.errors import TracingError

# Two floats, and what Python or NumPy may do with both. Each value of each is tried beside each of the other.
OF_TWO = """
p * q,p + q,p - q,p / q,p ** q,p % q,p // q,p < q,p == q,p != q,max(p, q),min(p, q),divmod(p, q)[0],p and q,p or q,not p,sum([p, q]),abs(p) * q
-p * q,pow(p, q),[p].count(q),p if p > q else q,(p, q) == (q, p),(p, q) < (q, p),round(p * q, 1),float(p) * float(q),sorted([p, q])[0],p.__mul__(q)
float.__mul__(p, q),float.__rsub__(p, q),type(p).__mul__(p, q),p in [q],{p: 1.0}.get(q, 2.0),np.float64(p) * q,np.float32(p) * q,np.array([p, q])[1]
np.maximum(p, q),np.hypot(p, q),math.hypot(p, q),operator.mul(p, q),operator.lt(p, q),functools.reduce(operator.add, [p, q]),complex(q, p).imag,[p, q].index(q)
bisect.bisect([q], p),p is q,np.where(a > 0, p, q)[0],np.interp(p, [0.0, 2.0], [5.0, q]),np.polyval([p, q], a)[0],math.fsum([p, q]),math.copysign(p, q)
p.is_integer() * q,float(f"{p}") * q,list(map(operator.mul, [p], [q]))[0],list(itertools.accumulate([p, q]))[1],p.real * q,3 * p * q,(lambda u, v: u * v)(p, q)
"""
WAYS = [way for line in OF_TWO.strip().splitlines() for way in line.replace(", ", "\0").split(",")]
PAIRS = [(2.0, 1.0), (-1.5, -0.0), (0.0, 2.0)]


def made(text, **names):
    scope = {name: __import__(name) for name in ("bisect", "functools", "itertools", "math", "operator")} | {"np": np} | names
    exec(text, scope)
    return scope


def said(f, *args):
    with np.errstate(all="ignore"):
        try:
            out = f(*args)
        except ArithmeticError as error:
            return type(error).__name__
    return out.dtype.str, out.tobytes()


@pytest.mark.parametrize("way", WAYS, ids=str)
def test_both_of_two_floats_are_read(way):
    """One of them decided, and the other was read in C: its value of the first call stayed."""
    text = way.replace("\0", ", ")
    given = made(f"def f(a, p, q): return a * ({text})")["f"]
    scope = made(f"def f(a): return a * ({text})")
    captured, x = scope["f"], np.ones(2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", dispatch.errors.PerformanceWarning)
        for p, q in PAIRS:
            compiled, of_globals = dispatch.compile(given), dispatch.compile(captured)
            for r, s in ((p, q), (p, 3.0), (3.0, q)):
                scope["p"], scope["q"] = r, s
                assert said(compiled, x, r, s) == said(given, x, r, s), (p, q, r, s)
                assert said(of_globals, x) == said(captured, x), (p, q, r, s)


@pytest.mark.parametrize("kind", [float, np.float64])
def test_which_nan_it_is(kind):
    first, second = kind("nan"), kind("nan")
    scope = made("def f(a): return a * table.get(key, 3.0) * (2.0 if key in items else 5.0)", key=first, table={first: 2.0}, items=[first])
    f, x = dispatch.compile(scope["f"]), np.ones(2)
    for key in (first, second, first):
        scope["key"] = key
        assert np.array_equal(f(x), scope["f"](x))


def test_names_of_fields_may_change_in_the_dtype_itself():
    held = np.zeros(2, np.dtype([("p", "f8"), ("q", "f8")]))
    held["p"] = 4

    @dispatch.compile
    def f(a):
        return a + held["p"]

    @dispatch.compile
    def g(a):
        return np.zeros(a.shape) + len(a.dtype.names[0])

    assert (f(np.ones(2))[0], g(held)[0]) == (5, 1)
    held.dtype.names = ("quantity", "p")
    assert (f(np.ones(2))[0], g(held)[0]) == (1, 8)


def test_attributes_of_a_compiled_function_are_refused():
    @dispatch.compile
    def inner(a):
        return a * 2

    @dispatch.compile
    def f(a):
        return inner(a) * getattr(inner, "rate", 1.0)

    assert f(np.ones(2))[0] == 2
    inner.rate = 3.0
    with pytest.warns(dispatch.errors.PerformanceWarning, match="a compiled function with attributes of yours"):
        assert f(np.ones(2))[0] == 6


def heard(f, *args):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        f(*args)
    return [(x.category, str(x.message)) for x in found]


@pytest.mark.parametrize(
    "f",
    [
        lambda z: z.astype(float),
        lambda z: np.array(z, dtype=np.float32),
        lambda z: np.asarray(z, float) * 2,
        lambda z: np.polyfit(z.real * 0 + 1, z.real, 3),
        lambda z: np.log(z.real - 9),
    ],
)
def test_warnings_of_numpy_are_given_each_time(f):
    z = np.array([1 + 2j, 3, 4, 5, 6])
    g = dispatch.compile(f, fullgraph=True)
    expected = heard(f, z)
    assert len(expected) == 1
    assert [heard(g, z) for _ in range(3)] == [expected] * 3


def test_a_check_beside_the_function_gives_no_warning_twice():
    def f(a):
        try:
            return 1 / (a - 1)
        except FloatingPointError:
            return a * 7

    g, x, called = dispatch.compile(f), np.ones(2), []
    assert [heard(g, x) for _ in range(3)] == [heard(f, x)] * 3
    with np.errstate(divide="raise"):
        assert np.array_equal(g(x), f(x))
    with np.errstate(divide="call", call=lambda *what: called.append(what)):
        dispatch.compile(f)(x)
    assert len(called) == 1


def test_a_float_of_the_function_is_read_in_the_body_of_a_loop():
    scope = made("def f(a): return fori_loop(0, 3, lambda i, c: c * rate, a)", fori_loop=dispatch.fori_loop, rate=2.0)
    g = dispatch.compile(scope["f"], fullgraph=True)
    for rate in (2.0, 3.0, 2.0):
        scope["rate"] = rate
        assert np.array_equal(g(np.ones(2)), scope["f"](np.ones(2)))


@pytest.mark.parametrize("rows", [(4, 2, 6, 3, 1, 7), (2, 4), (6, 2, 3)])
@pytest.mark.parametrize("shape", ["(-1,)", "(3, -1)", "(-1, 3)", "(-1, 1, 3)"])
@pytest.mark.parametrize("view", ["x[::2]", "x[::2].T", "x[:, ::2]"])
def test_whether_a_symbolic_view_shares_memory_is_asked_of_its_lengths(rows, shape, view):
    """A view of one row, of however many lengths it came, lies without gaps."""
    f = made(f"def f(x):\n    w = {view}.reshape({shape if ', ::2' not in view else '(-1,)'})\n    w[...] = 5\n    return x + 1")["f"]
    g = dispatch.compile(f, dynamic=True)
    for n in rows:
        assert np.array_equal(g(np.ones((n, 3))), f(np.ones((n, 3))))


def test_a_symbolic_graph_without_symbols_has_the_lengths_of_its_trace():
    graph = dispatch.make_fx(lambda x: x + np.ones(1), "symbolic")(np.ones(1))
    assert not graph.symbols
    again = type(graph).loads(graph.dumps())
    for each in (graph, again):
        assert each(np.ones(1)) == 2
        with pytest.raises(dispatch.errors.GraphError, match=r"the graph holds where x\.shape\[0\] == 1, and x was given of shape \(5,\)\. Trace once more"):
            each(np.ones(5))


def test_a_text_is_no_attribute():
    with pytest.raises(TracingError, match="names __repr__"):
        dispatch.compile(lambda a: a * len(a.dtype.__repr__()), fullgraph=True)(np.ones(1))


@pytest.mark.parametrize(
    "f",
    [
        lambda a: a * np.var(2.0, ddof=1),
        lambda a: a * np.mean([]),
        lambda a: a * np.array(1j).astype(float),
        lambda a: a * np.histogram(np.array([1j]), 3)[0].sum(),
    ],
)
def test_what_warns_without_inputs_is_no_graph(f):
    """It is computed in the trace, once; the function warns in each call."""
    x = np.ones(2)
    g = dispatch.compile(f)
    expected = heard(f, x)
    assert expected
    assert [[w for w in heard(g, x) if w[0] is not dispatch.errors.PerformanceWarning] for _ in range(3)] == [expected] * 3


def test_the_refusal_of_what_warns_says_so():
    said = r"it gives a RuntimeWarning where it computes without inputs, each time that it runs: Mean of empty slice\."
    with pytest.raises(TracingError, match=said):
        dispatch.compile(lambda a: a * np.mean([]), fullgraph=True)(np.ones(2))


def test_a_write_by_name_is_refused():
    """A number of NumPy's has no __iadd__, and a traced value does not say whether it is one."""
    with pytest.raises(TracingError, match="names __iadd__"):
        dispatch.compile(lambda a: a.__iadd__(1), fullgraph=True)(np.ones(2))


# Names that several packages in `scipy` have, and NumPy too, in one function.
OF_SCIPY = [
    "np.linalg.solve(A, scipy.special.expit(a))",
    "scipy.special.gammaln(a) * np.linalg.norm(scipy.linalg.solve(A, B))",
    "np.fft.fft(scipy.special.ndtr(a)).real",
    "a * scipy.fft.fft(B).real",
    "special.expit(a) + scipy.linalg.inv(A) @ B",
]


@pytest.mark.parametrize("text", OF_SCIPY)
def test_a_function_may_name_scipy(text):
    """`scipy` leads by `linalg` to more than the function means by it, and none of that is looked into."""
    scipy = pytest.importorskip("scipy")
    for name in ("special", "linalg", "fft"):
        pytest.importorskip(f"scipy.{name}")
    A, B = np.array([[2.0, 1.0, 0.0], [1.0, 3.0, 0.0], [0.0, 1.0, 1.0]]), np.array([1.0, 2.0, 0.5])
    f = made(f"def f(a): return {text}", scipy=scipy, special=scipy.special, A=A, B=B)["f"]
    compiled = dispatch.compile(f)
    for x in (np.ones(3), np.array([0.5, 2.0, 3.0])):
        assert np.array_equal(compiled(x), f(x))
    assert len(compiled.entries) == 1


@pytest.mark.parametrize("text", ["scipy.linalg.clarkson_woodruff_transform(B, 2)", "scipy.special.geterr()['loss']"])
def test_of_scipy_what_draws_or_is_set_for_all_is_refused(text):
    scipy = pytest.importorskip("scipy")
    pytest.importorskip("scipy.special")
    pytest.importorskip("scipy.linalg")
    f = made(f"def f(a): return a if len({text}) else -a", scipy=scipy, B=np.ones((3, 3)))["f"]
    with pytest.raises(TracingError, match=f"uses {re.escape(text.partition('(')[0])}"):
        dispatch.compile(f, fullgraph=True)(np.ones(3))


def test_what_a_listed_module_keeps_in_its_own_functions_is_not_looked_into(monkeypatch):
    """A decorator of SciPy's keeps an object with a cache in each function of scipy.special, with SCIPY_ARRAY_API=1."""
    module = types.ModuleType("scipy.special.kept")
    source = "import functools\ncache = functools.lru_cache(lambda n: n)\ndef make(cache):\n    def double(x): return x * cache(2)\n    return double\ndouble = make(cache)\n"
    exec(source, vars(module))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    module.double.__qualname__ = "double"
    f = made("def f(a): return double(a)", double=module.double)["f"]
    assert np.array_equal(dispatch.compile(f, fullgraph=True)(np.ones(3)), np.full(3, 2.0))
    module.double.__qualname__ = "another"
    with pytest.raises(TracingError, match="it refers to cache, a function, which cannot be compared"):
        dispatch.compile(f, fullgraph=True)(np.ones(3))


# -- packages of others ---------------------------------------------------------------------------------------------------------

INSTALLED = """
import functools
import numpy as np

@functools.lru_cache
def kept(n):
    return n

def by_memory(x):
    return x if x.flags.c_contiguous else np.ascontiguousarray(x)

def by_cache(x):
    return kept(2) * x

class Spline:
    kept = kept

    def __init__(self, x):
        self.x = self.kept(2) * x

def sound(x):
    return np.sin(x)
"""


@pytest.fixture
def installed(tmp_path, monkeypatch):
    folder = tmp_path / "site-packages" / "package_of_others"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("from ._inside import *\n")
    (folder / "_inside.py").write_text(INSTALLED)
    monkeypatch.syspath_prepend(str(folder.parent))
    yield __import__("package_of_others")
    for name in ("package_of_others", "package_of_others._inside"):
        sys.modules.pop(name, None)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("by_memory", "it names .flags, which says something else of a traced value than of an array"),
        ("by_cache", "it refers to kept, a function, which cannot be compared"),
        ("Spline", "it refers to Spline.kept, a function, which cannot be compared"),
    ],
)
def test_what_a_package_of_others_does_is_said_of_the_function_that_is_called(installed, name, said):
    function = getattr(installed, name)
    remedy = "Make what calls it an operator: @dispatch.custom_op(...)."
    with pytest.raises(TracingError) as caught:
        dispatch.compile(lambda x: function(x), fullgraph=True)(np.ones(3))
    assert str(caught.value) == f"it calls package_of_others.{name}, of which no graph can be made: {said}. {remedy}"


def test_one_that_a_graph_can_be_made_of_is_in_it(installed):
    assert np.array_equal(dispatch.compile(lambda x: installed.sound(x), fullgraph=True)(np.ones(3)), np.sin(np.ones(3)))
