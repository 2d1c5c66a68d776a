"""Makes operators from schemas, and registers, renames and removes them by name."""

import os
import sys
from functools import cache, lru_cache

from ..core import Arguments, Check, Definition, Kind, OpOverload, Outputs, registration_lock
from ..core.source import Caller, warn_of_brother
from ..dispatcher.layer import RULES_BEFORE
from ..dispatcher.operator_hooks import hooks
from ..dispatcher.own_rules import OWN_RULES
from ..errors import DefinitionError, LibraryError, SchemaError
from ..schema.opaque_types import find_class
from ..schema.schema import Argument, Return, Schema
from ..schema.tags import Tag
from ..schema.types import (
    ANY,
    BOOL,
    BYTES,
    CALLABLE,
    COMPLEX,
    DEVICE,
    FLOAT,
    GENERATOR,
    INT,
    NONE,
    RESIDUAL,
    SCALAR,
    SCALAR_TYPE,
    STR,
    TENSOR,
    Base,
    ClassType,
    DictOf,
    Field,
    ListOf,
    LiteralOf,
    OptionalOf,
    TupleOf,
    Type,
    UnionOf,
)  # fmt: skip
from .namespaces import RESERVED, Namespace, Operator, define_on_first_use, define_when_missed, find, known, ops, waiting_for
from .overload_resolution import refuse_ambiguous

__all__ = [
    "Namespace", "Operator", "add", "alias", "build", "check_definable", "check_of", "define_on_first_use",
    "define_when_missed", "find", "known", "note_own_rules", "ops",
    "remove",
]  # fmt: skip

_PACKAGE = __name__.partition(".")[0]
# The namespaces of this package; anybody may add kernels to what is in them.
_KEPT = "defined_in"  # what `add` writes on an operator
_MOST_SHARED = 512  # arguments, and outputs, that are kept for the next operator
_MAINS = ("__main__", "__mp_main__")  # the second is what a process that multiprocessing spawned calls the first


KINDS = {
    ANY: Kind.ANY, RESIDUAL: Kind.RESIDUAL, TENSOR: Kind.TENSOR, INT: Kind.INT, FLOAT: Kind.FLOAT, COMPLEX: Kind.COMPLEX,
    BOOL: Kind.BOOL, STR: Kind.STR, BYTES: Kind.BYTES, SCALAR: Kind.SCALAR, SCALAR_TYPE: Kind.DTYPE, DEVICE: Kind.STR,
    CALLABLE: Kind.CALLABLE, NONE: Kind.NONE,
}  # fmt: skip


def check_of(kind: Type, argument: Argument | Field | None = None, *, optional: bool = False) -> Check:
    """The compiled check of a schema type; an argument adds what its hint asked for beyond the type."""
    if isinstance(kind, Base):
        if kind != TENSOR or argument is None:
            return _check_of_word(KINDS[kind], optional)
        word = Kind.TENSOR_OR_NUMBER if argument.numbers else Kind.TENSOR
        if argument.dtype is None:
            return _check_of_word(word, optional, argument.is_write)
        return Check(word, optional=optional, dtype=argument.dtype, written=argument.is_write)
    if isinstance(kind, OptionalOf):
        return check_of(kind.element, argument, optional=True)
    if isinstance(kind, ListOf):
        size = -1 if kind.size is None else kind.size
        return Check(Kind.LIST, optional=optional, element=check_of(kind.element, argument), size=size)
    if isinstance(kind, TupleOf):
        return Check(Kind.TUPLE, optional=optional, members=tuple(check_of(member, argument) for member in kind.members))
    if isinstance(kind, DictOf):
        return Check(Kind.DICT, optional=optional, members=(check_of(kind.key),), element=check_of(kind.value, argument))
    if isinstance(kind, ClassType):
        if not kind.fields:
            return Check(Kind.INSTANCE, optional=optional, cls=find_class(kind))
        written = argument is not None and argument.is_write
        members = tuple(check_of(field.type, field._replace(is_write=written)) for field in kind.fields)
        return Check(Kind.TUPLE, optional=optional, members=members, cls=find_class(kind))
    if isinstance(kind, UnionOf):
        return Check(Kind.UNION, optional=optional, members=tuple(check_of(member, argument) for member in kind.members))
    assert isinstance(kind, LiteralOf)
    return Check(Kind.LITERAL, optional=optional, cls=kind.choices)


def _holds_generator(kind: Type) -> bool:
    return type(kind) is not Base and (kind == GENERATOR or any(map(_holds_generator, kind.parts)))


