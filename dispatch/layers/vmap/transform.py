"""The transform `vmap`: wraps the arguments as a batch, runs the function once, and unwraps the results."""

import warnings
from collections.abc import Callable, Sequence
from functools import lru_cache, partial, wraps
from typing import Any

import numpy as np

from ...core import Level, check_data, is_array
from ...core.pytree import items_of, rebuilt, steps
from ...core.random_states import generators_of, given_generators
from ...core.source import levels_out
from ...core.wrong_calls import clear
from ...errors import BatchingError, check_function, check_word, how_many, kind_of, were_given
from ...operators.prims import broadcast_to, moveaxis
from .axes import checked_axes, mapped_axes, placed_axes
from .chunks import bounds_of, chunk_of, joined, run_all
from .kernel import common_length, in_batch
from .randomness import watched
from .tensor import RANDOMNESS, Batch, BatchedTensor

_batch = lru_cache(256)(Batch)  # a tenth of what making one costs


@clear
def vmap(
    f: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
    workers: int | None = None,
) -> Callable[..., Any]:
    """Return a function that calls `f` for each item along an axis of its arguments, all items in one call instead of a loop.

    Parameters
    ----------
    f : callable
        Written for one item: its arguments do not have the mapped axis.
    in_dims : int, None, or tuple of these
        The mapped axis of each positional argument, or None for an argument that all items share; a single value holds for
        all arguments. For an argument that is a list, tuple, dict or record, an axis holds for every array in it; a container
        of axes with the same structure gives each array its own. Keyword arguments are not mapped.
    out_dims : int, None, or a container of these
        The place of the mapped axis in each output, or None for an output that is the same for all items. It is read as
        `in_dims` is.
    randomness : {"error", "same", "different"}
        What an operator tagged `random` does with a batch: it raises, draws once for all items, or draws for each. A NumPy
        Generator that `f` calls itself draws once for all items, like everything that `f` computes from no mapped value: the
        call raises unless `"same"` says so, for a Generator among the arguments and those that the code of `f` names.
    chunk_size : int, optional
        How many items one call of `f` gets at most. A larger batch is cut into chunks and the results are joined, which takes
        less memory.
    workers : int, optional
        How many threads share the chunks. Without `chunk_size` each thread gets one chunk.

    Returns
    -------
    callable
        Takes the arguments with the mapped axes, and returns results with the mapped axis.

    Raises
    ------
    BatchingError
        From a call: if no argument has a mapped axis, if mapped axes differ in length, or if a container of axes has another
        structure than the argument or result that it is for; if `f` draws random numbers and `randomness` does not say for
        whom.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> a, b = np.arange(6.0).reshape(3, 2), np.arange(2.0)
    >>> dispatch.vmap(np.dot, in_dims=(0, None))(a, b)
    array([1., 3., 5.])
    >>> dispatch.vmap(lambda p: {"sum": p["x"] + p["y"]}, in_dims=({"x": 0, "y": None},), out_dims={"sum": 1})({"x": a, "y": b})
    {'sum': array([[0., 2., 4.],
           [2., 4., 6.]])}
    """
    check_function(f, "vmap", BatchingError)
    in_dims, out_dims = checked_axes(in_dims, "in_dims"), checked_axes(out_dims, "out_dims")
    _check_options(in_dims, randomness, chunk_size, workers)
    cut = chunk_size is not None or workers is not None
    asks = randomness != "same"
    own = generators_of(f) if asks else {}

    def placed(out: Any, level: Level) -> Any:
        return _out_of(out, placed_axes(out_dims, out, "the result"), level, level.payload.batch_size)

    @wraps(f)
    def mapped(*args: Any, **keywords: Any) -> Any:
        dims: Any = in_dims if type(in_dims) is tuple else (in_dims,) * len(args)
        if len(dims) != len(args):
            some = how_many(len(dims), "argument")
            raise BatchingError(f"vmap: in_dims names {some}, and {were_given(len(args))}. Give one for each.")
        size = common_length(args, dims)
        if size is None:
            if keywords and not args:
                by_name = "no argument is mapped: one given by name is whole for each item"
                raise BatchingError(f"vmap: {by_name}. Give by position what has an axis to map.")
            dims, size = _axes_and_size(args, dims)
        if keywords:
            _warn_of_names(keywords, size)
        given = given_generators(args, keywords) if asks and (keywords or None in dims) else None
        if own or given:
            return watched(f, {**own, **(given or {})}, partial(run, args, keywords, dims, size))
        if not cut:
            batch = (_batch if type(size) is int else Batch)(size, randomness)
            return in_batch(BatchedTensor, f, args, keywords, dims, batch, out_dims, placed)
        return run(args, keywords, dims, size, [])

    def run(args: tuple[Any, ...], keywords: dict[str, Any], dims: Any, size: Any, batches: list[Batch]) -> Any:
        """Call `f` with the whole batch, or with one chunk after the other, and keep what the layer is told of each."""
        bounds = (bounds_of(size, chunk_size, workers) if cut else None) or [(0, size)]
        calls = []
        for a, b in bounds:
            cut_here = len(bounds) > 1
            chunk = tuple([chunk_of(x, d, a, b) for x, d in zip(args, dims, strict=True)]) if cut_here else args
            batches.append(Batch(b - a if cut_here else size, randomness))
            calls.append(partial(in_batch, BatchedTensor, f, chunk, keywords, dims, batches[-1], out_dims, placed))
        if len(calls) == 1:
            return calls[0]()
        parts = run_all(calls, workers)
        return joined(parts, placed_axes(out_dims, parts[0], "the result"))

    return mapped


