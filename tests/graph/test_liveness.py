"""Who may share memory in a graph, and when it is read last: never sooner than NumPy says."""

import numpy as np
from hypothesis import given, settings
from making import define
from numpy_programs import smooth_programs

import dispatch
from dispatch import Tag, custom_op, functionalize, make_fx
from dispatch.graph import Graph, Metadata
from dispatch.graph.liveness import NEVER, Lifetimes
from dispatch.graph.node import Node
from dispatch.library import register_opaque_type


def lasts(f, *args):
    graph = make_fx(f)(*args)
    lifetimes = Lifetimes(graph)
    return {node.name: lifetimes.last_read(node) for node in graph.nodes}, lifetimes, graph


def test_a_view_is_read_with_what_it_is_of():
    def f(x):
        y = np.sin(x)
        v = np.transpose(y[1:])
        z = np.cos(v)
        np.tanh(z)
        return z + y[0]

    found, lifetimes, graph = lasts(f, np.ones((2, 2)))
    names = [node.name for node in graph.nodes]
    assert found["sin"] == found["getitem"] == found["transpose"] == names.index("add")
    assert found["cos"] == names.index("add")
    assert (found["x"], found["add"], found["tanh"]) == (NEVER, NEVER, -1)
    owners = {node.name: lifetimes.aliases.of(node) for node in graph.nodes}
    assert owners["sin"] is owners["getitem"] is owners["transpose"] is not owners["cos"]


def test_several_outputs():
    """Of an operator nobody knows whether they share memory; the new values of a functional form are copies."""

    @custom_op("lifetimetests::pair_", mutates_args=("x", "y"))
    def pair_(x: np.ndarray, y: np.ndarray) -> None:
        x += 1
        y += x

    def f(x):
        y, z = x * 1, x * 2
        pair_(y, z)
        q, r = dispatch.ops.np.linalg_qr(np.stack([y, z]))
        return q, np.sin(r)

    found, lifetimes, graph = lasts(functionalize(f), np.ones(3))
    pairs = [node for node in graph.nodes if node.kind == "item"]
    assert lifetimes.aliases.of(pairs[0]) is not lifetimes.aliases.of(pairs[1])
    assert lifetimes.aliases.of(pairs[2]) is lifetimes.aliases.of(pairs[3])
    assert found[pairs[3].name] == NEVER


@register_opaque_type
class Shelf:
    pass


def test_what_may_be_kept_is_read_at_any_time():
    shelf = Shelf()

    @custom_op("lifetimetests::keep", mutates_args=(), tags=Tag.effect)
    def keep(x: np.ndarray) -> None: ...

    @custom_op("lifetimetests::put", mutates_args=())
    def put(shelf: Shelf, x: np.ndarray) -> int:
        return 1

    @custom_op("lifetimetests::see", mutates_args=())
    def see(x: np.ndarray) -> int:
        return 1

    def f(x):
        y, z, w = np.sin(x), np.cos(x), np.tanh(x)
        keep(y)
        put(shelf, z)
        see(w)

    found, _, graph = lasts(f, np.ones(2))
    assert (found["sin"], found["cos"]) == (NEVER, NEVER)
    assert graph.nodes[found["tanh"]].name == "see"


def test_what_may_be_a_view_of_anything_keeps_the_memory_of_every_argument():
    """By an open alias set, or by the tag of an operator that does not say what it shares."""
    graph = Graph()
    array = Metadata((2,), np.dtype(float), (8,), "cpu")
    x = graph.placeholder("x", array)
    for op in (
        define("(Tensor(*) x, Tensor y) -> Tensor(*)", lambda x, y: y),
        custom_op(
            "lifetimetests::vague", lambda x, y: y[:], mutates_args=(), schema="(Tensor x, Tensor y) -> Tensor",
            tags=Tag.maybe_aliasing_or_mutating,
        ),
    ):  # fmt: skip
        sin = graph.call(dispatch.ops.np.sin, (x,), array)
        view = graph.call(op, (x, sin), array)
        cos = graph.call(dispatch.ops.np.cos, (view,), array)
        lifetimes = Lifetimes(graph)
        assert lifetimes.last_read(sin) >= lifetimes.order[cos]


@settings(max_examples=20)
@given(smooth_programs())
def test_programs_at_random(program):
    """Arrays of a run that share memory have one owner."""
    args = program.inputs()
    graph = make_fx(functionalize(program.number()))(*args)
    lifetimes = Lifetimes(graph)
    values: dict[Node, np.ndarray] = dict(zip(graph.inputs, args, strict=True))
    for node in graph.nodes:
        if node.kind == "call":
            out = node.op.whole(*[dispatch.core.pytree.mapped(lambda x: values[x] if type(x) is Node else x, x) for x in node.args])
            if isinstance(out, np.ndarray):
                shared = [x for x, y in values.items() if np.shares_memory(out, y)]
                assert all(lifetimes.aliases.of(x) is lifetimes.aliases.of(node) for x in shared)
                values[node] = out
            else:
                values[node] = np.asarray(out)
        elif node.kind == "constant":
            values[node] = graph.constants[node.name]
