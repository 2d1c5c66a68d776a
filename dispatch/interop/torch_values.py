"""Writes an operator's schema as torch's, and converts values from one to the other and back.

An argument of a type that torch has goes as it is. One that it has not, a dataclass of arrays or an array that may be a number,
goes as two: `Tensor[] x`, its arrays, and `str x_rest`, the text of the rest, with `tensor(i)` for the i-th array. The text is
that of graphs in files, so a torch program with such a call can be saved; what has no text is refused.

Memory is shared where torch can: a read-only array, one with a negative stride, and a result that is not in C order are copied.
Results are always in C order, so that what a fake rule says of strides and what a kernel returns cannot differ.

More than 350 lines, because the schema and the values that it lets through are one table read twice.
"""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..core import OpOverload
from ..core import Tensor as Values
from ..core.array_memory import watched
from ..core.optional import require
from ..core.pytree import leaves, mapped
from ..dispatcher.conversion_advice import advice_for
from ..errors import (
    ArgumentError,
    ConversionError,
    DefinitionError,
    DeviceMismatchError,
    OutputError,
    UnsupportedError,
    kind_of,
)
from ..graph.array_literals import Unwritable
from ..graph.literals import Reader, Writer, register_value
from ..schema.schema import Argument, Schema
from ..schema.types import (
    BOOL,
    DEVICE,
    FLOAT,
    INT,
    SCALAR,
    SCALAR_TYPE,
    STR,
    TENSOR,
    ClassType,
    ListOf,
    OptionalOf,
    Type,
    split_name,
)
from .derived_operators import is_array
from .places import Place

torch = require("torch", "torch", needed_by="dispatch.interop.torch")
Tensor = torch.Tensor

WORDS = {
    TENSOR: "Tensor", INT: "SymInt", FLOAT: "float", BOOL: "bool", STR: "str", SCALAR: "Scalar", SCALAR_TYPE: "ScalarType",
    DEVICE: "Device",
}  # fmt: skip
RECORD = "a dataclass"  # the key under which a dict has the name of the class that it stands for
PLAIN = {int, float, bool, str, type(None)}
RETURNED = {TENSOR, INT, FLOAT, BOOL, SCALAR, STR}
NAMES = "bool uint8 uint16 uint32 uint64 int8 int16 int32 int64 float16 float32 float64 complex64 complex128"
TO_TORCH = {np.dtype(name): getattr(torch, name) for name in NAMES.split() if hasattr(torch, name)}
TO_NUMPY = {theirs: ours for ours, theirs in TO_TORCH.items()}


register_value(Place, "tensor", lambda place: (place.number,), Place)


def word_of(kind: Type) -> str | None:
    """How torch writes a type; None where it has none such."""
    if isinstance(kind, OptionalOf):
        word = word_of(kind.element)
        return None if word is None else f"{word}?"
    if isinstance(kind, ListOf):
        word = word_of(kind.element)
        size = kind.size if kind.element == INT and kind.size else ""
        # a list of optional tensors goes in two parts: torch loses its gradients where one is None
        return None if word is None or "[" in word or word == "Tensor?" else f"{word}[{size}]"
    return WORDS.get(kind)  # type: ignore[call-overload, no-any-return]


