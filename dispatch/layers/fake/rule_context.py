"""FakeContext: what `get_ctx()` returns in a fake rule."""

from typing import Any

from ...core import DispatchKey, OpOverload, active_mode, setting
from ...errors import DataDependentError, DefinitionError, FakeTensorError


class FakeContext:
    """What `get_ctx()` returns in a fake rule: it makes sizes that depend on data."""

    def __init__(self, op: OpOverload) -> None:
        self.op = op

    def new_dynamic_size(self, *, min: int = 0, max: int | None = None) -> Any:
        """Return a new size that depends on data, for the shape of an output.

        Parameters
        ----------
        min, max : int, optional
            The bounds, included; by default any size.

        Returns
        -------
        size
            A symbolic size of the `shape_env` of the mode.

        Raises
        ------
        DataDependentError
            If the mode has no `shape_env`.
        DefinitionError
            If the bounds are no bounds of a size.
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
    """Return the context of the fake rule that is running.

    Raises
    ------
    FakeTensorError
        Outside a fake rule.
    """
    found: FakeContext | None = setting(DispatchKey.FAKE)
    if found is None:
        raise FakeTensorError("get_ctx() is called inside a fake rule, and none is running in this thread.")
    return found
