"""What is read of arrays' memory and changed in it, held against NumPy."""

import gc
import re
import weakref

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from making import Shadow, shadow

from dispatch.core import Level, freeze, wrap
from dispatch.core.array_memory import (
    Hold,
    expand,
    has_layout,
    held,
    inexact_layout,
    is_complex,
    is_held,
    no_sequence,
    owned,
    reshaped,
    rewrite,
    set_rewritable,
    settled,
    unwritten,
    watched,
)  # fmt: skip

A = np.arange(3.0)

# -- layouts ---------------------------------------------------------------------------------------------------------------

dtypes = st.one_of(hnp.scalar_dtypes(), hnp.byte_string_dtypes(), hnp.array_dtypes(max_size=2))
arrays = hnp.arrays(dtypes, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3))


@given(arrays)
def test_an_inexact_layout_is_shape_and_dtype_of_what_has_a_gradient(x):
    for value in (x, *x.ravel()[:1]):
        if isinstance(value, (np.ndarray, np.generic)):
            expected = (value.shape, value.dtype.newbyteorder("=")) if np.issubdtype(value.dtype, np.inexact) else None
            assert inexact_layout(value) == expected


@pytest.mark.parametrize("x", [1.0, 1j, 1, None, [1.0], "f8"])
def test_what_is_no_array_has_no_layout(x):
    assert inexact_layout(x) is None


def test_a_wrapper_has_the_layout_of_its_value():
    with Level("t") as level:
        assert inexact_layout(shadow(np.zeros((2, 0), "f4"), level)) == ((2, 0), np.dtype("f4"))
        assert inexact_layout(shadow(np.zeros(2, "i4"), level)) is None
        assert has_layout(shadow(np.zeros((2, 3)), level), ((2, 3), np.dtype("f8")))


@given(arrays)
def test_complex_arrays_and_their_numbers_are_told_from_others(x):
    for value in (x, *x.ravel()[:1]):
        if isinstance(value, (np.ndarray, np.generic)):
            assert is_complex(value) == np.iscomplexobj(value)


@pytest.mark.parametrize(("x", "expected"), [(1j, True), (1.0, False), (1, False), (True, False)])
def test_complex_numbers_are_told_from_others(x, expected):
    assert is_complex(x) is expected
    with Level("t") as level:
        assert is_complex(shadow(np.full(2, x), level)) is expected


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


def test_what_is_owned_is_a_copy_whoever_holds_the_array():
    for x in (np.arange(3.0), np.arange(6.0)[::2], np.frombuffer(b"12345678"), freeze(np.arange(3.0)), np.array(2)):
        own = owned(x)
        assert own.flags.writeable
        assert own.flags.owndata
        assert not np.shares_memory(own, x)
        assert np.array_equal(own, x)
    assert owned(np.arange(3.0)).base is None


def test_a_scalar_becomes_a_0d_array_that_can_be_written_to():
    own = owned(np.float32(2))
    assert (type(own), own.shape, own.dtype, own.flags.writeable) == (np.ndarray, (), np.dtype("f4"), True)
    assert owned("no array") == "no array"


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


@pytest.mark.parametrize("limit", [0, 1000])
def test_a_window_on_the_memory_of_what_is_no_array_is_copied(limit, tmp_path):
    memory = bytearray(np.arange(4.0).tobytes())
    x = np.arange(4.0)
    (tmp_path / "file").write_bytes(memory)
    mapped = np.memmap(tmp_path / "file", float, "r+")
    windows = [
        (np.frombuffer(memory), np.frombuffer(memory)),
        (np.asarray(memoryview(x).toreadonly()), x),
        (np.lib.stride_tricks.sliding_window_view(x, 4)[0], x),
        (np.asarray(mapped), mapped),
        (mapped[:], mapped),
    ]
    for window, whole in windows:
        window.flags.writeable = False
        kept = unwritten(window, limit)
        whole[0] = 7
        assert (kept[0], whole[0]) == (0, 7)
        assert not kept.flags.writeable
        whole[0] = 0


@pytest.mark.parametrize("owner", [np.arange(3.0), np.frombuffer(bytearray(24)), np.arange(90_000.0)[::2]], ids=["array", "bytearray", "strided"])
def test_watched_memory_is_kept_as_it_is(owner):
    x = watched(owner)
    assert not x.flags.writeable
    assert (x.shape, x.strides, x.ctypes.data) == (owner.shape, owner.strides, owner.ctypes.data)
    assert unwritten(x, 8) is x
    part = x[1:]
    assert unwritten(part, 8) is part
    held = weakref.ref(owner)
    del owner
    assert x.base is not None
    assert held() is not None  # the view keeps the memory


def test_an_array_is_held_until_the_last_view_and_the_last_view_of_a_view_are_gone():
    x = np.arange(6.0).reshape(2, 3).T
    views = [held(x), held(x)]
    for view in views:
        assert not view.flags.writeable
        assert (view.shape, view.strides, view.ctypes.data, view.dtype) == (x.shape, x.strides, x.ctypes.data, x.dtype)
        assert unwritten(view, 8) is view
        assert view.base.array is x
    assert (x.flags.writeable, is_held(x)) == (False, True)
    views.pop()
    part = views.pop()[1:].T
    del view
    assert unwritten(part, 8) is part
    assert (x.flags.writeable, is_held(x)) == (False, True)
    with pytest.raises(ValueError, match="cannot set WRITEABLE"):
        part.flags.writeable = True
    del part
    assert (x.flags.writeable, is_held(x)) == (True, False)
    x.flags.writeable = False
    assert held(x) is None
    Hold.__new__(Hold)  # of nothing, and it ends


