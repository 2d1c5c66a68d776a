"""`einsum` and the products that are cases of it: `tensordot`, `inner`, `outer`, `vdot`, `kron`.

All are composites. Two operands become one matrix product, after axes that only one of them has are summed, so the rules of
`matmul` apply; more operands are multiplied pair by pair, in the order that `np.einsum_path` finds. The file has more than 350 lines, because the
other products are einsums of a few letters.
"""

from collections import Counter
from functools import lru_cache, reduce
from math import prod
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from ...autodiff.rules.partials import conjugated
from ...core import OpOverload
from ...errors import UnsupportedError
from ...layers.autograd import pullbacks
from ...layers.jvp import pushforwards
from ...operators.prims import astype, broadcast_to, moveaxis, stack
from ...symbolic import SymInt, agree, guesses, is_one, is_zero
from ..diagonals import writeable_diagonal
from ..families import composite, linear, undispatched
from ..indexing import as_number, getitem
from ..pointwise import add, multiply, subtract
from ..reduction import sum as total
from ..result_layouts import INTEGERS, weak
from ..shape import copy, expand_dims, reshape, transpose
from .matmul import adjoint, dot, matmul

Shape = tuple[int, ...]
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

# -- einsum ----------------------------------------------------------------------------------------------------------------


def read_subscripts(subscripts: str, shapes: tuple[Shape, ...]) -> tuple[list[str], str]:
    """Return the letters of the operands' axes and of the result's, without ellipsis. Errors are NumPy's own."""
    return _read_subscripts(subscripts, tuple(map(guesses, shapes)))


@lru_cache
def _read_subscripts(subscripts: str, shapes: tuple[Shape, ...]) -> tuple[list[str], str]:
    text = subscripts.replace(" ", "")
    inputs, arrow, result = text.partition("->")
    terms = inputs.split(",")
    free = [letter for letter in LETTERS if letter not in text]
    hidden = [len(shape) - len(term.replace("...", "")) for term, shape in zip(terms, shapes, strict=False)]
    short = any(n < 0 or (n and "..." not in term) for n, term in zip(hidden, terms, strict=False))
    if len(terms) != len(shapes) or short:
        np.einsum(subscripts, *[np.broadcast_to(0.0, shape) for shape in shapes])  # raises NumPy's own error
    most = max(hidden)
    dots = "".join(free[:most])
    found = [term.replace("...", dots[most - n :]) for term, n in zip(terms, hidden, strict=True)]
    if arrow:
        return found, result.replace("...", dots)
    counts = Counter("".join(terms).replace(".", ""))
    return found, dots + "".join(sorted(letter for letter, n in counts.items() if n == 1))


@lru_cache
def contraction_order(terms: tuple[str, ...], shapes: tuple[Shape, ...], result: str, path: Any = None) -> list[tuple[int, ...]]:
    """Return which operands to multiply, in order: by a path of the caller's, or by NumPy's."""
    if len(terms) < 3 and path is None:
        return [tuple(range(len(terms)))]
    zeros = [np.broadcast_to(0.0, shape) for shape in shapes]
    return list(np.einsum_path(",".join(terms) + "->" + result, *zeros, optimize=list(path or ()) or "greedy")[0][1:])


