"""What is written in place of others' names runs, and gives what NumPy gives."""

import math

import numpy as np
import pytest

import dispatch
from dispatch.core.others_words import ELSEWHERE, instead_of, note_words

A = np.array([[3.0, 0.25, 2.0], [0.5, 4.0, -1.5]])
NAMES = {
    "np": np, "dispatch": dispatch, "axis": 0, "low": 0.0, "high": 1.0, "n": 1, "k": 2, "shape": (2, 3), "dtype": np.float32,
    "index": np.array([[0, 1, 0]]), "mask": A > 0, "value": 5.0, "values": [1.0, 2.0], "weight": 0.5, "start": 0, "length": 1,
    "source": 0, "destination": 1, "axes": (1, 0), "i": 0, "y": A + 1,
    "labels": np.array([0]), "slope": 0.1, "alpha": 1.0,
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


@pytest.mark.parametrize(("name", "expected"), [
    ("silu", A / (1 + np.exp(-A))), ("gelu", A * (1 + np.vectorize(math.erf)(A / math.sqrt(2))) / 2), ("mse_loss", 1.0),
    ("elu", np.where(A < 0, np.exp(A) - 1, A)), ("leaky_relu", np.maximum(A, 0.1 * A)), ("softplus", np.log1p(np.exp(A))),
])  # fmt: skip
def test_what_stands_for_an_activation_has_its_formula(name, expected):
    np.testing.assert_allclose(eval(ELSEWHERE[name], dict(NAMES, x=A)), expected, rtol=1e-13)


def noted(f, x=A):
    with pytest.raises((AttributeError, TypeError)) as caught:
        f(x)
    note_words(caught.value)
    note_words(caught.value)
    return getattr(caught.value, "__notes__", [])


def test_what_was_asked_of_an_array_of_numpy_is_noted_once():
    assert noted(lambda x: x.clone()) == ["NumPy's arrays have no 'clone'. Write x.copy()."]
    assert noted(lambda x: x.sum().detach()) == ["NumPy's arrays have no 'detach'. Write x itself, which is an array."]
    assert noted(lambda x: x.size(0)) == ["x.size is a number. Write x.shape for all lengths, x.shape[0] for one."]
    assert noted(lambda x: x.lgamma()) == noted(lambda x: x.clone(), [1]) == noted(lambda x: x.ndim()) == []
    assert instead_of("sinh") == "np.sinh(x)"


def transformed(f):
    """Where a user's function is run, with an array of NumPy in it: a kernel, rules, and functions that are transformed."""
    op = dispatch.custom_op("words::op", lambda x: f(x), mutates_args=(), schema="(Tensor x) -> Tensor")
    yield lambda: op(A)
    for verb, rule in (
        ("autograd", lambda ctx, g: f(g)), ("vmap", lambda info, in_dims, x: (f(x), 0)), ("jvp", lambda tangents, output, x: f(tangents[0])),
    ):  # fmt: skip
        with_rule = dispatch.custom_op("words::ruled", lambda x: x + 1, mutates_args=(), schema="(Tensor x) -> Tensor")
        getattr(with_rule, f"register_{verb}")(rule)
        yield {
            "autograd": lambda op=with_rule: dispatch.grad(lambda x: op(x).sum())(A), "vmap": lambda op=with_rule: dispatch.vmap(op)(A),
            "jvp": lambda op=with_rule: dispatch.jvp(op, (A,), (A,)),
        }[verb]  # fmt: skip
    yield lambda: dispatch.grad(lambda x: x.sum() * f(A))(A)
    yield lambda: dispatch.vmap(lambda x: f(A))(A)


@pytest.mark.filterwarnings("ignore::dispatch.errors.RedefinitionWarning")
def test_wherever_a_user_s_function_runs_the_words_are_noted():
    for call in transformed(lambda x: x.contiguous()):
        with pytest.raises(AttributeError) as caught:
            call()
        assert "NumPy's arrays have no 'contiguous'. Write np.ascontiguousarray(x)." in caught.value.__notes__
    for call in transformed(lambda x: np.zeros(x.size())):
        with pytest.raises(TypeError) as caught:
            call()
        assert "x.size is a number. Write x.shape for all lengths, x.shape[0] for one." in caught.value.__notes__
