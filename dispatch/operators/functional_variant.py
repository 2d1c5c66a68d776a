"""Makes the functional form of an operator that writes to its arguments: it returns the new values instead.

    ns::add_(Tensor(a!) x, Tensor y) -> Tensor(a!)     its form  ns::add(Tensor x, Tensor y) -> Tensor
    ns::fill(Tensor x, Tensor(a!) out) -> ()           its form  ns::fill_functional(Tensor x, Tensor out) -> Tensor

It returns the results that are no written arguments, then one value for each written argument. Its kernel calls the
operator on copies, so it runs wherever the operator does; the same call on fakes is its shape rule. The tape records the
functional form of an operator that writes, because no later write changes its values.
"""

from collections.abc import Callable
from functools import cache
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np

from ..core import DispatchKey, OpOverload, Tensor, registration_lock
from ..core.pytree import items_of, mapped_arrays
from ..dispatcher.layer import find_layer
from ..errors import BatchingError, DefinitionError, FakeTensorError, kind_of
from ..schema.schema import Argument, Return, Schema
from ..schema.tags import Tag
from ..schema.types import Alias, OptionalOf, split_name
from .prims import clone, strided_copy
from .registry import add, build, check_definable, known

# Attributes of an operator; no overload can have such a name.
_FUNCTIONAL, _MADE_OF, _ADVICE = "__functional__", "__made_of__", "__advice__"


class MadeOf(NamedTuple):
    """What a functional form was made of: the operator that writes, and a function that runs it on copies."""

    origin: OpOverload
    on_copies: Callable[..., Any]


class Instead(NamedTuple):
    """The advice in a refusal: for a write to a leaf, and for a write to a plain array."""

    leaf: str
    plain: str


class Form(NamedTuple):
    """How the outputs of a functional form are made from those of the operator.

    `written` has the indices of the written arguments; `returned` has for each return the written argument that it is, or -1;
    `severed` has the returns that may be views of written arguments.
    """

    written: tuple[int, ...]
    returned: tuple[int, ...]
    severed: frozenset[int]
    residual: bool

    def outputs(self, result: Any, values: Any) -> list[Any]:
        """Make the outputs of the functional form from the operator's result and the arguments it wrote to."""
        results = list(result) if len(self.returned) > 1 else [result] * len(self.returned)
        made = [x for x, place in zip(results, self.returned, strict=True) if place < 0]
        at = len(made) - self.residual
        made[at:at] = [values[i] for i in self.written]
        return made

    def given_back(self, outputs: list[Any], args: tuple[Any, ...]) -> Any:
        """Make the operator's result from the outputs of its functional form and the arguments."""
        rest = iter([*outputs[: -len(self.written) - 1], outputs[-1]] if self.residual else outputs)
        results = [args[place] if place >= 0 else next(rest) for place in self.returned]
        return results[0] if len(results) == 1 else tuple(results) if results else None


    def returning(self, result: Any, args: tuple[Any, ...]) -> Any:
        """Make the operator's result, with the arguments themselves where they are written and returned."""
        if max(self.returned, default=-1) < 0:
            return result
        if len(self.returned) == 1:
            return args[self.returned[0]]
        results = result or [None] * len(self.returned)
        return tuple([x if place < 0 else args[place] for x, place in zip(results, self.returned, strict=True)])


def form_of(schema: Schema) -> Form:
    """Find which arguments and returns of a schema are written."""
    if schema.is_functional:
        return _plain_form(len(schema.returns), schema.has_residual)
    written = tuple(i for i, a in enumerate(schema.arguments) if a.is_write)
    returned = tuple(_argument_of(schema, result) for result in schema.returns)
    sets = frozenset[str]().union(*(_sets(schema.arguments[i].alias) for i in written))
    severed = [i for i, r in enumerate(schema.returns) if returned[i] < 0 and _sets(r.alias) & (sets | {"*"})]
    return Form(written, returned, frozenset(severed), schema.has_residual)


@cache
def _plain_form(returns: int, residual: bool) -> Form:
    return Form((), (-1,) * returns, frozenset(), residual)


def _argument_of(schema: Schema, result: Return) -> int:
    """Return the index of the written argument that a return is, or -1."""
    if result.alias is None or not result.alias.is_write:
        return -1
    found = [i for i, a in enumerate(schema.arguments) if a.is_write and a.alias and a.alias.before == result.alias.before]
    kind = schema.arguments[found[0]].type if len(found) == 1 else None
    return found[0] if result.type in (kind, kind.element if isinstance(kind, OptionalOf) else None) else -1


