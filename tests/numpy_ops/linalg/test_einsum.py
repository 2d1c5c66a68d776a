"""Products of two arrays of any axes, as NumPy takes them."""

from itertools import product
from typing import Any

import numpy as np
import pytest

import dispatch
from dispatch.errors import UnsupportedError


@pytest.mark.parametrize("shapes", [((2, 2, 3), (2, 3, 2)), ((2, 3), ()), ((), ()), ((3,), (3,)), ((2, 2, 3), (3,)), ((3,), (2, 3, 2))], ids=str)
def test_two_arrays_of_multi_dot_may_have_any_axes(shapes):
    x, y = [np.arange(1.0, 1.0 + np.prod(shape)).reshape(shape) for shape in shapes]
    f = lambda x, y: np.linalg.multi_dot([x, y])
    expected = f(x, y)
    for found in (
        dispatch.make_fx(f, "fake")(x, y)(x, y),
        dispatch.make_fx(f, "symbolic")(x, y)(x, y),
        dispatch.vmap(f)(x[None], y[None])[0],
        dispatch.vjp(f, x, y)[0],
        dispatch.jvp(f, (x, y), (x, y))[0],
    ):
        np.testing.assert_allclose(found, expected, strict=True)
    np.testing.assert_allclose(dispatch.jvp(f, (x, y), (x, y))[1], 2 * expected)


def random_subscripts(rng, operands):
    """Letters of some operands and of a result, repeated ones too, as no person would write them."""
    letters = "abcdef"
    terms = ["".join(rng.choice(list(letters), rng.integers(1, 4))) for _ in range(operands)]
    known = sorted(set("".join(terms)))
    return ",".join(terms) + "->" + "".join(rng.permutation(known)[: rng.integers(0, len(known) + 1)])


SIZES = dict(zip("abcdef", (2, 3, 4, 3, 2, 1), strict=True))


@pytest.mark.parametrize("operands", [1, 2, 3, 4, 5])
def test_random_subscripts_give_what_numpys_loop_gives(operands):
    rng = np.random.default_rng(operands)
    for _ in range(30):
        text = random_subscripts(rng, operands)
        arrays = [rng.random([SIZES[letter] for letter in term]) for term in text.partition("->")[0].split(",")]
        expected = np.einsum(text, *arrays)
        tracked = [dispatch.tensor(x, requires_grad=True) for x in arrays]
        for optimize in (False, True, "greedy", "optimal"):
            found = np.einsum(text, *tracked, optimize=optimize)
            np.testing.assert_allclose(dispatch.detach(found), expected, 1e-12, err_msg=f"{text}, {optimize}")
        batch = dispatch.vmap(lambda *xs, text=text: np.einsum(text, *xs))(*[np.stack([x, x + 1]) for x in arrays])
        np.testing.assert_allclose(batch[1], np.einsum(text, *[x + 1 for x in arrays]), 1e-12, err_msg=text)
        directions = [rng.random(x.shape) for x in arrays]
        _, tangent = dispatch.jvp(lambda *xs, text=text: np.einsum(text, *xs), tuple(arrays), tuple(directions))
        slopes = [np.einsum(text, *arrays[:i], d, *arrays[i + 1 :]) for i, d in enumerate(directions)]
        np.testing.assert_allclose(tangent, sum(slopes), 1e-10, err_msg=text)


def test_axes_may_be_arrays_of_numbers():
    x = np.arange(6.0).reshape(2, 3)
    found = np.einsum(dispatch.tensor(x, requires_grad=True), np.array([0, 1]), np.array([1]))
    np.testing.assert_array_equal(dispatch.detach(found), x.sum(0))


@pytest.mark.parametrize("axes", [[0, 52], [-1, 0], [0, 1.5]])
def test_an_axis_that_has_no_letter_is_numpys_error(axes):
    x = np.ones((2, 2))
    with pytest.raises((ValueError, TypeError)) as expected:
        np.einsum(x, axes)
    with pytest.raises(expected.type) as found:
        np.einsum(dispatch.tensor(x, requires_grad=True), axes)
    assert str(found.value) == str(expected.value)


