"""Functions of another framework as operators: what `wrap` does for each of them.

The user gets a function that takes the arrays out of its arguments and calls an operator, from a list of arrays to a list of
arrays. The module of the framework makes that operator: its kernel runs the user's function, and it has the rules.
"""

from collections.abc import Callable
from inspect import Parameter, signature
from typing import Any, NamedTuple

import numpy as np

from ..core import DispatchKey, OpOverload
from ..core.pytree import mapped
from ..core.source import where
from ..errors import DefinitionError, kind_of
from ..operators.define import define
from ..operators.namespaces import Operator
from ..operators.registry import build, find
from ..schema.schema import Schema
from .derived_operators import is_array
from .places import Place, apart, put

Run = Callable[[list[Any]], list[Any]]
KEPT = 64  # operators of one function, one for each combination of arguments that are no arrays; then it begins anew


class Framework(NamedTuple):
    """What differs from framework to framework.

    Attributes
    ----------
    word : str
        Its name, for messages and for operators without a name.
    is_array : callable
        Whether a leaf of a function's result is one of its arrays.
    called : callable
        The function that has the parameters, of what the user gave.
    flat_operator : callable
        `flat_operator(name, run, fn)`: the operator of a function from a list of its arrays to a list of its arrays.
    """

    word: str
    is_array: Callable[[Any], bool]
    called: Callable[[Any], Any]
    flat_operator: Callable[[str, Run, Any], OpOverload]


def wrapped(fn: Callable[..., Any], name: str | None, schema: str | None, framework: Framework) -> OpOverload:
    """The operator of a function."""
    if isinstance(fn, (OpOverload, Operator)):
        raise DefinitionError(
            f"wrap makes an operator of a {framework.word} function, and {fn.name} is one already. Call it on {framework.word} "
            f"values as it is, or write dispatch.interop.{framework.word.lower()}.export(op)."
        )
    if not callable(fn):
        raise DefinitionError(
            f"wrap takes a {framework.word} function, and was given {kind_of(fn)}. Write wrap(f), "
            "or wrap(f, 'mylib::f') with a name."
        )
    if isinstance(fn, type):
        said = f"wrap takes a {framework.word} function, and was given a class"
        raise DefinitionError(f"{said}. Make one: wrap({fn.__name__}(...)).")
    if isinstance(fn, np.ufunc) or getattr(fn, "__module__", None) in ("numpy", "numpy.linalg", "numpy.fft"):
        raise DefinitionError(
            f"wrap takes a {framework.word} function, and {word_of(fn)} is NumPy's, which takes arrays as it is. "
            "Call it, or make an operator of a function that does: custom_op('mylib::f', f, mutates_args=())."
        )
    text = schema if schema is not None else _schema_of(fn, framework)
    if schema is not None:
        _check_takes(fn, Schema.parse(schema, name="wrap::f"), framework)
    if name is None:
        op = build(Schema.parse(text, name=f"{framework.word.lower()}::{word_of(fn)}"))
    else:
        define(name, text)
        op = find(name)
    if op.schema.is_mutable or op.schema.is_view or op.schema.has_residual:
        raise DefinitionError(
            f"{op.name}: wrap makes operators that write to nothing and return fresh arrays, and the schema says {op.schema}.",
            operator=op.name,
        )
    op.register_at(DispatchKey.CompositeImplicit, Function(op, fn, framework))
    return op


def _check_takes(fn: Any, schema: Schema, framework: Framework) -> None:
    """Raise where a function does not take the arguments that a schema names."""
    called = framework.called(fn)
    try:
        found = signature(called)
    except (TypeError, ValueError):  # a builtin, which tells nothing
        return
    names = [a.name for a in schema.arguments if not a.kwarg_only]
    try:
        found.bind(*names, **{a.name: a for a in schema.arguments if a.kwarg_only})
    except TypeError:
        raise DefinitionError(
            f"wrap: {word_of(fn)}, {where(called)}, takes {found}, and the schema has "
            f"({', '.join(a.name for a in schema.arguments)}). Name as many arguments as the function takes."
        ) from None


def _schema_of(fn: Any, framework: Framework) -> str:
    """A schema of arrays, by the parameters of a function."""
    called = framework.called(fn)
    try:
        parameters = list(signature(called).parameters.values())
    except (TypeError, ValueError):
        said = f"wrap: {word_of(fn)} does not say its parameters. Give schema='(Tensor x) -> Tensor'."
        raise DefinitionError(said) from None
    names = [p.name for p in parameters if p.default is Parameter.empty]
    plain = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    if any(p.kind not in plain for p in parameters if p.name in names):
        raise DefinitionError(
            f"wrap: {word_of(fn)}, {where(called)}, takes {signature(called)}, in which not every parameter is one tensor. "
            "Give schema='(Tensor x) -> Tensor'."
        )
    return f"({', '.join(f'Tensor {name}' for name in names)}) -> Tensor"


def word_of(fn: Any) -> str:
    """The name of a function, as an operator can have it."""
    word = getattr(fn, "__name__", type(fn).__name__)
    return word if word.isidentifier() else "function"


class Function:
    """The kernel of a wrapped function: arrays out of the arguments, and results around arrays."""

    def __init__(self, op: OpOverload, fn: Callable[..., Any], framework: Framework) -> None:
        self.name = op.name
        self.fn = fn
        self.framework = framework
        self.takes = [a.type.has_tensor for a in op.schema.arguments]
        self.keywords = op.arguments.keyword_names
        self.made: dict[Any, tuple[OpOverload, list[Any]]] = {}

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        given = [*args, *[keywords[name] for name in self.keywords if name in keywords]]
        arrays: list[Any] = []
        shape = [apart(x, arrays, is_array) if takes else x for x, takes in zip(given, self.takes, strict=True)]
        op, out = self._operator(shape)
        found = op(arrays)
        return put(out[0], found)

    def of_framework(self, args: Any) -> Any:
        """Call the function itself, with its own arrays, in the order of the schema."""
        positional = len(args) - len(self.keywords)
        return self.fn(*args[:positional], **dict(zip(self.keywords, args[positional:], strict=True)))

    def _operator(self, given: list[Any]) -> tuple[OpOverload, list[Any]]:
        """The operator for these arguments, and where it puts what its results stand in."""
        key = repr(mapped(lambda x: ("tensor", x.number) if type(x) is Place else (type(x), x), given))
        if key not in self.made:
            if len(self.made) >= KEPT:
                self.made.clear()
            out: list[Any] = [None]

            def run(arrays: list[Any]) -> list[Any]:
                flat: list[Any] = []
                out[0] = apart(self.of_framework([put(x, arrays) for x in given]), flat, self.framework.is_array)
                return flat

            self.made[key] = self.framework.flat_operator(f"{self.name}_flat", run, self.fn), out
        return self.made[key]
