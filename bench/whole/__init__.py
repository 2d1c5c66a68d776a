"""Whole programs, one file a peer, with the same names in each.

``label``             what stands in the table
``digits``            ``digits(parameters, x, y) -> run``: a network's loss and its gradient; x and y are lists of batches
``gaussian_process``  ``gaussian_process(parameters, x, y) -> run``: a marginal likelihood and its gradient
``lorenz``            ``lorenz(parameters, start, observed) -> run``: the misfit of a trajectory, and its gradient

``run()`` gives a value and a dict of gradients, or an array, of NumPy. The programs are those of docs/gallery/; a peer that has
NumPy's functions under NumPy's names runs them as they stand there, with its own module in the place of ``np``.
"""

from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np

GALLERY = Path(__file__).parents[2] / "docs" / "gallery"
NAMES = ("digits", "gaussian_process", "lorenz")

Run = Callable[[], tuple[float, Any]]


def page(name: str, numpy: ModuleType = np) -> SimpleNamespace:
    """The functions of a page of the gallery, with ``numpy`` in the place of ``np``; its examples do not run."""
    path = GALLERY / f"{name}.py"
    scope: dict[str, Any] = {"__name__": name}
    exec(compile(path.read_text(encoding="utf-8"), str(path), "exec"), scope)
    scope["np"] = numpy
    return SimpleNamespace(**scope)
