"""Layouts keep the values, values keep the layout, sizes tell axes apart."""

import numpy as np
import pytest

from dispatch.testing import layouts, sizes, values
from dispatch.testing.cases import arrays_in
from dispatch.testing.variants import (
    MOST_SIZES,
    apart,
    exchanged,
    lists,
    longer,
    number_lists,
    numbers,
    permuted,
    single_precision,
    smaller_integers,
    unbroadcast,
)

SAMPLES = [
    (np.arange(6.0).reshape(2, 3),),
    (np.asfortranarray(np.arange(6).reshape(2, 3)), 2.0),
    ([np.ones(3), np.zeros((2, 2), ">f4")], None, "text"),
    (np.array(2.0), np.float64(3.0)),
    (np.array(2.0), np.ones(3)),
    (np.zeros((0, 4)),),
    (np.array([True, False]), True),
    (np.array([1 + 2j, 3]), {"a": np.ones((2, 1, 2))}),
]


@pytest.mark.parametrize("args", SAMPLES, ids=str)
def test_a_layout_keeps_values_and_shapes(args):
    for what, made in layouts(args):
        assert len(made) == len(args)
        for x, y in zip(arrays_in(args), arrays_in(made), strict=True):
            np.testing.assert_array_equal(x, y, err_msg=what, strict=False)
            assert x.dtype.newbyteorder("=") == y.dtype.newbyteorder("=")
            assert not np.shares_memory(x, y) or what == "byte-swapped"


def test_each_layout_is_what_it_is_called():
    (x,) = args = (np.arange(6.0).reshape(2, 3),)
    made = {what: y for what, (y,) in layouts(args)}
    assert made["in Fortran order"].flags.f_contiguous
    assert made["with reversed strides"].strides == (-24, -8)
    assert made["with steps"].strides == (48, 16)
    assert not made["read-only"].flags.writeable
    assert made["byte-swapped"].dtype == x.dtype.newbyteorder()
    assert not made["unaligned"].flags.aligned
    assert next(what for what, _ in layouts((np.asfortranarray(x),))) == "in C order"


@pytest.mark.parametrize("args", SAMPLES, ids=str)
def test_other_values_keep_shape_dtype_and_layout(args):
    for _, made in values(args):
        for x, y in zip(arrays_in(args), arrays_in(made), strict=True):
            assert (x.shape, x.dtype, x.strides) == (y.shape, y.dtype, y.strides)


def test_a_permutation_has_the_same_values_elsewhere():
    x = np.arange(12.0).reshape(3, 4)
    y = permuted(x)
    assert sorted(y.ravel()) == sorted(x.ravel())
    assert not np.array_equal(x, y)
    assert np.array_equal(permuted(x), y)


def test_a_bool_is_flipped():
    assert [made[1] for _, made in values((np.array([1]), True))][-1] is False


def test_axes_of_one_length_are_told_apart():
    shapes = [tuple(x.shape for x in arrays_in(made)) for _, made in sizes((np.ones((3, 3)), np.ones((3, 3))))]
    assert ((4, 4), (4, 4)) in shapes
    assert ((3, 4), (3, 4)) in shapes
    assert ((3, 4), (3, 3)) in shapes
    assert ((0, 0), (0, 0)) in shapes
    assert ((), ()) in shapes


def test_a_length_changes_wherever_it_occurs():
    shapes = [tuple(x.shape for x in arrays_in(made)) for _, made in sizes((np.ones((2, 3)), [np.ones((3, 4))]))]
    others = [{**dict(zip((2, 3, 4), (2, 3, 4), strict=True)), n: to} for to in (1, 67, 0) for n in (2, 3, 4)]
    expected = [((3, 4), (4, 5)), *(((at[2], at[3]), (at[3], at[4])) for at in others), ((), ())]
    assert shapes == expected


def test_fixed_arrays_keep_their_lengths_in_the_others_too():
    made = list(sizes((np.ones((2, 3)), np.ones(3)), fixed=(1,)))
    assert {y.shape for _, (_, y) in made} == {(3,)}
    assert [x.shape for _, (x, _) in made] == [(3, 3), (1, 3), (67, 3), (0, 3)]


def test_only_longer_makes_nothing_shorter():
    for _, (x, y) in sizes((np.ones((2, 3)), np.arange(3)), only_longer=True):
        assert x.shape >= (2, 3)
        assert y.shape >= (3,)


def test_values_that_are_kept_stay():
    x = np.array([3, 1, 2])
    assert all(y is x for _, (_, y) in values((np.ones(2), x), kept=(1,)))


def test_single_precision_is_of_floats_and_complex_numbers():
    args = (np.ones(2), [np.ones(3, complex), np.arange(3)], np.ones(2, "f2"), 2.0)
    [(what, made)] = single_precision(args)
    assert what == "in single precision"
    assert [x.dtype.str[1:] for x in arrays_in(made)] == ["f4", "c8", "i8", "f2"]
    assert list(single_precision((np.ones(2, "f4"),))) == []


def test_lengths_of_one_and_what_is_no_array_stay():
    for _, made in sizes((np.ones((1, 2)), 7)):
        assert made[1] == 7
        assert made[0].shape[:1] in ((1,), ())


def test_sizes_come_to_an_end():
    assert len(list(sizes((np.ones(tuple(range(2, 2 + 3 * MOST_SIZES))[:3]),)))) <= MOST_SIZES + 1


def test_a_0d_array_stays_an_array_in_every_layout():
    for what, args in layouts((np.ones((2, 3)), np.array(2.0))):
        assert [type(x) for x in args] == [np.ndarray, np.ndarray], what
        assert [x.shape for x in args] == [(2, 3), ()], what


