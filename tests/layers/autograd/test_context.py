"""ctx: what setup_context sees, what it keeps, and what it says about the outputs."""

import gc
import weakref

import making
import numpy as np
import pytest

import dispatch
from dispatch import grad
from dispatch.core import Tensor
from dispatch.errors import GradientError

A = np.array([0.5, 1.0, 2.0])
define, leaf = making.recorded, making.leaf


def said(call, error=GradientError):
    return making.said(call, error)


# -- what setup_context sees -----------------------------------------------------------------------------------------------


def test_setup_context_gets_every_argument_as_the_caller_gave_it_and_the_output():
    seen = []

    def setup(ctx, inputs, output):
        seen.append((inputs, output, ctx.needs_input_grad))

    op = define("(Tensor x, Tensor y, float w=2.0, *, str mode=\"a\") -> Tensor", lambda x, y, w, *, mode: x * y * w, lambda ctx, g: (g, None, None, None), setup)
    x = leaf()
    out = op(x, A, mode="b")
    ((inputs, output, needs),) = seen
    assert inputs[0] is x
    assert inputs[1:] == (A, 2.0, "b") or (inputs[1] is A and inputs[2:] == (2.0, "b"))
    assert output is out
    assert needs == (True, False, False, False)


def test_needs_input_grad_has_a_list_for_a_list():
    seen = []
    op = define("(Tensor[] xs, Tensor? y=None) -> Tensor", lambda xs, y: xs[0] + xs[1], lambda ctx, g: ([g, g], None), lambda ctx, i, o: seen.append(ctx.needs_input_grad))
    op([leaf(), A])
    op([A, leaf()], leaf())
    op([A, A], leaf())
    assert seen == [([True, False], False), ([False, True], True), (False, True)]


def test_a_gradient_that_is_not_needed_may_be_none_or_anything():
    for unneeded in (None, A):
        op = define("(Tensor x, Tensor y) -> Tensor", lambda x, y: x * y, lambda ctx, g: (g * 2, unneeded))  # noqa: B023
        assert np.array_equal(grad(lambda x: np.sum(op(x, A)))(A), [2, 2, 2])  # noqa: B023


def test_a_missing_gradient_of_an_input_counts_as_zero():
    op = define("(Tensor x) -> Tensor", lambda x: x * 2, lambda ctx, g: (None,))
    assert np.array_equal(grad(lambda x: np.sum(op(x) + x))(A), [1, 1, 1])
    x = leaf()
    np.sum(op(x)).backward()
    assert x.grad is None


# -- what is kept ----------------------------------------------------------------------------------------------------------


def keeping(*kept):
    """An operator that saves what `kept` picks of its inputs and output, and shows it in its backward."""
    seen = []

    def setup(ctx, inputs, output):
        ctx.save_for_backward(*[pick(inputs, output) for pick in kept])

    def backward(ctx, g):
        seen.append(ctx.saved_tensors)
        return g, None

    return define("(Tensor x, Tensor y) -> Tensor", lambda x, y: x * y, backward, setup), seen


def test_inputs_outputs_arrays_none_and_dicts_can_be_saved():
    own = np.ones(2)
    op, seen = keeping(
        lambda i, o: i[0], lambda i, o: i[1], lambda i, o: o, lambda i, o: own, lambda i, o: None, lambda i, o: dict(enumerate((i[0], own, None))), lambda i, o: np.float64(3)
    )  # fmt: skip
    np.sum(op(leaf(), A)).backward()
    ((x, y, out, array, nothing, listed, number),) = seen
    assert all(type(found) is np.ndarray for found in (x, y, out, array, listed[0], listed[1]))
    assert np.array_equal(x, A)
    assert np.array_equal(y, A)
    assert np.array_equal(out, A * A)
    assert np.array_equal(array, own)
    assert (nothing, listed[2], number) == (None, None, 3.0)


def test_under_create_graph_what_was_saved_has_its_history():
    op, seen = keeping(lambda i, o: i[0], lambda i, o: o, lambda i, o: {"x": i[0], "out": o})
    x = leaf()
    np.sum(op(x, A)).backward(create_graph=True)
    ((first, second, both),) = seen
    for found in (first, second, *both.values()):
        assert isinstance(found, Tensor)
    assert np.array_equal(dispatch.detach(second), A * A)