def _einsum(subscripts: str, operands: Any, *, optimize: Any = False) -> Any:
    dtype = np.result_type(*[weak(x) if np.isscalar(x) else x.dtype for x in operands]) if operands else None
    operands = [np.asarray(x)[()] if np.isscalar(x) else x for x in operands]
    whole = [x.dtype for x in operands if x.dtype != dtype and x.dtype.kind in "biu"]
    if optimize and len(operands) > 2 and len(whole) > 1:  # np.einsum(ij,kj,j->ik) of two bools and floats: 1.0 for a sum of 3
        raise UnsupportedError(
            f"np.einsum with optimize= multiplies operands of dtype {whole[0]} and {whole[1]} by themselves on its way, and their sums "
            f"wrap around before they are {dtype}. Give them as {dtype}: x.astype({str(dtype)!r})."
        )
    operands = [x if x.dtype == dtype or len(operands) == 1 else astype(x, dtype) for x in operands]  # sums are of the common dtype
    shapes = tuple([tuple(getattr(x, "shape", ())) for x in operands])
    terms, result = read_subscripts(subscripts, shapes)
    sizes: dict[str, int] = {}
    for term, shape in zip(terms, shapes, strict=True):
        for letter, n in zip(term, shape, strict=True):
            if is_one(sizes.setdefault(letter, n)):
                sizes[letter] = n
    named = [list(zip(term, shape, strict=True)) for term, shape in zip(terms, shapes, strict=True)]
    fits = all(n is sizes[letter] or is_one(n) or agree(n, sizes[letter]) for pairs in named for letter, n in pairs)
    fits = fits and all(agree(n, dict(pairs)[letter]) for pairs in named if len(dict(pairs)) < len(pairs) for letter, n in pairs)
    if not set(result) <= set(sizes) or not fits:
        np.einsum(subscripts, *[np.broadcast_to(0.0, guesses(shape)) for shape in shapes])  # raises NumPy's own error

    def without_axes(x: Any) -> Any:
        few = tuple([tuple([min(n, 2) for n in guesses(shape)]) for shape in shapes]) if optimize else ()
        array = optimize and gives_array(subscripts, few, _hashable(optimize))
        return getitem(x, Ellipsis) if array else as_number(x)

    for letter in [letter for letter, n in sizes.items() if letter not in result and is_zero(n)]:  # a sum of nothing, also times nan
        empty = next(x for x, term in zip(operands, terms, strict=True) if letter in term and is_zero(x.shape[term.index(letter)]))
        nothing = total(empty, None, empty.dtype.newbyteorder("="))
        return copy(broadcast_to(nothing, tuple([sizes[kept] for kept in result]))) if result else without_axes(nothing)
    waiting = [_single(x, term, sizes) for x, term in zip(operands, terms, strict=True)]
    left = [(term, guesses([sizes[letter] for letter in term])) for _, term in waiting]
    path = _hashable(optimize) if isinstance(optimize, (list, tuple)) and optimize and optimize[0] == "einsum_path" else None
    for together in contraction_order(*zip(*left, strict=True), result, path):
        taken = [waiting.pop(i) for i in sorted(together, reverse=True)][::-1]
        x, term = taken.pop(0)
        while taken:
            y, other = taken.pop(0)
            x, term = _pair(x, term, y, other, set(result).union(*[later for _, later in (*waiting, *taken)]))
        waiting.append((x, term))
    x, term = _summed(*waiting[0], set(result))
    if len(operands) > 1 and not optimize and len(result) == len(sizes) and x.dtype.kind in "fc":
        x = add(x, 0.0)  # which NumPy adds each product to, so that none is -0.0
    if not term:
        return without_axes(x)
    return x if term == result else transpose(x, tuple([term.index(letter) for letter in result]))


@lru_cache
def gives_array(subscripts: str, shapes: tuple[Shape, ...], optimize: Any) -> bool:
    """Whether NumPy gives a result without axes as an array: it does where the last of several steps is a product of matrices."""
    return isinstance(np.einsum(subscripts, *map(np.ones, shapes), optimize=optimize), np.ndarray)


def adds_nothing(subscripts: str, shape: Shape) -> bool:
    """Whether a result of one operand has all of its letters: elements are moved and none are added, which NumPy does by a view."""
    terms, result = read_subscripts(subscripts, (shape,))
    return set(terms[0]) == set(result)


def _hashable(optimize: Any) -> Any:
    return tuple(map(_hashable, optimize)) if isinstance(optimize, list) else optimize


def _single(x: Any, term: str, sizes: dict[str, int]) -> tuple[Any, str]:
    """Return an operand with distinct letters: diagonals taken, and axes of length 1 that broadcast dropped."""
    if len(set(term)) < len(term):
        for letter in [letter for letter, n in Counter(term).items() if n > 1]:
            while term.count(letter) > 1:
                first = term.index(letter)
                second = term.index(letter, first + 1)
                x = writeable_diagonal(x, first, second)
                term = term[:first] + term[first + 1 : second] + term[second + 1 :] + letter
    short = [i for i, letter in enumerate(term) if is_one(x.shape[i]) and not is_one(sizes[letter])]
    if short:
        x = getitem(x, tuple([0 if i in short else slice(None) for i in range(len(term))]))
        term = "".join([letter for i, letter in enumerate(term) if i not in short])
    return x, term


