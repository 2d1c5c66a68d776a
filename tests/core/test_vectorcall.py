"""The vectorcall slot, which the class sets by hand: every way Python has of calling leads through it."""

import functools
import operator

import numpy as np
import pytest
from making import made

from dispatch import OpOverload
from dispatch.errors import ArgumentError

HAVE_VECTORCALL = 1 << 11  # Py_TPFLAGS_HAVE_VECTORCALL
A = np.arange(3.0)

WAYS = {
    "a call": lambda op, *args, **keywords: op(*args, **keywords),
    "the method": lambda op, *args, **keywords: op.__call__(*args, **keywords),
    "the class's method": lambda op, *args, **keywords: OpOverload.__call__(op, *args, **keywords),
    "operator.call": lambda op, *args, **keywords: operator.call(op, *args, **keywords),
    "partial": lambda op, *args, **keywords: functools.partial(op, *args)(**keywords),
    "partial with keywords": lambda op, *args, **keywords: functools.partial(op, **keywords)(*args),
    "staticmethod": lambda op, *args, **keywords: staticmethod(op)(*args, **keywords),
}


def test_the_class_has_the_slot():
    assert OpOverload.__flags__ & HAVE_VECTORCALL


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_every_way_of_calling_binds_the_same(way):
    op = made("(Tensor x, int a, *, int b=2) -> Any", lambda x, a, *, b: [float(x.sum()), a, b])
    assert way(op, A, 1) == [3.0, 1, 2]
    assert way(op, A, a=1, b=5) == [3.0, 1, 5]
    assert way(op, a=1, x=A) == [3.0, 1, 2]
    with pytest.raises(ArgumentError, match="'a' must be given"):
        way(op, A)
    with pytest.raises(ArgumentError, match="has no argument 'c'"):
        way(op, A, 1, c=1)


def test_map_and_reduce_call_by_position():
    assert [out.sum() for out in map(made("(Tensor x) -> Tensor", np.negative), [A, A * 2])] == [-3, -6]
    add = made("(Tensor x, Tensor y) -> Tensor", np.add)
    assert np.array_equal(functools.reduce(add, [A, A, A]), 3 * A)


def test_as_a_class_s_attribute_it_is_no_method():
    class Box:
        op = made("(Tensor x) -> Tensor", np.negative)

    assert np.array_equal(Box().op(A), -A)


def test_the_arguments_a_caller_gives_are_left_as_they_are():
    args, keywords = [A, 1], {"b": 3}
    made("(Tensor x, int a, *, int b=2) -> ()", lambda x, a, *, b: None)(*args, **keywords)
    assert args[0] is A
    assert (args[1:], keywords) == ([1], {"b": 3})
