"""What type checkers must refuse: each line has an error, which its comment takes away; mypy says where one takes nothing."""

import numpy as np
from numpy.typing import NDArray

import dispatch
from dispatch import custom_op

x: NDArray[np.float64] = np.ones(3)


@custom_op("typing::scale", mutates_args=())
def scale(x: NDArray[np.float64], factor: float = 2.0) -> NDArray[np.float64]:
    return x * factor


scale("text")  # type: ignore[arg-type]
scale(x, factr=3.0)  # type: ignore[call-overload]
scale(x, "far")  # type: ignore[arg-type]
dispatch.grad(3)  # type: ignore[arg-type]
dispatch.tensor(x, require_grad=True)  # type: ignore[call-overload]
dispatch.vmap(3)  # type: ignore[arg-type]
custom_op("typing::f")  # type: ignore[call-overload]
