"""Calls with arrays of other frameworks: a call that the core refused is handed to the module that knows such arrays.

An operator called with a torch tensor returns one: type in, type out. The core knows no tensor and refuses the call; only then
are the classes of its arguments looked at. The package that a class comes from is the key of `frameworks`, so nothing is
imported to find out that an argument is nobody's, and a call that fits never comes here. `numpy_ops/install.py` names the
modules, which load on their first call.
"""

from collections.abc import Callable, Mapping
from typing import Any

from ..core import OpOverload, Tensor, registers_now
from ..core.pytree import items_of
from ..errors import ConversionError, DeviceMismatchError

# As `type` reads them: a metaclass may answer what it likes, or raise.
MRO = type.__dict__["__mro__"].__get__
MODULE = type.__dict__["__module__"].__get__

BUILTINS = (int, float, bool, complex, str, type(None), list, tuple, dict, slice)

# By a package: `taken_over(op, args, keywords)`, which returns what the call returns, or NotImplemented where none of its
# classes that are there is an array (a `torch.dtype`, say).
frameworks: dict[str, Callable[[OpOverload, tuple[Any, ...], Mapping[str, Any]], Any]] = {}
# Those of them whose objects hold arrays of any kind beside names: values of our transforms and tensors of others among them.
labelled: set[str] = set()


def framework_of(x: object) -> str | None:
    """The package whose class an object is of, by itself or by inheritance, if it is one of `frameworks`.

    Examples
    --------
    >>> framework_of([1.0]) is None
    True
    """
    kind = type(x)
    if any([kind is one for one in BUILTINS]):  # most of what a refused call was given; a class may have no hash
        return None
    for cls in MRO(kind):
        module = MODULE(cls)
        package = module.partition(".")[0] if type(module) is str else ""
        if package in frameworks:
            return package
    return None


def taken_over(op: OpOverload, args: tuple[Any, ...], keywords: Mapping[str, Any]) -> Any:
    """What the framework whose arrays are among the arguments makes of a call; NotImplemented where there are none."""
    flat: list[Any] = []
    if any([_add_leaves(x, flat) for x in (*args, *keywords.values())]):  # of a package whose classes are ours from now on
        return op(*args, **keywords)
    found = {name: x for x in flat if (name := framework_of(x)) is not None}
    if first := next((name for name in found if name in labelled), None):  # what they hold is looked at in a call below
        return frameworks[first](op, args, keywords)
    takers = dict.fromkeys(frameworks[name] for name in found)  # two packages may be one framework: jax and jaxlib
    if not takers:
        return NotImplemented
    other = _named(next(iter(found.values())))
    for x in flat:
        if isinstance(x, Tensor):
            raise ConversionError(
                f"{op.name} was called with a {_named(x)} and a {other}: no derivative, batch or trace of this package "
                f"goes through values of another. Give one kind: {other}s to their own transforms, or arrays here.",
                operator=op.name,
            )
    if len(takers) > 1:
        listed = " and a ".join(_named(x) for x in found.values())
        raise DeviceMismatchError(
            f"{op.name} was called with a {listed}: a call returns what it is given, and these are two kinds. Convert one.",
            operator=op.name,
        )
    return next(iter(takers))(op, args, keywords)


def _add_leaves(x: Any, flat: list[Any]) -> bool:
    """Add what is no container, and say whether a class became ours; an object with labels is added, and not opened."""
    new = registers_now(x)
    items = None if framework_of(x) in labelled else items_of(x)
    if items is None:
        flat.append(x)
        return new
    return any([_add_leaves(item, flat) for item in items]) or new


def _named(x: object) -> str:
    return f"{type(x).__module__.partition('.')[0]}.{type(x).__qualname__}".removeprefix("dispatch.")
