"""Turns the arguments of a call into fakes of one mode, on one device, for a fake rule."""

import re
from collections.abc import Iterable
from typing import Any

import numpy as np

from ...core import OpOverload, check_data, device_key, device_of, is_beside_numpy
from ...core.pytree import arrays, items_of, leaves, rebuilt
from ...dispatcher.call_errors import INDEX_KINDS, INDICES
from ...dispatcher.printing import brief
from ...errors import DataDependentError, DataDependentSizeError, DeviceMismatchError, FakeTensorError
from .fake_mode import FakeTensorMode
from .tensor import FakeTensor, fake_tensor


def mode_of(args: Iterable[Any]) -> FakeTensorMode | None:
    """Return the mode of the first fake among the arguments, which a call outside the mode enters again."""
    return next((x.mode for x in leaves(tuple(args)) if isinstance(x, FakeTensor)), None)


def faked(op: OpOverload, args: tuple[Any, ...], mode: FakeTensorMode | None) -> tuple[Any, ...]:
    """Return the arguments with fakes in place of real arrays; raises if the mode, where there is one, does not allow these."""
    taking = [a.type.has_tensor for a in op.schema.arguments]
    return tuple([_faked(op, x, mode, args) if array else x for x, array in zip(args, taking, strict=True)])


def _faked(op: OpOverload, x: Any, mode: FakeTensorMode | None, args: tuple[Any, ...]) -> Any:
    if isinstance(x, FakeTensor):
        if x.mode is mode or x.mode is None or mode is None:
            return x
        if not mode.adopts:
            raise _two_modes(op, args)
        return fake_tensor(x.shape, x.dtype, x.strides, x.device, mode, None, x.number)
    if (items := items_of(x)) is not None:
        return rebuilt(x, [_faked(op, item, mode, args) for item in items])
    device = device_of(x)
    if device is None:
        return x
    check_data(x)
    if mode is None:
        return fake_tensor(x.shape, x.dtype, getattr(x, "strides", None), device, None, None, isinstance(x, np.generic))
    if not mode.allow_non_fake_inputs and not isinstance(x, np.generic):
        raise _real(op, x, args)
    return mode.captured(x)


def _two_modes(op: OpOverload, args: tuple[Any, ...]) -> FakeTensorError:
    modes = {id(x.mode) for x in leaves(args) if isinstance(x, FakeTensor) and x.mode is not None}
    if len(modes) > 1:
        return FakeTensorError(f"{op.name} was given fake tensors of two modes. Make both in one.", operator=op.name)
    return FakeTensorError(
        f"{op.name} was given a fake tensor of another FakeTensorMode than the one that is on. Make it in the inner mode, or "
        "leave that one first: outside of it an operator goes back into the mode of its arguments.",
        operator=op.name,
    )


def _real(op: OpOverload, x: Any, args: tuple[Any, ...]) -> FakeTensorError:
    beside = any(isinstance(item, FakeTensor) for item in leaves(args))
    return FakeTensorError(
        f"{op.name} was given a real array of shape {x.shape} and dtype {x.dtype} "
        f"{'beside fake tensors' if beside else 'under a FakeTensorMode'}. Make a fake of it first, mode.from_array(a), or "
        "let the mode do that: FakeTensorMode(allow_non_fake_inputs=True).",
        operator=op.name,
    )


OF_DATA = re.compile(r"got '[^'\"]*\bu\d")  # a size that a rule made new, as NumPy's words show it


def refuse_guessed_sizes(op: OpOverload, error: Exception, args: tuple[Any, ...]) -> None:
    """Raise for an error about shapes where some size depends on data: a number stood for it, and the call may be right.

    An axis that does not exist is wrong whatever the sizes are. A rule that calls its operator is told so.
    """
    if isinstance(error, RecursionError):
        raise FakeTensorError(
            f"{op.name}: its fake rule calls the operator itself, whose fake rule runs then, without end. Say what the kernel "
            "returns in other words: np.empty(shape, dtype).",
            operator=op.name,
        ) from None
    if isinstance(error, TypeError) and "sequence of integers" in str(error) and "'FakeTensor(" in str(error):  # NumPy's words
        raise DataDependentError(
            f"{op.name}: its fake rule makes an array whose shape is a fake tensor, which has no data. A length that depends "
            "on data is n = dispatch.library.get_ctx().new_dynamic_size(); any other comes from x.shape.",
            operator=op.name,
        ) from None
    if isinstance(error, TypeError) and "sequence of integers" in str(error) and OF_DATA.search(str(error)):
        raise DataDependentSizeError(
            f"{op.name}: its fake rule gives a size that depends on data to a function of NumPy that takes a number, "
            "np.empty(n). Write np.empty_like(x, shape=(n,)), and so for zeros, ones and full."
        ) from None
    if not isinstance(error, (ValueError, IndexError)) or isinstance(error, np.exceptions.AxisError):
        return
    shapes = [x.shape for x in leaves(args) if type(x) is FakeTensor]
    shape = next((shape for shape in shapes if any([getattr(n, "hint", n) is None for n in shape])), None)
    if shape is not None:
        raise DataDependentSizeError(
            f"{op.name}: whether shapes fit depends on data here: an argument has shape {shape}, and with some number in "
            f"place of what is open the shape rule says: {error}. Promise what is so before that line, dispatch.check(n == 1), "
            "of the size n that is; or give operands whose sizes are known to agree."
        ) from None


def device_for(op: OpOverload, args: tuple[Any, ...], places: list[int]) -> str:
    """Return the device of the outputs of a call: that of its arrays, or the one that an argument, one of `places`, names.

    Arrays on two devices raise DeviceMismatchError; a CPU array without axes may stand beside any other, and so may an index.
    """
    indices = vars(op).get(INDICES, ())
    given = [(i, x) for i, value in enumerate(args) for x in arrays(value) if type(x) is FakeTensor]
    fakes = [x for i, x in given if not (i in indices and x.device == "cpu" and x.dtype.kind in INDEX_KINDS)]
    asked = [args[i] for i in places if args[i] is not None]
    device = max([x.device for x in fakes] + asked, key=device_key, default="cpu")
    if any(x.device != device and (x.device != "cpu" or (x.shape and not is_beside_numpy(device))) for x in fakes):
        listed = ", ".join(f"{brief(x)} on {x.device}" for x in fakes)
        raise DeviceMismatchError(
            f"{op.name}: the arrays of one call live on one device, and these do not: {listed}. Move them together first.",
            operator=op.name,
        )
    return asked[0] if asked else device
