"""Finds what a function can reach by the names in its code, before anything runs; refuses what cannot be compared.

It starts at the function, and goes on with the globals, cells, defaults and attributes that the code names, with the items of
containers, and with the functions and classes behind them, until no new name turns up. Each place where a value was found
becomes a guard, which each later call compares. Arrays become inputs of the graph, and so do floats. What is listed in
`trusted.py` is not looked into.

It has more than 350 lines because the walk is one function for each kind of value, and each may meet any other.
"""

import abc
import collections
import dataclasses
import dis
import enum
import functools
import gc
import inspect
import locale
import math
import re
import sys
import types
import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple, NoReturn

import numpy as np
from numpy._core import arrayprint, umath

from ..core import OpOverload, Tensor
from ..core.pytree import form_of
from ..dispatcher.conversion_advice import line_for
from ..errors import TracingError, kind_of
from ..operators.namespaces import Namespace, Namespaces, Operator
from .conditions import CELL, DICT, EMPTY, FUNCTION, ITEM, ITEMS, MISSING, MRO, READ, SKIPPED, TYPE
from .trusted import (
    ANY_ATTRIBUTE,
    ARRAYS_OWN,
    BUILTINS,
    DEFAULT_RNG,
    PACKAGE,
    REFUSED_ATTRIBUTES,
    WRITE_FILES,
    answers_itself,
    dtype_text,
    is_listed,
    is_listed_class,
    is_listed_function,
    is_listed_module,
    is_opaque,
    is_plain,
    refused_of,
    stands_there,
)

BASES = ("typing", "abc", "collections.abc", "contextlib", "numbers", "_collections_abc")  # modules of bases that hold nothing
ABSTRACT = ("abc", "_py_abc")
INSTALLED = re.compile(r"[\\/](site|dist)-packages[\\/]")
KNOWN = sys.stdlib_module_names | {"numpy", "scipy"}  # whose functions are in the classes of listed modules
# Of a class: what is not an attribute that code names, or is made anew with the class.
UNREAD = frozenset(
    "__dict__ __weakref__ __doc__ __module__ __qualname__ __annotations__ __slots__ _abc_impl __abstractmethods__ "
    "__orig_bases__ __parameters__ __firstlineno__ __static_attributes__ __annotate__ __annotations_cache__ __match_args__ "
    "__dataclass_fields__ __dataclass_params__ __replace__ __protocol_attrs__ __non_callable_proto_members__ "
    "_is_protocol __slotnames__".split()  # the last is what pickle notes
)
TEXTS = frozenset(
    "__repr__ __str__ __format__ __reduce__ __reduce_ex__ __sizeof__ __dir__ __getstate__ __setstate__ __copy__ "
    "__deepcopy__".split()
)
MADE_BY = frozenset("__init__ __new__ __post_init__ __class_getitem__ __set_name__".split())
BY_A_CLASS = "__init_subclass__"  # what a class statement calls, which compiled code has none of
HOSTILE_METHODS = frozenset(
    "__getattribute__ __getattr__ __del__ __prepare__ __instancecheck__ __subclasscheck__ __subclasshook__ "
    "__array__ __array_ufunc__ __array_function__ __array_interface__ __array_struct__ __array_priority__ __array_wrap__ "
    "__array_finalize__ __index__ __float__".split()
)
WRITING = frozenset("str repr ascii format format_map mod join substitute safe_substitute Template Formatter".split())
# Of these float.__mul__(x, y), say, reads y unseen.
OF_FLOATS = frozenset(dir(float)) - frozenset("__name__ __doc__ __init__ __class__".split())
NAMED_BY = frozenset("__name__ __qualname__ __module__ __doc__".split())
CONTAINERS = (list, tuple, dict, set, frozenset, collections.deque)
DICTS = (dict, collections.OrderedDict)
DESCRIPTORS = (property, staticmethod, classmethod, functools.cached_property)
_ERRORS = umath._extobj_contextvar  # noqa: SLF001  what np.errstate and np.seterr set; np.geterr() takes 1.3 us
_PRINTED: Any = getattr(arrayprint, "format_options", None)  # what np.set_printoptions sets; np.get_printoptions() takes 2 us
_quiet: list[Any] = [None]  # one of its values that asks for no more than warnings
_passing: list[Any] = [None]  # filters of warnings that raise none of them
CALLS_BY_LOAD_ATTR = sys.version_info >= (3, 12)  # whose last bit says then whether a method is called
METHODS_IN_C = frozenset(  # of what a trace has a copy of
    name
    for cls in (object, list, tuple, dict, set, collections.deque, collections.OrderedDict, functools.partial)
    for name in dir(cls)
    if type(getattr(cls, name)) in (types.MethodDescriptorType, types.WrapperDescriptorType, types.BuiltinFunctionType)
)
ASK_OF_CLASSES = frozenset("ndarray generic number Number inexact floating float64 float32 Tensor float Real Complex".split())
OF_MEMORY = frozenset("flags base ctypes setflags __array_interface__ __array_struct__".split())
CHANGING = {  # by the class of a container how code changes it; "" is an item that is assigned
    list: frozenset(" append extend insert pop clear remove sort reverse += *=".split(" ")),
    dict: frozenset(" pop popitem clear update setdefault move_to_end |=".split(" ")),
    set: frozenset(
        "add discard remove pop clear update intersection_update difference_update symmetric_difference_update "
        "|= &= -= ^=".split()
    ),
    np.ndarray: frozenset(
        " fill put sort partition itemset setfield resize byteswap += -= *= /= //= %= **= @= &= |= ^= <<= >>=".split(" ")
    ),
    collections.deque: frozenset(
        " append appendleft extend extendleft insert pop popleft rotate clear remove reverse += *=".split(" ")
    ),
}
MOST_FLOATS = 24  # more are compared: each input costs, and who has so many hardly changes them all


At = tuple[int, Any]  # a place: the id of what holds it, and its key


class Guard(NamedTuple):
    """A place where a value was found. `was` has what was found there, one value or a tuple of them."""

    kind: int
    holder: Any
    name: Any
    was: Any
    path: str


class Code(NamedTuple):
    """The names in a code object and in those inside it."""

    globals: frozenset[str]
    attributes: frozenset[str]
    imports: frozenset[str]
    texts: frozenset[str]  # the texts that could be names
    decides: bool  # whether a float's value may be read where no method of it is asked
    refused: str
    catches: bool  # whether it may catch an exception
    tells_apart: bool  # whether it asks of two values that are no constants whether they are one object
    asks_bool: bool  # whether it asks `x is True`, or of False
    writes: bool  # whether it may write a value as text
    sets: bool  # whether it may make a set
    taken: frozenset[tuple[str, str]]  # the attributes that it takes without calling them at once, after the global before each
    puts: frozenset[str]  # the attributes that it assigns to
    loads: frozenset[str]  # the attributes that it reads or deletes
    asked: frozenset[tuple[str, str]]  # all attributes that it reads, after the global before each, `+=` and its kin, and out=
    outside: frozenset[str]  # the globals and the variables of enclosing functions that it assigns to
    puts_items: bool  # whether it assigns to items
    of_time: frozenset[str]  # what `of_time` says of its constants


