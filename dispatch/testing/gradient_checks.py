"""`gradcheck`: compares gradients with central finite differences, for every element of every input."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..core import ground
from ..core.wrong_calls import holding
from ..errors import ArgumentError, GradcheckError, kind_of
from ..layers.autograd import TrackedTensor, track
from .closeness import tolerance
from .difference_quotients import Probe, compare, gradients, random_like

Function = Callable[..., Any]


@holding("raise_exception")
def gradcheck(
    f: Function, inputs: Any, *, eps: float = 1e-6, atol: float = 1e-5, rtol: float = 1e-3, raise_exception: bool = True
) -> bool:
    """Compare the gradients of a function with central finite differences.

    Parameters
    ----------
    f : callable
        Returns an array, or a tuple, list or dict of arrays. Arrays that are not floating-point are not compared.
    inputs : tuple
        Its arguments: arrays, lists of arrays and plain values. Derivatives are taken by the tracked ones,
        `dispatch.tensor(a, requires_grad=True)`; if there are none, by all arrays of float64 or complex128.
    eps : float
        The step of the differences: each element is moved by it, up and down.
    atol, rtol : float
        A derivative may differ from the numeric one by `atol + rtol * abs(numeric)`.
    raise_exception : bool
        Whether to raise if a derivative is wrong; if False, return False. Every other exception is raised in any case.

    Returns
    -------
    bool

    Raises
    ------
    GradcheckError
        With the single worst derivative.
    ArgumentError
        If there is nothing to differentiate by, or not in double precision.

    Examples
    --------
    >>> import dispatch
    >>> x = dispatch.tensor([[0.5, 1.0]], requires_grad=True)
    >>> gradcheck(lambda x: dispatch.ops.np.sin(x), (x,))
    True
    """
    _check_step(eps)
    tolerance(np.dtype(float), rtol=rtol, atol=atol)  # refuses what is none
    probe = Probe.of(f, inputs)
    for label, x in probe.differentiated():
        if x.dtype not in (np.float64, np.complex128):
            raise ArgumentError(
                f"gradcheck: input {label} has dtype {x.dtype}, in which finite differences are mostly rounding. "
                "Make it double: x.astype(np.float64)."
            )
    if not probe.floats(result := probe.run(probe.arrays)):
        raise ArgumentError(
            f"gradcheck is of a function that returns floating-point arrays, and this one returned {kind_of(result)}, which "
            "has no gradient."
        )
    found = compare(probe, eps=eps, atol=atol, rtol=rtol)
    if found is not None and raise_exception:
        raise GradcheckError(f"gradcheck: {found}")
    return found is None


@holding("raise_exception")
def gradgradcheck(
    f: Function, inputs: Any, *, eps: float = 1e-6, atol: float = 1e-5, rtol: float = 1e-3, raise_exception: bool = True
) -> bool:
    """Compare the second derivatives of a function with finite differences of its first ones.

    The function that is checked is the gradient, of the inputs and of the gradients of the outputs.

    Parameters
    ----------
    f, inputs, eps, atol, rtol, raise_exception
        As in `gradcheck`.

    Returns
    -------
    bool

    Raises
    ------
    GradcheckError
        With the single worst derivative.

    Examples
    --------
    >>> import dispatch
    >>> x = dispatch.tensor([0.5, 1.0], requires_grad=True)
    >>> gradgradcheck(lambda x: dispatch.ops.np.sin(x), (x,))
    True
    """
    _check_step(eps)
    tolerance(np.dtype(float), rtol=rtol, atol=atol)  # refuses what is none
    found = compare(gradient_probe(Probe.of(f, inputs)), eps=eps, atol=atol, rtol=rtol)
    if found is not None and raise_exception:
        raise GradcheckError(f"gradgradcheck: {found}")
    return found is None


def _check_step(eps: Any) -> None:
    if isinstance(eps, bool) or not isinstance(eps, (int, float)) or not 0 < eps < math.inf:
        given = f"{eps}" if isinstance(eps, (int, float)) else kind_of(eps)
        raise ArgumentError(f"gradcheck: eps is the step of the differences, a number above 0, and was given as {given}.")


def gradient_probe(first: Probe) -> Probe:
    """Return the gradient of a function as a function of the inputs and of the gradients of the outputs."""
    names = [label for label, _ in first.differentiated()]
    random = np.random.default_rng(0)
    cotangents = [random_like(random, x) for _, x in first.floats(first.run(first.arrays))]
    given = [x for _, x in first.differentiated()]

    def gradient(*args: Any) -> list[Any]:
        leaves = [x if isinstance(x, TrackedTensor) else track(x.copy(), ground()) for x in args]
        wanted, incoming = leaves[: len(given)], list(args[len(given) :])
        arrays: list[Any] = list(first.arrays)
        for place, leaf in zip(first.places, wanted, strict=True):
            arrays[place] = leaf
        outputs = [x for _, x in first.floats(first.f(*first.arguments(arrays)))]
        recording = any(isinstance(x, TrackedTensor) for x in args)
        return gradients(list(zip(outputs, incoming, strict=True)), wanted, create_graph=recording)

    inside = tuple(track(x.copy(), ground()) for x in (*given, *cotangents))
    probe = Probe.of(gradient, inside, names=(*names, *(f"gradient {i}" for i in range(len(cotangents)))))
    return probe._replace(output_names=tuple(f"gradient of {name}" for name in names))