def _summed(x: Any, term: str, kept: set[str]) -> tuple[Any, str]:
    """Sum an operand over the letters that no other operand and no result has."""
    axes = tuple([i for i, letter in enumerate(term) if letter not in kept])
    if not axes:
        return x, term
    return total(x, axes, x.dtype.newbyteorder("=")), "".join([letter for letter in term if letter in kept])


def _pair(x: Any, a: str, y: Any, b: str, kept: set[str]) -> tuple[Any, str]:
    """Return the product of two operands, as one product of matrices."""
    x, a = _summed(x, a, kept | set(b))
    y, b = _summed(y, b, kept | set(a))
    both = [letter for letter in a if letter in b]
    batch = "".join([letter for letter in both if letter in kept])
    inner = "".join([letter for letter in both if letter not in kept])
    left = "".join([letter for letter in a if letter not in b])
    right = "".join([letter for letter in b if letter not in a])
    x_shape, y_shape = dict(zip(a, x.shape, strict=True)), dict(zip(b, y.shape, strict=True))
    stacked = tuple([x_shape[letter] for letter in batch])
    rows = tuple([x_shape[letter] for letter in left])
    columns = tuple([y_shape[letter] for letter in right])
    x, y = _ordered(x, a, batch + left + inner), _ordered(y, b, batch + inner + right)
    if not inner:
        x = reshape(x, (*stacked, *rows, *(1,) * len(columns))) if columns else x
        y = reshape(y, (*stacked, *(1,) * len(rows), *columns)) if rows else y
        return multiply(x, y), batch + left + right
    n = prod([x_shape[letter] for letter in inner])
    x = reshape(x, (*stacked, prod(rows), n))
    y = reshape(y, (*stacked, n, prod(columns)))
    return reshape(matmul(x, y), (*stacked, *rows, *columns)), batch + left + right


def _ordered(x: Any, term: str, wanted: str) -> Any:
    return x if term == wanted else transpose(x, tuple([term.index(letter) for letter in wanted]))


SMALL = 20_000  # multiplications, up to which NumPy's loop takes less time than the way through a product of matrices


@lru_cache
def _pulled_subscripts(subscripts: str, shapes: tuple[Shape, ...]) -> list[tuple[str, Shape]] | None:
    """Return for each operand the subscripts of its gradient, of the other operands and the result's, and the shape of what they give.

    None where a gradient is not of that kind: a letter stands twice in an operand or an axis of length 1 is broadcast; where the
    loop is long; and where the subscripts are wrong.
    """
    terms, result = read_subscripts(subscripts, shapes)
    sizes = dict(pair for term, shape in zip(terms, shapes, strict=True) for pair in zip(term, shape, strict=True))
    plain_ones = all(len(set(term)) == len(term) for term in (*terms, result)) and set(result) <= set(sizes)
    if not plain_ones or prod(sizes.values()) > SMALL or not all(sizes.values()):
        return None
    if any(shape != tuple([sizes[letter] for letter in term]) for term, shape in zip(terms, shapes, strict=True)):
        return None
    found = []
    for i, term in enumerate(terms):
        others = [*terms[:i], *terms[i + 1 :], result]
        known = [letter for letter in term if any(letter in other for other in others)]
        found.append((f"{','.join(others)}->{''.join(known)}", tuple([sizes[x] if x in known else 1 for x in term])))
    return found


def _is_small(subscripts: str, operands: Any, *, optimize: Any) -> bool:
    shapes = [getattr(x, "shape", None) for x in operands]
    if optimize is not False or any([shape is None or type(sum(shape)) is SymInt for shape in shapes]):
        return False
    return _pulled_subscripts(subscripts, tuple(shapes)) is not None


