"""What to write where an array is asked for and a table, a column or a sparse matrix was given: a line that works.

A class is found by the module that it comes from, itself or a base of it, so that nothing is imported to find the words. And
what to write where a derivative would be lost, picked by what the line of the user's code does. It has more than 350 lines: the
words for each library that asks stand here.
"""

import re
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core import DispatchKey, Tensor, is_array
from ..core.lazy import LazyFunction
from ..core.source import library_function, line, numpy_function, outer_frame
from .frameworks import MODULE, MRO

signature = LazyFunction("inspect", "inspect", "signature")

WHOLE, PARTS = "{x}.to_numpy()", "{x}.toarray(), or give an operator its parts, {parts}"
# By package and class; "" are the other classes of the package that have a shape.
LINES = {
    ("pandas", ""): WHOLE,
    ("polars", ""): WHOLE,
    ("scipy.sparse", "_csr_base"): PARTS.replace("{parts}", "{x}.data, {x}.indices, {x}.indptr"),
    ("scipy.sparse", "_csc_base"): PARTS.replace("{parts}", "{x}.data, {x}.indices, {x}.indptr"),
    ("scipy.sparse", "_bsr_base"): PARTS.replace("{parts}", "{x}.data, {x}.indices, {x}.indptr"),
    ("scipy.sparse", "_coo_base"): PARTS.replace("{parts}", "{x}.data, {x}.row, {x}.col"),
    ("scipy.sparse", "_dia_base"): PARTS.replace("{parts}", "{x}.data, {x}.offsets"),
    ("scipy.sparse", ""): "{x}.toarray()",
    ("dask", "Delayed"): "{x}.compute()",
    ("numpy", "_ctypes"): "the array itself, of which a kernel asks {x}.ctypes",
    ("_ctypes", "_Pointer"): "np.ctypeslib.as_array({x}, shape)",
    ("_cffi_backend", "_CDataBase"): "np.frombuffer(ffi.buffer({x}), dtype)",
}
# What holds numbers and is no array, of Python's own: what NumPy makes an array of.
COLLECTED = {
    **dict.fromkeys(("range", "array", "memoryview", "deque"), "np.asarray({x})"),
    **dict.fromkeys(("set", "frozenset", "generator", "map", "filter", "zip"), "np.array(list({x}))"),
    **dict.fromkeys(("dict_values", "dict_keys"), "np.array(list({x}))"),
    **dict.fromkeys(("bytes", "bytearray"), "np.frombuffer({x}, dtype)"),
    **dict.fromkeys(("Decimal", "Fraction"), "np.asarray(float({x}))"),
    "dict": "np.array(list({x}.values()))",
}
STANDARD = {"builtins", "array", "collections", "decimal", "fractions"}  # the modules of these
NAME = type.__dict__["__name__"].__get__  # as `type` reads it: a metaclass may answer what it likes


def line_for(x: object, name: str = "x") -> str | None:
    """The line that makes an array of a value, which is called `name`; None where no package is known that has such.

    Examples
    --------
    >>> line_for([1.0]) is None
    True
    """
    found = None
    for cls in MRO(type(x)):
        module = MODULE(cls)
        words = module.split(".") if type(module) is str else []
        for package in (words[0] if words else "", ".".join(words[:2])):
            line = LINES.get((package, NAME(cls)))
            if line is not None:
                return line.format(x=name)
            found = found or LINES.get((package, ""))
    if found is None or not hasattr(type(x), "shape"):
        return None
    return found.format(x=name)


def line_for_others(x: object, name: str = "x") -> str | None:
    """The line that makes NumPy's array of what is no array here: also of an array of another framework, which converts itself.

    Examples
    --------
    >>> import datetime
    >>> line_for_others(datetime.date(2020, 1, 1)) is None
    True
    """
    line = line_for(x, name)
    if line is None and not is_array(x) and hasattr(type(x), "__array__") and hasattr(type(x), "shape"):
        line = f"np.asarray({name}{'.detach()' * (getattr(x, 'requires_grad', False) is True)})"
    return line


