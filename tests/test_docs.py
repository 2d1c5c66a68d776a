"""The pages under docs/: their links lead somewhere, what they list is what there is, and their code runs.

Examples with a prompt are collected as doctests. Two pages show code that changes the package for everybody in a
process, so that it is run here, in a process of its own.
"""

import builtins
import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest
from floors import FLOORS, MOST_CORE_LINES, MOST_LINES, rooms_of

import dispatch
from dispatch import errors

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
ALONE = ["add_an_operator.md", "add_a_layer.md"]
DRAWN_IN_FULL = {"dispatch", "core", "schema", "dispatcher", "operators", "gufunc", "layers"}  # the others' faces draw them


def fences(text, language):
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def anchors(text):
    """The anchors of a page's headings, as GitHub makes them."""
    prose = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.*)", prose, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\((?!https?:)([^)]+)\)", page.read_text()):
        path, _, anchor = target.partition("#")
        found = (page.parent / path).resolve() if path else page
        assert found.exists(), target
        assert not anchor or anchor in anchors(found.read_text()), target


def test_every_page_is_on_the_index():
    linked = set(re.findall(r"\]\(([^)#]+)\)", (DOCS / "index.md").read_text()))
    pages = [path for path in DOCS.rglob("*") if path.suffix in {".md", ".py"} and path.name != "conftest.py"]
    assert {str(path.relative_to(DOCS)) for path in pages} - {"index.md"} <= linked


@pytest.mark.parametrize("page", ALONE)
def test_the_code_of_the_page_runs(page, tmp_path):
    code = "\n".join(fences((DOCS / page).read_text(), "python"))
    assert ">>>" not in code
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_python_on_every_other_page_is_an_example_that_is_run(page):
    if page.name not in ALONE:
        assert [code for code in fences(page.read_text(), "python") if not code.startswith(">>> ")] == []


def test_every_exception_is_on_the_page_of_errors():
    rows = re.findall(r"^\| `(\w+)` \| `(\w+)` \| ", (DOCS / "errors.md").read_text(), re.MULTILINE)
    listed = {name: getattr(errors, base, None) or getattr(builtins, base) for name, base in rows}
    classes = dict(inspect.getmembers(errors, lambda x: inspect.isclass(x) and issubclass(x, errors.DispatchError)))
    assert set(listed) == set(classes)
    for name, base in listed.items():
        assert base in classes[name].__bases__, name


def test_the_page_of_floors_names_every_room():
    text = (DOCS / "floors.md").read_text()
    drawing = text.partition("## The rooms")[2].partition("## Who may import whom")[0]
    named = set(re.findall(r"[\w/]+\.pyx?|\w+/", drawing))
    rooms = [room.path for room in rooms_of(ROOT / "dispatch") if room.path.suffix != ".pxd"]
    for path in rooms:
        known = {path.name} | ({f"{path.parent.name}/"} if path.parent.name not in DRAWN_IN_FULL else set())
        assert known & named or path.name == "__init__.py", path.name
    assert named <= {path.name for path in rooms} | {f"{path.parent.name}/" for path in rooms}


def test_the_page_of_floors_says_how_large_a_room_may_be():
    text = (DOCS / "floors.md").read_text()
    assert f"at most {MOST_LINES} lines" in text
    assert f"under {MOST_CORE_LINES:,} in all".replace(",", " ") in text
    assert FLOORS[0] == {"errors"}


NAMES = [
    (page, name)
    for page in PAGES
    for name in sorted(set(re.findall(r"`(dispatch(?:\.\w+)+)[`(]", page.read_text())))
    if not name.endswith(".py")
]


@pytest.mark.parametrize(("page", "name"), NAMES, ids=lambda value: getattr(value, "stem", value))
def test_the_names_in_the_text_are_there(page, name):
    found = dispatch
    for word in name.split(".")[1:]:
        if not hasattr(found, word):
            found = importlib.import_module(f"{found.__name__}.{word}")
        else:
            found = getattr(found, word)
