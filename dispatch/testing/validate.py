"""`validate(level)` and the environment variable DISPATCH_VALIDATE: how much of each call is checked.

The checks of the core cost nanoseconds and are always on: types of arguments, type and number of outputs, no output that is an
argument or a view of one. The level `full` adds checks that cost more than many kernels, for test suites and for debugging.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import numpy as np

from ..core import OBSERVE, Definition, DispatchKey, OpOverload, Without, active_modes, device_of, share_memory
from ..core.pytree import leaves, mapped, paths
from ..core.wrong_calls import block_function
from ..dispatcher.observer import Watcher, watchers
from ..dispatcher.printing import brief, place_of
from ..dispatcher.written_arguments import checksum, only_read
from ..errors import ArgumentError, DataDependentError, NoRuleError, OutputError, did_you_mean, how_many, kind_of
from ..layers.fake import FakeTensor, FakeTensorMode
from ..schema.schema import Argument
from ..schema.tags import Tag

LEVELS = ("off", "default", "full")
Arguments = tuple[Any, ...]


class Validation(Watcher):
    """Checks each kernel call at one level; made by `validate`. Only the innermost one of a thread counts."""

    _fields = ("level",)
    _called = "validate"

    def __init__(self, level: str) -> None:
        super().__init__()
        self.level = level
        self._idle = False

    def __enter__(self) -> "Validation":
        # With nothing to look at and nothing to end, the block costs its calls nothing.
        self._idle = self.level != "full" and not any(isinstance(w, Validation) for w in watchers())
        self._used = True
        return self if self._idle else super().__enter__()

    def __exit__(self, *exception: object) -> None:
        if not self._idle:
            super().__exit__(*exception)

    def _looks(self, definition: Definition, rank: int) -> bool:
        if rank & OBSERVE >= DispatchKey.FAKE or Tag.maybe_aliasing_or_mutating in definition.tags:
            return False
        return self.level == "full" and next(w for w in watchers() if isinstance(w, Validation)) is self

    def handed(self, definition: Definition, rank: int, args: Arguments) -> Arguments:
        if not self._looks(definition, rank):
            return args
        pairs = zip(definition.schema.arguments, args, strict=True)
        return tuple([_read_only(x) if _is_only_read(a) else x for a, x in pairs])

    def watch(
        self, op: OpOverload, definition: Definition, rank: int, args: Arguments, proceed: Callable[[], Any]
    ) -> Any:
        if not self._looks(definition, rank):
            return proceed()
        call = _Call(op, definition, DispatchKey(rank & OBSERVE), args)
        with ExitStack() as stack:
            for guard in active_modes():
                stack.enter_context(Without(guard))
            fake = call.fake_outputs()
        before = call.sums()
        try:
            out = proceed()
        except Exception as error:
            if "read-only" in str(error):
                error.add_note(
                    "validate('full') hands arguments on as read-only views where nothing says that the kernel writes to them."
                )
            call.check_arguments(before, error)
            raise
        call.check_arguments(before, None)
        outputs = call.outputs_of(out)
        call.check_memory(outputs)
        if fake is not None:
            call.check_fake(fake, outputs)
        return out

    def __repr__(self) -> str:
        return f"validate({self.level!r})"


class _Call:
    """One call of a kernel, and what is known before it runs."""

    def __init__(self, op: OpOverload, definition: Definition, key: DispatchKey, args: Arguments) -> None:
        self.op, self.definition, self.schema, self.key, self.args = op, definition, definition.schema, key, args
        live = definition.table.source(key)
        self.kernel = f"kernel {place_of(live)}" if live is not None else "kernel"
        pairs = zip(definition.schema.arguments, args, strict=True)
        self.arrays = [(a, name, x) for a, value in pairs for name, x in _arrays(value, repr(a.name))]
        # NumPy's own functions do not agree on the order of what comes of a broadcast array.
        self.ordered = not any(0 in counted_strides(x) for *_, x in self.arrays)
        self.only_read = only_read(definition, args)

    def _fault(self, text: str) -> OutputError:
        given = ", ".join(f"{name}: {brief(x)}" for name, x in zip(self.definition.arguments.names, self.args, strict=True))
        return OutputError(f"{self.definition.name}: {text}\nThe call was ({given}).", operator=self.definition.name)

    def sums(self) -> list[int]:
        """Return a checksum of each array that the kernel may only read."""
        return [checksum(x.array) for x in self.only_read]

    def check_arguments(self, before: list[int], error: Exception | None) -> None:
        """Compare the arguments with their checksums: C code ignores the read-only flag."""
        for x, sum_before in zip(self.only_read, before, strict=True):
            if checksum(x.array) != sum_before:
                raise self._fault(x.fault(self.definition, self.key)) from error

    def outputs_of(self, out: Any) -> list[Any]:
        """Return the outputs, one for each return, without a residual."""
        total = len(self.schema.returns)
        count = total - self.schema.has_residual
        if count and total > 1 and isinstance(out, (tuple, list)) and len(out) == total:
            return list(out[:count])
        return [out] if count == 1 else list(out) if count else []

    def check_memory(self, outputs: list[Any]) -> None:
        """Raise if an output shares memory with an argument or another output and the schema does not say so."""
        found = [(r, name, x) for i, (r, out) in enumerate(self._returned(outputs)) for name, x in _arrays(out, f"output {i}")]
        for i, (result, name, x) in enumerate(found):
            if result.alias is not None:
                continue
            for _, other, y in self.arrays:
                if _share(x, y):
                    raise self._fault(
                        f"{name} of the {self.kernel} shares memory with its argument {other}, and the schema does not say so. "
                        "Return a copy, or declare it: (Tensor(a) x) -> Tensor(a)."
                    )
            for other_result, other, y in found[:i]:
                if other_result.alias is None and _share(x, y):
                    raise self._fault(
                        f"{other} and {name} of the {self.kernel} share memory: a write to one changes the other. "
                        "Return a copy for one of them."
                    )

    def _returned(self, outputs: list[Any]) -> Iterator[tuple[Any, Any]]:
        return zip(self.schema.returns, outputs, strict=False)

    def fake_outputs(self) -> list[Any] | Exception | None:
        """Return the outputs of the fake rule, or what it raises; None if there is no rule or it needs data."""
        live = self.definition.table.source(DispatchKey.FAKE)
        if live is None or live.layer is None or self.schema.returns == ():
            return None
        if self.op.definition is not self.definition:  # redefined: the layer makes kernels of the new one
            return None
        with FakeTensorMode() as mode:
            fakes = [mapped(lambda x: mode.from_array(x) if device_of(x) is not None else x, x) for x in self.args]
            try:
                return self.outputs_of(self.definition.table.lowered(self.op, DispatchKey.FAKE)(*fakes))
            except (DataDependentError, NoRuleError):
                return None
            except Exception as error:
                return error

    def check_fake(self, fake: list[Any] | Exception, outputs: list[Any]) -> None:
        """Compare the fake rule's outputs with the real ones."""
        live = self.definition.table.source(DispatchKey.FAKE)
        rule = f"the fake rule ({place_of(live)})" if live is not None else "the fake rule"
        if isinstance(fake, Exception):
            raise self._fault(f"{rule} raises {type(fake).__name__}, where the {self.kernel} does not: {fake}") from fake
        for i, (promised, given) in enumerate(zip(fake, outputs, strict=True)):
            pairs = zip(_arrays(promised, f"output {i}"), _arrays(given, f"output {i}"), strict=False)
            for (name, x), (_, y) in pairs:
                for what, said, is_so in _differences(x, y, ordered=self.ordered):
                    raise self._fault(
                        f"{name} has {what} {said} by {rule}, and {is_so} by the {self.kernel}. Correct the rule: "
                        f"{self.schema.name}.register_fake."
                    )
            if (n := len(list(_arrays(promised, "")))) != (m := len(list(_arrays(given, "")))):
                raise self._fault(f"output {i} holds {how_many(n, 'array')} by {rule}, and {m} by the {self.kernel}.")


