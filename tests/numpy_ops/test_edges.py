"""Derivatives of every row at the edges: zeros, ties, nan, infinities, singular matrices, one element, none, repeated indices.

Both directions agree everywhere; a derivative that depends on the value is nan where the value is; and each equals JAX's or torch's, or
docs/conventions.md says what it is and why. No answer is kept: they are worked out by whoever is installed.
"""

import functools
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conventions import CONVENTIONS, covered, has_inf, ours, table
from edges import (
    COMPLEX_GRID,
    EDGES,
    FINITE,
    GRID,
    ROWS,
    SPECIAL,
    SPECIAL_NAMES,
    at_place,
    by_jax,
    by_torch,
    cases_at,
    forward,
    grid,
    in_jax,
    places,
    reverse,
    run,
    weights,
)

import dispatch
from dispatch import ops
from dispatch.core import OpOverload
from dispatch.errors import UnsupportedError
from dispatch.schema.tags import Tag

inf, nan = np.inf, np.nan
pytestmark = pytest.mark.filterwarnings("ignore")
PAGE = Path(__file__).parents[2] / "docs/conventions.md"
POINTWISE = {
    name: op for name, op in ROWS.items() if Tag.pointwise in op.tags and len(op.schema.returns) == 1 and name != "root"
}
OTHERS = {name: op for name, op in ROWS.items() if name not in POINTWISE}
of_pointwise = pytest.mark.parametrize("op", POINTWISE.values(), ids=POINTWISE)
of_others = pytest.mark.parametrize("op", OTHERS.values(), ids=OTHERS)
every_row = pytest.mark.parametrize("op", ROWS.values(), ids=ROWS)
OF_DATA = (np.linalg.LinAlgError, ZeroDivisionError)  # what NumPy finds in the numbers


def equal(a: Any, b: Any, rtol: float = 1e-6, atol: float = 1e-9) -> Any:
    """Where two answers are the same: nan and nan are, inf and inf; without the checks of np.isclose, which take longer than a gradient."""
    near = np.abs(np.subtract(a, b)) <= atol + rtol * np.abs(b)
    return (near & np.isfinite(b)) | np.equal(a, b) | (np.isnan(a) & np.isnan(b))


def asked(op: OpOverload, column: Any, place: Any) -> list[Any]:
    """The gradient of each case; None where NumPy, or LAPACK, refuses these numbers."""
    found: list[Any] = []
    for case in column:
        try:
            run(op, case)
        except (TypeError, ValueError, *OF_DATA):  # the function itself, without a gradient
            found.append(None)
            continue
        try:
            found.append(reverse(op, case, place))
        except OF_DATA:
            assert np.all(covered(op.schema.name, place[0], case)), (column, place)
            found.append(None)
    return found


def columns(op: OpOverload, dtype: Any) -> Any:
    """Cases that differ in their numbers alone: of a pointwise row one, of every combination of the grid."""
    if op.schema.name in POINTWISE:
        values = COMPLEX_GRID if dtype == "c16" else GRID
        yield str(dtype), [tuple([x.astype(dtype) for x in grid(op, values)])]
    else:
        yield from cases_at(op, dtype, FINITE if dtype == "c16" else tuple(EDGES))


# -- without an oracle -------------------------------------------------------------------------------------------------


@every_row
@pytest.mark.parametrize("dtype", ["f8", "f4", "c16"])
@np.errstate(all="ignore")
def test_both_directions_agree_at_the_edges(op: OpOverload, dtype: str) -> None:
    """What reverse mode says of a direction without zeros, forward mode says too: nan is nan, inf is inf."""
    for text, column in columns(op, dtype):
        for place in places(column[0]):
            for case, gradient in zip(column, asked(op, column, place), strict=True):
                if gradient is None or not gradient.size:  # a tangent of nothing is that of the value: the mean of nothing is nan
                    continue
                assert gradient.dtype == at_place(case, place).dtype
                if op.schema.name in POINTWISE:
                    found, x = element_by_element(op, case, place), np.asarray(case[place[0]])
                    assert np.all(equal(found, np.real(gradient), rtol=1e-4 if dtype == "f4" else 1e-9, atol=1e-30)), (place, x)
                    continue
                found, direction = forward(op, case, place)
                terms = np.real(np.conj(gradient) * direction)
                if np.isinf(terms).any() and has_inf(*case) and covered(op.schema.name, place[0], case):  # inf - inf, in another order
                    continue
                if op.schema.name in UNDETERMINED and np.all(covered(op.schema.name, place[0], case)):
                    continue
                close = {"rtol": 1e-4, "atol": 1e-5} if dtype == "f4" else {}
                assert equal(found, np.sum(terms), **close), (text, place, case)