def test_amounts_have_their_special_values_tried_and_steps_do_not():
    def tried(name, value):
        return [args[0] for _, args in numbers((value,), [name], special=True)]

    assert tried("sigma", 2.0) == [0.7 * 2.0, 1.0, 0.0]
    assert tried("dt", 0.5) == [0.7 * 0.5, 1.0]
    assert tried("shift", 3) == [2, 1, 0]
    assert tried("count", 2) == [1]
    assert tried("axis", 1) == [0, -1]
    assert tried("axis", -1) == [0]
    assert tried("before", 3) == [2, 1, 0]


def test_all_amounts_are_zero_once():
    found = [args[1:] for _, args in numbers((np.ones(3), 2, 1.5, 3), ["x", "before", "scale", "count"], special=True)]
    assert found[-1] == (0, 0.0, 3)
    assert [args[1:] for _, args in numbers((np.ones(3), 2, 3), ["x", "before", "count"], special=True)][-1] == (2, 1)
    assert (0, 0) not in [args[1:] for _, args in numbers((np.ones(3), 2, 1), ["x", "before", "after"])]
    kept = [args[1:] for _, args in numbers((np.ones(3), 2, 1), ["x", "before", "after"], ["after"], special=True)]
    assert all(after == 1 for _, after in kept)


def test_integers_become_smaller_where_these_hold_them():
    assert [x.dtype.name for _, (x,) in smaller_integers((np.array([-128, 127]),))] == ["int32", "int8"]
    assert [x.dtype.name for _, (x,) in smaller_integers((np.array([-129, 127]),))] == ["int32"]
    assert list(smaller_integers((np.arange(3), np.ones(3)))) == []


def test_bools_are_all_true_once():
    chosen = np.array([True, False])
    assert [x.tolist() for what, (x, _) in values((chosen, np.ones(2))) if what == "with True alone"] == [[True, True]]


def test_lists_that_stay_are_left_alone():
    xs = [np.ones(2), np.ones(3)]
    assert [[x.shape for x in made] for _, (made,) in lists((xs,), ["xs"], same_length=True)] == [[(3,), (3,)], [(2,), (4,)]]
    three = [[x.size for x in made] for _, (made,) in lists(([np.ones(2)] * 3,), ["xs"], same_length=True)]
    assert three == [[3, 2, 2], [2, 3, 2], [2, 2, 3]]
    assert list(lists((xs,), ["xs"], {"xs"})) == []
    assert list(lists(([1, 2],), ["xs"])) == []


def test_lists_of_numbers_become_shorter_and_longer():
    def made(xs, name="xs", *beside, kept=()):
        names = [name, *map(str, range(len(beside)))]
        return [args[0] for _, args in number_lists((xs, *beside), names, kept)]

    assert made([3, 4]) == [[3], [3, 3, 1]]
    assert made((0.5, 1.0)) == [(0.7 * 0.5, 1.0), (0.5,), (0.5, 1.0, 1.0)]
    assert made([0.5, 1.0], "xs", np.ones(2)) == [[0.7 * 0.5, 1.0]]
    assert made([2, 1]) == [[2]]  # 1 has no two parts
    assert made([1]) == made([True, False]) == made([1, 2.0]) == made([3, 4], "axes") == made([3, 4], kept={"xs"}) == []
    assert made([3, 4], "xs", np.ones((5, 6))) == made([3, 4], "xs", np.ones(2)) == []  # one for each axis, or each element


def test_a_permutation_of_numbers_stays_one():
    order = np.array([2, 0, 3, 1])
    made = [x for _, (x, *_) in (*values((order, 1.0)), *sizes((order,)), *sizes((order, np.ones(4)))) if x.ndim]
    assert {x.size for x in made} == {0, 1, 4, 5, 67}
    assert all(sorted(x.tolist()) == list(range(x.size)) for x in made)
    assert {x.dtype for x in made} == {order.dtype}
    assert any((x == 0).all() for _, (x,) in values((np.array([2, 0, 3]),)))


def test_a_vector_with_one_element_for_each_array_of_a_list_keeps_its_length():
    args = ([np.ones(3), np.ones(3)], np.ones(2))
    tried = [made for _, made in (*sizes(args), *longer(args))]
    assert {len(made[1]) for made in tried} == {2}
    assert {4, 1, 67, 0} <= {len(made[0][0]) for made in tried}


def test_what_is_repeated_along_one_axis_is_repeated_along_another():
    made = [[x.shape for x in args] for _, args in exchanged((np.ones((3, 4)), np.ones((1, 4)), np.ones((3, 1))))]
    assert made == [[(3, 4), (3, 1), (3, 1)], [(3, 4), (1, 4), (1, 4)]]
    assert list(exchanged((np.ones((3, 4)), np.ones(4)))) == list(exchanged((np.ones((3, 4)), np.ones((1, 4))), fixed=(1,))) == []


@pytest.mark.parametrize("args", SAMPLES, ids=str)
@pytest.mark.parametrize("variant", [apart, unbroadcast])
def test_one_array_alone_is_changed_along_one_axis(variant, args):
    for what, made in variant(args):
        pairs = list(zip(arrays_in(args), arrays_in(made), strict=True))
        changed = [(m, n) for x, y in pairs for m, n in zip(x.shape, y.shape, strict=True) if m != n]
        assert len(changed) == 1, what
        assert variant is apart or changed[0][0] == 1
    assert not list(variant(args, fixed=range(len(arrays_in(args)))))
