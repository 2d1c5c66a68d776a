"""A call taken apart does what the call does at once: bound as Python binds, its floor the highest, each kernel at its key."""

import numpy as np
import pytest
from making import leaf, made, shadow

import dispatch
from dispatch.core import DispatchKey, Level, ModeGuard, bound, floor_of, redispatched, run_at
from dispatch.errors import ArgumentError, DefinitionError, GuardError

X = np.ones(2)
SHADOWS, TAPE = 1 << DispatchKey.JVP, 1 << DispatchKey.AUTOGRAD


def test_a_call_is_bound_as_the_operator_binds_it():
    seen = []
    op = made("(int x, int y=2, *, int z=3) -> ()", lambda *args, **keywords: seen.append((*args, *keywords.values())))
    for args, keywords in (((1,), {}), ((1,), {"z": 5}), ((1, 4), {}), ((), {"y": 0, "x": 9})):
        op(*args, **keywords)
        assert bound(op, args, keywords) == seen.pop()


@pytest.mark.parametrize(("args", "keywords"), [((), {}), ((1, 2, 3), {}), ((1,), {"x": 2}), ((1,), {"w": 2})])
def test_what_cannot_be_bound_is_refused_in_the_same_words(args, keywords):
    op = made("(int x, int y=2) -> ()", lambda x, y: None)
    with pytest.raises(ArgumentError) as called:
        op(*args, **keywords)
    with pytest.raises(ArgumentError) as taken_apart:
        bound(op, args, keywords)
    assert str(taken_apart.value) == str(called.value)


def test_the_floor_is_the_highest_rank_of_arguments_and_modes():
    op = made("(Tensor x, Tensor y) -> Tensor", np.add)
    with Level("outer") as outer, Level("inner") as inner:
        low, high = shadow(X, outer), shadow(X, inner)
        assert floor_of(op, (X, X)) == 0
        assert floor_of(op, (low, high)) == floor_of(op, (high, X)) == high.rank
        with ModeGuard(DispatchKey.MODE, "a mode"):
            assert floor_of(op, (X, X)) == DispatchKey.MODE
            assert floor_of(op, (X, X), 1 << DispatchKey.MODE) == 0
            assert floor_of(op, (X, low)) == low.rank


def test_the_floor_of_what_does_not_fit_is_refused():
    op = made("(Tensor x, *, int n) -> Tensor", lambda x, n: x)
    with pytest.raises(ArgumentError, match="argument 'n' is int, and was given a str"):
        floor_of(op, (X, "no"))
    with pytest.raises(ArgumentError, match="'x', 'n' must be given"):
        floor_of(op, ())


def test_a_kernel_is_run_with_the_checks_of_a_call():
    op = made("(Tensor x) -> Tensor", np.sin)
    assert np.array_equal(run_at(op, 0, (X,)), np.sin(X))
    assert np.array_equal(run_at(op, 0, (X,), np.cos), np.cos(X))
    with pytest.raises(TypeError, match="returned a str, and its schema says Tensor"):
        run_at(op, 0, (X,), lambda x: "no")


def test_redispatch_below_a_key_takes_its_values_for_constants():
    x = leaf([1.0, 2.0])
    sin = dispatch.ops.np.sin
    assert type(sin.redispatch(DispatchKey.AUTOGRAD, x)) is np.ndarray
    assert np.array_equal(sin.redispatch(DispatchKey.AUTOGRAD, x), np.sin(x.value))
    assert isinstance(sin.redispatch(DispatchKey.VMAP, x), dispatch.Tensor)


def test_redispatch_sees_through_every_level_and_inside_lists_and_dicts():
    seen = []
    op = made("(Tensor[] xs, Dict(str, Tensor) d) -> ()", lambda xs, d: seen.append((xs, d)))
    with Level("outer") as outer, Level("inner") as inner:
        twice = shadow(shadow(X, outer), inner)
        redispatched(op, SHADOWS, ([twice, X], {"a": twice}))
    ((xs, d),) = seen
    assert [x is X for x in (*xs, d["a"])] == [True] * 3


def test_redispatch_leaves_the_layers_below_in_charge():
    op = made("(Tensor x) -> Tensor", np.sin)
    op.register_at(DispatchKey.JVP, lambda x: ("jvp", x))
    with Level("tape") as level:
        below = shadow(X, level)
        assert redispatched(op, TAPE, (below,)) == ("jvp", below)


def test_what_is_no_constant_is_not_seen_through():
    sin = dispatch.ops.np.sin
    message = r"a call below VMAP was asked of a BatchedTensor of shape \(2,\), which is no constant"
    with pytest.raises(GuardError, match=message):
        dispatch.vmap(lambda x: sin.redispatch(DispatchKey.AUTOGRAD, x))(np.ones((3, 2)))
    with dispatch.FakeTensorMode() as mode, pytest.raises(GuardError, match="a call below FAKE was asked of a FakeTensor"):
        sin.redispatch(DispatchKey.CUDA, mode.from_array(X))


@pytest.mark.parametrize("key", [DispatchKey.CPU, DispatchKey.CompositeExplicit])
def test_nothing_is_below_the_ground(key):
    with pytest.raises(DefinitionError, match=f"np::sin: redispatch goes below a floor, and nothing is below {key}"):
        dispatch.ops.np.sin.redispatch(key, X)


def test_redispatch_binds_keywords_and_leaves_the_residual_inside():
    op = made("(Tensor x, int n=2) -> (Tensor, Residual)", lambda x, n: (x * n, "kept"))
    assert np.array_equal(op.redispatch(DispatchKey.AUTOGRAD, X, n=3), X * 3)
    out, residual = redispatched(op.whole, TAPE, (X, 2))
    assert residual == "kept"
    assert np.array_equal(out, X * 2)
