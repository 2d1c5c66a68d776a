"""The layer that records any operator as a call of itself."""

from collections.abc import Callable
from typing import Any

from ...core import DispatchKey, OpOverload, active_modes
from ...core.lazy import LazyFunction
from ...dispatcher.layer import Kernel, Layer
from ...errors import DefinitionError

recorded = LazyFunction(__package__, ".kernel", "Recorded")  # with it come graphs
# By a function of NumPy that asks no argument whose it is, as `np.asarray`, the function that does so for traced values.
unasked: dict[Callable[..., Any], Callable[..., Any]] = {}
# By a function of NumPy that makes an array of a shape, `np.zeros`, one that makes a value of the modes that are on.
makers: dict[Callable[..., Any], Callable[..., Any]] = {}


class TraceLayer(Layer):
    """Records calls."""

    takes_rules = False

    def check(self, op: OpOverload, rule: Any) -> None:
        raise DefinitionError(
            f"{op.name}: a call is traced as what it is, and no rule says how. Leave the rule out; a function of other "
            "operators that is to be looked into is no operator."
        )

    def mark(self) -> Callable[[], None] | None:
        traces = [guard.mode.mark() for guard in active_modes() if guard.key == self.key]
        if not traces:
            return None

        def undo() -> None:
            for each in traces:
                each()

        return undo

    def default(self, op: OpOverload) -> Kernel:
        return recorded(op)  # type: ignore[no-any-return]


layer = TraceLayer("trace", DispatchKey.TRACE)
