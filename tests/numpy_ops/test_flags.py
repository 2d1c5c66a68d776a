"""NumPy's flags and corners on values of the layers: what is honoured is NumPy's own answer, of plain arrays too."""

import re
import subprocess
import sys
import warnings
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

import dispatch
from dispatch import functionalize, grad, jvp, make_fx, vmap
from dispatch.errors import DispatchError, UnsupportedError

X = np.array([[1.5, 0.5, 2.0], [0.25, 3.0, 1.0]])
NO_COPY: dict[str, Any] = {"copy": False} if np.lib.NumpyVersion(np.__version__) >= "2.1.0" else {}  # NumPy 2.0 has no such argument
MASK = np.array([True, False, True])
BYTES = np.ones(300, "i1")

# Programs whose answer is NumPy's on plain arrays, of an array X in Fortran's order.
PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "median of a nan": lambda x: np.median(np.where(x > 2.5, np.nan, x)),
    "angle of a negative number": lambda x: np.angle(-x),
    "linspace of whole numbers": lambda x: np.linspace(x[0, 0], -x[1, 1], 7, dtype=int),
    "einsum adds in the common dtype": lambda x: x[0, 0] * 0 + np.einsum("i,k->k", BYTES, x[0]),
    "add.at in the dtype of the array": lambda x: _added(np.zeros_like(x, "i8", shape=(2,)), BYTES),
    "a copy of a reshape": lambda x: _written(np.reshape(x, (2, 3, 1), copy=True), x),
    "one index taken": lambda x: _written(np.take(x, 1, axis=0), x),
    "truth values taken are 0 and 1": lambda x: np.take(x, [True, False, True], axis=1),
    "nothing taken of an empty axis": lambda x: np.take(x[:0, :0], [0, -1], axis=1),
    "nothing taken at places that are not there": lambda x: np.take(x[:0], [7, 9], axis=-1),
    "nothing wrapped": lambda x: np.take(x[:0, :0], [5], axis=-1, mode="wrap"),
    "nothing repeated less than never": lambda x: np.repeat(x[:, :0], -1, 1),
    "a diagonal filled with nothing": lambda x: _filled(x * 1, x[:0]),
    "filled with a value of more axes": lambda x: np.full_like(x[0], x[:1]),
    "a number's mean where a number says": lambda x: np.mean(x.sum(), -1, where=np.True_) + np.std(x.sum(), 0, where=np.array(True)),
    "a deviation of one complex number in a real dtype": lambda x: np.std((x + 2j * x)[:1], axis=0, dtype=np.float64),
    "a transform of a number": lambda x: np.fft.fftn(x.sum())[...],
    "nothing compressed": lambda x: np.compress([True, True], x[:0, :0], axis=1),
    "a copy lies in C order": lambda x: x.copy(),
    "reshape by columns": lambda x: np.reshape(x, (3, 2), order="F"),
    "ravel by columns": lambda x: np.ravel(x, order="F"),
    "flatten by columns": lambda x: x.flatten("F"),
    "initial": lambda x: np.sum(x, 0, initial=2.0),
    "largest with initial": lambda x: np.max(x, 1, initial=1.0),
    "where": lambda x: np.mean(x, 1, where=MASK),
    "where of a largest": lambda x: np.min(x, 0, initial=9.0, where=X > 1),
    "variance where": lambda x: np.var(x, 1, where=MASK, ddof=1),
    "weights of two axes": lambda x: np.average(x[None] * np.ones((2, 1, 1)), axis=(0, 2), weights=np.arange(1.0, 7.0).reshape(2, 3)),
    "average along listed axes": lambda x: np.average(x[None] * np.ones((2, 1, 1)), axis=[0, 2]),
    "average returned": lambda x: np.stack(np.average(x, 1, MASK + 1.0, returned=True)),
    "axes of einsum": lambda x: np.einsum(x, [0, 1], x, [2, 1], [0, 2]),
    "dtype of a ufunc": lambda x: np.multiply(x, x, dtype="f4", casting="same_kind"),
    "dtype of a join": lambda x: np.concatenate([x, x], dtype="f4"),
    "diff with ends": lambda x: np.diff(x, axis=1, prepend=0, append=x[:, :1]),
    "sorter": lambda x: np.searchsorted(x[0], 1.0, sorter=[1, 0, 2]) + 0 * x[0, 0],
    "take around": lambda x: np.take(x, [7, -1], mode="wrap"),
    "writes to a diagonal": lambda x: _diagonal(x @ x.T),
    "half precision": lambda x: np.var(x.astype("f2")),
    "an initial array of no axes": lambda x: np.sum(x, 0, initial=np.array(0.5)) + np.maximum.reduce(x, initial=np.array(2)),
    "an initial array of no axes beside a mask": lambda x: np.max(x, initial=np.array(0.5), where=[True, False, True]),
    "no copy": lambda x: np.reshape(x.copy(), (6,), **NO_COPY),
    "whole numbers for truth values": lambda x: np.sum(x, 1, keepdims=1) + x.max(1, keepdims=np.int64(1)) + np.linalg.norm(x, axis=1, keepdims=0)[:, None],
    "a correction beside the default": lambda x: _corrected(x),
    "a number, taken within bounds": lambda x: np.take(np.sum(x), [[0], [5]], axis=0, mode="clip") + np.take(np.sum(x), 3, 0, mode="wrap"),
}  # fmt: skip


