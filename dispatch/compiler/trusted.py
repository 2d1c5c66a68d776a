"""What `compile` takes to be functions of their arguments: NumPy, this package, parts of SciPy and Python's library.

Other code is read. Where a module is installed makes no difference: what is neither listed here nor code that can be read is
refused.
"""

import builtins
import sys
import types
from typing import Any

import numpy as np

PACKAGE = __name__.partition(".")[0]

# The modules of the standard library whose functions depend on their arguments alone. Not `random`, `time`, `os`, `threading`,
# `copy` (it copies what nobody named), `inspect`, `gc`, `weakref`.
LISTED = frozenset(
    f"numpy {PACKAGE} builtins math cmath operator _operator itertools functools _functools collections _collections_abc "
    "_collections heapq _heapq bisect _bisect contextlib dataclasses enum abc _abc typing numbers fractions string types "
    "__future__ _frozen_importlib".split()
)

# Of SciPy the packages that compute, and what they are written with: each decorates its functions by some that keep caches.
OF_SCIPY = ("scipy.special.", "scipy.linalg.", "scipy.fft.", "scipy._lib.")

# Of these: what sets or says what all share, or draws.
REFUSED_SCIPY = frozenset(
    "seterr geterr errstate test interpolative clarkson_woodruff_transform check_random_state rng_integers "
    "set_backend skip_backend set_global_backend register_backend set_workers get_workers".split()
)

# Of the builtins: what reads or says more than its arguments are, and what makes code.
REFUSED_BUILTINS = frozenset(
    "open input print eval exec compile globals locals id hash dir __import__ breakpoint memoryview help quit exit "
    "__build_class__".split()
)

# Of NumPy: what depends on more than its arguments, changes what all share, reads files, or looks behind an array.
REFUSED_NUMPY = frozenset(
    "seterr geterr seterrcall geterrcall setbufsize getbufsize printoptions set_printoptions get_printoptions "
    "array2string array_repr array_str format_float_positional format_float_scientific load save savez savez_compressed "
    "set_default_printstyle savetxt loadtxt genfromtxt fromfile fromregex fromstring frombuffer from_dlpack memmap "
    "frompyfunc nditer nested_iters ndindex ndenumerate flatiter busdaycalendar "
    "may_share_memory shares_memory byte_bounds as_strided testing ctypeslib f2py show_config show_runtime info test "
    "get_include isscalar iterable asarray_chkfinite vectorize poly1d ma matrix bmat recarray rec char chararray".split()
)

# The other names of an array: they say something else of a traced value, or say what is no part of the kind of call.
ARRAYS_OWN = frozenset(
    "flags base ctypes strides setflags metadata __array_interface__ __array_struct__ __array_priority__ data "  # of an array
    "value level rank key family detach read_only".split()  # of a traced value
)

WRITE_FILES = frozenset({"dump", "tofile"})  # methods of an array that the code has made, say

# Attributes that lead to what was not read.
REFUSED_ATTRIBUTES = frozenset(
    "__class__ __dict__ __globals__ __closure__ __code__ __subclasses__ __mro__ __bases__ __self__ __func__ __wrapped__ "
    "gi_frame f_globals f_locals f_back tb_frame __builtins__ __getattribute__ __loader__ __spec__ __weakref__ cell_contents "
    "__reduce__ __reduce_ex__ __getstate__ __setstate__ __traceback__ __defaults__ __kwdefaults__ cache_info "
    "cache_clear __instancecheck__ __subclasscheck__ __type_params__ __hash__ "
    "__args__ __origin__ __supertype__ __bound__ __constraints__ __repr__ __str__ __format__".split()
)

# Of these a number of NumPy's has none, and a traced value does not say which it is.
REFUSED_ATTRIBUTES |= frozenset(
    f"__i{name}__" for name in "add sub mul truediv floordiv mod pow matmul and or xor lshift rshift".split()
)

# Whoever names one of these, or refers to it, may ask for any attribute: `"{0.scale}".format(x)` does.
ANY_ATTRIBUTE = frozenset(
    "getattr hasattr setattr delattr vars attrgetter methodcaller format format_map vformat Formatter".split()
)

DEFAULT_RNG = np.random.default_rng

_SCALAR_BASES = (np.generic, np.dtype, np.ufunc)


def is_listed(module: Any) -> bool:
    """Whether a module, by name, is one of the listed ones or inside one."""
    return isinstance(module, str) and (module.partition(".")[0] in LISTED or f"{module}.".startswith(OF_SCIPY))


def is_listed_function(f: types.FunctionType) -> bool:
    """Whether a function was written in a listed module, and not only says so."""
    name: Any = f.__globals__.get("__name__")
    if isinstance(name, str) and name.startswith("namedtuple_"):  # what collections.namedtuple makes
        return set(f.__globals__) <= {"__name__", "__builtins__", "_tuple_new"}
    module = sys.modules.get(name) if is_listed(name) else None
    return module is not None and vars(module) is f.__globals__


def version_of(module: str) -> str:
    """The version of the package that a listed module belongs to, by which its functions change."""
    return str(getattr(sys.modules.get(module.partition(".")[0]), "__version__", ""))


def is_listed_module(module: types.ModuleType) -> bool:
    """Whether a module is a listed one, and not only says so."""
    return is_listed(module.__name__) and sys.modules.get(module.__name__) is module


def is_listed_class(cls: type) -> bool:
    """Whether a class belongs to a listed module, and not only says so: it stands there, or C made it."""
    if not is_listed(cls.__module__):
        return False
    if not cls.__flags__ & 1 << 9:  # a class statement made those that have it
        return True
    return stands_there(cls)