@functools.lru_cache(4096)  # it keeps the code alive
def names_in(code: types.CodeType) -> Code:  # noqa: C901  one case for each kind of step
    """Return the names that code looks up."""
    found: dict[str, set[str]] = {"globals": set(), "attributes": set(), "imports": set(), "texts": set()}
    taken: set[tuple[str, str]] = set()
    puts: set[str] = set()
    loads: set[str] = set()
    asked: set[tuple[str, str]] = set()
    outside: set[str] = set()
    times = of_time(code.co_consts)
    puts_items = False
    before = ""  # the global that was loaded just before
    decides, catches, tells_apart, asks_bool, writes, sets = False, False, False, False, False, False
    refused = "is asynchronous" if code.co_flags & (inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR) else ""
    constant = truth = False  # whether None, True or the like was loaded just before; a bool
    generated = code.co_filename == "<string>" and code.co_name == "__eq__"  # of a dataclass: asks of objects and classes alone
    for step in dis.get_instructions(code):
        name = step.opname
        before, known = (step.argval if name == "LOAD_GLOBAL" else ""), before
        if name == "IS_OP":
            tells_apart |= not constant
            asks_bool |= truth
        truth = name == "LOAD_CONST" and isinstance(step.argval, bool)
        constant = name == "LOAD_CONST" and any(step.argval is x for x in (None, True, False, ...))
        constant = constant or (generated and step.argval in ("__class__", ("self", "other")))
        if name in ("LOAD_GLOBAL", "LOAD_NAME", "STORE_GLOBAL", "DELETE_GLOBAL", "LOAD_FROM_DICT_OR_GLOBALS", "STORE_NAME"):
            found["globals"].add(step.argval)
            if name in ("STORE_GLOBAL", "DELETE_GLOBAL"):
                outside.add(step.argval)
        elif name == "IMPORT_NAME":
            found["imports"].add(step.argval)
        elif name in ("LOAD_ATTR", "LOAD_METHOD", "STORE_ATTR", "DELETE_ATTR", "IMPORT_FROM", "LOAD_SUPER_ATTR"):
            found["attributes"].add(step.argval)
            asked.add((known, step.argval))
            if name == "LOAD_ATTR" and not (CALLS_BY_LOAD_ATTR and step.arg is not None and step.arg & 1):
                taken.add((known, step.argval))
            if name == "STORE_ATTR":
                puts.add(step.argval)
            else:
                loads.add(step.argval)
        elif name.startswith(("FORMAT_", "CONVERT_VALUE")):
            writes = True
        elif name in ("BUILD_SET", "SET_ADD", "SET_UPDATE"):
            sets = True
        elif name in ("STORE_SUBSCR", "DELETE_SUBSCR", "STORE_SLICE"):
            puts_items = True
        elif name == "BINARY_OP" and step.argrepr[-1] == "=":
            asked.add(("", step.argrepr))
        elif name in ("STORE_DEREF", "DELETE_DEREF") and step.argval in code.co_freevars:
            outside.add(step.argval)
        elif name == "PUSH_EXC_INFO":
            catches = True
        elif name == "LOAD_BUILD_CLASS":
            refused = "makes a class"
        elif name == "MATCH_CLASS":
            refused = "matches by class, and a traced value has a class of its own; write isinstance"
    for x in code.co_consts:
        if isinstance(x, types.CodeType):
            inner = names_in(x)
            for part, more in zip(found.values(), inner[:4], strict=True):
                part |= more
            decides |= inner.decides
            catches |= inner.catches
            tells_apart |= inner.tells_apart
            asks_bool |= inner.asks_bool
            writes |= inner.writes
            sets |= inner.sets
            taken |= inner.taken
            puts |= inner.puts
            loads |= inner.loads
            asked |= inner.asked
            outside |= inner.outside - set(code.co_cellvars)
            puts_items |= inner.puts_items
            times |= inner.of_time
            refused = refused or inner.refused
        elif type(x) in (complex, tuple, frozenset):
            decides |= has_complex(x)
            if type(x) is tuple and "out" in x:  # the names of keywords
                asked.add(("", "out"))
        elif isinstance(x, str):
            decides |= "%" in x
            writes |= "%" in x
            found["texts"] |= {x} if x.isidentifier() else set()
    names = [frozenset(part) for part in found.values()]
    also = frozenset(taken), frozenset(puts), frozenset(loads), frozenset(asked), frozenset(outside), puts_items
    said = decides, refused, catches, tells_apart, asks_bool, writes, sets
    return Code(names[0], names[1], names[2], names[3], *said, *also, frozenset(times))


def has_complex(x: Any) -> bool:
    """Whether a constant is or holds a complex number, which reads the float that stands behind it unseen: `1j * rate`."""
    return type(x) is complex or (type(x) in (tuple, frozenset) and any(map(has_complex, x)))


def of_time(x: Any) -> set[str]:
    """Return "now" of a text by which NumPy reads the clock, and "M" of what names a dtype of times."""
    if type(x) in (tuple, frozenset):
        return set().union(*map(of_time, x))
    if isinstance(x, bytes):
        x = x.decode("latin1")
    if isinstance(x, np.dtype):
        return {"M"} if x.kind == "M" or (x.names is not None and "M8" in repr(x)) else set()
    if not isinstance(x, str):
        return set()
    return {"now"} if x.lower() in ("now", "today") else {"M"} if re.match("[<>=|]?M(8|$)|datetime64", x) else set()


