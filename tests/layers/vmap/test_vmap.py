"""Batching: rules against the loop they stand for."""

import collections
import math
import warnings

import making
import numpy as np
import pytest
from hint_table import Factors, State
from hypothesis import given
from hypothesis import strategies as st

from dispatch import ops, vmap
from dispatch.errors import BatchingError
from dispatch.layers.vmap import BatchedTensor
from dispatch.schema.schema import Schema

A = np.arange(12.0).reshape(3, 4) + 1
B = np.arange(8.0).reshape(4, 2) - 3
define, loop = making.batched, making.loop


def said(call, error=BatchingError):
    return making.said(call, error)


# -- axes ------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dim", [0, 1, 2, -1, -2, -3])
@pytest.mark.parametrize("out", [0, 1, 2, -1, -3])
def test_any_axis_in_and_any_axis_out(dim, out):
    x = np.arange(24.0).reshape(2, 3, 4)
    wanted = np.moveaxis(loop(np.sin, (dim,), x), 0, out)
    assert np.array_equal(vmap(np.sin, in_dims=dim, out_dims=out)(x), wanted)


def test_a_record_is_mapped_by_its_arrays():
    Schema.parse(f"ns::op({State.__module__}.State s) -> ()")  # from here on it is a record
    for f in (lambda s: State(np.sin(s.position), s.velocity, s.steps), lambda s: State(s.position * 1, None)):
        out = vmap(f)(State(A, None, 7))
        assert np.array_equal(out.position, f(State(A, None, 7)).position)
        assert (out.velocity, out.steps, out.note) == (None, f(State(A, None, 7)).steps, set())
    named = vmap(lambda s: Factors(s.q * 2, s.r, s.rank))(Factors(A, A[:, 0]))
    assert np.array_equal(named.q, A * 2)
    assert named.rank == 2
    with pytest.raises(BatchingError, match="the mapped axes differ in length"):
        vmap(np.sin)(State(A, B))


@pytest.mark.parametrize("dims", [(0, None), (None, 0), (1, 0), (-1, 0), (1, None), (None, -1)])
def test_an_axis_for_each_argument(dims):
    x, y = (np.arange(5.0) if dim is None else np.moveaxis(np.arange(15.0).reshape(3, 5), 0, dim) for dim in dims)
    assert np.array_equal(vmap(np.matmul, in_dims=dims)(x, y), loop(np.matmul, dims, x, y))


def test_keyword_arguments_are_handed_on_as_they_are():
    assert np.array_equal(vmap(lambda x, *, y: x * y)(A, y=A[0]), A * A[0])


def test_an_array_by_name_of_as_many_items_is_warned_of():
    with pytest.warns(UserWarning, match="by name") as caught:
        assert vmap(lambda x, y: x * y)(np.ones(3), y=np.arange(3.0)).shape == (3, 3)
    assert str(caught[0].message) == (
        "vmap: y= is an array of shape (3,), and each of the 3 items gets all of it: what is given by name is not mapped. Give it by "
        "position to map it, or with None in in_dims to say that all items share it."
    )
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for y in (np.ones((2, 3)), 3.0, np.ones(()), [1.0, 2.0, 3.0], np.float64(3.0)):
            vmap(lambda x, y: x * y[0] if isinstance(y, list) else np.sum(x * y))(np.ones(3), y=y)
        vmap(lambda x, y: x * y)(np.ones(1), y=np.ones(1))


def test_several_outputs_and_an_axis_for_each():
    first, second = vmap(lambda x: (x, x * 2), out_dims=(0, 1))(A)
    assert np.array_equal(first, A)
    assert np.array_equal(second, A.T * 2)


def test_arrays_in_lists_tuples_dicts_and_named_tuples():
    Pair = collections.namedtuple("Pair", "first second")

    def f(xs, named, pair):
        assert (type(xs), type(named), type(pair)) == (list, dict, Pair)
        assert {x.shape for x in (*xs, named["a"], *pair)} == {(4,)}
        return [xs[0] + xs[1]], {"b": named["a"]}, Pair(pair.second, pair.first)

    found = vmap(f)([A, A + 1], {"a": A}, Pair(A, A * 2))
    assert np.array_equal(found[0][0], 2 * A + 1)
    assert np.array_equal(found[1]["b"], A)
    assert isinstance(found[2], Pair)
    assert np.array_equal(found[2].first, 2 * A)


def test_an_output_that_ignores_the_batch_is_repeated():
    assert np.array_equal(vmap(lambda x: A)(A), np.stack([A] * 3))
    assert np.array_equal(vmap(lambda x: A[0], out_dims=1)(A), np.stack([A[0]] * 3, 1))
    assert np.array_equal(vmap(lambda x: 2.5)(A), np.full(3, 2.5))
    assert vmap(lambda x: (x, "text"), out_dims=(0, None))(A)[1] == "text"
    assert vmap(lambda x: A, out_dims=None)(A) is A


