"""Batching rules, the loop that stands in for them, and residuals under both."""


import making
import numpy as np
import pytest
from hint_table import Factors, State

import dispatch
from dispatch import vmap
from dispatch.errors import BatchingError, NoRuleError

A = np.arange(12.0).reshape(3, 4) + 1
B = np.arange(8.0).reshape(4, 2) - 3
define, loop = making.batched, making.loop
STATE, FACTORS = (f"{cls.__module__}.{cls.__qualname__}" for cls in (State, Factors))


def said(call, error=BatchingError):
    return making.said(call, error)


# -- rules -----------------------------------------------------------------------------------------------------------------


def scaled(x, factor):
    return x * factor


@pytest.mark.parametrize("dims", [(0, None), (1, None), (-1, None)])
def test_a_rule_gets_size_axes_and_every_argument(dims):
    seen = []

    def rule(info, in_dims, x, factor):
        seen.append((info.batch_size, in_dims, type(x), factor))
        return x * factor, in_dims[0]

    op = define("(Tensor x, float factor=2.0) -> Tensor", scaled, rule)
    assert np.array_equal(vmap(op, in_dims=dims[0])(A), loop(lambda x: scaled(x, 2.0), dims[:1], A))
    axis = dims[0] % 2
    assert seen == [(A.shape[axis], (axis, None), np.ndarray, 2.0)]


def test_a_rule_is_not_asked_where_nothing_is_batched():
    op = define("(Tensor x, float factor=2.0) -> Tensor", scaled, lambda info, in_dims, x, factor: 1 / 0)
    assert np.array_equal(vmap(lambda x: op(A) + x[0])(A), [op(A) + x[0] for x in A])


def test_lists_have_lists_of_axes():
    seen = []

    def rule(info, in_dims, xs):
        seen.append(in_dims)
        return np.stack([np.moveaxis(x, dim or 0, 0) if dim is not None else np.stack([x] * 3) for x, dim in zip(xs, *in_dims, strict=True)]), 1

    op = define("(Tensor[] xs) -> Tensor", np.stack, rule)
    found = vmap(lambda x, y: op([x, A[0], y]), in_dims=(0, 1))(A, A.T)
    assert np.array_equal(found, np.stack([np.stack([x, A[0], x]) for x in A]))
    assert seen == [([0, None, 1],)]


def test_several_outputs_of_a_rule():
    def two(x):
        return x + 1, x.sum()

    one_for_all = define("(Tensor x) -> (Tensor, Tensor)", two, lambda info, in_dims, x: ((x + 1, np.sum(x, 1)), 0))
    one_for_each = define("(Tensor x) -> (Tensor, Tensor)", two, lambda info, in_dims, x: ((x.T + 1, np.sum(x, 1)), (1, 0)))
    partly = define("(Tensor x) -> (Tensor, Tensor)", two, lambda info, in_dims, x: ((x + 1, np.sum(A)), (0, None)))
    for op in (one_for_all, one_for_each):
        first, second = vmap(op)(A)
        assert np.array_equal(first, A + 1)
        assert np.array_equal(second, A.sum(1))
    assert np.array_equal(vmap(partly)(A)[1], np.full(3, A.sum()))


def test_an_output_without_the_batch():
    op = define("(Tensor x) -> Tensor", lambda x: B + 0, lambda info, in_dims, x: (B + 0, None))
    assert np.array_equal(vmap(op)(A), np.stack([B] * 3))
    assert isinstance(vmap(lambda x: op(x), out_dims=None)(A), np.ndarray)