# Of such matrices it is rounding divided by rounding; the last two multiply zeros that stand beside the elements by inf.
UNDETERMINED = {"linalg_qr", "linalg_tall_qr", "linalg_svd", "linalg_eigh", "sliding", "overlapping", "differences_at"}


def element_by_element(op: OpOverload, case: Any, place: Any) -> Any:
    """The tangent of each element of a pointwise row, in the direction of 1, weighed as in `reverse`."""
    at = place[0]
    found = dispatch.jvp(lambda x: op(*case[:at], x, *case[at + 1 :]), (case[at],), (np.ones_like(case[at]),))[1]
    return np.zeros(case[at].shape) if found is None else np.real(found) * weights(found.shape)


@np.errstate(all="ignore")
def test_a_pole_of_zeros_that_may_be_written_to_is_nan_forward_and_0_backward_as_the_page_says() -> None:
    x, t = np.array([1.0, 2.0]), np.array([1.0, 0.5])
    for zeros, slope in ((np.zeros_like, np.nan), (lambda x: np.zeros(x.shape), 0.0)):
        for pole in (np.sqrt, np.cbrt, np.log):
            f = lambda x, zeros=zeros, pole=pole: np.sum(pole(zeros(x))) + np.sum(x * x)
            np.testing.assert_array_equal(dispatch.grad(f)(x), 2 * x)
            np.testing.assert_array_equal(dispatch.jvp(f, (x,), (t,))[1], np.sum(2 * x * t) + slope)


@of_pointwise
@np.errstate(all="ignore")
def test_a_derivative_that_depends_on_the_value_is_nan_where_the_value_is(op: OpOverload) -> None:
    case = tuple(grid(op, GRID))
    try:
        value = run(op, case)
    except TypeError:  # of bits
        return
    if value.dtype.kind != "f":
        return
    shape = (len(GRID),) * len(case)
    numbers = np.array(GRID)
    smooth = np.flatnonzero(np.isfinite(numbers) & (numbers != 0))
    is_nan = np.isnan(value).reshape(shape)
    for place in places(case):
        found = (reverse(op, case, place) / weights(value.shape)).reshape(shape)
        for axis in range(len(case)):
            along = np.moveaxis(found, axis, -1)
            known = np.where(np.isfinite(along), along, 0.0)[..., smooth]
            at_nan = GRID.index(nan)
            lost = (np.ptp(known, axis=-1) > 1e-9) & np.moveaxis(is_nan, axis, -1)[..., at_nan] & ~np.isnan(along[..., at_nan])
            assert not lost.any(), (place, axis, lost)


@pytest.mark.parametrize("name", ["max", "min", "ptp", "median", "linalg_norm", "var", "std", "mean", "sum", "prod", "average"])
@pytest.mark.parametrize("at", [0, 1, 2])
@np.errstate(all="ignore")
def test_the_derivative_of_a_reduction_is_nan_where_its_value_is(name: str, at: int) -> None:
    """Of those whose derivative depends on the values; that of a sum does not."""
    x = np.array([1.0, 3.0, 2.0])
    x[at] = nan
    op = getattr(ops.np, name)
    found = dispatch.grad(lambda x: op(x))(x)
    pushed = dispatch.jvp(lambda x: op(x), (x,), (np.array([1.0, 0.5, 2.0]),))[1]
    if name in ("sum", "mean", "average"):
        assert not np.isnan(found).any()
        assert not np.isnan(pushed)
    else:
        assert np.isnan(found).any()
        assert np.isnan(pushed)


