"""What to write where an array is asked for and a table, a column or a sparse matrix was given: a line that works.

A class is found by the module that it comes from, itself or a base of it, so that nothing is imported to find the words.
"""

from typing import Any

from ..core.source import library_function
from .frameworks import MODULE, MRO

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
}
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


# Functions of scipy.special that are no ufuncs, so that no value of a transform reaches them, and that have an operator.
SCIPY_SPECIAL = frozenset({"log_softmax", "logsumexp", "multigammaln", "polygamma", "softmax"})


def library_advice(otherwise: str) -> str:
    """Say which function of SciPy asks for an array, and what to write in its place; where SciPy asks not, what is given."""
    found = library_function("scipy")
    if found is None:
        return otherwise
    module, name = found
    whole = f"{module}.{name}" if name else module
    if module == "scipy.special" and name in SCIPY_SPECIAL:
        return f"{whole} makes arrays of its arguments: write dispatch.ops.scipy_special.{name} in its place."
    return (
        f"{whole} makes arrays of its arguments. Make it an operator, with register_autograd, register_vmap and register_fake "
        f'where they are needed:\n    @dispatch.custom_op("mylib::{name or "f"}", mutates_args=())\n'
        f"    def {name or 'f'}(x: np.ndarray) -> np.ndarray:\n"
        f"        return {f'{whole}(x)' if name else f'...  # what calls {whole}'}"
    )


def advice(x: Any, name: str = "x") -> str:
    """The line as a sentence with a space before it; nothing where there is none."""
    line = line_for(x, name)
    return "" if line is None else f" Write {line}."
