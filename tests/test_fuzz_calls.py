"""Random operators called in every way with hostile arguments keep the laws of fuzz_calls.py, and a planted breach is found."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SCRIPT = ROOT / "tests" / "fuzz_calls.py"


def fuzz(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, SCRIPT, *words], cwd=ROOT, capture_output=True, text=True, check=False)


def test_hostile_calls_keep_the_laws():
    done = fuzz("--calls", "4000", "--seed", "1")
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert "4000 calls in " in done.stdout


@pytest.mark.parametrize(
    ("plant", "said"),
    [
        ("signal", "FAILED with status -11 in round 3 call 7"),
        ("guard", "planted (level"),
        ("system-error", "SystemError: planted"),
        ("swallowed", "KeyboardInterrupt('planted') did not arrive"),
    ],
)
def test_a_planted_breach_is_found_and_can_be_seen_again(plant, said):
    done = fuzz("--calls", "250", "--seed", "1", "--plant", plant)
    assert done.returncode == 1
    assert said in done.stdout
    assert "--seed 1 --replay 3:7" in done.stdout
    again = fuzz("--seed", "1", "--replay", "3:7", "--plant", plant)
    assert again.returncode in {3, -11}