# Functions of scipy.special that are no ufuncs, so that no value of a transform reaches them, and that have an operator.
SCIPY_SPECIAL = frozenset({"log_softmax", "logsumexp", "multigammaln", "polygamma", "softmax"})


# Functions of SciPy that NumPy has under the same name, with the same meaning: those are operators here.
SAME = "det eig eigh eigvals eigvalsh inv norm pinv solve svd"  # not cholesky, upper there, nor qr
IN_NUMPY = {"scipy.fft": "np.fft", **{f"scipy.linalg.{name}": "np.linalg" for name in SAME.split()}}
PANDAS = (
    "pandas makes arrays of what its tables hold, and of what they are combined with. Write dispatch.detach(x) for what goes "
    "into a table, and s.to_numpy() for the column or the table s that x is combined with."
)
OF_TORCH = frozenset({"as_tensor", "tensor", "from_numpy", "asarray"})
TORCH = (
    "torch makes tensors of the numbers alone. Write NumPy's functions in place of torch's; or wrap what is written in torch, "
    "dispatch.interop.torch.wrap(f), which is an operator with torch's derivative."
)
AS_STRIDED = (
    "np.lib.stride_tricks.as_strided reads memory by bytes, and what it finds there no layer follows. Write "
    "dispatch.numpy.as_strided(x, shape, strides), which copies the elements; for windows write "
    "np.lib.stride_tricks.sliding_window_view(x, shape), and [::step] of it for a step; for other places an index, "
    "x[np.arange(m)[:, None] * step + np.arange(n)]."
)
WRITERS = {"copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask"}
VECTORIZE = (
    "np.vectorize makes arrays of its arguments: write dispatch.vectorize(f)(x) in its place; or, where f decides by its "
    "argument, dispatch.numpy.vectorize(f)(x), which loops."
)
NUMBA = (
    "Numba's functions read the memory of arrays. Make yours an operator, with register_autograd, register_vmap and "
    'register_fake where they are needed: custom_op("mylib::f", f, mutates_args=(), schema="(Tensor x) -> Tensor").'
)
POLYNOMIAL = (
    "np.polynomial makes arrays of its arguments. Write np.polyval(c[::-1], x) for its polyval(x, c), and for a series "
    "of others the product np.polynomial.chebyshev.chebvander(points, deg) @ c, where the points are an array."
)


# What layers say whose values may be of any dtype.
OPERATORS = (
    "Call an operator on it, or a NumPy function that has a row in dispatch.ops.np: dispatch.numpy.array([x, y]) for "
    "np.array([x, y]), and so for np.full and np.r_; np.dot(a, x) for a.dot(x) of an array"
)
# The same values in the brackets of an array, by the kind of their dtype: NumPy asks for an array of them, and says no more.
INDEXED = {
    **dict.fromkeys("iu", "; dispatch.numpy.take(a, x, axis=0) for a[x] of an array"),
    "b": "; np.where(x, a, other) for a[x] of an array",
}


# What asks a value for a number or an array, as the line of the user's code shows it, and what to write in its place.
ASKED_BY = {
    "choice": r"\b(if|while|and|or|not|assert)\b", "look": r"\.(item|tolist)\(|\b(float|int|complex|bool)\(",
    "float": r"\b(float|int|complex)\(", "math": r"\bmath\.", "write": r"\]\s*([-+*/]|\*\*|//)?=[^=]",
    "asarray": r"\bas(any)?array\(", "array": r"\b(np|numpy)\.(array\(|full\(|arange\(|r_)", "dot": r"\.dot\(",
    "scalar": r"\b(np|numpy)\.(float|complex|longdouble|half|single|double)\w*\(", "draw": r"\b\w*(rng|gen|random)\w*\.(\w+)\(",
}  # fmt: skip
TEXT = r"\"[^\"]*\"|'[^']*'"  # words in quotes are no code


def _fitting(said: Sequence[tuple[str, str]]) -> list[str]:
    """What fits the line of the user's code that is running; all where nothing does, or where the line cannot be read."""
    text = re.sub(TEXT, "", line("numpy", "scipy").text)
    return [words for cause, words in said if cause and re.search(ASKED_BY[cause], text)] or [words for _, words in said]


