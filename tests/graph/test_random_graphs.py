"""Graphs at random: saved and loaded, printed and run, reduced by passes, they do what they did."""

import pytest
from hypothesis import given, settings
from random_graphs import KEPT, behaviour, functions, traced

from dispatch import Graph
from dispatch.graph import apply, common_subexpressions, constant_folding, dead_code

PASSES = [dead_code, common_subexpressions, constant_folding]
SETTINGS = settings(deadline=None, max_examples=250)


def kept(graph):
    """The calls that have to stay, in their order."""
    return [node.op.name for node in graph.nodes if node.op is not None and node.op.name in KEPT]


@given(functions(handles=True))
@SETTINGS
def test_a_graph_does_what_the_function_does(f):
    graph = traced(f)
    graph.lint()
    assert behaviour(graph)[:2] == behaviour(f)[:2]
    assert behaviour(graph)[4:] == behaviour(f)[4:]


@given(functions())
@SETTINGS
def test_saved_and_loaded_it_is_the_same_graph(f):
    graph = traced(f)
    text = graph.dumps()
    loaded = Graph.loads(text)
    assert loaded == graph
    assert loaded.dumps() == text
    assert behaviour(loaded) == behaviour(graph)
    assert graph.copy() == graph
    assert graph.copy().dumps() == text


@given(functions(handles=True))
@SETTINGS
def test_its_code_does_the_same(f):
    graph = traced(f)
    scope = graph.scope
    exec(graph.code, scope)
    assert behaviour(scope["f"]) == behaviour(graph)


@pytest.mark.parametrize("each", [*PASSES, "all", "all twice"])
@pytest.mark.parametrize("options", [{"handles": True}, {"pure": True}], ids=["impure", "pure"])
def test_a_pass_changes_nothing_that_can_be_seen_and_never_grows_a_graph(each, options):
    passes = {"all": PASSES, "all twice": PASSES * 2}.get(each, [each])

    @given(functions(**options))
    @SETTINGS
    def check(f):
        graph = traced(f)
        before = graph.copy()
        smaller = apply(graph, *passes)
        assert graph == before
        assert len(smaller.nodes) <= len(graph.nodes)
        assert kept(smaller) == kept(graph)
        assert behaviour(smaller) == behaviour(graph)
        assert behaviour(smaller, same=True) == behaviour(graph, same=True)

    check()
