"""Sizes of torch's symbolic shapes as sizes of ours and back, so that a shape rule runs once for both.

A torch size that is no number becomes a symbol with the same number in this run, or one that depends on data. What the rule
returns is an expression of these symbols, and is computed again with torch's sizes in their place; so is each guard that
the rule left, which makes torch leave its own.
"""

from typing import Any

import numpy as np

from ..core.optional import require
from ..errors import DeviceMismatchError
from ..layers.fake import FakeTensor, FakeTensorMode, fake_tensor
from ..symbolic import ShapeEnv, SymInt
from .torch_values import numpy_dtype, torch_dtype

torch = require("torch", "torch", needed_by="dispatch.interop.torch")


class TorchSizes(ShapeEnv):
    """The symbols of one call of a shape rule, and the torch size behind each."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name
        self.by_name: dict[str, Any] = {}
        self.by_text: dict[str, SymInt] = {}
        self.mode = FakeTensorMode(shape_env=self)
        self.device: Any = None  # of the tensors, and so of the results

    def new_dynamic_size(self, *, min: int = 0, max: Any = None) -> SymInt:
        """Return a new size that depends on data, for which torch has one too."""
        made = super().new_dynamic_size(min=min, max=max)
        self.by_name[str(made)] = torch.library.get_ctx().new_dynamic_size(min=min, max=max if type(max) is int else None)
        return made

    def ours(self, size: Any) -> Any:
        """Our size of torch's; anything that is no symbolic size is returned as it is."""
        if not isinstance(size, torch.SymInt):
            return size
        text = str(size)
        if text.lstrip("-").isdecimal():
            return int(size)
        if text not in self.by_text:
            hint = size.node.hint  # None where the size depends on data
            name = f"{'s' if hint is not None else 'u'}{len(self.symbols)}"
            self.by_text[text] = self.new_symbol(name, hint=hint)
            self.by_name[name] = size
        return self.by_text[text]

    def fake(self, x: Any) -> FakeTensor:
        """The fake of a tensor."""
        if self.device is None:
            self.device = x.device
        elif x.device != self.device:
            raise DeviceMismatchError(
                f"{self.name} was called with tensors on {self.device} and on {x.device}, and a call takes those of one "
                f"device. Write x.to({str(self.device)!r})."
            )
        dtype = numpy_dtype(x.dtype)
        strides = tuple([self.ours(n) * dtype.itemsize for n in x.stride()])
        return fake_tensor(tuple(map(self.ours, x.shape)), dtype, strides, "cpu", self.mode)

    def theirs(self, size: Any) -> Any:
        """Torch's size of ours; anything else is returned as it is."""
        return size.evaluate(self.by_name) if type(size) is SymInt else size

    def tensor(self, x: Any) -> Any:
        """A tensor with the metadata of a fake, in C order."""
        if not isinstance(x, FakeTensor):
            x = np.asarray(x)
        return torch.empty(tuple(map(self.theirs, x.shape)), dtype=torch_dtype(x.dtype), device=self.device or "cpu")

    def hold_guards(self) -> None:
        """Let torch decide what the rule decided."""
        for guard in self.guards:
            guard.evaluate(self.by_name)
