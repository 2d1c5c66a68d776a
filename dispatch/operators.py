"""Operators by name: `ops.ns.name[.overload]`.

A namespace is closed: an unknown name is an error with close matches, never a new object. An operator with one overload is
that overload, so that `ops.ns.name(x)` costs what `op(x)` costs; with several it is an `Operator`, which finds the one whose
types fit.
"""

import copyreg
import sys
from collections.abc import Iterator
from importlib import import_module
from typing import Any

from . import calls
from .core import Arguments, Check, OpOverload, Outputs, registration_lock
from .errors import ArgumentError, DefinitionError, OperatorNotFoundError, did_you_mean
from .grammar import DEVICE, TENSOR, Base, ClassType, DictOf, ListOf, OptionalOf, TupleOf, Type, split_name
from .opaque import find_class
from .schema import Argument, Return, Schema
from .tags import Tag


def check_of(kind: Type, argument: Argument | None = None, *, optional: bool = False) -> Check:
    """The compiled check of a schema type; an argument adds what its hint asked for beyond the type."""
    if isinstance(kind, OptionalOf):
        return check_of(kind.element, argument, optional=True)
    if isinstance(kind, ListOf):
        size = -1 if kind.size is None else kind.size
        return Check("list", optional=optional, element=check_of(kind.element, argument), size=size)
    if isinstance(kind, TupleOf):
        return Check("tuple", optional=optional, members=tuple(check_of(member, argument) for member in kind.members))
    if isinstance(kind, DictOf):
        return Check("dict", optional=optional, members=(check_of(kind.key),), element=check_of(kind.value, argument))
    if isinstance(kind, ClassType):
        return Check("instance", optional=optional, cls=find_class(kind))
    assert isinstance(kind, Base)
    if kind.name != "Tensor" or argument is None:
        return Check(kind.name, optional=optional)
    return Check(
        "Tensor|Scalar" if argument.numbers else "Tensor", optional=optional, dtype=argument.dtype, written=argument.is_write
    )


def build(schema: Schema, tags: tuple[Tag, ...] = ()) -> OpOverload:
    """An operator without kernels, known to nobody yet."""
    checks = tuple(check_of(a.type, a) for a in schema.arguments)
    if not any(a.type.has_tensor for a in schema.arguments):
        checks = tuple(_deciding(a.type) or check for a, check in zip(schema.arguments, checks, strict=True))
    arguments = Arguments(
        tuple(sys.intern(a.name) for a in schema.arguments),
        checks,
        tuple((a.default,) if a.has_default else () for a in schema.arguments),
        sum(a.positional_only for a in schema.arguments),
        sum(a.kwarg_only for a in schema.arguments),
    )
    returns = schema.returns[:-1] if schema.has_residual else schema.returns
    aliased = any(r.alias is not None for r in schema.returns)
    outputs = Outputs(
        tuple(check_of(r.type) for r in returns),
        residual=schema.has_residual,
        aliased=aliased,
        returned=tuple(_returned(schema, r) for r in returns),
    )
    return OpOverload(schema, arguments, outputs, calls, tuple(tags))


def _deciding(kind: Type) -> Check | None:
    """The check of a device that says which kernel runs, where no array does."""
    optional = isinstance(kind, OptionalOf)
    inside = kind.element if isinstance(kind, OptionalOf) else kind
    return Check("deciding Device", optional=optional) if inside == DEVICE else None


def _returned(schema: Schema, result: Return) -> int:
    """The number of the argument that a return has to be, or -1: what is written and returned is the argument itself."""
    if result.alias is None or not result.alias.is_write or result.type != TENSOR:
        return -1
    written = [i for i, a in enumerate(schema.arguments) if a.alias is not None and a.alias.before == result.alias.before]
    return written[0] if len(written) == 1 else -1


class Operator:
    """A name and its overloads.

    Calling it runs the overload whose types fit. The order of definition never decides: a call that fits two is an error
    that says which, and one that fits none lists why each was passed over.
    """

    __slots__ = ("_overloads", "name")

    def __init__(self, name: str) -> None:
        self.name = name
        self._overloads: dict[str, OpOverload] = {}

    def overloads(self) -> list[str]:
        """The names of the overloads, `"default"` for the one without a name."""
        return [name or "default" for name in self._overloads]

    def __getattr__(self, name: str) -> OpOverload:
        try:
            return self._overloads["" if name == "default" else name]
        except KeyError:
            known = self.overloads()
            raise OperatorNotFoundError(
                f"{self.name} has no overload {name!r}.{did_you_mean(name, known)} Overloads: {', '.join(known)}."
            ) from None

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        refusals = {op.name: calls.misfit(op, args, keywords) for op in self._overloads.values()}
        fitting = [name for name, refusal in refusals.items() if refusal is None]
        if len(fitting) == 1:
            return next(op for op in self._overloads.values() if op.name == fitting[0])(*args, **keywords)
        if fitting:
            raise ArgumentError(f"{self.name}: the call fits {' and '.join(fitting)}. Name the overload: {fitting[0]}.")
        reasons = "\n".join(f"  {refusal}" for refusal in refusals.values())
        raise ArgumentError(f"{self.name}: no overload fits the call.\n{reasons}")

    def __repr__(self) -> str:
        return "\n".join(map(repr, self._overloads.values()))


