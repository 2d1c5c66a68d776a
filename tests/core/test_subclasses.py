"""A dict or list of a class of its own is made again with its class, its attributes and other items."""

from collections import Counter, OrderedDict, defaultdict

import numpy as np
import pytest

import dispatch
from dispatch.core.subclasses import made_like

X = np.array([1.0, 2.0])


class AttrDict(dict):
    def __getattr__(self, name):
        return self[name]


class Stack(list):
    def total(self):
        return sum(np.sum(x) for x in self)


class Two(dict):
    """Needs its arguments, and takes no items."""

    def __init__(self, a, b):
        super().__init__(a=a, b=b)

    def __reduce_ex__(self, protocol):
        raise TypeError("cannot be copied")


MADE = [lambda: AttrDict(a=1, b=2), lambda: OrderedDict(b=1, a=2), lambda: defaultdict(list, a=1, b=2), lambda: Counter(a=1, b=2)]


@pytest.mark.parametrize("make", MADE)
def test_a_dict_keeps_its_class_and_the_order_of_its_keys(make):
    x = make()
    made = made_like(x, ["x", "y"])
    assert (type(made), list(made.items())) == (type(x), list(zip(x, ["x", "y"], strict=True)))
    assert list(x.values()) == [1, 2]
    assert not isinstance(x, defaultdict) or made.default_factory is list


def test_what_an_object_has_beside_its_items_goes_along():
    x = Stack([1, 2])
    x.name = "layers"
    made = made_like(x, ["x", "y"])
    assert (type(made), made, made.name) == (Stack, ["x", "y"], "layers")


def test_what_cannot_be_copied_becomes_a_plain_one():
    made = made_like(Two(1, 2), ["x", "y"])
    assert (type(made), made) == (dict, {"a": "x", "b": "y"})


def test_functions_get_the_class_that_was_given_in_every_transform():
    w = AttrDict(w=X)

    def f(p):
        assert type(p) is AttrDict
        return np.sum(p.w**2)

    (slope,) = dispatch.grad(f)(w).values()
    np.testing.assert_array_equal(slope, 2 * X)
    assert dispatch.jvp(f, (w,), (w,)) == (5.0, 10.0)
    np.testing.assert_array_equal(dispatch.vmap(lambda p: p.w * 2)(w), 2 * X)
    assert dispatch.eval_shape(f, w).shape == ()
    np.testing.assert_array_equal(dispatch.make_fx(f)(w)(w), 5.0)
    assert dispatch.grad(Stack.total)(Stack([X, X]))[1].tolist() == [1, 1]
