"""Reads functions in C that are the loop of a generalised ufunc, whatever object they come in.

    void loop(char **args, npy_intp const *dimensions, npy_intp const *steps, void *data)

ctypes, cffi, Numba, SciPy and capsules each know the signature of a function in their own way. All of it becomes text here,
the way C writes it, and that is checked once: a function of another signature would read and write anywhere. An object is known
by the module of its class, so that no library is imported.
"""

import ctypes
import os
import re
import sys
import types
from typing import Any, NamedTuple

import numpy as np

from ...errors import DefinitionError, kind_of
from .c_gufunc import capsule_contents

SIGNATURE = "void (char **, npy_intp const *, npy_intp const *, void *)"
# What C and its libraries call an integer of a pointer's size that may be negative: npy_intp.
INTP = {"npy_intp", "Py_intptr_t", "intptr_t", "Py_ssize_t", "ssize_t", "ptrdiff_t", "npy_int64", "int64_t"} | {
    name for name, kind in (("long", ctypes.c_long), ("long long", ctypes.c_longlong), ("int", ctypes.c_int))
    if ctypes.sizeof(kind) == ctypes.sizeof(ctypes.c_void_p)
}  # fmt: skip
ADDRESS = INTP | {f"unsigned {name}" for name in INTP} | {"size_t", "uintptr_t", "npy_uintp", "uint64_t"}
_OF_CTYPES = {
    "b": "signed char", "B": "unsigned char", "c": "char", "h": "short", "H": "unsigned short", "i": "int", "I": "unsigned int",
    "l": "long", "L": "unsigned long", "q": "long long", "Q": "unsigned long long", "f": "float", "d": "double",
    "g": "long double", "?": "_Bool", "P": "void *", "z": "char *", "Z": "wchar_t *", "O": "PyObject *", "u": "wchar_t",
}  # fmt: skip
_PYTHON_API = 4  # ctypes: a function that is called with the interpreter's lock held

# What `op.cfunc` is. Numba makes a void * of `array.ctypes`, and has no other way to one: the data is a number.
Loop = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
OF_NUMBERS = "A function of numbers, double f(double), is called in a kernel in Python, or by a loop in C: docs/c_kernels.md."


class CFunction(NamedTuple):
    """The address of a function, the data it is given, and the object that keeps its code."""

    address: int
    data: int
    source: object


def c_function(x: Any, operator: str) -> CFunction:
    """Read a function of a gufunc's signature; DefinitionError says what is wrong with one that is not."""
    found = _read(x, operator)
    if not found.address:
        raise DefinitionError(f"{operator}: cfunc= is {kind_of(x)} that points to nothing, NULL.", operator=operator)
    return found


def _read(x: Any, operator: str) -> CFunction:
    library = type(x).__module__.partition(".")[0]
    if isinstance(x, ctypes._CFuncPtr):  # type: ignore[attr-defined]  # noqa: SLF001  the base of all that ctypes calls
        return CFunction(_of_ctypes(x, operator), 0, x)
    if type(x).__name__ == "PyCapsule":
        return _of_capsule(x, x, operator)
    if library == "_cffi_backend":
        return CFunction(_of_cffi(x, operator), 0, x)
    if library == "numba" and hasattr(x, "address") and hasattr(x, "ctypes"):
        return CFunction(_of_ctypes(x.ctypes, operator), 0, x)
    if library == "scipy" and isinstance(x, tuple):  # LowLevelCallable: first a capsule, whose context is the data
        _refuse_python(getattr(x, "function", None), operator)
        return _of_capsule(tuple.__getitem__(x, 0), x, operator)
    refuse_python(x, operator)
    raise DefinitionError(
        f"{operator}: cfunc= is a function in C: of ctypes or cffi, a Numba cfunc, a capsule, a scipy.LowLevelCallable; and "
        f"{kind_of(x)} was given. See docs/c_kernels.md.",
        operator=operator,
    )


def refuse_python(x: Any, operator: str) -> None:
    """Refuse what is no function in C at first sight: one in Python, a library or its path, an address."""
    if isinstance(x, (str, bytes, os.PathLike)):
        advice = "A library is loaded, and its function given: ctypes.CDLL(path).name."
    elif isinstance(x, (ctypes.CDLL, types.ModuleType)):
        advice = "Give one of its functions: lib.name."
    elif isinstance(x, int):
        advice = "An address does not say what is there: give ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)(address)."
    elif isinstance(x, (types.FunctionType, types.BuiltinFunctionType, np.ufunc)):
        advice = "A function in Python is registered as it is: register_kernel('cpu', fn)."
    else:
        return
    raise DefinitionError(f"{operator}: cfunc= is a function in C, and {kind_of(x)} was given. {advice}", operator=operator)


