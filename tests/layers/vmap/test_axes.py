"""Axes for containers, in and out: against a loop, against torch, and in the words for what does not fit."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import making
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dispatch
from dispatch import vmap
from dispatch.core.pytree import items_of, leaves, mapped, rebuilt
from dispatch.errors import BatchingError
from dispatch.layers.vmap.axes import checked_axes

A = np.arange(12.0).reshape(3, 4) + 1
B = np.arange(8.0).reshape(4, 2) - 3


def said(call):
    return making.said(call, BatchingError)


class Pair(NamedTuple):
    first: Any
    second: Any


@dataclass
class State:  # no schema names it
    position: Any
    mass: Any
    label: str = "body"


@dataclass
class Plan:
    steps: int = 3


# -- containers of axes, against a loop ------------------------------------------------------------------------------------

SIZE = 3
SHAPES = [(), (2,), (2, 4)]
names = st.sampled_from("abc")


def trees(leaf):
    return st.recursive(
        leaf,
        lambda inner: st.one_of(
            st.lists(inner, min_size=1, max_size=3),
            st.lists(inner, min_size=1, max_size=3).map(tuple),
            st.dictionaries(names, inner, min_size=1, max_size=2),
            st.builds(Pair, inner, inner),
        ),
        max_leaves=5,
    )


@st.composite
def arguments(draw):
    """An argument and its axes: of each array its own, or one for a container whose arrays all have it."""

    def axes_for(x):
        if draw(st.booleans()):
            return draw(st.sampled_from([None, 0, -1]))
        items = items_of(x)
        if items is None:
            return draw(st.sampled_from([None, *range(-len(x) - 1, len(x) + 1)]))
        axes = [axes_for(item) for item in items]
        if isinstance(x, dict):
            return dict(reversed(list(zip(x, axes, strict=True))))  # the order of keys says nothing
        return draw(st.sampled_from([list, tuple]))(axes) if type(x) is not Pair else draw(st.sampled_from([tuple(axes), Pair(*axes)]))

    shapes = draw(trees(st.sampled_from(SHAPES).map(lambda shape: frozenset({shape}))))  # a leaf that is no container
    shapes = mapped(lambda x: Shape(*x), shapes)
    return shapes, axes_for(shapes)


class Shape:
    """The shape of an item; no tuple, for a tuple is a container."""

    def __init__(self, shape):
        self.shape = shape

    def __len__(self):
        return len(self.shape)


def filled(x, axes, random):
    """Arrays of the shapes, the batch at their axes; and the same axes, one for each array."""
    items = items_of(x)
    if items is None:
        shape = list(x.shape)
        if axes is not None:
            shape.insert(axes % (len(shape) + 1), SIZE)
        return random.normal(size=shape), axes
    if axes is None or isinstance(axes, int):
        each = [axes] * len(items)
    else:
        each = [axes[key] for key in x] if isinstance(axes, dict) else list(axes)
    pairs = [filled(item, axis, random) for item, axis in zip(items, each, strict=True)]
    return rebuilt(x, [x for x, _ in pairs]), rebuilt(list(items), [axis for _, axis in pairs])


def item(x, axes, i):
    items = items_of(x)
    if items is None:
        return x if axes is None else np.take(x, i, axes)
    return rebuilt(x, [item(y, axis, i) for y, axis in zip(items, axes, strict=True)])


@given(st.lists(arguments(), min_size=1, max_size=3))
def test_any_structure_of_axes_is_its_loop(given_arguments):
    random = np.random.default_rng(0)
    args, axes = zip(*[filled(x, axis, random) for x, axis in given_arguments], strict=True)
    in_dims = tuple(axis for _, axis in given_arguments)

    def f(*args):
        return mapped(lambda x: np.sin(x) + 2 * x, args), sum(np.sum(x) for x in leaves(list(args)))

    if all(axis is None for axis in leaves(list(axes))):
        assert said(lambda: vmap(f, in_dims)(*args)) == "vmap: no argument is mapped. Give at least one an axis in in_dims."
        return
    found = vmap(f, in_dims)(*args)
    expected = [f(*item(list(args), list(axes), i)) for i in range(SIZE)]
    for x, *column in zip(leaves(found), *map(leaves, expected), strict=True):
        assert np.allclose(x, np.stack(column))
    assert str(mapped(np.ndim, found)) == str(mapped(lambda x: np.ndim(x) + 1, expected[0]))  # the same containers


@given(trees(st.integers(-2, 1)))
def test_an_axis_for_each_output_in_its_structure(out_dims):
    numbers = iter(range(2, 100))
    factors = mapped(lambda _: next(numbers), out_dims)
    found = vmap(lambda x: mapped(lambda k: x * k, factors), out_dims=out_dims)(A)
    assert mapped(lambda _: 0, found) == mapped(lambda _: 0, out_dims)  # the same containers
    for x, k, dim in zip(leaves(found), leaves(factors), leaves(out_dims), strict=True):
        assert np.array_equal(x, np.moveaxis(A * k, 0, dim))


def test_one_axis_for_all_that_is_inside():
    found = vmap(lambda x: {"a": [x, x * 2], "b": (x + 1, {"c": x})}, out_dims={"a": 1, "b": (0, -1)})(A)
    assert np.array_equal(found["a"][0], A.T)
    assert np.array_equal(found["a"][1], A.T * 2)
    assert np.array_equal(found["b"][0], A + 1)
    assert np.array_equal(found["b"][1]["c"], A.T)


def test_dataclasses_that_no_schema_names():
    found = vmap(lambda s, plan: State(s.position * s.mass * plan.steps, 1.0), in_dims=({"position": 1, "mass": None}, None))(
        State(A.T, 2.0), Plan()
    )
    assert np.array_equal(found.position, A * 6)
    assert (found.mass, found.label) == (1.0, "body")
    both = vmap(lambda s: State(s.position * s.mass, s.mass), in_dims=(State(0, 0, None),))(State(A, A[:, 0]))
    assert np.array_equal(both.position, A * A[:, :1])
    assert np.array_equal(both.mass, A[:, 0])
    assert vmap(lambda s: (s.position, Plan()), out_dims=(0, None))(State(A, None))[1] == Plan()


def test_numpy_integers_are_axes_and_reach_rules_as_ints():
    seen = []

    def rule(info, in_dims, x):
        seen.append((in_dims, type(in_dims[0])))
        return x, in_dims[0]

    op = making.batched("(Tensor x) -> Tensor", lambda x: x, rule)
    found = vmap(op, np.int64(1), np.int8(1))(A)
    assert np.array_equal(found, A)
    vmap(op, (np.int32(-1),))(A)
    assert seen == [((1,), int)] * 2


def test_the_structure_of_in_dims_reaches_nested_levels_and_closures():
    outer = np.arange(2.0)

    def f(p, c):
        return vmap(lambda q, r: q["x"] * r + c + outer[0], in_dims=({"x": 0, "y": None}, None))(p, p["y"])

    found = vmap(f, in_dims=({"x": 1, "y": 0}, None))({"x": A, "y": np.arange(4.0)}, 5.0)
    assert np.array_equal(found, A.T * np.arange(4.0)[:, None] + 5)


def test_keyword_arguments_are_never_mapped():
    seen = []
    vmap(lambda x, *, k, c: seen.append((k.shape, type(c["a"]))) or x, in_dims=0)(A, k=A[1:], c={"a": A})
    assert seen == [(A[1:].shape, np.ndarray)]


# -- torch -----------------------------------------------------------------------------------------------------------------


@pytest.mark.torch
@pytest.mark.parametrize(
    ("f", "in_dims", "out_dims", "args"),
    [
        (lambda x, y: x * y, (0, None), 0, (A, A[0])),
        (lambda x, y: x * y, (-1, 0), -1, (A, A[0])),
        (lambda xs, y: (xs[0] + xs[1], y), ([0, 1], None), (1, None), ([A, A.T], A)),
        (lambda p, y: {"a": p["u"] * y, "b": [p["v"] + y]}, ({"u": 0, "v": 1}, None), {"a": 0, "b": [1]}, ({"u": A, "v": A.T}, 2.0)),
        (lambda x: (x, (x + 1, x.sum())), 1, (0, (-1, 0)), (A,)),
        (lambda x: x.sum() * 0 + 1, 0, 0, (A,)),
    ],
)
@pytest.mark.parametrize("chunk_size", [None, 2])
def test_torch_gives_the_same(f, in_dims, out_dims, args, chunk_size):
    import torch

    tensors = mapped(lambda x: torch.tensor(x) if isinstance(x, np.ndarray) else x, list(args))
    none_out = out_dims == (1, None)
    if chunk_size and none_out:
        pytest.skip("torch cannot join the chunks of an output without the axis")
    expected = torch.vmap(f, in_dims, out_dims, chunk_size=chunk_size)(*tensors)
    found = vmap(f, in_dims, out_dims, chunk_size=chunk_size)(*args)
    assert len(list(leaves(found))) == len(list(leaves(expected)))
    for x, y in zip(leaves(found), leaves(expected), strict=True):
        assert np.shape(x) == tuple(y.shape)
        assert np.allclose(x, y.numpy())


# -- words -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: vmap(np.sin, in_dims=[0]), "vmap: in_dims is a list. It is an axis, None, or a tuple of one for each positional argument: in_dims=(0, None); an argument that is a container may have one of axes: in_dims=([0, 1],)."),
        (lambda: vmap(np.sin, in_dims={"x": 0}), "vmap: in_dims is a dict. It is an axis, None, or a tuple of one for each positional argument: in_dims=(0, None); an argument that is a container may have one of axes: in_dims=([0, 1],)."),
        (lambda: vmap(np.sin, in_dims=0.5), "vmap: in_dims is a float, and an axis is an int, or None for what is not mapped."),
        (lambda: vmap(np.sin, in_dims=(0, [1, {"a": 0.5}])), "vmap: in_dims[1][1]['a'] is a float, and an axis is an int, or None for what is not mapped."),
        (lambda: vmap(np.sin, out_dims="a"), "vmap: out_dims is a str, and an axis is an int, or None for what is not mapped."),
        (lambda: vmap(np.sin, out_dims=Pair(0, 1.5)), "vmap: out_dims.second is a float, and an axis is an int, or None for what is not mapped."),
        (lambda: vmap(np.sin, in_dims=((0, 0),))([A, A, A]), "vmap: argument 0 is a list of 3, and in_dims has a tuple of 2 for it. Give one axis for all of it, None, or 3 of them."),
        (lambda: vmap(np.sin, in_dims=(0, {"a": 0}))(A, {"b": A}), "vmap: argument 1 is a dict with 'b', and in_dims has a dict with 'a' for it. Give one axis for all of it, None, or a dict with 'b'."),
        (lambda: vmap(np.sin, in_dims=([0, 0],))({"b": A, "c": A}), "vmap: argument 0 is a dict with 'b', 'c', and in_dims has a list of 2 for it. Give one axis for all of it, None, or a dict with 'b', 'c'."),
        (lambda: vmap(np.sin, in_dims=({"q": 0},))(Pair(A, A)), "vmap: argument 0 is a Pair with 'first', 'second', and in_dims has a dict with 'q' for it. Give one axis for all of it, None, or a dict with 'first', 'second'."),
        (lambda: vmap(np.sin, in_dims=(({"a": 0},),))([[A]]), "vmap: argument 0[0] is a list of 1, and in_dims has a dict with 'a' for it. Give one axis for all of it, None, or 1 of them."),
        (lambda: vmap(np.sin, in_dims=((0,),))(A), "vmap: argument 0 is an array of shape (3, 4), and in_dims has a tuple of 1 for it. Give one axis, or None."),
        (lambda: vmap(np.sin)({"a": [A, 2.0]}), "vmap: argument 0['a'][1] is a float, which has no axis to map. Give an array that has it; or write None in its place, in_dims=(0, None) say, for what all items share."),
        (lambda: vmap(np.sin, in_dims=([0, 2],))([A, A]), "vmap: argument 0[1] has shape (3, 4) and no axis 2 to map. in_dims is an axis, None, or a tuple of one for each argument."),
        (lambda: vmap(np.sin, in_dims=({"a": 0, "b": 1},))({"a": A, "b": A}), "vmap: the mapped axes differ in length: argument 0['a'] has 3 along axis 0; argument 0['b'] has 4 along axis 1. Give arrays of one length, or None in in_dims for what all items share."),
        (lambda: vmap(np.sin, in_dims=([None],))([A]), "vmap: no argument is mapped. Give at least one an axis in in_dims."),
        (lambda: vmap(np.sin)([]), "vmap: no argument is mapped. Give at least one an axis in in_dims."),
        (lambda: vmap(lambda x: x, out_dims=(0,))(A), "vmap: the result is an array of shape (4,), and out_dims has a tuple of 1 for it. Give one axis, or None."),
        (lambda: vmap(lambda x: 1.0, out_dims=(0,))(A), "vmap: the result is a float, and out_dims has a tuple of 1 for it. Give one axis, or None."),
        (lambda: vmap(lambda x: {"a": x}, out_dims={"b": 0})(A), "vmap: the result is a dict with 'a', and out_dims has a dict with 'b' for it. Give one axis for all of it, None, or a dict with 'a'."),
        (lambda: vmap(lambda x: [(x, x)], out_dims=[(0, 0, 0)])(A), "vmap: the result[0] is a tuple of 2, and out_dims has a tuple of 3 for it. Give one axis for all of it, None, or 2 of them."),
        (lambda: vmap(lambda x: [x, {"a": x}], out_dims=(0, None))(A), "vmap: out_dims is None for the result[1]['a'], which differs from item to item. Give it an axis."),
        (lambda: vmap(lambda x: (x, "text"))(A), "vmap: the result[1] is a str, which makes no batch. Return arrays, or out_dims=None for it."),
        (lambda: vmap(lambda x: x, out_dims=2)(A), "vmap: out_dims is 2, and the result has shape (4,) for an item, so that the mapped axis can be -2 to 1."),
        (lambda: vmap(lambda x: (x, 1.0), out_dims=(0, -2))(A), "vmap: out_dims is -2, and the result[1] has shape () for an item, so that the mapped axis can be -1 to 0."),
        (lambda: vmap(np.sin, randomness="other"), "vmap: randomness is 'error', 'same' or 'different', and was given as 'other'."),
    ],
)  # fmt: skip
def test_what_does_not_fit(call, message):
    assert said(call) == message


@pytest.mark.parametrize("axes", [0, None, (0, None), {"a": [1, (2,)]}, Pair(0, -1)])
def test_axes_that_are_some_stay_as_they_are(axes):
    assert checked_axes(axes, "in_dims") == axes


@pytest.mark.parametrize("name", ["nonzero", "unique", "argwhere", "flatnonzero"])
def test_a_shape_that_depends_on_the_data_is_refused_by_name(name):
    with pytest.raises(dispatch.errors.DispatchError, match=rf"np\.{name}|np::{name}"):
        vmap(getattr(np, name))(A)


def test_what_would_leave_the_batch_is_refused():
    assert making.said(lambda: vmap(np.asarray)(A), dispatch.errors.ConversionError) == (
        "a NumPy array was asked of a BatchedTensor of shape (4,) and dtype float64, which would take it out of its transform. "
        "Call an operator on it, or a NumPy function that has a row in dispatch.ops.np: dispatch.numpy.array([x, y]) for np.array([x, y]), "
        "and so for np.full and np.r_; np.dot(a, x) for a.dot(x) of an array. Make an operator of other code by dispatch.custom_op."
    )
    assert "differs from item to item" in said(lambda: vmap(lambda x: x[x > 2])(A))
