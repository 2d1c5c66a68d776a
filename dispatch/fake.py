"""Fake tensors: shape, dtype, strides and device without data.

A fake rule is a function of the operator's own arguments that returns outputs of the right metadata: fake tensors, or plain
arrays, of which only the metadata is read. Under `FakeTensorMode` every operator runs its rule in place of its kernel, so
the shapes of a whole program are known before anything is computed or allocated.
"""

import threading
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any

import numpy as np

from .containers import items_of, leaves, mapped, rebuilt
from .core import DispatchKey, ModeGuard, OpOverload, Setting, Tensor, active_mode, device_of, ground, setting, wrap
from .errors import DataDependentError, DefinitionError, DispatchError, FakeTensorError, GuardError, NoRuleError, kind_of
from .functional import form_of, is_argument
from .layer import Kernel, Layer, by_position, check_parameters

Shape = tuple[int, ...]
FAKE = int(DispatchKey.FAKE)


@lru_cache(maxsize=4096)
def contiguous(shape: Shape, itemsize: int) -> Shape:
    """The strides of a new C-ordered array, in bytes."""
    strides = []
    step = itemsize
    for n in reversed(shape):
        strides.append(step)
        step *= max(n, 1)
    return tuple(reversed(strides))


class FakeTensor(Tensor):
    """An array's metadata, and nothing to compute with.

    Attributes
    ----------
    shape : tuple of int
    dtype : dtype
    strides : tuple of int
        In bytes, as NumPy's; those of length-1 axes and of empty arrays mean nothing.
    device : str
    mode : FakeTensorMode or None
        The mode it was made in.
    """

    __slots__ = ("device", "dtype", "mode", "shape", "strides")
    key = DispatchKey.FAKE

    shape: Shape
    dtype: np.dtype[Any]
    strides: Shape
    device: str
    mode: "FakeTensorMode | None"

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    def _no_data(self, what: str) -> DataDependentError:
        return DataDependentError(
            f"{what} was asked of a fake tensor of shape {self.shape}, which has no data. "
            "A shape rule decides by shapes, dtypes and plain arguments only."
        )

    def item(self) -> Any:
        raise self._no_data("one number")

    def tolist(self) -> Any:
        raise self._no_data("a list")

    def __bool__(self) -> bool:
        raise self._no_data("the truth")

    def __float__(self) -> float:
        raise self._no_data("a float")

    def __complex__(self) -> complex:
        raise self._no_data("a complex")

    def __int__(self) -> int:
        raise self._no_data("an int")

    __index__ = __int__

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise self._no_data("a NumPy array")

    def __repr__(self) -> str:
        where = "" if self.device == "cpu" else f", device={self.device!r}"
        return f"FakeTensor(shape={self.shape}, dtype={self.dtype}{where})"


def fake_tensor(shape: Shape, dtype: Any, strides: Shape | None = None, device: str = "cpu", mode: Any = None) -> FakeTensor:
    """A fake tensor; C-ordered unless strides are given.

    Parameters
    ----------
    shape : tuple of int
    dtype : dtype
    strides : tuple of int, optional
        In bytes.
    device : str
    mode : FakeTensorMode, optional

    Examples
    --------
    >>> fake_tensor((2, 3), np.dtype("f4")).strides
    (12, 4)
    """
    made: FakeTensor = wrap(FakeTensor, None, ground())
    made.shape = shape
    made.dtype = dtype
    made.strides = contiguous(shape, dtype.itemsize) if strides is None else strides
    made.device = device
    made.mode = mode
    return made


class Entered(threading.local):
    """The guards of one mode that a thread has on, for threads may share the mode."""

    def __init__(self) -> None:
        self.guards: list[ModeGuard] = []