RULES = [
    ("(Tensor x) -> Tensor", lambda x: x, "its vmap rule returned an ndarray. Return (output, out_dims)."),
    ("(Tensor x) -> Tensor", lambda x: [x, 0], "its vmap rule returned a list. Return (output, out_dims)."),
    ("(Tensor x) -> Tensor", lambda x: None, "its vmap rule returned None. Return (output, out_dims)."),
    ("(Tensor x) -> Tensor", lambda x: (x, 0, 0), "its vmap rule returned a tuple. Return (output, out_dims)."),
    ("(Tensor x) -> Tensor", lambda x: (None, 0), "its vmap rule returned None for its outputs, and the schema says -> (Tensor). Return (output, out_dims)."),
    ("(Tensor x) -> Tensor", lambda x: (2.0, None), "its vmap rule returned a float for its outputs, and the schema says -> (Tensor). Return (output, out_dims)."),
    ("(Tensor x) -> Tensor", lambda x: ((x, x), 0), "its vmap rule returned a tuple of length 2 for its outputs, and the schema says -> (Tensor). Return (output, out_dims)."),
    ("(Tensor x) -> (Tensor, Tensor)", lambda x: (x, 0), "its vmap rule returned an ndarray of shape (3, 4) and dtype float64 for its outputs, and the schema says -> (Tensor, Tensor). Return ((output_0, output_1), out_dims)."),
    ("(Tensor x) -> (Tensor, Tensor)", lambda x: ((x, x, x), 0), "its vmap rule returned a tuple of length 3 for its outputs, and the schema says -> (Tensor, Tensor). Return ((output_0, output_1), out_dims)."),
    ("(Tensor x) -> (Tensor, Tensor)", lambda x: ((x, x), (0, 0, 0)), "its vmap rule returned a tuple of length 2 and out_dims a tuple of 3 for it. Return one axis for all of it, None, or 2 of them."),
    ("(Tensor x) -> ()", lambda x: (x, 0), "its vmap rule returned an ndarray of shape (3, 4) and dtype float64 for its outputs, and the schema says -> (). Return (None, out_dims)."),
    ("(Tensor x) -> Tensor", lambda x: (x[:2], 0), "its vmap rule says the batch, 3 items, is axis 0 of an output of shape (2, 4). Say which axis holds the items, or None."),
    ("(Tensor x) -> Tensor", lambda x: (x, 1), "its vmap rule says the batch, 3 items, is axis 1 of an output of shape (3, 4). Say which axis holds the items, or None."),
    ("(Tensor x) -> Tensor", lambda x: (x, -3), "its vmap rule says the batch, 3 items, is axis -3 of an output of shape (3, 4). Say which axis holds the items, or None."),
    ("(Tensor x) -> Tensor", lambda x: (x, "0"), "its vmap rule says the batch, 3 items, is axis '0' of an output of shape (3, 4). Say which axis holds the items, or None."),
    ("(Tensor x) -> Tensor", lambda x: (x, (0,)), "its vmap rule says the batch, 3 items, is axis (0,) of an output of shape (3, 4). Say which axis holds the items, or None."),
]  # fmt: skip


@pytest.mark.parametrize(("schema", "result", "message"), RULES)
def test_a_rule_that_returns_something_else(schema, result, message):
    op = define(schema, lambda x: None, lambda info, in_dims, x: result(x))
    assert said(lambda: vmap(op)(A)) == f"{op.name}: {message}"


# -- the loop --------------------------------------------------------------------------------------------------------------


def test_an_operator_without_a_rule_is_run_in_a_loop():
    calls = []
    op = define("(Tensor x, float factor=2.0) -> Tensor", lambda x, factor: calls.append(x.shape) or x * factor)
    assert np.array_equal(vmap(op, in_dims=1, out_dims=1)(A), A * 2)
    assert calls == [(3,)] * 4
    assert np.array_equal(vmap(vmap(op))(np.ones((2, 3, 4))), np.full((2, 3, 4), 2.0))


def test_the_loop_takes_and_gives_lists():
    op = define("(Tensor[] xs, int n) -> Tensor[]", lambda xs, n: [x * n for x in xs])
    first, second = vmap(lambda x: op([x, A[0]], 3))(A)
    assert np.array_equal(first, A * 3)
    assert np.array_equal(second, np.stack([A[0] * 3] * 3))


def test_the_loop_gives_several_outputs_numbers_and_equal_values():
    op = define("(Tensor x) -> (Tensor, float, int, str)", lambda x: (x + 1, float(x.sum()), len(x), "same"))
    first, second, third, fourth = vmap(op, out_dims=(0, 0, 0, None))(A)
    assert np.array_equal(first, A + 1)
    assert np.array_equal(second, A.sum(1))
    assert np.array_equal(third, [4, 4, 4])
    assert fourth == "same"


def test_the_loop_with_numpy_scalars_and_0d_items():
    op = define("(Tensor x) -> Tensor", lambda x: np.sin(x))
    assert np.array_equal(vmap(op)(A[0]), np.sin(A[0]))
    assert isinstance(vmap(op)(A[0]), np.ndarray)


