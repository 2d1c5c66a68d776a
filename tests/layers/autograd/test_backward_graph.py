"""The node of a call: what it refers to, in what form, how it goes away, and when the collector sees it."""

import gc
import threading
import weakref

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from making import Shadow, shadow

from dispatch.core import Level
from dispatch.core.array_memory import inexact_layout
from dispatch.errors import EscapedValueError
from dispatch.layers.autograd.backward_graph import Leaf, Node, Output, next_order
from dispatch.layers.autograd.record import new_node, recorded

A = np.arange(3.0)


@pytest.fixture
def like():
    with Level("history") as level:
        yield shadow(A, level)


def made(out, like, inputs=(), edges=None, saved=None):
    return recorded(Shadow, "op", "rule", out, like, inputs, edges, saved)


def test_a_wrapper_refers_to_the_record_and_the_record_to_what_it_was_given(like):
    saved = object()
    out = made(A + 1, like, (None,), None, saved)
    assert type(out) is Shadow
    assert (out.level, out.rank) == (like.level, like.rank)
    record = out.kept
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
    assert made(np.float32(2), like).kept.layout == ((), np.dtype("f4"))
    with Level("inner") as level:
        outer = shadow(A, level)
        inner = made(like, outer)
        assert inner.value is like
        assert inner.kept.layout == ((3,), np.dtype("f8"))
        with pytest.raises(EscapedValueError, match=r"a Shadow of history \(level \d+\) was asked around a Shadow of inner"):
            made(outer, like)


edges = st.lists(st.sampled_from([None, "a", "b"]), max_size=40).map(tuple)


@given(edges)
def test_inputs_are_read_as_they_were_given(inputs):
    with Level("history") as level:
        record = made(A + 1, shadow(A, level), inputs).kept
    assert record.inputs == record.edges == inputs
    assert type(record.inputs) is tuple


@given(edges, edges)
def test_edges_that_are_not_the_inputs_are_kept_beside_them(inputs, others):
    with Level("history") as level:
        record = made(A + 1, shadow(A, level), inputs, others).kept
    assert (record.inputs, record.edges) == (inputs, others)
    assert record.edges is others


layouts = st.tuples(st.lists(st.integers(0, 3), max_size=3).map(tuple), st.sampled_from(["f4", "f8", "c16", ">f8", "f2"]))


@given(layouts, layouts)
def test_the_layout_is_that_of_the_result_and_that_of_an_input_where_they_are_equal(first, second):
    with Level("history") as level:
        like = shadow(A, level)
        before = made(np.empty(*first), like).kept
        after = made(np.empty(*second), like, (None, before)).kept
    assert after.layout == inexact_layout(np.empty(*second))
    if first == second and second[1] != ">f8":  # a dtype of its own for each array
        assert after.layout is before.layout


def test_an_input_of_several_layouts_tells_none(like):
    several = new_node(Node, "op", like.level, "rule", (), None, None, None)
    assert made(A + 1, like, (several,)).kept.layout == ((3,), np.dtype("f8"))


def test_orders_go_down_in_every_thread():
    found, before = [], next_order()

    def run():
        found.extend([Node().order for _ in range(1000)])

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(found)) == 4000
    assert max(found) < before
    assert next_order() < min(found)


@pytest.mark.parametrize("inputs", [lambda edge: (edge,), lambda edge: (None, edge), lambda edge: (None, None, edge)])
@pytest.mark.parametrize("hidden", [True, False])
def test_a_million_nodes_are_freed_without_recursion(inputs, hidden, like):
    edge, first = None, None
    gc.disable()
    try:
        for _ in range(1_000_000):
            edge = made(np.float64(1), like, inputs(edge), None, None if hidden else []).kept
            first = first or weakref.ref(edge)
        assert gc.is_tracked(edge) is not hidden
        assert first() is not None
        del edge
        assert first() is None
    finally:
        gc.enable()


# -- hidden from the collector ---------------------------------------------------------------------------------------------


def chain(like, length, edge=None):
    """Nodes, each made of the one before."""
    nodes = []
    for _ in range(length):
        edge = made(A + 1, like, (edge,)).kept
        nodes.append(edge)
    return nodes


def test_a_node_that_leads_to_nothing_newer_is_hidden(like):
    leaf = Leaf(((3,), np.dtype("f8")))
    for saved in (None, A, (A, 2, None, "text", (1, 2)), slice(1, None), np.float64(1)):
        assert not gc.is_tracked(made(A + 1, like, (leaf,), None, saved).kept)


class Holder:
    value = None


@pytest.mark.parametrize("keep", [lambda x: [x], lambda x: (A, [x]), lambda x: x, lambda x: {"x": x}, lambda x: slice(x)])
def test_a_later_value_that_is_reached_from_what_a_node_saved_is_found_by_the_collector(keep, like):
    holder = Holder()
    holder.value = made(A + 1, like, (made(A + 1, like, (None,), None, keep(holder)).kept,))
    gone = weakref.ref(holder)
    del holder
    gc.collect()
    assert gone() is None


def test_all_that_was_made_since_is_seen_once_a_rule_is_replaced_and_nothing_older(like):
    nodes = chain(like, 9)
    other = chain(like, 2)
    assert not any(map(gc.is_tracked, nodes + other))
    nodes[4].replace_rule("a hook")
    assert list(map(gc.is_tracked, nodes + other)) == [False] * 4 + [True] * 7
    after = chain(like, 2, nodes[8])
    assert all(map(gc.is_tracked, after))  # made of one that is seen
    assert not gc.is_tracked(made(A + 1, like, (nodes[0],)).kept)
    nodes[0].replace_rule("a hook")
    assert all(map(gc.is_tracked, nodes))


@pytest.mark.parametrize("change", [lambda leaf, y: setattr(leaf, "grad", y), lambda leaf, y: setattr(leaf, "hooks", [y])])
def test_all_that_was_made_of_a_leaf_is_seen_once_a_later_value_is_reached_from_it(change, like):
    leaf = Leaf(((3,), np.dtype("f8")))
    y = made(A + 1, like, (chain(like, 5, leaf)[-1],))
    leaf.grad = A
    assert not gc.is_tracked(y.kept)
    change(leaf, y)
    gone = weakref.ref(leaf)
    del leaf, y
    gc.collect()
    assert gone() is None


def test_a_node_made_of_an_output_of_several_is_seen(like):
    several = new_node(Node, "op", like.level, "rule", (), None, None, None)
    assert gc.is_tracked(made(A + 1, like, (Output(several, 0, None),)).kept)


@given(st.lists(st.tuples(st.sampled_from(["make", "drop", "hook"]), st.integers(0, 30)), max_size=60))
def test_no_hidden_node_is_made_of_one_that_is_seen(steps):
    with Level("history") as level:
        like = shadow(A, level)
        alive, made_of = [], {}
        for step, i in steps:
            if step == "make" or not alive:
                before = alive[i % len(alive)] if alive and i else None
                node = made(A + 1, like, (before,)).kept
                alive.append(node)
                made_of[id(node)] = node, before
            elif step == "drop":
                made_of.pop(id(alive.pop(i % len(alive))))
            else:
                alive[i % len(alive)].replace_rule("a hook")
            for node, before in made_of.values():
                assert gc.is_tracked(node) or before is None or not gc.is_tracked(before)
