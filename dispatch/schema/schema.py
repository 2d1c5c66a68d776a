"""Schema: an operator's signature as data, which prints as text and is read from text without loss.

    schema   := ns "::" name ["." overload] "(" [argument ("," argument)*] ")" "->" returns
    argument := type name ["=" default] | "*" (keyword-only from here on) | "/" (positional-only up to here)
    returns  := type [name] | "(" [type [name] ("," type [name])*] ")"

For every schema `Schema.parse(str(s)) == s`. One that makes no sense cannot be built: two arguments of one name, a default of
another type, an alias set that no argument is in.

More than 350 lines, because `Argument` and `Schema` write their fields out: see `types.Spelled`.
"""

from collections.abc import Sequence
from enum import Enum
from typing import Any, ClassVar, Final, NoReturn

import numpy as np

from ..core.wrong_calls import Made, clear
from ..errors import ArgumentError, SchemaError, kind_of
from .bounds import Bounds
from .defaults import accept, spell
from .dimensions import Tree
from .parser import Reader
from .types import NONE, RESIDUAL, TENSOR, Alias, Spelled, Type, check_full_name, check_name, split_name


class _Missing(Enum):
    MISSING = "no default"

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = _Missing.MISSING


class Argument(Spelled):
    """One argument of an operator.

    `dtype`, `layout` (of "C", "F", "writeable"), `numbers` (Python numbers may stand for the array) and `dimensions` (what
    `Float64[np.ndarray, "m n"]` says) come from type hints. They are for checking calls, and `bounds`, a range of values, for
    making samples; none is in the text, or compared.

    Examples
    --------
    >>> str(Argument("x", TENSOR, kwarg_only=True))
    'Tensor x'
    """

    __slots__ = (  # noqa: RUF023 - in the order of __init__
        "name", "type", "default", "kwarg_only", "positional_only", "alias", "dtype", "layout", "numbers", "dimensions",
        "bounds",
    )  # fmt: skip

    _elsewhere: ClassVar[dict[str, str]] = {
        "alias_info": "argument.alias, or argument.is_write", "default_value": "argument.default",
        "has_default_value": "argument.has_default",
    }  # fmt: skip

    name: str
    type: Type
    default: object
    kwarg_only: bool
    positional_only: bool
    alias: Alias | None
    dtype: np.dtype[np.generic] | None
    layout: tuple[str, ...]
    numbers: bool
    dimensions: Tree
    bounds: Bounds | None

    def __init__(
        self,
        name: str,
        type: Type,
        default: object = MISSING,
        kwarg_only: bool = False,
        positional_only: bool = False,
        alias: Alias | None = None,
        dtype: np.dtype[np.generic] | None = None,
        layout: tuple[str, ...] = (),
        numbers: bool = False,
        dimensions: Tree = None,
        bounds: Bounds | None = None,
    ) -> None:
        self._set(name, type, default, kwarg_only, positional_only, alias, dtype, layout, numbers, dimensions, bounds)
        check_name(self.name, "an argument")
        if self.alias is not None and not self.type.has_tensor:
            raise SchemaError(f"argument '{self.name}' has an alias, and {self.type} holds no Tensor.")
        lost = next((word for word in layout if word in ("C", "F")), None)
        if self.is_write and lost is not None and "writeable" not in layout:
            raise SchemaError(
                f"argument '{self.name}' is written to and has the layout '{lost}': an array of another layout would be "
                "replaced by a copy, and what is written to that is lost. Let the caller pass one that fits: "
                f'Annotated[np.ndarray, "{lost}", "writeable"].',
                argument=self.name,
            )
        if self.default is not MISSING:
            try:
                object.__setattr__(self, "default", accept(type, default))
            except SchemaError as error:
                raise SchemaError(f"argument '{self.name}': {error}", argument=self.name) from None

    @property
    def has_default(self) -> bool:
        """Whether the argument may be left out."""
        return self.default is not MISSING

    @property
    def is_write(self) -> bool:
        """Whether the operator writes to the argument."""
        return self.alias is not None and self.alias.is_write

    def __str__(self) -> str:
        text = f"{self.type.spell(str(self.alias or ''))} {self.name}"
        return text if self.default is MISSING else f"{text}={spell(self.type, self.default)}"

    def __eq__(self, other: object) -> bool:
        # By text nan equals itself, and 1, 1.0 and True are three. The marks '*' and '/' are in the schema's text.
        return (
            isinstance(other, Argument)
            and (self.kwarg_only, self.positional_only) == (other.kwarg_only, other.positional_only)
            and str(self) == str(other)
        )

    def __hash__(self) -> int:
        return hash(str(self))


