"""xarray: operators on DataArrays, derivatives by them, and a batch along a dimension.

An operator that is called with a DataArray returns one. What it does to dimensions is in its definition:

    signature="(m,n),(n)->(m)"    the axes that are named there are found by their names in the array, the others are loop axes
    tags=Tag.pointwise            all axes are loop axes, which broadcast by name
    neither                       the arrays have the same dimensions, and so have results of their shape; others are refused

`xarray.apply_ufunc` aligns, broadcasts and keeps coordinates, under xarray's options `arithmetic_join` and `keep_attrs`. The
operator gets the arrays that the DataArrays hold, so those of Dask stay lazy, and values of a transform are recorded.

To the transforms a DataArray or a Dataset is a container of its arrays: inside of `grad(f)` the argument of `f` is a DataArray,
with everything that xarray does, and the gradient is one. Importing this module needs xarray.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial, wraps
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core import OpOverload
from ..core.lazy import names_of
from ..core.optional import require
from ..core.overload import bound
from ..core.pytree import leaves
from ..core.wrong_calls import clear
from ..errors import ArgumentError, BatchingError, UnsupportedError, did_you_mean, kind_of
from ..layers.fake import FakeTensorMode
from ..layers.vmap import vmap as batched
from ..numpy_ops.array_protocols import function_of
from ..operators.gufunc.signature import Signature
from ..schema.tags import Tag
from ..schema.types import RESIDUAL, TENSOR
from .derived_operators import called
from .xarray_containers import ARRAYS, Labels, mapped_labelled, register, with_data

xarray = require("xarray", "xarray", needed_by="dispatch.interop.xarray")

__all__ = ["register", "vmap"]

MAPS = {  # what holds several arrays, by its class in xarray, and the line that calls an operator for each of them
    "Dataset": "{x}.map({f})",
    "DataArrayGroupBy": "{x}.map({f})",
    "DatasetGroupBy": "{x}.map(lambda ds: ds.map({f}))",
    "DataTree": "{x}.map_over_datasets(lambda ds: ds.map({f}))",
}
Dims = tuple[Any, ...]


# -- calls -----------------------------------------------------------------------------------------------------------------


def taken_over(op: OpOverload, args: tuple[Any, ...], keywords: Mapping[str, Any]) -> Any:
    """Run a call of an operator that has DataArrays among its arguments; NotImplemented where there are none."""
    values = list(bound(op, args, dict(keywords)))
    operands: list[Any] = []

    def seen(x: Any, name: str) -> Any:
        if line := MAPS.get(type(x).__name__) if type(x).__module__.startswith("xarray.") else None:
            raise ArgumentError(_about_several(op, x, name, line, len(args) + len(keywords)), operator=op.name, argument=name)
        if isinstance(x, ARRAYS):
            operands.append(x)

    for name, value in zip(op.arguments.names, values, strict=True):
        mapped_labelled(partial(seen, name=name), value)
    if not operands:
        return NotImplemented
    _check_operator(op)

    def call(*arrays: Any) -> Any:
        given = iter(arrays)
        return called(op, [mapped_labelled(lambda x: next(given) if isinstance(x, ARRAYS) else x, value) for value in values])

    signature: Signature | None = vars(op).get("signature")
    if signature is not None:
        inputs, outputs = _named_dims(op, signature, values)
    elif Tag.pointwise in op.tags:
        inputs, outputs = [()] * len(operands), [()] * _count(op)
    else:
        inputs, outputs = _same_dims(op, operands, call)
        call = _checked(op, call, inputs[0])
    return xarray.apply_ufunc(
        call,
        *operands,
        input_core_dims=inputs,
        output_core_dims=outputs,
        join=xarray.get_options()["arithmetic_join"],
        dask="allowed",
    )


def _count(op: OpOverload) -> int:
    return sum(r.type != RESIDUAL for r in op.schema.returns)


def _about_several(op: OpOverload, x: Any, name: str, line: str, given: int) -> str:
    own = op.schema.name
    f = own if given == 1 else f"lambda {name}: {own}({', '.join(op.arguments.names[:given])})"
    return (
        f"{op.name}: argument {name!r} is an array, and was given {kind_of(x)}, which holds several. Write "
        f"{line.format(x=name, f=f)}, which calls the operator for each of them."
    )


def _check_operator(op: OpOverload) -> None:
    if op.schema.is_mutable:
        names = ", ".join(f"{name}.data" for name in op.arguments.names[:1])
        raise UnsupportedError(
            f"{op.name} writes to its arguments, and a DataArray that is aligned with others is a copy, in which a write would "
            f"be lost. Give it the array, {op.schema.name}({names}).",
            operator=op.name,
        )
    other = next((r for r in op.schema.returns if r.type not in (TENSOR, RESIDUAL)), None)
    if other is not None or not op.schema.returns:
        raise UnsupportedError(
            f"{op.name} returns {other.type if other is not None else 'nothing'}, and not arrays, each of which could be a "
            f"DataArray. Give it the array, {op.schema.name}(x.data).",
            operator=op.name,
        )


def _named_dims(op: OpOverload, signature: Signature, values: Sequence[Any]) -> tuple[list[Dims], list[Dims]]:
    """The core dimensions of the DataArrays and of the results, of an operator with a signature.

    An axis is found by the name that the signature has for it, or that an earlier array of the call has; what is found by
    neither are the last axes that are left, in order, as in NumPy. One name for two axes of the signature is refused.
    """
    found = [(a.name, x) for a, x in zip(op.schema.arguments, values, strict=True) if a.type == TENSOR]
    signature = signature.with_axes(tuple([len(getattr(x, "shape", ())) for _, x in found]))
    names: dict[str, Any] = {}  # by the signature's name of an axis, its name in the arrays
    inputs: list[Dims] = []
    for (name, x), core in zip(found, signature.inputs, strict=True):
        if not isinstance(x, ARRAYS):
            continue
        dims: list[Any] = []
        for axis in core:
            near = [d for d in (axis, names.get(axis)) if d in x.dims and d not in dims]
            dims.append(near[0] if near else None)
        rest = [d for d in x.dims if d not in dims]
        unknown = [i for i, d in enumerate(dims) if d is None]
        if len(unknown) > len(rest):
            raise ArgumentError(
                f"{op.name}: argument {name!r} has the dimensions {x.dims}, and ({','.join(core)}) of the signature "
                f"{signature} asks for {len(core)}.",
                operator=op.name,
                argument=name,
            )
        for i, d in zip(unknown, rest[len(rest) - len(unknown) :], strict=True):
            if (other := next((axis for axis in names if names[axis] == d), core[i])) != core[i]:
                raise ArgumentError(
                    f"{op.name}: the dimension {d!r} of argument {name!r} stands where the signature {signature} has "
                    f"{core[i]}, and an array before it has {d!r} for {other}. Rename one, {name}.rename({{{d!r}: ...}}).",
                    operator=op.name,
                    argument=name,
                )
            dims[i] = d
        for axis, d in zip(core, dims, strict=True):
            names.setdefault(axis, d)
        inputs.append(tuple(dims))
    loops = {d for _, x in found if isinstance(x, ARRAYS) for d in x.dims}
    outputs: list[Dims] = []
    for core in signature.outputs:
        dims = [
            names.get(axis, f"{op.schema.name}_{i}" if axis.isdigit() or axis in loops else axis) for i, axis in enumerate(core)
        ]
        outputs.append(tuple([d if d not in dims[:i] else f"{d}_{dims[:i].count(d) + 1}" for i, d in enumerate(dims)]))
    return inputs, outputs


# -- operators that say nothing of axes --------------------------------------------------------------------------------------


def _same_dims(op: OpOverload, operands: Sequence[Any], call: Callable[..., Any]) -> tuple[list[Dims], list[Dims]]:
    dims = operands[0].dims
    if others := [x.dims for x in operands if set(x.dims) != set(dims)]:
        raise ArgumentError(
            f"{op.name} was called with DataArrays of dimensions {dims} and {others[0]}, and nothing says which axes it "
            f"computes along. {_remedy(op, dims)}",
            operator=op.name,
        )
    _check_order(op, operands, call)
    return [dims] * len(operands), [dims] * _count(op)


def _remedy(op: OpOverload, dims: Dims) -> str:
    if function_of(op) is not None:
        return f"Call NumPy's own function, np.{op.schema.name}(x), which xarray computes."
    return (
        "Define the operator with signature='...' or tags=Tag.pointwise, or say it in the call: "
        f"xarray.apply_ufunc({op.schema.name}, x, input_core_dims=[{list(dims)}], output_core_dims=[...])."
    )


def _check_order(op: OpOverload, operands: Sequence[Any], call: Callable[..., Any]) -> None:
    """Raise if two axes have one length, unless the shape rule, asked for other lengths, says that they keep their places."""
    first = operands[0]
    if not any(n > 1 for size, n in Counter(first.shape).items() if size != 1):
        return
    shape = tuple([size + 100 * i for i, size in enumerate(first.shape)])
    mode = FakeTensorMode(allow_non_fake_inputs=True)
    try:
        with mode:
            made = call(*[mode.from_array(np.broadcast_to(np.empty((), x.dtype), shape)) for x in operands])
        kept = all(y.shape == shape for y in leaves(made))
    except Exception:  # a rule may raise what it likes for a shape that it does not take
        kept = False
    if not kept:
        raise UnsupportedError(
            f"{op.name} was called with a {type(first).__name__} {Labels(first)}, of which two axes have one length, so that "
            f"nothing says which axis of the result is which. {_remedy(op, first.dims)}",
            operator=op.name,
        )


def _checked(op: OpOverload, call: Callable[..., Any], dims: Dims) -> Callable[..., Any]:
    """A call that refuses results of another shape than the arrays have."""

    def checked(*arrays: Any) -> Any:
        made = call(*arrays)
        if others := [y.shape for y in leaves(made) if y.shape != arrays[0].shape]:
            raise UnsupportedError(
                f"{op.name} was called with a DataArray of shape {arrays[0].shape} and returned shape {others[0]}, and nothing "
                f"says which dimensions these are. {_remedy(op, dims)}",
                operator=op.name,
            )
        return made

    return checked


# -- batches ---------------------------------------------------------------------------------------------------------------


@clear
def vmap(f: Callable[..., Any], dim: Any, **options: Any) -> Callable[..., Any]:
    """Return a function that calls `f` for each label along a dimension, all of them in one call instead of a loop.

    Parameters
    ----------
    f : callable
        Written for one item: its DataArrays have neither the dimension nor the coordinates along it.
    dim : str
        The name of the dimension. What does not have it, all items share; arrays that are no DataArrays are shared, too.
    **options
        `randomness`, `chunk_size` and `workers`, as `dispatch.vmap` takes them.

    Returns
    -------
    callable
        Takes DataArrays, also in containers, which are aligned along the dimension as xarray's option `arithmetic_join` says.
        A DataArray that `f` returns gets the dimension in front, with its coordinates; an array gets a first axis.

    Raises
    ------
    BatchingError
        From a call: if no argument has the dimension.

    Examples
    --------
    >>> import numpy as np, xarray
    >>> x = xarray.DataArray(np.ones((2, 3)), dims=("time", "place"), coords={"time": [10, 20]})
    >>> vmap(lambda row: row / row.sum(), "time")(x).dims
    ('time', 'place')
    """

    @wraps(f)
    def over(*args: Any, **keywords: Any) -> Any:
        given: list[Any] = []
        mapped_labelled(lambda x: given.append(x) if isinstance(x, ARRAYS) and dim in x.dims else None, (args, keywords))
        if not given:
            shown: list[Any] = []
            mapped_labelled(lambda x: shown.extend(x.dims) if isinstance(x, ARRAYS) else None, (args, keywords))
            known = [str(name) for name in dict.fromkeys(shown)]
            remedy = did_you_mean(str(dim), known) or " Give one that has."
            has = f", of {', '.join(map(repr, known))}" if known else ""
            raise BatchingError(f"vmap: no DataArray among the arguments has the dimension {dim!r}{has}.{remedy}")
        labelled = [x for x in given if isinstance(x, xarray.DataArray)]
        aligned = iter(
            xarray.align(
                *labelled,
                join=xarray.get_options()["arithmetic_join"],
                copy=False,
                exclude={d for x in labelled for d in x.dims} - {dim},
            )
        )
        given = [next(aligned) if isinstance(x, xarray.DataArray) else x for x in given]
        results: list[Any] = []

        def item(*arrays: Any) -> list[Any]:
            inside = iter([_item(x, dim, data) for x, data in zip(given, arrays, strict=True)])
            put = lambda x: next(inside) if isinstance(x, ARRAYS) and dim in x.dims else x
            inner, named = mapped_labelled(put, (args, keywords))
            results.append(f(*inner, **named))
            made: list[Any] = []
            mapped_labelled(lambda x: made.append(x.data if isinstance(x, ARRAYS) else x), results[-1])
            return made

        whole = iter(batched(item, tuple([x.dims.index(dim) for x in given]), **options)(*[x.data for x in given]))
        along = {name: c for x in reversed(given) for name, c in getattr(x, "coords", {}).items() if dim in c.dims}
        return mapped_labelled(lambda x: _whole(x, dim, next(whole), along), results[-1])

    return over


def _item(x: Any, dim: Any, data: Any) -> Any:
    """What stands for `x` inside of a batch: it has one dimension less."""
    hollow = x.copy(data=np.broadcast_to(np.empty((), x.dtype), x.shape))
    if isinstance(x, xarray.DataArray):
        hollow = hollow.drop_vars([name for name, c in x.coords.items() if dim in c.dims])  # of one item they would be for all
    return with_data(hollow.isel({dim: 0}), [data])


def _whole(x: Any, dim: Any, data: Any, along: Mapping[Any, Any]) -> Any:
    """A result with the dimension in front."""
    if isinstance(x, xarray.Variable):
        return xarray.Variable((dim, *x.dims), data, x.attrs)
    if not isinstance(x, xarray.DataArray):
        return data
    dims = (dim, *x.dims)
    coords = {name: c for name, c in {**along, **x.coords}.items() if set(c.dims) <= set(dims)}
    return xarray.DataArray(data, coords, dims, name=x.name, attrs=x.attrs)


if not TYPE_CHECKING:
    __getattr__, __dir__ = names_of(globals(), {})
