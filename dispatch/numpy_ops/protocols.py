"""NumPy's protocols on wrappers: `np.sin(x)`, `np.sum(x, axis=0)`, `x + 1`, `x.sum()` and `x[0]` call their rows.

Three tables give the row of a function, operator or method; what is in none of them raises by name. More than 350 lines, because a
method of arrays is a line or a few.

    UFUNCS       NumPy's ufuncs        np.add(x, 1)      through __array_ufunc__
    FUNCTIONS    its other functions   np.sum(x)         through __array_function__
    ON_TENSORS   infix and methods     x + 1, x.sum()    put on Tensor when this module is imported

The first two are in `numpy_ops/numpy_functions.py`. The core knows no operator, so this module gives Tensor its methods.
"""

from collections.abc import Callable, Iterable
from operator import index
from typing import Any, NoReturn

import numpy as np

from ..core import DispatchKey, OpOverload, Tensor, device_of, note_request
from ..core.array_memory import sealed
from ..core.lazy import LazyFunction
from ..core.others_words import instead_of
from ..core.pytree import leaves
from ..core.wrong_calls import clear
from ..dispatcher.conversion_advice import line_for
from ..dispatcher.frameworks import framework_of
from ..dispatcher.printing import describe_value
from ..errors import ArgumentError, ConversionError, DispatchError, UnsupportedError, did_you_mean
from ..operators import prims
from ..operators.registry import ops
from ..operators.views import is_number
from . import array_methods, flags, indexing, pointwise, pointwise_more, reduction, shape, statistics
from .array_attributes import instead
from .assignment import augmented, check_apart, check_matmul_in_place, fill, put, setitem
from .families import kernel_of
from .infix import array_function, array_ufunc, infix, is_operand, method, power, subscript, unary
from .linalg import matmul
from .numpy_functions import FUNCTIONS, LOADERS, UFUNCS, enter_rest, getitem, is_special, special_row, spelling_of
from .row_arguments import as_item, as_value, call, converted, has_listed

Function = Callable[..., Any]
by_method = LazyFunction(__package__, ".ufunc_methods", "by_method")
ufunc_with = LazyFunction(__package__, ".ufunc_keywords", "ufunc_with")

WRITERS = ("save", "savez", "savez_compressed", "savetxt", "array2string", "array_repr", "array_str")  # to files, or as text


def _no_row(spelling: str, given: object = None) -> UnsupportedError:
    """Return the error for a function without a row: its name, similar names, and how to make it an operator."""
    note_request()  # the function would take the data, as an array
    name = spelling.rpartition(".")[2]
    fake = next((x for x in leaves(given) if isinstance(x, Tensor) and type(x).key == DispatchKey.FAKE), None)
    if name in WRITERS and fake is not None:
        return UnsupportedError(
            f"{spelling} writes numbers, and a fake tensor has none, of which shape {fake.shape} and dtype {fake.dtype} alone are "
            "known. Compute the array outside the mode."
        )
    if name in WRITERS:
        return UnsupportedError(
            f"{spelling} writes numbers, and was given a value that a layer follows. Write {spelling} of the array: "
            "dispatch.detach(x)."
        )
    return UnsupportedError(
        f"{spelling} has no row in dispatch.ops.np, so it cannot take a Tensor.{did_you_mean(name, dir(ops.np))} "
        "Make it an operator, with register_autograd, register_vmap and register_fake where they are needed:\n"
        f'    @dispatch.custom_op("mylib::{name}", mutates_args=())\n'
        f"    def {name}(x: np.ndarray) -> np.ndarray:\n"
        f"        return {spelling}(x)"
    )


# -- ufuncs ------------------------------------------------------------------------------------------------------------

