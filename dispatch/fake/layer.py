"""The fake layer: how a shape rule becomes a kernel, and what a rule sees of real arrays."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ..containers import items_of, leaves, rebuilt
from ..core import DispatchKey, ModeGuard, OpOverload, Setting, active_mode
from ..errors import DispatchError, FakeTensorError, NoRuleError, kind_of
from ..functional import form_of
from ..layer import Kernel, Layer, by_position, check_parameters
from .context import FakeContext
from .mode import FakeTensorMode
from .results import outputs_of
from .tensor import FakeTensor, fake_tensor

FAKE = int(DispatchKey.FAKE)


class Fake(Layer):
    """Runs an operator's shape rule in place of its kernel."""

    def check(self, op: OpOverload, rule: Any) -> None:
        if not callable(rule):
            raise FakeTensorError(f"{op.name}: a fake rule is a function, and {kind_of(rule)} was given.")
        check_parameters(op, rule, what="fake rule")

    def lower(self, op: OpOverload, rule: Callable[..., Any]) -> Kernel:
        context = FakeContext(op)
        single = len(op.schema.returns) == 1 and op.outputs.returned == (-1,)

        rule = by_position(op, rule)
        arrays = [a.type.has_tensor for a in op.schema.arguments]

        def kernel(*args: Any) -> Any:
            guard = active_mode(FAKE)
            mode = guard.mode if guard is not None else _mode_of(args)
            for x in args:
                if type(x) not in _PASSING or (type(x) is FakeTensor and x.mode is not mode):
                    args = tuple([_faked(op, x, mode) if array else x for x, array in zip(args, arrays, strict=True)])
                    break
            try:
                if mode is None or guard is not None:
                    with Setting(FAKE, context):
                        out = rule(*args)
                else:
                    with ModeGuard(FAKE, mode), Setting(FAKE, context):
                        out = rule(*args)
            except DispatchError:
                raise
            except Exception as error:
                error.add_note(f"in the fake rule of {op.name}")
                raise
            if single and type(out) is FakeTensor and out.mode is mode:
                for x in args:
                    if x is out:
                        break
                else:
                    return out
            return outputs_of(op, out, args, mode)

        return kernel

    def default(self, op: OpOverload) -> Kernel:
        form = form_of(op.schema)
        if -1 not in form.returned:  # nothing but what is written comes back
            return self.lower(op, lambda *args: form.returning(None, args))

        def kernel(*args: Any) -> Any:
            raise NoRuleError(
                f"the shape of {op.name}'s output was asked for, and it has no fake rule. Add one: "
                f"{op.schema.name}.register_fake(rule), with the operator's own parameters.",
                operator=op.name,
            )

        return kernel


layer = Fake("fake", DispatchKey.FAKE)

# What a fake rule gets as it is: fakes, and plain arguments of the commonest types.
_PASSING = frozenset({FakeTensor, int, float, bool, str, type(None), complex})


def _mode_of(args: Iterable[Any]) -> FakeTensorMode | None:
    """The mode of the first fake among the arguments, which an operator outside the mode goes back into."""
    return next((x.mode for x in leaves(tuple(args)) if isinstance(x, FakeTensor)), None)


def _faked(op: OpOverload, x: Any, mode: FakeTensorMode | None) -> Any:
    """An argument as a rule sees it. Without a mode the metadata was asked for, and real arrays give theirs."""
    if isinstance(x, FakeTensor):
        if x.mode is not mode and x.mode is not None and mode is not None:
            raise FakeTensorError(f"{op.name} was given fake tensors of two modes. Make both in one.", operator=op.name)
        return x
    if (items := items_of(x)) is not None:
        return rebuilt(x, [_faked(op, item, mode) for item in items])
    if isinstance(x, np.ndarray) and mode is not None:
        raise FakeTensorError(
            f"{op.name} was given a real array of shape {x.shape} and dtype {x.dtype} where arrays are fake. "
            "Make a fake of it first: mode.from_array(a).",
            operator=op.name,
        )
    if isinstance(x, (np.ndarray, np.generic)):
        return fake_tensor(x.shape, x.dtype, x.strides, "cpu", mode)
    return x