@pytest.mark.parametrize(
    ("schema", "kernel", "what"),
    [
        ("(Tensor x) -> Tensor", lambda x: np.ones(int(x[0])), "outputs of different shapes, (1,), (5,), (9,)"),
        ("(Tensor x) -> Tensor[]", lambda x: [x + i for i in range(int(x[0]))], "lists of different lengths"),
        ("(Tensor x) -> str", lambda x: str(x[0]), "different values of type str"),
        ("(Tensor x) -> Tensor?", lambda x: None if x[0] == 1 else x * 2, "None and values"),
        ("(Tensor x) -> Tensor?", lambda x: x * 2 if x[0] == 1 else None, "None and values"),
        ("(Tensor x) -> Dict(str, Tensor)", lambda x: {str(x[0]): x * 2}, "dicts of different keys"),
        (f"(Tensor x) -> {FACTORS}", lambda x: Factors(x * 2, x[: int(x[0])] * 2), "outputs of different shapes, (1,), (4,)"),
    ],
)
def test_items_that_make_no_batch(schema, kernel, what):
    op = define(schema, kernel)
    assert said(lambda: vmap(op)(A)) == f"{op.name}: the items of the batch gave {what}, which make no batch."


def test_the_loop_and_a_rule_with_records_and_dicts():
    schema = f"({STATE} s, Dict(str, Tensor) d) -> ({FACTORS}, Dict(str, Tensor), Tensor?)"

    def kernel(s, d):
        return Factors(s.position * 2, d["a"] + 1, s.steps), {"a": d["a"] * s.position}, None

    def rule(info, in_dims, s, d):
        seen.append(in_dims)
        q, named = s.position * 2, d["a"] * s.position
        return (Factors(q, d["a"] + 1, s.steps), {"a": named}, None), ((0, None, None), {"a": 0}, None)

    seen = []
    for op in (define(schema, kernel), define(schema, kernel, rule)):
        factors, named, none = vmap(lambda x, op=op: op(State(x, None, 3), {"a": A[0]}), out_dims=(0, 0, None))(A)
        assert np.array_equal(factors.q, A * 2)
        assert np.array_equal(factors.r, np.stack([A[0] + 1] * 3))
        assert factors.rank == 3
        assert np.array_equal(named["a"], A[0] * A)
        assert none is None
    assert seen == [([0, None, None, None], None)]


def test_a_number_in_a_record_stays_one_where_it_is_the_same_for_every_item():
    same = define(f"(Tensor x) -> {FACTORS}", lambda x: Factors(x * 2, x * 3, 7))
    other = define(f"(Tensor x) -> {FACTORS}", lambda x: Factors(x * 2, x * 3, int(x[0])))
    ranks = []
    vmap(lambda x: ranks.append(same(x).rank) or x)(A)
    assert ranks == [7]
    assert np.array_equal(vmap(lambda x: other(x).rank)(A), [1, 5, 9])


def test_a_batch_of_no_items_takes_its_shape_from_the_fake_rule_in_records_too():
    op = define(
        f"({STATE} s) -> {FACTORS}", scaled, fake=lambda s: Factors(np.empty_like(s.position), np.empty(s.velocity.shape[:1]), s.steps)
    )
    found = vmap(lambda x: op(State(x, A, 5)))(A[:0])
    assert (found.q.shape, found.r.shape) == ((0, 4), (0, 3))


def test_a_batch_of_no_items_takes_its_shape_from_the_fake_rule():
    empty = A[:0]
    op = define("(Tensor x, int n) -> Tensor", scaled, fake=lambda x, n: np.empty((n, *x.shape), "f4"))
    found = vmap(op, in_dims=(0, None))(empty, 5)
    assert (found.shape, found.dtype) == ((0, 5, 4), np.dtype("f4"))
    listed = define("(Tensor[] xs) -> (Tensor[], float)", scaled, fake=lambda xs: (xs, 1.5))
    (first, second), number = vmap(lambda x: listed([x, A]), out_dims=((0, 1), None))(empty)
    assert (first.shape, second.shape, number) == ((0, 4), (3, 0, 4), 1.5)
    assert vmap(np.sin)(empty).shape == (0, 4)
    bare = define("(Tensor x) -> Tensor", scaled)
    assert said(lambda: vmap(bare)(empty), NoRuleError).startswith(f"the shape of {bare.name}'s output was asked for")


def test_an_operator_that_writes_to_one_array_for_all_items_needs_a_rule():
    op = define("(Tensor x, Tensor(a!) out) -> ()", lambda x, out: None)
    assert said(lambda: vmap(lambda x: op(x, A + 0))(A)) == (
        f"{op.name}: argument 'out' is written, and is one array for a whole batch, so that each item would overwrite what the "
        f"one before wrote. Map out too, or call {op.schema.name}.functional, which returns what each writes."
    )

    def rule(info, in_dims, x, out):
        out += x.sum(0)
        return None, None

    op.register_vmap(rule)
    out = np.zeros(A.shape[1:])
    vmap(op, in_dims=(0, None), out_dims=None)(A, out)
    assert np.array_equal(out, A.sum(0))


