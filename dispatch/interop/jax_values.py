"""Converts arrays between JAX and an operator, and describes a call without its arrays.

A kernel gets NumPy arrays: outside of a trace the memory of JAX's own, read-only; inside, copies that XLA makes. What it
returns is copied, since an array of JAX never changes, and a kernel may keep what it returned.

No number is narrowed: with 64 bits off, JAX makes float32 of any float64 that it is given, and says nothing; here it is
refused.
"""

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core import OpOverload, Tensor
from ..core.optional import require
from ..core.pytree import items_of, leaves
from ..errors import (
    ArgumentError,
    ConversionError,
    DataDependentError,
    DeviceMismatchError,
    NoRuleError,
    OutputError,
    UnsupportedError,
    kind_of,
)
from ..layers.fake import FakeTensor, FakeTensorMode, fake_tensor
from ..symbolic import ShapeEnv
from .derived_operators import called, has_derivative, is_array, unread_results
from .places import Place, apart, put

jax = require("jax", "jax", needed_by="dispatch.interop.jax")
Array, Tracer = jax.Array, jax.core.Tracer
TURN_ON = 'jax.config.update("jax_enable_x64", True)'
EXACT = (np.ndarray, np.memmap)


class Callbacks(threading.local):
    """How many callbacks of JAX this thread is in."""

    depth = 0


callbacks = Callbacks()


class Call:
    """An operator and all of its arguments, in the order of the schema, with a `Place` for each array.

    It is what a primitive of JAX has beside its operands. Calls with equal arguments are equal.

    Attributes
    ----------
    op : OpOverload
    values : tuple
    results : range
        The arrays that are what another operator returned for the arrays before them: no derivative is asked of them.
    without : Call or None
        The call that does without those arrays.
    """

    __slots__ = ("_hash", "_key", "op", "results", "values", "without")

    def __init__(
        self, op: OpOverload, values: Sequence[Any], results: range = range(0), without: "Call | None" = None
    ) -> None:
        self.op, self.values, self.results, self.without = op, tuple(values), results, without
        self._key = (op, _key_of(self.values))
        self._hash = hash(self._key)

    def __eq__(self, other: object) -> bool:
        return type(other) is Call and self._key == other._key

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return f"{self.op.name}({', '.join(map(repr, self.values))})"

    def filled(self, arrays: Sequence[Any]) -> list[Any]:
        """The arguments, with these arrays."""
        return [arrays[x.number] if type(x) is Place else put(x, arrays) for x in self.values]

    def run(self, arrays: Sequence[Any]) -> Any:
        """Call the operator."""
        return called(self.op, self.filled(arrays))

    def shapes(self, likes: Sequence[Any]) -> tuple[Any, list[Any]]:
        """What the shape rule says: the result with a `Place` for each array, and a fake for each of these.

        Parameters
        ----------
        likes : sequence
            For each array something that has its shape and dtype.
        """
        mode, fakes = self.fakes(likes)
        try:
            with mode:
                out = self.run(fakes)
        except NoRuleError as error:
            raise NoRuleError(
                f"{self.op.name} was called inside of a trace of JAX and has no shape rule, so that nobody knows what comes "
                f"out before it runs. Add one: @{self.op.schema.name}.register_fake.",
                operator=self.op.name,
            ) from error
        arrays: list[Any] = []
        template = apart(out, arrays, lambda x: isinstance(x, FakeTensor))
        for x in arrays:
            if not all(type(n) is int for n in x.shape):
                raise DataDependentError(
                    f"{self.op.name}: the shape of its result, {tuple(x.shape)}, depends on data, and inside of jax.jit all "
                    "shapes are known before anything runs. Call it outside of jax.jit.",
                    operator=self.op.name,
                )
            check_width(x.dtype, f"{self.op.name}: its shape rule says", self.op)
        return template, arrays

    def fakes(self, likes: Sequence[Any]) -> tuple[FakeTensorMode, list[FakeTensor]]:
        """A fake for each array, and their mode."""
        mode = FakeTensorMode(shape_env=ShapeEnv())  # a rule may make a size that depends on data: the message is ours
        return mode, [fake_tensor(tuple(x.shape), numpy_dtype(x.dtype, self.op), None, "cpu", mode) for x in likes]

    def unread(self, likes: Sequence[Any], wrt: Sequence[int]) -> list[bool]:
        """Which results no gradient reads."""
        mode, fakes = self.fakes(likes)
        with mode:
            return unread_results(self.op, self.filled(fakes), wrt)

    def computed(self, given: Sequence[Any], template: Any, wanted: Sequence[Any]) -> list[Any]:
        """The arrays that the kernel returned, which are held to what the shape rule said."""
        found: list[Any] = []
        out = apart(self.run(given), found, is_array)
        arrays = [array_of_result(x, self.op) for x in found]
        said = [(tuple(x.shape), np.dtype(x.dtype)) for x in wanted]
        got = [(x.shape, x.dtype) for x in arrays]
        if said != got:
            raise OutputError(
                f"{self.op.name}: its shape rule says {_described(said)}, and its kernel returned {_described(got)}. JAX "
                f"compiled a program for the first: mend the rule, @{self.op.schema.name}.register_fake.",
                operator=self.op.name,
            )
        if template is not None and _key_of(out) != _key_of(template):
            raise OutputError(
                f"{self.op.name}: its kernel returned {out!r}, and its shape rule says {template!r}. What is no array is part "
                "of the program that JAX compiled: it must not depend on data. Return an array.",
                operator=self.op.name,
            )
        return arrays


