"""Reads type hints: which schema type a Python annotation stands for.

`HintReader` reads the hints of one function. Besides the type, a hint can say four things about an array, which the
reader keeps for each argument: its dtype (`NDArray[np.float64]`), its layout (`Annotated[np.ndarray, "C"]`), that Python
numbers may be passed for it (`np.ndarray | float`), and the names of its axes (`Float64[np.ndarray, "m n"]`). Of an array
and of a number it can say the range: see bounds.py. What a hint is refused for stands beside how it is read, and so the
file has more than 350 lines.
"""

import collections.abc
import functools
import numbers
import types
import typing
from enum import Enum
from typing import Annotated, Any, ForwardRef, Literal, Union

import numpy as np

from ..core import Residual, Tensor
from ..errors import HintError, SchemaError, close_matches, did_you_mean
from ..symbolic import SymInt
from .bounds import Bounds, bounds_of
from .dimensions import Tree, dtype_of_array, is_array_hint, tree_of
from .dtype_hints import dtype_of, is_dtype_like, is_numpys_own, unaliased
from .hint_scopes import names_around
from .hint_suggestions import nearest, of_name, or_schema, show
from .opaque_types import find_class, opaque_type
from .records import is_record, mentions_arrays, record_of
from .types import (
    ANY,
    BOOL,
    BYTES,
    CALLABLE,
    COMPLEX,
    DEVICE,
    FLOAT,
    INT,
    NONE,
    RESIDUAL,
    SCALAR,
    SCALAR_TYPE,
    STR,
    TENSOR,
    ClassType,
    DictOf,
    Field,
    ListOf,
    LiteralOf,
    OptionalOf,
    TupleOf,
    Type,
    UnionOf,
)  # fmt: skip

LAYOUTS = ("C", "F", "writeable")
LAYOUT_WORDS = ("c", "f", "writeable", "writable", "fortran", "contiguous")

_NUMERIC = frozenset((INT, FLOAT, BOOL, COMPLEX, SCALAR))
DTYPE_NAMES = frozenset(np.dtype(char).name for char in np.typecodes["AllInteger"] + np.typecodes["AllFloat"])
_NONE_TYPE = type(None)
_UNIONS = (Union, types.UnionType, Literal)
_WORDS: dict[object, Type] = {
    np.ndarray: TENSOR, Tensor: TENSOR, int: INT, float: FLOAT, bool: BOOL, complex: COMPLEX, str: STR, bytes: BYTES,
    numbers.Number: SCALAR, numbers.Complex: SCALAR, numbers.Real: SCALAR, numbers.Integral: INT,
    np.dtype: SCALAR_TYPE, type: SCALAR_TYPE, Any: ANY, typing.Callable: CALLABLE, collections.abc.Callable: CALLABLE,
    Residual: RESIDUAL, None: NONE, _NONE_TYPE: NONE, SymInt: INT,
}  # fmt: skip


@functools.lru_cache(maxsize=1024)
def _compiled(text: str) -> types.CodeType:
    return compile(text.strip(), "<hint>", "eval")


def word_of(hint: object) -> Type | None:
    """The type of a hint that is one word of the schema, and says no more."""
    try:
        return _WORDS.get(hint)
    except TypeError:  # the metadata of Annotated need not be hashable
        return None


