"""What NumPy allocates in the block has the byte and guards; a write beside an array is counted, once."""

import ctypes

import numpy as np
import pytest

from dispatch.testing.allocations import Allocations


def write(x, place):
    ctypes.c_double.from_address(x.ctypes.data + 8 * place).value = 7.0


@pytest.mark.parametrize("byte", [0, 0x3B, 0x45, 0xFF])
def test_new_memory_has_the_byte_and_zeros_are_zeros(byte):
    with Allocations(byte) as made:
        new, zeros, ones = np.empty((3, 5), np.uint8), np.zeros(7), np.ones((2, 3))
    assert (new == byte).all()
    assert (zeros == 0).all()
    assert (ones == 1).all()
    assert made.broken == 0


def test_what_numpy_computes_is_the_same():
    x = np.arange(12.0).reshape(3, 4)

    def computed():
        grown = np.arange(4.0)
        grown.resize(9, refcheck=False)
        objects = np.empty(3, object)
        return [np.sort(x[::-1], 0), x @ x.T, np.concatenate([x, x]), np.einsum("ij->j", x), x.astype("f4"), grown, objects]

    expected = computed()
    with Allocations(0x45) as made:
        found = computed()
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a, b)
    assert made.broken == 0


@pytest.mark.parametrize("place", [-1, -8, 5, 12])
@pytest.mark.parametrize("freed", [False, True])
def test_a_write_beside_an_array_is_counted_once(place, freed):
    kept = []
    with Allocations(0x45) as made:
        x = np.empty(5)
        write(x, place)
        if not freed:
            kept.append(x)
        del x
    assert made.broken == 1
    with Allocations(0x45) as made:
        write(np.empty(5), 4)
    assert made.broken == 0


def test_an_array_may_be_written_beside_after_the_block_in_which_it_was_made():
    with Allocations(0x45):
        x = np.empty(5)
    with Allocations(0x3B) as made:
        write(x, 5)
    assert made.broken == 1


def test_the_block_ends_with_an_exception_too_and_may_stand_in_another():
    with pytest.raises(KeyError), Allocations(0x45):
        raise KeyError
    with Allocations(0x45):
        with Allocations(0x3B):
            assert np.empty(3, np.uint8).tolist() == [0x3B] * 3
        assert np.empty(100, np.uint8).tolist() == [0x45] * 100