def _einsum_pullback(g: Any, subscripts: str, operands: Any, operands_needed: Any) -> list[Any]:
    shapes = tuple([x.shape for x in operands])
    found: list[Any] = []
    for i, (text, shape) in enumerate(_pulled_subscripts(subscripts, shapes) or []):
        if not operands_needed[i]:
            found.append(None)
            continue
        grad = einsum(text, [*[conjugated(x) for x in (*operands[:i], *operands[i + 1 :])], g])
        found.append(grad if shape == grad.shape else broadcast_to(reshape(grad, shape), shapes[i]))
    return found


def _einsum_pushforward(t: Any, subscripts: str, operands: Any, operands_needed: Any) -> Any:
    """Return the sum of the products with one operand's tangent in its place."""
    moved = [i for i, needed in enumerate(operands_needed) if needed]
    return reduce(add, [einsum(subscripts, [*operands[:i], t[i], *operands[i + 1 :]]) for i in moved])


_NUMPY_EINSUM = undispatched(np.einsum)
einsum: OpOverload = composite(
    "einsum(str subscripts, Tensor(a)[] operands, *, Any optimize=False) -> Tensor(a)",
    _einsum,
    numpy=lambda subscripts, operands, *, optimize: _NUMPY_EINSUM(subscripts, *operands, optimize=optimize),
    laid_out=True,
    closed_for=_is_small,
    autograd=pullbacks(operands=_einsum_pullback),
    jvp=pushforwards(operands=_einsum_pushforward),
)

# -- cases of it -----------------------------------------------------------------------------------------------------------


def _matched(x: Shape, y: Shape, axes: Any) -> tuple[Shape, Shape, Shape, Shape]:
    """Return the axes of two shapes that a product sums over, and those that it leaves."""
    if isinstance(axes, INTEGERS):
        of_x, of_y = tuple(range(len(x) - axes, len(x))), tuple(range(axes))
    else:
        of_x, of_y = [(i,) if isinstance(i, INTEGERS) else tuple(i) for i in axes]
    if len(of_x) != len(of_y) or not all([agree(x[i], y[j]) for i, j in zip(of_x, of_y, strict=True)]):
        np.tensordot(np.broadcast_to(0.0, guesses(x)), np.broadcast_to(0.0, guesses(y)), axes)  # raises NumPy's own error
    of_x, of_y = normalize_axis_tuple(of_x, len(x)), normalize_axis_tuple(of_y, len(y))
    rows, columns = [tuple([i for i in range(len(a)) if i not in of_a]) for a, of_a in ((x, of_x), (y, of_y))]
    return of_x, of_y, rows, columns


def _as_matrix(x: Any, rows: Shape, columns: Shape) -> Any:
    shape = x.shape
    return reshape(transpose(x, (*rows, *columns)), (prod([shape[i] for i in rows]), prod([shape[i] for i in columns])))


def _tensordot(x: Any, y: Any, axes: Any = 2) -> Any:
    x, y = [a if hasattr(a, "dtype") else np.asarray(a) for a in (x, y)]
    of_x, of_y, rows, columns = _matched(x.shape, y.shape, axes)
    shape = (*[x.shape[i] for i in rows], *[y.shape[i] for i in columns])
    return reshape(dot(_as_matrix(x, rows, of_x), _as_matrix(y, of_y, columns)), shape)


def _tensordot_pullback(g: Any, x_shape: Shape, other: Any, axes: Any, *, first: bool) -> Any:
    """Return the gradient of a product in one of its arrays: that of the matrices, as this array lies."""
    other = conjugated(other if hasattr(other, "dtype") else np.asarray(other))
    if first:
        of_x, of_y, rows, columns = _matched(x_shape, other.shape, axes)
        g = reshape(g, (prod([x_shape[i] for i in rows]), prod([other.shape[i] for i in columns])))
        found, order = (matmul if columns else multiply)(g, _as_matrix(other, columns, of_y)), (*rows, *of_x)
    else:
        of_y, of_x, columns, rows = _matched(other.shape, x_shape, axes)
        g = reshape(g, (prod([other.shape[i] for i in columns]), prod([x_shape[i] for i in rows])))
        found, order = (matmul if columns else multiply)(_as_matrix(other, of_y, columns), g), (*of_x, *rows)
    found = reshape(found, tuple([x_shape[i] for i in order]))
    return transpose(found, tuple([order.index(i) for i in range(len(order))]))