def test_an_operator_that_writes_is_looped_over_views():
    def double(x, out):
        np.multiply(x, 2, out=out)
        return float(x.flat[0])

    op = define("(Tensor x, Tensor(a!) out) -> float", double)
    out = np.zeros(A.T.shape)
    first = vmap(op, in_dims=(0, 1))(A, out)
    assert np.array_equal(out, 2 * A.T)
    assert np.array_equal(first, A[:, 0])
    frozen = A.copy()
    frozen.flags.writeable = False
    with pytest.raises(dispatch.errors.ArgumentError) as caught:
        vmap(op)(A, frozen)
    assert str(caught.value) == (
        f"{op.name}: argument 'out' is written to, and was given a read-only ndarray of shape ({A.shape[1]},) and dtype float64. "
        "Pass an array that can be written to, out.copy() say, and look there for the result."
    )


def test_what_is_written_and_returned_is_the_argument_itself():
    def add(x, y):
        x += y
        return x

    looped = define("(Tensor(a!) x, Tensor y) -> Tensor(a!)", add)
    ruled = define("(Tensor(a!) x, Tensor y) -> Tensor(a!)", add, lambda info, in_dims, x, y: (add(x, y), in_dims[0]))
    pair = define("(Tensor x, *, Tensor(a!) u, Tensor(b!)[] vs) -> (Tensor(a!), int, Tensor(b!)[])", lambda x, u, vs: (u, 1, vs))

    def both(x, u, v, w):
        assert looped(u, x) is u
        assert ruled(u, x) is u
        vs = [v, w]
        first, one, rest = pair(x, u=u, vs=vs)
        assert first is u
        assert rest is vs
        return u, one

    u = A + 1
    got, ones = vmap(both)(A, u, A + 2, A + 3)
    assert np.array_equal(u, 3 * A + 1)
    assert np.shares_memory(got, u)
    assert np.array_equal(ones, [1] * len(A))
    none = np.zeros((0, 2))
    assert vmap(looped)(none, none.copy()).shape == (0, 2)


def test_a_list_is_written_where_each_of_it_is_mapped():
    def fill(x, outs):
        for out in outs:
            if out is not None:
                out[...] = x

    op = define("(Tensor x, Tensor(a!)?[] outs) -> ()", fill)
    outs = [np.zeros(A.shape), None, np.zeros(A.shape)]
    vmap(lambda x, u, v: op(x, [u, None, v]), out_dims=None)(A, outs[0], outs[2])
    assert np.array_equal(outs[0], A)
    assert np.array_equal(outs[2], A)
    assert "argument 'outs' is written, and is one array for a whole batch" in said(
        lambda: vmap(lambda x, u: op(x, [u, np.zeros(A.shape[1])]), out_dims=None)(A, outs[0])
    )
    assert "argument 'outs' is written, and is one array for a whole batch" in said(
        lambda: vmap(lambda x: op(x, [np.zeros(A.shape[1])]), out_dims=None)(A)
    )


# -- residuals -------------------------------------------------------------------------------------------------------------


class Handle:
    """What a library keeps of a call."""

    def __init__(self, shape):
        self.shape_of = shape


def solver(rule=None):
    op = define("(Tensor x) -> (Tensor, Residual)", lambda x: (x * 2, Handle(x.shape)), rule)
    back = define("(Tensor g, Residual kept) -> Tensor", lambda g, kept: g * (2 if kept.shape_of else 0))

    def setup(ctx, inputs, output):
        seen.append(ctx.residual)

    seen = []
    op.register_autograd(lambda ctx, g: back(g, ctx.residual), setup_context=setup)
    return op, seen


def test_a_residual_becomes_a_list_under_the_loop_which_an_operator_takes_item_by_item():
    op, seen = solver()
    assert np.array_equal(vmap(op)(A), A * 2)
    assert np.array_equal(vmap(dispatch.grad(lambda x: np.sum(op(x))))(A), np.full(A.shape, 2.0))
    assert [[item.shape_of for item in residual] for residual in seen] == [[(4,)] * 3]
    assert np.array_equal(dispatch.grad(lambda x: np.sum(vmap(op)(x)))(A), np.full(A.shape, 2.0))


def sines(weights, residual):
    """sin, whose backward computes with what a kernel kept: any structure of arrays and numbers."""
    op = define("(Tensor x) -> (Tensor, Residual)", lambda x: (np.sin(x), residual(np.cos(x))))
    op.register_autograd(lambda ctx, g: g * weights(ctx.residual))
    return op


