"""Reads the lines of which most graph files consist, in a quarter of the time that Python's parser takes for one.

    sin = call('np::sin', (x,), array('float64', (3,)))
    split_0 = item(split, 0, array('float64', (3,)))

Their arguments are names of nodes, numbers, texts without escapes, `...`, calls of a word, lists and tuples. Whatever is
written otherwise is left to the parser, which says what is wrong with it.
"""

import re
from collections.abc import Callable
from keyword import iskeyword
from typing import Any

from .literals import Reader

_ARRAY = r"(array\((?:[^()]|\([^()]*\))*\))"
CALL = re.compile(rf"([A-Za-z_]\w*) = call\('([\w:.]+)', \((.*)\), {_ARRAY}\)", re.ASCII)
ITEM = re.compile(rf"([A-Za-z_]\w*) = item\(([A-Za-z_]\w*, \d+), {_ARRAY}\)", re.ASCII)
CONSTANTS = {"None": None, "True": True, "False": False, "...": ...}
ITEMS = re.compile(
    r"(?P<word>[a-z]+\([^()'\"]*\))|(?P<name>[A-Za-z_]\w*(?!\w*\()|\.\.\.)"
    r"|(?P<float>-?\d+(?:\.\d+(?:e[+-]\d+)?|e[+-]\d+))|(?P<int>-?(?:0|[1-9]\d{0,18}))"
    r"|(?P<text>'[^'\\\n]*')|(?P<open>\[|[a-z]*\()|(?P<close>[\])])|(?P<comma>, ?)",
    re.ASCII,
)


def usual_call(text: str, reader: Reader) -> tuple[str, str, Callable[[], list[Any]]] | None:
    """Return the name of a line, its word, and what reads its values; None for a line that has to be parsed."""
    found = CALL.fullmatch(text)
    if found is not None:
        name, operator, given, value = found.groups()
        args = items(given, reader)
        if args is None or iskeyword(name) or (len(args) == 1 and not given.endswith(",")):
            return None
        return name, "call", lambda: [operator, tuple(args), reader.known(value)]
    found = ITEM.fullmatch(text)
    if found is not None:
        name, given, value = found.groups()
        args = items(given, reader)
        if args is None or iskeyword(name):
            return None
        return name, "item", lambda: [*args, reader.known(value)]
    return None


def items(text: str, reader: Reader) -> list[Any] | None:
    """Return the values in a text with commas between them; None where one has to be parsed."""
    stack: list[list[Any]] = [[]]
    opened: list[str] = []
    end, parted = 0, True  # parted: a value may come next
    for found in ITEMS.finditer(text):
        token, kind = found[0], found.lastgroup
        if found.start() != end or (kind == "comma" and parted):
            return None
        end = found.end()
        if kind == "comma":
            parted = True
        elif kind == "close":
            made: Any = stack.pop()
            start = opened.pop() if opened else ""
            if start + token == "()":
                if len(made) == 1 and not parted:
                    return None  # one value in parentheses is no tuple
                made = tuple(made)
            elif start[-1:] + token == "()":
                made = _called(start[:-1], made, reader)
                if made is reader:
                    return None
            elif start + token != "[]":
                return None
            stack[-1].append(made)
            parted = False
        elif not parted:
            return None
        elif kind == "open":
            opened.append(token)
            stack.append([])
        else:
            value = _item(kind, token, reader)
            if value is reader:
                return None
            stack[-1].append(value)
            parted = False
    return stack[0] if end == len(text) and not opened else None


def _called(word: str, args: list[Any], reader: Reader) -> Any:
    """Return the value of a word with values in parentheses; the reader itself where the parser has to say what is wrong."""
    try:
        return reader.called(word, args)
    except Exception:  # `line` of serialize.py asks first whether all operators are there
        return reader


def _item(kind: str | None, token: str, reader: Reader) -> Any:
    """Return the value of a name, a number, a text or a call; the reader itself for a name that it does not know."""
    if kind == "name":
        return CONSTANTS.get(token, reader.nodes.get(token, reader))
    if kind == "int":
        return int(token)
    if kind == "float":
        return float(token)
    return token[1:-1] if kind == "text" else reader.known(token)
