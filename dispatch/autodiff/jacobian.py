"""Jacobians and Hessians: pulls back all rows, or pushes forward all columns, in one batch.

The standard basis of all elements of the result, or of the arguments, is the batch: one direction for each element.
"""

from collections.abc import Callable, Sequence
from functools import partial, wraps
from math import prod
from typing import Any

import numpy as np

from ..core import Level, Tensor, check_open, numbers_taken
from ..core.array_memory import owned
from ..core.pytree import unflatten
from ..core.wrong_calls import check_takes, clear
from ..errors import BatchingError, ConversionError, GradientError, check_flag, check_function, check_word, kind_of
from ..layers.autograd import Leaf, run_backward
from ..layers.derivatives import Layout, zeros
from ..layers.vmap import RANDOMNESS, vmap
from ..operators.prims import stack
from ..operators.registry import ops
from .argnums import Argnums, Arguments, checked_argnums
from .forward_mode import dual, tangent_at, unrecorded
from .function_outputs import layouts_of, left, result_and_aux, warn_of_numbers
from .reverse_mode import TapedArguments, edges_at
from .structures import beside, flattened, layout_of


@clear
def jacrev(
    f: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, chunk_size: int | None = None
) -> Callable[..., Any]:
    """Return a function that computes the Jacobian of `f` by rows: one backward for each element of the result.

    It is the cheaper form where the result has fewer elements than the arguments; `jacfwd` is the other.

    Parameters
    ----------
    f : callable
        Returns an array of real numbers or a container of arrays; with `has_aux` a pair of that and anything else. It runs
        once.
    argnums : int, str or tuple of these
        The arguments to differentiate by: the position of one, its name, or several.
    has_aux : bool
        Whether `f` returns something beside its result. Then the new function returns `(jacobian, aux)`.
    chunk_size : int, optional
        How many rows are computed in one batch at most; all by default. 1 computes them one after the other and without a
        batch, for operators whose backward takes plain arrays only.

    Returns
    -------
    callable
        Takes the arguments of `f`, and returns an array of shape `result.shape + argument.shape`. Where the result or the
        argument is a container, it returns the container of the result, with that of the argument in place of each array.

    Raises
    ------
    GradientError
        If an argument or the result has no derivative, or the result is complex.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> dispatch.jacrev(lambda x: x**2)(np.array([1.0, 2.0]))
    array([[2., 0.],
           [0., 4.]])
    >>> dispatch.jacrev(lambda p: (p["a"] * p["b"], p["b"]))({"a": 2.0, "b": 3.0})
    ({'a': array(3.), 'b': array(2.)}, {'a': array(0.), 'b': array(1.)})
    """
    return _by_rows("jacrev", f, argnums, has_aux, chunk_size)


@clear
def jacfwd(f: Callable[..., Any], argnums: Argnums = 0, has_aux: bool = False, randomness: str = "error") -> Callable[..., Any]:
    """Return a function that computes the Jacobian of `f` by columns: one tangent for each element of the arguments.

    It is the cheaper form where the arguments have fewer elements than the result; `jacrev` is the other.

    Parameters
    ----------
    f, argnums, has_aux
        As in `jacrev`. Results may be complex, and arguments are real.
    randomness : {"error", "same", "different"}
        As in `vmap`, which computes all columns in one batch.

    Returns
    -------
    callable
        Returns what `jacrev(f)` returns, in the dtype of the result.

    Raises
    ------
    GradientError
        If an argument or the result has no derivative, or an argument is complex.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> dispatch.jacfwd(lambda x, y: x * y, argnums=(0, 1))(np.array([1.0, 2.0]), 3.0)
    (array([[3., 0.],
           [0., 3.]]), array([1., 2.]))
    """
    return _by_columns("jacfwd", f, argnums, has_aux, randomness)


@clear
def hessian(f: Callable[..., Any], argnums: Argnums = 0) -> Callable[..., Any]:
    """Return a function that computes the second derivatives of `f`: `jacfwd(jacrev(f))`.

    Parameters
    ----------
    f, argnums
        As in `jacrev`.

    Returns
    -------
    callable
        Takes the arguments of `f`, and returns an array of shape `result.shape + argument.shape + argument.shape`; for
        containers, containers nested in that order.

    Raises
    ------
    GradientError
        If an argument or the result has no derivative, or is complex.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> dispatch.hessian(lambda x: np.sum(x**3))(np.array([1.0, 2.0]))
    array([[ 6.,  0.],
           [ 0., 12.]])
    """
    return _by_columns("hessian", _by_rows("hessian", f, argnums, False, None), argnums, False, "error")


