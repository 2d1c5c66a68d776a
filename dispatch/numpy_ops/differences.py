"""`np.gradient`, `np.ediff1d` and `np.unwrap`.

Differences along one axis are linear in the values; with equal steps their adjoint is a row, too. With unequal steps they are made of
products, NumPy's own. NumPy takes the rule for equal steps where all that it is given are equal; of points that are tracked the rule for
unequal ones is taken, which gives the same up to rounding, because the other one has no derivative by each point.
"""

from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from ..autodiff.rules.partials import conjugated
from ..core import OpOverload, Tensor
from ..layers.autograd import pullbacks
from ..layers.fake import FakeTensor, fake_tensor
from ..layers.jvp import pushforwards
from ..operators.prims import astype, broadcast_to
from ..operators.registry import note_own_rules
from ..symbolic import agree, guesses, sure
from . import numpy_functions
from .cumulative import diff
from .families import attach_plain_forms, composite, in_front, row
from .indexing import getitem
from .pointwise import add, divide, multiply, negative, subtract
from .rearranging import along
from .reduction import sum
from .result_layouts import fake_like
from .row_arguments import as_item, as_value
from .shape import concatenate, ravel, reshape

# -- gradients of equal steps ----------------------------------------------------------------------------------------------------

NUMPYS: Any = np.gradient
# The differences at the first element and the last one, of the elements from there on and up to there, by the order of the edge.
FIRST = {1: (-1.0, 1.0), 2: (-1.5, 2.0, -0.5)}
LAST = {1: (-1.0, 1.0), 2: (0.5, -2.0, 1.5)}


def floating(dtype: Any) -> Any:
    """Return the dtype of differences of values of a dtype."""
    return dtype if dtype.kind in "fc" else np.dtype(np.float64)


def _gradient(x: Any, step: Any, axis: int, edge_order: int = 1) -> Any:
    if type(step) is not float or step != 1 or edge_order != 1 or type(x) is not np.ndarray or x.dtype.kind != "f":
        return NUMPYS(x, step, axis=axis, edge_order=edge_order)
    lines = x.swapaxes(0, axis)
    if len(lines) < 2:
        return NUMPYS(x, axis=axis)
    # NumPy's own steps, without its search for what the arguments are, which takes twice as long as these of a few elements.
    found = np.empty_like(x)
    into = found.swapaxes(0, axis)
    middle = np.subtract(lines[2:], lines[:-2], out=into[1:-1])
    middle /= 2.0
    into[0] = lines[1] - lines[0]
    into[-1] = lines[-1] - lines[-2]
    return found


def _spread(x: Any, step: Any, axis: int, edge_order: int = 1) -> Any:
    """Give each element what the differences that it is in say."""
    x = np.moveaxis(x, axis, 0)
    found = np.zeros_like(x, floating(x.dtype))
    middle = x[1:-1] / (2.0 * step)
    found[2:] += middle
    found[:-2] -= middle
    for i, (first, last) in enumerate(zip(FIRST[edge_order], LAST[edge_order], strict=True)):
        found[i] += first * x[0] / step
        found[len(x) - edge_order - 1 + i] += last * x[-1] / step
    return np.moveaxis(found, 0, axis)


def _fake_gradient(x: Any, step: Any, axis: int, edge_order: int) -> FakeTensor:
    axis = normalize_axis_index(axis, len(x.shape))
    if edge_order not in FIRST or not sure(x.shape[axis] >= edge_order + 1):
        _gradient(np.zeros(guesses(x.shape)), 1.0, axis, edge_order)  # raises NumPy's own error
    return fake_like(x, floating(x.dtype)) if isinstance(x, FakeTensor) else fake_tensor(x.shape, floating(x.dtype), None, step.device, step.mode)


def _batched_gradient(op: OpOverload) -> Any:
    def rule(info: Any, in_dims: Any, x: Any, step: Any, axis: int, edge_order: int) -> tuple[Any, int]:
        axis = normalize_axis_index(axis, len(x.shape) - (in_dims[0] is not None))
        if in_dims[0] is not None:
            x = in_front(x, in_dims[0])
            axis += 1
        if in_dims[1] is None:
            return op(x, step, axis, edge_order), 0
        found = op(x, 1.0, axis, edge_order)
        steps = reshape(step, (step.shape[0], *(1,) * (len(found.shape) - (in_dims[0] is not None))))
        return astype(divide(found, steps), found.dtype), 0

    return rule


def _by_step(g: Any, out: Any, step: Any) -> Any:
    return negative(divide(sum(multiply(g, conjugated(out))), conjugated(step)))


