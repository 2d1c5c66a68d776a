"""Arrays without data, and what replaces a value that a file cannot keep."""

import numpy as np

import dispatch
from dispatch.graph import Graph, Metadata, Opaque


def test_metadata_is_what_is_known_of_an_array():
    (x,) = dispatch.make_fx(lambda x: x)(np.ones((2, 3), np.float32)).nodes
    assert x.value == Metadata((2, 3), np.dtype("f4"), (12, 4), "cpu")
    assert x.value._fields == ("shape", "dtype", "strides", "device")


def test_a_value_without_a_text_is_opaque_in_a_file():
    graph = dispatch.make_fx(np.sin)(np.ones(2))
    graph.nodes[-1].value = object()
    assert Graph.loads(graph.dumps()).nodes[-1].value == Opaque("builtins.object")
    assert Opaque("a.B") != Opaque("a.C")
