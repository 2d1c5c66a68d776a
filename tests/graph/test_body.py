"""Body: nodes added, changed, taken out; what every graph promises."""

import keyword

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from making import said

from dispatch import Graph, make_fx, ops
from dispatch.errors import GraphError
from dispatch.graph import Node, nodes_in

X = np.array([0.3, 1.2])


def made():
    graph = make_fx(lambda x, y: np.sin(x) * y + np.sin(x))(X, X)
    return graph, {node.name: node for node in graph.nodes}


@given(st.lists(st.text(max_size=8) | st.sampled_from(["x", "x_1", "x_1_1", "lambda", "1"]), max_size=12))
def test_names_are_names_of_python_and_no_two_alike(words):
    graph = Graph()
    names = [(graph.placeholder if i % 2 else graph.constant)(*([word, None][:: 1 if i % 2 else -1]), *[word] * (not i % 2)).name
             for i, word in enumerate(words)]  # fmt: skip
    assert len(set(names)) == len(names)
    assert all(name.isidentifier() and not keyword.iskeyword(name) for name in names)


def test_a_name_that_is_taken_gets_a_number_that_is_free():
    graph = Graph()
    assert [graph.placeholder(name, None).name for name in ("x", "x_1", "x", "x", "x_1")] == ["x", "x_1", "x_2", "x_3", "x_1_1"]


def test_users_and_finding():
    graph, by = made()
    assert graph.users(by["x"]) == [by["sin"], by["sin_1"]]
    assert graph.users(by["add"]) == []
    assert graph.find_nodes(op="np::sin") == graph.find_nodes(op=ops.np.sin) == [by["sin"], by["sin_1"]]
    assert graph.find_nodes(kind="placeholder") == [by["x"], by["y"]]
    assert graph.find_nodes(kind="placeholder", op="np::sin") == []
    assert graph.find_nodes() == graph.nodes


def test_a_node_is_replaced_everywhere_but_in_what_replaces_it():
    graph, by = made()
    with graph.inserting_before(by["multiply"]):
        cos = graph.call(ops.np.cos, (by["sin"],), by["sin"].value)
        neg = graph.call(ops.np.negative, (cos,), by["sin"].value)
    assert graph.replace_all_uses_with(by["sin"], neg) == [cos, by["multiply"]]
    cos.args = (by["sin"],)
    graph.lint()
    assert [node.name for node in graph.nodes] == ["x", "y", "sin", "cos", "negative", "multiply", "sin_1", "add"]
    np.testing.assert_array_equal(graph(X, X), -np.cos(np.sin(X)) * X + np.sin(X))
    graph.symbols["s0"] = by["add"], 0
    assert graph.replace_all_uses_with(by["add"], by["multiply"]) == []
    assert (graph.outputs, graph.symbols) == (by["multiply"], {"s0": (by["multiply"], 0)})
    assert graph.replace_all_uses_with(by["y"], 2.0) == [by["multiply"]]
    assert by["multiply"].args == (neg, 2.0)


def test_nodes_are_added_at_the_end_again_after_a_block():
    graph, by = made()
    with graph.inserting_before(by["sin"]):
        with graph.inserting_before(by["x"]):
            first = graph.placeholder("first", None)
        second = graph.placeholder("second", None)
        graph.erase_node(first)
        third = graph.placeholder("third", None)
    with pytest.raises(RuntimeError), graph.inserting_before(by["sin"]):
        raise RuntimeError
    last = graph.placeholder("last", None)
    assert graph.nodes[:5] == [by["x"], by["y"], second, third, by["sin"]]
    assert graph.nodes[-1] is last
    stranger = Node("placeholder", "z", None, (), None)
    with pytest.raises(GraphError, match=r"^the node z is none of this graph\.$"), graph.inserting_before(stranger):
        pass


def test_what_is_needed_is_not_erased():
    graph, by = made()
    assert said(lambda: graph.erase_node(by["sin"]), GraphError) == (
        "the node sin is used by multiply. Call replace_all_uses_with, or erase them first."
    )
    assert said(lambda: graph.erase_node(by["add"]), GraphError) == (
        "the node add is one of the graph's outputs. Change `graph.outputs` first."
    )
    unused = graph.placeholder("z", None)
    graph.inputs = (*graph.inputs, unused)
    assert said(lambda: graph.erase_node(unused), GraphError).startswith("the node z is one of the graph's inputs.")
    graph.symbols["s0"], graph.inputs = (unused, 0), graph.inputs[:2]
    assert said(lambda: graph.erase_node(unused), GraphError).startswith("the node z is one of the graph's symbols.")
    constant = graph.constant(X, None)
    graph.erase_node(constant)
    assert graph.constants == {}
    assert said(lambda: graph.erase_node(constant), GraphError) == "the node constant is none of this graph."


