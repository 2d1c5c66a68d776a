"""Where a derivative at an edge is a choice: the lines of docs/conventions.md.

A line says for which arguments of which rows our answer may be neither JAX's nor torch's, and why; the answers themselves are worked
out when the page is written. `python tests/conventions.py` writes the table; `tests/numpy_ops/test_edges.py` holds the page to it.
"""

import sys
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from edges import ROWS, SPECIAL, by_jax, by_torch, inf, is_array, nan, numbers, places, reverse

A = np.array


class Convention(NamedTuple):
    """One line: the rows, the point in words, why, an example, and for which arguments the rows may differ from both oracles.

    `example` is a row, its case, and the number of the array that the derivative is by. `differs` gets a case and returns a mask,
    or one truth value for all of it; None where our answer is one of the two.
    """

    rows: str
    point: str
    why: str
    example: tuple[str, tuple[Any, ...], int]
    differs: Callable[..., Any] | None = None
    arguments: tuple[int, ...] = (0, 1, 2)


def some(test: Callable[[Any], Any]) -> Callable[..., bool]:
    """Whether some number among the arguments passes a test."""
    return lambda *case: any(bool(np.any(test(x))) for x in [*numbers(case), *[x for x in case if isinstance(x, float)]])


def has_nan(*case: Any) -> bool:
    return some(np.isnan)(*case)


def has_inf(*case: Any) -> bool:
    return some(np.isinf)(*case)


def singular(a: Any, *rest: Any) -> bool:
    return np.isfinite(a).all() and bool(np.any(np.linalg.matrix_rank(a) < min(a.shape[-2:])))


def undetermined(a: Any, *rest: Any) -> bool:
    return has_nan(a) or has_inf(a) or singular(a) or bool(np.any(np.abs(np.diff(np.linalg.svd(a)[1])) < 1e-9))


def gaps(w: Any) -> Any:
    """The differences of all pairs of numbers."""
    return (w[..., None, :] - w[..., :, None])[..., ~np.eye(w.shape[-1], dtype=bool)]


def pole_or_inf(*case: Any) -> Any:
    return np.any([(x <= 0) & (x == np.floor(x)) | np.isinf(x) for x in np.broadcast_arrays(*case)], axis=0)


def is_complex(*case: Any) -> bool:
    return some(np.iscomplexobj)(*case)


NAN = "a derivative that depends on the value is nan where the value is"
MIDDLE = "the mean of the two sides"
LIMIT = "the limit of the slope"
LEAST = "the subgradient of least norm; nan in a minimisation would spread to everything"

