"""The operator behind `dispatch.numpy.random`: draws from a NumPy Generator with parameters that are no Tensors.

An operator, so that vmap asks whether all items share a draw, and a graph draws anew each time it runs.
"""

from typing import Any

import numpy as np

from ..core import DispatchKey, OpOverload
from ..dispatcher.argument_layout import adapted
from ..layers.autograd import CONSTANT
from ..layers.fake import fake_tensor
from ..operators.prims import define
from ..schema.tags import Tag
from .families import complete


def _draw(rng: Any, method: str, arguments: Any, shape: Any) -> Any:
    return np.asarray(getattr(rng, method)(*arguments, size=tuple(shape)))


def _fake(rng: Any, method: str, arguments: Any, shape: Any) -> Any:
    return fake_tensor(tuple(shape), np.dtype(float))


draw: OpOverload = define("np_random::draw(Any rng, str method, Any arguments, SymInt[] shape) -> Tensor", _draw, (Tag.random,))
draw.register_at(DispatchKey.CPU, adapted(draw, _draw))  # by which the batches that are open are asked
complete(draw, fake=_fake, autograd=CONSTANT)


def install() -> None:
    """Do nothing more: the operator is there when its module is."""