# -- against JAX and torch -----------------------------------------------------------------------------------------------


def differing(op: OpOverload, column: Any, place: Any) -> Any:
    """Each case whose gradient is neither torch's nor JAX's nor stated, with the answers. JAX, which is slow, is asked last."""
    for case, found in zip(column, asked(op, column, place), strict=True):
        if found is None or not found.size:
            continue
        same = np.zeros(found.shape, bool) | covered(op.schema.name, place[0], case)
        theirs: dict[str, Any] = {}
        for oracle, answer in ("torch", by_torch), ("jax", by_jax):
            if not same.all():
                try:
                    theirs[oracle] = answer(op, case, place)
                except Exception as error:  # what it has not, or refuses
                    theirs[oracle] = error
                    continue
                same = same | equal(found, theirs[oracle])
        if not same.all():
            given = [np.broadcast_to(x, same.shape)[~same] for x in case] if op.schema.name in POINTWISE or op in SPECIAL.values() else case
            yield given, found[~same], {name: x[~same] if isinstance(x, np.ndarray) else x for name, x in theirs.items()}


def depends_on_the_value(found: list[Any]) -> bool:
    """Whether gradients at several points differ; where they do not, `test_table.py` holds them to finite differences."""
    known = [x for x in found if x is not None]
    return any(not np.array_equal(x, known[0]) for x in known)


@pytest.mark.jax
@pytest.mark.torch
@every_row
@pytest.mark.parametrize("dtype", ["f8", "c16"])
@np.errstate(all="ignore")
def test_a_gradient_at_an_edge_is_jaxs_or_torchs_or_stated(op: OpOverload, dtype: str) -> None:
    for text, column in columns(op, dtype):
        for place in places(column[0]):
            if op.schema.name in POINTWISE or depends_on_the_value(asked(op, column, place)):
                for given, found, theirs in differing(op, column, place):
                    pytest.fail(f"{text}, argument {place}: {given} gives {found}, and {theirs}")


@pytest.mark.jax
@pytest.mark.torch
@pytest.mark.parametrize("op", SPECIAL.values(), ids=SPECIAL)
@np.errstate(all="ignore")
def test_a_gradient_of_a_special_function_at_an_edge_is_jaxs_or_torchs_or_stated(op: OpOverload) -> None:
    case = tuple(grid(op, GRID))
    for place in places(case):
        try:
            reverse(op, tuple(np.ones(1) for _ in case), place)
        except UnsupportedError:  # by an argument without a closed form, as test_special_ufuncs.py says
            continue
        for given, found, theirs in differing(op, [case], place):
            pytest.fail(f"argument {place}: {given} gives {found}, and {theirs}")


@of_pointwise
@np.errstate(all="ignore")
def test_four_ways_to_a_second_derivative_agree_at_the_edges(op: OpOverload) -> None:
    """Forward and reverse mode of each: where one is finite, all are that; at a pole they may be nan or inf."""
    case = tuple(grid(op, SMOOTH))
    if run_or_none(op, case) is None:
        return
    for at, _ in places(case):
        for other in range(len(case)):
            made = [np.broadcast_to(0.0 if x is None else x, case[0].shape) for x in second_derivatives(op, case, at, other)]
            finite = np.any([np.isfinite(x) for x in made], axis=0)
            for x in made:
                np.testing.assert_allclose(x[finite], made[0][finite], rtol=1e-9, atol=1e-12)


def second_derivatives(op: OpOverload, case: Any, at: int, other: int) -> list[Any]:
    """The derivative, by one argument, of that by another: forward and reverse mode of each."""
    ones = np.ones(case[0].shape)

    def of(x: Any, y: Any) -> Any:
        return op(*[x if i == at else y if i == other else z for i, z in enumerate(case)])

    def back(y: Any) -> Any:
        x = y if at == other else case[at]
        return dispatch.vjp(lambda x: of(x, y), x)[1](ones)[0]

    def ahead(y: Any) -> Any:
        x = y if at == other else case[at]
        return dispatch.jvp(lambda x: of(x, y), (x,), (ones,))[1]

    y = case[other]
    by_tangent = [dispatch.jvp(f, (y,), (ones,))[1] for f in (back, ahead)]
    return [*by_tangent, *[dispatch.grad(lambda y, f=f: np.sum(f(y) * ones))(y) for f in (back, ahead)]]


