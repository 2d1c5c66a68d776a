"""What the families promise beyond the laws that `test_table.py` holds every row to: NumPy's numbers and its errors."""

from functools import reduce
from typing import Any

import numpy as np
import pytest
from samples import MASKED, cases, indexed, maker

import dispatch
from dispatch import FakeTensor, FakeTensorMode, ops, vmap
from dispatch.errors import BatchingError, DataDependentError
from dispatch.operators.views import ARRAY

ROWS = {op.schema.name: op for op in ops.np}


def faked(mode: FakeTensorMode, args: Any) -> Any:
    """Arguments with fakes for arrays."""
    return [
        mode.from_array(x) if isinstance(x, np.ndarray) else faked(mode, x) if isinstance(x, list) else x for x in args
    ]


@pytest.mark.parametrize("name", ["sum", "mean", "max", "min"])
@pytest.mark.parametrize("dtype", ["?", "i1", "u4", "i8", "f2", "f4", "f8", "c8", "c16"])
def test_a_reduction_computes_what_numpy_does(name: str, dtype: str) -> None:
    function = getattr(np, name)
    for x, axis, *_, keepdims in cases(ROWS[name], maker(dtype)):
        if x.size == 0:
            continue
        axis = tuple(axis) if isinstance(axis, list) else axis
        found, expected = ROWS[name](x, axis, keepdims=keepdims), function(x, axis=axis, keepdims=keepdims)
        assert (type(found), found.dtype) == (type(expected), expected.dtype)
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("name", ["sum", "mean"])
@pytest.mark.parametrize("into", ["f4", "f8", "i8", "c16"])
def test_a_reduction_into_another_dtype_does_what_numpy_does(name: str, into: str) -> None:
    for dtype in ("i4", "f2", "f8"):
        x = maker(dtype)((4, 3))
        found, expected = ROWS[name](x, 0, into), getattr(np, name)(x, 0, into)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


AXES = [
    ("sum", (3,)), ("mean", ((0, 2),)), ("max", (-3,)), ("expand_dims", (4,)), ("squeeze", (2,)), ("swapaxes", (0, 2)),
    ("moveaxis", (0, 2)), ("transpose", ((0, 2),)),
]  # fmt: skip


@pytest.mark.parametrize(("name", "rest"), AXES)
def test_an_axis_that_is_not_there_is_numpys_own_error_everywhere(name: str, rest: Any) -> None:
    op = ROWS[name]
    x = np.ones((2, 3))
    with pytest.raises(np.exceptions.AxisError) as plain:
        op(x, *rest)
    with FakeTensorMode() as mode, pytest.raises(np.exceptions.AxisError) as fake:
        op(mode.from_array(x), *rest)
    with pytest.raises(np.exceptions.AxisError) as batched:
        vmap(lambda x: op(x, *rest))(np.ones((4, 2, 3)))
    with pytest.raises(np.exceptions.AxisError) as tracked:
        op(dispatch.tensor(x, requires_grad=True), *rest)
    assert str(plain.value) == str(fake.value) == str(batched.value) == str(tracked.value)


SHAPES_THAT_DO_NOT_FIT: list[tuple[str, Any]] = [
    ("add", (np.ones((2, 3)), np.ones(2))),
    ("where", (np.ones(2), np.ones(3), np.ones(()))),
    ("matmul", (np.ones((2, 3)), np.ones((2, 3)))),
    ("matmul", (np.ones(()), np.ones((2, 3)))),
    ("reshape", (np.ones((2, 3)), (4, -1))),
    ("reshape", (np.ones((2, 3)), (-1, -1))),
    ("broadcast_to", (np.ones((2, 3)), (2, 4))),
    ("broadcast_to", (np.ones((2, 3)), (3,))),
    ("concatenate", ([np.ones((2, 3)), np.ones((3, 2))], 0)),
    ("concatenate", ([np.ones(()), np.ones(())], 0)),
    ("stack", ([np.ones((2, 3)), np.ones((3, 2))], 0)),
    ("squeeze", (np.ones((2, 1)), 0)),
    ("transpose", (np.ones((2, 3)), (0, 0))),
    ("max", (np.ones((0, 3)), 0)),
    ("min", (np.ones((3, 0, 0)), 1)),
    ("full", ((2, 3), np.ones(2))),
    ("zeros", ((2, -1),)),
    ("getitem", (np.ones((2, 3)), (0, 3))),
    ("getitem", (np.ones((2, 3)), (0, 0, 0))),
    ("getitem", (np.ones((2, 3)), (Ellipsis, Ellipsis))),
    ("getitem", (np.ones((2, 3)), (ARRAY, ARRAY), [np.zeros(2, int), np.zeros(3, int)])),
    ("getitem", (np.ones((2, 3)), (ARRAY,), [np.zeros(2)])),
    ("matmul", (np.ones((2, 2, 3)), np.ones((3, 3, 2)))),
]


