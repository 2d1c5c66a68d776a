"""Attributes that no public object has, read and written: the words come with the close match, and nothing is set in silence.

The names are made: of each public attribute of each public object three misspellings.
"""

import io

import numpy as np
import pytest

import dispatch
from dispatch import library, testing
from dispatch.core.wrong_attributes import Attributes, Fields, no_attribute, not_set

A = np.arange(1.0, 4.0)
MISSPELT = {
    "swapped": lambda name: name[:1] + name[2] + name[1] + name[3:],
    "short": lambda name: name[:-2] + name[-1],
    "plural": lambda name: name + "s",
}
HELD: dict[str, object] = {}  # what a transform gives a function, which holds after it


def scale(x: np.ndarray, factor: float = 2.0) -> np.ndarray:
    return x * factor


def held(name):
    def f(x):
        HELD[name] = x
        return x * 2

    return f


class Quiet(dispatch.Mode):
    def __dispatch__(self, op, types, args, kwargs):
        return op(*args, **kwargs)


def objects():
    op = dispatch.custom_op("wrongattributes::scale", scale, mutates_args=())
    dispatch.custom_op("wrongattributes::two", scale, mutates_args=())
    library.define("wrongattributes::two.pair", "(Tensor x, Tensor y) -> Tensor")
    x = dispatch.tensor(A, requires_grad=True)
    dispatch.vmap(held("batched"))(np.ones((2, 3)))
    dispatch.functionalize(held("functional"))(A)
    dispatch.jvp(held("dual"), (A,), (A,))
    graph = dispatch.make_fx(held("traced"))(A)
    compiled = dispatch.compile(np.sin)
    compiled(A)
    return {
        "operator": op, "packet": dispatch.ops.wrongattributes.two, "schema": op.schema, "argument": op.schema.arguments[0],
        "type": op.schema.arguments[0].type, "tracked": x, "result": x * 2, "fake": dispatch.FakeTensorMode().from_array(A), **HELD,
        "library": library.Library("wrongattributes", "FRAGMENT"), "graph": graph, "node": graph.nodes[1],
        "env": dispatch.ShapeEnv(), "fake mode": dispatch.FakeTensorMode(), "mode": Quiet(), "compiled": compiled,
        "explained": compiled.explain(A), "exported": dispatch.export(np.sin, (A,)), "log": dispatch.log_calls(io.StringIO()),
        "profile": dispatch.profile(), "validation": dispatch.validate("full"), "steps": op.explain(A),
        "report": testing.opcheck(op, (A,), test_utils="test_schema"), "sample": testing.Sample((A,), {}),
        "tag": dispatch.Tag.view, "kernel": library.get_kernel(op, "CPU"), "no_grad": dispatch.no_grad(),
        "anomaly": dispatch.detect_anomaly(), "guard": library.ExcludeDispatchKeyGuard("AUTOGRAD"), "flags": x.flags,
    }  # fmt: skip


OBJECTS = objects()
FREE = {"compiled", "mode"}  # a function, and a class of the user's: these take attributes of the user's
GENERAL = {"operator"}  # what can be set of it is said, and it is nothing
PLAIN = {"graph", "node", "no_grad"}  # refused by Python: words would cost each write of theirs


def misspelt(x):
    """Names that an object does not have, each with the one that was meant."""
    known = [name for name in dir(x) if not name.startswith("_") and name != "made_by"]
    taken = set(dir(x)) | set(dir(type(x)))
    return {make(name): name for name in known if len(name) > 4 for make in MISSPELT.values() if make(name) not in taken}


@pytest.mark.parametrize("x", OBJECTS.values(), ids=OBJECTS)
def test_a_misspelt_attribute_is_none_and_the_close_one_is_named(x):
    for name, meant in misspelt(x).items():
        with pytest.raises(AttributeError) as caught:
            getattr(x, name)
        said = str(caught.value)
        assert f"'{meant}'" in said or "Did you mean" in said or "Write" in said, said
        assert f"{name!r}" in said or name in said
        assert not hasattr(x, name)


@pytest.mark.parametrize("x", [x for name, x in OBJECTS.items() if name not in FREE], ids=[name for name in OBJECTS if name not in FREE])
def test_no_misspelt_attribute_is_set_in_silence(x):
    what = next(name for name, each in OBJECTS.items() if each is x)
    for name, meant in misspelt(x).items():
        with pytest.raises((AttributeError, NotImplementedError)) as caught:
            setattr(x, name, 1)
        said = str(caught.value)
        assert name in said
        assert what in GENERAL | PLAIN | {"flags"} or f"'{meant}'" in said or "Did you mean" in said or "Write" in said, said
        assert not hasattr(x, name)


