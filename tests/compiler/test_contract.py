"""The contract of `compile` against programs that try to make a compiled function silently wrong, and a generated test over it.

A program is made twice, run once as it is and once compiled, and must give the same to the bit, and leave the same; how many traces
it takes, or whether it is refused, makes no difference here.
"""

import abc
import builtins
import collections
import contextlib
import dataclasses
import enum
import fractions
import functools
import gc
import heapq
import itertools
import locale
import math
import operator
import sys
import threading
import types
import warnings
import weakref

import numpy as np
import pytest
from holders import HOLDERS, READS, VALUES, generated, same, x
from making import define

import dispatch
from dispatch.compiler.reached import Reached
from dispatch.errors import PerformanceWarning, TracingError

LOG = []


def outcome(make, wrap):
    """What a program gives, call by call; the class of the exception that ends it."""
    f, steps = make()
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found.extend(np.copy(result) if isinstance(result, np.ndarray) else result for result in steps(wrap(f)))
        except Exception as error:
            found.append(type(error).__name__)
    return found


@dataclasses.dataclass
class Cfg:
    lr: float = 0.1
    w: object = None


def computed_captured_program():
    w = np.ones(3)

    def f(a):
        return a * (w - 1)

    def steps(g):
        yield g(x)
        w[0] = 5
        yield g(x)

    return f, steps


def decides_captured_program():
    w = np.ones(3)

    def f(a):
        if w[0] > 0:
            return a * 2
        return -a

    def steps(g):
        yield g(x)
        w[0] = -5
        yield g(x)

    return f, steps


def overlap_program():
    w = np.ones(3)

    def f(a):
        a += 1
        return w * 2

    def steps(g):
        yield g(x.copy())
        yield g(w)
        yield g(w[1:])
        yield g(w[:2])
        yield w.copy()

    return f, steps


def state_program():
    class M:
        def __init__(self):
            self.m = np.zeros(3)

        def step(self, a):
            self.m = 0.9 * self.m + 0.1 * a
            return self.m

    o = M()
    return o.step, lambda g: [g(x).copy(), g(x).copy(), o.m]


def inplace_opt_program():
    class M:
        def __init__(self):
            self.w = np.ones(3)
            self.lr = 0.1

        def step(self, a):
            self.w -= self.lr * a
            return np.sum(self.w)

    o = M()

    def steps(g):
        yield g(x)
        yield g(x)
        o.lr = 0.3
        yield g(x)
        o.w = np.zeros(3)
        yield g(x)
        yield o.w

    return o.step, steps


def append_arg_program():
    def f(l, a):
        y = a * 2
        l.append(y)
        return y

    def steps(g):
        l = []
        yield g(l, x)
        yield g(l, x)
        yield len(l)

    return f, steps


def isinstance_program():
    def f(a):
        if isinstance(a, np.ndarray):
            return a * 2
        return a * 3

    return f, lambda g: [g(x), g(x)]


def swallow_program():
    def f(a):
        try:
            return a * float(np.sum(a))
        except Exception:
            return a * 0

    return f, lambda g: [g(x), g(x)]


def suppress_program():
    def f(a):
        with contextlib.suppress(Exception):
            if a[0] > 0:
                return a * 2
        return -a

    return f, lambda g: [g(x), g(x)]


def errstate_program():
    def f(a):
        with np.errstate(all="raise"):
            return a / 0

    return f, lambda g: [g(x), g(x)]


def ns_program():
    ns = types.SimpleNamespace(k=2.0)

    def f(a):
        return a * ns.k

    def steps(g):
        yield g(x)
        ns.k = 3.0
        yield g(x)
        ns.k = 3
        yield g(x)

    return f, steps


def getattr_program():
    ns = types.SimpleNamespace(k=2.0)

    def f(a):
        return a * getattr(ns, "k")  # noqa: B009  that is what it tests

    def steps(g):
        yield g(x)
        ns.k = 3.0
        yield g(x)

    return f, steps


def zero_keys_program():
    def f(a, z):
        return a / z

    def steps(g):
        yield g(x, 0.0)
        yield g(x, -0.0)
        yield g(x, 0)
        yield g(x, True)

    return f, steps


def sets_program():
    def f(a, s):
        return a * (2 if True in s and any(type(i) is bool for i in s) else 1)

    return f, lambda g: [g(x, {1}), g(x, {True})]


def is__program():
    def f(a, b):
        return a * 2 if a is b else a * 3

    def steps(g):
        y = x.copy()
        yield g(x, y)
        yield g(x, x)
        yield g(x, y)

    return f, steps


def is_a_value_program():
    values = [float("2.5"), float("nan"), np.float64(2.5), (1, 2), int("1000000"), "two " + str(2)]

    def f(a, k, of):
        return a * 2 if k is of[0] else a * 3

    def steps(g):
        for value in values:
            other = type(value)(value) if not isinstance(value, (tuple, str)) else type(value)(list(value)) if value == (1, 2) else "two 2"
            holder = [value]
            for k in (value, other, value):
                yield g(x, k, holder)

    return f, steps


def is_captured_program():
    kept = types.SimpleNamespace(k=float("2.5"))
    constant = kept.k

    def f(a):
        return a * 2 if kept.k is constant else a * 3

    def steps(g):
        yield g(x)
        kept.k = float("2.5")
        yield g(x)
        kept.k = constant
        yield g(x)

    return f, steps


def nan_in_program():
    known = [math.nan, 1.0]

    def f(a, k):
        return a * 2 if k in known else a * 3

    def steps(g):
        for k in (math.nan, float("nan"), 1.0, 2.0, math.nan):
            yield g(x, k)

    return f, steps


def over_a_number_program():
    def f(a, lr):
        return 1.0 / lr * a

    def steps(g):
        yield g(x, 0.5)
        yield g(x, 0.25)
        yield g(x, 0.0)

    return f, steps


def linalg_except_program():
    def f(a):
        try:
            L = np.linalg.inv(a)
        except np.linalg.LinAlgError:
            return a * 0
        return L

    return f, lambda g: [g(np.eye(2)), g(np.eye(2) * 2), g(np.zeros((2, 2)))]


def unused_raise_program():
    def f(a):
        np.linalg.inv(a)
        return a * 2

    return f, lambda g: [g(np.eye(2)), g(np.eye(2) * 2), g(np.zeros((2, 2)))]


def property_program():
    k = [1.0]

    class P:
        @property
        def v(self):
            return self.u * k[0]

        def __call__(self, a):
            return a * self.v

    p = P()
    p.u = 2.0

    def f(a):
        return p(a)

    def steps(g):
        yield g(x)
        p.u = 3.0
        yield g(x)
        k[0] = 5.0
        yield g(x)
        P.v = property(lambda s: 7.0)
        yield g(x)
        P.__call__ = lambda s, a: -a
        yield g(x)

    return f, steps


def dict_order_program():
    d = {"a": np.ones(3), "b": np.full(3, 2.0)}

    def f(a):
        for k in d:  # noqa: PLC0206  the order is what it tests
            a = a * 2 + d[k]
        return a

    def steps(g):
        yield g(x)
        v = d.pop("a")
        d["a"] = v
        yield g(x)
        d["c"] = x
        yield g(x)
        d["b"] = np.zeros(3)
        yield g(x)
        d["b"] = np.zeros(1)
        yield g(x)

    return f, steps


def dataclass_program():
    def f(c, a):
        return a * c.lr + c.w

    def steps(g):
        c = Cfg(0.1, np.ones(3))
        yield g(c, x)
        c.lr = 0.2
        yield g(c, x)
        yield g(Cfg(0.3, np.zeros(3)), x)

    return f, steps


