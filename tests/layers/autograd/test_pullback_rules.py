"""Rows' derivatives: a pullback names what it reads, and nothing else is kept."""

import gc
import itertools
import weakref

import numpy as np
import pytest

import dispatch
from dispatch import grad, ops
from dispatch.core import DispatchKey, Tensor
from dispatch.dispatcher.layer import find_layer
from dispatch.errors import DefinitionError, GradientError
from dispatch.layers.autograd import CONSTANT, pullbacks
from dispatch.operators.registry import build
from dispatch.schema.schema import Schema

A = np.array([0.5, 1.0, 2.0])
_numbers = itertools.count()


def row(schema, kernel, **by_argument):
    schema = Schema.parse(schema, name=f"rowtests::op{next(_numbers)}")
    arguments = tuple(a.replace(numbers=True) if a.type.has_tensor else a for a in schema.arguments)
    op = build(schema.replace(arguments=arguments))
    op.register_at(DispatchKey.CPU, kernel)
    find_layer("autograd").attach(op, pullbacks(**by_argument) if by_argument else CONSTANT)
    return op


def leaf(x=A):
    return dispatch.tensor(x, requires_grad=True)


multiply = row("(Tensor x, Tensor y) -> Tensor", np.multiply, x=lambda g, y: ops.np.multiply(g, y), y=lambda g, x: ops.np.multiply(g, x))


@pytest.mark.parametrize("tracked", [(0,), (1,), (0, 1)])
def test_the_tracked_arguments_get_their_gradients_and_the_others_none(tracked):
    args = [leaf(x) if i in tracked else x for i, x in enumerate((A, A[::-1].copy()))]
    np.sum(multiply(*args)).backward()
    for i in tracked:
        assert np.array_equal(args[i].grad, [A[::-1], A][i])


def test_one_value_as_two_arguments():
    x = leaf()
    np.sum(multiply(x, x)).backward()
    assert np.array_equal(x.grad, 2 * A)


def test_python_numbers_pass_through_and_rules_see_them_as_numbers():
    seen = []
    op = row("(Tensor x, Tensor y) -> Tensor", np.multiply, x=lambda g, y, y_shape, y_dtype: seen.append((y, y_shape, y_dtype)) or g)
    op(leaf(A.astype("f4")), 3.0).backward(np.ones(3))
    assert seen == [(3.0, (), np.dtype("f8"))]


def test_a_pullback_reads_the_gradient_the_result_arguments_and_their_metadata():
    seen = {}

    def of_x(g, out, x, y, n, x_shape, x_dtype, y_shape, y_dtype):
        seen.update(locals())
        return g

    op = row("(Tensor x, Tensor y, int n=2) -> Tensor", lambda x, y, n: x * y * n, x=of_x)
    op(leaf(), A.astype("f4")).backward(A)
    assert {name: seen[name] for name in ("n", "x_shape", "x_dtype", "y_shape", "y_dtype")} == {
        "n": 2, "x_shape": (3,), "x_dtype": np.dtype("f8"), "y_shape": (3,), "y_dtype": np.dtype("f4")
    }  # fmt: skip
    assert np.array_equal(seen["g"], A)
    assert np.array_equal(seen["out"], A * A * 2)
    assert all(type(seen[name]) is np.ndarray for name in ("g", "out", "x", "y"))


def test_the_metadata_of_lists_is_a_list():
    seen = []
    op = row("(Tensor[] xs) -> Tensor", lambda xs: np.concatenate(xs), xs=lambda g, xs_shape, xs_dtype: seen.append((xs_shape, xs_dtype)) or [g[:3], g[3:]])
    x = leaf()
    np.sum(op([A[:3], x])).backward()
    assert seen == [([(3,), (3,)], [np.dtype("f8")] * 2)]
    assert np.array_equal(x.grad, np.ones(3))