def refused_of(module: str, name: str) -> bool:
    """Whether a name of a listed module is refused."""
    top = module.partition(".")[0]
    if module == "numpy.lib":
        return name not in ("", "stride_tricks")
    if top == "numpy":
        if module == "numpy.random":
            return name not in ("", "default_rng", "Generator")  # of a seed; for isinstance
        return module.startswith("numpy.random") or name in REFUSED_NUMPY
    if top == "scipy":
        return name in REFUSED_SCIPY or module.startswith("scipy.linalg.interpolative")
    if top == "builtins":
        return name in REFUSED_BUILTINS
    if top == "dataclasses":
        return name == "make_dataclass"
    if top in ("typing", "abc"):
        return name in ("get_type_hints", "get_overloads", "get_args", "get_origin", "get_cache_token")
    if top == "functools":
        return name in ("lru_cache", "cache", "singledispatch", "singledispatchmethod", "_lru_cache_wrapper")
    if top == "types":
        return name in ("FunctionType", "CodeType", "LambdaType", "CellType", "new_class", "FrameType")
    if top == "contextlib":
        return name in ("redirect_stdout", "redirect_stderr", "chdir")
    return False


def is_opaque(x: Any) -> bool:
    """Whether a value is a function that cannot be read, or a function or an object of the rest of the standard library.

    Code may name it, on a branch that is not taken, say; it is refused where a trace uses it.
    """
    if type(x) is types.BuiltinFunctionType:
        owner, module = x.__self__, str(x.__module__)
        if not isinstance(owner, (types.ModuleType, type, types.NoneType)) or x.__name__ in ("__import__", "__build_class__"):
            return False
        return not is_listed(owner.__module__ if isinstance(owner, type) else module) or bool(refused_of(module, x.__name__))
    if type(x) is types.FunctionType:
        name, found = x.__globals__.get("__name__"), x.__globals__
    elif str(type(x).__module__).startswith("numpy.random.") and not isinstance(x, (type, types.ModuleType)):
        return True  # a generator
    elif type(x).__flags__ & 1 << 9 and not isinstance(x, (type, types.ModuleType)):
        name, found = type(x).__module__, None
    else:
        return False
    if not isinstance(name, str) or is_listed(name) or name.partition(".")[0] not in sys.stdlib_module_names:
        return False
    module_of: Any = sys.modules.get(name)
    return getattr(module_of, "__dict__", None) is found if found is not None else stands_there(type(x))


def stands_there(x: Any) -> bool:
    """Whether a class or function is what its module has by its name."""
    found: Any = sys.modules.get(str(x.__module__))
    for name in x.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is x


def answers_itself(cls: type) -> str:
    """Return the method of yours that runs where anything is asked of a value of a class; "" where none does.

    `isinstance` asks a value for its `__class__`, and a set asks a class for its hash.

    Examples
    --------
    >>> answers_itself(dict)
    ''
    >>> Counting = type("Counting", (), {"__getattribute__": lambda self, name: None, "__module__": "yours"})
    >>> answers_itself(Counting)
    '__getattribute__'
    """
    if type(cls) is type and not cls.__flags__ & 1 << 9:  # made by C
        return ""
    for kind, names in ((cls, OF_VALUES), (type(cls), OF_CLASSES)):
        for base in _MRO(kind) if kind is not type else ():
            d = _DICT(base)
            for name in names if _FLAGS(base) & 1 << 9 and not is_listed(d.get("__module__")) else ():
                if name in d and type(d[name]) not in _OF_C:
                    return name
    return ""


OF_VALUES = frozenset({"__getattribute__", "__class__"})
OF_CLASSES = frozenset({"__getattribute__", "__class__", "__getattr__", "__hash__", "__eq__"})
_MRO: Any = type.__dict__["__mro__"].__get__  # which ask nothing of the metaclass
_DICT: Any = type.__dict__["__dict__"].__get__
_FLAGS: Any = type.__dict__["__flags__"].__get__
_OF_C = (types.WrapperDescriptorType, types.MethodDescriptorType, types.GetSetDescriptorType, types.NoneType)


def is_plain(x: Any) -> bool:
    """Whether a value cannot change and holds nothing that can."""
    cls = type(x)
    if cls in _PLAIN:
        return True
    if cls is slice:
        return all(map(is_plain, (x.start, x.stop, x.step)))
    return isinstance(x, _SCALAR_BASES) and not isinstance(x, (np.void, np.object_)) and is_listed_class(cls)


_PLAIN = frozenset(
    (int, float, complex, str, bytes, bool, range, types.NoneType, types.EllipsisType, types.NotImplementedType, types.CodeType)
)
BUILTINS = vars(builtins)


def same_dtypes(x: "np.dtype[Any]", y: "np.dtype[Any]") -> bool:
    """Whether two dtypes say the same to whoever asks: equal ones may be of two C types, or lay out fields otherwise."""
    return x is y or (type(x) is type(y) and bool(x == y) and (x.names is None or dtype_text(x) == dtype_text(y)))


def dtype_text(dtype: "np.dtype[Any]") -> str:
    """Return the text of a dtype, with the names of its fields, and which of the dtypes in it are aligned.

    Examples
    --------
    >>> dtype_text(np.dtype([("a", "i1")], align=True))
    "dtype([('a', 'i1')], align=True)1dtype('int8')0"
    """
    inner = [] if dtype.fields is None else [dtype_text(field[0]) for field in dtype.fields.values()]
    return f"{dtype!r}{dtype.isalignedstruct:d}{''.join(inner)}"