def dataclass_write_program():
    def f(c, a):
        c.lr = c.lr * 2
        return a * c.lr

    def steps(g):
        c = Cfg(0.1, np.ones(3))
        yield g(c, x)
        yield g(c, x)
        yield c.lr

    return f, steps


def defaults_program():
    def f(a, t=[2.0]):  # noqa: B006  that is what it tests
        return a * t[0]

    def steps(g):
        yield g(x)
        f.__defaults__[0][0] = 3.0
        yield g(x)
        f.__defaults__ = ([7.0],)
        yield g(x)

    return f, steps


def fattr_program():
    def f(a):
        return a * f.k

    f.k = 2.0

    def steps(g):
        yield g(x)
        f.k = 3.0
        yield g(x)

    return f, steps


def deque_program():
    cv = collections.deque([1.0, 2.0])

    def f(a):
        return a * cv[0]

    def steps(g):
        yield g(x)
        cv.rotate()
        yield g(x)

    return f, steps


def class_attrs_program():
    class A:
        k = 2.0

    class B(A):
        pass

    b = B()

    def f(a):
        return a * b.k

    def steps(g):
        yield g(x)
        A.k = 3.0
        yield g(x)
        B.k = 4.0
        yield g(x)
        b.k = 5.0
        yield g(x)

    class D:
        k = 11.0

    def steps2(g):
        yield from steps(g)
        del b.k
        b.__class__ = D
        yield g(x)

    return f, steps2


def class_arrays_program():
    class A:
        w = np.ones(3)

        def __call__(self, a):
            return a * self.w

    b = A()

    def steps(g):
        yield g(x)
        A.w[0] = 3.0
        yield g(x)
        A.w = np.full(3, 4.0)
        yield g(x)

    return (lambda a: b(a)), steps


LOG = []


def method_global_log_program():
    class A:
        def go(self, a):
            LOG.append(a)
            return a * 2

    b = A()

    def steps(g):
        LOG.clear()
        yield g(x)
        yield g(x)
        yield len(LOG)
        yield LOG[0]

    return b.go, steps


def shadow_builtin_program():
    def f(a):
        return abs(a) * len(a)

    def steps(g):
        yield g(x)
        globals()["len"] = lambda v: 10.0
        yield g(x)
        del globals()["len"]
        yield g(x)

    return f, steps


def strides_program():
    def f(a):
        s = a.strides[0]
        return a * s

    return f, lambda g: [g(np.ones((3, 1))[:, 0]), g(x)]


def iter_program():
    it = iter([1.0, 2.0, 3.0])

    def f(a):
        return a * next(it)

    return f, lambda g: [g(x), g(x)]


def gen_program():
    def gen():
        k = 1.0
        while True:
            yield k
            k += 1

    it = gen()

    def f(a):
        return a * next(it)

    return f, lambda g: [g(x), g(x)]


def lru_program():
    @functools.lru_cache
    def k(n):
        return float(n)

    def f(a):
        return a * k(2)

    return f, lambda g: [g(x), g(x)]


def dict_out_program():
    def f(a):
        return {"r": a * 2, "a": a}

    return f, lambda g: [g(x), g(x)]


def namedtuple_program():
    P = collections.namedtuple("P", "u v")

    def f(p):
        return P(p.u * 2, p.v + 1)

    return f, lambda g: [g(P(x, x)).u, g(P(x, x)).v, type(g(P(x, x))) is P]


def fstring_program():
    def f(a):
        return f"{a}"

    return f, lambda g: [g(x) == f"{x}", g(x) == f"{x}"]


def hash_program():
    def f(a):
        try:
            return a * len({a: 1})
        except TypeError:
            return a * 5

    return f, lambda g: [g(x), g(x)]


def value_attr_program():
    def f(a):
        try:
            return a.value
        except AttributeError:
            return a * 5

    return f, lambda g: [g(x), g(x)]


def foo_attr_program():
    def f(a):
        try:
            return a.foo
        except AttributeError:
            return a * 5

    return f, lambda g: [g(x), g(x)]


def hasattr_flags_program():
    def f(a):
        if hasattr(a, "flags"):
            return a * 5
        return a

    return f, lambda g: [g(x), g(x)]


def type_program():
    def f(a):
        return a * 2 if type(a) is np.ndarray else a

    return f, lambda g: [g(x), g(x)]


def enum_program():
    E = enum.Enum("E", "A B")

    def f(a, e):
        return a * 2 if e is E.A else a * 3

    return f, lambda g: [g(x, E.A), g(x, E.B)]


def seeded_rng_inside_program():
    def f(a):
        rng = np.random.default_rng(0)
        return a + rng.normal(size=3)

    return f, lambda g: [g(x), g(x)]


def partial_program():
    def f(a, n):
        return a * n

    p = functools.partial(f, n=2.0)
    return p, lambda g: [g(x), g(x)]


def view_captured_program():
    w = np.ones((3, 3))
    b = w[0]

    def f(a):
        return w @ a + b

    def steps(g):
        yield g(x)
        b[0] = 4
        yield g(x)

    return f, steps


def view_captured_written_program():
    w = np.ones((3, 3))
    b = w[0]

    def f(a):
        w[...] = a
        return b * 2

    def steps(g):
        yield g(x)
        yield g(2 * x)

    return f, steps


def import_inside_program():
    def f(a):
        import numpy as np

        return a + np.random.normal(size=3)  # noqa: NPY002

    def steps(g):
        np.random.seed(0)  # noqa: NPY002
        yield g(x)
        yield g(x)

    return f, steps


def ufunc_of_python_program():
    k = [2.0]

    def f(a):
        return np.frompyfunc(lambda v: v * k[0], 1, 1)(a).astype(float)

    def steps(g):
        yield g(x)
        k[0] = 3.0
        yield g(x)

    return f, steps


def lock_program():
    lock = threading.Lock()

    def f(a):
        with lock:
            return a * 2

    def steps(g):
        yield g(x)
        yield g(x)
        yield lock.locked()

    return f, steps


PROGRAMS = {
    "import inside": import_inside_program,
    "ufunc of Python": ufunc_of_python_program,
    "lock": lock_program,
    "computed captured": computed_captured_program,
    "decides captured": decides_captured_program,
    "overlap": overlap_program,
    "state": state_program,
    "inplace opt": inplace_opt_program,
    "append arg": append_arg_program,
    "isinstance": isinstance_program,
    "swallow": swallow_program,
    "suppress": suppress_program,
    "errstate": errstate_program,
    "ns": ns_program,
    "getattr": getattr_program,
    "zero keys": zero_keys_program,
    "sets": sets_program,
    "is": is__program,
    "is a value": is_a_value_program,
    "is captured": is_captured_program,
    "nan in": nan_in_program,
    "1/lr": over_a_number_program,
    "linalg except": linalg_except_program,
    "unused raise": unused_raise_program,
    "property": property_program,
    "dict order": dict_order_program,
    "dataclass": dataclass_program,
    "dataclass write": dataclass_write_program,
    "defaults": defaults_program,
    "fattr": fattr_program,
    "deque": deque_program,
    "class attrs": class_attrs_program,
    "class arrays": class_arrays_program,
    "method global log": method_global_log_program,
    "shadow builtin": shadow_builtin_program,
    "strides": strides_program,
    "iter": iter_program,
    "gen": gen_program,
    "lru": lru_program,
    "dict out": dict_out_program,
    "namedtuple": namedtuple_program,
    "fstring": fstring_program,
    "hash": hash_program,
    "value attr": value_attr_program,
    "foo attr": foo_attr_program,
    "hasattr flags": hasattr_flags_program,
    "type": type_program,
    "enum": enum_program,
    "seeded rng inside": seeded_rng_inside_program,
    "partial": partial_program,
    "view captured": view_captured_program,
    "view captured written": view_captured_written_program,
}