def _described(arrays: Sequence[tuple[tuple[int, ...], Any]]) -> str:
    return ", ".join(f"{dtype}[{', '.join(map(str, shape))}]" for shape, dtype in arrays) or "no array"


def _key_of(x: Any) -> Any:
    """What equal values have in common: equal, of one type, and with the same sign of zero."""
    kind = type(x)
    items = items_of(x)
    if items is not None:
        return kind, tuple(x) if kind is dict else (), tuple([_key_of(y) for y in items])
    if kind is float or kind is complex:
        return kind, repr(x)
    try:
        hash(x)
    except TypeError:
        return kind, id(x)  # the call keeps it alive
    return kind, x


# -- arguments ---------------------------------------------------------------------------------------------------------------


def taken_apart(op: OpOverload, args: Sequence[Any]) -> tuple[Call, list[Any]]:
    """A call with the arguments of an operator, and its arrays, JAX's or NumPy's."""
    operands: list[Any] = []
    values: list[Any] = []
    for x, a in zip(args, op.schema.arguments, strict=True):
        if not a.type.has_tensor:
            if any(isinstance(y, Array) for y in leaves(x)):
                raise ArgumentError(
                    f"{op.name}: argument {a.name!r} is {a.type}, and was given an array of JAX. "
                    + (
                        f"Write {a.name}.item() outside of the trace, or name it in jax.jit(..., static_argnames={a.name!r})."
                        if any(isinstance(y, Tracer) for y in leaves(x))
                        else f"Write {a.name}.item(), or hint the parameter `{a.name}: np.ndarray`."
                    ),
                    operator=op.name,
                    argument=a.name,
                )
            values.append(x)
            continue
        first = len(operands)
        values.append(apart(x, operands, is_operand))
        operands[first:] = [operand_of(y, op, a.name) for y in operands[first:]]
    return Call(op, values), operands


def is_operand(x: object) -> bool:
    """Whether a leaf of an argument is an array, JAX's or NumPy's."""
    return isinstance(x, Array) or is_array(x)


def operand_of(x: Any, op: OpOverload, name: str) -> Any:
    """An array among the arguments, if JAX can have it as it is."""
    if isinstance(x, Array):
        return x
    if isinstance(x, Tensor):
        raise ConversionError(
            f"{op.name}: argument {name!r} of the function that JAX calls is a {type(x).__qualname__}: no derivative, batch or "
            "trace of this package goes through values of another. Call the operator itself, or give arrays.",
            operator=op.name,
        )
    if isinstance(x, np.ndarray) and type(x) not in EXACT:
        raise ArgumentError(
            f"{op.name}: argument {name!r} is a {type(x).__qualname__}, which JAX would take for its data alone. Write "
            f"np.asarray({name}), if that is meant.",
            operator=op.name,
            argument=name,
        )
    check_width(x.dtype, f"{op.name}: argument {name!r} is", op, name)
    numpy_dtype(x.dtype, op)
    return x


