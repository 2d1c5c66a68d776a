"""Turns the result of a fake rule into the outputs of its operator: fakes of the mode, which know what they are views of."""

from typing import Any

import numpy as np

from ...core import OpOverload, Tensor
from ...core.pytree import arrays, mapped
from ...dispatcher.call_errors import about_dtype
from ...dispatcher.printing import describe_value
from ...errors import FakeTensorError, how_many, kind_of
from ...operators.functional_variant import is_argument
from .fake_mode import FakeTensorMode
from .tensor import FakeTensor, fake_tensor


class Results:
    """Makes the outputs of one operator.

    `pure`: the rule itself says which outputs are views, and leaves their device to the call. If not, each output that the
    schema allows to be a view is one, and a fake has the device that the rule gave it.
    """

    def __init__(self, op: OpOverload, *, pure: bool) -> None:
        self.op = op
        self.pure = pure
        arguments = op.schema.arguments
        # For each output, the arguments that it may share memory with.
        self.sources = [
            () if r.alias is None else tuple([i for i, a in enumerate(arguments) if a.alias and _meet(a.alias, r.alias)])
            for r in op.schema.returns
        ]

    def outputs(self, out: Any, args: tuple[Any, ...], mode: FakeTensorMode | None, device: str) -> Any:
        """Return the outputs of a call from the result of the rule; a residual is None."""
        op = self.op
        returns = op.schema.returns[:-1] if op.outputs.residual else op.schema.returns
        if len(returns) == 1:
            made = self._output(out, args, mode, device, 0)
        elif not returns:
            made = ()
        else:
            if not isinstance(out, (tuple, list)) or len(out) != len(returns):
                got = how_many(len(out), "output") if isinstance(out, (tuple, list)) else kind_of(out)
                count = len(returns)
                raise FakeTensorError(
                    f"{op.name}: its fake rule returned {got}, and the schema says {count}: return a tuple of {count}.",
                    operator=op.name,
                )
            made = tuple([self._output(x, args, mode, device, i) for i, x in enumerate(out)])
        if not op.outputs.residual:
            return made if returns else None
        return (*made, None) if len(returns) != 1 else (made, None)

    def _output(self, x: Any, args: tuple[Any, ...], mode: FakeTensorMode | None, device: str, i: int) -> Any:
        op = self.op
        if is_argument(op, i, x, args):
            return x
        seen = [y for place in self.sources[i] for y in arrays(args[place]) if isinstance(y, FakeTensor)]

        def fresh(leaf: Any) -> Any:
            """Return an array of an output as a new fake, which is none of the arguments."""
            if not isinstance(leaf, (FakeTensor, np.ndarray, np.generic)):
                return leaf
            base = seen[0] if seen and not self.pure else None
            if not isinstance(leaf, FakeTensor):
                return fake_tensor(leaf.shape, leaf.dtype, leaf.strides, device, mode, base, isinstance(leaf, np.generic))
            at = device if self.pure else leaf.device
            given = any(leaf is y for value in args for y in arrays(value))
            if seen and (given or leaf.base is not None):
                base = leaf if given else leaf.base
            known = leaf.constant is not None and not self.pure  # what a user's rule computed is not what the kernel does
            if not given and not known and leaf.mode is mode and leaf.base is base and leaf.device == at:
                return leaf
            return fake_tensor(leaf.shape, leaf.dtype, leaf.strides, at, mode, base, leaf.number)

        made = mapped(fresh, x)
        if isinstance(made, Tensor) and not op.outputs.typed:
            return made
        if not op.outputs.checks[i](made):
            wanted = op.schema.returns[i]
            cast = about_dtype(wanted, made)
            given = describe_value(x) if cast or type(x).__name__ == "Tensor" else type(x).__name__ if x is not None else "None"
            missing = " Add the return statement." if x is None and len(op.schema.returns) == 1 else ""
            raise FakeTensorError(
                f"{op.name}: its fake rule returned {given} as output {i}, and the schema says {wanted.wanted}."
                + (cast or f"{missing} Return an array of the right shape and dtype, np.empty(shape, dtype) say."),
                operator=op.name,
            )
        return made


def _meet(argument: Any, result: Any) -> bool:
    """Whether a return may share memory with an argument, by their alias sets."""
    return "*" in result.before | result.after or bool((argument.before | argument.after) & (result.before | result.after))
