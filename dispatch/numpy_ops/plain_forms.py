"""What programs call in place of rows where all is plain arrays: NumPy's method, or the function of C behind a kernel in Python.

Each function gets the value of a node and its arguments, and returns the call that gives the same to the bit, or None. What a
kernel asks of its arguments in each call, a list of axes or a keyword that is its default, is answered here once. The first program
imports this module; `families.attach_plain_forms` says which rows have such a rule.
"""

import operator
from collections.abc import Callable
from inspect import signature
from operator import attrgetter
from typing import Any

import numpy as np
from numpy._core.multiarray import count_nonzero  # the function of C that np.count_nonzero calls
from numpy.lib.array_utils import normalize_axis_tuple

from ..core.blockwise import selected
from ..core.program import itself
from ..graph.metadata import Metadata
from ..graph.node import Node
from ..graph.plain_calls import PlainCall
from ..operators.views import ARRAY
from .data_dependent import SORTED_OR_NOT
from .families import undispatched
from .flags import NO_VALUE
from .index_parsing import placed

METHODS: dict[str, Any] = {name: getattr(np.ndarray, name) for name in dir(np.ndarray) if not name.startswith("_")}
BOOL = np.dtype(bool)
# Whether np.power takes roots by np.sqrt: else it gives 0.0 of this.
ROOTS = bool(np.signbit(np.power(np.array([-0.0]), 0.5))[0])


Rule = Callable[..., PlainCall | None]


def of_arrays(rule: Rule) -> Rule:
    """Return a rule without a plain form where a number is in place of the first array: it has no methods and no layout."""
    return lambda out, *args: rule(out, *args) if type(args[0]) in (Node, list, tuple, str) else None


def own(f: Any, names: str) -> Rule:
    """Return the rule of a row that is a function of NumPy's, of the names that it has there for the row's arguments.

    What is NumPy's default is left out.
    """
    parameters = signature(f).parameters
    pairs = [(name, parameters[name].default) for name in names.split()]
    known, call = list(parameters), undispatched(f)

    def is_default(x: Any, default: Any) -> bool:
        return (type(x) is type(default) and bool(x == default)) or (x is False and default is NO_VALUE)

    def rule(out: Any, *args: Any) -> PlainCall:
        given = {name: x for (name, default), x in zip(pairs, args, strict=True) if not is_default(x, default)}
        first = next((i for i, name in enumerate(known) if name not in given or parameters[name].kind is parameters[name].KEYWORD_ONLY), len(known))
        return PlainCall(call, tuple([given.pop(name) for name in known[:first]] + list(given.values())), tuple(given))

    return rule


def method(name: str) -> Callable[..., PlainCall]:
    """Return the rule of a row that has the arguments of the method of that name, and keepdims last or not at all."""
    function = METHODS[name]
    return lambda out, *args: PlainCall(function, shortened(args))