SMOOTH = [0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0]


@pytest.mark.jax
@of_pointwise
@np.errstate(all="ignore")
def test_a_second_derivative_at_an_edge_is_jaxs_or_not_made_up(op: OpOverload) -> None:
    """At 0, at a half, one and two and their negatives: where JAX's is finite, ours is that, or nan."""
    import jax

    try:
        function = in_jax(op, jax.numpy)
    except AttributeError:
        return
    case = tuple(grid(op, SMOOTH))
    if run_or_none(op, case) is None:
        return
    for place in places(case):

        def slope(*xs: Any, place: Any = place) -> Any:
            return dispatch.vjp(lambda *ys: op(*ys), *xs)[1](np.ones(np.shape(xs[0])))[place[0]]

        def theirs(*xs: Any, place: Any = place) -> Any:
            return jax.vjp(function, *xs)[1](jax.numpy.ones(xs[0].shape))[place[0]]

        for other in range(len(case)):
            direction = tuple([np.ones_like(x) if i == other else np.zeros_like(x) for i, x in enumerate(case)])
            made = dispatch.jvp(slope, case, direction)[1]
            with jax.enable_x64(True):
                found = np.asarray(jax.jvp(theirs, case, direction)[1])
            made = np.zeros(found.shape) if made is None else made
            wrong = np.isfinite(found) & ~np.isnan(made) & ~np.isclose(made, found, rtol=1e-6, atol=1e-9)
            wrong &= ~np.asarray(CORNERS.get(op.schema.name, lambda *xs: False)(*case))
            assert not wrong.any(), [(place, other), [x[wrong] for x in case], made[wrong], found[wrong]]


CORNERS: dict[str, Any] = {
    "hypot": lambda x, y: abs(x) == abs(y),  # JAX divides by the larger, and calls its choice of that a constant
    **dict.fromkeys(["i0", "i1"], lambda x: x == 0),  # JAX takes |x| for a constant there: of I0'' = 1/2 it makes 0
}


def run_or_none(op: OpOverload, case: Any) -> Any:
    try:
        found = run(op, case)
    except TypeError:
        return None
    return found if found.dtype.kind == "f" else None


# -- the page ------------------------------------------------------------------------------------------------------------


@pytest.mark.jax
@pytest.mark.torch
def test_the_page_has_the_answers_that_there_are() -> None:
    assert table() in PAGE.read_text()


def test_every_line_of_the_page_is_about_rows() -> None:
    text = PAGE.read_text()
    for line in CONVENTIONS:
        assert set(line.rows.split()) <= {*ROWS, *SPECIAL_NAMES.split()}
        assert line.example[0] in line.rows.split()
        assert f"| {line.point} | " in text
        assert f" | {line.why} |" in text


def test_the_gradient_is_what_the_page_says_of_it() -> None:
    """Our column alone, which needs no oracle."""
    text = PAGE.read_text()
    for line in CONVENTIONS:
        if line.example[0] not in {**ROWS, **SPECIAL}:  # SciPy is not installed
            continue
        (row,) = [shown for shown in text.splitlines() if f"| {line.point} | " in shown and f" | {line.why} |" in shown and shown.startswith(f"| `{line.rows.split()[0]}`")]
        assert f" | {ours(line)} | " in row


# -- points that were wrong ------------------------------------------------------------------------------------------------


def both(f: Any, *xs: Any) -> Any:
    """The gradient by the first argument, of reverse mode, which forward mode confirms."""
    xs = tuple(map(np.asarray, xs))
    found = dispatch.grad(f)(*xs)
    for place in np.ndindex(xs[0].shape):
        direction = np.zeros_like(xs[0])
        direction[place] = 1.0
        pushed = dispatch.jvp(lambda x: f(x, *xs[1:]), xs[:1], (direction,))[1]
        np.testing.assert_allclose(pushed, np.real(found[place]), rtol=1e-12)
    return found


