"""The wrapper: one key at one level; it outranks what it wraps, and the two things a layer does with it undo each other."""

import gc
import pickle
import weakref
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from making import Shadow, made, shadow

from dispatch.core import DispatchKey, Level, Setting, Tensor, check_open, descend, ground, split, unwrap, wrap
from dispatch.errors import ArgumentError, ConversionError, EscapedValueError

A = np.arange(3.0)


class Upper(Tensor):
    __slots__ = ()
    key = DispatchKey.VMAP


# -- rank ------------------------------------------------------------------------------------------------------------------


def test_a_rank_is_the_level_and_below_it_the_key():
    with Level("t") as level:
        x = wrap(Upper, A, level, kept="data")
    assert x.rank == level.number * 64 + DispatchKey.VMAP
    assert (x.value, x.level, x.kept) == (A, level, "data") or x.value is A
    assert wrap(Upper, A, ground()).rank == DispatchKey.VMAP


def test_a_wrapper_like_another_has_its_level_and_rank():
    with Level("t") as level:
        x = shadow(A, level)
        y = shadow(A * 2, x)
    assert (y.level, y.rank) == (x.level, x.rank)


def test_an_inner_level_outranks_an_outer_one_whatever_the_keys():
    with Level("outer") as outer, Level("inner") as inner:
        low, high = wrap(Upper, A, outer), shadow(A, inner)
    assert high.rank > low.rank
    assert split((low, [high], None, 3))[0] is high


def test_at_one_level_the_keys_decide():
    with Level("t") as level:
        assert wrap(Upper, shadow(A, level), level).rank > shadow(A, level).rank


@pytest.mark.parametrize("order", ["same level and key", "higher key", "inner level"])
def test_a_wrapper_refuses_a_value_that_outranks_it(order):
    with Level("outer") as outer, Level("inner") as inner:
        value = {"same level and key": shadow(A, outer), "higher key": wrap(Upper, A, outer), "inner level": shadow(A, inner)}[
            order
        ]
        with pytest.raises(EscapedValueError) as caught:
            shadow(value, outer)
    said = f"a Shadow of {outer!r} was asked around a {type(value).__name__} of {value.level!r}, which stands above it."
    assert str(caught.value) == f"{said} Make it outside the inner transform, or wrap the value that went into that. What a kernel uses goes in as an argument."


def test_a_closed_level_is_named_where_its_values_are_used():
    with Level("vmap") as level:
        x = shadow(A, level)
        check_open(x)
    with pytest.raises(
        EscapedValueError, match=rf"a Shadow of vmap \(level {level.number}\) is used after that transform has ended"
    ):
        check_open(x)
    for call in (lambda op: op(x), lambda op: op(x=x)):
        with pytest.raises(
            EscapedValueError, match=rf"vmap \(level {level.number}\).*it escaped through a variable, a list or"
        ):
            call(made("(Tensor x) -> Tensor", np.negative))
    with pytest.raises(EscapedValueError, match="Return it from the transformed function instead"):
        made("(Tensor[] x) -> Tensor", np.stack)([A, x])


def test_the_ground_level_is_always_open():
    assert ground().open
    assert ground() is ground()
    check_open(shadow(A, ground()))


# -- split, unwrap, top ----------------------------------------------------------------------------------------------------


@st.composite
def nested(draw, leaves):
    """Lists, tuples and dicts of leaves, to any depth."""
    return draw(
        st.recursive(
            leaves,
            lambda inner: (
                st.lists(inner, max_size=3)
                | st.lists(inner, max_size=3).map(tuple)
                | st.dictionaries(st.sampled_from("abc"), inner, max_size=2)
            ),
            max_leaves=6,
        )
    )


def mapped(x, leaf):
    """x with `leaf` applied to what is no container: the oracle."""
    if isinstance(x, (list, tuple)):
        return type(x)(mapped(item, leaf) for item in x)
    return {name: mapped(item, leaf) for name, item in x.items()} if isinstance(x, dict) else leaf(x)


def flat(x):
    found = []
    mapped(x, found.append)
    return found


@given(st.data())
def test_split_takes_the_highest_wrappers_off_and_leaves_the_lower_ones(data):
    with Level("outer") as outer, Level("inner") as inner:
        low, high = shadow(A, outer, "low"), wrap(Upper, A + 1, inner, "high")
        leaves = st.sampled_from([low, high, A, 2.5, None, "text", True, 7])
        args = (*data.draw(st.lists(nested(leaves), max_size=4)), data.draw(st.sampled_from([low, high])))
        highest = max((x for x in flat(list(args)) if isinstance(x, Tensor)), key=lambda x: x.rank)

        def off(x):
            return x.value if isinstance(x, Tensor) and x.rank == highest.rank else x

        like, values, kept, own, value = split(args)
        assert like is highest
        assert value is None
        expected = mapped(list(args), off)
        assert [mapped(v, id) for v in values] == [mapped(e, id) for e in expected]
        assert [mapped(unwrap(x, highest.rank), id) for x in args] == [mapped(e, id) for e in expected]
        assert all(unwrap(x, highest.rank + 1) is x for x in args if not isinstance(x, (np.ndarray, list, tuple, dict)))
        mine = [highest in [x for x in flat([arg]) if isinstance(x, Tensor) and x is highest] for arg in args]
        assert [bool(own >> i & 1) for i in range(len(args))] == mine
        assert [datum is not None for datum in kept] == mine


