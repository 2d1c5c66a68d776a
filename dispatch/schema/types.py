"""The types of the schema language, and alias sets, as values that print as text which `parser.py` reads.

    type   := base [alias] suffix*            suffix  := "[]" | "[" int "]" | "?"
    base   := Tensor | int | float | bool | complex | str | bytes | Scalar | ScalarType | Device | Any | Callable
            | Generator | Residual | None | module.Class | Literal[value, ...] | Dict(K, V) | (T1, T2, ...) | Union(T1, T2, ...)
    alias  := "(" set ["!"] ["->" set] ")"    set     := name ("|" name)* | "*"

The alias stands right after `Tensor`, or a class that holds arrays, inside all suffixes: `Tensor(a!)[]`, `Tensor(a!)?`.
Every type prints as text that reads back as the same type; a type without such a text cannot be built.

More than 350 lines, because the types are one grammar and each writes its fields out: see `Spelled`.
"""

import keyword
import sys
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Self

from ..core.wrong_attributes import Attributes, not_set
from ..errors import SchemaError, did_you_mean, kind_of

BASES = (
    "Tensor", "int", "float", "bool", "complex", "str", "bytes", "Scalar", "ScalarType", "Device", "Any", "Callable",
    "Residual", "None",
)  # fmt: skip

# What people write who come from C++, torch or Python, and what the type is called here.
_NAMES_KEPT = 64
_INSTEAD = {
    "int64_t": "int", "DeviceIndex": "int", "double": "float", "SymFloat": "float", "SymBool": "bool",
    "Number": "Scalar", "dtype": "ScalarType", "device": "Device", "string": "str", "object": "Any",
    **dict.fromkeys(("ndarray", "NDArray", "Array", "array", "ArrayLike"), "Tensor"),
    "NoneType": "None", "Optional": "T?", "List": "T[]", "list": "T[]", "Sequence": "T[]",
    "Tuple": "(A, B)", "tuple": "(A, B)", "dict": "Dict(str, T)", "void": "-> () for no result",
}  # fmt: skip
_OF_DTYPES = {
    **dict.fromkeys(("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "intp"), "int"),
    **dict.fromkeys(("float16", "float32", "float64", "longdouble"), "float"),
    **dict.fromkeys(("complex64", "complex128"), "complex"), "bool_": "bool",
}  # fmt: skip
_NO_MEANING = frozenset((
    "Layout", "MemoryFormat", "Storage", "QScheme", "Quantizer", "Stream", "Dimname", "Capsule", "Future",
    "Await", "RRef", "AnyClassType", "AnyEnumType",
))  # fmt: skip


def is_known(word: str) -> bool:
    """Return whether a word is a type here or elsewhere, or nearly one."""
    known = (*_INSTEAD, *_OF_DTYPES, *_NO_MEANING)
    return word in known or bool(did_you_mean(word, (*BASES, *CLASSES)))


def unknown_type(word: str) -> str:
    """Return the message for an unknown type."""
    if word in _INSTEAD:
        return f"there is no type '{word}'. Write {_INSTEAD[word]}."
    if word in _OF_DTYPES:
        return f"'{word}' is a dtype. A number is {_OF_DTYPES[word]}; an array is Tensor, whatever its dtype."
    if word in _NO_MEANING:
        return f"the type '{word}' has no meaning for arrays. For a Python object write its class, module.Class, or Any."
    known = (*BASES, *CLASSES)
    return f"there is no type '{word}'.{did_you_mean(word, known) or ' Types: ' + ', '.join(known) + '.'}"


def check_name(name: str, what: str) -> None:
    """Raise for a name that Python could not spell; `what` is what it names, for the message."""
    if not name.isidentifier():
        raise SchemaError(f"'{name}' cannot name {what}: a name is letters, digits and '_', and starts with no digit.")
    if keyword.iskeyword(name):
        raise SchemaError(f"'{name}' cannot name {what}: it is a keyword of Python. Write '{name}_'.")


# The classes that have a word of their own, which is torch's.
CLASSES = {"Generator": "numpy.random._generator.Generator"}
_WORDS_OF_CLASSES = {name: word for word, name in CLASSES.items()}


class Spelled(Attributes):
    """An immutable value that is equal to another if both have the same text.

    A subclass names its fields in `__slots__`, and its `__init__` sets them once. Frozen dataclasses would do the same,
    but take a third of a millisecond each at import.
    """

    __slots__: tuple[str, ...] = ()

    def _set(self, *values: Any) -> None:
        for name, value in zip(self.__slots__, values, strict=True):
            object.__setattr__(self, name, value)

    def replace(self, **changes: Any) -> Self:
        """Return the value with other fields."""
        return type(self)(**{**{name: getattr(self, name) for name in self.__slots__}, **changes})

    def __setattr__(self, name: str, value: object) -> NoReturn:
        if not hasattr(type(self), name):
            raise not_set(self, name)
        raise AttributeError(f"{kind_of(self)} cannot be changed. Make another: x.replace({name}=...).", name=name)

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        return type(self), tuple(getattr(self, name) for name in self.__slots__)

    def __eq__(self, other: object) -> bool:
        return self is other or (type(self) is type(other) and str(self) == str(other))

    def __hash__(self) -> int:
        return hash(str(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({str(self)!r})"


class Type(Spelled):
    """A schema type. `str(type)` is its text, `parts` the types inside it."""

    __slots__ = ()

    @property
    def parts(self) -> tuple["Type", ...]:
        """The types this one is made of."""
        return ()

    @property
    def has_tensor(self) -> bool:
        """Whether values of this type can hold arrays."""
        return any(part.has_tensor for part in self.parts)

    def spell(self, alias: str = "") -> str:
        """Return the text of the type, with an alias after each `Tensor` in it."""
        raise NotImplementedError

    def __str__(self) -> str:
        return self.spell()


_WORDS: dict[str, Any] = {}


class Base(Type):
    """A type that is one word. There is one object for each word, which is equal to itself alone."""

    __slots__ = ("name",)

    name: str

    def __new__(cls, name: str) -> Self:
        if (found := _WORDS.get(name)) is None:
            if name not in BASES:
                raise SchemaError(unknown_type(name))
            found = _WORDS[name] = super().__new__(cls)
            found._set(name)
        return found

    if not TYPE_CHECKING:
        __eq__ = object.__eq__  # in C: a schema asks ten times
        __hash__ = object.__hash__

    @property
    def has_tensor(self) -> bool:
        """Whether this is `Tensor`."""
        return self.name == "Tensor"

    def spell(self, alias: str = "") -> str:
        """Return the word, with the alias after `Tensor`."""
        return self.name + alias if self.name == "Tensor" else self.name


def _check_parts(kind: Type) -> None:
    if WORDS["Residual"] in kind.parts:
        raise SchemaError(f"{kind}: Residual stands alone, not inside another type.")


class Field(NamedTuple):
    """A field of a record: its type, and what its hint says of the array beyond that."""

    name: str
    type: Type
    dtype: Any = None
    numbers: bool = False
    is_write: bool = False


class ClassType(Type):
    """A Python class that the schema knows by name, as `module.Class`.

    A dataclass or named tuple with arrays among its fields is a record, and has its class and fields here, not in the text.
    """

    __slots__ = ("qualname", "cls", "fields")  # noqa: RUF023 - in the order of __init__

    qualname: str
    cls: type | None
    fields: tuple[Field, ...]

    def __init__(self, qualname: str, cls: type | None = None, fields: tuple[Field, ...] = ()) -> None:
        self._set(qualname, cls, fields)
        words = self.qualname.split(".")
        if len(words) < 2 or not all(word.isidentifier() and not keyword.iskeyword(word) for word in words):
            known = "write module.Class, for a class at the top of its module."
            raise SchemaError(f"'{self.qualname}' does not name a class: {known}")

    @property
    def parts(self) -> tuple[Type, ...]:
        """The types of a record's fields."""
        return tuple(field.type for field in self.fields)

    def spell(self, alias: str = "") -> str:
        """Return the name of the class, or its word, with the alias where it holds arrays."""
        return _WORDS_OF_CLASSES.get(self.qualname, self.qualname) + (alias if self.fields else "")


class LiteralOf(Type):
    """One of a few values, `Literal['same', 'valid']`: each a str, bytes, int or bool."""

    __slots__ = ("choices",)

    choices: tuple[str | bytes | int, ...]

    def __init__(self, choices: tuple[str | bytes | int, ...]) -> None:
        self._set(choices)
        for choice in self.choices:
            if type(choice) not in (str, bytes, int, bool):
                raise SchemaError(f"a {type(choice).__name__} cannot stand in Literal[...]: write str, bytes, int or bool.")
        if not self.choices or len({(type(choice), choice) for choice in self.choices}) < len(self.choices):
            raise SchemaError(f"{self} names {'a choice twice' if self.choices else 'no choice'}.")

    def spell(self, alias: str = "") -> str:
        """Return `Literal[...]`."""
        return f"Literal[{', '.join(map(repr, self.choices))}]"


class ListOf(Type):
    """A list or tuple of one type, `T[]`, or of a fixed length, `T[2]`."""

    __slots__ = ("element", "size")

    element: Type
    size: int | None

    def __init__(self, element: Type, size: int | None = None) -> None:
        self._set(element, size)
        if self.size is not None and self.size < 1:
            raise SchemaError(f"{self.element}[{self.size}]: a fixed length is at least 1. Write [] for any length.")
        _check_parts(self)

    @property
    def parts(self) -> tuple[Type, ...]:
        """The type of the elements."""
        return (self.element,)

    def spell(self, alias: str = "") -> str:
        """Return the element's text and the brackets."""
        return f"{self.element.spell(alias)}[{'' if self.size is None else self.size}]"


class OptionalOf(Type):
    """A type or None, `T?`."""

    __slots__ = ("element",)

    element: Type

    def __init__(self, element: Type) -> None:
        self._set(element)
        if isinstance(self.element, OptionalOf) or self.element == Base("None"):
            raise SchemaError(f"{self.element}? says None twice. Write one of them.")
        _check_parts(self)

    @property
    def parts(self) -> tuple[Type, ...]:
        """The type of what is not None."""
        return (self.element,)

    def spell(self, alias: str = "") -> str:
        """Return the element's text and the question mark."""
        return self.element.spell(alias) + "?"


class TupleOf(Type):
    """A tuple with a type for each place, `(A, B)`."""

    __slots__ = ("members",)

    members: tuple[Type, ...]

    def __init__(self, members: tuple[Type, ...]) -> None:
        self._set(members)
        if not self.members:
            raise SchemaError("() is no type: a tuple type has at least one member.")
        _check_parts(self)

    @property
    def parts(self) -> tuple[Type, ...]:
        """The types of the places."""
        return self.members

    def spell(self, alias: str = "") -> str:
        """Return the members' texts in parentheses."""
        return f"({', '.join(member.spell(alias) for member in self.members)})"


class DictOf(Type):
    """A dictionary, `Dict(K, V)`, whose keys are str or int."""

    __slots__ = ("key", "value")

    key: Type
    value: Type

    def __init__(self, key: Type, value: Type) -> None:
        self._set(key, value)
        if self.key not in (Base("str"), Base("int")):
            raise SchemaError(f"Dict({self.key}, {self.value}): the keys of a dictionary are str or int.")
        _check_parts(self)

    @property
    def parts(self) -> tuple[Type, ...]:
        """The types of keys and values."""
        return (self.key, self.value)

    def spell(self, alias: str = "") -> str:
        """Return `Dict(K, V)`."""
        return f"Dict({self.key.spell(alias)}, {self.value.spell(alias)})"


class UnionOf(Type):
    """A value of one of a few types, `Union(float, float[])`, as TorchScript writes it.

    None is no member: the union is optional, `Union(A, B)?`. Nor is what takes any value, or another union.
    """

    __slots__ = ("members",)

    members: tuple[Type, ...]

    def __init__(self, members: tuple[Type, ...]) -> None:
        self._set(members)
        if len(set(members)) < max(len(members), 2):
            raise SchemaError(f"{self}: a union is of two different types at least, each once.")
        _check_parts(self)
        for member in members:
            if isinstance(member, (OptionalOf, UnionOf)) or member in (WORDS["None"], WORDS["Any"]):
                advice = "Write Union(A, B)? where None is taken, Any for any value."
                raise SchemaError(f"{self}: {member} stands in no union. {advice}")

    @property
    def parts(self) -> tuple[Type, ...]:
        """The types of which a value has one."""
        return self.members

    def spell(self, alias: str = "") -> str:
        """Return `Union(A, B)`."""
        return f"Union({', '.join(member.spell(alias) for member in self.members)})"


class Alias(Spelled):
    """The alias sets that a Tensor is in before and after the call, and whether the call writes to it: `(a! -> a|b)`."""

    __slots__ = ("before", "after", "is_write")  # noqa: RUF023 - in the order of __init__

    before: frozenset[str]
    after: frozenset[str]
    is_write: bool

    def __init__(self, before: frozenset[str], after: frozenset[str], is_write: bool) -> None:
        self._set(before, after, is_write)
        for names in (self.before, self.after):
            if not names or not all(name == "*" or name.replace("_", "a").isalnum() for name in names):
                raise SchemaError("an alias names at least one set, as in Tensor(a!) or Tensor(a|b).")
            if "*" in names and len(names) > 1:
                raise SchemaError("the alias set '*' is everything: it stands alone.")
        if self.is_write and "*" in self.before:
            raise SchemaError("a write names its set: Tensor(a!), not Tensor(*!).")

    def __str__(self) -> str:
        before, after = "|".join(sorted(self.before)), "|".join(sorted(self.after))
        arrow = "" if self.before == self.after else f" -> {after}"
        return f"({before}{'!' if self.is_write else ''}{arrow})"


# By word, and by name.
WORDS = {name: Base(name) for name in BASES}
TENSOR, INT, FLOAT, BOOL, COMPLEX, STR, BYTES, SCALAR, SCALAR_TYPE, DEVICE, ANY, CALLABLE, RESIDUAL, NONE = WORDS.values()
GENERATOR = ClassType(CLASSES["Generator"])


def split_name(name: str) -> tuple[str, str, str]:
    """Split `"ns::name.overload"` into namespace, name and overload, which may be empty."""
    if not isinstance(name, str):
        raise SchemaError(f"the name of an operator is a text, 'mylib::scale', and {kind_of(name)} was given.")
    return _split(name)


@lru_cache(_NAMES_KEPT)  # one definition asks several times
def _split(name: str) -> tuple[str, str, str]:
    parts = name.split("::")
    if len(parts) != 2 or not all(parts):
        raise SchemaError(f"'{name}' does not name an operator. Write 'namespace::name', e.g. 'mylib::scale'.")
    opname, dot, overload = parts[1].partition(".")
    if dot and not overload:
        raise SchemaError(f"'{name}' ends with a dot. Write the overload after it, or leave it out.")
    check_full_name(parts[0], opname, overload)
    return sys.intern(parts[0]), opname, overload


@lru_cache(_NAMES_KEPT)
def check_full_name(namespace: str, name: str, overload: str) -> None:
    """Raise for a name that `dispatch.ops.namespace.name.overload` could not spell."""
    check_name(namespace, "a namespace")
    check_name(name, "an operator")
    if overload:
        check_name(overload, "an overload")
    if overload == "default":
        raise SchemaError("an overload cannot be named 'default': that is the one without a name. Leave it out.")
    for word in (namespace, name, overload):
        if word.startswith("__"):
            raise SchemaError(f"'{word}' begins with '__', which Python keeps for itself. Take another name.")
