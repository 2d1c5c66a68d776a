"""Layouts of hints: a kernel gets what its hint says, copied only where it has to be, and never written to in a copy."""

import itertools
from typing import Annotated

import numpy as np
import numpy.typing as npt
import pytest
from making import said

import dispatch
from dispatch import custom_op
from dispatch.core.pytree import leaves
from dispatch.dispatcher.argument_layout import adapted
from dispatch.errors import ArgumentError, DispatchError, HintError

C = Annotated[np.ndarray, "C"]
F = Annotated[np.ndarray, "F"]
WRITEABLE = Annotated[np.ndarray, "C", "writeable"]

ARRAYS = {
    "C": np.arange(6.0).reshape(2, 3),
    "F": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    "reversed": np.arange(6.0).reshape(2, 3)[::-1, ::-1],
    "strided": np.arange(12.0).reshape(2, 6)[:, ::2],
    "read-only": np.broadcast_to(np.arange(3.0), (2, 3)),
    "0-d": np.array(2.0),
    "empty": np.empty((0, 3)),
}
seen = []
numbers = itertools.count()


def arrays(x):
    return [a for a in leaves(x) if isinstance(a, np.ndarray)]


@custom_op("adaptingtests::c", mutates_args=())
def in_c(x: C, factor: float = 2.0, *, y: C | None = None) -> np.ndarray:
    seen[:] = [x, y]
    return x * factor


@custom_op("adaptingtests::f", mutates_args=())
def in_f(xs: list[F]) -> np.ndarray:
    seen[:] = xs
    return sum(xs) * 1.0


@custom_op("adaptingtests::fill", mutates_args=("out",))
def fill(out: WRITEABLE) -> None:
    out[...] = 1.0


@pytest.mark.parametrize("name", ARRAYS)
def test_a_kernel_gets_the_order_it_asks_for_and_the_same_values(name):
    x = ARRAYS[name]
    assert np.array_equal(in_c(x, y=x), x * 2)
    assert all(a.flags.c_contiguous and np.array_equal(a, x) for a in seen)
    assert np.array_equal(in_f([x, x]), x * 2)
    assert all(a.flags.f_contiguous and np.array_equal(a, x) for a in seen)


def test_the_arrays_in_a_dict_or_a_tuple_are_adapted_too():
    @custom_op("adaptingtests::nested", mutates_args=())
    def nested(d: dict[str, C], t: tuple[C, int]) -> float:
        return float(all(x.flags.c_contiguous for x in (*d.values(), t[0])))

    assert nested({"x": ARRAYS["F"], "y": ARRAYS["strided"]}, (ARRAYS["reversed"], 1)) == 1.0


def test_an_array_that_fits_is_not_copied():
    x = ARRAYS["C"]
    in_c(x, y=x)
    assert seen[0] is x
    assert seen[1] is x


def test_a_numpy_scalar_comes_as_an_array():
    in_c(np.float64(3.0))
    assert isinstance(seen[0], np.ndarray)
    assert seen[1] is None


def test_an_operator_without_layouts_keeps_its_kernel():
    assert adapted(dispatch.ops.np.sin, np.sin) is np.sin


def test_the_kernel_can_still_be_found():
    assert "test_argument_layout.py" in repr(in_c.kernels)
    assert in_c.__wrapped__(ARRAYS["F"]).flags.f_contiguous


def test_what_is_written_to_is_never_a_copy():
    out = np.zeros((2, 3))
    fill(out)
    assert out.sum() == 6
    with pytest.raises(ArgumentError) as refused:
        fill(np.broadcast_to(np.zeros(3), (2, 3)))
    assert str(refused.value) == (
        "adaptingtests::fill: argument 'out' is written to, and was given a read-only ndarray of shape (2, 3) and dtype "
        "float64. Pass an array that can be written to, out.copy() say, and look there for the result."
    )
    with pytest.raises(ArgumentError) as refused:
        fill(np.zeros((3, 2)).T)
    assert str(refused.value) == (
        "adaptingtests::fill: argument 'out' is written to in C order, and was given an array of shape (2, 3) and strides "
        "(8, 16); a copy would take the writes. Pass an array made in that order."
    )


def test_layers_see_the_array_as_it_was_given():
    in_c.register_autograd(lambda ctx, g: (g * 2.0, None, None))
    x = ARRAYS["F"]
    assert np.array_equal(dispatch.grad(lambda x: in_c(x).sum())(x), np.full((2, 3), 2.0))


