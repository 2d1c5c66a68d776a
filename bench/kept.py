"""bench/kept.json: what each case cost when it was last saved, and how a run differs from that.

The file has a section for each kind of number on each CPython, such as the ratios of 3.11, or the instructions of 3.11 on
x86_64. A section holds a number for each case, and says with which builds they were measured.
"""

import argparse
import json
import platform
import re
import shlex
import sys
import sysconfig
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from bench import table
from dispatch.core import overload

FILE = Path(__file__).parent / "kept.json"
VERSION = "{}.{}".format(*sys.version_info)
# Cython and the C compiler leave their names in what they make.
MARKS = {"Cython": rb"_cython_(\d+_\d+\w*)", "C compiler": rb"(GCC: [^\0]*|[^\0]*clang version [^\0]*)"}


@dataclass(frozen=True)
class Section:
    """One kind of number on one CPython, and when a new number counts as another than the kept one.

    A number is printed when it is ``shown`` times the kept one or more, or that many times less; it fails when it is more than
    ``most`` times the kept one. Numbers that are not ``portable`` never fail when they were kept with other builds.
    """

    kind: str
    key: str
    shown: float
    most: float
    portable: bool
    builds: Mapping[str, str]


@dataclass(frozen=True)
class Change:
    """One case beside what was kept of it."""

    name: str
    kept: float
    seen: float

    @property
    def times(self) -> float:
        """How many times the kept number the new one is."""
        return self.seen / self.kept


def options(words: Sequence[str], question: str) -> argparse.Namespace:
    """The options of a question whose answers are kept."""
    parser = argparse.ArgumentParser(prog=f"python -m bench {question}", allow_abbrev=False)
    parser.add_argument("--save", action="store_true", help="keep what is measured, for this CPython")
    parser.add_argument("--only", nargs="+", metavar="WORD", default=[], help="the cases whose name holds one of the words")
    parser.add_argument("--all", action="store_true", help="print the cases that did not move too")
    return parser.parse_args(words)


def chosen(names: Iterable[str], words: Sequence[str]) -> list[str]:
    """The names that hold one of the words; all of them where there is no word.

    >>> chosen(["2 arrays", "vmap", "fake"], ["vmap", "array"])
    ['2 arrays', 'vmap']
    """
    return [name for name in names if not words or any(word in name for word in words)]


def builds() -> dict[str, str]:
    """What a number depends on beside our code: CPython and how it was built, NumPy, and what compiled our modules."""
    switches = shlex.split(sysconfig.get_config_var("CONFIG_ARGS") or "")
    switches = [one for one in switches if one.startswith(("--enable-", "--with")) and "/" not in one]
    python = ", ".join([platform.python_version(), platform.python_compiler(), *switches])
    return {"CPython": python, "NumPy": np.__version__, **compilers(Path(overload.__file__).read_bytes())}


def compilers(module: bytes) -> dict[str, str]:
    r"""What made a compiled module.

    >>> compilers(b"...\0_cython_3_1_2\0GCC: (Debian 12.2.0-14) 12.2.0\0...")
    {'Cython': '3_1_2', 'C compiler': 'GCC: (Debian 12.2.0-14) 12.2.0'}
    """
    found = {name: re.search(mark, module) for name, mark in MARKS.items()}
    return {name: "unknown" if match is None else match[1].decode(errors="replace") for name, match in found.items()}


def read(file: Path) -> dict[str, dict[str, Any]]:
    """The whole file; nothing where there is none."""
    found: dict[str, dict[str, Any]] = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    return found


def save(section: Section, seen: Mapping[str, float], *, whole: bool, file: Path = FILE) -> None:
    """Keep the numbers of a run; where it was of some cases only, beside those that are there."""
    found = read(file)
    before = found.get(section.kind, {}).get(section.key, {"builds": section.builds, "cases": {}})
    if not whole and (other := differences(before["builds"], section.builds)):
        raise SystemExit(f"The other {section.kind} were kept with other builds:\n{other}\nSave all, without --only.")
    cases = dict(seen) if whole else before["cases"] | seen
    found.setdefault(section.kind, {})[section.key] = {"builds": dict(section.builds), "cases": cases}
    ordered = {kind: dict(sorted(sections.items())) for kind, sections in sorted(found.items())}
    file.write_text(json.dumps(ordered, indent=2) + "\n", encoding="utf-8")
    print(f"{len(seen)} {section.kind} of CPython {section.key} are kept in {file.name}.")


def compare(section: Section, seen: Mapping[str, float], *, everything: bool = False, file: Path = FILE) -> bool:
    """Print how a run differs from what is kept; whether it may."""
    before = read(file).get(section.kind, {}).get(section.key)
    if before is None:
        print(f"No {section.kind} are kept for CPython {section.key}. --save keeps these:\n")
        print(table.columns((section.kind, "now"), [(name, number(value)) for name, value in seen.items()]))
        return True
    kept = before["cases"]
    changes = [Change(name, kept[name], value) for name, value in seen.items() if name in kept]
    moved = [one for one in changes if not 1 / section.shown <= one.times <= section.shown]
    over = [one for one in changes if one.times > section.most]
    other = differences(before["builds"], section.builds)
    if rows := [
        (one.name, number(one.kept), number(one.seen), f"{one.times - 1:+.1%}", "" if one not in moved else word(one, section))
        for one in (changes if everything else moved)
    ]:
        print(table.columns((section.kind, "kept", "now", "change", ""), rows))
        print()
    for name in [name for name in seen if name not in kept]:
        print(f"{name} is new: {number(seen[name])}. --save keeps it.")
    print(
        f"{len(changes)} {section.kind} compared with those kept for CPython {section.key}: {len(moved)} moved by more than "
        f"{section.shown - 1:.0%}, {len(over)} went up by more than {section.most - 1:.0%}."
    )
    if other:
        print(f"They were kept with other builds{'' if section.portable else ', so nothing fails'}:\n{other}")
    return not over or (bool(other) and not section.portable)


def differences(before: Mapping[str, str], now: Mapping[str, str]) -> str:
    """The builds that are others now than before, a line each."""
    return "\n".join(
        f"  {name}: {before.get(name, 'none')} then, {now.get(name, 'none')} now"
        for name in dict.fromkeys((*before, *now))
        if before.get(name) != now.get(name)
    )


def number(value: float) -> str:
    """A number as it stands in the table.

    >>> number(0.95), number(1.5), number(254.13), number(35587)
    ('0.95', '1.50', '254', '35 587')
    """
    return f"{value:.2f}" if value < 10 else table.number(value)


def word(change: Change, section: Section) -> str:
    """What is said of a case that moved."""
    if change.times < 1:
        return "less"
    return "fails" if change.times > section.most else "more"
