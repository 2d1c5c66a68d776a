"""FakeTensor: the metadata of an array, without its elements."""

from collections.abc import Callable
from typing import Any, NoReturn, cast

from ...core import DispatchKey, OpOverload, Tensor, note_request, setting
from ...core.array_memory import unwritable
from ...core.lazy import LazyFunction
from ...dispatcher.conversion_advice import array_advice
from ...errors import DataDependentError
from ...symbolic import contiguous
from .fields import Fields, copy_fields, new_fake

Shape = tuple[int, ...]
deepcopy = LazyFunction("copy", "copy", "deepcopy")  # who asks for a deep copy has imported it

NUMBER = "; keep it an array, or pass the number as a plain argument."
CHOICE = "; for a choice by data write np.where(condition, x, y)."
INDEX = "; index with the tensor itself, x[i], or with a plain int."
LENGTH = " A length that depends on data is n = dispatch.library.get_ctx().new_dynamic_size()."


def rule_running() -> OpOverload | None:
    """The operator whose fake rule is running; None outside one."""
    return getattr(setting(DispatchKey.FAKE), "op", None)


class Kept:
    """What some fakes have beside their metadata.

    The fake that owns the memory; the one element, or all of a mask, if they are known; and how many elements count, as sizes
    that depend on data, with the `version` of the memory for which they were asked.
    """

    __slots__ = ("base", "constant", "counted", "version")

    def __init__(self, base: "FakeTensor | None", constant: Any = None) -> None:
        self.base = base
        self.constant = constant
        self.counted: tuple[object, dict[Any, Any]] | None = None
        self.version: object = None


class FakeTensor(Fields, Tensor):
    """The shape, dtype, strides and device of an array, without its elements.

    Attributes
    ----------
    shape : tuple of int or SymInt
    dtype : dtype
    strides : tuple of int or SymInt
        In bytes. Those of axes of length 1 and of empty arrays mean nothing.
    device : str
    mode : FakeTensorMode or None
        The mode that made it.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> x = dispatch.FakeTensorMode().from_array(np.ones((1000, 3), np.float32))
    >>> x, x.strides, x.nbytes
    (FakeTensor(shape=(1000, 3), dtype=float32), (12, 4), 12000)
    """

    __slots__ = ()
    key = DispatchKey.FAKE

    data: Kept | None

    def __setattr__(self, name: str, value: Any) -> None:
        if name in ("shape", "strides", "dtype"):
            raise AttributeError(
                f"x.{name} = {value!r} would change in place how a fake tensor is read, and not its views. Write x = "
                + {"shape": f"x.reshape({value!r})", "dtype": f"x.astype({value!r})"}.get(name, "a view, x[::2] say") + "."
            )
        super().__setattr__(name, value)

    @property
    def base(self) -> "FakeTensor | None":
        """The fake that this one is a view of; None if it owns its memory."""
        return None if self.kept is None else self.kept.base

    @property
    def constant(self) -> Any:
        """The one element, or all elements of a mask, as an array, if they are known; otherwise None."""
        kept = self.kept
        if kept is None or kept.constant is None:
            return None
        base = kept.base
        return kept.constant if base is None or base.constant is not None else None  # written through the base

    @property
    def nbytes(self) -> int:
        """How many bytes the elements of the array take."""
        return self.size * self.dtype.itemsize

    def _element(self, what: str, instead: str = NUMBER) -> Any:
        """Return the element that is known, or raise an exception that says what was asked and what to write instead."""
        constant = self.constant
        if constant is None:
            rule = rule_running()
            who = "What is called with fake tensors" if rule is None else f"The fake rule of {rule.name}"
            instead += LENGTH if rule is not None and what in ("an int", "an index", "one number") else ""
            raise DataDependentError(
                f"{what} was asked of a fake tensor of shape {self.shape}, which has no data. {who} decides by shapes, dtypes "
                f"and plain arguments only{instead}"
            )
        return constant

    def item(self, *args: Any) -> Any:
        """Return the element as a Python number if it is known, and raise DataDependentError otherwise."""
        return self._element("one number").item(*args)

    def tolist(self) -> Any:
        """Return the element in lists if it is known, and raise DataDependentError otherwise."""
        return self._element("a list", "; keep it an array.").tolist()

    def __bool__(self) -> bool:
        return bool(self._element("the truth", CHOICE))

    def __float__(self) -> float:
        return float(self._element("a float").item())

    def __complex__(self) -> complex:
        return complex(self._element("a complex").item())

    def __int__(self) -> int:
        return int(self._element("an int").item())

    def __index__(self) -> int:
        element = self._element("an index", INDEX)
        return int(element.item().__index__())

    def __format__(self, spec: str) -> str:
        return format(self._element("a text").item(), spec) if spec else repr(self)

    def __array__(self, dtype: Any = None, copy: Any = None) -> NoReturn:
        note_request()
        rule = rule_running()
        written = " To write it into an array, make that of a fake one: np.zeros_like(x, shape=...)."
        advice = array_advice(self.dtype, f"{written} For its metadata alone write np.empty(x.shape, x.dtype).")
        if rule is not None:
            advice = f"The fake rule of {rule.name} is running, which says shape and dtype alone: np.empty(shape, dtype)."
        raise DataDependentError(
            f"a NumPy array was asked of a fake tensor of shape {self.shape}, which has no data. {advice}"
        )

    def __copy__(self) -> "FakeTensor":
        return self.__deepcopy__({})

    def __deepcopy__(self, memo: dict[int, Any]) -> "FakeTensor":
        base = deepcopy(self.base, memo)
        made = fake_tensor(self.shape, self.dtype, self.strides, self.device, self.mode, base, self.number)
        if (constant := self.constant) is not None:
            made.kept = Kept(made.base, constant)
        return made

    def copy_to(self, made: "FakeTensor") -> None:
        """Give another fake this one's metadata and memory: the core makes one that may, or may not, be written to.

        Parameters
        ----------
        made : FakeTensor
            A fake that has nothing yet.
        """
        copy_fields(self, made)
        kept = self.kept
        if not self.number:
            base = self if kept is None or kept.base is None else kept.base
            made.kept = Kept(base, None if kept is None or kept.constant is None else self.constant)

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            f"a FakeTensor of shape {self.shape} and dtype {self.dtype} has no data and belongs to a mode of this process, so "
            "it cannot be pickled. Send its shape and dtype, and make a fake of np.empty(shape, dtype) there."
        )

    def __repr__(self) -> str:
        where = "" if self.device == "cpu" else f", device={self.device!r}"
        return f"FakeTensor(shape={self.shape}, dtype={self.dtype}{where})"


