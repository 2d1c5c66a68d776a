"""Infers the schema of a Python function from its type hints, and compares a schema with a function.

The parameters of a plain function are read from its code object, which is ten times faster than `inspect.signature`; partials,
methods, callable objects and wrapped functions go through `inspect.signature`.
More than 350 lines, since both read parameters in one way.
"""

import inspect
import re
import types
from collections.abc import Callable, Iterable
from functools import cache, lru_cache
from itertools import zip_longest
from typing import Any, NamedTuple, NoReturn

import numpy as np

from ..core.source import innermost, where
from ..core.wrong_calls import holding
from ..errors import DefinitionError, HintError, SchemaError, check_function, close_matches, did_you_mean, kind_of, shown
from .defaults import accept, spell
from .dimensions import Places, Tree
from .hint_suggestions import ALLOWED, RESIDUAL_ALONE
from .hints import HintReader, word_of
from .schema import MISSING, Argument, Return, Schema
from .tags import Tag, check_tags, tag_set
from .types import NONE, RESIDUAL, STR, TENSOR, Alias, Base, OptionalOf, Type, split_name

_EMPTY: Any = inspect.Parameter.empty
_P = inspect.Parameter
_ONLY_POSITION, _EITHER, _ONLY_KEYWORD = int(_P.POSITIONAL_ONLY), int(_P.POSITIONAL_OR_KEYWORD), int(_P.KEYWORD_ONLY)
_ARGS, _KWARGS = int(_P.VAR_POSITIONAL), int(_P.VAR_KEYWORD)
WRITE_SCHEMA = 'Write the schema: schema="(Tensor x) -> Tensor".'
_NO_NOTES: dict[str, Any] = {}  # of a hint that is a type and no more
_MOST_SHARED = 512  # arguments that are kept for the next schema
_KINDS = {_ONLY_POSITION: "positional-only", _EITHER: "by position or keyword", _ONLY_KEYWORD: "keyword-only"}


class _Parameter(NamedTuple):
    name: str
    kind: int
    hint: object
    default: object


def _parameters(fn: Callable[..., Any], name: str) -> tuple[list[_Parameter], object]:
    """Read the parameters and the return hint of any callable."""
    if type(fn) is not types.FunctionType or hasattr(fn, "__wrapped__") or hasattr(fn, "__signature__"):  # its dict is not made
        try:
            signature = inspect.signature(fn)
        except (TypeError, ValueError):
            raise HintError(f"{name}: {where(fn)} has no signature to infer from. {WRITE_SCHEMA}", operator=name) from None
        found = [_Parameter(p.name, int(p.kind), p.annotation, p.default) for p in signature.parameters.values()]
        return found, signature.return_annotation
    code, hints = fn.__code__, fn.__annotations__
    names, first, either = code.co_varnames, code.co_posonlyargcount, code.co_argcount
    defaults, named = fn.__defaults__ or (), fn.__kwdefaults__ or {}
    padded = (_EMPTY,) * (either - len(defaults)) + defaults
    found = [
        _Parameter(word, _ONLY_POSITION if i < first else _EITHER, hints.get(word, _EMPTY), padded[i])
        for i, word in enumerate(names[:either])
    ]
    last = either + code.co_kwonlyargcount
    if code.co_flags & inspect.CO_VARARGS:
        found.append(_Parameter(names[last], _ARGS, _EMPTY, _EMPTY))
    for word in names[either:last]:
        found.append(_Parameter(word, _ONLY_KEYWORD, hints.get(word, _EMPTY), named.get(word, _EMPTY)))
    if code.co_flags & inspect.CO_VARKEYWORDS:
        found.append(_Parameter(names[last + bool(code.co_flags & inspect.CO_VARARGS)], _KWARGS, _EMPTY, _EMPTY))
    return found, hints.get("return", _EMPTY)


