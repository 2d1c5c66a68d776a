"""Programs of NumPy at random do under every layer what NumPy does; what differs is found, made short, and printed as a program."""

import subprocess
import sys
import warnings
from pathlib import Path

import fuzz_programs
import numpy as np
import pytest
from fuzz_programs import LAYERS, Program, outcome, program, shrunk

import dispatch

ROOT = Path(__file__).parent.parent


def test_a_program_is_made_of_its_seed_and_runs_as_it_is_printed() -> None:
    for seed in range(20):
        made = program(seed)
        assert made == program(seed)
        assert 0 < len(made.lines) <= fuzz_programs.MOST
    scope: dict[str, object] = {"print": lambda *args: scope.update(found=args)}
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(made.text, scope)
    assert "found" in scope


def planted(wrong: str) -> None:
    """Break a layer: what it makes of a function does another thing."""

    def broken(f: object, given: list[object]) -> object:
        exact = dispatch.functionalize(f)

        def run(*args: object) -> object:
            out = exact(*args)
            return tuple({"value": lambda x: x + x, "dtype": lambda x: np.asarray(x, np.float16), "sharing": np.copy}[wrong](x) for x in out)

        return run

    LAYERS["planted"] = fuzz_programs.as_numpy(broken)


@pytest.mark.parametrize("wrong", ["value", "dtype", "sharing"])
def test_a_planted_difference_is_found_and_made_short(wrong: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fuzz_programs, "LAYERS", LAYERS | {})
    monkeypatch.setitem(LAYERS, "planted", None)
    planted(wrong)
    monkeypatch.setitem(fuzz_programs.LAYERS, "planted", LAYERS["planted"])
    found = next(made for made in map(program, range(100)) if outcome(made, "planted").said.find(wrong) >= 0)
    small = shrunk(found, "planted")
    assert outcome(small, "planted").kind == "different"
    assert wrong in outcome(small, "planted").said
    assert len(small.lines) <= 2
    assert len(small.returned) == 1 or wrong == "sharing"


def test_a_refusal_is_no_difference() -> None:
    masked = Program(0, ("np.array([1.0, -1.0])",), (("v0 = x0[x0 > 0]", "{x}[{x} > 0]"),), ("v0",))
    found = outcome(masked, "vmap")
    assert (found.kind, found.said[:40]) == ("refused", "np::getitem: a mask that differs from it")
    strange = masked._replace(lines=(("v0 = [x0][int(type(x0) is not np.ndarray)]", ""),))
    assert outcome(strange, "functionalize").kind == "different"


def test_the_command_counts_what_is_refused() -> None:
    words = [sys.executable, "-m", "tests.fuzz_programs", "--programs", "3", "--seed", "5", "--show", "0"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert "refused, of 33 runs" in done.stdout, done.stdout + done.stderr
    assert "3 programs, " in done.stdout


def test_a_thousand_programs_do_what_numpy_does() -> None:
    report = fuzz_programs.run(range(100_000, 101_000), every=False, numbers=False)
    assert sum(report.calls.values()) == 3000
    assert not report.different, "\n\n".join(
        f"{found.layer}: {outcome(shrunk(made, found.layer), found.layer).said}\n{shrunk(made, found.layer).text}"
        for made, found in report.different[:3]
    )
