"""One trace stands for later calls: floats that are inputs, what is returned, what raises, what is looked for and not there.

Each program runs as it is and compiled, on values of its own, and must give and leave the same to the bit.
"""

import abc
import builtins
import collections
import dataclasses
import functools
import importlib
import itertools
import logging
import math
import operator
import pathlib
import types
import warnings
from queue import Queue
from random import Random

import numpy as np
import pytest

import dispatch

X = np.arange(6.0).reshape(2, 3)
SCOPE = {"np": np, "math": math, "functools": functools, "itertools": itertools, "operator": operator, "X": X, "inv": np.linalg.inv}


def seen(value):
    """A value as data: classes, dtypes, what may be written, bits."""
    if isinstance(value, np.ndarray):
        steps = [step for step, n in zip(value.strides, value.shape, strict=True) if n > 1]
        return str(value.dtype), value.shape, value.size and steps, value.flags.writeable, value.tobytes()
    if isinstance(value, (list, tuple)):
        return type(value), [seen(item) for item in value]
    if isinstance(value, dict):
        return [(seen(k), seen(v)) for k, v in value.items()]
    return type(value), value.tobytes() if isinstance(value, np.generic) else str(value) if isinstance(value, Exception) else repr(value)


def result(f, *args):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return f(*args)
        except Exception as error:
            return error


def function(text, names="x, s"):
    return eval(f"lambda {names}: {text}", dict(SCOPE))


# -- floats ----------------------------------------------------------------------------------------------------------------

FLOATS = (0.5, 0.0, -0.0, -1.5, 2.0, math.inf, 1e308, math.nan)
OF_A_FLOAT = """
x * (1.0 / s) | x * s ** 0.5 | (x + 1) ** s | x + 5 % s | x * round(s) | x * math.exp(s) | x * int(s) | x * (s * 1j) | x * complex(s, 1)
np.float32(s) * x.astype("f") | s * x.astype("f") | np.multiply(x.astype("f"), s) | x.astype("b") * s | (x > 1) * s | x.astype("F") * s
np.asarray(s) * x.astype("f") | np.full(3, s) | np.where(x > 1, x.astype("f"), s) | np.clip(x, -1.0, s) | x * max(s, 1.0) | {s: x} | {s: s}
np.ones(3, "f") * s | s * np.ones(3, "f") | np.add(np.ones(3, "f"), s) + x | np.float32(2) * s | np.multiply(np.float32(2), s) * x.astype("f")
np.where(np.array([True]), np.ones(1, "e"), s) | np.clip(np.ones(3, "f"), 0.0, s) | np.array([1.0, s], "f") | np.result_type(x.astype("f"), s)
(np.result_type(np.float32, s), np.result_type(s)) | np.min_scalar_type(s) | x * (s in (0.5, 2.0)) | x * {0.5: 1, 0.0: 2}.get(s, 3)
x * len(f"{s}") | x * len("%g" % s) | x * len(str(s)) | x * (2 if isinstance(s, float) else 3) | x * (2 if type(s) is float else 3)
math.copysign(1, s) * x | x if math.isnan(s) else x * 2 | np.sqrt(s) * x.astype("f") | np.add(s, 1) * x.astype("e") | np.stack([x[0], np.full(3, s)])
x * s.is_integer() | x * s.real + s.imag | x * divmod(s, 0.7)[0] | 3 // s * x | x // s | (x, s, [s]) | x if s else -x | x * (s or 2.0)
x * [0.5, 2.0, -1.5, 0.0].count(s) | x * math.fsum([s, 1e-20]) | x @ np.array([s, s, 1.0]) | functools.partial(np.multiply, s)(x)
(lambda y, k=s: y * k)(x) | sum(x * s ** i for i in range(3)) | x * functools.reduce(operator.mul, [s, s]) | np.array(s).view(np.int64) + x
np.broadcast_to(s, (2,)) | np.sum([s, s]) * x.astype("f") | np.interp(s, [0, 1, 2], x[0]) | np.heaviside(x.astype("f"), s) | np.kron(x.astype("f"), s)
np.concatenate([x[0].astype("f"), [s]]) | np.append(x.astype("f"), s) | np.select([x > 1], [x.astype("f")], s) | np.sum(x.astype("f"), initial=s)
""".replace("\n", " | ").strip(" |").split(" | ")