def _added(y: Any, values: Any) -> Any:
    np.add.at(y, [0] * 300, values)
    return y


def _filled(x: Any, value: Any) -> Any:
    np.fill_diagonal(x, value)
    return x


def _written(y: Any, x: Any) -> Any:
    before = x + 0
    y *= 3
    return np.sum(y) + np.sum(x - before)


def _corrected(x: Any) -> Any:
    return np.var(x, 0, correction=1, ddof=0) + np.nanstd(x, 0, ddof=0, correction=2)


def _diagonal(y: Any) -> Any:
    np.einsum("ii->i", y)[:] = 5
    return y


LAYERS: dict[str, Callable[[Any], Callable[[Any], Any]]] = {
    "tape": lambda f: lambda x: dispatch.detach(f(dispatch.tensor(x, requires_grad=True) * 1)),
    "jvp": lambda f: lambda x: jvp(f, (x,), (x,))[0],
    "vmap": lambda f: lambda x: vmap(f)(np.stack([x + 1, x]))[1],
    "make_fx": lambda f: lambda x: make_fx(f)(x)(x),
    "make_fx fake": lambda f: lambda x: make_fx(f, tracing_mode="fake")(x)(x),
    "functionalize": functionalize,
    "compile": dispatch.compile,
}


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_layer_answers_as_numpy_does(program: str, layer: str) -> None:
    x = np.asfortranarray(X)
    expected, found = PROGRAMS[program](x.copy("F")), LAYERS[layer](PROGRAMS[program])(x.copy("F"))
    np.testing.assert_allclose(np.asarray(found), expected, rtol=1e-2 if np.asarray(expected).dtype == np.float16 else 1e-6)
    assert np.asarray(found).dtype == np.asarray(expected).dtype
    if layer in ("make_fx", "functionalize", "compile") and np.ndim(expected) > 1:
        assert found.strides == expected.strides


RAISING: dict[str, tuple[Callable[[Any], Any], type[Exception] | tuple[type[Exception], ...]]] = {
    "multi_dot": (lambda x: np.linalg.multi_dot([x, np.ones((1, 4)), np.ones((4, 2))]), ValueError),
    "einsum": (lambda x: np.einsum("ii", x[:1]), ValueError),
    "weights that sum to zero": (lambda x: np.average(x, 1, np.array([1.0, -1.0, 0.0])), ZeroDivisionError),
    "a list of axes": (lambda x: np.linalg.norm(x, axis=[0, 1]), TypeError),
    "a list of axes of a ufunc": (lambda x: np.sum(x, axis=[0, 1]), TypeError),
    "a list of axes beside a mask": (lambda x: np.max(x, axis=[0], where=x > 0, initial=0), TypeError),
    "a list of axes of a ufunc's method": (lambda x: np.logaddexp.reduce(x, axis=[0]), TypeError),
    "a range of axes": (lambda x: np.mean(x, axis=range(2)), TypeError),
    "two names of one parameter": (lambda x: np.std(x, ddof=1, correction=1), ValueError),
    "no copy where there has to be one": (lambda x: np.reshape(x.copy().T, (6,), copy=False), (ValueError, TypeError)),
    "complex weights": (lambda x: np.bincount([0, 1, 1], x[0] * 1j), TypeError),
    "complex weights of fields": (lambda x: np.histogram2d(x[0], x[1], 2, weights=x[0] * 1j), TypeError),
    "a float for a truth value": (lambda x: np.sum(x, 0, keepdims=1.0), TypeError),
    "std of no axis": (lambda x: np.std(np.sum(x), axis=0), np.exceptions.AxisError),
    "mean of no axis": (lambda x: np.mean(np.sum(x), axis=0), np.exceptions.AxisError),
}  # fmt: skip


