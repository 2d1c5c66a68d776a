"""FakeContext: what `get_ctx()` returns in a fake rule."""

from typing import Any, ClassVar

from ...core import DispatchKey, OpOverload, active_mode, setting
from ...core.wrong_attributes import Attributes
from ...errors import DefinitionError, FakeTensorError, NewSizeError, kind_of


class FakeContext(Attributes):
    """What `get_ctx()` returns in a fake rule: makes sizes that depend on data."""

    _elsewhere: ClassVar[dict[str, str]] = {"create_unbacked_symint": "get_ctx().new_dynamic_size(min=0, max=None)"}

    def __init__(self, op: OpOverload) -> None:
        self.op = op

    def new_dynamic_size(self, *, min: int = 0, max: int | None = None) -> Any:
        """Return a new size that depends on data, for the shape of an output.

        Parameters
        ----------
        min, max : int, optional
            The least and the greatest size that is possible; by default 0 and no bound.

        Returns
        -------
        SymInt
            A symbol of the mode's `shape_env`.

        Raises
        ------
        NewSizeError
            If the mode has no `shape_env`.
        DefinitionError
            If `min` is negative or above `max`.
        """
        for name, bound in (("min", min), ("max", 0 if max is None else max)):
            if isinstance(bound, (str, float, list, tuple)):
                raise DefinitionError(
                    f"{self.op.name}: its fake rule asks for a size with {name}= {kind_of(bound)}. A bound is a whole number.",
                    operator=self.op.name,
                )
        if min < 0 or (max is not None and max < min):
            raise DefinitionError(
                f"{self.op.name}: its fake rule asks for a size from {min} to {max}. Sizes begin at 0, and min is the smaller.",
                operator=self.op.name,
            )
        guard = active_mode(DispatchKey.FAKE)
        if guard is None or guard.mode.shape_env is None:
            raise NewSizeError(
                f"{self.op.name}: its fake rule asks for a size that depends on data, and sizes are numbers here. Give the "
                "mode symbolic sizes, FakeTensorMode(shape_env=ShapeEnv()), or call it on real arrays, outside the mode.",
                operator=self.op.name,
            )
        return guard.mode.shape_env.new_dynamic_size(min=min, max=max)


def get_ctx() -> FakeContext:
    """Return the context of the fake rule that is running. It makes sizes that depend on data.

    Returns
    -------
    FakeContext
        `new_dynamic_size()` returns a symbol for a size that no shape and no argument tells.

    Raises
    ------
    FakeTensorError
        Outside a fake rule.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> from dispatch.library import get_ctx
    >>> @dispatch.custom_op("doc::positive", mutates_args=())
    ... def positive(x: np.ndarray) -> np.ndarray:
    ...     return x[x > 0]
    >>> @positive.register_fake
    ... def _(x):
    ...     return np.empty_like(x, shape=(get_ctx().new_dynamic_size(max=x.size),))
    >>> with dispatch.FakeTensorMode(shape_env=dispatch.ShapeEnv()) as mode:
    ...     positive(mode.from_array(np.ones(5))).shape
    (u0,)
    """
    found: FakeContext | None = setting(DispatchKey.FAKE)
    if found is None:
        said = "get_ctx() is for fake rules, and none is running in this thread"
        raise FakeTensorError(f"{said}. Call it in the function of register_fake.")
    return found
