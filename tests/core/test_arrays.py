"""Which backend an object belongs to, and what is read of arrays in C, held against NumPy."""

import gc
import weakref
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from making import made, shadow

from dispatch.core import (
    DispatchKey,
    Level,
    device_key,
    device_of,
    expand,
    freeze,
    has_layout,
    inexact_layout,
    sole,
    unwritten,
)
from dispatch.errors import ArgumentError, DefinitionError


class Subclass(np.ndarray):
    pass


class Grandchild(Subclass):
    pass


class Lookalike:
    """Has every protocol of an array, and is none that is known here."""

    shape, dtype, ndim = (2,), np.dtype("f8"), 1
    __array_priority__ = 1e6

    def __array__(self, dtype=None, copy=None):
        return np.zeros(2)

    @property
    def __array_interface__(self):
        return np.zeros(2).__array_interface__


ARRAYS = [
    np.zeros(2),
    np.zeros(2).view(Subclass),
    np.zeros(2).view(Grandchild),
    np.zeros(2).view(np.recarray),
    np.ma.zeros(2),
    np.float64(1),
]
ARRAYS += [np.bool_(True), np.str_("a"), np.datetime64(0, "s"), np.zeros(2, [("a", "f8")])[0], np.array([object()])]
STRANGERS = [
    Lookalike(),
    [1.0],
    (1.0,),
    1.0,
    1,
    True,
    1j,
    None,
    "a",
    memoryview(b"ab"),
    np.dtype("f8"),
    np.ndarray,
    Fraction(1, 2),
]


# -- the table -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("x", ARRAYS, ids=lambda x: type(x).__name__)
def test_numpy_s_arrays_subclasses_and_scalars_are_the_cpu_s(x):
    assert device_of(x) == "cpu"
    seen = []
    made("(Tensor x) -> ()", seen.append)(x)
    assert seen[0] is x


@pytest.mark.parametrize("x", STRANGERS, ids=lambda x: type(x).__name__)
def test_what_is_not_in_the_table_is_no_array_and_is_refused_by_the_name_of_its_type(x):
    assert device_of(x) is None
    with pytest.raises(
        ArgumentError, match=rf"argument 'x' is Tensor, and was given .*{type(x).__name__.removesuffix('Type')}"
    ):
        made("(Tensor x) -> ()", lambda x: None)(x)


def test_an_array_type_that_is_not_known_is_named_with_its_module():
    with pytest.raises(ArgumentError, match=rf"{__name__}\.Lookalike is no array type that is known here\."):
        made("(Tensor x) -> Tensor", lambda x: x)(Lookalike())


def test_a_memory_map_is_the_cpu_s(tmp_path):
    mapped = np.memmap(tmp_path / "a", np.float64, "w+", shape=(3,))
    assert device_of(mapped) == "cpu"


def test_a_class_with_a_metaclass_is_looked_up_too():
    class Meta(type):
        pass

    class Odd(np.ndarray, metaclass=Meta):
        pass

    class NoArray(metaclass=Meta):
        pass

    assert device_of(np.zeros(2).view(Odd)) == "cpu"
    assert device_of(NoArray()) is None


def test_devices_have_keys():
    assert [device_key(name) for name in ("cpu", "cuda", "dask")] == [DispatchKey.CPU, DispatchKey.CUDA, DispatchKey.DASK]


@pytest.mark.parametrize("name", ["gpu", "", "CPU", "cuda:0"])
def test_an_unknown_device_is_refused_with_the_known_ones(name):
    with pytest.raises(DefinitionError, match=rf"there is no device '{name}'\. Devices: cpu, cuda, dask\."):
        device_key(name)


# -- layouts ---------------------------------------------------------------------------------------------------------------

dtypes = st.one_of(hnp.scalar_dtypes(), hnp.byte_string_dtypes(), hnp.array_dtypes(max_size=2))
arrays = hnp.arrays(dtypes, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3))


@given(arrays)
def test_an_inexact_layout_is_shape_and_dtype_of_what_has_a_gradient(x):
    for value in (x, *x.ravel()[:1]):
        if isinstance(value, (np.ndarray, np.generic)):
            expected = (value.shape, value.dtype) if np.issubdtype(value.dtype, np.inexact) else None
            assert inexact_layout(value) == expected