def shortened(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return arguments without those at the end that are None, as it has to be the default of each."""
    count = len(args)
    while args[count - 1] is None:
        count -= 1
    return args[:count]


def function(f: Any) -> Callable[..., PlainCall]:
    """Return the rule of a row whose arguments are those of a function, in order."""
    return lambda out, *args: PlainCall(f, args)


def reduced_by(ufunc: np.ufunc, dtype: Any = None) -> Callable[..., PlainCall]:
    """Return the rule of a row that is a ufunc's `reduce`, with a dtype or with that of its own argument."""

    def rule(out: Any, x: Any, axis: Any, *args: Any) -> PlainCall:
        *given, keepdims = args
        return PlainCall(ufunc.reduce, (x, axis, *(given or [dtype]), None, keepdims))

    return rule


def without_keepdims(f: Any) -> Callable[..., PlainCall | None]:
    """Return the rule of a row whose arguments are those of a function, but for keepdims, which is last."""
    return lambda out, *args: None if args[-1] else PlainCall(f, shortened(args[:-1]))


def like(f: Any) -> Callable[..., PlainCall]:
    """Return the rule of a row that makes an array like another."""

    def rule(out: Any, *args: Any) -> PlainCall:
        *first, dtype, shape = args
        return PlainCall(f, (*first,) if dtype is None and shape is None else (*first, dtype, "K", False, shape))

    return rule


def _spread(name: str) -> Callable[..., PlainCall]:
    return lambda out, x, axis, dtype, ddof, keepdims: PlainCall(METHODS[name], (x, axis, dtype, None, ddof, keepdims))


def _getitem(out: Any, x: Any, index: Any, arrays: Any) -> PlainCall | None:
    found = _index(index, arrays)
    return None if found is None else PlainCall(operator.getitem, (x, *found))


def _setitem(out: Any, x: Any, index: Any, value: Any, arrays: Any) -> PlainCall | None:
    found = _index(index, arrays)
    return None if found is None else PlainCall(operator.setitem, (x, *found, value))


def _index(index: Any, arrays: Any) -> tuple[Any] | None:
    """Return the index as NumPy takes it; None where an array in it may stand for a number."""
    if not all(type(i) is Node and type(i.value) is Metadata and i.value.shape for i in arrays):
        return None
    found = placed(index, arrays)
    if type(found) is tuple and len(found) == 1:
        return found if found[0] is not ARRAY else None
    return None if type(found) is tuple and any(i is ARRAY for i in found) else (found,)


def _power(out: Any, x: Any, y: Any) -> PlainCall | None:
    # NumPy's own choice for `x ** 2` and `x ** 0.5`
    if type(x) is Node and x.value.dtype.char in "fd":
        if type(y) is int and y == 2:
            return PlainCall(np.square, (x,))
        if type(y) is float and y == 0.5 and ROOTS:
            return PlainCall(np.sqrt, (x,))
    return PlainCall(np.power, (x, y))


def _transpose(out: Any, x: Any, axes: Any) -> PlainCall:
    return PlainCall(METHODS["transpose"], shortened((x, axes)))


def _moveaxis(out: Any, x: Any, source: Any, destination: Any) -> PlainCall | None:
    ndim = len(x.value.shape)
    begin, end = [normalize_axis_tuple(tuple(a) if isinstance(a, list) else a, ndim) for a in (source, destination)]
    order = [n for n in range(ndim) if n not in begin]
    for place, axis in sorted(zip(end, begin, strict=True)):
        order.insert(place, axis)
    return PlainCall(METHODS["transpose"], (x, tuple(order)))


def _expand_dims(out: Any, x: Any, axis: Any) -> PlainCall:
    return PlainCall(METHODS["reshape"], (x, out.shape))


def _squeeze(out: Any, x: Any, axis: Any) -> PlainCall:
    return PlainCall(METHODS["squeeze"], shortened((x, tuple(axis) if isinstance(axis, list) else axis)))


def _ravel(out: Any, x: Any, start: int) -> PlainCall | None:
    return None if start else PlainCall(METHODS["ravel"], (x,))


def _real(out: Any, x: Any) -> PlainCall:
    return PlainCall(attrgetter("real") if x.value.dtype.kind in "cO" else itself, (x,))


def _imag(out: Any, x: Any) -> PlainCall:
    return PlainCall(attrgetter("imag"), (x,))


def _astype(out: Any, x: Any, dtype: Any) -> PlainCall | None:
    given, wanted = x.value.dtype, np.dtype(dtype)
    if given.kind == "c" and wanted.kind not in "cb":
        return None
    return PlainCall(METHODS["astype"], (x, wanted, "K", "unsafe", True, False) if given == wanted else (x, wanted))


def _round(out: Any, x: Any, decimals: int) -> PlainCall | None:
    return PlainCall(METHODS["round"], (x, decimals)) if x.value.dtype.kind in "fc" else None


def _place(name: str) -> Callable[..., PlainCall | None]:
    return lambda out, x, axis, keepdims: None if keepdims else PlainCall(METHODS[name], shortened((x, axis)))


def _of_tuple(f: Any) -> Callable[..., PlainCall]:
    return lambda out, arrays, *args: PlainCall(f, (tuple(arrays), *args))


def _where(out: Any, mask: Any, x: Any, y: Any) -> PlainCall:
    """`selected`, a ufunc, goes block by block; it casts nothing, and its results are in C order."""
    args = [mask, *[_as_number(a, out.dtype) for a in (x, y)]]
    given = [a.value for a in args if type(a) is Node and type(a.value) is Metadata]
    sizes = [n for v in (out, *given) for n in (*v.shape, *v.strides)]
    if type(mask) is not Node or mask.value.dtype != BOOL or not out.shape or not all(type(n) is int for n in sizes):
        return PlainCall(np.where, (mask, x, y))
    dtypes = [a.value.dtype if type(a) is Node else getattr(a, "dtype", None) for a in args[1:]]
    if dtypes != [out.dtype, out.dtype] or not all(_is_in_c_order(v) for v in (out, *given)):
        return PlainCall(np.where, (mask, x, y))
    return PlainCall(selected, tuple(args))


def _as_number(x: Any, dtype: Any) -> Any:
    """Return a Python number as an array of a dtype that has it; anything else as it is."""
    if type(x) not in (bool, int, float, complex) or dtype.kind not in "biufc":
        return x
    try:
        with np.errstate(all="raise"):
            return np.array(x, dtype)
    except (FloatingPointError, OverflowError, TypeError):
        return x


def _is_in_c_order(x: Any) -> bool:
    wanted = x.dtype.itemsize
    for n, stride in zip(reversed(x.shape), reversed(x.strides), strict=True):
        if n != 1 and stride != wanted:
            return False
        wanted *= n
    return True


def _choose(out: Any, a: Any, choices: Any, mode: str) -> PlainCall:
    return PlainCall(METHODS["choose"], (a, list(choices), mode), ("mode",))


def _einsum(out: Any, subscripts: str, operands: Any, optimize: Any) -> PlainCall | None:
    return PlainCall(np.einsum, (subscripts, *operands)) if optimize is False else None


def _vecdot(out: Any, x: Any, y: Any, axis: int) -> PlainCall | None:
    return PlainCall(np.vecdot, (x, y)) if axis == -1 else None


def _interp(out: Any, x: Any, xp: Any, fp: Any, left: Any, right: Any) -> PlainCall | None:
    return PlainCall(np.interp, (x, xp, fp)) if left is None and right is None else None


def _matrix_rank(out: Any, a: Any, tol: Any, hermitian: bool, rtol: Any) -> PlainCall | None:
    if rtol is not None or len(a.value.shape) < 2:  # of a vector NumPy gives a number of Python's
        return None
    return NUMPYS_RANK(out, a, tol, hermitian)


NUMPYS_RANK = own(np.linalg.matrix_rank, "A tol hermitian")


def _pad(out: Any, x: Any, pad_width: Any, mode: str, *options: Any) -> PlainCall:
    option = OPTIONS.get(mode)
    given = dict(zip(("constant_values", "end_values", "stat_length", "reflect_type"), options, strict=True))
    return PlainCall(PAD, (x, pad_width, mode, *([] if option is None else [given[option]])), () if option is None else (option,))


PAD = undispatched(np.pad)
OPTIONS = {"constant": "constant_values", "linear_ramp": "end_values", "reflect": "reflect_type", "symmetric": "reflect_type"} | dict.fromkeys(
    ("maximum", "minimum", "mean", "median"), "stat_length"
)  # of each way to pad


def _unique(out: Any, x: Any, axis: Any, equal_nan: bool, sorted: bool) -> PlainCall | None:
    return NUMPYS_UNIQUE(out, x, axis, equal_nan, *([sorted] if SORTED_OR_NOT else []))


NUMPYS_UNIQUE = own(np.unique, "ar axis equal_nan" + " sorted" * SORTED_OR_NOT)


def _nanquantile(out: Any, x: Any, q: Any, axis: Any, method: str, weights: Any, keepdims: bool) -> PlainCall | None:
    return NUMPYS_NANQUANTILE(out, x, q, axis, method, keepdims) if weights is None else None


NUMPYS_NANQUANTILE = own(np.nanquantile, "a q axis method keepdims")


def _gradient(out: Any, x: Any, step: Any, axis: int, edge_order: int) -> PlainCall | None:
    given = (x,) if type(step) is float and step == 1.0 else (x, step)
    if len(x.value.shape) == 1 and edge_order == 1:
        return PlainCall(GRADIENT, given)
    return PlainCall(GRADIENT, (*given, axis, edge_order), ("axis", "edge_order"))


GRADIENT = undispatched(np.gradient)


def _gradients(out: Any, x: Any, steps: Any, axes: Any, edge_order: int) -> PlainCall:
    given = () if all([type(step) in (int, float) and step == 1 for step in steps]) else tuple(steps)
    first = {} if list(axes) == list(range(len(x.value.shape))) else {"axis": tuple(axes)}
    named = first if edge_order == 1 else first | {"edge_order": edge_order}
    return PlainCall(GRADIENT, (x, *given, *named.values()), tuple(named))


def _argsort(out: Any, x: Any, axis: Any, kind: Any, descending: bool) -> PlainCall | None:
    return None if descending else PlainCall(METHODS["argsort"], (x, axis) if kind is None else (x, axis, kind))  # an axis of None is not the default


def _trapezoid(out: Any, y: Any, x: Any, dx: Any, axis: int) -> PlainCall | None:
    return NUMPYS_TRAPEZOID(out, y, x, 1.0 if dx is None else dx, axis)


NUMPYS_TRAPEZOID = own(np.trapezoid, "y x dx axis")


NONE = np.intp(0)


def _counted(x: Any) -> Any:
    """Count as `np.count_nonzero` does, which gives a number of Python's; a sum is a third of what np.intp(n) takes."""
    return NONE + count_nonzero(x)


def _count_nonzero(out: Any, x: Any, axis: Any, keepdims: bool) -> PlainCall | None:
    return PlainCall(_counted, (x,)) if axis is None and not keepdims else None


OF_ARRAYS: dict[str, Rule] = {
    **{name: method(name) for name in ("reshape", "swapaxes", "diagonal", "dot", "cumsum", "cumprod", "repeat", "take", "clip", "copy", "searchsorted", "nonzero", "argpartition")},
    **{name: function(getattr(np, name)) for name in ("concatenate", "stack", "inner", "outer", "vdot", "roll", "diff", "bincount", "unravel_index")},
    **{name: without_keepdims(getattr(np, name)) for name in ("average", "ptp", "median", "nanmax", "nanmin", "nansum", "nanmean")},
    **{name: own(getattr(np, name), "a axis keepdims") for name in ("nanargmax", "nanargmin", "nanmedian")},
    **{name: own(getattr(np, name), "a axis dtype ddof keepdims") for name in ("nanvar", "nanstd")},
    **{name: own(getattr(np, name), "a v mode") for name in ("convolve", "correlate")},
    "argsort": _argsort, "trapezoid": _trapezoid, "delete": own(np.delete, "arr obj axis"), "insert": own(np.insert, "arr obj values axis"), "resize": own(np.resize, "a new_shape"),
    **{name: own(getattr(np, name), f"{of} bins range weights density") for name, of in (("histogram", "a"), ("histogram2d", "x y"))}, "linalg_solved": own(np.linalg.lstsq, "a b rcond"),
    "histogram_bin_edges": own(np.histogram_bin_edges, "a bins range"),
    "digitize": own(np.digitize, "x bins right"), "linalg_eigvalsh": own(np.linalg.eigvalsh, "a UPLO"),
    "quantile": own(np.quantile, "a q axis method weights keepdims"), "nanquantile": _nanquantile,
    **{name: like(getattr(np, name)) for name in ("empty_like", "zeros_like", "ones_like", "full_like")},
    **{name: _place(name) for name in ("argmax", "argmin")},
    **{name: _spread(name) for name in ("var", "std")},
    **{name: _of_tuple(getattr(np, name)) for name in ("ravel_multi_index", "lexsort")},
    "linalg_multi_dot": function(np.linalg.multi_dot), "linalg_norm": function(np.linalg.norm), "linalg_det": function(np.linalg.det),
    "sum": reduced_by(np.add), "prod": reduced_by(np.multiply), "max": reduced_by(np.maximum), "min": reduced_by(np.minimum),
    "any": reduced_by(np.logical_or, BOOL), "all": reduced_by(np.logical_and, BOOL),
    "getitem": _getitem, "setitem_": _setitem, "power": _power, "transpose": _transpose, "moveaxis": _moveaxis, "expand_dims": _expand_dims,
    "squeeze": _squeeze, "ravel_from": _ravel, "real": _real, "imag": _imag, "astype": _astype, "round": _round, "choose": _choose, "einsum": _einsum,
    "vecdot": _vecdot, "where": _where, "pad": _pad, "equal_differences": _gradient, "gradient": _gradients, "unique": _unique, "linalg_slogdet": own(np.linalg.slogdet, "a"),
    "linalg_vector_norm": own(np.linalg.vector_norm, "x axis ord keepdims"), "linalg_matrix_norm": own(np.linalg.matrix_norm, "x ord keepdims"),
    "linalg_matrix_rank": _matrix_rank, "linalg_matrix_power": own(np.linalg.matrix_power, "a n"), "diag": own(np.diag, "v k"),
    "iscomplex": own(np.iscomplex, "x"), "count_nonzero": _count_nonzero,
    **{name: own(getattr(np, name), "ar1 ar2 assume_unique") for name in ("intersect1d", "setdiff1d", "setxor1d")},
    **{name: own(getattr(np, name), "x") for name in ("unique_counts", "unique_inverse")},
}  # fmt: skip
RULES: dict[str, Rule] = {**{name: of_arrays(rule) for name, rule in OF_ARRAYS.items()}, "interp": _interp}


def rule_of(name: str) -> Rule:
    """Return the rule of a row, for `families.attach_plain_forms`."""
    return RULES[name]