def _sentence(parts: Sequence[str]) -> str:
    words = "; ".join(parts)
    return f"{words[0].upper()}{words[1:]}."


def wanted_number(one: str, *, has_item: bool = True) -> str:
    """What to write where a derivative would be lost in a number; `one` is what holds it, `"a tracked one"`.

    Examples
    --------
    >>> wanted_number("a tracked one").partition(",")[0]
    'Return the value itself'
    """
    said = [("float", "return the value itself, not float() of it")]
    said += [("math", "write np.sin(x) for math.sin(x), and so for all of math")]
    said += [("float", "x.item() where the number is meant")] if has_item else []
    said += [("write", f"to write it into an array, make that of {one}: np.zeros_like(x, shape=...), or np.stack the pieces")]
    return _sentence(_fitting(said))


def wanted_item(one: str) -> str:
    """What to write where a number was asked of a value that has one for each item.

    Examples
    --------
    >>> wanted_item("a batched value").partition(";")[0]
    'Use np.where for a choice'
    """
    said = [
        ("choice", "use np.where for a choice"), ("look", "return the value from the mapped function to look at it"),
        ("math", "write np.sin(x) for math.sin(x), and so for all of math"),
        ("write", f"to write it into an array, make that of {one}: np.zeros_like(x, shape=...), or np.stack the pieces"),
    ]  # fmt: skip
    return _sentence(_fitting(said))


def wanted_array(one: str) -> str:
    """What to write where a derivative would be lost in an array.

    Examples
    --------
    >>> wanted_array("a tracked one").rpartition("; ")[2]
    'to write it into an array, make that of a tracked one: np.zeros_like(x, shape=...).'
    """
    said = [
        ("asarray", "write dispatch.detach(x) where a constant is meant"),
        ("array", "dispatch.numpy.array([x, y]) for np.array([x, y]), and so for np.full, np.arange and np.r_"),
        ("dot", "np.dot(a, x) for a.dot(x) of an array"), ("scalar", "x.astype(np.float32) for np.float32(x)"),
        ("draw", "dispatch.numpy.random for draws of a Generator, normal(rng, x) for rng.normal(x)"),
        ("", "an operator, dispatch.custom_op, for other code"),
        ("write", f"to write it into an array, make that of {one}: np.zeros_like(x, shape=...)"),
    ]  # fmt: skip
    found = _fitting(said)
    if len(found) < len(said):
        if found[0] == said[0][1]:
            found[0] = "leave np.asarray(x) out, or write dispatch.detach(x) where a constant is meant"
        elif not found[0].startswith("to write"):
            found[0] = f"write {found[0]}"
    return _sentence(found)


def array_advice(dtype: np.dtype[Any], more: str = "") -> str:
    """Say what to write in place of what asked for an array of a value of a dtype, and more where no library is known to ask.

    Examples
    --------
    >>> array_advice(np.dtype(bool)).rpartition("; ")[2]
    'np.where(x, a, other) for a[x] of an array.'
    """
    return library_advice(f"{OPERATORS}{INDEXED.get(dtype.kind, '')}.{more}")


