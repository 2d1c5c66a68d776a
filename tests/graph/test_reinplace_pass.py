"""reinplace: the graph leaves what it left, bit for bit, with fewer copies and no more nodes."""

from typing import Annotated

import numpy as np
import pytest
from hypothesis import given, settings
from numpy_programs import smooth_programs
from writing_programs import PROGRAMS, leaves_the_same, numpy_sin, powers_, scale_

from dispatch import Residual, Tag, custom_op, functionalize, make_fx
from dispatch.graph import apply, common_subexpressions, dead_code, dumps, loads, reinplace

A = np.array([0.5, 1.0, 2.0])


def called(f, *args, mode="fake"):
    """What a function's graph calls, before and after, when it still does the same."""
    graph = make_fx(functionalize(f), mode)(*[np.copy(x) if isinstance(x, np.ndarray) else x for x in args])
    again = reinplace(graph)
    leaves_the_same(f, *args, how=lambda f: again)
    leaves_the_same(f, *args, how=lambda f: graph)
    assert len(again.nodes) <= len(graph.nodes)
    again.lint()
    for saved in (graph, again):
        assert dumps(loads(dumps(saved))) == dumps(saved)
    leaves_the_same(f, *args, how=lambda f: apply(graph, common_subexpressions, reinplace, dead_code))
    leaves_the_same(f, *args, how=lambda f: apply(graph, dead_code, common_subexpressions, reinplace, common_subexpressions))
    return tuple([node.op.name.split("::")[1] for node in g.nodes if node.op] for g in (graph, again))


def test_the_tutorial():
    before, after = called(lambda x, output: numpy_sin(x, output), A, A * 0)
    assert before == ["numpy_sin.functional", "setitem_"]
    assert after == ["numpy_sin"]


def test_a_new_value_is_written_to():
    def f(x):
        y = np.sin(x)
        scale_(y, 2.0)
        y[0] = 1.0
        return y

    assert called(f, A)[1] == ["sin", "scale_", "setitem_"]


@pytest.mark.parametrize(
    "later",
    [
        lambda y, functional: (functional(y, 2.0), y),  # returned
        lambda y, functional: functional(y, 2.0) + y,  # read
        lambda y, functional: functional(y, 2.0) + y[1:2],  # read as a view
        lambda y, functional: (lambda v: functional(y, 2.0) + v)(y[1:2]),  # by a view that was there
    ],
)
def test_what_is_read_later_is_copied(later):
    def f(x):
        return later(np.sin(x), scale_.functional)

    before, after = called(f, A)
    assert before == after
    assert "scale_.functional" in after


def test_inputs_and_constants_are_copied():
    constant = A * 3
    before, after = called(lambda x: (scale_.functional(x, 2.0), scale_.functional(constant, 2.0), scale_.functional(x[1:], 2.0)), A)
    assert before == after


def test_an_argument_that_shows_what_is_written_keeps_the_copy():
    def f(x):
        y = np.sin(x)
        numpy_sin(y[::-1], y)
        return y

    def functional(x):
        y = np.sin(x)
        return numpy_sin.functional(y, y)

    for function in (f, functional):
        graph = make_fx(functionalize(function), "fake")(A)
        assert [n.op.name for n in reinplace(graph).nodes if n.op] == [n.op.name for n in graph.nodes if n.op]


def test_views_are_written_through():
    def f(x):
        y = np.empty_like(x)
        numpy_sin(x[0], y[0])
        y.T[1:][0] *= 3.0
        numpy_sin(y[0], y[1])
        y[1] *= 2
        return y

    before, after = called(f, np.stack([A, A + 1]))
    assert {"view_scatter", "setitem", "numpy_sin.functional"} <= set(before)
    assert not {"view_scatter", "setitem", "numpy_sin.functional"} & set(after) or after.count("numpy_sin.functional") == 1


def test_inputs_are_written_to_where_they_are_read_no_more():
    def chain(x, y):
        scale_(y, 2.0)
        y += x
        y[0] = 4.0
        y[1:] *= x[1:]
        return y[:1]

    assert called(chain, A, A * 2)[1].count("setitem_") == 3
    assert "setitem" not in called(chain, A, A * 2)[1]

    def read_between(x, y):
        old = y * 1
        scale_(y, 2.0)
        return old, y

    assert called(read_between, A, A * 2)[1] == ["multiply", "scale_"]

    def swapped(x, y):
        old = x[:]
        z = scale_.functional(y, 2.0)
        x[...] = y
        y[...] = z
        return old

    called(swapped, A, A * 2)

    def new(x, y):
        z = scale_.functional(y, 2.0)
        y[...] = z
        return z  # an array of its own

    assert "scale_.functional" in called(new, A, A * 2)[1]


