"""Gives an operator with `signature=` its loop over items, its shape rule and its batching rule.

    custom_op("mylib::apply", mutates_args=(), signature="(m,n),(n)->(m)")

The function is written for one item, a matrix and a vector here. `Loop` runs it over the loop dimensions, which the shapes
of the outputs follow from as well; and a batch is one loop dimension more, so that `vmap` is one call of the operator.

More than 350 lines, a third of them messages: they stand beside the rules whose facts they state.
"""

import inspect
from collections.abc import Callable
from functools import wraps
from inspect import Parameter
from math import prod
from typing import Any

import numpy as np

from ...core import DispatchKey, OpOverload
from ...dispatcher.argument_layout import adapted
from ...dispatcher.layer import find_layer
from ...dispatcher.printing import describe_value
from ...errors import ArgumentError, DefinitionError, NoRuleError, OutputError, how_many, kind_of
from ...schema.types import RESIDUAL, TENSOR
from ...symbolic import is_open
from ..prims import broadcast_to, moveaxis, select
from .loop import Loop, hollow
from .signature import Binding, Core, Shape, Signature
from .spread import in_threads, ranges
from .walk import Walk

Kernel = Callable[..., Any]


def equip(op: OpOverload, fn: Kernel, text: str, *, broadcasts: bool, workers: int) -> Kernel:
    """Give a new operator the rules of its signature, and return the kernel of all items.

    `fn` is the kernel of one item; with `broadcasts` it does all items in one call by itself, else `workers` threads share the
    loop. A signature that contradicts the schema raises DefinitionError.
    """
    signature = Signature.parse(text)
    _check(op, signature, broadcasts=broadcasts, workers=workers)
    vars(op)["signature"] = signature
    calls = Calls(op, signature)
    find_layer("fake").attach(op, calls.fake_rule)
    find_layer("vmap").attach(op, calls.batching_rule)
    kernel = adapted(op, fn)
    return calls.held(kernel) if broadcasts else calls.looped(kernel, workers)


def _check(op: OpOverload, signature: Signature, *, broadcasts: bool, workers: int) -> None:
    schema = op.schema
    faults = []
    others = [a for a in schema.arguments if a.type.has_tensor and a.type != TENSOR]
    arrays = [a.name for a in schema.arguments if a.type == TENSOR]
    outputs = [r.type for r in schema.returns if r.type != RESIDUAL]
    if schema.is_mutable or schema.is_view:
        faults.append("an operator with a signature writes to nothing, and returns fresh arrays. Leave out one of the two")
    if others:
        faults.append(f"argument {others[0].name!r} is {others[0].type}; a signature is about plain arrays")
    if len(arrays) != len(signature.inputs):
        each = "Give each array, and no number, its parentheses"
        some = how_many(len(signature.inputs), "input")
        faults.append(f"the signature has {some}, and the arrays are ({', '.join(arrays)}). {each}")
    if any(kind != TENSOR for kind in outputs):
        faults.append("a signature is about arrays, and an output is none")
    if len(outputs) != len(signature.outputs):
        some = how_many(len(signature.outputs), "output")
        faults.append(f"the signature has {some}, and the operator returns {len(outputs)}")
    if schema.has_residual and not broadcasts:
        faults.append("the loop has no one residual to keep; a kernel that broadcasts by itself has, broadcasts=True")
    if type(workers) is not int or workers < 1:
        given = workers if type(workers) is int else kind_of(workers)
        faults.append(f"workers= is a number of threads, 1 or more, and was given as {given}")
    elif workers > 1 and broadcasts:
        faults.append("workers= share the loop, and with broadcasts=True there is none")
    if faults:
        raise DefinitionError(f"{op.name}: {faults[0]}.\n  signature: {signature}\n  schema:    {schema}", operator=op.name)


