"""Writes what a call rests on as text that is the same in every process: the call taken apart, and the walk behind it.

A trace depends on what the walk of `reached.py` has found, and nothing else: on places, and on the values there. In another
process the same walk over the same code finds other objects at other addresses. So an object is written as its number, in the
order in which the walk came to it, and beside its first number stands what it is: the code of a function, the name of what is
listed in `trusted.py`, the fields of a class, a number to the bit. What holds other things, a list or an object, stands in the
guards with all that they compare. Two calls of one text have traces that do the same.

What has no text that says all of it raises `Unkeyed`: a C function that no name finds, or an order that each process has anew.

It has more than 350 lines because each kind of value that the walk may meet is written in its own way.
"""

import collections
import dataclasses
import dis
import enum
import functools
import struct
import types
import weakref
from hashlib import blake2b
from typing import Any

import numpy as np

from ..core import OpOverload
from ..errors import kind_of
from ..operators.namespaces import Namespace, Operator
from .capture import Options, Walked
from .conditions import ARRAY, CELL, CONTAINER, DICT, EMPTY, FUNCTION, ITEM, ITEMS, MISSING, MRO, READ, SKIPPED, TYPE
from .reached import (
    DESCRIPTORS,
    TEXTS,
    UNREAD,
    Reached,
    Slot,
    class_dict,
    descriptor_parts,
    loud,
    printing,
    raising,
    registered,
)
from .trusted import PACKAGE, is_listed_class, is_listed_function, is_plain, version_of

Text = Any  # a tuple of texts, numbers and such tuples, whose repr says all of it
KINDS = {ITEM: "item", CELL: "cell", DICT: "dict", ITEMS: "items", TYPE: "type", MRO: "mro", FUNCTION: "function", READ: "read"}
ABSENT = {id(MISSING): "missing", id(EMPTY): "empty"}
NUMBERS = (bool, int, float, complex)  # whose order in a set is the same in each process
# What is a number here, for guards compare all that is in it.
COMPARED = (
    dict, list, set, types.SimpleNamespace, collections.OrderedDict, collections.defaultdict, collections.deque,
    types.MappingProxyType, weakref.ref, functools.partial,
)  # fmt: skip
ORDERED = frozenset("sorted list tuple len sum zip enumerate dict max min any all map reversed iter".split())
OF_SETS = frozenset("union symmetric_difference __or__ __xor__ __ror__ __rxor__".split())
CLASS_TEXTS = ("__doc__", "__slots__", "__match_args__", "_fields", "_is_protocol")


class Unkeyed(Exception):  # noqa: N818  it is caught where the function is known, and its text is a reason
    """Raised for what has no text that is the same in another process."""


@functools.lru_cache(4096)
def orders_in(code: types.CodeType) -> str:
    """Return what code may go through in an order that is another in each process, that of a set of texts; "" for nothing."""
    # Names of instructions, no offsets: the key has the release of Python; 3.11 to 3.13 name them alike.
    steps = [step for step in dis.get_instructions(code) if step.opname not in ("PRECALL", "CACHE", "NOP")]
    names = [step.opname for step in steps] + ["", ""]
    for i, step in enumerate(steps):
        name, value = step.opname, step.argval
        if name in ("BUILD_SET", "SET_ADD") or (name in ("LOAD_GLOBAL", "LOAD_NAME") and value in ("set", "frozenset")):
            return "makes a set"
        if type(value) is frozenset and names[i + 1] != "CONTAINS_OP" and not all(type(x) in NUMBERS for x in value):
            return "goes through a set"
        if name in ("LOAD_ATTR", "LOAD_METHOD") and value in ("keys", "items") and names[i + 2] != "GET_ITER":
            taken = [before.argval for before in steps[max(0, i - 4) : i] if before.opname == "LOAD_GLOBAL"]
            if names[i + 2] != "CALL" or not ORDERED.intersection(taken):
                return "may make a set of the keys of a dict"  # by keys that are kept, & or a method
        if name == "LOAD_CONST" and value in ("keys", "items"):
            return "may ask for the keys of a dict by their name"
    return next((found for x in code.co_consts if type(x) is types.CodeType and (found := orders_in(x))), "")


