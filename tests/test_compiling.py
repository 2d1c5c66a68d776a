"""A compiled function is the function, to the bit: programs at random, in place, through views, inside and outside of transforms."""

import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_programs import OURS, SHAPES, function, programs

import dispatch
from dispatch.errors import PerformanceWarning


def same(a, b):
    assert type(a) is type(b)
    a, b = np.asarray(a), np.asarray(b)
    assert (a.dtype, a.shape) == (b.dtype, b.shape)
    assert a.tobytes() == b.tobytes()


def arguments(seed):
    rng = np.random.default_rng(seed)
    return [rng.normal(size=shape) for shape in SHAPES]


HOWS = {
    "plain": (lambda f: dispatch.compile(f, fullgraph=True), lambda f: f),
    "gradient inside": (
        lambda f: dispatch.compile(dispatch.grad(f, argnums=1), fullgraph=True),
        lambda f: dispatch.grad(f, argnums=1),
    ),
    "gradient outside": (
        lambda f: dispatch.grad(dispatch.compile(f, fullgraph=True), argnums=1),
        lambda f: dispatch.grad(f, argnums=1),
    ),
}


@pytest.mark.parametrize("how", HOWS)
@given(source=programs(), seed=st.integers(0, 99))
def test_compiled_is_eager(how, source, seed):
    """The second call replays what the first traced."""
    f = function(source, OURS)
    compiled, eager = (make(f) for make in HOWS[how])
    for k in range(2):
        same(compiled(*arguments(seed + k)), eager(*arguments(seed + k)))


@given(source=programs(), seed=st.integers(0, 99))
def test_compiled_under_vmap_and_around_it(source, seed):
    f = function(source, OURS)
    xs = [np.stack([a, b]) for a, b in zip(arguments(seed), arguments(seed + 1), strict=True)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PerformanceWarning)
        wanted = dispatch.vmap(f)(*xs)
        inside = dispatch.compile(dispatch.vmap(f))
        for _ in range(2):
            same(inside(*xs), wanted)
            same(dispatch.vmap(dispatch.compile(f, fullgraph=True))(*xs), wanted)
