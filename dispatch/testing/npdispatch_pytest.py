"""The pytest plugin, as every run of pytest loads it: the options. Nothing imports `dispatch` before `--opcheck` is given.

An entry point names a module, and importing one that is inside `dispatch` would import the package in every run of pytest. So
setup.py ships this file beside the package, as a module of its own. What it does when it is asked is in pytest_plugin.py.
"""

from typing import Any


def pytest_addoption(parser: Any, pluginmanager: Any) -> None:
    """Add the options."""
    # pytest rewrites the asserts of whatever a plugin's distribution holds: an import of `dispatch` would take 0.7 s for 0.1.
    marked = getattr(getattr(pluginmanager, "rewrite_hook", None), "_must_rewrite", None)
    if isinstance(marked, set):
        marked.discard("dispatch")
    group = parser.getgroup("opcheck", "operators of npdispatch")
    group.addoption(
        "--opcheck", action="append", metavar="MODULE",
        help="test every operator that a package, a module or a file defines: one test for each check and sample",
    )  # fmt: skip
    group.addoption(
        "--opcheck-require", action="append", metavar="RULES", default=[],
        help="what every operator must have: fake, gradient, vmap, with commas between",
    )  # fmt: skip
    group.addoption("--opcheck-samples", type=int, metavar="N", help="at most so many samples of each operator, by default 3")
    group.addoption("--opcheck-timeout", type=float, metavar="S", help="seconds that a call may take, by default 20")
    group.addoption("--opcheck-failures", metavar="FILE", help="a JSON file of what is known to fail, and fails if it passes")
    group.addoption(
        "--opcheck-no-isolate", action="store_true", help="run kernels in this process, for debuggers and coverage"
    )


def pytest_configure(config: Any) -> None:
    """Load the rest, where there is something to check."""
    if config.getoption("opcheck"):
        config.pluginmanager.import_plugin("dispatch.testing.pytest_plugin")


def pytest_terminal_summary(terminalreporter: Any, config: Any) -> None:
    """Say that options of the checks did nothing where nothing was to be checked: they may stand in a file, for other runs."""
    said = ("require", "samples", "timeout", "failures", "no_isolate")
    given = [f"--opcheck-{word.replace('_', '-')}" for word in said if config.getoption(f"opcheck_{word}")]
    if given and not config.getoption("opcheck"):
        terminalreporter.write_line(f"{', '.join(given)}: no operator was checked. Name what defines them: --opcheck MODULE.")
