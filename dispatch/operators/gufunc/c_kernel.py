"""Makes a kernel of functions in C: `register_kernel("cpu", cfunc=...)`, and `op.cfunc`, which gives them back.

The functions become a gufunc of NumPy, so that everything about the loop is as NumPy has it. What a kernel adds: the
outputs are allocated as the operator's shape rule says, threads may share the loop, and a call that does not fit is refused in
the operator's own words.
"""

from collections.abc import Callable, Mapping
from math import prod
from typing import Any

import numpy as np

from ...core import DispatchKey, OpOverload, check_data
from ...dispatcher.argument_layout import adapted
from ...errors import ArgumentError, DefinitionError, NewSizeError, OutputError, how_many, kind_of
from ...schema.types import TENSOR, WORDS
from ..prims import strides_of_copy
from .c_functions import OF_NUMBERS, CFunction, Loop, c_function, refuse_python
from .c_gufunc import gufunc
from .rules import Calls
from .signature import Binding, Signature
from .spread import in_threads, ranges

NUMBERS = {WORDS["float"]: "d", WORDS["int"]: np.dtype(np.int64).char, WORDS["bool"]: "?", WORDS["complex"]: "D"}
LETTERS = "?bBhHiIlLqQefdgFDG"  # of NumPy's numbers: neither objects nor dates, whose loops need Python or a unit
PARTS = 8  # of a loop for each thread: a part costs 3 us, and one whose processor is busy elsewhere leaves its own to others
PLAIN = (np.generic, int, float, complex)


def kernel_of_c(op: OpOverload, device_types: Any, cfunc: Any, workers: int) -> Callable[..., Any]:
    """The kernel that `register_kernel(device_types, cfunc=cfunc, workers=workers)` registers."""
    for x in cfunc.values() if isinstance(cfunc, Mapping) else [cfunc]:
        refuse_python(x, op.name)
    signature = vars(op).get("signature")
    faults = []
    if ([device_types] if isinstance(device_types, str) else device_types) not in (["cpu"], ("cpu",)):
        faults.append("a function in C reads the memory of NumPy's arrays: write register_kernel('cpu', cfunc=...)")
    if not isinstance(signature, Signature):
        written = 'custom_op(..., signature="(n)->()")'
        faults.append(f"a function in C goes over the items of a signature, and there is none: {written}")
    if op.schema.has_residual:
        faults.append("a function in C has no residual to return")
    others = [a for a in op.schema.arguments if a.type not in (TENSOR, WORDS["Scalar"], *NUMBERS)]
    if others:
        faults.append(f"argument {others[0].name!r} is {others[0].type}, and a function in C is given arrays and numbers")
    if type(workers) is not int or workers < 1:
        given = workers if type(workers) is int else kind_of(workers)
        faults.append(f"workers= is a number of threads, 1 or more, and was given as {given}")
    if faults:
        raise DefinitionError(f"{op.name}: {faults[0]}.\n  schema: {op.schema}", operator=op.name)
    assert isinstance(signature, Signature)
    return adapted(op, CKernel(op, signature, cfunc, workers))


def cfunc_of(op: OpOverload) -> Any:
    """The functions in C of an operator, as functions of ctypes; in a dict where they were registered so."""
    found = op.table.source(DispatchKey.CPU)
    kernel = None if found is None else found.rule
    while kernel is not None and not isinstance(kernel, CKernel):
        kernel = getattr(kernel, "__wrapped__", None)
    if kernel is None:
        raise AttributeError(f"{op.name} has no kernel of a function in C. Add one: op.register_kernel('cpu', cfunc=function).")
    made = {types: _callable(function) for types, function in kernel.functions.items()}
    return made if kernel.several else next(iter(made.values()))


def _callable(function: CFunction) -> Any:
    """As what ctypes and Numba call; it keeps what the code belongs to."""
    made: Any = Loop(function.address)
    made.address, made.data, made.source = function
    return made