@cache
def _check_of_word(kind: int, optional: bool, written: bool = False) -> Check:
    """The check of a type that is one word: a check does not change, so operators share it, 96 bytes each."""
    return Check(kind, optional=optional, written=written)


def build(schema: Schema, tags: tuple[Tag, ...] = ()) -> OpOverload:
    """Make an operator without kernels, not registered by name yet."""
    names, checks, defaults = [], [], []
    positional_only = keyword_only = 0
    plain, decided = True, False  # whether each argument is one word without a default; whether one holds arrays
    draws = False  # what takes a Generator draws from it, whether or not it was tagged so
    try:
        for a in schema.arguments:
            names.append(sys.intern(a.name))
            checks.append(check_of(a.type, a))
            defaults.append((a.default,) if a.has_default else ())
            positional_only += a.positional_only
            keyword_only += a.kwarg_only
            plain = plain and type(a.type) is Base and a.dtype is None and not a.has_default
            decided = decided or a.type.has_tensor
            draws = draws or _holds_generator(a.type)
    except SchemaError as error:  # a class that is not known
        raise SchemaError(f"{schema.full_name}: {error}", operator=schema.full_name) from None
    if not decided:
        checks = [_deciding(a.type) or check for a, check in zip(schema.arguments, checks, strict=True)]
    make = _shared_arguments if plain else Arguments
    arguments = make(tuple(names), tuple(checks), tuple(defaults), positional_only, keyword_only)
    returns = schema.returns[:-1] if schema.has_residual else schema.returns
    aliased = any([r.alias is not None for r in schema.returns])
    plain = all([type(r.type) is Base and r.dtype is None for r in returns])
    outputs = (_shared_outputs if plain else _outputs)(
        tuple([check_of(r.type, Field("", r.type, r.dtype)) for r in returns]),
        schema.has_residual,
        aliased,
        tuple([_returned(schema, r) for r in returns]) if aliased else (-1,) * len(returns),
    )
    if draws and Tag.random not in tags:
        tags = (*tags, Tag.random)
    return OpOverload(Definition(schema, arguments, outputs, tuple(tags)), hooks)


# Both say no more than the words of a schema, and do not change: operators of the same words share them, 450 bytes each.


_shared_arguments = lru_cache(_MOST_SHARED)(Arguments)


def _outputs(checks: tuple[Check, ...], residual: bool, aliased: bool, returned: tuple[int, ...]) -> Outputs:
    return Outputs(checks, residual=residual, aliased=aliased, returned=returned)


_shared_outputs = lru_cache(_MOST_SHARED)(_outputs)


def _deciding(kind: Type) -> Check | None:
    """The check of a device that says which kernel runs, where no array does."""
    optional = isinstance(kind, OptionalOf)
    inside = kind.element if isinstance(kind, OptionalOf) else kind
    return _check_of_word(Kind.DEVICE, optional) if inside == DEVICE else None


def _returned(schema: Schema, result: Return) -> int:
    """The number of the argument that a return has to be, or -1: what is written and returned is the argument itself."""
    if result.alias is None or not result.alias.is_write or result.type != TENSOR:
        return -1
    before = result.alias.before
    written = [i for i, a in enumerate(schema.arguments) if a.alias is not None and a.alias.before == before]
    return written[0] if len(written) == 1 and schema.arguments[written[0]].type in (TENSOR, OptionalOf(TENSOR)) else -1


def add(op: OpOverload, module: str, place: str) -> OpOverload:
    """Register an operator by its name; if the same module defines it again, it is replaced in place.

    `op` is complete: nothing can fail after this. Returns it, or the older object of that name, which has become `op`, so that
    handles to it call the new definition. If another module has defined the name, or an overload beside it takes some call as
    exactly, raises DefinitionError, and nothing has changed.
    """
    schema = op.schema
    with registration_lock:
        namespace, operator = check_definable(schema, module, place)
        existing = operator._find_overload(schema.overload)
        found = op if existing is None else existing
        if existing is not None:
            warn_of_brother(schema.full_name, vars(op).get("__wrapped__"), vars(existing).get("__wrapped__"))
        attributes = vars(op)
        op.__doc__ = attributes.get("__doc__") or ""
        attributes[_KEPT] = Caller(module, place)
        if schema.overload:
            attributes[schema.overload] = found  # as `op.default` is the operator itself
        if existing is not None:
            gone = {registration.layer.name for registration in existing.table.all() if registration.layer is not None}
            attributes[RULES_BEFORE] = gone | vars(existing).get(RULES_BEFORE, set())
            existing.redefine(op)
        operator._set(schema.overload, found)
        namespace._operators[schema.name] = operator
        namespace._gone.pop(schema.name, None)
        namespace.__dict__.pop(schema.name, None)
        ops._namespaces[schema.namespace] = namespace
        found.table.reset()  # it is counted as a change, now that it can be found
        for registration in waiting_for(schema.full_name):
            registration(found, module, existing is not None)
        return found