class Return(Spelled):
    """One result of an operator. `dimensions` and `dtype` come from type hints, and are neither in the text nor compared.

    Examples
    --------
    >>> str(Return(TENSOR, "values"))
    'Tensor values'
    """

    __slots__ = ("type", "name", "alias", "dimensions", "dtype")  # noqa: RUF023 - in the order of __init__

    _elsewhere: ClassVar[dict[str, str]] = {"alias_info": "result.alias"}

    type: Type
    name: str | None
    alias: Alias | None
    dimensions: Tree
    dtype: np.dtype[np.generic] | None

    def __init__(
        self,
        type: Type,
        name: str | None = None,
        alias: Alias | None = None,
        dimensions: Tree = None,
        dtype: np.dtype[np.generic] | None = None,
    ) -> None:
        self._set(type, name, alias, dimensions, dtype)
        if self.name is not None:
            check_name(self.name, "a return")
        if self.alias is not None and not self.type.has_tensor:
            raise SchemaError(f"a return of type {self.type} has an alias, and holds no Tensor.")
        if self.alias is not None and self.alias.before != self.alias.after:
            raise SchemaError("the alias of a return has no '->': there is no before.")
        if self.type == NONE:
            raise SchemaError("an operator that returns nothing is written -> ().")

    @property
    def wanted(self) -> str:
        """What a result has to be, in the words of a message."""
        return str(self.type) if self.dtype is None else f"{self.type} of {self.dtype}"

    def __str__(self) -> str:
        text = self.type.spell(str(self.alias or ""))
        return text if self.name is None else f"{text} {self.name}"


