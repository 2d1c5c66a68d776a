"""Copies what a function can reach, with traced values in place of arrays: the function is traced on the copy.

So nothing of the user's changes while a function is traced, and no traced value is left behind in anything of theirs. What the
copy was made of is remembered; whatever is different in it afterwards is a change that the graph would leave out.

Classes are copied too, because their methods find their globals through them. A copied function has builtins of its own:
`isinstance`, `type`, `getattr` and their kin answer for a traced value what they would for the array, or refuse.

It has more than 350 lines because each kind of value has its own way to be copied, and these know of one another.
"""

import builtins
import collections
import contextlib
import dataclasses
import enum
import functools
import gc
import operator
import types
import typing
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..core import OpOverload, Tensor, first_wrapper
from ..core.pytree import items_of, leaves, opened
from ..errors import ArgumentError, DispatchError, TracingError
from ..layers.trace import TracedNumber
from ..layers.trace.layer import makers, unasked
from ..layers.trace.number import plain
from ..operators.registry import ops
from ..symbolic import SymBool, SymInt
from .conditions import EMPTY
from .copied_functions import CopiedCachedProperty, CopiedFunction, CopiedMethod, CopiedModule, CopiedProperty
from .error_states import TracedErrstate
from .generators import TracedGenerator, seeded
from .python_bools import is_python_bool
from .reached import (
    ABSTRACT,
    DESCRIPTORS,
    TEXTS,
    UNREAD,
    Reached,
    class_dict,
    contents,
    instance_dict,
    names_in,
    registered,
    slots_of,
)
from .stores import Place, stored
from .trusted import DEFAULT_RNG, REFUSED_BUILTINS, is_listed_class, is_listed_function, is_listed_module, is_opaque, is_plain

IMPORT = vars(builtins)["__import__"]
NUMBERS: dict[type, type] = {TracedNumber: float, SymInt: int, SymBool: bool}
STANDING: dict[type, type] = NUMBERS | {
    CopiedFunction: types.FunctionType, CopiedMethod: types.MethodType, CopiedModule: types.ModuleType,
    CopiedProperty: property, CopiedCachedProperty: functools.cached_property,
}  # fmt: skip
HANDED_OVER = type(np.sum)
ASKED_BY_ARRAYS = frozenset("__lt__ __le__ __gt__ __ge__".split()) | {
    f"__r{name}__" for name in "add sub mul truediv floordiv mod divmod pow matmul and or xor lshift rshift".split()
}
ARRAY_LIKE = (np.ndarray, np.generic, float, complex)


def is_array(x: Any) -> bool:
    """Whether a value is one that a record is opened for."""
    return isinstance(x, (Tensor, *ARRAY_LIKE))


def _is_bare_record(cls: type) -> bool:
    """Whether a class is a dataclass of fields alone: without code of its own, defaults and bases nothing in it is replaced."""
    fields = class_dict(cls).get("__dataclass_fields__")
    if fields is None or cls.__bases__ != (object,):
        return False
    if any(x.default is not dataclasses.MISSING or x.default_factory is not dataclasses.MISSING for x in fields.values()):
        return False
    return all(
        name in UNREAD
        or name in TEXTS
        or type(x) in (types.MemberDescriptorType, types.GetSetDescriptorType)
        or (type(x) is types.FunctionType and x.__code__.co_filename == "<string>")
        or (name == "__hash__" and x is None)
        for name, x in class_dict(cls).items()
    )


class Opaque:
    """Stands for what a trace must not use, `print` say: whatever is done with it refuses."""

    __slots__ = ("_name",)
    _name: str

    def __init__(self, x: Any) -> None:
        cls = type(x)
        of = x if isinstance(x, (types.FunctionType, types.BuiltinFunctionType)) else cls
        object.__setattr__(self, "_name", f"{of.__module__}.{of.__name__}")


def _refusing(self: Opaque, *_: Any, **keywords: Any) -> Any:
    if self._name == "builtins.print":
        raise TracingError("it calls print, which a graph leaves out. Take it out.")
    raise TracingError(
        f"it uses {self._name}, whose result may depend on more than its arguments, or which does more than to return one. "
        "Pass what is needed of it as an argument."
    )


