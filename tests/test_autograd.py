"""The face of differentiation."""

import dispatch
from dispatch import autograd, testing
from dispatch.layers import autograd as tape
from dispatch.layers.autograd import checkpoints


def test_it_gathers_and_defines_nothing():
    for name in autograd.__all__:
        found = getattr(autograd, name)
        assert any(getattr(home, name, None) is found for home in (tape, checkpoints, testing)), name


def test_it_is_on_top_too():
    assert dispatch.autograd is autograd
    for name in ("checkpoint", "detect_anomaly", "no_grad", "enable_grad", "set_grad_enabled"):
        assert getattr(dispatch, name) is getattr(autograd, name)
    assert dispatch.grad is not autograd.grad  # the transform of a function, and torch's of values
