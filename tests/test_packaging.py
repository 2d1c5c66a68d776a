"""What a stranger gets: the two commands, the files that ship, the extras, and an import that brings NumPy alone."""

import ast
import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import tomllib
from fnmatch import fnmatch
from pathlib import Path

import pytest

import dispatch

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
EXTRAS = PROJECT["project"]["optional-dependencies"]
COMMANDS = ["pip install . && npdispatch tour", 'pip install -e ".[test]" && pytest']


@pytest.fixture
def installed():
    try:
        return importlib.metadata.distribution("npdispatch")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("built in place: only what pip installed has metadata")


def run_python(code, cwd, **environment):
    command = [sys.executable, "-W", "error", "-c", code]
    return subprocess.run(
        command, cwd=cwd, capture_output=True, text=True, check=False, env={**os.environ, **environment}
    )


@pytest.mark.parametrize("command", COMMANDS)
def test_the_readme_gives_the_command_on_a_line_of_its_own(command):
    assert (ROOT / "README.md").read_text().splitlines().count(command) == 1


def test_the_ci_takes_the_commands_from_the_readme():
    script = (ROOT / ".ci" / "run").read_text()
    assert [command for command in COMMANDS if command in script] == []
    assert os.access(ROOT / ".ci" / "run", os.X_OK)


def test_the_tests_of_versions_exist_and_are_marked(request):
    """`.ci/run` reads which versions there are from pyproject.toml, and runs what conftest.py marks on each."""
    conftest = request.config.pluginmanager.get_plugin(str(ROOT / "tests" / "conftest.py"))
    assert [place for place in conftest.TESTS_OF_VERSIONS if not (ROOT / place).exists()] == []
    assert request.node.get_closest_marker("versions")


def test_every_test_of_a_framework_stands_where_the_ci_looks_for_it(request):
    """`.ci/run` collects tests/interop and the files that say a framework's mark, a seventh of all tests."""
    pattern = re.search(r"grep -rlE '(mark.*?)' tests", (ROOT / ".ci" / "run").read_text())[1]
    conftest = request.config.pluginmanager.get_plugin(str(ROOT / "tests" / "conftest.py"))
    marked = {item.path for item in request.session.items if any(map(item.get_closest_marker, conftest.ORACLES))}
    said = {path for path in marked if re.search(pattern, path.read_text())}
    assert {path for path in marked - said if not path.is_relative_to(ROOT / "tests" / "interop")} == set()
    assert {name for name in conftest.ORACLES if not re.search(pattern, f"mark.{name}")} == set()


def test_the_versions_that_are_promised_are_those_that_ci_reads():
    minors = re.findall(r"Python :: (3\.\d+)$", "\n".join(PROJECT["project"]["classifiers"]), re.MULTILINE)
    assert PROJECT["project"]["requires-python"] == f">={minors[0]}"
    readme = re.search(r"CPython (3\.\d+) to (3\.\d+)", (ROOT / "README.md").read_text())
    assert readme is not None
    assert readme.groups() == (minors[0], minors[-1])


def test_the_installed_version_is_the_one_written_in_the_package(installed):
    assert installed.version == dispatch.__version__


def test_the_version_is_written_once():
    assert PROJECT["project"]["dynamic"] == ["version"]
    assert f"\n## {dispatch.__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_numpy_is_the_only_hard_dependency():
    assert PROJECT["project"]["dependencies"] == ["numpy>=2.0"]


def test_the_extras_are_those_promised():
    assert set(EXTRAS) == {"test", "bench", "docs", "symbolic", "torch", "jax", "dask", "xarray", "scipy", "cupy", "cli", "hypothesis", "threads", "all", "lint"}