class Calls:
    """The calls of one operator with a signature: their shapes, and the words for those that do not fit."""

    def __init__(self, op: OpOverload, signature: Signature) -> None:
        self.op, self.signature = op, signature
        arguments = op.schema.arguments
        self.places = tuple(i for i, a in enumerate(arguments) if a.type == TENSOR)
        self.names = tuple(arguments[i].name for i in self.places)
        self.positional = len(op.schema.positional)
        self.keywords = tuple(a.name for a in op.schema.kwarg_only)
        self.said = [r.dtype for r in op.schema.returns[: len(signature.outputs)]]

    def bound(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[Any, ...]:
        """The arguments of a kernel that is called directly, in schema order: all must be given, as Python's own rules say."""
        if len(args) == self.positional and keywords.keys() == set(self.keywords):
            return (*args, *[keywords[name] for name in self.keywords])
        given = [
            Parameter(a.name, Parameter.KEYWORD_ONLY if a.name in self.keywords else Parameter.POSITIONAL_OR_KEYWORD)
            for a in self.op.schema.arguments
        ]
        try:
            return tuple(inspect.Signature(given).bind(*args, **keywords).arguments.values())
        except TypeError as error:
            names = ", ".join(a.name for a in self.op.schema.arguments)
            raise TypeError(
                f"{self.op.name}: {error}. A kernel takes every argument of its operator, ({names}), and fills in no default."
            ) from None

    def bind(self, args: tuple[Any, ...]) -> Binding:
        """Loop and sizes of a call, or the words for shapes that do not fit."""
        return self.bind_shapes(tuple([getattr(args[i], "shape", ()) for i in self.places]))

    def bind_shapes(self, shapes: tuple[Shape, ...]) -> Binding:
        """The same of shapes."""
        return self.signature.bind(shapes, self.names, self.op.name)

    def shapes(self, binding: Binding) -> tuple[Shape, ...]:
        """The shapes of the outputs."""
        found = self.signature.shapes(binding)
        if found is None:
            raise NoRuleError(
                f"{self.op.name}: no input says how long {', '.join(self.signature.unknown)} of {self.signature} is, and "
                f"the kernel is not run to learn it. Add a shape rule: {self.op.schema.name}.register_fake(rule).",
                operator=self.op.name,
            )
        return found

    # -- the kernel --------------------------------------------------------------------------------------------------------

    def held(self, kernel: Kernel) -> Kernel:
        """A kernel of all items that is held to give them all: one of a single item gives too few axes, and no error."""
        cores = [(i, len(core)) for i, core in zip(self.places, self.signature.inputs, strict=True)]
        outputs = [len(core) for core in self.signature.outputs]
        if self.signature.optional or self.places[-1] >= self.positional:
            return kernel

        @wraps(kernel)
        def holding(*args: Any, **keywords: Any) -> Any:
            out = kernel(*args, **keywords)
            loop = max([args[i].ndim - n for i, n in cores])
            for x, n in zip(out if type(out) is tuple else (out,), outputs, strict=False):
                if getattr(x, "ndim", loop + n) != loop + n:
                    raise self._too_few(args, x, loop + n)
            return out

        return holding

    def _too_few(self, args: tuple[Any, ...], x: Any, ndim: int) -> OutputError:
        loop = self.bind(args).loop
        return OutputError(
            f"{self.op.name}: the kernel returned an array of shape {x.shape}, and by the signature {self.signature} over a "
            f"loop of shape {loop} it has {how_many(ndim, 'axis')}. With broadcasts=True a kernel gets all items at once: "
            "compute over the last axes, axis=-1 say; or leave broadcasts= out, for one that gets a single item.",
            operator=self.op.name,
        )

    def looped(self, kernel: Kernel, workers: int) -> Kernel:
        """A kernel of one item as the kernel of all."""
        spread = None if workers == 1 else lambda walk: _spread(walk, workers)
        if not self.signature.optional:
            return self._loop(kernel, frozenset(), spread)
        loops: dict[frozenset[str], Loop] = {}

        def choosing(*args: Any, **keywords: Any) -> Any:
            missing = self.bind(self.bound(args, keywords)).missing
            if missing not in loops:
                loops[missing] = self._loop(kernel, missing, spread)
            return loops[missing](*args, **keywords)

        choosing.__wrapped__ = kernel  # type: ignore[attr-defined]
        return choosing

    def _loop(self, kernel: Kernel, missing: frozenset[str], spread: Any) -> Loop:
        kept = self.signature.without(missing)
        numbers: dict[str, int] = {}
        for name in (name for core in kept.inputs + kept.outputs for name in core):
            numbers.setdefault(name, len(numbers))
        sizes = tuple(int(name) if name.isdigit() else -1 for name in numbers)
        inputs, outputs = (
            tuple(tuple(numbers[name] for name in core) for core in cores) for cores in (kept.inputs, kept.outputs)
        )
        words = Words(self, kept.outputs)
        return Loop(kernel, inputs, outputs, sizes, self.places, self.positional, self.keywords, words, spread)

    # -- the rules ---------------------------------------------------------------------------------------------------------

    def fake_rule(self, *args: Any) -> Any:
        """Arrays of one element under the shapes of the outputs."""
        like = args[self.places[0]]
        made = [
            np.empty_like(like, dtype, shape=prod(shape)).reshape(shape) if is_open(shape) else hollow(shape, dtype)
            for shape, dtype in self.layouts(self.bind(args), args)
        ]
        return made[0] if len(made) == 1 else tuple(made)

    def layouts(self, binding: Binding, args: tuple[Any, ...]) -> list[tuple[Shape, Any]]:
        """The shapes by binding and broadcasting; the dtypes by the return's hint, else by promotion of the arrays."""
        promoted = np.result_type(*[getattr(args[i], "dtype", args[i]) for i in self.places]) if None in self.said else None
        return [
            (shape, promoted if dtype is None else dtype) for shape, dtype in zip(self.shapes(binding), self.said, strict=True)
        ]

    def batching_rule(self, info: Any, in_dims: tuple[Any, ...], *args: Any) -> Any:
        """One call: the batch is the first loop dimension of all."""
        shapes = []
        for i in self.places:
            shape, dim = getattr(args[i], "shape", ()), in_dims[i]
            shapes.append(shape if dim is None else shape[:dim] + shape[dim + 1 :])
        binding = self.bind_shapes(tuple(shapes))
        values = list(args)
        for i, core, ndim in zip(self.places, self.signature.inputs, binding.ndims, strict=True):
            absent = [k for k, name in enumerate(core) if name in binding.missing]
            if in_dims[i] is not None or absent:
                values[i] = _in_front(args[i], in_dims[i], len(binding.loop) - ndim, len(core), absent)
        out = self.op.whole(*values)
        single = len(self.op.schema.returns) == 1
        outputs = [out] if single else list(out)
        for i, core in enumerate(self.signature.outputs):
            absent = [k for k, name in enumerate(core) if name in binding.missing]
            first = len(outputs[i].shape) - len(core)
            for k in reversed(absent):
                outputs[i] = select(outputs[i], first + k, 0)
        if single:
            return outputs[0], 0
        return tuple(outputs), (*[0] * len(self.signature.outputs), *[None] * self.op.schema.has_residual)


def _in_front(x: Any, dim: int | None, pad: int, cores: int, absent: list[int]) -> Any:
    """An array with its batch as the first axis, then as many loop dimensions as the largest item has.

    An absent optional dimension becomes one of length 1, for with the batch there are axes enough to be taken for it.
    """
    batch = dim is not None
    new = len(absent) + (pad if batch else 0)
    if batch and dim:
        x = moveaxis(x, dim, 0)
    if not new:
        return x
    ndim = new + len(x.shape)
    places = [ndim - cores + k for k in absent] + [1 + k for k in range(new - len(absent))]
    x = broadcast_to(x, (1,) * new + x.shape)
    return moveaxis(x, list(range(new + batch)), places + [0] * batch)


class Words:
    """What a loop asks for where a call does not simply go through."""

    def __init__(self, calls: Calls, outputs: tuple[Core, ...]) -> None:
        self.calls, self.op, self.outputs = calls, calls.op, outputs

    def bound(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[Any, ...]:
        """The arguments of a call that gives too few, too many, or those by position by name."""
        return self.calls.bound(args, keywords)

    def endless(self, loop: Shape) -> Exception:
        """A loop of more items than can be counted."""
        return ArgumentError(f"{self.op.name}: the loop {loop} has more items than an array can have.", operator=self.op.name)

    def refused(self, args: tuple[Any, ...]) -> Exception:
        """Shapes that the loop could not bind."""
        try:
            self.calls.bind(args)
        except ArgumentError as error:
            return error
        raise AssertionError(f"{self.op.name}: the loop refused shapes that its signature binds")

    def elsewhere(self, kernel: Kernel, args: tuple[Any, ...]) -> Any:
        """Call the kernel on arrays whose items are not ours to make, where there is one item only."""
        binding = self.calls.bind(args)
        if not binding.loop:
            count = self.calls.positional
            return kernel(*args[:count], **dict(zip(self.calls.keywords, args[count:], strict=True)))
        plain = (np.generic, int, float, complex)
        i = next(i for i in self.calls.places if type(args[i]) is not np.ndarray and not isinstance(args[i], plain))
        name = self.op.schema.arguments[i].name
        advice = f"Pass np.asarray({name})" if isinstance(args[i], np.ndarray) else "Register a kernel for its device"
        raise ArgumentError(
            f"{self.op.name}: the loop {binding.loop} hands its kernel items of plain NumPy arrays, and argument {name!r} is "
            f"{kind_of(args[i])}. {advice}, or say broadcasts=True of a kernel that does all items by itself.",
            operator=self.op.name,
            argument=name,
        )

    def empty(self, args: tuple[Any, ...]) -> Any:
        """The outputs of a loop without items, which the shape rule tells."""
        found = self.op.at(DispatchKey.FAKE)(*args)
        if isinstance(found, (tuple, list)):
            return tuple([np.zeros(x.shape, x.dtype) for x in found])
        return np.zeros(found.shape, found.dtype)

    def _output(self, i: int, words: str) -> OutputError:
        output = f"output {i}" if len(self.outputs) > 1 else "the output"
        return OutputError(f"{self.op.name}: {output} of an item {words}", operator=self.op.name)

    def count(self, result: Any) -> Exception:
        """A result that is not one value for each output."""
        return OutputError(
            f"{self.op.name}: its kernel returned {describe_value(result)} for an item, and the signature "
            f"{self.calls.signature} has {how_many(len(self.outputs), 'output')}. Return a tuple of one for each.",
            operator=self.op.name,
        )

    def kind(self, i: int, result: Any) -> Exception:
        """A result that is no array."""
        return self._output(i, f"is {kind_of(result)}. A kernel returns plain NumPy arrays: np.asarray(result).")

    def shape(self, i: int, found: Shape, sizes: tuple[int | None, ...]) -> Exception:
        """A result of another shape than the signature, or the first item, says."""
        core = self.outputs[i]
        said = ", ".join(f"{name}={n}" for name, n in zip(core, sizes, strict=True) if n is not None and not name.isdigit())
        axes = f"({','.join(core)})" + (f" with {said}" if said else "")
        return self._output(i, f"has shape {found}, and the signature {self.calls.signature} says {axes}.")

    def dtype(self, i: int, found: np.dtype[Any], first: np.dtype[Any]) -> Exception:
        """A result of another dtype than the first item's."""
        return self._output(i, f"has dtype {found}, and that of the first item {first}. Return the same dtype for each.")

    def axes(self, i: int, ndim: int) -> Exception:
        """More axes than an array can have."""
        return self._output(i, f"would make an array of {ndim} axes, and NumPy's have 64 at most.")


def _spread(walk: Walk, workers: int) -> None:
    """Run a walk from its second item on in several threads."""
    in_threads(walk.run, ranges(1, walk.count, workers), workers, walk.stop_before)