class FakeTensorMode:
    """While it is on, operators run their fake rules: no kernel runs, and no data is touched.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> with dispatch.FakeTensorMode() as mode:
    ...     x = mode.from_array(np.ones((1000, 3)))
    ...     np.matmul(x, np.transpose(x)).shape
    (1000, 1000)
    """

    def __init__(self) -> None:
        self._entered = Entered()

    def __enter__(self) -> "FakeTensorMode":
        guards = self._entered.guards  # looked up first: what failed between the two would leave the guard on
        guard = ModeGuard(DispatchKey.FAKE, self)
        guard.__enter__()
        guards.append(guard)
        return self

    def __exit__(self, *exception: object) -> None:
        if not self._entered.guards:
            raise GuardError("FakeTensorMode() is left in a thread in which it was not entered.")
        self._entered.guards.pop().__exit__(*exception)

    def from_array(self, a: Any) -> FakeTensor:
        """The fake of an array, with its shape, dtype, strides and device.

        Parameters
        ----------
        a : ndarray, NumPy scalar, or FakeTensor of this mode

        Returns
        -------
        FakeTensor

        Raises
        ------
        FakeTensorError
            If it is no array, or a fake of another mode.
        """
        if isinstance(a, FakeTensor):
            if a.mode not in (self, None):
                raise FakeTensorError("a fake tensor belongs to the mode that made it, and this one was made by another.")
            return a
        device = device_of(a)
        if device is None:
            raise FakeTensorError(f"from_array makes a fake of an array, and was given {kind_of(a)}. Use np.asarray.")
        return fake_tensor(a.shape, a.dtype, getattr(a, "strides", None), device, self)

    def __repr__(self) -> str:
        return "FakeTensorMode()"


class FakeContext:
    """What a fake rule can ask for beside its arguments: `get_ctx()` inside the rule."""

    def __init__(self, op: OpOverload) -> None:
        self.op = op

    def new_dynamic_size(self, *, min: int = 0, max: int | None = None) -> int:
        """A size that depends on data; fake tensors here have static sizes, so it is refused, by its own exception."""
        if min < 0 or (max is not None and max < min):
            raise DefinitionError(
                f"{self.op.name}: its fake rule asks for a size from {min} to {max}. Sizes begin at 0, and min is the smaller.",
                operator=self.op.name,
            )
        raise DataDependentError(
            f"{self.op.name}: its fake rule asks for a size that depends on data, and sizes are static: symbolic sizes are not "
            "built. Call the operator on real arrays, outside FakeTensorMode.",
            operator=self.op.name,
        )


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
            return _outputs(op, out, args, mode)

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


def _outputs(op: OpOverload, out: Any, args: tuple[Any, ...], mode: FakeTensorMode | None) -> Any:
    returns = op.schema.returns[:-1] if op.outputs.residual else op.schema.returns
    if len(returns) == 1:
        made = _output(op, out, args, mode, 0)
    elif not returns:
        made = ()
    else:
        if not isinstance(out, (tuple, list)) or len(out) != len(returns):
            got = f"{len(out)} outputs" if isinstance(out, (tuple, list)) else kind_of(out)
            raise FakeTensorError(
                f"{op.name}: its fake rule returned {got}, and the schema says {len(returns)}.", operator=op.name
            )
        made = tuple([_output(op, x, args, mode, i) for i, x in enumerate(out)])
    if not op.outputs.residual:
        return made if returns else None
    return (*made, None) if len(returns) != 1 else (made, None)


def _output(op: OpOverload, x: Any, args: tuple[Any, ...], mode: FakeTensorMode | None, i: int) -> Any:
    if is_argument(op, i, x, args):
        return x
    made = mapped(lambda leaf: _fresh(leaf, args, mode), x)
    if isinstance(made, Tensor):
        return made
    if not op.outputs.checks[i](made):
        raise FakeTensorError(
            f"{op.name}: its fake rule returned {type(x).__name__ if x is not None else 'None'} as output {i}, and the schema "
            f"says {op.schema.returns[i].type}. Return an array of the right shape and dtype, np.empty(shape, dtype) say.",
            operator=op.name,
        )
    return made


def _fresh(x: Any, args: tuple[Any, ...], mode: FakeTensorMode | None) -> Any:
    """An array of an output as a fake of its own, which no argument is."""
    if type(x) is FakeTensor:
        fresh = x.mode is mode and not any(x is arg for arg in args)
        return x if fresh else fake_tensor(x.shape, x.dtype, x.strides, x.device, mode)
    return fake_tensor(x.shape, x.dtype, x.strides, "cpu", mode) if isinstance(x, (np.ndarray, np.generic)) else x