def _inner(x: Any, y: Any) -> Any:
    if not _ndim(x) or not _ndim(y):
        return dot(x, y)
    if not agree(x.shape[-1], y.shape[-1]):
        np.inner(np.broadcast_to(0.0, guesses(x.shape)), np.broadcast_to(0.0, guesses(y.shape)))  # raises NumPy's own error
    return as_number(tensordot(x, y, ((-1,), (-1,))))


def _outer(x: Any, y: Any) -> Any:
    return multiply(reshape(x, (-1, 1)), reshape(y, (1, -1)))


def _vdot(x: Any, y: Any) -> Any:
    return dot(conjugated(reshape(x, (-1,))), reshape(y, (-1,)))


def _vecdot(x: Any, y: Any, axis: int = -1) -> Any:
    x, y = conjugated(moveaxis(x, axis, -1)), moveaxis(y, axis, -1)
    x, y = reshape(x, (*x.shape[:-1], 1, x.shape[-1])), reshape(y, (*y.shape, 1))
    out = matmul(x, y)
    return as_number(reshape(out, out.shape[:-2]))


def _kron(x: Any, y: Any) -> Any:
    ndim = max(_ndim(x), _ndim(y))
    of_x, of_y = [(1,) * (ndim - _ndim(a)) + tuple(getattr(a, "shape", ())) for a in (x, y)]
    x = reshape(x, tuple([n for pair in of_x for n in (pair, 1)]))
    y = reshape(y, tuple([n for pair in of_y for n in (1, pair)]))
    return reshape(multiply(x, y), tuple([m * n for m, n in zip(of_x, of_y, strict=True)]))