@pytest.mark.parametrize("text", OF_A_FLOAT)
def test_a_float_is_what_it_is_in_each_call(text):
    """Given, and kept in an object; NumPy takes a subclass of float for an array, and Python's own code reads it unseen."""
    f, kept = function(text), types.SimpleNamespace()
    held = dispatch.compile(lambda x: f(x, kept.s))
    given = dispatch.compile(f)
    for s in FLOATS:
        kept.s = s
        assert seen(result(given, X, s)) == seen(result(held, X)) == seen(result(f, X, s)), s


# -- results -----------------------------------------------------------------------------------------------------------------

RESULTS = """
(x, x) | (lambda y: (y, y[0], y.T))(x * 2) | (x.reshape(-1), x.ravel(), x.flatten(), x.T.ravel(), x.ravel("F")) | (x.real, x.conj(), np.conj(x))
x.astype(x.dtype, copy=False) | (x.squeeze(), np.atleast_1d(x)) | (np.broadcast_to(x, x.shape), np.broadcast_to(np.zeros(1), 3)) | tuple(x)
(np.zeros(3), np.ones((2, 2)).T, np.arange(6).reshape(2, 3)) | (lambda z: (z, z[0]))(np.zeros((3, 3))) | np.add(x, 1, out=x) | operator.iadd(x[0], 1)
(lambda l: (l, l))([x * 2]) | (lambda d: [d, d])({"a": x}) | w | w[1:] | (w, x * w) | w if w[0] > 0 else x | w[1:] if w[0] > 0 else x
((w, [w]) if w[0] > 0 else x) | (x == None, x != None) | (x == "a", x != "a") | (x == {}, {1} != x)
""".replace("\n", " | ").strip(" |").split(" | ")


@pytest.mark.parametrize("text", RESULTS)
def test_a_result_is_the_object_or_the_memory_that_it_would_be(text):
    found = []
    for wrap in (dispatch.compile, lambda f: f):
        w = np.ones(3)
        f = wrap(eval(f"lambda x: {text}", SCOPE | {"w": w}))
        said = []
        for _ in range(3):
            x = X.copy()
            out = result(f, x)
            parts = [*out, out] if isinstance(out, (list, tuple)) else [out]
            said.append(seen(out))
            said += [(a is b, isinstance(a, np.ndarray) and isinstance(b, np.ndarray) and np.shares_memory(a, b))
                     for a, b in itertools.combinations([*parts, x, w], 2)]  # fmt: skip
            for part in parts:
                if isinstance(part, np.ndarray) and part.flags.writeable and part.dtype == float:
                    part += 1
            said.append(seen((x, w, out)))
        found.append(said)
    assert found[0] == found[1]


# -- what raises --------------------------------------------------------------------------------------------------------------

RAISING = """
operator.iadd(x, 1), inv(a) | operator.iadd(x[0], 1), inv(a) | inv(a), operator.iadd(x[0], 1) | operator.iadd(x[0], 1), inv(a), operator.imul(x, 2)
operator.iadd(x[0], 1), operator.iadd(w, x), inv(a), operator.imul(w, 2) | w.__setitem__((slice(None), 1), 2), operator.iadd(w, x), inv(a)
x.fill(3), x[(a[0] * 5 - 5).astype(int)] | np.add(x, 1, out=x), np.add(x, 1, out=w), inv(a) | operator.iadd(x.T, 1), x.__setitem__((0, 0), 7), inv(a)
x.__setitem__(0, 7.0), x[(5 - a[0] * 5).astype(int)] | np.copyto(x, 9), w.__setitem__(0, x[1]), inv(a) @ x
""".replace("\n", " | ").strip(" |").split(" | ")


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("text", RAISING)
def test_what_was_written_before_it_raises_is_written(text, dynamic):
    found = []
    for wrap in (functools.partial(dispatch.compile, dynamic=dynamic), lambda f: f):
        w = np.zeros((2, 3))
        f = wrap(eval(f"lambda x, a: ({text})", SCOPE | {"w": w}))
        said = []
        for a in (np.eye(2), np.zeros((2, 2)), np.eye(2)):
            x = X.copy()
            said.append(seen((result(f, x, a), x, w)))
        found.append(said)
    assert found[0] == found[1]


