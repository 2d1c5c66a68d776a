"""`pytest --opcheck`: a test for each operator, check and sample, and the faults that `npdispatch check` finds."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from dispatch.testing import pytest_plugin

ROOT = Path(__file__).parents[2]
FIXTURES = ROOT / "tests" / "fixtures"
PLUGIN = ROOT / "dispatch" / "testing" / "npdispatch_pytest.py"
OPTIONS = ["require=fake,gradient,vmap", "samples=1", "failures=known.json"]
FAULTY = {"cube", "first", "halved", "spread"}  # and one whose fault is known
KNOWN_HERE = {"plugged::twice": {"test_schema": {"status": "xfail"}, "test_jvp[(2, 3)]": {"status": "xfail"}}}
LAST_FAILED = "plugged.py::plugged::twice::test_jvp[(2, 3)]"
SOUND = """
import numpy as np
from dispatch import custom_op
@custom_op("plugged::twice", mutates_args=())
def twice(x: np.ndarray) -> np.ndarray:
    return x * 2.0
@twice.register_fake
def _(x):
    return np.empty_like(x, np.result_type(x, 1.0))
"""
ORDINARY = "def test_ordinary(): assert 'dispatch' in __import__('sys').modules\n"


def start(folder, *words):
    path = os.pathsep.join(map(str, (folder, FIXTURES, ROOT)))
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "COV", "DISPATCH"))}
    # without autoload: an installed npdispatch brings the plugin too, and pytest takes none twice
    environment = {**kept, "PYTHONPATH": path, "COLUMNS": "400", "NO_COLOR": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    return subprocess.Popen(
        [sys.executable, "-m", *words], cwd=folder, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    """What pytest and the command print, which run side by side: each is a second of imports."""
    folder = tmp_path_factory.mktemp("opcheck")
    shutil.copy(PLUGIN, folder)  # it ships as a module of its own
    (folder / "broken_ops.py").write_text("raise ValueError('no luck')\n")
    (folder / "plugged.py").write_text(SOUND)
    (folder / "test_more.py").write_text(ORDINARY)
    known = json.loads((FIXTURES / "twelve_failures.json").read_text())["data"]
    (folder / "known.json").write_text(json.dumps({"data": known | KNOWN_HERE}))
    modules = ["--opcheck", "twelve", "--opcheck", "./plugged.py", "--opcheck", "broken_ops", "--continue-on-collection-errors"]
    (folder / ".pytest_cache" / "v" / "cache").mkdir(parents=True)
    (folder / ".pytest_cache" / "v" / "cache" / "lastfailed").write_text(json.dumps({LAST_FAILED: True}))
    words = ["--ff", "-rA", "--strict-markers", "--deselect", "plugged.py::plugged::twice::test_vmap", *modules]
    plain = ["-p", "npdispatch_pytest"]
    runner = start(folder, "pytest", *plain, *words, *(f"--opcheck-{word}" for word in OPTIONS))
    command = start(folder, "dispatch", "check", "twelve", "--json", *(f"--{word}" for word in OPTIONS))
    outputs = command.communicate(timeout=300)[0], runner.communicate(timeout=300)[0]
    assert (command.returncode, runner.returncode) == (1, 1), outputs
    return outputs


def test_a_package_of_twelve_operators_has_the_same_faults_by_both_commands(printed):
    found, output = json.loads(printed[0]), printed[1]
    assert (found["of"], found["operators"]) == (12, 12)
    by_verdict = {}
    for row in found["outcomes"]:
        test = row["check"] + (f"[{row['sample']}]" if row["sample"] else "")
        by_verdict.setdefault(row["verdict"], {})[f"{row['operator']}::{test}"] = row["said"]
    for verdict, word in (("FAILED", "FAILED"), ("SUCCESS", "PASSED"), ("XFAILED", "XFAIL")):
        listed = set(re.findall(rf"^{word} twelve::(.*?)(?: - .*)?$", output, re.MULTILINE))
        assert listed == set(by_verdict[verdict]), output
    skipped = sum(map(int, re.findall(r"^SKIPPED \[(\d+)\] twelve", output, re.MULTILINE)))
    assert skipped == len(by_verdict["SKIPPED"])
    assert set(by_verdict["XFAILED"]) == {"twelve::total::test_faketensor[(2, 3)]"}
    assert by_verdict["SKIPPED"]["twelve::spread::test_vmap[(2, 3)]"] == "known.json says so"
    faults = {name: said for name, said in by_verdict["FAILED"].items() if "::has_" not in name}
    assert {name.split("::")[1] for name in faults} == FAULTY
    assert all(line in output for said in faults.values() for line in said.splitlines())
    assert "ended the process with SIGSEGV on the sample with length 0 for 2" in output
    assert "twelve::named has no fake rule, and every operator is to have one. Add it: @named.register_fake." in output
    assert "Traceback" not in output


def test_known_failures_are_strict_and_what_cannot_be_imported_is_an_error_of_its_own(printed):
    output = printed[1]
    assert "plugged::twice: test_schema[(2, 3)] passes, and known.json says that it fails. Remove it there, or run this with" in output
    assert "plugged::twice: test_jvp[(2, 3)] is skipped (it has no derivative), and known.json says" in output
    assert "FAILED plugged.py::plugged::twice::test_schema[(2, 3)]" in output
    assert "PASSED plugged.py::plugged::twice::test_faketensor[(2, 3)]" in output
    assert "plugged::twice::test_vmap" not in output
    assert "run-last-failure: rerun previous 1 failure first" in output
    assert "SKIPPED [2] plugged.py:1: it has no derivative" in output
    assert "PASSED test_more.py::test_ordinary" in output
    assert "ERROR broken_ops" in output
    assert re.search(r"importing broken_ops raised ValueError: no luck\n +broken_ops.py:1", output)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"opcheck_require": ["fake,vamp"]}, "'vamp' cannot be required. Did you mean 'vmap'? What can: fake, gradient, vmap."),
        ({"opcheck_samples": 0}, "--opcheck-samples is how many an operator is checked with, at least 1, and was 0."),
        ({"opcheck_timeout": 0.0}, "--opcheck-timeout is how many seconds a call may take, above 0, and was 0."),
        ({"opcheck_failures": __file__}, f"{__file__} is no JSON"),
    ],
)
def test_a_wrong_option_ends_the_run_before_it_begins(options, said):
    given = {"opcheck_require": [], "opcheck_failures": None, **options}
    config = SimpleNamespace(getoption=given.get, addinivalue_line=lambda *words: None)
    with pytest.raises(pytest.UsageError, match=f"^{re.escape(said)}"):
        pytest_plugin.pytest_configure(config)