def test_the_function_keeps_its_name():
    def f(x):
        """What it says."""
        return x

    assert (vmap(f).__name__, vmap(f).__doc__) == ("f", "What it says.")


def test_numpy_scalars_and_lists_of_numbers_for_arrays():
    assert np.array_equal(vmap(lambda x: x)(A[:, 0]), A[:, 0])
    assert np.array_equal(vmap(lambda x, y: x + y, in_dims=(0, None))(A, np.float64(2)), A + 2)


MISUSE = [
    (lambda: vmap(np.add)(A, B), "vmap: the mapped axes differ in length: argument 0 has 3 along axis 0; argument 1 has 4 along axis 0. Give arrays of one length, or None in in_dims for what all items share."),
    (lambda: vmap(lambda xs: xs[0])([A, B]), "vmap: the mapped axes differ in length: argument 0[0] has 3 along axis 0; argument 0[1] has 4 along axis 0. Give arrays of one length, or None in in_dims for what all items share."),
    (lambda: vmap(np.add, in_dims=(0, 1))(A, A), "vmap: the mapped axes differ in length: argument 0 has 3 along axis 0; argument 1 has 4 along axis 1. Give arrays of one length, or None in in_dims for what all items share."),
    (lambda: vmap(np.sin, in_dims=(0, 0))(A), "vmap: in_dims names 2 arguments, and 1 was given. Give one for each."),
    (lambda: vmap(np.sin, in_dims=None)(A), "vmap: no argument is mapped. Give at least one an axis in in_dims."),
    (lambda: vmap(np.sin)(), "vmap: no argument is mapped. Give at least one an axis in in_dims."),
    (lambda: vmap(np.sin)(2.0), "vmap: argument 0 is a float, which has no axis to map. Give an array that has it; or write None in its place, in_dims=(0, None) say, for what all items share."),
    (lambda: vmap(np.add)(A, None), "vmap: argument 1 is None, which has no axis to map. Give an array that has it; or write None in its place, in_dims=(0, None) say, for what all items share."),
    (lambda: vmap(np.sin, in_dims=2)(A), "vmap: argument 0 has shape (3, 4) and no axis 2 to map. in_dims is an axis, None, or a tuple of one for each argument."),
    (lambda: vmap(np.sin, in_dims=-3)(A), "vmap: argument 0 has shape (3, 4) and no axis -3 to map. in_dims is an axis, None, or a tuple of one for each argument."),
    (lambda: vmap(np.sin)(A[0, 0]), "vmap: argument 0 has shape () and no axis 0 to map. in_dims is an axis, None, or a tuple of one for each argument."),
    (lambda: vmap(np.sin, in_dims="a")(A), "vmap: in_dims is a str, and an axis is an int, or None for what is not mapped."),
    (lambda: vmap(np.sin, out_dims=None)(A), "vmap: out_dims is None for the result, which differs from item to item. Give it an axis."),
    (lambda: vmap(lambda x: (x, x), out_dims=(0, 1, 2))(A), "vmap: the result is a tuple of 2, and out_dims has a tuple of 3 for it. Give one axis for all of it, None, or 2 of them."),
    (lambda: vmap(lambda x: "text")(A), "vmap: the result is a str, which makes no batch. Return arrays, or out_dims=None for it."),
    (lambda: vmap(lambda x: None)(A), "vmap: the result is None, which makes no batch. Return arrays, or out_dims=None for it."),
]  # fmt: skip


@pytest.mark.parametrize(("call", "message"), MISUSE)
def test_what_makes_no_batch(call, message):
    assert said(call) == message


@pytest.mark.parametrize("dim", [2, -4])
def test_an_axis_that_an_output_does_not_have(dim):
    with pytest.raises((BatchingError, ValueError)):
        vmap(np.sin, out_dims=dim)(A)


ONE_NUMBER = {  # by what the line of the user's code does: the words for it alone
    "choice": (lambda x: 1 if x > 0 else 2, "Use np.where for a choice."),
    "item": (lambda x: x.item(), "Return the value from the mapped function to look at it."),
    "math": (lambda x: math.sin(x), "Write np.sin(x) for math.sin(x), and so for all of math."),
}


@pytest.mark.parametrize("cause", ONE_NUMBER)
def test_the_line_of_the_user_picks_the_words(cause):
    read, words = ONE_NUMBER[cause]
    told = said(lambda: vmap(read)(A[:, 0]))
    assert told == f"one number was asked of a batched value: each of the 3 items has its own. {words}"


@pytest.mark.parametrize("read", [bool, float, int, complex])
def test_one_number_is_not_to_be_had_of_a_batch(read):
    told = said(lambda: vmap(read)(A[:, 0]))
    assert told == (
        "one number was asked of a batched value: each of the 3 items has its own. "
        "Use np.where for a choice; return the value from the mapped function to look at it; write np.sin(x) for math.sin(x), and "
        "so for all of math; to write it into an array, make that of a batched value: np.zeros_like(x, shape=...), or np.stack the "
        "pieces."
    )