class Reached:
    """What a function and other values can reach.

    Attributes
    ----------
    guards : list of Guard
    arrays, floats : dict
        By id: the captured arrays, and the captured floats that may become inputs.
    where : dict
        By id, how an array or a float is called.
    tells_apart : bool
        Whether code asks for the identity of values; then a plain value is compared by its identity.
    asks_bool : bool
        Whether code asks `x is True` or `x is False`.
    writes, sets : bool
        Whether code may write values as text, or make sets.
    shared : list
        Classes and members of Enums that are not copied: a trace must leave them as they are.
    stored : set of str
        The attributes that code assigns to.
    operators : dict
        By id, the operators that were met.
    transforms : bool
        Whether a function of this package was met that is no operator: `grad` say.
    asks_class : str
        The function of a rule that may ask for the class of what it is given; "" for none.
    namespaces : set of str, or None
        The namespaces of operators that were met, by one of which code may look up others; None where none was met.
    of_time : set of str
        What `of_time` says of the texts, dtypes and arrays that were met.
    of_library : set of int
        The ids of the functions of Python's library and NumPy, and of the dicts of their classes, that are compared.

    With `of_rule` it is what the rule of an operator can reach, of which a trace has no copy: what a copy would refuse when it
    is used is refused here, and so is code that may change what it reaches. The names in `also` are read by others of what the
    code hands to them. Of the places in `unread`, attributes by the id of the dict that has them, the value does not matter; a
    number of NumPy's in one of `changing` becomes an input.
    """

    def __init__(
        self,
        *roots: Any,
        classes: Iterable[type] = (),
        texts: Iterable[str] = (),
        unread: frozenset[At] = frozenset(),
        changing: frozenset[At] = frozenset(),
        also: Iterable[str] = (),
        of_rule: bool = False,
    ) -> None:
        self._unread_places, self._changing, self._of_rule = unread, changing, of_rule
        self._own = str(getattr(roots[0], "__module__", None)).partition(".")[0] if roots else ""
        self._within = ""  # the function or class of another package, whose code is walked
        self._named_by: dict[str, str] = {}  # and which of them names an attribute
        self.also = frozenset(also)  # what others read of what they are handed
        self.names: set[str] = set(self.also)
        self.texts = set(texts)  # that are given, are defaults or attributes: by one of them code may ask for an attribute
        self._taken: set[str] = set()
        self._put: set[str] = set()  # what code assigns to, fields of records too
        self.stored: set[str] = set()
        self._loaded: set[str] = set()  # what code reads
        self.every = self.decides = self.makes = self.catches = self.tells_apart = self.fields = self.writes = self.sets = False
        self.asks_bool = False
        state: Any = None
        while True:
            self.guards: list[Guard] = []
            self.arrays: dict[int, Any] = {}
            self.floats: dict[int, float] = {}
            self._unbound: set[int] = set()
            self._numbers: dict[int, Any] = {}  # that are stored anew in each run
            self._found: collections.Counter[int] = collections.Counter()  # in how many places a number of NumPy's was found
            self.where: dict[int, str] = {}
            self.seen: dict[int, Any] = {}
            self.called: set[int] = set()
            self._opened: set[int] = set()
            self._noted: set[tuple[int, int, Any]] = set()
            self._owned: set[str] = set()
            self.shared: list[Any] = []
            self.operators: dict[int, OpOverload] = {}
            self.transforms = False
            self.asks_class = ""
            self.namespaces: set[str] | None = None
            self.of_library: set[int] = set()
            self.of_time: set[str] = set().union(*map(of_time, self.texts))
            self.outside: set[At] = set()  # what code assigns to beside attributes and items
            self.changes: set[str] = set()  # the methods that it calls, and "" where it assigns to items
            self.changeable: dict[str, type] = {}  # the containers and arrays, by where they were found
            for x in roots:
                self.visit(x, "")
            for cls in classes:
                self._class(cls, cls.__name__)
            if self.every:
                self.names |= {text for text in self.texts if text.isidentifier() and text[0] != "_"} - ARRAYS_OWN
            if state == (state := (len(self.names), len(self.stored), len(self._loaded), self.every, self.makes, self.fields)):
                break
        self._check_rule() if of_rule else self._check_names()
        for number in self._unbound:  # one object in a tuple, too, which keeps it when another place gets another
            self.floats.pop(number, None)
            self._numbers.pop(number, None)
        if len(self.floats) > MOST_FLOATS or self.decides or self.tells_apart:
            self.floats = {}
        if not self.tells_apart:  # and what is in a place that no guard binds, in a tuple say, keeps its value
            self.arrays |= {key: x for key, x in self._numbers.items() if self._found[key] == 0}

    def asked(self) -> set[str]:
        """Return the attributes that the code names."""
        return self.names - self.also

    def names_memory(self) -> str:
        """Return an attribute that the code names which tells what an array's memory is, and is none of an object's; or ""."""
        return min((self.names & OF_MEMORY) - self._owned, default="")

    def _check_names(self) -> None:
        """Raise for attributes that a traced value has not, or otherwise than an array."""
        strange = sorted((self.asked() & ARRAYS_OWN) - self._owned)
        if strange:
            said = f"it names .{strange[0]}, which says something else of a traced value than of an array"
            if by := self._named_by.get(strange[0]):
                raise TracingError(self._called(by, said))
            self._refuse(said)
        if files := sorted((self.asked() & WRITE_FILES) - self._owned):
            self._refuse(f"it names .{files[0]}, by which an array writes a file")
        bound = sorted((self._taken & METHODS_IN_C) - self._owned - self._put) if self.writes or self.sets else []
        if bound:
            self._refuse(
                f"it takes .{bound[0]} without calling it, where it may write a text or make a set, and a method in C is "
                "written and hashed by the address of what it belongs to"
            )

    def _check_rule(self) -> None:
        """Raise for a rule that may change what it reaches: a trace runs the rule itself, and a graph leaves the change out."""
        if put := sorted(self.stored & self._owned):
            self._refuse(f"it assigns to .{put[0]}, an attribute of what it refers to")
        for path, cls in self.changeable.items():
            known = CHANGING.get(cls, CHANGING[dict] | CHANGING[list] | CHANGING[set])
            if changes := sorted(self.changes & known):
                how = f"it calls .{changes[0]}" if changes[0] else "it assigns to items"
                self._refuse(f"{how}, and refers to {path}, a {cls.__name__}, which may be what that changes")

    def attributes(self, d: dict[str, Any]) -> list[str]:
        """Return the names in the dict of an object that the code may ask for."""
        unread = self._unread(d)
        return [name for name in d if self.every or (name in self.names and name not in unread)]

    def _unread(self, d: dict[str, Any]) -> set[str]:
        """Return the names that code stores to and does not read first: what an object has by them does not matter."""
        return (self.stored - self._loaded) | {name for at, name in self._unread_places if at == id(d)}

    # -- values --------------------------------------------------------------------------------------------------------------

    def visit(self, x: Any, path: str) -> None:  # noqa: C901  one case for each kind of value
        cls = type(x)
        if method := answers_itself(cls):
            self._refuse(f"it refers to {path}, of a class that has {method}")
        if isinstance(x, np.dtype) and (x.names is not None or x.metadata is not None) and id(x) not in self.seen:
            self.seen[id(x)] = x
            if x.metadata is not None:
                self._refuse(f"it refers to {path}, a dtype with metadata")
            self._note(READ, x, fields, fields(x), path)  # their names can be changed
        if is_plain(x):
            self.of_time |= of_time(x)
            if cls is str:
                self.texts.add(x)
            elif cls is complex:
                self.decides = True
            elif cls is slice:
                self._unbound |= {id(x.start), id(x.stop), id(x.step)}
            elif isinstance(x, np.number):
                self._found[id(x)] += 1
            if isinstance(x, np.ufunc) and set("".join(x.types)) <= set("O->"):
                self._refuse(f"it calls {path}, a ufunc of Python code")
            return
        if cls is np.ndarray:
            self._array(x, path)
            return
        if id(x) in self.seen:
            return
        if self._of_rule and x is np.errstate:
            self._refuse(f"it names {path}, which would hold while a trace is made, and not when its graph runs")
        if is_opaque(x) or x is DEFAULT_RNG or x is np.random.Generator:
            self.seen[id(x)] = x
            if self._of_rule:
                self._refuse(f"it refers to {path}, {kind_of(x)}, whose results may depend on more than arguments")
            return
        if isinstance(x, Tensor):
            raise TracingError(
                f"it refers to a {cls.__name__} of {x.level!r}, and a graph outlives that. Pass it as an argument."
            )
        self.seen[id(x)] = x
        if isinstance(x, type) or cls is types.FunctionType:
            self._code(x, path)
        elif cls is types.MethodType:
            self.visit(x.__func__, path)
            self.visit(x.__self__, f"{path}.__self__" if path else "self")
        elif cls is types.BuiltinFunctionType:
            owner = x.__self__
            if isinstance(owner, OpOverload):
                self.visit(owner, f"{path}.__self__" if path else "self")
                return
            if not isinstance(owner, (types.ModuleType, type, types.NoneType)):
                self._refuse(f"it refers to {path}, a method of a {type(owner).__name__}")
            self._listed_name(getattr(owner, "__module__", None) if isinstance(owner, type) else x.__module__, x.__name__, path)
        elif cls in (
            types.MethodDescriptorType,
            types.WrapperDescriptorType,
            types.ClassMethodDescriptorType,
            types.GetSetDescriptorType,
        ):
            self.decides = True
            self.tells_apart |= x.__objclass__ is object
            if not is_listed_class(x.__objclass__):
                self._refuse(f"it refers to {path}, of the {x.__objclass__.__name__} in {x.__objclass__.__module__}")
        elif isinstance(x, types.ModuleType):
            self._module(x, path)
        elif cls is functools.partial:
            self._note(READ, x, partial_parts, partial_parts(x), path)
            for i, part in enumerate(partial_parts(x)):
                self.visit(part, f"{path}.partial[{i}]")
            self._without_attributes(x, path)
        elif cls in DICTS or cls is types.SimpleNamespace or cls is collections.defaultdict:
            self.changeable[path] = dict
            d = vars(x) if cls is types.SimpleNamespace else x
            if cls is types.SimpleNamespace:
                self._owned |= d.keys()
                self._note(TYPE, x, d, cls, path)
            self._dict(d, path, d is x)
            if cls is collections.OrderedDict:  # which keeps an order beside that of the dict in it
                self._note(READ, x, tuple, tuple(x), f"{path}'s order")
                self._without_attributes(x, path)
            if cls is collections.defaultdict:
                self._note(READ, x, factory, factory(x), f"{path}.default_factory")
                self.visit(x.default_factory, f"{path}.default_factory")
        elif cls in (list, tuple):
            self.changeable |= {path: list} if cls is list else {}
            self._items(x, path)
        elif cls in (set, frozenset):
            if not all(map(is_plain, x)):
                self._refuse(f"it refers to {path}, a set of objects, whose order is another each time")
            if cls is set:
                self.changeable[path] = set
                self._note(READ, x, tuple, tuple(x), path)
        elif cls is collections.deque:
            self.changeable[path] = collections.deque
            self._note(READ, x, tuple, tuple(x), path)
            for i, item in enumerate(tuple(x)):
                self.visit(item, f"{path}[{i}]")
        elif cls is slice:
            for part in (x.start, x.stop, x.step):
                self.visit(part, path)
        elif cls is types.MappingProxyType:
            self._note(READ, x, mapping_parts, mapping_parts(x), path)
            for part in mapping_parts(x):
                self.visit(part, f"{path}[]")
        elif cls is weakref.ref:
            self._refuse(f"it refers to {path}, a weak reference, and what it refers to would be kept")
        elif cls in DESCRIPTORS:
            for part in descriptor_parts(x):
                self.visit(part, path)
        elif self._is_of_listed(x):
            self._listed_value(x, path)
        else:
            self._object(x, path)

    def _code(self, x: Any, path: str) -> None:
        """Walk a function or a class; where a package of others has it, say of what is refused in there who calls it."""
        walk = self._class_value if isinstance(x, type) else self._function
        name = "" if self._within else self._of_others(x)
        if not name:
            walk(x, path)
            return
        self._within = name
        try:
            walk(x, path)
        except TracingError as error:
            raise TracingError(self._called(name, str(error).partition(". Pass what")[0])) from None
        finally:
            self._within = ""

    def _of_others(self, x: Any) -> str:
        """The name of a function or class of an installed package, which is not that of the function that is compiled."""
        module = str(getattr(x, "__module__", None))
        top = module.partition(".")[0]
        place = str(getattr(sys.modules.get(module), "__file__", None))
        if top in ("numpy", PACKAGE, self._own) or not INSTALLED.search(place):
            return ""
        return f"{module.partition('._')[0]}.{x.__qualname__}"

    @staticmethod
    def _called(name: str, said: str) -> str:
        remedy = "Make what calls it an operator: @dispatch.custom_op(...)."
        return f"it calls {name}, of which no graph can be made: {said}. {remedy}"

    def _without_attributes(self, x: Any, path: str) -> None:
        """Refuse the attributes of a value whose copy has none, and compare that it is given none."""
        d = vars(x)
        if d:
            self._refuse(f"it refers to {path}, {kind_of(x)} with attributes")
        self._note(TYPE, x, d, type(x), path)
        self._note(DICT, d, (), (), path)

    def _array(self, x: np.ndarray, path: str) -> None:
        self.of_time |= of_time(x.dtype)
        if x.dtype.hasobject:
            self._refuse(f"it refers to {path}, an array of Python objects")
        if x.dtype.names is not None:  # which can be changed in the dtype itself
            self.visit(x.dtype, f"{path}.dtype")
        if x.flags.writeable:
            self.changeable[path] = np.ndarray
        self.arrays.setdefault(id(x), x)
        self.where.setdefault(id(x), path)

    def _float(self, x: Any, path: str, at: At | None = None) -> None:
        """Note a float that may be an input, and a number of NumPy's that is stored anew in each run."""
        if issubclass(type(x), np.number):  # isinstance would ask x for its __class__
            self._found[id(x)] -= 1  # a guard binds it to an input
            if at in self._changing:
                self._numbers[id(x)] = x
                self.where.setdefault(id(x), path)
        if type(x) is float and not math.isnan(x):  # `nan in values` asks which nan it is
            self.floats.setdefault(id(x), x)
            self.where.setdefault(id(x), path)

    def _dict(self, d: dict[Any, Any], path: str, whole: bool) -> None:
        """The items of a dict, or, if it is that of an object, those that the code names."""
        unread = set() if whole else self._unread(d)
        kept = d if whole or self.every else self.names - unread if unread else self.names
        pairs = list(dict.items(d))  # in the order of the dict
        known = [v if kept is d or k in kept else SKIPPED for k, v in pairs]  # a key may have a hash of yours
        self._note(DICT, d, tuple([k for k, _ in pairs]), tuple(known), path)
        for k, v in pairs:
            if (
                whole
                and not is_plain(k)
                and not (type(k) is tuple and all(map(is_plain, k)))
                and not isinstance(k, (enum.Enum, type))
            ):
                self._refuse(f"it refers to {path}, a dict with a {type(k).__name__} for a key")
            if whole:
                self._unbound |= {id(part) for part in (k if type(k) is tuple else (k,))}
            if kept is d or k in kept:
                if not whole and type(v) is str:
                    self.texts.add(v)
                place = f"{path}[{k!r}]" if whole else f"{path}.{k}"
                self._float(v, place, (id(d), k))
                self.visit(v, place)

    def _items(self, x: Any, path: str) -> None:
        items = tuple(x) if type(x) is list else tuple.__getitem__(x, slice(None))
        if type(x) is list or any(type(item) is np.ndarray for item in items):
            self._note(ITEMS, x, None, items, path)
        else:
            self._unbound |= {id(item) for item in items if type(item) is float}
        for i, item in enumerate(items):
            self.visit(item, f"{path}[{i}]")

    # -- functions and modules -----------------------------------------------------------------------------------------------

    def _function(self, f: types.FunctionType, path: str) -> None:
        path = path or f.__name__
        if is_listed_function(f):
            self._listed_function(f, path)
            return
        code = names_in(f.__code__)
        self.names |= code.attributes
        if self._within:
            self._named_by = dict.fromkeys(code.attributes & ARRAYS_OWN, self._within) | self._named_by
        modules = {of for of, _ in code.asked if issubclass(type(f.__globals__.get(of)), types.ModuleType)}
        of_modules = {name for of, name in code.asked if of in modules}
        self.changes |= {name for of, name in code.asked if name not in of_modules} | ({""} if code.puts_items else set())
        cells = dict(zip(f.__code__.co_freevars, f.__closure__ or (), strict=True))
        self.outside |= {(id(cells[x]), None) if x in cells else (id(f.__globals__), x) for x in code.outside}
        self.stored |= code.puts
        if code.refused:
            self._refuse(f"{path} {code.refused}")
        if getattr(f, "__builtins__", None) is not BUILTINS:  # not every version of mypy knows it
            self._refuse(f"{path} has builtins of its own")
        strange = code.attributes & REFUSED_ATTRIBUTES
        if _compares_records(f.__code__):  # what dataclasses write asks whether two objects are of one class
            strange -= {"__class__"}
        if strange:
            self._refuse(f"{path} names {min(strange)}, which leads to what nobody compares")
        if self._of_rule:
            self._check_rules_code(f, code, path)
        self.decides |= code.decides
        self.catches |= code.catches
        self.asks_bool |= code.asks_bool
        self.tells_apart |= code.tells_apart or bool({"__eq__", "__ne__"} & code.attributes)  # object's own do, too
        if code.writes or (TEXTS | WRITING) & code.attributes:
            self._printed()
        self.sets |= code.sets
        self.of_time |= code.of_time
        self._taken |= {name for of, name in code.taken if of not in modules}
        self.decides |= bool({"float", "type"} & code.globals and OF_FLOATS & code.attributes)
        self._put |= code.puts
        self._loaded |= code.loads
        if ANY_ATTRIBUTE & (code.globals | code.attributes):
            self.every = True
            self.names |= code.texts  # of a module's attributes these alone are found, getattr(np, "unstack") say
        self.makes |= bool({"type", "replace"} & (code.globals | code.attributes))
        self._note(FUNCTION, f, None, (f.__code__, f.__defaults__, f.__kwdefaults__), path)
        self._note(TYPE, f, f.__dict__, types.FunctionType, path)
        self._texts_of(f, path)
        self._dict(f.__dict__, path, False)
        known = f.__globals__
        self.seen[id(known)] = known
        for name in sorted(code.globals):
            self._global(known, name)
        if code.imports:
            self._imports(code.imports, path)
        self._cells(f, path)
        self.texts |= {x for x in (*(f.__defaults__ or ()), *(f.__kwdefaults__ or {}).values()) if type(x) is str}
        for i, value in enumerate(f.__defaults__ or ()):
            self.visit(value, f"{path}.__defaults__[{i}]")
        if f.__defaults__ is not None:
            self.visit(f.__defaults__, f"{path}.__defaults__")
        if f.__kwdefaults__ is not None:
            self.visit(f.__kwdefaults__, f"{path}.__kwdefaults__")

    def _check_rules_code(self, _: Any, code: Code, path: str) -> None:
        if code.outside:
            self._refuse(f"{path} assigns to {min(code.outside)}, which is no variable of its own")
        if "type" in code.globals or (
            code.globals & {"isinstance", "issubclass"} and ASK_OF_CLASSES & (code.globals | code.attributes)
        ):
            self.asks_class = path

    def _imports(self, names: frozenset[str], path: str) -> None:
        """What a function imports when it runs."""
        self._note(ITEM, BUILTINS, "__import__", BUILTINS["__import__"], "__import__")
        if type(BUILTINS["__import__"]) is not types.BuiltinFunctionType:
            self._refuse(f"{path} imports when it runs, by an __import__ of yours; import at the top of the module")
        for name in sorted(names):
            imported = sys.modules.get(name)
            if imported is None or not is_listed(name):
                self._refuse(f"{path} imports {name} when it runs; import it at the top of the module")
            self._note(ITEM, sys.modules, name, imported, f"sys.modules[{name!r}]")
            self.visit(imported, name)

    def _texts_of(self, f: types.FunctionType, path: str) -> None:
        """What a function is called and what it says of itself, where code asks."""
        if self.names & NAMED_BY:
            self._note(READ, f, naming, naming(f), f"{path}.__name__")
            self.visit(f.__doc__, f"{path}.__doc__")
        if "__annotations__" in self.names:
            self._note(READ, f, annotations, annotations(f), f"{path}.__annotations__")
            self.visit(f.__annotations__, f"{path}.__annotations__")

    def _listed_function(self, f: types.FunctionType, path: str) -> None:
        module = str(f.__globals__.get("__name__", ""))
        self.transforms |= module.startswith(PACKAGE)
        if module.startswith("namedtuple_"):
            if not all(map(is_plain, f.__defaults__ or ())):
                self._refuse(f"it refers to {path}, with a default that can change")
            self._note(FUNCTION, f, None, (f.__code__, f.__defaults__, f.__kwdefaults__), path)
        elif not module.startswith((PACKAGE, "builtins")):
            self._listed_name(module, f.__name__, path)
            self.of_library.add(id(f))
            self._note(FUNCTION, f, None, (f.__code__, f.__defaults__, f.__kwdefaults__), path)
        if f.__module__ != module or not stands_there(f):  # else what a decorator keeps in it is the module's own
            self._cells(f, path)

    def _global(self, known: dict[str, Any], name: str) -> None:
        if name in known:
            value = known[name]
            self._note(ITEM, known, name, value, name)
            self._float(value, name, (id(known), name))
            self.visit(value, name)
            return
        self._note(ITEM, known, name, MISSING, name)
        self._note(ITEM, BUILTINS, name, BUILTINS.get(name, MISSING), name)
        if name in BUILTINS:
            value = BUILTINS[name]
            if not is_opaque(value):
                self._listed_name("builtins", name, name)
                known_one = is_listed_class(value) if isinstance(value, type) else type(value) is types.BuiltinFunctionType
                if not known_one and not is_plain(value):  # a trace has no copy of the builtins
                    self._refuse(f"it names {name}, {kind_of(value)} that somebody has put into builtins")
            self.visit(value, name)

    def _cells(self, f: types.FunctionType, path: str) -> None:
        for name, cell in zip(f.__code__.co_freevars, f.__closure__ or (), strict=True):
            value = contents(cell)
            self._note(CELL, cell, None, value, name)
            self._float(value, name, (id(cell), None))
            if value is not EMPTY:
                self.visit(value, name)

    def _module(self, x: types.ModuleType, path: str) -> None:
        d = vars(x)
        listed = is_listed_module(x)
        if not listed and type(x) is not types.ModuleType:
            self._refuse(f"it refers to {path}, a module with a class of its own")
        if not listed:
            self._note(TYPE, x, None, types.ModuleType, path)
            if "__getattr__" not in d:  # else the copy refuses what is not there
                self._note(ITEM, d, "__getattr__", MISSING, f"{path}.__getattr__")
            self._owned |= d.keys()
            for name in sorted(self.names - d.keys()):
                self._note(ITEM, d, name, MISSING, f"{path}.{name}")
        elif "__getattr__" in d:  # what loads on first use is there then
            for name in (self.names & set(dir(x))) - d.keys():
                getattr(x, name, None)
        for name in sorted(self.names & d.keys()):
            value = d[name]
            if listed and (self.is_refused(x, name, value)):
                if self._of_rule:
                    self._refuse(f"it names .{name}, and {x.__name__}.{name} depends on more than its arguments")
                continue  # the copy refuses it, if it is asked for
            self._note(ITEM, d, name, value, f"{path}.{name}")
            if not listed:
                self._float(value, f"{path}.{name}")
            self.visit(value, f"{path}.{name}")

    @staticmethod
    def is_refused(module: types.ModuleType, name: str, value: Any) -> bool:
        """Whether what a listed module has by a name is refused."""
        if refused_of(module.__name__, name):
            return True
        if isinstance(value, types.ModuleType):
            return not is_listed_module(value) or refused_of(value.__name__, "")
        return False

    def note_absent(self, module: types.ModuleType, name: str) -> None:
        """Note a name that a trace asked a listed module for, which has none such."""
        self._note(ITEM, vars(module), name, MISSING, f"{module.__name__}.{name}")

    # -- classes and their instances -----------------------------------------------------------------------------------------

    def _class_value(self, cls: type, path: str) -> None:
        self.called.add(id(cls))
        if isinstance(cls, abc.ABCMeta):  # whoever registers a class changes what isinstance says
            self._note(READ, abc, registered, registered(abc), "the classes registered with abstract ones")
        self._class(cls, path)

    def _class(self, cls: type, path: str) -> None:
        if is_listed_class(cls):
            self.decides |= cls.__module__ in ("math", "cmath") or cls in (complex, np.complex128, np.complex64, np.clongdouble)
            self._listed_name(cls.__module__, cls.__name__, path)
            self._listed_bases(cls)
            return
        meta = type(cls)
        if isinstance(cls, enum.EnumMeta):
            self._enum(cls, path)
            return
        if meta is not type and meta.__module__ not in ABSTRACT:
            self._refuse(f"it refers to {path or cls.__name__}, a class with the metaclass {meta.__name__}")
        self._note(MRO, cls, None, cls.__mro__, path)
        if self.names & NAMED_BY:
            self._note(READ, cls, naming, naming(cls), f"{path or cls.__name__}.__name__")
        self._listed_bases(cls)
        for base in cls.__mro__:
            if is_listed_class(base):
                if base not in (object, tuple) and base.__module__ not in BASES and not issubclass(base, BaseException):
                    self._refuse(f"it refers to {path or cls.__name__}, a {cls.__name__}, which is a {base.__name__} too")
                continue
            if not base.__flags__ & 1 << 9:
                self._refuse(f"it refers to {path or cls.__name__}, of the {base.__name__} in {base.__module__}")
            if issubclass(base, BaseException):
                self._shared_class(base, id(cls) in self.called or self.makes)
            else:
                self._class_dict(base, id(cls) in self.called or self.makes)

    def _listed_bases(self, cls: type) -> None:
        """The classes of Python's library and NumPy in one, of which a trace has no copy: somebody may have added to them."""
        for base in cls.__mro__:
            if base.__flags__ & 1 << 9 and base.__module__.partition(".")[0] != PACKAGE and is_listed_class(base):
                self._listed_base(base)

    def _listed_base(self, cls: type) -> None:
        d = class_dict(cls)
        self.of_library.add(id(d))
        self._note(DICT, d, tuple(d), tuple(d.values()), cls.__name__)
        for name in self.class_names(cls, True):
            for f in descriptor_parts(d[name]) if type(d[name]) in DESCRIPTORS else (d[name],):
                added = type(f) is types.FunctionType and str(f.__globals__.get("__name__")).partition(".")[0] not in KNOWN
                if added or (name in self.names and not is_plain(f) and not hasattr(f, "__get__")):
                    self._refuse(f"it refers to {cls.__name__}, whose {name} is {'yours' if added else kind_of(f)}")

    def _enum(self, cls: enum.EnumMeta, path: str) -> None:
        """An Enum is not copied, since its members are told apart by identity: all that is in it is compared."""
        for base in cls.__mro__:
            if not is_listed_class(base):
                self._shared_class(base, False)
        self._listed_bases(cls)
        self._note(ITEMS, cls._member_names_, None, tuple(cls._member_names_), path)
        for holder in (cls._member_map_, cls._value2member_map_):
            self._note(DICT, holder, tuple(holder), tuple(holder.values()), path)
        for member in cls._member_map_.values():
            d = vars(member)
            if not all(is_plain(x) or x is cls or (type(x) is tuple and all(map(is_plain, x))) for x in d.values()):
                self._refuse(f"it refers to {path}, an Enum with a value that can change")
            self._note(DICT, d, tuple(d), tuple(d.values()), f"{path}.{member._name_}")
            self.shared.append(member)
            self._owned |= d.keys()
        self._owned |= {"value"}

    def _shared_class(self, cls: type, called: bool) -> None:
        """A class that is not copied: nothing in it may refer to what is copied."""
        d = class_dict(cls)
        if (1, id(d), None) in self._noted:
            return
        self.shared.append(cls)
        self._owned |= d.keys()
        self._note(DICT, d, tuple(d), tuple(d.values()), cls.__name__)
        for name, value in d.items():
            if name in UNREAD or name in MADE_BY - ({"__init__"} if called else set()) or is_plain(value):
                continue
            made = descriptor_parts(value) if type(value) in DESCRIPTORS else (value,)
            for f in made:
                if isinstance(f, types.FunctionType) and not is_listed_function(f):
                    if (names_in(f.__code__).globals | set(f.__code__.co_freevars)) - {"super", "__class__"} or not all(
                        map(is_plain, (*(f.__defaults__ or ()), *(f.__kwdefaults__ or {}).values()))
                    ):
                        self._refuse(f"it refers to {cls.__name__}, whose {name} refers to more than its arguments")
                    self.visit(f, f"{cls.__name__}.{name}")
                elif isinstance(cls, enum.EnumMeta):
                    continue  # its members, and what the class of Enums has put there
                elif name in self.names or self.every:
                    self._refuse(f"it refers to {cls.__name__}, whose {name} is {kind_of(f)}")

    def _class_dict(self, cls: type, called: bool) -> None:
        key = (-1, id(cls), called)
        if key in self._noted:
            return
        self._noted.add(key)
        d = class_dict(cls)
        self._owned |= d.keys()
        made_in_c = next((k for k, v in d.items() if type(v) in (types.MethodDescriptorType, types.WrapperDescriptorType)), "")
        if made_in_c and cls.__module__.partition(".")[0] == "jaxlib":
            raise TracingError("it calls a function of JAX. Write NumPy's in its place, or dispatch.interop.jax.wrap(f).")
        if made_in_c:
            self._refuse(f"it refers to a {cls.__name__}, whose {made_in_c} is code in C that nobody can read")
        hostile = (HOSTILE_METHODS | ({BY_A_CLASS} & self.names)) & d.keys()
        if hostile:
            self._refuse(f"it refers to a {cls.__name__}, which has {min(hostile)}")
        named = set(getattr(cls, "__dataclass_fields__", ()))
        self.names |= named
        self._loaded |= named  # by the methods that dataclasses write
        self._put |= named
        if self.fields and "__dataclass_fields__" in d:
            self.visit(d["__dataclass_fields__"], f"{cls.__name__}.__dataclass_fields__")
        if issubclass(cls, tuple) and "_fields" in d:  # its methods ask for these
            self.names |= {"_make", "_fields"}
        taken = self.class_names(cls, called)
        self._note(DICT, d, tuple(d), tuple([v if k in taken else SKIPPED for k, v in d.items()]), cls.__name__)
        for name in taken:
            self._float(d[name], f"{cls.__name__}.{name}")
            if type(d[name]) is not types.MemberDescriptorType:
                self.visit(d[name], f"{cls.__name__}.{name}")

    def class_names(self, cls: type, called: bool) -> list[str]:
        """Return the names in a class that the code may ask for, by name or by what Python does by itself."""
        found = []
        for name, value in class_dict(cls).items():
            if (name in UNREAD and name not in self.names) or name in TEXTS or (name in MADE_BY and not called):
                continue
            if name == BY_A_CLASS:
                continue
            special = name.startswith("__") and name.endswith("__") and not isinstance(value, types.GetSetDescriptorType)
            if self.every or name in self.names or special or type(value) is types.MemberDescriptorType:
                found.append(name)
        return found

    def _object(self, x: Any, path: str) -> None:
        cls = type(x)
        line = "x.data" if form_of(x) is not None else line_for(x)
        if line is not None:
            raise TracingError(
                f"it refers to {kind_of(x)}, which may change where nobody sees it. Let it refer to the array, {line}, or pass "
                "that."
            )
        if not cls.__flags__ & 1 << 9 or isinstance(x, BaseException):
            self._refuse(f"it refers to {path}, {kind_of(x)}, of which nothing is known")
        d = instance_dict(x)
        self._note(TYPE, x, d, cls, path)
        self._class(cls, path)
        if isinstance(x, enum.Enum):
            return
        if d is not None:
            self._owned |= d.keys()
            self._dict(d, path, False)
        for slot in slots_of(cls):
            read = Slot(slot)
            self._owned.add(slot.__name__)
            self._note(READ, x, read, read(x), f"{path}.{slot.__name__}")
            for part in read(x):
                self.visit(part, f"{path}.{slot.__name__}")
        if isinstance(x, tuple):
            self._items(x, path)
        elif isinstance(x, CONTAINERS):
            self._refuse(
                f"it refers to {path}, a {cls.__name__}, a container of its own kind"
            )

    # -- what is listed ------------------------------------------------------------------------------------------------------

    @staticmethod
    def _is_of_listed(x: Any) -> bool:
        cls = type(x)
        return isinstance(x, OpOverload) or is_listed_class(cls) or _is_function_of_c(cls)

    def _listed_value(self, x: Any, path: str) -> None:
        """An instance of a class in a listed module."""
        module, cls = type(x).__module__, type(x)
        if cls.__name__ == "_tuplegetter":  # of a field of a named tuple
            return
        if cls.__name__ == "_ArrayFunctionDispatcher" or _is_function_of_c(cls):
            self._listed_name(x.__module__, x.__name__, path)
        elif module.partition(".")[0] == PACKAGE:
            self._operator(x)
            inner = getattr(x, "__wrapped__", None) if hasattr(x, "entries") else None
            if inner is not None:
                self._note(READ, x, own_names, own := own_names(x), f"{path}'s attributes")
                if own or (isinstance(inner, types.FunctionType) and self.attributes(vars(inner))):
                    self._refuse(f"it refers to {path}, a compiled function with attributes of yours")
                self.visit(inner, path)
            elif not isinstance(x, OpOverload) and not hasattr(x, "schema") and cls.__name__ not in HANDLES:
                self._refuse(f"it refers to {path}, {kind_of(x)}, which has a state of its own")
        elif isinstance(x, dataclasses.Field):
            self._note(READ, x, field_parts, parts := field_parts(x), path)
            known = list(parts[2:]) if parts[1] in (dataclasses.MISSING, list, dict, set) else [None, self]
            if not all(part is dataclasses.MISSING or is_plain(part) for part in known):
                self._refuse(f"it refers to {path}, a field whose default or metadata can change")
        elif module.partition(".")[0] == "typing" or cls in (types.GenericAlias, types.UnionType) or module == "dataclasses":
            made_of = getattr(x, "__origin__", None)
            if isinstance(made_of, type) and not is_listed_class(made_of):
                self._refuse(f"it refers to {path}, {x}, which answers for the class in it. Write {made_of.__name__}")
            for part in getattr(x, "__args__", ()):
                self.visit(part, path)
        else:
            self._refuse(f"it refers to {path}, {kind_of(x)}, which cannot be compared")

    def _operator(self, x: Any) -> None:
        """Note operators, and what finds them by name."""
        if isinstance(x, (Namespaces, Namespace)):
            self.namespaces = (self.namespaces or set()) | ({vars(x)["_name"]} if isinstance(x, Namespace) else set())
        elif isinstance(x, (OpOverload, Operator)):
            for op in (x,) if isinstance(x, OpOverload) else x._overloads:  # noqa: SLF001  `overloads()` has their names
                self.operators[id(op)] = op

    def _listed_name(self, module: Any, name: str, path: str) -> None:
        module = str(module or "")
        self.transforms |= module.startswith(PACKAGE)
        self.every |= name in ANY_ATTRIBUTE
        if name in WRITING:
            self._printed()
        self.of_time |= {"M"} if name == "datetime64" or "busday" in name else set()
        self.sets |= name in ("set", "frozenset")
        self.names |= {name} & {"register"}  # a method of a class that is called by another name
        self.tells_apart |= name in ("is_", "is_not")
        self.fields |= (module, name) == ("dataclasses", "fields")
        if module.partition(".")[0] in ("math", "cmath") or name in ("complex", "complex128", "complex64", "clongdouble"):
            self.decides = True
        if not is_listed(module) or refused_of(module, name):
            self._refuse(
                f"it uses {path or name}, {module}.{name}, whose result may depend on more than its arguments"
            )

    def _printed(self) -> None:
        """Note that values may be written as text, and how NumPy writes numbers and arrays."""
        self.writes = True
        self._note(READ, np, printing, printing(np), "np.get_printoptions()")

    # -- notes ---------------------------------------------------------------------------------------------------------------

    def _note(self, kind: int, holder: Any, name: Any, was: Any, path: str) -> None:
        key = (kind, id(holder), name if isinstance(name, str) else None if kind == DICT else id(name))
        if key in self._noted:
            return
        self._noted.add(key)
        self.guards.append(Guard(kind, holder, name, was, path))

    @staticmethod
    def _refuse(said: str) -> NoReturn:
        raise TracingError(f"{said}. Pass what is needed of it as an argument.")


