"""Guarded copies are what they were made of, and notice every write; sharing is told by bytes."""

import numpy as np
import pytest

from dispatch.testing.guarded_memory import Guarded, on_read_only_pages, same_bytes

BASE = np.arange(24.0).reshape(2, 3, 4)
ARRAYS = {
    "C": BASE,
    "F": np.asfortranarray(BASE),
    "reversed": BASE[::-1, :, ::-1],
    "stepped": BASE[:, :, ::2],
    "transposed": BASE.transpose(1, 2, 0),
    "broadcast": np.broadcast_to(np.arange(4.0), (3, 4)),
    "0-d": np.array(3.0),
    "empty": np.zeros((0, 3)),
    "byte-swapped": BASE.astype(">f4"),
    "unaligned": np.frombuffer(b"\0" * 17, np.uint8)[1:].view("f8"),
    "bools": BASE > 3,
    "text": np.array(["ab", "c"]),
    "no bytes": np.array([""], "<U0"),
    "record": np.array([(1, 2.0)], [("a", "i1"), ("b", "f8")]),
    "objects": np.array([1, "a", None], object),
    "matrix": np.ma.masked_array([1.0, 2.0], [True, False]),
}


@pytest.mark.parametrize("writeable", [False, True])
@pytest.mark.parametrize("x", ARRAYS.values(), ids=ARRAYS.keys())
def test_a_copy_has_values_layout_and_class_of_the_original_and_memory_of_its_own(x, writeable):
    guard = Guarded(x, writeable=writeable)
    y = guard.array
    assert type(y) is type(x)
    assert (y.shape, y.dtype, y.flags.writeable) == (x.shape, x.dtype, writeable)
    assert y.flags.aligned == x.flags.aligned
    assert same_bytes(np.asarray(y), np.asarray(x))
    assert not np.may_share_memory(x, y)
    assert not guard.changed
    assert not guard.overrun
    if type(x) is np.ndarray and x.size and not x.dtype.hasobject:
        assert y.strides == x.strides


def test_a_memory_map_is_copied_as_an_array(tmp_path):
    x = np.memmap(tmp_path / "x", "f8", "w+", shape=(3,))
    assert type(Guarded(x, writeable=True).array) is np.ndarray


@pytest.mark.parametrize("name", ["C", "F", "reversed", "stepped", "byte-swapped", "bools", "0-d"])
def test_the_smallest_write_is_noticed(name):
    guard = Guarded(ARRAYS[name], writeable=True)
    flat = guard.array.reshape(-1) if guard.array.flags.contiguous else guard.array.flat
    flat[-1] = np.nextafter(guard.array.flat[-1], np.inf) if guard.array.dtype.kind == "f" else not guard.array.flat[-1]
    assert guard.changed
    assert not guard.overrun


def test_a_write_behind_the_flag_is_noticed():
    guard = Guarded(np.ones(3), writeable=False)
    guard.array.flags.writeable = True
    guard.array[1] = 2
    assert guard.changed


@pytest.mark.parametrize(
    ("x", "start", "stride"),
    [(np.ones(5), 0, 8), (np.ones(5), -1, -8), (np.ones(5)[::-1], 0, -8), (np.ones(10)[::2], 0, 8)],
    ids=["after", "before", "reversed", "between"],
)
def test_a_write_beside_the_elements_is_an_overrun_where_writing_is_allowed(x, start, stride):
    guard = Guarded(x, writeable=True)
    beside = np.lib.stride_tricks.as_strided(guard.array[start:], (6,), (stride,))
    beside[1 if x.strides == (16,) else 5] = -5.0
    assert guard.overrun
    assert not guard.changed


@pytest.mark.parametrize("x", ARRAYS.values(), ids=ARRAYS.keys())
def test_a_copy_on_read_only_pages_is_that_of_a_guard(x):
    y, own = on_read_only_pages(x), Guarded(x, writeable=False).array
    assert type(y) is type(x)
    assert (y.shape, y.dtype, y.strides, y.flags.writeable) == (x.shape, x.dtype, own.strides, False)
    assert y.flags.aligned == x.flags.aligned
    assert same_bytes(np.asarray(y), np.asarray(x))


def test_equal_bytes_tell_what_equality_does_not():
    assert same_bytes(np.array([np.nan]), np.array([np.nan]))
    assert not same_bytes(np.array([0.0]), np.array([-0.0]))
    assert not same_bytes(np.ones(1), np.ones(1, "f4"))
    assert not same_bytes(np.ones(1), np.ones((1, 1)))
    assert same_bytes(np.array([None, 1], object), np.array([None, 1], object))


@pytest.mark.parametrize("name", ["reversed", "stepped"])
def test_who_reads_forward_from_the_first_element_without_strides_does_not_read_the_array(name):
    x = np.arange(1.0, 3.0)[::-1] if name == "reversed" else np.arange(1.0, 5.0)[::2]
    array = Guarded(x, writeable=False).array
    forward = np.lib.stride_tricks.as_strided(array, x.shape, (x.itemsize,))
    assert forward[0] == x[0]
    assert forward.tolist() != x.tolist()
