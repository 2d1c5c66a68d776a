"""Which generators a function names; their states are read and set, and tell whether one has drawn."""

import copy
import itertools
import random as pythons_random
from random import Random, gauss

import numpy as np
import pytest

from dispatch.core.random_states import generators_of, given_generators, has_drawn, is_generator, set_state, state_of

MAKE = {
    **{cls.__name__: lambda cls=cls: np.random.Generator(cls(3)) for cls in (np.random.PCG64, np.random.MT19937, np.random.Philox, np.random.SFC64)},
    "RandomState": lambda: np.random.RandomState(3),
}
NUMPYS = (lambda x: x.normal(), lambda x: x.normal(size=3), lambda x: x.permutation(4), lambda x: x.bytes(1))
PYTHONS = (lambda x: x.gauss(0, 1), lambda x: x.random(), lambda x: x.sample(range(9), 4), lambda x: x.randbytes(1))
DRAWS = [*itertools.product(MAKE.values(), NUMPYS), *itertools.product([lambda: Random(3)], PYTHONS)]


@pytest.mark.parametrize(("make", "draw"), DRAWS)
def test_a_state_is_read_and_set_and_tells_whether_something_was_drawn(make, draw):
    x = make()
    (x.gauss if isinstance(x, Random) else x.normal)(0, 1)  # Random and RandomState keep the second of two
    before = state_of(x)
    assert not has_drawn(x, before)
    found = draw(x)
    assert has_drawn(x, before)
    set_state(x, before)
    assert not has_drawn(x, before)
    np.testing.assert_array_equal(draw(x), found)


def test_a_module_and_the_methods_of_its_generator_stand_for_that():
    pythons, numpys, own = pythons_random._inst, np.random.mtrand._rand, Random(1)
    legacy, drawn, mine = np.random, np.random.normal, own.gauss
    assert generators_of(lambda: pythons_random.random()) == {"random": pythons}
    assert generators_of(lambda: gauss(0, 1)) == {"random": pythons}
    assert generators_of(lambda: legacy.normal()) == {"numpy.random": numpys}
    assert generators_of(lambda: drawn()) == {"numpy.random": numpys}
    assert generators_of(lambda: (own, mine)) == {"own": own, "mine": own}
    assert generators_of(lambda: (np.sin, copy.copy, np.random)) == {"numpy.random": numpys}


def test_only_generators_are_found():
    rng, other = np.random.default_rng(0), "no generator"
    assert generators_of(lambda: (rng, other)) == {"rng": rng}
    assert generators_of(np.sin) == {}
    assert given_generators((1, rng), {"r": rng, "x": other}) == {"argument 1": rng, "r": rng}
    assert generators_of(lambda: np.random.default_rng) == {"numpy.random": np.random.mtrand._rand}
    assert [is_generator(x) for x in (rng, np.random.RandomState(0), Random(0), np.random, rng.bit_generator)] == [True] * 3 + [False] * 2


def test_generators_of_the_functions_that_it_calls_are_found():
    rng, other = np.random.default_rng(0), np.random.default_rng(1)

    def noise(x, *, generator=other):
        return x + rng.normal() + generator.normal()

    def again(x):
        return twice(noise(x))

    def twice(x):
        return 2 * x if x else again(x)

    assert generators_of(lambda x: again(x)) == {"rng": rng, "generator": other}


def test_a_variable_that_is_not_bound_yet_is_no_generator():
    def f():
        return later

    assert generators_of(f) == {}
    later = copy.deepcopy(np.random.default_rng(0))
    assert generators_of(f) == {"later": later}