@pytest.mark.parametrize("make", PROGRAMS.values(), ids=PROGRAMS)
def test_a_hostile_program_is_right_or_refused(make):
    assert same(outcome(make, dispatch.compile), outcome(make, lambda f: f))


# -- holders x reads x changes ----------------------------------------------------------------------------------------------

# Where a value is kept: lines that make the holder `h`, how `f` reads it, and how it is set to another.
def test_what_is_kept_anywhere_read_anyhow_and_changed_is_seen():
    """57 holders, 9 reads, values in turn, and all of them where they are computed with: none may be silently wrong."""
    wrong, kinds = [], list(VALUES.values())
    for (i, holder), (k, read) in itertools.product(enumerate(HOLDERS), enumerate(READS)):
        for values in kinds if read == "computed with" else [kinds[(i + k) % 3]]:
            make = generated(holder, read, values)
            if not same(outcome(make, dispatch.compile), outcome(make, lambda f: f)):
                wrong.append((holder, read, values))
    assert not wrong


def codes(code):
    """A code object, and those inside it."""
    return {code}.union(*[codes(k) for k in code.co_consts if isinstance(k, types.CodeType)])


@pytest.mark.parametrize("holder", HOLDERS)
def test_what_runs_while_it_is_traced_was_walked(holder):
    """The interpreter says what runs; whatever user code it is, the walk has been there."""
    f, _ = generated(holder, "computed with", VALUES["arrays"])()
    walked = set()
    with contextlib.suppress(dispatch.errors.TracingError):
        walked = {code for found in Reached(f).seen.values() if isinstance(found, types.FunctionType) for code in codes(found.__code__)}
    ran = set()

    def profile(frame, event, arg):
        if event == "call" and frame.f_code.co_filename == "<generated>":
            ran.add(frame.f_code)

    compiled = dispatch.compile(f)
    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        compiled.explain(x)
    finally:
        sys.setprofile(before)
    assert ran <= walked


# -- what is not silently wrong and compiles ----------------------------------------------------------------------------------


def test_a_learning_rate_costs_one_trace_wherever_it_is_kept():
    class Descent:
        def __init__(self):
            self.w, self.rate = np.ones(3, np.float32), 0.5

        def step(self, g):
            self.w -= self.rate * g

    one, other = Descent(), Descent()
    compiled = dispatch.compile(one.step, fullgraph=True)
    for rate in (0.5, 0.25, 0.1, 1e-3):
        one.rate = other.rate = rate
        compiled(np.ones(3, np.float32))
        other.step(np.ones(3, np.float32))
        assert same(one.w, other.w)
    assert len(compiled.entries) == 1
    assert compiled.entries[0].traced.captured == ["self.w", "self.rate"]


def test_a_base_that_registers_its_subclasses():
    known = {}

    class Kernel:
        def __init_subclass__(cls):
            known[cls.__name__] = cls

    class Scaled(Kernel):
        rate = 2.0

        def __call__(self, a):
            return a * self.rate

    kernel = Scaled()
    compiled = dispatch.compile(lambda a: kernel(a) * len(known), fullgraph=True)
    assert np.array_equal(compiled(x), x * 2)
    assert known == {"Scaled": Scaled}
    Scaled.rate = 3.0
    known["Other"] = None
    assert np.array_equal(compiled(x), x * 6)
    with pytest.raises(TracingError, match="it refers to a Kernel, which has __init_subclass__"):
        dispatch.compile(lambda a: Kernel.__init_subclass__() or a, fullgraph=True)(x)


def test_nothing_of_the_users_changes_while_it_is_traced():
    class Log:
        def __init__(self):
            self.seen, self.count = [], 0

        def __call__(self, a):
            self.count += 1
            self.seen.append(a)
            return a * self.count

    log = Log()
    compiled = dispatch.compile(log)
    assert "it changes" in repr(compiled.explain(x))
    assert (log.seen, log.count) == ([], 0)
    with pytest.warns(PerformanceWarning, match="it changes .* when it runs, which a graph would leave out"):
        compiled(x)
    assert log.seen[0] is x
    assert log.count == 1


def test_options():
    weights = np.ones(3)

    def f(a, k):
        return a * weights * k

    constant = dispatch.compile(f, captured="constant")
    compared = dispatch.compile(f, captured="compared")
    for one in (constant, compared):
        one(x, 2.0)
    weights[0] = 9.0
    assert constant(x, 2.0)[0] == 2.0
    assert compared(x, 2.0)[0] == 18.0
    static = dispatch.compile(f, static_argnames="k")
    for k in (1.0, 2.0):
        assert same(static(x, k), f(x, k))
    assert len(static.entries) == 2
    with pytest.raises(dispatch.errors.DefinitionError, match=r"^compile: captured is 'inputs', 'compared' or 'constant', and was given as 'live'\.$"):
        dispatch.compile(f, captured="live")


def test_verify_holds_the_graph_against_the_function():
    runs = []

    def kernel(a):
        runs.append(a)
        return a * len(runs)

    counting = define("(Tensor a) -> Tensor", kernel, fake=lambda a: np.empty_like(a))
    compiled = dispatch.compile(lambda a: counting(a), verify=2)
    with pytest.warns(PerformanceWarning, match="its graph does not give what it gives, to the bit"):
        assert same(compiled(x), x)
    assert same(compiled(x), x * 3)
    with pytest.raises(dispatch.errors.TracingError, match="its graph does not give what it gives, to the bit"):
        dispatch.compile(lambda a: counting(a), verify=1, fullgraph=True)(x)
    right = dispatch.compile(lambda a: a * 2.0, fullgraph=True, verify=2)
    for _ in range(3):
        assert same(right(x), x * 2.0)


# -- values that are equal, and not the same ----------------------------------------------------------------------------------

ALIGNED = [np.dtype([("a", "i4"), ("b", "f4")], align=align) for align in (False, True)]
EQUAL = {
    "ranges of nothing": (range(0), range(5, 5), lambda v: v.start),
    "ranges of one number": (range(0, 1, 1), range(0, 1, 7), lambda v: v.step),
    "ranges to another end": (range(0, 3, 2), range(0, 4, 2), lambda v: v.stop),
    "aligned fields": (*ALIGNED, lambda v: int(v.isalignedstruct)),
    "aligned fields inside": (*[np.dtype([("p", x)]) for x in ALIGNED], lambda v: int(v["p"].isalignedstruct)),
    "long and long long": (np.dtype("l"), np.dtype("q"), lambda v: ord(v.char)),
    "numbers": (1, True, lambda v: 2 if v is True else 3),
    "sets": (frozenset([1]), frozenset([True]), lambda v: 2 if any(x is True for x in v) else 3),
    "classes": (np.int64, np.longlong, lambda v: ord(np.dtype(v).char)),
}


@pytest.mark.parametrize(("first", "second", "read"), EQUAL.values(), ids=EQUAL)
def test_equal_values_that_say_something_else_are_two_kinds_of_call(first, second, read):
    def f(a, v):
        return a * read(v)

    held = types.SimpleNamespace(v=first)
    given, captured = dispatch.compile(f), dispatch.compile(lambda a: f(a, held.v))
    for v in (first, second, first, second):
        held.v = v
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PerformanceWarning)
            assert same([given(x, v), captured(x)], [f(x, v), f(x, v)])


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("chars", ["lq", "ql"])
def test_long_and_long_long_are_two_kinds_of_arrays(chars, dynamic):
    """Answers about dtypes are kept in many places, and the two are equal."""

    def f(a):
        y = a * a + 1 - a * 2
        return y, y.dtype.char, [z.dtype.char for z in (y.T, a[0] + a[1], y.sum(0), np.round(a), np.repeat(a, 2), np.where(a > 1, a, a))]

    compiled = dispatch.compile(f, fullgraph=True, dynamic=dynamic)
    for char in chars * 2:
        a = np.arange(6).astype(char).reshape(2, 3)
        found, expected = compiled(a), f(a)
        assert found[1:] == expected[1:]
        assert found[0].dtype.char == char
        assert same(found[0], expected[0])