def test_the_second_derivative_of_sinc_is_that_of_its_integral() -> None:
    """`sinc(x)` is the integral of `cos(pi x t)` over t from 0 to 1."""
    t, w = np.polynomial.legendre.leggauss(60)
    t, w = (t + 1) / 2, w / 2
    for x in (0.0, -0.0, 1e-9, 1e-3, 0.4, 0.499999, 0.5, 1.0, 2.7):
        first, second, third = dispatch.grad(np.sinc), dispatch.hessian(np.sinc), dispatch.grad(dispatch.grad(dispatch.grad(np.sinc)))
        np.testing.assert_allclose(first(x), -np.sum(w * np.pi * t * np.sin(np.pi * x * t)), rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(second(x), -np.sum(w * (np.pi * t) ** 2 * np.cos(np.pi * x * t)), rtol=1e-11)
        np.testing.assert_allclose(third(x), np.sum(w * (np.pi * t) ** 3 * np.sin(np.pi * x * t)), rtol=1e-10, atol=1e-12)
    assert np.isclose(dispatch.hessian(np.sinc)(0.0), -(np.pi**2) / 3)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "norm",
    [np.linalg.norm, lambda x: np.hypot(x[0], x[1]), lambda x: np.linalg.norm(x, 3), np.std, lambda x: np.abs(x[0] + 1j * x[1])],
    ids=["norm", "hypot", "norm of order 3", "std", "abs"],
)
def test_a_second_derivative_that_a_norm_has_not_at_0_is_nan_and_not_0(norm: Any) -> None:
    zero = np.zeros(2)
    assert np.array_equal(dispatch.grad(norm)(zero), zero)
    for f in norm, lambda x: norm(x) ** 2:
        slope = dispatch.grad(f)
        assert np.isnan(dispatch.jacfwd(slope)(zero)).any(axis=0).all()
        assert np.isnan(dispatch.jacrev(slope)(zero)).any(axis=0).all()
        assert np.array_equal(slope(zero), zero)


def test_the_gradient_of_a_norm_at_0_is_0_in_every_order() -> None:
    for order in (None, 0.5, 1, 1.5, 2, 3, np.inf):
        assert np.array_equal(both(lambda x, order=order: np.linalg.norm(x, order), np.zeros(3)), np.zeros(3)), order
    assert np.array_equal(both(lambda x: np.linalg.norm(x, 0.5), np.array([0.0, 4.0])), [0.0, 1.0])


@pytest.mark.filterwarnings("ignore")
def test_the_deviation_of_one_element_has_the_gradient_0() -> None:
    assert np.array_equal(both(np.std, np.array([3.0])), [0.0])
    assert np.array_equal(both(np.std, np.array([3.0, 3.0])), [0.0, 0.0])


@pytest.mark.filterwarnings("ignore")
def test_a_largest_value_that_is_nan_has_the_gradient_nan_in_both_directions() -> None:
    x = np.array([1.0, nan, 2.0])
    for f in (np.max, np.min, np.ptp, lambda x: np.maximum(x[1], 1.0), lambda x: np.clip(x, 0.0, 5.0)[1], lambda x: np.fmin(x[1], nan)):
        assert np.isnan(dispatch.grad(f)(x)[1])
        assert np.isnan(dispatch.jvp(f, (x,), (np.ones(3),))[1])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("f", [np.logaddexp, np.logaddexp2])
def test_the_logarithm_of_a_sum_goes_with_the_one_element_that_is_infinite(f: Any) -> None:
    """As the sums of two at a time do; of several infinities it is nan, in both directions."""
    for n in (1, 2, 3):
        for x in map(np.array, product([inf, -inf, 0.5, 2.0], repeat=n)):
            pairs = dispatch.grad(lambda x: functools.reduce(f, [x[i] for i in range(len(x))]))(x)
            for g in (f.reduce, lambda x: np.sum(f.reduceat(x, [0]))):
                found = dispatch.grad(g)(x)
                assert equal(found, np.where(np.isnan(pairs), found, pairs)).all(), x
                assert np.isnan(found).any() == (np.sum(x == f.reduce(x)) > 1 and np.isinf(f.reduce(x))), x
                assert equal(dispatch.jvp(g, (x,), (np.ones(n),))[1], np.sum(found)), x