class HintReader:
    """Reads the hints of one function; hints written as text are evaluated among the names around it.

    `dtype`, `layout`, `bounds` and `numbers` are what the hint of the last argument says beside its type.
    """

    __slots__ = (
        "_dtypes", "_hint", "_nearest", "_open", "_proposing", "_scope", "_what", "bounds",
        "function", "layout", "numbers", "operator"
    )  # fmt: skip

    def __init__(self, operator: str, fn: object) -> None:
        self.operator, self.function = operator, fn
        self._proposing = False  # whether the words of a proposed schema are being read
        self._nearest = ""  # of the last hint without a type
        self._open: tuple[type, ...] = ()  # the records whose fields are being read
        self._scope: tuple[dict[str, Any], dict[str, Any]] | None = None
        self._start("the return", None)

    def _start(self, what: str, hint: object) -> None:
        self._what, self._hint = what, hint
        self._dtypes: set[np.dtype[Any] | None] = set()
        self.layout: tuple[str, ...] = ()
        self.bounds: Bounds | None = None
        self.numbers = False

    @property
    def dtype(self) -> np.dtype[Any] | None:
        """The dtype that the last hint asks for."""
        if len(self._dtypes) > 1:
            raise self._fault("Two dtypes in one parameter or result: write the same for all of its arrays, or none.")
        return next(iter(self._dtypes), None)

    def dimensions(self) -> Tree:
        """The axis names in the last hint, as in `Float64[np.ndarray, "m n"]`."""
        return None if word_of(self._hint) is not None else tree_of(self._hint, self._evaluated)

    def argument(self, name: str, hint: object) -> Type:
        """Return the type of a parameter."""
        self._start(f"parameter '{name}'", hint)
        kind = self._checked(hint)
        # A device is a string, and known by the name of its parameter.
        inside = kind.element if isinstance(kind, OptionalOf) else kind
        text = inside == STR or (isinstance(inside, LiteralOf) and all(isinstance(x, str) for x in inside.choices))
        if name == "device" and text:
            return DEVICE if inside is kind else OptionalOf(DEVICE)
        return kind

    def returns(self, hint: object) -> tuple[tuple[Type, ...], tuple[np.dtype[Any] | None, ...]]:
        """Return the types of the results, none for None, several for a tuple; and the dtypes that their hints ask for."""
        self._start("the return", hint)
        hint = self._evaluated(hint)
        if hint is None or hint is _NONE_TYPE:
            return (), ()
        members = typing.get_args(hint)
        several = typing.get_origin(hint) is tuple and Ellipsis not in members
        if several and not members:
            raise self._fault("An operator that returns nothing is hinted None.")
        kinds: list[Type] = []
        dtypes = []
        for member in members if several else (hint,):
            self._dtypes = set()
            kinds.append(self._checked(member))
            dtypes.append(self.dtype)
        if self.layout:
            raise self._fault("A layout is for a parameter: a result is returned as the kernel made it.")
        if several and kinds == [RESIDUAL]:
            raise self._fault("A Residual goes along with a result: tuple[np.ndarray, Residual].")
        return ((TupleOf(tuple(kinds)),) if several and len(kinds) == 1 else tuple(kinds)), tuple(dtypes)

    def _fault(self, advice: str) -> HintError:
        name = self._what.split("'")[1] if "'" in self._what else ""
        return HintError(
            f"{self.operator}: {self._what} has the hint {show(self._hint)}, which has no schema type.\n{advice}",
            operator=self.operator,
            argument=name,
        )

    def _unknown(self, nearest: str) -> HintError:
        if self._what == "the return" and nearest.startswith("tuple[np.ndarray, ...]"):
            nearest = "tuple[np.ndarray, np.ndarray], a hint for each result"
        self._nearest = nearest
        return self._fault("" if self._proposing else f"The nearest hint that has one: {nearest}. {self.proposed_schema()}")

    def proposed_schema(self) -> str:
        """Say which schema may be written instead of the hints; a hint that has no type counts as the nearest that has one."""
        reader = HintReader(self.operator, self.function)
        reader._proposing = True
        return or_schema(self.function, reader._word)

    def _word(self, name: str, hint: object) -> str:
        """The schema's word for a hint, '' where there is none."""
        self._nearest = ""
        try:
            if name != "return":
                return str(self.argument(name, hint))
            kinds, _ = self.returns(hint)
        except HintError:
            nearest = self._nearest.partition(", or ")[0].partition(", a ")[0]
            try:
                return self._word(name, eval(nearest, {"np": np, "numpy": np, "typing": typing}))
            except (SyntaxError, NameError, AttributeError):  # words, or none
                return ""
        return str(kinds[0]) if len(kinds) == 1 else f"({', '.join(map(str, kinds))})"

    def _checked(self, hint: object) -> Type:
        try:
            return self._read(hint)
        except SchemaError as error:
            raise self._fault(str(error)) from None

    def _evaluated(self, hint: object) -> object:
        if isinstance(hint, ForwardRef):
            hint = hint.__forward_arg__
        if not isinstance(hint, str):
            found = unaliased(hint)
            return hint if found is hint else self._evaluated(found)
        if self._scope is None:
            self._scope = names_around(self.function)
        try:
            value = eval(_compiled(hint), *self._scope)
        except NameError as error:
            if words := of_name(str(error.name), hint):
                raise self._fault(f"No name '{error.name}' is known where the function is defined. Write {words}.") from error
            known = did_you_mean(str(error.name), [*self._scope[0], *self._scope[1]])
            raise self._fault(
                f"No name '{error.name}' is known where the function is defined.{known} "
                f"Import '{error.name}' at the top of that module, outside `if TYPE_CHECKING`."
            ) from error
        except Exception as error:
            said = f"Evaluating it raised {type(error).__name__}: {error}"
            if isinstance(error, AttributeError) and isinstance(error.obj, types.ModuleType):
                said = f"{error.obj.__name__} has no {error.name!r}.{did_you_mean(str(error.name), dir(error.obj))}"
            if hint.endswith(("[]", "?")):
                said += ". A hint is Python, and no word of a schema: list[int] for int[], np.ndarray | None for Tensor?"
            raise self._fault(said) from error
        return self._evaluated(value)

    def _read(self, hint: object) -> Type:
        if (found := word_of(hint)) is None:
            hint = self._evaluated(hint)
            found = word_of(hint)
        if found is not None:
            if found is TENSOR:
                self._dtypes.add(None)
            return found
        origin, members = typing.get_origin(hint), typing.get_args(hint)
        if origin is None:
            return self._single(hint)
        if origin in _UNIONS:
            return self._union((hint,))
        if origin is Annotated:
            return self._annotated(hint)
        if origin is collections.abc.Callable:
            return CALLABLE
        if origin is type or origin is np.dtype:
            return SCALAR_TYPE
        if isinstance(origin, type) and issubclass(origin, np.ndarray):
            self._check_array(members)
            self._dtypes.add(dtype_of(members))
            return TENSOR
        return self._container(origin, members)

    def _check_array(self, members: tuple[Any, ...]) -> None:
        """Refuse a dtype where the shape stands, and text for a dtype, which is none to NumPy's own types."""
        if isinstance(first := members[0], (int, tuple, list)):  # sizes, which nothing would hold an array to
            raise self._unknown('np.ndarray, or Float64[np.ndarray, "m n"] of jaxtyping, whose axes have names')
        alone = first in (float, complex, bool) or (first is int and len(members) == 1)
        if alone or (type(first) is type and issubclass(first, np.generic)):
            raise self._unknown(f"numpy.typing.NDArray[np.{np.dtype(first).name if alone else first.__name__}]")
        for word in typing.get_args(members[1]) if len(members) > 1 else ():
            if isinstance(word, (str, ForwardRef)):
                raise self._unknown("numpy.typing.NDArray[np.float64], with a class of NumPy's")
            if word in (float, complex, int, bool):  # which no check would hold an array to
                raise self._unknown(f"numpy.typing.NDArray[np.{np.dtype(word).name}]")

    def _container(self, origin: object, members: tuple[Any, ...]) -> Type:
        if not members:  # typing.List by itself
            return self._single(origin)
        if origin is list or origin is collections.abc.Sequence:
            if len(members) > 1:  # which Python takes, of list, and reads the first alone
                raise self._unknown(f"tuple[{', '.join('np.ndarray' if x is np.ndarray else show(x) for x in members)}]")
            return ListOf(self._read(members[0]))
        if origin is tuple:
            if members[-1] is Ellipsis:
                return ListOf(self._read(members[0]))
            kinds = tuple(self._read(member) for member in members)
            return ListOf(kinds[0], len(kinds)) if len(set(kinds)) == 1 else TupleOf(kinds)
        if origin is dict or origin is collections.abc.Mapping:
            if len(members) != 2:
                raise self._unknown("dict[str, np.ndarray]")
            return DictOf(self._read(members[0]), self._read(members[1]))
        if origin in (set, frozenset):
            raise self._unknown(nearest(types.GenericAlias(set, members)))
        return self._single(origin)

    def _single(self, hint: object) -> Type:
        if isinstance(hint, type):
            if issubclass(hint, (np.ndarray, Tensor)) or is_array_hint(hint):
                self._dtypes.add(dtype_of_array(hint))
                return TENSOR
            if (found := self.class_type(hint)) is not None:
                return found
        if hasattr(hint, "__supertype__"):  # NewType
            return self._read(hint.__supertype__)
        raise self._unknown(nearest(hint))

    def class_type(self, cls: type) -> ClassType | None:
        """Return the type of a class that is opaque, an enumeration or a record; None for any other."""
        if (opaque := opaque_type(cls)) is not None or not is_record(cls):
            return None if opaque is None else ClassType(opaque.qualname, cls)
        if cls in self._open:
            raise SchemaError("A record that holds itself has no end. Hint its arrays, or register_opaque_type it.")
        return record_of(cls, self._field)

    def _field(self, cls: type, name: str, hint: object) -> Field:
        """Read a field of a record. A hint without a schema type means any object, unless it contains arrays."""
        inner = HintReader(self.operator, cls)
        inner._open = (*self._open, cls)
        inner._start(f"{self._what}, field '{name}' of {show(cls)},", hint)
        try:
            kind = inner._checked(hint)
        except HintError:
            if mentions_arrays(hint):
                raise
            return Field(name, ANY)
        if inner.layout:
            raise inner._fault("A layout is for a parameter: the fields of a record are not adapted.")
        return Field(name, kind, inner.dtype, inner.numbers)

    def _annotated(self, hint: Any) -> Type:
        for note in hint.__metadata__:
            if note in LAYOUTS:
                self.layout = (*self.layout, note)
            elif isinstance(note, str) and (close_matches(note.lower(), LAYOUT_WORDS) or (len(note) == 1 and note.isupper())):
                raise self._fault(f"The layout '{note}' is written 'C', 'F' or 'writeable'.")
            elif isinstance(note, str) and note in DTYPE_NAMES:
                raise self._fault(f"'{note}' is a dtype, which no layout is. Write NDArray[np.{note}], of numpy.typing.")
        if {"C", "F"} <= {*self.layout}:
            raise self._fault("An array of two axes lies in one order. Name one, 'C' or 'F'.")
        self.bounds = bounds_of(hint.__metadata__) or self.bounds
        kind = self._read(hint.__origin__)
        if self.layout and not kind.has_tensor:
            raise self._fault("A layout is for arrays.")
        return kind

    def _members(self, hints: tuple[object, ...]) -> list[object]:
        found: list[object] = []
        for hint in hints:
            hint = hint if word_of(hint) else self._evaluated(hint)
            origin, inside = typing.get_origin(hint), typing.get_args(hint)
            if origin is Literal:
                found.extend(x if x is None else Literal[x] for x in inside)
            else:
                found.extend(self._members(inside) if origin in _UNIONS else [hint])
        return found

    def _literal(self, choices: list[Any]) -> Type:
        if (member := next((x for x in choices if isinstance(x, Enum)), None)) is not None:
            raise self._unknown(f"{type(member).__qualname__}, all of the enumeration")
        return LiteralOf(tuple({(type(x), x): x for x in choices}.values()))

    def _union(self, hints: tuple[object, ...]) -> Type:
        members = self._members(hints)
        rest = [member for member in members if member is not None and member is not _NONE_TYPE]
        optional = 0 < len(rest) < len(members)
        choices = [x for member in rest if typing.get_origin(member) is Literal for x in typing.get_args(member)]
        if len(choices) < len(rest):  # beside other hints only a choice of text is one; any other counts as its type
            texts = tuple(x for x in choices if type(x) in (str, bytes) and type(x) not in rest)
            kinds_of_choices = [Literal[texts] if x in texts else type(x) for x in choices]
            rest = list(dict.fromkeys([m for m in rest if typing.get_origin(m) is not Literal] + kinds_of_choices))
            choices = []
        if choices:
            found = self._literal(choices)
        elif len(rest) < 2:
            found = self._read(rest[0]) if rest else NONE
        elif is_dtype_like(rest):
            found = SCALAR_TYPE
        elif any(map(is_numpys_own, rest)):
            raise self._unknown("np.ndarray")  # numpy.typing.ArrayLike
        else:
            outside, self._dtypes = self._dtypes, set()
            kinds = tuple(dict.fromkeys(map(self._read, rest)))
            # Either of two dtypes will do: then none is asked for.
            self._dtypes = outside | (self._dtypes if len(self._dtypes) < 2 else {None})
            found = self._one_of(kinds)
        return OptionalOf(found) if optional else found

    def _one_of(self, kinds: tuple[Type, ...]) -> Type:
        """The type of what has one of several: a word that covers them, where there is one, else a union."""
        if ANY in kinds or RESIDUAL in kinds:
            raise self._unknown("typing.Any")
        numeric = [kind for kind in kinds if kind in _NUMERIC]
        if TENSOR in kinds and numeric:
            self.numbers = True
            kinds = tuple(kind for kind in kinds if kind not in _NUMERIC)
        elif len(numeric) > 1:
            kinds = tuple(dict.fromkeys(SCALAR if kind in _NUMERIC else kind for kind in kinds))
        if any(isinstance(kind, ListOf) and kind.element == INT and kind.size is not None for kind in kinds):
            kinds = tuple(kind for kind in kinds if kind != INT)  # int[2] takes a single int as well
        return kinds[0] if len(kinds) == 1 else UnionOf(kinds)


def class_of_text(name: str) -> ClassType:
    """Return the type of a class that a schema's text names; a record if its module is imported and it is one."""
    kind = ClassType(name)
    try:
        cls = find_class(kind)
    except SchemaError:
        return kind
    try:
        found = HintReader("schema", None).class_type(cls)
    except HintError as error:
        reason = str(error).partition(", ")[2].replace("\n", " ")
        raise SchemaError(f"{name} cannot be a record: {reason}") from None
    return kind if found is None else ClassType(name, found.cls, found.fields)
