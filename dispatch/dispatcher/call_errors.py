"""Explains a refused call: binds it again in Python, finds the first thing that is wrong, and makes the exception.

The compiled checks of `core.arguments` and `core.outputs` answer yes or no, and ask here only after a no.
More than 350 lines: each way in which a call is wrong has its words.
`tests/dispatcher/test_call_errors.py` holds both to the same answers. What is judged is the definition that the call was
held to, not the operator, which another thread may have defined anew.
"""

from collections.abc import Iterator, Mapping, Set
from enum import EnumMeta
from typing import Any

import numpy as np

from ..core import (
    Check,
    Definition,
    DispatchKey,
    OpOverload,
    Tensor,
    about_devices,
    check_open,
    device_of,
    device_of_key,
    devices,
    is_beside_numpy,
    share_memory,
)
from ..core.closures import variables_of
from ..core.others_words import note_words
from ..core.pytree import items_of, leaves, steps
from ..core.source import where
from ..errors import (
    AliasError,
    ArgumentError,
    DefinitionError,
    DeviceMismatchError,
    DispatchError,
    EscapedValueError,
    OutputError,
    close_matches,
    did_you_mean,
    how_many,
)
from ..schema.schema import Argument, Return
from ..schema.types import (
    BOOL,
    BYTES,
    CALLABLE,
    COMPLEX,
    DEVICE,
    FLOAT,
    GENERATOR,
    INT,
    SCALAR_TYPE,
    STR,
    TENSOR,
    ClassType,
    DictOf,
    ListOf,
    LiteralOf,
    OptionalOf,
    TupleOf,
    Type,
    UnionOf,
)  # fmt: skip
from .conversion_advice import advice, advice_for, line_for, number_advice, other_hint
from .printing import brief, describe_value

# The attribute of an operator that says which of its arguments are indices: NumPy's arrays there go with arrays of any device.
INDICES = "index_arguments"
NUMPY = "np"  # the namespace of NumPy's functions, whose parameters no user can hint otherwise
INDEX_KINDS = "biu"  # of dtypes
NUMBERS_AND_TEXT = (INT, FLOAT, COMPLEX, BOOL, STR, BYTES)
DTYPES = "?bhilqBHILQefdgFDG"


def refused(definition: Definition, args: tuple[Any, ...], keywords: Mapping[str, Any]) -> DispatchError:
    """The exception for a call that the core refused."""
    found = misfit(definition, args, keywords)
    if found is not None:
        return found
    values = [*args, *keywords.values()]
    if len({device_of(x) for x in leaves(values)} - {None}) > 1:
        return _two_devices(definition, values)
    return ArgumentError(
        f"{definition.name}: a check refused the call, and passed when it was asked again for the reason. "
        "An argument changed meanwhile, or its class answers isinstance() or == now one way, now the other.",
        operator=definition.name,
    )


def _is_sample(given: Any) -> bool:
    """Whether a tuple is a `dispatch.testing.Sample`, or its fields."""
    fields = getattr(type(given), "_fields", None)
    apart = type(given) is tuple and len(given) == 5 and type(given[0]) is tuple and type(given[1]) is dict
    return apart or fields == ("args", "kwargs", "what", "fixed", "gradients")


# What NumPy's functions and ufuncs take beside arrays, and what stands for it.
NUMPY_OPTIONS = {
    "axis": "np.moveaxis(x, axis, -1) for the argument: a kernel works along axes of its own, mostly the last",
    "dtype": "{call}.astype(dtype)", "keepdims": "np.expand_dims({call}, axis)",
    "where": "np.where(condition, {call}, other)",
}  # fmt: skip


def _in_place_of(name: str, definition: Definition) -> str:
    """What to write for a keyword that an operator does not have, with its leading space."""
    names, called = definition.arguments.names, definition.schema.name
    if name == "requires_grad":
        return f" Write dispatch.tensor({called}(...), requires_grad=True)."
    if name in NUMPY_OPTIONS and name not in names:
        return f" Write {NUMPY_OPTIONS[name].format(call=f'{called}(...)')}."
    if (near := did_you_mean(name, names)) or name != "out" or len(definition.schema.returns) != 1:
        return near
    return f" Write out[...] = {called}({', '.join(names)})."


