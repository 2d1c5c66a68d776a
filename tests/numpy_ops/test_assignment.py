"""Writes as NumPy users spell them: random programs of writes and views against NumPy and torch,
each spelling against NumPy, and what is refused."""

import operator
import warnings
from collections.abc import Callable
from typing import Any

import making
import numpy as np
import pytest
from duals import push, slope, tangent
from hypothesis import given
from hypothesis import strategies as st
from program_values import equal_bits
from turns import in_turn

import dispatch
from dispatch import FakeTensorMode, grad, no_grad, ops, vmap
from dispatch.autograd import gradcheck
from dispatch.errors import ArgumentError, BatchingError, ConversionError, GradientError, UnsupportedError
from dispatch.layers.autograd.saved_tensors import COPIED_BYTES
from dispatch.numpy_ops.numpy_functions import UFUNCS

leaf, said = making.leaf, making.said
A, B = np.array([0.5, 1.0, 2.0]), np.array([1.5, -1.0, 0.25])

# -- random programs -------------------------------------------------------------------------------------------------------

VIEWS: list[Callable[[Any], Any]] = [
    lambda x: x[1:],
    lambda x: x[::-1],
    lambda x: x.reshape(-1)[: len(x.reshape(-1)) // 2] if len(x.reshape(-1)) > 1 else x[...],
    lambda x: x.swapaxes(0, -1),
    lambda x: x[..., None],
    lambda x: x[:, 0] if len(x.shape) > 1 else x[...],
    lambda x: x.T if len(x.shape) == 2 else x[:],
    lambda x: x[0] if len(x.shape) > 1 else x[:1],
]


def lines(count: int = 9) -> Any:
    """A program: for each line what it does, to which values."""
    return st.lists(st.tuples(*[st.integers(0, n) for n in (11, 99, 99, 7)]), max_size=count)


def run(program: Any, x: Any, lib: Any = np) -> Any:
    """Compute, view and write; of arrays, of wrappers, and with `lib=torch` of its tensors."""
    values = [x * 2.0, lib.sin(x), (x * x).reshape(3, 2)]
    for step, i, j, k in program:
        a, b = values[i % len(values)], values[j % len(values)]
        scale = lib.sum(b) * 0.125  # of any shape a number
        if step <= 3:
            values.append(VIEWS[k](a))
        elif step == 4:
            values.append(lib.sin(a) + scale)
        elif step == 5:
            a *= 0.5
        elif step == 6:
            a += lib.sin(a) * scale
        elif step == 7:
            a[...] = lib.cos(a) * scale
        elif step == 8:
            a[k % a.shape[0]] = scale
        elif step == 9:
            a[: k + 1] -= scale
        elif step == 10 and a.shape[0] > 1:
            a[1:] = a[:-1] * 1.0 if k % 2 else a[:-1] * scale
        elif step == 11:
            lib.sin(a * 1.0, out=a) if lib is np else a.copy_(lib.sin(a * 1.0))
    return sum(lib.sum(lib.tanh(value)) * (n + 1) for n, value in enumerate(values))


X = np.array([0.5, -0.25, 1.0, 0.75, -0.5, 0.125])


@given(lines())
def test_programs_have_numpys_values(program: Any) -> None:
    expected = run(program, X)
    assert np.allclose(dispatch.detach(run(program, leaf(X))), expected)
    assert np.allclose(vmap(lambda x: run(program, x))(np.stack([X, X])), [expected, expected])


@given(lines())
def test_programs_have_the_gradients_of_finite_differences(program: Any) -> None:
    gradcheck(lambda x: run(program, x), (leaf(X),))


@given(lines(6))
def test_programs_under_transforms(program: Any) -> None:
    def f(x: Any) -> Any:
        return run(program, x)

    xs = np.stack([X, X[::-1] * 0.5])
    slopes = np.stack([grad(f)(x) for x in xs])
    np.testing.assert_allclose(vmap(grad(f))(xs), slopes, atol=1e-12)
    np.testing.assert_allclose(grad(lambda xs: np.sum(vmap(f)(xs)))(xs), slopes, atol=1e-12)
    np.testing.assert_allclose(grad(lambda x: np.sum(grad(f)(x) * X))(X), making_second(f), atol=1e-4)
    t = X + 1
    value, moved = push(f, (X,), (t,))
    assert np.allclose(value, f(X))
    assert np.allclose(moved, np.sum(grad(f)(X) * t))
    assert np.allclose(tangent(grad(f), X, X), making_second(f), atol=1e-4)
    np.testing.assert_allclose(vmap(lambda x: tangent(f, x, t))(xs), slopes @ t, atol=1e-12)
    np.testing.assert_allclose(tangent(vmap(f), xs, np.stack([t, t])), slopes @ t, atol=1e-12)
    np.testing.assert_allclose(grad(lambda t: tangent(f, X, t))(t), grad(f)(X), atol=1e-12)


def making_second(f: Callable[[Any], Any], h: float = 1e-5) -> Any:
    """The derivative of `grad(f) . X` by central differences."""
    eye = np.eye(X.size) * h
    return np.array([np.sum((grad(f)(X + e) - grad(f)(X - e)) * X) / (2 * h) for e in eye])


@pytest.mark.torch
@given(lines())
def test_programs_have_torchs_values_and_gradients(program: Any) -> None:
    import torch

    program = [line for line in program if not (line[0] <= 3 and line[3] == 1)]  # torch has no negative step
    theirs = torch.tensor(X, requires_grad=True)
    value = run(program, theirs, torch)
    x = leaf(X)
    mine = run(program, x)
    assert np.allclose(dispatch.detach(mine), value.detach().numpy())
    try:
        value.backward()
    except RuntimeError as error:  # a value that was saved and then overwritten: ours keeps the old one
        assert "modified by an inplace operation" in str(error)
        gradcheck(lambda x: run(program, x), (leaf(X),))
        return
    mine.backward()
    np.testing.assert_allclose(x.grad, theirs.grad.numpy(), atol=1e-12)


# -- plain arrays -----------------------------------------------------------------------------------------------------------


def test_a_plain_array_says_what_to_write() -> None:
    def element(x: Any) -> Any:
        y = np.zeros(3)
        y[0] = x[0]
        return np.sum(y)

    def part(x: Any) -> Any:
        y = np.zeros(3)
        y[:2] = x[:2]
        return np.sum(y)

    for f in (element, part):
        assert "make that of such a value: np.zeros_like(x, shape=...)" in said(lambda f=f: tangent(f, A, B), ConversionError)
        for text in (said(lambda f=f: f(leaf()), ConversionError), said(lambda f=f: grad(f)(A), ConversionError)):
            assert "of a tracked one: np.zeros_like(x, shape=...)" in text
    assert "make that of a batched value: np.zeros_like(x, shape=...)" in said(lambda: vmap(element)(np.ones((2, 3))), BatchingError)


# -- each spelling ---------------------------------------------------------------------------------------------------------

I = np.array([0, 2, 0])
MASK = np.array([True, False, True])
CELLS = np.array([[True, False, True], [False, True, True]])
WRITES: dict[str, Callable[[Any, Any], Any]] = {
    "element": lambda y, x: y.__setitem__((1, 0), x[1]),
    "row": lambda y, x: y.__setitem__(1, x),
    "broadcast": lambda y, x: y.__setitem__(slice(None), x),
    "leading ones": lambda y, x: y.__setitem__(slice(0, 1), x.reshape(1, 1, 3)),
    "column": lambda y, x: y.__setitem__((slice(None), 1), x[:2]),
    "negative step": lambda y, x: y.__setitem__((0, slice(None, None, -1)), x),
    "Ellipsis": lambda y, x: y.__setitem__((Ellipsis, 0), x[1]),
    "newaxis": lambda y, x: y.__setitem__((0, None), x),
    "mask": lambda y, x: y.__setitem__(y > 0.6, x[0]),
    "mask of rows": lambda y, x: y.__setitem__((slice(None), MASK), x[:2]),
    "duplicates": lambda y, x: y.__setitem__((0, I), x * 3),
    "list": lambda y, x: y.__setitem__([1, 1], x * 3),
    "apart": lambda y, x: y.__setitem__((I[:2] // 2, slice(0, 1), ), x[:1]),
    "from itself": lambda y, x: y.__setitem__((slice(None), slice(1, None)), y[:, :-1]),
    "numbers": lambda y, x: y.__setitem__(0, 7),
    "a list of values": lambda y, x: y.__setitem__(0, [x[1], 2.0, x[0]]),
    "rows of values": lambda y, x: y.__setitem__(slice(None), [[x[1], 2.0, x[0]], x]),
    "add.at": lambda y, x: np.add.at(y, (0, I), x),
    "subtract.at": lambda y, x: np.subtract.at(y, [0, 0], x),
    "multiply.at": lambda y, x: np.multiply.at(y, (0, I), x),
    "divide.at": lambda y, x: np.divide.at(y, [0, 0, 1], x),
    "power.at": lambda y, x: np.power.at(y, (slice(None), [0, 1, 0]), 2.0),
    "maximum.at": lambda y, x: np.maximum.at(y, ([0, 1, 1], [0, 0, 0]), x * 1.5),
    "negative.at": lambda y, x: np.negative.at(y, (0, I)),
    "divide.at nothing": lambda y, x: np.divide.at(y, (0, []), x[:0]),
    "out where": lambda y, x: np.divide(x, y - y[0, 0], out=y, where=np.array([[False, True, True], [True, False, True]])),
    "out where one": lambda y, x: np.log(np.abs(x), out=y, where=MASK),
    "add out": lambda y, x: np.add(y, x, out=y),
    "sin out": lambda y, x: np.sin(x, out=y[0]),
    "sum out": lambda y, x: np.sum(y * 2, 0, out=y[1]),
    "stack out": lambda y, x: np.stack([x, x * 2], out=y),
    "reduce out": lambda y, x: np.add.reduce(y * 2, 0, out=y[1]),
    "copyto": lambda y, x: np.copyto(y, x),
    "copyto where": lambda y, x: np.copyto(y, x, where=MASK),
    "fill": lambda y, x: y.fill(x[1]),
    "put": lambda y, x: np.put(y, [4, 0, 4], x),
    "put over again": lambda y, x: np.put(y, [[1, 2], [3, -1]], x[:2]),
    "put wrap": lambda y, x: np.put(y, [7, 13], x[:2], mode="wrap"),
    "put_along_axis": lambda y, x: np.put_along_axis(y, np.array([[2], [0]]), x[:2].reshape(2, 1), 1),
    "put_along_axis flat": lambda y, x: np.put_along_axis(y[0], np.array([2, 0]), x[:2], None),
    "put_along_axis of all": lambda y, x: np.put_along_axis(y, np.array([1, -1]), x[:2], None),
    "fill_diagonal": lambda y, x: np.fill_diagonal(y, x),
    "fill_diagonal one": lambda y, x: np.fill_diagonal(y[:, :2], x[2]),
    "fill_diagonal over again": lambda y, x: np.fill_diagonal(y.reshape(3, 2).T.reshape(3, 2)[:2], x[:1]),
    "fill_diagonal that goes on": lambda y, x: np.fill_diagonal(y.reshape(6, 1), x * 2, wrap=True),
    "place": lambda y, x: np.place(y, CELLS, x * 2),
    "place over again": lambda y, x: np.place(y[::-1], y > 0.4, x[:2]),
    "place one": lambda y, x: np.place(y, CELLS.tolist(), 2.5),
    "place none": lambda y, x: np.place(y, np.zeros((3, 2)), []),
    "putmask": lambda y, x: np.putmask(y, CELLS, np.stack([x, x * 2])),
    "putmask over again": lambda y, x: np.putmask(y, y > 0.4, x[:2]),
    "putmask one": lambda y, x: np.putmask(y.T, CELLS.T, x[1]),
    "putmask none": lambda y, x: np.putmask(y, CELLS, []),
    "floor_divide": lambda y, x: np.floor_divide(y, x, out=y),
    "view": lambda y, x: y[:, 1:].__imul__(x[1:]),
    "view of a view": lambda y, x: y.T[1:][:, 0].__iadd__(x[:2]),
    "real": lambda y, x: np.real(y).__imul__(2),
}  # fmt: skip
REAL = {  # what has arrays beside fakes
    "mask of rows", "duplicates", "apart", "a list of values", "rows of values", "add.at", "copyto where", "put_along_axis",
    "put_along_axis flat", "multiply.at", "divide.at", "power.at", "maximum.at", "negative.at", "out where", "out where one",
    "place", "place one", "place none", "putmask", "putmask one", "put_along_axis of all",
}  # fmt: skip
INFIX = {name: name for name in ("iadd", "isub", "imul", "itruediv", "ipow", "imod", "ifloordiv")}
WRITES |= {name: lambda y, x, name=name: getattr(y, f"__{name}__")(np.abs(x) + 0.3) for name in INFIX}  # type: ignore[misc]


def written(write: Any) -> Callable[[Any], Any]:
    def f(x: Any) -> Any:
        y = np.zeros_like(x, shape=(2, 3))
        y[0], y[1] = x + 0.2, 2 * x
        before = y * y
        view = y[:, ::-1]
        write(y, x)
        return np.concatenate([y, view * 2, before])

    return f


@pytest.mark.parametrize("name", WRITES)
def test_a_spelling(name: str) -> None:
    f = written(WRITES[name])
    expected = f(A)
    np.testing.assert_allclose(dispatch.detach(f(leaf(A))), expected)
    gradcheck(lambda x: np.sum(np.sin(f(x))), (leaf(A),))
    np.testing.assert_allclose(tangent(f, A, B), slope(f, A, B), atol=1e-6)
    if name != "mask":  # which differs from item to item
        xs = np.stack([A, A + 0.125])
        np.testing.assert_allclose(vmap(f)(xs), [f(x) for x in xs])
        gradient = grad(lambda x: np.sum(np.sin(f(x))))
        np.testing.assert_allclose(vmap(gradient)(xs), [gradient(x) for x in xs])
    if name not in REAL:
        with FakeTensorMode() as mode:
            assert f(mode.from_array(A)).shape == expected.shape


def test_writes_to_complex_parts() -> None:
    def f(z: Any) -> Any:
        y = z * 1
        y.real *= 2.0
        v = y[1:].imag
        v += y.real[1:]
        return np.sum(np.real(y * np.conj(y)) * A)

    gradcheck(f, (leaf(A + 1j * B),))
    np.testing.assert_allclose(f(A + 1j * B), dispatch.detach(f(leaf(A + 1j * B))))


def test_what_a_value_is_written_with_batched() -> None:
    xs, js, masks = np.arange(8.0).reshape(2, 4), np.array([3, 1]), np.array([[1, 0, 1, 0], [0, 0, 1, 1]], bool)

    def put(x: Any, j: Any, v: Any) -> Any:
        y = x * 1
        y[j] = v
        return y

    for index in (js, np.stack([js, js - 1], 1), masks):
        for value in (np.array([5.0, 6.0]), None):
            dims = (0, 0, None if value is None else 0)
            v = 7.0 if value is None else value
            np.testing.assert_array_equal(vmap(put, dims)(xs, index, v), making.loop(put, dims, xs, index, v))
    matrix = np.arange(24.0).reshape(2, 3, 4)

    def cells(y: Any, i: Any, v: Any) -> Any:
        y = y * 1
        y[:, i] = v
        y[1:, None, i[0]] = v[0]
        return y

    i, v = np.array([[0, 2], [3, 1]]), np.array([8.0, 9.0])
    for dims in ((0, 0, None), (0, None, None), (0, 0, 0)):
        w = np.stack([v, -v]) if dims[2] == 0 else v
        j = i if dims[1] == 0 else i[0]
        np.testing.assert_array_equal(vmap(cells, dims)(matrix, j, w), making.loop(cells, dims, matrix, j, w))
    assert said(lambda: vmap(put)(xs, masks, np.ones((2, 2))), BatchingError) == (
        "np::setitem_: a mask that differs from item to item selects different numbers of elements, and a value for each of them "
        "was given. Write y = np.where(mask, new, y), with a value for every element."
    )


def test_an_index_of_numbers_alone_is_a_copy() -> None:
    def f(x: Any) -> Any:
        y = x * 1
        t, u = y[0], y[np.int64(1)]
        y[0], y[1] = 5.0, 6.0
        return t * u

    assert f(A) == dispatch.detach(f(leaf(A))) == vmap(f)(A[None])[0]
    np.testing.assert_array_equal(vmap(grad(f))(A[None]), [[A[1], A[0], 0]])


def test_what_astype_and_flatten_give_is_a_copy() -> None:
    x = leaf(A) * 1
    y, z = x.astype(np.float64), x.flatten()
    x *= 2
    assert np.array_equal(dispatch.detach(y), A)
    assert np.array_equal(dispatch.detach(z), A)
    same = x.astype(np.float64, copy=False)
    x *= 2
    assert np.array_equal(dispatch.detach(same), 4 * A)


def test_what_is_made_after_a_value_is_of_its_kind() -> None:
    x = leaf(A)
    for make in (np.zeros_like, np.ones_like, np.empty_like, lambda x: np.full_like(x, 3.0), lambda x: np.full_like(x, x[0])):
        y = make(x)
        assert type(y) is type(x)
        assert not y.is_leaf
    assert type(np.zeros_like(x, dtype=int)) is np.ndarray
    with no_grad():
        assert type(np.zeros_like(x)) is np.ndarray
    assert np.array_equal(grad(lambda x: np.sum(np.full_like(x, x[1]) * x + np.ones_like(x)))(A), [1, 2 + A.sum() - 1, 1])


# -- what is refused, and in which words -----------------------------------------------------------------------------------


def test_numpys_own_words() -> None:
    def words(call: Any, y: Any) -> tuple[type[BaseException], str]:
        with pytest.raises(Exception) as caught:  # whatever NumPy raises
            call(y)
        return caught.type, str(caught.value)

    calls: list[Any] = [
        lambda y: y.__setitem__(7, 1.0),
        lambda y: y.__setitem__((0, 0), 1.0),
        lambda y: y.__setitem__(slice(2), np.ones(3)),
        lambda y: y.__setitem__(slice(2), np.ones((2, 2))),
        lambda y: y.__iadd__(np.ones((2, 3))),
        lambda y: y.__iadd__(1j),
        lambda y: np.add(y, np.ones((2, 3)), out=y),
        lambda y: np.copyto(y, 1j * A),
        lambda y: np.copyto(y, np.ones((2, 3))),
        lambda y: np.put(y, [4], 1.0),
        lambda y: np.fill_diagonal(y, 1.0),
        lambda y: y.fill(A),
    ]
    for call in calls:
        y = leaf(A) * 1
        assert words(call, y) == words(call, A.copy())
        assert np.array_equal(dispatch.detach(y), A)
    for base in (lambda y: y, lambda y: y * 1):  # in the words of every layer: NumPy's do not say of what the view is
        read_only = np.broadcast_to(base(leaf(A) * 1), (2, 3))
        assert words(lambda y: y.__setitem__(0, 1.0), read_only)[0] is ArgumentError
    with FakeTensorMode() as mode:
        for call in calls[:2]:
            assert words(call, mode.from_array(A)) == words(call, A.copy())
        for shape in [(3,), (2, 2), (1, 3)]:
            fake, real = mode.from_array(np.ones(shape)), np.ones(shape)
            assert words(lambda y, v=fake: y.__setitem__(slice(2), v), mode.from_array(A)) == words(
                lambda y, v=real: y.__setitem__(slice(2), v), A.copy()
            )
        mode.from_array(A)[mode.from_array(A > 1)] = mode.from_array(A)


def test_complex_numbers_are_cast_as_numpy_casts_them() -> None:
    y = leaf(A) * 1
    with pytest.warns(np.exceptions.ComplexWarning):
        y[:2] = leaf(A[:2]) * (1 + 1j)
    with pytest.raises(TypeError):
        y[0] = 1j
    z = leaf(A)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
        y = z * 1
        y[:] = z * z * (1 + 1j)
        np.sum(y).backward()
    assert np.array_equal(z.grad, 2 * A)


def test_a_leaf() -> None:
    x = leaf()
    text = (
        " that requires a gradient, and a write would take away what that is the gradient of. Write to a copy, `y = x.copy()`; or "
        "write to it under dispatch.no_grad(), as a step of an optimizer does."
    )
    assert said(lambda: x.__setitem__(0, 1.0), GradientError) == "np::setitem_: argument 'x' is a leaf" + text
    assert said(lambda: x[1:].__iadd__(1.0), GradientError) == "np::setitem_: argument 'x' is a view of a leaf" + text
    with no_grad():
        x[0] = 7.0
        x *= 2
    assert np.array_equal(dispatch.detach(x), [14.0, 2.0, 4.0])


def test_a_target_that_cannot_hold_what_is_written() -> None:
    advice = "array made of such a value, `y = np.zeros_like(value, shape=...)`, or np.stack the pieces"

    def inner(y: Any) -> Any:
        return grad(lambda t: (y.__setitem__(0, t[0]), np.sum(y))[1])(A)

    assert f"their gradient would be lost in silence. Write to an {advice}; or pass dispatch.detach(...)" in said(
        lambda: inner(leaf() * 1), GradientError
    )
    assert said(lambda: vmap(lambda x: (leaf() * 1).__setitem__(0, x))(A), BatchingError) == (
        "x[...] = ... would write a value that differs from item to item into one array of shape (3,) that all items share. "
        f"Write to an {advice}."
    )
    plain = A.copy()
    made = "which cannot hold what a Tensor tracks. Make the array of a tracked one: np.zeros_like(x, shape=...)."
    for name, write in {
        "np.copyto": lambda: np.copyto(plain, leaf()),
        "np.add.at": lambda: np.add.at(plain, [0], leaf()[0]),
        "np.put": lambda: np.put(plain, [0], leaf()),
        "np.place": lambda: np.place(plain, plain > 0, leaf()),
        "np.putmask": lambda: np.putmask(plain, plain > 0, leaf()),
        "np.put_along_axis": lambda: np.put_along_axis(plain, np.array([0]), leaf()[:1], 0),
    }.items():
        text = said(write, UnsupportedError)
        assert text.startswith(f"{name} would write to an array of shape (")
        assert text.endswith(made)
    assert np.array_equal(plain, A)


@pytest.mark.parametrize("axis", [0, 1, 2, None])
@pytest.mark.parametrize("indices", [np.array(0), np.array([0]), np.array([[0]]), np.array([[0.0]]), np.array([[True]])], ids=repr)
def test_places_along_an_axis_are_whole_numbers_of_as_many_axes(indices: Any, axis: Any) -> None:
    def f(x: Any) -> Any:
        np.put_along_axis(x, indices, 5.0, axis)
        return x

    assert outcome_of(dispatch.functionalize(f), np.eye(2)) == outcome_of(f, np.eye(2))


@pytest.mark.parametrize("out", [np.zeros((2, 2)), np.zeros((2, 2), order="F"), np.zeros((4, 4))[::2, ::2], np.zeros((2, 2))[::-1]])
@pytest.mark.parametrize("f", [lambda x, out: np.dot(x, x, out=out), lambda x, out: x.dot(2.0, out), lambda x, out: np.linalg.multi_dot([x] * 3, out=out)])
def test_a_product_is_written_to_an_array_in_c_order_alone(f: Any, out: Any) -> None:
    x = np.array([[1.0, 2.0], [3.0, 4.0]])
    assert outcome_of(dispatch.functionalize(f), x, out) == outcome_of(f, x, out)


def outcome_of(f: Any, *args: Any) -> Any:
    try:
        return f(*args).tolist()
    except Exception as error:
        return type(error), str(error)


def test_a_function_of_numpys_that_makes_its_array_itself_is_told_by_its_own_name() -> None:
    x, y = np.zeros((2, 3)), np.array([0.5, 1.5, 2.5])
    with pytest.raises(UnsupportedError, match=r"^np\.copyto would write to an array of shape \(2, 3\), .*\. np\.full_like asks some of its arguments .* Write dispatch\.numpy\.full_like"):
        dispatch.grad(lambda y: np.sum(np.full_like(x, y)))(y)
    assert np.array_equal(dispatch.grad(lambda y: np.sum(dispatch.numpy.full_like(x, y)))(y), [2.0, 2.0, 2.0])


def test_at_casts_as_numpy_does() -> None:
    def f(y: Any) -> Any:
        y = y * 2
        np.multiply.at(y, [0, 0], 1.6)
        return y

    ints = np.ones((2, 3), int)
    assert np.array_equal(vmap(f)(ints), [f(row) for row in ints])


def test_a_mask_of_where_may_differ_between_items_and_calls() -> None:
    """The derivative is that of the chosen elements, also where the others have none."""
    x, y = np.array([0.0, 2.0, 3.0]), np.array([1.0, 0.0, 4.0])

    def quotient(x: Any, y: Any) -> Any:
        return np.divide(x, y, out=np.zeros_like(x), where=y != 0)

    def loss(x: Any, y: Any) -> Any:
        return np.sum(quotient(x, y) * [1.0, 2.0, 3.0])

    np.testing.assert_array_equal(vmap(quotient)(np.stack([x, y]), np.stack([y, x])), [[0, 0, 0.75], [0, 0, 4 / 3]])
    slopes = vmap(dispatch.grad(loss, (0, 1)))(np.stack([x, y]), np.stack([y, x]))
    np.testing.assert_allclose(slopes[0], [[1, 0, 0.75], [0, 1, 1]])
    np.testing.assert_allclose(slopes[1], [[0, 0, -9 / 16], [0, 0, -4 / 3]])
    graph = dispatch.make_fx(quotient)(x, y)
    np.testing.assert_array_equal(graph(y, x), quotient(y, x))


def test_what_is_not_taken() -> None:
    y = leaf(np.eye(3)) * 1
    assert said(lambda: np.sum(y, 0, out=y), ArgumentError) == (
        "np.sum: out= has shape (3, 3), and the result (3,). Give one of that shape."
    )
    assert said(lambda: np.add(y, 1, where=y > 0), UnsupportedError) == (
        "np.add: where=a ndarray has no row. Elsewhere the result would be whatever memory held: give out= too, or write "
        "np.where(mask, ..., y)."
    )
    assert said(lambda: vmap(lambda i: np.multiply.at(np.zeros_like(i, shape=(3,), dtype=float), i, 2.0))(I[:, None]), UnsupportedError) == (
        "np.multiply.at: the index is a wrapped value, and which elements it meets twice has to be known. "
        "Give an index that is the same for every item."
    )
    whole = dispatch.tensor(np.ones(3), requires_grad=True) * 1
    for call in (
        lambda y: np.divide.at(y, [3], 1.0),
        lambda y: np.add(y, np.ones((2, 3)), out=y, where=True),
        lambda y: np.add(y, 1j, out=y, where=MASK),
        lambda y: np.add(y, 1, out=y, where=np.array([1, 0, 1])),
    ):
        with pytest.raises((ValueError, TypeError, IndexError)) as plain:
            call(np.ones(3))
        assert said(lambda call=call: call(whole), type(plain.value)) == str(plain.value)
    assert y.__iadd__(None) is NotImplemented


def test_an_index_that_is_out_of_range_leaves_everything_as_it_was() -> None:
    x = leaf(np.ones(5000))
    y = x * 1
    with pytest.raises(IndexError):
        y[5000] = 1.0
    np.sum(y).backward()
    assert np.array_equal(x.grad, np.ones(5000))


def test_a_loop_of_writes_writes_into_one_array() -> None:
    x = leaf(1.5)
    n = COPIED_BYTES // 4
    for y in (np.zeros_like(x, shape=(n,)), np.zeros_like(x, shape=(2, n // 2)).reshape(n), np.zeros_like(x, shape=(n,))[::1]):
        y[0] = x
        where = y.value.__array_interface__["data"][0]
        for i in range(1, 50):
            y[i] = x * i
        assert y.value.__array_interface__["data"][0] == where
        x.grad = None
        np.sum(y).backward()
        assert x.grad == 1 + sum(range(50))


def test_a_batched_write_goes_to_the_array_that_was_mapped() -> None:
    xs = np.zeros((2, 3))
    vmap(lambda x: x.__setitem__(0, 5.0), out_dims=None)(xs)
    assert np.array_equal(xs[:, 0], [5, 5])
    assert ops.np.setitem(xs, 0, 1.0) is not xs


@pytest.mark.parametrize("shape", [(0,), (2, 0), (2, 2, 0), (2, 1), (3,), (2,)], ids=str)
def test_nothing_is_written_at_no_places_of_an_array_of_no_elements_as_in_numpy(shape: tuple[int, ...]) -> None:
    def f(x: Any, value: Any) -> Any:
        y = x + 0
        y[np.array([], int)] = value
        return y

    x, value = np.empty(0), np.ones(shape)
    for run in (f, dispatch.functionalize(f), lambda *args: dispatch.make_fx(f, "fake")(*args)(*args)):
        if shape[-1] in (0, 1):
            try:
                f(x, value)
            except ValueError:
                with pytest.raises(ValueError, match="broadcast"):
                    run(x, value)
            else:
                assert run(x, value).shape == (0,)
        else:
            with pytest.raises(ValueError, match=r"broadcast|mismatch"):
                run(x, value)


@pytest.mark.parametrize("dtype", ["f8", "f2", "i4", "u1", "?", "c8"])
@pytest.mark.parametrize("number", [1j, 2.5, np.nan, 1e300, 2**70, True, -1, np.uint8(200), np.float16(2.5), np.int64(2**40), np.complex64(1j)])
def test_copyto_casts_a_number_as_numpy_does(number: Any, dtype: str) -> None:
    for casting in ("unsafe", "same_kind", "safe"):

        def f(x: Any, casting: Any = casting) -> Any:
            np.copyto(x, number, casting)
            return x

        with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
            try:
                expected = f(np.zeros(2, dtype))
            except Exception as error:
                with pytest.raises(type(error)) as caught:
                    dispatch.functionalize(f)(np.zeros(2, dtype))
                assert str(caught.value) == str(error)
                continue
            found = dispatch.functionalize(f)(np.zeros(2, dtype))
        assert found.dtype == expected.dtype
        assert np.array_equal(found, expected, equal_nan=True)


@pytest.mark.parametrize("y", [lambda x: x, lambda x: x[:3], lambda x: x.astype("f4"), lambda x: x.copy(), lambda x: x[1]], ids=["itself", "a view", "cast", "copied", "a number"])
def test_place_of_what_it_overlaps_is_refused_and_of_a_copy_is_numpys(y: Callable[[Any], Any]) -> None:
    """Of [0, 1, 2, 3] placed behind its own first element NumPy makes zeros alone: it reads what it has just written."""

    def f(x: Any) -> Any:
        np.place(x, np.arange(4) > 0, y(x))
        return x

    x = np.arange(4.0)
    expected = f(x.copy())
    ways = (dispatch.functionalize(f), lambda x: dispatch.make_fx(f)(x.copy())(x), lambda x: dispatch.vjp(lambda x: f(x * 1), x)[0])
    for way in ways:
        if np.shares_memory(x, y(x)):
            with pytest.raises(UnsupportedError, match=r"^np\.place\(x, mask, y\), where y shares memory with x: NumPy reads of y what it has just written to x, .* Write np\.place\(x, mask, y\.copy\(\)\)"):
                way(x.copy())
        else:
            np.testing.assert_array_equal(way(x.copy()), expected)


@pytest.mark.parametrize("dtype", ["f8", "f2", "i1", "u8", "?", "c8"])
@pytest.mark.parametrize("values", [[1, 2], [2.5], 3.5, np.float16(3.5), np.array([3], "i1"), np.array([2.5, 1.0], "f2"), [True], 1j, 300], ids=str)
def test_place_and_putmask_read_lists_and_numbers_and_cast_arrays_as_numpy_does(values: Any, dtype: str) -> None:
    for function in (np.place, np.putmask):

        def f(x: Any, function: Any = function) -> Any:
            function(x, x > 0, values)
            return x

        x = np.array([1, 0, 2, 1]).astype(dtype)
        with warnings.catch_warnings(action="ignore"):
            try:
                expected = f(x.copy())
            except Exception as error:
                with pytest.raises(type(error)):
                    dispatch.functionalize(f)(x.copy())
                continue
            found = dispatch.functionalize(f)(x.copy())
        assert found.dtype == expected.dtype
        assert np.array_equal(found, expected)


@pytest.mark.parametrize("function", [np.place, np.putmask, np.put], ids=["place", "putmask", "put"])
@pytest.mark.parametrize("dtype", ["f4", "i4", "?", "c8"])
def test_a_list_with_followed_numbers_is_read_as_of_the_arrays_dtype(function: Any, dtype: str) -> None:
    where = [0, 2] if function is np.put else np.array([True, False, True])

    def program(number: Any) -> Any:
        y = np.zeros_like(number, dtype, shape=(3,)) if isinstance(number, dispatch.Tensor) else np.zeros(3, dtype)
        function(y, where, [number, 2.0])
        return y

    for number in (np.array(1.75), np.array(1.75 + 1j)):
        if number.dtype.kind == "c" and dtype in ("f4", "i4"):  # NumPy drops the imaginary part with a warning
            with pytest.raises(TypeError, match="complex"):
                dispatch.vmap(program)(np.stack([number, number]))
            continue
        expected = program(number)
        found = [dispatch.vmap(program)(np.stack([number, number]))[1], dispatch.make_fx(program)(number)(number)]
        if dtype in ("f4", "c8"):
            found += [program(dispatch.tensor(number, requires_grad=True)).detach(), dispatch.jvp(program, (number,), (number,))[0]]
        for y in found:
            assert (y.dtype, y.tobytes()) == (expected.dtype, expected.tobytes())


WRITTEN: dict[str, Callable[[Any, Any], Any]] = {
    "an item": lambda x, v: x.__setitem__(0, v),
    "a mask": lambda x, v: x.__setitem__(x > 0, v),
    "a list": lambda x, v: x.__setitem__(slice(0, 2), [v, 1]),
    "a list in a mask": lambda x, v: x.__setitem__(np.array([True, True, False]), [v, 1]),
    "places": lambda x, v: x.__setitem__([0, 1], (v, v)),
    "fill": lambda x, v: x.fill(v),
    "flat": lambda x, v: setattr(x, "flat", v),
    "put": lambda x, v: np.put(x, [0, 1], v),
    "put a list": lambda x, v: np.put(x, [0, 1], [v]),
    "place": lambda x, v: np.place(x, x > 0, v if isinstance(v, list) else [v]),
    "putmask": lambda x, v: np.putmask(x, x > 0, v),
    "copyto": lambda x, v: np.copyto(x, v),
    "fill_diagonal": lambda x, v: np.fill_diagonal(x[:2].reshape(1, 2), v),
    "put_along_axis": lambda x, v: np.put_along_axis(x, np.array([0]), [v], 0),
    "select": lambda x, v: np.copyto(x, np.select([x > 0], [x], v), casting="unsafe"),
    "select among": lambda x, v: np.copyto(x, np.select([x > 0], [v], x), casting="unsafe"),
    "pad": lambda x, v: np.copyto(x, np.pad(x[1:], (0, 1), constant_values=v)),
    "where": lambda x, v: np.copyto(x, np.where(x > 0, x, v), casting="unsafe"),
    "full_like": lambda x, v: np.copyto(x, np.full_like(x, v)),
}


@pytest.mark.parametrize("dtype", ["u1", "i1", "i8", "?", "f4"])
@pytest.mark.parametrize("way", WRITTEN)
def test_a_number_of_pythons_has_to_fit_where_numpy_says_so(way: str, dtype: str) -> None:
    for number in (1000, -1, 2.7, 2**70, True, np.int64(1000), np.float32(2.5)):

        def f(x: Any, number: Any = number) -> Any:
            WRITTEN[way](x, number)
            return x

        x = np.array([0, 1, 2]).astype(dtype)
        with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
            try:
                expected: Any = f(x.copy())
            except Exception as error:
                expected = type(error)
            for name, run in {"functionalize": dispatch.functionalize(f), "vmap": lambda x, f=f: dispatch.vmap(f)(x[None])[0]}.items():
                try:
                    found: Any = run(x.copy())
                except Exception as error:
                    assert isinstance(expected, type), (name, number, error)
                    continue
                assert not isinstance(expected, type), (name, number)
                assert np.array_equal(found, expected), (name, number)


@pytest.mark.parametrize("mask", [(), (0,), (1,), (2,), (3,), (2, 1), (2, 3), (1, 3), (0, 3), (3, 1), (2, 3, 1)], ids=str)
@pytest.mark.parametrize("shape", [(3,), (1,), (0,), (2, 3), (1, 3)], ids=str)
def test_a_mask_that_differs_from_item_to_item_fits_as_numpys_does(shape: tuple[int, ...], mask: tuple[int, ...]) -> None:
    def f(x: Any, m: Any) -> Any:
        x[m] = 5.0
        return x

    x, m = np.zeros((2, *shape)), np.ones((2, *mask), bool)
    try:
        expected = np.stack([f(x[i].copy(), m[i]) for i in range(2)])
    except IndexError as error:
        with pytest.raises(IndexError) as caught:
            vmap(f)(x, m)
        assert str(caught.value) == str(error)
        return
    np.testing.assert_array_equal(vmap(f)(x, m), expected)


@pytest.mark.parametrize("dst", ["i4", "f4", "u1", "?", "c8"])
@pytest.mark.parametrize("src", [np.array([3], "u8"), np.array([2.5]), np.array([1, 0, 300]), np.float64(2.5), 7, 2.5, True, 1j], ids=str)
def test_copyto_where_casts_as_copyto_does(src: Any, dst: str) -> None:
    def f(x: Any) -> Any:
        np.copyto(x, src, where=np.array([True, False, True]))
        return x

    x = np.array([1, 0, 2]).astype(dst)
    with np.errstate(all="ignore"), warnings.catch_warnings(action="ignore"):
        try:
            expected = f(x.copy())
        except Exception as error:
            with pytest.raises(type(error)):
                dispatch.functionalize(f)(x.copy())
            return
        assert np.array_equal(dispatch.functionalize(f)(x.copy()), expected)


NOTHING: dict[str, Callable[[tuple[int, ...]], Any]] = {
    "x[[]]": lambda shape: np.array([], int),
    "x[-1, []]": lambda shape: (-1, np.array([], int)),
    "x[[], []]": lambda shape: (np.array([], int),) * 2,
    "x[:, []]": lambda shape: (slice(None), np.array([], int)),
    "x[a list]": lambda shape: [],
    "x[lists]": lambda shape: ([],) * len(shape),
    "x[..., a list]": lambda shape: (Ellipsis, []),
    "x[a list of truth values]": lambda shape: [False] * shape[0],
    "x[False]": lambda shape: False,
    "x[mask]": lambda shape: np.zeros(shape, bool),
    "x[mask of rows]": lambda shape: np.zeros(shape[0], bool),
    "x[0, mask]": lambda shape: (0, np.zeros(shape[-1], bool)),
    "x[0:0]": lambda shape: slice(0, 0),
}
VALUES = ((), (1,), (2,), (0,), (2, 0), (0, 2), (5, 7), (3, 1), (1, 0), (5, 2, 0), (2, 0, 3))


@pytest.mark.parametrize("spelling", NOTHING)
@pytest.mark.parametrize("shape", [(0,), (3,), (2, 0), (2, 3), (0, 2)], ids=str)
def test_what_may_be_written_to_nothing_is_what_numpy_takes(shape: tuple[int, ...], spelling: str) -> None:
    index = NOTHING[spelling](shape)

    def f(x: Any, value: Any) -> Any:
        x = x.copy()
        x[index] = value
        return x

    def pulled(x: Any, value: Any) -> Any:
        out, back = dispatch.vjp(f, x, value)
        assert [g.shape for g in back(np.ones_like(out))] == [x.shape, value.shape]
        return out

    ways: list[Callable[[Any, Any], Any]] = [
        f, pulled,
        lambda x, value: dispatch.jvp(f, (x, value), (x, value))[0],
        lambda x, value: dispatch.make_fx(f, "fake")(x, value)(x, value),
        lambda x, value: vmap(f)(np.stack([x] * 3), np.stack([value] * 3))[0],
        lambda x, value: vmap(f, (0, None))(np.stack([x] * 3), value)[0],
    ]  # fmt: skip

    def shape_or_error(way: Callable[[Any, Any], Any], value: tuple[int, ...]) -> Any:
        try:
            return way(np.zeros(shape), np.ones(value)).shape
        except (ValueError, TypeError, IndexError) as error:
            return type(error)

    for value in VALUES:
        assert len({shape_or_error(way, value) for way in ways}) == 1, value


ITEMS = [lambda s: operator.setitem(s, (), 5), lambda s: operator.setitem(s, Ellipsis, 5), lambda s: operator.setitem(s, True, 5)]
OTHER_WRITES = [
    lambda s: np.copyto(s, 5), lambda s: np.putmask(s, True, 1), lambda s: np.place(s, True, 1), lambda s: np.add(1, 2, out=s),
    lambda s: np.add.at(s, (), 1),
]  # fmt: skip


@pytest.mark.parametrize("write", ITEMS + OTHER_WRITES)
def test_nobody_writes_to_a_number(write):
    """NumPy's scalars are no memory; an array without axes is."""

    def f(x):
        write(np.sum(x))
        return np.sum(x)

    ways = [f, lambda x: dispatch.make_fx(f, "fake")(x), lambda x: dispatch.functionalize(f)(x)]
    for way in ways if write in ITEMS else [*ways, grad(f), vmap(f, in_dims=1)]:
        with pytest.raises(TypeError, match=r"assignment|would write to a number of dtype float64, which is no array\. Write|argument|ArrayType|operand"):
            way(np.ones((2, 3)))

    def g(x):
        s = x[0, 0, ...]
        write(s)
        return np.sum(x)

    assert dispatch.compile(g)(np.ones((2, 3))) == g(np.ones((2, 3)))


@pytest.mark.parametrize("write", ITEMS)
def test_items_of_a_number_with_a_derivative_are_written_as_the_array_apis_are(write):
    """SciPy sets results without axes where an input is constant; the standard's are arrays."""

    def f(x):
        y = np.sum(x * x)
        z = np.sum(x)
        write(y)
        return y * z

    x = np.arange(1.0, 4.0)
    assert np.array_equal(grad(f)(x), np.full(3, 5.0))
    assert dispatch.jvp(f, (x,), (x,))[1] == 5 * x.sum()
    assert np.array_equal(vmap(f)(np.stack([x, x + 1])), [5 * x.sum(), 5 * (x + 1).sum()])


def matrices(dtype, shape, by_columns, ways):
    """Random numbers, by rows or by columns, seen `ways`."""
    random = np.random.default_rng(len(shape))
    x = random.normal(size=(*shape, 2)).view(complex)[..., 0]
    x = (x if np.dtype(dtype).kind == "c" else x.real).astype(dtype)
    return np.copy(np.swapaxes(np.swapaxes(x, -1, -2).copy(), -1, -2) if by_columns else x, order="K")[ways]


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("n", [3, 40])
@pytest.mark.parametrize("ways", [np.s_[...], np.s_[..., ::-1], np.s_[..., ::-1, :]], ids=["as it is", "columns turned", "rows turned"])
@pytest.mark.parametrize("by_columns", [False, True])
@pytest.mark.parametrize("batch", [(), (2,)])
def test_a_product_written_into_an_array_has_the_bits_of_numpys(dtype, n, ways, by_columns, batch):
    def itself(x):
        x @= x
        return x

    def other(x):
        x @= x.reshape(-1, n, n)[0].copy()
        return x

    def out(x):
        return np.matmul(x * 2, x, out=x)

    for f in (itself, other, out):
        expected, found = (matrices(dtype, (*batch, n, n), by_columns, ways) for _ in range(2))
        f(expected)
        dispatch.functionalize(f)(found)
        assert found.tobytes() == expected.tobytes()


def pointwise() -> list[np.ufunc]:
    """The ufuncs of one result, that have floating or complex ones, and rows here."""
    every = {f for f in vars(np).values() if isinstance(f, np.ufunc) and f.nout == 1 and not f.signature}
    return sorted((f for f in every if {"d->d", "dd->d"} & set(f.types) and f in UFUNCS), key=lambda f: f.__name__)


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("ways", [np.s_[::-1], np.s_[:, ::-1], np.s_[::-1, ::-1], np.s_[..., ::2], np.s_[0, ::-1]], ids=repr)
@pytest.mark.parametrize("ufunc", pointwise(), ids=lambda f: f.__name__)
def test_what_a_ufunc_writes_into_an_array_of_other_strides_has_the_bits_of_numpys(ufunc: np.ufunc, ways: Any, dtype: str) -> None:
    x = matrices(dtype, (6, 24), False, ways)
    letter = x.dtype.char
    if letter * ufunc.nin + "->" + letter not in ufunc.types:
        pytest.skip(f"no loop for {x.dtype}")
    if ufunc in {np.multiply, np.square} and letter in "FD":
        pytest.skip("of complex numbers NumPy fuses the product and the sum in arrays without gaps alone, in place too")

    def of_its_own(x: Any) -> Any:
        return ufunc(*[x] * ufunc.nin, out=x)

    def of_another(x: Any) -> Any:
        return ufunc(*[np.sin(x), np.cos(x[..., :1])][: ufunc.nin], out=x)

    for number, f in enumerate((of_its_own, of_another)):
        for transform in in_turn((dispatch.functionalize, dispatch.compile), number + ["f4", "f8", "c8", "c16"].index(dtype)):
            expected, found = (matrices(dtype, (6, 24), False, ways) for _ in range(2))
            with np.errstate(all="ignore"):
                f(expected)
                transform(f)(found)
            assert equal_bits(found, expected), found - expected


CALLED = "sum prod max min mean std var any all argmax argmin round take clip choose dot ptp median nansum nanmax quantile".split()


@pytest.mark.parametrize("name", CALLED)
@pytest.mark.parametrize("x", [np.int64(0), np.array(0), 0], ids=["number", "array", "python"])
def test_what_out_gives_of_a_number_is_a_number_where_numpys_function_calls_its_method(name: str, x: Any) -> None:
    rest = {"take": (0,), "clip": (0, 1), "choose": ([5, 6],), "dot": (2,), "quantile": (0.5,)}.get(name, ())

    def f(x: Any, out: Any) -> Any:
        return getattr(np, name)(x, *rest, out=out), out

    def seen(result: Any, out: Any) -> tuple[Any, ...]:
        return type(result), result.dtype, result.tolist(), out.tolist(), np.shares_memory(result, out)

    kind = bool if name in ("any", "all") else float if name in ("mean", "std", "var", "median", "quantile") else int
    for transform in (dispatch.functionalize, dispatch.compile, None):
        if (type(x) is int and transform is not dispatch.functionalize) or (transform is dispatch.compile and name == "dot" and not isinstance(x, np.ndarray)):
            continue  # no argument of a graph; of those `compile` says that it runs f itself
        expected = seen(*f(x, np.ones((), kind)))
        out = np.ones((), kind)
        g = f if transform is None else transform(f)
        run = dispatch.make_fx(f, "symbolic")(x, out.copy()) if transform is None else g
        assert seen(*run(x, out)) == expected, transform


def test_a_product_is_written_into_an_array_in_c_order_alone_as_numpy_writes_it() -> None:
    def f(x: Any) -> Any:
        return np.dot(x, x, out=np.empty_like(x))

    x = matrices("f8", (3, 3), False, np.s_[...])
    for run in (f, dispatch.functionalize(f), dispatch.make_fx(f, "symbolic"), lambda x: dispatch.jvp(f, (x,), (x,))):
        with pytest.raises(ValueError, match=r"output array is not acceptable .* be a C-Array"):
            run(np.asfortranarray(x))
    assert equal_bits(dispatch.functionalize(f)(x), f(x))