def infer(fn: Callable[..., Any], name: str, *, mutates_args: str | Iterable[str], tags: Tag | Iterable[Tag] = ()) -> Schema:
    """Return the schema of a function, from its type hints; `infer_schema` has the parameters.

    With `Tag.inplace`, `Tag.out` and `Tag.view` the return is an argument or a view of one, and the schema says so.
    """
    try:
        full_name = split_name(name)
    except SchemaError as error:
        raise DefinitionError(str(error), operator=name) from None
    parameters, result = _parameters(fn, name)
    promised = tag_set(tags, name)
    if not hasattr(innermost(fn), "__code__") and all(p.hint is _EMPTY for p in parameters) and result is _EMPTY:
        raise HintError(f"{name}: {where(fn)} has no type hints to infer from. {WRITE_SCHEMA}", operator=name)
    reader = HintReader(name, fn)
    read = [(parameter, *_read(reader, parameter)) for parameter in parameters]
    sets = _shared(name, read, mutates_args, view=Tag.view in promised)
    arguments = tuple([_argument(name, parameter, kind, sets.get(parameter.name), notes) for parameter, kind, notes in read])
    if result is _EMPTY:
        said = f"{name}: the return has no type hint. Hints allowed: {ALLOWED}, e.g. `-> np.ndarray`."
        raise HintError(f"{said} {reader.proposed_schema()}", operator=name)
    found = word_of(result)
    results, dtypes = reader.returns(result) if found is None or found is NONE else ((found,), (None,))
    if results == (RESIDUAL,) and not any(a.is_write for a in arguments):
        raise HintError(f"{name}: {RESIDUAL_ALONE}", operator=name)
    tree = _dimensions(reader) if found is None else None
    sizes = tree.members if isinstance(tree, Places) and len(results) > 1 else (tree,) * len(results)
    aliases: list[Alias | None] = [None] * len(results)
    if promised and not promised.isdisjoint((Tag.inplace, Tag.out, Tag.view)):
        shared = [a.alias for a in arguments if a.alias is not None]
        if Tag.view in promised:
            shared = shared[:1] * len(results)
        for i, (kind, alias) in enumerate(zip(results, shared, strict=False)):
            aliases[i] = alias if kind == TENSOR else None
    try:
        returns = tuple([_return(*one) for one in zip(results, aliases, sizes, dtypes, strict=True)])
        schema = Schema(*full_name, arguments, returns)
    except SchemaError as error:
        raise HintError(str(error), operator=name) from None
    check_tags(schema, promised)
    return schema


@holding("op_name")
def infer_schema(
    fn: Callable[..., Any], /, *, mutates_args: str | Iterable[str], op_name: str | None = None, tags: Tag | Iterable[Tag] = ()
) -> str:
    """Return the text of the schema of a function, from its type hints.

    Parameters
    ----------
    fn : callable
        The function. Each parameter and the return need a type hint.
    mutates_args : iterable of str, or "unknown"
        The names of the arrays that the function writes to; "unknown" means any of them.
    op_name : str, optional
        What the text begins with; nothing by default.
    tags : Tag or iterable of Tag
        With `Tag.inplace`, `Tag.out` or `Tag.view` the result is an argument or a view of one, and the schema says so.

    Returns
    -------
    str
        `"(arguments) -> returns"`, after the name if there is one.

    Raises
    ------
    HintError
        If a hint is missing, or no schema type belongs to it.
    DefinitionError
        If `mutates_args` names no argument that can be written to.

    Examples
    --------
    >>> import numpy as np
    >>> def fill(x: np.ndarray, value: float) -> None: ...
    >>> infer_schema(fill, mutates_args=("x",))
    '(Tensor(a0!) x, float value) -> ()'
    """
    check_function(fn, "infer_schema", call="(f, mutates_args=())")
    name = op_name or str(getattr(innermost(fn), "__name__", "operator"))
    stem = name if "::" in name else "inferred::" + name if name.isidentifier() else "inferred::operator"
    return (op_name or "") + infer(fn, stem, mutates_args=mutates_args, tags=tags).signature


def _read(reader: HintReader, parameter: _Parameter) -> tuple[Type, dict[str, Any]]:
    word, name = parameter.name, reader.operator
    if parameter.kind in (_ARGS, _KWARGS):
        stars = "*" if parameter.kind == _ARGS else "**"
        raise HintError(
            f"{name}: parameter '{stars}{word}' is any number of arguments, and an operator has a fixed number. "
            f"Name them, or take a {'list' if stars == '*' else 'dict[str, ...]'} of them.",
            operator=name,
            argument=word,
        )
    if parameter.hint is _EMPTY:
        said = f"{name}: parameter '{word}' has no type hint"
        if getattr(innermost(reader.function), "__name__", "") == "<lambda>":
            proposed = reader.proposed_schema().removeprefix("Or write ").removesuffix(" yourself.")
            raise HintError(f"{said}, and a lambda can have none. Write {proposed}.", operator=name, argument=word)
        said += f". Hints allowed: {ALLOWED}, e.g. `{word}: np.ndarray`."
        raise HintError(f"{said} {reader.proposed_schema()}", operator=name, argument=word)
    found = word_of(parameter.hint)
    if found is not None and found is not STR:  # which may be a device
        return found, _NO_NOTES
    kind = reader.argument(word, parameter.hint)
    dtype = reader.dtype
    dimensions = _dimensions(reader)
    if dtype is None and not reader.layout and not reader.numbers and dimensions is None and reader.bounds is None:
        return kind, _NO_NOTES
    notes = {"dtype": dtype, "layout": reader.layout, "numbers": reader.numbers, "dimensions": dimensions}
    return kind, {**notes, "bounds": reader.bounds}