class CKernel:
    """A kernel of all items, by functions in C for one tuple of dtypes each.

    `functions` are by NumPy's text of their dtypes, `"dd->d"`, of every argument in the order of the schema.
    """

    def __init__(self, op: OpOverload, signature: Signature, cfunc: Any, workers: int) -> None:
        self.op, self.signature, self.workers = op, signature, workers
        self.calls = Calls(op, signature)
        self.several = isinstance(cfunc, Mapping)
        arguments = op.schema.arguments
        given = cfunc if self.several else {self._types(): cfunc}
        if not given:
            example = f"cfunc={{{self._example()!r}: function}}"
            raise DefinitionError(f"{op.name}: cfunc= is an empty dict; write {example}.", operator=op.name)
        self.functions = {self._checked(types): c_function(function, op.name) for types, function in given.items()}
        cores = iter(signature.inputs)
        inputs = [next(cores) if a.type == TENSOR else () for a in arguments]
        self.__wrapped__ = gufunc(
            [(f.address, f.data, [np.dtype(c).num for c in types.replace("->", "")]) for types, f in self.functions.items()],
            len(inputs),
            len(signature.outputs),
            op.name,
            f"The functions in C of {op.name}: {', '.join(self.functions)}.",
            str(Signature(tuple(inputs), signature.outputs, signature.optional)),
            [f.source for f in self.functions.values()],
        )

    # -- dtypes ------------------------------------------------------------------------------------------------------------

    def _types(self) -> str:
        """The dtypes of a function that is given without them: the hints say those of every array."""
        schema = self.op.schema
        kinds = [np.dtype(NUMBERS[a.type]) if a.type in NUMBERS else a.dtype for a in schema.arguments]
        kinds += [r.dtype for r in schema.returns]
        if any(kind is None for kind in kinds):
            raise DefinitionError(
                f"{self.op.name}: a function in C is for arrays of given dtypes, and the hints do not say which. Write "
                f"cfunc={{{self._example()!r}: function}}, in NumPy's letters of each argument and each output, or hints "
                f"such as NDArray[np.float64]. {OF_NUMBERS}",
                operator=self.op.name,
            )
        letters = [np.dtype(kind).char for kind in kinds]
        count = len(schema.arguments)
        return f"{''.join(letters[:count])}->{''.join(letters[count:])}"

    def _example(self) -> str:
        schema = self.op.schema
        return "".join(NUMBERS.get(a.type, "d") for a in schema.arguments) + "->" + "d" * len(schema.returns)

    def _checked(self, types: Any) -> str:
        counts = len(self.op.schema.arguments), len(self.signature.outputs)
        parts = types.split("->") if isinstance(types, str) else ()
        if len(parts) != 2 or tuple(map(len, parts)) != counts or not set("".join(parts)) <= set(LETTERS):
            raise DefinitionError(
                f"{self.op.name}: the dtypes of a function in C are text as {self._example()!r}, a letter of NumPy's for each "
                f"of {how_many(counts[0], 'argument')} and {how_many(counts[1], 'output')}, of {LETTERS}; and {types!r} was "
                "given.",
                operator=self.op.name,
            )
        return types  # type: ignore[no-any-return]

    # -- the call ----------------------------------------------------------------------------------------------------------

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        if keywords:
            args = self.calls.bound(args, keywords)
        for i in self.calls.places:
            if type(args[i]) is not np.ndarray and not isinstance(args[i], PLAIN):
                args = (*args[:i], self._plain(i, args[i]), *args[i + 1 :])
        binding = self.calls.bind(args)
        outputs = self._outputs(binding, args)
        try:
            self._run(binding, args, outputs)
        except TypeError as error:
            raise self._refused(args, outputs) or error from None
        return outputs[0] if len(outputs) == 1 else outputs

    def _plain(self, i: int, x: Any) -> Any:
        """An array of a subclass that is no more than its data, as one of NumPy's own, whose ufuncs ask no class."""
        if isinstance(x, np.ndarray):
            check_data(x)
            return x.view(np.ndarray)
        name = self.op.schema.arguments[i].name
        raise ArgumentError(
            f"{self.op.name}: its kernel in C reads the memory of NumPy's arrays, and argument {name!r} is {kind_of(x)}. "
            "Register a kernel for its device.",
            operator=self.op.name,
            argument=name,
        )

    def _outputs(self, binding: Binding, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Arrays as the shape rule says, not filled."""
        source = self.op.table.source(DispatchKey.FAKE)
        if source is not None and getattr(source.rule, "__func__", None) is Calls.fake_rule:  # the signature's own: no fakes
            return tuple([np.empty(shape, dtype) for shape, dtype in self.calls.layouts(binding, args)])
        try:
            found = self.op.at(DispatchKey.FAKE)(*args)
        except NewSizeError:
            raise OutputError(
                f"{self.op.name}: in its shape rule a size depends on the data, and a function in C is given its outputs. "
                "Register a kernel in Python, which allocates what it finds.",
                operator=self.op.name,
            ) from None
        fakes = found if isinstance(found, (tuple, list)) else (found,)
        for i, (core, fake) in enumerate(zip(self.signature.outputs, fakes, strict=True)):
            cores = len(core) - len(binding.missing.intersection(core))
            if tuple(fake.shape[: len(fake.shape) - cores]) != binding.loop:
                raise OutputError(
                    f"{self.op.name}: its shape rule gives output {i} the shape {tuple(fake.shape)}, and the loop is "
                    f"{binding.loop}, with {how_many(cores, 'axis')} of an item behind it.",
                    operator=self.op.name,
                )
        return tuple([_empty(fake) for fake in fakes])

    def _run(self, binding: Binding, args: tuple[Any, ...], outputs: tuple[Any, ...]) -> None:
        ufunc, loop = self.__wrapped__, binding.loop
        if self.workers == 1 or prod(loop) < 2:
            ufunc(*args, out=outputs)
            return
        # The first axis that has a part for each thread, so that the parts lie apart in memory.
        axis = next((i for i, n in enumerate(loop) if n >= self.workers), loop.index(max(loop)))
        ndims = dict(zip(self.calls.places, binding.ndims, strict=True))

        def run(start: int, stop: int) -> None:
            part = slice(start, stop)
            items = [_sliced(x, axis - len(loop) + ndims[i], part) if i in ndims else x for i, x in enumerate(args)]
            ufunc(*items, out=tuple([out[(slice(None),) * axis + (part,)] for out in outputs]))

        in_threads(run, ranges(0, loop[axis], PARTS * self.workers), self.workers, lambda item: None)

    def _refused(self, args: tuple[Any, ...], outputs: tuple[Any, ...]) -> Exception | None:
        """The words for dtypes that no function is for, or None where something else was wrong."""
        given: list[Any] = [_kind(x) for x in args]
        listed = "; ".join(map(_named, self.functions))
        try:
            made = self.__wrapped__.resolve_dtypes((*given, *[None] * len(outputs)))[len(args) :]
        except TypeError:
            said = ", ".join(str(np.dtype(kind)) for kind in given)
            return ArgumentError(
                f"{self.op.name}: its functions in C take {listed}, and the arguments are {said}, which cast safely to none "
                "of these. Cast them, x.astype(dtype), or add a function for their dtypes: register_kernel('cpu', "
                "cfunc={types: function, ...}).",
                operator=self.op.name,
            )
        for i, (out, kind) in enumerate(zip(outputs, made, strict=True)):
            if not np.can_cast(kind, out.dtype, "same_kind"):
                return OutputError(
                    f"{self.op.name}: its shape rule says that output {i} is {out.dtype}, and its functions in C, {listed}, "
                    f"give {kind} for these arguments, which NumPy does not cast to that. Say the dtype in the hint, -> "
                    f"NDArray[np.{kind}], or in a shape rule: op.register_fake(rule).",
                    operator=self.op.name,
                )
        return None


def _kind(x: Any) -> Any:
    """The dtype of an argument, or the Python type of a number, as `resolve_dtypes` takes it."""
    if isinstance(x, bool):
        return np.dtype(bool)
    return getattr(x, "dtype", type(x))


def _named(types: str) -> str:
    """`"dd->d"` as `float64, float64 -> float64`."""
    return " -> ".join(", ".join(np.dtype(c).name for c in part) for part in types.split("->"))


def _sliced(x: Any, axis: int, part: slice) -> Any:
    """The part of an array along an axis of the loop; all of it where the array is broadcast there."""
    if axis < 0 or x.shape[axis] == 1:
        return x
    return x[(slice(None),) * axis + (part,)]


def _empty(fake: Any) -> Any:
    """An array of a fake's shape, dtype and strides."""
    shape, dtype = tuple(fake.shape), fake.dtype
    made = np.empty(shape, dtype)
    if made.strides == tuple(fake.strides):
        return made
    found = strides_of_copy(shape, tuple(fake.strides), dtype.itemsize)
    if found is None or not made.size:
        return made
    strides, before, reach = found
    memory = np.empty(before + reach, np.uint8)
    return np.ndarray(shape, dtype, memory, before, strides)
