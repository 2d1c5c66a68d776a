"""Gradients of some values with respect to others, as `torch.autograd` has them: `backward` and `grad`."""

from typing import Any

import numpy as np

from ...core import check_open
from ...core.array_memory import owned
from ...core.pytree import leaves, mapped
from ...core.wrong_calls import clear
from ...errors import GradientError, check_flag, how_many, kind_of
from ..derivatives import zeros
from .backward_graph import Leaf, Output
from .engine import add_to_leaves
from .inputs import gradients_at
from .tensor import TrackedTensor, add_at, checked_inputs, path_of, seed_of
from .visualize import kept_bytes, nodes_from


@clear
def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    *,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    allow_unused: bool = False,
    materialize: bool = False,
) -> Any:
    """Return the gradients of recorded values with respect to others. No `.grad` changes.

    Parameters
    ----------
    outputs : TrackedTensor or container of these
        The values to differentiate; the sum of them if they are several.
    inputs : TrackedTensor or container of these
        The values to differentiate by: leaves, or values that were computed.
    grad_outputs : array_like or container of these, optional
        For each output, the gradient of the final result with respect to it, of its shape. A 0-d output needs none: None is 1.
    retain_graph : bool, optional
        Whether to keep what the recorded calls saved, for another backward; by default as `create_graph` says.
    create_graph : bool
        Whether to record the backward, so that the gradients can be differentiated again.
    allow_unused : bool
        Whether to return None for an input on which no output depends. By default it raises.
    materialize : bool
        Whether to return zeros for such an input.

    Returns
    -------
    tuple, dict or record
        The gradients, each of the shape and dtype of its input. One input or a sequence of them gives a tuple, as in torch;
        a dict or a record gives one like it.

    Raises
    ------
    GradientError
        If no output depends on an input, if an output or an input is not tracked, if a gradient has another shape, or if what
        a recorded call saved was freed by an earlier backward.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> x = dispatch.tensor([1.0, 2.0], requires_grad=True)
    >>> y = x * x
    >>> dispatch.autograd.grad(np.sum(3 * y), (x, y))
    (array([ 6., 12.]), array([3., 3.]))
    >>> x.grad is None
    True
    """
    if not (allow_unused or materialize):
        _check_order(outputs, inputs)
    found, seeds = _begun(outputs, grad_outputs, "autograd.grad")
    _check_flags(retain_graph=retain_graph, create_graph=create_graph, allow_unused=allow_unused, materialize=materialize)
    level = found[0].level
    values = checked_inputs(inputs, level, "autograd.grad")
    keep = create_graph if retain_graph is None else retain_graph
    grads = gradients_at([x.kept for x in values], [y.kept for y in found], seeds, level, keep, create_graph)
    grads.reverse()
    made: list[Any] = []
    taken: set[Any] = set()
    for place, x in enumerate(values):
        grad, edge = grads.pop(), x.kept
        if grad is None and not (allow_unused or materialize):
            raise GradientError(
                f"autograd.grad was asked for a gradient at inputs{path_of(inputs, place)}, of shape {x.shape} and "
                f"dtype {x.dtype}, and the outputs do not depend on it. Pass materialize=True for zeros, or allow_unused=True "
                "for None."
            )
        if grad is None and materialize:
            grad = zeros(edge.layout, x.value)
        elif not isinstance(edge, Leaf) or edge in taken:
            grad = owned(grad)  # a value in the middle, whose gradient has gone on; a leaf that was asked for twice
        taken.add(edge)
        made.append(grad)
    if isinstance(inputs, TrackedTensor):
        return tuple(made)
    ready = iter(made)
    if isinstance(inputs, (list, tuple)) and not hasattr(inputs, "_fields"):
        return tuple(mapped(lambda _: next(ready), x) for x in inputs)
    return mapped(lambda _: next(ready), inputs)