HANDLES = frozenset({"_Ops", "Namespaces", "Namespace", "OpOverloadPacket", "CustomOpDef"})


def _is_function_of_c(cls: type) -> bool:
    """Whether functions of a class are Cython's, or those of scipy.fft."""
    return cls.__name__ == "cython_function_or_method" or (cls.__module__, cls.__name__) == ("uarray", "_Function")


def _compares_records(code: types.CodeType) -> bool:
    names = ("__eq__", "__lt__", "__le__", "__gt__", "__ge__")
    return code.co_filename == "<string>" and code.co_name in names and code.co_varnames[:2] == ("self", "other")


class Slot:
    """Reads a slot of an object, as a tuple: empty where nothing is in it."""

    __slots__ = ("member",)

    def __init__(self, member: Any) -> None:
        self.member = member

    def __call__(self, x: Any) -> tuple[Any, ...]:
        try:
            return (self.member.__get__(x),)
        except AttributeError:
            return ()


def fields(x: "np.dtype[Any]") -> tuple[Any, ...]:
    """Return the text of a structured dtype, with the names of its fields."""
    return (sys.intern(dtype_text(x)),)  # one object each time, for code that asks whether values are one


def factory(x: "collections.defaultdict[Any, Any]") -> tuple[Any, ...]:
    """Return what makes the items that a defaultdict lacks."""
    return (x.default_factory,)