def test_an_argument_without_a_pullback_does_not_make_the_result_tracked():
    op = row("(Tensor x, Tensor y) -> Tensor", np.multiply, x=lambda g: g)
    assert type(op(A, leaf())) is np.ndarray
    assert isinstance(op(leaf(), leaf()), Tensor)
    x, y = leaf(), leaf()
    np.sum(op(x, y)).backward()
    assert y.grad is None


def test_a_pullback_may_give_none():
    op = row("(Tensor x, Tensor y) -> Tensor", np.multiply, x=lambda g: None, y=lambda g, x: g * x)
    x, y = leaf(), leaf()
    np.sum(op(x, y)).backward()
    assert x.grad is None
    assert np.array_equal(y.grad, A)


def test_a_constant_comes_out_untracked():
    op = row("(Tensor x) -> Tensor", np.sign)
    assert type(op(leaf())) is np.ndarray
    assert type(row("(Tensor x) -> Tensor", lambda x: x > 1, x=lambda g: g)(leaf())) is np.ndarray


def test_what_no_pullback_reads_is_not_kept():
    reads_out = row("(Tensor x) -> Tensor", np.exp, x=lambda g, out: ops.np.multiply(g, out))
    reads_shape = row("(Tensor x, Tensor y) -> Tensor", np.multiply, x=lambda g, y_shape: g)
    gc.disable()
    try:
        inner = np.sin(leaf())
        value = weakref.ref(inner.value)
        out = reads_out(inner)
        del inner
        assert value() is None  # the graph goes on through it, its array does not
        out.backward(np.ones(3))
        y = A + 0
        kept = weakref.ref(y)
        out = reads_shape(leaf(), y)
        del y
        assert kept() is None
        result = weakref.ref(out.value)
        top = ops.np.sum(out)
        del out
        assert result() is None
        top.backward()
    finally:
        gc.enable()


def test_a_recorded_backward_hands_tracked_values_to_the_pullbacks():
    seen = []
    op = row("(Tensor x, Tensor y) -> Tensor", np.multiply, x=lambda g, x, y, out: seen.append((type(x), type(y), type(out))) or ops.np.multiply(g, y))
    np.sum(op(leaf(), A)).backward(create_graph=True)
    np.sum(op(leaf(), A)).backward()
    (x, y, out), plain = seen
    assert (x.__name__, y, out.__name__) == ("TrackedTensor", np.ndarray, "TrackedTensor")
    assert plain == (np.ndarray,) * 3


def test_a_name_that_is_nothing_to_read():
    op = row("(Tensor x, Tensor y) -> Tensor", np.multiply, x=lambda g, z: g)
    with pytest.raises(DefinitionError) as caught:
        op(leaf(), A)
    assert str(caught.value) == (
        f"{op.name}: a pullback reads 'z'. It may read g, out, an argument (x, y), or an argument's _shape, _dtype or _needed."
    )
    with pytest.raises(DefinitionError) as caught:
        pullbacks(x=lambda *args: args[0])
    assert str(caught.value) == "a pullback names what it reads; *args and **kwargs name nothing."


@pytest.mark.parametrize("name", ["multiply", "divide", "power", "maximum"])
def test_every_set_of_tracked_arguments_of_a_row_has_its_gradients(name):
    op, x, y = getattr(ops.np, name), A, A[::-1] + 0.25
    both = grad(lambda x, y: np.sum(op(x, y)), (0, 1))(x, y)
    assert np.array_equal(grad(lambda x: np.sum(op(x, y)))(x), both[0])
    assert np.array_equal(grad(lambda y: np.sum(op(x, y)))(y), both[1])


def test_of_an_argument_that_may_be_left_out_an_array_is_saved():
    op = row("(Tensor x, Tensor? y=None) -> Tensor", lambda x, y: x * (1 if y is None else y), x=lambda g, y: g if y is None else ops.np.multiply(g, y))
    for y, expected in ((A, A), (None, np.ones(3))):
        x = leaf()
        np.sum(op(x, y)).backward()
        assert np.array_equal(x.grad, expected)


