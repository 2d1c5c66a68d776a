"""Parses the text of a schema; an error shows the place in the text.

More than 350 lines, since each wrong text has words of its own.
"""

import ast
import re
from collections.abc import Callable
from enum import Enum
from functools import cache
from typing import Any, NamedTuple, NoReturn, TypeVar

import numpy as np

from ..core.lazy import LazyFunction
from ..errors import SchemaError
from .opaque_types import find_class
from .types import (
    CLASSES,
    INT,
    TENSOR,
    WORDS,
    Alias,
    ClassType,
    DictOf,
    ListOf,
    LiteralOf,
    OptionalOf,
    TupleOf,
    Type,
    UnionOf,
    is_known,
    unknown_type,
)  # fmt: skip

T = TypeVar("T")
class_of_text = LazyFunction(__package__, ".hints", "class_of_text")  # reads classes, as type hints name them

CONSTANTS = {"True": True, "False": False, "None": None}
_WORD = re.compile(r"[\w.]+")
_INTEGER = re.compile(r"(?:0|[1-9]\d*)(?![\w.+-])")
_compiled: Callable[[str], re.Pattern[str]] = cache(re.compile)  # when first looked for: it takes as long as importing modules
_STRING = r"""b?(?:'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*")"""
_REAL = r"(?:\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?|inf|nan)"
_NUMBER = rf"[+-]?{_REAL}(?:(?:[+-]{_REAL})?j)?(?![\w.])"

# The axes of a generalised ufunc, which stand in `signature=`.
_SIGNATURE = r"\(([\w?]+\s*,\s*)*[\w?]*\s*\)(\s*,\s*\([\w?, ]*\))*\s*->\s*\("  # no two words side by side: a type and a name
ARRAYS = ("np.ndarray", "numpy.ndarray", "np.array", "numpy.array", "torch.Tensor", "dispatch.Tensor", "jax.Array")


def _dtype(word: str) -> np.dtype[Any] | None:
    try:
        return np.dtype(word) if word.isidentifier() else None
    except (TypeError, ValueError):
        return None


class Declaration(NamedTuple):
    """One argument or return as written, and its place in the text. A bare type has an empty name."""

    start: int
    type: Type
    alias: Alias | None
    name: str
    default: tuple[object, ...] = ()


