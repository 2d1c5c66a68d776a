"""checkpoint: computed again in the backward, the same gradients, one node kept."""

import numpy as np
import pytest
from making import leaf, recorded, said

import dispatch
from dispatch import autograd, checkpoint, grad, vmap
from dispatch.errors import GradientError

A = np.array([0.5, 1.0, 2.0])
B = np.array([2.0, -1.0, 0.5])


def f(x, w):
    return np.sin(x * w) * np.exp(x)


def test_values_and_gradients_are_those_without_it():
    x, w = leaf(A), leaf(B)
    y = checkpoint(f)(x, w)
    assert np.array_equal(y.value, f(A, B))
    got = autograd.grad(np.sum(y), (x, w))
    for g, e in zip(got, autograd.grad(np.sum(f(x, w)), (x, w)), strict=True):
        assert np.array_equal(g, e)
    assert np.array_equal(checkpoint(f)(A, B), f(A, B))
    with dispatch.no_grad():
        assert type(checkpoint(f)(x, w)) is np.ndarray


def test_one_node_is_kept_and_the_rest_is_computed_again():
    calls = []
    op = recorded(
        "(Tensor x) -> Tensor",
        lambda x: calls.append(1) or np.cos(x),
        lambda ctx, g: -g * np.sin(ctx.saved_tensors[0]),
        lambda ctx, inputs, output: ctx.save_for_backward(*inputs),
    )
    x = leaf(np.ones(1000))
    y = checkpoint(lambda x: op(op(op(x))))(x)
    assert y.grad_fn.name() == "checkpointBackward"
    assert [node for node, _ in y.grad_fn.next_functions] == [x.kept]
    assert autograd.nbytes(y) == 8000
    assert len(calls) == 3
    np.sum(y).backward()
    assert len(calls) == 6
    assert autograd.nbytes(y) == 0
    assert np.array_equal(x.grad, autograd.grad(np.sum(op(op(op(x)))), x)[0])


def test_memory_grows_with_the_number_of_calls_and_not_with_what_they_compute():
    def layer(x):
        for _ in range(20):
            x = np.sin(x)
        return x

    x = leaf(np.ones(1000))
    y, z = x, x
    for _ in range(5):
        y, z = layer(y), checkpoint(layer)(z)
    assert autograd.nbytes(y) == 100 * 8000
    assert autograd.nbytes(z) == 5 * 8000
    (plain,), (again,) = autograd.grad(np.sum(y), x), autograd.grad(np.sum(z), x)
    assert np.array_equal(plain, again)


def test_closures_containers_and_keywords_get_their_gradients():
    x, w, v, u = (leaf(a) for a in (A, B, A + 1, B + 2))

    def g(params, *, scale, flags=()):
        return {"out": np.sin(params["x"] * w) * params["more"][0] * scale, "flags": flags}

    def of(g):
        out = g({"x": x, "more": [v]}, scale=u, flags=("a", 1))
        assert out["flags"] == ("a", 1)
        return autograd.grad(np.sum(out["out"]), (x, w, v, u))

    for got, expected in zip(of(checkpoint(g)), of(g), strict=True):
        assert np.array_equal(got, expected)


def test_several_outputs_of_which_some_are_used_or_given_back():
    x = leaf(A)

    def g(x):
        y = np.sin(x)
        return y, [y * x, y], x, 3

    def of(g):
        y, (z, same), given, three = g(x)
        assert (given is x, same is y, three) == (True, True, 3)
        return autograd.grad(np.sum(z * given), x, retain_graph=True) + autograd.grad(np.sum(y + z + same), x)

    for got, expected in zip(of(checkpoint(g)), of(g), strict=True):
        assert np.allclose(got, expected)


def test_nested_checkpoints():
    inner = checkpoint(lambda x: np.sin(np.exp(x)))
    x = leaf(A)
    y = checkpoint(lambda x: inner(inner(x)) * x)(x)
    assert autograd.nbytes(y) == A.nbytes
    expected = np.sin(np.exp(np.sin(np.exp(x)))) * x
    assert np.array_equal(autograd.grad(np.sum(y), x)[0], autograd.grad(np.sum(expected), x)[0])


def test_gradients_of_gradients_and_a_retained_graph():
    x, w = leaf(A), leaf(B)

    def of(f):
        y = np.sum(f(x, w))
        first = autograd.grad(y, (x, w), create_graph=True)
        second = autograd.grad(np.sum(first[0] * first[1]), (x, w), create_graph=True)
        third = autograd.grad(np.sum(second[0]), w, retain_graph=True)
        return [*(g.value for g in (*first, *second)), *third, *autograd.grad(y, x, retain_graph=True), *autograd.grad(y, x)]

    for got, expected in zip(of(checkpoint(f)), of(f), strict=True):
        assert np.allclose(got, expected, rtol=1e-13)


