"""Anomaly mode: the line that called what fails."""

import numpy as np
import pytest
from making import leaf, recorded, said

import dispatch
from dispatch import autograd
from dispatch.errors import GradientError

A = np.array([0.5, 1.0, 2.0])
failing = recorded("(Tensor x) -> Tensor", lambda x: x * 1, lambda ctx, g: 1 / 0)


def notes(call, error=ZeroDivisionError):
    with pytest.raises(error) as caught:
        call()
    return getattr(caught.value, "__notes__", [])


def test_a_failing_backward_names_the_line_that_called_its_forward():
    with dispatch.detect_anomaly():
        y = np.sum(failing(leaf(A)))  # this line
    (note,) = notes(y.backward)
    start, _, rest = note.partition(", which was called in ")
    assert start == f"in the backward of {failing.name}"
    assert rest.startswith("test_anomaly.py:")
    assert rest.endswith(
        ", in test_a_failing_backward_names_the_line_that_called_its_forward: y = np.sum(failing(leaf(A)))  # this line"
    )


def test_without_it_the_operator_alone_is_named():
    assert notes(np.sum(failing(leaf(A))).backward) == [f"in the backward of {failing.name}"]
    y = np.sum(failing(leaf(A)))
    with dispatch.detect_anomaly():
        assert notes(y.backward) == [f"in the backward of {failing.name}"]


def test_our_own_errors_get_the_line_too():
    op = recorded("(Tensor x) -> Tensor", lambda x: x * 1, lambda ctx, g: np.ones(7))
    with dispatch.detect_anomaly():
        y = np.sum(op(leaf(A)) * 2)
    assert notes(y.backward, GradientError) == []  # the gradient is held against its input after the rule has run
    ruleless = recorded("(Tensor x) -> Tensor", lambda x: x * 1)
    with dispatch.detect_anomaly():
        y = np.sum(ruleless(leaf(A)))
    (note,) = notes(y.backward, NotImplementedError)
    assert "y = np.sum(ruleless(leaf(A)))" in note


def test_a_gradient_that_is_nan():
    x = leaf([0.0, 1.0])
    with np.errstate(all="ignore"):
        with dispatch.detect_anomaly(), pytest.raises(GradientError) as caught:
            np.sum(np.sqrt(x) * 0).backward()
        assert str(caught.value) == "the backward of np::sqrt gave nan for argument 'x', of shape (2,) and dtype float64."
        assert "np.sum(np.sqrt(x) * 0).backward()" in caught.value.__notes__[0]
        y = np.sum(np.sqrt(x) * 0)
        with dispatch.detect_anomaly():
            assert said(lambda: y.backward(retain_graph=True), GradientError) == (
                "the backward of np::sqrt gave nan for argument 'x', of shape (2,) and dtype float64. "
                "It was called outside detect_anomaly, so its line is not known."
            )
        with dispatch.detect_anomaly(check_nan=False):
            y.backward(retain_graph=True)
        assert np.isnan(x.grad[0])
        with dispatch.detect_anomaly():
            assert said(lambda: autograd.grad(y, x), GradientError).startswith("the backward of np::sqrt gave nan")


def test_a_nan_of_a_list_and_of_a_number():
    op = recorded("(Tensor[] xs) -> Tensor", lambda xs: xs[0] * 1, lambda ctx, g: [g, np.nan])
    with dispatch.detect_anomaly():
        y = np.sum(op([leaf(A), leaf(A)]))
        assert said(y.backward, GradientError).startswith(f"the backward of {op.name} gave nan for a tracked input, of shape (3,)")


def test_it_decorates_and_changes_no_number():
    @dispatch.detect_anomaly()
    def f(x):
        return np.sum(np.sin(x) * x)

    assert np.allclose(dispatch.grad(f)(A), np.cos(A) * A + np.sin(A))
    with dispatch.detect_anomaly():
        assert np.allclose(dispatch.grad(dispatch.grad(np.sin))(0.5), -np.sin(0.5))
        assert np.allclose(dispatch.vmap(dispatch.grad(np.sin))(A), np.cos(A))
    assert f.__name__ == "f"


def test_what_is_written_in_place_and_what_is_checkpointed_has_a_line():
    with dispatch.detect_anomaly():
        y = dispatch.checkpoint(failing)(leaf(A))
    assert "y = dispatch.checkpoint(failing)(leaf(A))" in notes(np.sum(y).backward)[-1]
    with dispatch.detect_anomaly():
        y = leaf(A) * 1
        before = y.grad_fn.place
        y += 1
    assert before.endswith("y = leaf(A) * 1")
    assert y.grad_fn.place.endswith("y += 1")
