"""What a function that is transformed may return, and how it leaves the transform."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core import Level, Tensor, check_open, numbers_taken
from ..core.array_memory import owned
from ..core.pytree import paths, unflatten
from ..core.source import levels_out
from ..errors import GradientError, check_flag
from ..layers.derivatives import Layout
from ..operators.registry import ops
from ..operators.views import is_number
from .structures import described, flattened, layout_of


def result_and_aux(result: Any, has_aux: bool) -> tuple[Any, Any]:
    """The result of a function, and what it returned beside that; None where `has_aux` is not said."""
    if not check_flag(has_aux, "has_aux"):
        return result, None
    if not isinstance(result, tuple) or len(result) != 2:
        got = f"a tuple of {len(result)}" if isinstance(result, tuple) else described(result)
        said = f"has_aux=True says that the function returns a pair (value, aux), and it returned {got}."
        raise GradientError(f"{said} Return both, or leave has_aux= out.")
    return result


def warn_of_numbers(who: str, leaves: Sequence[Any], before: int) -> None:
    """Warn where a function returned a plain number, and has asked for one since `numbers_taken()` was `before`."""
    if numbers_taken() != before and any(isinstance(x, (float, complex, np.inexact)) for x in leaves):
        warnings.warn(
            f"{who}: the function returned a plain number, and x.item() or x.tolist() in it gave plain numbers, which every "
            "derivative takes for constants: that of the result is zero. Return the array: x.sum() for x.sum().item().",
            RuntimeWarning,
            stacklevel=levels_out(),
        )


def layouts_of(leaves: Sequence[Any], out: Any, who: str, *, real: bool = False) -> list[Layout | None]:
    """Shape and dtype of each leaf of a result `out`, None of a leaf that is None; others must be floating-point or complex.

    With `real` a complex one raises too: it has two gradients, of its real and of its imaginary part.
    """
    layouts = []
    for i, x in enumerate(leaves):
        layout = layout_of(x)
        if layout is None and x is not None:
            raise GradientError(
                f"{who} is of a function that returns arrays of floating-point numbers, and result{list(paths(out))[i]} is "
                f"{described(x)}. Return it beside the result, (result, aux), with has_aux=True."
            )
        if real and layout is not None and layout[1].kind == "c":
            raise GradientError(
                f"{who} is of a function that returns real numbers, and result{list(paths(out))[i]} is complex, whose real and "
                "imaginary part have a gradient each. Return these, y.real and y.imag; of real arguments take jacfwd."
            )
        layouts.append(layout)
    return layouts


def as_memory(x: Any) -> Any:
    """A result without axes as an array, which may be written to: a value of another transform may be a number."""
    return ops.np.getitem(x, Ellipsis) if isinstance(x, Tensor) and is_number(x) else x


def left(x: Any, level: Level) -> Any:
    """What a function returned, taken out of the level it was computed at: arrays of which nobody else holds a part."""
    leaves = flattened(x)
    for i, leaf in enumerate(leaves):
        if isinstance(leaf, Tensor):
            if leaf.level is level:
                value = owned(leaf.value)
                leaves[i] = value if value.shape else as_memory(value)
            else:
                check_open(leaf)
    return unflatten(x, leaves)