@pytest.mark.parametrize("x", [1.0, 1j, 1, None, [1.0], "f8"])
def test_what_is_no_array_has_no_layout(x):
    assert inexact_layout(x) is None


def test_a_wrapper_has_the_layout_of_its_value():
    with Level("t") as level:
        assert inexact_layout(shadow(np.zeros((2, 0), "f4"), level)) == ((2, 0), np.dtype("f4"))
        assert inexact_layout(shadow(np.zeros(2, "i4"), level)) is None
        assert has_layout(shadow(np.zeros((2, 3)), level), ((2, 3), np.dtype("f8")))


@given(arrays, arrays)
def test_has_layout_compares_shape_and_dtype(x, y):
    assert has_layout(x, (y.shape, y.dtype)) == (x.shape == y.shape and x.dtype == y.dtype)
    assert has_layout(x, (x.shape, x.dtype))


@given(
    hnp.arrays(st.sampled_from(["f8", ">i2", "c16", "S2"]), hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3)),
    st.data(),
)
def test_expand_is_numpy_s_broadcast_to_and_read_only(x, data):
    shape = data.draw(hnp.broadcastable_shapes(x.shape, max_dims=4, max_side=3) | hnp.array_shapes(max_dims=4, max_side=3))
    x = data.draw(st.sampled_from([x, x.T, x[..., ::-1] if x.ndim else x, np.asfortranarray(x)]))
    try:
        expected = np.broadcast_to(x, shape)
    except ValueError:
        assert expand(x, shape) is None
    else:
        got = expand(x, shape)
        assert (got.shape, got.dtype, got.flags.writeable) == (expected.shape, expected.dtype, False)
        assert got.tobytes() == expected.tobytes()
        assert np.shares_memory(got, x) == bool(got.size)


def test_expand_holds_its_array_and_nothing_more():
    class Owner(np.ndarray):
        pass

    x = Owner((1, 3))
    seen = weakref.ref(x)
    view = expand(x, (2, 3))
    del x
    gc.collect()
    assert seen() is not None
    del view
    gc.collect()
    assert seen() is None


def test_expand_has_a_limit_of_axes():
    assert expand(np.zeros(()), (1,) * 65) is None


# -- who else may write ----------------------------------------------------------------------------------------------------


def test_freeze_makes_an_array_read_only_and_leaves_the_rest():
    x = np.zeros(2)
    assert freeze(x) is x
    with pytest.raises(ValueError, match="read-only"):
        x[0] = 1
    for other in (1.0, "a", None, [x]):
        assert freeze(other) is other


def test_an_array_nobody_else_holds_is_its_own_and_any_other_is_copied():
    assert sole(np.zeros(3)).flags.writeable
    held = np.arange(3.0)
    also = held
    assert sole(held) is not held
    assert np.array_equal(sole(held), also)
    for shared in (np.arange(6.0)[::2], np.frombuffer(b"12345678"), freeze(np.arange(3.0))):
        own = sole(shared)
        assert own.flags.writeable
        assert own.flags.owndata
        assert not np.shares_memory(own, shared)
        assert np.array_equal(own, shared)


def test_a_scalar_becomes_a_0d_array_that_can_be_written_to():
    own = sole(np.float32(2))
    assert (type(own), own.shape, own.dtype, own.flags.writeable) == (np.ndarray, (), np.dtype("f4"), True)
    assert sole("no array") == "no array"


def test_a_small_array_is_copied_so_that_nobody_writes_to_it_and_a_large_one_left_to_the_caller():
    x = np.arange(4.0)
    small = unwritten(x, x.nbytes)
    assert not small.flags.writeable
    assert not np.shares_memory(small, x)
    assert np.array_equal(small, x)
    assert unwritten(x, x.nbytes - 1) is None
    assert x.flags.writeable


def test_what_cannot_be_written_to_is_kept_as_it_is():
    frozen = freeze(np.arange(4.0))
    assert unwritten(frozen, 1000) is frozen
    bytes_ = np.frombuffer(b"12345678")
    assert unwritten(bytes_, 0) is bytes_
    assert unwritten(np.float64(3), 0) == 3


def test_a_read_only_view_of_what_others_write_to_is_copied():
    x = np.arange(4.0)
    view = freeze(x[:2])
    kept = unwritten(view, 1000)
    x[0] = 7
    assert kept[0] == 0
    assert not kept.flags.writeable