class Namespace:
    """The operators of one library: `ops.ns`."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._operators: dict[str, Operator] = {}
        self._aliases: dict[str, str] = {}

    def __getattr__(self, name: str) -> Any:
        if name in self._aliases:
            return getattr(self, self._aliases[name])
        if name not in self._operators:
            known = sorted([*self._operators, *self._aliases])
            advice = did_you_mean(name, known) or f" Operators: {', '.join(known[:20])}{', ...' if len(known) > 20 else ''}."
            raise OperatorNotFoundError(f"there is no operator {self._name}::{name}.{advice}")
        overloads = self._operators[name]._overloads
        found = next(iter(overloads.values())) if len(overloads) == 1 else self._operators[name]
        self.__dict__[name] = found  # the next look-up finds it without this function
        return found

    def __iter__(self) -> Iterator[OpOverload]:
        return (op for operator in list(self._operators.values()) for op in list(operator._overloads.values()))

    def __dir__(self) -> list[str]:
        return sorted([*self._operators, *self._aliases])

    def __repr__(self) -> str:
        return f"<namespace {self._name}: {len(self._operators)} operators>"


class Namespaces:
    """Every namespace: `dispatch.ops`."""

    def __init__(self) -> None:
        self._namespaces: dict[str, Namespace] = {}

    def __getattr__(self, name: str) -> Namespace:
        if name not in self._namespaces:
            known = sorted(self._namespaces)
            raise OperatorNotFoundError(
                f"there is no namespace {name!r}.{did_you_mean(name, known)} Namespaces: {', '.join(known)}. "
                "A namespace exists once an operator is defined in it: import the module that does."
            )
        self.__dict__[name] = self._namespaces[name]
        return self._namespaces[name]

    def __iter__(self) -> Iterator[OpOverload]:
        return (op for namespace in list(self._namespaces.values()) for op in namespace)

    def __dir__(self) -> list[str]:
        return sorted(self._namespaces)

    def __repr__(self) -> str:
        return f"<operators of {', '.join(sorted(self._namespaces))}>"


ops = Namespaces()
_owners: dict[str, tuple[str, str]] = {}  # full name -> (module, file:line) that defined it


def find(name: str) -> OpOverload:
    """The operator of a qualified name.

    Parameters
    ----------
    name : str
        `"ns::name"` or `"ns::name.overload"`.

    Raises
    ------
    OperatorNotFoundError
        With close matches, if there is none.
    """
    namespace, word, overload = split_name(name)
    found = getattr(getattr(ops, namespace), word)
    if isinstance(found, OpOverload) and found.schema.overload == overload:
        return found
    return getattr(found, overload or "default")  # type: ignore[no-any-return]


def known(name: str) -> OpOverload | None:
    """The operator of a qualified name, or None where there is none."""
    namespace, word, overload = split_name(name)
    operators = ops._namespaces[namespace]._operators if namespace in ops._namespaces else {}
    return operators[word]._overloads.get(overload) if word in operators else None


def add(op: OpOverload, module: str, place: str) -> OpOverload:
    """Make an operator known by its name; defined again by the same module it is replaced in place.

    Parameters
    ----------
    op : OpOverload
        Complete: nothing can fail after this.
    module, place : str
        Who defines it, and where, for the message to somebody else who does.

    Returns
    -------
    OpOverload
        `op`, or the older object of that name, which has become `op`, so that handles to it call the new definition.

    Raises
    ------
    DefinitionError
        If another module has defined the name.
    """
    schema = op.schema
    with registration_lock:
        owner = _owners.get(schema.full_name)
        if owner is not None and owner[0] != module:
            raise DefinitionError(
                f"{schema.full_name} is defined already, by {owner[0]} ({owner[1]}); {module} ({place}) defines it again. "
                "Take another name or another namespace.",
                operator=schema.full_name,
            )
        namespace = ops._namespaces.setdefault(schema.namespace, Namespace(schema.namespace))
        operator = namespace._operators.setdefault(schema.name, Operator(schema.qualname))
        _owners[schema.full_name] = (module, place)
        if schema.overload in operator._overloads:
            operator._overloads[schema.overload].redefine(op)
        else:
            operator._overloads[schema.overload] = op
            namespace.__dict__.pop(schema.name, None)
        return operator._overloads[schema.overload]


def alias(op: OpOverload, name: str) -> None:
    """Give an operator a second name in its namespace, as NumPy has `abs` for `absolute`.

    Parameters
    ----------
    op : OpOverload
    name : str
        Without the namespace. The operator keeps its own in messages and pickles.

    Raises
    ------
    DefinitionError
        If the name is taken by another operator.

    Examples
    --------
    >>> import dispatch
    >>> dispatch.ops.np.abs is dispatch.ops.np.absolute
    True
    """
    with registration_lock:
        namespace = getattr(ops, op.schema.namespace)
        if name in namespace._operators or namespace._aliases.get(name, op.schema.name) != op.schema.name:
            raise DefinitionError(
                f"{op.schema.namespace}::{name} is the name of another operator and cannot be one of {op.name} too.",
                operator=op.name,
            )
        namespace._aliases[name] = op.schema.name


def _load(name: str, module: str) -> OpOverload:
    """Find an operator in another process, where importing the module that defines it may make it known."""
    if module not in sys.modules:
        import_module(module)
    return find(name)


def _reduce(op: OpOverload) -> tuple[Any, tuple[str, str]]:
    return _load, (op.name, _owners[op.name][0])


copyreg.pickle(OpOverload, _reduce)  # pickled by name; deepcopy finds the same operator
