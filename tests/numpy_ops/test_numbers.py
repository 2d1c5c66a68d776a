"""What NumPy gives as a scalar shares memory with nothing, and an array of no axes is memory: in every layer as in NumPy itself."""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from samples import cases, maker

import dispatch
from dispatch import functionalize, grad, jvp, make_fx, ops, vmap
from dispatch.core.pytree import leaves

X = np.array([1.0, 5.0, 2.0])


def through(view: Callable[[Any], Any], of: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """A program that writes through a view of a result and returns both."""

    def program(x: Any) -> Any:
        s = of(x)
        v = view(s)
        v += 1
        return v, s, x + 0

    return program


def alias(x: Any) -> Any:
    s = np.sum(x)
    t = s
    s += 1
    return t, s


def array_alias(x: Any) -> Any:
    z = np.zeros_like(x, shape=())
    t = z
    z += 2
    return t, z


def view_of_one_element(x: Any) -> Any:
    z = x.reshape(-1)[0:1].reshape(())
    t = z
    z += 2
    return t, z, x + 0


def median(x: Any) -> Any:
    m = np.median(x, keepdims=True)
    m[:] += 0.5
    return m, np.median(x)


def cast(x: Any) -> Any:
    s, z = np.sum(x).astype("f4"), np.zeros_like(x, shape=()).astype("f4")
    t, u = s, z
    s += 1
    z += 1
    return s, t, u, z


VIEWS: dict[str, Callable[[Any], Any]] = {
    "[None]": lambda s: s[None],
    "reshape": lambda s: np.reshape(s, (1,)),
    "atleast_1d": np.atleast_1d,
    "ravel": np.ravel,
    "expand_dims": lambda s: np.expand_dims(s, 0),
    "transpose": lambda s: np.transpose(s)[None],
    "reshape to no axes": lambda s: np.reshape(s, ()),
    "moveaxis": lambda s: np.moveaxis(s, (), ()),
    "squeeze": lambda s: np.squeeze(s)[None],
    "real": lambda s: s.real[None],
    "...": lambda s: s[...],
}
RESULTS: dict[str, Callable[[Any], Any]] = {
    "sum": np.sum, "max": np.max, "x[0]": lambda x: x[0], "sin": lambda x: np.sin(x[1]), "dot": lambda x: np.dot(x, x), "median": np.median,
    "norm": np.linalg.norm, "einsum": lambda x: np.einsum("i,i", x, x), "take": lambda x: np.take(x, 1), "zeros": lambda x: np.zeros_like(x, shape=()),
    "copy": lambda x: np.copy(x[0]), "where": lambda x: np.where(x[0] > 0, x[0], x[1]),
}  # fmt: skip
PROGRAMS = {f"{view} of {name}": through(f, of) for view, f in VIEWS.items() for name, of in RESULTS.items()} | {
    "alias": alias, "array alias": array_alias, "view of one element": view_of_one_element, "median": median, "cast": cast,
}  # fmt: skip


def taped(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda x: [dispatch.detach(y) for y in f(dispatch.tensor(x, requires_grad=True) * 1)]


LAYERS: dict[str, Callable[[Any], Callable[[Any], Any]]] = {
    "tape": taped,
    "jvp": lambda f: lambda x: jvp(f, (x,), (x,))[0],
    "vmap": lambda f: lambda x: [y[1] for y in vmap(f)(np.stack([x + 3, x]))],
    "make_fx": lambda f: lambda x: make_fx(f)(x.copy())(x),
    "make_fx fake": lambda f: lambda x: make_fx(f, tracing_mode="fake")(x.copy())(x),
    "make_fx symbolic": lambda f: lambda x: make_fx(f, tracing_mode="symbolic")(x.copy())(x),
    "functionalize": functionalize,
    "compile": lambda f: dispatch.compile(f),
}


def values(results: Any) -> Any:
    return [np.asarray(y).tolist() for y in results]


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_scalar_shares_memory_with_nothing(program: str, layer: str) -> None:
    np.testing.assert_allclose(
        np.concatenate([np.ravel(y) for y in values(LAYERS[layer](PROGRAMS[program])(X.copy()))]),
        np.concatenate([np.ravel(y) for y in values(PROGRAMS[program](X.copy()))]),
    )


def add_one(a: Any) -> Any:
    a += 1
    return a * 2


@pytest.mark.parametrize("layer", ["make_fx", "make_fx fake", "make_fx symbolic", "functionalize", "compile"])
def test_a_write_to_an_argument_of_no_axes_is_kept(layer: str) -> None:
    a = np.array(1.0)
    found = LAYERS[layer](add_one)(a)
    assert (float(a), float(found)) == (2.0, 4.0)


def test_a_write_to_an_argument_of_no_axes_is_kept_by_an_exported_program() -> None:
    a = np.array(1.0)
    found = dispatch.export(add_one, (np.array(0.0),))(a)
    assert (float(a), float(found)) == (2.0, 4.0)


def test_a_number_that_is_differentiated_is_no_memory() -> None:
    def f(x: Any) -> Any:
        before = x
        x += 1
        return x * before

    assert float(grad(f)(2.0)) == float(grad(f)(np.float64(2.0))) == 5.0
    assert np.array_equal(vmap(grad(f))(np.array([2.0, 3.0])), [5.0, 7.0])


METHODS: dict[str, Callable[[Any], Any]] = {
    "put": lambda s: s.put([0], [5.0]),
    "np.put": lambda s: np.put(s, [0], [5.0]),
    "fill": lambda s: s.fill(5.0),
    "flat": lambda s: s.flat.__setitem__(0, 5.0),
}


@pytest.mark.parametrize("write", METHODS)
@pytest.mark.parametrize("of", [lambda x: x[0], np.sum, lambda x: np.zeros_like(x, shape=()) + 0])
def test_what_numpy_writes_to_an_array_made_of_a_number_leaves_the_number(of: Callable[[Any], Any], write: str) -> None:
    """In a batch as in a loop."""

    def program(x: Any) -> Any:
        s = of(x)
        METHODS[write](s)
        return s + 0.0, x + 0.0

    batch = np.stack([X, X + 1])
    assert_loop(program, batch)
    assert_loop(lambda s: (METHODS[write](s), s + 0.0)[1:], X)


VIEWS: dict[str, Callable[[Any], Any]] = {
    "[...]": lambda s: s[...],
    "reshape": lambda s: s.reshape(1),
    "expand_dims": lambda s: np.expand_dims(s, ()),
}
ALIKE: dict[str, Callable[[Any], Any]] = {
    "view": lambda s: s.view(),
    "T": lambda s: s.T,
    "real": lambda s: s.real,
    "squeeze": lambda s: s.squeeze(),
    "()": lambda s: s[()],
}


@pytest.mark.parametrize("view", VIEWS)
def test_what_numpy_makes_an_array_of_a_number_is_one_and_no_view(view: str) -> None:
    def program(x: Any) -> Any:
        s = np.ceil(x)
        v = VIEWS[view](s)
        w = v[None]
        w += 3
        return s + 0.0, v + 0.0

    assert_loop(program, X)


@pytest.mark.parametrize("view", [*VIEWS, *ALIKE])
@pytest.mark.parametrize("layer", ["functionalize", "make_fx", "compile"])
def test_a_view_of_a_number_is_the_kind_of_value_that_numpy_gives(view: str, layer: str) -> None:
    def program(x: Any) -> Any:
        return {**VIEWS, **ALIKE}[view](np.sum(x))

    made = {"functionalize": functionalize, "make_fx": lambda f: make_fx(f)(X), "compile": dispatch.compile}[layer](program)
    assert type(made(X)) is type(program(X))


def assert_loop(f: Callable[..., Any], batch: Any) -> None:
    found, expected = vmap(f)(batch.copy()), [f(np.copy(x)[()]) for x in batch]
    for n, x in enumerate(found):
        assert np.array_equal(x, np.stack([items[n] for items in expected]))


# -- the bits of NumPy's scalars ---------------------------------------------------------------------------------------------

DTYPES = [np.dtype(c) for c in "?bBlLefdFD"]
PYTHONS = [2, -1, 0.5, 2.5, 1.5 + 2j, True]
BINARY = [
    *(operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow, divmod, operator.iadd),
    *(operator.imul, operator.ipow, operator.and_, operator.lshift, operator.lt),
]
UNARY = [abs, operator.neg, operator.pos, operator.invert]


def numbers_of(dtype: np.dtype[Any], count: int = 25) -> Any:
    random = np.random.default_rng(ord(dtype.char))
    values = random.normal(size=count) * 3 if dtype.kind in "fc" else random.integers(0, 2 if dtype.kind == "b" else 5, count)
    return (values + 1j * random.normal(size=count) if dtype.kind == "c" else values).astype(dtype)


def combined(op: Any, given: list[Any], number: Any) -> Callable[..., Any]:
    """Every number of the first array with the one of the others, or with a number of Python's, in both orders."""

    def f(*arrays: Any) -> Any:
        out = []
        for i in range(len(arrays[0])):
            pair = [x[i] for x in arrays] + ([] if number is None else [number])
            for order in (pair, pair[::-1]) if len(pair) > 1 else (pair,):
                found = op(*order)
                out += found if isinstance(found, tuple) else [found]
        return out

    return f


@pytest.mark.parametrize("op", BINARY + UNARY, ids=lambda op: op.__name__)
def test_operators_on_numbers_give_the_bits_of_numpys_scalars_in_every_layer(op: Any) -> None:
    cases = [([x], None) for x in DTYPES] if op in UNARY else [([x, y], None) for x in DTYPES for y in DTYPES] + [([x], n) for x in DTYPES for n in PYTHONS]
    for dtypes, number in cases:
        given = [numbers_of(x) for x in dtypes]
        f = combined(op, given, number)
        with np.errstate(all="ignore"):
            try:
                expected = f(*given)
            except Exception:
                continue
            found = {"functionalize": functionalize(f)(*given)}
            if all(x.kind in "fc" for x in dtypes):
                found["tape"] = dispatch.vjp(lambda *x, f=f: (np.sum(x[0]), f(*x)), *given, has_aux=True)[2]
                found["jvp"] = jvp(lambda *x, f=f: (np.sum(x[0]), f(*x)), tuple(given), tuple(given), has_aux=True)[2]
            if dtypes[0] == dtypes[-1]:
                found["graph"] = make_fx(f, "fake")(*given)(*given)
        for layer, values in found.items():
            for x, y in zip(values, expected, strict=True):
                assert np.asarray(x).dtype == np.asarray(y).dtype, (layer, dtypes, number)
                assert np.asarray(x).tobytes() == np.asarray(y).tobytes() or np.isnan(y), (layer, dtypes, number, x, y)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_a_list_times_a_number_is_what_numpys_scalars_make_of_it(dtype: np.dtype[Any]) -> None:
    def f(x: Any) -> Any:
        return [x[0] * [2.0, 3.0], (1, 2) * x[0]]

    x = np.array([2], dtype)
    try:
        expected = f(x)
    except TypeError:
        with pytest.raises(TypeError):
            functionalize(f)(x)
        return
    assert functionalize(f)(x) == expected
    with pytest.raises(dispatch.errors.DispatchError):
        make_fx(f, "fake")(x)
    with pytest.raises(dispatch.errors.DispatchError):
        vmap(f)(x[None])


AUGMENTED = [operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.ifloordiv, operator.imod, operator.ipow, operator.iand, operator.ilshift, operator.imatmul]
OTHERS = [3, np.array(3), np.array(2.0), np.float64(2), np.uint8(3), np.array([1.0, 2.0]), [1, 2], (2.0,)]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_an_augmented_assignment_of_a_number_is_the_assignment_of_a_new_value(dtype: np.dtype[Any]) -> None:
    """NumPy's scalars have none, and so a list times a number of it is what Python makes of a list."""
    for op in AUGMENTED:
        for other in OTHERS:

            def f(x: Any, op: Any = op, other: Any = other) -> Any:
                return op(x[0], other)

            x = np.array([2, 3], dtype)
            with np.errstate(all="ignore"):
                try:
                    expected = f(x)
                except Exception as error:
                    with pytest.raises((type(error), ValueError, dispatch.errors.DispatchError)):
                        functionalize(f)(x)
                    continue
                found = functionalize(f)(x)
                assert type(found) is type(expected), (op, other)
                assert np.asarray(found).dtype == np.asarray(expected).dtype, (op, other)
                assert np.array_equal(found, expected), (op, other)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_an_augmented_power_is_the_ufunc_that_numpy_takes(dtype: np.dtype[Any]) -> None:
    for power in (2, -1, 0.5, 2.0, 1, 3):

        def f(x: Any, power: Any = power) -> Any:
            x **= power
            return x

        x = np.array([np.inf, -0.0, np.nan, 1.5, -3.0, 0.1]).astype(dtype) if dtype.kind in "fc" else np.array([0, 1, 3]).astype(dtype)
        with np.errstate(all="ignore"):
            try:
                expected = f(x.copy())
            except Exception as error:
                with pytest.raises((type(error), ValueError)):
                    functionalize(f)(x.copy())
                continue
            found = functionalize(f)(x.copy())
        assert found.tobytes() == expected.tobytes() or np.isnan(expected).any(), power
        assert np.array_equal(np.signbit(found.real), np.signbit(expected.real)), power


INSIDE: dict[str, Callable[[Any], Any]] = {
    "grad": lambda x: grad(np.sin)(x),
    "value of jvp": lambda x: jvp(np.sin, (x,), (x,))[0],
    "tangent": lambda x: jvp(np.sin, (x,), (x,))[1],
    "value of vjp": lambda x: dispatch.vjp(np.sin, x)[0],
    "vjp": lambda x: dispatch.vjp(np.sin, x)[1](1.0)[0],
    "grad of grad": lambda x: grad(grad(np.sin))(x),
    "jvp of grad": lambda x: jvp(grad(np.sin), (x,), (x,))[1],
    "grad of jvp": lambda x: grad(lambda x: jvp(np.sin, (x,), (x,))[1])(x),
    "hessian": lambda x: dispatch.hessian(np.sin)(x),
}


@pytest.mark.parametrize("layer", ["make_fx", "make_fx fake", "make_fx symbolic", "functionalize", "compile", "vmap"])
@pytest.mark.parametrize("inside", INSIDE)
def test_what_leaves_a_transform_without_axes_is_memory_in_every_layer(inside: str, layer: str) -> None:
    def program(x: Any) -> Any:
        y = INSIDE[inside](x)
        same, view = y, y[None]
        same += 1.0
        return y, same, view

    x = np.array(2.0)
    expected = program(x)
    found = [y[1] for y in vmap(program)(np.stack([x + 3, x]))] if layer == "vmap" else LAYERS[layer](program)(x)
    assert layer == "vmap" or [type(y) for y in found] == [np.ndarray] * 3
    for y, z in zip(found, expected, strict=True):
        np.testing.assert_allclose(y, z)


def test_an_index_of_arrays_without_axes_gives_a_copy() -> None:
    places = [(np.array(0),), (np.array(0), ...), (np.array(0), np.array(1)), (np.array(0), np.array(1), ...), (np.array(0), slice(None))]
    for index in places:

        def f(x: Any, index: Any = index) -> Any:
            y = x[index]
            y += 1
            return x + 0, y

        x = np.arange(6.0).reshape(2, 3)
        for run in (functionalize(f), lambda x, f=f: make_fx(f, "fake")(x)(x), lambda x, f=f: jvp(f, (x,), (x,))[0]):
            assert all(map(np.array_equal, run(x.copy()), f(x.copy()))), index
        assert np.array_equal(vmap(f)(x[None])[0][0], x)


def _with_number(op: Any, case: Any, place: int, number: Any) -> tuple[Callable[..., Any], list[Any]]:
    """A row with a number of Python's in place of one of its arrays, and the others."""
    others = [i for i, x in enumerate(case) if isinstance(x, np.ndarray) and i != place]

    def f(*arrays: Any) -> Any:
        args = list(case)
        args[place] = number
        for i, x in zip(others, arrays, strict=True):
            args[i] = x
        count = op.arguments.positional
        return op(*args[:count], **dict(zip(op.arguments.keyword_names, args[count:], strict=True)))

    return f, [case[i] for i in others]


OF_SEVERAL = [op for op in ops.np if not op.schema.is_mutable and sum(a.type.has_tensor for a in op.schema.arguments) > 1]


# `product_of_others` has a last axis, which a number has not.
@pytest.mark.parametrize("op", [op for op in OF_SEVERAL if not op.name.endswith("_where") and op.name not in ("np::extract", "np::product_of_others")], ids=lambda op: op.name)
def test_a_fake_row_takes_pythons_numbers_where_the_row_takes_them(op: Any) -> None:
    for case in cases(op, maker(np.float64))[:3]:
        for place, number in [(i, n) for i, x in enumerate(case) if isinstance(x, np.ndarray) for n in (2, 0.5, True, 1 + 2j)]:
            f, arrays = _with_number(op, case, place, number)
            with np.errstate(all="ignore"):
                try:
                    expected = leaves(f(*arrays))
                except Exception:
                    continue
                if (op.name, place) == ("np::take", 1) and number == 0.5:
                    continue  # NumPy cuts off what is behind the point of a number, and of no array
                found = leaves(make_fx(f, "fake")(*arrays)(*arrays))
            assert [(np.shape(x), np.asarray(x).dtype) for x in found] == [(np.shape(x), np.asarray(x).dtype) for x in expected]


def test_isclose_takes_a_number_under_fakes() -> None:
    f = lambda x: (np.isclose(x, -1), np.isclose(x, True), np.isclose(x, 0.5), np.isclose(2, x))
    for x in (np.array([1, -1, 2]), np.array([0.5, 1.0, -1.0])):
        assert all(map(np.array_equal, make_fx(f, "fake")(x)(x), f(x)))


AXES_OF_NONE = {
    name: getattr(np, name)
    for name in "repeat cumsum cumprod argmax argmin max min sum prod mean std any all squeeze ptp nansum count_nonzero sort flip roll diff delete".split()
} | {
    "take": lambda x, axis: np.take(x, [0], axis=axis),
    "take a number": lambda x, axis: np.take(x, 0, axis=axis),
    "compress": lambda x, axis: np.compress([True], x, axis=axis),
    "repeat": lambda x, axis: np.repeat(x, 2, axis=axis),
    "roll": lambda x, axis: np.roll(x, 1, axis=axis),
    "delete": lambda x, axis: np.delete(x, 0, axis=axis),
    "norm": lambda x, axis: np.linalg.norm(x, axis=axis),
    "concatenate": lambda x, axis: np.concatenate([x, x], axis=axis),
}


@pytest.mark.parametrize("name", AXES_OF_NONE)
@pytest.mark.parametrize("axis", [0, -1, 1, None])
def test_an_array_without_axes_has_the_axes_that_numpy_lets_it_have(name: str, axis: Any) -> None:
    function = AXES_OF_NONE[name]
    f = lambda x: function(x, axis=axis)
    x = np.array(2.5)
    runs = [functionalize(f), lambda x: make_fx(f, "fake")(x)(x), lambda x: vmap(f)(x[None])[0]]
    if name not in ("argmax", "argmin", "any", "all", "count_nonzero"):
        runs.append(lambda x: jvp(f, (x,), (x,))[0])
    try:
        expected = f(x)
    except Exception as error:
        for run in runs:
            with pytest.raises(type(error)):
                run(x)
        return
    for run in runs:
        assert np.array_equal(run(x), expected)
        assert np.shape(run(x)) == np.shape(expected)


def test_an_array_without_axes_is_padded_to_a_copy() -> None:
    def f(x: Any) -> Any:
        y = np.pad(x, 1, mode="constant", constant_values=2)
        y[...] = 5.0
        return x + 0, y

    x = np.array(1.0)
    for run in (f, functionalize(f), lambda x: make_fx(f, "fake")(x)(x), lambda x: jvp(f, (x,), (x,))[0]):
        assert list(map(float, run(x))) == [1.0, 5.0]
