"""Finds the files that answer a question. It reads their docstrings and imports none of them, for they import the peers."""

import ast
from pathlib import Path

FOLDER = Path(__file__).parent


def questions() -> dict[str, str]:
    """The question of each file that has one, by the file's name."""
    found = {}
    for path in sorted(FOLDER.glob("*.py")):
        first = (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").partition("\n")[0]
        if first.endswith("?"):
            found[path.stem] = first
    return found
