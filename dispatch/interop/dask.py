"""Operators on Dask arrays: lazily, one task for each chunk of the result.

Dask's arrays become those of a device, `"dask"`, when the first one is met. NumPy's functions then go to `dask.array`'s own.
The kernel of any other operator runs on the NumPy arrays that the chunks are:

    signature="(m,n),(n)->(m)"    once for each chunk of the loop axes; an axis that is named there is in one chunk
    tags=Tag.pointwise            the same, with no axis named
    neither                       once, on arrays of one chunk each

The shape rule says what comes out, so that no kernel runs before `compute()`. An operator with a kernel of its own,
`op.register_kernel("dask")`, is left to that. More than 350 lines, with the words for each thing that chunks forbid.
"""

from collections.abc import Container, Iterator, Sequence
from functools import lru_cache
from itertools import count
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from ..autodiff.rules.elementwise import depends_on_neighbours
from ..core import DispatchKey, OpOverload, Registration, active_modes, add_fallback, set_divided
from ..core.lazy import names_of
from ..core.optional import require
from ..core.pytree import leaves, mapped
from ..core.wrong_calls import clear
from ..dispatcher.array_types import register_array_type
from ..dispatcher.layer import Kernel, kernels
from ..errors import ArgumentError, NoKernelError, NoRuleError, OutputError, UnsupportedError
from ..layers.fake import FakeTensor, FakeTensorMode
from ..layers.opaque_rules import stand_ins
from ..numpy_ops.array_protocols import function_of
from ..operators.gufunc.signature import Signature
from ..operators.rule_operators import about, spelled
from ..schema.tags import Tag
from ..schema.types import RESIDUAL
from ..symbolic import ShapeEnv, SymBool, SymInt

da = require("dask.array", "dask", needed_by="dispatch.interop.dask")

__all__ = ["register"]

Axes = tuple[str, ...]


class LoopAxis(str):
    """The name of a loop axis, by its place from the end: loop axes broadcast."""

    __slots__ = ()


@clear
def register() -> None:
    """Make Dask's arrays a device; the package does so itself when it meets the first one."""
    register_array_type(da.Array, device="dask", beside_numpy=True)
    set_divided(DispatchKey.DASK)
    add_fallback(Registration(DispatchKey.DASK, run))
    stand_ins["dask"] = int(DispatchKey.DASK), stand_in


def stand_in(x: Any) -> FakeTensor:
    """What a rule is tried on in place of a Dask array, which would be computed when its data are asked for."""
    return FakeTensorMode(allow_non_fake_inputs=True).from_array(_in_one_piece(x))


def _in_one_piece(x: Any) -> Any:
    return np.broadcast_to(np.empty((), x.dtype), x.shape)


def run(op: OpOverload, *args: Any, **keywords: Any) -> Any:
    """The kernel at the key of Dask of every operator without one of its own."""
    by_protocols = _kernel_by_protocols(op)
    if by_protocols is not None:
        return by_protocols(*args, **keywords)
    _check_operator(op)
    values = (*args, *[keywords[name] for name in op.arguments.keyword_names])
    found = [(a.name, x) for a, value in zip(op.schema.arguments, values, strict=True) for x in leaves(value) if _is_array(x)]
    names, arrays = [name for name, _ in found], [da.asarray(x) for _, x in found]
    _check_sizes(op, arrays, names)
    made = _result_of(op, values)
    results = [x for x in leaves(made) if isinstance(x, FakeTensor)]
    residuals = [x.held for value in values for x in leaves(value) if isinstance(x, LazyResidual)]
    named = _named_axes(op, arrays, results)
    inputs, outputs = named or _separate_axes(arrays, results)
    _check_chunks(op, arrays, inputs, names, whole=named is None)
    chunks, arrays = da.core.unify_chunks(*_paired(arrays, inputs))
    loop = max((tuple(axis for axis in axes if isinstance(axis, LoopAxis)) for axes in inputs), key=len)
    given = [*_paired(arrays, inputs), *_paired(residuals, [()] * len(residuals))]
    if loop:
        given[:0] = da.core.ArrayBlockIdDep(tuple([chunks[axis] for axis in loop])), loop
    single = isinstance(made, FakeTensor) and not op.outputs.residual
    places = mapped(lambda x: _HOLE if _is_array(x) else _RESIDUAL if isinstance(x, LazyResidual) else x, list(values))
    returned = None if single else [_HOLE if isinstance(x, FakeTensor) else x for x in leaves(made)]
    task = Task(op, places, numbered=bool(loop), results=returned)
    if single:
        return _blockwise(op.schema.name, task, outputs[0], given, chunks, made)
    together = _blockwise(op.schema.name, task, loop, given, chunks, None)

    def part(i: int, axes: Axes, like: FakeTensor | None) -> Any:
        return _blockwise(f"{op.schema.name}-{i}", itemgetter(i), axes, [together, loop], loop, like)

    parts = iter([part(i, axes, x) for i, (x, axes) in enumerate(zip(results, outputs, strict=True))])
    result = mapped(lambda x: next(parts) if isinstance(x, FakeTensor) else x, made)
    if not op.outputs.residual:
        return result
    residual = LazyResidual(part(len(results), (), None))
    return residual if op.outputs.count == 0 else (*result, residual) if op.outputs.count > 1 else (result, residual)


