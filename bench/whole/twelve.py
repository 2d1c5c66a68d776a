"""Twelve programs of the kind that HIPS autograd is used for, on plain NumPy and SciPy.

Each takes NumPy and the special functions, so that HIPS runs the same lines with its own, and returns a function and where its
value and gradient are asked for. The sizes are those of programs that wait for Python: a step takes a millisecond or some.
"""

from collections.abc import Callable
from itertools import pairwise
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np


class Special(NamedTuple):
    """The special functions that the programs call."""

    gammaln: Callable[..., Any]
    ndtr: Callable[..., Any]
    expit: Callable[..., Any]


Program = tuple[Callable[..., Any], Any]
LOG_2PI = float(np.log(2 * np.pi))


def draws() -> np.random.Generator:
    """The same numbers for each program."""
    return np.random.default_rng(0)


def _log_sum_exp(xp: Any, x: Any, axis: int) -> Any:
    top = xp.max(x, axis=axis, keepdims=True)
    return xp.squeeze(top, axis) + xp.log(xp.sum(xp.exp(x - top), axis=axis))


def logistic_regression(xp: Any, special: Special) -> Program:
    """The penalised likelihood of 200 truths."""
    rng = draws()
    inputs, truth = rng.normal(size=(200, 20)), rng.normal(size=20)
    targets = (inputs @ truth + rng.normal(size=200) > 0) * 2.0 - 1.0

    def loss(weights: Any) -> Any:
        return xp.sum(xp.log(1.0 + xp.exp(-targets * xp.dot(inputs, weights)))) + 0.1 * xp.dot(weights, weights)

    return loss, 0.1 * rng.normal(size=20)


def gaussian_process(xp: Any, special: Special) -> Program:
    """The marginal likelihood of 40 points, with a length for each of 3 inputs."""
    rng = draws()
    x = rng.normal(size=(40, 3))
    y = xp.sin(x[:, 0]) + 0.1 * rng.normal(size=40)

    def loss(parameters: Any) -> Any:
        noise, scale, lengths = xp.exp(parameters[0]), xp.exp(parameters[1]), xp.exp(parameters[2:])
        scaled = x / lengths
        apart = scaled[:, None, :] - scaled[None, :, :]
        cov = scale * xp.exp(-0.5 * xp.sum(apart**2, axis=2)) + noise * xp.eye(40)
        low = xp.linalg.cholesky(cov)
        solved = xp.linalg.solve(low, y)
        return 0.5 * xp.dot(solved, solved) + xp.sum(xp.log(xp.diag(low))) + 20 * LOG_2PI

    return loss, np.array([-2.0, 0.0, 0.1, -0.1, 0.2])


def neural_net(xp: Any, special: Special) -> Program:
    """A network of three layers, on a batch of 64."""
    rng = draws()
    sizes = [10, 32, 32, 4]
    weights = [(rng.normal(size=(m, n)) / m**0.5, 0.1 * rng.normal(size=n)) for m, n in pairwise(sizes)]
    x, y = rng.normal(size=(64, 10)), np.eye(4)[rng.integers(0, 4, 64)]

    def loss(layers: Any) -> Any:
        units, penalty = x, 0.0
        for w, b in layers:
            out = xp.dot(units, w) + b
            units = xp.tanh(out)
            penalty = penalty + xp.sum(w**2) + xp.sum(b**2)
        return -xp.sum((out - _log_sum_exp(xp, out, 1)[:, None]) * y) / 64 + 1e-3 * penalty

    return loss, weights


def convolution_net(xp: Any, special: Special) -> Program:
    """A convolution, the largest of each two by two, and a layer, on 16 pictures."""
    rng = draws()
    pictures, labels = rng.normal(size=(16, 12, 12)), np.eye(10)[rng.integers(0, 10, 16)]
    rows = np.arange(8)[:, None, None, None] + np.arange(5)[None, None, :, None]
    columns = np.arange(8)[None, :, None, None] + np.arange(5)[None, None, None, :]
    windows = pictures[:, rows, columns]
    filters, bias = 0.2 * rng.normal(size=(6, 5, 5)), 0.1 * rng.normal(size=6)
    last, last_bias = 0.1 * rng.normal(size=(96, 10)), 0.1 * rng.normal(size=10)

    def loss(layers: Any) -> Any:
        filters, bias, last, last_bias = layers
        units = xp.tanh(xp.einsum("nijkl,fkl->nfij", windows, filters) + bias[:, None, None])
        pooled = xp.max(xp.max(xp.reshape(units, (16, 6, 4, 2, 4, 2)), axis=5), axis=3)
        out = xp.dot(xp.reshape(pooled, (16, 96)), last) + last_bias
        return -xp.sum((out - _log_sum_exp(xp, out, 1)[:, None]) * labels)

    return loss, [filters, bias, last, last_bias]