def test_arrays_are_saved_in_one_call():
    def setup(ctx, inputs, output):
        ctx.save_for_backward(output)
        ctx.save_for_backward(inputs[0], None)

    op = define("(Tensor x) -> Tensor", lambda x: x * 2, lambda ctx, g: g * len(ctx.saved_tensors), setup)
    with pytest.raises(GradientError, match=r"save_for_backward was called a second time, and keeps the arrays of one call\. Give it"):
        grad(lambda x: np.sum(op(x)))(A)


@pytest.mark.parametrize("setup", [None, lambda ctx, inputs, output: None])
def test_a_backward_that_reads_what_was_never_saved_says_so(setup):
    op = define("(Tensor x) -> Tensor", lambda x: x * 2, lambda ctx, g: g * ctx.saved_tensors[0], setup)
    assert said(lambda: grad(lambda x: np.sum(op(x)))(A)) == (
        f"{op.name}: ctx.saved_tensors was read, and its setup_context saved nothing. Write ctx.save_for_backward(...) there, "
        "and hand it to register_autograd(backward, setup_context=...)."
    )


@pytest.mark.parametrize(("value", "kind"), [("text", "a str"), (3, "an int"), (2.5, "a float"), ({"x": "text"}, "a str")])
def test_save_for_backward_keeps_arrays_only(value, kind):
    op, _ = keeping(lambda i, o: value)
    assert said(lambda: op(leaf(), A)) == (
        f"{op.name}: save_for_backward keeps arrays, and was given {kind}. Set anything else as an attribute: ctx.name = value."
    )


def test_any_attribute_can_be_set():
    def setup(ctx, inputs, output):
        ctx.number, ctx.text, ctx.array, ctx.value, ctx.result = 3, "text", own, inputs[0], output
        ctx.listed, ctx.pair, ctx.named = [inputs[0], 1], (output, "b"), {"out": output, "n": 1}

    def backward(ctx, g):
        assert (ctx.number, ctx.text) == (3, "text")
        assert np.array_equal(ctx.array, own)
        assert all(type(found) is np.ndarray for found in (ctx.value, ctx.result, ctx.listed[0], ctx.pair[0]))
        assert np.array_equal(ctx.result, A * 2)
        assert (ctx.listed[1], ctx.pair[1], ctx.named["n"]) == (1, "b", 1)
        assert np.array_equal(ctx.named["out"], A * 2)
        return g

    own = np.ones(2)
    op = define("(Tensor x) -> Tensor", lambda x: x * 2, backward, setup)
    np.sum(op(leaf())).backward()
    assert own.flags.writeable


def test_an_attribute_that_was_never_set():
    op = define("(Tensor x) -> Tensor", lambda x: x * 2, lambda ctx, g: ctx.fator, lambda ctx, i, o: setattr(ctx, "factor", 2))
    assert said(lambda: grad(lambda x: np.sum(op(x)))(A)) == (
        f"{op.name}: its backward read ctx.fator, which was never set. Did you mean 'factor'? Set it in setup_context: "
        "ctx.fator = ...; arrays go through ctx.save_for_backward(...), and come back as ctx.saved_tensors."
    )
    op = define("(Tensor x) -> Tensor", lambda x: x * 2, lambda ctx, g: g, lambda ctx, inputs, output: ctx.count + 1)
    assert said(lambda: op(leaf())).startswith(f"{op.name}: its setup_context read ctx.count, which was never set. Set it in")


def test_an_attribute_of_something_else_that_was_never_set_is_the_rules_own_error():
    op = define("(Tensor x) -> Tensor", lambda x: x * 2, lambda ctx, g: g.missing)
    assert said(lambda: grad(lambda x: np.sum(op(x)))(A), AttributeError).endswith("no attribute 'missing'")
    op = define("(Tensor x) -> Tensor", lambda x: x * 2, lambda ctx, g: g * getattr(ctx, "missing", 3))
    assert np.array_equal(grad(lambda x: np.sum(op(x)))(A), [3, 3, 3])


