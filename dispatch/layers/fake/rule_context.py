"""What a fake rule can ask for beside its arguments."""

from typing import Any

from ...core import DispatchKey, OpOverload, active_mode, setting
from ...errors import DataDependentError, DefinitionError, FakeTensorError


class FakeContext:
    """What a fake rule can ask for beside its arguments: `get_ctx()` inside the rule."""

    def __init__(self, op: OpOverload) -> None:
        self.op = op

    def new_dynamic_size(self, *, min: int = 0, max: int | None = None) -> Any:
        """A size that depends on data, for the shape of an output.

        Parameters
        ----------
        min, max : int, optional
            The bounds it keeps, itself included; without `max` any size.

        Returns
        -------
        size
            What the mode's `shape_env` stands for a number with.

        Raises
        ------
        DataDependentError
            If the sizes of the mode are numbers: it has no `shape_env`.
        DefinitionError
            If the bounds are none.
        """
        if min < 0 or (max is not None and max < min):
            raise DefinitionError(
                f"{self.op.name}: its fake rule asks for a size from {min} to {max}. Sizes begin at 0, and min is the smaller.",
                operator=self.op.name,
            )
        guard = active_mode(DispatchKey.FAKE)
        if guard is None or guard.mode.shape_env is None:
            raise DataDependentError(
                f"{self.op.name}: its fake rule asks for a size that depends on data, and sizes are numbers here. Give the "
                "mode symbolic sizes, FakeTensorMode(shape_env=ShapeEnv()), or call it on real arrays, outside the mode.",
                operator=self.op.name,
            )
        return guard.mode.shape_env.new_dynamic_size(min=min, max=max)


def get_ctx() -> FakeContext:
    """The context of the fake rule that is running.

    Raises
    ------
    FakeTensorError
        Outside a fake rule.
    """
    found: FakeContext | None = setting(DispatchKey.FAKE)
    if found is None:
        raise FakeTensorError("get_ctx() is called inside a fake rule, and none is running in this thread.")
    return found
