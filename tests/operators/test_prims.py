"""The operators the layers are built of, against NumPy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hn

from dispatch import eval_shape, ops
from dispatch.core import OpOverload
from dispatch.operators import prims
from dispatch.schema.schema import Schema

A = np.arange(24.0).reshape(2, 3, 4).copy()
PRIMS = [prims.add, prims.broadcast_to, prims.sum_to, prims.moveaxis, prims.select, prims.stack, prims.astype, prims.clone, prims.detach]


@pytest.mark.parametrize("op", PRIMS, ids=[op.schema.name for op in PRIMS])
def test_a_prim_is_an_operator_of_the_table(op):
    assert isinstance(op, OpOverload)
    assert getattr(ops.np, op.schema.name) is op
    assert op.__name__ == op.schema.name
    assert op.table.live(0) is not None
    assert all(a.numbers for a in op.schema.arguments if a.type.has_tensor)


def test_a_row_has_the_schema_that_its_text_says():
    for op in {id(op): op for name in dir(ops.np) if (op := getattr(ops.np, name))}.values():
        whole = Schema.parse(str(op.schema))
        assert whole == op.schema
        assert [a.kwarg_only for a in whole.arguments] == [a.kwarg_only for a in op.schema.arguments]
        assert all(a.numbers == a.type.has_tensor for a in op.schema.arguments), op


@pytest.mark.parametrize("text", ["np::a(Tensor x, Tensor x, int[2] axes=[0, 1]) -> Tensor", "np::a(Tensor x,Tensor y) -> Tensor", "np::a(Tensor! x, int y) -> ()"])
def test_a_row_is_not_made_of_a_text_that_is_no_schema(text):
    with pytest.raises(ValueError, match=r"two arguments are named|too many values to unpack|a write names its set"):
        prims.define(text, np.negative)


@given(hn.mutually_broadcastable_shapes(num_shapes=2, max_dims=4))
def test_broadcast_to_is_numpys(shapes):
    x = np.arange(float(np.prod(shapes.input_shapes[0]))).reshape(shapes.input_shapes[0])
    wanted = np.broadcast_to(x, shapes.result_shape)
    found = prims.broadcast_to(x, shapes.result_shape)
    assert np.array_equal(found, wanted)
    assert found.shape == wanted.shape
    assert not found.flags.writeable
    axes = [i for i, n in enumerate(wanted.shape) if n > 1]
    assert wanted.size == 0 or [found.strides[i] for i in axes] == [wanted.strides[i] for i in axes]


@pytest.mark.parametrize("shape", [(3,), (4,), (2, 1, 4), (5, 2, 3), ()])
def test_broadcast_to_a_shape_that_does_not_fit_raises_in_numpys_words(shape):
    try:
        np.broadcast_to(A, shape)
    except ValueError as error:
        with pytest.raises(ValueError) as caught:
            prims.broadcast_to(A, shape)
        assert str(caught.value) == str(error)
    else:
        assert np.array_equal(prims.broadcast_to(A, shape), A)


def test_broadcast_to_takes_numbers_lists_and_one_length():
    assert np.array_equal(prims.broadcast_to(2.0, (2, 3)), np.full((2, 3), 2.0))
    assert np.array_equal(prims.broadcast_to(2.0, [3]), np.full(3, 2.0))
    assert np.array_equal(prims.broadcast_to(np.ones(1), 3), np.ones(3))
    with pytest.raises(ValueError, match="negative"):
        prims.broadcast_to(np.ones(1), (-1,))


@given(hn.mutually_broadcastable_shapes(num_shapes=1, max_dims=4, max_side=3, base_shape=(2, 3)), st.data())
def test_sum_to_undoes_broadcasting(shapes, data):
    small, large = shapes.input_shapes[0], shapes.result_shape
    g = np.random.default_rng(0).normal(size=large)
    found = prims.sum_to(g, small)
    assert found.shape == small
    x = np.random.default_rng(1).normal(size=small)
    # <sum_to(g), x> == <g, broadcast(x)>: the two are adjoint
    assert np.allclose(np.sum(found * x), np.sum(g * np.broadcast_to(x, large)))


def test_sum_to_the_same_shape_is_the_array_itself():
    assert prims.sum_to(A, A.shape) is A


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
def test_select_takes_one_index_along_an_axis(axis):
    for index in (0, -1):
        assert np.array_equal(prims.select(A, axis, index), np.take(A, index, axis))
    assert prims.select(A, axis, 0).base is not None


@pytest.mark.parametrize("char", [*"?bhilBfdegFDG", "S3", "U3", "M8[s]", "m8[s]", ">f8", "<f8"])
@pytest.mark.parametrize("length", [0, 1, 2, 5])
def test_rows_are_stacked_as_numpy_stacks_them(char, length):
    x = np.arange(length).astype(char)
    swapped = x.astype(x.dtype.newbyteorder())
    lists = [[x], [x, x[::-1]], [x[::-1], x[::-1].copy()], [x[::2], x[::2].copy()], [swapped, swapped], [x, swapped]]
    lists += [[np.broadcast_to(x[:1], (3,))] * 2, [x[0], x[-1]], [x[0], 1.0], [1.0, 2.0]] if length and char[-1] not in "U3Ss]" else []
    for arrays in lists:
        found, expected = prims.stack(arrays), np.stack(arrays)
        assert (found.dtype, found.shape, found.strides) == (expected.dtype, expected.shape, expected.strides)
        assert np.array_equal(found, expected)
        assert found.flags.owndata
        assert found.flags.writeable


def test_stack_and_moveaxis_are_numpys():
    assert np.array_equal(prims.stack([A, A + 1], 1), np.stack([A, A + 1], 1))
    assert np.array_equal(prims.moveaxis(A, 0, -1), np.moveaxis(A, 0, -1))
    assert np.array_equal(prims.moveaxis(A, [0, 1], [1, 2]), np.moveaxis(A, [0, 1], [1, 2]))
    with pytest.raises(ValueError, match="all input arrays must have the same shape"):
        prims.stack([A, A[0]])


def test_astype_copies_only_where_it_must_and_takes_the_real_part():
    assert prims.astype(A, "f8") is A
    assert prims.astype(A, np.float32).dtype == "f4"
    z = A + 1j
    found = prims.astype(z, float)  # NumPy warns of what is dropped, and warnings are errors here
    assert np.array_equal(found, A)
    assert prims.astype(2.5, "i8") == 2


def test_detach_is_a_view_that_nobody_can_write_to():
    found = prims.detach(A)
    assert found.base is A
    assert np.array_equal(found, A)
    with pytest.raises(ValueError, match="read-only"):
        found[0] = 1
    assert A.flags.writeable
    assert prims.detach(2.5) == 2.5


BASE = np.arange(60.0).reshape(3, 4, 5)
STRIDED = [
    BASE, BASE.T, BASE[::-1], BASE[:, ::-2], BASE[..., ::2], BASE[1:, 1:3, :4].transpose(1, 2, 0), BASE[:, 1, ::-1], BASE[:, :0],
    BASE[1, 2, 3], BASE[1, 2, 3:4], BASE[::2, :, ::-3].swapaxes(0, 1), BASE.astype(complex).imag[::-1],
    np.zeros(5, [("a", "i1"), ("b", "f8")])["b"], np.array([None, "x", 3, 4.0])[::-2], np.array(["ab", "c", "d"])[::2],
]  # fmt: skip


@pytest.mark.parametrize("x", STRIDED, ids=lambda x: f"{x.shape} {x.strides} {x.dtype}")
def test_a_clone_has_the_strides_of_the_original(x):
    """And so has its fake: what is a view of the one is a view of the other."""
    made = prims.clone(x)
    axes = [i for i, n in enumerate(made.shape) if n > 1 and made.size]
    assert [made.strides[i] for i in axes] == [x.strides[i] for i in axes]
    assert np.array_equal(made, x)
    assert (made.dtype, made.shape, made.flags.writeable) == (x.dtype, x.shape, True)
    assert not np.shares_memory(made, x)
    assert [made.flags.c_contiguous, made.flags.f_contiguous] == [x.flags.c_contiguous, x.flags.f_contiguous]
    if x.dtype.kind == "f" and x.size:
        assert eval_shape(prims.clone, x).strides == made.strides


@pytest.mark.parametrize("axes", [(0,), (1,), (2,), (0, 1), (1, 2), (0, 1, 2)])
def test_elements_that_are_one_in_memory_are_several_in_a_clone(axes):
    x = np.broadcast_to(np.arange(60.0).reshape(3, 4, 5)[:, ::-1][tuple(slice(1) if i in axes else slice(None) for i in range(3))], (3, 4, 5))
    made = prims.clone(x)
    made[...] = np.arange(60.0).reshape(3, 4, 5)
    assert np.array_equal(made, np.arange(60.0).reshape(3, 4, 5))
    assert eval_shape(prims.clone, x).strides == made.strides
    overlapping = np.lib.stride_tricks.sliding_window_view(np.arange(6.0), 3)
    assert prims.clone(overlapping).strides == overlapping.copy("K").strides == eval_shape(prims.clone, overlapping).strides