def _no_row_of_ufunc(ufunc: np.ufunc) -> UnsupportedError:
    """Return the error for a ufunc without a row, and the two lines that make it an operator."""
    note_request()
    name = ufunc.__name__ if ufunc.__name__.isidentifier() else "f"
    partials = ", ".join(["lambda x, y, out: ..."] * ufunc.nin) if ufunc.nin > 1 else "lambda x, out: ..."
    if ufunc.signature or ufunc.nout > 1:
        given = ")\n    op.register_autograd(backward, setup_context=...)"
    else:
        given = f", derivative=({partials},))"
    return UnsupportedError(
        f"{ufunc.__name__} is a ufunc that has no row in dispatch.ops.np, so it cannot take a Tensor. Make it an operator; its name then "
        "takes Tensors too:\n"
        "    from dispatch.library import from_ufunc\n"
        f'    op = from_ufunc({name}, "mylib::{name}"{given}'
    )


def _other_row(ufunc: np.ufunc) -> OpOverload:
    """Return the row of a function that is met for the first time: one whose module is imported then, or one of SciPy's."""
    if ufunc in LOADERS:
        LOADERS[ufunc]()
        return UFUNCS[ufunc]
    if not is_special(ufunc):
        raise _no_row_of_ufunc(ufunc)
    found: OpOverload = special_row(ufunc)
    return found


_AXES_OF_INPLACE = ([(-2, -1)] * 3, [(-1,), (-2, -1), (-1,)])  # what `a @= x` says of axes, and where a has one


def _array_ufunc(self: Tensor, ufunc: np.ufunc, method: str, /, *inputs: Any, **options: Any) -> Any:
    """Run the row of a ufunc, whatever else is given."""
    op = UFUNCS.get(ufunc)
    if op is None:
        op = _other_row(ufunc)
    if method != "__call__":
        return by_method(ufunc, op, method, inputs, options)
    if options:
        if options.keys() == {"axis"} and "axis" in op.arguments.names:  # of np.vecdot
            return call(op, *inputs, **options)
        if ufunc is np.matmul and options.keys() == {"out", "axes"} and options["axes"] in _AXES_OF_INPLACE:
            check_matmul_in_place(np.ndim(inputs[1]))
            del options["axes"]
        return ufunc_with(ufunc, op, tuple(map(as_value, inputs)), options)
    if has_listed(inputs):
        return op(*map(as_value, inputs))
    try:
        return op(*inputs)
    except ArgumentError:
        found = converted(op, inputs, {})
        if found is None and any(map(_is_strange, inputs)):
            return NotImplemented  # somebody else's array, who may know what to do
        if found is None:
            raise
    return op(*found[0])


def _is_strange(x: Any) -> bool:
    """Whether a value may know what a ufunc does to it and a Tensor; a table does not."""
    return not is_operand(x) and device_of(x) is None and hasattr(x, "__array_ufunc__") and line_for(x) is None


# -- functions ---------------------------------------------------------------------------------------------------------


def _no_entry(self: Tensor, function: Function, types: Iterable[type], args: Any, keywords: Any) -> Any:
    """Answer for a function that is no ufunc and in no table."""
    if not all(issubclass(t, (Tensor, np.ndarray)) for t in types):
        return NotImplemented
    enter_rest()
    if function in FUNCTIONS:
        return FUNCTIONS[function](*args, **keywords)
    raise _no_row(spelling_of(function), [*args, *keywords.values()])


# -- infix and methods -------------------------------------------------------------------------------------------------


def _augmented(op: OpOverload, infixed: Function) -> Function:
    augment = augmented(infixed, kernel_of(op))

    def inplace(self: Tensor, other: Any) -> Any:
        try:
            return augment(self, other)
        except ArgumentError:
            if is_operand(other):
                raise
            return NotImplemented

    return inplace


def _round(self: Any, ndigits: Any = None) -> Any:
    """Return `round(x)`, an int, or `round(x, 1)`, of a real number."""
    if self.shape or not is_number(self) or self.dtype.kind not in "fiu":
        kind = np.ndarray if self.shape or not is_number(self) else self.dtype.type
        raise TypeError(f"type numpy.{kind.__name__} doesn't define __round__ method")  # NumPy's own words
    return round(self.item()) if ndigits is None else pointwise_more.round(self, index(ndigits))


