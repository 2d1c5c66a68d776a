"""`sample_strategy`: the samples of an operator as a strategy of Hypothesis, which finds the smallest that fails."""

import math
from typing import Any

import numpy as np

from ..core import OpOverload
from ..core.optional import require
from ..core.wrong_calls import clear
from ..operators.register import resolve
from ..schema.bounds import Bounds
from ..schema.types import Base
from .sampled_arguments import DTYPES, SHAPES, Maker, Sample, Shape, choices, refusal, sample_function, sample_of, samples

MOST = 5  # elements along an axis that a hint names
FAR = 100.0  # how far from zero values are, where no hint says more
SEEDS = 2**32 - 1


@clear
def sample_strategy(op: OpOverload | str) -> Any:
    """Return a Hypothesis strategy of an operator's samples: what `samples` makes, drawn and shrunk by Hypothesis.

    Lengths of the axes that hints name, values in their ranges, the choices of a `Literal` and the dtype are drawn; of other
    arrays the shapes are those that `samples` tries. What the kernel refuses is no example. An operator with a sample function
    gives the samples that this makes of a random seed.

    Parameters
    ----------
    op : OpOverload or str

    Returns
    -------
    hypothesis.strategies.SearchStrategy
        Of `Sample`.

    Raises
    ------
    MissingExtraError
        If Hypothesis is not installed: `pip install 'npdispatch[hypothesis]'`.

    Examples
    --------
    >>> from hypothesis import given, settings
    >>> @settings(max_examples=20, database=None)
    ... @given(sample_strategy("np::add"))
    ... def test_add_commutes(sample):
    ...     x, y = sample.args
    ...     assert np.array_equal(x + y, y + x)
    >>> test_add_commutes()
    """
    hypothesis = require("hypothesis", "hypothesis", needed_by="dispatch.testing.sample_strategy")
    strategies = require("hypothesis.strategies", "hypothesis")
    op = resolve(op)

    def make(draw: Any) -> Sample:
        if sample_function(op) is not None:
            found = list(samples(op, draw(strategies.integers(0, SEEDS))))
            chosen_one: Sample = draw(strategies.sampled_from(found))
            return chosen_one
        chosen = {a.name: None if a.type.has_tensor else draw(_chosen(op, a, strategies)) for a in op.schema.arguments}
        number, dtype = draw(strategies.sampled_from(range(len(SHAPES)))), draw(strategies.sampled_from(DTYPES))
        maker = _Drawing(draw, strategies, number, np.dtype(dtype), chosen)
        full = [maker.argument(a) if a.type.has_tensor else chosen[a.name] for a in op.schema.arguments]
        sample = sample_of(op, full)
        hypothesis.assume(refusal(op, sample) is None)
        return sample

    return strategies.composite(make)()


class _Drawing(Maker):
    """Makes the arrays of one call of what Hypothesis draws."""

    def __init__(self, draw: Any, strategies: Any, number: int, dtype: "np.dtype[Any]", chosen: dict[str, Any]) -> None:
        super().__init__(np.random.default_rng(0), number, dtype, chosen)
        self.draw, self.strategies = draw, strategies
        self.arrays = require("hypothesis.extra.numpy", "hypothesis").arrays

    def length(self) -> int:
        found: int = self.draw(self.strategies.integers(1, MOST))
        return found

    def batch(self) -> Shape:
        return tuple(self.draw(self.strategies.lists(self.strategies.integers(1, MOST), max_size=2)))

    def numbers(self, shape: Shape, dtype: "np.dtype[Any]", bounds: Bounds) -> Any:
        return self.draw(self.arrays(dtype, shape, elements=_numbers(dtype, bounds, self.strategies)))


def _numbers(dtype: "np.dtype[Any]", bounds: Bounds, strategies: Any) -> Any:
    """The strategy of the elements of an array."""
    if dtype.kind == "b":
        return strategies.booleans()
    low = bounds.low if bounds.low is not None else min(-FAR, (bounds.high or 0) - FAR)
    high = bounds.high if bounds.high is not None else max(FAR, (bounds.low or 0) + FAR)
    if dtype.kind in "iu":
        low = max(low, 0) if bounds.low is None else low  # counts and indices, where no hint says more
        return strategies.integers(math.ceil(low), math.floor(high)).filter(bounds.__contains__)
    part = np.zeros((), dtype).real.dtype
    numbers = strategies.floats(float(part.type(low)), float(part.type(high)), width=8 * part.itemsize)
    numbers = numbers.filter(bounds.__contains__)
    return strategies.builds(complex, numbers, numbers) if dtype.kind == "c" else numbers


def _chosen(op: OpOverload, a: Any, strategies: Any) -> Any:
    """The strategy of an argument without arrays: in the range of its hint, or one of the values that `samples` tries."""
    usual = strategies.sampled_from(choices(op, a))
    if a.bounds is None or not isinstance(a.type, Base) or a.type.name not in ("int", "float", "Scalar"):
        return usual
    inside = _numbers(np.dtype(np.int64 if a.type.name == "int" else np.float64), a.bounds, strategies)
    return strategies.one_of(usual, inside)