def _sets(alias: Alias | None) -> frozenset[str]:
    return frozenset() if alias is None else alias.before | alias.after


def functional_schema(schema: Schema, name: str | None = None) -> Schema:
    """The schema of the functional form; its name is by default the overload `functional`, which is not registered by name."""
    form = form_of(schema)
    arguments = tuple(_read(a) if a.is_write else a for a in schema.arguments)
    plain = [r.replace(alias=None) if i in form.severed else r for i, r in enumerate(schema.returns)]
    outputs = form.outputs(plain if len(plain) != 1 else plain[0], [Return(a.type) for a in schema.arguments])
    own = f"{schema.overload}_functional" if schema.overload else "functional"
    full_name = (schema.namespace, schema.name, own) if name is None else split_name(name)
    return Schema(*full_name, arguments, tuple(outputs))


def _read(argument: Argument) -> Argument:
    """Return a written argument as the functional form takes it: it is only read, so any layout will do."""
    return argument.replace(alias=None, layout=())


def make(op: OpOverload, name: str | None = None) -> OpOverload:
    """Make the functional form of an operator, not yet registered by name; the operator itself if it writes to nothing."""
    if not op.schema.is_mutable:
        return op
    schema = functional_schema(op.schema, name)
    lost = {Tag.inplace, Tag.out, Tag.inplace_view} | (set() if schema.is_view else {Tag.view})
    made = build(schema, tuple(tag for tag in op.tags if tag not in lost))
    on_copies = copying(op)

    def kernel(*args: Any, **keywords: Any) -> Any:
        return on_copies(*args, *keywords.values())

    kernel.__name__ = kernel.__qualname__ = schema.name
    made.register_at(DispatchKey.CompositeExplicit, kernel)
    made.register(find_layer("fake"), on_copies)
    vars(made).update({"__name__": schema.name, "__qualname__": schema.name, _MADE_OF: MadeOf(op, on_copies)})
    vars(made)["__doc__"] = f"The functional form of {op.name}: it returns what that one writes."
    return made


def copying(op: OpOverload) -> Callable[..., Any]:
    """Make the kernel of a functional form: it runs the operator on copies of the written arguments."""
    form, whole = form_of(op.schema), op.whole
    orders = {i: next((w for w in op.schema.arguments[i].layout if w in ("C", "F")), None) for i in form.written}

    def on_copies(*values: Any) -> Any:
        copies = list(values)
        for i, order in orders.items():
            copies[i] = copied(values[i], order)
        result = whole(*copies)
        if form.severed:
            results = list(result) if len(form.returned) > 1 else [result]
            results = [copied(x) if i in form.severed else x for i, x in enumerate(results)]
            result = results if len(form.returned) > 1 else results[0]
        outputs = form.outputs(result, copies)
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    return on_copies


def copied(x: Any, order: Any = None) -> Any:
    """Copy an array, or the arrays of a container, with the same strides unless an order is given.

    What is a view of an array hangs on its strides, and a copy that is written to stands for the array from then on.
    """
    if isinstance(x, (np.ndarray, np.generic, Tensor)):
        if order is None:
            return clone(x) if isinstance(x, Tensor) else strided_copy(x)
        return np.array(x) if isinstance(x, np.generic) else x.copy(order)
    if items_of(x) is not None:
        return mapped_arrays(lambda item: copied(item, order), x)
    return x.copy() if hasattr(x, "copy") else x


def instead(op: OpOverload, which: str = "plain") -> str:
    """Return the line to write instead of a refused call: `x = ns.add(x, y)`."""
    advice: Instead | None = vars(op).get(_ADVICE)
    if advice is not None:
        return advice.leaf if which == "leaf" else advice.plain
    schema = op.functional.schema
    who = f"{op.schema.name}.functional" if "functional" in schema.overload else schema.name
    names = [f"{a.name}={a.name}" if a.kwarg_only else a.name for a in op.schema.arguments]
    others = len(schema.returns) - len(op.schema.mutable_arguments) - schema.has_residual
    own = ["result"] if others == 1 else [f"result{i}" for i in range(others)]
    results = ", ".join([*own, *op.schema.mutable_arguments])
    return f"`{results} = {who}({', '.join(names)})`"


