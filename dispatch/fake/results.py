"""What a fake rule returned, as the outputs of its operator."""

from typing import Any

import numpy as np

from ..containers import mapped
from ..core import OpOverload, Tensor
from ..errors import FakeTensorError, kind_of
from ..functional import is_argument
from .mode import FakeTensorMode
from .tensor import FakeTensor, fake_tensor


def outputs_of(op: OpOverload, out: Any, args: tuple[Any, ...], mode: FakeTensorMode | None) -> Any:
    """The outputs of an operator, fakes of the mode, of what its rule returned; a residual is None."""
    returns = op.schema.returns[:-1] if op.outputs.residual else op.schema.returns
    if len(returns) == 1:
        made = _output(op, out, args, mode, 0)
    elif not returns:
        made = ()
    else:
        if not isinstance(out, (tuple, list)) or len(out) != len(returns):
            got = f"{len(out)} outputs" if isinstance(out, (tuple, list)) else kind_of(out)
            raise FakeTensorError(
                f"{op.name}: its fake rule returned {got}, and the schema says {len(returns)}.", operator=op.name
            )
        made = tuple([_output(op, x, args, mode, i) for i, x in enumerate(out)])
    if not op.outputs.residual:
        return made if returns else None
    return (*made, None) if len(returns) != 1 else (made, None)


def _output(op: OpOverload, x: Any, args: tuple[Any, ...], mode: FakeTensorMode | None, i: int) -> Any:
    if is_argument(op, i, x, args):
        return x
    made = mapped(lambda leaf: _fresh(leaf, args, mode), x)
    if isinstance(made, Tensor):
        return made
    if not op.outputs.checks[i](made):
        raise FakeTensorError(
            f"{op.name}: its fake rule returned {type(x).__name__ if x is not None else 'None'} as output {i}, and the schema "
            f"says {op.schema.returns[i].type}. Return an array of the right shape and dtype, np.empty(shape, dtype) say.",
            operator=op.name,
        )
    return made


def _fresh(x: Any, args: tuple[Any, ...], mode: FakeTensorMode | None) -> Any:
    """An array of an output as a fake of its own, which no argument is."""
    if type(x) is FakeTensor:
        fresh = x.mode is mode and not any(x is arg for arg in args)
        return x if fresh else fake_tensor(x.shape, x.dtype, x.strides, x.device, mode)
    return fake_tensor(x.shape, x.dtype, x.strides, "cpu", mode) if isinstance(x, (np.ndarray, np.generic)) else x
