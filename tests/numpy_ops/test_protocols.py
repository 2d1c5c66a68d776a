"""NumPy's spellings mean the rows: tracked, fake and batched values answer them as `dispatch.ops.np` does."""

import operator
import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import making
import numpy as np
import pytest
from spellings import SPELLINGS, A, B

import dispatch
from dispatch import FakeTensorMode, functionalize, grad, ops, vmap
from dispatch.core import Tensor
from dispatch.errors import ArgumentError, ConversionError, UnsupportedError
from dispatch.numpy_ops import array_making, array_methods
from dispatch.numpy_ops.assignment import WRITES
from dispatch.numpy_ops.numpy_functions import FUNCTIONS, LATER, UFUNCS, load_rest, of_numpy, spelling_of
from dispatch.numpy_ops.protocols import ON_TENSORS

load_rest()


@pytest.mark.parametrize(("spelled", "row"), SPELLINGS.values(), ids=SPELLINGS)
class TestASpellingOfNumPys:
    """It means the row, of whatever it is asked, and of an array what it always meant."""

    def test_on_an_array(self, spelled: Any, row: Any) -> None:
        np.testing.assert_array_equal(row(A, B), spelled(A, B))

    def test_on_a_tracked_value(self, spelled: Any, row: Any) -> None:
        x = dispatch.tensor(A, requires_grad=True)
        found, expected = spelled(x, B), row(x, B)
        assert type(found) is type(expected)
        np.testing.assert_array_equal(plain(found), plain(expected))
        np.testing.assert_array_equal(plain(found), spelled(A, B))
        if isinstance(found, Tensor):
            np.testing.assert_array_equal(gradient(spelled), gradient(row))

    def test_on_a_batched_value(self, spelled: Any, row: Any) -> None:
        batch = np.stack([A, B, A + B])
        found = vmap(lambda x: spelled(x, B))(batch)
        np.testing.assert_array_equal(found, vmap(lambda x: row(x, B))(batch))
        np.testing.assert_allclose(found, [spelled(x, B) for x in batch])

    def test_on_a_fake(self, spelled: Any, row: Any) -> None:
        with FakeTensorMode() as mode:
            x, b = mode.from_array(A), mode.from_array(B)
            found, expected = spelled(x, b), row(x, b)
        real = spelled(A, B)
        assert (found.shape, found.dtype) == (expected.shape, expected.dtype) == (real.shape, real.dtype)


def plain(x: Any) -> Any:
    return dispatch.detach(x)


def gradient(f: Any) -> Any:
    return dispatch.grad(lambda x: np.sum(np.real(f(x, B)) * 1.5))(A)


OF_ONE_MODULE = {of_numpy(name) for module in (".assembling", ".spacing", ".applying", ".index_functions", ".windows", ".choices", ".partitions", ".sets", ".polynomial_roots", ".polynomial_products") for name in LATER[module].split()}  # in that module's tests
STATISTICS = (".quantiles", ".covariances", ".histograms", ".interpolation", ".convolutions", ".differences", ".running_totals")
OF_ONE_MODULE |= {of_numpy(name) for module in STATISTICS for name in LATER[module].split()}  # in test_functions_of_rows.py and test_numpy_calls.py


def test_every_spelling_is_tried() -> None:
    text = " ".join(SPELLINGS)
    asked = {
        np.shape,
        np.ndim,
        np.size,
        np.result_type,
        np.iscomplexobj,
        np.isrealobj,
    }  # what answers without an operator
    factories = {*WRITES, *array_making.FUNCTIONS, np.can_cast, np.empty, np.zeros, np.ones, np.full, np.empty_like, getattr(np, "astype", None)}
    elsewhere = {
        *OF_ONE_MODULE, np.fix, np.i0, np.isreal, np.iscomplex, np.real_if_close, np.nonzero, np.flatnonzero, np.argwhere, np.unique, np.compress, np.extract, np.take_along_axis, getattr(np, "unstack", None),
        *[function for function in FUNCTIONS if spelling_of(function).startswith("np.fft.")],  # in test_numpy_calls.py
    }  # fmt: skip
    for function in FUNCTIONS.keys() - asked - factories - elsewhere:
        assert spelling_of(function) in text
    for name in ON_TENSORS:
        assert name.startswith("__") or name in ("detach", "fill", "sort", "nonzero", "put", "compress", "itemsize", "nbytes", "flat", "view", "ctypes", "_numba_type_", *array_methods.METHODS, "to_device") or f"x.{name}" in text