# -- no write is lost ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize(
    "wrap", [lambda h: h, lambda h: h | None, lambda h: list[h], lambda h: dict[str, h], lambda h: tuple[h, int]]
)
@pytest.mark.parametrize("mutates", [("x",), "unknown"])
def test_a_written_argument_with_a_layout_has_to_be_writeable(order, wrap, mutates):
    def kernel(x) -> None: ...

    def kernel_by_keyword(*, x) -> None: ...

    for fn in (kernel, kernel_by_keyword):
        fn.__annotations__["x"] = wrap(Annotated[np.ndarray, order])
        assert said(lambda fn=fn: custom_op("adaptingtests::lost", fn, mutates_args=mutates), HintError) == (
            f"adaptingtests::lost: argument 'x' is written to and has the layout '{order}': an array of another layout would be "
            "replaced by a copy, and what is written to that is lost. Let the caller pass one that fits: "
            f'Annotated[np.ndarray, "{order}", "writeable"].'
        )
        assert not hasattr(dispatch.ops.adaptingtests, "lost")
        fn.__annotations__["x"] = wrap(Annotated[np.ndarray, order, "writeable"])
        assert custom_op(f"adaptingtests::kept{next(numbers)}", fn, mutates_args=mutates).schema.is_mutable


HINTS = {
    "any": np.ndarray,
    "dtype": npt.NDArray[np.float64],
    "writeable": Annotated[np.ndarray, "writeable"],
    "C": Annotated[np.ndarray, "C", "writeable"],
    "F": Annotated[np.ndarray, "F", "writeable"],
}
CONTAINERS = {
    "array": (lambda h: h, lambda x: x),
    "optional": (lambda h: h | None, lambda x: x),
    "list": (lambda h: list[h], lambda x: [x, x * 3]),
    "dict": (lambda h: dict[str, h], lambda x: {"a": x}),
    "tuple": (lambda h: tuple[h, int], lambda x: (x, 3)),
}
GIVEN = {
    "C": lambda: np.arange(12.0).reshape(3, 4),
    "F": lambda: np.asfortranarray(np.arange(12.0).reshape(3, 4)),
    "strided": lambda: np.arange(24.0).reshape(3, 8)[:, ::2],
    "reversed": lambda: np.arange(12.0).reshape(3, 4)[::-1, ::-1],
    "swapped bytes": lambda: np.arange(12.0).astype(">f8").reshape(3, 4),
    "float32": lambda: np.arange(12, dtype="f4").reshape(3, 4),
    "unaligned": lambda: np.zeros(97, "u1")[1:].view("f8").reshape(3, 4),
    "empty": lambda: np.empty((3, 0)),
    "read-only": lambda: np.broadcast_to(np.arange(4.0), (3, 4)),
}


def doubled(x):
    """Write to every array in x, and return what is there then."""
    for a in arrays(x):
        a *= 2
        a += np.arange(a.size).reshape(a.shape)


def plain(op, x):
    op(x)
    return x


def validated(op, x):
    with dispatch.validate("full"):
        op(x)
    return x


def observed(op, x):
    with dispatch.log_calls():
        op(x)
    return x


def functional(op, x):
    return op.functional(x)


def functionalized(op, x):
    dispatch.functionalize(lambda x: op(x))(x)
    return x


def compiled(op, x):
    f = dispatch.compile(lambda x: op(x))
    f(x)
    return x


def written_by_items(axis):
    def way(op, x):
        op.register_vmap("sequential")
        dispatch.vmap(lambda x: (op(x), x)[1], in_dims=axis)(x)
        return x

    return way


WAYS = {
    "plain": plain, "validate": validated, "observed": observed, "functional": functional, "functionalize": functionalized,
    "compile": compiled, "vmap 0": written_by_items(0), "vmap 1": written_by_items(1),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("hint", HINTS)
def test_a_write_arrives_or_the_call_raises(hint, container, way):
    wrap, fill = CONTAINERS[container]

    def kernel(x) -> None:
        doubled(x)

    kernel.__annotations__["x"] = wrap(HINTS[hint])
    op = custom_op(f"adaptingtests::write{next(numbers)}", kernel, mutates_args=("x",))
    arrived = 0
    for make in GIVEN.values():
        given, wanted = fill(make()), fill(make().copy())
        axis = int(way[-1]) if "vmap" in way else None
        if container == "tuple" and axis is not None:
            continue  # a number has no axis
        for a in arrays(wanted):
            for item in [a] if axis is None else np.moveaxis(a, axis, 0):
                doubled(item)
        try:
            got = WAYS[way](op, given)
        except DispatchError:
            continue
        for a, b in zip(arrays(got), arrays(wanted), strict=True):
            assert np.array_equal(a, b)
        arrived += 1
    assert arrived or container in ("dict", "tuple")  # which some layers refuse to write to
