"""The bools of Python that `np.allclose` and `np.array_equal` give, in compiled functions, against the functions themselves."""

import operator
from contextlib import nullcontext

import numpy as np
import pytest

import dispatch
from dispatch.compiler.python_bools import POWERS, is_python_bool, python_bool
from dispatch.errors import PerformanceWarning, TracingError

x = np.array([1.0, 2.0, 3.0])
CLOSE, FAR = x + 1e-12, x + 1
SCOPE = {"np": np, "dispatch": dispatch, "operator": operator}


def same(a, b):
    """Whether two results are the same: classes, dtypes, shapes and bytes."""
    if type(a) is not type(b):
        return False
    if isinstance(a, (tuple, list)):
        return len(a) == len(b) and all(map(same, a, b))
    return np.asarray(a).dtype == np.asarray(b).dtype and np.shape(a) == np.shape(b) and np.asarray(a).tobytes() == np.asarray(b).tobytes()


def held(text, **options):
    """Return a function of two arrays, compiled, whose three calls were held against the function itself."""
    f = eval(f"lambda x, y: {text}", dict(SCOPE))
    compiled = dispatch.compile(f, **options)
    for y in (CLOSE, FAR, CLOSE):
        try:
            expected = f(x.copy(), y.copy())
        except Exception as error:
            with pytest.raises(type(error)):
                compiled(x.copy(), y.copy())
        else:
            assert same(compiled(x.copy(), y.copy()), expected)
    return compiled


ONE = "np.allclose(x, y)"
IN_GRAPHS = [
    ONE, "np.array_equal(x, y)", "np.array_equal(x, y, equal_nan=True)", f"(x * 2, {ONE})", f"[{ONE}] * 2", f"x * {ONE}", f"{ONE} * x", f"{ONE} < x", f"{ONE} + x.sum()",
    f"x.sum() * {ONE}", f"np.where({ONE}, x, y)", f"x.sum(where={ONE})", f"(x > 1) & {ONE}", f"operator.iand({ONE}, x > 1)", f"np.append(x, {ONE})", f"np.full_like(x, {ONE})",
    f"x * 2 if isinstance({ONE}, bool) else x", f"x * 2 if isinstance({ONE}, (np.bool_, np.ndarray)) else x", f"x if {ONE} is None else x * 2", f"np.shape({ONE})", f"x[{ONE}]",
    "dispatch.grad(lambda u: np.sum(u * np.allclose(u, y)))(x)", "dispatch.vmap(lambda u: np.allclose(u, 1.0))(x)", f"dispatch.cond({ONE}, lambda u: u * 2, lambda u: u * 3, x)",
]  # fmt: skip
AS_THEY_ARE = [
    f"{ONE} + 1", f"{ONE} + {ONE}", f"sum([{ONE}, {ONE}])", f"-{ONE}", f"~{ONE}", f"abs({ONE})", f"{ONE} == True", f"{ONE}.real", f"{ONE}.conjugate()", f"{ONE}.__add__(x)", f"x ** {ONE}", f"{ONE} ** x", f"np.logical_not({ONE})",
    f"np.array([{ONE}])", f"np.full(3, {ONE})", f"[x, y][{ONE}]", f"int({ONE})", f"not {ONE}", f"{ONE} and x", f"{ONE} in (True,)", f"x if {ONE} is True else y",
    f"x if True is {ONE} else y", f"x if type({ONE}) is bool else y", f"x if operator.is_({ONE}, True) else y", "dispatch.fori_loop(0, 3, lambda i, c: c * np.allclose(c, c), x)",
]  # fmt: skip


@pytest.mark.parametrize("options", [{}, {"dynamic": True}], ids=str)
@pytest.mark.parametrize("text", IN_GRAPHS)
def test_a_graph_gives_what_the_function_gives(text, options):
    held(text, fullgraph=True, **options)


@pytest.mark.filterwarnings("ignore:Bitwise inversion:DeprecationWarning")  # since CPython 3.12
@pytest.mark.parametrize("text", AS_THEY_ARE)
def test_what_python_decides_by_such_a_bool_runs_as_it_is(text):
    with pytest.warns(PerformanceWarning, match="runs as it is"):
        held(text)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_each_function_of_two_arrays_takes_it_as_numpy_takes_pythons():
    """NumPy is the oracle: `u(x, True)`, for each ufunc of two arguments and kind of dtype."""
    counted = 0
    for name in sorted({u.__name__ for u in vars(np).values() if isinstance(u, np.ufunc) and u.nin == 2 and not u.signature}):
        for char in "?bHle":
            array = np.ones(3, char)
            for args in ("a, np.array_equal(a, b)", "np.array_equal(a, b), a"):
                f = eval(f"lambda a, b: np.{name}({args})", dict(SCOPE))
                try:
                    expected = [f(array, b) for b in (array, 0 * array)]
                except TypeError:
                    continue
                compiled = dispatch.compile(f, fullgraph=name not in POWERS)
                with pytest.warns(PerformanceWarning) if name in POWERS else nullcontext():
                    assert same([compiled(array, b) for b in (array, 0 * array)], expected), (name, char)
                counted += 1
    assert counted > 200


def test_the_attribute_of_an_object_is_python_s_bool():
    class Solver:
        def step(self, a, b):
            self.done = np.allclose(a, b)
            return a + b

    found, expected = Solver(), Solver()
    compiled = dispatch.compile(found.step, fullgraph=True)
    for y in (CLOSE, FAR, CLOSE):
        assert same(compiled(x, y), expected.step(x, y))
        assert found.done is expected.done


def test_where_a_rule_of_a_user_runs_in_the_trace_none_stands_in_the_graph():
    """Its code asks the builtins, which no trace answers."""
    twice = dispatch.custom_op("bools_of_rules::twice", lambda a: a * 2, mutates_args=(), schema="(Tensor a) -> Tensor")
    twice.register_fake(np.empty_like)
    twice.register_autograd(lambda ctx, g: g * 2 if np.allclose(g, g) is True else g)
    f = dispatch.grad(lambda a: np.sum(twice(a)))
    compiled = dispatch.compile(f)
    with pytest.warns(PerformanceWarning, match="np.allclose gives Python's bool in NumPy"):
        assert same(compiled(x), f(x))


def test_an_attribute_that_it_has_not_is_missed_as_outside():
    def f(a, b):
        try:
            n = np.allclose(a, b).ndim
        except AttributeError:
            n = 5
        return a * n

    compiled = dispatch.compile(f)
    with pytest.warns(PerformanceWarning, match="runs as it is"):
        compiled(x, CLOSE)
    for y in (CLOSE, FAR):
        assert same(compiled(x, y), f(x, y))


@pytest.mark.parametrize("text", [f"{ONE} + 1", f"x ** {ONE}"])
def test_the_message_says_what_to_write(text):
    f = eval(f"lambda x, y: {text}", dict(SCOPE))
    with pytest.raises(TracingError) as info:
        dispatch.compile(f, fullgraph=True)(x, CLOSE)
    assert "computes with Python's bool in <string>:1, in <lambda>, which np.allclose and np.array_equal give, as Python does" in str(info.value)
    assert str(info.value).endswith("Write np.all(np.isclose(a, b)) or np.all(a == b).")


def test_numpys_own_bool_is_none():
    assert not is_python_bool(np.True_)
    assert not is_python_bool(True)
    assert python_bool(np.True_) is True
    assert python_bool(np.array(False)) is False
