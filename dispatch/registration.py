"""Defining operators and registering their kernels and rules; `library.py` is the face of this page.

Every door opens on the same verb, `op.register(layer, rule)`. A definition is atomic: the name, the schema against the
function, the mutated arguments and the tags are all looked at before the operator is known by its name.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, ParamSpec, Protocol, TypeVar, overload

from .adapting import adapted
from .core import OpOverload, Residual
from .errors import ArgumentError, DefinitionError, kind_of
from .functional import make_known, name_for
from .grammar import split_name
from .infer import compare, infer
from .layer import find_layer, keys_of
from .operators import add, build, find
from .schema import Schema
from .tags import Tag, check_tags, tag_set
from .where import caller

Function = Callable[..., Any]
P = ParamSpec("P")
R = TypeVar("R")
A = TypeVar("A")
B = TypeVar("B")


class Define(Protocol):
    """What `custom_op` without a function is: it makes an operator with the function's own parameters and result.

    A residual stays inside the operator, so that it is not among the result.
    """

    @overload
    def __call__(self, fn: Callable[P, tuple[A, Residual]], /) -> OpOverload[P, A]: ...
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
    tags: Tag | Sequence[Tag] = (),
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
    tags: Tag | Sequence[Tag] = (),
    functional: bool | str = False,
) -> Define: ...
def custom_op(
    name: str,
    fn: Function | None = None,
    /,
    *,
    mutates_args: str | Iterable[str],
    device_types: str | Sequence[str] | None = None,
    schema: str | None = None,
    tags: Tag | Sequence[Tag] = (),
    functional: bool | str = False,
) -> Any:
    """Make an operator of a function that computes on arrays.

    Parameters
    ----------
    name : str
        `"namespace::name"`.
    fn : callable, optional
        The kernel. Without it `custom_op` is a decorator.
    mutates_args : iterable of str, or "unknown"
        The arguments that the function writes to; `"unknown"` says it may write to any.
    device_types : str or sequence of str, optional
        The devices whose arrays the function computes on; by default any.
    schema : str, optional
        `"(Tensor x, float factor=2.0) -> Tensor"`, in place of the function's type hints.
    tags : Tag or sequence of Tag, optional
        What is to be known about the operator, `Tag.inplace` or `Tag.out` among it.
    functional : bool or str
        Of an operator that writes to its arguments, make its functional form too, which returns what this one writes, and
        name it: `ns::add` for `ns::add_`, else `<name>_functional`, or as the text says. See docs/mutation.md.

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
    """
    module, place = caller()
    if fn is None:
        return lambda fn: _define(name, fn, mutates_args, device_types, schema, tags, functional, module, place)
    return _define(name, fn, mutates_args, device_types, schema, tags, functional, module, place)


def _define(
    name: str,
    fn: Function,
    mutates_args: str | Iterable[str],
    device_types: str | Sequence[str] | None,
    text: str | None,
    tags: Tag | Sequence[Tag],
    functional: bool | str,
    module: str,
    place: str,
) -> OpOverload:
    split_name(name)
    if not callable(fn):
        raise DefinitionError(f"{name}: a kernel is a function, and {kind_of(fn)} was given.", operator=name)
    marks = tag_set(tags, name)
    if text is None:
        schema = infer(fn, name, mutates_args=mutates_args, tags=marks)
    else:
        schema = Schema.parse(text, name=name)
        compare(schema, fn)
        _check_mutated(schema, mutates_args)
        check_tags(schema, marks)
    keys = keys_of(device_types)
    form = name_for(schema, functional) if functional else ""
    op = build(schema, tuple(sorted(marks, key=lambda tag: tag.name)))
    attributes = vars(op)
    for attribute in ("__name__", "__qualname__", "__doc__", "__module__"):
        if (value := getattr(fn, attribute, None)) is not None:
            attributes[attribute] = value
    attributes["__wrapped__"] = fn
    for key in keys:
        op.register_at(key, adapted(op, fn))
    op = add(op, module, place)
    if form:
        make_known(op, form, module, place)
    return op


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


def resolve(op: OpOverload | str) -> OpOverload:
    """The operator itself, given it or its name."""
    if isinstance(op, OpOverload):
        return op
    if isinstance(op, str):
        return find(op)
    raise ArgumentError(f"an operator or its name, 'ns::name', is asked for, and {kind_of(op)} was given.")


def register_kernel(
    op: OpOverload | str, device_types: str | Sequence[str] | None, func: Function | None = None, /
) -> Any:
    """Give an operator a kernel for some devices.

    Parameters
    ----------
    op : OpOverload or str
    device_types : str or sequence of str, or None
        None: for every device that has no kernel of its own.
    func : callable, optional
        With the operator's own signature. Without it this is a decorator.

    Returns
    -------
    callable
        `func`, unchanged.

    Examples
    --------
    >>> import numpy as np
    >>> from dispatch import custom_op
    >>> @custom_op("doc::negate", mutates_args=(), device_types="cuda")
    ... def negate(x: np.ndarray) -> np.ndarray: ...
    >>> @negate.register_kernel("cpu")
    ... def _(x):
    ...     return -x
    >>> negate(np.ones(2))
    array([-1., -1.])
    """
    return find_layer("kernel").attach(resolve(op), device_types, func)


def register_fake(op: OpOverload | str, func: Function | None = None, /) -> Any:
    """Give an operator its fake rule, which says shape and dtype of the outputs without data; see `dispatch.fake`.

    Parameters
    ----------
    op : OpOverload or str
    func : callable, optional
        Takes the operator's arguments, by its parameter names, with fake tensors for arrays; returns fake tensors, or plain
        arrays of which only the metadata is read. Without it this is a decorator.
    """
    return find_layer("fake").attach(resolve(op), func)


def register_autograd(op: OpOverload | str, backward: Function, /, *, setup_context: Function | None = None) -> Any:
    """Give an operator its gradient; see `dispatch.tape`.

    Parameters
    ----------
    op : OpOverload or str
    backward : callable
        `backward(ctx, *grads)`, a gradient for each output, returns one for each input, None for those without.
    setup_context : callable, optional
        `setup_context(ctx, inputs, output)` keeps on `ctx` what the backward needs.
    """
    return find_layer("autograd").attach(resolve(op), backward, setup_context=setup_context)


def register_vmap(op: OpOverload | str, func: Function | None = None, /) -> Any:
    """Give an operator its batching rule; see `dispatch.vmap`.

    Parameters
    ----------
    op : OpOverload or str
    func : callable, optional
        `rule(info, in_dims, *args)` returns `(output, out_dims)`. Without it this is a decorator.
    """
    return find_layer("vmap").attach(resolve(op), func)