@pytest.mark.parametrize(("name", "args"), SHAPES_THAT_DO_NOT_FIT, ids=lambda x: x if isinstance(x, str) else "")
def test_shapes_that_do_not_fit_are_refused_in_numpys_words_by_the_shape_rule_too(name: str, args: Any) -> None:
    with pytest.raises((ValueError, IndexError)) as real:
        ROWS[name](*args)
    with FakeTensorMode() as mode, pytest.raises(type(real.value)) as fake:
        ROWS[name](*faked(mode, args))
    assert str(real.value) == str(fake.value)


def test_numbers_alone_under_a_fake_mode_make_fakes() -> None:
    with FakeTensorMode():
        for out in (
            ops.np.add(1, 2.0),
            ops.np.where(True, 1, 2),
            ops.np.stack([1.0, 2.0], 0),
            ops.np.zeros((2,), "f4"),
        ):
            assert type(out) is FakeTensor
        assert ops.np.stack([1, 2], 0).shape == (2,)


def test_a_fake_is_no_larger_than_its_shape() -> None:
    with FakeTensorMode() as mode:
        x = mode.from_array(np.broadcast_to(0.0, (10**7, 10**7)))
        assert ops.np.sum(ops.np.transpose(x), 0).shape == (10**7,)
        assert ops.np.reshape(x, (-1,)).shape == (10**14,)
        assert ops.np.concatenate([x, x], 1).shape == (10**7, 2 * 10**7)
        assert ops.np.getitem(x, (ARRAY,), [ops.np.zeros((10**7, 10**7), int)]).shape == (10**7, 10**7, 10**7)


# -- gradients ---------------------------------------------------------------------------------------------------------


def test_elements_that_tie_share_a_gradient_as_in_torch() -> None:
    x = np.array([[1.0, 3.0, 3.0], [2.0, 2.0, 2.0]])
    np.testing.assert_array_equal(
        dispatch.grad(lambda x: np.sum(ops.np.max(x, 1)))(x), [[0, 0.5, 0.5], np.full(3, 1 / 3)]
    )
    np.testing.assert_array_equal(dispatch.grad(ops.np.min)(x), [[1, 0, 0], [0, 0, 0]])
    np.testing.assert_array_equal(dispatch.grad(lambda x: np.sum(ops.np.maximum(x, 2.0)))(x), [[0, 1, 1], [0.5] * 3])


def test_a_corner_has_the_mean_of_its_sides_and_no_nan() -> None:
    zero = np.zeros(1)
    assert dispatch.grad(lambda x: np.sum(abs(x)))(zero) == 0
    assert dispatch.grad(lambda x: np.sum(abs(x)))(zero + 0j) == 0
    for exponent in (0, 1, 2, np.array([0.0]), np.array([2.0])):
        assert dispatch.grad(lambda x, e=exponent: np.sum(x**e))(zero) == (1 if np.all(exponent == 1) else 0)
    assert dispatch.grad(lambda y: np.sum(np.zeros(1) ** y))(np.ones(1)) == 0


@pytest.mark.parametrize(("shape", "index", "arrays"), MASKED)
def test_a_mask_selects_in_every_transform_but_a_fake_one(shape: Any, index: Any, arrays: Any) -> None:
    x = maker("f8")(shape)
    expected = indexed(x, index, arrays)
    np.testing.assert_array_equal(ops.np.getitem(x, index, arrays), expected)
    weights = maker("f8")(expected.shape)
    np.testing.assert_allclose(
        dispatch.grad(lambda x: np.sum(ops.np.getitem(x, index, arrays) * weights))(x),
        ops.np.scatter_add(weights, index, shape, arrays),
    )
    batch = maker("f8")((4, *shape))
    np.testing.assert_array_equal(
        vmap(lambda x: ops.np.getitem(x, index, arrays))(batch), [indexed(x, index, arrays) for x in batch]
    )
    with (
        FakeTensorMode() as mode,
        pytest.raises(DataDependentError, match=r"how many elements a mask of shape .* np\.where"),
    ):
        ops.np.getitem(mode.from_array(x), index, [mode.from_array(i) for i in arrays])


