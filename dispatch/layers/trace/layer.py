"""The layer that records any operator as a call of itself."""

from typing import Any

from ...core import DispatchKey, OpOverload
from ...dispatcher.layer import Kernel, Layer
from ...errors import DefinitionError
from .kernel import Recorded


class Tracing(Layer):
    """Records calls."""

    takes_rules = False

    def check(self, op: OpOverload, rule: Any) -> None:
        raise DefinitionError(
            f"{op.name}: a call is traced as what it is, and no rule says how. Leave the rule out; a function of other "
            "operators that is to be looked into is no operator."
        )

    def default(self, op: OpOverload) -> Kernel:
        return Recorded(op)


layer = Tracing("trace", DispatchKey.TRACE)
