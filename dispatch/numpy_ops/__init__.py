"""The NumPy operators: `dispatch.ops.np`, one row each, bound here to their names.

Those of `np.linalg` begin with `linalg_` there, as in torch, for it has functions with the names of others (`trace`, `cross`).
"""

from ..operators.prims import astype, broadcast_to, detach, moveaxis, stack
from ..operators.registry import alias
from ..operators.views import view_scatter
from . import graph_syntax as graph_syntax  # how rows read in a graph
from .creation import arange, empty, empty_like, full, full_like, ones, ones_like, zeros, zeros_like
from .cumulative import cumprod, cumsum, diff, trapezoid
from .data_dependent import argwhere, compress, extract, flatnonzero, nonzero, unique, unique_all
from .diagonals import diag, diagflat, diagonal, eye, identity, trace, tri, tril, triu
from .index_parsing import ARRAY
from .indexing import getitem, scatter_add, take, where
from .linalg.decompositions import cholesky, eigh, eigvalsh, qr, svd, svdvals, tall_qr
from .linalg.einsum import cross, einsum, inner, kron, multi_dot, outer, tensordot, vdot, vecdot
from .linalg.matmul import dot, matmul
from .linalg.norms import matrix_norm, norm, vector_norm
from .linalg.solve import det, inv, matrix_power, pinv, slogdet, solve
from .pointwise import (
    absolute,
    add,
    bitwise_and,
    bitwise_or,
    bitwise_xor,
    conjugate,
    cos,
    divide,
    equal,
    exp,
    floor,
    floor_divide,
    greater,
    greater_equal,
    invert,
    isfinite,
    less,
    less_equal,
    log,
    logical_and,
    logical_not,
    logical_or,
    maximum,
    minimum,
    multiply,
    negative,
    not_equal,
    positive,
    power,
    reciprocal,
    remainder,
    sign,
    sin,
    sqrt,
    square,
    subtract,
    tanh,
)
from .pointwise_more import (
    angle,
    arccos,
    arccosh,
    arcsin,
    arcsinh,
    arctan,
    arctan2,
    arctanh,
    cbrt,
    ceil,
    clip,
    copysign,
    cosh,
    deg2rad,
    degrees,
    exp2,
    expm1,
    fabs,
    float_power,
    fmax,
    fmin,
    fmod,
    heaviside,
    hypot,
    isclose,
    isinf,
    isnan,
    isneginf,
    isposinf,
    left_shift,
    log1p,
    log2,
    log10,
    logaddexp,
    logaddexp2,
    logical_xor,
    nan_to_num,
    rad2deg,
    radians,
    right_shift,
    rint,
    round,
    signbit,
    sinc,
    sinh,
    tan,
    trunc,
)
from .rearranging import (
    append,
    array_split,
    atleast_1d,
    atleast_2d,
    atleast_3d,
    broadcast_arrays,
    column_stack,
    delete,
    dsplit,
    dstack,
    flip,
    fliplr,
    flipud,
    hsplit,
    hstack,
    linspace,
    meshgrid,
    pad,
    repeat,
    roll,
    rollaxis,
    rot90,
    split,
    tile,
    unstack,
    vsplit,
    vstack,
)
from .reduction import max, mean, min, sum
from .setitem import setitem, setitem_
from .shape import concatenate, copy, expand_dims, imag, real, reshape, squeeze, swapaxes, transpose
from .sorting import argmax, argmin, argsort, median, searchsorted, sort, take_along_axis
from .statistics import all, any, average, count_nonzero, nanmean, nansum, prod, ptp, std, var

SECOND_NAMES = {  # NumPy's other names of the same functions
    "abs": absolute,
    "acos": arccos,
    "acosh": arccosh,
    "amax": max,
    "amin": min,
    "around": round,
    "asin": arcsin,
    "asinh": arcsinh,
    "atan": arctan,
    "atan2": arctan2,
    "atanh": arctanh,
    "concat": concatenate,
    "conj": conjugate,
    "mod": remainder,
    "permute_dims": transpose,
    "pow": power,
    "true_divide": divide,
}
for _name, _op in SECOND_NAMES.items():
    alias(_op, _name)

__all__ = [
    "ARRAY", "SECOND_NAMES", "absolute", "add", "all", "angle", "any", "append", "arange", "arccos", "arccosh", "arcsin",
    "arcsinh", "arctan", "arctan2", "arctanh", "argmax", "argmin", "argsort", "argwhere", "array_split", "astype", "atleast_1d",
    "atleast_2d", "atleast_3d", "average", "bitwise_and", "bitwise_or", "bitwise_xor", "broadcast_arrays", "broadcast_to",
    "cbrt", "ceil", "cholesky", "clip", "column_stack", "compress", "concatenate", "conjugate", "copy", "copysign", "cos",
    "cosh", "count_nonzero", "cross", "cumprod", "cumsum", "deg2rad", "degrees", "delete", "det", "detach", "diag", "diagflat",
    "diagonal", "diff", "divide", "dot", "dsplit", "dstack", "eigh", "eigvalsh", "einsum", "empty", "empty_like", "equal",
    "exp", "exp2", "expand_dims", "expm1", "extract", "eye", "fabs", "flatnonzero", "flip", "fliplr", "flipud", "float_power",
    "floor", "floor_divide", "fmax", "fmin", "fmod", "full", "full_like", "getitem", "greater", "greater_equal", "heaviside",
    "hsplit", "hstack", "hypot", "identity", "imag", "inner", "inv", "invert", "isclose", "isfinite", "isinf", "isnan",
    "isneginf", "isposinf", "kron", "left_shift", "less", "less_equal", "linspace", "log", "log1p", "log2", "log10",
    "logaddexp", "logaddexp2", "logical_and", "logical_not", "logical_or", "logical_xor", "matmul", "matrix_norm",
    "matrix_power", "max", "maximum", "mean", "median", "meshgrid", "min", "minimum", "moveaxis", "multi_dot", "multiply",
    "nan_to_num", "nanmean", "nansum", "negative", "nonzero", "norm", "not_equal", "ones", "ones_like", "outer", "pad", "pinv",
    "positive", "power", "prod", "ptp", "qr", "rad2deg", "radians", "real", "reciprocal", "remainder", "repeat", "reshape",
    "right_shift", "rint", "roll", "rollaxis", "rot90", "round", "scatter_add", "searchsorted", "setitem", "setitem_", "sign",
    "signbit", "sin", "sinc", "sinh", "slogdet", "solve", "sort", "split", "sqrt", "square", "squeeze", "stack", "std",
    "subtract", "sum", "svd", "svdvals", "swapaxes", "take", "take_along_axis", "tall_qr", "tan", "tanh", "tensordot", "tile",
    "trace", "transpose", "trapezoid", "tri", "tril", "triu", "trunc", "unique", "unique_all", "unstack", "var", "vdot",
    "vecdot", "vector_norm", "view_scatter", "vsplit", "vstack", "where", "zeros", "zeros_like",
]  # fmt: skip