# -- memory that is written to, and held too ------------------------------------------------------------------------------------

WRITES = {
    "add": lambda a: np.add(a, 1, out=a),
    "item": lambda a: a.__setitem__(0, 9.0),
    "sort": lambda a: a[::-1].sort(),
    "fill": lambda a: a.fill(3.0),
    "at": lambda a: np.add.at(a, [0, 0], 1.0),
}


@pytest.mark.parametrize("captured", ["inputs", "compared"])
@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_a_write_reaches_no_array_whose_elements_a_graph_holds(write, captured):
    def made():
        memory = np.arange(5.0)
        held = memory[1:4]

        def f(a):
            y = a * 2 if held[0] >= 0 else a  # so it is compared
            write(a)
            return y, held * 2

        return f, memory, held

    (f, memory, held), (g, other_memory, other_held) = made(), made()
    compiled = dispatch.compile(g, captured=captured)
    for place in (None, slice(0, 3), slice(1, 4), slice(2, 5), None):
        mine, other = (x.copy() if place is None else y[place] for y in (memory, other_memory))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PerformanceWarning)
            assert same(compiled(other), f(mine))
        assert same([other, other_memory, other_held], [mine, memory, held])


# -- exceptions that a traced value raises, and an array does not -----------------------------------------------------------------

RAISES = {
    "method of a number": lambda a: a.sum().is_integer(),
    "text of a number": lambda a: a.sum().hex(),
    "trunc": lambda a: math.trunc(a.sum()),
    "class's method": lambda a: np.ndarray.sum(a),
    "class's operator": lambda a: np.ndarray.__add__(a, 1),
    "copy": lambda a: a.__deepcopy__({}),
    "index of a number": lambda a: a.sum()[0],
    "write to a number": lambda a: a.sum().__setitem__((), 5),
    "copy to a number": lambda a: np.copyto(a.sum(), 5),
    "result in a number": lambda a: np.add(1, 2, out=a.sum()),
    "length of a number": lambda a: len(a.sum()),
}


@pytest.mark.parametrize("use", RAISES.values(), ids=RAISES)
def test_what_catches_an_exception_does_what_it_does_with_arrays(use):
    def f(a):
        try:
            return a * 2, use(a)
        except (TypeError, AttributeError, IndexError):
            return a * 3

    compiled = dispatch.compile(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PerformanceWarning)
        for _ in range(3):
            assert same(compiled(x), f(x))


def test_a_graph_of_what_catches_is_held_against_the_function_once():
    runs = []

    def f(a):
        try:
            return np.linalg.inv(a)
        except np.linalg.LinAlgError:
            return a * 0

    compiled = dispatch.compile(f, fullgraph=True)
    compiled.explain(np.eye(2))
    assert compiled.entries[0].doubted
    for a in (np.eye(2), np.eye(2) * 3, np.zeros((2, 2)), np.eye(2)):
        assert same(compiled(a), f(a))
        assert not compiled.entries[0].doubted
    assert len(compiled.entries) == 1
    assert not runs
    raising = dispatch.compile(lambda a: f(a) if a.shape[0] < 3 else [].pop(), fullgraph=True)
    with pytest.raises(IndexError):
        raising(np.eye(3))


# -- what all share -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [lambda: str(np.arange(3.0) / 3), lambda: f"{np.float64(1) / 3}", lambda: "%s" % [np.float64(1) / 3], lambda: repr(np.True_)],
)
def test_how_numpy_writes_numbers_is_compared_where_a_text_may_be_written(text):
    def f(a):
        return a * len(text())

    compiled = dispatch.compile(f)
    for options in ({}, {"precision": 2}, {"legacy": "1.13"}, {}):
        with np.printoptions(**options), warnings.catch_warnings():
            warnings.simplefilter("ignore", PerformanceWarning)
            assert same(compiled(x), f(x))


def test_what_is_added_to_a_base_of_pythons_library_is_seen():
    class C(abc.ABC):  # noqa: B024
        pass

    c = C()
    compiled = dispatch.compile(lambda a: a * getattr(c, "w17", 1.0), fullgraph=True)
    try:
        assert same(compiled(x), x * 1.0)
        abc.ABC.w17 = 2.0
        assert same(compiled(x), x * 2.0)
    finally:
        del abc.ABC.w17
    assert same(compiled(x), x * 1.0)


@pytest.mark.parametrize("name", ["limit_denominator", "__mul__"])
def test_what_stands_in_a_class_of_pythons_library_is_compared(name, monkeypatch):
    def f(a):
        return a * float(fractions.Fraction(1, 3).limit_denominator(7) * 2)

    compiled = dispatch.compile(f)
    assert same(compiled(x), f(x))
    assert compiled.entries[0].run is not None
    for i in (2.0, 3.0):
        monkeypatch.setattr(fractions.Fraction, name, lambda *_, i=i: fractions.Fraction(i))
        told = pytest.warns(PerformanceWarning, match=f"it refers to Fraction, whose {name} is yours")
        with told if i == 2.0 else contextlib.nullcontext():
            assert same(compiled(x), f(x))
    monkeypatch.undo()
    assert same(compiled(x), f(x))


def test_a_method_that_was_added_to_an_abstract_class_is_refused(monkeypatch):
    class C(abc.ABC):  # noqa: B024
        def go(self, a):
            return self.w18(a)

    k = 2.0
    monkeypatch.setattr(abc.ABC, "w18", lambda self, a: a * k, raising=False)
    c = C()
    compiled = dispatch.compile(lambda a: c.go(a))
    with pytest.warns(PerformanceWarning, match="it refers to ABC, whose w18 is yours"):
        assert same(compiled(x), x * 2.0)
    k = 3.0
    assert same(compiled(x), x * 3.0)


@pytest.mark.parametrize("part", ["__code__", "__kwdefaults__"])
def test_a_function_of_pythons_library_is_compared(part, monkeypatch):
    def f(a):
        return a * next(heapq.merge([1.0, 4.0], [2.0]))

    compiled = dispatch.compile(f, fullgraph=True)
    assert same(compiled(x), x * 1.0)

    def eight(*_, key, reverse):  # a generator, as what it stands for
        yield 8.0

    other = eight.__code__ if part == "__code__" else {"key": None, "reverse": True}
    monkeypatch.setattr(heapq.merge, part, other)
    assert same(compiled(x), f(x))
    assert not same(f(x), x * 1.0)


@pytest.mark.parametrize("make", [lambda: functools.partial(np.multiply, 2.0), lambda: collections.OrderedDict(a=2.0)])
def test_an_attribute_given_to_a_partial_or_an_ordered_dict_is_seen(make):
    held = make()
    compiled = dispatch.compile(lambda a: a * getattr(held, "w19", 2.0))
    assert same(compiled(x), x * 2.0)
    assert compiled.entries[0].run is not None
    held.w19 = 5.0
    with pytest.warns(PerformanceWarning, match="it refers to held, an? .* with attributes"):
        assert same(compiled(x), x * 5.0)
    held.w19 = 6.0
    assert same(compiled(x), x * 6.0)


@pytest.mark.parametrize("value", [lambda a: a * scale_of_20(), np.ones(3)])
def test_what_somebody_has_put_into_builtins_is_refused(value, monkeypatch):
    monkeypatch.setattr(builtins, "w20", value, raising=False)
    compiled = dispatch.compile(lambda a: w20(a) if callable(w20) else w20 * a)  # noqa: F821
    with pytest.warns(PerformanceWarning, match="it names w20, an? (function|ndarray) that somebody has put into builtins"):
        compiled(x)
    monkeypatch.setattr(LOG_SCALE, "k", 3.0)
    if not callable(value):
        value[:] = 3.0
    assert same(compiled(x), x * 3.0)