def _differences(name: str, kernel: Any, other: Any) -> OpOverload:
    """Make a row of differences with equal steps, or of their adjoint."""
    op: OpOverload = row(
        f"{name}(Tensor x, Tensor step, int axis, int edge_order=1) -> Tensor",
        numpy=kernel,
        fake=_fake_gradient,
        autograd=pullbacks(x=lambda g, step, axis, edge_order: other()(g, step if not hasattr(step, "dtype") else conjugated(step), axis, edge_order), step=_by_step),
        jvp=pushforwards(
            x=lambda t, step, axis, edge_order: op(t, step, axis, edge_order),
            step=lambda t, out, step: astype(negative(multiply(out, divide(t, step))), out.dtype),
        ),
    )
    op.register_vmap(_batched_gradient(op))
    note_own_rules(op)
    return op


equal_differences: OpOverload = _differences("equal_differences", _gradient, lambda: spread_differences)
spread_differences: OpOverload = _differences("spread_differences", _spread, lambda: equal_differences)

# -- gradients of unequal steps --------------------------------------------------------------------------------------------------


def _differences_at(x: Any, points: Any, axis: int, edge_order: int = 1) -> Any:
    axis, ndim = normalize_axis_index(axis, len(x.shape)), len(x.shape)
    x = x if x.dtype.kind not in "iu" else astype(x, np.float64)
    points = points if points.dtype.kind not in "iu" else astype(points, np.float64)
    steps = diff(points)
    if isinstance(steps, np.ndarray) and bool((steps == steps[0]).all()):
        return equal_differences(x, steps[0], axis, edge_order)

    def of(elements: Any, factors: Any) -> Any:
        terms = [multiply(factor, getitem(x, along(axis, ndim, at))) for factor, at in zip(factors, elements, strict=True)]
        return add(add(terms[0], terms[1]), terms[2])

    def shaped(factor: Any) -> Any:
        return reshape(factor, (*(1,) * axis, -1, *(1,) * (ndim - axis - 1)))

    def between(at: Any, start: Any, end: Any) -> Any:
        values = [getitem(x, along(axis, ndim, slice(i, i + 1 or None))) for i in (end, start)]
        return divide(subtract(*values), getitem(steps, at))

    n = x.shape[axis]
    a, b = getitem(steps, slice(0, -1)), getitem(steps, slice(1, None))
    middle = of(
        [slice(None, -2), slice(1, -1), slice(2, None)],
        [shaped(divide(negative(b), multiply(a, add(a, b)))), shaped(divide(subtract(b, a), multiply(a, b))), shaped(divide(a, multiply(b, add(a, b))))],
    )
    if edge_order == 1:
        first, last = between(0, 0, 1), between(-1, -2, -1)
    else:
        a, b = getitem(steps, 0), getitem(steps, 1)
        first = of(
            [slice(0, 1), slice(1, 2), slice(2, 3)],
            [divide(negative(add(multiply(2.0, a), b)), multiply(a, add(a, b))), divide(add(a, b), multiply(a, b)), divide(negative(a), multiply(b, add(a, b)))],
        )
        a, b = getitem(steps, -2), getitem(steps, -1)
        last = of(
            [slice(n - 3, n - 2), slice(n - 2, n - 1), slice(n - 1, n)],
            [divide(b, multiply(a, add(a, b))), divide(negative(add(b, a)), multiply(a, b)), divide(add(multiply(2.0, b), a), multiply(b, add(a, b)))],
        )
    found = concatenate([first, middle, last], axis)
    dtype = floating(x.dtype)
    return found if found.dtype == dtype else astype(found, dtype)


def _gradient_at(x: Any, points: Any, axis: int, edge_order: int = 1) -> Any:
    if np.ndim(points) != 1:
        raise ValueError("distances must be either scalars or 1d")  # np.gradient's own
    return NUMPYS(x, points, axis=axis, edge_order=edge_order)


differences_at = composite(
    "differences_at(Tensor x, Tensor points, int axis, int edge_order=1) -> Tensor",
    _differences_at,
    numpy=_gradient_at,
    laid_out=lambda x, points, axis, edge_order: np.empty_like(x),
)


def _gradients(x: Any, steps: Any, axes: Any, edge_order: int = 1) -> Any:
    return [equal_differences(x, step, at, edge_order) for at, step in zip(axes, steps, strict=True)]


# The differences along several axes, with steps that are numbers of Python's: one node of a graph.
gradients = composite(
    "gradient(Tensor x, Any steps, int[] axes, int edge_order=1) -> Tensor[]",
    _gradients,
    numpy=lambda x, steps, axes, edge_order: list(NUMPYS(x, *steps, axis=tuple(axes), edge_order=edge_order)),
)