def test_of_many_arrays_each_is_held_by_itself_whatever_the_order_in_which_they_are_let_go():
    rng = np.random.default_rng(0)
    arrays = [np.zeros(1) for _ in range(3000)]
    views = {}
    for i in [*rng.permutation(3000), *rng.integers(0, 3000, 6000)]:
        if i in views:
            del views[i]
        else:
            views[i] = held(arrays[i])
    assert [is_held(x) for x in arrays] == [i in views for i in range(3000)]
    assert [x.flags.writeable for x in arrays] == [i not in views for i in range(3000)]
    assert all(view.base.array is arrays[i] for i, view in views.items())
    views.clear()
    assert not any(map(is_held, arrays))


@pytest.mark.parametrize("shape", [(), (3, 2), (-1,), 6, [2, 3], (1, -1, 1), (np.int64(6),), (4,), (-1, -1), None, "a", (2.0, 3), (0, -1)])
@pytest.mark.parametrize(
    "x", [np.arange(6), np.arange(12.0)[::2], np.zeros((2, 3), order="F"), np.float64(2), 2, 1j, np.zeros(0), np.zeros(6).view(np.recarray)]
)
def test_reshaped_is_numpy_s_method(x, shape):
    array = x if isinstance(x, (np.ndarray, np.generic)) else np.asarray(x)[()]
    try:
        expected = array.reshape(shape)
    except (TypeError, ValueError) as error:
        with pytest.raises(type(error), match=re.escape(str(error))):
            reshaped(x, shape)
        return
    got = reshaped(x, shape)
    assert (type(got), got.shape, got.strides, got.dtype) == (type(expected), expected.shape, expected.strides, expected.dtype)
    assert np.array_equal(got, expected)
    assert np.shares_memory(got, array) == np.shares_memory(expected, array)


def test_a_hold_keeps_the_class_of_an_array(tmp_path):
    x = np.memmap(tmp_path / "file", float, "w+", shape=(3,))
    view = held(x)
    assert type(view) is np.memmap
    assert is_held(x)


def test_settled_values_are_ones_that_nobody_writes_to():
    frozen, mine = np.arange(3.0), A.copy()
    frozen.flags.writeable = False
    with Level("t") as level:
        x = shadow(A, level, "node")
        found = settled((frozen, mine, x), "another node", 1000)
        assert found[0] is frozen
        assert found[2] is x
        assert found[1] is not mine
        assert not found[1].flags.writeable
        assert settled((frozen,), "node", 1000)[0] is frozen
        assert settled((frozen, x), "node", 1000) is None
        assert settled((frozen, "text"), "node", 1000) is None
        assert settled((mine,), "node", 1) is None


class Frozen(Shadow):
    """A wrapper that a write gives another array, which is read-only for good."""

    __slots__ = ()


class Shared(Shadow):
    """A wrapper whose array is written to."""

    __slots__ = ()


set_rewritable(Frozen, frozen=True)
set_rewritable(Shared, frozen=False)


def test_of_a_wrapper_that_a_write_changes_another_one_is_kept():
    with Level("t") as level:
        frozen = wrap(Frozen, freeze(A.copy()), level, "node")
        shared = wrap(Shared, A.copy(), level, 0)
        plain = shadow(A.copy(), level)
        assert unwritten(plain, 1000) is plain
        for x in (frozen, shared):
            kept = unwritten(x, 1000)
            assert kept is not x
            assert type(kept) is type(x)
            assert (kept.kept, kept.level, kept.rank) == (x.kept, x.level, x.rank)
            assert not kept.value.flags.writeable
            assert (kept.value is x.value) == (x is frozen)
            assert settled((x,), "another", 1000)[0] is not x
        assert unwritten(shared, 1) is None
        assert settled((shared,), "another", 1) is None
        assert unwritten(frozen, 1).value is frozen.value
        with Level("inner") as inner:
            outer = wrap(Shared, shared, inner)
            kept = unwritten(outer, 1000)
            rewrite(shared, np.zeros(3), 1)
            assert np.array_equal(kept.value.value, A)
            assert np.array_equal(outer.value.value, np.zeros(3))


def test_a_wrapper_that_is_rewritten_stands_for_another_value():
    with Level("t") as level:
        x = wrap(Frozen, freeze(A.copy()), level, "node")
        new = np.zeros(2)
        rewrite(x, new, "another")
        assert x.value is new
        assert not new.flags.writeable
        assert (x.kept, x.shape, x.level) == ("another", (2,), level)


def test_what_is_no_sequence_says_itself_why_it_is_no_number():
    class Mine:
        def __getitem__(self, i):
            return i

        def __float__(self):
            raise KeyError("my own words")

    with pytest.raises(ValueError, match="setting an array element with a sequence"):
        np.zeros(1)[0] = Mine()
    no_sequence(Mine)
    with pytest.raises(KeyError, match="my own words"):
        np.zeros(1)[0] = Mine()
    assert Mine()[3] == 3