LOG_SCALE = types.SimpleNamespace(k=1.0)


def scale_of_20():
    return LOG_SCALE.k


CLOCKS = """np.datetime64('now', 's')|np.array(['today', 'Now'], 'M8[us]')|np.asarray(LATE, dtype='M8[s]')|np.full(2, 'now', 'M8[s]')
np.dtype('M8[s]').type('now')|a.astype('M8[s]') - np.datetime64('now')|np.busday_offset('today', 0)|np.array(b'now').astype(WHEN)
np.zeros(1, [('t', 'M8[s]')])['t'].dtype.type('now')""".replace("\n", "|")
LATE, WHEN = ["now"], np.dtype("M8[s]")


@pytest.mark.parametrize("text", CLOCKS.split("|"))
def test_a_text_by_which_numpy_reads_the_clock_is_refused(text):
    with pytest.raises(TracingError, match="it has the text 'now' or 'today', by which NumPy reads the clock"):
        dispatch.compile(eval(f"lambda a: {text}"), fullgraph=True)(x)


def test_a_text_that_is_no_time_is_not_refused():
    days = {"today": 2.0, "now": 3.0}
    compiled = dispatch.compile(lambda a, **now: a * days["today"] + now["now"], fullgraph=True)
    assert same(compiled(x, now=1.0), x * 2.0 + 1.0)
    compiled = dispatch.compile(lambda a: a.astype("M8[s]") - np.datetime64("2020-01-01"), fullgraph=True)
    assert same(compiled(x), x.astype("M8[s]") - np.datetime64("2020-01-01"))


def test_the_language_in_which_python_writes_numbers_is_compared():
    before = locale.setlocale(locale.LC_NUMERIC)
    try:
        locale.setlocale(locale.LC_NUMERIC, "C.UTF-8")
    except locale.Error:
        pytest.skip("the system has no second language")
    compiled = dispatch.compile(lambda a, k: (a * 2, f"{k:n}"), fullgraph=True)
    try:
        for language in ("C", "C.UTF-8", "C"):
            locale.setlocale(locale.LC_NUMERIC, language)
            assert compiled(x, 1234.5)[1] == f"{1234.5:n}"
    finally:
        locale.setlocale(locale.LC_NUMERIC, before)
    assert len(compiled.entries) == 2


# -- lengths that are open --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("index", [[True] * 3, [0, 2], ([0, 2], 0), np.array([2])], ids=str)
def test_an_index_that_nothing_uses_raises_of_other_lengths_too(index):
    def f(a):
        a[index]
        return a * 2

    compiled = dispatch.compile(f, dynamic=True, fullgraph=True)
    assert same(compiled(np.ones((3, 2))), np.ones((3, 2)) * 2)
    with pytest.raises(IndexError):
        compiled(np.ones((2, 2)))


def test_vmap_works_with_open_lengths():
    def f(a):
        return dispatch.vmap(lambda row: row / np.sum(row))(a)

    compiled = dispatch.compile(f, dynamic=True, fullgraph=True)
    for n in (2, 5, 3):
        assert same(compiled(np.ones((n, 3))), f(np.ones((n, 3))))
    assert len(compiled.entries) == 1


# -- arrays that the code makes -----------------------------------------------------------------------------------------------------

MAKES = {
    "zeros": lambda a: np.zeros(a.shape),
    "zeros of ints": lambda a: np.zeros(a.shape, int),
    "ones in F order": lambda a: np.ones((2, *a.shape), order="F"),
    "empty": lambda a: np.empty(a.shape),
    "full": lambda a: np.full((2, 3), 1.5),
    "full of a traced value": lambda a: np.full(3, a[0]),
    "full of ints": lambda a: np.full(3, 7),
    "eye": lambda a: np.eye(3),
    "identity": lambda a: np.identity(3, dtype=np.float32),
    "array": lambda a: np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]),
    "array in F order": lambda a: np.array([[1, 2, 3], [4, 5, 6]], order="F"),
    "array of no axes": lambda a: np.array(2.0),
}
FILLS = {
    "item": lambda made, a: made.__setitem__(Ellipsis, a[1]),
    "row": lambda made, a: made.__setitem__(-1, a[0]) if made.ndim else made.fill(3.0),
    "add": lambda made, a: np.add(made, a[2], out=made, casting="unsafe"),
    "at": lambda made, a: np.add.at(made, ([0, 0],), a[1].astype(made.dtype)) if made.ndim else None,
}


@pytest.mark.parametrize("fill", FILLS.values(), ids=FILLS)
@pytest.mark.parametrize("make", MAKES.values(), ids=MAKES)
@pytest.mark.parametrize("dynamic", [False, True])
def test_what_the_code_makes_may_be_written_to(make, fill, dynamic):
    def f(a):
        made = make(a)
        made[...] = a[0] if made.size else 0
        fill(made, a)
        return made, made.T, np.zeros(3), made * 2

    compiled = dispatch.compile(f, dynamic=dynamic, fullgraph=True)
    for k in (1.0, 2.0):
        found, expected = compiled(x * k), f(x * k)
        assert same(found, expected)
        assert [y.strides for y in found] == [y.strides for y in expected]
        found[0][...] = 0  # is nobody else's
        assert same(compiled(x * k), expected)


def test_a_generator_may_be_named_and_a_function_asked_for_by_a_text():
    rng = np.random.default_rng(0)

    def f(a, name="tanh", train=False):
        y = getattr(np, name)(a)
        return y * rng.random(3) if train else y

    compiled = dispatch.compile(f, fullgraph=True)
    for name in ("tanh", "sin", "tanh"):
        assert same(compiled(x, name), f(x, name))
    expected = x * 0 + np.tanh(x) * np.random.default_rng(0).random(3)
    assert same(compiled(x, train=True), expected)
    windows = dispatch.compile(lambda a: np.lib.stride_tricks.sliding_window_view(a, 2) * 2, fullgraph=True)
    assert same(windows(x), np.lib.stride_tricks.sliding_window_view(x, 2) * 2)


# -- records, numbers and answers ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("inside", [lambda r: r, lambda r: (r, 1.0), lambda r: [r]], ids=["alone", "in a tuple", "in a list"])
def test_a_record_that_is_returned_is_the_one_that_it_refers_to(inside):
    held = Cfg(w=np.ones(3))
    f = dispatch.compile(lambda a: inside(held))
    with pytest.warns(PerformanceWarning, match="returns a container that it was given or refers to"):
        found = f(x)
    for out in (found, f(x)):
        record = out if type(out) is Cfg else out[0]
        assert record is held
        assert record.w is held.w


@pytest.mark.parametrize("text", ["c + g", "c - g", "c * g", "c / g", "c ** g", "c == g", "c != g", "2j * a.sum()", "(c * g) * a.astype('f4')"])
def test_pythons_complex_before_a_number_of_numpys_is_pythons(text):
    f = eval(f"lambda a, g: {text.replace('g', 'a[0]')}", {"c": 2 + 1j})
    compiled = dispatch.compile(f)
    with pytest.warns(PerformanceWarning, match="a Python complex stands before a number of NumPy's in .*Write the number first, x \\* 2j"):
        found = compiled(x, None)
    for out in (found, compiled(x, None)):
        assert type(out) is type(f(x, None))
        assert np.asarray(out).tobytes() == np.asarray(f(x, None)).tobytes()


@pytest.mark.parametrize("text", ["a[0] * c", "c * a", "c * a.astype('f4').sum()", "np.complex128(c) * a.sum()", "a.sum() + c", "c * (1j * a)[0]"])
def test_a_complex_beside_other_values_is_traced(text):
    f = eval(f"lambda a: {text}", {"c": 2 + 1j, "np": np})
    compiled = dispatch.compile(f, fullgraph=True)
    assert same(compiled(x), f(x))


