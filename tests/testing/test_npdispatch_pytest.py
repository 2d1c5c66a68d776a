"""The entry point of pytest: found by its metadata, and nothing of ours is imported before it is asked."""

import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import ClassVar

import pytest

from dispatch.testing.npdispatch_pytest import pytest_terminal_summary

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "dispatch" / "testing" / "npdispatch_pytest.py"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
TEST = """
import sys

def test_what_is_imported(request):
    assert "npdispatch_pytest" in sys.modules
    assert [name for name in sys.modules if name.partition(".")[0] in ("dispatch", "numpy")] == []
    assert request.config.getoption("opcheck") is None
    import dispatch.errors
    assert type(dispatch.errors.__loader__).__name__ == "SourceFileLoader"  # its asserts are not rewritten, in every import
"""


@pytest.fixture
def site(tmp_path):
    """A folder as pip leaves one, with the metadata that say what pytest loads."""
    folder = tmp_path / "site"
    metadata = folder / "npdispatch-0.dist-info"
    metadata.mkdir(parents=True)
    shutil.copy(SOURCE, folder)
    points = PROJECT["project"]["entry-points"]["pytest11"]
    (metadata / "entry_points.txt").write_text("[pytest11]\n" + "".join(f"{name} = {to}\n" for name, to in points.items()))
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: npdispatch\nVersion: 0\n")
    (metadata / "RECORD").write_text("npdispatch_pytest.py,,\ndispatch/__init__.py,,\ndispatch/errors.py,,\n")
    return folder


def test_an_ordinary_run_imports_nothing_of_ours(site, tmp_path):
    (tmp_path / "test_it.py").write_text(TEST)
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "COV"))}
    environment = {**kept, "PYTHONPATH": os.pathsep.join([str(site), str(ROOT)]), "PYTHONDONTWRITEBYTECODE": "1"}
    words = ["-q", "-p", "no:hypothesispytest", "-p", "no:jaxtyping", "-p", "no:cacheprovider", "-p", "no:benchmark"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words, "test_it.py"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, []),
        ({"opcheck": ["mylib"], "opcheck_require": ["fake"]}, []),
        ({"opcheck_require": ["fake"]}, ["--opcheck-require"]),
        ({"opcheck_samples": 2, "opcheck_no_isolate": True}, ["--opcheck-samples, --opcheck-no-isolate"]),
    ],
)
def test_options_that_did_nothing_are_said(options, said):
    class Both:
        lines: ClassVar[list[str]] = []

        def getoption(self, name):
            return options.get(name)

        def write_line(self, line):
            self.lines.append(line)

    Both.lines = []
    pytest_terminal_summary(Both(), Both())
    assert Both.lines == [f"{x}: no operator was checked. Name what defines them: --opcheck MODULE." for x in said]


def test_the_module_ships_beside_the_package():
    assert PROJECT["project"]["entry-points"]["pytest11"] == {"npdispatch": SOURCE.stem}
    setuptools = PROJECT["tool"]["setuptools"]
    assert setuptools["py-modules"] == [SOURCE.stem]
    assert (ROOT / setuptools["package-dir"][""] / SOURCE.name) == SOURCE