def note_own_rules(*operators: OpOverload) -> None:
    """Note on operators of this package that all that is registered for them so far is its own."""
    for op in operators:
        vars(op)[OWN_RULES] = tuple(op.table.all())


def check_definable(schema: Schema, module: str, place: str) -> tuple[Namespace, Operator]:
    """Raise for a name of another module, and for an overload that would be ambiguous beside another.

    Returns the namespace and the operator of the name, new ones where there are none yet.
    """
    namespace = ops._namespaces.get(schema.namespace) or Namespace(schema.namespace)
    operator = namespace._operators.get(schema.name) or Operator(schema.qualname)
    _check_free(schema, namespace, operator._find_overload(schema.overload), module, place)
    refuse_ambiguous(schema, [other.schema for other in operator._overloads if other.schema.overload != schema.overload])
    return namespace, operator


def _check_free(schema: Schema, namespace: Namespace, existing: OpOverload | None, module: str, place: str) -> None:
    """Raise for a name that another module defined."""
    name, overload = schema.full_name, schema.overload
    if schema.name in namespace._aliases:
        raise DefinitionError(
            f"{name} cannot be defined: it is a second name of {schema.namespace}::{namespace._aliases[schema.name]}. "
            "Take another name or another namespace.",
            operator=name,
        )
    if schema.namespace in RESERVED and module.partition(".")[0] != _PACKAGE:
        raise LibraryError(f"the namespace {schema.namespace!r} is this package's own. Take another.", operator=name)
    owner = None if existing is None else vars(existing)[_KEPT]
    if owner is not None and not _is_one_module(owner.module, module):
        raise DefinitionError(
            f"{name} is defined already, by {owner.module} ({owner.place}); {module} ({place}) defines it again. "
            "Take another name or another namespace.",
            operator=name,
        )
    if overload and (
        overload in (_KEPT, OWN_RULES, RULES_BEFORE)
        or hasattr(Operator, overload)
        or hasattr(OpOverload, overload)
        or overload.startswith("register_")
        or overload.endswith("_rule")
    ):
        raise DefinitionError(
            f"{name}: an overload cannot be named {overload!r}, which is an attribute of every operator. Take another name.",
            operator=name,
        )


def _is_one_module(one: str, other: str) -> bool:
    """Whether two names are of one module: a program is `__main__` and, imported or spawned, has another name too."""
    if one == other or (one in _MAINS and other in _MAINS):
        return True
    files = {os.path.abspath(getattr(sys.modules.get(name), "__file__", None) or f"<{name}>") for name in (one, other)}
    return (one in _MAINS or other in _MAINS) and len(files) == 1


def remove(op: OpOverload, gone: str = "") -> None:
    """Remove an operator by its name, if it is still known by it; any module may then use the name.

    `gone` is what a later look-up of the name says.
    """
    schema = op.schema
    with registration_lock:
        namespace = ops._namespaces.get(schema.namespace)
        operator = None if namespace is None else namespace._operators.get(schema.name)
        if namespace is None or operator is None or operator._find_overload(schema.overload) is not op:
            return
        operator._set(schema.overload, None)
        namespace.__dict__.pop(schema.name, None)
        if not operator._overloads:
            del namespace._operators[schema.name]
            namespace._gone[schema.name] = gone
            namespace._aliases = {second: name for second, name in namespace._aliases.items() if name != schema.name}


def alias(op: OpOverload, name: str) -> None:
    """Give an operator a second name in its namespace, as NumPy has `abs` for `absolute`; it keeps its own in messages."""
    with registration_lock:
        namespace = getattr(ops, op.schema.namespace)
        if name in namespace._operators or namespace._aliases.get(name, op.schema.name) != op.schema.name:
            raise DefinitionError(
                f"{op.schema.namespace}::{name} is the name of another operator and cannot be one of {op.name} too.",
                operator=op.name,
            )
        namespace._aliases[name] = op.schema.name
