"""What holds arrays, in C: items in order, put together again; what a record's own functions raise is not swallowed."""

from collections import namedtuple
from dataclasses import dataclass

import pytest

from dispatch.core import Level, items_of, rebuilt, register_when_seen, seen_through, set_record, split, unwrap
from dispatch.core.pytree import form_of, leaves, leaves_like, paths, unflatten

Pair = namedtuple("Pair", "x y")


class Box:
    def __init__(self, *inside):
        self.inside = inside


class Closed:
    """A record that cannot be opened."""


set_record(Box, lambda x: x.inside, lambda x, items: Box(*items))


def closed(*_):
    raise ValueError("closed")


set_record(Closed, closed, closed)


@pytest.mark.parametrize(
    ("x", "items"),
    [([1, 2], (1, 2)), ((1, 2), (1, 2)), ({"a": 1, "b": 2}, (1, 2)), (Box(1, 2), (1, 2)), ([], ()), ({}, ()), (Box(), ())],
)
def test_items_and_a_container_like_it(x, items):
    assert items_of(x) == items
    assert type(rebuilt(x, list(items))) is type(x)
    assert items_of(rebuilt(x, list(items))) == items


@pytest.mark.parametrize("x", [1, "ab", b"ab", {1}, None, iter([]), Box])
def test_what_is_no_container(x):
    assert items_of(x) is None


def test_keys_stay_in_their_order():
    assert list(rebuilt({"b": 1, "a": 2}, [3, 4]).items()) == [("b", 3), ("a", 4)]


def test_wrappers_are_found_in_records():
    from making import shadow

    with Level("outer") as level:
        inside = shadow(1.0, level, "data")
        like, values, data, own, _ = split((Box(0, inside), 3))
        assert like is inside
        assert values[0].inside == (0, 1.0)
        assert data == ([None, "data"], None)
        assert own == 1
        assert unwrap(Box(inside), inside.rank).inside == (1.0,)
        assert seen_through({"x": Box(inside)}, 1 << int(inside.key))["x"].inside == (1.0,)


def test_what_a_record_raises_comes_through():
    with pytest.raises(ValueError, match="closed"):
        items_of(Closed())
    with pytest.raises(ValueError, match="closed"):
        split((Closed(),))


@pytest.mark.parametrize("x", [3, [], [1, (2, {"b": 3, "a": [4]})], {"x": Box(1, Box(2))}, ((), [[]], "text", None)])
def test_leaves_put_together_again_are_the_container(x):
    def by_hand(x):
        items = items_of(x)
        return [x] if items is None else [leaf for item in items for leaf in by_hand(item)]

    flat = leaves(x)
    assert flat == by_hand(x)
    assert repr(leaves(unflatten(x, flat))) == repr(flat)
    assert leaves(unflatten(x, list(range(len(flat))))) == list(range(len(flat)))


def test_a_dataclass_is_opened_once_it_is_asked_for():
    @dataclass
    class Point:
        x: object

    asked = []
    assert leaves([Point(1), 2], asked.append) == [Point(1), 2]
    assert asked == [Point(1)]
    assert leaves([Point(1), 2], lambda x: (x.x,)) == [1, 2]
    assert leaves(Point, asked.append) == [Point]


@pytest.mark.parametrize(("given", "like", "found"), [
    (7, 1, [7]),
    (None, [1, (2, 3)], [None] * 3),
    ([7, [8]], (1, (2,)), [7, 8]),
    ({"b": 7, "a": 8}, {"a": 1, "b": 2}, [8, 7]),
    ([None, {"a": 7}], [Pair(1, 2), {"a": 3}], [None, None, 7]),
    (Pair(7, 8), Pair(1, 2), [7, 8]),
    (Box(7), Box(1), [7]),
    ([7], (1, 2), None),
    ((7, 8), Pair(1, 2), None),
    (Pair(7, 8), (1, 2), None),
    ({"a": 7}, {"b": 1}, None),
    ([7], {"a": 1}, None),
    (7, [1], None),
    (Box(7), [1], None),
    ([7, [8, 9]], [1, [2]], None),
])  # fmt: skip
def test_leaves_in_the_order_of_another_container(given, like, found):
    assert leaves_like(given, like) == found


@pytest.mark.parametrize("count", [0, 1, 3])
def test_a_container_takes_as_many_leaves_as_it_has(count):
    with pytest.raises(ValueError, match=r"a container has (more leaves than the|2 leaves, and was to be made of) "):
        unflatten([1, {"a": 2}], [0] * count)


def test_a_container_that_holds_itself_is_no_crash():
    x = []
    x.append(x)
    for walk in (leaves, lambda x: unflatten(x, [1]), lambda x: leaves_like(x, x)):
        with pytest.raises(RecursionError):
            walk(x)


class Named(Box):
    """A record whose values differ in more than what is inside."""


set_record(Named, lambda x: x.inside[1:], lambda x, items: Named(x.inside[0], *items), lambda x: [f".at({i})" for i in range(len(x.inside) - 1)], lambda x: x.inside[0])


def test_a_form_is_part_of_the_structure_and_a_class_names_its_own_steps():
    assert (form_of(Named("a", 1)), form_of(Box(1)), form_of([1])) == ("a", None, None)
    assert list(paths([Named("a", 1, [2])])) == ["[0].at(0)", "[0].at(1)[0]"]
    assert leaves_like(Named("a", 1), Named("a", 2)) == [1]
    assert leaves_like([Named("a", 1)], [Named("b", 2)]) is None


def test_a_package_that_waits_is_registered_by_the_first_container_of_it():
    class Waiting(Box):
        __module__ = "waiting.boxes"

    register_when_seen("waiting", lambda: set_record(Waiting, lambda x: x.inside, lambda x, items: Waiting(*items)))
    assert leaves([Box(Waiting(1, 2))]) == [1, 2]