def check_mapped(op: OpOverload, i: int, x: Any, dim: Any) -> None:
    """Raise for a written argument, number `i`, that is one array for all items; `dim` is its axis of the batch, or None."""
    if (items := items_of(x)) is not None:
        for item, its in zip(items, dim or repeat(None), strict=False):
            check_mapped(op, i, item, its)
    elif dim is None and hasattr(x, "shape"):
        name = op.arguments.names[i]
        raise BatchingError(
            f"{op.name}: argument {name!r} is written, and is one array for a whole batch, so that each item would overwrite "
            f"what the one before wrote. Map {name} too, or call {op.schema.name}.functional, which returns what each writes.",
            operator=op.name,
        )


def is_argument(op: OpOverload, i: int, x: Any, args: tuple[Any, ...]) -> bool:
    """Whether output `i` is an argument that is written and returned; refuse what a fake rule gave in its place."""
    place = op.outputs.returned[i]
    if place >= 0 and x is not args[place]:
        name = op.arguments.names[place]
        raise FakeTensorError(
            f"{op.name}: its fake rule returned another array as output {i}, and the schema says that it is argument {name!r} "
            f"itself. Return {name}.",
            operator=op.name,
        )
    return place >= 0


def origin_of(op: OpOverload) -> OpOverload | None:
    """Return the operator whose functional form `op` is, or None."""
    found: MadeOf | None = vars(op).get(_MADE_OF)
    return None if found is None else found.origin


def on_copies_of(op: OpOverload) -> Callable[..., Any]:
    """Return the function that computes a functional form: it runs the operator that writes on copies."""
    found: MadeOf = vars(op)[_MADE_OF]
    return found.on_copies


def set_instead(op: OpOverload, advice: Instead) -> None:
    """Say what to write in place of a refused call of an operator, where that is no call of its functional form."""
    vars(op)[_ADVICE] = advice


def name_for(schema: Schema, functional: bool | str, module: str = "", place: str = "") -> str:
    """Return the name of the functional form that `custom_op(..., functional=)` asks for, after checking that it is free.

    Examples
    --------
    >>> name_for(Schema.parse("ns::add_(Tensor(a!) x) -> ()"), True)
    'ns::add'
    >>> name_for(Schema.parse("ns::fill.two(Tensor(a!) x) -> ()"), True)
    'ns::fill_functional.two'
    """
    if not schema.is_mutable:
        raise DefinitionError(
            f"{schema.full_name}: functional= names the form that returns what the operator writes, and it writes to nothing. "
            "Leave it out.",
            operator=schema.full_name,
        )
    if isinstance(functional, str):
        name = functional if "::" in functional else f"{schema.namespace}::{functional}"
    else:
        word = schema.name[:-1] if schema.name.endswith("_") else f"{schema.name}_functional"
        name = f"{schema.namespace}::{word}{'.' if schema.overload else ''}{schema.overload}"
    other = known(name)
    origin = None if other is None else origin_of(other)
    if other is not None and (origin is None or origin.name != schema.full_name):
        raise DefinitionError(
            f"{schema.full_name}: its functional form would be named {name}, and that is another operator. "
            "Give the form a name of its own: functional='ns::name'.",
            operator=schema.full_name,
        )
    check_definable(functional_schema(schema, name), module, place)
    return name


def add_with_form(op: OpOverload, functional: bool | str, module: str, place: str) -> OpOverload:
    """`registry.add`, and where `functional` asks for it the operator's functional form by its name: both, or neither."""
    if not isinstance(functional, (str, bool)):
        raise DefinitionError(f"{op.name}: functional= is True or the form's name, and was given {kind_of(functional)}.")
    with registration_lock:
        name = name_for(op.schema, functional, module, place) if functional else ""
        op = add(op, module, place)
        if name:
            set_functional(op, add(make(op, name), module, place))
    return op


def set_functional(op: OpOverload, form: OpOverload) -> None:
    """Let `op.functional` be an operator that was made by `make`."""
    vars(op)[_FUNCTIONAL] = form


def functional(op: OpOverload) -> OpOverload:
    """`op.functional`: the operator that returns what this one writes; made when it is asked for, and remembered."""
    made: OpOverload | None = vars(op).get(_FUNCTIONAL)
    if made is None:
        made = make(op)
        if made is not op:
            made = vars(op).setdefault(_FUNCTIONAL, made)
    return made