def naming(x: Any) -> tuple[Any, ...]:
    """Return what a function or a class is called, and what it says of itself."""
    return x.__name__, x.__qualname__, x.__module__, x.__doc__


def own_names(x: Any) -> tuple[Any, ...]:
    """Return the names that a user has given to a compiled function."""
    return tuple([name for name in vars(x) if name not in x.known])


def annotations(f: types.FunctionType) -> tuple[Any, ...]:
    """Return the annotations of a function."""
    return (f.__annotations__,)


def loud(_: Any) -> tuple[Any, ...]:
    """Return whether NumPy is told to do more about floating-point errors than to warn."""
    state = _ERRORS.get(None)
    if state is not None and state is not _quiet[0]:
        if not {"warn", "ignore"}.issuperset(np.geterr().values()):
            return (True,)
        _quiet[0] = state
    return (False,)


def raising(_: Any) -> tuple[Any, ...]:
    """Return whether a floating-point error may be more than a warning: by what NumPy is told, or by a filter of warnings."""
    filters: Any = warnings.filters
    if filters != _passing[0]:
        for action, text, category, module, line in filters:
            if action == "error" and (issubclass(RuntimeWarning, category) or issubclass(category, RuntimeWarning)):
                return (True,)
            if issubclass(RuntimeWarning, category) and not (text or module or line):
                break  # the first that fits is the one
        _passing[0] = list(filters)
    return loud(np)


