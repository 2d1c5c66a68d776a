"""Operators that draw: an error, one draw for all items, one for each."""

import itertools
from typing import Any

import making
import numpy as np
import pytest

from dispatch import Tag, custom_op, grad, vmap
from dispatch.errors import BatchingError

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


def test_a_generator_inside_draws_once_for_all_items():
    random = np.random.default_rng(1)
    found = vmap(lambda x: x + random.normal(size=4))(A) - A
    assert distinct(np.round(found, 9)) == 1