@pytest.mark.parametrize("text", ["(np.log(x), x * 2)[1]", "x * np.log(np.zeros(3))", "np.log(x) + np.log(x)", "(1 / x)[0, 0] * 0"])
@pytest.mark.parametrize("how", ["raise", "call"])
def test_floating_point_errors_are_raised_and_reported_as_they_would_be(text, how):
    """Also by calls whose results nothing uses, by calls that are made twice, and by those that depend on no input."""
    found = []
    for wrap in (dispatch.compile, lambda f: f):
        f, called = wrap(function(text, "x")), []
        said = [seen(result(f, X))]
        with np.errstate(all=how, call=lambda *what, called=called: called.append(what)):
            said.append(seen(result(f, X)))
        found.append((said, called, seen(result(f, X))))
    assert found[0] == found[1]


# -- names that are not there -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("holder", "read"),
    [(np, "np"), (math, "math"), (dispatch, "dispatch"), (np.linalg, "np.linalg"), (builtins, "")],
    ids=["numpy", "math", "ours", "numpy.linalg", "builtins"],
)
@pytest.mark.parametrize("how", ["getattr", "caught"])
def test_a_name_that_is_added_is_found(holder, read, how, monkeypatch):
    """To a module that is listed, where nothing else that a trace read changes."""
    if how == "getattr" and read:
        text = f"def f(x): return x * getattr({read}, 'added_name', 2.0)"
    else:
        name = f"{read}.added_name" if read else "added_name"
        text = f"def f(x):\n    try: return x * {name}\n    except (AttributeError, NameError): return x * 2.0"
    scope = {"np": np, "math": math, "dispatch": dispatch}
    exec(text, scope)
    compiled = dispatch.compile(scope["f"])
    assert compiled(X)[0, 1] == 2
    monkeypatch.setattr(holder, "added_name", 3.0, raising=False)
    assert compiled(X)[0, 1] == 3
    monkeypatch.setattr(holder, "added_name", 4)
    assert compiled(X)[0, 1] == 4


def test_what_stands_in_our_own_modules_is_compared(monkeypatch):
    f = dispatch.compile(lambda x: dispatch.vmap(np.sin)(x))
    f(X)
    monkeypatch.setattr(dispatch, "vmap", lambda f: lambda x: x * 0)
    assert not f(X).any()


# -- classes ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("of", ["an object", "an array", "a class"])
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("base", ["our", "std"])
def test_a_class_that_is_registered_with_an_abstract_one_is_an_instance(of, when, base):
    found = []
    for wrap in (dispatch.compile, lambda f: f):
        if base == "our":
            B = abc.ABCMeta("B", (), {})
        else:
            B = type("B", (collections.abc.Sized,), {"__len__": lambda self: 1})

        class C:
            pass

        c = C()
        f = wrap(
            {
                "an object": lambda x, B=B, c=c: x * (2 if isinstance(c, B) else 3),
                "an array": lambda x, B=B: x * (2 if isinstance(x, B) else 3),
                "a class": lambda x, B=B, C=C: x * (2 if issubclass(C, (B, str)) else 3),
            }[of]
        )
        said = []
        for step in range(3):
            if step == (0 if when == "before" else 1):
                B.register(np.ndarray if of == "an array" else C)
            said.append(seen(result(f, X)))
        found.append(said)
    assert found[0] == found[1]


