"""What a function that is transformed may return, and how it leaves the transform."""

from typing import Any

from ..core import Level, Tensor, check_open
from ..core.array_memory import owned
from ..core.pytree import paths
from ..errors import GradientError
from .structures import Layout, described, flattened, layout_of, refilled


def result_and_aux(result: Any, has_aux: bool) -> tuple[Any, Any]:
    """What a function returned, and what it returned beside that; None where `has_aux` is not said.

    Raises
    ------
    GradientError
        If there is no pair.
    """
    if not has_aux:
        return result, None
    if not isinstance(result, tuple) or len(result) != 2:
        raise GradientError("has_aux=True says that the function returns a pair (value, aux), and it returned something else.")
    return result


def layouts_of(out: Any, who: str) -> list[Layout | None]:
    """Shape and dtype of each leaf of a result; None of a leaf that is None.

    Raises
    ------
    GradientError
        If a leaf is neither floating-point nor complex.
    """
    leaves = flattened(out)
    layouts = [layout_of(x) for x in leaves]
    for i, (x, layout) in enumerate(zip(leaves, layouts, strict=True)):
        if layout is None and x is not None:
            raise GradientError(
                f"{who} is of a function that returns arrays of floating-point numbers, and result{list(paths(out))[i]} is "
                f"{described(x)}. Return it beside the result, (result, aux), with has_aux=True."
            )
    return layouts


def real_layouts(out: Any, who: str) -> list[Layout | None]:
    """`layouts_of`, for a Jacobian whose rows are gradients.

    Raises
    ------
    GradientError
        If a leaf is complex, so that it has two gradients, of its real and of its imaginary part.
    """
    layouts = layouts_of(out, who)
    for i, layout in enumerate(layouts):
        if layout is not None and layout[1].kind == "c":
            raise GradientError(
                f"{who} is of a function that returns real numbers, and result{list(paths(out))[i]} is complex, whose real and "
                "imaginary part have a gradient each. Return these, y.real and y.imag; of real arguments take jacfwd."
            )
    return layouts


def left(x: Any, level: Level) -> Any:
    """What a function returned, out of the level it was computed at: arrays of which nobody else holds a part.

    Raises
    ------
    EscapedValueError
        If there is a value of a transform that has ended.
    """

    def one(leaf: Any) -> Any:
        if not isinstance(leaf, Tensor):
            return leaf
        if leaf.level is not level:
            check_open(leaf)
            return leaf
        return owned(leaf.value)

    return refilled(x, iter([one(leaf) for leaf in flattened(x)]))
