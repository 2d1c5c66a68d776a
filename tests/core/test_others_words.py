"""What is written in place of others' names runs, and gives what NumPy gives."""

import numpy as np
import pytest

import dispatch
from dispatch.core.others_words import ELSEWHERE

A = np.array([[3.0, 0.25, 2.0], [0.5, 4.0, -1.5]])
NAMES = {
    "np": np, "dispatch": dispatch, "axis": 0, "low": 0.0, "high": 1.0, "n": 1, "k": 2, "shape": (2, 3), "dtype": np.float32,
    "index": np.array([[0, 1, 0]]), "mask": A > 0, "value": 5.0, "values": [1.0, 2.0], "weight": 0.5, "start": 0, "length": 1,
    "source": 0, "destination": 1, "axes": (1, 0), "i": 0, "y": A + 1,
}  # fmt: skip
NEITHER = ("f(", "(f)", "cupy", "grad", "ctypes", " = ", "=", "del ", "@", "index]", ".at(", "put_along", ", ", ": ", "dense", "low:")
EXPRESSIONS = sorted({words for words in ELSEWHERE.values() if not any(part in words for part in NEITHER)})


@pytest.mark.parametrize("words", EXPRESSIONS)
def test_what_is_one_expression_can_be_computed(words):
    if "scipy" in words:
        pytest.importorskip("scipy")
    with np.errstate(invalid="ignore"):  # a root of what is below 0
        eval(words, dict(NAMES, x=A))


@pytest.mark.parametrize(("name", "expected"), [
    ("unsqueeze", A[None]), ("permute", A.T), ("clamp", np.minimum(np.maximum(A, 0), 1)), ("relu", A * (A > 0)),
    ("cat", np.vstack([A, A + 1])), ("masked_fill", np.where(A > 0, 5.0, A)), ("new_zeros", np.zeros((2, 3))),
    ("repeat_interleave", A), ("lerp", A + 0.5), ("numel", 6), ("mul", A * (A + 1)), ("neg", -A),
])  # fmt: skip
def test_what_stands_for_a_name_computes_what_the_name_says(name, expected):
    assert np.array_equal(eval(ELSEWHERE[name], dict(NAMES, x=A)), expected)
