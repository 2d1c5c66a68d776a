"""Records the calls of an operator and uses the record as its fake rule.

This is for operators without a fake rule. A profile has the shapes and dtypes of the arrays and the plain values of one
call, and the shapes, dtypes and strides of its outputs. A call that was not recorded raises.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from typing import Any, NamedTuple

import numpy as np

from ..core import OpOverload, Tensor
from ..core.pytree import field_names, items_of, made_of
from ..dispatcher.layer import find_layer
from ..dispatcher.observer import Watcher
from ..dispatcher.printing import brief
from ..errors import MissingOpProfileError, SchemaError
from ..layers.fake import fake_tensor
from ..operators.register import resolve
from ..schema.opaque_types import find_class
from ..schema.types import ClassType

VERSION = 1
Path = str | PathLike[str]


class OpProfile(NamedTuple):
    """One recorded call: each argument and each output, as lists of words and numbers for JSON."""

    args: tuple[Any, ...]
    outputs: tuple[Any, ...]


Profiles = dict[str, list[OpProfile]]


def _metadata(x: Any) -> Any:
    if isinstance(x, (np.ndarray, np.generic, Tensor)):
        return ("array", tuple(x.shape), x.dtype.str)
    if (items := items_of(x)) is not None:
        return (*_container(x), *map(_metadata, items))
    return x if isinstance(x, (bool, int, float, str, type(None))) else ("object", type(x).__qualname__)


def _layout(x: Any) -> Any:
    if isinstance(x, (np.ndarray, np.generic)):
        return ("array", tuple(x.shape), x.dtype.str, tuple(np.asarray(x).strides))
    items = items_of(x)
    return ("value", x) if items is None else (*_container(x), *map(_layout, items))


def _container(x: Any) -> tuple[Any, ...]:
    """Describe a container without its items: a list, a dict with its keys, a record with its class."""
    if isinstance(x, dict):
        return ("dict", tuple(x))
    cls = type(x)
    return ("list",) if field_names(cls) is None else ("record", f"{cls.__module__}.{cls.__qualname__}")


def _played(layout: Any) -> Any:
    kind, *rest = layout
    if kind == "array":
        shape, dtype, strides = rest
        return fake_tensor(tuple(shape), np.dtype(dtype), tuple(strides))
    if kind == "dict":
        return dict(zip(rest[0], map(_played, rest[1:]), strict=True))
    if kind == "record":
        return made_of(find_class(ClassType(rest[0])), [_played(item) for item in rest[1:]])
    return [_played(item) for item in rest] if kind == "list" else rest[0]


class _Recorder(Watcher):
    def __init__(self, namespaces: Sequence[str]) -> None:
        super().__init__()
        self.namespaces = namespaces
        self.profiles: Profiles = {}

    def watch(self, op: OpOverload, rank: int, args: tuple[Any, ...], proceed: Callable[[], Any]) -> Any:
        given = tuple(map(_metadata, args))  # before the kernel writes
        result = proceed()
        wanted = not self.namespaces or op.schema.namespace in self.namespaces
        if rank == 0 and wanted:
            count = len(op.schema.returns) - op.outputs.residual
            outputs = list(result)[:count] if len(op.schema.returns) > 1 else [result][:count]
            profile = OpProfile(given, tuple(map(_layout, outputs)))
            found = self.profiles.setdefault(op.name, [])
            if profile not in found:
                found.append(profile)
        return result


@contextmanager
def record_op_profiles(*namespaces: str) -> Iterator[Profiles]:
    """Record calls on plain arrays of all operators in some namespaces, by default in every one, while the block lasts.

    Parameters
    ----------
    *namespaces : str
        Those whose operators count.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> with record_op_profiles("np") as profiles:
    ...     _ = dispatch.ops.np.sin(np.ones((2, 3)))
    >>> profiles["np::sin"][0].outputs
    (('array', (2, 3), '<f8', (24, 8)),)
    """
    recorder = _Recorder(namespaces)
    with recorder:
        yield recorder.profiles


@contextmanager
def generate_fake_kernels(profiles: Profiles) -> Iterator[None]:
    """Give each operator in some profiles a fake rule that answers from them, while the block lasts.

    Raises
    ------
    MissingOpProfileError
        In the block, for a call that was not recorded.
    """
    layer = find_layer("fake")
    registered = []
    try:
        for name, known in profiles.items():
            op = resolve(name)
            registered.append((op, op.register(layer, _rule(op, known))))
        yield
    finally:
        for op, registration in registered:
            op.unregister(registration)


def _rule(op: OpOverload, known: list[OpProfile]) -> Callable[..., Any]:
    played = {profile.args: profile.outputs for profile in known}

    def rule(*args: Any) -> Any:
        given = tuple(map(_metadata, args))
        if given not in played:
            raise MissingOpProfileError(
                f"{op.name} was called with ({', '.join(map(brief, args))}), for which no profile was recorded; there are "
                f"{len(played)}. Record one, or write its fake rule: {op.schema.name}.register_fake(rule).",
                operator=op.name,
            )
        outputs = [_played(layout) for layout in played[given]]
        return None if not outputs else outputs[0] if len(outputs) == 1 else tuple(outputs)

    return rule


def save_op_profiles(profiles: Profiles, path: Path) -> None:
    """Write profiles to a JSON file, sorted, so that two recordings can be compared line by line."""
    data = {name: sorted([list(profile) for profile in known], key=repr) for name, known in sorted(profiles.items())}
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"version": VERSION, "profiles": data}, file, indent=1)


def load_op_profiles(path: Path) -> Profiles:
    """Read profiles from a JSON file.

    Raises
    ------
    SchemaError
        If it is no file of profiles, or has another version.
    """
    with open(path, encoding="utf-8") as file:
        try:
            data = json.load(file)
            version, found = data["version"], data["profiles"]
        except (ValueError, TypeError, KeyError):
            raise SchemaError(f"{path} holds no profiles. save_op_profiles writes a file that does.") from None
    if version != VERSION:
        raise SchemaError(f"{path} holds profiles of version {version}, and {VERSION} is read here. Record them again.")
    return {name: [OpProfile(_tuples(args), _tuples(outputs)) for args, outputs in known] for name, known in found.items()}


def _tuples(x: Any) -> Any:
    return tuple(map(_tuples, x)) if isinstance(x, list) else x