@pytest.mark.parametrize("layer", [name for name in LAYERS if name != "compile"])
@pytest.mark.parametrize("program", RAISING)
def test_a_layer_raises_where_numpy_does(program: str, layer: str) -> None:
    call, error = RAISING[program]
    with pytest.raises(error):
        call(X)
    with pytest.raises((*error, DispatchError) if isinstance(error, tuple) else (error, DispatchError)):
        LAYERS[layer](call)(X)


def test_a_cast_of_a_complex_array_is_a_new_one() -> None:
    z = np.array([1j, 0, 2.0])
    assert functionalize(lambda z: z.astype(bool))(z).tolist() == [True, False, True]
    with pytest.warns(np.exceptions.ComplexWarning, match="discards the imaginary part"):
        assert not np.shares_memory(functionalize(lambda z: z.astype(float))(z), z)


def test_methods_of_truth_values_are_numpys() -> None:
    b = np.array([True, False])
    assert functionalize(lambda b: b.conj())(b).dtype == b.conj().dtype
    assert functionalize(lambda b: b**2)(b).dtype == (b**2).dtype


def test_numbers_in_place_of_nan_are_written_to_the_array() -> None:
    x = np.array([np.nan, 1.0, np.inf])

    def f(x: Any) -> Any:
        np.nan_to_num(x, copy=False, posinf=7.0)
        return x

    for run in (functionalize(f), make_fx(f)(x.copy()), dispatch.compile(f)):
        y = x.copy()
        assert run(y).tolist() == y.tolist() == f(x.copy()).tolist()


def test_a_nan_is_searched_for_in_each_item_as_in_one() -> None:
    floats = np.array([[1.0, 2.0, np.nan], [1.0, 2.0, 3.0]])
    parts = [1 + 1j, 1 + 2j, 2, np.inf, complex(1, np.nan), complex(3, np.nan), complex(np.nan, 1), complex(np.nan, 2), complex(np.nan, np.nan)]
    numbers = np.array([parts, [*parts[1:], parts[-1]]])
    for side in ("left", "right"):
        for bins, v in [(x, v) for x, values in ((floats, (np.nan, 2.0, 5.0)), (numbers, (*parts, 2.0, np.nan))) for v in values]:
            found = vmap(lambda a, side=side, v=v: np.searchsorted(a, v, side))(bins)
            assert found.tolist() == [int(np.searchsorted(a, v, side)) for a in bins]


def test_a_gradient_is_of_the_machines_byte_order() -> None:
    x = np.array([1.0, 2.0], ">f8")
    for f in (np.sum, lambda x: np.sum(x * x), lambda x: np.sum(x[1:])):
        assert grad(f)(x).dtype == np.dtype(float)
        assert np.array_equal(grad(f)(x), grad(f)(x.astype(float)))


