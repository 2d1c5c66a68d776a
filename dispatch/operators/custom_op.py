"""`custom_op`: defines an operator and its kernel in one step.

A definition is atomic: name, schema, function, mutated arguments and tags are all checked before the operator gets its name.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from inspect import signature
from typing import Any, ParamSpec, Protocol, TypeVar, overload

import numpy as np

from ..core import OpOverload, Residual
from ..core.lazy import LazyFunction
from ..core.source import caller
from ..core.wrong_calls import clear
from ..dispatcher.argument_layout import adapted
from ..dispatcher.layer import check_choosable, find_layer, keys_of
from ..dispatcher.shape_checks import derived_rule
from ..errors import DefinitionError, DispatchError, check_flag
from ..schema.schema import Schema
from ..schema.tags import Tag, check_tags, tag_set
from ..schema.types import split_name
from .functional_variant import add_with_form
from .kernel_functions import check_kernel, refuse_bare, refuse_unnamed, refuse_unsaid
from .registry import build

Function = Callable[..., Any]
equip = LazyFunction(__package__, ".gufunc.rules", "equip")  # for operators with a `signature=`
infer = LazyFunction(__package__, "..schema.infer", "infer")
compare = LazyFunction(__package__, "..schema.infer", "compare")
REQUIRED: Any = object()  # the default of `mutates_args`, which has none: so that the error says what to write
P = ParamSpec("P")
R = TypeVar("R")
A = TypeVar("A")
B = TypeVar("B")
Named = np.ndarray[Any, Any] | np.generic | complex | str | bytes | list[Any] | tuple[Any, ...] | dict[Any, Any] | None
L = TypeVar("L", bound=Named)


class Define(Protocol):
    """The decorator that `custom_op` without a function returns; the operator has the function's parameters and result.

    A residual stays inside the operator and is not part of the result. To a type checker any object is one, so that the tuples
    that end in something else come first.
    """

    @overload
    def __call__(self, fn: Callable[P, tuple[A, L]], /) -> OpOverload[P, tuple[A, L]]: ...
    @overload
    def __call__(self, fn: Callable[P, tuple[A, Residual]], /) -> OpOverload[P, A]: ...
    @overload
    def __call__(self, fn: Callable[P, tuple[A, B, L]], /) -> OpOverload[P, tuple[A, B, L]]: ...  # type: ignore[overload-overlap]
    @overload
    def __call__(self, fn: Callable[P, tuple[A, B, Residual]], /) -> OpOverload[P, tuple[A, B]]: ...
    @overload
    def __call__(self, fn: Callable[P, R], /) -> OpOverload[P, R]: ...


@overload
def custom_op(
    name: str,
    fn: Callable[P, R],
    /,
    *,
    mutates_args: str | Iterable[str],
    device_types: str | Sequence[str] | None = None,
    schema: str | None = None,
    tags: Tag | Sequence[Tag] | None = None,
    signature: str | None = None,
    broadcasts: bool = False,
    workers: int = 1,
    functional: bool | str = False,
) -> OpOverload[P, R]: ...
@overload
def custom_op(
    name: str,
    fn: None = None,
    /,
    *,
    mutates_args: str | Iterable[str],
    device_types: str | Sequence[str] | None = None,
    schema: str | None = None,
    tags: Tag | Sequence[Tag] | None = None,
    signature: str | None = None,
    broadcasts: bool = False,
    workers: int = 1,
    functional: bool | str = False,
) -> Define: ...
def custom_op(
    name: str,
    fn: Function | None = None,
    /,
    *,
    mutates_args: str | Iterable[str] = REQUIRED,
    device_types: str | Sequence[str] | None = None,
    schema: str | None = None,
    tags: Tag | Sequence[Tag] | None = None,
    signature: str | None = None,
    broadcasts: bool = False,
    workers: int = 1,
    functional: bool | str = False,
) -> Any:
    """Make an operator of a function that takes arrays.

    Parameters
    ----------
    name : str
        `"namespace::name"`.
    fn : callable, optional
        The kernel. Without it this is a decorator.
    mutates_args : iterable of str, or "unknown"
        The names of the arguments that the function writes to; `"unknown"` says that it may write to any.
    device_types : str or sequence of str, optional
        The devices whose arrays the function computes on, `"cpu"` say; by default any.
    schema : str, optional
        `"(Tensor x, float factor=2.0) -> Tensor"`. By default it is read from the function's type hints.
    tags : Tag or sequence of Tag, optional
        What the operator promises, such as `Tag.inplace` or `Tag.out`.
    signature : str, optional
        The axes of one item of each array, `"(m,n),(n)->(m)"`, as those of generalised ufuncs. Axes before them are loop
        dimensions and broadcast. The function is called for each item; shapes and batches follow from the signature.
    broadcasts : bool
        With a signature: the function takes the loop dimensions too, and is called once.
    workers : int
        With a signature: how many threads share the loop, for a function that releases the interpreter's lock.
    functional : bool or str
        Name the form that returns what the operator writes: `ns::add` for `ns::add_`, or as the text says (docs/mutation.md).

    Returns
    -------
    OpOverload
        Called as the function was; `__wrapped__` is the function.

    Raises
    ------
    HintError
        If a hint is missing or has no schema type.
    DefinitionError
        If the schema contradicts the function, or another module has defined the name.

    Examples
    --------
    >>> import numpy as np
    >>> from dispatch import custom_op
    >>> @custom_op("doc::scale", mutates_args=())
    ... def scale(x: np.ndarray, factor: float = 2.0) -> np.ndarray:
    ...     return x * factor
    >>> scale(np.ones(2), factor=3.0)
    array([3., 3.])
    >>> print(scale.schema)
    doc::scale(Tensor x, float factor=2.0) -> Tensor

    >>> @custom_op("doc::apply", mutates_args=(), signature="(m,n),(n)->(m)")
    ... def apply(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    ...     return a @ x
    >>> apply(np.ones((5, 2, 3)), np.ones(3)).shape
    (5, 2)
    """
    if callable(name):
        raise refuse_bare(name)
    if not isinstance(name, str):
        raise refuse_unnamed(name)
    if mutates_args is REQUIRED:
        raise refuse_unsaid(name)
    module, place = caller()
    options = (mutates_args, device_types, schema, tags, signature, broadcasts, workers, functional, module, place)
    if fn is None:
        return partial(_defined, name, options)
    try:
        return _define(name, fn, *options)
    except DispatchError as error:
        raise error.with_traceback(None)  # noqa: B904  as below


def _defined(name: str, options: Any, /, *fns: Function) -> OpOverload:
    """Define, and show of a refusal the user's line and this one: what lies between says nothing to who reads it."""
    if len(fns) != 1:
        raise DefinitionError(
            f"{name}: what custom_op returned without a function is a decorator, and takes the function alone; it was given "
            f"{len(fns) or 'nothing'}. Write it above the function, @custom_op({name!r}, mutates_args=())."
        )
    (fn,) = fns
    try:
        return _define(name, fn, *options)
    except DispatchError as error:
        raise error.with_traceback(None)  # noqa: B904  the same error, without its frames


def _without_default(function: Any) -> None:
    """Show `mutates_args` as the required parameter that it is."""
    found = signature(function)
    parameters = [p.replace(default=p.empty) if p.default is REQUIRED else p for p in found.parameters.values()]
    function.__signature__ = found.replace(parameters=parameters)


_without_default(custom_op)
custom_op = clear(custom_op, short=True)  # type: ignore[assignment]


def _define(
    name: str,
    fn: Function,
    mutates_args: str | Iterable[str],
    device_types: str | Sequence[str] | None,
    text: str | None,
    tags: Tag | Sequence[Tag] | None,
    items: str | None,
    broadcasts: bool,
    workers: int,
    functional: bool | str,
    module: str,
    place: str,
) -> OpOverload:
    split_name(name)
    check_kernel(name, fn, inferred=text is None)
    marks = tag_set(tags, name)
    if text is None:
        schema = infer(fn, name, mutates_args=mutates_args, tags=marks or ())
    else:
        schema = Schema.parse(text, name=name)
        compare(schema, fn)
        _check_mutated(schema, mutates_args)
        check_tags(schema, marks)
    keys = keys_of(device_types)
    check_choosable(schema, device_types)
    op = build(schema, tuple(sorted(marks, key=lambda tag: tag.name)) if marks else ())
    attributes = vars(op)
    for attribute in ("__doc__", "__module__"):  # `__name__` is looked up in the function
        if (value := getattr(fn, attribute, None)) is not None:
            attributes[attribute] = value
    attributes["__wrapped__"] = fn
    check_flag(broadcasts, f"{name}: broadcasts")
    if items is None:
        if broadcasts or not (type(workers) is int and workers == 1):
            said = "broadcasts=True" if broadcasts else "workers="
            raise DefinitionError(
                f'{name}: {said} is about the items of a signature, and none is given. Write signature="(n)->()", say.',
                operator=name,
            )
        kernel = adapted(op, fn)
    else:
        kernel = equip(op, fn, items, broadcasts=broadcasts, workers=workers)
    for key in keys:
        op.register_at(key, kernel)
    if items is None and (rule := derived_rule(op, fn)) is not None:
        op.register(find_layer("fake"), rule)
    return add_with_form(op, functional, module, place)


def _check_mutated(schema: Schema, mutates_args: str | Iterable[str]) -> None:
    if mutates_args == "unknown":
        return
    if isinstance(mutates_args, str):
        raise DefinitionError(
            f"{schema.full_name}: mutates_args is the text {mutates_args!r}. Write a tuple of names: ({mutates_args!r},)."
        )
    named = set(mutates_args)
    written = set(schema.mutable_arguments)
    if named != written:
        raise DefinitionError(
            f"{schema.full_name}: mutates_args names {sorted(named) or 'nothing'}, and the schema writes to "
            f"{sorted(written) or 'nothing'}. Make the two say the same.",
            operator=schema.full_name,
        )
