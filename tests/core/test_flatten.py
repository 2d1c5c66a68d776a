"""What holds arrays, in C: items in order, put together again; what a record's own functions raise is not swallowed."""

import pytest

from dispatch.core import Level, items_of, rebuilt, seen_through, set_record, split, unwrap


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
