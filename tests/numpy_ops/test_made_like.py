"""`np.eye(3, like=x)` and its kin: NumPy's values under every layer, followed where the data are."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from function_laws import hold

import dispatch
from dispatch import FakeTensorMode

X = np.array([0.5, -1.5, 2.25])

FUNCTIONS: dict[str, Callable[[Any], Any]] = {
    "eye": lambda x: np.eye(3, 3, 1, like=x) @ x,
    "identity": lambda x: np.identity(3, like=x) * x,
    "tri": lambda x: np.tri(2, 3, like=x) @ x,
    "fromiter": lambda x: np.fromiter((x[i] * 2 for i in range(3)), float, like=x),
    "fromiter, counted": lambda x: np.fromiter([x[0], 1.0, x[2]], float, 2, like=x),
    "fromfunction": lambda x: np.fromfunction(lambda i: x[0] * i, (3,), like=x),
    "frombuffer": lambda x: x * np.frombuffer(b"\1\2\3", np.uint8, like=x),
    "fromstring": lambda x: x * np.fromstring("1 2 3", sep=" ", like=x),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_an_array_like_another(name: str) -> None:
    hold(FUNCTIONS[name], X)


def test_what_has_no_data_of_ours_is_numpys_array() -> None:
    x = dispatch.tensor(X, requires_grad=True)
    made = np.eye(2, dtype="f4", order="F", like=x)
    assert type(made) is np.ndarray
    assert (made.dtype, made.flags.f_contiguous) == (np.float32, True)
    with FakeTensorMode() as mode:
        assert np.tri(3, like=mode.from_array(X)).shape == (3, 3)


def test_what_cannot_be_made_raises_numpys_errors() -> None:
    x = dispatch.tensor(X, requires_grad=True)
    with pytest.raises(ValueError, match="iterator too short"):
        np.fromiter([x[0]], float, 3, like=x)
    with pytest.raises(ValueError, match="order"):
        np.eye(2, order="X", like=x)
