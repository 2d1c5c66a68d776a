"""Refuses what cannot be a kernel, with the line to write in its place."""

import inspect
from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

from ..core import OpOverload
from ..core.source import innermost
from ..dispatcher.conversion_advice import of_ctypes
from ..errors import DefinitionError, kind_of

_SUSPENDED = inspect.CO_COROUTINE | inspect.CO_GENERATOR | inspect.CO_ASYNC_GENERATOR  # flags of code that returns no value


def check_kernel(name: str, fn: Any, *, inferred: bool) -> None:
    """Refuse what is no function from arrays to arrays.

    Parameters
    ----------
    name : str
        The operator's name, for the message.
    fn : object
    inferred : bool
        Whether the schema is to be read from the function's hints.

    Raises
    ------
    DefinitionError
        What was given, and what to write.

    Examples
    --------
    >>> check_kernel("mylib::f", np.sin, inferred=True)
    Traceback (most recent call last):
    dispatch.errors.DefinitionError: mylib::f: np.sin is a ufunc: NumPy knows its types, and no hints are needed. Write
    from_ufunc(np.sin, "mylib::f").
    """
    said = _why_not(name, fn, inferred=inferred)
    if said:
        raise DefinitionError(f"{name}: {said}", operator=name)


def _why_not(name: str, fn: Any, *, inferred: bool) -> str:
    plain = type(fn) is FunctionType and not fn.__code__.co_flags & _SUSPENDED and not hasattr(fn, "__wrapped__")
    if plain and not inspect.iscoroutinefunction(fn):  # since CPython 3.12 a plain function may be marked as one
        return _of_method(fn) if inferred else ""
    short = name.rpartition("::")[2]
    if isinstance(fn, (staticmethod, classmethod)):
        kind = type(fn).__name__
        above = "put @staticmethod above @custom_op" if kind == "staticmethod" else "write a function beside the class"
        return f"a {kind} was given, which is an attribute of a class. An operator is a function: {above}."
    if isinstance(fn, property):
        return "a property was given, which is an attribute of a class. An operator is a function: write one of what it reads."
    if not callable(fn):
        return f"a kernel is a function, and {kind_of(fn)} was given."
    if isinstance(fn, OpOverload) and fn.name == name:
        return "the function that was given is this operator already. Decorate once; its function is op.__wrapped__."
    if isinstance(fn, np.ufunc) or isinstance(getattr(fn, "ufunc", None), np.ufunc):  # Numba's have one
        if not inferred:
            return ""
        word = _word_of(fn)
        spelled = f"np.{word}" if getattr(np, word, None) is fn else word
        return (
            f"{spelled} is a ufunc: NumPy knows its types, and no hints are needed. "
            f'Write from_ufunc({spelled}, "{name}").'
        )
    if said := of_ctypes(fn, short):
        return said
    if inferred and type(fn).__module__ == "_cffi_backend":
        return (
            "a function of cffi takes numbers and pointers and says nothing of arrays. Write a function around it, which makes "
            f"the result and gives it pointers, ffi.from_buffer(\"double[]\", x): def {short}(x: np.ndarray) -> np.ndarray: ..."
        )
    if inferred and (framework := str(getattr(fn, "__module__", "")).partition(".")[0]) in ("torch", "jax"):
        return (
            f"{_word_of(fn)} is a function of {framework}, which takes no arrays of NumPy. Write "
            f"dispatch.interop.{framework}.wrap({_word_of(fn)}), which makes an operator of it."
        )
    if isinstance(fn, np.vectorize):
        return (
            "np.vectorize says nothing of its arguments. Write the operator of the function in it, which gets one item at a "
            f'time: custom_op("{name}", f, mutates_args=(), signature="()->()").'
        )
    if inspect.isclass(fn):
        return (
            f"{fn.__qualname__} is a class, and a call of it makes an object. Write a function that returns arrays: "
            f"def {short}(x: np.ndarray) -> np.ndarray: return {fn.__qualname__}(...).method(x)."
        )
    function: Callable[..., Any] = innermost(fn)  # type: ignore[assignment]
    flags = getattr(getattr(function, "__code__", None), "co_flags", 0)
    if inspect.iscoroutinefunction(function) or flags & inspect.CO_ASYNC_GENERATOR:
        return (
            f"{function.__qualname__} is async: a call of it returns no arrays. Make the operator of a plain function, and "
            "await what it needs before the call."
        )
    if flags & inspect.CO_GENERATOR:
        return (
            f"{function.__qualname__} yields: a call of it returns a generator, and no arrays. Return them all: "
            "a list[np.ndarray], or one array, np.stack(parts)."
        )
    return _of_method(fn) if inferred and inspect.isfunction(fn) else ""