def misfit(definition: Definition, args: tuple[Any, ...], keywords: Mapping[str, Any]) -> DispatchError | None:
    """What keeps a call from fitting the operator's schema, or None."""
    arguments, operator = definition.arguments, definition.name
    names, count, positional = arguments.names, arguments.count, arguments.positional
    call = f"{operator}({', '.join(names)})"
    if len(args) == 2 and type(args[0]) is tuple and type(args[1]) is dict and not keywords:
        return ArgumentError(f"{call} was given a tuple and a dict. Where they are its arguments write op(*args, **kwargs).")
    if len(args) > positional:
        if positional == count:
            whole = " They are the fields of a Sample: write f(*sample.args, **sample.kwargs)." if _is_sample(args) else ""
            if positional == 1 and isinstance(definition.schema.arguments[0].type, ListOf):
                whole = f" {names[0]!r} is a list: write {definition.schema.name}([...]), with all of them in it."
            return ArgumentError(f"{call} takes {positional} and was given {len(args)}.{whole}", operator=operator)
        call = f"{operator}({', '.join([*names[:positional], '*', *names[positional:]])})"
        given = f"{call} takes {positional} by position and was given {len(args)}"
        return ArgumentError(f"{given}. Name the others: {names[positional]}=...", operator=operator)
    bound = dict(zip(names, args, strict=False))
    for name, value in keywords.items():
        if name not in names:
            return ArgumentError(f"{call} has no argument {name!r}.{_in_place_of(name, definition)}", operator=operator)
        if names.index(name) < arguments.positional_only:
            return ArgumentError(f"{call}: {name!r} is given by position only, and was given by keyword.", operator=operator)
        if name in bound:
            return ArgumentError(f"{call}: {name!r} was given twice, by position and by keyword.", operator=operator)
        bound[name] = value
    missing = [name for name, default in zip(names, arguments.defaults, strict=True) if name not in bound and not default]
    if missing:
        return ArgumentError(f"{call}: {', '.join(map(repr, missing))} must be given.", operator=operator, argument=missing[0])
    for x in leaves(list(bound.values())):
        if isinstance(x, Tensor):
            try:
                check_open(x)
            except EscapedValueError as error:
                return error
    for i, name in enumerate(names):
        if name in bound and not arguments.checks[i](bound[name]):
            return _swapped(definition, i, bound) or _refused_value(definition, definition.schema.arguments[i], bound[name])
    return None


def _swapped(definition: Definition, i: int, bound: dict[str, Any]) -> ArgumentError | None:
    """What is said of two arguments that each fit the other's place alone; None where there are none."""
    names, checks = definition.arguments.names, definition.arguments.checks
    for k in range(i + 1, len(names)):
        x, y = bound.get(names[i]), bound.get(names[k])
        if names[k] in bound and not checks[k](y) and checks[i](y) and checks[k](x):
            return ArgumentError(
                f"{definition.name}: argument {names[i]!r} was given {describe_value(x)}, and {names[k]!r} "
                f"{describe_value(y)}. They stand in each other's place: write {definition.schema.name}({', '.join(names)}).",
                operator=definition.name,
                argument=names[i],
            )
    return None


def _of_numpy(value: Tensor, listed: object) -> str:
    """What to write where a function of NumPy asks for a number, and was given a value of a transform."""
    if type(value).key == DispatchKey.VMAP:
        return " Each item of the batch has its own, and all take one: give a number, or in_dims=None for it"
    return f" Write {'x.tolist()' if listed else 'x.item()'} where its value is meant"