def library_advice(otherwise: str) -> str:
    """Say which function of SciPy or NumPy asks for an array, and what to write in its place; where none, what is given."""
    found = library_function("scipy")
    if found is None:
        frame = outer_frame()
        module = str(frame.f_globals.get("__name__", ""))
        if module.startswith("numpy.lib.") and frame.f_code.co_name == "as_strided":
            return AS_STRIDED
        if module.startswith("numpy.lib.") and frame.f_code.co_qualname.startswith("vectorize."):
            return VECTORIZE
        if module.startswith("numba."):
            return NUMBA
        if module.startswith("pandas."):
            return PANDAS
        names = frame.f_code.co_names
        if module.startswith("torch.") or ("torch" in names and not OF_TORCH.isdisjoint(names)):
            return TORCH
        if module.startswith("numpy.polynomial."):
            return POLYNOMIAL
        name = numpy_function()
        if name is None or name in WRITERS:  # which of ours would refuse a plain array to write to
            return otherwise
        return (
            f"np.{name} asks some of its arguments whose they are, and no list. Write dispatch.numpy.{name}, which asks all "
            "of them, and what is in lists."
        )
    module, name = found
    whole = f"{module}.{name}" if name else module
    if module == "scipy.special" and name in SCIPY_SPECIAL:
        return f"{whole} makes arrays of its arguments: write dispatch.ops.scipy_special.{name} in its place."
    home = IN_NUMPY.get(whole) or IN_NUMPY.get(module)
    if home is not None and hasattr(getattr(np, home.removeprefix("np.")), name):
        return f"{whole} makes arrays of its arguments: write {home}.{name}, which is an operator here."
    if name and _takes_function(module, name):
        least = "For a minimum, give it plain arrays and minimize(dispatch.value_and_grad(f), x0, jac=True). "
        return (
            f"{least if name == 'minimize' else ''}{whole} makes arrays of what it is given and of what its function returns. "
            "Make an operator that calls it, with "
            'register_autograd where that is needed:\n    @dispatch.custom_op("mylib::f", mutates_args=())\n'
            f"    def f(x: np.ndarray) -> np.ndarray:\n        return np.asarray({whole}(...))  # the function written of x"
        )
    return (
        f"{whole} makes arrays of its arguments. Make it an operator, with register_autograd, register_vmap and register_fake "
        f'where they are needed:\n    @dispatch.custom_op("mylib::{name or "f"}", mutates_args=())\n'
        f"    def {name or 'f'}(x: np.ndarray) -> np.ndarray:\n"
        f"        return {f'{whole}(x){_others(module, name)}' if name else f'...  # what calls {whole}'}"
    )


def _asked(module: str, name: str) -> list[str]:
    """The parameters that a function must be given by position."""
    try:
        parameters = signature(getattr(sys.modules[module], name)).parameters.values()
    except (ValueError, KeyError, AttributeError):  # a ufunc has no signature; a function inside another no module
        return []
    return [word.name for word in parameters if word.default is word.empty and word.kind <= word.POSITIONAL_OR_KEYWORD]


def _takes_function(module: str, name: str) -> bool:
    return _asked(module, name)[:1] in (["f"], ["fn"], ["fun"], ["func"], ["function"], ["residuals"])


def _others(module: str, name: str) -> str:
    """A remark on the parameters that a function must be given behind its first."""
    asked = _asked(module, name)
    return f"  # and {', '.join(asked[1:])}, as parameters or as they are" if asked[1:] else ""


def advice(x: Any, name: str = "x") -> str:
    """The line as a sentence with a space before it; nothing where there is none."""
    line = line_for(x, name)
    return "" if line is None else f" Write {line}."


def of_ctypes(fn: Any, short: str) -> str:
    """What to write for a function of ctypes, which cannot be a kernel; nothing for any other."""
    from_c: Any = getattr(sys.modules.get("ctypes"), "_CFuncPtr", ())
    if not isinstance(fn, from_c):
        return ""
    word = getattr(fn, "__name__", "f")
    return (
        f"{word} is a function of ctypes, which takes numbers and pointers and says nothing of arrays. Write a "
        f"function around it, which makes the result and gives it pointers: def {short}(x: np.ndarray) -> np.ndarray: "
        f"out = np.empty_like(x); library.{word}(x.ctypes, out.ctypes, x.size); return out."
    )


