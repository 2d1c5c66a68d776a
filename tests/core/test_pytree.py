"""Containers: whatever is taken apart goes together again, every kind of class a record can be."""

import dataclasses
from collections import OrderedDict, defaultdict
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dispatch.core.pytree import (
    arrays,
    field_names,
    items_of,
    leaves,
    made_of,
    mapped,
    mapped_arrays,
    paths,
    rebuilt,
    register_record,
    steps,
)


@dataclasses.dataclass
class Plain:
    x: Any
    y: Any = 2

    def __post_init__(self) -> None:
        self.made = "by __post_init__"
        if self.x == "refused":
            raise ValueError("validation")


@dataclasses.dataclass(frozen=True)
class Frozen:
    x: Any


@dataclasses.dataclass(slots=True)
class Slots:
    x: Any
    y: Any = None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Both:
    x: Any
    y: Any


@dataclasses.dataclass
class Unset:
    x: Any
    later: Any = dataclasses.field(init=False)


@dataclasses.dataclass
class Heir(Plain):
    z: Any = 3


@dataclasses.dataclass
class Empty:
    pass


class Named(NamedTuple):
    x: Any
    y: Any = 2


CLASSES = [Plain, Frozen, Slots, Both, Unset, Heir]
for cls in CLASSES:
    register_record(cls)

scalars = st.integers() | st.text(max_size=3) | st.none()
records = [
    lambda inner: st.builds(Plain, inner, inner),
    lambda inner: st.builds(Frozen, inner),
    lambda inner: st.builds(Both, x=inner, y=inner),
    lambda inner: st.builds(Named, inner, inner),
]
containers = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(st.text(max_size=3), inner, max_size=3),
        *(make(inner) for make in records),
    ),
    max_leaves=8,
)


@given(containers)
def test_what_is_taken_apart_goes_together_again(x):
    again = mapped(lambda leaf: leaf, x)
    assert again == x
    assert type(again) is type(x)


@given(containers)
def test_a_function_of_every_leaf_changes_nothing_else(x):
    count = iter(range(100))
    numbered = mapped(lambda leaf: next(count), x)
    assert list(leaves(numbered)) == list(range(len(list(leaves(x)))))
    queue = iter(leaves(x))
    assert mapped(lambda _: next(queue), numbered) == x


@given(containers)
def test_a_path_leads_to_its_leaf(x):
    for path, leaf in zip(paths(x), leaves(x), strict=True):
        assert eval("x" + path, {"x": x}) is leaf


@given(containers)
def test_arrays_are_the_leaves_but_for_other_fields_of_records(x):
    whole = mapped(lambda leaf: np.zeros(()), x)
    assert list(map(id, arrays(whole))) == list(map(id, leaves(whole)))
    assert mapped_arrays(lambda leaf: 1, whole) == mapped(lambda leaf: 1, x)
    kept = [leaf for leaf, path in zip(leaves(x), paths(x), strict=True) if not path.endswith((".x", ".y"))]
    assert arrays(x) == kept
    assert mapped_arrays(lambda leaf: leaf, x) == x


@pytest.mark.parametrize("x", [Plain(1), Frozen(1), Slots(1, 2), Both(x=1, y=2), Heir(1), Named(1)])
def test_a_record_is_its_fields_in_order(x):
    names = field_names(type(x))
    assert list(items_of(x)) == [getattr(x, name) for name in names]
    assert steps(x) == [f".{name}" for name in names]
    other = rebuilt(x, [10 * k for k in range(len(names))])
    assert type(other) is type(x)
    assert list(items_of(other)) == [10 * k for k in range(len(names))]
    assert type(made_of(type(x), list(items_of(x)))) is type(x)
    assert made_of(type(x), list(items_of(x))) == x


def test_a_record_is_put_together_without_its_init():
    x = Plain(1)
    x.made, x.more = "changed", "an attribute that is no field"
    other = rebuilt(x, ["refused", 2])
    assert (other.x, other.made, other.more) == ("refused", "changed", "an attribute that is no field")
    assert x.x == 1


def test_a_field_that_nobody_has_set_is_none():
    assert list(items_of(Unset(1))) == [1, None]
    assert mapped(str, Unset(1)) == made_of(Unset, ["1", "None"])


def test_a_subclass_that_is_not_registered_is_one_value():
    class Stranger(Plain):
        pass

    x = Stranger(1)
    assert items_of(x) is None
    assert list(leaves([x])) == [x]


@pytest.mark.parametrize("x", [3, "text", None, {1, 2}, range(3), np.ones(3), Empty(), object, Plain])
def test_what_is_no_container_is_one_value(x):
    assert items_of(x) is None
    assert list(leaves(x)) == [x]
    assert list(paths(x)) == [""]


def test_a_class_without_fields_is_no_record():
    register_record(Empty)
    assert items_of(Empty()) is None
    assert field_names(int) is None
    assert field_names(tuple) is None


def test_lists_and_dicts_keep_their_class_and_tuples_only_where_they_are_named():
    class Stack(list):
        pass

    class Pair(tuple):
        __slots__ = ()

    assert type(mapped(str, Stack([1]))) is Stack
    assert type(mapped(str, Pair([1]))) is tuple
    for x in (OrderedDict(a=1), defaultdict(int, a=1)):
        made = mapped(str, x)
        assert (type(made), dict(made)) == (type(x), {"a": "1"})
