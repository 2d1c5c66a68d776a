"""The layer: its kernels run functional forms in place of operators that write."""

from typing import Any

from ...core import DispatchKey, OpOverload
from ...core.lazy import LazyFunction
from ...dispatcher.layer import Kernel, Layer
from ...errors import DefinitionError

kernel_of = LazyFunction(__package__, ".kernel", "kernel_of")


class FunctionalizeLayer(Layer):
    """Runs the functional form in place of an operator that writes."""

    takes_rules = False

    def check(self, op: OpOverload, rule: Any) -> None:
        raise DefinitionError(
            f"{op.name}: functionalize runs the functional form of an operator that writes, and every other operator as it is. "
            "Leave the rule out.",
            operator=op.name,
        )

    def default(self, op: OpOverload) -> Kernel:
        return kernel_of(op)  # type: ignore[no-any-return]


layer = FunctionalizeLayer("functionalize", DispatchKey.FUNCTIONALIZE)