def _reshape(self: Tensor, *sizes: Any, order: str = "C", copy: Any = None) -> Any:
    """Return `x.reshape(...)`; the shape is one tuple or several numbers."""
    given = sizes[0] if len(sizes) == 1 else sizes
    return call(shape.reshape, self, given) if order == "C" and copy is None else flags.reshape(self, given, order, copy=copy)


def _transpose(self: Tensor, *axes: Any) -> Any:
    """Return `x.transpose(...)`; the axes are one tuple or several numbers, by default reversed."""
    return call(shape.transpose, self, (axes[0] if len(axes) == 1 else axes) if axes else None)


def _copy(self: Tensor, order: str = "C") -> Any:
    """Return `x.copy()`, in C order by default, unlike `np.copy(x)`; of a number a number."""
    order = order or "C"
    return shape.copy(self, flags.spelled(order)) if self.shape or not is_number(self) else indexing.as_number(shape.copy(self))


def _clip(self: Tensor, min: Any = None, max: Any = None, out: Any = None, **options: Any) -> Any:
    """Return `x.clip(min, max)`."""
    return flags.clip(self, min, max, out, **options)


def _nonzero(self: Tensor) -> Any:
    """Return the places of elements that are not 0, one array for each axis."""
    return FUNCTIONS[np.nonzero](self)


class Flat:
    """`x.flat`: the elements in C order, one number each."""

    __slots__ = ("_of",)

    def __init__(self, of: Tensor) -> None:
        self._of = of

    def __getitem__(self, index: Any) -> Any:
        found = getitem(flags.flatten(self._of), index)
        return shape.copy(found) if isinstance(index, slice) and index.step not in (None, 1) else found

    def __setitem__(self, index: Any, value: Any) -> None:
        check_apart(self._of, value, f"x.flat[{index}] = y", f"x.flat[{index}] = y.copy()")
        put(self._of, np.arange(self._of.size)[index], value)

    def __len__(self) -> int:
        return int(self._of.size)

    def __iter__(self) -> Any:
        return iter(flags.flatten(self._of))


def _delete(self: Tensor, index: Any) -> None:
    raise UnsupportedError("del x[i] would change the size of an array in place. Write x = np.delete(x, i).")


def _put(self: Tensor, ind: Any, v: Any, mode: str = "raise") -> None:
    """Write to elements that are counted in C order."""
    put(self, ind, v, mode)


def _conjugate(self: Tensor) -> Any:
    """Return `x.conj()`, which is `x` itself where that is not complex."""
    return pointwise.conjugate(self) if self.dtype.kind == "c" else self


def _sort(self: Tensor, axis: int = -1, kind: Any = None, order: Any = None, *, stable: Any = None, descending: Any = None) -> None:
    """Put the elements in order in place."""
    setitem(self, Ellipsis, FUNCTIONS[np.sort](self, axis, kind, order, stable=stable, descending=descending))


def _compress(self: Tensor, condition: Any, axis: int | None = None, out: Any = None) -> Any:
    """Return `x.compress(condition)`."""
    return FUNCTIONS[np.compress](condition, self, axis, out)


def _ctypes(self: Tensor) -> Any:
    """Refuse what ctypes asks of an array, as `np.asarray` is refused."""
    return self.__array__().ctypes


def _numba_type(self: Tensor) -> Any:
    """Refuse what Numba asks of an array, as `np.asarray` is refused; an array has no such attribute."""
    return self.__array__()._numba_type_


def _of_torch(cls: type, function: Any, types: Any, args: Any = (), keywords: Any = None) -> NoReturn:
    """Refuse a function of torch, which keeps nothing of what a layer follows."""
    name = str(getattr(function, "__name__", "")).strip("_") or "a function"
    raise ConversionError(
        f"torch's {name} was called with a {cls.__name__}, of which it can keep nothing but numbers. Write {instead(name)}"
        f"{'' if instead_of(name) else '; or make an operator of a function or net of torch: dispatch.interop.torch.wrap(f)(x)'}."
    )


