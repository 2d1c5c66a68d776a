"""Operators that draw: an error, one draw for all items, one for each."""

import functools
import itertools
import random
import subprocess
import sys
from typing import Any

import making
import numpy as np
import pytest

import dispatch
from dispatch import Tag, custom_op, grad, vmap
from dispatch.errors import BatchingError
from dispatch.layers.vmap import RANDOMNESS

A = np.arange(12.0).reshape(3, 4) + 1
RANDOM = np.random.default_rng(0)
UNDECIDED = (
    "{} draws from a random generator, and vmap was not told whether for all items or for each. Write "
    "vmap(f, randomness='different') for a draw for each item, or 'same' for one that all have; jacfwd takes it too, and "
    "hessian(f) is jacfwd(jacrev(f), randomness='same')."
)


@custom_op("test_vmap_draws::noisy", mutates_args=(), tags=Tag.random)
def noisy(x: np.ndarray, rng: Any) -> np.ndarray:
    return x + rng.normal(size=x.shape)


@custom_op("test_vmap_draws::draw", mutates_args=(), tags=Tag.nondeterministic_seeded)
def draw(n: int) -> np.ndarray:
    return RANDOM.normal(size=n)


@custom_op("test_vmap_draws::two", mutates_args=(), tags=Tag.random)
def two(n: int) -> tuple[np.ndarray, list[np.ndarray]]:
    return np.asarray(RANDOM.normal()), [RANDOM.normal(size=n), np.asarray(RANDOM.normal())]


@custom_op("test_vmap_draws::number", mutates_args=(), tags=Tag.random)
def number(n: int) -> float:
    return RANDOM.normal() * n


@custom_op("test_vmap_draws::hidden", mutates_args=(), tags=Tag.random)
def hidden(x: np.ndarray) -> np.ndarray:
    return x + RANDOM.normal()


def said(call):
    return making.said(call, BatchingError)


def distinct(x):
    """How many different items."""
    return len(np.unique(np.asarray(x).reshape(len(x), -1), axis=0))


def test_an_operator_that_draws_raises_until_it_is_told_for_whom():
    assert said(lambda: vmap(lambda x: noisy(x, RANDOM))(A)) == UNDECIDED.format("test_vmap_draws::noisy")
    assert said(lambda: vmap(lambda x: x + draw(4))(A)) == UNDECIDED.format("test_vmap_draws::draw")
    assert said(lambda: vmap(lambda x: x + draw(4), randomness="error")(A)) == UNDECIDED.format("test_vmap_draws::draw")
    assert draw(4).shape == (4,)


@pytest.mark.parametrize(("randomness", "count"), [("same", 1), ("different", 3)])
def test_one_draw_for_all_or_one_for_each(randomness, count):
    for f in (
        lambda x: noisy(x, RANDOM) - x,
        lambda x: draw(4) + 0 * x,
        lambda x: draw(2),
        lambda x: two(2)[0] + 0 * x,
        lambda x: two(2)[1][0],
        lambda x: two(2)[1][1],
        lambda x: noisy(x[0] * 0, RANDOM),
    ):
        found = vmap(f, randomness=randomness)(A)
        assert len(found) == 3
        assert distinct(np.round(found, 9)) == count


def test_the_same_draw_is_the_next_one_of_the_generator_which_goes_on():
    plain, mapped = np.random.default_rng(5), np.random.default_rng(5)
    expected = noisy(A[0], plain)
    assert np.array_equal(vmap(lambda x: noisy(x, mapped), randomness="same")(A)[0], expected)
    assert plain.normal() == mapped.normal()


def test_different_draws_are_those_of_a_loop():
    plain, mapped = np.random.default_rng(5), np.random.default_rng(5)
    expected = np.stack([noisy(x, plain) for x in A])
    assert np.array_equal(vmap(lambda x: noisy(x, mapped), randomness="different")(A), expected)


def test_the_same_draw_needs_a_generator_that_can_be_wound_back():
    assert said(lambda: vmap(hidden, randomness="same")(A)) == (
        "test_vmap_draws::hidden: one draw for all items was asked, randomness='same', and its generator is none of its arguments, so "
        "that the loop over the items cannot wind it back. Pass it a NumPy Generator, or register a vmap rule, which reads "
        "info.randomness."
    )