@pytest.mark.parametrize("ufunc", UFUNCS, ids=lambda ufunc: ufunc.__name__)
def test_every_ufunc_of_a_row_is_found(ufunc: np.ufunc) -> None:
    loops = [types[: ufunc.nin] for types in ufunc.types]
    with_orders = [kinds for kinds in loops if set(kinds) == {"l", "d"}]  # of whole orders, as of scipy.special.kn
    kinds = next((kinds for kinds in [*with_orders, *loops] if "d" in kinds), "l" * ufunc.nin)
    if ufunc is np.isnat:
        kinds = "M"
    values = np.array([[2.5, 0.5], [1.0, 3.0]])
    values = {np.arcsin: values / 4, np.arccos: values / 4, np.arctanh: values / 4, np.arccosh: values + 1}.get(ufunc, values)
    whole = np.array([[3, 1], [2, 2]])
    operands = [values if kind == "d" else whole.astype("M8[s]") if kind == "M" else whole for kind in kinds]
    found = ufunc(*operands)
    with FakeTensorMode() as mode:
        for fake, real in zip(results(ufunc(*[mode.from_array(x) for x in operands])), results(found), strict=True):
            assert (fake.shape, fake.dtype) == (real.shape, real.dtype)
    for batch, real in zip(results(vmap(ufunc)(*[x[None] for x in operands])), results(found), strict=True):
        np.testing.assert_array_equal(batch, [real])


POWERS = {
    "tape": lambda f, x: dispatch.value_and_grad(lambda x: (f(x).sum().real, f(x)), has_aux=True)(x)[0][1],
    "jvp": lambda f, x: dispatch.jvp(f, (x,), (np.ones_like(x),))[0],
    "vmap": lambda f, x: vmap(f)(x[None])[0],
    "make_fx": lambda f, x: dispatch.make_fx(f)(np.ones_like(x))(x),
}


@pytest.mark.parametrize("layer", POWERS)
@pytest.mark.parametrize("dtype", "fdFD")
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of 1 / 0
def test_a_power_has_the_bits_of_the_ufunc_that_numpy_takes_for_the_number(dtype: str, layer: str) -> None:
    """Before 2.3 NumPy takes np.square, np.sqrt and np.reciprocal of more dtypes, and for floats too."""
    x = np.concatenate([[-0.0, 0.0], np.linspace(0.1, 9, 50)]).astype(dtype)
    for number in (2, 2.0, -1, -1.0, 0.5, 1, 1.0, 0, 1.5, 3):
        expected = x**number
        found = np.asarray(POWERS[layer](lambda x, number=number: x**number, x))
        assert (found.dtype, found.tobytes()) == (expected.dtype, expected.tobytes()), number


@pytest.mark.parametrize("layer", POWERS)
@pytest.mark.parametrize("dtype", "efdg")
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_a_root_of_any_float_is_numpys_at_the_ends(dtype: str, layer: str) -> None:
    """The root of -inf is nan where NumPy takes np.sqrt, and inf where it takes np.power."""
    x = np.array([-np.inf, np.inf, -0.0, 0.0, 2.0, np.nan], dtype)
    found, expected = np.asarray(POWERS[layer](lambda x: x**0.5, x)), x**0.5
    np.testing.assert_array_equal(found, expected, strict=True)
    np.testing.assert_array_equal(np.signbit(found[1:5]), np.signbit(expected[1:5]))


def results(x: Any) -> tuple[Any, ...]:
    return x if isinstance(x, tuple) else (x,)


# -- what NumPy asks of an array ---------------------------------------------------------------------------------------


def wrappers() -> Iterator[tuple[str, Any]]:
    yield "tracked", dispatch.tensor(A, requires_grad=True)
    with FakeTensorMode() as mode:
        yield "fake", mode.from_array(A)


def test_shapes_and_dtypes_are_told_without_an_operator() -> None:
    for _, x in wrappers():
        assert (np.shape(x), np.ndim(x), np.size(x), np.size(x, 1)) == ((2, 3), 2, 6, 3)
        assert np.result_type(x, np.float32) == np.float64
        assert np.isrealobj(x)
        assert not np.iscomplexobj(x)
        assert (len(x), x.ndim, x.size) == (2, 2, 6)


def test_a_value_without_axes_has_no_length_and_no_items() -> None:
    x = dispatch.tensor(1.0, requires_grad=True)
    with pytest.raises(TypeError, match="0-d"):
        len(x)
    with pytest.raises(TypeError, match="0-d"):
        list(x)
    with pytest.raises(IndexError, match="too many indices"):
        x[0]