@clear
def backward(
    tensors: Any, grad_tensors: Any = None, retain_graph: bool | None = None, create_graph: bool = False, *, inputs: Any = None
) -> None:
    """Compute the gradients of several values at once, and add them to the `.grad` of every leaf they were computed from.

    Parameters
    ----------
    tensors : TrackedTensor or container of these
    grad_tensors : array_like or container of these, optional
        For each value, the gradient of the final result with respect to it, of its shape. A 0-d value needs none: None is 1.
    retain_graph, create_graph, inputs
        As in `TrackedTensor.backward`.

    Raises
    ------
    GradientError
        As from `TrackedTensor.backward`; also if a value is not tracked, or they belong to different transforms.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> x = dispatch.tensor([1.0, 2.0], requires_grad=True)
    >>> dispatch.autograd.backward([np.sum(x), x * x], [None, np.array([0.0, 1.0])])
    >>> x.grad
    array([1., 5.])
    """
    found, seeds = _begun(tensors, grad_tensors, "autograd.backward")
    _check_flags(retain_graph=retain_graph, create_graph=create_graph)
    roots, level = [y.kept for y in found], found[0].level
    keep = create_graph if retain_graph is None else retain_graph
    if inputs is not None:
        add_at(inputs, roots, seeds, level, keep, create_graph)
    else:
        add_to_leaves(roots, seeds, level, keep, create_graph)


@clear
def nbytes(*values: Any) -> int:
    """Return how many bytes of arrays the tape keeps for the backward of some values.

    Parameters
    ----------
    *values : TrackedTensor, or container of these
        A value that is not tracked keeps nothing.

    Returns
    -------
    int
        In bytes. Memory that several recorded calls keep, or several views share, counts once. Arrays that your program
        holds as well count too.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> x = dispatch.tensor(np.ones(1000), requires_grad=True)
    >>> dispatch.autograd.nbytes(x + 1), dispatch.autograd.nbytes(np.sin(x))
    (0, 8000)
    """
    edges = [x.kept for x in leaves(values) if isinstance(x, TrackedTensor)]
    return kept_bytes(nodes_from([edge.node if isinstance(edge, Output) else edge for edge in edges]))


def _check_flags(**flags: Any) -> None:
    """Refuse what is no flag: the text "False" is true."""
    for name, flag in flags.items():
        if flag is not None:
            check_flag(flag, name)


def _check_order(outputs: Any, inputs: Any) -> None:
    """Refuse outputs that are leaves and inputs that are none: they were given in each other's place."""
    kinds = [isinstance(x.kept, Leaf) for x in (outputs, inputs) if isinstance(x, TrackedTensor)]
    if kinds == [True, False]:
        raise GradientError(
            "autograd.grad was asked to begin at a leaf, which depends on nothing, and to end at the result of an operator. "
            "The outputs come first: autograd.grad(outputs, inputs)."
        )


NO_GRAPH = " A gradient depends on x where create_graph=True was given to the call that made it."


def _begun(outputs: Any, gradients: Any, who: str) -> tuple[list[TrackedTensor], list[Any]]:
    """Return the values that a backward begins at, and the gradients that it begins with."""
    found: list[Any] = [outputs] if isinstance(outputs, TrackedTensor) else list(leaves(outputs))
    if not found:
        raise GradientError(f"{who} was given no outputs to begin at.")
    for place, y in enumerate(found):
        if not isinstance(y, TrackedTensor):
            raise GradientError(
                f"{who} was asked to begin at outputs{path_of(outputs, place)}, which is {kind_of(y)} and not tracked: it does "
                "not depend on a value that requires a gradient. Begin with x = dispatch.tensor(a, requires_grad=True), or "
                f"write dispatch.grad(f)(x).{NO_GRAPH if isinstance(y, (np.ndarray, np.generic)) else ''}"
            )
        check_open(y)
        if y.level is not found[0].level:
            raise GradientError(
                f"{who} was given outputs of two tapes, of {found[0].level!r} and of {y.level!r}. Begin at those of one."
            )
    given = [None] * len(found) if gradients is None else _given(gradients, found[0] is outputs)
    if len(given) != len(found):
        outputs = how_many(len(found), "output")
        raise GradientError(f"{who} was given {outputs}, and gradients for {len(given)}. Give each its own.")
    return found, [seed_of(y, g, who) for y, g in zip(found, given, strict=True)]


def _given(gradients: Any, single: bool) -> list[Any]:
    if single:  # of which a list may be the gradient itself, as in x.backward([1.0, 2.0])
        alone = isinstance(gradients, (list, tuple)) and len(gradients) == 1
        return [gradients[0] if alone and (gradients[0] is None or hasattr(gradients[0], "shape")) else gradients]
    return list(leaves(gradients))
