"""PyTorch, eager: the programs of the gallery written again, operation by operation, for its names differ from NumPy's."""

from math import log, pi
from typing import Any

import torch
from torch import Tensor

from bench.whole import Run, page

torch.set_num_threads(1)

label = "torch, eager"


def digits(parameters: Any, x: Any, y: Any) -> Run:
    """The last value and gradient of one for each batch."""
    own = {name: torch.tensor(p, requires_grad=True) for name, p in parameters.items()}
    batches = [(torch.tensor(pictures), torch.tensor(labels)) for pictures, labels in zip(x, y, strict=True)]

    def loss(pictures: Tensor, labels: Tensor) -> Tensor:
        hidden = torch.relu(pictures @ own["inner"] + own["shift"])
        s = hidden @ own["outer"] + own["bias"]
        s = s - torch.amax(s, dim=1, keepdim=True)
        return torch.mean(torch.log(torch.sum(torch.exp(s), dim=1)) - torch.sum(s * labels, dim=1))

    def run() -> Any:
        for pictures, labels in batches:
            for p in own.values():
                p.grad = None
            value = loss(pictures, labels)
            value.backward()  # type: ignore[no-untyped-call]  # torch's own signature
        return value.item(), {name: p.grad.numpy() for name, p in own.items() if p.grad is not None}

    return run


def gaussian_process(parameters: Any, x: Any, y: Any) -> Run:
    """The value and gradient at one point."""
    x, y = torch.tensor(x), torch.tensor(y)
    n = len(x)

    def likelihood(p: Tensor) -> Tensor:
        length, height = torch.exp(p[0]), torch.exp(p[1])
        distance = (x[:, None] - x[None, :]) / length
        k = height**2 * torch.exp(-0.5 * distance**2) + torch.exp(2 * p[2]) * torch.eye(n, dtype=p.dtype)
        factor = torch.linalg.cholesky(k)
        whitened = torch.linalg.solve(factor, y)
        return 0.5 * torch.sum(whitened**2) + torch.sum(torch.log(torch.diagonal(factor))) + 0.5 * n * log(2 * pi)

    return _at(likelihood, parameters)


def lorenz(parameters: Any, start: Any, observed: Any) -> Run:
    """The value and gradient at one point."""
    own = page("lorenz", torch)  # stack and mean have one name in both
    begin, seen = torch.tensor(start), torch.tensor(observed)
    return _at(lambda p: own.misfit(p, begin, seen), parameters)


def _at(function: Any, parameters: Any) -> Run:
    def run() -> Any:
        p = torch.tensor(parameters, requires_grad=True)
        value = function(p)
        value.backward()
        return value.item(), p.grad.numpy()  # type: ignore[union-attr]  # a leaf that the value depends on has one

    return run
