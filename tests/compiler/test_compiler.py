"""A compiled function is the function, to the bit: programs at random, in place, through views, inside and outside of transforms."""

import runpy
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy_programs import smooth_programs

import dispatch
from dispatch.errors import PerformanceWarning

GALLERY = Path(__file__).parents[2] / "docs" / "gallery"


def same(a, b):
    assert type(a) is type(b)
    a, b = np.asarray(a), np.asarray(b)
    assert (a.dtype, a.shape) == (b.dtype, b.shape)
    assert a.tobytes() == b.tobytes()


def gradients(f):
    return lambda *args: dispatch.grad(f, argnums=tuple(range(len(args))))(*args)


HOWS = {
    "plain": (lambda f: dispatch.compile(lambda *args: (f(*args),), fullgraph=True), lambda f: lambda *args: (f(*args),)),
    "gradient inside": (lambda f: dispatch.compile(gradients(f), fullgraph=True), gradients),
    "gradient outside": (lambda f: gradients(dispatch.compile(f, fullgraph=True)), gradients),
}


@pytest.mark.parametrize("how", HOWS)
@given(program=smooth_programs(), seed=st.integers(0, 99))
def test_compiled_is_eager(how, program, seed):
    """The second call replays what the first traced."""
    f = program.number()
    compiled, eager = (make(f) for make in HOWS[how])
    for k in range(2):
        for a, b in zip(compiled(*program.inputs(seed + k)), eager(*program.inputs(seed + k)), strict=True):
            same(a, b)


@given(program=smooth_programs(), seed=st.integers(0, 99))
def test_compiled_under_vmap_and_around_it(program, seed):
    f = program.number()
    xs = [np.stack([a, b]) for a, b in zip(program.inputs(seed), program.inputs(seed + 1), strict=True)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PerformanceWarning)
        wanted = dispatch.vmap(f)(*xs)
        inside = dispatch.compile(dispatch.vmap(f))
        for _ in range(2):
            same(inside(*xs), wanted)
            # What compiles is one item, whose copies go; so a sum may run over another layout of the batch, in another order.
            np.testing.assert_allclose(dispatch.vmap(dispatch.compile(f, fullgraph=True))(*xs), wanted, rtol=1e-12)


def test_a_ufunc_that_writes_to_an_array_that_dies_is_told_so_by_name():
    """NumPy deprecates a third array by position for these two: the test would fail of its warning."""
    x = np.linspace(-1.0, 1.0, 24).reshape(2, 3, 4)
    f = dispatch.compile(lambda x: np.maximum(np.minimum(np.sin(x) * 2.0, 0.5), -0.5), fullgraph=True)
    for _ in range(2):
        same(f(x), np.maximum(np.minimum(np.sin(x) * 2.0, 0.5), -0.5))


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