def test_logaddexp_of_inf_goes_with_it() -> None:
    for f in np.logaddexp, np.logaddexp2:
        assert both(lambda x, f=f: f(x, 0.0), inf) == 1.0
        assert both(lambda x, f=f: f(x, inf), 0.0) == 0.0
        assert both(lambda x, f=f: f(x, -1000.0), 1000.0) == 1.0


def test_a_remainder_by_its_divisor_counts_the_quotient_it_was_made_with() -> None:
    assert np.remainder(-1.0, inf) == inf
    assert both(lambda y: np.remainder(-1.0, y), inf) == 1.0
    assert both(lambda y: np.fmod(-1.0, y), inf) == 0.0
    for f in np.remainder, np.fmod:
        for x in (1.0, -1.0, 0.7):  # 1 / .1 is 10, and 1 % .1 what is left of 9 times
            assert np.isclose(both(lambda y, f=f, x=x: f(x, y), 0.1), (f(x, 0.1) - x) / 0.1)


def test_the_gradient_of_a_product_of_real_parts_is_real() -> None:
    z = np.array([1 + 2j, 3 - 1j, 2 + 0.5j])
    with pytest.warns(np.exceptions.ComplexWarning):
        found = dispatch.grad(lambda z: np.prod(z, dtype=np.float64))(z)
    assert np.array_equal(found, [6.0, 2.0, 3.0])
    with pytest.warns(np.exceptions.ComplexWarning):
        found = dispatch.grad(lambda z: np.cumprod(z, dtype=np.float64)[1])(z)
    assert np.array_equal(found, [3.0, 1.0, 0.0])


def test_the_mixed_second_derivative_of_a_power_at_an_exponent_of_0() -> None:
    """`d/dy (y x ** (y - 1))` is `1 / x` there."""
    f = dispatch.grad(lambda x, y: x**y)
    assert np.isclose(dispatch.grad(f, 1)(2.0, 0.0), 0.5)
    assert both(lambda x: x ** np.array(0.0), inf) == 0.0


def test_the_gradient_of_the_determinant_of_a_singular_matrix_is_its_cofactors() -> None:
    for a in ([[1.0, 2.0], [2.0, 4.0]], np.zeros((2, 2)), np.zeros((3, 3)), [[1.0, 2, 3], [2, 4, 6], [1, 0, 1]], np.diag([1.0, 2, 0, 3])):
        a = np.array(a, float)
        step = 1e-4 * np.eye(a.size).reshape(a.size, *a.shape)  # det is a polynomial of degree 1 in each element
        expected = ((np.linalg.det(a + step) - np.linalg.det(a - step)) / 2e-4).reshape(a.shape)
        np.testing.assert_allclose(both(np.linalg.det, a), expected, atol=1e-9)
        np.testing.assert_allclose(dispatch.vmap(dispatch.grad(np.linalg.det))(np.stack([a, a + np.eye(len(a))]))[0], expected, atol=1e-9)


@pytest.mark.filterwarnings("ignore")
def test_an_infinite_factor_touches_the_products_it_is_in_alone() -> None:
    found = dispatch.grad(lambda x: np.sum(np.cumprod(x)))(np.array([2.0, 3.0, inf]))
    assert np.array_equal(found, [inf, inf, 6.0])
    assert both(lambda x: np.copysign(x, -1.0), inf) == -1.0
    assert both(lambda x: np.linalg.norm(np.stack([x, np.array(1.0)]), 0.5), 0.0) == 0.0


@pytest.mark.filterwarnings("ignore")
def test_the_branch_not_taken_leaves_no_nan() -> None:
    """With the argument made harmless where it is not used, as in JAX and torch."""
    x = np.array([0.0, 4.0])
    assert np.array_equal(both(lambda x: np.sum(np.where(x > 0, np.sqrt(np.where(x > 0, x, 1.0)), 0.0)), x), [0.0, 0.25])