class LazyResidual:
    """What an operator keeps for its backward, in a task of Dask: an operator that takes it runs where it is computed."""

    def __init__(self, held: Any) -> None:
        self.held = held


def _blockwise(name: str, task: Any, axes: Axes, given: list[Any], known: Container[str], like: FakeTensor | None) -> Any:
    """One layer of Dask's graph, with a result like a fake, or, without one, of a tuple for each chunk of the loop."""
    sizes = {} if like is None else {axis: n if type(n) is int else np.nan for axis, n in zip(axes, like.shape, strict=True)}
    return da.blockwise(
        task,
        axes,
        *given,
        token=name,
        new_axes={axis: size for axis, size in sizes.items() if axis not in known},
        meta=np.empty((0,) * len(axes), object if like is None else like.dtype),
        align_arrays=False,
        concatenate=True,
    )


def _paired(arrays: Sequence[Any], axes: Sequence[Axes]) -> list[Any]:
    return [part for pair in zip(arrays, axes, strict=True) for part in pair]


@lru_cache(maxsize=4096)
def _kernel_by_protocols(op: OpOverload) -> Kernel | None:
    derived = kernels.derived(op)
    if derived is None:
        return None
    function = function_of(op)  # of those that it lacks, Dask computes the arrays and calls NumPy's
    if function is not None and not isinstance(function, np.ufunc):
        module = function.__module__.rpartition("numpy")[2].lstrip(".")
        if not hasattr(getattr(da, module, None) if module else da, function.__name__):
            raise NoKernelError(
                f"{op.name} was called with Dask arrays, and dask.array has no {function.__name__}. Compute the array first, "
                f"x.compute(), or register a kernel: dispatch.register_kernel({op.name!r}, 'dask', function).",
                operator=op.name,
            )
    return derived.make()


def _is_array(x: Any) -> bool:
    return isinstance(x, (np.ndarray, da.Array))


def _check_operator(op: OpOverload) -> None:
    if op.schema.is_mutable:
        raise UnsupportedError(
            f"{op.name} writes to its arguments, and nothing writes to the chunks of a Dask array. Call the form that returns "
            f"what it writes: {op.schema.name}.functional(...).",
            operator=op.name,
        )


def _check_sizes(op: OpOverload, arrays: Sequence[Any], names: Sequence[str]) -> None:
    """Raise if an array has an axis whose length is known only when it is computed."""
    for x, name in zip(arrays, names, strict=True):
        if np.isnan(x.shape).any():
            raise ArgumentError(
                f"{op.name}: argument {name!r} has shape {x.shape}, and a shape rule needs numbers. Write "
                f"{name}.compute_chunk_sizes(), which computes the array to count them.",
                operator=op.name,
            )