def _refused_value(definition: Definition, argument: Argument, value: Any) -> DispatchError:
    asked = "np.ndarray | number" if argument.numbers else str(argument.type)
    said = f"{definition.name}: argument {argument.name!r} is {asked}, and was given {describe_value(value)}."
    remedy = ""
    if argument.is_write and isinstance(value, Tensor) and value.read_only:
        return ArgumentError(
            f"{definition.name}: argument {argument.name!r} is written to, and was given {describe_value(value)} that is "
            "read-only: the gradient that a backward is given others hold too, and x.imag of real numbers is nowhere. Write to "
            "a copy, g.copy().",
            operator=definition.name,
            argument=argument.name,
        )
    if isinstance(value, Tensor):
        if argument.type.has_tensor:
            remedy = _about_parts(definition, argument, value) or ""
        else:
            kind = argument.type.element if isinstance(argument.type, OptionalOf) else argument.type
            listed = value.shape and any(isinstance(part, ListOf) for part in (kind, *kind.parts))
            if definition.schema.namespace == NUMPY:
                said = f"{said}{_of_numpy(value, listed)}; arrays that belong together are a list, [x, y]."
                return ArgumentError(said, operator=definition.name, argument=argument.name)
            what, hint = ("a list of numbers", "`.") if listed else ("a number", " | float`, so that it takes both.")
            remedy = (
                f" A {type(value).__name__} cannot become {what} without losing what it tracks: "
                f"hint the parameter `{argument.name}: np.ndarray{hint}"
            )
    elif argument.type.has_tensor and (line := _converted(argument, value)):
        remedy = line
    elif argument.dtype is not None and hasattr(value, "dtype"):
        said = (
            f"{definition.name}: argument {argument.name!r} is an array of {argument.dtype} in native byte order, "
            f"and was given {describe_value(value)}."
        )
        remedy = f" Nothing is cast behind your back: write {argument.name}.astype({argument.dtype.name!r})."
    elif argument.is_write and isinstance(value, (np.ndarray, np.generic)):
        return ArgumentError(
            f"{definition.name}: argument {argument.name!r} is written to, and was given {_read_only(value)}. "
            f"Pass an array that can be written to, {argument.name}.copy() say, and look there for the result.",
            operator=definition.name,
            argument=argument.name,
        )
    elif isinstance(value, str) and argument.type in (DEVICE, OptionalOf(DEVICE)):
        near = did_you_mean(value, devices())
        return ArgumentError(
            f"{definition.name}: there is no device {value!r}.{near}{about_devices(str(value), near)}",
            operator=definition.name,
            argument=argument.name,
        )
    elif (found := _about_parts(definition, argument, value)) is not None:
        remedy = found
    elif _is_sample(value):
        remedy = " Write f(*sample.args, **sample.kwargs)."
    elif argument.type.has_tensor and isinstance(value, (list, tuple)):
        ours = any(isinstance(x, Tensor) for x in leaves(value))
        made = f"{argument.name} = np.asarray({argument.name})"
        remedy = f" It is written to: make an array first, {made}, pass that, and look there for the result."
        remedy = remedy if argument.is_write else f" Write np.{'stack' if ours else 'asarray'}(...) around it."
    elif argument.type.has_tensor and value is None:
        remedy = " Hint it `np.ndarray | None` if it may be left out."
    elif argument.type.has_tensor and isinstance(value, (int, float, complex)):
        remedy = " Write np.asarray(...) around it, or hint it `np.ndarray | float`."
    elif argument.type.has_tensor:
        remedy = advice_for(value, argument.name, hinted=not argument.numbers)
    else:
        remedy = _about_plain(argument, value)
    return ArgumentError(said + remedy, operator=definition.name, argument=argument.name)


def kind_of_type(kind: Type) -> str:
    """Say a type of numbers or text with its article: `an int`."""
    return f"{'an' if str(kind)[0] in 'aeiou' else 'a'} {kind}"


def _in_words(kind: Type) -> str:
    """Say a member of a union with its article: `an array`, `a list of float`."""
    if kind == TENSOR:
        return "an array"
    if isinstance(kind, ListOf):
        return f"a list of {'arrays' if kind.has_tensor else kind.element}"
    return kind_of_type(kind)


def _about_plain(argument: Argument, value: Any) -> str:
    """What to write where a number, text, a dtype, a function or an instance is asked for."""
    kind: Type = argument.type.element if isinstance(argument.type, OptionalOf) else argument.type
    name = argument.name
    if kind == SCALAR_TYPE and isinstance(value, str):
        names = ["int", "float", "complex", *(np.dtype(char).name for char in DTYPES)]
        return f" No dtype has this name.{did_you_mean(value, names) or ' Write np.float64, say.'}"
    if kind == SCALAR_TYPE:
        return " A dtype is np.float64, say, or x.dtype."
    if kind == CALLABLE:
        return f" Give the function itself{'' if isinstance(value, str) else ', not what it returns'}."
    if isinstance(kind, ClassType):
        cls: Any = kind.cls
        if isinstance(value, str) and isinstance(cls, EnumMeta):
            known = list(cls.__members__)
            meant = [value] if value in known else close_matches(value, known) or known
            return f" Write {cls.__name__}.{meant[0]}."
        members: dict[str, Any] = dict(getattr(cls, "__members__", ())) if isinstance(cls, EnumMeta) else {}
        values = [x.value for x in members.values()]
        if any(type(value) is type(x) and value == x for x in values):
            return f" Write {cls.__name__}({name})."
        if kind == GENERATOR:  # which the schema names as torch does, and torch has one of its own
            return f" Write np.random.default_rng({name if isinstance(value, (int, np.integer)) else 'seed'})."
        return f" Give an instance of {kind}."
    if kind not in NUMBERS_AND_TEXT:
        return ""
    write, hint = number_advice(str(kind), value, name), other_hint(str(kind), value, name)
    if write:
        return f"{write}, or {hint}" if hint else f"{write}."
    return f" {hint[0].upper()}{hint[1:]}" if hint else f" Give {kind_of_type(kind)}."