def test_the_extra_test_brings_all_that_the_tests_import():
    brought = {re.match(r"[\w-]+", requirement)[0].replace("-", "_") for requirement in EXTRAS["test"]}
    # Pillow imports as PIL, and brings itself; torch, JAX and mypy are asked for where they are used, and skip.
    known = brought | {"PIL", "numpy", "dispatch", "bench", "torch", "jax", "dask", "autograd", "cupy", "pandas", "mypy"}
    imported = {
        (name.partition(".")[0], path.name)
        for path in sorted((ROOT / "tests").rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        for name in (
            [alias.name for alias in node.names]
            if isinstance(node, ast.Import)
            else [node.module]
            if isinstance(node, ast.ImportFrom) and not node.level
            else []
        )
    }
    beside = {path.stem for folder in ("tests", "docs/gallery") for path in (ROOT / folder).iterdir()} | {"tests"}
    assert [found for found in imported if found[0] not in known | beside | sys.stdlib_module_names] == []


def test_importing_brings_numpy_alone_and_changes_nothing(tmp_path):
    code = """
import sys, warnings, numpy as np
before, state, filters, hooks = set(sys.modules), np.geterr(), list(warnings.filters), list(sys.meta_path)
import dispatch
libraries = {name.partition(".")[0] for name in set(sys.modules) - before} - set(sys.stdlib_module_names)
print(sorted(name for name in libraries if not name.startswith(("_", "cython_runtime"))))  # Cython's own two
print(np.geterr() == state, warnings.filters == filters, sys.meta_path == hooks)
"""
    done = run_python(code, tmp_path, PYTHONPATH=str(ROOT))
    assert done.stdout.splitlines() == ["['dispatch']", "True True True"], done.stderr


def test_an_uncompiled_folder_says_so_and_how_to_build(tmp_path):
    shutil.copytree(ROOT / "dispatch", tmp_path / "dispatch", ignore=shutil.ignore_patterns("*.so", "*.pyd", ".*"))
    done = run_python("import dispatch", tmp_path, PYTHONPATH=str(tmp_path))
    message = done.stderr.strip().splitlines()[-1]
    assert message.startswith("ImportError: ")
    assert "not compiled" in message
    assert "pip install -e ." in message


def test_every_file_of_the_package_ships_or_is_made_by_a_build():
    patterns = PROJECT["tool"]["setuptools"]["package-data"]["*"] + ["*.py"]
    made = ["*.so", "*.pyd", "*.pyc", "*.c", "*.html", ".*"]
    files = [path.relative_to(ROOT) for path in (ROOT / "dispatch").rglob("*") if path.is_file()]
    files = [path for path in files if not any(part.startswith((".", "__pycache__")) for part in path.parts)]
    assert [str(path) for path in files if not any(fnmatch(path.name, pattern) for pattern in patterns + made)] == []
    assert (ROOT / "dispatch" / "py.typed").exists()


def test_every_folder_of_the_package_is_a_package():
    folders = {path.parent for path in (ROOT / "dispatch").rglob("*.py*") if "__pycache__" not in path.parts}
    folders = {folder for folder in folders if not any(part.startswith(".") for part in folder.relative_to(ROOT).parts)}
    assert [folder.name for folder in folders if not (folder / "__init__.py").exists()] == []


def test_the_command_is_installed(installed):
    (script,) = installed.entry_points.select(group="console_scripts", name="npdispatch")
    assert callable(script.load())


@pytest.mark.parametrize("switch", ["DISPATCH_DEBUG", "DISPATCH_COVERAGE", "DISPATCH_WERROR"])
def test_setup_explains_its_switches(switch):
    assert switch in ast.get_docstring(ast.parse((ROOT / "setup.py").read_text()))


def test_the_top_level_holds_nothing_else():
    if not shutil.which("git") or not (ROOT / ".git").exists():
        pytest.skip("only a checkout knows its own files")
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    top = {line.partition("/")[0] for line in listed.stdout.splitlines()}
    known = {"setup.py", "pyproject.toml", "dispatch", "tests", "bench", "docs", "README.md", "LICENSE", "CHANGELOG.md"}
    assert {name for name in top if not name.startswith(".")} - known == set()
