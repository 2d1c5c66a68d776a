"""Hypothesis draws samples that keep to the hints, shrinks to the least that fails, and meets every choice."""

from types import SimpleNamespace as Note
from typing import Annotated, Literal

import numpy as np
import pytest
from hypothesis import find, given, settings
from making import F64, Dtypes, F
from numpy.typing import NDArray

from dispatch import custom_op
from dispatch.core import optional
from dispatch.errors import MissingExtraError
from dispatch.testing import sample_strategy

QUICK = settings(max_examples=15, database=None, deadline=None)


def define(name, kernel):
    return custom_op(f"strategies::{name}", kernel, mutates_args=())


def product(x: F64[np.ndarray, "*batch m k"], y: F[np.ndarray, "*batch k n"], w: Annotated[F64[np.ndarray, "k+{r}"], Note(gt=0, le=1)],
            r: Annotated[int, range(2, 5)], kind: Literal["a", "b"] = "a", t: Annotated[float, Note(gt=3)] = 4.0) -> np.ndarray:  # fmt: skip
    return x @ y


def test_examples_keep_to_the_hints():
    seen = set()

    @QUICK
    @given(sample_strategy(define("product", product)))
    def check(sample):
        x, y, w, r, kind, t = sample.args
        assert x.shape[:-2] == y.shape[:-2]
        assert x.shape[-1] == y.shape[-2] == len(w) - r
        assert np.all((w > 0) & (w <= 1))
        assert r in range(2, 5)
        assert t > 3
        seen.update({kind, x.ndim, r})

    check()
    assert len(seen) > 3


def test_the_least_example_that_fails_is_found():
    def kernel(x: F64[np.ndarray, "n"], n: Annotated[int, range(10)]) -> np.ndarray:
        return x * n

    many = settings(QUICK, max_examples=50)
    found = find(sample_strategy(define("least", kernel)), lambda s: s.args[1] > 6, settings=many)
    assert (found.args[0].tolist(), found.args[1], found.what) == ([0.0], 7, "(1,), n=7")


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int64", "float16", "float32", "complex64", "complex128"])
def test_every_dtype_is_drawn_in_its_range(dtype):
    def kernel(x: Annotated[Dtypes("Word", dtype)[np.ndarray, "n"], Note(ge=1, lt=9)]) -> np.ndarray:
        return x + 0

    @settings(QUICK, max_examples=4)
    @given(sample_strategy(define(f"of_{dtype}", kernel)))
    def check(sample):
        [x] = sample.args
        assert x.dtype == dtype
        assert dtype in ("bool", "complex64", "complex128") or np.all((x >= 1) & (x < 9))

    check()


def test_what_the_kernel_refuses_is_no_example():
    def kernel(x: NDArray[np.float64]) -> np.ndarray:
        if x.ndim == 2:
            raise ValueError
        return x + 0.0

    @QUICK
    @given(sample_strategy(define("refusing", kernel)))
    def check(sample):
        assert sample.args[0].ndim != 2

    check()


def test_a_sample_function_gives_the_examples():
    def kernel(x: np.ndarray, indices: np.ndarray) -> np.ndarray:
        return x[indices]

    op = define("picked", kernel)
    op.register_samples(lambda random: [(random.normal(size=n), np.arange(n)) for n in (2, 3)])
    sizes = set()

    @settings(QUICK, max_examples=10)
    @given(sample_strategy(op.name))
    def check(sample):
        sizes.add(op(*sample.args).size)

    check()
    assert sizes == {2, 3}


def test_without_hypothesis_it_says_what_to_install(monkeypatch):
    def missing(name):
        raise ModuleNotFoundError(name, name=name)

    monkeypatch.setattr(optional.importlib, "import_module", missing)
    with pytest.raises(MissingExtraError, match=r"dispatch.testing.sample_strategy needs hypothesis[^$]*npdispatch\[hypothesis\]"):
        sample_strategy("np::sin")
