from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
from typing_extensions import disjoint_base

from ...core import Level, Tensor
from .backward_graph import Edge, Leaf, Node
from .grad_mode import TRANSFORMS as TRANSFORMS

_F = TypeVar("_F", bound=Callable[..., None])

@disjoint_base
class Walk: ...

def add_to_leaves(roots: Sequence[Edge | None], seeds: Sequence[Any], level: Level, keep: bool, create_graph: bool) -> None: ...
def one_of(dtype: np.dtype[Any]) -> Any: ...
def walking(method: _F) -> _F: ...
def add_to_leaf(leaf: Leaf, grad: Any) -> None: ...
def grad_of(x: Tensor) -> Any: ...
def set_grad(x: Tensor, value: Any) -> None: ...
def run_backward(
    roots: Sequence[Edge | None],
    seeds: Sequence[Any],
    level: Level,
    keep: bool,
    create_graph: bool,
    only: Mapping[Node, tuple[Any, Any]] | None = None,
) -> dict[Leaf, Any]: ...