@pytest.mark.parametrize("read", ["s / g", "s * g", "s < g", "s == g", "divmod(s, g)", "s // g", "g // s", "s ** g", "(s - g, s % g)", "s + g + s"])
def test_a_float_beside_a_number_of_numpys_gives_one_of_numpys(read):
    f = eval(f"lambda s: {read}", {"g": np.float64(2)})
    compiled = dispatch.compile(f, fullgraph=True)
    for s in (1.5, 2.0, 1.5):
        expected, found = f(s), compiled(s)
        assert same(found, expected)


@pytest.mark.parametrize("name", ["dot", "partition", "argpartition"])
def test_a_number_has_no_method_that_arrays_alone_have(name):
    f = dispatch.compile(eval(f"lambda a: a.{name}(1)"))
    with pytest.raises(AttributeError):
        f(np.float64(2))
    with pytest.raises(dispatch.errors.TracingError, match=rf"it names \.{name}, of arrays alone, and is given a number\. Pass an array"):
        dispatch.compile(eval(f"lambda a: a.{name}(1)"), fullgraph=True)(np.float64(2))


@pytest.mark.parametrize("number", ["a[0]", "a.T[0]", "np.take(a, 1)", "list(a)[0]", "a[np.int64(0)]", "a.copy()[0].reshape(())", "a.reshape(1, 3)[0, 0]"])
def test_a_number_of_an_array_is_in_the_machines_byte_order(number):
    scope = {"np": np}
    f = eval(f"lambda a: (({number}).dtype.str, np.full(2, {number}), np.zeros_like({number}))", scope)
    for order in "><":
        a = x.astype(f"{order}f8")
        found, expected = dispatch.compile(f, fullgraph=True)(a), f(a)
        assert found[0] == expected[0]
        assert [y.dtype.str for y in found[1:]] == [y.dtype.str for y in expected[1:]]


def test_an_array_can_be_resized_after_a_trace_was_refused():
    held = np.array(2.0)

    def f(a):
        held.resize(3, refcheck=False)
        return held * a

    with pytest.warns(PerformanceWarning, match="changes the size of an array in place"):
        found = dispatch.compile(f)(x)
    assert np.array_equal(found, [2.0, 0.0, 0.0])
    assert not weakref.getweakrefs(held)


def test_a_resize_that_changes_nothing_raises_where_memory_says_so():
    held = np.arange(6.0)[::2]
    f = dispatch.compile(lambda a: (held.resize(3, refcheck=False), a)[1])
    with pytest.raises(ValueError, match="single-segment"):
        f(x)


def test_a_module_with_a_getattr_is_read_where_it_has_the_name():
    module = types.ModuleType("loading")
    module.__getattr__ = lambda name: module.__dict__.setdefault(name, 5.0)
    module.scale = 2.0
    f, g = dispatch.compile(lambda a: np.sin(a) * module.scale, fullgraph=True), dispatch.compile(lambda a: np.sin(a) * module.loaded)
    for module.scale in (2.0, 3.0):
        assert same(f(x), np.sin(x) * module.scale)
    with pytest.warns(PerformanceWarning, match=r"it uses loading\.loaded, whose result depends on more than its arguments"):
        assert same(g(x), np.sin(x) * 5.0)
    module.loaded = 6.0
    assert same(g(x), np.sin(x) * 6.0)


def test_a_value_without_axes_is_asked_for_classes_that_neither_an_array_nor_a_number_has():
    def f(a):
        y = np.sum(a)
        parts = y if isinstance(y, (tuple, list)) else (y,)
        return parts[0] * isinstance(y, (np.ndarray, np.generic)) + isinstance(y, str | int), a[0] * isinstance(a[0], (dict, np.integer))

    assert same(dispatch.compile(f, fullgraph=True)(x), f(x))
    undecided = dispatch.compile(lambda a: a * isinstance(np.sum(a), float), fullgraph=True)
    with pytest.raises(TracingError, match="the class of a traced value without axes was asked for, which may be an array or a number"):
        undecided(x)


def test_a_function_is_asked_for_by_a_text_in_a_container():
    config = {"model": {"act": "tanh", "more": ["sin"]}}
    f = dispatch.compile(lambda a: getattr(np, config["model"]["act"])(a) + getattr(np, config["model"]["more"][0])(a), fullgraph=True)
    for name in ("tanh", "cos", "tanh"):
        config["model"]["act"] = name
        assert same(f(x), getattr(np, name)(x) + np.sin(x))


def test_an_integer_that_changes_between_calls_is_said():
    held = types.SimpleNamespace(n=2, k=7)
    f = dispatch.compile(lambda a: a * held.n + held.k, fullgraph=True)
    f(x)
    assert "changes from call to call" not in str(f.explain())
    held.n = 3
    f(x)
    said = "an integer that changes from call to call; pass it as an argument, as an array, to have one trace"
    lines = [line for line in str(f.explain()).splitlines() if said in line]
    assert [line.split(" alone,")[0] for line in lines] == ["    for held, 'n' = 2", "    for held, 'n' = 3"]


# -- what reads more than a value says ----------------------------------------------------------------------------------------------


def test_a_set_is_read_in_the_order_that_the_function_reads_it():
    """A set that has grown keeps the size of its table; a copy has a table of its own size, and another order."""
    grown, made = set(), {4, 3, 2, 1, 16}
    for k in (16, 1, 2, 3, 4):
        grown.add(k)
    assert list(grown) != list(set(grown))
    held = types.SimpleNamespace(values=grown)

    def f(a):
        for k in held.values:
            a = a * 2 + k
        return a

    compiled = dispatch.compile(f)
    with pytest.warns(PerformanceWarning, match="refers to a set that a copy has in another order. Write sorted"):
        assert same(compiled(x), f(x))
    held.values = made
    for _ in range(2):
        assert same(compiled(x), f(x))
    held.values = grown
    assert same(compiled(x), f(x))


@pytest.mark.parametrize("ask", ["operator.is_(a, b)", "not operator.is_not(a, b)", "all(map(operator.is_, [a], [b]))", "object.__eq__(a, b) is True", "same(a, b) is True"])
@pytest.mark.parametrize(("first", "second"), [((1, 2), tuple([1, 2])), (2.5, float("2.5")), ("a b", "a b."[:3])])  # noqa: C409  another tuple
def test_who_asks_whether_two_values_are_one_object_is_told(ask, first, second):
    scope = {"operator": operator, "same": object.__eq__, "a": first, "b": first, "all": all, "map": map}
    f = eval(f"lambda v: v * 2 if {ask} else v", scope)
    compiled = dispatch.compile(f)
    for b in (first, second, first):
        scope["b"] = b
        assert same(compiled(x), f(x))


def test_what_import_means_is_compared(monkeypatch):
    def f(a):
        import math

        return a * math.trunc(2.5)

    compiled = dispatch.compile(f)
    assert same(compiled(x), x * 2)
    with monkeypatch.context() as patch:
        patch.setattr("builtins.__import__", lambda *_: types.SimpleNamespace(trunc=lambda _: 7))
        with pytest.warns(PerformanceWarning, match="imports when it runs, by an __import__ of yours; import at the top"):
            found = compiled(x)
    assert same(found, x * 7)
    assert same(compiled(x), x * 2)


def test_a_coroutine_is_not_made_for_a_trace():
    async def f(a):
        return a * 2

    with pytest.warns(PerformanceWarning, match="f is asynchronous"):  # and not that one was never awaited, which is an error here
        waiting = dispatch.compile(f)(x)
    with pytest.raises(StopIteration) as done:
        waiting.send(None)
    assert same(done.value.value, x * 2)