def test_split_gives_what_the_layer_kept_at_the_place_of_its_argument():
    with Level("t") as level:
        x, y = shadow(A, level, "dx"), shadow(A, level, "dy")
        like, values, data, own, _ = split((1, x, [A, y], None, {"k": y}))
    assert like is x
    assert (values[1], values[2][0], values[2][1]) == (A, A, A) or values[1] is A
    assert data == (None, "dx", [None, "dy"], None, ["dy"])
    assert own == 0b10110


def test_split_finds_the_layer_s_setting():
    with Level("t") as level, Setting(int(Shadow.key), "set"), Setting(int(Upper.key), "another layer's"):
        assert split((shadow(A, level),))[4] == "set"


def test_more_arguments_than_bits_in_a_word_have_their_bits():
    with Level("t") as level:
        args = tuple(shadow(A, level, i + 1) if i % 7 == 0 else A for i in range(200))
        _, _, data, own, _ = split(args)
    assert own == sum(1 << i for i in range(0, 200, 7))
    assert [i for i, datum in enumerate(data) if datum is not None] == list(range(0, 200, 7))


def test_descend_is_split_and_the_call_one_floor_down():
    op = made("(Tensor x, *, float y) -> Tensor", lambda x, *, y: x * y)
    with Level("t") as level:
        args = (shadow(A, level, "data"), 3.0)
        out, *rest = descend(op.whole, args)
        assert np.array_equal(out, A * 3)
        assert [type(r) for r in rest] == [type(s) for s in split(args)]
        assert rest[0] is args[0]


def test_unwrap_takes_one_floor_off_at_a_time():
    with Level("outer") as outer, Level("inner") as inner:
        x = shadow(A, outer)
        y = shadow(x, inner)
        assert unwrap([y, (x, y)], y.rank)[0] is x
        assert unwrap(unwrap({"k": y}, y.rank), x.rank)["k"] is A


@pytest.mark.parametrize("depth", [100_000, None], ids=["deep", "holds itself"])
def test_a_list_without_end_is_a_recursion_error_and_no_crash(depth):
    inner = []
    outer = inner
    if depth is None:
        inner.append(inner)
    else:
        for _ in range(depth):
            outer = [outer]
    with Level("t") as level:
        x = shadow(A, level)
        for walk in (lambda: split((x, outer)), lambda: descend(len, (x, outer))):
            with pytest.raises(RecursionError, match="while looking for arrays in a container"):
                walk()
    inner.clear()


# -- what a wrapper is to its users ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("cls", [Tensor, Shadow])
@pytest.mark.parametrize("args", [(), ([1.0],), (A,)])
def test_a_tensor_is_not_made_by_calling_its_class(cls, args):
    with pytest.raises(
        TypeError, match=rf"a {cls.__name__} is not made by calling its class.*dispatch\.tensor\(a, requires_grad=True\)"
    ):
        cls(*args)


def test_a_wrapper_has_the_metadata_of_what_it_wraps():
    value = np.zeros((2, 3), "f4")
    x = shadow(value, ground())
    assert (x.shape, x.dtype, x.ndim, x.size, len(x), x.device) == ((2, 3), np.dtype("f4"), 2, 6, 2, "cpu")
    assert shadow(np.zeros(()), ground()).size == 1


def test_a_0d_wrapper_has_no_length():
    with pytest.raises(TypeError, match=r"len\(\) of a 0-d tensor"):
        len(shadow(np.zeros(()), ground()))


def test_a_wrapper_hashes_by_identity():
    x, y = shadow(A, ground()), shadow(A, ground())
    assert len({x: 1, y: 2}) == 2


def test_an_array_is_not_made_of_a_wrapper():
    with pytest.raises(ConversionError, match=r"of a Shadow of shape \(3,\) and dtype float64, which would take it out"):
        np.asarray(shadow(A, ground()))


def test_a_wrapper_is_not_pickled():
    with pytest.raises(TypeError, match=r"a Shadow belongs to the transform or tape of one process.*dispatch\.detach"):
        pickle.dumps(shadow(A, ground()))


def test_no_attribute_can_be_put_on_a_wrapper_and_its_fields_are_its_own():
    x = shadow(A, ground())
    for name in ("value", "rank", "level", "whatever"):
        with pytest.raises(AttributeError):
            setattr(x, name, A)


def test_a_frozen_wrapper_s_array_is_read_only():
    value = A.copy()
    assert wrap(Shadow, value, ground(), None, True).value is value
    assert not value.flags.writeable


def test_wrappers_take_weak_references_and_go_with_their_last_name():
    gc.disable()
    try:
        chain = [shadow(A, ground())]
        with Level("a") as a, Level("b") as b:
            chain += [shadow(chain[0], a), shadow(A, b)]
        seen = [weakref.ref(x) for x in chain]
        assert all(x() is not None for x in seen)
        chain.clear()
        assert all(x() is None for x in seen)
    finally:
        gc.enable()


def test_ranks_only_fall_on_the_way_in():
    with Level("a") as a, Level("b") as b:
        x = wrap(Upper, shadow(wrap(Upper, shadow(A, ground()), a), b), b)
    ranks = []
    while isinstance(x, Tensor):
        ranks.append(x.rank)
        x = x.value
    assert all(above > below for above, below in pairwise(ranks))
    assert len(ranks) == 4


@pytest.mark.parametrize("kind", ["float", "int", "complex", "bool", "Scalar"])
def test_a_wrapper_is_never_turned_into_a_number(kind):
    op = made(f"({kind} factor) -> ()", lambda factor: None)
    with pytest.raises(
        ArgumentError, match=r"argument 'factor' is .*a Shadow.*hint the parameter `factor: np\.ndarray \| float`"
    ):
        op(shadow(np.zeros(()), ground()))