def _check_options(in_dims: Any, randomness: Any, chunk_size: Any, workers: Any) -> None:
    if not (in_dims is None or isinstance(in_dims, int) or type(in_dims) is tuple):
        raise BatchingError(
            f"vmap: in_dims is {kind_of(in_dims)}. It is an axis, None, or a tuple of one for each positional argument: "
            "in_dims=(0, None); an argument that is a container may have one of axes: in_dims=([0, 1],)."
        )
    check_word(randomness, "vmap: randomness", RANDOMNESS, BatchingError)
    for name, number, what in (("chunk_size", chunk_size, "items"), ("workers", workers, "threads")):
        if number is not None and (isinstance(number, bool) or not isinstance(number, (int, np.integer)) or number < 1):
            given = f"{number}" if isinstance(number, (int, np.integer)) else kind_of(number)
            raise BatchingError(f"vmap: {name} is a number of {what}, 1 or more, and was given as {given}.")


def _axes_and_size(args: Sequence[Any], dims: Sequence[Any]) -> tuple[list[Any], int]:
    """Return the axis of every array in the arguments, and the length that all these axes have."""
    sizes: list[tuple[str, int, int]] = []
    axes = [mapped_axes(dim, x, f"argument {i}", sizes) for i, (x, dim) in enumerate(zip(args, dims, strict=True))]
    if not sizes:
        raise BatchingError("vmap: no argument is mapped. Give at least one an axis in in_dims.")
    if any([length != sizes[0][2] for _, _, length in sizes[1:]]):
        said = "; ".join(f"{place} has {length} along axis {dim}" for place, dim, length in sizes)
        advice = "Give arrays of one length, or None in in_dims for what all items share."
        raise BatchingError(f"vmap: the mapped axes differ in length: {said}. {advice}")
    return axes, sizes[0][2]


def _warn_of_names(keywords: dict[str, Any], size: Any) -> None:
    """Warn of an array given by name that has as many items as are mapped: JAX's vmap maps it, and this one does not."""
    for name, x in keywords.items():
        shape: tuple[Any, ...] = x.shape if is_array(x) else ()
        if shape and shape[0] == size and type(size) is int and size > 1:
            warnings.warn(
                f"vmap: {name}= is an array of shape {tuple(shape)}, and each of the {size} items gets all of it: what is "
                "given by name is not mapped. Give it by position to map it, or with None in "
                "in_dims to say that all items share it.",
                UserWarning,
                stacklevel=levels_out(),
            )


def _out_of(out: Any, dim: Any, level: Level, size: int, place: str = "the result") -> Any:
    """Return a result without its wrapper, with the mapped axis in its place; one without a batch is repeated."""
    if type(dim) is list:
        parts = zip(items_of(out) or (), dim, steps(out), strict=True)
        return rebuilt(out, [_out_of(x, d, level, size, place + step) for x, d, step in parts])
    batched = isinstance(out, BatchedTensor) and out.level is level
    if dim is None:
        if batched:
            raise BatchingError(f"vmap: out_dims is None for {place}, which differs from item to item. Give it an axis.")
        return out
    if not batched and not (is_array(out) or isinstance(out, (bool, int, float, complex))):
        raise BatchingError(f"vmap: {place} is {kind_of(out)}, which makes no batch. Return arrays, or out_dims=None for it.")
    shape = getattr(out, "shape", ())
    if not -len(shape) - 1 <= dim <= len(shape):
        raise BatchingError(
            f"vmap: out_dims is {dim}, and {place} has shape {shape} for an item, so that the mapped axis can be "
            f"{-len(shape) - 1} to {len(shape)}."
        )
    if batched:
        return out.value if dim % len(out.value.shape) == out.kept else moveaxis(out.value, out.kept, dim)
    check_data(out)
    whole = broadcast_to(out if is_array(out) else np.asarray(out), (size, *shape))
    return whole if dim == 0 else moveaxis(whole, 0, dim)