@pytest.mark.parametrize("read", ["a * (1j * k)", "(c - k) * a", "a * (z / k)", "(c == k) * a", "a * (c ** k)", "(1j, [c + k, a])", "a * ((n ** 0.5) * k)", "(n ** 0.5 - k, a)", "a + make(0, 1) * k", "a * (np.arange(2).astype('c16').tolist()[1] - k)"])
@pytest.mark.parametrize("given", [False, True], ids=["captured", "given"])
def test_a_float_behind_a_complex_is_read(read, given):
    """Python's complex takes a float's value and asks it nothing."""
    scope = {"k": 0.5, "c": 0.5 + 0j, "n": -8, "make": complex, "np": np}
    f = eval(f"lambda a, z, k: {read}" if given else f"lambda a, z: {read}", scope)
    compiled = dispatch.compile(f)
    for k in (0.5, 2.0, 0.0, 0.5, -3.0):
        scope["k"] = k
        outcomes = []
        for g in (compiled, f):
            try:
                outcomes.append(g(x, 2j, k) if given else g(x, 2j))
            except ArithmeticError as error:
                outcomes.append(str(error))
        assert same(*outcomes)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("text", ["a ** k", "a ** (k * 1)", "a[0] ** k"])
def test_a_power_that_is_an_input_is_rounded_as_numpy_rounds_its_value(dtype, text):
    """Of some dtypes `a ** 0.5` is np.sqrt, which rounds otherwise than np.power."""
    held = np.linspace(0.1, 9, 50).astype(dtype)
    held[:2] = 0.0, -0.0
    scope = {"k": 3.0}
    f = eval(f"lambda a: {text}", scope)
    compiled = dispatch.compile(f, fullgraph=True)
    for k in (3.0, 0.5, 2.0, 1.5):
        scope["k"] = k
        assert same(compiled(held), f(held))


def test_an_exception_of_a_custom_operator_is_caught():
    def kernel(a):
        if a.sum() > 100:
            raise ValueError("too large")
        return a.copy()

    checked, held = define("(Tensor a) -> Tensor", kernel, fake=np.empty_like), np.zeros(1)

    def that_catches(a):
        try:
            return checked(a)
        except ValueError:
            return a * 0

    def that_ends(a):
        try:
            return checked(a)
        finally:
            held[0] += 1

    said = "it may catch an exception, and a write to an array or a custom operator comes before what may raise: a graph catches none"
    compiled = dispatch.compile(that_catches)
    with pytest.warns(PerformanceWarning, match=said):
        assert same(compiled(x), x)
    assert same(compiled(x * 99), x * 0)
    ended = dispatch.compile(that_ends)
    with pytest.warns(PerformanceWarning, match=said):
        ended(x)
    with pytest.raises(ValueError, match="too large"):
        ended(x * 99)
    assert held[0] == 2


@pytest.mark.parametrize("ask", [lambda a, b: a is b, lambda a, b: a[0] is b[0]], ids=["the lists", "what is in them"])
def test_whether_two_containers_are_one_is_part_of_the_kind_of_call(ask):
    f = dispatch.compile(lambda a, b: (ask(a, b), a[0] + b[0]))
    one = [x]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PerformanceWarning)
        for a, b in ((one, one), ([x], [x]), (one, one), ([x], [x.copy()])):
            assert f(a, b)[0] == ask(a, b)


@pytest.mark.parametrize("write", ["dump", "tofile"])
def test_a_file_is_written_in_each_call(write, tmp_path):
    path = tmp_path / "made"
    f = dispatch.compile(eval(f"lambda a: (np.arange(3.0).{write}(path), a + 1)[1]", {"np": np, "path": str(path)}))
    with pytest.warns(PerformanceWarning, match=rf"it names \.{write}, by which an array writes a file"):
        f(x)
    for _ in range(2):
        path.unlink()
        f(x)
        assert path.exists()
    with pytest.raises(TracingError, match="set_default_printstyle, whose result depends on more than its arguments"):
        dispatch.compile(lambda a: (np.polynomial.set_default_printstyle("unicode"), a)[1], fullgraph=True)(x)


def test_who_registers_a_class_while_a_function_is_traced():
    """A library that is loaded then may, as SymPy does; what the function does itself is left out of no graph."""

    class Abstract(abc.ABC):  # noqa: B024  registered with, and never made
        pass

    def rule(a):
        Abstract.register(type("Number", (), {}))
        return np.empty_like(a)

    copied, register = define("(Tensor a) -> Tensor", np.copy, fake=rule), Abstract.register
    assert same(dispatch.compile(lambda a: copied(a) + 1, fullgraph=True)(x), x + 1)
    for f in (lambda a: (register(Cfg), a)[1], lambda a: (Abstract.register(Cfg), a)[1]):
        with pytest.raises(TracingError, match="registers a class with an abstract one when it runs"):
            dispatch.compile(f, fullgraph=True)(x)


@pytest.mark.parametrize("use", [lambda a: hash(a.shape), lambda a: float(a[0])], ids=["hash", "float"])
def test_what_a_refused_trace_was_given_is_let_go(use):
    """Without waiting for the collector, as the function itself lets it go."""
    given = np.ones(3)
    f, watched = dispatch.compile(lambda a: (use(a), a * 2)[1]), weakref.ref(given)
    gc.disable()
    try:
        with pytest.warns(PerformanceWarning, match="runs as it is"):
            f(given)
        del given
        assert watched() is None
    finally:
        gc.enable()


def asks_identity_beside(what):
    """A function whose code asks whether two values are one object, beside something that a guard reads anew at each call."""

    @dataclasses.dataclass(frozen=True)
    class Frozen:  # its methods ask whether two classes are one, and may write a text
        factor: float = 2.0

    class Base(metaclass=abc.ABCMeta):
        @abc.abstractmethod
        def factors(self): ...

    held, record, number = Frozen(), np.zeros(3, [("a", float)]), 2.5
    return {
        "a frozen dataclass": lambda a: a * held.factor,
        "an abstract class": lambda a: a * 2.0 if isinstance(held, Base) or held is number else a * 3.0,
        "a structured array": lambda a: a + record["a"] if held is not number else a,
    }[what]


@pytest.mark.parametrize("what", ["a frozen dataclass", "an abstract class", "a structured array"])
def test_code_that_asks_for_identity_is_traced_once(what):
    f = asks_identity_beside(what)
    g = dispatch.compile(f, fullgraph=True)
    for k in range(3):
        np.testing.assert_array_equal(g(x * k), f(x * k))
    assert len(g.entries) == 1


def test_an_eq_of_code_in_a_text_asks_for_identity():
    """The code that dataclasses write stands in such a text too, and asks of objects and classes alone."""
    scope = {}
    exec("class Holds:\n def __init__(self, k): self.k = k\n def __eq__(self, other): return self.k is other", scope)
    held = types.SimpleNamespace(by=scope["Holds"](2.5))
    held.value = held.by.k
    f = lambda a: a * 2 if held.by == held.value else a * 3
    g = dispatch.compile(f)
    np.testing.assert_array_equal(g(x), 2 * x)
    held.value = float("2.5")
    np.testing.assert_array_equal(g(x), f(x))
    np.testing.assert_array_equal(f(x), 3 * x)


FACTORS = [2.0]


@dispatch.vectorize
def scaled(a):
    return a * FACTORS[0]


@contextlib.contextmanager
def factor():
    yield FACTORS[0]


@dispatch.vmap
def scaled_rows(a):
    return a * FACTORS[0]


def by_a_block(a):
    with factor() as k:
        return a * k