def _word_of(fn: Any) -> str:
    """The name of a function where it can be written in code, `f` of any other."""
    name = str(getattr(fn, "__name__", "f"))
    return name if name.isidentifier() else "f"


def _of_method(function: Any) -> str:
    """What is wrong with a method of a class that is decorated where it is written."""
    code = function.__code__
    in_class = "." in function.__qualname__.rpartition("<locals>.")[2]
    first = code.co_varnames[0] if code.co_argcount else ""
    if first not in ("self", "cls") or (first in function.__annotations__ and not in_class):  # torch's kernels have a `self`
        return ""
    return (
        f"{function.__qualname__} takes {first}: it is a method, and an operator is a function of arrays and plain values. "
        "Write a function beside the class, and call it in the method with what it needs: "
        f"{function.__name__}(x, {first}.scale)."
    )


def refuse_bare(fn: Any) -> DefinitionError:
    """Return the error for `@custom_op` without its parentheses."""
    word = getattr(fn, "__name__", "f")
    word = word if word.isidentifier() else "f"  # a lambda's is no name
    return DefinitionError(
        f"custom_op takes the operator's name first, and was given {kind_of(fn)}. Write it as "
        f'@custom_op("mylib::{word}", mutates_args=()) above the function.'
    )


def refuse_unnamed(name: Any) -> DefinitionError:
    """Return the error for a `custom_op` whose first argument is no text."""
    return DefinitionError(f'custom_op takes the operator\'s name first, "mylib::f", and was given {kind_of(name)}.')


def refuse_unsaid(name: Any) -> DefinitionError:
    """Return the error for a `custom_op` that does not say what is written to."""
    return DefinitionError(
        f"{name}: mutates_args= is missing, the names of the arguments that the function writes to. Write mutates_args=() if "
        "it writes to none."
    )


def above_a_rule(layer: str) -> str:
    """What to write where a verb stands above a rule without its operator, with a space before it."""
    verb = f"register_{layer}"
    return f' Above a rule write @dispatch.{verb}("mylib::f"), with the name of its operator, or @f.{verb}.'


def made_of(x: Any) -> str:
    """What to write where an operator is asked for and something else was given, with a space before it.

    Examples
    --------
    >>> made_of(np.sin)
    ' Write from_ufunc(np.sin), which makes an operator of a ufunc.'
    """
    if isinstance(x, np.ufunc) or isinstance(getattr(x, "ufunc", None), np.ufunc):
        spelled = f"np.{_word_of(x)}" if getattr(np, _word_of(x), None) is x else _word_of(x)
        return f" Write from_ufunc({spelled}), which makes an operator of a ufunc."
    if exported := getattr(getattr(x, "exports", None), "name", ""):
        handle = f"dispatch.ops.{exported.replace('::', '.')}"
        return f" It is the export of {exported} already: call it, or give that operator, {handle}."
    if isinstance(x, str) and "::" in x:
        return f" Write dispatch.ops.{x.replace('::', '.')}."
    if inspect.isfunction(x) and x.__name__ == "_":
        return above_a_rule("fake")
    if inspect.isroutine(x) or (callable(x) and not inspect.isclass(x) and type(x).__name__ != "Namespace"):
        schema = ""
        if inspect.isfunction(x) and x.__name__ == "<lambda>" and x.__code__.co_argcount:  # which has no hints
            schema = f', schema="({", ".join(f"Tensor {name}" for name in inspect.signature(x).parameters)}) -> Tensor"'
        return f' Make one of it: custom_op("mylib::{_word_of(x)}", f, mutates_args=(){schema}).'
    return ""