def test_a_path_that_does_not_fit_is_numpys_error():
    x = np.ones(2)
    path = ["einsum_path", (1,), (0, 1)]
    with pytest.raises(RuntimeError) as expected:
        np.einsum("a,a,a->a", x, x, x, optimize=path)
    with pytest.raises(RuntimeError) as found:
        np.einsum("a,a,a->a", dispatch.tensor(x, requires_grad=True), x, x, optimize=path)
    assert str(found.value) == str(expected.value)


@pytest.mark.parametrize("optimize", [False, True])
@pytest.mark.parametrize("order", "AFCKafck")
@pytest.mark.parametrize("layouts", ["FF", "FC", "CC"])
def test_the_order_of_the_result_is_numpys(layouts, order, optimize):
    x, y = np.ones((2, 3, 5), order=layouts[0]), np.ones((4, 3), order=layouts[1])
    expected = np.einsum("...ft,mf->...mt", x, y, order=order, optimize=optimize)
    found = np.einsum("...ft,mf->...mt", dispatch.tensor(x, requires_grad=True), y, order=order, optimize=optimize)
    assert dispatch.detach(found).strides == expected.strides


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", ["dot", "inner", "tensordot 0", "tensordot 1"])
def test_a_batch_that_is_scaled_has_numpys_values_also_of_zero_times_inf(name: str) -> None:
    """NumPy has BLAS add a product with one element to zeros: a factor of 0 is left out, and 0 * inf is no nan."""
    function, _, axes = name.partition(" ")
    shapes = [(), (1,), (3,), (1, 1), (1, 3), (3, 1), (2, 3), (2, 2, 3)]
    random = np.random.default_rng(0)
    held = 0
    for dtypes, of_x, of_y in product(("ff", "dd", "DD", "ee", "fd", "id"), shapes, shapes[:-1]):
        x, y = [random.choice([0.0, -0.0, 1.0, -2.0, *([np.inf, np.nan] if kind != "i" else [])], (4, *shape)).astype(kind) for kind, shape in zip(dtypes, (of_x, of_y), strict=True)]

        def f(x: Any, y: Any) -> Any:
            return getattr(np, function)(x, y, *[int(n) for n in axes])

        for dims in ((0, 0), (0, None), (None, 0)):
            given = [a[0][()] if dim is None else a for a, dim in zip((x, y), dims, strict=True)]
            try:
                expected = np.stack([f(*[a if dim is None else a[i][()] for a, dim in zip(given, dims, strict=True)]) for i in range(4)])
            except (ValueError, IndexError):  # shapes that do not fit
                continue
            held += 1
            np.testing.assert_array_equal(dispatch.vmap(f, in_dims=dims)(*given), expected, strict=True)
    assert held > 100


def test_a_batch_that_is_scaled_has_the_slope_of_a_product_at_a_factor_of_zero() -> None:
    x, s = np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([0.0, 2.0])

    def f(x: Any, s: Any) -> Any:
        return np.sum(np.dot(x, s))

    for found in (
        dispatch.vmap(dispatch.grad(f, argnums=(0, 1)))(x, s),
        dispatch.grad(lambda x, s: np.sum(dispatch.vmap(f)(x, s)), argnums=(0, 1))(x, s),
    ):
        np.testing.assert_array_equal(found[0], [[0.0, 0.0], [2.0, 2.0]])
        np.testing.assert_array_equal(found[1], [3.0, 7.0])
    np.testing.assert_array_equal(dispatch.vmap(lambda x, s: dispatch.jvp(f, (x, s), (x, s))[1])(x, s), [0.0, 28.0])