def _converted(argument: Argument, value: Any) -> str:
    """What a message says of a table, a column or a sparse matrix: the line that makes an array of it."""
    line = line_for(value, argument.name)
    kind = argument.type.element if isinstance(argument.type, OptionalOf) else argument.type
    if line is not None and isinstance(kind, DictOf) and hasattr(value, "items"):
        return f" Write {{name: {line_for(value, 'column')} for name, column in {argument.name}.items()}}."
    return "" if line is None else f" Write [{line}]." if isinstance(kind, ListOf) else f" Write {line}."


def _read_only(value: Any) -> str:
    said = describe_value(value)
    return said if isinstance(value, np.generic) else said.replace("an ndarray", "a read-only ndarray")


def read_only_view(name: str, shape: Any, base: Any) -> ArgumentError:
    """What is said of a write to a view that an operator made of an array of the shape `base`, and that is read-only."""
    return ArgumentError(
        f"a write was asked of a view of shape {shape} that {name} made of an array of shape {base}, and that view is "
        "read-only. Write to the array itself, or to a copy, y = np.array(view).",
        operator=name,
    )


def _about_parts(definition: Definition, argument: Argument, value: Any) -> str | None:
    """What keeps a value from being the container or the choice that is asked for; None for a type without parts."""
    check: Check = definition.arguments.checks[definition.arguments.names.index(argument.name)]
    kind: Type = argument.type.element if isinstance(argument.type, OptionalOf) else argument.type
    return _about_part(argument, kind, check, value)


def _about_choice(kind: LiteralOf, value: Any) -> str:
    near = did_you_mean(value, [x for x in kind.choices if isinstance(x, str)]) if isinstance(value, str) else ""
    return near or ("" if items_of(value) is not None else f" Give {' or '.join(map(repr, kind.choices))}.")


def _about_part(argument: Argument, kind: Type, check: Check, value: Any) -> str | None:
    if isinstance(kind, LiteralOf):
        return _about_choice(kind, value)
    if isinstance(kind, UnionOf):
        found = [_about_part(argument, k, c, value) for k, c in zip(kind.members, check.members, strict=True)]
        return next(filter(None, found), "") or f" Give {' or '.join(map(_in_words, kind.members))}."
    items = items_of(value)
    if isinstance(kind, ListOf):
        if not isinstance(value, (list, tuple)):
            return _about_list(argument, kind, check, value)
        if kind.size not in (None, len(value)):
            return f" Give {kind.size}."
        checks = [check.element] * len(value)
    elif isinstance(kind, DictOf):
        if not isinstance(value, dict):
            return " Give a dict."
        if wrong := [key for key in value if not check.members[0](key)]:
            return f" A key is {describe_value(wrong[0])}."
        checks = [check.element] * len(value)
    elif isinstance(kind, TupleOf) or (isinstance(kind, ClassType) and kind.fields):
        if not isinstance(value, check.cls):
            return _of_another_class(argument, kind, check, value)
        if items is None or len(items) != len(check.members):
            subclass = f" A subclass of {kind} has fields of its own: hint the parameter with it."
            return subclass if isinstance(kind, ClassType) else ""
        checks = list(check.members)
    else:
        return None
    for i, (step, item, part) in enumerate(zip(steps(value), items or (), checks, strict=False)):
        if part is not None and not part(item):
            read_only = argument.is_write and isinstance(item, np.ndarray) and not item.flags.writeable
            given = _read_only(item) if read_only else describe_value(item)
            if not isinstance(kind, ClassType):
                inner = kind.parts[i if isinstance(kind, TupleOf) else -1]
                return f" Item {step[1:-1]} is {given}.{_about_item(inner, item, argument.name + step)}"
            field = kind.fields[i]
            asked = f"{field.type}{f' of {field.dtype}' if field.dtype else ''}"
            remedy = _about_item(field.type, item, argument.name + step)
            return f" Its field {field.name!r} is {asked}, and holds {given}.{remedy}"
    return ""