class Schema(Spelled, metaclass=Made):
    """The signature of an operator.

    Parameters
    ----------
    namespace, name, overload : str
        The three parts of `ns::name.overload`; the overload may be empty.
    arguments : tuple of Argument
        Positional-only ones first, keyword-only ones last.
    returns : tuple of Return
        A `Residual`, if there is one, last.

    Examples
    --------
    >>> s = Schema.parse("mylib::scale(Tensor x, float factor=2.0) -> Tensor")
    >>> s.qualname, s.is_functional, s.arguments[1].default
    ('mylib::scale', True, 2.0)
    >>> Schema.parse(str(s)) == s
    True
    """

    __slots__ = ("namespace", "name", "overload", "arguments", "returns")  # noqa: RUF023 - in the order of __init__
    _elsewhere: ClassVar[dict[str, str]] = {
        "args": "schema.arguments", "inputs": "schema.arguments", "outputs": "schema.returns",
        "overload_name": "schema.overload",
    }  # fmt: skip
    made_by = "Schema.parse('mylib::scale(Tensor x, float factor=2.0) -> Tensor')"

    namespace: str
    name: str
    overload: str
    arguments: tuple[Argument, ...]
    returns: tuple[Return, ...]

    def __init__(
        self, namespace: str, name: str, overload: str, arguments: tuple[Argument, ...], returns: tuple[Return, ...] = ()
    ) -> None:
        self._set(namespace, name, overload, tuple(arguments), tuple(returns))
        check_full_name(namespace, name, overload)
        if (fault := find_fault(self.arguments, self.returns)) is not None:
            raise SchemaError(f"{self.full_name}: {fault[0]}", operator=self.qualname)

    def __call__(self, *_given: Any, **_named: Any) -> NoReturn:
        raise ArgumentError(f"the schema of {self.full_name} is a value, and is not called. Write {self.name}.schema.")

    @classmethod
    @clear
    def parse(cls, text: str, name: str | None = None) -> "Schema":
        """Read a schema.

        Parameters
        ----------
        text : str
            `"ns::name.overload(arguments) -> returns"`, or `"(arguments) -> returns"` when the name is given.
        name : str, optional
            `"ns::name"` or `"ns::name.overload"`.

        Returns
        -------
        Schema
            `str` of it is the text, up to spaces.

        Raises
        ------
        SchemaError
            If the text is no schema; the message points at the place.

        Examples
        --------
        >>> str(Schema.parse("( Tensor(a!)x,*,int n=1 )->()", name="mylib::fill"))
        'mylib::fill(Tensor(a!) x, *, int n=1) -> ()'
        """
        given: object = text
        of: object = name
        if of is not None and not isinstance(of, str):
            raise SchemaError(f"Schema.parse: name is 'ns::name', a str, and was given {kind_of(of)}.")
        if not isinstance(given, str):
            named = f"{name}: " if name else ""
            raise SchemaError(f"{named}a schema is a text, '(Tensor x) -> Tensor', and {kind_of(given)} was given.")
        head = text.partition("(")[0].strip()
        reader = Reader(text, name or head or "schema")
        if name is None and not head:
            reader.fail("the schema has no name. Begin with ns::name, or pass name=.")
        if name is not None and not text.strip():
            word = name.rpartition("::")[2]
            raise SchemaError(f"{name}: a schema has its arguments in parentheses: {word}(Tensor x) -> Tensor.")
        if name is not None and "(" not in text:
            reader.fail("a schema has its arguments in parentheses: (Tensor x) -> Tensor.")
        if name is not None and head:
            reader.fail(f"the name is given already, as '{name}'. Begin with '('.")
        try:
            full_name = split_name(name or head)
        except SchemaError as error:
            reader.fail(str(error))
        reader.at = len(text) if "(" not in text else text.index("(")
        declared, slash, star = reader.arguments()
        arguments, returns = [], []
        for i, (start, kind, alias, word, default) in enumerate(declared):
            value = default[0] if default else MISSING
            arguments.append(reader.build(start, Argument, word, kind, value, i >= star, i < slash, alias))
        results = reader.returns()
        for start, kind, alias, word, _ in results:
            returns.append(reader.build(start, Return, kind, word or None, alias))
        if (fault := find_fault(arguments, returns)) is not None:
            reader.fail(fault[0], [*declared, *results][fault[1]].start)
        return cls(*full_name, tuple(arguments), tuple(returns))

    @property
    def qualname(self) -> str:
        """`ns::name`, shared by all overloads."""
        return f"{self.namespace}::{self.name}"

    @property
    def full_name(self) -> str:
        """`ns::name.overload`, or `ns::name` where the overload is empty."""
        return f"{self.qualname}.{self.overload}" if self.overload else self.qualname

    @property
    def positional(self) -> tuple[Argument, ...]:
        """The arguments that may be given by position."""
        return tuple(a for a in self.arguments if not a.kwarg_only)

    @property
    def kwarg_only(self) -> tuple[Argument, ...]:
        """The arguments that are given by keyword only."""
        return tuple(a for a in self.arguments if a.kwarg_only)

    @property
    def mutable_arguments(self) -> tuple[str, ...]:
        """The names of the arguments that the operator writes to."""
        return tuple(a.name for a in self.arguments if a.is_write)

    @property
    def is_mutable(self) -> bool:
        """Whether the operator writes to an argument."""
        return any([a.is_write for a in self.arguments])

    @property
    def is_view(self) -> bool:
        """Whether a return shares memory with an argument that is not written."""
        return any(r.alias is not None and not r.alias.is_write for r in self.returns)

    @property
    def is_functional(self) -> bool:
        """Whether the operator writes to nothing and returns fresh values only: what returns nothing does something else."""
        return bool(self.returns) and not self.is_mutable and all([r.alias is None for r in self.returns])

    @property
    def has_residual(self) -> bool:
        """Whether the last return is a `Residual`, which only the backward rule sees."""
        return bool(self.returns) and self.returns[-1].type is RESIDUAL

    @property
    def signature(self) -> str:
        """The text without the name: `(arguments) -> returns`."""
        words, starred = [], False
        for argument in self.arguments:
            if argument.kwarg_only and not starred:
                words.append("*")
                starred = True
            words.append(str(argument))
        if last := sum(a.positional_only for a in self.arguments):
            words.insert(last, "/")
        results = ", ".join(map(str, self.returns))
        if len(self.returns) != 1 or results.startswith("("):
            results = f"({results})"
        return f"({', '.join(words)}) -> {results}"

    def __str__(self) -> str:
        return self.full_name + self.signature