def _as_jax_array(self: Tensor) -> Callable[[], Any]:
    """Refuse what JAX asks of an array, as `np.asarray` is refused: where it is looked for, since JAX does not always call it."""
    try:
        found: np.ndarray = np.asarray(self)
    except DispatchError:
        raise UnsupportedError(  # of a TypeError JAX makes one of its own
            f"a function of JAX was called with a {type(self).__name__} of shape {self.shape} and dtype {self.dtype}, of which it could "
            "keep nothing but numbers. Write NumPy's function, np.sin(x) for jnp.sin(x); or make an operator of the code in JAX: "
            "dispatch.interop.jax.wrap(f)."
        ) from None
    return lambda: found


def _array_namespace(self: Tensor, *, api_version: Any = None) -> Any:
    """Return `dispatch.numpy`, the module whose functions take this value by the array API standard."""
    np.empty(0).__array_namespace__(api_version=api_version)  # raises NumPy's own error
    return namespace()


namespace = LazyFunction(f"{__package__.partition('.')[0]}.numpy", ".standard", "namespace")


def _to_device(self: Tensor, device: Any, /, stream: Any = None) -> Any:
    """Return the value itself, on the device where it is; there is no way to another that derivatives could follow."""
    if device != self.device or stream is not None:
        raise UnsupportedError(
            f"x.to_device was asked for device {device!r}{'' if stream is None else ' and a stream'}, and the value is on {self.device!r}. "
            "An operator with a kernel for each copies: dispatch.custom_op(...)."
        )
    return self


def _dlpack(self: Tensor, /, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: Any = None) -> Any:
    """Refuse to hand the memory on, as `np.asarray` is refused; where it gives a read-only array, and DLPack cannot say so, a copy."""
    array: np.ndarray = np.asarray(self)
    if copy is None and not array.flags.writeable and (max_version is None or max_version[0] < 1):
        array, copy = array.copy(), None
    asked = {"stream": stream, "max_version": max_version, "dl_device": dl_device, "copy": copy}
    return array.__dlpack__(**{name: x for name, x in asked.items() if x is not None})  # NumPy 2.0 knows the stream alone


def _dlpack_device(self: Any) -> tuple[int, int]:
    """Return where the memory is, as DLPack numbers devices."""
    while isinstance(self, Tensor) and self.value is not None:
        self = self.value
    found: tuple[int, int] = (self if hasattr(self, "__dlpack_device__") and not isinstance(self, Tensor) else np.empty(0)).__dlpack_device__()
    return found


@clear
def detach(x: Any) -> Any:
    """Return the value of `x` as a constant: no gradient and no tangent flows through it.

    Parameters
    ----------
    x : Tensor or ndarray

    Returns
    -------
    ndarray or Tensor
        The value, of the same shape and dtype, as a read-only view. It is a Tensor if another transform, such as `vmap`,
        wraps it too.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> dispatch.grad(lambda x: np.sum(x * dispatch.detach(x)))(np.array([3.0]))
    array([3.])
    """
    found = prims.detach(x)
    if isinstance(found, (np.ndarray, np.generic, Tensor)) or (line := _DETACHED.get(framework_of(found) or "")) is None:
        return found
    raise ArgumentError(f"detach is for values of this package, and was given {describe_value(x)}. Write {line}.")


_DETACHED = {"torch": "x.detach()", **dict.fromkeys(("jax", "jaxlib"), "jax.lax.stop_gradient(x)")}


def _both(quotient: Function, rest: Function) -> Function:
    """Return `divmod`, which like each of the two leaves it to the other operand where that answers for itself."""

    def divmod(self: Tensor, other: Any) -> Any:
        found = quotient(self, other)
        return found if found is NotImplemented else (found, rest(self, other))

    return divmod


def _imag(val: Tensor) -> Any:
    """Return `x.imag`: of a real array zeros that nobody can write to, as NumPy's are."""
    found = shape.imag(val)
    return found if val.dtype.kind == "c" or not isinstance(found, Tensor) else sealed(found)


FUNCTIONS[np.imag] = _imag