def test_a_shuffle_that_would_repeat_rows_raises() -> None:
    code = (
        "import numpy as np, dispatch\n"
        "x = dispatch.tensor(np.eye(4), requires_grad=True) * 1\n"
        "try: np.random.default_rng(0).shuffle(x)\n"
        "except UserWarning as error: print('raised', np.array_equal(dispatch.detach(x), np.eye(4)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "raised True\n", done.stderr


def test_the_shape_of_a_fake_is_not_assigned() -> None:
    with dispatch.FakeTensorMode() as mode:
        x = mode.from_array(X)
    with pytest.raises(AttributeError, match=r"x\.shape = \(3, 2\) would change in place .* Write x = x\.reshape\(\(3, 2\)\)\."):
        x.shape = (3, 2)
    assert (x.shape, x.strides) == (X.shape, X.strides)


# Layouts that NumPy tells apart: by columns, strided, reversed, repeated, of three axes.
LAYOUTS: dict[str, Any] = {
    "rows": np.arange(6.0).reshape(2, 3),
    "columns": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "columns reversed": np.asfortranarray(np.arange(6.0).reshape(2, 3))[:, ::-1],
    "rows reversed": np.arange(6.0).reshape(2, 3)[::-1],
    "strided": np.arange(24.0).reshape(4, 6)[::2, ::2],
    "repeated": np.broadcast_to(np.arange(3.0), (2, 3)),
    "repeated inside": np.broadcast_to(np.arange(4.0).reshape(2, 1, 2), (2, 3, 2)).transpose(2, 0, 1),
    "three axes": np.arange(24.0).reshape(2, 3, 4).transpose(1, 2, 0),
    "one row": np.ones((1, 3)),
    "no elements": np.ones((0, 3)),
    "one axis": np.arange(6.0)[::2],
}
ORDERED: dict[str, Callable[[Any, Any], Any]] = {
    "np.copy": lambda x, order: np.copy(x, order=order),
    "x.copy": lambda x, order: x.copy(order),
    "np.ravel": lambda x, order: np.ravel(x, order=order),
    "x.ravel": lambda x, order: x.ravel(order),
    "x.flatten": lambda x, order: x.flatten(order),
    "np.reshape": lambda x, order: np.reshape(x, (x.size, 1), order=order),
    "x.reshape": lambda x, order: x.reshape(-1, order=order),
    "np.sin": lambda x, order: np.sin(x, order=order),
    "np.add": lambda x, order: np.add(x, 1.0, order=order),
    "of two": lambda x, order: np.multiply(x, np.asfortranarray(np.ones(x.shape)), order=order),
    "x.astype": lambda x, order: x.astype("f4", order=order),
    "x.astype of the same": lambda x, order: x.astype("f8", order=order),
    "np.zeros_like": lambda x, order: np.zeros_like(x, order=order),
    "np.clip": lambda x, order: np.clip(x, 1.0, 3.0, order=order),
    "a view by np.einsum": lambda x, order: np.einsum("...->...", x, order=order),
}


def lies(x: Any) -> tuple[Any, ...]:
    """The layout of an array, of axes that have one."""
    return x.shape, x.dtype, tuple(stride for n, stride in zip(x.shape, x.strides, strict=True) if n > 1 and x.size)


@pytest.mark.parametrize("name", ORDERED)
@pytest.mark.parametrize("order", ["C", "F", "A", "K", None, "Q", "c", "f", "a"])
def test_an_order_is_numpys_in_every_layout(name: str, order: Any) -> None:
    for word, x in LAYOUTS.items():
        f = lambda x: ORDERED[name](x, order)
        try:
            expected = f(x)
        except (ValueError, TypeError) as error:
            with pytest.raises((type(error), DispatchError)):
                make_fx(f)(x)
            continue
        for found in (make_fx(f)(x)(x), dispatch.eval_shape(f, x)):
            assert lies(found) == lies(expected), word
        np.testing.assert_array_equal(make_fx(f, "fake")(x)(x), expected, err_msg=word)
        batch = np.stack([x, x + 1])
        np.testing.assert_array_equal(vmap(f)(batch), [f(item) for item in batch], err_msg=word)


MASKS = [True, False, 1, 0, [True, False, True], [1, 0, 1], np.int64(1), np.array([True, False, True]), np.array(1), np.array([1, 0, 1])]


def _copied(x: Any, mask: Any) -> Any:
    y = x * 1
    np.copyto(y, 2, where=mask)
    return y


@pytest.mark.parametrize("mask", MASKS, ids=repr)
@pytest.mark.parametrize(
    "function",
    [
        lambda x, mask: np.sum(x, where=mask), lambda x, mask: np.mean(x, axis=0, where=mask), lambda x, mask: np.max(x, initial=-1, where=mask),
        lambda x, mask: np.any(x, where=mask), lambda x, mask: np.add(x, 1, where=mask, out=np.zeros_like(x)), _copied,
    ],
    ids=["sum", "mean", "max", "any", "ufunc", "copyto"],
)  # fmt: skip
def test_where_takes_what_numpy_takes(function: Any, mask: Any) -> None:
    x = np.arange(6.0).reshape(2, 3)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        f = lambda x: function(x, mask)
        try:
            expected = f(x)
        except TypeError as error:
            for run in (dispatch.functionalize(f), lambda x: dispatch.make_fx(f, "fake")(x)):
                with pytest.raises(TypeError, match=re.escape(str(error)[:30])):
                    run(x)
            return
        for run in (dispatch.functionalize(f), lambda x: dispatch.make_fx(f, "fake")(x)(x), lambda x: dispatch.jvp(f, (x,), (x,))[0]):
            assert np.array_equal(run(x), expected, equal_nan=expected.dtype.kind == "f")


@pytest.mark.parametrize("code", "?bBlLefdFD")
@pytest.mark.parametrize("name", ["sum", "prod", "max", "min"])
def test_an_initial_value_is_cast_as_numpy_casts_it(name: str, code: str) -> None:
    x = np.array([0, 1, 1] if code in "?BL" else [-3, 1, 2]).astype(code)
    for initial in (2.5, -1, True, 0, 2, -2.5, 1 + 2j, np.int8(3)):
        for mask in (True, [True, False, True]):
            f = lambda x, initial=initial, mask=mask: getattr(np, name)(x, initial=initial, where=mask)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                try:
                    expected = f(x)
                except (TypeError, OverflowError):
                    with pytest.raises((TypeError, OverflowError)):
                        vmap(f)(np.stack([x, x]))
                    continue
                found = [functionalize(f)(x), make_fx(f, "fake")(x)(x), vmap(f)(np.stack([x, x]))[1]]
                if code in "efdFD":
                    found.append(jvp(f, (x,), (x,))[0])
            for y in found:
                assert np.asarray(y).dtype == expected.dtype
                assert np.allclose(y, expected, rtol=1e-3 if code == "e" else 1e-6), (initial, mask)


@pytest.mark.parametrize("function", [np.zeros_like, np.ones_like, np.empty_like, lambda x, **more: np.full_like(x, 2.0, **more)])
@pytest.mark.parametrize("order", "CFAK")
@pytest.mark.parametrize("laid", "CF")
@pytest.mark.parametrize("shape", [(4, 5), (2, 3, 4), (6,)], ids=str)
def test_an_array_like_another_of_another_shape_has_the_order_that_was_asked(function: Any, order: Any, laid: Any, shape: Any) -> None:
    x = np.ones((2, 3), order=laid)
    expected = function(x, order=order, shape=shape)
    found = dispatch.detach(function(dispatch.tensor(x, requires_grad=True), order=order, shape=shape))
    assert (found.shape, found.strides, found.dtype) == (expected.shape, expected.strides, expected.dtype)


@pytest.mark.parametrize("function", [np.zeros_like, np.ones_like, np.empty_like, lambda x, **more: np.full_like(x, 2.0, **more)])
@pytest.mark.parametrize("shape", [-1, (3, -2)], ids=str)
def test_an_array_like_another_has_no_negative_length_in_any_layer(function: Any, shape: Any) -> None:
    with dispatch.FakeTensorMode() as mode:
        fake = mode.from_array(X)
    for x in (X, dispatch.tensor(X, requires_grad=True), fake):
        with pytest.raises(ValueError, match="negative dimensions are not allowed"):
            function(x, shape=shape)


def test_of_a_condition_in_numbers_that_no_layer_follows_a_shape_rule_knows_how_many_hold() -> None:
    for condition in ([1, 0, 2], [0.0, 0.5, np.nan], np.array([0, 3, 1]), [True, False, True]):
        for f in (lambda x, c=condition: np.compress(c, x, 1), lambda x, c=condition: np.extract(c, x[0]), lambda x, c=condition: x.T.compress(c, 0)):
            assert dispatch.eval_shape(f, X).shape == f(X).shape
            np.testing.assert_array_equal(dispatch.make_fx(f, "fake")(X)(X + 1), f(X + 1))


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_a_mean_of_half_precision_is_rounded_where_it_is_written(dtype: str) -> None:
    """NumPy rounds the sum to `out`, and divides there."""
    random = np.random.default_rng(3)
    for k in range(30):
        x = (random.normal(size=(3, 5)) * 10.0 ** random.integers(-2, 3)).astype("f2")
        options: dict[str, Any] = {"axis": (None, 0, 1, (0, 1))[k % 4], "keepdims": bool(k % 3)}
        mask = {"where": random.random((3, 5)) > 0.3} if k % 2 else {}
        out = np.zeros(np.shape(np.sum(x, **options)), dtype)
        f = lambda x, out, options=options, mask=mask: np.mean(x, out=out, **options, **mask) * 1
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = f(x, out.copy())
            for found in (functionalize(f)(x, out.copy()), make_fx(f, "fake")(x, out)(x, out.copy())):
                np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("function", [np.mean, np.sum, np.max, np.var])
def test_a_list_is_reduced_into_a_tracked_array(function: Any) -> None:
    out = np.zeros_like(dispatch.tensor(1.0, requires_grad=True), shape=())
    function([1.5, 2.0, 4.0], out=out)
    np.testing.assert_array_equal(dispatch.detach(out), function([1.5, 2.0, 4.0]))


def test_a_write_to_a_number_that_is_broadcast_with_others_is_seen_in_all_of_it_or_refused() -> None:
    """All elements are one in memory: NumPy, which warns, writes to all of them."""

    def f(x: Any) -> Any:
        y = np.broadcast_arrays(x.sum(), x)[0]
        y[0] = 7.0
        return y * 1

    refused = 0
    transforms = (functionalize(f), lambda x: make_fx(f, "symbolic")(x)(x), dispatch.compile(f, fullgraph=True), lambda x: vmap(f)(x[None])[0], lambda x: jvp(f, (x,), (x,))[0])
    for run in (*transforms, lambda x: dispatch.vjp(f, x)[0]):
        try:
            with warnings.catch_warnings(category=DeprecationWarning, action="ignore"):
                found = run(X * 1)
        except (DispatchError, ValueError) as error:
            assert re.search("read-only|a write was asked of a view", str(error))
            refused += 1
        else:
            np.testing.assert_array_equal(found, np.full((2, 3), 7.0))
    assert refused > 2


@pytest.mark.parametrize("text", ["ij->ji", "ii->i", "ba", "i...->...i", "ij->i", "ii", "ij->"])
def test_einsum_of_one_operand_is_numpys_for_every_dtype_order_and_casting(text: str) -> None:
    """Where nothing is added NumPy has a view, in the operand's own dtype and order, whatever `dtype=` and `order=` say."""
    x = np.arange(9.0).reshape(3, 3)
    for kind, dtype, order, casting, optimize in product("fi", (None, "f8", "c16", "f4"), "KCF", ("safe", "unsafe", "no"), (False, True)):
        for given in (x.astype(kind), np.asfortranarray(x.astype(kind)), np.repeat(x.astype(kind), 2, -1)[..., ::2]):

            def f(x: Any, options: Any = (dtype, order, casting, optimize)) -> Any:
                dtype, order, casting, optimize = options
                return np.einsum(text, x, dtype=dtype, order=order, casting=casting, optimize=optimize)

            try:
                expected = f(given)
            except TypeError as error:
                with pytest.raises(type(error)):
                    functionalize(f)(given)
                continue
            found = functionalize(f)(given)
            np.testing.assert_array_equal(found, expected, strict=True)
            if isinstance(expected, np.ndarray):
                assert np.shares_memory(found, given) == np.shares_memory(expected, given)
                assert found.strides == expected.strides


@pytest.mark.parametrize("layer", [name for name in LAYERS if name != "compile"])  # which runs it as it is, for its warning
def test_a_complex_number_is_cast_to_a_real_one_where_casting_lets_it(layer: str) -> None:
    def f(x: Any) -> Any:
        return np.add(2 + 1j, x, dtype="f4", casting="unsafe")

    with pytest.warns(np.exceptions.ComplexWarning):
        found = LAYERS[layer](f)(X)
    np.testing.assert_array_equal(found, np.float32(2) + X.astype("f4"), strict=True)


def test_weighted_covariances_are_in_the_dtype_that_is_asked() -> None:
    x = np.random.default_rng(0).normal(size=(3, 5))
    for weights in ({"aweights": [1.0, 2.0, 1.0, 0.5, 3.0]}, {"fweights": [1, 2, 1, 3, 1], "ddof": 0}):
        expected = np.cov(x, dtype="f4", **weights)
        assert np.cov(dispatch.tensor(x, requires_grad=True), dtype="f4", **weights).detach().tobytes() == expected.tobytes()


def test_what_a_reduction_begins_with_is_no_value_that_a_layer_follows() -> None:
    x, first = dispatch.tensor(X, requires_grad=True), dispatch.tensor(0.5, requires_grad=True)
    for call, name in ((lambda: np.max(x, 0, initial=first, where=X > 0), "np::max"), (lambda: np.add.reduce(x, initial=first), "np.add.reduce"),
                       (lambda: np.hypot.reduce(x, initial=first), "np.hypot.reduce")):  # fmt: skip
        with pytest.raises(UnsupportedError) as raised:
            call()
        assert str(raised.value) == f"{name}: initial=a TrackedTensor has no row. Leave it out, and add it or compare it with the result."