def _dimensions(reader: HintReader) -> Tree:
    try:
        return reader.dimensions()
    except SchemaError as error:
        raise HintError(f"{reader.operator}: {error}", operator=reader.operator) from None


def _argument(name: str, parameter: _Parameter, kind: Type, alias: Alias | None, notes: dict[str, Any]) -> Argument:
    word, default = parameter.name, parameter.default
    if default is _EMPTY:
        default = MISSING
    try:
        how = parameter.kind
        if default is MISSING and alias is None and not notes and type(kind) is Base:
            return _plain_argument(word, kind, how)
        return Argument(word, kind, default, how == _ONLY_KEYWORD, how == _ONLY_POSITION, alias, **notes)
    except SchemaError as error:
        none = default is None and not isinstance(kind, OptionalOf)
        advice = f"\nWrite `{word}: ... | None = None` if it may be left out." if none else ""
        message = str(error).partition(" Write ")[0] if advice else str(error)
        if default is MISSING:
            advice = ""
        elif not none and kind.has_tensor:
            advice = f"\nWrite `{word}: ... | None = None`, and make the array in the function."
        elif not none and " Write " not in message:
            advice = f"\nGive it a default of that type, or hint `{word}: {type(default).__name__}`."
        raise HintError(f"{name}: {message}{advice}", operator=name, argument=word) from None


def _return(kind: Type, alias: Alias | None, size: Tree, dtype: np.dtype[Any] | None) -> Return:
    if alias is None and size is None and dtype is None and type(kind) is Base:
        return _plain_return(kind)
    return Return(kind, None, alias, size, dtype)


# Most arguments and results are a word of the schema and no more, and do not change: schemas share these, 200 bytes in each.


@lru_cache(_MOST_SHARED)
def _plain_argument(word: str, kind: Base, how: int) -> Argument:
    return Argument(word, kind, MISSING, how == _ONLY_KEYWORD, how == _ONLY_POSITION)


@cache
def _plain_return(kind: Base) -> Return:
    return Return(kind)


def _shared(
    name: str, read: list[tuple[_Parameter, Type, dict[str, Any]]], mutates_args: str | Iterable[str], *, view: bool
) -> dict[str, Alias]:
    """Return the alias of each argument that the function writes to, or returns a view of."""
    if not view and type(mutates_args) in (tuple, list) and not mutates_args:
        return {}
    kinds = {parameter.name: kind for parameter, kind, _ in read}
    arrays = [word for word, kind in kinds.items() if kind.has_tensor]
    if isinstance(mutates_args, str):
        if mutates_args != "unknown":
            words = [word for word in re.findall(r"\w+", mutates_args) if word in arrays] or close_matches(mutates_args, arrays)
            said = f"({', '.join(map(repr, words))}{',' * (len(words) == 1)})" if words else "('x',)"
            raise DefinitionError(
                f"{name}: mutates_args is a string, and would be read letter by letter. "
                f'Write mutates_args={said}, or "unknown" for any of the arrays.',
                operator=name,
            )
        written = arrays
    else:
        unsure = isinstance(mutates_args, dict) and any(value is False for value in mutates_args.values())
        names: Any = mutates_args
        if unsure or isinstance(names, bytes) or not isinstance(names, Iterable):
            raise DefinitionError(
                f"{name}: mutates_args is {kind_of(mutates_args)}. "
                "Write the names of the arrays that are written to, mutates_args=() for none.",
                operator=name,
            )
        written = list(mutates_args)
    word: Any
    for word in written:
        if not isinstance(word, str) or word not in kinds:
            near = did_you_mean(word, kinds) if isinstance(word, str) else ""
            known = near or f" Parameters: {', '.join(kinds)}."
            raise DefinitionError(f"{name}: mutates_args names {shown(word)}, which is no parameter.{known}", operator=name)
        if word not in arrays:
            raise DefinitionError(
                f"{name}: mutates_args names '{word}', which is {kinds[word]}. Only arrays can be written to.",
                operator=name,
                argument=word,
            )
    marks = dict.fromkeys(written, True)
    if view and not marks:
        marks = dict.fromkeys(arrays[:1], False)
    sets = {word: frozenset((f"a{i}",)) for i, word in enumerate(kinds) if word in marks}
    return {word: Alias(names, names, marks[word]) for word, names in sets.items()}