def printing(_: Any) -> tuple[Any, ...]:
    """Return how NumPy and Python write numbers: what NumPy is told in one piece, or, before NumPy 2.1, piece by piece.

    The last says how long an int Python writes, and of which language its `:n` is.
    """
    told = (_PRINTED.get(),) if _PRINTED is not None else tuple(np.get_printoptions().values())
    return (*told, sys.intern(f"{sys.get_int_max_str_digits()} {locale.setlocale(locale.LC_NUMERIC)}"))


def registered(_: Any) -> tuple[Any, ...]:
    """Return what changes when a class is registered with an abstract one."""
    return (sys.intern(str(abc.get_cache_token())),)


def partial_parts(x: "functools.partial[Any]") -> tuple[Any, ...]:
    """Return what a partial holds."""
    return (x.func, *x.args, *x.keywords, *x.keywords.values())


def mapping_parts(x: Any) -> tuple[Any, ...]:
    """Return the keys and the values of a mapping."""
    return (*x, *x.values())


def descriptor_parts(x: Any) -> Iterator[Any]:
    """Yield the functions in a descriptor."""
    if isinstance(x, property):
        yield from (f for f in (x.fget, x.fset, x.fdel) if f is not None)
    else:
        yield x.func if isinstance(x, functools.cached_property) else x.__func__


