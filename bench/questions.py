"""The files that ask, found by reading their docstrings: a listing imports no peer."""

import ast
from pathlib import Path

FOLDER = Path(__file__).parent


def questions() -> dict[str, str]:
    """The question of each file that asks one, under the file's name."""
    found = {}
    for path in sorted(FOLDER.glob("*.py")):
        first = (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").partition("\n")[0]
        if first.endswith("?"):
            found[path.stem] = first
    return found