class Fingerprint:
    """The text of a walk.

    Attributes
    ----------
    parts : list
        What was written so far.
    files : list of str
        The files of the functions, as they were met. They are no part of the text: where code stands changes nothing.
    operators : dict
        The operators that were met, by name.
    namespaces : set of str
        The namespaces of operators that were met.

    With `exact` plain values are numbered too, for code asks of two whether they are one object.
    """

    def __init__(self, inputs: list[Any] | None = None, exact: bool = False) -> None:
        self.parts: list[Text] = []
        self.files: list[str] = []
        self.operators: dict[str, OpOverload] = {}
        self.namespaces: set[str] = set()
        self._inputs = {id(x): i for i, x in enumerate(inputs or [])}
        self._by_bytes, self._exact = inputs is None, exact
        self._numbers: dict[int, int] = {}
        self._kept: list[Any] = []
        self._to_compare: list[tuple[int, str]] = []
        self._has_set = False

    def walk(self, reached: Reached) -> None:
        """Write what the guards compare, and check that they compare all that was met."""
        shared = {id(d): x for x in reached.shared for d in _dicts_of(x)}
        for guard in reached.guards:
            name, was = guard.name, guard.was
            if (cls := shared.get(id(guard.holder))) is not None:
                if not isinstance(cls, (enum.Enum, enum.EnumMeta)):  # these are written where they are met
                    self.parts.append(("shared", self._number(guard.holder), self._exception(cls)))
                continue
            if name is registered:
                raise Unkeyed("it asks what an abstract class takes, with which each process may register other classes")
            if name is printing:
                told = np.get_printoptions()
                if told["formatter"] is not None:
                    raise Unkeyed("it may write numbers as text, and NumPy has a formatter")
                self.parts.append(("printing", repr(told), was[-1]))
                continue
            library = id(guard.holder) in reached.of_library  # whose own functions are told by its version
            if library and guard.kind == FUNCTION:
                continue
            if guard.kind == DICT:  # what no code asks for is not copied for a trace: pickle adds to classes, say
                pairs = [(key, value) for key, value in zip(name, was, strict=True) if value is not SKIPPED]
                pairs = [(key, value) for key, value in pairs if key in reached.names and is_plain(value)] if library else pairs
                name, was = tuple([key for key, _ in pairs]), tuple([value for _, value in pairs])
            if guard.kind == TYPE:
                named: Text = self._number(name)
            elif guard.kind == READ:
                named = name.member.__name__ if type(name) is Slot else getattr(name, "__name__", "")
            else:
                named = tuple(map(self.value, name)) if guard.kind == DICT else self.value(name)
            values = was if guard.kind in (DICT, ITEMS, READ, FUNCTION) else (was,)
            self.parts.append((KINDS[guard.kind], self._number(guard.holder), named, tuple(map(self.value, values))))
        if self._has_set and (reached.every or reached.makes or OF_SETS & reached.names):
            raise Unkeyed("it refers to a set, of which it may make others, whose order is another in each process")
        holders = {id(guard.holder) for guard in reached.guards}
        for number, what in self._to_compare:
            if number not in holders:
                raise Unkeyed(f"it refers to {what}, which is not compared as a whole")

    def met(self, cls: type) -> bool:
        """Whether the walk came to a class, to one made of it, or to an instance."""
        return id(cls) in self._numbers or id(class_dict(cls)) in self._numbers

    def _number(self, x: Any) -> Text:
        """Return the number of an object that is written elsewhere."""
        if x is None:
            return None
        if id(x) not in self._numbers:
            self._numbers[id(x)] = len(self._numbers)
            self._kept.append(x)
        return self._numbers[id(x)]

    def value(self, x: Any) -> Text:
        """Return the text of a value."""
        if id(x) in self._inputs:
            return "input", self._inputs[id(x)]
        if id(x) in ABSENT:
            return ABSENT[id(x)]
        if is_plain(x):
            return ("one", self._number(x), self._plain(x)) if self._exact else self._plain(x)
        if type(x) is np.ndarray:
            return self._array(x)
        if id(x) in self._numbers and ("is", self._numbers[id(x)]) in self._written:
            return "is", self._numbers[id(x)]
        number = "is", self._number(x)
        self._written.add(number)
        return *number, self._object(x)

    @functools.cached_property
    def _written(self) -> set[Text]:
        return set()

    # -- what cannot change --------------------------------------------------------------------------------------------------

    def _plain(self, x: Any) -> Text:
        cls = type(x)
        if cls is float:
            return "float", struct.pack("<d", x).hex()
        if cls is complex:
            return "complex", struct.pack("<dd", x.real, x.imag).hex()
        if cls is slice:
            return "slice", *[self.value(part) for part in (x.start, x.stop, x.step)]
        if cls is types.CodeType:
            return self._code(x)
        if isinstance(x, np.dtype):
            return self.dtype(x)
        if isinstance(x, np.generic):
            return "scalar", self.dtype(x.dtype), x.tobytes().hex()
        if isinstance(x, np.ufunc):
            return "ufunc", self._ufunc(x)
        return cls.__name__, repr(x)

    @staticmethod
    def dtype(dtype: "np.dtype[Any]") -> Text:
        """Return the text of a dtype."""
        if dtype.metadata is not None or dtype.hasobject:
            raise Unkeyed(f"it refers to the dtype {dtype}, which holds Python objects")
        return "dtype", type(dtype).__name__, repr(dtype), dtype.str, dtype.isalignedstruct

    @staticmethod
    def _ufunc(x: np.ufunc) -> str:
        if getattr(np, x.__name__, None) is x:
            return str(x.__name__)
        raise Unkeyed(f"it calls {x.__name__}, a ufunc of another package than NumPy")

    def _array(self, x: np.ndarray) -> Text:
        if not self._by_bytes:
            raise Unkeyed("it refers to an array that no guard binds")
        return "array", self.dtype(x.dtype), x.shape, x.strides, blake2b(x.tobytes()).hexdigest()

    def _code(self, code: types.CodeType) -> Text:
        number = "code", self._number(code)
        if number in self._written:
            return number
        self._written.add(number)
        constants: list[Text] = []
        for x in code.co_consts:
            if type(x) is tuple:
                constants.append(("tuple", tuple(map(self._constant, x))))
            else:
                constants.append(self._constant(x))
        return (
            *number, code.co_code, tuple(constants), code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars,
            code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags, code.co_name, code.co_qualname,
            code.co_firstlineno, code.co_linetable, code.co_exceptiontable,
        )  # fmt: skip

    def _constant(self, x: Any) -> Text:
        """A constant of code. A frozenset there is only asked whether it has something, or `orders_in` says so."""
        if type(x) is frozenset:
            return "frozenset", tuple(sorted(repr(self._constant(item)) for item in x))
        return ("tuple", tuple(map(self._constant, x))) if type(x) is tuple else self.value(x)

    # -- objects -------------------------------------------------------------------------------------------------------------

    def _object(self, x: Any) -> Text:
        cls = type(x)
        if isinstance(x, type):
            return self._class(x)
        if cls is types.FunctionType:
            return self._function(x)
        if cls is types.MethodType:
            return "method", self.value(x.__func__), self.value(x.__self__)
        if cls is types.ModuleType or isinstance(x, types.ModuleType):
            return "module", x.__name__, self._number(vars(x))
        if cls is tuple:
            return "tuple", tuple(map(self.value, x))
        if cls is frozenset:
            return "frozenset", self._set(x)
        if cls in COMPARED:
            self._to_compare.append((id(x), kind_of(x)))
            if cls is set:
                return "set", self._set(x)
            more = x.default_factory if cls is collections.defaultdict else x.maxlen if cls is collections.deque else None
            return cls.__name__, self.value(more)
        if cls in DESCRIPTORS:
            if isinstance(x, property):
                return "property", *[self.value(f) for f in (x.fget, x.fset, x.fdel)]
            inner = x.func if isinstance(x, functools.cached_property) else x.__func__
            return cls.__name__, getattr(x, "attrname", None), self.value(inner)
        if isinstance(x, enum.Enum):
            return "member", self.value(cls), x.name
        if isinstance(x, OpOverload):
            self.operators[x.name] = x
            return "operator", x.name
        if is_listed_class(cls):
            return self._listed(x)
        if not cls.__flags__ & 1 << 9:
            raise Unkeyed(f"it refers to {kind_of(x)}, of which nothing is known")
        self._to_compare.append((id(x), kind_of(x)))
        return "instance", self.value(cls), tuple(map(self.value, tuple(x))) if isinstance(x, tuple) else None

    def _exception(self, cls: type) -> Text:
        """Return the text of an exception's class, whose methods refer to nothing."""
        found = []
        for name, value in class_dict(cls).items():
            if name in UNREAD or name in TEXTS:
                continue
            parts = tuple(descriptor_parts(value)) if type(value) in DESCRIPTORS else (value,)
            if not all(is_plain(x) or isinstance(x, types.FunctionType) for x in parts):
                raise Unkeyed(f"it refers to the class {cls.__qualname__}, whose {name} has no text")
            found.append((name, type(value).__name__, tuple(map(self.described, parts))))
        return tuple(found)

    def _set(self, x: Any) -> Text:
        if not all(type(item) in NUMBERS for item in x):
            raise Unkeyed(f"it refers to {kind_of(x)} of other things than numbers, whose order is another in each process")
        self._has_set = True
        return tuple(map(repr, x))

    def _function(self, f: types.FunctionType) -> Text:
        listed = is_listed_function(f)
        made = str(f.__globals__.get("__name__", "")).startswith("namedtuple_")
        cells = tuple([self._number(cell) for cell in f.__closure__ or ()])
        if listed and not made:
            return "listed", f.__module__, version_of(f.__module__), f.__qualname__, self._code(f.__code__), cells
        if orders := orders_in(f.__code__):
            raise Unkeyed(f"{f.__qualname__} {orders}, whose order is another in each process")
        defaults = f.__defaults__ and self.value(f.__defaults__)
        if not listed:
            self._to_compare.append((id(f), kind_of(f)))
            self.files.append(f.__code__.co_filename)
        return (
            "function", f.__module__, f.__qualname__, f.__name__, f.__doc__, self._number(f.__globals__),
            self._code(f.__code__), defaults, cells,
        )  # fmt: skip

    def _class(self, cls: type) -> Text:
        name = cls.__module__, cls.__qualname__
        if is_listed_class(cls):
            if issubclass(cls, (set, frozenset)):
                raise Unkeyed(f"it refers to {cls.__name__}, and the order of a set is another in each process")
            return "listed class", *name
        if isinstance(cls, enum.EnumMeta):
            return self._enumeration(cls)
        d = class_dict(cls)
        self._to_compare.append((id(d), f"the class {cls.__qualname__}"))
        texts = tuple([(key, repr(d[key])) for key in CLASS_TEXTS if key in d and is_text(d[key])])
        if any(key in d and not is_text(d[key]) for key in CLASS_TEXTS):
            raise Unkeyed(f"it refers to the class {cls.__qualname__}, whose slots are made by code")
        own = tuple([self._number(class_dict(base)) for base in cls.__mro__ if not is_listed_class(base)])
        hashed = "__hash__" in d and d["__hash__"] is None
        return "class", *name, type(cls).__name__, texts, own, hashed, self._fields(cls, d)

    def _fields(self, cls: type, d: dict[str, Any]) -> Text:
        """Return the text of the fields of a dataclass, which Python's library reads."""
        fields = d.get("__dataclass_fields__")
        if fields is None:
            return None
        found = []
        for x in fields.values():
            if x.metadata:
                raise Unkeyed(f"it refers to {cls.__qualname__}, a dataclass with metadata")
            default, factory = ("" if y is dataclasses.MISSING else self.described(y) for y in (x.default, x.default_factory))
            kind = x.type if isinstance(x.type, str) else getattr(x.type, "__qualname__", type(x.type).__name__)
            flags = x.init, x.repr, x.hash, x.compare, x in dataclasses.fields(cls), bool(x.kw_only)
            found.append((x.name, default, factory, kind, flags))
        return tuple(found), repr(d.get("__dataclass_params__"))

    def described(self, x: Any) -> Text:
        """Return the text of what no guard looks at."""
        if type(x) is float or is_plain(x):
            return self._plain(x)
        if isinstance(x, type) and is_listed_class(x):
            return "listed class", x.__module__, x.__qualname__
        if type(x) is types.FunctionType:
            given = x.__defaults__, tuple((x.__kwdefaults__ or {}).items())
            return "function", x.__qualname__, self._code(x.__code__), repr(given), len(x.__closure__ or ())
        return "another", type(x).__module__, type(x).__qualname__

    def _enumeration(self, cls: type) -> Text:
        for base in cls.__mro__:
            for name, value in {} if is_listed_class(base) else vars(base).items():
                inner = getattr(value, "__func__", value)
                mine = isinstance(inner, types.FunctionType) and not is_listed_function(inner)
                if mine or isinstance(inner, (property, functools.cached_property)):
                    raise Unkeyed(f"it refers to {cls.__qualname__}, an Enum with the method {name}")
        members = []
        for name, x in cls.__members__.items():  # type: ignore[attr-defined]
            held = [(k, "its class" if v is cls else self.value(v)) for k, v in vars(x).items()]
            members.append((name, x.name, tuple(held)))
        bases = tuple([f"{base.__module__}.{base.__qualname__}" for base in cls.__mro__])
        return "enumeration", cls.__module__, cls.__qualname__, bases, tuple(members)

    # -- what is listed ------------------------------------------------------------------------------------------------------

    def _listed(self, x: Any) -> Text:
        """An instance of a class of a listed module."""
        cls = type(x)
        name = f"{cls.__module__}.{cls.__qualname__}"
        if cls is types.BuiltinFunctionType:
            owner = x.__self__
            if isinstance(owner, (type, OpOverload)):
                return "builtin", self.value(owner), x.__name__
            return "builtin", x.__module__, x.__qualname__, getattr(owner, "__name__", None)
        if hasattr(x, "__objclass__"):
            return "descriptor", name, self.value(x.__objclass__), x.__name__
        if cls.__name__ == "_tuplegetter":
            return name, repr(x.__reduce__()[1])
        if cls.__name__ in ("_ArrayFunctionDispatcher", "cython_function_or_method"):
            return name, x.__module__, x.__qualname__
        if cls.__module__.partition(".")[0] == PACKAGE:
            if hasattr(x, "entries"):
                return "compiled", self.value(x.__wrapped__)
            if isinstance(x, Namespace):
                self.namespaces.add(called := vars(x)["_name"])
                return name, called
            return name, x.name if isinstance(x, Operator) else ""
        if cls.__module__ == "dataclasses" and cls.__name__ != "Field":
            return name
        said = repr(x)
        if " at 0x" in said or cls.__module__ not in ("typing", "types", "builtins"):
            raise Unkeyed(f"it refers to {kind_of(x)}, which has no text")
        return name, said