def _of_ctypes(f: Any, operator: str) -> int:
    if f.argtypes is None:
        raise DefinitionError(
            f"{operator}: ctypes does not know which arguments the function takes. Of the loop of a gufunc, {SIGNATURE}, say "
            "it: f.restype = None; f.argtypes = [ctypes.c_void_p] * 4. " + OF_NUMBERS,
            operator=operator,
        )
    if type(f)._flags_ & _PYTHON_API:
        raise DefinitionError(
            f"{operator}: a function of ctypes.PyDLL or PYFUNCTYPE needs the interpreter's lock, which the loop does not hold. "
            "Load its library by ctypes.CDLL.",
            operator=operator,
        )
    _refuse_python(f, operator)
    _check(_spelled(f.restype), [_spelled(kind) for kind in f.argtypes], operator)
    return ctypes.c_void_p.from_buffer(f).value or 0  # a cast would make a cycle of the function and itself


def _spelled(kind: Any) -> str:
    """A type of ctypes as C writes it."""
    if kind is None:
        return "void"
    if isinstance(kind, type) and issubclass(kind, ctypes._Pointer):  # noqa: SLF001
        return f"{_spelled(kind._type_)} *"
    return _OF_CTYPES.get(getattr(kind, "_type_", None) or "", getattr(kind, "__name__", str(kind)))


def _of_cffi(x: Any, operator: str) -> int:
    backend: Any = sys.modules["_cffi_backend"]
    kind = backend.typeof(x) if isinstance(x, backend.FFI.CData) else None
    if kind is None or kind.kind != "function":
        said = f"{kind.cname}, which is no function" if kind is not None else kind_of(x)
        raise DefinitionError(
            f"{operator}: cfunc= is of cffi, and is {said}. Give the function's address: ffi.addressof(lib, 'name').",
            operator=operator,
        )
    _refuse_python(x, operator)
    _check(kind.result.cname, [one.cname for one in kind.args], operator)
    return int(backend.FFI().cast("uintptr_t", x))


def _refuse_python(x: Any, operator: str) -> None:
    """A function in Python behind a pointer takes the lock for each call, and what it raises is printed and lost."""
    if any(type(held).__name__ == "CThunkObject" for held in (getattr(x, "_objects", None) or {}).values()) or (
        type(x).__module__ == "_cffi_backend" and " calling <" in repr(x)
    ):
        raise DefinitionError(
            f"{operator}: cfunc= points to a function in Python, whose exceptions would be lost. Register that function: "
            "register_kernel('cpu', fn).",
            operator=operator,
        )


def _of_capsule(capsule: Any, source: object, operator: str) -> CFunction:
    name, address, context = capsule_contents(capsule)
    found = re.fullmatch(r"\s*([^(]*?)\s*\((.*)\)\s*((noexcept|nogil)\s*)*", name or "")
    if found is None:
        said = "has no name" if name is None else f"has the name {name!r}"
        raise DefinitionError(
            f"{operator}: the capsule {said}. A capsule of a function has its signature as its name, {SIGNATURE!r}.",
            operator=operator,
        )
    _check(found[1], found[2].split(","), operator)
    return CFunction(address, context, source)


def _check(result: str, parameters: list[str], operator: str) -> None:
    """Refuse what is not the loop of a gufunc."""
    kinds = [_bare(text) for text in parameters]
    if (
        _bare(result) == "void"
        and len(kinds) == 4
        and (kinds[0].endswith("**") or kinds[0] == "void*" or kinds[0].removesuffix("*") in ADDRESS)
        and all(kind == "void*" or (kind.endswith("*") and kind[:-1] in INTP) for kind in kinds[1:3])
        and (kinds[3].endswith("*") or kinds[3] in ADDRESS)
    ):
        return
    given = f"{result.strip()} ({', '.join(text.strip() for text in parameters)})"
    raise DefinitionError(
        f"{operator}: cfunc= is {given}, and the loop of a gufunc is {SIGNATURE}: the first item of each array, the number "
        "of items and the sizes of the dimensions, the steps from item to item and inside of one, and what was registered "
        f"with it. {OF_NUMBERS}",
        operator=operator,
    )


def _bare(text: str) -> str:
    """A type without `const`, a parameter's name and spaces before stars."""
    text = re.sub(r"\b(const|struct|restrict|__restrict)\b", " ", text)
    text = re.sub(r"\*\s*[A-Za-z_]\w*\s*$", "*", text)
    return re.sub(r"\s*\*\s*", "*", " ".join(text.split()))
