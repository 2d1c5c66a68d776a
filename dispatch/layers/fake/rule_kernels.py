"""The fake layer's kernels: a shape rule run on fakes, its answers remembered, and elements computed where they are known."""

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import numpy as np

from ...core import DispatchKey, OpOverload, Without, active_mode, freeze
from ...core.pytree import arrays, leaves, mapped
from ...dispatcher.layer import Kernel
from ...dispatcher.rule_parameters import by_position
from ...errors import NoRuleError
from ...operators.functional_variant import form_of
from ...operators.views import gives_number
from ...schema.tags import Tag
from ...schema.types import DEVICE, OptionalOf
from ...symbolic import guard_or_false
from .kernel import Remembering, Running
from .rule_cache import Pure
from .rule_context import FakeContext
from .rule_inputs import faked, mode_of
from .rule_outputs import Results
from .tensor import FakeTensor, Kept, fake_tensor

FAKE = int(DispatchKey.FAKE)


def kernel_by(op: OpOverload, rule: Callable[..., Any] | Pure) -> Kernel:
    """Return the kernel that a shape rule becomes."""
    if not isinstance(rule, Pure):
        return _running(op, rule, Results(op, pure=False))
    kernel = _running(op, rule.rule, Results(op, pure=True))
    return kernel if op.schema.is_mutable else Remembering(_knowing(op, kernel) if rule.known else kernel)


def kernel_without_rule(op: OpOverload) -> Kernel:
    """Return the kernel of an operator that has no shape rule: it raises, unless nothing but what is written comes back."""
    form = form_of(op.schema)
    if -1 not in form.returned:
        return kernel_by(op, lambda *args: form.returning(None, args))

    def kernel(*args: Any) -> Any:
        raise NoRuleError(
            f"the shape of {op.name}'s output was asked for, and it has no fake rule. Add one: "
            f"{op.schema.name}.register_fake(rule), with the operator's own parameters.",
            operator=op.name,
        )

    return kernel


def _running(op: OpOverload, rule: Callable[..., Any], results: Results) -> Kernel:
    """Return the kernel that runs a rule on fakes, with their mode on."""
    single = len(op.schema.returns) == 1 and op.outputs.returned == (-1,) and not (results.sources[0] or op.outputs.typed)
    taking = tuple([i for i, a in enumerate(op.schema.arguments) if a.type.has_tensor])
    devices = [i for i, a in enumerate(op.schema.arguments) if a.type in (DEVICE, OptionalOf(DEVICE))]
    written = form_of(op.schema).written

    def noted(out: Any, args: tuple[Any, ...]) -> Any:
        """Return the results of a call, of which those that are numbers say so; NumPy has none in another byte order."""
        swapped = False
        for x in arrays(out):
            if type(x) is FakeTensor and not x.shape and x.base is None and not any(x is y for y in args):
                x.number = gives_number(op, args)
                swapped = swapped or (x.number and not x.dtype.isnative)
        return mapped(_native, out) if swapped else out

    def as_it_is(out: Any, args: tuple[Any, ...]) -> Any:
        """Return the results of a composite, whose operators have said so."""
        return out

    composite = op.table.live(DispatchKey.CompositeImplicit) is not None
    return Running(
        op, by_position(op, rule), FakeContext(op), results, as_it_is if composite else noted, taking, devices, written, single
    )


def _native(x: Any) -> Any:
    """Return a number in the byte order of the machine, any other value as it is."""
    if type(x) is not FakeTensor or not x.number or x.dtype.isnative:
        return x
    return fake_tensor((), x.dtype.newbyteorder("="), None, x.device, x.mode, None, True)


def _knowing(op: OpOverload, kernel: Kernel) -> Kernel:
    """Return a kernel that also computes the element of the result if each array has one element and it is known."""
    if Tag.random in op.tags or not op.table.has_backend():  # a composite is made of operators that know theirs
        return kernel
    positional, names = op.arguments.positional, op.arguments.keyword_names

    def knowing(*args: Any) -> Any:
        out = kernel(*args)
        for x in args:
            if type(x) is FakeTensor and x.kept is None:  # the usual case, without a walk
                return out
        guard = active_mode(FAKE)
        args = faked(op, args, guard.mode if guard is not None else mode_of(args))
        fakes = [x for x in leaves(args) if type(x) is FakeTensor]
        if not fakes or any(x.constant is None for x in fakes):
            return out
        made = arrays(out)
        if not all(type(x) is FakeTensor and guard_or_false(x.size == 1) for x in made):
            return out
        known = mapped(lambda x: x.constant if type(x) is FakeTensor else x, args)
        with ExitStack() as off:
            while (guard := active_mode(FAKE)) is not None:
                off.enter_context(Without(guard))
            result = op.at(DispatchKey.CPU)(*known[:positional], **dict(zip(names, known[positional:], strict=True)))
        for x, found in zip(made, arrays(result), strict=True):
            x.kept = Kept(x.base, freeze(np.asarray(found)))
        return out

    return knowing