_BINARY = {
    "add": pointwise.add, "sub": pointwise.subtract, "mul": pointwise.multiply, "truediv": pointwise.divide, "pow": pointwise.power,
    "floordiv": pointwise.floor_divide, "mod": pointwise.remainder, "matmul": matmul.matmul,
    "and": pointwise.bitwise_and, "or": pointwise.bitwise_or, "xor": pointwise.bitwise_xor,
    "lshift": pointwise_more.left_shift, "rshift": pointwise_more.right_shift,
}  # fmt: skip
# What NumPy computes of two numbers by code of its own, and of which dtypes that rounds otherwise than the ufunc.
_OF_NUMBERS: dict[str, tuple[Any, ...]] = {
    "mul": (pointwise.scalar_multiply, "c", True), "truediv": (pointwise.scalar_divide, "c"), "pow": (pointwise.scalar_power, "f"),
    "abs": (pointwise.scalar_absolute, "c"),
}  # fmt: skip
_INFIX = {name: infix(op, *_OF_NUMBERS.get(name, ())) for name, op in _BINARY.items()}
# Before 2.3 NumPy takes these ufuncs for floats as for whole numbers, and of more dtypes: its square root of -0.0 is -0.0, a power 0.0.
_OFTENER = bool(np.signbit(np.array([-0.0]) ** 0.5)[0] != np.signbit(np.power([-0.0], 0.5))[0])
_INSTEAD: dict[tuple[type, float], tuple[Callable[..., Any], str]] = {
    (int, 2): (pointwise.square, "?fdFDG" if _OFTENER else "?FDG"),
    (int, -1): (pointwise.reciprocal, "fdFDG" if _OFTENER else "FDG"),
    (float, 0.5): (pointwise.sqrt, "efdgFDG" if _OFTENER else "egFDG"),
}
if _OFTENER:
    _INSTEAD |= {(float, 2.0): _INSTEAD[int, 2], (float, -1.0): _INSTEAD[int, -1]}
    _INSTEAD |= dict.fromkeys([(int, 1), (float, 1.0)], (pointwise.positive, "FDG"))
# Of these dtypes a float that is an input of a graph is one whose value decides.
_INFIX["pow"] = power(_INFIX["pow"], _INSTEAD, by_value="?efdgFDG" if _OFTENER else "egFDG")


def _power_in_place(self: Tensor, other: Any) -> Any:
    """Return `x ** y` as `x **= y` has it: of complex arrays without axes NumPy squares by `np.power`."""
    return (_BY_POWER if self.shape == () and self.dtype.kind == "c" and type(other) is int and other == 2 else _INFIX["pow"])(self, other)


_BY_POWER = infix(pointwise.power, *_OF_NUMBERS["pow"])
# `x == None`: None is equal to no number, so it is an array of False.
_APART = {
    "eq": lambda x: indexing.as_number(ops.np.zeros_like(x, np.bool_)),
    "ne": lambda x: indexing.as_number(ops.np.ones_like(x, np.bool_)),
}
_REFLECTED = {name: infix(op, *_OF_NUMBERS.get(name, ()), reflected=True) for name, op in _BINARY.items()}
_COMPARISONS = {
    "eq": pointwise.equal, "ne": pointwise.not_equal, "lt": pointwise.less, "le": pointwise.less_equal, "gt": pointwise.greater,
    "ge": pointwise.greater_equal,
}  # fmt: skip

