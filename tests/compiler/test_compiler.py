"""A compiled function is the function, to the bit: programs at random, in place, through views, inside and outside of transforms."""

import runpy
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_programs import OURS, SHAPES, function, programs

import dispatch
from dispatch.errors import PerformanceWarning

GALLERY = Path(__file__).parents[2] / "docs" / "gallery"


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


def page(name):
    return runpy.run_path(str(GALLERY / f"{name}.py"), run_name=name)


def test_crop_on_the_photograph():
    """The tutorial's program: a custom operator is not looked into, and nothing falls back."""
    photo = page("photograph")
    crop, paste = photo["crop"], photo["paste"]
    photograph, picture, face = photo["photograph"], photo["pic"], photo["FACE"]
    got = dispatch.compile(crop, fullgraph=True)(photograph, face)
    same(got, photo["face"])
    assert got.strides == photo["face"].strides

    def f(picture):
        return paste(picture * 0.5, 1.0 - crop(picture, face), (10, 10))

    same(dispatch.compile(f, fullgraph=True)(picture), f(picture))
    gradient = dispatch.grad(lambda picture: np.sum(f(picture) ** 2))
    same(dispatch.compile(gradient, fullgraph=True)(picture), gradient(picture))


def test_numpy_sin_in_both_forms():
    tutorial = page("torch_tutorials")
    sin, into = tutorial["numpy_sin"], tutorial["numpy_sin_into"]

    def f(x, output):
        into(x, output)
        return sin(output) * 2.0

    compiled = dispatch.compile(f, fullgraph=True)
    x = np.linspace(0.0, 3.0, 7)
    for _ in range(2):
        outputs = np.zeros(7), np.zeros(7)
        same(compiled(x, outputs[0]), f(x, outputs[1]))
        same(*outputs)


@pytest.mark.parametrize("batch", [1, 100])
def test_the_digits_network(batch):
    digits = page("digits")
    step = digits["step"]
    compiled = dispatch.compile(step, fullgraph=True)
    parameters, other = digits["initial"](0), digits["initial"](1)
    x, y = digits["pictures"][:batch], digits["labels"][:batch]
    for at in (parameters, other):
        (value, grads), (wanted, gradients) = compiled(at, x, y), step(at, x, y)
        same(value, wanted)
        assert list(grads) == list(gradients)
        for name, gradient in gradients.items():
            same(grads[name], gradient)
    assert len(compiled.entries) == 1
