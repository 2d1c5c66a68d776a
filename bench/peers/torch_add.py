"""torch.add itself, written in C++: what the tracked and the transformed calls cost where nothing is in Python."""

import torch

from bench.peers.torch_tensors import chain, pushed, transformed
from bench.timing import Case

label = "torch's own (C++)"
__all__ = ["cases", "chain", "label"]


def cases() -> dict[str, Case]:
    """The calls with a gradient and under a transform; the plain one is the kernel itself."""
    return transformed(torch.add, torch.mul, torch.mul) | pushed(torch.add)