def _of_another_class(argument: Argument, kind: Type, check: Check, value: Any) -> str:
    if isinstance(kind, ClassType):
        made = f" Write {check.cls.__name__}(**{argument.name})." if isinstance(value, dict) else ""
        return made or f" Give an instance of {kind}."
    return " Write tuple(...) around it." if isinstance(value, list) else f" Give a tuple of {len(kind.parts)}."


def _about_item(kind: Type, item: Any, name: str) -> str:
    """What to write where a container or a record holds something that is no array."""
    if kind == TENSOR and item is None:
        return " Leave it out, or hint the items `np.ndarray | None`."
    if kind == TENSOR and not isinstance(item, np.ndarray):
        return advice_for(item, name, hinted=False)
    if kind in NUMBERS_AND_TEXT and isinstance(item, Tensor):
        lost = f"A {type(item).__name__} cannot become a number without losing what it tracks"
        return f" {lost}: hint the items `np.ndarray | float`, which takes both."
    if kind in NUMBERS_AND_TEXT:
        return f"{number_advice(str(kind), item, name) or f' Give {kind_of_type(kind)}'}."
    return advice(item, name)


def _about_list(argument: Argument, kind: ListOf, check: Check, value: Any) -> str:
    """What a message says of a value that is no list, where one is asked for."""
    if check.element is not None and check.element(value):
        rows = kind.element == TENSOR and len(getattr(value, "shape", ())) > 1
        return f" Write a list around it{f', or list({argument.name}) of its rows' * rows}."
    if isinstance(value, np.ndarray) and value.ndim and not kind.has_tensor:
        return f" Write {argument.name}.tolist(), or hint the parameter `{argument.name}: np.ndarray`."
    if isinstance(value, dict):
        return f" Write list({argument.name}.values())."
    if isinstance(value, (Set, Iterator)):
        return f" Write list({argument.name})."
    one = f"{kind_of_type(kind.element)}, or " * (kind.size is not None)  # which stands for a list of it
    return f" Give {one}a list of {'arrays' if kind.has_tensor else kind.element}." if value is not None else ""


def _two_devices(definition: Definition, values: list[Any]) -> DispatchError:
    listed = ", ".join(f"{brief(x)} on {device_of(x)}" for x in leaves(values) if device_of(x) is not None)
    return DeviceMismatchError(
        f"{definition.name}: the arrays of one call live on one device, and these do not: {listed}. Move them together first.",
        operator=definition.name,
    )


def on_device(op: OpOverload, place: int, x: Any, key: int) -> bool:
    """Whether every array in an argument may stand in a call of the backend of `key`.

    These are its own, 0-d ones of the CPU, and, in an argument that says which elements are meant, NumPy's of integers and
    truth values: an index says where, and need not be where the elements are.
    """
    own = device_of_key(key)
    places = place in vars(op).get(INDICES, ())
    for array in leaves(x):
        device = device_of(array)
        if device in (None, own) or (device == "cpu" and (np.ndim(array) == 0 or is_beside_numpy(own))):
            continue
        if not (places and device == "cpu" and array.dtype.kind in INDEX_KINDS):
            return False
    return True


def refused_output(definition: Definition, args: tuple[Any, ...], result: Any) -> DispatchError:
    """The exception for what a kernel gave back and the core refused."""
    kernel = _kernel(definition)
    schema_returns = definition.schema.returns
    total = len(schema_returns)
    operator = definition.name
    said = f"{operator}: the {kernel} returned"
    if total == 0:
        said = f"{said} {describe_value(result)}, and its schema says -> (). Return None, or hint the result."
        return OutputError(said, operator=operator)
    outputs = [result]
    if total > 1:
        if not isinstance(result, (tuple, list)) or len(result) != total:
            got = how_many(len(result), "output") if isinstance(result, (tuple, list)) else describe_value(result)
            return OutputError(f"{said} {got}, and its schema says {total}: return a tuple of {total}.", operator=operator)
        outputs = list(result)
    for i, (check, output) in enumerate(zip(definition.outputs.checks, outputs, strict=False)):
        if not check(output):
            which = f" as output {i}" if total > 1 else ""
            wanted = schema_returns[i]
            meaning = ", an array of NumPy's" if wanted.type == TENSOR and type(output).__name__ == "Tensor" else ""
            return OutputError(
                f"{said} {describe_value(output)}{which}, and its schema says {wanted.wanted}{meaning}."
                f"{about_dtype(wanted, output) or _as_wanted(wanted, output)}",
                operator=operator,
            )
    for i, argument in enumerate(definition.outputs.returned):
        if argument >= 0 and outputs[i] is not args[argument]:
            name = definition.arguments.names[argument]
            return OutputError(
                f"{said} another array as output {i}, and its schema says that it is argument {name!r} itself. "
                f"Write to {name} and return it.",
                operator=operator,
                argument=name,
            )
    return _aliased_output(definition, said, args, outputs)