def test_values_that_change_places():
    """What is written to one input is read by the write to the other."""

    def f(x, y):
        x[0] *= 1.0
        y[...] = x
        x += 1.0
        return x[1:]

    called(f, A, A * 2)


def test_lists_and_what_is_left_out():
    def f(x, y, total):
        z = np.zeros_like(x)
        made = powers_(x, [y, z], total)
        return made, z, powers_(z, [x])

    for total in (None, np.ones(3)):
        assert called(f, A, A * 2, total)[1] == ["zeros_like", "powers_", "powers_"]


def test_results_beside_what_is_written():
    @custom_op("reinplacetests::split_", mutates_args=("x",))
    def split_(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        x += 1
        return x * 2, x * 3

    split_.register_fake(lambda x: (np.empty(x.shape), np.empty(x.shape)))

    def f(x):
        y = np.sin(x)
        a, b = split_(y)
        return a, y, b * split_(x)[1]

    assert called(f, A)[1] == ["sin", "split_", "split_", "multiply"]


def test_a_residual():
    @custom_op("reinplacetests::told_", mutates_args=("x",))
    def told_(x: np.ndarray) -> tuple[np.ndarray, Residual]:
        x += 1
        return x * 2, x * 3

    def f(x):
        y = np.sin(x)
        made = told_(y)
        return made, y

    assert called(f, A, mode="real")[1] == ["sin", "told_"]


def test_another_layout_than_the_copy_has_is_not_written_to():
    """An operator that asks for a layout gets it of the copy."""

    @custom_op("reinplacetests::first_", mutates_args=("x",))
    def first_(x: Annotated[np.ndarray, "C", "writeable"]) -> None:
        x.reshape(-1)[1] = 9.0

    def f(x):
        y = np.sin(np.transpose(x))
        first_.functional(y)
        return first_.functional(np.sin(x)), first_.functional(np.sin(np.transpose(x)))

    assert called(f, np.ones((2, 3)))[1].count("first_") == 1


def test_the_graph_is_left_as_it_is():
    graph = make_fx(functionalize(PROGRAMS[0]), "fake")(A, A * 2)
    before = [(node, node.op, node.args) for node in graph.nodes]
    reinplace(graph)
    assert [(node, node.op, node.args) for node in graph.nodes] == before


@pytest.mark.parametrize("mode", ["real", "fake"])
@pytest.mark.parametrize("f", PROGRAMS[:-1])
def test_every_way_to_write(f, mode):
    called(f, A, A * 2, mode=mode)


def test_writes_that_were_there_stay():
    """A graph that was not functionalized."""
    graph = make_fx(lambda x: scale_(scale_(x, 2.0) * 1.0, 3.0))(A)
    names = [node.op.name for node in graph.nodes if node.op]
    assert [node.op.name for node in reinplace(graph).nodes if node.op] == names

    @custom_op("reinplacetests::log", mutates_args=(), tags=Tag.effect)
    def log(x: np.ndarray) -> None: ...

    def f(x):
        y = np.sin(x)
        log(y)
        return scale_.functional(y, 2.0)

    assert called(f, A)[1] == ["sin", "log", "scale_.functional"]


def twice(f):
    """The same on two copies, beside each other: what computes the same must still be two arrays."""

    def g(*args):
        first, second = [f(*[np.copy(x) for x in args]) for _ in range(2)]
        return [*as_list(first), *as_list(second)]

    return g


def as_list(x):
    return list(x) if isinstance(x, (list, tuple)) else [] if x is None else [x]


def test_what_is_computed_and_written_twice_is_two_arrays():
    def f(x):
        y = x * 3
        y[::-1] -= x
        return y

    called(twice(f), A)
    called(lambda x: (z := f(x), f(x), z[::2], f(x)), A)


@pytest.mark.parametrize("f", PROGRAMS[:-1])
def test_every_way_to_write_twice(f):
    called(twice(f), A, A * 2)


@settings(max_examples=40)
@given(smooth_programs())
def test_programs_at_random_twice(program):
    called(twice(program.function()), *program.inputs())


@settings(max_examples=40)
@given(smooth_programs())
def test_programs_at_random(program):
    for mode in ("real", "fake"):
        called(program.function(), *program.inputs(), mode=mode)