def find_fault(arguments: Sequence[Argument], returns: Sequence[Return]) -> tuple[str, int] | None:
    """Find what is wrong between arguments and returns that are each valid.

    Returns the message and the index of what it is about, counting returns after arguments; None if nothing is wrong.
    """
    names: set[str] = set()
    before: Argument | None = None
    for i, argument in enumerate(arguments):
        if argument.name in names:
            return f"two arguments are named '{argument.name}'.", i
        names.add(argument.name)
        if argument.kwarg_only and argument.positional_only:
            return f"argument '{argument.name}' is both keyword-only and positional-only.", i
        if before is not None and before.kwarg_only and not argument.kwarg_only:
            return f"argument '{argument.name}' is positional and follows '{before.name}', which is keyword-only.", i
        if before is not None and argument.positional_only and not before.positional_only:
            return f"argument '{argument.name}' is positional-only and follows '{before.name}', which is not.", i
        if before is not None and not argument.kwarg_only and before.has_default and not argument.has_default:
            return f"argument '{argument.name}' has no default and follows '{before.name}', which has one.", i
        before = argument
    return _alias_fault(arguments, returns) or _return_fault(returns, len(arguments))


def _alias_fault(arguments: Sequence[Argument], returns: Sequence[Return]) -> tuple[str, int] | None:
    if all([a.alias is None for a in arguments]) and all([r.alias is None for r in returns]):
        return None
    seen: dict[str, Argument] = {"*": Argument("everything", TENSOR)}
    written: set[str] = set()
    for i, argument in enumerate(arguments):
        for name in sorted(argument.alias.before) if argument.alias is not None else ():
            other = seen.setdefault(name, argument)
            if other is not argument and (argument.is_write or other.is_write):
                who = f"'{other.name}' and '{argument.name}'"
                return f"arguments {who} share the alias set '{name}', and one is written. Give each its own set.", i
            if argument.is_write:
                written.add(name)
    everything: list[Argument | Return] = [*arguments, *returns]
    for i, item in enumerate(everything):
        if item.alias is not None:
            for name in sorted(item.alias.after):
                if name not in seen:
                    return f"no argument is in the alias set '{name}' before the call.", i
                if isinstance(item, Return) and item.alias.is_write and name not in written:
                    return f"the return is written as '{name}!', and no argument is. Write Tensor({name}).", i
    return None


def _return_fault(returns: Sequence[Return], first: int) -> tuple[str, int] | None:
    names: set[str] = set()
    for i, result in enumerate(returns, 1):
        if result.name is not None and result.name in names:
            return f"two returns are named '{result.name}'.", first + i - 1
        names.add(result.name or "")
        if result.type == RESIDUAL and i < len(returns):
            return "Residual is the last return, or none. Write it behind the results.", first + i - 1
    return None
