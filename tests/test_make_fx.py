"""make_fx: functions as graphs, through every transform."""

import numpy as np
import pytest

from dispatch import grad, make_fx, vmap
from dispatch.errors import TracingError

X = np.array([[0.3, 1.2], [2.0, -0.5]])


@pytest.mark.parametrize("mode", ["real", "fake"])
@pytest.mark.parametrize("f", [np.tanh, grad(lambda x: np.sum(np.tanh(x) * x)), vmap(grad(lambda x: np.sum(np.tanh(x) * x)))])
def test_a_trace_equals_eager(f, mode):
    graph = make_fx(f, mode)(X)
    np.testing.assert_array_equal(graph(X * 3), f(X * 3))


def test_a_mode_that_is_none_is_refused():
    with pytest.raises(TracingError, match=r"^make_fx: tracing_mode is 'real', 'fake' or 'symbolic', and was given as 'eager'\.$"):
        make_fx(np.sin, "eager")