# -- by rows: one run of the function, and one walk back for all elements of its result -------------------------------------


def _by_rows(who: str, f: Callable[..., Any], argnums: Any, has_aux: bool, chunk_size: Any) -> Callable[..., Any]:
    """What `jacrev` makes, under the name of a transform."""
    check_function(f, who, GradientError)
    asked, alone = checked_argnums(who, argnums)
    check_flag(has_aux, f"{who}: has_aux")
    if chunk_size is not None and not (isinstance(chunk_size, (int, np.integer)) and chunk_size > 0):
        given = chunk_size if isinstance(chunk_size, (int, np.integer)) else kind_of(chunk_size)
        raise GradientError(f"{who}: chunk_size is {given}. It is the number of rows in one batch, 1 or more; None for all.")

    @wraps(f)
    def jacobian(*args: Any, **keywords: Any) -> Any:
        with Level(who) as level:
            taped, before = TapedArguments(who, level, f, asked, alone, args, keywords), numbers_taken()
            try:
                result, aux = result_and_aux(f(*taped.args, **taped.keywords), has_aux)
            except (TypeError, AttributeError):
                check_takes(who, f, args, keywords)
                raise
            leaves = flattened(result)
            layouts, edges = layouts_of(leaves, result, who, real=True), edges_at(leaves, level)
            warn_of_numbers(who, leaves, before)
            begun = [None if edge is None else layout for edge, layout in zip(edges, layouts, strict=True)]
            rows = _pulled(taped, [edge for edge in edges if edge is not None], begun, leaves, chunk_size)
            blocks: list[Any] = []
            for layout, span in zip(layouts, spans(begun), strict=True):
                row = [end and _row_block(r, span, layout, *end) for r, end in zip(rows, taped.ends, strict=True)]
                blocks.append(None if layout is None else unflatten(taped.like, row))
            jac, aux = unflatten(result, blocks), left(aux, level)
        return (jac, aux) if has_aux else jac

    return jacobian


def _pulled(
    taped: TapedArguments, edges: list[Any], layouts: Sequence[Layout | None], met: list[Any], chunk_size: Any
) -> list[Any]:
    """For each end of a tape the gradients there of all elements of a result, along a first axis; None where all are zero."""
    count = directions(layouts)
    if not count:
        return [None] * len(taped.ends)
    step = chunk_size or count
    reached: list[bool] = []

    def pull(*cotangents: Any, keep: bool) -> list[Any]:
        found = run_backward(edges, cotangents, taped.level, keep, False)
        reached[:] = [end is not None and end[0] in found for end in taped.ends]
        return [found.pop(end[0]) for end in taped.ends if end is not None and end[0] in found]

    chunks = []
    for start in range(0, count, step):
        block = units(layouts, start, min(start + step, count), met)
        pulled = partial(pull, keep=start + step < count)
        chunks.append(pulled(*[unit[0] for unit in block]) if step == 1 else _batched(pulled, block))
    parts = [list(part) for part in zip(*chunks, strict=True)]
    del chunks
    rows = iter([_joined(part, step == 1) for part in parts])
    return [next(rows) if there else None for there in reached]


def _batched(pull: Callable[..., Any], block: list[Any]) -> Any:
    try:
        return vmap(pull)(*block)
    except (BatchingError, ConversionError, TypeError) as error:
        error.add_note("a Jacobian pulls its rows back in one batch: jacrev(f, chunk_size=1) pulls back one at a time")
        raise


def _joined(parts: list[Any], single: bool) -> Any:
    if single:
        return stack(parts)
    return owned(parts.pop()) if len(parts) == 1 else np.concatenate(parts)


def _row_block(rows: Any, span: slice | None, layout: Layout | None, leaf: Leaf, value: Any) -> Any:
    """The part of a Jacobian for one array of the result and one of the arguments."""
    if layout is None:
        return None
    shape = layout[0] + leaf.layout[0]
    return zeros((shape, leaf.layout[1]), value) if rows is None or span is None else ops.np.reshape(rows[span], shape)


# -- by columns: one run of the function, which carries a tangent for each element of the arguments --------------------------


