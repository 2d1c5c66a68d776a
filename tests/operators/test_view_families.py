"""What a layer's kernel notes of views, call by call: held against what NumPy says of the arrays."""

import gc

import making
import numpy as np
import pytest

from dispatch import ops
from dispatch.core import Level, wrap
from dispatch.layers.jvp import DualTensor
from dispatch.operators.view_families import Family, View, join, viewing_kernel

OP = ops.np.getitem


@pytest.fixture
def value():
    with Level("noting") as level:
        yield lambda x: wrap(DualTensor, x, level)


@pytest.mark.parametrize("mutable", [False, True])
@pytest.mark.parametrize("kernel", [lambda x: x[1:], lambda x: x.copy(), lambda x: x, lambda x: x[1:][::2], lambda x: x.copy()[1:]])
def test_what_shares_memory_is_a_view_and_an_operator_that_writes_always_makes_one(value, kernel, mutable):
    x, others = value(np.arange(6.0)), []
    run = viewing_kernel(OP, (), lambda x, index: value(kernel(x.value)), DualTensor, 0, mutable, lambda *call: others.append(call))
    y = run(x, "index")
    shared = mutable or np.shares_memory(x.value, y.value)
    assert (type(y.family) is View, type(x.family) is Family) == (shared, shared)
    assert not others
    if shared:
        assert (y.family.of, y.family.family, y.family.op, y.family.args) == (x, x.family, OP, (x, "index"))
        assert (y.family.place, y.family.part, y.family.number) == (0, -1, 0)
        assert x.family.alive() == [y]


def test_what_gives_back_its_argument_is_no_view_of_it(value):
    x = value(np.arange(6.0))
    for mutable in (False, True):
        assert viewing_kernel(OP, (), lambda x: x, DualTensor, 0, mutable, making.said)(x) is x
    assert x.family is None


def test_every_other_call_is_handed_on(value):
    x, others = value(np.arange(6.0)), []
    for place, out, given in ((-1, x, x), (0, x.value, x), (0, x, x.value), (0, [x], x), (0, x, [x])):
        run = viewing_kernel(OP, (), lambda _, out=out: out, DualTensor, place, False, lambda *call: others.append(call))
        assert run(given) is out
        assert others.pop() == (out, (given,))
    inner = value(np.zeros(2))
    with Level("outer") as level:
        outer = wrap(DualTensor, inner, level)
        run = viewing_kernel(OP, (), lambda _: outer, DualTensor, 0, False, lambda *call: others.append(call))
        run(outer)
        assert others == [(outer, (outer,))]


def test_views_of_views_are_of_one_family_and_their_versions_go_on(value):
    x = value(np.arange(6.0))
    y, z = value(x.value[1:]), value(x.value[2:])
    x.writes = 3
    join(y, x, OP, (x,), 0, -1, 0)
    join(z, y, OP, (y,), 0, -1, 0)
    assert x.family.alive() == [y, z]
    assert (y.writes, z.writes) == (3, 3)
    assert (z.family.of, z.family.family) == (y, x.family)
    del z
    gc.collect()
    assert x.family.alive() == [y]


def test_views_that_are_gone_are_forgotten(value):
    x = value(np.arange(6.0))
    held = []
    for i in range(1000):
        y = value(x.value[1:])
        join(y, x, OP, (x,), 0, -1, 0)
        if i % 100 == 0:
            held.append(y)
    assert len(x.family.views) < 50
    assert x.family.alive()[:10] == held


def test_a_view_is_made_again():
    x = np.arange(6.0)
    view = View(x, OP, (x, slice(2, None), []), 0, -1, 0)
    made = view.again(lambda values: (values[0] * 2, *values[1:]))
    assert np.array_equal(made, 2 * x[2:])