def test_a_value_is_iterated_row_by_row() -> None:
    np.testing.assert_array_equal(
        dispatch.grad(lambda x: sum(np.sum(row) * k for k, row in enumerate(x)))(A), [[0] * 3, [1] * 3]
    )
    np.testing.assert_array_equal(
        dispatch.grad(lambda x: sum(np.sum(row) * k for k, row in enumerate(reversed(x))))(A), [[1] * 3, [0] * 3]
    )


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i1", "i8", "c16", "?"])
def test_round_is_that_of_numpys_scalars(dtype: str) -> None:
    for digits in ((), (0,), (1,), (-1,), (np.int64(1),)):

        def f(x: Any, digits: Any = digits) -> Any:
            return round(x[0], *digits)

        x = np.array([2.34]).astype(dtype)
        try:
            expected = f(x)
        except TypeError as error:
            with pytest.raises(TypeError) as caught:
                functionalize(f)(x)
            assert str(caught.value) == str(error)
            continue
        found = functionalize(f)(x)
        assert (type(found), found) == (type(expected), expected)
    with pytest.raises(TypeError, match=r"type numpy\.ndarray doesn't define __round__ method"):
        round(dispatch.tensor(A, requires_grad=True))
    assert dispatch.grad(lambda x: round(x, 1) * x + round(x))(2.26) == 2.3


def test_a_list_of_a_value_is_of_constants_or_refused() -> None:
    assert dispatch.vjp(lambda x: (np.sum(x), x.tolist()), A, has_aux=True)[2] == A.tolist()
    assert dispatch.jvp(lambda x: (np.sum(x), x.tolist()), (A,), (A,), has_aux=True)[2] == A.tolist()
    with pytest.raises(dispatch.errors.BatchingError, match="one number was asked of a batched value"):
        vmap(lambda x: x.tolist())(A)


def test_factories_after_a_wrapper_are_spelled_as_numpys() -> None:
    for _, x in wrappers():
        for made in (np.zeros((2,), like=x), np.ones(2, like=x), np.empty((2,), like=x), np.full(2, 3.0, like=x)):
            assert made.shape == (2,)
        assert np.empty_like(x, dtype=int).dtype == int


@pytest.mark.skipif(not hasattr(np, "astype"), reason="NumPy 2.1")
def test_astype_as_a_function() -> None:
    assert np.astype(dispatch.tensor(A, requires_grad=True), np.float32).dtype == np.float32


# -- indices that are values -------------------------------------------------------------------------------------------


def test_an_index_that_differs_from_item_to_item() -> None:
    rows, where = np.arange(12.0).reshape(3, 4), np.array([2, 0, 3])
    np.testing.assert_array_equal(vmap(lambda x, i: x[i])(rows, where), rows[np.arange(3), where])
    np.testing.assert_array_equal(vmap(lambda i: ops.np.take(rows, i, 1), out_dims=1)(where), rows[:, where])
    np.testing.assert_array_equal(
        vmap(dispatch.grad(lambda x, i: x[i] ** 2))(rows, where), 2 * rows * (np.arange(4) == where[:, None])
    )


def test_a_mask_chooses_elements_of_a_tracked_value() -> None:
    np.testing.assert_array_equal(dispatch.grad(lambda x: np.sum(x[x > 1]))(A), A > 1)


def test_numpy_integers_are_indices() -> None:
    x = dispatch.tensor(A, requires_grad=True)
    np.testing.assert_array_equal(plain(x[np.int64(1), np.uint8(2)]), A[1, 2])
    with FakeTensorMode() as mode:
        assert mode.from_array(A)[:, np.int64(1)].strides == A[:, 1].strides


# -- what is refused, and what is said ---------------------------------------------------------------------------------


@pytest.mark.parametrize("symbol", ["+", "-", "*", "/", "%", "**"])
def test_an_array_is_not_written_to_by_a_tracked_value(symbol: str) -> None:
    names = {"+": "iadd", "-": "isub", "*": "imul", "/": "itruediv", "%": "imod", "**": "ipow"}
    a, x = A.copy(), dispatch.tensor(A, requires_grad=True)
    with pytest.raises(UnsupportedError) as error:
        getattr(operator, names[symbol])(a, x)
    assert str(error.value) == (
        f"a {symbol}= x would write a TrackedTensor of shape (2, 3) into an array, which cannot hold what it tracks. "
        f"Write a = a {symbol} x; or make the array of a tracked one: a = np.zeros_like(x, shape=...)."
    )
    np.testing.assert_array_equal(a, A)