class Plan:
    """How one operator's calls are written for torch.

    Attributes
    ----------
    text : str
        Name and schema, as torch reads them.
    packed : frozenset of int
        The arguments that go as two.
    bare : bool
        Whether each argument is an array, at most 16 of them, and one array is returned: a call needs no walk then.
    positional : int
        How many of torch's arguments are given by position.
    """

    def __init__(self, op: OpOverload) -> None:
        schema: Schema = op.schema
        self.name = op.name
        self.arguments = schema.arguments
        self.written = [i for i, a in enumerate(schema.arguments) if a.is_write]
        self.words = [None if a.numbers else word_of(a.type) for a in schema.arguments]
        self.packed = frozenset(i for i, word in enumerate(self.words) if word is None)
        for i in self.packed.intersection(self.written):
            raise UnsupportedError(
                f"{op.name} cannot be exported to torch: it writes to {schema.arguments[i].name!r}, which is "
                f"{schema.arguments[i].type}, and a torch operator writes to tensors and lists of them. Take the arrays as "
                "arguments of their own.",
                operator=op.name,
            )
        by_keyword = all(not a.type.has_tensor and a.type in WORDS for a in schema.kwarg_only)  # else torch refuses a gradient
        self.keywords = tuple(a.name for a in schema.kwarg_only) if by_keyword else ()
        self.records: dict[type, tuple[str, tuple[str, ...]]] = {}  # dataclasses: how each is named, and its fields
        for a in schema.arguments:
            self._find_records(a.type)
        self.positional = sum(2 if i in self.packed else 1 for i in range(len(schema.arguments) - len(self.keywords)))
        returns = schema.returns[:-1] if schema.has_residual else schema.returns
        self.given_back = [op.outputs.returned[i] if i < len(op.outputs.returned) else -1 for i in range(len(returns))]
        self.returns = [r.type for r, place in zip(returns, self.given_back, strict=True) if place < 0]
        self.rest = not all(
            kind in RETURNED or (isinstance(kind, ListOf) and kind.element == TENSOR) for kind in self.returns
        )  # of what is returned goes as text beside the arrays
        self.alone = self.given_back == [-1] and self.returns == [TENSOR]
        arrays_alone = all(a.type == TENSOR and not a.numbers for a in schema.arguments)
        self.bare = self.alone and arrays_alone and not self.written and len(schema.arguments) <= 16
        self.defaults = self._defaults()
        self.text = f"{'.'.join(filter(None, (schema.name, schema.overload)))}{self._signature()}"

    def _find_records(self, kind: Type) -> None:
        if isinstance(kind, ClassType) and kind.cls is not None and dataclasses.is_dataclass(kind.cls):
            self.records[kind.cls] = kind.qualname, tuple([field.name for field in kind.fields])
        for part in kind.parts:
            self._find_records(part)

    def _defaults(self) -> list[str] | None:
        """The text of each default; None where torch cannot write one, and then all are given in each call."""
        found = []
        for a in self.arguments:
            plain = a.default is None or type(a.default) in (int, bool) or (type(a.default) is float and np.isfinite(a.default))
            if a.has_default and (self.packed or not plain):  # `filled` counts, and an argument may be two
                return None
            found.append(f"={a.default!r}" if a.has_default else "")
        return found

    def _signature(self) -> str:
        words: list[str] = []
        for i, (a, word) in enumerate(zip(self.arguments, self.words, strict=True)):
            if self.keywords and a.name == self.keywords[0]:
                words.append("*")
            if word is None:
                words += [f"Tensor[] {a.name}", f"str {a.name}_rest"]
                continue
            if i in self.written:
                word = word.replace("Tensor", f"Tensor({chr(ord('a') + self.written.index(i))}!)")
            words.append(f"{word} {a.name}{self.defaults[i] if self.defaults else ''}")
        results = ["Tensor[]", "str"] if self.rest else [str(word_of(kind)) for kind in self.returns]
        return f"({', '.join(words)}) -> {results[0] if len(results) == 1 else '(' + ', '.join(results) + ')'}"

    # -- arguments -----------------------------------------------------------------------------------------------------------

    def filled(self, args: tuple[Any, ...], keywords: Mapping[str, Any]) -> list[Any]:
        """Torch's arguments in order: its dispatcher leaves out those that are equal to a default."""
        if len(args) == self.positional and not self.keywords:
            return list(args)
        by_position = self.arguments[: len(self.arguments) - len(self.keywords)]
        missing = () if len(args) == self.positional else by_position[len(args) :]  # where one is packed, none has a default
        return [*args, *(keywords.get(a.name, a.default) for a in (*missing, *self.arguments[len(by_position) :]))]

    def split(self, values: Sequence[Any]) -> tuple[list[Any], dict[str, Any]]:
        """Torch's arguments as they are given: by position and by keyword."""
        return list(values[: self.positional]), dict(zip(self.keywords, values[self.positional :], strict=True))

    def theirs(self, args: Sequence[Any]) -> list[Any]:
        """Torch's arguments, out of the operator's."""
        if self.bare and all([type(x) is Tensor for x in args]):
            return list(args)
        values: list[Any] = []
        for i, (x, a) in enumerate(zip(args, self.arguments, strict=True)):
            if i in self.packed:
                values += self._packed(x, a)
            elif type(x) is Tensor or x is None:
                values.append(x)
            elif a.type.has_tensor:
                written = i in self.written
                parts = x if isinstance(x, (list, tuple)) else [x]
                tensors = [given_tensor(y, self.name, written=written) for y in parts]
                values.append(tensors if parts is x else tensors[0])
            else:
                values.append(plain(x, a.type))
        return values

    def traceable(self, x: Any) -> Any:
        """An argument with a dict for each dataclass, which torch.compile takes as an argument of a node; plain Python."""
        known = self.records.get(type(x))
        if known is not None:
            word, names = known
            return {RECORD: word, **{name: self.traceable(getattr(x, name)) for name in names}}
        if type(x) is dict:
            return {key: self.traceable(y) for key, y in x.items()}
        return type(x)([self.traceable(y) for y in x]) if type(x) in {list, tuple} else x

    def untraceable(self, x: Any) -> Any:
        """The argument again."""
        if isinstance(x, dict):
            items = {key: self.untraceable(y) for key, y in x.items()}
            if (word := items.pop(RECORD, None)) is None:
                return items
            made: Any = object.__new__(next(cls for cls, known in self.records.items() if known[0] == word))
            for name, y in items.items():
                object.__setattr__(made, name, y)
            return made
        return type(x)([self.untraceable(y) for y in x]) if type(x) in {list, tuple} else x

    def _packed(self, x: Any, a: Argument) -> tuple[list[Any], str]:
        if isinstance(x, Tensor):  # this and the next are what torch.compile can look into
            return [x], "tensor(0)"
        if x is None or isinstance(x, (bool, str)) or type(x) is int:
            return [], repr(x)
        tensors: list[Any] = []

        def place(y: Any) -> Any:
            if not a.type.has_tensor or not (isinstance(y, Tensor) or is_array(y)):
                return y
            tensors.append(given_tensor(y, self.name))
            return Place(len(tensors) - 1)

        try:
            return tensors, Writer().spell(mapped(place, x))
        except Unwritable as error:
            raise ArgumentError(
                f"{self.name}: argument {a.name!r} holds {error}, which has no text, and what torch does not know goes through "
                "it as text. Give its class one: dispatch.graph.literals.register_value(cls, word, take, put); or call the "
                "operator on arrays.",
                operator=self.name,
                argument=a.name,
            ) from None

    def ours(self, values: Sequence[Any], array: Callable[[Any], Any]) -> list[Any]:
        """The operator's arguments, out of torch's; `array` makes an array of a tensor."""
        if not self.packed:
            return [array(x) if isinstance(x, Tensor) else _ours(x, array) for x in values]
        args: list[Any] = []
        rest = iter(values)
        for i in range(len(self.arguments)):
            x = next(rest)
            if i in self.packed:
                arrays = [array(y) for y in x]
                args.append(mapped(lambda y: arrays[y.number] if type(y) is Place else y, _read(next(rest))))  # noqa: B023
            else:
                args.append(_ours(x, array))
        return args

    # -- results -------------------------------------------------------------------------------------------------------------

    def results(self, out: Any, tensor: Callable[[Any], Any]) -> Any:
        """Torch's results, out of the operator's; `tensor` makes a tensor of an array."""
        if self.alone:
            return tensor(out)
        outputs = list(out) if len(self.given_back) > 1 else [out] * len(self.given_back)
        made = [x for x, place in zip(outputs, self.given_back, strict=True) if place < 0]
        if self.rest:
            arrays = [x for x in leaves(made) if is_array(x)]
            count = iter(range(len(arrays)))
            try:
                text = Writer().spell(mapped(lambda x: Place(next(count)) if is_array(x) else x, made))
            except Unwritable as error:
                raise OutputError(
                    f"{self.name} returned {error}, which has no text, and cannot go through torch. Return arrays and numbers.",
                    operator=self.name,
                ) from None
            return [tensor(x) for x in arrays], text
        values: list[Any] = []
        for x, kind in zip(made, self.returns, strict=True):
            if isinstance(kind, ListOf):
                values.append([tensor(y) for y in x])
            else:
                values.append(tensor(x) if kind == TENSOR else x.item() if isinstance(x, np.generic) else x)
        return values[0] if len(values) == 1 else tuple(values) if values else None

    def opened(self, out: Any) -> list[Any]:
        """The results of torch's operator as a list of the operator's own, in containers of its own."""
        if self.rest:
            tensors, text = out
            found: list[Any] = mapped(lambda x: tensors[x.number] if type(x) is Place else x, _read(text))
            return found
        return [] if not self.returns else [out] if len(self.returns) == 1 else list(out)

    def returned(self, outputs: Sequence[Any], args: Sequence[Any]) -> Any:
        """What the call returns: the outputs, and the written arguments that it returns."""
        rest = iter(outputs)
        results = [args[place] if place >= 0 else next(rest) for place in self.given_back]
        return results[0] if len(results) == 1 else tuple(results) if results else None


