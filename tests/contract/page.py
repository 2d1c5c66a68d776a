"""docs/torch_library.md, made of the docstrings of the tests beside this file: `python -m tests.contract.page` writes it.

A module's docstring begins with the name of torch's test class, and then says which of its entries are here. A test has the name
of its entry. Its docstring says the contract in one sentence, and then, in paragraphs of these names, what was `Adapted:`, what goes
`Beyond:` torch, and by which causes it `Differs:`, which are explained in `DIFFERENCES`, separated by semicolons. A test of several
entries names the others: `Also: some_entry TestOther.another`. `LEFT_OUT` has the entries that have no test, with the reason, by class
and name; `ENTRIES` has the names of all. A test with another name is ours: beyond torch's.
"""

import ast
import re
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "torch_library.md"

HEAD = """\
# The contract of torch.library, entry by entry

For each test that torch has of `torch.library`, this page says whether this package does the same. For each entry there is a test in
[tests/contract](../tests/contract), `test_` and its name, or one test for several entries. How to move code from torch is on
[from_torch.md](from_torch.md).

- **same**: what torch's test asserts holds, with arrays in place of tensors; the remark says what goes beyond it.
- **adapted**: torch's own has no meaning for arrays, or is of its old interface, `torch._custom_ops`, which torch.library has replaced;
  the remark says what stands in its place.
- **differs**: something that torch's test asserts comes out otherwise, on purpose; the causes are numbered
  [at the end](#what-differs-on-purpose).
- **beyond**: torch has no such test.

[test_beside_torch.py](../tests/contract/test_beside_torch.py) runs the same programs against torch.library and against this package,
and compares what comes of them; what differs there has its number too.

`python -m tests.contract.page` writes this page from the tests.
"""


class Entry(NamedTuple):
    """One test: what it is of, and what its docstring says."""

    group: str
    heading: str
    file: str
    name: str
    test: str
    contract: str
    adapted: str
    beyond: str
    causes: tuple[str, ...]

    def status(self, known: set[str]) -> str:
        if self.causes:
            return "differs"
        if self.adapted:
            return "adapted"
        return "same" if self.name in known else "beyond"

    def remark(self, numbers: dict[str, int]) -> str:
        shared = f"Tested by `{self.test}`." if self.name != self.test else ""
        named = "; ".join(f"{numbers[cause]}, {cause}" for cause in self.causes)
        return " ".join(filter(None, (shared, self.adapted, self.beyond, named and f"See {named}.")))


def entries(folder: Path = HERE) -> list[Entry]:
    """Every test of a folder, in the order of the files' names and of their lines."""
    return [entry for path in sorted(folder.glob("test_*.py")) if path.stem not in ("test_page", "test_beside_torch") for entry in _of(path)]


def _of(path: Path) -> list[Entry]:
    module = ast.parse(path.read_text())
    group, _, heading = (ast.get_docstring(module) or "").partition("\n")[0].rstrip(".").partition(":")
    group, _, part = group.partition(",")
    found = []
    for node in module.body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            paragraphs = [" ".join(p.split()) for p in (ast.get_docstring(node) or "").split("\n\n")]
            said = {
                word: " ".join(sentence(p.removeprefix(f"{word}:")) for p in paragraphs[1:] if p.startswith(f"{word}:"))
                for word in ("Adapted", "Beyond")
            }
            causes = [p.removeprefix("Differs:") for p in paragraphs[1:] if p.startswith("Differs:")]
            test = node.name.removeprefix("test_")
            title = part.strip() or heading.strip()
            also = [word for p in paragraphs if p.startswith("Also:") for word in p.removeprefix("Also:").split()]
            for name in [test, *also]:
                of, _, entry = f"{group}.{name}".rpartition(".")
                of = of.rpartition(".")[2]
                own = [cause.strip() for text in causes for cause in text.split(";")]
                found.append(Entry(of, title, path.name, entry, test, paragraphs[0], *said.values(), tuple(own)))
    return found


def sentence(text: str) -> str:
    """What stands behind a word and a colon as a sentence of its own; a name keeps its letters."""
    text = text.strip()
    return text[:1].upper() + text[1:] if re.match(r"[a-z]+('s)?[ ,]", text) else text


def tables(name: str, folder: Path = HERE) -> dict[str, dict[str, str]]:
    """What the modules of a folder say under a name, `ENTRIES` or `LEFT_OUT`: for each class its entries."""
    found: dict[str, dict[str, str]] = {}
    for path in sorted(folder.glob("*.py")):
        for node in ast.parse(path.read_text()).body:
            named = isinstance(node, ast.Assign) and [getattr(t, "id", "") for t in node.targets] == [name]
            if named and isinstance(node.value, ast.Dict):
                for group, listed in ast.literal_eval(node.value).items():
                    found.setdefault(group, {}).update(
                        listed if isinstance(listed, dict) else dict.fromkeys(listed.split(), "")
                    )
    return found


def differences(folder: Path = HERE) -> dict[str, str]:
    """The causes of all differences, with what is said of each."""
    for path in sorted(folder.glob("differences.py")):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.Assign) and [getattr(t, "id", "") for t in node.targets] == ["DIFFERENCES"]:
                return dict(ast.literal_eval(node.value))
    return {}


def cell(text: str) -> str:
    """A text as a cell of a table: what stands in it as written, and ends no column."""
    pieces = [re.sub(r"\*|(?<!\w)__", r"\\\g<0>", piece) if i % 2 == 0 else piece for i, piece in enumerate(text.split("`"))]
    return "`".join(pieces).replace("|", r"\|")


def page(folder: Path = HERE) -> str:
    """The whole page."""
    known = {group: set(names) for group, names in tables("ENTRIES", folder).items()}
    found = entries(folder)
    causes = differences(folder)
    numbers = {cause: i for i, cause in enumerate(causes, 1)}
    groups = [*dict.fromkeys([*known, *(entry.group for entry in found)])]
    lines = [HEAD]
    for group in groups:
        own = [entry for entry in found if entry.group == group]
        if own:
            lines.append(f"## {group}\n")
            for file in dict.fromkeys(entry.file for entry in own):
                rows = [entry for entry in own if entry.file == file]
                heading = rows[0].heading
                lines.append(f"[{file}](../tests/contract/{file}){': ' + heading if heading else ''}.\n")
                lines += ["| entry | contract | status | |", "|---|---|---|---|"]
                for entry in rows:
                    status = entry.status(known.get(group, set()))
                    lines.append(f"| `{entry.name}` | {cell(entry.contract)} | {status} | {cell(entry.remark(numbers))} |")
                lines.append("")
    lines += ["## What is left out\n", "| class | entry | why |", "|---|---|---|"]
    lines += [
        f"| {group} | `{name}` | {cell(reason)} |"
        for group, reasons in tables("LEFT_OUT", folder).items()
        for name, reason in reasons.items()
    ]
    lines += ["", "## What differs on purpose\n"]
    for cause, text in causes.items():
        shown = dict.fromkeys(f"`{entry.name}`" for entry in found if cause in entry.causes)
        where = f"Entries: {', '.join(shown)}." if shown else "Seen beside torch."
        lines.append(f"{numbers[cause]}. **{cause}**: {text} {where}")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
