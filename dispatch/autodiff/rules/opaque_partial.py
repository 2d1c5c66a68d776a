"""Partial derivatives that call code of arrays alone, as they are or called as one operator: `f.partial_rule`.

    ns::f.partial_rule(str by, Any rest, Tensor[] reads) -> Tensor

`by` is the argument that the partial is by; `reads` are the arrays that it reads. It gives an array of the shape to which these
broadcast and of their common dtype, floating-point at least. See layers/opaque_rules.py.
"""

from collections.abc import Callable
from functools import reduce, wraps
from typing import Any

import numpy as np

from ...core import OpOverload, Tensor
from ...dispatcher.layer import find_layer
from ...errors import GradientError
from ...layers.opaque_rules import Opacity, apart, attempted, fresh, stand_ins, together
from ...operators.prims import add
from ...operators.rule_operators import make

WORD = "partial_rule"


def attempting(op: OpOverload, by: str, partials: dict[str, Any], opacity: Opacity) -> Callable[..., Any]:
    """A user's partial, with the parameters that it has, which is called as one operator where it is opaque."""
    partial = partials[by]

    def as_one(*reads: Any) -> Any:
        arrays, *rest = apart(reads)
        return operator_of(op, partials, opacity)(by, rest, arrays)

    @wraps(partial, assigned=(), updated=())
    def run(*reads: Any) -> Any:
        for x in () if stand_ins else reads:
            if isinstance(x, Tensor):
                break
        else:  # the usual case
            if not stand_ins:
                return partial(*reads)
        return attempted(opacity, op, "partial derivative", partial, as_one, *reads)

    return run


def operator_of(op: OpOverload, partials: dict[str, Any], opacity: Opacity) -> OpOverload:
    """The operator of the partials, made when it is first needed."""
    return opacity.operator_made_by(lambda: _made(op, partials, opacity))


def _made(op: OpOverload, partials: dict[str, Any], opacity: Opacity) -> OpOverload:
    def kernel(by: str, rest: Any, reads: Any) -> Any:
        found = np.asarray(partials[by](*together(reads, *rest)))
        shape, dtype = np.broadcast_shapes(*[x.shape for x in reads]), _dtype(reads)
        if not np.can_cast(found.dtype, dtype, "same_kind"):
            raise GradientError(
                f"{op.name}: its partial derivative by {by!r} is {found.dtype}, and of what it reads it is {dtype}. Give it "
                "that dtype.",
                operator=op.name,
                argument=by,
            )
        (made,) = fresh([np.broadcast_to(found.astype(dtype, copy=False), shape)], reads)
        return made

    def fake(by: str, rest: Any, reads: Any) -> Any:
        shape = reduce(add, reads).shape  # of fakes, whose lengths may be symbols
        return np.zeros_like(reads[0], shape=shape, dtype=_dtype(reads), order="C")

    schema = "(str by, Any rest, Tensor[] reads) -> Tensor"
    made = make(op, WORD, schema, kernel, fake, f"The partial derivatives of {op.name}, called as one operator.")
    if opacity.declared:  # a loop that nobody asked for warns
        made.register(find_layer("vmap"), "sequential")
    return made


def _dtype(reads: Any) -> np.dtype[Any]:
    dtype = np.result_type(*[x.dtype for x in reads])
    return dtype if dtype.kind in "fc" else np.result_type(dtype, np.float64)