def test_an_index_is_not_to_be_had_of_a_batch():
    assert said(lambda: vmap(lambda x: [1, 2][x])(np.array([0, 1, 0]))) == (
        "an index was asked of a batched value: each of the 3 items has its own. Write x[i] for one element, np.take(x, i, axis=0) of "
        "an array that is not batched, and x[i + np.arange(n)] for x[i:i + n]."
    )
    x = np.arange(10.0).reshape(2, 5)
    assert vmap(lambda x, i: x[i + np.arange(2)])(x, np.array([0, 3])).tolist() == [[0, 1], [8, 9]]


def test_a_batched_value_reads_as_one_item():
    seen = []
    vmap(lambda x: seen.append((x.shape, x.dtype, x.ndim, x.size, len(x), x.dim, repr(x))) or x, in_dims=1)(A)
    ((shape, dtype, ndim, size, length, dim, text),) = seen
    assert (shape, dtype, ndim, size, length, dim) == ((3,), A.dtype, 1, 3, 3, 1)
    assert text.startswith("BatchedTensor(shape=(3,), dtype=float64, dim=1, vmap (level ")


# -- nesting ---------------------------------------------------------------------------------------------------------------


def outer_products(x, y):
    return vmap(lambda a: vmap(lambda b: a * b)(y))(x)


def test_nested():
    x, y = A[0], B[0]
    assert np.array_equal(outer_products(x, y), np.outer(x, y))
    assert np.array_equal(vmap(outer_products)(A, A), np.stack([np.outer(x, x) for x in A]))
    deep = vmap(vmap(vmap(np.sum, in_dims=1), in_dims=0), in_dims=-1, out_dims=-1)
    z = np.random.default_rng(0).normal(size=(2, 3, 4, 5))
    assert np.allclose(deep(z), np.moveaxis([[[z[i, :, k, b].sum() for k in range(4)] for i in range(2)] for b in range(5)], 0, -1))


def test_the_rule_runs_once_a_level_and_may_call_its_operator_again():
    seen = []

    def rule(info, in_dims, x):
        seen.append(info.batch_size)
        return op(x), in_dims[0]

    op = define("(Tensor x) -> Tensor", lambda x: x * 2, rule)
    assert np.array_equal(vmap(vmap(op))(np.ones((2, 3, 4))), np.full((2, 3, 4), 2.0))
    assert seen == [3, 2]


def test_an_outer_value_in_an_inner_function():
    found = vmap(lambda x: vmap(lambda y: x @ y)(A))(A)
    assert np.array_equal(found, A @ A.T)


# -- random programs -------------------------------------------------------------------------------------------------------

STEPS = {
    "sin": lambda x, y, k: np.sin(x),
    "add": lambda x, y, k: x + y,
    "outer value": lambda x, y, k: x * k,
    "mean": lambda x, y, k: x - np.mean(x, axis=0),
    "transpose": lambda x, y, k: np.swapaxes(x, 0, 1),
    "matmul": lambda x, y, k: np.tanh(x @ k),
    "where": lambda x, y, k: np.where(x > 0, x, y),
    "stack": lambda x, y, k: np.sum(np.stack([x, y, k]), axis=0),
    "index": lambda x, y, k: x[::-1] + y[0],
    "inner vmap": lambda x, y, k: vmap(lambda a, b: a * b[0])(x, y),
    "looped": lambda x, y, k: LOOPED(x, y),
}
LOOPED = define("(Tensor x, Tensor y) -> Tensor", lambda x, y: x - 0.5 * y)


@given(st.lists(st.sampled_from(sorted(STEPS)), min_size=1, max_size=5), st.integers(0, 2), st.sampled_from([0, 1, 2, None]))
def test_a_random_closure_is_its_loop(names, dim, other):
    random = np.random.default_rng(3)
    constant = random.normal(size=(3, 3))
    shape = [3, 3]
    shape.insert(dim, 2)
    x = random.normal(size=shape)
    y = random.normal(size=(3, 3)) if other is None else random.normal(size=[*[3, 3][:other], 2, *[3, 3][other:]])

    def f(x, y):
        for name in names:
            x, y = STEPS[name](x, y, constant), x
        return x

    assert np.allclose(vmap(f, in_dims=(dim, other))(x, y), loop(f, (dim, other), x, y))


def test_wrappers_do_not_leave_the_function():
    seen = []
    vmap(lambda x: seen.append(x) or ops.np.sin(x))(A)
    assert isinstance(seen[0], BatchedTensor)
    assert not seen[0].level.open


def test_an_item_takes_no_other_shape_and_says_what_to_write():
    def f(x):
        x.shape = (3, 1)

    with pytest.raises(AttributeError, match=r"^the shape of a BatchedTensor cannot be set. Write y = x.reshape\(\(3, 1\)\).$"):
        vmap(f)(np.ones((2, 3)))
