"""Defines the operators that a compiled graph calls beside those that the function calls."""

from collections.abc import Callable
from typing import Any

from ..core import DispatchKey, OpOverload
from ..operators.registry import add, build, note_own_rules
from ..schema.schema import Schema
from ..schema.tags import Tag


def define(text: str, kernel: Callable[..., Any], fake: Callable[..., Any], *tags: Tag) -> OpOverload:
    """Return an operator with a kernel for arrays and a shape rule.

    Parameters
    ----------
    text : str
        Its schema, with its namespace.
    kernel, fake : callable
    *tags : Tag

    Returns
    -------
    OpOverload
    """
    schema = Schema.parse(text)
    op = build(schema, tags)
    vars(op).update(__name__=schema.name, __qualname__=schema.name)
    op.register_at(DispatchKey.CPU, kernel)
    op.register_fake(fake)
    note_own_rules(op)
    return add(op, __name__, schema.full_name)