class Reader:
    """A text and a position in it. Each method reads one thing, or raises and shows the position.

    Messages begin with `title`, the operator's name.
    """

    __slots__ = ("at", "text", "title")

    def __init__(self, text: str, title: str) -> None:
        self.text, self.title, self.at = text, title, 0
        self._skip()

    def fail(self, message: str, at: int | None = None) -> NoReturn:
        """Raise, with the text and a mark below the place."""
        line = "".join(" " if letter.isspace() else letter for letter in self.text)
        raise SchemaError(f"{self.title}: {message}\n  {line}\n  {' ' * (self.at if at is None else at)}^") from None

    def build(self, at: int, make: Callable[..., T], *args: object) -> T:
        """Build a value from what was read at a position; an error shows that position."""
        try:
            return make(*args)
        except SchemaError as error:
            self.fail(str(error), at)

    def _skip(self) -> None:
        while self.text[self.at : self.at + 1].isspace():
            self.at += 1

    def peek(self, mark: str) -> bool:
        """Whether a mark comes next."""
        return self.text.startswith(mark, self.at)

    def take(self, mark: str) -> bool:
        """Skip a mark if it comes next; return whether it did."""
        if found := self.text.startswith(mark, self.at):
            self.at += len(mark)
            self._skip()
        return found

    def expect(self, mark: str, end: str = "") -> None:
        """Skip a mark, or raise; the message says that the list could also have ended there."""
        if not self.take(mark):
            found = f"'{self.text[self.at]}'" if self.at < len(self.text) else "the end"
            wanted = f"'{mark}' or '{end}'" if end else f"'{mark}'"
            after = " What is returned comes after it: -> Tensor, or -> () for nothing." if mark == "->" else ""
            self.fail(f"expected {wanted}, found {found}.{after}")

    def word(self, what: str) -> str:
        """Read a word; dots are part of it."""
        found = _WORD.match(self.text, self.at)
        if found is None:
            self.fail(f"expected {what}." + " A list is Tensor[], and several results are (Tensor, Tensor)." * self.peek("["))
        self.at = found.end()
        self._skip()
        return found[0]

    def at_word(self) -> bool:
        """Whether a word comes next."""
        return _WORD.match(self.text, self.at) is not None

    def type(self) -> tuple[Type, Alias | None]:
        """Read a type, with its alias."""
        start = self.at
        try:
            return self._type()
        except SchemaError as error:
            if "\n" in str(error):
                raise
            self.fail(str(error), start)

    def _type(self) -> tuple[Type, Alias | None]:
        found, alias = self._made_of() if self.peek("(") else self._of_word(self.at, self.word("a type"))
        while True:
            if self.take("?"):
                found = OptionalOf(found)
            elif self.take("["):
                size = None if self.peek("]") else self.word("a length")
                if size is not None and not size.isdecimal():
                    self.fail(f"the length of a list is a number, not '{size}'.")
                self.expect("]")
                found = ListOf(found, None if size is None else int(size))
            elif self.peek("(") or self.peek("!"):
                self.fail(
                    "an alias stands right after Tensor, or a class with arrays, before [] and ?, and after no other type: "
                    "Tensor(a!)[]."
                )
            else:
                return found, alias

    def _of_word(self, start: int, word: str) -> tuple[Type, Alias | None]:
        """Read what a word begins, up to its suffixes."""
        if word in ("Dict", "Union"):
            return self._made_of(word, start)
        if "." in word or word in CLASSES:
            if word in ARRAYS:
                self.fail(unknown_type("ndarray").replace("ndarray", word), start)
            found: Type = class_of_text(CLASSES.get(word, word))
            return found, self._alias() if found.has_tensor and self.take("(") else None
        if word == "Literal":
            return LiteralOf(self._choices()), None
        if word == "SymInt":  # torch's word for a size that may be symbolic, as every int may be here
            return INT, None
        if word not in WORDS and self.peek(":"):
            self.fail(f"a schema has the type before the name, 'Tensor {word}', and no colon.", start)
        if word not in WORDS and _compiled(_SIGNATURE).match(self.text):
            self.fail('these are axes of items. Write signature="(m,n),(n)->(m)"; a schema has types: (Tensor x) -> Tensor.')
        if word not in WORDS and word.islower() and (self.peek(",") or self.peek(")")) and not is_known(word):
            line = f"Tensor {word}, or float {word}"
            self.fail(f"'{word}' stands alone, and an argument has a type before its name: {line}.", start)
        if word not in WORDS and (after := _WORD.match(self.text, self.at)) and after[0] in WORDS:
            self.fail(f"a schema has the type before the name: '{after[0]} {word}'.", start)
        if word not in WORDS:
            self.fail(unknown_type(word), start)
        if word == "Tensor" and self.take("("):
            return TENSOR, self._alias()
        if self.peek("!"):
            self.fail("a write names its set: Tensor(a!).")
        return WORDS[word], None

    def _made_of(self, word: str = "", start: int = 0) -> tuple[Type, Alias | None]:
        """Read `(A, B)`, after no word, `Dict` or `Union`."""
        self.expect("(")
        members = self._types()
        kinds = tuple(member for member, _ in members)
        if word == "Dict" and len(kinds) != 2:
            self.fail("Dict has two types, Dict(K, V).", start)
        found = DictOf(*kinds) if word == "Dict" else UnionOf(kinds) if word == "Union" else TupleOf(kinds)
        return found, self._shared_alias(members)

    def _choices(self) -> tuple[Any, ...]:
        self.expect("[")
        found = [self.literal()]
        while self.take(","):
            found.append(self.literal())
        self.expect("]", ",")
        return tuple(found)

    def _types(self) -> list[tuple[Type, Alias | None]]:
        found: list[tuple[Type, Alias | None]] = []
        while not found or self.take(","):
            found.append(self._type())
        self.expect(")")
        return found

    def _shared_alias(self, members: list[tuple[Type, Alias | None]]) -> Alias | None:
        aliases = {alias for member, alias in members if member.has_tensor}
        if len(aliases) > 1:
            self.fail("the Tensors of one argument share one alias: write the same after each.")
        return aliases.pop() if aliases else None

    def _alias(self) -> Alias:
        before = self._set()
        is_write = self.take("!")
        after = self._set() if self.take("->") else before
        self.expect(")")
        return Alias(before, after, is_write)

    def _set(self) -> frozenset[str]:
        names: list[str] = []
        while not names or self.take("|"):
            names.append("*" if self.take("*") else self.word("an alias set, as in Tensor(a!)"))
        return frozenset(names)

    def literal(self, whose: str = "") -> object:
        """Read the text of a default; `whose` begins the message when there is none."""
        start = self.at
        if self.peek("..."):
            self.fail(
                f"{whose}'...' stands for a default that has no text, an object or a function. Define the operator by a "
                "function with that default, or leave the default out."
            )
        for left, right in ("[]", "()"):
            if self.take(left):
                items: list[object] = []
                while not self.take(right):
                    if items:
                        self.expect(",", right)
                    if not items or not self.peek(right):  # (1,) as Python prints it
                        items.append(self.literal(whose))
                return items if left == "[" else tuple(items)
        if self.take("{"):
            return self._dictionary(whose)
        if (named := _WORD.match(self.text, start)) and named[0] in CONSTANTS:  # the usual ones, which need no more patterns
            return CONSTANTS[self.word("a default")]
        if found := (
            _INTEGER.match(self.text, start)
            or _compiled(_STRING).match(self.text, start)
            or _compiled(_NUMBER).match(self.text, start)
        ):
            self.at = found.end()
            self._skip()
            return self._value(found[0], start)
        word = self.word("a default")
        if word in ("true", "false", "none", "null"):
            self.fail(f"'{word}' is written as in Python: True, False, None.", start)
        if "." in word:
            return self._member(word, start)
        if (dtype := _dtype(word)) is None:
            self.fail(f"'{word}' is no default. A string needs quotes; a dtype is one of NumPy's names.", start)
        return dtype

    def _dictionary(self, whose: str) -> dict[object, object]:
        found: dict[object, object] = {}
        while not self.take("}"):
            if found:
                self.expect(",", "}")
            key = self.literal()
            if not isinstance(key, (str, int)):
                self.fail("the keys of a dictionary are str or int.")
            if not found and (self.peek(",") or self.peek("}")):  # C and C++ write a list so
                self.fail("a list is written in brackets: [1, 2]. Braces are a dictionary, {'key': 1}.")
            self.expect(":")
            found[key] = self.literal(whose)
        return found

    def _member(self, word: str, start: int) -> object:
        """Read `module.Enumeration.MEMBER`; of flags several, with `|` between them."""
        name, _, member = word.rpartition(".")
        if "." not in name:
            self.fail(f"'{word}' is no default. A string needs quotes; a dtype is one of NumPy's names.", start)
        found = self.build(start, find_class, ClassType(name))
        if not issubclass(found, Enum) or member not in found.__members__:
            known = f" Members: {', '.join(found.__members__)}." if issubclass(found, Enum) else ""
            self.fail(f"'{word}' is no member of an enumeration.{known}", start)
        value = found[member]
        return value | self.literal() if self.take("|") else value  # type: ignore[operator]  # two flags of one class

    def _value(self, token: str, start: int) -> object:
        if token[-1] in "'\"":
            try:
                return ast.literal_eval(token)
            except (SyntaxError, ValueError):
                self.fail("this string has an escape that Python does not know.", start)
        if token[-1] == "j":
            return complex(token)
        return int(token) if token.lstrip("+-").isdecimal() else float(token)

    def _declaration(self) -> Declaration:
        start = self.at
        if self.peek("..."):
            self.fail("'...' has no signature that a call could be checked against. Take a list, e.g. Tensor[] xs.")
        kind, alias = self.type()
        return Declaration(start, kind, alias, "")

    def arguments(self) -> tuple[list[Declaration], int, int]:
        """Read `(a, /, b, *, c)`: the declarations, how many are before `/`, and how many are before `*`."""
        self.expect("(")
        found: list[Declaration] = []
        slash, star = 0, -1
        while not self.take(")"):
            start = self.at
            if self.take("*"):
                if star >= 0:
                    self.fail("a second '*'. One is enough: all arguments after it are keyword-only.", start)
                star = len(found)
            elif self.take("/"):
                if slash or not found or star >= 0:
                    self.fail("'/' stands once, after the positional-only arguments and before '*'.", start)
                slash = len(found)
            else:
                declared = self._declaration()
                name = self.word(f"the name of an argument after its type, {declared.type}")
                default = (self.literal(f"argument '{name}': "),) if self.take("=") else ()
                found.append(declared._replace(name=name, default=default))
            if self.take(","):
                if self.peek(")"):
                    self.fail("a comma, and nothing after it.")
            elif not self.peek(")"):
                self.expect(",", ")")
        if star == len(found):
            self.fail("'*' is followed by no argument. Leave it out.")
        return found, slash, len(found) if star < 0 else star

    def returns(self) -> list[Declaration]:
        """Read the returns, from the arrow to the end of the text."""
        self.expect("->")
        found: list[Declaration] = []
        if self.take("("):
            while not self.take(")"):
                if found:
                    self.expect(",", ")")
                found.append(self._return())
            if self.peek("[") or self.peek("?"):
                self.fail("a single return whose type begins with '(' needs parentheses of its own: -> ((A, B)[]).")
        else:
            found.append(self._return())
        if self.at < len(self.text):
            self.fail("expected the end of the schema." + " Several results: -> (Tensor, Tensor)." * self.peek(","))
        return found

    def _return(self) -> Declaration:
        declared = self._declaration()
        return declared._replace(name=self.word("a name")) if self.at_word() else declared