def fake_tensor(
    shape: Shape,
    dtype: Any,
    strides: Shape | None = None,
    device: str = "cpu",
    mode: Any = None,
    base: FakeTensor | None = None,
    number: bool = False,
) -> FakeTensor:
    """Return a fake tensor, in C order unless strides, in bytes, are given.

    `base` is the fake that it is a view of; of a number there are none. `number` says whether it is one itself.
    """
    strides = contiguous(shape, dtype.itemsize) if strides is None else strides
    made = new_fake(FakeTensor, shape, dtype, strides, device, mode, number or (base is not None and base.number and not shape))
    if base is not None and not base.number:
        made.kept = Kept(memory_of(base))
        if base.read_only:
            return cast("FakeTensor", unwritable(made))
    return made


def memory_of(x: FakeTensor) -> FakeTensor:
    """Return the fake that owns the memory of `x`: `x` itself, unless it is a view."""
    return x if x.kept is None or x.kept.base is None else x.kept.base


def forget(x: FakeTensor) -> None:
    """Forget the known elements of `x` and of all fakes that share its memory, because of a write to `x`."""
    for found in (memory_of(x), x):
        if found.kept is not None:
            found.kept.constant, found.kept.version = None, object()


def counted(x: FakeTensor, new: Callable[[], Any], what: Any = "nonzero") -> Any:
    """Return how many elements of `x` count: the same size each time until a write to `x`; `new` makes a new size."""
    root = memory_of(x)
    memory, own = root.kept or Kept(None), x.kept or Kept(None)
    root.kept = memory
    if x is not root:
        x.kept = own
    else:
        own = memory
    if own.counted is None or own.counted[0] is not memory.version:
        own.counted = memory.version, {}
    sizes = own.counted[1]
    if what not in sizes:
        sizes[what] = new()
    return sizes[what]