def test_an_array_is_written_to_by_what_has_no_gradient() -> None:
    a, x = A.copy(), dispatch.tensor(A, requires_grad=True)
    a //= x
    np.testing.assert_array_equal(a, A // A)
    with dispatch.no_grad():
        np.add(x, 1, out=a)
    np.testing.assert_array_equal(a, A + 1)


def test_augmented_assignment_writes_to_an_array_and_makes_a_new_number() -> None:
    x = before = dispatch.tensor(A, requires_grad=True) * 1
    x += 1
    assert x is before
    np.testing.assert_array_equal(plain(x), A + 1)
    s = total = np.sum(x)
    s += 1
    assert s is not total
    assert (plain(total), plain(s)) == (np.sum(A + 1), np.sum(A + 1) + 1)


def refused(call: Callable[[], Any]) -> str:
    with pytest.raises(UnsupportedError) as error:
        call()
    return str(error.value)


def test_out_is_refused_with_what_to_write() -> None:
    x = dispatch.tensor(A, requires_grad=True)
    assert refused(lambda: np.add(x, 1.0, out=np.empty_like(A))) == (
        "np.add: out= would write a TrackedTensor into an array, which cannot hold what it tracks. "
        "Leave it out and take the result, y = np.add(...); or make the array of a tracked one: np.zeros_like(x, shape=...)."
    )
    assert refused(lambda: np.sum(x, out=np.empty(()))) == (
        "np.sum: out= would write to an array of shape (), which cannot hold what a Tensor tracks. "
        "Make the array of a tracked one: np.zeros_like(x, shape=...)."
    )


def test_a_parameter_that_the_row_has_not_is_named() -> None:
    x = dispatch.tensor(A, requires_grad=True)
    own = "Leave it out and write it as an operation of its own."
    assert (
        refused(lambda: np.partition(x, 1, order="f"))
        == f"np.partition: order= is not a parameter of np::partition(x, kth, axis, kind). {own}"
    )
    assert refused(lambda: np.add(x, 1, where=A > 1)).startswith("np.add: where=a ndarray has no row. Elsewhere the result would be")
    assert np.add(x, 1, dtype="f4", casting="unsafe").dtype == np.float32


def test_parameters_that_ask_for_nothing_are_taken() -> None:
    x = dispatch.tensor(A, requires_grad=True)
    np.testing.assert_array_equal(plain(np.reshape(x, 6, order="C")), A.reshape(6))
    np.testing.assert_array_equal(plain(np.sum(x, axis=0, out=None, where=True)), A.sum(0))
    np.testing.assert_array_equal(plain(np.zeros_like(x, order="K", subok=True)), np.zeros_like(A))
    np.testing.assert_array_equal(plain(np.add(x, 1, where=True)), A + 1)


def test_a_function_without_a_row_says_how_to_make_one(monkeypatch: pytest.MonkeyPatch) -> None:
    x = dispatch.tensor(A / 4, requires_grad=True)
    monkeypatch.delitem(FUNCTIONS, np.sinc)
    message = refused(lambda: np.sinc(x))
    assert message == (
        "np.sinc has no row in dispatch.ops.np, so it cannot take a Tensor. Did you mean 'sinc' or 'sin' or 'sinh'? "
        "Make it an operator, with register_autograd, register_vmap and register_fake where they are needed:\n"
        '    @dispatch.custom_op("mylib::sinc", mutates_args=())\n'
        "    def sinc(x: np.ndarray) -> np.ndarray:\n"
        "        return np.sinc(x)"
    )
    scope: dict[str, Any] = {"dispatch": dispatch, "np": np}
    advice = message.partition("\n")[2]
    exec("\n".join(line[4:] for line in advice.splitlines()).replace("mylib", "protocol_tests"), scope)
    np.testing.assert_array_equal(plain(scope["sinc"](x)), np.sinc(A / 4))


def test_a_ufunc_without_a_row_says_how_to_make_one() -> None:
    x = dispatch.tensor(A, requires_grad=True)
    f = np.frompyfunc(lambda x, y: x * y, 2, 1)
    message = refused(lambda: f(x, 2.0))
    assert message == (
        "<lambda> (vectorized) is a ufunc that has no row in dispatch.ops.np, so it cannot take a Tensor. Make it an operator; its name "
        "then takes Tensors too:\n"
        "    from dispatch.library import from_ufunc\n"
        '    op = from_ufunc(f, "mylib::f", derivative=(lambda x, y, out: ..., lambda x, y, out: ...,))'
    )
    scope: dict[str, Any] = {"f": f}
    exec("\n".join(line[4:] for line in message.splitlines()[1:]).replace("mylib", "protocol_tests"), scope)
    assert str(scope["op"]).startswith("protocol_tests::f(Tensor x, Tensor y) -> Tensor")
    assert "op.register_autograd(backward" in refused(lambda: np.frompyfunc(lambda x: (x, x), 1, 2)(x))


def test_methods_of_ufuncs_are_what_they_are_made_of() -> None:
    x = dispatch.tensor(A, requires_grad=True)
    np.testing.assert_array_equal(plain(np.add.accumulate(x)), np.add.accumulate(A))
    np.testing.assert_array_equal(plain(np.multiply.accumulate(x, axis=1)), np.multiply.accumulate(A, axis=1))
    np.testing.assert_array_equal(plain(np.multiply.outer(x, [1.0, 2.0])), np.multiply.outer(A, [1.0, 2.0]))
    for mine, own in zip(np.divmod(x, 0.7), np.divmod(A, 0.7), strict=True):
        np.testing.assert_array_equal(plain(mine), own)


def test_a_stranger_is_left_to_python() -> None:
    x = dispatch.tensor(A, requires_grad=True)
    with pytest.raises(TypeError, match="unsupported operand"):
        x + None
    assert making.said(lambda: "a" * x, ConversionError) == (
        "an index was asked of a tracked value of shape (2, 3) and dtype float64, which is no integer. Write int(x.item()) where "
        "the number is meant."
    )
    assert np.all(x != "a")


def test_somebody_elses_array_may_answer() -> None:
    class Theirs:
        def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> str:
            return f"their {ufunc.__name__}"

        def __radd__(self, other: Any) -> str:
            return "their radd"

    x = dispatch.tensor(A, requires_grad=True)
    assert np.add(x, Theirs()) == "their add"
    assert x + Theirs() == "their radd"
    with pytest.raises(TypeError):
        x * Fraction(1, 2)


def test_too_many_arguments_are_counted() -> None:
    x = dispatch.tensor(A, requires_grad=True)
    with pytest.raises(ArgumentError, match=r"np.sum takes 7 arguments by position and was given 8\."):
        x.sum(0, None, None, False, 0, True, 1)


def test_detach_is_a_constant_at_every_level() -> None:
    np.testing.assert_array_equal(dispatch.grad(lambda x: np.sum(x * x.detach()))(A), A)
    np.testing.assert_array_equal(vmap(dispatch.grad(lambda x: np.sum(x * dispatch.detach(x))))(A), A)
    assert not dispatch.detach(A).flags.writeable
    assert A.flags.writeable


def test_an_array_of_values() -> None:
    """np.array says nothing to anybody, and NumPy asks each value for numbers; with like= it asks for the array."""
    a = np.array([0.5, 1.0, 2.0])
    texts = {
        grad: "dispatch.numpy.array([x, y]) for np.array([x, y])",
        vmap: "dispatch.numpy.array([x, y]) for np.array([x, y])",
        lambda f: lambda x: dispatch.jvp(f, (x,), (x,)): "dispatch.numpy.array([x, y]) for np.array([x, y])",
    }
    for transform, text in texts.items():
        x = np.stack([a, a]) if transform is vmap else a
        assert text in making.said(lambda t=transform, x=x: t(lambda x: np.sum(np.array([x * 2, x])))(x), ConversionError)

    def f(x: Any) -> Any:
        rows = np.array([[x[0], 1.0], [x[1] * x[2], np.float32(2)]], like=x)
        return np.sum(rows @ rows + np.asarray([x[1], x[2]], like=x))

    def stacked(x: Any) -> Any:
        rows = np.stack([np.stack([x[0], 1.0]), np.stack([x[1] * x[2], 2.0])])
        return np.sum(rows @ rows + x[1:])

    assert np.allclose(grad(f)(a), grad(stacked)(a))
    assert np.allclose(dispatch.jvp(f, (a,), (a,)), dispatch.jvp(stacked, (a,), (a,)))
    assert np.allclose(vmap(f)(np.stack([a, a])), stacked(a))
    x = dispatch.tensor(a, requires_grad=True) * 1
    for options in ({}, {"dtype": np.float32}, {"ndmin": 3}, {"dtype": complex, "ndmin": 2}, {"copy": None}, {"order": "C"}):
        for given, same in ((x, a), ([x, x * 2], [a, a * 2]), ([[x[0], 2]], [[0.5, 2]]), ([1.0, 2.0], [1.0, 2.0]), (3, 3)):
            made = np.array(given, like=x, **options)
            plain = np.array(same, **({} if "copy" in options else options))
            assert (made.shape, made.dtype) == (plain.shape, plain.dtype)
            assert np.array_equal(dispatch.detach(made) if isinstance(made, Tensor) else made, plain)
    assert np.asarray(x, like=x) is x
    assert np.array(x, like=x) is not x
    assert np.array([x], like=x, order="F").shape == (1, 3)
    assert np.asarray(x, like=x, order="F") is x
    matrix = np.outer(x, x)
    assert np.asarray(matrix, like=x, order="C") is matrix
    assert dispatch.detach(np.asarray(matrix, like=x, order="F")).flags.f_contiguous
    assert making.said(lambda: np.array([x], like=x, copy=False), ValueError).startswith("Unable to avoid copy")


def test_values_are_taken_apart() -> None:
    m = np.arange(6.0).reshape(3, 2)

    def rows(x: Any) -> Any:
        (a, b, c), total = x, 0.0
        for row in x:
            p, q = row
            total = total + p * np.sin(q)
        first, *others = x
        return total + np.sum(a * b * c) + np.sum(first * others[-1]) + sum(np.sum(row) for row in reversed(x))

    expected = rows(m)
    assert np.allclose(dispatch.detach(rows(dispatch.tensor(m, requires_grad=True))), expected)
    dispatch.autograd.gradcheck(rows, (dispatch.tensor(m, requires_grad=True),))
    assert np.allclose(vmap(rows)(np.stack([m, m + 1])), [expected, rows(m + 1)])
    assert np.allclose(dispatch.jvp(rows, (m,), (m,))[1], np.sum(grad(rows)(m) * m))
    with dispatch.FakeTensorMode() as mode:
        assert [row.shape for row in mode.from_array(m)] == [(2,)] * 3
    for transform, x in ((grad, 2.0), (vmap, np.ones(2))):
        assert making.said(lambda t=transform, x=x: t(lambda x: sum(x))(x), TypeError) == (
            "iteration over a 0-d tensor: it has no axis, and cannot be taken apart. A list of arrays is [x, y]; x.max(axis) "
            "gives the values alone, and x.argmax(axis) their places."
        )


def test_the_axis_of_a_ufunc_of_vectors() -> None:
    a = np.arange(6.0).reshape(2, 3) + 1
    f = lambda x: np.sum(np.vecdot(x, x * 2, axis=0) ** 2)
    assert f(dispatch.tensor(a, requires_grad=True)).item() == f(a)
    assert np.allclose(grad(f)(a), 16 * a * np.sum(a * a, 0))
    assert np.array_equal(dispatch.detach(np.vecdot([1.0, 2.0, 3.0], dispatch.tensor(a, requires_grad=True), axis=-1)), np.vecdot([1.0, 2.0, 3.0], a))


@pytest.mark.parametrize("axis", [(0,), (0, 1), (-1,), ()])
def test_the_gradient_of_the_greatest_along_a_tuple_of_axes(axis: tuple[int, ...]) -> None:
    a = np.array([[1.0, 4.0, 2.0], [3.0, 0.0, 5.0]])
    f = lambda x: np.sum(np.max(x, axis=axis) ** 2)
    top = np.max(a, axis=axis, keepdims=True)
    assert np.array_equal(grad(f)(a), np.where(a == top, 2 * a, 0))
    assert dispatch.jvp(f, (a,), (np.ones((2, 3)),))[1] == np.sum(2 * top)


def test_what_flat_gives_for_a_slice_lies_in_memory_as_numpys_copy_does() -> None:
    a = np.arange(12.0).reshape(3, 4)
    for x in (a, a.T, a[::2], a[:, ::-1]):
        for index in (slice(None), slice(None, None, 5), slice(None, None, -1), slice(2, 7), slice(1, None, 3), ..., [1, 4]):
            found, expected = dispatch.eval_shape(lambda x, index=index: x.flat[index], x), x.flat[index]
            assert (found.shape, found.strides) == (expected.shape, expected.strides), index


@pytest.mark.parametrize("layer", ["make_fx", "functionalize", "functionalize of fakes", "vmap", "tape", "jvp"])
def test_a_write_through_flat_of_what_it_overlaps_is_refused(layer: str) -> None:
    """NumPy reads what it has just written: of [[1, 2], [3, 4]] it makes [[1, 1], [1, 1]]."""
    x = np.array([[1.0, 2.0], [3.0, 4.0]])

    def written(y: Callable[[Any], Any]) -> Any:
        def f(x: Any) -> Any:
            x = x * 1
            x.flat[1:] = y(x)
            return x

        return {
            "make_fx": lambda: dispatch.make_fx(f)(x)(x),
            "functionalize": lambda: dispatch.functionalize(f)(x),
            "vmap": lambda: dispatch.vmap(f)(x[None])[0],
            "tape": lambda: dispatch.vjp(f, x)[0],
            "jvp": lambda: dispatch.jvp(f, (x,), (x,))[0],
            "functionalize of fakes": lambda: dispatch.make_fx(dispatch.functionalize(f), "fake")(x)(x),
        }[layer]()

    for overlapping in (lambda x: x[0], lambda x: x.T):
        with pytest.raises(UnsupportedError, match=re.escape("x.flat[slice(1, None, None)] = y, where y shares memory with x: NumPy reads of y what it has")):
            written(overlapping)
    np.testing.assert_array_equal(written(lambda x: x[0].copy()), [[1.0, 1.0], [2.0, 1.0]])
    np.testing.assert_array_equal(written(lambda x: x[0, 1]), [[1.0, 2.0], [2.0, 2.0]])


@pytest.mark.parametrize("index", [0, -1, (0, 1), (0, ...), (1, 2, ...), slice(1, None), (slice(None), 0), (), ..., None, [0, 1], (0, [1, 2])], ids=str)
def test_an_item_of_swapped_bytes_is_indexed_as_numpys(index: Any) -> None:
    """A number is of the machine's order, and an array keeps its own."""
    x = np.arange(12, dtype=">f8").reshape(2, 2, 3)
    for given in (x, x[0]):
        try:
            expected = given[0][index]
        except IndexError:  # of more axes than it has
            continue
        seen = []
        found = vmap(lambda x, seen=seen: (seen.append(x[index].dtype), x[index])[1])(given)
        assert (seen[0].str, found.shape[1:]) == (expected.dtype.str, expected.shape)
        np.testing.assert_array_equal(found[0], expected)


class Unlike:
    """An object of a class that compares nothing."""


UNLIKE = [None, "a", b"a", {"a": 1}, {1}, frozenset(), Unlike(), int, len, ..., slice(1), NotImplemented]
EVERY_LAYER: dict[str, Callable[[Any, Any], Any]] = {
    "grad": lambda f, x: dispatch.vjp(lambda x: (np.sum(x), f(x)), x, has_aux=True)[2],
    "jvp": lambda f, x: dispatch.jvp(lambda x: (np.sum(x), f(x)), (x,), (x,), has_aux=True)[2],
    "vmap": lambda f, x: vmap(f)(np.stack([x, x]))[1],
    "functionalize": lambda f, x: functionalize(f)(x),
    "fx": lambda f, x: dispatch.make_fx(f, "real")(x)(x),
    "fx symbolic": lambda f, x: dispatch.make_fx(f, "symbolic")(x)(x),
    "compile": lambda f, x: dispatch.compile(f, fullgraph=True)(x),
}


@pytest.mark.parametrize("layer", EVERY_LAYER)
@pytest.mark.parametrize("other", UNLIKE, ids=lambda x: type(x).__name__)
def test_what_is_equal_to_no_number_is_compared_with_each_element(other: Any, layer: str) -> None:
    for x in (np.arange(6.0).reshape(3, 2).T, np.arange(3, dtype="f4"), np.zeros((0, 2))):
        for compare in (operator.eq, operator.ne):
            for f in (lambda x: compare(x, other), lambda x: compare(other, x)):  # noqa: B023
                found, expected = EVERY_LAYER[layer](f, x), f(x)
                assert (type(found), found.dtype, found.tolist()) == (type(expected), expected.dtype, expected.tolist())
                fake = dispatch.eval_shape(f, x)
                assert (fake.shape, fake.dtype) == (expected.shape, expected.dtype)
                assert not expected.size or fake.strides == expected.strides


def test_an_object_that_compares_itself_is_asked() -> None:
    class Like:
        def __eq__(self, other: object) -> Any:
            return "asked"

        __hash__ = None  # type: ignore[assignment]

    found: list[Any] = []
    dispatch.grad(lambda x: (found.append(x == Like()), np.sum(x))[1])(A)
    assert found == ["asked"]


class Reversing:
    """What answers for itself beside an array."""

    __array_ufunc__ = None

    def __rdivmod__(self, other: Any) -> str:
        return "theirs"


def test_divmod_leaves_it_to_the_other_operand() -> None:
    x = dispatch.tensor(np.array([7.0, -7.0]), requires_grad=True)
    assert divmod(x, Reversing()) == "theirs"
    assert type(x).__divmod__(x, Reversing()) is NotImplemented
    for ours, expected in zip((*divmod(x, 3), *divmod(3, x)), (*divmod(plain(x), 3), *divmod(3, plain(x))), strict=True):
        np.testing.assert_array_equal(plain(ours), expected)


def test_copy_is_asked_for_as_numpy_has_it() -> None:
    x = dispatch.tensor(np.ones(3), requires_grad=True)
    for never in (False, np.False_, np._CopyMode.NEVER):  # type: ignore[attr-defined]
        assert making.said(lambda never=never: dispatch.numpy.array([x, x], copy=never), ValueError).startswith("Unable to avoid copy")
        assert dispatch.numpy.array(x, copy=never) is x
    assert dispatch.numpy.array(x, copy=np._CopyMode.IF_NEEDED) is x  # type: ignore[attr-defined]
    assert dispatch.numpy.array(x, copy=np._CopyMode.ALWAYS) is not x  # type: ignore[attr-defined]


def test_places_that_are_no_whole_numbers_are_refused_as_numpy_does() -> None:
    x = dispatch.tensor(np.ones(2), requires_grad=True)
    for places in (np.array([0], dtype=object), np.array([0], dtype="m8[ns]"), np.array(["a"]), 0.5):
        assert making.said(lambda p=places: np.delete(x, p), IndexError) == making.said(lambda p=places: np.delete(np.ones(2), p), IndexError)


def test_tolerances_that_are_not_finite_are_noted_as_numpy_does() -> None:
    x = dispatch.tensor(np.ones(2), requires_grad=True)
    with pytest.warns(RuntimeWarning, match="One of rtol or atol is not valid, atol: 1e-08, rtol: inf"):
        np.isclose(x, x, rtol=np.inf)
    with np.errstate(invalid="raise"):
        assert making.said(lambda: np.isclose(x, x, atol=np.nan), FloatingPointError) == "One of rtol or atol is not valid, atol: nan, rtol: 1e-05"


def test_too_many_bins_are_refused_as_numpy_does() -> None:
    x = np.ones((1, 10))
    t = dispatch.tensor(x, requires_grad=True)
    assert making.said(lambda: np.histogramdd(t, bins=2**10), ValueError) == making.said(lambda: np.histogramdd(x, bins=2**10), ValueError)


@pytest.mark.parametrize("mode", ["full", "same", "valid"])
@pytest.mark.parametrize("name", ["convolve", "correlate"])
def test_a_batch_of_overlapping_sequences_has_nothing_beside_them(name: str, mode: str) -> None:
    function = getattr(np, name)
    for n, m in ((1, 1), (2, 5), (5, 2), (4, 4)):
        a, v = np.arange(3.0 * n).reshape(3, n), np.arange(1.0, 3 * m + 1).reshape(3, m)
        v[1, m // 2], v[2, 0], a[0, 0] = np.inf, np.nan, -np.inf
        for in_dims in ((0, 0), (0, None), (None, 0)):
            x, w = a if in_dims[0] == 0 else a[0], v if in_dims[1] == 0 else v[1]
            with np.errstate(invalid="ignore"):
                found = vmap(lambda x, w: function(x, w, mode), in_dims)(x, w)
                expected = np.stack([function(a[i if in_dims[0] == 0 else 0], v[i if in_dims[1] == 0 else 1], mode) for i in range(3)])
            np.testing.assert_array_equal(found, expected)


def test_a_number_cast_to_objects_is_refused_as_an_array_is() -> None:
    x = dispatch.tensor(np.ones(2), requires_grad=True)
    for value in (x, x[0]):
        assert "the result is an array of Python objects, and no derivative goes through one" in making.said(lambda v=value: v.astype(object), UnsupportedError)