def _result_of(op: OpOverload, values: Sequence[Any]) -> Any:
    """What the shape rule says comes out, of arrays in one piece; a size that depends on data is a symbol."""
    mode = FakeTensorMode(shape_env=ShapeEnv() if Tag.dynamic_output_shape in op.tags else None)

    def fake(x: Any) -> Any:
        return mode.from_array(_in_one_piece(x), static_shapes=True) if _is_array(x) else x

    fakes = mapped(fake, list(values))
    try:
        with mode:
            made = _called(op, fakes)
    except NoRuleError as error:
        raise NoRuleError(
            f"{op.name} was called with Dask arrays and has no shape rule, so that nobody knows what comes out before it is "
            f"computed. Add one: @{op.schema.name}.register_fake.",
            operator=op.name,
        ) from error
    for x in leaves(made):
        if isinstance(x, (SymInt, SymBool)):
            raise UnsupportedError(
                f"{op.name} returns a number that depends on data, and a Dask graph holds arrays alone. Return it as an array "
                "of no axes.",
                operator=op.name,
            )
    return made


def _called(op: OpOverload, values: list[Any]) -> Any:
    positional = op.arguments.positional
    return op(*values[:positional], **dict(zip(op.arguments.keyword_names, values[positional:], strict=True)))


# -- axes ------------------------------------------------------------------------------------------------------------------


def _named_axes(op: OpOverload, arrays: Sequence[Any], results: Sequence[Any]) -> tuple[list[Axes], list[Axes]] | None:
    """The axes of arrays and results by name, of an operator whose definition says what it does to chunks; else None."""
    signature: Signature | None = vars(op).get("signature")
    if (signature is None and Tag.pointwise not in op.tags) or _has_residual(op):
        return None
    if signature is None:
        signature = Signature(((),) * len(arrays), ((),) * len(results))
    else:
        signature = signature.without(signature.bind(tuple([x.shape for x in arrays])).missing)
    places = count()  # a fixed size names no axis that others share

    def named(x: Any, core: Axes) -> Axes:
        loops = len(x.shape) - len(core)
        place = next(places)
        own = [f"{name} of array {place}" if name.isdigit() else name for name in core]
        return (*[LoopAxis(loops - i) for i in range(loops)], *own)

    inputs = [named(x, core) for x, core in zip(arrays, signature.inputs, strict=True)]
    return inputs, [named(x, core) for x, core in zip(results, signature.outputs, strict=True)]


def _hold_pointwise(op: OpOverload) -> None:
    """Raise where an operator is tagged pointwise and its kernel is not: chunks alone would give another result in silence."""
    if Tag.pointwise in op.tags and vars(op).get("pointwise_held") != op.epoch and not active_modes():
        if depends_on_neighbours(op):
            raise ArgumentError(
                f"{op.name} is tagged pointwise, by which its kernel runs on each chunk alone, and an element of its result "
                "changes with those beside it. Leave out Tag.pointwise, and name the axes that it needs whole: "
                "signature='(n)->(n)'.",
                operator=op.name,
            )
        vars(op)["pointwise_held"] = op.epoch


def _has_residual(op: OpOverload) -> bool:
    """Whether an operator returns or takes a residual: that is of arrays in one piece."""
    return op.outputs.residual or any([a.type == RESIDUAL for a in op.schema.arguments])


def _separate_axes(arrays: Sequence[Any], results: Sequence[Any]) -> tuple[list[Axes], list[Axes]]:
    """The axes where nothing is known of them: each has a name of its own."""
    names: Iterator[str] = (f"axis {i}" for i in count())
    return [tuple([next(names) for _ in x.shape]) for x in arrays], [tuple([next(names) for _ in x.shape]) for x in results]