def check_width(dtype: Any, what: str, op: OpOverload, name: str = "") -> None:
    """Refuse a dtype that JAX would narrow."""
    narrow = jax.dtypes.canonicalize_dtype(dtype) if np.dtype(dtype).kind in "iufc" else dtype
    if narrow != dtype:
        keeps = f"an operator, and a shape rule, that keep {narrow} for arguments of {narrow}"
        instead = f"{name}.astype(np.{narrow})" if name else keeps
        raise UnsupportedError(
            f"{what} {np.dtype(dtype)}, and JAX makes {narrow} of it while its 64-bit numbers are off. Write {TURN_ON} before "
            f"anything of JAX runs, or {instead}.",
            operator=op.name,
        )


def numpy_dtype(dtype: Any, op: OpOverload) -> np.dtype[Any]:
    """NumPy's dtype of JAX's, and whether it is one of both."""
    if not isinstance(dtype, np.dtype):
        raise UnsupportedError(
            f"{op.name} was called with an array of {dtype}, which NumPy has not. If it is a key, write "
            "jax.random.key_data(key).",
            operator=op.name,
        )
    if dtype.kind in "OSUMm" or not dtype.isnative or dtype.char in "gG" or dtype.names:
        raise UnsupportedError(f"{op.name}: JAX has no dtype for {dtype}. Write x.astype(...).", operator=op.name)
    return dtype


# -- outside of a trace --------------------------------------------------------------------------------------------------------


def at_once(op: OpOverload, call: Call, operands: Sequence[Any]) -> Any:
    """The result of a call on arrays that are there, as arrays of JAX where they are."""
    device = device_of_call(op, operands)
    out = call.run([np.asarray(x) for x in operands])
    found: list[Any] = []
    template = apart(out, found, is_array)
    return put(template, [array_of_jax(array_of_result(x, op), op, device) for x in found])


def device_of_call(op: OpOverload, operands: Sequence[Any]) -> Any:
    """The device that the arrays of a call are bound to; None where JAX may choose."""
    bound_to = {device for x in operands if isinstance(x, Array) and x.committed for device in x.devices()}
    if len(bound_to) > 1:
        listed = " and ".join(sorted(map(str, bound_to)))
        raise DeviceMismatchError(
            f"{op.name} was called with arrays of JAX on {listed}. Nothing is copied from a device to another behind your "
            "back: write jax.device_put(x, y.device), or call it inside of jax.jit, if it is one array on several.",
            operator=op.name,
        )
    return next(iter(bound_to), None)


def array_of_result(x: Any, op: OpOverload) -> Any:
    """A result of a kernel as an exact array."""
    if type(x) is np.ndarray:
        return x
    if isinstance(x, np.generic) or type(x) in EXACT:
        return np.asarray(x)
    said = "a mode or a transform of this package is on, and JAX does not see through it. Leave it before JAX is called"
    if isinstance(x, np.ndarray):
        said = "JAX would take it for its data alone. Return an ndarray"
    raise OutputError(f"{op.name} was called by JAX and returned {kind_of(x)}: {said}.", operator=op.name)


def array_of_jax(x: Any, op: OpOverload, device: Any) -> Any:
    """JAX's array of NumPy's: a copy."""
    check_width(x.dtype, f"{op.name} returned", op)
    numpy_dtype(x.dtype, op)
    made = jax.numpy.array(x)
    return made if device is None else jax.device_put(made, device)


def moves(x: Any, op: OpOverload) -> bool:
    """Whether an array has a derivative; numbers that JAX has and NumPy has not are refused."""
    if has_kind_of_derivative(x.dtype):
        return True
    if jax.numpy.issubdtype(x.dtype, jax.numpy.inexact):
        raise UnsupportedError(
            f"{op.name}: there is no derivative in {x.dtype}, of which NumPy knows nothing. Write x.astype(jnp.float32).",
            operator=op.name,
        )
    return False


def has_kind_of_derivative(dtype: Any) -> bool:
    """Whether a dtype is of floating-point or complex numbers."""
    return has_derivative(np.empty((), dtype)) if isinstance(dtype, np.dtype) else False