def test_a_mask_for_each_item_makes_no_batch() -> None:
    with pytest.raises(BatchingError, match=r"np::getitem: a mask that differs from item to item .* np\.where"):
        vmap(lambda x, mask: ops.np.getitem(x, (ARRAY,), [mask]))(np.ones((2, 3)), np.ones((2, 3), bool))


def test_torch_agrees_about_complex_gradients() -> None:
    torch = pytest.importorskip("torch")
    z, w = (maker("c16", seed)((3, 3)) for seed in (0, 1))
    for name, f, g in [
        ("abs", lambda z: np.sum(abs(z)), lambda z: z.abs().sum()),
        ("matmul", lambda z: np.sum(np.real(z @ w * w)), lambda z: (z @ torch.tensor(w) * torch.tensor(w)).real.sum()),
        ("conj", lambda z: np.sum(np.imag(z.conj() * z * w)), lambda z: (z.conj() * z * torch.tensor(w)).imag.sum()),
        ("divide", lambda z: np.sum(np.real(w / z**2)), lambda z: (torch.tensor(w) / z**2).real.sum()),
        ("sign", lambda z: np.sum(np.real(np.sign(z) * w)), lambda z: (torch.sgn(z) * torch.tensor(w)).real.sum()),
    ]:
        leaf = torch.tensor(z, requires_grad=True)
        g(leaf).backward()
        np.testing.assert_allclose(dispatch.grad(f)(z), leaf.grad.numpy(), rtol=1e-12, err_msg=name)


# -- composites with a closed rule -------------------------------------------------------------------------------------------

CLOSED = ["roll", "repeat", "diff", "var", "std", "dot", "linalg_norm", "linalg_vector_norm", "linalg_matrix_norm", "prod", "sort"]


@pytest.mark.parametrize("name", CLOSED)
@pytest.mark.parametrize("dtype", ["f4", "f8", "c16"])
@pytest.mark.filterwarnings("ignore:Degrees of freedom:RuntimeWarning", "ignore:Mean of empty slice:RuntimeWarning")
@np.errstate(all="ignore")
def test_what_a_tape_computes_of_a_closed_composite_is_numpys_bit_for_bit(name: str, dtype: str) -> None:
    op = ROWS[name]
    for case in cases(op, maker(dtype)):
        if name.endswith("_norm") and np.ndim(case[0]) > 2 - name.startswith("linalg_v"):  # by singular values, of many rows
            continue
        if name.endswith("_norm") and case[1 + name.startswith("linalg_v")] not in (None, 2, "fro"):
            continue
        args = [dispatch.tensor(x, requires_grad=True) if isinstance(x, (np.ndarray, np.generic)) else x for x in case]
        count = op.arguments.positional
        found, expected = [op(*xs[:count], **dict(zip(op.arguments.keyword_names, xs[count:], strict=True))) for xs in (args, case)]
        assert np.asarray(dispatch.detach(found)).tobytes() == np.asarray(expected).tobytes()


