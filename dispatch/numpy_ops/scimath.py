"""`np.emath`, also named `np.lib.scimath`: functions that are complex where an element is outside of their real domain.

One such element makes the whole result complex. Three rows choose the dtype by data, as NumPy does: of an array, and of a batch as of an
array; a shape rule raises. What they return is what they got, of another dtype.
"""

from typing import Any

import numpy as np

from ..core import OpOverload
from ..layers.autograd import pullbacks
from ..layers.jvp import pushforwards
from ..operators.prims import astype
from . import numpy_functions
from . import pointwise as ufuncs
from .families import row
from .pointwise import divide
from .pointwise_more import arccos, arcsin, arctanh, log2, log10
from .row_arguments import as_item, as_value
from .settled import settle, unsettled

NARROW = "fbhBHF"  # of these dtypes complex64 is made


def _as_complex(x: Any) -> Any:
    return x.astype(np.complex64 if x.dtype.char in NARROW else np.complex128, copy=False)


def choice(name: str, outside: Any, change: Any, kinds: str, what: str, instead: str) -> OpOverload:
    """Make a row that changes the dtype of an array where an element is outside of a domain; dtypes of `kinds` may have such elements."""

    def kernel(x: Any, function: str) -> Any:
        with np.errstate(invalid="ignore"):
            return change(x) if np.any(np.isreal(x) & outside(x)) else x

    def fake(x: Any, function: str) -> Any:
        if x.dtype.kind not in kinds:
            return x
        raise unsettled(function, what, instead.format(function))

    op: OpOverload = row(
        f"{name}(Tensor(a) x, str function) -> Tensor(a)",
        numpy=kernel,
        fake=fake,
        autograd=pullbacks(x=lambda g: g),
        jvp=pushforwards(x=lambda t, out: t if t.dtype == out.dtype else astype(t, out.dtype)),
        vmap=lambda info, in_dims, x, function: (op(x, function), in_dims[0]),
    )
    return op


COMPLEX = "Write {}(x + 0j), whose result is complex; or call it on real arrays, outside the mode."
complex_below_0 = choice(
    "complex_below_0", lambda x: x < 0, _as_complex, "if", "whether an element is below 0, and with it the dtype of the result,", COMPLEX
)
complex_beyond_1 = choice(
    "complex_beyond_1", lambda x: abs(x) > 1, _as_complex, "iuf", "whether an element is beyond 1, and with it the dtype of the result,", COMPLEX
)
float_below_0 = choice(
    "float_below_0", lambda x: x < 0, lambda x: x * 1.0, "i", "whether an exponent is below 0, and with it the dtype of the result,",
    "Write {}(x, p * 1.0); or call it on real arrays, outside the mode.",
)  # fmt: skip


def chosen(x: Any, by: OpOverload, function: str) -> Any:
    """Return an argument of the dtype that its data choose."""
    return settle(by(as_item(as_value(x)), function))


def of_one(name: str, by: OpOverload, op: OpOverload) -> Any:
    """Return a function of one argument."""
    return lambda x: op(chosen(x, by, f"np.emath.{name}"))


def logn(n: Any, x: Any) -> Any:
    """`np.emath.logn`."""
    x = chosen(x, complex_below_0, "np.emath.logn")
    n = chosen(n, complex_below_0, "np.emath.logn")
    return divide(ufuncs.log(x), ufuncs.log(n))


def power(x: Any, p: Any) -> Any:
    """`np.emath.power`."""
    x = chosen(x, complex_below_0, "np.emath.power")
    return ufuncs.power(x, chosen(p, float_below_0, "np.emath.power"))


FUNCTIONS: dict[Any, Any] = {
    np.emath.sqrt: of_one("sqrt", complex_below_0, ufuncs.sqrt),
    np.emath.log: of_one("log", complex_below_0, ufuncs.log),
    np.emath.log2: of_one("log2", complex_below_0, log2),
    np.emath.log10: of_one("log10", complex_below_0, log10),
    np.emath.arccos: of_one("arccos", complex_beyond_1, arccos),
    np.emath.arcsin: of_one("arcsin", complex_beyond_1, arcsin),
    np.emath.arctanh: of_one("arctanh", complex_beyond_1, arctanh),
    np.emath.logn: logn,
    np.emath.power: power,
}


def install() -> None:
    """Put the functions into the table."""
    numpy_functions.FUNCTIONS.update(FUNCTIONS)