for _special in (
    "call getattr setattr delattr enter exit iter next len bool getitem setitem delitem contains eq ne lt le gt ge hash str "
    "repr format int float complex index add radd sub rsub mul rmul truediv rtruediv floordiv rfloordiv mod rmod pow rpow "
    "matmul rmatmul and rand or ror xor rxor neg pos abs invert get set fspath reversed aiter anext await aenter aexit array "
    "buffer"
).split():
    setattr(Opaque, f"__{_special}__", _refusing)


def asking(function: Callable[..., Any], ours: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of NumPy that asks no argument whose it is, as it is for traced values, too."""

    def made(*args: Any, **keywords: Any) -> Any:
        traced = any(isinstance(x, Tensor) for x in leaves((args, keywords)))
        if traced and function is np.require:
            check_requirements(*args[2:], **keywords)
        return (ours if traced else function)(*args, **keywords)

    return made


def handed_over(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of NumPy that looks for traced values in lists, too, where NumPy asks none: `np.max([x, y])`."""

    @functools.wraps(function)
    def made(*args: Any, **keywords: Any) -> Any:
        found = first_wrapper([x for x in (*args, *keywords.values()) if type(x) in (list, tuple)])
        if found is None:
            return function(*args, **keywords)
        return found.__array_function__(function, (type(found),), args, keywords)

    return made


def check_requirements(requirements: Any = (), **_: Any) -> None:
    """Raise for what np.require asks of an array beside its layout."""
    if asked := sorted({x[0].upper() for x in requirements or ()} & {"A", "O", "W"}):
        raise TracingError(f"np.require asks for the flag {asked[0]!r} of an array, which is no part of the kind of call.")


def plainly_hashed(cls: type) -> bool:
    """Whether the objects of a class are hashed by their identity."""
    own: Any = cls.__hash__
    return own is object.__hash__


class _Namespace(types.SimpleNamespace):
    """The copy of a namespace: what the code does not name is not in it, so it can neither be compared nor written as text."""

    def __repr__(self) -> str:
        raise TracingError("the text of a namespace was asked for while it was traced, of which only what is named is known.")

    def __eq__(self, other: object) -> bool:
        raise TracingError("a namespace was compared while it was traced, of which only what is named is known.")

    __hash__ = None


def _copied(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of NumPy whose result is a new array, np.eye say, with a traced value for it."""

    def maker(*args: Any, **keywords: Any) -> Any:
        found = function(*args, **keywords)
        if type(found) is not np.ndarray or found.dtype.hasobject:
            return found
        given = [x for x in leaves((args, keywords)) if isinstance(x, np.ndarray)]
        return found if any(np.may_share_memory(x, found) for x in given) else ops.np.copy(found)

    return maker


# Of them and of the functions in `makers` an array is new, and nobody else's.
COPIED: tuple[Any, ...] = (
    np.eye, np.identity, np.tri, np.array, np.copy, np.zeros_like, np.ones_like, np.empty_like, np.full_like
)  # fmt: skip


class Held:
    """Copies of arrays that a function refers to, which stand for them while it runs.

    Parameters
    ----------
    arrays : list of ndarray
    """

    def __init__(self, arrays: list[np.ndarray]) -> None:
        self._arrays = arrays
        self.standing = {id(x): x.copy("K") for x in arrays}
        self._layouts = {key: layout_of(x) for key, x in self.standing.items()}

    def check(self) -> None:
        """Raise if the function has written to one."""
        changed = [x for x in self._arrays if x.tobytes() != self.standing[id(x)].tobytes()]
        if changed or any(layout_of(x) != self._layouts[key] for key, x in self.standing.items()):
            raise TracingError(
                "it writes to an array that it was not given, which a graph would leave out. Pass it as an argument."
            )


def layout_of(x: np.ndarray) -> tuple[Any, ...]:
    """Return what an array says of itself, which code may assign to."""
    return x.dtype, x.shape, x.strides


def check_heard(heard: list[DispatchError], reached: Reached) -> None:
    """Raise what was refused in a trace, whatever an `except` did with it."""
    for error in heard:  # rows try how an argument fits, which no user's code sees
        if reached.catches or not isinstance(error, ArgumentError):
            raise error


def makes(reached: Reached) -> bool:
    """Whether code names a function that makes an array."""
    return any(id(f) in reached.seen for f in (*makers, *COPIED))


class Copies:
    """Copies of values.

    Parameters
    ----------
    reached : Reached
        Says which attributes are in reach; only these are copied.
    standing : dict
        By id of an array or a float, what stands for it.
    mode : Trace, optional
        The trace of a graph that a compiled function replays, in which draws and np.errstate have their places; without one a
        Generator is refused, and np.errstate is what it is.
    made : bool
        Whether arrays that the code makes are traced values too, to which it may write others.
    """

    def __init__(self, reached: Reached, standing: dict[int, Any], mode: Any = None, *, made: bool = False) -> None:
        self.reached, self.standing = reached, standing
        self._stands = reached.writes or reached.sets
        self._first: dict[tuple[int, str], Any] = {}  # the attributes that may be stored to, of copies by their ids
        self._read: set[tuple[int, str]] = set()  # those of them that were read before
        self._metaclasses: dict[type, type] = {}  # whose classes are hashed as the originals are
        self.made: dict[int, Any] = {}  # by id of the original
        self.originals: dict[int, Any] = {}  # by id of the copy
        self._returned: set[int] = set()  # the ids of containers
        self._beside: set[int] = set()  # the ids of dicts that are copied in another way, too: nothing may be stored in them
        self.kept: list[Any] = []  # so that no id is given to another value meanwhile
        self._snapshots: list[tuple[Callable[[Any], tuple[Any, ...]], Any, str, Any]] = []
        self._shared = [(x, dict(class_dict(x) if isinstance(x, type) else vars(x))) for x in reached.shared]
        self._registered = registered(None)
        self._before: list[tuple[Any, ...]] = []
        self._mode = mode
        self._swapped: dict[int, Any] = {
            id(isinstance): self._isinstance,
            id(issubclass): self._issubclass,
            id(type): self._type,
            id(getattr): self._getattr,
            id(hasattr): self._hasattr,
            id(vars): self._vars,
        }
        if mode is not None:
            self._swapped |= {id(np.errstate): functools.partial(TracedErrstate, mode), id(DEFAULT_RNG): seeded(mode)}
        self._swapped |= {id(f): asking(f, ours) for f, ours in unasked.items()}
        if made:
            self._swapped |= {id(f): _copied(self._swapped.get(id(f), f)) for f in COPIED}
            self._swapped |= {id(f): ours for f, ours in makers.items()}
        self._builtins = {
            k: self.copy(v) if k in REFUSED_BUILTINS and is_opaque(v) else self._swapped.get(id(v), v)
            for k, v in vars(builtins).items()
        }
        self._builtins["__import__"] = self._import

    # -- copying -------------------------------------------------------------------------------------------------------------

    def copy(self, x: Any) -> Any:  # noqa: C901  one case for each kind of value
        """Return the copy of a value; the value itself where nothing in it can change."""
        cls = type(x)
        if id(x) in self.standing:
            return self.standing[id(x)]
        if cls is np.ndarray or (is_plain(x) and cls is not slice) or isinstance(x, (Tensor, OpOverload)):
            return x
        if id(x) in self.made:
            return self.made[id(x)]
        if id(x) in self._swapped:
            return self._swapped[id(x)]
        if cls is HANDED_OVER:  # where code may make a set of them or write their text, each stands for itself
            return x if self._stands else self._put(x, handed_over(x))
        if is_opaque(x):
            drawn = cls is np.random.Generator and self._mode is not None
            return self._put(x, TracedGenerator(x, self._mode, False) if drawn else Opaque(x))
        if isinstance(x, type):
            return x if not self._is_copied(x) else self._class(x)
        if cls is types.FunctionType:
            if is_listed_function(x) and not x.__closure__:
                return x
            return self._function(x)
        if cls is types.MethodType:
            return self._put(x, types.MethodType(self.copy(x.__func__), self.copy(x.__self__)))
        if isinstance(x, types.ModuleType):
            return self._module(x)
        if cls is functools.partial:
            keywords = {k: self.copy(v) for k, v in x.keywords.items()}
            self._beside.add(id(x.keywords))
            return self._put(x, functools.partial(self.copy(x.func), *map(self.copy, x.args), **keywords))
        if cls in (list, collections.deque):
            new = self._put(x, [] if cls is list else collections.deque(maxlen=x.maxlen))
            new.extend(map(self.copy, list(x)))
            return self._watched(tuple, new, "a list", x if cls is list else None)
        if cls is tuple:
            return self._put(x, tuple(map(self.copy, x)))
        if cls is slice:
            return slice(self.copy(x.start), self.copy(x.stop), self.copy(x.step))
        if cls in (dict, collections.OrderedDict):
            return self._filled(x, cls(), "a dict")
        if cls is collections.defaultdict:
            return self._filled(x, collections.defaultdict(self.copy(x.default_factory)), "a dict")
        if cls is set:
            new = self._put(x, set(x))
            if not all(map(operator.is_, new, x)):  # by the size that it once had
                raise TracingError("it refers to a set that a copy has in another order. Write sorted(values), or a list.")
            return self._watched(tuple, new, "a set")
        if cls is types.SimpleNamespace:
            new = self._put(x, _Namespace())
            for k in self.reached.attributes(vars(x)):
                setattr(new, k, self.copy(vars(x)[k]))
            self._watched(mapping_items, vars(new), "a namespace", vars(x))
            return new
        if cls is types.MappingProxyType:
            self._beside |= set(map(id, gc.get_referents(x)))
            return self._put(x, types.MappingProxyType({k: self.copy(v) for k, v in x.items()}))
        if cls in DESCRIPTORS:
            return self._descriptor(x)
        if hasattr(cls, "entries") and hasattr(x, "__wrapped__") and is_listed_class(cls):  # compiled: the function in it
            return self.copy(x.__wrapped__)
        if is_listed_class(cls) or isinstance(x, enum.Enum) or not self._is_copied(cls):
            return x
        return self._instance(x)

    def _put(self, x: Any, new: Any) -> Any:
        self.made[id(x)] = new
        self.originals[id(new)] = x
        self.kept += [x, new]
        return new

    def _watched(self, read: Callable[[Any], tuple[Any, ...]], new: Any, name: str, original: Any = None) -> Any:
        """Compare a copy afterwards; where an original is given, what the function stores in it is stored by the graph too."""
        self._snapshots.append((read, new, name, original))
        return new

    def _filled(self, x: dict[Any, Any], new: dict[Any, Any], name: str) -> Any:
        self._put(x, new)
        for k, v in list(x.items()):
            new[self.copy(k)] = self.copy(v)
        return self._watched(mapping_items, new, name, x if type(x) is dict else None)

    def _function(self, f: types.FunctionType) -> Any:
        listed = is_listed_function(f)
        known = f.__globals__ if listed else self._globals(f.__globals__)
        filled = {id(self.made[id(cell)]) for cell in f.__closure__ or () if id(cell) in self.made}
        cells = tuple([self.made.get(id(cell)) or self._put(cell, types.CellType()) for cell in f.__closure__ or ()])
        new = types.FunctionType(f.__code__, known, f.__name__, None, cells or None)
        seen = self._put(f, CopiedFunction(new, f) if self._stands else new)
        self.originals[id(new)] = f
        new.__qualname__, new.__module__, new.__doc__ = f.__qualname__, f.__module__, self.copy(f.__doc__)
        if "__annotations__" in self.reached.names:
            new.__annotations__ = self.copy(f.__annotations__)
        for name, cell, old in zip(f.__code__.co_freevars, cells, f.__closure__ or (), strict=True):
            if id(cell) in filled:
                continue  # another function has it too
            if (value := contents(old)) is not EMPTY:
                cell.cell_contents = self.copy(value)
            self._watched(cell_items, cell, f"the variable {name!r} of an enclosing function", old)
        if not listed:
            for name in names_of(f):
                if name in f.__globals__ and name not in known:
                    known[name] = None  # it may lead back here
                    known[name] = self.copy(f.__globals__[name])
        new.__defaults__ = None if f.__defaults__ is None else tuple(map(self.copy, f.__defaults__))
        new.__kwdefaults__ = None if f.__kwdefaults__ is None else self.copy(f.__kwdefaults__)
        self._beside.add(id(f.__dict__))
        if f.__dict__:
            new.__dict__.update({k: self.copy(f.__dict__[k]) for k in self.reached.attributes(f.__dict__)})
        self._watched(mapping_items, new.__dict__, f"an attribute of {f.__name__}")
        return seen

    def _globals(self, known: dict[str, Any]) -> dict[str, Any]:
        new = self.made.get(id(known))
        if new is None:
            new = {k: known[k] for k in ("__name__", "__package__") if k in known}
            new["__builtins__"] = self._builtins
            new["__warningregistry__"] = known.get("__warningregistry__", {})  # of Python's, where a line warned once
            self._put(known, new)
            self._watched(mapping_items, new, "a global", known)
        return new

    def _module(self, x: types.ModuleType) -> Any:
        listed = is_listed_module(x)
        d = vars(x)
        new = self._put(x, CopiedModule(x.__name__))
        self._beside.add(id(d))
        for name in sorted(self.reached.names & d.keys()):
            if not (listed and self.reached.is_refused(x, name, d[name])):
                setattr(new, name, self.copy(d[name]))

        def missing(name: str) -> Any:
            if name in d or ("__getattr__" in d and (not listed or hasattr(x, name))):
                raise TracingError(
                    f"it uses {x.__name__}.{name}, whose result depends on more than its arguments. Call it before, and pass "
                    "what it returns as an argument; to draw in the function, pass a Generator, np.random.default_rng(seed)."
                )
            self.reached.note_absent(x, name)
            raise AttributeError(f"module {x.__name__!r} has no attribute {name!r}")

        new.__getattr__ = missing
        self._watched(mapping_items, vars(new), f"the module {x.__name__}")
        return new

    def _descriptor(self, x: Any) -> Any:
        if isinstance(x, property):
            return self._put(x, CopiedProperty(self.copy(x.fget), self.copy(x.fset), self.copy(x.fdel), x.__doc__))
        if isinstance(x, functools.cached_property):
            new = CopiedCachedProperty(self.copy(x.func))
            new.attrname = x.attrname
            return self._put(x, new)
        return self._put(x, type(x)(self.copy(x.__func__)))

    # -- classes and instances -----------------------------------------------------------------------------------------------

    @staticmethod
    def _is_copied(x: type) -> bool:
        if is_listed_class(x) or issubclass(x, (BaseException, enum.Enum)) or not x.__flags__ & 1 << 9:
            return False
        return type(x) is type or type(x).__module__ in ABSTRACT

    def _class(self, cls: type) -> type:
        if (known := self.made.get(id(cls))) is not None:
            assert isinstance(known, type)
            return known
        d = class_dict(cls)
        if _is_bare_record(cls):  # an operator whose schema names the class takes no copy of it
            self._shared.append((cls, dict(d)))
            self._put(cls, cls)
            return cls
        bases = tuple(map(self.copy, cls.__bases__))
        named = UNREAD & self.reached.names
        first: dict[str, Any] = {
            k: d[k]
            for k in (
                "__module__",
                "__qualname__",
                "__doc__",
                "__slots__",
                "__orig_bases__",
                "__parameters__",
                "__annotations__",
            )
            if k in d
        }
        first["__qualname__"] = cls.__qualname__
        new = self._put(cls, self._metaclass(type(cls))(cls.__name__, bases, first))
        taken = self.reached.class_names(cls, called=id(cls) in self.reached.called or self.reached.makes)
        for name, value in d.items():
            if (name in first and name not in named) or type(value) in (types.MemberDescriptorType, types.GetSetDescriptorType):
                continue
            if name in taken or (name in UNREAD and name not in ("__dict__", "__weakref__", "_abc_impl")):
                copied = value if name in UNREAD - named else self.copy(value)
                known = name in ASKED_BY_ARRAYS and type(value) is types.FunctionType
                type.__setattr__(new, name, not_of_arrays(cls, name, copied) if known else copied)
            elif name in TEXTS:
                type.__setattr__(new, name, without_text(cls))
        if "__getattr__" not in d:
            type.__setattr__(new, "__getattr__", self._unnamed(cls))
        if "__repr__" not in d:  # that of every object has its address
            type.__setattr__(new, "__repr__", without_text(cls))
        if plainly_hashed(cls):  # by which a set has its order
            type.__setattr__(new, "__hash__", lambda x: object.__hash__(self.originals.get(id(x), x)))
        if self.reached.stored and not self.reached.every:
            type.__setattr__(new, "__getattribute__", self._reading())
        self._watched(mapping_items, class_dict(new), f"the class {cls.__name__}")
        assert isinstance(new, type)
        return new

    def _reading(self) -> Callable[[Any, str], Any]:
        """Return what reads an attribute of an object of the copy, and notes those that were not stored to before."""
        first, read = self._first, self._read

        def reading(x: Any, name: str) -> Any:
            found = object.__getattribute__(x, name)
            if found is first.get((id(x), name), EMPTY):
                read.add((id(x), name))
            return found

        return reading

    def unread(self, places: Iterable[Place]) -> frozenset[tuple[int, Any]]:
        """Return those of the places that are attributes which were stored to before anything read them."""
        there = {place.at for place in places}
        found = set()
        for number, name in self._first.keys() - self._read:
            original = self.originals[number]
            at = id(instance_dict(original)), name
            if at in there and not hasattr(type(original), name):
                found.add(at)
        return frozenset(found)

    def _metaclass(self, meta: type) -> type:
        """Return the class of the copy of a class: its own, or one like it where code may make a set."""
        if not self.reached.sets:
            return meta
        found = self._metaclasses.get(meta)
        if found is None:
            bases = (type,) if meta is type else (self._metaclass(type), meta)
            own = {"__hash__": lambda cls: type.__hash__(self.originals.get(id(cls), cls))}
            found = self._metaclasses[meta] = type(meta.__name__, bases, own)
            self.originals[id(found)] = meta
        return found

    def _unnamed(self, cls: type) -> Callable[[Any, str], Any]:
        """Return what an object of the copy answers for an attribute that it lacks: the original's may not be named."""

        def missing(x: Any, name: str) -> Any:
            if hasattr(cls, name) or hasattr(self.originals.get(id(x)), name):
                raise TracingError(
                    f"it asks for the attribute {name!r} of a {cls.__name__} as its code does not show. Write x.{name}."
                )
            raise AttributeError(f"{cls.__name__!r} object has no attribute {name!r}")

        return missing

    def _instance(self, x: Any) -> Any:
        cls = self._class(type(x))
        if isinstance(x, tuple):
            return self._put(x, tuple.__new__(cls, map(self.copy, tuple.__getitem__(x, slice(None)))))
        new = self._put(x, object.__new__(cls))
        d, own = instance_dict(x), instance_dict(new)
        if d is not None and own is not None:
            for name in self.reached.attributes(d):
                own[name] = self.copy(d[name])
                if name in self.reached.stored:
                    self._first[id(new), name] = own[name]
            self._watched(mapping_items, own, f"an attribute of a {cls.__name__}", d)
        old = {(m.__objclass__.__name__, m.__name__): m for m in slots_of(type(x))}
        for member in slots_of(cls):
            with contextlib.suppress(AttributeError):
                member.__set__(new, self.copy(old[member.__objclass__.__name__, member.__name__].__get__(x)))
        self._watched(slot_items, new, f"a slot of a {cls.__name__}", x)
        return new

    # -- running -------------------------------------------------------------------------------------------------------------

    def call(self, f: Callable[..., Any], args: Iterable[Any], keywords: dict[str, Any]) -> Any:
        """Return what the copy of a function returns for the copies of arguments, and put back what is not copied."""
        called, positional = self.copy(f), [self.copy(x) for x in args]
        named = {k: self.copy(x) for k, x in keywords.items()}
        self.remember()
        try:
            return called(*positional, **named)
        finally:
            self.restore()

    def remember(self) -> None:
        """Keep what the copy holds now."""
        self._before = [read(x) for read, x, *_ in self._snapshots]

    def restore(self) -> None:
        """Put back what is not copied, and raise if it was changed."""
        for x, before in self._shared:
            now = class_dict(x) if isinstance(x, type) else vars(x)
            changed = [k for k in now.keys() | before.keys() if now.get(k, EMPTY) is not before.get(k, EMPTY)]
            for name in changed:
                set_, delete = (type.__setattr__, type.__delattr__) if isinstance(x, type) else (setattr, delattr)
                set_(x, name, before[name]) if name in before else delete(x, name)
            if changed:
                raise TracingError(f"it changes {min(changed)!r} of {x} when it runs, which a graph would leave out.")

    def stores(self, allowed: bool) -> list[tuple[Place, Any]]:
        """Return what the copy has stored and where that belongs in the originals; raise for any other change of the copy."""
        if "register" in self.reached.asked() and registered(None) != self._registered:  # else a library did, that was loaded
            raise TracingError("it registers a class with an abstract one when it runs, which a graph would leave out.")
        compared = {id(guard.holder): guard.path for guard in self.reached.guards} if allowed else {}
        found: list[tuple[Place, Any]] = []
        once = collections.Counter([id(original) for *_, original in self._snapshots])
        for (read, x, name, original), before in zip(self._snapshots, self._before, strict=False):
            now = read(x)
            if len(now) == len(before) and all(a is b for a, b in zip(now, before, strict=True)):
                continue
            places = None
            if id(original) in compared and id(original) not in self._beside and once[id(original)] == 1:
                slots = {(m.__objclass__.__name__, m.__name__): m for m in slots_of(type(original))}
                members = [slots[m.__objclass__.__name__, m.__name__] for m in slots_of(type(x))] if slots else []
                places = stored(original, members, before, now)
            if places is None:
                key = next((k for k, a, b in zip(now[::2], now[1::2], before[1::2], strict=False) if a is not b), None)
                what = f"{name}, {key!r}," if isinstance(key, str) else name
                holder = self.originals.get(id(x))
                path = next((guard.path for guard in self.reached.guards if guard.holder is holder), "")
                what = f"{path}, {what.rstrip(',')}," if holder is not None and path else what
                raise TracingError(f"it changes {what} when it runs, which a graph would leave out.")
            for place, value in places:
                found.append((place._replace(path=f"{compared[id(original)] or 'argument'}{place.path}"), value))
        return [(place, self._stored(place.path, value)) for place, value in found]

    def _stored(self, path: str, x: Any) -> Any:
        try:
            return self.back(x)
        except TracingError as error:
            raise TracingError(str(error).replace("it returns", f"it stores as {path}", 1)) from None

    def back(self, x: Any) -> Any:  # noqa: C901  one case for each kind of value
        """Return a result of the copy as the function would return it."""
        if isinstance(x, Tensor):
            return x
        if type(x) is TracedNumber:
            return x
        original = self.originals.get(id(x))
        if original is not None:
            if type(x) is not tuple and opened(original, is_array) is not None:  # a record's copy is of a class of its own
                raise TracingError(
                    "it returns a container that it was given or refers to, and a graph makes a new one each time."
                )
            if type(x) is not tuple:
                return original
        if is_plain(x):
            return x
        if type(x) is np.ndarray:
            if not x.flags.writeable or x.dtype.hasobject:
                what = "of Python objects" if x.dtype.hasobject else "which is read-only"
                raise TracingError(f"it returns an array that it made of no input, {what}: a graph would return another.")
            return x
        items = opened(x, is_array)
        if (items is not None or items_of(x) is not None) and type(x) is not tuple:
            if id(x) in self._returned:
                raise TracingError(f"it returns one {type(x).__name__} in two places, and a graph makes two.")
            self._returned.add(id(x))
        if type(x) in (list, tuple):
            return type(x)(map(self.back, x))
        if type(x) is dict:
            return {int(k) if type(k) is SymInt else plain(k): self.back(v) for k, v in x.items()}
        cls = self.originals.get(id(type(x)), type(x))
        if isinstance(x, tuple) and hasattr(cls, "_fields"):
            return tuple.__new__(cls, map(self.back, x))
        if items is not None and not isinstance(x, (list, tuple, dict)):
            if len(instance_dict(x) or items) != len(items):
                raise TracingError(
                    f"it returns a {cls.__name__} with attributes beside its fields, which a graph would leave out."
                )
            opened_as = object.__new__(cls)
            names = list(getattr(cls, "__dataclass_fields__", {}))
            for name, item in zip(names, items, strict=True):
                object.__setattr__(opened_as, name, self.back(item))
            return opened_as
        if isinstance(x, type) or (is_listed_class(type(x)) and type(x) is types.BuiltinFunctionType):
            return x
        raise TracingError(f"it returns a {cls.__name__} that it made, which would be the same one each time. Return arrays.")

    # -- the builtins of the copy --------------------------------------------------------------------------------------------

    def _class_of(self, x: Any) -> type:
        """The class that a value has outside of the trace."""
        if type(x) is Opaque:
            return type(self.originals[id(x)])
        if type(x) is TracedGenerator:
            return np.random.Generator
        if isinstance(x, Tensor):
            if not x.shape:
                if is_python_bool(x):
                    return bool
                raise TracingError("the class of a traced value without axes was asked for, which may be an array or a number.")
            return np.ndarray
        if type(x) in STANDING:
            return STANDING[type(x)]
        if type(x) in self._metaclasses.values():
            return type(self.originals.get(id(x), x))
        return types.SimpleNamespace if type(x) is _Namespace else type(x)

    def _classes(self, classes: Any) -> Any:
        if type(classes) is tuple:
            return tuple(map(self._classes, classes))
        if typing.get_origin(classes) in (typing.Union, types.UnionType):
            return tuple(map(self._classes, classes.__args__))
        found: Any = type if classes == self._type else self.originals.get(id(classes), classes)
        return found

    def _isinstance(self, x: Any, classes: Any) -> bool:
        classes = self._classes(classes)
        if isinstance(x, Tensor):
            if not x.shape and not is_python_bool(x):
                is_array, is_number = isinstance(np.empty(0), classes), isinstance(x.dtype.type(), classes)
                if is_array == is_number:
                    return is_array
            x = True if self._class_of(x) is bool else np.empty(0)
        elif type(x) in NUMBERS:
            x = NUMBERS[type(x)]()
        elif type(x) is TracedGenerator:
            return issubclass(np.random.Generator, classes)
        elif type(x) is CopiedMethod:
            return issubclass(types.MethodType, classes)
        elif (original := self.originals.get(id(x))) is not None:  # whose class may be registered with an abstract one
            x = original
        elif (cls := self.originals.get(id(type(x)))) is not None:
            return issubclass(cls, classes)
        return isinstance(x, classes)

    def _issubclass(self, cls: Any, classes: Any) -> bool:
        return issubclass(self._classes(cls), self._classes(classes))

    def _type(self, x: Any, *more: Any) -> type:
        if more:
            raise TracingError("it makes a class by type(), which would be another one each time.")
        return self._class_of(x)

    def _getattr(self, x: Any, name: str, *default: Any) -> Any:
        self._check_dynamic(x, name)
        return getattr(x, name, *default)

    def _hasattr(self, x: Any, name: str) -> bool:
        self._check_dynamic(x, name)
        return hasattr(x, name)

    def _check_dynamic(self, x: Any, name: str) -> None:
        unknown = isinstance(x, types.ModuleType) and name not in self.reached.names
        if unknown or isinstance(x, Tensor) or (name.startswith("__") and name.endswith("__")):
            raise TracingError(
                f"it asks for the attribute {name!r} of a {type(x).__name__} by getattr or hasattr. Write x.{name}."
            )

    def _import(self, *what: Any) -> Any:
        return self.copy(IMPORT(*what))

    def _vars(self, x: Any) -> Any:
        if isinstance(x, (types.ModuleType, type, types.FunctionType)):
            raise TracingError(f"it asks for the variables of a {type(x).__name__}, which nobody compares.")
        return vars(x)


def names_of(f: types.FunctionType) -> list[str]:
    """Return the globals that a function names."""
    return sorted(names_in(f.__code__).globals)


def mapping_items(x: Any) -> tuple[Any, ...]:
    """Return keys and values, one after the other."""
    return tuple([part for pair in x.items() for part in pair])


def cell_items(x: types.CellType) -> tuple[Any, ...]:
    """Return what is in a cell."""
    return (contents(x),)


def slot_items(x: Any) -> tuple[Any, ...]:
    """Return what is in the slots of an object."""
    found: list[Any] = []
    for member in slots_of(type(x)):
        try:
            found += [member.__name__, member.__get__(x)]
        except AttributeError:
            found += [member.__name__, EMPTY]
    return tuple(found)


def not_of_arrays(cls: type, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method that refuses a traced value: NumPy asks it once for each element, and hands it Python's numbers."""

    def asked(self: Any, other: Any) -> Any:
        if isinstance(other, Tensor):
            raise TracingError(
                f"it hands an array to {name} of a {cls.__name__}, which NumPy calls with one number after the other "
                "where the array stands first. Compute with what is in the object."
            )
        return method(self, other)

    return asked


def without_text(cls: type) -> Callable[..., Any]:
    """Return a method that refuses to give the text of an object."""

    def method(*_: Any) -> Any:
        raise TracingError(
            f"the text or a copy of a {cls.__name__} was asked for while it was traced, and nobody has read how it is made."
        )

    return method