def _check_chunks(op: OpOverload, arrays: Sequence[Any], inputs: Sequence[Axes], names: Sequence[str], *, whole: bool) -> None:
    """Raise if an axis is in several chunks that the kernel needs in one."""
    for x, axes, name in zip(arrays, inputs, names, strict=True):
        cut = [i for i, axis in enumerate(axes) if not isinstance(axis, LoopAxis) and len(x.chunks[i]) > 1]
        if not cut:
            continue
        there = " and ".join(f"axis {i} in {len(x.chunks[i])} chunks" for i in cut)
        needs = ", ".join(axes[i] for i in cut)
        of = about(op)
        if of is not None:
            rule = spelled(op).rpartition(".")[2].replace("_", " ")
            raise ArgumentError(
                f"{of.name}: its {rule} hands what it gets to code that takes arrays alone, and so is one task, of arrays in "
                f"one chunk each; here is one with {there}. Make that code an operator with tags=Tag.pointwise or "
                f"signature='...', or rechunk what {of.schema.name} is called with.",
                operator=of.name,
            )
        if _has_residual(op):
            why, more = "its Residual is of arrays in one", ""
        elif whole:
            why, more = (
                "nothing says what the operator does to chunks",
                " define the operator with signature='...' or tags=Tag.pointwise,",
            )
        else:
            why, more = f"its signature needs {needs} in one", ""
        line = f"{name}.rechunk({{{', '.join(f'{i}: -1' for i in cut)}}})"
        raise ArgumentError(
            f"{op.name}: argument {name!r} has {there}, and {why}. Write {line},{more} or register a kernel that takes Dask "
            f"arrays: @{op.schema.name}.register_kernel('dask').",
            operator=op.name,
        )


# -- tasks -----------------------------------------------------------------------------------------------------------------


class Hole:
    """Stands among the arguments of a task where a chunk goes, or a residual."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __reduce__(self) -> str:
        return self.name


_HOLE, _RESIDUAL = Hole("_HOLE"), Hole("_RESIDUAL")


class Task:
    """The operator on the NumPy arrays of one chunk, the other arguments in their places. Workers find the operator by name.

    Parameters
    ----------
    op : OpOverload
    values : list
        The arguments, with holes for arrays.
    numbered : bool
        Whether the number of the chunk comes before the arrays; an exception says it.
    results : list, optional
        What the shape rule said that comes out, a hole for each array; the task returns a tuple of these, and of the residual
        if there is one. By default one array comes out, and nothing else.
    """

    def __init__(self, op: OpOverload, values: list[Any], *, numbered: bool, results: list[Any] | None = None) -> None:
        self.op, self.values, self.numbered, self.results = op, values, numbered, results

    def __call__(self, *chunks: Any) -> Any:
        place, given = (chunks[0], chunks[1:]) if self.numbered else (None, chunks)
        arrays = iter(given)
        values = mapped(lambda x: next(arrays) if x is _HOLE else x, self.values)
        residuals = iter([*arrays])  # they come after the arrays
        try:
            _hold_pointwise(self.op)
            return self._computed(mapped(lambda x: next(residuals) if x is _RESIDUAL else x, values))
        except Exception as error:
            if place is not None:
                error.add_note(f"in chunk {tuple(place)} of a Dask array")
            raise

    def _computed(self, values: list[Any]) -> Any:
        if self.results is None:
            return _called(self.op, values)
        if self.op.outputs.residual:
            *out, residual = self.op.whole(*values)
            kept: tuple[Any, ...] = (residual,)
        else:
            out, kept = _called(self.op, values), ()
        found = leaves(out)
        if len(found) != len(self.results) or any(
            [said is not _HOLE and said != x for x, said in zip(found, self.results, strict=True)]
        ):
            said = ", ".join(["an array" if x is _HOLE else repr(x) for x in self.results])
            given = ", ".join(["an array" if _is_array(x) else repr(x) for x in found])
            raise OutputError(
                f"{self.op.name} returned {given} in a task of Dask, and its shape rule said {said}.",
                operator=self.op.name,
            )
        return (*[x for x, said in zip(found, self.results, strict=True) if said is _HOLE], *kept)

    def __dask_tokenize__(self) -> Any:
        return type(self).__name__, self.op.name, self.values, self.numbered


if not TYPE_CHECKING:
    __getattr__, __dir__ = names_of(globals(), {})