def _as_wanted(result: Return, output: Any) -> str:
    """What to write where a kernel returned numbers, a table or nothing in place of an array, or an array for a number."""
    if result.type == ListOf(TENSOR) and isinstance(output, (list, tuple)):
        i, item = next((i, x) for i, x in enumerate(output) if not isinstance(x, (np.ndarray, np.generic, Tensor)))
        return f" Item {i} is {describe_value(item)}.{_returned(advice_for(item, f'result[{i}]', hinted=False))}"
    if result.type != TENSOR:
        plain = result.type in NUMBERS_AND_TEXT and output is not None
        if plain and (found := number_advice(str(result.type), output, "result")):
            return _returned(f"{found}.")
        if result.type == STR and isinstance(output, (int, float, complex, np.generic)):
            return " Return str(result)."
        return _inside(result.type, output)
    if line := line_for(output, "result"):
        return f" Return {line}."
    if isinstance(output, tuple) and len(output) > 1 and all(isinstance(x, (np.ndarray, np.generic, Tensor)) for x in output):
        several = ", ".join(["np.ndarray"] * len(output)), ", ".join(["Tensor"] * len(output))
        return f" Hint the results, -> tuple[{several[0]}]; or say them in schema=, -> ({several[1]})."
    if output is None and result.alias is not None:
        return " Return the argument that it writes to."
    if output is None:
        return " Add the return statement; or, if it writes its result into an argument, name that in mutates_args, -> None."
    if isinstance(output, tuple) and any(isinstance(x, np.ndarray) for x in output):  # a result, and a status or a count
        items = ["np.ndarray" if isinstance(x, np.ndarray) else type(x).__name__ for x in output]
        return f" Return the array alone; or hint the results, -> tuple[{', '.join(items)}]."
    numbers = isinstance(output, (int, float, complex, list, tuple))
    plain = numbers and all(isinstance(x, (int, float, complex)) for x in leaves(output))
    return " Return np.asarray(result)." if plain else "" if numbers else _returned(advice_for(output, "result", hinted=False))


def _inside(kind: Type, output: Any) -> str:
    """What to return where a kernel returned another container than its schema says, or one with another item in it."""
    if isinstance(kind, OptionalOf):
        return _inside(kind.element, output) if kind.element != TENSOR else " Return np.asarray(result), or None."
    if isinstance(kind, ListOf):
        return " Return a list of arrays: list(result)." if kind.element == TENSOR else f" Return a list of {kind.element}."
    if isinstance(kind, DictOf):
        if not isinstance(output, dict):
            return f" Return a dict of {kind.value} by {kind.key}."
        for key, value in output.items():
            if not isinstance(key, str if str(kind.key) == "str" else int):
                return f" A key of it is {describe_value(key)}, and keys are {kind.key}."
            if kind.value == TENSOR and not isinstance(value, (np.ndarray, np.generic, Tensor)):
                line = _returned(advice_for(value, f"result[{key!r}]", hinted=False))
                return f" Its item {key!r} is {describe_value(value)}.{line}"
        return ""
    if isinstance(kind, ClassType):
        word = str(kind).rpartition(".")[2]
        if type(output).__name__ != word:
            return f" Return {word}(**result)." if isinstance(output, dict) else f" Return an instance of {word}."
        for field, value in vars(output).items() if hasattr(output, "__dict__") else ():
            if isinstance(value, (list, tuple)):
                return f" Its field {field!r} is {describe_value(value)}. Write np.asarray(...) around it."
        return f" A field of it holds another type than {word} says."
    if kind in (FLOAT, INT, COMPLEX, BOOL) and isinstance(output, np.ndarray):
        return " Return a number, or hint the result: -> np.ndarray."
    return ""