def _by_columns(who: str, f: Callable[..., Any], argnums: Any, has_aux: bool, randomness: str) -> Callable[..., Any]:
    """What `jacfwd` makes, under the name of a transform."""
    check_function(f, who, GradientError)
    asked, alone = checked_argnums(who, argnums)
    check_flag(has_aux, f"{who}: has_aux")
    check_word(randomness, f"{who}: randomness", RANDOMNESS, BatchingError)

    @wraps(f)
    def jacobian(*args: Any, **keywords: Any) -> Any:
        given = Arguments(who, f, asked, alone, args, keywords)
        _check_real(given)
        layouts = [layout_of(x) for x in given.leaves]
        seen: list[Any] = []

        def push(*tangents: Any) -> list[Any]:
            moving = iter(tangents)
            with Level(who) as level:
                pairs = zip(given.leaves, given.given, strict=True)
                inside, named = given.call_with([old if x is None else dual(x, next(moving), level) for x, old in pairs])
                before = numbers_taken()
                try:
                    result, aux = result_and_aux(unrecorded(f(*inside, **named), level), has_aux)
                except (TypeError, AttributeError):
                    check_takes(who, f, args, keywords)
                    raise
                leaves = flattened(result)
                warn_of_numbers(who, leaves, before)
                moved = [tangent_at(x, level) for x in leaves]
                seen[:] = result, layouts_of(leaves, result, who), [t is not None for t in moved], left(aux, level)
            return [t for t in moved if t is not None]

        count = directions(layouts)
        if count:
            columns = iter(vmap(push, 0, -1, randomness)(*units(layouts, 0, count, given.leaves)))
        else:  # the shapes are asked for, and no direction leads anywhere
            columns = iter(push(*[beside(np.zeros(*layout), given.leaves) for layout in layouts if layout is not None]))
        result, results, moved, aux = seen
        for leaf in flattened(aux):
            if isinstance(leaf, Tensor):
                check_open(leaf)
        blocks: list[Any] = []
        for layout, moves in zip(results, moved, strict=True):
            column = next(columns) if moves else None
            pairs = zip(given.leaves, spans(layouts), strict=True)
            row = [None if x is None else _column_block(column if count else None, span, layout, x) for x, span in pairs]
            blocks.append(None if layout is None else unflatten(given.like, row))
        jac = unflatten(result, blocks)
        return (jac, aux) if has_aux else jac

    return jacobian


def _check_real(given: Arguments) -> None:
    for i, x in enumerate(given.leaves):
        if x is not None and x.dtype.kind == "c":
            raise GradientError(
                f"{given.who} by argument {given.place_of(i)[0]!r} was asked for, which is complex: there is a derivative by "
                "its real part and one by its imaginary part. Make the function one of these two, or take jvp, or jacrev of a "
                "real result."
            )


def _column_block(columns: Any, span: slice | None, layout: Layout | None, x: Any) -> Any:
    """The part of a Jacobian for one array of the result and one, x, of the arguments."""
    if layout is None:
        return None
    shape = layout[0] + x.shape
    if columns is None:
        return zeros((shape, layout[1]), x)
    block = columns[..., span]
    if not isinstance(block, np.ndarray):
        return ops.np.reshape(np.ravel(block) if isinstance(block, Tensor) else block, shape)
    made = np.empty(block.shape, block.dtype)  # in C order, where the batch may have any
    made[...] = block
    return np.reshape(made, shape)


# -- the standard basis ------------------------------------------------------------------------------------------------------


def spans(layouts: Sequence[Layout | None]) -> list[slice | None]:
    """Which of the basis' directions are each array's; None of one that does not count."""
    found: list[slice | None] = []
    start = 0
    for layout in layouts:
        stop = start if layout is None else start + prod(layout[0])
        found.append(None if layout is None else slice(start, stop))
        start = stop
    return found


def directions(layouts: Sequence[Layout | None]) -> int:
    """How many directions the basis has."""
    return sum(prod(layout[0]) for layout in layouts if layout is not None)


def units(layouts: Sequence[Layout | None], start: int, stop: int, values: Sequence[Any] = ()) -> list[Any]:
    """Some of the basis' directions, along a first axis of each array that counts, as they can meet some values."""
    made = []
    for layout, span in zip(layouts, spans(layouts), strict=True):
        if layout is not None and span is not None:
            shape, dtype = layout
            block = np.zeros((stop - start, prod(shape)), dtype)
            own = np.arange(max(start, span.start), min(stop, span.stop))
            block[own - start, own - span.start] = 1
            made.append(beside(block.reshape(stop - start, *shape), values))
    return made