@pytest.mark.parametrize("text", ["i,j->ij", "i,j->ji", "i,i->i", "i,j,k->kij"])
def test_a_product_without_sums_is_never_a_negative_zero(text: str) -> None:
    x = np.array([-1.5, -0.0, 2.0])
    f = lambda x: np.einsum(text, *[x] * (text.count(",") + 1))
    expected = f(x)
    assert not np.signbit(expected[expected == 0]).any()  # NumPy adds each to 0.0
    for found in (dispatch.jvp(f, (x,), (x,))[0], dispatch.vmap(f)(np.stack([x, x]))[0], dispatch.make_fx(dispatch.vmap(f))(x[None])(x[None])[0]):
        assert found.tobytes() == expected.tobytes()


WITH = [
    ("jl,lj,k->k", "ffi", {"order": "F"}), ("j,k->", "dd", {"dtype": complex}), ("kl...,kl...", "ff", {"optimize": True, "dtype": float}), ("kj,l->kj", "dd", {"order": "A"}),
    ("ij,jk->ik", "df", {"order": "F", "optimize": "greedy"}), ("ij,jk", "dd", {"dtype": "f4", "casting": "same_kind"}), ("ij->i", "f", {"dtype": "f2", "casting": "unsafe"}), ("ij->ji", "d", {"order": "C"}),
]  # fmt: skip


@pytest.mark.parametrize(("text", "dtypes", "options"), WITH, ids=[f"{text} {options}" for text, _, options in WITH])
def test_a_graph_of_keywords_is_numpys_call_to_the_bit(text: str, dtypes: str, options: dict[str, Any]) -> None:
    """Its loop over operands that it casts, or a result in another order, adds in another order than one of operands that were cast before."""
    random = np.random.default_rng(0)
    terms = text.partition("->")[0].split(",")
    args = [random.normal(size=(3,) * len(term.replace("...", "x"))).astype(kind) for term, kind in zip(terms, dtypes, strict=True)]

    def f(*args: Any) -> Any:
        return np.einsum(text, *args, **options)

    expected = f(*args)
    for found in (dispatch.make_fx(f, "fake")(*args)(*args), dispatch.make_fx(f, "symbolic")(*args)(*args), dispatch.functionalize(f)(*args), dispatch.compile(f)(*args)):
        np.testing.assert_array_equal(found, expected, strict=True)
        assert getattr(found, "strides", ()) == getattr(expected, "strides", ())
    tracked = [i for i, kind in enumerate(dtypes) if kind != "i"]
    pushed = dispatch.jvp(lambda *some: f(*[some[tracked.index(i)] if i in tracked else x for i, x in enumerate(args)]), tuple(args[i] for i in tracked), tuple(args[i] for i in tracked))
    np.testing.assert_allclose(pushed[0], expected, 1e-2 if expected.dtype == "f2" else 1e-5)
    np.testing.assert_allclose(pushed[1], len(tracked) * expected, 1e-2 if expected.dtype == "f2" else 1e-4)


@pytest.mark.parametrize("whole", [bool, np.int8])
def test_a_path_that_would_add_whole_numbers_by_themselves_is_refused(whole):
    x, y = np.full((2, 3), 1.5), np.ones((2, 3), whole)
    tracked = dispatch.tensor(x, requires_grad=True)
    assert np.array_equal(dispatch.detach(np.einsum("ji,jl,ki->lkj", y, tracked, y)), np.einsum("ji,jl,ki->lkj", y, x, y))
    said = rf"^np\.einsum with optimize= multiplies operands of dtype {np.dtype(whole)} and {np.dtype(whole)} by themselves .* x\.astype\('float64'\)"
    with pytest.raises(UnsupportedError, match=said):
        np.einsum("ji,jl,ki->lkj", y, tracked, y, optimize=True)
    found = np.einsum("ji,jl,ki->lkj", y.astype("float64"), tracked, y.astype("float64"), optimize=True)
    assert np.array_equal(dispatch.detach(found), np.einsum("ji,jl,ki->lkj", y, x, y))