def test_a_rule_reads_info_randomness():
    op = custom_op("test_vmap_draws::ruled", lambda x: x + RANDOM.normal(), mutates_args=(), schema="(Tensor x) -> Tensor", tags=Tag.random)
    seen = []

    @op.register_vmap
    def _(info, in_dims, x):
        seen.append((info.batch_size, info.randomness, repr(info)))
        count = info.batch_size if info.randomness == "different" else 1
        return np.moveaxis(x, in_dims[0], 0) + RANDOM.normal(size=(count, *(1,) * (x.ndim - 1))), 0

    assert distinct(np.round(vmap(op, randomness="same")(A) - A, 9)) == 1
    assert distinct(np.round(vmap(op, 1, randomness="different")(A) - A.T, 9)) == 4
    assert said(lambda: vmap(op)(A)) == UNDECIDED.format("test_vmap_draws::ruled")
    assert seen == [
        (3, "same", "Batch(batch_size=3, randomness='same')"),
        (4, "different", "Batch(batch_size=4, randomness='different')"),
    ]


def test_every_rule_is_told():
    seen = []
    op = making.batched("(Tensor x) -> Tensor", lambda x: x, lambda info, in_dims, x: seen.append(info.randomness) or (x, 0))
    for randomness in ("error", "same", "different"):
        vmap(op, 0, 0, randomness)(A)
    assert seen == ["error", "same", "different"]


@pytest.mark.parametrize(("outer", "inner"), list(itertools.product(["same", "different", "error"], repeat=2)))
@pytest.mark.parametrize("batched", ["by none", "by the outer", "by the inner", "by both"])
def test_each_level_says_it_for_itself(outer, inner, batched):
    """A draw per item of those levels that ask for it, whichever of them the arguments are batched by."""

    def f(x):
        def g(y):
            given = {"by none": np.zeros(()), "by the outer": 0 * x[0], "by the inner": 0 * y, "by both": 0 * x[0] * y}[batched]
            return noisy(given, RANDOM)

        return vmap(g, randomness=inner)(np.arange(2.0))

    def run():
        return vmap(f, randomness=outer)(A)

    if "error" in {outer, inner}:
        assert said(run) == UNDECIDED.format("test_vmap_draws::noisy")
        return
    found = run()
    assert found.shape == (3, 2)
    assert len(np.unique(found)) == (3 if outer == "different" else 1) * (2 if inner == "different" else 1)


def test_gradients_inside_and_outside():
    found = vmap(grad(lambda x: np.sum(x * draw(4))), randomness="different")(A)
    assert distinct(np.round(found, 9)) == 3
    found = grad(lambda x: np.sum(vmap(lambda y: y * draw(4), randomness="different")(x)))(A)
    assert distinct(np.round(found, 9)) == 3


def test_a_number_for_each_item_is_an_array():
    assert type(vmap(lambda x: x * number(2), randomness="same")(A)) is np.ndarray
    assert said(lambda: vmap(lambda x: x * number(2), randomness="different")(A)) == (
        "test_vmap_draws::number returns float, and a different one for each item was asked where no batched value reaches it. "
        "Let it return an array, np.ndarray, which can be a batch."
    )


def test_an_empty_batch_has_no_draw_of_its_own():
    assert vmap(lambda x: draw(2), randomness="different")(A[:0]).shape == (0, 2)


# -- a Generator that the function itself draws from -------------------------------------------------------------------------


class Noisy:
    def __init__(self, rng):
        self.rng = rng

    def __call__(self, x):
        return self.step(x)

    def step(self, x):
        return x + self.rng.normal(size=4)


