"""Finds the `out=` form of an operator: the overload that computes the same into given arrays."""

from ..core import OpOverload
from ..errors import DefinitionError
from ..schema.schema import Argument
from ..schema.tags import Tag
from ..schema.types import TENSOR
from .register import resolve
from .registry import ops


def get_out_arg_names(op: OpOverload | str) -> tuple[str, ...]:
    """Return the arguments that an out= operator writes its results to, in the order of the results.

    Examples
    --------
    >>> from dispatch.library import Library
    >>> with Library("docs_outs", "DEF") as lib:
    ...     name = lib.define("add.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)", tags=Tag.out)
    ...     get_out_arg_names("docs_outs::add.out")
    ('out',)
    """
    return tuple(resolve(op).schema.mutable_arguments)


def check_out_variant(op: OpOverload | str, out_op: OpOverload | str) -> None:
    """Raise if one operator is not the out= form of the other.

    Parameters
    ----------
    op : OpOverload or str
        It writes to nothing, and its results are fresh.
    out_op : OpOverload or str
        Tagged `Tag.out`.

    Raises
    ------
    DefinitionError
        With the first difference.
    """
    op, out_op = resolve(op), resolve(out_op)
    if not op.schema.is_functional:
        raise _not_functional(op)
    if fault := _difference(op, out_op):
        raise DefinitionError(f"{out_op.name} is no out= form of {op.name}: {fault}.\n  {op.schema}\n  {out_op.schema}")


def to_out_variant(op: OpOverload | str) -> OpOverload | None:
    """Return the out= form of an operator, or None.

    Parameters
    ----------
    op : OpOverload or str

    Raises
    ------
    DefinitionError
        If the operator writes to an argument or returns a view.
    """
    op = resolve(op)
    if not op.schema.is_functional:
        raise _not_functional(op)
    found = [
        other
        for other in getattr(ops, op.schema.namespace)
        if other.schema.qualname == op.schema.qualname and not _difference(op, other)
    ]
    return found[0] if found else None


def _not_functional(op: OpOverload) -> DefinitionError:
    said = f"{op.name} writes to an argument, returns a view or returns nothing, so that it has no out= form."
    return DefinitionError(said, operator=op.name)


def _difference(op: OpOverload, out_op: OpOverload) -> str:
    if Tag.out not in out_op.tags:
        return "it is not tagged Tag.out"
    kept: list[Argument] = [a for a in out_op.schema.arguments if not a.is_write]
    if tuple(map(str, kept)) != tuple(map(str, op.schema.arguments)):
        return "beside what it writes, its arguments are others"
    written = [a for a in out_op.schema.arguments if a.is_write]
    if len(written) != len(op.schema.returns) or any(r.type != TENSOR for r in op.schema.returns):
        return f"it writes {len(written)} arrays, and the results are ({', '.join(str(r.type) for r in op.schema.returns)})"
    return ""
