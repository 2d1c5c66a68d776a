"""Random operators called in every way with hostile arguments keep the laws of fuzz_calls.py, and a planted breach is found."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
SCRIPT = ROOT / "tests" / "fuzz_calls.py"


def fuzz(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, SCRIPT, *words], cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("plant", "said"),
    [
        ("signal", "FAILED with status -11 in round 0 call 7"),
        ("guard", "planted (level"),
        ("system-error", "SystemError: planted"),
        ("swallowed", "KeyboardInterrupt('planted') did not arrive"),
    ],
)
def test_a_planted_breach_is_found_and_can_be_seen_again(plant, said):
    done = fuzz("--calls", "50", "--seed", "1", "--plant", plant)
    assert done.returncode == 1
    assert said in done.stdout
    assert "--seed 1 --replay 0:7" in done.stdout