def _cross(x: Any, y: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> Any:
    if axis is not None:
        axisa = axisb = axisc = axis
    x, y = moveaxis(x, axisa, -1), moveaxis(y, axisb, -1)
    if not agree(x.shape[-1], 3) or not agree(y.shape[-1], 3):
        raise UnsupportedError(
            f"np::cross: the vectors have {x.shape[-1]} and {y.shape[-1]} components, and a cross product is of 3. "
            "Write x[..., 0] * y[..., 1] - x[..., 1] * y[..., 0] for two.",
            operator="np::cross",
        )
    (x0, x1, x2), (y0, y1, y2) = [[getitem(a, (Ellipsis, i)) for i in range(3)] for a in (x, y)]
    found = [
        subtract(multiply(x1, y2), multiply(x2, y1)),
        subtract(multiply(x2, y0), multiply(x0, y2)),
        subtract(multiply(x0, y1), multiply(x1, y0)),
    ]
    ndim = len(found[0].shape) + 1
    return stack(found, normalize_axis_index(axisc, ndim) if ndim else axisc)


def _cross_laid_out(x: Any, y: Any, axisa: int, axisb: int, axisc: int, axis: int | None) -> Any:
    """Return an array laid out as np.cross does, whose vectors have to be of 3: new ones in C order, and then their axis moved."""
    ndim = max(x.ndim, y.ndim)
    return np.moveaxis(np.empty((2,) * (ndim - 1) + (3,)), -1, axisc if axis is None else axis)


def _multi_dot(arrays: Any) -> Any:
    if len(arrays) == 2:
        return dot(*arrays)  # as NumPy's own: of any axes, and of none
    shapes = [tuple(x.shape) for x in arrays]
    meet = all(map(len, shapes)) and all(map(agree, [s[-1] for s in shapes[:-1]], [s[0] for s in shapes[1:]]))
    if len(arrays) < 2 or not meet or not all(len(s) == 2 for s in shapes[1:-1]) or max(map(len, shapes)) > 2:
        np.linalg.multi_dot([np.broadcast_to(0.0, guesses(s)) for s in shapes])  # raises NumPy's own error
    letters = [LETTERS[i : i + 2] for i in range(len(arrays))]
    if len(arrays[0].shape) == 1:
        letters[0] = letters[0][1]
    if len(arrays[-1].shape) == 1:
        letters[-1] = letters[-1][0]
    ends = (letters[0][0] if len(letters[0]) == 2 else "") + (letters[-1][1] if len(letters[-1]) == 2 else "")
    return einsum(",".join(letters) + "->" + ends, list(arrays))


def _multi_dot_pullback(g: Any, arrays: Any, arrays_needed: Any) -> list[Any]:
    shapes = [x.shape for x in arrays]
    matrices = [x if len(x.shape) == 2 else reshape(x, (-1, 1) if i else (1, -1)) for i, x in enumerate(arrays)]
    g = reshape(g, (matrices[0].shape[0], matrices[-1].shape[1]))
    turned = [adjoint(x) for x in matrices]
    found = [
        multi_dot([*turned[:i][::-1], g, *turned[i + 1 :][::-1]]) if needed else None for i, needed in enumerate(arrays_needed)
    ]
    return [x if x is None or len(shape) == 2 else reshape(x, shape) for x, shape in zip(found, shapes, strict=True)]


def _multi_dot_pushforward(t: Any, arrays: Any, arrays_needed: Any) -> Any:
    """Return the sum of the products with one array's tangent in its place."""
    moved = [i for i, needed in enumerate(arrays_needed) if needed]
    return reduce(add, [multi_dot([*arrays[:i], t[i], *arrays[i + 1 :]]) for i in moved])


def _ndim(x: Any) -> int:
    return len(getattr(x, "shape", ()))


tensordot = composite(
    "tensordot(Tensor x, Tensor y, Any axes=2) -> Tensor",
    _tensordot,
    numpy=undispatched(np.tensordot),
    autograd=pullbacks(
        x=lambda g, x_shape, y, axes: _tensordot_pullback(g, x_shape, y, axes, first=True),
        y=lambda g, x, y_shape, axes: _tensordot_pullback(g, y_shape, x, axes, first=False),
    ),
    jvp=linear("x", "y"),
)


def _inner_pullback(g: Any, x_shape: Shape, other: Any, *, first: bool) -> Any:
    ndim = _ndim(other)
    if not x_shape or not ndim or len(x_shape) == ndim == 1:
        return multiply(g, conjugated(other))
    return _tensordot_pullback(g, x_shape, other, ((-1,), (-1,)), first=first)


inner = composite(
    "inner(Tensor x, Tensor y) -> Tensor",
    _inner,
    numpy=undispatched(np.inner),
    laid_out=True,
    autograd=pullbacks(
        x=lambda g, x_shape, y: _inner_pullback(g, x_shape, y, first=True),
        y=lambda g, x, y_shape: _inner_pullback(g, y_shape, x, first=False),
    ),
    jvp=linear("x", "y"),
)
outer = composite("outer(Tensor x, Tensor y) -> Tensor", _outer, numpy=np.outer)
vdot = composite("vdot(Tensor x, Tensor y) -> Tensor", _vdot, numpy=np.vdot)
vecdot = composite(
    "vecdot(Tensor x, Tensor y, int axis=-1) -> Tensor",
    _vecdot,
    numpy=lambda x, y, axis: np.vecdot(x, y, axis=axis),  # type: ignore[call-overload]
    laid_out=True,
    closed_for=lambda x, y, axis: axis == -1,
    autograd=pullbacks(
        x=lambda g, y: multiply(expand_dims(conjugated(g), -1), y),
        y=lambda g, x: multiply(expand_dims(g, -1), x),
    ),
    jvp=pushforwards(x=lambda t, y: vecdot(t, y), y=lambda t, x: vecdot(x, t)),
)
kron = composite("kron(Tensor x, Tensor y) -> Tensor", _kron, numpy=np.kron, laid_out=True)
cross = composite(
    "cross(Tensor x, Tensor y, int axisa=-1, int axisb=-1, int axisc=-1, int? axis=None) -> Tensor",
    _cross,
    numpy=np.cross,
    laid_out=_cross_laid_out,
)
multi_dot = composite(
    "linalg_multi_dot(Tensor[] arrays) -> Tensor",
    _multi_dot,
    numpy=undispatched(np.linalg.multi_dot),
    laid_out=True,
    closed_for=lambda arrays: len(arrays) > 2,
    autograd=pullbacks(arrays=_multi_dot_pullback),
    jvp=pushforwards(arrays=_multi_dot_pushforward),
)
