"""Tags: what an operator promises beyond its schema; checks them against the schema.

The names are torch's. Tags about the layout of a device's memory format or about torch's own compiler are left out.
"""

from collections.abc import Iterable
from enum import Enum, EnumMeta
from typing import Any

from ..core.wrong_attributes import Attributes, not_set
from ..errors import DefinitionError, did_you_mean, shown
from .schema import Schema
from .types import TENSOR


class _Tags(EnumMeta):
    """The class of `Tag`, which says of a name that is none which it may have been."""

    def __getattr__(cls, name: str) -> Any:
        if name in cls.__members__:  # of CPython 3.11, which looks members up here
            return cls.__members__[name]
        raise AttributeError(_no_tag(name), name=name, obj=cls)

    def __getitem__(cls, name: str) -> Any:
        if name not in cls.__members__:
            raise DefinitionError(_no_tag(name))
        return super().__getitem__(name)


def _no_tag(name: object) -> str:
    if name == "pt2_compliant_tag":
        return f"there is no tag {name!r}: every operator is held to what that promises in torch. Leave it out."
    if str(name).startswith("needs_"):
        return f"there is no tag {name!r}. Hint the argument in that layout: Annotated[np.ndarray, 'C']."
    known = did_you_mean(str(name), Tag.__members__) or f" Tags: {', '.join(Tag.__members__)}."
    return f"there is no tag {name!r}.{known}"


class Tag(Enum, metaclass=_Tags):
    """What an operator promises beside its schema. The value of a tag says what; the names are torch's.

    Examples
    --------
    >>> Tag.reduction.value
    'some axes of the arguments are gone from the result'
    >>> Tag.nondeterministic_seeded is Tag.random
    True
    """

    inplace = "writes to its first argument and returns it"
    out = "writes to its keyword-only arguments and returns them, in order"
    view = "returns a view of an argument"
    inplace_view = "changes the shape or strides of its first argument"
    pointwise = "each element of the result depends on one element of each argument"
    metadata = "no element of the first argument is read, only its shape, dtype and strides"
    reduction = "some axes of the arguments are gone from the result"
    random = "draws from a random generator"
    nondeterministic_seeded = random
    nondeterministic_bitwise = "two equal calls may differ in the last bits"
    effect = "does something besides returning: calls keep their order, and none is left out"
    data_dependent_output = "the result is a Python value read from an array's data"
    dynamic_output_shape = "the shape of the result depends on an array's data"
    maybe_aliasing_or_mutating = "the schema does not say all that is shared or written"
    core = "belongs to the small set that others are built of"

    @classmethod
    def _missing_(cls, value: object) -> Any:
        if isinstance(value, str) and value in cls.__members__:
            raise DefinitionError(f"there is no tag {value!r} by value: values say what a tag means. Write Tag.{value}.")
        raise DefinitionError(_no_tag(value))


def _set(self: Tag, name: str, value: object) -> None:
    if not name.startswith("_"):
        raise not_set(self, name)
    object.__setattr__(self, name, value)


Tag.__getattr__, Tag.__setattr__ = Attributes.__getattr__, _set  # type: ignore[method-assign, assignment]


def tag_set(tags: Tag | Iterable[Tag] | None, name: str) -> frozenset[Tag]:
    """Return the tags that a user gave as a set, or raise with the operator's name."""
    if tags is None or (isinstance(tags, tuple) and not tags):
        return frozenset()
    several = isinstance(tags, Iterable) and not isinstance(tags, (str, bytes, type))
    given: list[Any] = list(tags) if several else [tags]  # type: ignore[arg-type]
    for tag in given:
        if not isinstance(tag, Tag):
            word, ours = (tag, "Tag") if isinstance(tag, str) else (getattr(tag, "name", ""), "dispatch.Tag")
            near = did_you_mean(word, Tag.__members__) if isinstance(tag, str) and word else ""
            advice = f" Write {ours}.{word}." if word in Tag.__members__ else near
            advice = advice or f" Tags: {', '.join(Tag.__members__)}."
            raise DefinitionError(f"{name}: {shown(tag)} is no Tag.{advice}", operator=name)
    return frozenset(given)


def check_tags(schema: Schema, tags: Tag | Iterable[Tag]) -> frozenset[Tag]:
    """Return the tags as a set, or raise if the schema contradicts one."""
    if tags == frozenset():  # the usual case, of every definition
        return frozenset()
    found = tag_set(tags, schema.full_name)
    faults = []
    if Tag.inplace in found and Tag.out in found:
        faults.append("Tag.inplace and Tag.out exclude each other")
    elif Tag.inplace in found:
        faults.append(_inplace_fault(schema))
    elif Tag.out in found:
        faults.append(_out_fault(schema))
    if Tag.view in found and not schema.is_view:
        faults.append("Tag.view asks for a return that shares memory with an argument, as in Tensor(a)")
    if Tag.inplace_view in found and not (schema.positional and schema.positional[0].is_write):
        faults.append("Tag.inplace_view asks for a first argument that is written, as in (Tensor(a!) x) -> Tensor(a!)")
    if Tag.pointwise in found and not any(a.type.has_tensor for a in schema.arguments):
        faults.append("Tag.pointwise asks for an argument that is a Tensor")
    for fault in filter(None, faults):
        raise DefinitionError(f"{schema.full_name}: {fault}.\n  {schema}", operator=schema.qualname)
    return found


def _inplace_fault(schema: Schema) -> str:
    if not schema.positional:
        return "Tag.inplace asks for a first argument given by position, which is written and returned"
    first = schema.positional[0]
    if not first.is_write:
        return f"Tag.inplace asks that the first argument, '{first.name}', is written: mutates_args=('{first.name}',)"
    if first.type != TENSOR:
        return f"Tag.inplace asks that the first argument is a plain Tensor; '{first.name}' is a {first.type}"
    if len(schema.mutable_arguments) > 1:
        return f"Tag.inplace asks that nothing but '{first.name}' is written; '{schema.mutable_arguments[1]}' is too"
    if len(schema.returns) != 1 or schema.returns[0].type != TENSOR:
        return f"Tag.inplace asks for exactly one return, the Tensor '{first.name}'"
    if schema.returns[0].alias != first.alias:
        return f"Tag.inplace asks that the return is '{first.name}' itself: write it as Tensor{first.alias}"
    return ""


def _out_fault(schema: Schema) -> str:
    written = [a for a in schema.arguments if a.is_write]
    if not written:
        return "Tag.out asks for a keyword-only argument that is written, as in (Tensor x, *, Tensor(a!) out)"
    for argument in written:
        if not argument.kwarg_only:
            return f"Tag.out asks that what is written is keyword-only: put '*' before '{argument.name}'"
        if argument.type != TENSOR:
            return f"Tag.out asks that what is written is a plain Tensor; '{argument.name}' is a {argument.type}"
    if len(schema.returns) != len(written):
        return f"Tag.out asks for one return for each written argument: {len(written)}, not {len(schema.returns)}"
    for argument, result in zip(written, schema.returns, strict=True):
        if result.type != TENSOR or result.alias != argument.alias:
            return f"Tag.out asks for what is written, in order: '{argument.name}' as Tensor{argument.alias}"
    return ""