def advice_for(x: Any, name: str = "x", *, hinted: bool = True) -> str:
    """What to write where an array is asked for and anything at all was given, as a sentence with a space before it.

    `hinted`: there is a parameter, whose hint may be another.

    Examples
    --------
    >>> advice_for({1.0, 2.0}), advice_for("text")
    (' Write np.array(list(x)).', ' Text is no array; hint the parameter `x: str` where it is meant.')
    """
    cls = type(x)
    if x is None:
        return ""
    if line := line_for(x, name):
        return f" Write {line}."
    if isinstance(x, (list, tuple)):
        return f" Write np.asarray({name})."
    if isinstance(x, (int, float, complex)):
        return f" Write np.asarray({name}){', or hint it `np.ndarray | float`' * hinted}."
    if isinstance(x, str):
        return f" Text is no array{f'; hint the parameter `{name}: str` where it is meant' * hinted}."
    if isinstance(x, dict) and hinted:
        return f" Write np.array(list({name}.values())), or hint the parameter `{name}: dict[str, np.ndarray]`."
    if MODULE(cls) in STANDARD and (line := COLLECTED.get(NAME(cls))):
        return f" Write {line.format(x=name)}."
    if isinstance(x, type):
        return f" {NAME(x)} is a class, and an array is asked for."
    if callable(x):
        return f" Call it, and give what it returns{f'; or hint the parameter `{name}: typing.Callable`' * hinted}."
    if getattr(x, "requires_grad", False) is True and hasattr(cls, "detach"):  # torch's, which converts to nothing then
        array = f"{name}.detach().numpy()"
        return f" Write {f'dispatch.tensor({array}, requires_grad=True)' if hinted else array}."
    if any(hasattr(cls, attribute) for attribute in ("__array__", "__array_interface__", "__buffer__", "__dlpack__")):
        return f" Write np.asarray({name})."
    if hasattr(x, "__array_interface__") or _has_memory(x):  # Pillow's images find it when they are asked
        return f" Write np.asarray({name})."
    if MODULE(cls).startswith("autograd.numpy."):  # HIPS autograd's boxes
        return " It is traced by HIPS autograd. Write dispatch.grad(f)(x), or dispatch.interop.autograd.grad for theirs."
    or_any = f"; hint the parameter `{name}: typing.Any` where it is meant" * hinted
    return f" {MODULE(cls)}.{cls.__qualname__} is no array type that is known here{or_any}."


def _has_memory(x: Any) -> bool:
    """Whether an object shows its memory, as arrays of ctypes do, which before CPython 3.12 no attribute tells."""
    try:
        memoryview(x)
    except TypeError:
        return False
    return True


def number_advice(kind: str, x: Any, name: str) -> str:
    """What to write where a number, a truth value or text is asked for, and something else is there; with a space before it.

    Examples
    --------
    >>> number_advice("int", 2.0, "n")
    ' Write int(n)'
    """
    if x is None or isinstance(x, (list, tuple, dict)):
        return ""
    number = kind in ("int", "float", "complex")
    if isinstance(x, Tensor) and type(x).key == DispatchKey.VMAP:
        return ""  # each item has its own
    if hasattr(type(x), "ndim") and hasattr(type(x), "item"):
        if kind == "str" and x.dtype.kind in "US" and x.size == 1:
            return f" Write {name}.item()"
        return f" Write {kind}({name}.item())" if (number or kind == "bool") and getattr(x, "size", 0) == 1 else ""
    if kind == "bytes" and isinstance(x, (str, bytearray, memoryview)):
        return f" Write {name}.encode()" if isinstance(x, str) else f" Write bytes({name})"
    if kind == "str":
        return f" Write {name}.decode()" if isinstance(x, bytes) else f" Write str({name})"
    if kind in ("int", "float") and isinstance(x, complex):
        return f" Write {name}.real"
    if number and MODULE(type(x)) == "ctypes" and hasattr(x, "value"):
        return f" Write {name}.value"
    wanted = number and isinstance(x, (bool, str, float))
    return f" Write {kind}({name})" if wanted or hasattr(type(x), f"__{kind}__") or isinstance(x, int) else ""


def other_hint(kind: str, x: Any, name: str) -> str:
    """The hint with which an operator would take a value that it refused; nothing where that is hardly meant."""
    if x is None:
        return f"hint it `{kind} | None` if it may be left out."
    if hasattr(type(x), "ndim") and hasattr(type(x), "item"):
        return f"hint the parameter `{name}: np.ndarray`" + (" if it may be an array." if getattr(x, "ndim", 0) else ".")
    if isinstance(x, (list, tuple)):
        return f"hint the parameter `{name}: list[{kind}]`."
    wider = isinstance(x, complex) or (kind == "int" and isinstance(x, float))
    return f"hint the parameter `{name}: {type(x).__name__}`." if wider else ""