KEPT = {
    "an array": (lambda r: r, lambda c: c),
    "a tuple": (lambda r: r[0] * r[1] * r[2], lambda c: (c / 2, 1.0, 2)),
    "a dict": (lambda r: r["cos"], lambda c: {"cos": c, "name": "cosine"}),
    "a list of arrays": (lambda r: r[0] + r[1][0], lambda c: [c / 2, [c / 2, None]]),
    "a float for each": (lambda r: r[0] / r[1], lambda c: (c * float(c[0]), float(c[0]))),
    "a complex number": (lambda r: r[0] / np.real(r[1]), lambda c: (c * c[0], complex(c[0]))),
    "a scalar for each": (lambda r: r[0] / r[1], lambda c: (c * c[0], c[0])),
}


@pytest.mark.parametrize("name", KEPT)
def test_a_backward_computes_with_the_residuals_of_a_loop(name):
    op = sines(*KEPT[name])
    gradient = dispatch.grad(lambda x: np.sum(op(x)))
    assert np.allclose(gradient(A[0]), np.cos(A[0]))
    assert np.allclose(vmap(gradient)(A), np.cos(A))
    assert np.allclose(vmap(vmap(gradient))(np.stack([A, A + 1])), np.cos(np.stack([A, A + 1])))
    assert np.allclose(dispatch.jacrev(lambda x: vmap(op)(x))(A).sum((0, 1)), np.cos(A))


def orders(f):
    """The second derivative of f in a batch, every way round."""
    dual = lambda g: lambda x: dispatch.jvp(g, (x,), (np.ones(4),))[1]
    scalar = lambda g: lambda x: np.sum(g(x))
    inner = dispatch.grad(scalar(f))
    yield lambda: vmap(dispatch.grad(scalar(inner)))(A)
    yield lambda: vmap(dual(inner))(A)
    yield lambda: vmap(dispatch.grad(scalar(dual(f))))(A)
    yield lambda: vmap(dispatch.hessian(scalar(f)))(A)
    yield lambda: dispatch.grad(lambda xs: np.sum(vmap(inner)(xs)))(A)
    yield lambda: dispatch.jvp(vmap(inner), (A,), (A,))
    yield lambda: dispatch.jvp(lambda xs: dispatch.grad(lambda xs: np.sum(vmap(f)(xs)))(xs), (A,), (A,))
    yield lambda: dispatch.grad(lambda xs: np.sum(dispatch.grad(lambda xs: np.sum(vmap(f)(xs)))(xs)))(A)


@pytest.mark.parametrize("name", KEPT)
def test_a_second_derivative_through_the_residuals_of_a_batch_raises(name):
    for second in orders(sines(*KEPT[name])):
        with pytest.raises(dispatch.errors.GradientError, match="a second derivative was asked of"):
            second()


def test_a_rule_hands_the_residual_on():
    def rule(info, in_dims, x):
        y, residual = op.whole(x)
        return (y, residual), (in_dims[0], None)

    op, seen = solver(rule)
    assert np.array_equal(vmap(op)(A), A * 2)
    assert np.array_equal(vmap(dispatch.grad(lambda x: np.sum(op(x))))(A), np.full(A.shape, 2.0))
    assert [kept.shape_of for kept in seen] == [(3, 4)]


def test_a_rule_that_loses_the_residual_is_told_how_to_hand_it_on():
    op, _ = solver(lambda info, in_dims, x: (x * 2, 0))
    assert said(lambda: vmap(op)(A)) == (
        f"{op.name}: its vmap rule returned an ndarray of shape (3, 4) and dtype float64 for its outputs, and the schema says -> "
        f"(Tensor, Residual). Call {op.schema.name}.whole(...), which returns the residual too."
    )


def test_an_operator_finds_the_batch_in_what_was_kept_of_it():
    """The arrays in a residual lead to the key of vmap, where none of the other arguments does."""
    op = define("(Tensor x) -> (Tensor, Residual)", lambda x: (x * 1, {"parts": (x, [x * 2]), "size": len(x)}))
    reader = define("(Residual kept, Tensor y) -> Tensor", lambda kept, y: y * kept["parts"][1][0] + kept["size"])
    op.register_autograd(lambda ctx, g: g * reader(ctx.residual, B[:, 0]))
    found = vmap(dispatch.grad(lambda x: np.sum(op(x))))(A)
    assert np.allclose(found, B[:, 0] * 2 * A + 4)