def _ours(x: Any, array: Callable[[Any], Any]) -> Any:
    if isinstance(x, Tensor):
        return array(x)
    return [_ours(y, array) for y in x] if isinstance(x, (list, tuple)) else unspelled(x)


def _read(text: str) -> Any:
    return Reader().value(text)


def plain(x: Any, kind: Type) -> Any:
    """A value that is no array as torch takes it."""
    if isinstance(x, (list, tuple, range)):
        return [plain(y, kind.element if isinstance(kind, ListOf) else kind) for y in x]
    # `is`, for torch.compile follows no `==` in C
    of_dtype = kind is SCALAR_TYPE or (type(kind) is OptionalOf and kind.element is SCALAR_TYPE)
    if of_dtype and x is not None and not isinstance(x, torch.dtype):
        return torch_dtype(np.dtype(x))
    return x.item() if isinstance(x, np.generic) else x


def unspelled(x: Any) -> Any:
    """A value that is no tensor as an operator takes it."""
    if type(x) in PLAIN:
        return x
    if isinstance(x, torch.dtype):
        return numpy_dtype(x)
    return str(x) if isinstance(x, torch.device) else x


def torch_dtype(dtype: np.dtype[Any]) -> Any:
    """Torch's dtype of a NumPy dtype."""
    if (found := TO_TORCH.get(dtype)) is None:
        swapped = " in native byte order" if TO_TORCH.get(dtype.newbyteorder("=")) else ""
        raise UnsupportedError(f"torch has no dtype for {dtype}. It has {NAMES}{swapped}: write x.astype(...).")
    return found


