"""Computes gradients from the columns of a Jacobian: one derivative along each element of the inputs.

The product of a column with a cotangent, `Re sum conj(column) g`, is one element of the gradient. For a complex input, the
column along the imaginary unit gives the imaginary part of that element; so a function that is linear only over the real
numbers comes out right too.
"""

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from ...core import OpOverload
from ...core.array_memory import inexact_layout
from ...core.pytree import items_of, leaves, rebuilt
from ...operators.prims import astype, stack
from .argument_selection import without_derivative


def gradients(
    op: OpOverload, args: tuple[Any, ...], needs: tuple[Any, ...], cotangents: tuple[Any, ...], column: Callable[..., Any]
) -> tuple[Any, ...]:
    """Return a gradient for each argument that needs one, with the leading axis of the cotangents.

    `needs` is `ctx.needs_input_grad`. `column(path, unit)` returns the derivatives of the outputs along `unit`, an array of
    zeros and one 1 or 1j. The path says by which array: the number of the argument, and the place in each container.
    """
    flowing = [g for grad in cotangents for g in leaves(grad)]

    def of(x: Any, needed: Any, path: tuple[int, ...]) -> Any:
        items = items_of(x)
        if items is not None and isinstance(needed, list):
            return rebuilt(x, [of(item, n, (*path, i)) for i, (item, n) in enumerate(zip(items, needed, strict=True))])
        return _gradient(x, flowing, lambda unit: column(path, unit)) if needed is True else None

    return tuple([of(x, needed, (i,)) for i, (x, needed) in enumerate(zip(args, needs, strict=True))])


def _gradient(x: Any, flowing: list[Any], column: Callable[[Any], Any]) -> Any:
    count = next(g.shape[0] for g in flowing if g is not None)
    elements = []
    for i in range(prod(x.shape)):
        found = _products(flowing, column(unit_array(x.shape, x.dtype, i, 1)), count)
        if x.dtype.kind == "c":
            found = found + 1j * _products(flowing, column(unit_array(x.shape, x.dtype, i, 1j)), count)
        elements.append(found)
    if not elements:
        return np.zeros((count, *x.shape), x.dtype)
    return astype(np.reshape(stack(elements, 1), (count, *x.shape)), x.dtype)


def unit_array(shape: tuple[int, ...], dtype: np.dtype[Any], i: int, value: complex) -> Any:
    """Return an array of zeros with one element, number `i`, of another value."""
    made = np.zeros(shape, dtype)
    made.reshape(-1)[i] = value
    return made


def _products(flowing: list[Any], column: Any, count: int) -> Any:
    """Return the inner product of each cotangent with one column, summed over all outputs."""
    found: Any = np.zeros(count)
    for g, c in zip(flowing, leaves(column), strict=True):
        if g is not None and inexact_layout(c) is not None:
            product = np.matmul(np.reshape(g, (count, prod(c.shape))), np.conjugate(np.reshape(c, (prod(c.shape),))))
            found = found + np.real(product)
    return found


def outputs_of(op: OpOverload, found: Any) -> Any:
    """Return what `op.whole` returned without the residual; several outputs as a tuple."""
    if not op.outputs.residual:
        return found
    return found[0] if len(found) == 2 else found[:-1]


def check_needs(op: OpOverload, needs: tuple[Any, ...], held: frozenset[str], form: str) -> None:
    """Raise if a gradient is needed for an argument that the form does not name."""
    for name, needed in zip(op.arguments.names, needs, strict=True):
        if name in held and any(leaves(needed)):
            raise without_derivative(op, name, form)
