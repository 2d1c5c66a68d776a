"""Random operators called in every way with hostile arguments keep the laws of fuzz_calls.py, and a planted breach is found."""

import subprocess
import sys
from pathlib import Path

import pytest
from children import said_by_child

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
        ("signal", "Fatal Python error: Segmentation fault"),  # under AddressSanitizer its own status comes instead of -11
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


@pytest.mark.parametrize("key", ["AUTOGRAD", "VMAP", "JVP", "FAKE", "TRACE", "FUNCTIONALIZE"])
def test_the_kernel_of_a_layer_that_is_given_none_of_its_values_gives_an_answer_or_raises(key):
    said_by_child(f"""
        op = dispatch.custom_op("child::op", lambda x: x + 1, mutates_args=(), schema="(Tensor x) -> Tensor")
        op.register_autograd(lambda ctx, g: g)
        op.register_vmap(lambda info, in_dims, x: (x, in_dims[0]))
        for of in (op, dispatch.ops.np.sin, dispatch.ops.np.multiply):
            for args in ((A, A), (A,), (), (A, 2.0, None)):
                try:
                    of.at(DispatchKey.{key})(*args)
                except Exception as error:
                    assert not isinstance(error, SystemError)
    """)
