"""Layouts of hints: a kernel gets what its hint says, copied only where it has to be, and never written to in a copy."""

from typing import Annotated

import numpy as np
import pytest

import dispatch
from dispatch import custom_op
from dispatch.dispatcher.argument_layout import adapted
from dispatch.errors import ArgumentError

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
