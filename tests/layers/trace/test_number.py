"""A Python float that is an input of a graph: whoever reads it is seen."""

import copy
import math
import operator
import pickle

import numpy as np
import pytest

from dispatch.layers.trace import SEEN_BY_NUMPY, TracedNumber

X = np.ones(3)

READERS = {
    "arithmetic": lambda k: k + 1.0,
    "a number before": lambda k: 1 - k,
    "a power": lambda k: 2**k,
    "operator": lambda k: operator.mul(k, 2.0),
    "a comparison": lambda k: k > 0,
    "a truth": bool,
    "an int": int,
    "a float": float,
    "a complex": complex,
    "rounding": round,
    "a text": "{:.2f}".format,
    "repr": repr,
    "a hash": lambda k: {k: 1},
    "a maximum": lambda k: max(k, 0.0),
    "a sum": lambda k: sum([k, 1.0]),
    "in a list": lambda k: k in [1.0, 2.0],
    "a part": lambda k: k.real,
    "an array": np.asarray,
    "in an array": lambda k: np.array([k, 1.0]),
    "a plain ufunc": lambda k: X * k,
    "np.float32": np.float32,
    "np.full": lambda k: np.full(2, k),
    "an item": lambda k: X.copy().__setitem__(0, k),
    "a pickle": pickle.dumps,
    "np.linspace": lambda k: np.linspace(0, k, 3),
}


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
def test_what_reads_it_is_seen(read):
    number = TracedNumber(0.25)
    assert not number.used
    read(number)
    assert number.used


@pytest.mark.parametrize("read", [READERS[name] for name in ("arithmetic", "a power", "a comparison", "rounding", "a plain ufunc")])
def test_it_computes_as_a_float(read):
    assert np.array_equal(read(TracedNumber(0.25)), read(0.25))
    assert type(TracedNumber(0.25) * 2.0) is float


def test_an_operand_that_answers_for_it_does_not_read_it():
    class Other:
        def __rmul__(self, x):
            return x

    number = TracedNumber(0.25)
    assert number * Other() is number
    assert not number.used


@pytest.mark.parametrize("other", [1j, np.complex64(1), np.float32(2), np.ones(2, "f")], ids=str)
def test_numbers_and_arrays_of_numpy_and_complex_ones_read_it_as_a_float(other):
    number = TracedNumber(0.25)
    found = number * other
    assert number.used
    assert type(found) is type(0.25 * other)
    assert np.array_equal(found, 0.25 * other)
    assert np.asarray(found).dtype == np.asarray(0.25 * other).dtype


@pytest.mark.parametrize("char", "?bBhilefdgFDG")
def test_every_number_of_numpys_reads_it_or_it_is_known_that_they_do_not(char):
    one = np.dtype(char).type(1)
    for f in (operator.mul, operator.add, operator.sub, operator.truediv, operator.lt, operator.eq):
        for pair in ((TracedNumber(0.25), one), (one, TracedNumber(0.25))):
            try:
                found = f(*pair)
            except TypeError:  # booleans are not subtracted
                continue
            number = next(x for x in pair if type(x) is TracedNumber)
            assert number.used or (pair[0] is one and not SEEN_BY_NUMPY)
            assert found == f(*[0.25 if x is number else x for x in pair])


def test_its_copy_is_itself_as_that_of_a_float_is():
    number = TracedNumber(0.25)
    assert copy.copy(number) is number
    assert copy.deepcopy([number])[0] is number
    assert not number.used


def test_c_code_that_asks_no_method_reads_it_unseen():
    """What dispatch.compiler.trusted has to know: it lifts no floats where one of these can be reached."""
    number = TracedNumber(0.25)
    math.sin(number)
    assert "%.2f" % number == "0.25"  # noqa: UP031  the other way is seen
    np.complex128(number)
    assert not number.used