def compare(schema: Schema, fn: Callable[..., Any]) -> None:
    """Raise where a schema and the function that it describes differ in names, order, kinds or defaults.

    A function without a Python signature (a ufunc, a builtin) need only take as many arguments.
    """
    try:
        parameters, _ = _parameters(fn, schema.full_name)
    except HintError:
        return
    if not hasattr(innermost(fn), "__code__"):
        _compare_builtin(schema, fn)
        return
    for i, (argument, parameter) in enumerate(zip_longest(schema.arguments, parameters), 1):
        if difference := _difference(i, argument, parameter):
            _differ(schema, fn, parameters, difference)


def _compare_builtin(schema: Schema, fn: Callable[..., Any]) -> None:
    try:
        inspect.signature(fn).bind(*schema.positional, **{a.name: a for a in schema.kwarg_only})
    except TypeError as error:
        raise DefinitionError(
            f"{schema.full_name}: {where(fn)} cannot be called with the schema's arguments: {error}.\n"
            f"  schema:   {schema.signature}\n  function: {inspect.signature(fn)}",
            operator=schema.qualname,
        ) from None


def _difference(place: int, argument: Argument | None, parameter: _Parameter | None) -> str:
    if argument is None:
        assert parameter is not None
        return f"the function's '{parameter.name}' is not in the schema"
    if parameter is None:
        return f"the schema's '{argument.name}' is not in the function"
    if argument.name != parameter.name:
        return f"argument {place} is '{argument.name}' in the schema and '{parameter.name}' in the function"
    kind = _ONLY_KEYWORD if argument.kwarg_only else _ONLY_POSITION if argument.positional_only else _EITHER
    if kind != parameter.kind:
        found = _KINDS.get(parameter.kind, "any number of arguments")
        return f"'{argument.name}' is {_KINDS[kind]} in the schema and {found} in the function"
    if argument.has_default != (parameter.default is not _EMPTY):
        there, not_there = ("schema", "function") if argument.has_default else ("function", "schema")
        return f"'{argument.name}' has a default in the {there} and none in the {not_there}"
    if argument.has_default:
        try:
            same = spell(argument.type, accept(argument.type, parameter.default)) == spell(argument.type, argument.default)
        except SchemaError:
            same = False
        if not same:
            return f"'{argument.name}' has two defaults, one in the schema and another in the function"
    return ""


def _differ(schema: Schema, fn: Callable[..., Any], parameters: list[_Parameter], difference: str) -> NoReturn:
    words: list[str] = []
    for i, parameter in enumerate(parameters):
        before = parameters[i - 1].kind if i else _EITHER
        if before == _ONLY_POSITION != parameter.kind:
            words.append("/")
        if parameter.kind == _ONLY_KEYWORD and before not in (_ONLY_KEYWORD, _ARGS):
            words.append("*")
        stars = {_ARGS: "*", _KWARGS: "**"}.get(parameter.kind, "")
        words.append(stars + parameter.name + ("" if parameter.default is _EMPTY else "=..."))
    if parameters and parameters[-1].kind == _ONLY_POSITION:
        words.append("/")
    names = [argument.name for argument in schema.arguments]
    more = parameters[len(names) :]
    remedy = "Make them the same."
    alike = [p.name for p in parameters[: len(names)] if p.kind == _EITHER] == names
    if more and alike and all(p.default is not _EMPTY for p in more):
        taken, called = ", ".join(names), getattr(fn, "__name__", "f")  # a library's function, say, with options
        remedy = f"Make them the same; or give a function of these alone, lambda {taken}: {called}({taken})."
    raise DefinitionError(
        f"{schema.full_name}: {difference}.\n  schema:   {schema.signature}\n"
        f"  function: ({', '.join(words)}), {where(fn)}. {remedy}",
        operator=schema.qualname,
    )