@pytest.mark.parametrize("f", [scaled, by_a_block, lambda a: scaled_rows(a[None])])
def test_what_a_librarys_decorator_keeps_is_read_though_the_decorated_function_stands_in_its_module(f):
    g = dispatch.compile(lambda a: f(a))
    try:
        for FACTORS[0] in (2.0, 3, 5.0):
            for _ in range(2):
                np.testing.assert_array_equal(g(x), f(x), strict=True)
    finally:
        FACTORS[0] = 2.0


def test_a_float_that_is_copied_is_compared_or_an_input():
    held = Cfg(2.0)
    f = lambda a: a * dataclasses.asdict(held)["lr"] + dataclasses.replace(held, w=None).lr
    g = dispatch.compile(f)
    for held.lr in (2.0, 3.0, -0.0, 1):
        np.testing.assert_array_equal(g(x), f(x), strict=True)


class Offset:
    def __init__(self, k):
        self.k = k

    def __radd__(self, other):
        return other + self.k

    def __gt__(self, other):
        return other < self.k


offset = Offset(2.0)


@pytest.mark.parametrize("text", ["a + offset", "a < offset", "np.sum(a) + offset", "1.0 + offset + np.sum(a)"])
def test_what_numpy_asks_of_an_object_for_each_element_is_asked_so(text):
    f = eval(f"lambda a: {text}")
    g = dispatch.compile(f)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PerformanceWarning)
        for _ in range(2):
            found, expected = g(x), f(x)
            assert (type(found), getattr(found, "dtype", None)) == (type(expected), getattr(expected, "dtype", None))
            assert np.array_equal(found, expected)
    said = "it hands an array to __" in str(g.explain())
    assert said == (text[0] != "1")


def test_a_keyword_may_be_called_like_a_parameter_without_one():
    def f(a, /, *b, **more):
        return a * more["a"] + sum(b) + more["b0"]

    g = dispatch.compile(f, fullgraph=True)
    for k in (2.0, 3.0):
        assert np.array_equal(g(x, 1.0, k, a=k, b0=5.0), f(x, 1.0, k, a=k, b0=5.0))


class Sevens(np.float64):
    def __mul__(self, other):
        return 7.0


@pytest.mark.parametrize("wrap", [lambda s: s, lambda s: [s], lambda s: {"a": s}])
def test_a_number_of_a_class_of_ones_own_is_refused(wrap):
    def f(a, s):
        return (s if isinstance(s, float) else s[0] if isinstance(s, list) else s["a"]) * 2.0 + a

    compiled = dispatch.compile(f)
    assert same(compiled(x, wrap(2.0)), x + 4.0)
    with pytest.warns(PerformanceWarning, match="an argument is Sevens, a class with operations of its own, which a graph would leave out"):
        assert same(compiled(x, wrap(Sevens(2.0))), x + 7.0)


def counted(numbers):
    calls.append(1.0)
    return numbers * 2.0


def stored(numbers):
    number_of_calls[0] = number_of_calls[0] + 1.0
    return numbers


def written(numbers):
    seen_by[0] += 1.0
    return numbers


def drawn(numbers):
    return numbers * drawn_by.normal(size=1)[0]


calls, number_of_calls, seen_by, drawn_by = [], [0.0], np.zeros(1), np.random.default_rng(0)


@pytest.mark.parametrize("part", [stored, written, drawn, lambda v: v * counting(x)[0]], ids=["store", "write", "draw", "operator"])
def test_a_function_that_piecewise_calls_by_data_only_returns(part):
    """NumPy calls it where an element is for it, a graph always: what it does beside would be done too often."""

    def f(a):
        return np.piecewise(a, [a < 0.0], [part, np.cos])

    compiled = dispatch.compile(f)
    with pytest.warns(PerformanceWarning, match=r"it uses np\.piecewise, .* Write np\.where\(condition, x, y\)"):
        compiled(-np.ones(3))

    def state():
        return number_of_calls[0], seen_by[0], len(calls), str(drawn_by.bit_generator.state)

    before = state()
    assert same(compiled(np.ones(3)), np.cos(np.ones(3)))
    assert state() == before


counting = define("(Tensor x) -> Tensor", counted, fake=np.empty_like)


def test_piecewise_with_functions_that_only_return_is_a_graph():
    f = dispatch.compile(lambda a: np.piecewise(a, [a < 0.0], [lambda v: v * 2.0, np.cos]), fullgraph=True)
    for sign in (1.0, -1.0):
        assert same(f(sign * np.ones(3)), np.cos(np.ones(3)) if sign > 0 else -2.0 * np.ones(3))


class Asked:
    """It says how often it was asked: the number differs with each question."""

    def __init__(self):
        object.__setattr__(self, "times", 0)

    def __getattribute__(self, name):
        times = object.__getattribute__(self, "times") + 1
        object.__setattr__(self, "times", times)
        return float(times)

    def __repr__(self):
        return str(self.scale)


class Posing(Asked):
    __class__ = property(lambda self: Asked.__getattribute__(self, "a class") and dict)
    __getattribute__ = object.__getattribute__


posed = None


class Meta(type):
    asked = 0

    def __getattribute__(cls, name):
        Meta.asked += 1
        return type.__getattribute__(cls, name)


class OfMeta(metaclass=Meta):
    pass


@pytest.mark.parametrize("cls", [Asked, Posing])
@pytest.mark.parametrize("given", [True, False])
def test_nothing_is_asked_of_an_object_that_answers_by_code(cls, given, monkeypatch):
    asked = cls()
    monkeypatch.setitem(globals(), "posed", asked)
    f = dispatch.compile((lambda a, b: a if b is None else a * 2.0) if given else (lambda a: a * 2.0 if asked is posed else posed.scale))
    with pytest.warns(PerformanceWarning, match=r"of a class that has __(getattribute|class)__"):
        assert same(f(x, asked) if given else f(x), x * 2.0)
    assert object.__getattribute__(asked, "times") == 0


@pytest.mark.parametrize("what", [OfMeta, OfMeta()])
def test_nothing_is_asked_of_a_class_that_answers_by_code(what):
    before = Meta.asked
    f = dispatch.compile(lambda a: a if what is None else a * 2.0)
    with pytest.warns(PerformanceWarning, match="of a class that has __getattribute__"):
        assert same(f(x), x * 2.0)
    f = dispatch.compile(lambda a, b: a * 2.0)
    with pytest.warns(PerformanceWarning, match="the argument b is of a class that has __getattribute__"):
        assert same(f(x, what), x * 2.0)
    assert Meta.asked == before


ASKED = []


def telling(base):
    """A container whose methods say that they were called."""

    def method(name):
        def called(self, *args):
            ASKED.append(name)
            return getattr(base, name)(self, *args)

        return called

    names = {"__iter__", "__len__", "__eq__", "__repr__", "__hash__", "values", "items", "keys"} & set(dir(base))
    return type(f"Own{base.__name__.title()}", (base,), {name: method(name) for name in names})


@pytest.mark.parametrize("base", [list, dict, collections.OrderedDict, tuple])
def test_a_container_of_ones_own_is_not_opened(base):
    given = telling(base)({"k": 2.0} if issubclass(base, dict) else [2.0])
    for nested in (given, [given], {"a": given}):
        ASKED.clear()
        with pytest.warns(PerformanceWarning, match=rf"an argument is {type(given).__name__}, a class with operations of its own"):
            assert same(dispatch.compile(lambda a, c: a if c is None else a * 2.0)(x, nested), x * 2.0)
        assert ASKED == []


def test_the_keys_of_a_dict_are_not_hashed_by_the_walk():
    class Key:
        def __hash__(self):
            ASKED.append("hash")
            return 1

    table = {Key(): 1.0}
    ASKED.clear()
    with pytest.warns(PerformanceWarning, match="a dict with a Key for a key"):
        assert same(dispatch.compile(lambda a: a * len(table))(x), x)
    assert ASKED == []
