"""Methods and attributes of ndarray on wrappers: those of layouts beside NumPy's own, and what is refused, in the words of each layer."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import dispatch
from dispatch.errors import ConversionError, DataDependentError, TracingError, UnsupportedError
from dispatch.numpy_ops.numpy_functions import FUNCTIONS

A = np.arange(6.0).reshape(2, 3) + 1
LAYOUTS = [A, np.asfortranarray(A), A[:, ::-1], A[:, ::2], A.T, A[0], A[0, 0]]


def in_layers(run: Callable[[Any], Any], a: Any) -> Iterator[tuple[str, Any]]:
    """What a function returns for an array in each layer, with an item of a batch; or the error that it raises."""

    def tried(x: Any) -> Any:
        try:
            return run(x)
        except Exception as error:
            return error

    yield "tracked", tried(dispatch.tensor(a, requires_grad=True))
    found: list[Any] = []
    dispatch.jvp(lambda x: (found.append(tried(x)), x)[1], (a,), (a,))
    dispatch.vmap(lambda x: (found.append(tried(x)), x)[1], in_axis(a))(batch(a))
    dispatch.make_fx(lambda x: (found.append(tried(x)), x * 1)[1])(a)
    with dispatch.FakeTensorMode() as mode:
        found.append(tried(mode.from_array(a)))
    yield from zip(("forward", "batched", "traced", "fake"), found, strict=True)


def batch(a: Any) -> Any:
    return np.lib.stride_tricks.as_strided(a, (2, *a.shape), (0, *a.strides))


def in_axis(a: Any) -> int:
    return 0


@pytest.mark.parametrize("a", LAYOUTS, ids=lambda a: f"{a.shape}{a.strides}")
def test_what_tells_of_memory_is_numpys(a: Any) -> None:
    for name, found in in_layers(lambda x: (x.strides, x.flags.c_contiguous, x.flags["F_CONTIGUOUS"], x.flags.forc, x.flags["A"], x.nbytes, x.itemsize), a):
        if name == "tracked":  # which copies
            a_ = dispatch.tensor(a).value if isinstance(dispatch.tensor(a), dispatch.Tensor) else np.array(a)
            expected = a_
        else:
            expected = a
        flags = expected.flags
        assert found == (expected.strides, flags.c_contiguous, flags.f_contiguous, flags.forc, True, expected.nbytes, expected.itemsize), name


def test_a_number_of_an_array_is_not_writeable_and_an_array_without_axes_is() -> None:
    asked = lambda x: [y.flags.writeable for y in (np.sum(x), x[0, 0], x[0, 0, ...], x[:1, :1].reshape(()), x[0])]
    for name, found in in_layers(asked, A):
        assert found == asked(A), name


@pytest.mark.parametrize("view", [
    lambda x: np.broadcast_to(x, (2, *x.shape)), np.diag, np.diagonal, lambda x: np.lib.stride_tricks.sliding_window_view(x, 2, 1), lambda x: np.diag(x)[1:],
    lambda x: x.T, lambda x: x[1:], lambda x: np.broadcast_to(x, (1, *x.shape)) + 0,
])  # fmt: skip
def test_a_read_only_view_is_not_writeable_where_views_are_followed(view: Any) -> None:
    found: list[bool] = [view(dispatch.tensor(A, requires_grad=True)).flags.writeable]
    dispatch.jvp(lambda x: (found.append(view(x).flags.writeable), x)[1], (A,), (A,))
    dispatch.functionalize(lambda x: (found.append(view(x).flags.writeable), x)[1])(A.copy())
    assert found == [view(A.copy()).flags.writeable] * 3


def test_who_holds_memory_is_no_property_of_a_value() -> None:
    x = dispatch.tensor(A, requires_grad=True)
    assert not hasattr(x, "base")
    assert not hasattr(x[0], "base")
    with pytest.raises(AttributeError, match="a TrackedTensor has no base: a layer makes its views again when one is written to"):
        x.base
    with pytest.raises(AttributeError, match=r"x.flags.owndata says who holds memory, which is no property"):
        x.flags.owndata
    assert repr(x.flags) == "<flags: C_CONTIGUOUS True, F_CONTIGUOUS False, WRITEABLE True>"
    with pytest.raises(AttributeError, match=r"x\.flags\.writeable cannot be deleted: it says how the array below lies in memory\."):
        del x.flags.writeable


@pytest.mark.parametrize(
    ("said", "call"),
    [
        ("x.flags.writeable cannot be set on a value that a layer follows. To keep it from writes write y = dispatch.detach(x)", lambda x: setattr(x.flags, "writeable", False)),
        ("x.flags.writeable cannot be set", lambda x: x.flags.__setitem__("WRITEABLE", False)),
        ("x.flags.writeable cannot be set", lambda x: x.setflags(write=False)),
        ("x.resize(...) changes the size of an array in place", lambda x: x.resize(3, 2)),
        ("x.resize(...) changes the size of an array in place", lambda x: x.resize((3, 2), refcheck=False)),
        ("x.view('f4') reads the bytes of the elements as something else, which no derivative follows, nor a shape rule", lambda x: x.view("f4")),
        ("x.byteswap(...) reads the bytes", lambda x: x.byteswap()),
        ("x.getfield(...) reads the bytes", lambda x: x.getfield("f4")),
        ("x.setfield(...) reads the bytes", lambda x: x.setfield(1, "f4")),
    ],
)
def test_what_a_layer_does_not_follow_is_refused_by_name(said: str, call: Callable[[Any], Any]) -> None:
    for name, found in in_layers(call, A):
        assert isinstance(found, UnsupportedError), (name, found)
        assert said in str(found), name


@pytest.mark.parametrize("name", ["tobytes", "dumps", "tofile", "dump"])
def test_what_would_hand_the_data_on_is_refused_as_an_array_is(name: str, tmp_path: Any) -> None:
    place = tmp_path / "data"
    for layer, found in in_layers(lambda x: getattr(x, name)(*([place] if name in ("tofile", "dump") else [])), A):
        assert isinstance(found, (ConversionError, TracingError, DataDependentError)), (layer, found)
        assert not place.exists()


def test_the_lines_that_are_shown_instead_run() -> None:
    x, z = dispatch.tensor(A, requires_grad=True), dispatch.tensor(A * 1j, requires_grad=True)
    assert x.astype(x.dtype.newbyteorder()).dtype == np.dtype(">f8")
    z = z * 1
    z.real, z.imag = x, 2 * x
    np.testing.assert_array_equal(z.detach(), A + 2j * A)
    assert np.resize not in FUNCTIONS or np.resize(x, (3, 2)).shape == (3, 2)
    np.testing.assert_array_equal(np.concatenate([np.ravel(x), np.zeros(2)]).reshape((4, 2)).detach()[3], 0)


def test_a_view_of_the_same_numbers_is_one() -> None:
    x = dispatch.tensor(A, requires_grad=True) * 1
    for y in (x.view(), x.view(np.ndarray), x.view("f8"), x.view(dtype=np.float64), x.view(type=np.ndarray)):
        y[0, 0] = 7.0
        assert x[0, 0].item() == 7.0
        x[0, 0] = 1.0
    with pytest.raises(UnsupportedError, match=r"x.view\(<class 'numpy.matrix'>\) reads"):
        x.view(np.matrix)
    x.setflags(write=True)
    x.setflags()


def test_order_in_place_and_choice() -> None:
    x = dispatch.tensor(A[:, ::-1], requires_grad=True)
    y = x * 2
    assert y.partition(1) is None
    np.testing.assert_array_equal(y.detach(), np.partition(2 * A[:, ::-1], 1))
    np.testing.assert_array_equal(dispatch.grad(lambda x: ordered(x * 2)[0, 0])(A[:, ::-1].copy()), [[0, 0, 2], [0, 0, 0]])
    np.testing.assert_array_equal(x.argpartition(0, axis=0), A[:, ::-1].argpartition(0, axis=0))
    np.testing.assert_array_equal(dispatch.vmap(lambda i: i.choose([10, 20]))(np.array([[0, 1], [1, 0]])), [[10, 20], [20, 10]])
    for call in (lambda x: x.partition(0, order="f"), lambda x: x.argpartition(0, order="f")):
        with pytest.raises(ValueError, match="Cannot specify order when the array has no fields"):
            call(y)
        with pytest.raises(ValueError, match="Cannot specify order when the array has no fields"):
            call(A.copy())


def ordered(x: Any) -> Any:
    x.partition(1)
    return x