CASES = {
    "grad": lambda g: grad(lambda x: np.sum(g(x, B)))(A),
    "grad of grad": lambda g: grad(lambda x: np.sum(grad(lambda z: np.sum(g(z, x)))(x)))(A),
    "checkpoint around grad": lambda g: grad(lambda x: np.sum(checkpoint(grad(lambda z: np.sum(g(z, x))))(x)))(A),
    "vmap of grad": lambda g: vmap(grad(lambda x, w: np.sum(g(x, w))))(np.stack([A, B]), np.stack([B, A])),
    "grad of vmap": lambda g: grad(lambda x: np.sum(vmap(g)(x, np.stack([B, A]))))(np.stack([A, B])),
    "checkpoint around vmap": lambda g: grad(lambda x: np.sum(checkpoint(vmap(g))(x, np.stack([B, A]))))(np.stack([A, B])),
    "vmap": lambda g: vmap(g)(np.stack([A, B]), np.stack([B, A])),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_inside_transforms(case):
    assert np.allclose(case(checkpoint(f)), case(f), rtol=1e-13)


def test_a_transform_inside_a_recording_tape():
    w = leaf(B)

    def of(f):
        return autograd.grad(np.sum(grad(lambda x: np.sum(f(x, w)))(A)), w)[0]

    assert np.allclose(of(checkpoint(f)), of(f), rtol=1e-13)


def test_arguments_are_kept_as_they_were():
    x, plain = leaf(A), B.copy()
    y = x * 1
    out = checkpoint(f)(y, plain)
    plain[:] = 0
    y += 100
    assert np.allclose(autograd.grad(np.sum(out), x)[0], autograd.grad(np.sum(f(x, B)), x)[0])


def test_a_function_that_writes_to_what_it_was_given():
    def g(x):
        y = x * 1
        y += np.sin(x)
        y *= y
        return y

    x = leaf(A)
    assert np.allclose(autograd.grad(np.sum(checkpoint(g)(x)), x)[0], autograd.grad(np.sum(g(x)), x)[0])


def test_a_function_that_is_not_the_same_the_second_time():
    x, others = leaf(A), [leaf(B), leaf(A)]
    advice = (
        " when it ran again for the backward. It has to compute the same each time: make random generators and leaves outside it or "
        "inside it from a seed, and write to nothing that it closes over."
    )
    y = checkpoint(lambda x: x * others.pop())(x)
    raised = said(np.sum(y).backward, GradientError)
    assert raised.startswith("the checkpointed test_checkpoints.py:")
    assert raised.endswith(f" read other tracked values{advice}")
    shapes = [2, 3]
    y = checkpoint(lambda x: np.sin(x[: shapes.pop()]))(x)
    assert said(np.sum(y).backward, GradientError).endswith(f" gave results of other shapes or dtypes{advice}")
    y = checkpoint(lambda x: x * leaf(B))(x)
    assert said(np.sum(y).backward, GradientError).endswith(f" read other tracked values{advice}")


def test_an_exception_in_the_second_run_says_where():
    fails = [1 / 3, 0]
    y = checkpoint(lambda x: x * (1 / fails.pop(0)))(leaf(A))
    with pytest.raises(ZeroDivisionError) as caught:
        np.sum(y).backward()
    assert caught.value.__notes__ == ["in the backward of tape::checkpoint"]


def test_it_looks_as_the_function_does():
    assert checkpoint(f).__name__ == "f"
    assert checkpoint(f).__wrapped__ is f


@pytest.mark.torch
def test_torchs_checkpoint_gives_the_same():
    import torch
    from torch.utils.checkpoint import checkpoint as theirs

    x, w = leaf(A), leaf(B)
    got = autograd.grad(np.sum(checkpoint(lambda x: np.sin(x * w) * np.exp(x))(x)), (x, w))
    tx, tw = (torch.tensor(a, requires_grad=True) for a in (A, B))
    out = theirs(lambda x: torch.sin(x * tw) * torch.exp(x), tx, use_reentrant=False)
    for g, e in zip(got, torch.autograd.grad(out.sum(), (tx, tw)), strict=True):
        assert np.allclose(g, e.numpy(), rtol=1e-13)


RNG = np.random.default_rng(5)


class Noisy:
    def __init__(self, rng):
        self.rng = rng

    def draw(self, x):
        return x * self.rng.normal(size=3)


def with_closure(x, rng):
    return checkpoint(lambda x: x * rng.normal(size=3))(x)


DRAWING = {
    "of a closure": with_closure,
    "of the arguments": lambda x, rng: checkpoint(lambda x, rng: x * rng.normal(size=3))(x, rng),
    "in a container": lambda x, rng: checkpoint(lambda x, o: x * o["rng"].normal(size=3))(x, {"rng": rng}),
    "of the module": lambda x, rng: checkpoint(lambda x: x * RNG.normal(size=3))(x),
    "of numpy.random": lambda x, rng: checkpoint(lambda x: x * np.random.normal(size=3))(x),  # noqa: NPY002
    "of the object": lambda x, rng: checkpoint(Noisy(rng).draw)(x),
    "of a RandomState": lambda x, rng: with_closure(x, np.random.RandomState(2)),
}


@pytest.mark.parametrize("call", DRAWING.values(), ids=DRAWING)
def test_a_draw_is_the_same_in_the_second_run(call):
    rng, x = np.random.default_rng(1), leaf(np.ones(3))
    y = call(x, rng)
    between = rng.normal(), np.random.normal(), RNG.normal()  # noqa: NPY002
    np.sum(y).backward()
    assert np.array_equal(x.grad, y.value)
    after = rng.normal(), np.random.normal(), RNG.normal()  # noqa: NPY002
    assert not {*between} & {*after}  # they go on from where they were