def lstm(xp: Any, special: Special) -> Program:
    """Twelve steps of eight sequences."""
    rng = draws()
    inputs = np.eye(16)[rng.integers(0, 16, (12, 8))]
    names = ["change", "forget", "ingate", "outgate"]
    weights = {name: 0.2 * rng.normal(size=(16 + 20 + 1, 20)) for name in names}
    weights |= {name: 0.1 * rng.normal(size=(1, 20)) for name in ("hiddens", "cells")}
    weights["predict"] = 0.2 * rng.normal(size=(21, 16))
    ones = np.ones((8, 1))

    def loss(weights: Any) -> Any:
        hiddens, cells = xp.repeat(weights["hiddens"], 8, axis=0), xp.repeat(weights["cells"], 8, axis=0)
        total = 0.0
        for x in inputs:
            out = xp.dot(xp.hstack((hiddens, ones)), weights["predict"])
            total = total + xp.sum((out - _log_sum_exp(xp, out, 1)[:, None]) * x)
            both = xp.hstack((x, hiddens, ones))
            change = xp.tanh(xp.dot(both, weights["change"]))
            forget, ingate, outgate = [special.expit(xp.dot(both, weights[name])) for name in names[1:]]
            cells = cells * forget + ingate * change
            hiddens = outgate * xp.tanh(cells)
        return -total / 96

    return loss, weights


def hidden_markov_model(xp: Any, special: Special) -> Program:
    """The likelihood of 40 observations, whose gradient is what the E step of EM expects."""
    rng = draws()
    states, outputs = 8, 12
    observed = rng.integers(0, outputs, 40)
    sizes = ((states, None), (states, states), (outputs, states))
    parameters = [np.log(rng.dirichlet(np.ones(n), size)) for n, size in sizes]

    def loss(natural: Any) -> Any:
        log_start, log_change, log_output = natural
        log_alpha = log_start
        for y in observed:
            log_alpha = _log_sum_exp(xp, log_alpha[:, None] + log_change, 0) + log_output[:, y]
        return _log_sum_exp(xp, log_alpha, 0)

    return loss, parameters


def variational_inference(xp: Any, special: Special) -> Program:
    """The lower bound by 200 draws from a diagonal normal distribution."""
    rng = draws()
    noise = rng.normal(size=(200, 2))

    def log_density(x: Any) -> Any:
        mean, log_scale = x[:, 0], x[:, 1]
        of_scale = -0.5 * (log_scale / 1.35) ** 2
        return of_scale - 0.5 * (mean / xp.exp(log_scale)) ** 2 - log_scale

    def loss(parameters: Any) -> Any:
        mean, log_std = parameters[:2], parameters[2:]
        samples = noise * xp.exp(log_std) + mean
        return -(1.0 + LOG_2PI + xp.sum(log_std) + xp.mean(log_density(samples)))

    return loss, np.array([-1.0, -1.0, -0.5, -0.25])


def bayesian_optimisation(xp: Any, special: Special) -> Program:
    """The expected improvement at 8 points, of a Gaussian process that saw 20."""
    rng = draws()
    x, points = rng.uniform(size=(20, 2)), rng.uniform(size=(8, 2))
    y = np.sin(6 * x[:, 0]) * x[:, 1]
    cov = np.exp(-8 * np.sum((x[:, None] - x) ** 2, axis=2)) + 1e-4 * np.eye(20)
    inverse, best = np.linalg.inv(cov), float(y.max())

    def loss(points: Any) -> Any:
        near = xp.exp(-8 * xp.sum((points[:, None, :] - x[None, :, :]) ** 2, axis=2))
        mean = xp.dot(near, inverse @ y)
        std = xp.sqrt(1.0001 - xp.sum(xp.dot(near, inverse) * near, axis=1))
        z = (mean - best) / std
        return -xp.sum((mean - best) * special.ndtr(z) + std * xp.exp(-0.5 * z**2) / (2 * np.pi) ** 0.5)

    return loss, points


def negative_binomial(xp: Any, special: Special) -> Program:
    """The likelihood of 300 counts by the number of failures and the probability."""
    counts = draws().negative_binomial(4, 0.3, 300)

    def loss(parameters: Any) -> Any:
        failures, p = xp.exp(parameters[0]), special.expit(parameters[1])
        each = special.gammaln(counts + failures) - special.gammaln(failures) + counts * xp.log(p) + failures * xp.log(1 - p)
        return -xp.sum(each)

    return loss, np.array([0.5, -0.25])


def _advect(xp: Any, f: Any, vx: Any, vy: Any) -> Any:
    rows, columns = f.shape
    at_x, at_y = np.meshgrid(np.arange(columns), np.arange(rows))
    from_x, from_y = xp.ravel(at_x - vx), xp.ravel(at_y - vy)
    left, top = xp.floor(from_y).astype(int), xp.floor(from_x).astype(int)
    rw, bw = from_y - left, from_x - top
    left, right, top, bottom = xp.mod(left, rows), xp.mod(left + 1, rows), xp.mod(top, columns), xp.mod(top + 1, columns)
    first = (1 - bw) * f[left, top] + bw * f[left, bottom]
    return xp.reshape((1 - rw) * first + rw * ((1 - bw) * f[right, top] + bw * f[right, bottom]), (rows, columns))


