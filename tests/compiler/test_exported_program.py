"""export: programs of their own, that another process loads and runs where the same operators are."""

import io
import subprocess
import sys
from typing import NamedTuple

import numpy as np
import pytest

import dispatch
from dispatch import ExportedProgram, Graph, custom_op, export, grad, load, make_fx, vmap
from dispatch.errors import GraphError, TracingError

X, Y = np.array([0.3, 1.2, -0.7]), np.array([2.0, 0.5, 1.0])


class Point(NamedTuple):
    x: np.ndarray
    n: int


def again(program):
    """A program by way of a file."""
    file = io.StringIO()
    program.save(file)
    return load(io.StringIO(file.getvalue()))


def refused(f, *args, **keywords):
    with pytest.raises(GraphError) as caught:
        f(*args, **keywords)
    return str(caught.value)


PROGRAMS = {
    "a chain": (lambda x, y: np.sin(x) * y + 1, (X, Y)),
    "a gradient": (grad(lambda x, y: np.sum(np.tanh(x) * y)), (X, Y)),
    "a batch": (vmap(lambda x, y: x * y), (X, Y)),
    "containers": (lambda p, d: {"a": p["w"] @ d[0], "b": [d[1] * 2]}, ({"w": np.eye(3)}, (X, Y))),
    "a constant": (lambda x: x * Y, (X,)),
    "a float": (lambda x, k: x * k, (X, 2.0)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_gives_what_the_function_gives(name):
    f, args = PROGRAMS[name]
    program = export(f, args)
    expected = f(*args)
    for run in (program, again(program)):
        found = run(*args)
        assert type(found) is type(expected)
        for made, wanted in zip(dispatch.core.pytree.leaves(found), dispatch.core.pytree.leaves(expected), strict=True):
            np.testing.assert_array_equal(made, wanted)


def test_arguments_go_by_their_names():
    program = export(lambda x, y, *, scale=1: x * y * scale, (X,), {"y": Y, "scale": 3})
    assert program.parameters == ("x", "y", "scale")
    assert [node.name for node in program.graph.nodes[:2]] == ["x", "y"]
    np.testing.assert_array_equal(program(X, Y, 3), X * Y * 3)
    np.testing.assert_array_equal(again(program)(X, scale=3, y=Y), X * Y * 3)
    assert refused(program, X, z=Y) == (
        "the program takes (x, y, scale), and was given 1 by position and 'z' by name. Give each once."
    )
    assert refused(program, X, Y, 4) == "the graph was made with 3 in its arguments, and 4 was given. What is no array is a constant of a graph: trace once more, with what is given."


def test_arrays_are_held_to_the_example():
    program = export(lambda x: x + 1, (X,))
    shape, dtype = "Export it for that shape, or with dynamic_shapes.", "Cast it, x.astype('float64'); or export it for that dtype."
    for other, said, remedy in (
        (np.ones(2), "an ndarray of shape (2,) and dtype float64", shape),
        (np.ones(3, "f4"), "an ndarray of shape (3,) and dtype float32", dtype),
        ([1.0, 2.0, 3.0], None, shape),
        ("text", "a str", shape),
    ):
        words = refused(program, other)
        if said is not None:
            assert words == f"the program was exported with float64[3] for x, and {said} was given. {remedy}"


def test_no_kernel_runs_and_writes_are_written_back():
    ran = []

    @custom_op("exporting_tests::fill", mutates_args=("out",))
    def fill(x: np.ndarray, out: np.ndarray) -> None:
        ran.append(1)
        out[:] = np.sin(x)

    def f(x, out):
        fill(x, out)
        return out * 2

    program = export(f, (X, np.zeros(3)))
    assert not ran
    out = np.zeros(3)
    np.testing.assert_array_equal(again(program)(X, out), np.sin(X) * 2)
    np.testing.assert_array_equal(out, np.sin(X))


def test_what_the_program_is_made_of_is_told():
    program = export(lambda x: np.sin(x) + Y, (X,))
    assert program.operators == ["np::add", "np::sin"]
    assert program.versions.keys() == {"dispatch", "numpy", "python"}
    assert program.versions["numpy"] == np.__version__
    assert again(program).versions == program.versions
    assert repr(program) == f"ExportedProgram(x) of {len(program.graph.nodes)} nodes"
    assert str(program) == str(program.graph)


def test_what_depends_on_data_is_refused():
    @custom_op("exporting_tests::count", mutates_args=())
    def count(x: np.ndarray) -> int:
        return len(x)

    count.register_fake(lambda x: x.shape[0])
    assert refused(export, lambda x: x * count(x), (X,)) == (
        "export: exporting_tests::count returned a number that was computed of arrays, and the program would hold what it was. "
        "Let the operator return it as an array without axes."
    )
    with pytest.raises(TracingError, match=r"^the truth was asked of a traced value"):
        export(lambda x: x if x[0] else -x, (X,))
    assert refused(export, np.sin, X) == "export: args is a tuple of the arguments, and an ndarray was given. Write (x,) for one, (x, y) for two."


def test_a_graph_is_no_program():
    file = io.StringIO()
    make_fx(np.sin)(X).save(file)
    said = "the graph is no exported program, which dispatch.export makes. Run it as a graph: Graph.load(file)."
    assert refused(load, io.StringIO(file.getvalue())) == said
    with pytest.raises(GraphError, match=r"^the graph is no exported program"):
        ExportedProgram(Graph())


SOURCE = """
import numpy as np, dispatch
@dispatch.custom_op("exporting_tests::{name}", mutates_args=())
def op(x: np.ndarray) -> np.ndarray:
    return x + 1
op.register_fake(lambda x: np.empty_like(x))
"""


def test_another_process_runs_it_where_the_operators_are(tmp_path):
    scope = {}
    exec(SOURCE.format(name="one"), scope)
    exec(SOURCE.format(name="two"), scope2 := {})
    path = tmp_path / "program.txt"
    export(lambda x: scope2["op"](scope["op"](x)) * 2, (X,)).save(path)
    load_it = f"print(dispatch.load({str(path)!r})(np.zeros(3)))"

    def ran(code):
        return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert ran(SOURCE.format(name="one") + SOURCE.format(name="two") + load_it).stdout == "[4. 4. 4.]\n"
    refusal = ran("import numpy as np, dispatch\n" + load_it).stderr.splitlines()[-1]
    assert refusal.startswith("dispatch.errors.GraphError: program.txt, line ")
    assert "exporting_tests::one" in refusal
    assert "exporting_tests::two" in refusal
    changed = SOURCE.format(name="one").replace("x: np.ndarray", "x: np.ndarray, k: int = 1") + SOURCE.format(name="two")
    changed = changed.replace("lambda x: np.empty_like(x))", "lambda x, k: np.empty_like(x))", 1)
    assert "has another schema now" in ran(changed + load_it).stderr


# -- open sizes --------------------------------------------------------------------------------------------------------------


def attention(q, k):
    weights = np.exp(q @ k.T)
    return weights / np.sum(weights, 1, keepdims=True) * q.shape[0]


def test_axes_of_any_length():
    q, k = np.ones((3, 4)), np.ones((5, 4))
    program = again(export(attention, (q, k), dynamic_shapes={"q": {0: "queries", 1: "width"}, "k": {0: True, 1: "width"}}))
    rng = np.random.default_rng(0)
    for n, m, width in ((3, 5, 4), (7, 2, 3), (5, 5, 5)):
        q, k = rng.standard_normal((n, width)), rng.standard_normal((m, width))
        np.testing.assert_array_equal(program(q, k), attention(q, k))
    with pytest.raises(GraphError, match=r"^the graph holds where k\.shape\[1\] == s1, and k was given of shape \(5, 3\)\."):
        program(np.ones((3, 4)), np.ones((5, 3)))
    assert refused(program, np.ones((3, 4), "f4"), k).startswith("the program was exported with float64[s0, s1] for q, and an ndarray")


def test_axes_in_containers_and_a_gradient():
    def loss(p, x):
        return np.sum(np.tanh(x @ p["w"]) ** 2)

    program = export(grad(loss), ({"w": np.ones(4)}, np.ones((3, 4))), dynamic_shapes={"p": {"w": {0: "width"}}, "x": (True, "width")})
    rng = np.random.default_rng(0)
    for n, m in ((3, 4), (6, 2)):
        p, x = {"w": rng.standard_normal(m)}, rng.standard_normal((n, m))
        np.testing.assert_array_equal(program(p, x)["w"], grad(loss)(p, x)["w"])


def test_guards_are_held():
    program = again(export(lambda x: x * 2 if x.shape[0] > 4 else x, (np.ones(6),), dynamic_shapes={"x": {0: "n"}}))
    np.testing.assert_array_equal(program(np.ones(9)), np.full(9, 2.0))
    assert refused(program, np.ones(3)).startswith("the graph holds where ")


def test_what_cannot_be_open_is_refused():
    def said(spec, *args):
        return refused(export, lambda x: x, args or (np.ones((3, 1)),), dynamic_shapes=spec)

    assert said({"y": {0: "n"}}) == "export: dynamic_shapes names 'y', and the arguments are x."
    assert said({"x": {1: "n"}}) == (
        "export: axis 1 of x is to have any length, and is 1 in the example. Give an example of 2 or more: 0 and 1 are sizes of "
        "their own to NumPy."
    )
    assert said({"x": {2: "n"}}) == (
        "export: dynamic_shapes says {2: 'n'} for x, an array of 2 axes. Write {axis: name}, or {axis: True} for a length of its own."
    )
    assert said({"x": {0: "n"}}, 3) == "export: dynamic_shapes says {0: 'n'} for x, which is an int. Leave it out."
    assert said({"x": {"a": {}}}, [np.ones(3)]) == (
        "export: dynamic_shapes says {'a': {}} for x, a container of [0]. Give it one with such items."
    )
    assert said({"x": {0: "n", 1: "n"}}, np.ones((3, 4))) == (
        "export: the axes named 'n' are to have one length, and have 3 and 4 in the example. Give them two names, or one length."
    )
