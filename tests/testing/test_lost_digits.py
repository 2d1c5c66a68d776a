"""What is told of digits that were lost: jumps of single precision, and constants; nothing of kernels that approximate."""

import numpy as np
import pytest

import dispatch
from dispatch.testing.difference_quotients import Probe
from dispatch.testing.lost_digits import has_lost_digits, little_off, rounded, went_through_single

X = np.random.default_rng(1).normal(size=(3, 4)) + 2.0
SEEDS = [np.random.default_rng(2).normal(size=(3, 4))]


def operator(kernel, backward):
    op = dispatch.custom_op("lost::f", kernel, mutates_args=(), schema="(Tensor x) -> Tensor")

    def setup(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    op.register_autograd(lambda ctx, g: backward(g, *ctx.saved_tensors), setup_context=setup)
    return Probe.of(op, (X,))


NEARLY = np.eye(4)
NEARLY[1] = NEARLY[0] + 1e-9 * np.arange(4)  # of a condition of 1e9


def narrow(x):
    return np.asarray(x, np.float32).astype(float)


def steep(x):  # bends as much in a step of 1e-8 as single precision jumps
    return np.sin(20_000.0 * x)


NO_FAULT = {
    "exact": (lambda x: np.exp(x), lambda g, x: g * np.exp(x)),
    "a kernel in single precision": (lambda x: np.exp(narrow(x)), lambda g, x: g * np.exp(narrow(x))),
    "steep": (steep, lambda g, x: g * 20_000.0 * np.cos(20_000.0 * x)),
    "a kink": (lambda x: np.abs(x - X), lambda g, x: g * np.sign(x - X)),
    "ill-conditioned": (lambda x: np.exp(x), lambda g, x: np.linalg.solve(NEARLY * x[0, 0], (g * x).T).T),
}


@pytest.mark.parametrize("name", NO_FAULT)
def test_what_computes_in_double_precision_has_lost_nothing(name):
    probe = operator(*NO_FAULT[name])
    with np.errstate(all="ignore"):
        seeds = [np.ones_like(x) for _, x in probe.floats(probe.run(probe.arrays))]
        assert rounded(probe, list(probe.arrays), seeds) == []


@pytest.mark.parametrize(
    "backward",
    [
        lambda g, x: g * np.exp(narrow(x)),
        lambda g, x: narrow(g) * np.exp(x),
    ],
    ids=["what it saved", "what comes in"],
)
def test_one_factor_in_single_precision_is_told(backward):
    probe = operator(lambda x: np.exp(x), backward)
    assert rounded(probe, list(probe.arrays), SEEDS) == [0]


@pytest.mark.parametrize("factor", [float(np.float32(0.1)) / 0.1, 1.0001, 1 - 1e-6])
def test_a_constant_with_few_digits_is_told(factor):
    probe = operator(lambda x: np.sin(0.1 * x), lambda g, x: g * (0.1 * factor) * np.cos(0.1 * x))
    place, found = little_off(probe, X.size)
    assert place == 0
    assert found == pytest.approx(factor, abs=1e-9)


def test_an_approximation_and_an_exact_backward_differ_otherwise():
    series = lambda x: x - x**3 / 6 + x**5 / 120  # of the sine: off by more for larger values
    probe = operator(lambda x: series(x - 2.0), lambda g, x: g * np.cos(x - 2.0))
    assert little_off(probe, X.size) is None
    exact = operator(lambda x: np.sin(x), lambda g, x: g * np.cos(x))
    assert little_off(exact, X.size) is None


def test_values_that_all_fit_in_single_precision():
    wide = np.array([0.1, 0.3])
    assert has_lost_digits(narrow(wide), wide)
    assert not has_lost_digits(wide, wide)
    assert not has_lost_digits(narrow(wide), narrow(wide))


@pytest.mark.parametrize(
    ("output", "expected"),
    [
        (narrow(X), True), (narrow(X) * (1 + 1j), True), (X, False), (np.append(narrow(X), X[0, 0]), False),
        (np.round(X), False), (np.sign(X), False), (np.round(X * 16) / 16, False), (narrow(X).astype(np.float32), False),
        (np.full(3, np.nan), False), (np.zeros(3), False), (np.zeros(0), False), (np.array(["text"], object), False),
    ],
)  # fmt: skip
def test_a_result_that_went_through_single_precision(output, expected):
    assert went_through_single([X, np.asarray(3)], output) is expected
    assert not went_through_single([X, narrow(X)], output)  # it may be made of the one that fits
    assert not went_through_single([np.arange(3)], output)
