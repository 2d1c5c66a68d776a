"""DataArrays and Datasets as containers of their arrays: what a transform opens, and puts together again.

What a DataArray has beside its array, dimensions, coordinates, a name and attributes, goes along as it is. Two of them are of
one structure where dimensions and the labels along them are equal; a cotangent with others is refused, since arrays are matched
by place.
"""

from collections.abc import Callable, Sequence
from typing import Any

from ..core import Tensor, device_of
from ..core.flatten import items_of, rebuilt, set_record
from ..core.optional import require
from ..errors import UnsupportedError, kind_of

xarray = require("xarray", "xarray", needed_by="dispatch.interop.xarray")

ARRAYS = (xarray.DataArray, xarray.Variable)


class Labels:
    """What two DataArrays or Datasets have to agree in to be of one structure: names, dimensions, and labels along them."""

    __slots__ = ("arrays", "indexes")

    def __init__(self, x: Any) -> None:
        several = x.data_vars.items() if _has_several(x) else (("", x),)
        self.arrays = [(name, y.dims, y.shape) for name, y in several]
        self.indexes = dict(getattr(x, "xindexes", {}))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Labels) or [name for name, *_ in self.arrays] != [name for name, *_ in other.arrays]:
            return False
        same = all(x[1] == y[1] for x, y in zip(self.arrays, other.arrays, strict=True))
        both = self.indexes.keys() & other.indexes.keys()
        return same and all(_equal_labels(self.indexes[name], other.indexes[name]) for name in both)

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        sizes = [(name, zip(dims, shape, strict=True)) for name, dims, shape in self.arrays]
        each = [(name, ", ".join([f"{d}: {n}" for d, n in pairs])) for name, pairs in sizes]
        return f"with {', '.join([f'{name}({pairs})' for name, pairs in each])}"


def _equal_labels(x: Any, y: Any) -> bool:
    return x is y or (type(x) is type(y) and bool(x.equals(y)))


def _has_several(x: Any) -> bool:
    return isinstance(x, xarray.Dataset)


def register() -> None:
    """Make DataArrays and Datasets containers of their arrays; the package does so itself when it meets the first one."""
    set_record(xarray.DataArray, _data, with_data, lambda x: [".data"], Labels)
    set_record(xarray.Variable, _data, with_data, lambda x: [".data"], Labels)
    set_record(
        xarray.Dataset,
        lambda x: tuple([y.data for y in x.data_vars.values()]),
        lambda x, items: x.assign({name: with_data(y, [z]) for (name, y), z in zip(x.data_vars.items(), items, strict=True)}),
        lambda x: [f"[{name!r}].data" for name in x.data_vars],
        Labels,
    )


def _data(x: Any) -> tuple[Any]:
    return (x.data,)


def with_data(x: Any, items: Sequence[Any]) -> Any:
    """An object like `x` that holds another array."""
    (data,) = items
    if isinstance(data, ARRAYS) or (not isinstance(data, Tensor) and device_of(data) is None):
        raise UnsupportedError(
            f"{kind_of(x)} {Labels(x)} is to hold {kind_of(data)}, and holds arrays alone: a graph has no coordinates, and a "
            "Jacobian no one array. Give the transform x.data, and make the DataArray of what comes back."
        )
    if data.shape != x.shape:
        raise UnsupportedError(
            f"{kind_of(x)} {Labels(x)} is to hold an array of shape {data.shape}, and nothing says what its axes are: a "
            "Jacobian or a batch has others. Give the transform x.data, and make the DataArray of what comes back; a batch "
            "along a dimension is dispatch.interop.xarray.vmap(f, dim)."
        )
    if isinstance(x, xarray.Variable):
        return xarray.Variable(x.dims, data, x.attrs)
    return xarray.DataArray(data, x.coords, x.dims, name=x.name, attrs=x.attrs)


def mapped_labelled(f: Callable[[Any], Any], x: Any) -> Any:
    """A container like `x` with a function's values in place of its leaves; what has labels is a leaf."""
    items = None if isinstance(x, ARRAYS) or _has_several(x) else items_of(x)
    return f(x) if items is None else rebuilt(x, [mapped_labelled(f, item) for item in items])