def _differences(fake: Any, real: Any, *, ordered: bool) -> Iterator[tuple[str, object, object]]:
    if fake.shape != real.shape:
        yield "shape", fake.shape, real.shape
    elif fake.dtype.newbyteorder("=") != real.dtype.newbyteorder("="):  # empty_like keeps an order that no kernel gives back
        yield "dtype", fake.dtype, real.dtype
    elif ordered and (said := counted_strides(fake)) != (is_so := counted_strides(real)):
        yield "strides", said, is_so


def counted_strides(x: Any) -> tuple[int | None, ...]:
    """Return the strides of an array, None where they mean nothing: for axes of length 1 and in an empty array."""
    empty = 0 in x.shape
    return tuple(None if empty or n == 1 else s for n, s in zip(x.shape, getattr(x, "strides", ()), strict=False))


def _is_only_read(argument: Argument) -> bool:
    # A view of a read-only view would be read-only too, and the schema of a view promises no such thing.
    return argument.alias is None and "writeable" not in argument.layout


def _read_only(x: Any) -> Any:
    """Replace the arrays in `x` by read-only views; the flag of the caller's array does not change."""

    def view(array: Any) -> Any:
        if not isinstance(array, np.ndarray) or not array.flags.writeable:
            return array
        seen = array.view()
        seen.flags.writeable = False
        return seen

    made = mapped(view, x)
    return x if all(a is b for a, b in zip(leaves(x), leaves(made), strict=True)) else made