def many(kind: str, n: int = 3000) -> np.ndarray[Any, Any]:
    """Numbers enough for the kernels that look before they compute, with what makes them look twice."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=n)
    x[rng.integers(0, n, 5)] = {"plain": 2.5, "inf": np.inf, "nan": np.nan, "zero": -0.0}[kind]
    return x


every_kind = pytest.mark.parametrize("kind", ["plain", "inf", "nan", "zero"])


@every_kind
def test_gradients_that_are_chosen_of_many_are_those_of_where(kind: str) -> None:
    x, out = many(kind), many("nan")[::-1]
    for mask in (many("plain") > 0, np.zeros(3000, bool), np.ones(3000, bool)):
        np.testing.assert_array_equal(ops.np.zero_unless(mask, x), np.where(mask, x, 0.0))
        np.testing.assert_array_equal(ops.np.zero_unless_nan(mask, x, out), np.where(np.isnan(out), np.nan, np.where(mask, x, 0.0)))
        for tied in (~mask, np.zeros(3000, bool)):
            expected = np.where(np.isnan(out), np.nan, np.where(tied, 0.5, mask))
            np.testing.assert_array_equal(ops.np.share(mask, tied, out), expected)


@every_kind
@pytest.mark.parametrize("several", [False, True])
def test_the_order_of_many_is_the_stable_one(kind: str, several: bool) -> None:
    x = np.round(many(kind), 1) if several else many(kind)
    np.testing.assert_array_equal(ops.np.stable_order(x, np.sort(x)), np.argsort(x, kind="stable"))
    slope = dispatch.grad(lambda t: np.sum(np.sort(t) * np.arange(3000.0)))(x)
    np.testing.assert_array_equal(slope, np.argsort(np.argsort(x, kind="stable")))


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "g", ">f8"])
@pytest.mark.parametrize("kind", ["close", "below 0", "both zeros", "infinite", "equal", "reversed"])
def test_the_order_by_patterns_is_the_stable_one(kind: str, dtype: str) -> None:
    rng = np.random.default_rng(1)
    x = {
        "close": 1 + rng.integers(0, 9, 3000) * 2.0**-52,  # apart in bits that give way to places
        "below 0": rng.normal(size=3000) - 9,
        "both zeros": rng.choice([0.0, -0.0, 1.0, -1.0], 3000),
        "infinite": rng.choice([np.inf, -np.inf, 0.5, -5e-8], 3000),
        "equal": np.full(3000, -2.0),
        "reversed": rng.normal(size=6000)[::-2],
    }[kind].astype(dtype)
    np.testing.assert_array_equal(ops.np.stable_order(x, np.sort(x)), np.argsort(x, kind="stable"))


@pytest.mark.parametrize("shape", [(3000,), (40, 30)])
def test_what_is_put_back_stands_where_it_was(shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(2).normal(size=shape)
    order = np.argsort(x, -1)
    assert ops.np.put_back(np.take_along_axis(-0.0 * x, order, -1), order).tobytes() == (-0.0 * x).tobytes()
    np.testing.assert_array_equal(ops.np.put_back(np.sort(x), order), x)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "g", "c8", "c16", ">f8"])
@pytest.mark.parametrize("n", [1, 2, 3, 7, 8, 9])
def test_sums_of_few_have_the_bits_of_numpys(n: int, dtype: str) -> None:
    x = np.random.default_rng(3).normal(size=(600, n)).astype(dtype)
    x[0], x[1, -1], x[2, 0] = -0.0, np.nan, np.inf
    for case in (x, x[::2], np.asfortranarray(x), x.reshape(2, 300, n)):
        found, expected = ops.np.sum_of_few(case), np.sum(case, -1)
        assert (found.tobytes(), found.dtype, found.strides) == (expected.tobytes(), expected.dtype, expected.strides)
    t = dispatch.tensor(np.ones(600, x.dtype.newbyteorder("=")), requires_grad=True)
    np.repeat(t, n).backward(x.ravel())
    np.testing.assert_array_equal(t.grad, np.sum(x, -1))


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8", "c16", ">f8", "i4"])
@pytest.mark.parametrize("shape", [(2,), (9,), (3, 4), (2, 3, 4), (2, 0)])
def test_differences_of_equal_steps_are_numpys_to_the_bit(shape: tuple[int, ...], dtype: str) -> None:
    x = (np.random.default_rng(4).normal(size=shape) * 9).astype(dtype)
    x.flat[:1] = np.inf if x.dtype.kind in "fc" else 1
    with np.errstate(invalid="ignore"):
        for case in (x, np.asfortranarray(x), x[..., ::-1]):
            for axis in [axis for axis in range(-x.ndim, x.ndim) if x.shape[axis]]:
                found, expected = ops.np.equal_differences(case, 1.0, axis, 1), np.gradient(case, 1.0, axis=axis)
                assert (found.tobytes(), found.dtype, found.strides) == (expected.tobytes(), expected.dtype, expected.strides)


@pytest.mark.parametrize("axes", [0, 1, 2, ((0,), (1,)), ((1, 0), (0, 1)), ((-1, 0), (-2, -1)), (1, 0)])
def test_a_closed_gradient_of_tensordot_is_that_of_einsum(axes: Any) -> None:
    shapes = {0: ((2,), (3, 2)), 1: ((2, 3), (3, 4, 2)), 2: ((5, 2, 3), (2, 3, 4))}.get(axes if type(axes) is int else -1, ((3, 2), (2, 3)))
    x, y = [maker("c16")(shape) for shape in shapes]
    of_x, of_y = (tuple(range(x.ndim - axes, x.ndim)), tuple(range(axes))) if type(axes) is int else [np.atleast_1d(i) for i in axes]
    letters_x, letters_y = list("abcd"[: x.ndim]), list("efgh"[: y.ndim])
    for i, j in zip(of_x, of_y, strict=True):
        letters_y[j] = letters_x[i]
    text = f"{''.join(letters_x)},{''.join(letters_y)}"
    text += "->" + "".join([i for i in letters_x if i not in letters_y] + [i for i in letters_y if i not in letters_x])

    def loss(product: Any) -> Any:
        return lambda x, y: np.sum(np.abs(product(x, y)) ** 2)

    found = dispatch.grad(loss(lambda x, y: np.tensordot(x, y, axes)), (0, 1))(x, y)
    expected = dispatch.grad(loss(lambda x, y: np.einsum(text, x, y)), (0, 1))(x, y)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)


@pytest.mark.parametrize("dtype", ["f8", "c16"])
@pytest.mark.parametrize("shapes", [[(2, 3), (3, 4), (4, 5)], [(3,), (3, 4), (4, 5)], [(2, 3), (3, 4), (4,)], [(3,), (3, 4), (4,)], [(2, 3), (3, 3), (3, 4), (4, 2)]])
def test_a_closed_gradient_of_a_chain_is_that_of_its_products(shapes: Any, dtype: str) -> None:
    arrays = [maker(dtype)(shape) for shape in shapes]
    moved = [maker(dtype)(shape) + 1 for shape in shapes]

    def loss(product: Any) -> Any:
        return lambda *arrays: np.sum(np.abs(product(arrays)) ** 2)

    chain, products = loss(np.linalg.multi_dot), loss(lambda arrays: reduce(np.matmul, arrays))
    every = tuple(range(len(arrays)))
    for found, expected in zip(dispatch.grad(chain, every)(*arrays), dispatch.grad(products, every)(*arrays), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-12)
    tangents = [dispatch.jvp(f, tuple(arrays), tuple(moved))[1] for f in (chain, products)]
    np.testing.assert_allclose(*tangents, rtol=1e-12)


@pytest.mark.parametrize("reps", [2, (), (0,), (1, 1), (3, 1), (2, 1, 3), (1, 2)])
@pytest.mark.parametrize("shape", [(), (2,), (2, 3), (0, 2)])
def test_the_gradient_of_a_tile_adds_up_the_copies(shape: tuple[int, ...], reps: Any) -> None:
    places = np.arange(1.0, 1 + np.prod(shape, dtype=int)).reshape(shape)
    copies = np.tile(places, reps)
    g = np.random.default_rng(5).normal(size=copies.shape)
    t = dispatch.tensor(places, requires_grad=True)
    np.tile(t, reps).backward(g)
    np.testing.assert_allclose(t.grad, np.array([g[copies == i].sum() for i in places.flat]).reshape(shape), atol=1e-14)


@pytest.mark.parametrize("scale", [1.0, 1e-200, 1e200])
@pytest.mark.parametrize("zeros", [0, 1, 2])
def test_products_of_the_others_are_right_where_a_quotient_is_not(scale: float, zeros: int) -> None:
    x = np.array([1.5, -2.0, 3.0]) * scale
    x[:zeros] = 0
    with np.errstate(over="ignore", under="ignore"):
        expected = np.array([x[1] * x[2], x[0] * x[2], x[0] * x[1]])
        np.testing.assert_allclose(ops.np.product_of_others(x), expected, rtol=1e-15)
        np.testing.assert_allclose(ops.np.product_of_others(x, np.prod(x)), expected, rtol=1e-15)
        np.testing.assert_allclose(dispatch.grad(np.prod)(x), expected, rtol=1e-15)


@pytest.mark.parametrize("text", ["ij,j->i", "ij,jk->ik", "ij->ji", "ij->", "ij->j", "i,i", "i,j->ij", "ij,ij,j->i", "bij,bjk->bik", "ij,kj->", "i,i,i->"])
@pytest.mark.parametrize("dtype", ["f8", "c16"])
def test_a_closed_gradient_of_einsum_is_that_of_its_products(text: str, dtype: str) -> None:
    sizes, make = dict(zip("bijk", (2, 3, 4, 5), strict=True)), maker(dtype)
    operands = [make(tuple([sizes[letter] for letter in term])) for term in text.partition("->")[0].split(",")]
    for i in range(len(operands)):

        def loss(t: Any, optimize: Any, i: int = i) -> Any:
            found = np.einsum(text, *operands[:i], t, *operands[i + 1 :], optimize=optimize)
            return np.sum(np.real(found * np.conj(found)))

        slopes = [dispatch.grad(lambda t, by=by: loss(t, by))(operands[i]) for by in (False, True)]  # by one call, and by many
        np.testing.assert_allclose(*slopes, rtol=1e-12)
