"""Jacobians by two ways, part by part."""

import numpy as np
import pytest

import dispatch
from dispatch import ops
from dispatch.testing.difference_quotients import Probe, as_reals, compare, from_reals, label_of, units

X = np.array([[0.5, -1.0, 2.0], [3.0, 0.25, 1.5]])


def cube(x):
    return ops.np.multiply(x, ops.np.multiply(x, x))


def test_inputs_without_names_are_numbered():
    assert Probe.of(lambda *xs: xs, (X, 1, [X])).labels == ["input 0", "input 2[0]"]


@pytest.mark.parametrize(
    "x", [X, X[0, 0].reshape(()), X + 1j, np.zeros((0, 2)), X.astype("c8")], ids=lambda x: f"{x.dtype}{x.shape}"
)
def test_real_vectors_and_arrays_turn_into_each_other(x):
    flat = as_reals(x)
    assert flat.dtype == np.float64
    np.testing.assert_array_equal(from_reals(flat, x), x)
    matrix = np.array([as_reals(unit) for unit in units(x)]).reshape(flat.size, flat.size)
    np.testing.assert_array_equal(matrix, np.eye(flat.size))


def test_single_precision_is_compared_with_a_larger_step():
    probe = Probe.of(cube, (dispatch.tensor(X.astype("f4"), requires_grad=True),))
    assert compare(probe, eps=5e-3, atol=2e-2, rtol=2e-2) is None


def test_components_are_named_by_output_index_and_part():
    arrays = [("x", np.zeros((2, 3))), ("z[1]", np.zeros(2, complex)), ("s", np.zeros(()))]
    assert [label_of(arrays, k) for k in (0, 5, 6, 7, 9, 10)] == [
        "x[0, 0]",
        "x[1, 2]",
        "Re z[1][0]",
        "Im z[1][0]",
        "Im z[1][1]",
        "s",
    ]


def test_both_jacobians_are_the_known_one():
    probe = Probe.of(cube, (X,))
    recording = probe.record()
    expected = np.diag(3 * X.ravel() ** 2)
    np.testing.assert_allclose([recording.row(k) for k in range(6)], expected)
    columns = [probe.slope(0, unit, 1e-6, 6) for unit in units(X)]
    np.testing.assert_allclose(np.transpose(columns), expected, atol=1e-8)


def test_large_elements_of_single_precision_are_moved_far_enough():
    x = dispatch.tensor(np.array([1e6, 3e7], "f4"), requires_grad=True)
    assert compare(Probe.of(lambda x: ops.np.multiply(x, 2.0), (x,)), eps=5e-3, atol=2e-2, rtol=2e-2) is None