def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """`np.gradient`."""
    f = as_item(as_value(f))
    axes = tuple(range(len(f.shape))) if axis is None else normalize_axis_tuple(axis, len(f.shape))
    if not varargs and edge_order in FIRST and all([sure(f.shape[at] > edge_order) for at in axes]):  # as most call it
        return equal_differences(f, 1.0, axes[0], edge_order) if len(axes) == 1 else _along_all(f, [1.0] * len(axes), axes, edge_order)
    steps = [as_value(x) for x in varargs] or [1.0] * len(axes)
    steps = steps * len(axes) if len(steps) == 1 and not np.shape(steps[0]) else steps
    wrong = len(steps) != len(axes) or edge_order > 2
    for at, step in zip(axes, steps, strict=False):
        size = np.shape(step)
        wrong = wrong or len(size) > 1 or (len(size) == 1 and not agree(size[0], f.shape[at])) or not sure(f.shape[at] >= edge_order + 1)
    if wrong:
        NUMPYS(np.zeros(guesses(f.shape)), *[np.zeros(guesses(np.shape(x))) for x in varargs], axis=axis, edge_order=edge_order)  # raises
    if len(axes) > 1 and all([type(step) in (int, float) for step in steps]):
        return _along_all(f, steps, axes, edge_order)
    found = [
        (differences_at if np.shape(step) else equal_differences)(f, step, at, edge_order)
        for at, step in zip(axes, steps, strict=True)
    ]
    return found[0] if len(axes) == 1 else tuple(found)


def _along_all(f: Any, steps: list[Any], axes: tuple[int, ...], edge_order: int) -> Any:
    return tuple((gradients if axes and isinstance(f, Tensor) else _gradients)(f, steps, axes, edge_order))


# -- differences of all elements -----------------------------------------------------------------------------------------------------


def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    """`np.ediff1d`."""
    x = ravel(as_item(as_value(ary)))
    parts = [subtract(getitem(x, slice(1, None)), getitem(x, slice(None, -1)))]
    for given, name in ((to_begin, "to_begin"), (to_end, "to_end")):
        if given is not None:
            given = as_item(as_value(given))
            if not np.can_cast(given.dtype, x.dtype, casting="same_kind"):
                np.ediff1d(np.zeros(1, x.dtype), **{name: np.zeros(1, given.dtype)})  # raises NumPy's own error
            given = ravel(given if given.dtype == x.dtype else astype(given, x.dtype))
            parts = [given, *parts] if name == "to_begin" else [*parts, given]
    if len(parts) == 1:
        return parts[0]
    found = concatenate(parts, 0)
    return found if found.dtype == x.dtype else astype(found, x.dtype)  # in another byte order


# -- phases --------------------------------------------------------------------------------------------------------------------------


TURN = 2 * np.pi


def _unwrap(x: Any, discont: Any, axis: int, period: Any) -> Any:
    return np.unwrap(x, discont, axis, period=TURN if period is None else period)


def _fake_unwrap(x: Any, discont: Any, axis: int, period: Any) -> FakeTensor:
    tiny = [np.zeros((), a.dtype)[()] if hasattr(a, "dtype") else a for a in (discont, period)]
    dtype = _unwrap(np.zeros((1,) * len(x.shape), x.dtype), tiny[0], axis, tiny[1]).dtype
    if isinstance(x, FakeTensor):
        return fake_like(x, dtype)
    like = period if isinstance(period, FakeTensor) else discont
    return fake_tensor(np.shape(x), dtype, None, like.device, like.mode)


def _batched_unwrap(info: Any, in_dims: Any, x: Any, discont: Any, axis: int, period: Any) -> tuple[Any, int]:
    ndim = len(x.shape) - (in_dims[0] is not None)
    x = broadcast_to(x, (info.batch_size, *x.shape)) if in_dims[0] is None else in_front(x, in_dims[0])
    discont, period = [
        a if dim is None else reshape(a, (a.shape[0], *(1,) * ndim)) for a, dim in ((discont, in_dims[1]), (period, in_dims[3]))
    ]
    return unwrap(x, discont, 1 + normalize_axis_index(axis, ndim), period), 0


# A phase with whole periods added: the derivative by the period is their number.
unwrap: OpOverload = row(
    "unwrap(Tensor x, Tensor? discont=None, int axis=-1, Tensor? period=None) -> Tensor",
    numpy=_unwrap,
    fake=_fake_unwrap,
    autograd=pullbacks(x=lambda g: g, period=lambda g, out, x, period: multiply(g, divide(subtract(out, x), period))),
    jvp=pushforwards(
        x=lambda t, out: astype(t, out.dtype), period=lambda t, out, x, period: astype(multiply(divide(subtract(out, x), period), t), out.dtype)
    ),
    vmap=_batched_unwrap,
)


def numpy_unwrap(p: Any, discont: Any = None, axis: int = -1, *, period: Any = TURN) -> Any:
    """`np.unwrap`."""
    return unwrap(as_item(as_value(p)), discont, axis, period)


FUNCTIONS: dict[Any, Any] = {np.gradient: gradient, np.ediff1d: ediff1d, np.unwrap: numpy_unwrap}
numpy_functions.spelled(np.unwrap, "p:x discont axis period", unwrap)


def install() -> None:
    """Put the functions into the table."""
    numpy_functions.FUNCTIONS.update(FUNCTIONS)

attach_plain_forms(equal_differences, gradients)
