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
from floors import RULE, files_of

import dispatch
from dispatch import errors
from dispatch.errors import MissingExtraError

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
ALONE = ["add_an_operator.md", "add_a_layer.md"]


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
    rows = re.findall(r"^\| `(\w+)` \| `(\w+)`(?:, `\w+`)? \| ", (DOCS / "errors.md").read_text(), re.MULTILINE)
    listed = {name: getattr(errors, base, None) or getattr(builtins, base) for name, base in rows}
    classes = dict(inspect.getmembers(errors, lambda x: inspect.isclass(x) and issubclass(x, errors.DispatchError)))
    assert set(listed) == set(classes)
    for name, base in listed.items():
        assert base in classes[name].__mro__, name


def drawn():
    """The files that the tree of docs/floors.md names, by the path of each: every line is names, three spaces, and words."""
    tree = (DOCS / "floors.md").read_text().partition("    dispatch/\n")[2].partition("\n## ")[0]
    files, folders = set(), {}
    for line in filter(str.strip, tree.splitlines()):
        indent = len(line) - len(line.lstrip())
        folder = next((folders[i] for i in sorted(folders, reverse=True) if i < indent), "")
        for name in re.split(r"\s{3,}", line.strip())[0].split():
            if name.endswith("/"):
                folders = {i: path for i, path in folders.items() if i < indent} | {indent: folder + name}
            else:
                files.add(folder + name + ".py" * ("." not in name))
    return files


def test_the_page_of_floors_draws_every_file():
    paths = [file.path for file in files_of(ROOT / "dispatch")]
    package = {str(path.relative_to(ROOT / "dispatch")) for path in paths if path.suffix != ".pxd"}
    assert drawn() == {path for path in package if not path.endswith("/__init__.py")}


@pytest.mark.parametrize(
    ("looked_for", "file"),
    [
        ("a batching rule's fallback", "layers/vmap/fallback_loop.py"),
        ("a saved tensor's protection", "layers/autograd/saved_tensors.py"),
        ("the guard of a symbolic size", "symbolic/guards.py"),
        ("np.cumsum", "numpy_ops/cumulative.py"),
    ],
)
def test_the_page_of_floors_leads_to_a_file(looked_for, file):
    (line,) = [line for line in (DOCS / "floors.md").read_text().splitlines() if looked_for in line and line.startswith("      ")]
    assert Path(file).stem in line.strip().partition("   ")[0].split()
    assert (ROOT / "dispatch" / file).exists()


def test_the_page_of_floors_is_short_and_says_the_rule():
    text = (DOCS / "floors.md").read_text()
    assert len(text.splitlines()) <= 150
    said = "errors < " + text.partition("    errors < ")[2].partition("\n\n")[0]
    folders = [set(re.findall(r"\w+", place)) for place in said.split("<")]
    assert folders == [{place} if isinstance(place, str) else place for place in RULE]


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
        try:
            if not hasattr(found, word):
                found = importlib.import_module(f"{found.__name__}.{word}")
            else:
                found = getattr(found, word)
        except MissingExtraError as error:
            pytest.skip(str(error))


SAID_TOO_EARLY = re.compile(r"not there yet|not yet (?:supported|implemented|possible)|coming soon|(?:is|are) planned|will be (?:added|supported)")


def missing_of(sentence):
    """The names in backticks that a sentence gives and that are not there: a folder of the package, or a public name."""
    names = re.findall(r"`([\w./]+)`", sentence)
    return [name for name in names if not ((ROOT / "dispatch" / name).exists() or hasattr(dispatch, name.rpartition(".")[2]))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_page_says_not_yet_of_what_exists(page):
    sentences = re.split(r"(?<=[.:;)])\s", page.read_text())
    assert [sentence for sentence in sentences if SAID_TOO_EARLY.search(sentence) and not missing_of(sentence)] == []


def test_a_sentence_that_says_not_yet_is_found():
    assert SAID_TOO_EARLY.search("`make_fx` is not there yet.")
    assert missing_of("`make_fx` is not there yet.") == []
    assert missing_of("`no_such_thing` is not there yet.") == ["no_such_thing"]
