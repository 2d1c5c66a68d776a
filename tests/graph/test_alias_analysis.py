"""Effects: which calls have to stay, and which values may share memory."""

import numpy as np
import pytest
from making import define
from random_graphs import HANDLE, STEPS, draw, fill_, log, note, pair, push, scale, watched

import dispatch
from dispatch import Tag, make_fx, ops
from dispatch.graph import AliasAnalysis, Graph, Metadata, Opaque, is_pinned
from dispatch.graph.alias_analysis import is_data, may_be_view

X = np.array([0.3, 1.2])
ARRAY = Metadata((2,), np.dtype(float), (8,), "cpu")


def last_call(f):
    graph, _ = watched(lambda: make_fx(lambda x: (f(x), x)[1])(X.copy()))
    return [node for node in graph.nodes if node.op is not None][-1]


@pytest.mark.parametrize(
    ("f", "pinned"),
    [
        (lambda x: fill_(x, x), True),
        (log, True),
        (note, True),
        (draw, True),
        (lambda x: push(HANDLE, x), True),
        (np.sin, False),
        (scale, False),
        (lambda x: pair(x)[0], False),
        (lambda x: x[1:], False),
        (lambda x: np.sum(x, dtype=np.float32), False),
    ],
)  # fmt: skip
def test_who_has_to_stay(f, pinned):
    assert is_pinned(last_call(f)) is pinned
    assert STEPS


def test_who_takes_what_is_no_array_has_to_stay():
    gives = define("(Tensor x) -> (Tensor, Residual)", lambda x: (x, object()))
    takes = define("(Any handle, Tensor x) -> Tensor", lambda handle, x: x)
    graph = Graph()
    x = graph.placeholder("x", ARRAY)
    for value in (object(), Opaque("a.B")):
        call = graph.call(gives, (x,), (ARRAY, value))
        assert not is_pinned(call)
        assert not is_data(call.value)
        assert is_pinned(graph.call(takes, (graph.item(call, 1, value), x), ARRAY))
    assert is_pinned(graph.call(takes, ([object()], x), ARRAY))
    assert not is_pinned(graph.call(takes, ([3, slice(1), None], x), ARRAY))
    assert AliasAnalysis(graph).is_seen(x)


def test_views_and_items_share_and_fresh_values_do_not():
    graph = make_fx(lambda x: [np.sin(x[::-1][1:]), pair(x)[0]])(X)
    by = {node.name: node for node in graph.nodes}
    aliases = AliasAnalysis(graph)
    assert len({aliases.of(by[name]) for name in ("x", "getitem", "getitem_1")}) == 1
    assert len({aliases.of(by[name]) for name in ("x", "sin", "pair")}) == 3
    assert aliases.of(by["pair"]) is aliases.of(by["pair_0"])
    assert [node.name for node in graph.nodes if aliases.is_seen(node)] == ["sin", "pair", "pair_0", "pair_1"]
    assert not any(map(aliases.is_written, graph.nodes))
    assert [node.name for node in graph.nodes if may_be_view(node.op)] == ["getitem", "getitem_1"]


def test_inputs_may_be_one_array_where_something_is_written():
    graph = make_fx(lambda x, y: np.sin(x) + y)(X, X.copy())
    x, y = graph.nodes[:2]
    assert AliasAnalysis(graph).of(x) is not AliasAnalysis(graph).of(y)
    graph = make_fx(lambda x, y: fill_(np.sin(x), y))(X, X.copy())
    x, y, sin, call = graph.nodes
    aliases = AliasAnalysis(graph)
    assert aliases.of(x) is aliases.of(y)
    assert (aliases.is_written(sin), aliases.is_written(x), aliases.writes(call)) == (True, False, {aliases.of(sin)})


def test_who_does_not_say_may_write_to_and_return_anything():
    vague = dispatch.custom_op(
        "effects::vague", lambda x, y: x + 1, mutates_args=(), schema="(Tensor x, Tensor y) -> Tensor",
        tags=Tag.maybe_aliasing_or_mutating,
    )  # fmt: skip
    graph = make_fx(lambda x: vague(np.sin(x), np.cos(x)))(X)
    x, sin, cos, call = graph.nodes
    aliases = AliasAnalysis(graph)
    assert aliases.of(sin) is aliases.of(cos) is aliases.of(call) is not aliases.of(x)
    assert aliases.is_written(cos)
    assert is_pinned(call)
    assert aliases.is_seen(sin)


def test_an_open_alias_set_is_everything():
    graph = Graph()
    x, y = graph.placeholder("x", ARRAY), graph.placeholder("y", ARRAY)
    call = graph.call(define("(Tensor(*) x, Tensor y) -> Tensor(*)", lambda x, y: y), (x, y), ARRAY)
    assert AliasAnalysis(graph).of(x) is AliasAnalysis(graph).of(y) is AliasAnalysis(graph).of(call)


def test_values_that_are_merged_are_seen_together():
    graph = make_fx(lambda x: (np.sin(x), np.cos(np.sin(x)))[0])(X)
    _, first, second, _ = graph.nodes
    aliases = AliasAnalysis(graph)
    assert (aliases.is_seen(first), aliases.is_seen(second)) == (True, False)
    aliases.merge(second, first)
    assert aliases.is_seen(second)
    assert aliases.of(first) is aliases.of(second)
    assert ops.np.sin.name == "np::sin"