@pytest.mark.parametrize(
    "keep",
    [
        lambda ctx, inputs, output: ctx.save_for_backward(output),
        lambda ctx, inputs, output: setattr(ctx, "out", output),
        lambda ctx, inputs, output: setattr(ctx, "out", [output]),
        lambda ctx, inputs, output: setattr(ctx, "out", (output, 1)),
        lambda ctx, inputs, output: setattr(ctx, "out", {"a": output}),
        lambda ctx, inputs, output: ctx.save_for_backward({"out": output, "x": inputs[0]}),
    ],
)
@pytest.mark.parametrize("run", [False, True])
def test_an_output_that_is_kept_makes_no_cycle(keep, run):
    op = define("(Tensor x) -> Tensor", lambda x: x * 2, lambda ctx, g: g * 2, keep)
    gc.disable()
    try:
        x = leaf()
        y = op(x)
        watched = [weakref.ref(y), weakref.ref(y.grad_fn), weakref.ref(y.value)]
        if run:
            np.sum(y).backward()
        del y
        assert [found() for found in watched] == [None, None, None]
    finally:
        gc.enable()


# -- outputs ---------------------------------------------------------------------------------------------------------------


def test_several_outputs_have_a_gradient_each():
    seen = []

    def backward(ctx, first, second, third):
        seen.append((first, second, third))
        return first + second.sum()

    op = define("(Tensor x) -> (Tensor, Tensor, Tensor)", lambda x: (x * 1, x[:2] * 1, x * 3), backward)
    x = leaf()
    first, second, _ = op(x)
    (np.sum(first) + np.sum(second * 2)).backward()
    assert np.array_equal(x.grad, [5, 5, 5])
    assert np.array_equal(seen[0][0], [1, 1, 1])
    assert np.array_equal(seen[0][1], [2, 2])
    assert np.array_equal(seen[0][2], [0, 0, 0])  # what nobody used comes as zeros


def test_without_materialized_gradients_a_missing_one_is_none():
    seen = []

    def setup(ctx, inputs, output):
        ctx.set_materialize_grads(False)

    op = define("(Tensor x) -> (Tensor, Tensor[])", lambda x: (x * 1, [x * 2, x * 3]), lambda ctx, g, gs: seen.append((g, gs)) or gs[1], setup)
    np.sum(op(leaf())[1][1]).backward()
    assert seen[0][0] is None
    assert seen[0][1][0] is None
    assert np.array_equal(seen[0][1][1], [1, 1, 1])


def test_outputs_that_are_no_inexact_arrays_carry_no_gradient():
    seen = []

    def backward(ctx, g, order, count, text):
        seen.append((order, count, text))
        return g

    op = define("(Tensor x) -> (Tensor, Tensor, int, str)", lambda x: (x * 1, np.argsort(x), len(x), "t"), backward)
    first, order, count, text = op(leaf())
    assert isinstance(first, Tensor)
    assert (type(order), count, text) == (np.ndarray, 3, "t")
    np.sum(first).backward()
    assert seen == [(None, None, None)]
    integer = define("(Tensor x) -> Tensor", lambda x: np.argsort(x), lambda ctx, g: 1 / 0)
    assert type(integer(leaf())) is np.ndarray


def test_outputs_that_are_marked_come_out_untracked():
    def setup(ctx, inputs, output):
        ctx.mark_non_differentiable(output[1])

    op = define("(Tensor x) -> (Tensor, Tensor)", lambda x: (x * 1, x * 2), lambda ctx, g, h: g, setup)
    first, second = op(leaf())
    assert (isinstance(first, Tensor), type(second)) == (True, np.ndarray)
    alone = define("(Tensor x) -> Tensor", lambda x: x * 1, lambda ctx, g: 1 / 0, lambda ctx, i, o: ctx.mark_non_differentiable(o))
    assert type(alone(leaf())) is np.ndarray
    order = define("(Tensor x) -> (Tensor, Tensor)", lambda x: (x * 1, np.argsort(x)), lambda ctx, g, h: 2 * g, setup)
    x = leaf()
    order(x)[0].sum().backward()  # what is no floating-point array has no gradient as it is, and may be marked
    assert np.array_equal(x.grad, np.full(3, 2.0))
    wrong = define("(Tensor x) -> Tensor", lambda x: x * 1, lambda ctx, g: g, lambda ctx, i, o: ctx.mark_non_differentiable(i[0]))
    assert said(lambda: wrong(leaf())) == (
        f"{wrong.name}: mark_non_differentiable was given a value that is no output of the operator. "
        "Pass outputs as setup_context was given them."
    )