def numpy_dtype(dtype: Any) -> np.dtype[Any]:
    """NumPy's dtype of a torch dtype."""
    if (found := TO_NUMPY.get(dtype)) is None:
        raise UnsupportedError(f"NumPy has no dtype for {dtype}. Write x.float() or x.double().")
    return found


def array_of(x: Any) -> Any:
    """A tensor's array, in the same memory."""
    try:
        return x.numpy() if not x.requires_grad else x.detach().numpy()
    except (TypeError, RuntimeError):
        pass
    if x.device.type != "cpu":
        raise DeviceMismatchError(
            f"a tensor is on {x.device}, and kernels run on arrays in main memory. Nothing is copied from a device to another "
            "behind your back: write x.cpu()."
        )
    numpy_dtype(x.dtype)
    return x.detach().resolve_conj().resolve_neg().numpy()  # or torch says what is wrong: sparse, say


def watched_array_of(x: Any) -> Any:
    """A tensor's array, read-only, that our tape may keep as it is: torch tells of a write to a tensor that it has saved."""
    return watched(array_of(x))


def tensor_of(x: Any) -> Any:
    """An array's tensor, in the same memory where that can be written to and lies in C order."""
    if type(x) is not np.ndarray:
        if not isinstance(x, (np.ndarray, np.generic)):
            raise OutputError(
                f"an operator was called by torch and returned a {type(x).__qualname__}: a mode or a transform of this package "
                "is on, and torch does not see through it. Leave it before torch is called."
            )
        x = np.asarray(x)
    flags = x.flags
    if not flags.c_contiguous or not flags.writeable:
        x = np.array(x, order="C")
    try:
        return torch.from_numpy(x)
    except (TypeError, ValueError):
        torch_dtype(x.dtype)
    return torch.from_numpy(np.array(x, order="C"))  # where an axis of one element has a stride that torch refuses


def given_tensor(x: Any, name: str, *, written: bool = False) -> Any:
    """An argument as a tensor: a tensor as it is, an array as a constant."""
    if x is None or isinstance(x, Tensor):
        return x
    if not isinstance(x, (np.ndarray, np.generic)):
        if isinstance(x, Values):
            raise ConversionError(
                f"{name}, exported to torch, was called with {kind_of(x)}: no derivative, batch or trace of this package goes "
                "through tensors. Call the operator itself, or give arrays.",
                operator=name,
            )
        said = f"{name} was called with tensors and {kind_of(x)} where an array goes.{advice_for(x)}"
        raise ArgumentError(said, operator=name)
    if not written and torch.is_grad_enabled():  # a backward may read it, and nobody would tell of a write to it meanwhile
        x = np.array(x, order="C")
    made = tensor_of(x)
    if written and not (isinstance(x, np.ndarray) and (not x.size or x.ctypes.data == made.data_ptr())):
        raise ArgumentError(
            f"{name} writes to an array that torch cannot share: it is read-only or not in C order. Give a tensor.",
            operator=name,
        )
    return made


def check_namespace(name: str) -> None:
    """Refuse to define what torch itself has."""
    namespace, word, overload = split_name(name)
    packet = getattr(getattr(torch.ops, namespace), word, None)
    if packet is not None and (overload or "default") in packet.overloads():
        raise DefinitionError(
            f"torch.ops.{namespace}.{word} exists already, and is not of this package: {name} cannot be exported by that name.",
            operator=name,
        )
