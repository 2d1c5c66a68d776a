"""Strides of new arrays, for sizes that are numbers and for symbolic ones."""

import numpy as np
from hypothesis import given
from hypothesis.extra.numpy import array_shapes

from dispatch.symbolic import ShapeEnv, contiguous


@given(array_shapes(min_dims=0, min_side=1))
def test_strides_in_c_order_are_those_of_numpy(shape):
    assert contiguous(shape, 8) == np.empty(shape).strides


@given(array_shapes(min_dims=1, min_side=2, max_side=20))
def test_symbolic_strides_are_those_of_numpy_for_the_sizes_of_the_run(shape):
    env = ShapeEnv()
    strides = contiguous(tuple(env.new_size(n) for n in shape), 8)
    assert [n if type(n) is int else n.hint for n in strides] == list(np.empty(shape).strides)
    assert env.guards == []