def _dicts_of(x: Any) -> list[dict[Any, Any]]:
    """Return the dicts that guards compare of a class or of a member that is not copied."""
    if isinstance(x, enum.EnumMeta):
        return [class_dict(x), x._member_map_, x._value2member_map_]
    return [class_dict(x) if isinstance(x, type) else vars(x)]


def is_text(x: Any) -> bool:
    """Whether a value is a text, None, or a tuple or list of texts."""
    return x is None or isinstance(x, (str, bool)) or (isinstance(x, (tuple, list)) and all(map(is_text, x)))


def fingerprint(call: Walked, options: Options) -> Fingerprint:
    """Return the text of a call and of all that it rests on, but for the values of its inputs."""
    given = call.given
    if given.wrapped:
        raise Unkeyed("it is given values of a transform")
    values, paths = call.inputs(as_inputs=True)
    made = Fingerprint(values, call.reached.tells_apart)
    for x, path in zip(values, paths, strict=True):
        made.parts.append((path, _layout(made, x, options)))
    made.parts.append(("options", options.dynamic, sorted(options.static), options.captured, loud(np), raising(np)))
    made.parts.append(("function", made.value(call.f), tuple(call.keywords)))
    for kind, slot, what, keys, more in given.parts:
        if kind == ARRAY:
            made.parts.append((kind, slot))
        else:
            named = tuple(map(made.value, keys)) if kind == CONTAINER and keys else keys
            made.parts.append((kind, slot, made.value(what), named, more))
    made.walk(call.reached)
    return made


def _layout(made: Fingerprint, x: Any, options: Options) -> Text:
    """Return the text of what may be bound to an input."""
    if type(x) is float:
        return "float"
    if isinstance(x, np.generic):
        return "scalar", made.dtype(x.dtype)
    if type(x) is not np.ndarray:
        raise Unkeyed(f"it is given {kind_of(x)}, and arrays of NumPy alone are kept")
    if options.layout is not None:
        dtype, *rest = options.layout(x)
        return "open", made.dtype(dtype), rest
    steps = [step if n > 1 and x.size else 0 for step, n in zip(x.strides, x.shape, strict=True)]
    return "array", made.dtype(x.dtype), x.shape, steps