def test_a_copy_shares_no_node():
    graph, _ = made()
    graph.symbols["s0"] = graph.nodes[0], 0
    other = graph.copy()
    assert other == graph
    assert not set(other.nodes) & set(graph.nodes)
    assert set(nodes_in((other.inputs, other.outputs, list(other.symbols.values())))) <= set(other.nodes)
    other.erase_node(other.call(ops.np.sin, (other.nodes[0],), None))
    assert len(graph.nodes) == len(other.nodes)


def test_a_graph_is_rebuilt_with_values_and_containers_in_place_of_nodes():
    graph = make_fx(lambda a: np.linalg.eigh(a)[0] + np.sin(a[0]))(np.eye(2))

    def rule(new, node, args):
        if node.op is ops.np.linalg_eigh:
            return (new.call(ops.np.cos, args[:1], node.value[0]), 5)
        return 2.0 if node.op is ops.np.sin else new.like(node, args)

    found = graph.rebuilt(rule)
    found.lint()
    assert [node.name for node in found.nodes] == ["a", "cos", "getitem", "add"]
    assert found.nodes[-1].args == (found.nodes[1], 2.0)


# -- lint --------------------------------------------------------------------------------------------------------------------


def break_order(graph, by):
    graph.nodes.remove(by["sin"])
    graph.nodes.append(by["sin"])


def break_twice(graph, by):
    graph.nodes.append(by["sin"])


def break_name(graph, by):
    by["sin"].name = "x"


def break_identifier(graph, by):
    by["sin"].name = "lambda"


def break_stranger(graph, by):
    by["sin"].args = (made()[1]["x"],)


def break_op(graph, by):
    by["sin"].op = None


def break_kind(graph, by):
    by["x"].op = ops.np.sin


def break_count(graph, by):
    by["sin"].args = ()


def break_item(graph, by):
    graph.add("item", "i", None, (by["x"],), None, None)


def break_constant(graph, by):
    del graph.constants[graph.constant(X, None).name]


def break_array(graph, by):
    graph.constants["k"] = X


def break_inputs(graph, by):
    graph.inputs = (by["x"],)


def break_input(graph, by):
    graph.inputs = (*graph.inputs, by["sin"])


def break_outputs(graph, by):
    graph.outputs = made()[1]["add"]


def break_symbols(graph, by):
    graph.symbols["s0"] = made()[1]["x"], 0


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (break_order, "node 'multiply' is made of 'sin', which comes after it"),
        (break_twice, "node 'sin' stands in it twice"),
        (break_name, "two nodes are named 'x'"),
        (break_identifier, "node 'lambda' has no name that Python could write"),
        (break_stranger, "node 'sin' is made of 'x', which is not in the graph"),
        (break_op, "node 'sin' is a call without an operator"),
        (break_kind, "node 'x' is a placeholder with an operator"),
        (break_count, "node 'sin' has 0 arguments, and np::sin takes 1"),
        (break_item, "node 'i' is an item, and its arguments are no node and number"),
        (break_constant, "node 'constant' is a constant without an array"),
        (break_array, "the array 'k' of its constants belongs to no node"),
        (break_inputs, "node 'y' is a placeholder, and no input"),
        (break_input, "its input 'sin' is no placeholder of it"),
        (break_outputs, "its output 'add' is not in the graph"),
        (break_symbols, "its source of a size 'x' is not in the graph"),
    ],
)
def test_what_is_inconsistent_is_said(change, fault):
    graph, by = made()
    graph.lint()
    change(graph, by)
    assert said(graph.lint, GraphError) == f"the graph is inconsistent: {fault}."


def test_what_is_left_out_has_another_in_its_place():
    graph = make_fx(lambda x: (np.sin(x) + (y := np.sin(x)), y * np.array([2.0])))(np.ones(1))
    expected = graph(np.ones(1))
    x, first, second, add, constant, multiply = graph.nodes
    add.args, multiply.args = (first, first), (first, constant)
    graph.leave_out({second: first, multiply: first, constant: first})
    assert graph.nodes == [x, first, add]
    assert graph.outputs == (add, first)
    assert not graph.constants
    graph.lint()
    np.testing.assert_array_equal(graph(np.ones(1))[0], expected[0])


def test_nodes_are_named_anew_as_they_are_added():
    graph = make_fx(lambda x: (np.sin(x) + np.array([2.0]), np.modf(x)[1]))(np.ones(1))
    _x, sin, constant, add, modf, _, part = graph.nodes
    sin.name = constant.name  # as a pass may have it, which knows what a node is called and not what the others are
    modf.name, part.name = "add", ""
    graph.keep([node for node in graph.nodes if node.name != "modf_0"])
    graph.name_anew()
    assert [node.name for node in graph.nodes] == ["x", "constant", "constant_1", "add", "add_1", "add_1_1"]
    assert graph.constants == {"constant_1": [2.0]}
    graph.lint()
    assert graph.call(add.op, add.args, add.value).name == "add_2"