def _returned(line: str) -> str:
    return line.replace(" Write ", " Return ", 1)


def about_dtype(result: Return, output: Any) -> str:
    """What a message says of an output that holds arrays of another dtype than its hint asks for."""
    other = [x.dtype for x in leaves(output) if hasattr(x, "dtype") and x.dtype != result.dtype]
    if result.dtype is None or not other:
        return ""
    held = "" if items_of(output) is None else f" One in it is of {other[0]}."
    return f"{held} Nothing is cast behind your back: write astype({result.dtype.name!r}) there, or hint np.ndarray."


def _aliased_output(definition: Definition, said: str, args: tuple[Any, ...], outputs: list[Any]) -> DispatchError:
    remedy = "Return a copy, or declare it in the schema, as in (Tensor(a) x) -> Tensor(a)."
    flat = [array for output in outputs for array in leaves(output) if isinstance(array, np.ndarray)]
    for output in flat:
        for name, value in zip(definition.arguments.names, args, strict=True):
            for x in leaves(value):
                if output is x and any(a.name == name and a.is_write for a in definition.schema.arguments):
                    written = (
                        "It is written to, so that the caller has it: return nothing, -> None, or declare it, "
                        f"(Tensor(a!) {name}) -> Tensor(a!)."
                    )
                    return AliasError(f"{said} its input {name!r} itself. {written}", operator=definition.name, argument=name)
                if output is x:
                    return AliasError(f"{said} its input {name!r} itself. {remedy}", operator=definition.name, argument=name)
                if isinstance(x, np.ndarray) and share_memory(output, x):
                    return AliasError(f"{said} a view of its input {name!r}. {remedy}", operator=definition.name, argument=name)
    twice = len({id(array) for array in flat}) < len(flat)
    what = "one array as two outputs" if twice else "two outputs that share memory"
    return AliasError(f"{said} {what}. Return a copy for one of them.", operator=definition.name)


def _kernel(definition: Definition) -> str:
    registration = definition.table.source(DispatchKey.CPU)
    return f"kernel {where(registration.rule)}" if registration is not None else "kernel"


def note(definition: Definition, args: tuple[Any, ...], error: BaseException) -> None:
    """Add what a kernel was doing to its exception: operator, kernel, shapes and dtypes, once."""
    if any(line.startswith("in operator ") for line in getattr(error, "__notes__", ())):
        return
    if isinstance(error, DispatchError) and error.operator not in (None, "", definition.name):
        return  # it says which one it is about, and this one may be the package's own
    names = definition.arguments.names
    given = ", ".join(f"{name}: {brief(x)}" for name, x in zip(names, args, strict=True))
    note_words(error)
    kernel = "" if definition.schema.namespace == NUMPY else f", {_kernel(definition)}"  # of NumPy's a line of ours
    error.add_note(f"in operator {definition.name}({given}){kernel}")
    if isinstance(error, RecursionError):
        error.add_note(f"A kernel that calls {definition.name} runs again, without end: call the function that computes.")
    if isinstance(error, ValueError) and "read-only" in str(error):  # NumPy's words, and Cython's
        arguments = zip(definition.schema.arguments, args, strict=False)
        held = [a.name for a, x in arguments if isinstance(x, np.ndarray) and not x.flags.writeable and not a.is_write]
        registration = definition.table.source(DispatchKey.CPU)
        around = {} if registration is None else variables_of(registration.rule)
        own = [name for name, x in around.items() if isinstance(x, np.ndarray) and not x.flags.writeable]
        if own:
            error.add_note(
                f"{own[0]!r}, which the kernel keeps from call to call, is read-only: a call has returned it, and a gradient "
                f"holds it. Return a copy, {own[0]}.copy()."
            )
        elif held:
            error.add_note(
                f"{' and '.join(map(repr, held))} came read-only, as the values of a gradient do, and nothing says that the "
                "kernel writes there. Compute on a copy, or declare it in mutates_args."
            )


def refused_key(op: OpOverload, key: object) -> DefinitionError:
    """The exception for a key at which no kernel runs."""
    alias = isinstance(key, DispatchKey)
    what = "is an alias and has no slot; ask at one of the keys it fills." if alias else "is no key; ask at a DispatchKey."
    return DefinitionError(f"{op.name}: {key if alias else repr(key)} {what}", operator=op.name)