shared = np.random.default_rng(1)
OWN = {  # a function that draws by itself, and what the message calls the generator
    "closed over": (lambda rng: lambda x: x + rng.normal(size=4), "the Generator 'rng'"),
    "global": (lambda rng: lambda x: x + shared.normal(size=4), "the Generator 'shared'"),
    "of an object": (lambda rng: Noisy(rng).step, "the Generator 'self.rng'"),
    "numpy.random": (lambda rng: lambda x: x + np.random.normal(size=4), "numpy.random"),  # noqa: NPY002
    "Python's module": (lambda rng: lambda x: x + random.random(), "random"),
    "Python's own": (lambda rng: lambda x, r=random.Random(1): x + r.random(), "the Generator 'r'"),  # noqa: B008
    "a default": (lambda rng: lambda x, r=np.random.RandomState(1): x + r.normal(size=4), "the Generator 'r'"),  # noqa: B008
    "a default by name": (lambda rng: lambda x, *, r=rng: x + r.normal(size=4), "the Generator 'r'"),
    "a partial's keyword": (lambda rng: functools.partial(lambda x, r: x + r.normal(size=4), r=rng), "the Generator 'r'"),
    "an object that is called": (Noisy, "the Generator 'self.rng'"),
    "inside of grad": (lambda rng: dispatch.grad(lambda x: np.sum(x * x + x * rng.normal(size=4))), "the Generator 'rng'"),
    "a partial": (lambda rng: functools.partial(lambda y, x: x + y + rng.normal(size=4), 1.0), "the Generator 'rng'"),
}


@pytest.mark.parametrize("chunk_size", [None, 2])
@pytest.mark.parametrize("randomness", RANDOMNESS)
@pytest.mark.parametrize("which", OWN)
def test_one_draw_for_all_items_is_refused_unless_it_was_asked_for(which, randomness, chunk_size):
    make, who = OWN[which]
    f = make(np.random.default_rng(1))
    run = vmap(f, randomness=randomness, chunk_size=chunk_size)
    if randomness == "same":
        kept = {"inside of grad": 2 * A, "a partial": A + 1}.get(which, A)
        assert distinct(np.round(run(A) - kept, 9)) == (1 if chunk_size is None else 2)
        return
    with pytest.raises(BatchingError) as caught:
        run(A)
    told = " and vmap(f, randomness='different')" if randomness == "error" else ""
    said = str(caught.value)
    assert said.endswith(
        f" draws from {who} itself, which is one draw for all items of a vmap. Write dispatch.numpy.random.normal(rng, loc, scale, "
        f"size) in it{told} for a draw for each item, or vmap(f, randomness='same') where all shall have one."
    )


def test_the_first_draw_of_a_process_is_seen():
    program = (
        "import sys, numpy as np, dispatch\n"
        "run = dispatch.vmap(lambda x: x + np.random.normal())\n"
        "try:\n    run(np.zeros(3))\nexcept dispatch.errors.BatchingError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("<lambda> draws from numpy.random itself, which is one draw for all items of a vmap.")


def test_a_generator_among_the_arguments_is_seen_too():
    def f(x, rng):
        return x + rng.normal(size=4)

    for run in (lambda: vmap(f, (0, None))(A, np.random.default_rng(1)), lambda: vmap(f)(A, rng=np.random.default_rng(1))):
        with pytest.raises(BatchingError, match="itself, which is one draw for all items"):
            run()


def test_a_generator_that_nothing_draws_from_is_left_alone():
    rng = np.random.default_rng(1)
    np.testing.assert_array_equal(vmap(lambda x: x * (rng is not None))(A), A)
    found = vmap(lambda x: x + dispatch.numpy.random.normal(rng, size=4), randomness="different")(A) - A
    assert distinct(np.round(found, 9)) == len(A)
    other = np.random.default_rng(1)
    np.testing.assert_allclose(found, [other.normal(size=4) for _ in A])


def test_vectorize_and_compile_do_not_share_a_draw_in_silence():
    rng = np.random.default_rng(1)
    with pytest.raises(BatchingError, match=r"^noisy draws from the Generator 'rng' itself.*in it for a draw for each item"):

        def noisy(x):
            return x + rng.normal()

        dispatch.vectorize(noisy)(A)
    for randomness in ("error", "different"):
        f = vmap(lambda x: x + rng.normal(size=4), randomness=randomness)
        with pytest.raises(BatchingError, match="itself, which is one draw"):
            dispatch.compile(f)(A)