ON_TENSORS: dict[str, Any] = {
    "__array_ufunc__": array_ufunc(UFUNCS, _array_ufunc),
    "__array_function__": array_function(FUNCTIONS, _no_entry),
    **{f"__{name}__": method for name, method in _INFIX.items()},
    **{f"__{name}__": infix(op, apart=_APART.get(name)) for name, op in _COMPARISONS.items()},
    **{f"__r{name}__": method for name, method in _REFLECTED.items()},
    **{f"__i{name}__": _augmented(op, _power_in_place if name == "pow" else _INFIX[name]) for name, op in _BINARY.items()},
    "__neg__": unary(pointwise.negative),
    "__pos__": unary(pointwise.positive),
    "__abs__": unary(pointwise.absolute, *_OF_NUMBERS["abs"]),
    "__invert__": unary(pointwise.invert),
    "__divmod__": _both(_INFIX["floordiv"], _INFIX["mod"]),
    "__rdivmod__": _both(_REFLECTED["floordiv"], _REFLECTED["mod"]),
    "__round__": _round,
    "__contains__": lambda self, value: bool(statistics.any(self == value)),
    "__getitem__": subscript(indexing.getitem, indexing.ALONE, getitem),
    "__reversed__": lambda self: (self[i] for i in reversed(range(len(self)))),
    "__setitem__": setitem,
    "__delitem__": _delete,
    "sum": method(FUNCTIONS[np.sum], reduction.sum),
    "mean": method(FUNCTIONS[np.mean], reduction.mean),
    "max": method(FUNCTIONS[np.max], reduction.max),
    "min": method(FUNCTIONS[np.min], reduction.min),
    "prod": method(FUNCTIONS[np.prod]),
    "var": method(FUNCTIONS[np.var]),
    "std": method(FUNCTIONS[np.std]),
    "all": method(FUNCTIONS[np.all]),
    "any": method(FUNCTIONS[np.any]),
    "argmax": method(FUNCTIONS[np.argmax]),
    "argmin": method(FUNCTIONS[np.argmin]),
    "argsort": method(FUNCTIONS[np.argsort]),
    "sort": _sort,
    "cumsum": method(FUNCTIONS[np.cumsum]),
    "cumprod": method(FUNCTIONS[np.cumprod]),
    "clip": _clip,
    "round": method(FUNCTIONS[np.round]),
    "repeat": method(FUNCTIONS[np.repeat]),
    "diagonal": method(FUNCTIONS[np.diagonal]),
    "trace": method(FUNCTIONS[np.trace]),
    "nonzero": _nonzero,
    "searchsorted": method(FUNCTIONS[np.searchsorted]),
    "swapaxes": method(FUNCTIONS[np.swapaxes]),
    "squeeze": method(FUNCTIONS[np.squeeze]),
    "dot": method(FUNCTIONS[np.dot]),
    "take": method(FUNCTIONS[np.take]),
    "copy": _copy,
    "compress": _compress,
    "fill": fill,
    "flat": property(Flat, lambda self, value: put(self, np.arange(self.size), value)),
    "put": _put,
    "itemsize": property(lambda self: self.dtype.itemsize),
    "nbytes": property(lambda self: self.size * self.dtype.itemsize),
    "reshape": _reshape,
    "transpose": _transpose,
    "ravel": method(FUNCTIONS[np.ravel]),
    "flatten": flags.flatten,
    "astype": flags.astype,
    "conj": _conjugate,
    "conjugate": _conjugate,
    "detach": detach,
    "ctypes": property(_ctypes),
    "__array_namespace__": _array_namespace,
    "__dlpack__": _dlpack,
    "__dlpack_device__": _dlpack_device,
    "to_device": _to_device,
    "_numba_type_": property(_numba_type),
    "__jax_array__": property(_as_jax_array),
    "__torch_function__": classmethod(_of_torch),
    **array_methods.METHODS,
    "T": property(unary(shape.transpose)),
    "mT": property(lambda self: shape.swapaxes(self, -1, -2)),
    "real": property(unary(shape.real), lambda self, value: setitem(shape.real(self), Ellipsis, as_item(value))),
    "imag": property(_imag, lambda self, value: setitem(_imag(self), Ellipsis, as_item(value))),
}

for _name, _method in ON_TENSORS.items():  # for `help(x.sum)`
    if hasattr(np.ndarray, _name) and not _name.startswith("__"):
        _method.__doc__ = f"Do what `numpy.ndarray.{_name}` does, on a wrapper."
        if callable(_method):  # as Python names it, where a call does not fit its parameters
            _method.__name__, _method.__qualname__ = _name, f"Tensor.{_name}"
