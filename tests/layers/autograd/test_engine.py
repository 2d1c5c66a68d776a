"""The walk back: each node once, in the right order, without recursion, and nothing stays alive."""

import gc
import itertools
import sys
import weakref

import numpy as np
import pytest
from making import define

import dispatch
from dispatch import ops
from dispatch.core import DispatchKey
from dispatch.operators.registry import build
from dispatch.schema.schema import Schema

A = np.array([0.5, 1.0])
MANY = 1_000_000
_numbers = itertools.count()


def counting(schema, kernel, backward):
    """An operator, and how often its backward has run."""
    calls = []
    op = build(Schema.parse(schema, name=f"enginetests::op{next(_numbers)}"))
    op.register_at(DispatchKey.CPU, kernel)
    op.register_autograd(lambda ctx, *g: calls.append(ctx.order) or backward(*g))
    return op, calls


def leaf(x=A):
    return dispatch.tensor(x, requires_grad=True)


@pytest.fixture
def without_collector():
    """Nothing but reference counts frees anything."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def test_a_node_runs_once_however_many_ways_lead_to_it():
    op, calls = counting("(Tensor x, Tensor y) -> Tensor", np.add, lambda g: (g, g))
    x = y = leaf()
    for _ in range(60):  # 2 ** 60 ways
        y = op(y, y)
    np.sum(y).backward()
    assert len(calls) == 60
    assert np.array_equal(x.grad, [2.0**60] * 2)


def test_work_grows_with_the_number_of_nodes_and_edges():
    for n in (10, 100, 1000):
        op, calls = counting("(Tensor x, Tensor y) -> Tensor", np.add, lambda g: (g, g))
        x = leaf()
        first, second = x, x
        for _ in range(n):
            first, second = op(first, second), first
        np.sum(first + second).backward()
        assert len(calls) == n


def test_newer_nodes_run_first():
    op, calls = counting("(Tensor x, Tensor y) -> Tensor", np.add, lambda g: (g, g))
    random = np.random.default_rng(0)
    values = [leaf()]
    for _ in range(200):
        i, j = random.integers(len(values), size=2)
        values.append(op(values[i], values[j]))
    total = values[0]
    for value in values[1:]:
        total = ops.np.add(total, value)
    np.sum(total).backward()
    assert calls == sorted(calls)
    assert len(calls) == 200
    # the oracle: how often the leaf is contained in each value
    random = np.random.default_rng(0)
    counts = [1]
    for _ in range(200):
        i, j = random.integers(len(counts), size=2)
        counts.append(counts[i] + counts[j])
    assert np.array_equal(values[0].grad, [sum(counts)] * 2)


def test_outputs_of_one_node_meet_again():
    op, calls = counting("(Tensor x) -> (Tensor, Tensor[])", lambda x: (x * 1, [x * 2, x * 3]), lambda g, gs: g + 2 * gs[0] + 3 * gs[1])
    x = leaf()
    first, (second, third) = op(x)
    np.sum(np.sin(first) + second * third + second + first).backward()
    assert len(calls) == 1
    assert np.allclose(x.grad, np.cos(A) + 12 * A + 2 + 1)


def test_what_a_node_saved_is_freed_as_the_walk_goes_on(without_collector):
    alive = []

    def kernel(x):
        out = x + 1
        watched.append(weakref.ref(out))
        return out

    op = build(Schema.parse("enginetests::watched(Tensor x) -> Tensor"))
    op.register_at(DispatchKey.CPU, kernel)
    op.register_autograd(
        lambda ctx, g: alive.append(sum(found() is not None for found in watched)) or g,
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(output),
    )
    watched = []
    y = leaf()
    for _ in range(10):
        y = op(y)
    top = np.sum(y)
    del y
    top.backward()
    assert alive == sorted(alive, reverse=True)
    assert alive[-1] <= 2
    assert not any(found() is not None for found in watched)


def test_an_exception_half_way_leaves_gradients_and_thread_as_they_were():
    bad, _ = counting("(Tensor x) -> Tensor", lambda x: x * 1, lambda g: 1 / 0)
    x, y = leaf(), leaf()
    with pytest.raises(ZeroDivisionError):
        np.sum(bad(np.sin(x)) + y).backward()
    assert x.grad is None
    assert y.grad is None
    np.sum(y).backward()
    assert np.array_equal(y.grad, [1, 1])


def chain(x, n):
    """n calls, and weak references to some of what they made."""
    sin, y, watched = ops.np.sin, x, []
    for i in range(n):
        y = sin(y)
        if i % (n // 10) == 0:
            watched += [weakref.ref(y), weakref.ref(y.grad_fn), weakref.ref(y.value)]
    return y, watched


def test_a_million_nodes_run_backward_and_are_freed_without_recursion(without_collector):
    x = leaf(A)
    y, watched = chain(x, MANY)
    depth = sys.getrecursionlimit()
    sys.setrecursionlimit(400)
    try:
        y.backward(np.ones(2))
        del y
        assert all(found() is None for found in watched)
    finally:
        sys.setrecursionlimit(depth)
    assert x.grad.shape == (2,)
    assert np.all((x.grad > 0) & (x.grad < 1))


def test_a_million_nodes_that_never_run_are_dropped_without_recursion(without_collector):
    y, watched = chain(leaf(A), MANY)
    del y
    assert all(found() is None for found in watched)


CHAINS = {
    "custom": lambda: counting("(Tensor x) -> Tensor", np.sin, lambda g: g)[0],
    "several outputs": lambda: (lambda op: lambda y: op(y)[1])(
        counting("(Tensor x) -> (Tensor, Tensor)", lambda x: (x * 1, x * 2), lambda g, h: g + h)[0]
    ),
    "lists": lambda: (lambda op: lambda y: op([y, y])[0])(
        counting("(Tensor[] xs) -> Tensor[]", lambda xs: [x * 1 for x in xs], lambda gs: gs)[0]
    ),
    "stack": lambda: lambda y: ops.np.sum(ops.np.stack([y, y]), 0),
    "two branches": lambda: lambda y: ops.np.add(y, y),
}


@pytest.mark.parametrize("make", CHAINS.values(), ids=CHAINS)
@pytest.mark.parametrize("run", [False, True])
def test_long_chains_of_every_kind_are_freed_without_recursion(make, run, without_collector):
    f, x, watched = make(), leaf(np.zeros(2)), []
    y = x
    for i in range(20_000):
        y = f(y)
        if i % 5_000 == 0:
            watched += [weakref.ref(y), weakref.ref(y.grad_fn), weakref.ref(y.value)]
    if run:
        with np.errstate(over="ignore"):
            y.backward(np.zeros(2))
    del y
    assert [found() for found in watched] == [None] * len(watched)


def test_a_retained_tape_is_freed_when_its_result_is(without_collector):
    x = leaf()
    y, watched = chain(x, 10_000)
    y.backward(np.ones(2), retain_graph=True)
    assert watched[1]() is not None
    del y
    assert all(found() is None for found in watched)


def test_a_graph_of_gradients_is_freed_with_the_gradient(without_collector):
    x = leaf()
    y, watched = chain(x, 1_000)
    y.backward(np.ones(2), create_graph=True)
    del y
    x.grad = None
    assert all(found() is None for found in watched)


def test_transforms_leave_nothing_alive(without_collector):
    seen = []

    def f(x):
        y = np.sin(x) * x
        seen.extend([weakref.ref(x), weakref.ref(y), weakref.ref(y.grad_fn)])
        return np.sum(y)

    dispatch.grad(f)(A)
    dispatch.grad(lambda x: np.sum(dispatch.grad(f)(x)))(A)
    dispatch.grad(lambda x: np.sum(dispatch.vmap(lambda row: np.sum(np.sin(row)))(x)))(np.ones((3, 2)))
    dispatch.vmap(dispatch.grad(f))(np.ones((3, 2)))
    assert all(found() is None for found in seen)


def test_a_gradient_that_leads_back_to_its_leaf_is_found_by_the_collector():
    x = leaf()
    np.sum(np.sin(x * x)).backward(create_graph=True)
    gone = weakref.ref(x.kept)
    del x
    gc.collect()
    assert gone() is None


def test_a_later_value_that_is_kept_on_an_earlier_context_is_found_by_the_collector():
    class Cache:
        last = None

    caches = [Cache()]
    op = build(Schema.parse("(Tensor x) -> Tensor", name=f"enginetests::op{next(_numbers)}"))
    op.register_at(DispatchKey.CPU, np.sin)
    op.register_autograd(lambda ctx, g: g, setup_context=lambda ctx, inputs, output: vars(ctx).update(cache=caches[0]))
    caches[0].last = np.cos(np.sin(op(leaf())))
    gone = weakref.ref(caches.pop())
    gc.collect()
    assert gone() is None


# -- gradients that leave ---------------------------------------------------------------------------------------------------

KEPT = []
WAYS_TO_KEEP = {  # what a backward returns for the gradient that it computed, and what it keeps of that
    "nothing": lambda g: g,
    "itself": lambda g: KEPT.append(g) or g,
    "the tuple": lambda g: (KEPT.append((g,)), KEPT[-1])[1],
    "the list": lambda g: (KEPT.append([g]), KEPT[-1])[1],
    "a view": lambda g: KEPT.append(g[:1]) or g,
    "what it is a view of": lambda g: KEPT.append(np.concatenate([g, g])) or KEPT[-1][: len(g)],
    "its memory": lambda g: KEPT.append(memoryview(g)) or g,
    "a weak reference": lambda g: KEPT.append(weakref.ref(g)) or g,
    "read-only": lambda g: g.setflags(write=False) or KEPT.append(g) or g,
}


@pytest.mark.parametrize("keep", WAYS_TO_KEEP.values(), ids=WAYS_TO_KEEP)
def test_a_gradient_can_be_written_to_and_nobody_else_holds_it_whatever_its_rule_keeps(keep):
    op = define("(Tensor x) -> Tensor", lambda x: x * 1.0)
    op.register_autograd(lambda ctx, g: keep(g * 3.0))
    x = dispatch.tensor([1.0, 2.0], requires_grad=True)
    KEPT.clear()
    for found in (dispatch.grad(lambda x: np.sum(op(x)))(np.ones(2)), dispatch.autograd.grad(np.sum(op(x)), [x])[0]):
        assert found.flags.writeable
        assert found.flags.owndata
        found[:] = 7.0
    np.sum(op(x)).backward()
    x.grad[:] = 7.0
    held = [y() if isinstance(y, weakref.ref) else y for y in KEPT]
    assert not any(7.0 in np.asarray(z) for y in held if y is not None for z in (y if isinstance(y, (list, tuple)) else [y]))
    KEPT.clear()


def test_one_array_that_is_the_gradient_of_two_arguments_becomes_two():
    op = define("(Tensor x, Tensor y) -> Tensor", lambda x, y: x + y)

    @op.register_autograd
    def _(ctx, g):
        made = g * 2.0
        return made, made

    first, second = dispatch.grad(lambda x, y: np.sum(op(x, y)), argnums=(0, 1))(np.ones(2), np.ones(2))
    assert not np.shares_memory(first, second)


def test_a_gradient_that_its_rule_made_and_let_go_of_is_not_copied():
    places = []
    op = define("(Tensor x) -> Tensor", lambda x: x * 1.0)

    @op.register_autograd
    def _(ctx, g):
        made = g * 3.0
        places.append(made.ctypes.data)
        return made

    assert dispatch.grad(lambda x: np.sum(op(x)))(np.ones(2)).ctypes.data == places[0]