def test_a_union_of_classes_is_compared():
    class A:
        pass

    class B:
        pass

    kept, either = types.SimpleNamespace(v=A()), A | int
    f = dispatch.compile(lambda x: x * (2 if isinstance(kept.v, either) else 3))
    for kept.v, n in ((A(), 2), (B(), 3), (5, 2), (A(), 2)):
        assert f(X)[0, 1] == n


def test_what_a_trace_cannot_copy_is_as_it_was():
    """A counter in a class of fields alone, which is not copied, counts the calls and not the traces."""
    @dataclasses.dataclass
    class Record:
        a: np.ndarray

    def f(record):
        Record.count = getattr(Record, "count", 0) + 1
        return record.a * Record.count

    compiled = dispatch.compile(f)
    with pytest.warns(dispatch.errors.PerformanceWarning, match="changes 'count' of"):
        assert [compiled(Record(X))[0, 1] for _ in range(3)] == [1, 2, 3]


# -- dtypes and sizes -----------------------------------------------------------------------------------------------------------


def test_what_a_dtype_keeps_beside_its_layout_is_compared():
    kept = np.dtype([("a", float), ("b", int)])
    f = dispatch.compile(lambda x: x * (2 if kept.names[0] == "a" else 3))
    assert f(X)[0, 1] == 2
    kept.names = ("b", "a")
    assert f(X)[0, 1] == 3
    items = {"k": [1]}
    noted = np.dtype(float, metadata=items)
    g = dispatch.compile(lambda x: x * noted.metadata["k"][0])
    h = dispatch.compile(lambda x: x * (x.dtype.metadata or {"k": [7]})["k"][0])
    with pytest.warns(dispatch.errors.PerformanceWarning, match="a dtype with metadata"):
        assert g(X)[0, 1] == 1
    with pytest.warns(dispatch.errors.PerformanceWarning, match=r"it names \.metadata"):
        assert [h(np.ones(2))[0], h(np.ones(2, noted))[0]] == [7, 1]
    items["k"][0] = 5
    assert g(X)[0, 1] == h(np.ones(2, noted))[0] == 5


@pytest.mark.parametrize("text", ["len(str(x.shape[0]))", "len(f'{len(x)}')", "len(repr(x.shape))", "len('%s' % len(x))"])
def test_the_text_of_an_open_size_is_that_of_a_number(text):
    f = function(f"x * {text}", "x")
    compiled = dispatch.compile(f, dynamic=True)
    for n in (2, 3, 15, 150):
        assert seen(result(compiled, np.arange(float(n)))) == seen(f(np.arange(float(n))))


def test_a_key_may_be_any_text():
    held = {"{x{": {"}": 2.0}}
    f = dispatch.compile(lambda a: a * held["{x{"]["}"], fullgraph=True)
    np.testing.assert_array_equal(f(np.ones(3)), np.full(3, 2.0))
    held["{x{"]["}"] = 3.0
    np.testing.assert_array_equal(f(np.ones(3)), np.full(3, 3.0))


def test_a_dict_with_objects_for_keys_is_refused():
    class Key:
        s = 2.0

    key = Key()
    f = dispatch.compile(lambda d: sum(v * k.s for k, v in d.items()))
    with pytest.warns(dispatch.errors.PerformanceWarning, match="the argument d is a dict with a Key for a key"):
        assert f({key: X})[0, 1] == 2
    key.s = 5.0
    assert f({key: X})[0, 1] == 5


# -- what is named and not used -----------------------------------------------------------------------------------------------

USES = """
print('') | hash(3) | id(3) | globals() | eval('1') | open('/dev/null') | log.info('a') | logging.info('a') | queue.put(1) | rng.random() | path / 'a'
str(path) | f'{path}' | path == 3 | time.time() | iter(queue) | copy.deepcopy([1]) | warnings.warn('a') | os.environ['PATH'] | 'PATH' in os.environ
len(os.environ) | setattr(log, 'k', 3) | operator.attrgetter('name')(log) | bool(queue) | list(map(print, [''])) | sorted([2, 1], key=hash)
vars(log) | getattr(log, 'name') | hasattr(log, 'nope') | functools.partial(print, '')() | [1][path:] | dict(**os.environ) | np.asarray(log) | 3 - rng
""".replace("\n", " | ").strip(" |").split(" | ")


