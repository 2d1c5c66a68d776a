"""What a text or a set of a trace may not be made of: functions, methods, classes and modules, whose copies have other addresses."""

import collections
import dataclasses
import functools
import types
import warnings

import numpy as np
import pytest

import dispatch
from dispatch.errors import TracingError

SAID = r"the text of the function plus was asked for while it was traced, in which there is an address or a path\. Write its __name__\."
x = np.ones(3)


def plus(a):
    return a + 1


def times(a):
    return a * 3


class Layer:
    def scaled(self, a):
        return a * 2

    width = property(lambda self: 3)


@dataclasses.dataclass
class Counts:
    count: int


layer, other = Layer(), Layer()
TEXTS = {
    "repr": lambda a: a * len(repr(plus)),
    "str": lambda a: a * len(str(plus)),
    "a text with a value in it": lambda a: a * len(f"{plus}"),
    "by %": lambda a: a * len("%s" % (plus,)),  # noqa: UP031
    "format": lambda a: a * len("{}".format(plus)),  # noqa: UP032
    "in a list": lambda a: a * len(str([plus])),
    "of a partial": lambda a: a * len(str(functools.partial(plus, 1))),
    "of a method": lambda a: a * len(str(layer.scaled)),
    "of a function in a class": lambda a: a * len(str(Layer.scaled)),
    "of a property": lambda a: a * len(str(Layer.width)),
    "of what calls it": lambda a: a * len(str(plus.__call__)),
    "of an object": lambda a: a * len(str(layer)),
    "of a module": lambda a: a * len(str(np)),
    "ascii": lambda a: a * len(ascii(plus)),
    "by map": lambda a: a * len("".join(map(str, [plus]))),
}


@pytest.mark.parametrize("name", TEXTS)
def test_a_text_with_an_address_is_refused(name):
    with pytest.raises(TracingError, match="text"):
        dispatch.compile(TEXTS[name], fullgraph=True)(x)


def test_the_refusal_says_what_to_write():
    with pytest.raises(TracingError, match=SAID):
        dispatch.compile(TEXTS["repr"], fullgraph=True)(x)
    with pytest.raises(TracingError, match=r"names __repr__"):
        dispatch.compile(lambda a: a * len(object.__repr__(plus)), fullgraph=True)(x)


def test_a_method_has_no_place_in_a_set():
    with pytest.raises(TracingError, match=r"the method Layer\.scaled was put in a set or made a key .* Use its name\."):
        dispatch.compile(lambda a: a * len({layer.scaled, other.scaled}), fullgraph=True)(x)


def in_order(items, a):
    for i, f in enumerate(items):
        a = a * (i + 1) + len(f.__name__)
    return a


MANY = [types.FunctionType(plus.__code__, globals(), "f" * (i + 1)) for i in range(7)]
CLASSES = [type("C" * (i + 1), (), {}) for i in range(7)]


@pytest.mark.parametrize("made", [lambda a: in_order({*MANY}, a), lambda a: in_order(frozenset(MANY), a), lambda a: in_order(set(CLASSES), a)])
def test_a_set_of_functions_or_classes_has_the_order_that_it_has(made):
    assert np.array_equal(dispatch.compile(made, fullgraph=True)(x), made(x))


@pytest.mark.parametrize(
    "used",
    [
        lambda a: (f"{a.shape}" and plus(a)) + layer.scaled(a),
        lambda a: functools.reduce(lambda b, f: f(b), [plus, times, layer.scaled], a) * len(str(3)),
        lambda a: functools.partial(times)(a) * len(str(plus.__name__)),
        lambda a: dispatch.grad(lambda b: np.sum(times(b) ** 2))(a) * len(str(1)),
        lambda a: np.stack(list(map(times, a))) * len(str(1)),
        lambda a: a * sum(callable(f) and type(f) is not int for f in (plus, layer.scaled)) * len(str(1)),
        lambda a: a * (layer.scaled == layer.scaled) * (layer.scaled != other.scaled) * layer.width * len(str(1)),
    ],
)
def test_functions_are_functions_beside_a_text(used):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert np.array_equal(dispatch.compile(used, fullgraph=True)(x), used(x))


def test_a_function_that_is_changed_by_a_call_is_found():
    def counted(a):
        counted.calls = getattr(counted, "calls", 0) + 1
        return a * len(str(counted.calls))

    with pytest.raises(TracingError, match="it changes"):
        dispatch.compile(counted, fullgraph=True)(x)


held, pairs, last = [1.0], {"k": 2.0}, collections.deque([1.0])
TAKEN = {
    "a list's": lambda a: a * len(str(held.append)),
    "a dict's": lambda a: a * len(f"{pairs.get}"),
    "a deque's": lambda a: a * len("{}".format(last.append)),  # noqa: UP032
    "in a list": lambda a: a * len(repr([held.append])),
    "in a set": lambda a: a * len({held.append, pairs.get}),
    "of a partial": lambda a: a * len(str(functools.partial(plus, 1).__call__)),
}


@pytest.mark.parametrize("name", TAKEN)
def test_a_method_in_c_beside_a_text_or_a_set_is_refused(name):
    said = r"it takes \.\w+ without calling it, where it may write a text or make a set, and a method in C .* by the address"
    with pytest.raises(TracingError, match=said):
        dispatch.compile(TAKEN[name], fullgraph=True)(x)


@pytest.mark.parametrize(
    "used",
    [
        lambda a: np.add.reduce(a) * len(f"{held.count(1.0)}") + pairs.get("k"),  # it calls them, and np.add is no method
        lambda a: a * max(pairs, key=pairs.get).__len__(),  # no text
        lambda a: a * Counts(3).count * len(str(1)),  # a field of that name
    ],
)
def test_a_method_in_c_is_used_where_nothing_writes_it(used):
    assert np.array_equal(dispatch.compile(used, fullgraph=True)(x), used(x))


def test_what_may_write_a_text_is_held_against_the_function_once():
    compiled = dispatch.compile(lambda a: a * int(str(iter(held))[-6:-1], 16))
    with pytest.warns(dispatch.errors.PerformanceWarning, match="its graph does not give what it gives, to the bit"):
        compiled(x)
    fine = dispatch.compile(lambda a: a * len(f"{a.shape}"), fullgraph=True)
    fine.explain(x)
    assert fine.entries[0].doubted
    assert np.array_equal(fine(x), x * 4)
    assert not fine.entries[0].doubted