CONVENTIONS = [
    Convention("maximum minimum", "x = y", MIDDLE, ("maximum", (A(1.0), A(1.0)), 0)),
    Convention("maximum minimum", "x or y is nan", NAN, ("maximum", (A(nan), A(1.0)), 0), lambda x, y: np.isnan(x) | np.isnan(y)),
    Convention("fmax fmin", "x = y", MIDDLE, ("fmax", (A(1.0), A(1.0)), 0), lambda x, y: x == y),
    Convention("fmax fmin", "x and y are nan", NAN, ("fmax", (A(nan), A(nan)), 0), lambda x, y: np.isnan(x) & np.isnan(y)),
    Convention("max min ptp", "several elements are the largest", "they share the gradient", ("max", (A([1.0, 1.0]), None, False), 0)),
    Convention("max min ptp median quantile max_where min_where pad", "an element is nan", NAN, ("max", (A([1.0, nan]), None, False), 0), has_nan),
    Convention("nanmedian nanquantile", "every element is nan", NAN, ("nanmedian", (A([nan, nan]), None, False), 0), lambda x, *rest: np.isnan(x).all()),
    Convention("quantile nanquantile lerp", "inf among elements", "inf - inf and inf * 0 are nan", ("quantile", (A([1.0, inf]), 0.5, None, "linear", None, False), 0), has_inf),
    Convention("quantile nanquantile", "a method that JAX has not", "as the others: the two elements between which it lies", ("quantile", (A([1.0, 2.0]), 0.5, None, "hazen", None, False), 0),
        lambda x, q, axis, method, *rest: method not in ("linear", "lower", "higher", "midpoint", "nearest")),
    Convention("quantile nanquantile", "by q, at an element", "the slope after it: 0 is that of neither side", ("quantile", (A([1.0, 2.0, 5.0]), A(0.5), None, "linear", None, False), 1)),
    Convention("clip", "x is a bound", "a bound counts as inside", ("clip", (A(1.0), A(0.0), A(1.0)), 0)),
    Convention("clip", "x or a bound is nan", NAN, ("clip", (A(nan), A(0.0), A(1.0)), 0), has_nan),
    Convention("clip median pad nanmedian sort max min nanmax nanmin max_where min_where nanmax_where nanmin_where ptp maximum minimum fmax fmin", "complex values", "NumPy orders them by real part, then by imaginary "
        "part; JAX and torch refuse", ("sort", (A([2j, 1.0]), -1, None), 0), is_complex),
    Convention("partition", "equal elements", "the first of them goes to the first of their places; where the others are, NumPy says and JAX does not follow",
        ("partition", (A([1.0, 1.0, 0.5]), 1, -1, "introselect"), 0), lambda *case: True),
    Convention("unique unique_all unique_counts unique_inverse intersect1d setxor1d setdiff1d", "equal elements", "the first of them is the one that is left, as `return_index` says",
        ("unique", (A([1.0, 1.0]), None, True, True), 0), lambda *case: True),
    Convention("geomspace", "an end is inf, of one number", "that number is the first end itself", ("geomspace", (A(inf), A(1.0), 1, True, None, 0), 0), has_inf),
    Convention("absolute fabs scalar_absolute", "0", MIDDLE, ("absolute", (A(0.0),), 0)),
    Convention("absolute fabs scalar_absolute", "nan", NAN, ("absolute", (A(nan),), 0), np.isnan),
    Convention("frexp mantissa", "nan", NAN, ("mantissa", (A(nan),), 0), np.isnan),
    Convention("nextafter", "x or y is nan", NAN, ("nextafter", (A(nan), A(1.0)), 0), lambda x, y: np.isnan(x) | np.isnan(y)),
    Convention("nextafter", "x = y", "the value is y there", ("nextafter", (A(1.0), A(1.0)), 1), lambda x, y: x == y, (1,)),
    Convention("ufunc_reduce ufunc_accumulate ufunc_reduceat", "slopes are infinite", "a sum of inf and -inf is nan", ("ufunc_accumulate", (A([0.0, -0.0, -0.0]), "np::divide", 0, None, None), 0),
        lambda *case: has_inf(*case) or some(lambda x: x == 0)(*case)),
    Convention("absolute scalar_absolute", "0, complex", LEAST, ("absolute", (A(0j),), 0)),
    Convention("sign", "0, complex", "as for real values", ("sign", (A(0j),), 0)),
    Convention("copysign", "x = 0", MIDDLE, ("copysign", (A(0.0), A(-1.0)), 0)),
    Convention("copysign", "x = inf", "it is a sign everywhere but at 0", ("copysign", (A(inf), A(-1.0)), 0)),
    Convention("heaviside", "x is nan", "0, as of every step; by the value at 0: " + NAN, ("heaviside", (A(nan), A(0.5)), 1), lambda x, y: np.isnan(x)),
    Convention("hypot", "(0, 0)", LEAST, ("hypot", (A(0.0), A(0.0)), 0), lambda x, y: (x == 0) & (y == 0)),
    Convention("arctan2", "(0, 0)", "torch's; a point that is met by rounding alone", ("arctan2", (A(0.0), A(0.0)), 0)),
    Convention("angle", "0, real", "constant on either side", ("angle", (A(0.0), False), 0)),
    Convention("power float_power scalar_power", "0 ** 0, by the base", "a polynomial's constant term has the slope 0", ("power", (A(0.0), A(0.0)), 0)),
    Convention("power float_power scalar_power", "0 ** 0, by the exponent", "0 ** y is 0 on the side that counts", ("power", (A(0.0), A(0.0)), 1)),
    Convention("power float_power scalar_power", "a base of 0 to a negative power, by the exponent", "inf * log(0) has no value", ("power", (A(0.0), A(-1.0)), 1)),
    Convention("power float_power scalar_power", "0 to a complex power, by the exponent", "the limit of x ** y * log(x)", ("power", (A(0j), A(0.5 + 0.5j)), 1),
        lambda x, y: np.iscomplexobj(x) & (x == 0), (1,)),
    Convention("arccosh", "x < 1", "the value is nan there", ("arccosh", (A(-2.0),), 0), lambda x: x < 1),
    Convention("divmod", "x = inf, by y", "the remainder is nan there", ("divmod", (A(inf), A(1.0)), 1), has_inf),
    Convention("spacing", "everywhere", "it is a step function", ("spacing", (A(1.0),), 0), lambda x: True),
    Convention("remainder", "x = inf, by y", "the value is nan there", ("remainder", (A(inf), A(1.0)), 1)),
    Convention("fmod", "x = inf or y = 0, by y", "the value is nan there", ("fmod", (A(1.0), A(0.0)), 1), lambda x, y: np.isinf(x) | (y == 0), (1,)),
    Convention("logaddexp logaddexp2", "x = y = inf", "the limit depends on the way", ("logaddexp", (A(inf), A(inf)), 0)),
    Convention("divide_no_nan root", "0", "0 by definition: what norms and deviations end with", ("root", (A(0.0), 2.0), 0), lambda x, y: (x if isinstance(y, float) else y) == 0),
    Convention("linalg_norm linalg_vector_norm linalg_matrix_norm", "0", LEAST, ("linalg_norm", (A([0.0, 0.0]), None, None, False), 0)),
    Convention("linalg_norm linalg_vector_norm linalg_matrix_norm", "an element is nan, order 1, inf or below 1", NAN + "; of an element of 0 it is 0 all the same",
        ("linalg_norm", (A([1.0, nan]), 1, None, False), 0), has_nan),
    Convention("std", "all elements are equal, or there is one", LEAST, ("std", (A([1.0]), None, None, 0, False), 0)),
    Convention("nanstd", "all elements are equal, or there is one", LEAST, ("nanstd", (A([1.0]), None, None, 0, False), 0), lambda *case: True),
    Convention("std_where nanstd_where", "all elements that count are equal", LEAST, ("std_where", (A([1.0, 1.0]), A([True, True]), None, None, None, 0, False), 0),
        lambda *case: True),
    Convention("var_where nanvar_where", "nan or inf among elements", "one that does not count has the gradient 0",
        ("var_where", (A([nan, 1.0]), A([True, False]), None, None, None, 0, False), 0), lambda *case: has_inf(*case) or has_nan(*case)),
    Convention("nanmean nanmean_where nanvar nanstd nanmax nanmin", "every element is nan", "nan is left out, and here that is all", ("nanmean", (A([nan, nan]), None, None, False), 0),
        lambda x, *rest: np.isnan(x).all()),
    Convention("prod product_of_others prod_where nanprod nanprod_where cumprod nancumprod trapezoid convolve correlate sliding equal_differences spread_differences differences_at unwrap einsum linalg_multi_dot linalg_matrix_power", "inf or nan among factors", "inf * 0 is nan; whether they meet depends on the order of the products",
        ("cumprod", (A([0.0, inf, 1.0]), 0, None), 0), lambda *case: has_inf(*case) or has_nan(*case), (0, 1, 2, 3)),
    Convention("differences_at", "by a point", "JAX has no unequal steps", ("differences_at", (A([1.0, 2.0, 4.0]), A([0.0, 1.0, 3.0]), 0, 1), 1), lambda *case: True, (1,)),
    Convention("interp", "x is a point of the table", "the interval after it, and at the last point the one before", ("interp", (A([0.0, 1.0, 3.0]), A([0.0, 1.0, 3.0]), A([0.0, 2.0, 3.0]), None, None), 0)),
    Convention("interp", "inf or nan in the table or among points", "beyond the table it is constant; elsewhere inf - inf is nan", ("interp", (A([4.0]), A([0.0, 1.0]), A([nan, 2.0]), None, None), 0),
        lambda *case: has_inf(*case) or has_nan(*case), (0, 1, 2, 3, 4)),
    Convention("linalg_det", "a singular matrix", "the cofactors, by singular values", ("linalg_det", (A([[1.0, 2.0], [2.0, 4.0]]),), 0)),
    Convention("linalg_cofactors", "a singular matrix", "what the first derivative of `det` is; its own divides by `det`",
        ("linalg_cofactors", (A([[1.0, 2.0], [2.0, 4.0]]),), 0), singular),
    Convention("linalg_slogdet", "a singular matrix", "NumPy's LinAlgError: the value is -inf", ("linalg_slogdet", (A([[1.0, 2.0], [2.0, 4.0]]),), 0), singular),
    Convention("histogram histogramdd histogram2d", "a density where the weights add up to 0", "nan for a place that decides an edge, and 0 for one that decides none",
        ("histogram2d", (A([0.0, 1.0, 0.25]), A([0.0, 1.0, 0.25]), 2, None, A([1.0, -1.0, 0.0]), True), 0), lambda *case: bool(case[-1]) and case[-2] is not None and not np.sum(case[-2])),
    Convention("linalg_qr linalg_tall_qr", "columns that depend on each other", "NumPy's LinAlgError, or large numbers: Q is not determined",
        ("linalg_qr", (A([[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),), 0), lambda a: singular(a[..., : a.shape[-2]])),
    Convention("linalg_cond", "a singular matrix", "the value is inf", ("linalg_cond", (A([[1.0, 2.0], [2.0, 4.0]]), 1), 0), undetermined),
    Convention("linalg_cond", "an element of the matrix or of its inverse is 0, order 1, -1, inf or -inf", MIDDLE + ", as of `absolute`", ("linalg_cond", (A([[0.0, 1.0], [2.0, 0.0]]), 1), 0)),
    Convention("linalg_inverse", "a singular matrix", "the value is nan", ("linalg_inverse", (A([[1.0, 2.0], [2.0, 4.0]]),), 0), singular),
    Convention("linalg_eig linalg_eigvals", "equal eigenvalues", "vectors are not determined; where they are one vector, the values have no derivative either",
        ("linalg_eigvals", (A([[1.0, 1.0], [0.0, 1.0]]), False), 0), lambda a, real: has_nan(a) or has_inf(a) or bool(np.any(abs(gaps(np.linalg.eigvals(a))) < 1e-6))),
    Convention("linalg_lstsq linalg_solved", "a matrix of less than full rank", "the rank is taken to stay", ("linalg_lstsq", (A([[1.0, 2.0], [2.0, 4.0]]), A([[1.0], [1.0]]), None), 0), undetermined),
    Convention("linalg_pinv", "the cutoff leaves out singular values that are not 0", "the derivative of what is computed, by differences too; theirs is that of a constant rank",
        ("linalg_pinv", (A([[2.0, 1.0], [0.0, 1.0]]), 0.6, False), 0), lambda a, *rest: bool(rest) and rest[0] is not None),
    Convention("linalg_svd linalg_eigh", "equal or zero singular values, equal eigenvalues", "vectors are not determined; the derivative of the values alone is right",
        ("linalg_eigh", (A([[1.0, 0.0], [0.0, 1.0]]), "L"), 0), undetermined),
    Convention("linalg_svdvals_pulled", "equal or zero singular values", "the gradient of the singular values, which are of no determined vectors there",
        ("linalg_svdvals_pulled", (A([1.0, 2.0]), A([[1.0, 1.0], [1.0, 1.0]])), 0), lambda g, a: undetermined(a)),
    Convention("linalg_det linalg_cofactors linalg_inv linalg_inv_lower linalg_solve linalg_slogdet linalg_cholesky linalg_eigh linalg_eigvalsh linalg_svd linalg_svdvals linalg_qr linalg_tall_qr linalg_pinv linalg_lstsq linalg_solved linalg_cond linalg_inverse linalg_norm linalg_matrix_norm",
        "nan or inf in a matrix", "LAPACK's: nan in other elements, or NumPy's LinAlgError", ("linalg_slogdet", (A([[inf, 1.0], [1.0, 1.0]]),), 0),
        lambda *case: has_inf(*case) or has_nan(*case)),
    Convention("erfcx dawsn log_ndtr", "inf", LIMIT, ("log_ndtr", (A(-inf),), 0), np.isinf),
    Convention("gamma loggamma beta betaln poch", "a pole of the gamma function, or inf", LIMIT + ", by the sign of a zero; nan where it has none", ("gamma", (A(0.0),), 0),
        lambda *case: pole_or_inf(*case, sum(case))),
    Convention("i1e", "nan", NAN, ("i1e", (A(nan),), 0), np.isnan),
    Convention("loggamma", "x < 0", "the value is nan there", ("loggamma", (A(-0.5),), 0), lambda x: x < 0),
    Convention("gammainc gammaincc", "a <= 0, x <= 0 or inf", LIMIT + "; nan where the value is", ("gammainc", (A(1.0), A(inf)), 1),
        lambda a, x: (a <= 0) | (x <= 0) | np.isinf(a) | np.isinf(x)),
    Convention("boxcox", "a power of 0", LIMIT, ("boxcox", (A(2.0), A(0.0)), 1), lambda x, p: p == 0),
    Convention("boxcox1p", "a power of 0", LIMIT, ("boxcox1p", (A(2.0), A(0.0)), 1), lambda x, p: p == 0),
    Convention("boxcox", "x <= 0 or inf", LIMIT + "; nan where the value is", ("boxcox", (A(0.0), A(1.0)), 0), lambda x, p: (x <= 0) | np.isinf(x) | np.isinf(p) | np.isnan(p)),
    Convention("boxcox1p", "x <= -1 or inf", LIMIT + "; nan where the value is", ("boxcox1p", (A(-1.0), A(1.0)), 0), lambda x, p: (x <= -1) | np.isinf(x) | np.isinf(p) | np.isnan(x + p)),
    Convention("spence", "0, 1, 2, and where the value is nan", LIMIT + "; nan where the value is", ("spence", (A(1.0),), 0), lambda x: (x <= 2) & (x == np.floor(x)) | (x < 0)),
    Convention("rel_entr kl_div", "x or y is 0, below or infinite", LIMIT + "; not 0 beside a value of inf", ("rel_entr", (A(1.0), A(0.0)), 0),
        lambda x, y: (x <= 0) | (y <= 0) | np.isinf(x) | np.isinf(y) | np.isnan(x + y)),
]  # fmt: skip


def covered(name: str, at: int, case: Any) -> Any:
    """A mask of where a row may differ from both, in one of its arguments."""
    found: Any = False
    for line in CONVENTIONS:
        if name in line.rows.split() and line.differs is not None and at in line.arguments:
            found = found | line.differs(*case)
    return found


def said(answer: Callable[[], Any]) -> str:
    try:
        with np.errstate(all="ignore"):
            found = np.asarray(answer())
    except AttributeError:
        return "no such function"
    except Exception as error:
        name = type(error).__name__.lstrip("_")
        return "LinAlgError" if name.startswith("LinAlg") else "refused"
    return "`" + np.array2string(found + 0.0, separator=", ", precision=4, suppress_small=True).replace("\n", "") + "`"


def ours(line: Convention) -> str:
    """What we answer at the example of a line."""
    name, case, number = line.example
    return said(lambda: reverse({**ROWS, **SPECIAL}[name], case, list(places(case))[number]))


def theirs(line: Convention) -> tuple[str, str]:
    """What JAX and torch answer there."""
    name, case, number = line.example
    op, place = {**ROWS, **SPECIAL}[name], list(places(case))[number]
    return said(lambda: by_jax(op, case, place)), said(lambda: by_torch(op, case, place))


def spelled(line: Convention) -> str:
    name, case, _ = line.example
    text = ", ".join(str(np.asarray(x).tolist()) if is_array(x) else repr(x) for x in case if x is not None and x is not False)
    return f"`{name}({text})`"


# Rows whose answer elsewhere has a sign that the processor decides: LAPACK's choice of vectors that nothing determines.
SIGNS = ("linalg_svdvals_pulled",)


def answers(line: Convention) -> list[str]:
    """What JAX and torch answer, without signs that differ from machine to machine."""
    found = list(theirs(line))
    if line.rows in SIGNS:
        found = [f"{x.replace('[ ', '[').replace('-', '')} or `-`" if x.startswith("`[") else x for x in found]
    return found


def table() -> str:
    """The table of docs/conventions.md."""
    lines = ["| rows | point | example | here | JAX | torch | why |", "|---|---|---|---|---|---|---|"]
    for line in CONVENTIONS:
        rows = ", ".join(f"`{name}`" for name in line.rows.split())
        lines.append(f"| {rows} | {line.point} | {spelled(line)} | {ours(line)} | {' | '.join(answers(line))} | {line.why} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.stdout.write(table())
