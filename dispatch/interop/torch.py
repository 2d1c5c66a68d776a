"""PyTorch: operators as torch operators, torch functions as operators, and tensors as arguments.

    >>> from dispatch.interop.torch import export
    >>> import dispatch
    >>> add = export(dispatch.ops.np.add)
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from ..core import OpOverload
from ..core.lazy import names_of
from ..core.overload import bound
from ..core.pytree import leaves
from ..core.wrong_calls import clear
from ..dispatcher.call_errors import NUMBERS_AND_TEXT
from ..errors import ArgumentError, kind_of
from ..operators.kernel_functions import made_of
from ..operators.registry import Operator
from .torch_functions import wrap
from .torch_operators import exported, loaded
from .torch_values import Tensor

__all__ = ["export", "wrap"]


@clear
def export(op: OpOverload) -> Callable[..., Any]:
    """Register an operator with torch.library, and return the function that torch programs call.

    Parameters
    ----------
    op : OpOverload

    Returns
    -------
    callable
        With the operator's own parameters, on tensors. `torch.compile`, `torch.export`, `torch.func` and autograd go through.
        Its attribute `op` is the torch operator, `torch.ops.ns.name.default`, for `torch.library.opcheck` say. It is pickled by
        the operator's name.

    Raises
    ------
    DefinitionError
        If torch has another operator of that name.
    UnsupportedError
        If the operator writes to arrays in containers that torch does not know.

    Examples
    --------
    >>> import numpy as np, torch, dispatch
    >>> @dispatch.custom_op("doc::torch_cube", mutates_args=())
    ... def cube(x: np.ndarray) -> np.ndarray:
    ...     return x**3
    >>> cube.register_autograd(elementwise=lambda x: 3 * x**2)
    >>> torch_cube = export(cube)
    >>> x = torch.tensor([1.0, 2.0], requires_grad=True)
    >>> torch_cube(x).sum().backward()
    >>> x.grad
    tensor([ 3., 12.])
    """
    given: object = op
    if not isinstance(given, OpOverload):
        several = " It has several overloads: export each of them." if isinstance(given, Operator) else made_of(given)
        raise ArgumentError(f"export takes an operator, and was given {kind_of(given)}.{several}")
    function: Callable[..., Any] = loaded(op)
    return function


def taken_over(op: OpOverload, args: tuple[Any, ...], keywords: Mapping[str, Any]) -> Any:
    """Run a call of an operator that has tensors among its arguments; NotImplemented where there are none."""
    if not any(isinstance(x, Tensor) for x in leaves((list(args), list(keywords.values())))):
        return NotImplemented
    given = bound(op, args, dict(keywords))
    for argument, x in zip(op.schema.arguments, given, strict=True):
        if isinstance(x, Tensor) and argument.type in NUMBERS_AND_TEXT:
            raise ArgumentError(
                f"{op.name}: argument {argument.name!r} is {argument.type}, and was given a torch.Tensor of shape "
                f"{tuple(x.shape)}. Write {argument.name}.item(), or hint the parameter `{argument.name}: np.ndarray`.",
                operator=op.name,
                argument=argument.name,
            )
    return exported(op)(given)


if not TYPE_CHECKING:
    __getattr__, __dir__ = names_of(globals(), {})