def _around(xp: Any, f: Any) -> Any:
    return xp.roll(f, 1, axis=0) + xp.roll(f, -1, axis=0) + xp.roll(f, 1, axis=1) + xp.roll(f, -1, axis=1)


def fluid_simulation(xp: Any, special: Special) -> Program:
    """How far smoke is from a picture after four steps of a fluid on 20 by 20 cells."""
    rng = draws()
    smoke, picture = np.zeros((20, 20)), np.zeros((20, 20))
    smoke[5:10], picture[6:14, 6:14] = 1.0, 1.0

    def project(vx: Any, vy: Any) -> Any:
        h = 1.0 / 20
        div = -0.5 * h * (xp.roll(vx, -1, axis=0) - xp.roll(vx, 1, axis=0) + xp.roll(vy, -1, axis=1) - xp.roll(vy, 1, axis=1))
        p = np.zeros((20, 20))
        for _ in range(6):
            p = (div + _around(xp, p)) / 4.0
        vx = vx - 0.5 * (xp.roll(p, -1, axis=0) - xp.roll(p, 1, axis=0)) / h
        return vx, vy - 0.5 * (xp.roll(p, -1, axis=1) - xp.roll(p, 1, axis=1)) / h

    def loss(velocities: Any) -> Any:
        vx, vy = xp.reshape(velocities[:400], (20, 20)), xp.reshape(velocities[400:], (20, 20))
        f = smoke
        for _ in range(4):
            vx, vy = project(_advect(xp, vx, vx, vy), _advect(xp, vy, vx, vy))
            f = _advect(xp, f, vx, vy)
        return xp.mean((f - picture) ** 2)

    return loss, 0.1 * rng.normal(size=800)


def wing(xp: Any, special: Special) -> Program:
    """The lift by the drag of a wing in a wind, three steps on 16 by 24 cells."""
    start_x, start_y = np.ones((16, 24)), np.zeros((16, 24))
    mask = np.zeros((16, 24))
    mask[4:12, 4:12] = 1.0
    block = -np.ones((16, 24))
    block[6:10, 6:10] = 0.0

    def continuous(f: Any, free: Any, around: Any) -> Any:
        return f * free + (1 - free) * _around(xp, f * free) / (around + 0.001)

    def project(vx: Any, vy: Any, free: Any, around: Any) -> Any:
        div = -0.5 * (xp.roll(vx, -1, axis=1) - xp.roll(vx, 1, axis=1) + xp.roll(vy, -1, axis=0) - xp.roll(vy, 1, axis=0))
        div = continuous(div, free, around)
        p = np.zeros((16, 24))
        for _ in range(6):
            p = continuous((div + _around(xp, p)) / 4.0, free, around)
        vx = vx - 0.5 * (xp.roll(p, -1, axis=1) - xp.roll(p, 1, axis=1))
        return vx * free, (vy - 0.5 * (xp.roll(p, -1, axis=0) - xp.roll(p, 1, axis=0))) * free

    def loss(parameters: Any) -> Any:
        free = 1 - 0.5 * (xp.tanh(xp.reshape(parameters, (16, 24))) + 1.0) * mask
        around = _around(xp, free)
        vx, vy = project(start_x, start_y, free, around)
        for _ in range(3):
            vx, vy = project(_advect(xp, vx, vx, vy), _advect(xp, vy, vx, vy), free, around)
        return -xp.mean(vy - start_y) / xp.mean(start_x - vx)

    return loss, np.ravel(block) + 0.1 * draws().normal(size=384)


def mixture_model(xp: Any, special: Special) -> Program:
    """The likelihood of 300 points under five normal distributions of the plane."""
    rng = draws()
    points = rng.normal(size=(300, 2)) + 3 * rng.integers(-1, 2, (300, 1))
    parameters = {"log proportions": 0.1 * rng.normal(size=5), "means": rng.normal(size=(5, 2))}
    parameters["roots"] = np.eye(2) + 0.1 * rng.normal(size=(5, 2, 2))

    def loss(parameters: Any) -> Any:
        weights = parameters["log proportions"] - _log_sum_exp(xp, parameters["log proportions"], 0)
        each = []
        for k in range(5):
            root = parameters["roots"][k]
            low = xp.linalg.cholesky(xp.dot(root, root.T) + 0.1 * np.eye(2))
            solved = xp.linalg.solve(low, (points - parameters["means"][k]).T)
            each.append(weights[k] - 0.5 * xp.sum(solved**2, axis=0) - xp.sum(xp.log(xp.diag(low))) - LOG_2PI)
        return -xp.sum(_log_sum_exp(xp, xp.stack(each), 0))

    return loss, parameters


PROGRAMS: dict[str, Callable[[ModuleType, Special], Program]] = {
    f.__name__: f
    for f in (
        logistic_regression, gaussian_process, neural_net, convolution_net, lstm, hidden_markov_model, variational_inference,
        bayesian_optimisation, negative_binomial, fluid_simulation, wing, mixture_model,
    )
}  # fmt: skip
