"""Runs mypy --strict and pyright over what users read: `python -m tests.typing.check`.

They get this folder, the gallery, and the examples of README.md and docs/custom_operators.md, taken out of the text as files.
An example that shows an exception is left out: most show what a type checker refuses too. Where pyright is not installed it is
skipped, and that is printed.
"""

import doctest
import importlib.util
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = ("README.md", "docs/custom_operators.md")
NO_MYPY_NEEDED = ("check.py", "conftest.py")
FRAMEWORKS = ("torch", "jax", "dask", "xarray")
CONFIG = '{"extraPaths": ["%s"], "pythonVersion": "3.11", "reportMissingImports": "none", "reportMissingModuleSource": "none"}'


def examples(page: str) -> str:
    """The code of a page's examples, without those that raise."""
    found = doctest.DocTestParser().get_examples((ROOT / page).read_text())
    return "\n".join(example.source.rstrip() for example in found if not example.want.startswith("Traceback")) + "\n"


def main() -> int:
    """Check, and return 1 if a checker found an error."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for page in PAGES:
            (folder / f"{Path(page).stem.lower()}_examples.py").write_text(examples(page))
        for file in [*(ROOT / "tests/typing").glob("*.py"), *(ROOT / "docs/gallery").glob("*.py")]:
            if file.name not in NO_MYPY_NEEDED:
                (folder / file.name).write_text(file.read_text())
        (folder / "pyrightconfig.json").write_text(CONFIG % ROOT)
        files = sorted(file.name for file in folder.glob("*.py"))
        absent = [name for name in FRAMEWORKS if importlib.util.find_spec(name) is None]
        for file in list(files):  # an operator that is given an array of an unknown class seems to give one of NumPy
            lacks = [name for name in absent if f"import {name}" in (folder / file).read_text()]
            if lacks:
                print(f"SKIPPED: {file}, which imports {', '.join(lacks)}")
                files.remove(file)
        checkers = {"mypy": ["--strict", "--python-version", "3.11", "--follow-imports", "silent"], "pyright": ["--pythonpath", sys.executable]}
        status = 0
        for checker, options in checkers.items():
            if importlib.util.find_spec(checker) is None:
                print(f"SKIPPED: {checker}, which is not installed")
                continue
            print(f"{checker} {' '.join(options)}, {len(files)} files")
            # mypy does not follow the import hook of an editable install
            there = {**os.environ, "MYPYPATH": str(ROOT)}
            done = subprocess.run([sys.executable, "-m", checker, *options, *files], cwd=folder, env=there, check=False)
            status |= done.returncode
    return int(status != 0)


if __name__ == "__main__":
    sys.exit(main())
