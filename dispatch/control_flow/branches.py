"""`cond`: one of two functions, by a condition that may be a value of a transform."""

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from ..core import Tensor, active_mode
from ..core.pytree import mapped
from ..core.source import levels_out
from ..core.wrong_calls import clear, may_take
from ..layers.trace import TRACE
from ..operators.registry import ops
from .carries import Given, alike, as_number, filled, owned, same_structure
from .tracing import Function, trace
from .words import branches_differ, condition_refused, functions_refused, is_true, layout_text, path_to, structure_text


def own(out: Any) -> Any:
    """A result of which each array is new, as it is where the branch is an operator: who writes to it changes nothing else."""
    return owned(out) if type(out) is np.ndarray or isinstance(out, np.generic) else mapped(owned, out)


@partial(clear, calls={"true": "true(*operands)", "false": "false(*operands)"})
def cond(pred: Any, true: Callable[..., Any], false: Callable[..., Any], *operands: Any) -> Any:
    """Return `true(*operands)` where a condition holds, and `false(*operands)` where it does not.

    The order of arguments is JAX's, `cond(pred, true_fun, false_fun, *operands)`; torch's `cond(pred, true_fn,
    false_fn, operands)` takes them as one tuple. Only the branch that is chosen runs, but for a batch of conditions: then
    both run for all items, and each item gets its own.

    Parameters
    ----------
    pred : bool or array
        One truth.
    true, false : callable
        Take the operands; both return the same containers, shapes and dtypes. They write to nothing that they are given. They
        may close over arrays.
    *operands : array, number, or container of these

    Returns
    -------
    object
        What the branch returned, in arrays of its own.

    Raises
    ------
    ControlFlowError
        If the condition is not one truth, or the branches differ in what they return.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> f = lambda x: dispatch.cond(x > 0, np.sqrt, lambda x: 0.0 * x, x)
    >>> f(4.0)
    np.float64(2.0)
    >>> dispatch.vmap(f)(np.array([4.0, -4.0]))
    array([ 2., -0.])
    """
    if not all(map(callable, (true, false))):
        raise functions_refused("cond", "cond(pred, lambda x: ..., lambda x: ..., x)", true, false)
    if not (may_take(true, len(operands)) and may_take(false, len(operands))):  # also of the branch that is not taken
        raise TypeError("cond")  # of which `clear` says how the two are called
    if len(operands) == 1 and type(operands[0]) is tuple and len(operands[0]) == 1:
        said = "cond was given one operand, a tuple of one, which the branches get as a tuple. "
        said += "Write cond(pred, f, g, x) for torch's cond(pred, f, g, (x,))."
        warnings.warn(said, RuntimeWarning, stacklevel=levels_out())
    if type(pred) is bool or (not isinstance(pred, Tensor) and active_mode(TRACE) is None):
        known = pred if type(pred) in (bool, np.bool_) else is_true("cond", pred)
        values = [x if type(x) is np.ndarray and x.shape else mapped(as_number, x) for x in operands]
        return own(true(*values) if known else false(*values))
    if not isinstance(pred, Tensor):
        pred = np.asarray(pred)[()]
    if pred.dtype != bool or pred.shape:
        raise condition_refused("cond", pred)
    given = Given("cond", "operand", tuple(operands))

    known_as: list[Any] = []  # what the first returns, in whose order the second's is taken

    def called(f: Callable[..., Any]) -> Callable[[Sequence[Any]], Any]:
        def call(values: Sequence[Any]) -> Any:
            out = f(*given.filled(values))
            known_as.append(out)
            return alike(known_as[0], out)

        return call

    functions = [Function(f, given.arrays, given.names, called(f)) for f in (true, false)]
    (first, second), captures = trace("cond", *functions)
    if not same_structure(first.like, second.like):
        raise branches_differ("cond", structure_text(first.like), structure_text(second.like))
    for i, (x, y) in enumerate(zip(first.outputs, second.outputs, strict=True)):
        if x.dtype != y.dtype or tuple(x.shape) != tuple(y.shape):
            raise branches_differ("cond", layout_text(x), layout_text(y), path_to(first.like, i))
    return filled(first.like, ops.control_flow.cond(pred, first.body, second.body, [*given.arrays, *captures]))