@pytest.mark.parametrize("text", USES)
def test_what_has_effects_or_reads_the_world_may_be_named_and_is_refused_where_it_is_used(text, capsys):
    """In a branch that is not taken it makes no difference; an `except` does not hide that it was used."""
    scope = {name: importlib.import_module(name) for name in "time copy os warnings logging operator functools".split()}
    scope |= {"np": np, "log": logging.getLogger("h"), "queue": Queue(), "rng": Random(0), "path": pathlib.PurePath("a")}
    exec(f"def f(x, used):\n    try:\n        if used: {text}\n    except Exception: return x * 3\n    return x * 2", scope)
    f = scope["f"]
    compiled = dispatch.compile(f, fullgraph=True)
    assert seen(compiled(X, False)) == seen(X * 2)
    said = "it calls print, which a graph leaves out" if "print" in text else "which does more than to return one"
    with pytest.raises(dispatch.errors.TracingError, match=said):
        compiled(X, True)
    assert not capsys.readouterr().out
    assert seen(compiled(X + 1, False)) == seen(f(X + 1, False))


MAKERS = [np.array, np.asarray, np.asanyarray, np.ascontiguousarray, np.asfortranarray, np.require]
MADE = [
    lambda x, make: make(x),
    lambda x, make: make(x, dtype="f"),
    lambda x, make: make(x, float),
    lambda x, make: make([x, x * 1]),
    lambda x, make: make((x * 2, x)),
    lambda x, make: make([x.sum(), 1, 2.5]),
    lambda x, make: (make([[1, 2]]), make(x) is x),
]
GIVEN = {
    "C": lambda: X.copy(),
    "F": lambda: np.asfortranarray(X),
    "gaps": lambda: np.arange(12.0).reshape(3, 4)[:, ::2],
    "no axis": lambda: np.array(2.0),
    "ints": lambda: np.arange(3),
    "one row": lambda: np.broadcast_to(np.arange(3.0), (2, 3)),
    "number": lambda: np.float32(2.5),
}


@pytest.mark.parametrize("given", GIVEN.values(), ids=GIVEN)
@pytest.mark.parametrize("make", MAKERS, ids=lambda f: f.__name__)
def test_functions_that_make_arrays_take_traced_values(make, given):
    """NumPy asks no argument of theirs whose it is: a compiled function calls what `dispatch.numpy` has by the name."""
    for f in MADE:
        compiled = dispatch.compile(lambda x, f=f: f(x, make), fullgraph=True)
        for _ in range(2):
            x, y = given(), given()
            mine, plain = compiled(x), f(y, make)
            assert seen(mine) == seen(plain)
            if isinstance(plain, np.ndarray):
                assert (mine is x, np.shares_memory(mine, x)) == (plain is y, np.shares_memory(plain, y))


def test_a_function_that_makes_arrays_and_is_replaced_is_compared(monkeypatch):
    f = dispatch.compile(lambda x: np.asarray(x) * 2)
    assert f(X)[0, 1] == 2
    monkeypatch.setattr(np, "asarray", lambda x: x * 5)
    assert f(X)[0, 1] == 10


def test_a_named_tuple_is_replaced_and_taken_apart():
    Pair = collections.namedtuple("Pair", "a b")
    for f in (lambda p: p._replace(b=p.a * 2), lambda p: Pair._make([p.b, p.a]), lambda p: p._asdict()):
        compiled = dispatch.compile(f, fullgraph=True)
        for n in (1, 2):
            assert seen(compiled(Pair(X, X + n))) == seen(f(Pair(X, X + n)))
