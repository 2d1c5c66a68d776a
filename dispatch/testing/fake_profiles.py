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

from ..core import Definition, OpOverload, Tensor
from ..core.pytree import field_names, items_of, made_of
from ..core.wrong_attributes import Fields
from ..core.wrong_calls import clear_tuple, holding
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


@clear_tuple
class OpProfile(NamedTuple):
    """One recorded call, as `record_op_profiles` makes it.

    Attributes
    ----------
    args, outputs : tuple
        For each argument and each output a tuple of words and numbers, which JSON can hold: an array's shape and dtype, and of
        an output its strides too, in bytes.

    Examples
    --------
    >>> OpProfile(args=(("array", (3,), "<f8"),), outputs=(("array", (3,), "<f8", (8,)),)).args
    (('array', (3,), '<f8'),)
    """

    args: tuple[Any, ...]
    outputs: tuple[Any, ...]


OpProfile.__getattr__, OpProfile.__setattr__ = Fields.__getattr__, Fields.__setattr__  # type: ignore[method-assign, assignment, attr-defined]


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

    def watch(
        self, op: OpOverload, definition: Definition, rank: int, args: tuple[Any, ...], proceed: Callable[[], Any]
    ) -> Any:
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


@holding("namespaces")
@contextmanager
def record_op_profiles(*namespaces: str) -> Iterator[Profiles]:
    """Record, while the block lasts, the calls on plain arrays of all operators in some namespaces, by default in every one.

    Parameters
    ----------
    *namespaces : str
        `"mylib"` records every operator `mylib::name`.

    Yields
    ------
    dict of str to list of OpProfile
        The recorded calls by operator, each once.

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


@holding("profiles")
@contextmanager
def generate_fake_kernels(profiles: Profiles) -> Iterator[None]:
    """Give operators, while the block lasts, fake rules that look up what was recorded.

    Parameters
    ----------
    profiles : dict of str to list of OpProfile
        What `record_op_profiles` or `load_op_profiles` gave.

    Raises
    ------
    MissingOpProfileError
        In the block, for a call that was not recorded.

    Examples
    --------
    >>> import numpy as np, dispatch
    >>> @dispatch.custom_op("doc_profiles::halved", mutates_args=())
    ... def halved(x: np.ndarray) -> np.ndarray:
    ...     return x / 2
    >>> with record_op_profiles("doc_profiles") as profiles:
    ...     _ = halved(np.ones(3))
    >>> with generate_fake_kernels(profiles):
    ...     dispatch.eval_shape(halved, np.zeros(3))
    FakeTensor(shape=(3,), dtype=float64)
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


@holding("profiles", "path")
def save_op_profiles(profiles: Profiles, path: Path) -> None:
    """Write profiles to a JSON file, sorted, so that two recordings can be compared line by line.

    Parameters
    ----------
    profiles : dict of str to list of OpProfile
    path : str or path
        A file there is replaced.

    Examples
    --------
    >>> import os, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = os.path.join(folder, "profiles.json")
    ...     save_op_profiles({"np::sin": [OpProfile((), ())]}, path)
    ...     load_op_profiles(path)
    {'np::sin': [OpProfile(args=(), outputs=())]}
    """
    data = {name: sorted([list(profile) for profile in known], key=repr) for name, known in sorted(profiles.items())}
    with open(path, "w", encoding="utf-8") as file:
        json.dump({"version": VERSION, "profiles": data}, file, indent=1)


@holding("path")
def load_op_profiles(path: Path) -> Profiles:
    """Read profiles from a JSON file that `save_op_profiles` wrote.

    Parameters
    ----------
    path : str or path

    Returns
    -------
    dict of str to list of OpProfile
        By the names of the operators.

    Raises
    ------
    SchemaError
        If the file holds no profiles, or those of another version.

    Examples
    --------
    >>> load_op_profiles("/dev/null")
    Traceback (most recent call last):
    dispatch.errors.SchemaError: /dev/null holds no profiles. save_op_profiles writes a file that does.
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