@pytest.mark.parametrize(
    ("what", "name", "line"),
    [
        ("node", "target", "node.op"),
        ("node", "users", r"graph.users\(node\)"),
        ("node", "meta", "node.value"),
        ("graph", "eliminate_dead_code", r"dispatch.graph.dead_code\(graph\)"),
        ("graph", "call_function", r"graph.call\(op, args, value\)"),
        ("operator", "shape", r"scale\(...\).shape"),
        ("fake mode", "from_tensor", r"mode.from_array\(x\)"),
        ("schema", "inputs", "schema.arguments"),
    ],
)
def test_names_of_torch_fx_and_of_results(what, name, line):
    with pytest.raises(AttributeError, match=f"write {line}|Write {line}"):
        getattr(OBJECTS[what], name)


def test_a_method_and_what_is_computed_cannot_be_set():
    with pytest.raises(AttributeError, match=r"the attribute 'sum' of a TrackedTensor cannot be set: it is a method\. Call it, x\.sum"):
        OBJECTS["tracked"].sum = 3
    with pytest.raises(AttributeError, match=r"the attribute 'size' of a TrackedTensor cannot be set: it is read only\."):
        OBJECTS["tracked"].size = 3
    with pytest.raises(AttributeError, match=r"the attribute 'operators' of an ExportedProgram cannot be set: it is read only\."):
        OBJECTS["exported"].operators = ()
    with pytest.raises(AttributeError, match=r"the attribute 'define' of a Library cannot be set: it is a method\. Call it"):
        OBJECTS["library"].define = "scale(Tensor x) -> Tensor"


def test_an_overload_has_what_a_packet_is_asked_for():
    with pytest.raises(AttributeError, match=r"An overload has it: ops\.wrongattributes\.two\.default\.register_fake\."):
        OBJECTS["packet"].register_fake(lambda x: x)
    with pytest.raises(AttributeError, match=r"has no overload 'explian'\. Did you mean 'explain'\?"):
        OBJECTS["packet"].explian()


def test_the_own_words_of_a_property_are_kept():
    class Shape(Fields):
        _fields = ("area",)

        @property
        def area(self):
            raise AttributeError("a shape that is open has no area")

        @area.setter
        def area(self, value):
            raise AttributeError("an area is computed")

    with pytest.raises(AttributeError, match="a shape that is open has no area"):
        _ = Shape().area
    with pytest.raises(AttributeError, match="an area is computed"):
        Shape().area = 3
    with pytest.raises(AttributeError, match="whether one is a view is no"):
        _ = OBJECTS["tracked"].base


def test_few_names_are_all_listed_and_private_ones_get_a_short_no():
    class Pair(Attributes):
        left = right = 1

    assert str(no_attribute(Pair(), "zzzzz")) == "a Pair has no attribute 'zzzzz'. It has: left, right."
    assert str(no_attribute(Pair(), "_zz")) == "'Pair' object has no attribute '_zz'"
    assert str(not_set(Pair(), "lefft")) == "a Pair has no attribute 'lefft' that could be set. Did you mean 'left'?"


def test_a_subclass_of_the_user_s_has_attributes_of_its_own():
    class Counting(dispatch.FakeTensorMode):
        def __init__(self):
            super().__init__()
            self.count = 0

    assert Counting().count == 0


@pytest.mark.parametrize("name", ["save_for_backward", "mark_non_differentiable", "set_materialize_grads"])
def test_what_a_context_is_called_with_is_not_set(name):
    op = dispatch.custom_op(f"wrongattributes::{name}", scale, mutates_args=())
    op.register_autograd(lambda ctx, g: (g, None), setup_context=lambda ctx, inputs, output: setattr(ctx, name, (inputs[0],)))
    with pytest.raises(RuntimeError, match=rf"ctx\.{name} was set, which the tape gives: call it, ctx\.{name}\("):
        op(dispatch.tensor(A, requires_grad=True))


@pytest.mark.parametrize(("what", "name"), [("schema", "name"), ("graph", "nodes"), ("library", "ns"), ("steps", "title"), ("fake mode", "shape_env")])
def test_what_is_always_there_is_not_deleted(what, name):
    with pytest.raises(AttributeError, match=f"the attribute '{name}' of .* cannot be deleted: it is always there"):
        delattr(OBJECTS[what], name)
    getattr(OBJECTS[what], name)


def test_a_graph_is_no_list_of_its_nodes():
    graph = OBJECTS["graph"]
    for ask in (list, iter, lambda graph: graph[0], lambda graph: graph.nodes[0] in graph):
        with pytest.raises(dispatch.errors.GraphError, match=r"a graph is no list of its nodes.* Write (for node in graph\.nodes|graph\.nodes\[i\])"):
            ask(graph)
    assert bool(graph)
