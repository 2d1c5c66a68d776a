"""The record of a call: what it refers to, in what form, and how it goes away."""

import gc
import threading
import weakref

import numpy as np
import pytest
from children import said_by_child
from hypothesis import given
from hypothesis import strategies as st
from making import Shadow, shadow

from dispatch.core import Level, freeze
from dispatch.core.array_memory import inexact_layout
from dispatch.errors import EscapedValueError
from dispatch.layers.autograd.record import End, Record, next_order, recorded, show

A = np.arange(3.0)


@pytest.fixture
def like():
    with Level("history") as level:
        yield shadow(A, level)


def made(out, like, inputs=(), edges=None, saved=None):
    return recorded(Record, Shadow, "op", "rule", out, like, inputs, edges, saved)


def test_a_wrapper_refers_to_the_record_and_the_record_to_what_it_was_given(like):
    saved = object()
    out = made(A + 1, like, (None,), None, saved)
    assert type(out) is Shadow
    assert (out.level, out.rank) == (like.level, like.rank)
    record = out.data
    assert (record.op, record.rule, record.saved, record.level) == ("op", "rule", saved, like.level)
    assert record.layout == ((3,), np.dtype("f8"))


def test_an_array_becomes_read_only(like):
    x = A + 1
    assert made(x, like).value is x
    assert not x.flags.writeable


@pytest.mark.parametrize("out", [np.arange(3), np.array(["a"]), np.int64(1), None, 2.0])
def test_what_can_have_no_gradient_comes_back_as_it_is(out, like):
    assert made(out, like) is out


def test_a_result_may_be_a_number_of_an_array_or_a_wrapper(like):
    assert made(np.float64(2), like).value == 2
    assert made(np.float32(2), like).data.layout == ((), np.dtype("f4"))
    with Level("inner") as level:
        outer = shadow(A, level)
        inner = made(like, outer)
        assert inner.value is like
        assert inner.data.layout == ((3,), np.dtype("f8"))
        with pytest.raises(EscapedValueError, match=r"a Shadow of history \(level \d+\) was asked around a Shadow of inner"):
            made(outer, like)


edges = st.lists(st.sampled_from([None, "a", "b"]), max_size=40).map(tuple)


@given(edges)
def test_inputs_are_read_as_they_were_given(inputs):
    with Level("history") as level:
        record = made(A + 1, shadow(A, level), inputs).data
    assert record.inputs == record.edges == inputs
    assert type(record.inputs) is tuple


@given(edges, edges)
def test_edges_that_are_not_the_inputs_are_kept_beside_them(inputs, others):
    with Level("history") as level:
        record = made(A + 1, shadow(A, level), inputs, others).data
    assert (record.inputs, record.edges) == (inputs, others)
    assert record.inputs is inputs
    assert record.edges is others


@given(edges, edges)
def test_either_can_be_set_alone(inputs, others):
    with Level("history") as level:
        like = shadow(A, level)
        one, other = made(A + 1, like, inputs).data, made(A + 1, like, inputs).data
    one.inputs, other.edges = others, others
    assert (one.inputs, one.edges) == (others, inputs)
    assert (other.inputs, other.edges) == (inputs, others)


layouts = st.tuples(st.lists(st.integers(0, 3), max_size=3).map(tuple), st.sampled_from(["f4", "f8", "c16", ">f8", "f2"]))


@given(layouts, layouts)
def test_the_layout_is_that_of_the_result_and_that_of_an_input_where_they_are_equal(first, second):
    with Level("history") as level:
        like = shadow(A, level)
        before = made(np.empty(*first), like).data
        after = made(np.empty(*second), like, (None, before)).data
    assert after.layout == inexact_layout(np.empty(*second))
    if first == second and second[1] != ">f8":  # a dtype of its own for each array
        assert after.layout is before.layout


def test_an_input_of_several_layouts_tells_none(like):
    several = Record()
    assert several.layout is None
    assert made(A + 1, like, (several,)).data.layout == ((3,), np.dtype("f8"))


def test_orders_go_down_in_every_thread():
    found, before = [], next_order()

    def run():
        found.extend([Record().order for _ in range(1000)])

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 4000
    assert max(found) < before
    assert next_order() < min(found)


def test_letting_go_leaves_the_rule_alone(like):
    x = A + 1
    kept, edge = weakref.ref(x), Record()
    gone = weakref.ref(edge)
    record = made(A + 1, like, (edge, None), None, freeze(x)).data
    del x, edge
    assert kept() is not None
    record.let_go("other")
    assert (kept(), gone()) == (None, None)
    assert (record.inputs, record.edges, record.saved, record.rule) == ((), (), None, "other")


@pytest.mark.parametrize("inputs", [lambda edge: (edge,), lambda edge: (None, edge), lambda edge: (None, None, edge)])
def test_a_million_records_are_freed_without_recursion(inputs, like):
    edge, first = None, None
    gc.disable()
    try:
        for _ in range(1_000_000):
            edge = made(np.float64(1), like, inputs(edge)).data
            first = first or weakref.ref(edge)
        assert first() is not None
        del edge
        assert first() is None
    finally:
        gc.enable()


def test_the_collector_sees_a_record_from_the_moment_its_rule_is_replaced(like):
    record = made(A + 1, like, (None,)).data
    assert not gc.is_tracked(record)
    record.rule = [record].append  # a hook that leads back
    assert gc.is_tracked(record)
    gone = weakref.ref(record)
    del record
    gc.collect()
    assert gone() is None


def test_a_record_made_of_one_that_the_collector_sees_is_seen_too(like):
    first = made(A + 1, like, (None,)).data
    before = made(A + 1, like, (first, None)).data
    first.rule = "a hook"
    after = made(A + 1, like, (None, first)).data
    last = made(A + 1, like, (None,), (after,)).data
    assert [gc.is_tracked(record) for record in (before, after, last)] == [False, True, True]


def test_what_is_hidden_can_be_shown(like):
    record, other = made(A + 1, like).data, End(((3,), A.dtype))
    assert not gc.is_tracked(record)
    assert not gc.is_tracked(other)
    show((record, None, other))
    show((record, other))
    assert gc.is_tracked(record)
    assert gc.is_tracked(other)


def test_what_the_collector_cannot_see_is_neither_hidden_nor_shown():
    said_by_child("""
        from dispatch.layers.autograd.record import show
        for x in (1, "text", 2.5, None):
            show((x,))
    """)
