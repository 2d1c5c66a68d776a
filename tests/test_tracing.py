"""Tracing: calls on traced values become nodes."""

import numpy as np
import pytest

from dispatch import make_fx
from dispatch.errors import TracingError


def test_a_number_is_not_read_off_a_traced_value():
    with pytest.raises(TracingError, match=r"^one number was asked of a traced value of shape \(\), in test_tracing\.py:"):
        make_fx(lambda x: float(np.sum(x)))(np.ones(2))