# -- several results -------------------------------------------------------------------------------------------------------


def parts_of(seen):
    """The sine and the cosine, and how many there are; `seen` gets what the pullback was given."""

    def of_x(g, out):
        seen.append((g, out))
        (g_sin, g_cos, _), (sine, cosine, _) = g, out
        of_sine = None if g_sin is None else ops.np.multiply(g_sin, cosine)
        of_cosine = None if g_cos is None else ops.np.multiply(g_cos, ops.np.negative(sine))
        return of_sine if of_cosine is None else of_cosine if of_sine is None else ops.np.add(of_sine, of_cosine)

    return row("(Tensor x) -> (Tensor, Tensor, Tensor)", lambda x: (np.sin(x), np.cos(x), np.array(x.size)), x=of_x)


def test_of_several_results_those_without_a_gradient_give_none():
    seen = []
    op, x = parts_of(seen), leaf()
    sine, cosine, count = op(x)
    assert type(count) is np.ndarray  # an integer has no gradient
    np.sum(cosine).backward(retain_graph=True)
    assert np.array_equal(x.grad, -np.sin(A))
    x.grad = None
    np.sum(sine + 2 * cosine).backward()
    assert np.allclose(x.grad, np.cos(A) - 2 * np.sin(A), rtol=1e-15)
    assert [[part is None for part in g] for g, _ in seen] == [[True, False, True], [False, False, True]]
    assert all(type(part) is np.ndarray for _, out in seen for part in out)


def test_several_results_have_derivatives_of_every_order_both_ways():
    op = parts_of([])

    def f(x):
        sine, cosine, _ = op(x)
        return np.sum(sine * cosine)

    assert np.allclose(grad(f)(A), np.cos(2 * A))
    assert np.allclose(np.diagonal(dispatch.hessian(f)(A)), -2 * np.sin(2 * A))
    assert np.allclose(dispatch.jvp(grad(f), (A,), (np.ones(3),))[1], -2 * np.sin(2 * A))


def test_what_is_saved_of_several_results_cannot_be_changed():
    op = row("(Tensor x) -> (Tensor, Tensor)", lambda x: (np.sin(x), np.arange(1, 1 + x.size)), x=lambda g, out: ops.np.multiply(g[0], out[1]))
    x = leaf()
    sine, counts = op(x)
    counts[:] = 0
    with pytest.raises(ValueError, match="read-only"):
        np.asarray(dispatch.detach(sine))[:] = 0
    np.sum(sine).backward()
    assert np.array_equal(x.grad, [1, 2, 3])


def test_a_node_of_several_results_is_drawn_hooked_and_released():
    op, x = parts_of([]), leaf()
    sine, cosine, _ = op(x)
    node = sine.grad_fn
    assert node is cosine.grad_fn
    assert node.layouts == (((3,), np.dtype(float)), ((3,), np.dtype(float)), None)
    assert "(3,) float64, (3,) float64, -" in (sine + cosine).grad_fn.to_dot()
    shown = []
    node.register_hook(lambda inputs, outputs: shown.append((len(inputs), [g is None for g in outputs])))
    node.register_prehook(lambda outputs: (outputs[0] * 2, None, None))
    np.sum(sine).backward()
    assert shown == [(1, [False, True, True])]
    assert np.array_equal(x.grad, 2 * np.cos(A))
    assert node.nbytes == 0
    with pytest.raises(GradientError, match=r"backward reaches .* a second time"):
        np.sum(cosine).backward()


def test_a_result_that_nothing_was_asked_of_gives_no_gradient():
    op, x = parts_of([]), leaf()
    sine, _, _ = op(x)
    sine.grad_fn.register_prehook(lambda outputs: (None, None, None))
    np.sum(sine).backward()
    assert x.grad is None