def field_parts(x: "dataclasses.Field[Any]") -> tuple[Any, ...]:
    """Return what a field of a dataclass says."""
    return (x.name, x.default_factory, x.default, *mapping_parts(x.metadata), x.init, x.repr, x.hash, x.compare, x.kw_only)


def contents(cell: types.CellType) -> Any:
    """Return what is in a cell; `EMPTY` where nothing is."""
    try:
        return cell.cell_contents
    except ValueError:
        return EMPTY


def class_dict(cls: type) -> dict[str, Any]:
    """Return the dict of a class itself, of which `vars(cls)` is a view."""
    found: dict[str, Any] = next(x for x in gc.get_referents(vars(cls)) if type(x) is dict)
    return found


def instance_dict(x: Any) -> dict[str, Any] | None:
    """Return the dict of an instance, whatever its class says; None where it has none."""
    try:
        found = object.__getattribute__(x, "__dict__")
    except AttributeError:
        return None
    return found if type(found) is dict else None


def slots_of(cls: type, listed: bool = False) -> list[Any]:
    """Return the slots of a class and of its bases: of those that are not listed, or of all that a class statement made."""
    return [
        x
        for c in cls.__mro__
        for x in vars(c).values()
        if type(x) is types.MemberDescriptorType and (c.__flags__ & 1 << 9 if listed else not is_listed_class(c))
    ]


Reader = Callable[[Any], tuple[Any, ...]]