def _arrays(x: Any, name: str) -> Iterator[tuple[str, Any]]:
    for path, leaf in zip(paths(x), leaves(x), strict=True):
        if isinstance(leaf, (np.ndarray, np.generic, FakeTensor)):
            yield name + path, leaf


def _share(x: Any, y: Any) -> bool:
    return isinstance(x, np.ndarray) and isinstance(y, np.ndarray) and share_memory(x, y)


@block_function
def validate(level: str) -> Validation:
    """Return a `with` block that sets how much of this thread's calls is checked.

    Parameters
    ----------
    level : str
        `"full"` checks each call of a kernel: its outputs against the fake rule, if there is one; that it writes only to
        arguments that the schema says it writes to; that outputs share memory with arguments only as the schema says.
        `"default"` leaves these checks out, in a block inside a `"full"` one. `"off"` does the same: the checks of every call
        cost nanoseconds, and are never left out.

    Returns
    -------
    context manager

    Raises
    ------
    ArgumentError
        If there is no such level.
    OutputError
        From a call under `"full"`, if the kernel does something that its schema or its fake rule does not say.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> @dispatch.custom_op("doc::first", mutates_args=())
    ... def first(x: np.ndarray) -> np.ndarray:
    ...     return x[:1] * 1
    >>> _ = first.register_fake(lambda x: np.empty_like(x))
    >>> with dispatch.validate("full"):
    ...     first(np.ones(3))
    Traceback (most recent call last):
    dispatch.errors.OutputError: doc::first: output 0 has shape (3,) by the fake rule (...), and (1,) by the kernel ...
    The call was (x: float64[3]).
    """
    return Validation(_checked(level, "validate"))


def _checked(level: object, who: str) -> str:
    if not isinstance(level, str) or level not in LEVELS:
        if not isinstance(level, str):
            raise ArgumentError(f"{who}: a level is text, and {kind_of(level)} was given. Levels: {', '.join(LEVELS)}.")
        raise ArgumentError(f"{who}: there is no level {level!r}.{did_you_mean(level, LEVELS)} Levels: {', '.join(LEVELS)}.")
    return level


def install() -> None:
    """Turn on the level in DISPATCH_VALIDATE for the thread that imports the package, for good."""
    if level := os.environ.get("DISPATCH_VALIDATE"):
        Validation(_checked(level, "DISPATCH_VALIDATE")).__enter__()
